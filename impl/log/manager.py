"""The logs of one broker in one data folder, with its two checkpoints.

A log is deleted in two steps: its folder is renamed, so that the name is free for a new log at once, and removed some time later. A
renamed folder that a crash has left is removed after the next start.

Roles and leaders are the subject of impl/broker. What is not on disk is lost with the process.

Source: Kafka 2.8 LogManager.scala (asyncDelete, deleteLogs, loadLogs), ReplicaManager.scala:1802-1838 (checkpointHighWatermarks).
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random

from kafka_spec.impl.log import checkpoint
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.topic_partition import TopicPartition

DELETED = "-delete"
"""The end of the name of a folder that is to be removed."""
UNFLUSHED = 30
"""The largest number of a log's records that the system has not written to disk."""
LONGEST_NAME = 255
"""The longest name of a file, in bytes."""


def deleted_name(partition: TopicPartition) -> str:
    """Return a new name for the folder of a deleted log: a name that no other folder has (Log.logDeleteDirName)."""
    suffix = f".{uuid.uuid4().hex}{DELETED}"
    return f"{str(partition)[: LONGEST_NAME - len(suffix)]}{suffix}"


def lose_unflushed(folder: Path, random: Random) -> int:
    """Cut some unflushed records from the logs in the folder of a broker that does not run; return their number."""
    lost = 0
    for path in sorted(one for one in folder.iterdir() if one.is_dir() and not one.name.endswith(DELETED)):
        log = PartitionLog(path)
        end = max(log.recovery_point, log.end_offset - random.randint(0, UNFLUSHED))
        lost += log.end_offset - end
        log.truncate_to(end)
        log.crash()
    return lost


class LogManager:
    """A data folder: a log for each partition opened since the start."""

    def __init__(self, folder: Path, config: LogConfig | None = None) -> None:
        """Read the checkpoints, and delete that of recovery points, which is valid only until something is written.

        Raises:
            CheckpointError: a checkpoint in the folder is unreadable.
        """
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self.deleted: dict[Path, int | None] = {}
        """Each renamed folder, with the time in milliseconds at which it was first seen, None before `remove_deleted`."""
        self._folder = folder
        self._config = config
        folder.mkdir(parents=True, exist_ok=True)
        self.deleted.update(dict.fromkeys(path for path in sorted(folder.iterdir()) if path.name.endswith(DELETED)))
        written = checkpoint.read_offsets(folder / checkpoint.REPLICATION_OFFSETS)
        self._high_watermarks = self._of_existing(written)
        self.missing = frozenset(written) - frozenset(self._high_watermarks)
        """The partitions that had a log when the checkpoint was written, and have no folder now."""
        if self._high_watermarks != written:
            checkpoint.write_offsets(folder / checkpoint.REPLICATION_OFFSETS, self._high_watermarks)
        points = folder / checkpoint.RECOVERY_POINTS
        self._recovery_points = self._of_existing(checkpoint.read_offsets(points))
        points.unlink(missing_ok=True)
        checkpoint.sync_folder(folder)

    def on_disk(self) -> list[TopicPartition]:
        """Return the partitions that have a folder, open or not, in the order of their names."""
        found = []
        for path in sorted(path for path in self._folder.iterdir() if path.is_dir() and not path.name.endswith(DELETED)):
            topic, _, number = path.name.rpartition("-")
            if topic and number.isdecimal():
                found.append(TopicPartition(topic, int(number)))
        return found

    def open(self, partition: TopicPartition) -> tuple[PartitionLog, int]:
        """Open or create a partition's log; return it with its high watermark: that of the checkpoint, or 0, within the log.

        Raises:
            OSError: access to the folder fails; CheckpointError if the checkpoint of leader epochs is unreadable.
        """
        log = PartitionLog(self._folder / str(partition), self._config, self._recovery_points.get(partition, 0))
        self._recovery_points.pop(partition, None)
        self.logs[partition] = log
        known = self._high_watermarks.get(partition, 0)
        return log, max(log.start_offset, min(known, log.end_offset))

    def topic_id(self, partition: TopicPartition) -> str | None:
        """Return the id of the topic whose log is in a partition's folder, None if it is not known.

        Raises:
            OSError: access to the folder fails; CheckpointError if the file is unreadable.
        """
        return checkpoint.read_topic_id(self._folder / str(partition))

    def write_topic_id(self, partition: TopicPartition, topic_id: str) -> None:
        """Write the id of an open log's topic.

        Raises:
            OSError: access to the folder fails.
        """
        checkpoint.write_topic_id(self._folder / str(partition), topic_id)

    def _of_existing(self, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """Return the offsets of partitions that have a log: a crash while one was deleted leaves entries without a log."""
        return {partition: offset for partition, offset in offsets.items() if (self._folder / str(partition)).exists()}

    def delete(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OSError]:
        """Delete logs, open or not: rename their folders, and drop their checkpoints' entries; return what failed.

        Partitions without a log are skipped.
        """
        failed = {}
        for partition in partitions:
            folder = self._folder / str(partition)
            log = self.logs.pop(partition, None)
            if log is not None:
                log.crash()
            try:
                if folder.exists():
                    self.deleted[folder.rename(self._folder / deleted_name(partition))] = None
                self._recovery_points.pop(partition, None)
            except OSError as error:
                failed[partition] = error
        gone = {partition for partition in partitions if partition not in failed}
        kept = {partition: offset for partition, offset in self._high_watermarks.items() if partition not in gone}
        try:
            checkpoint.sync_folder(self._folder)
            if kept != self._high_watermarks:
                checkpoint.write_offsets(self._folder / checkpoint.REPLICATION_OFFSETS, kept)
                self._high_watermarks = kept
        except OSError as error:
            failed.update(dict.fromkeys(gone, error))
        return failed

    def replace(self, partition: TopicPartition, folder: Path) -> None:
        """Delete a log, and let that in another folder have its place and its high watermark (replaceCurrentWithFutureLog).

        Raises:
            OSError: access to a folder fails.
        """
        known = {name: offset for name, offset in self._high_watermarks.items() if name == partition}
        self.delete([partition])
        folder.rename(self._folder / str(partition))
        self.checkpoint_high_watermarks(known)

    def remove_deleted(self, now: int, delay_ms: int) -> None:
        """Remove the renamed folders that were first seen at least so many milliseconds ago; those that resist are tried again."""
        for folder, since in list(self.deleted.items()):
            if since is None:
                self.deleted[folder] = since = now
            if now - since >= delay_ms:
                shutil.rmtree(folder, ignore_errors=True)
                if not folder.exists():
                    del self.deleted[folder]

    def abandon(self, partition: TopicPartition) -> None:
        """Close a failed log, whatever the state of its files."""
        log = self.logs.pop(partition, None)
        if log is not None:
            log.crash()

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[TopicPartition, int]) -> None:
        """Write replication-offset-checkpoint if it changes; partitions not opened since the start keep their entries.

        Raises:
            OSError: access to the folder fails.
        """
        changed = {**self._high_watermarks, **high_watermarks}
        if changed != self._high_watermarks:
            checkpoint.write_offsets(self._folder / checkpoint.REPLICATION_OFFSETS, changed)
            self._high_watermarks = changed

    def close(self) -> None:
        """Close cleanly: the next start need not recover the logs."""
        points = dict(self._recovery_points)
        for partition, log in self.logs.items():
            log.close()
            points[partition] = log.recovery_point
        checkpoint.write_offsets(self._folder / checkpoint.RECOVERY_POINTS, points)

    def crash(self) -> None:
        """Close the files without a flush, as a crash does."""
        for log in self.logs.values():
            log.crash()
