"""The verdict on a run: the lost records, the violated properties, and the known bugs that may have caused them.

Each world judges by the properties of its model. No property covers an acknowledgement with acks=1: such records may be lost, and
are reported.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_spec.impl.protocol.topic_partition import TopicPartition

UNCLEAN = "unclean election"
"""A cause of violations that operators chose, and no bug."""


@dataclass(frozen=True)
class Broken:
    """A violated property: its name, the finding, and the possible causes."""

    promise: str
    found: str
    suspects: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lost:
    """An acknowledged record that is lost."""

    value: str
    partition: TopicPartition
    acks: int
    offset: int


@dataclass
class Verdict:
    """The verdict; every property was satisfied if `broken` is empty."""

    lost: list[Lost] = field(default_factory=list)
    broken: list[Broken] = field(default_factory=list)
    leaderless: list[TopicPartition] = field(default_factory=list)
    stored: int = 0
    twice: int = 0
    """The number of additional copies of records."""
