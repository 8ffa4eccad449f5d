"""What clients did and saw: which records were sent, what was answered, what consumers read. It judges nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_spec.impl.protocol.topic_partition import TopicPartition

ALL = -1
"""The acks of a producer that waits for the whole ISR."""


@dataclass
class Sent:
    """A record that a producer has sent, once or more often; `offset` is what it was answered, None if it never was."""

    partition: TopicPartition
    acks: int
    offset: int | None = None
    attempts: int = 0

    @property
    def acknowledged(self) -> bool:
        """Whether a leader has answered that it has the record."""
        return self.offset is not None


@dataclass
class History:
    """All clients' records, by their values, which are never the same; and what consumers were given, by partition and offset."""

    sent: dict[str, Sent] = field(default_factory=dict)
    read: dict[TopicPartition, dict[int, str]] = field(default_factory=dict)
    changed: list[tuple[TopicPartition, int, str, str]] = field(default_factory=list)
    """What a consumer was given at an offset where one had been given something else: partition, offset, before, now."""

    def saw(self, partition: TopicPartition, offset: int, value: str) -> None:
        """Note what a consumer was given."""
        before = self.read.setdefault(partition, {}).setdefault(offset, value)
        if before != value:
            self.changed.append((partition, offset, before, value))
            self.read[partition][offset] = value

    def count(self, acks: int) -> tuple[int, int]:
        """Return how many records were sent with these acks, and how many of them were acknowledged."""
        mine = [sent for sent in self.sent.values() if sent.acks == acks]
        return len(mine), sum(sent.acknowledged for sent in mine)
