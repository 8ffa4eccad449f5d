"""The logs of one broker in one data folder, with its two checkpoints.

Roles and leaders are the subject of impl/broker. What is not on disk is lost with the process.

Source: Kafka 2.8 LogManager.scala, ReplicaManager.scala:1802-1838 (checkpointHighWatermarks).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from kafka_spec.impl.log import checkpoint
from kafka_spec.impl.log.log import LogConfig, PartitionLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition


class LogManager:
    """A data folder: a log for each partition opened since the start."""

    def __init__(self, folder: Path, config: LogConfig | None = None) -> None:
        """Read the checkpoints, and delete that of recovery points, which is valid only until something is written.

        Raises:
            CheckpointError: a checkpoint in the folder is unreadable.
        """
        self.logs: dict[TopicPartition, PartitionLog] = {}
        self._folder = folder
        self._config = config
        folder.mkdir(parents=True, exist_ok=True)
        self._high_watermarks = checkpoint.read_offsets(folder / checkpoint.REPLICATION_OFFSETS)
        points = folder / checkpoint.RECOVERY_POINTS
        self._recovery_points = checkpoint.read_offsets(points)
        points.unlink(missing_ok=True)
        checkpoint.sync_folder(folder)

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
