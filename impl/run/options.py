"""What a run is asked for, and what its brokers are set to."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.faults import USUAL
from kafka_spec.spec.control.eras import FIXED
from kafka_spec.spec.table import Spec

TOPIC = "orders"
SETTINGS = Settings(
    replica_lag_time_max_ms=3_000,
    replica_fetch_wait_max_ms=200,
    replica_fetch_backoff_ms=200,
    replica_high_watermark_checkpoint_interval_ms=1_000,
)
"""Shorter times than Kafka's, so that more happens."""


@dataclass(frozen=True)
class Options:
    """A cluster and what it meets. `seconds` are how long clients work; after that it may come to rest."""

    brokers: int = 3
    partitions: int = 6
    replication_factor: int = 3
    seed: int = 0
    seconds: float = 30.0
    era: Spec = FIXED
    faults: tuple[str, ...] = USUAL
    unclean: bool = False
    producers: int = 6
    rate: float = 20.0
    """Records that each producer sends a second."""
    real: bool = False
    """Whether its seconds are real ones."""

    def partitions_of_topic(self) -> list[TopicPartition]:
        """Return the partitions that clients write to and read."""
        return [TopicPartition(TOPIC, number) for number in range(self.partitions)]
