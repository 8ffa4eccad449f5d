"""The options of a run, and the settings of its brokers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.faults import USUAL
from kafka_spec.spec.vocabulary.table import Constants, Spec
from kafka_spec.spec.zookeeper.fixed import FIXED

TOPIC = "orders"
SETTINGS = Settings(
    replica_lag_time_max_ms=3_000,
    replica_fetch_wait_max_ms=200,
    replica_fetch_backoff_ms=200,
    replica_high_watermark_checkpoint_interval_ms=1_000,
    file_delete_delay_ms=2_000,
)
"""Shorter times than Kafka's, so that a run has more events."""


@dataclass(frozen=True)
class ScriptLine:
    """A command of a script: the seconds after the clients begin, its words, and its number in the file."""

    at: float
    words: str
    options: Any
    number: int


@dataclass(frozen=True)
class Options:
    """The cluster with the configuration of its logs, clients, faults and operations.

    Clients work for `seconds`; after that the cluster may become quiet.
    """

    brokers: int = 3
    partitions: int = 6
    replication_factor: int = 3
    seed: int = 0
    seconds: float = 30.0
    era: Spec = FIXED
    faults: tuple[str, ...] = USUAL
    log: LogConfig = LogConfig()
    operations: tuple[str, ...] = ()
    script: tuple[ScriptLine, ...] = ()
    unclean: bool = False
    controllers: int = 1
    quorum: Constants | None = None
    """The decisions of an era of spec/quorum, with the bounds on what a release has; None if there is one controller."""
    quorum_name: str = ""
    """The version of spec/quorum that was asked for, empty if that follows from the era."""
    producers: int = 6
    rate: float = 20.0
    """Records a second of each producer."""
    real: bool = False
    """Whether the run takes place in real time."""

    @property
    def operates(self) -> bool:
        """Whether operators do anything."""
        return bool(self.operations or self.script)

    def partitions_of_topic(self) -> list[TopicPartition]:
        """Return the partitions that clients write to and read."""
        return [TopicPartition(TOPIC, number) for number in range(self.partitions)]
