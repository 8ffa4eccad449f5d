"""Data shared by the views of one partition: findings, counts of rows, and the requests between the views."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from kafka_spec.conformance.validate.events import Cursor
from kafka_spec.conformance.validate.exchange import Exchange
from kafka_spec.conformance.validate.findings import Refusal, Violation

RowCounts = Counter[tuple[str, tuple[int, ...]]]
"""Counts of rows: the key is the machine and the numbers of the rows that a transition may have been."""


class PartitionRecord(Protocol):
    """One partition, as its views write to it; implemented by `PartitionCheck`."""

    name: str
    cursor: Cursor
    keeps_moments: bool
    rows: RowCounts
    refusals: Counter[Refusal]
    violations: list[Violation]
    uncached: set[int]
    """Controller epochs in which the partition was deleted, according to brokers."""

    def exchange(self, epoch: int, broker: int) -> Exchange:
        """Return the LeaderAndIsr requests for this partition on one channel."""
        ...

    def sender_gap(self, epoch: int) -> None:
        """Lines of the controller of an epoch are missing here."""
        ...

    def receiver_gap(self, broker: int) -> None:
        """Lines of a broker are missing here."""
        ...

    def leads(self, epoch: int, leader_epoch: int, leader: int) -> None:
        """Record under a controller epoch the leader of a leader epoch."""
        ...
