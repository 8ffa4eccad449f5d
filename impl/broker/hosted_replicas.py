"""The replicas of a broker on its disk, in both worlds: their partitions, their logs, and what has failed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

from kafka_spec.impl.broker.partition import FetchState, HostedPartition
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.log.manager import LogManager
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition

Hosted = TypeVar("Hosted", bound=HostedPartition)


class HostedReplicas(ABC, Generic[Hosted]):
    """All partitions of one broker, in one data folder. What is not on disk is lost with the process.

    `changed` is called with a partition whenever its role or its high watermark changes, so that delayed operations are checked.
    """

    def __init__(self, number: int, folder: Path, config: LogConfig | None = None, settings: Settings | None = None) -> None:
        """`number` is the broker id; `config` is that of the broker's logs.

        Raises:
            CheckpointError: a checkpoint in the folder is unreadable.
        """
        self.number = number
        self.settings = settings or Settings()
        self.partitions: dict[TopicPartition, Hosted] = {}
        self.fetchers: dict[TopicPartition, FetchState] = {}
        self.changed: Callable[[TopicPartition], object] = lambda _: None
        self.failures: dict[TopicPartition, OSError] = {}
        """For each replica whose log directory has failed the reason."""
        self.logs = LogManager(folder, config)

    @abstractmethod
    def _fail(self, partition: TopicPartition, error: OSError) -> None:
        """Note that the log directory of a replica has failed."""

    @contextmanager
    def storage(self, partition: TopicPartition) -> Iterator[Hosted]:
        """Access a partition's log; after an OSError its log directory has failed, until the process ends.

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR, in place of the OSError.
        """
        try:
            yield self.partitions[partition]
        except OSError as error:
            self._fail(partition, error)
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"log directory of {partition}: {error}") from error

    def _opened_partitions(self) -> list[TopicPartition]:
        """Return the partitions whose log is open."""
        return [partition for partition, hosted in self.partitions.items() if hosted.log is not None]

    def checkpoint_high_watermarks(self) -> None:
        """Write replication-offset-checkpoint.

        Raises:
            OSError: it cannot be written.
        """
        self.logs.checkpoint_high_watermarks({p: self.partitions[p].high_watermark for p in self._opened_partitions()})

    def close(self) -> None:
        """Close cleanly: the next start need not recover the logs."""
        self.checkpoint_high_watermarks()
        self.logs.close()

    def crash(self) -> None:
        """Close the files without a flush, as a crash does."""
        self.logs.crash()
