"""When a leader changes its ISR: which follower may join, and which ones have lagged too long. How it does so is the subclass's.

Source: Kafka 2.8 and 3.9 Partition.maybeExpandIsr, maybeShrinkIsr.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Container
from typing import Protocol

from kafka_spec.impl.broker.led_partitions import Hosting
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.log import may_join_isr
from kafka_spec.spec.zookeeper.machines import Role


class IsrWrite(enum.Enum):
    """The result of an attempt to change the ISR."""

    NOT_NEEDED = "nothing to change, or a change is pending"
    WRITTEN = "the znode and the leader have the new ISR"
    SKIPPED = "the znode has another version; nothing is written (cached zkVersion not equal, skip)"
    UNANSWERED = "the change is pending: proposed to the controller, or the connection or the session was lost"


class Leading(Hosting, Protocol):
    """The replicas of a broker, of which it leads some."""

    @property
    def number(self) -> int:
        """The id of the broker."""

    def advance_high_watermark(self, partition: TopicPartition, now: int) -> bool:
        """Advance a leader's high watermark; return whether it rose."""


class IsrManager(ABC):
    """Changes the ISRs of the partitions that a broker leads."""

    def __init__(self, replicas: Leading) -> None:
        self._leading = replicas

    @abstractmethod
    def _may_join(self, partition: TopicPartition, follower: int) -> bool:
        """Whether a follower that has caught up may join the ISR."""

    @abstractmethod
    def _change(self, partition: TopicPartition, isr: tuple[int, ...], now: int) -> IsrWrite:
        """Change the ISR, unless another change is pending."""

    def try_expand(self, partition: TopicPartition, follower: int, now: int) -> IsrWrite:
        """Add a follower to the ISR, if it has caught up and may join (maybeExpandIsr)."""
        hosted = self._leading.partitions[partition]
        if follower in hosted.maximal_isr or follower not in hosted.followers:
            return IsrWrite.NOT_NEEDED
        end = hosted.followers[follower].end
        if not may_join_isr(end, hosted.high_watermark, hosted.epoch_start, self._leading.k.join_needs_epoch_start):
            return IsrWrite.NOT_NEEDED
        if not self._may_join(partition, follower):
            return IsrWrite.NOT_NEEDED
        return self._change(partition, (*hosted.isr, follower), now)

    def try_shrink(self, partition: TopicPartition, followers: Container[int], now: int) -> IsrWrite:
        """Remove followers from the ISR, without a check of their lag."""
        hosted = self._leading.partitions[partition]
        left = tuple(broker for broker in hosted.isr if broker not in followers)
        return IsrWrite.NOT_NEEDED if left == hosted.isr else self._change(partition, left, now)

    def shrink_all(self, now: int) -> None:
        """Remove followers that have lagged too long from the ISR of each led partition (maybeShrinkIsr)."""
        for partition, hosted in list(self._leading.partitions.items()):
            if self._leading.role_of(partition) == Role.LEADER:
                lagging = hosted.out_of_sync(now, self._leading.settings.replica_lag_time_max_ms)
                if lagging and self.try_shrink(partition, lagging, now) == IsrWrite.WRITTEN:
                    self._leading.advance_high_watermark(partition, now)
