"""Logs that are moved to another log directory: a future log is filled from the log, and replaces it.

All log directories of a broker here are one data folder. In which of them a log lies is in a file of its folder; a log without that
file lies in the broker's first directory.

Source: Kafka 4.3 ReplicaAlterLogDirsThread.scala, LogManager.scala (replaceCurrentWithFutureLog, recoverAbandonedFutureLogs).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

from kafka_spec.impl.log.checkpoint import write_text, write_topic_id
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.log.manager import LogManager
from kafka_spec.impl.protocol.topic_partition import TopicPartition

FUTURE = "-future"
"""The end of the name of a future log's folder."""
DIRECTORY = "directory.id"
"""The file in a log's folder with the id of its log directory."""


def directory_in(folder: Path) -> UUID | None:
    """Return the log directory of the log in a folder; None if it is the broker's first one, or there is no log."""
    try:
        return UUID((folder / DIRECTORY).read_text())
    except FileNotFoundError:
        return None


def future_folder(folder: Path, partition: TopicPartition) -> Path:
    """Return the folder of a partition's future log, in a broker's data folder."""
    return folder / f"{partition}{FUTURE}"


class FutureLogs:
    """The future logs in a broker's data folder, beside its logs."""

    def __init__(self, logs: LogManager, folder: Path, config: LogConfig | None) -> None:
        """`logs` are those in `folder`; `config` is that of all of them."""
        self._logs = logs
        self._folder = folder
        self._config = config
        self._open: dict[TopicPartition, PartitionLog] = {}
        self.assigned: set[TopicPartition] = set()
        """Those whose directory the controller has assigned, as far as its answers say."""
        for path in folder.glob(f"*{FUTURE}"):
            if not (log := folder / path.name.removesuffix(FUTURE)).exists():  # it ended while one replaced the other
                path.rename(log)

    def __contains__(self, partition: TopicPartition) -> bool:
        return future_folder(self._folder, partition).exists()

    def __iter__(self) -> Iterator[TopicPartition]:
        """The partitions whose logs are being moved."""
        return (partition for partition in self._logs.logs if partition in self)

    def directory_of(self, partition: TopicPartition) -> UUID | None:
        """Return the log directory of a log, None if it is the broker's first one."""
        return directory_in(self._folder / str(partition))

    def begin(self, partition: TopicPartition, directory: UUID) -> None:
        """Create an empty future log in a log directory, of the topic of the log (alterReplicaLogDirs)."""
        folder = future_folder(self._folder, partition)
        folder.mkdir()
        write_text(folder / DIRECTORY, str(directory))
        topic_id = self._logs.topic_id(partition)
        assert topic_id is not None
        write_topic_id(folder, topic_id)

    def wanted_directory(self, partition: TopicPartition, named: UUID | None) -> UUID | None:
        """Return the directory that the metadata should name instead of `named`: the log's, or that of a future log that is whole.

        None stands for the broker's first directory.
        """
        if partition in self:
            future = self._future_directory(partition)
            if named == future or self.is_whole(partition):
                return future
        return self.directory_of(partition)

    def may_replace(self, partition: TopicPartition, named: UUID | None) -> bool:
        """Whether a future log may replace its log: its directory is assigned, or the metadata names it, and it is whole."""
        return (partition in self.assigned or named == self._future_directory(partition)) and self.is_whole(partition)

    def recover(self, partition: TopicPartition, named: UUID | None, only_whole: int) -> None:
        """When a process starts: promote a future log in the directory that the metadata names (recoverAbandonedFutureLogs).

        Kafka up to 4.4 does not ask for a whole one (lagging-future-log-promoted).
        """
        if partition in self and named == self._future_directory(partition):
            self._logs.open(partition)
            if self.is_whole(partition) or not only_whole:
                self.promote(partition)

    def _future_directory(self, partition: TopicPartition) -> UUID | None:
        return directory_in(future_folder(self._folder, partition))

    def _opened(self, partition: TopicPartition) -> PartitionLog:
        if partition not in self._open:
            self._open[partition] = PartitionLog(future_folder(self._folder, partition), self._config)
        return self._open[partition]

    def copy(self, partition: TopicPartition, max_bytes: int) -> bool:
        """Append records of the log to the future log, up to so many bytes; return whether there were any."""
        self.truncate(partition)
        log, future = self._logs.logs[partition], self._opened(partition)
        data = log.read(future.end_offset, max_bytes)
        if data:
            future.append_as_follower(data)
        return bool(data)

    def is_whole(self, partition: TopicPartition) -> bool:
        """Whether the future log has all records of the log, which is open."""
        self.truncate(partition)
        return self._opened(partition).end_offset == self._logs.logs[partition].end_offset

    def truncate(self, partition: TopicPartition) -> None:
        """Truncate a future log to what it has in common with its log, by their leader epochs."""
        log, future = self._logs.logs[partition], self._opened(partition)
        while future.end_offset > 0:
            epoch, end = log.end_offset_for_epoch(future.latest_epoch)
            if epoch != future.latest_epoch:
                end = 0 if epoch < 0 else min(end, future.end_offset_for_epoch(epoch)[1])
            if end >= future.end_offset:
                return
            future.truncate_to(max(end, 0))

    def promote(self, partition: TopicPartition) -> None:
        """Let a future log replace the log, which is deleted (replaceCurrentWithFutureLog). Neither is open afterwards."""
        self._opened(partition).flush()
        self._close(partition)
        self.assigned.discard(partition)
        self._logs.replace(partition, future_folder(self._folder, partition))

    def delete(self, partition: TopicPartition) -> None:
        """Delete a future log, if there is one."""
        self._close(partition)
        self.assigned.discard(partition)
        shutil.rmtree(future_folder(self._folder, partition), ignore_errors=True)

    def _close(self, partition: TopicPartition) -> None:
        log = self._open.pop(partition, None)
        if log is not None:
            log.crash()

    def close(self) -> None:
        """Close all future logs, flushed."""
        for log in self._open.values():
            log.close()

    def crash(self) -> None:
        """Close the files without a flush, as a crash does."""
        for log in self._open.values():
            log.crash()
