"""The clients' observations: records sent, answers, records read. impl/run/verdict.py judges them."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_spec.impl.protocol.topic_partition import TopicPartition

ALL = -1
"""The acks of a producer that waits for the whole ISR."""


@dataclass
class Sent:
    """A record that a producer has sent, once or more often; `offset` is the answered one, None if no answer came."""

    partition: TopicPartition
    acks: int
    offset: int | None = None
    attempts: int = 0

    @property
    def acknowledged(self) -> bool:
        """Whether a leader has acknowledged the record."""
        return self.offset is not None


@dataclass
class History:
    """All records sent, by their values, which are unique; and all records read, by partition and offset."""

    sent: dict[str, Sent] = field(default_factory=dict)
    read: dict[TopicPartition, dict[int, str]] = field(default_factory=dict)
    changed: list[tuple[TopicPartition, int, str, str]] = field(default_factory=list)
    """Offsets at which consumers read different values: partition, offset, earlier value, later value."""

    def saw(self, partition: TopicPartition, offset: int, value: str) -> None:
        """Record what a consumer has read."""
        before = self.read.setdefault(partition, {}).setdefault(offset, value)
        if before != value:
            self.changed.append((partition, offset, before, value))
            self.read[partition][offset] = value

    def count(self, acks: int) -> tuple[int, int]:
        """Return the number of records sent with these acks, and the number of them that were acknowledged."""
        mine = [sent for sent in self.sent.values() if sent.acks == acks]
        return len(mine), sum(sent.acknowledged for sent in mine)
