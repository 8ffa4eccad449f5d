"""Data shared by the views of one partition: findings, counts of rows, and the requests between the views."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from kafka_spec.conformance.outcome.violations import Violation
from kafka_spec.conformance.validate.events import Cursor, LeaderAndIsr
from kafka_spec.conformance.validate.exchange import Exchange
from kafka_spec.conformance.validate.findings import Refusal

RowCounts = Counter[tuple[str, tuple[int, ...]]]
"""Counts of rows: the key is the machine and the numbers of the rows that a transition may have been."""


class PartitionRecord(Protocol):
    """One partition, as its views write to it; implemented by `PartitionCheck`."""

    name: str
    cursor: Cursor
    keeps_moments: bool
    rows: RowCounts
    refusals: Counter[Refusal]
    refused_at: dict[Refusal, int]
    violations: list[Violation]
    missing: list[tuple[int, str]]
    """Lines that others show to be missing: the place where they are missed, and which."""
    uncached: set[int]
    """Controller epochs in which the partition was deleted, according to brokers."""

    def exchange(self, request: str, epoch: int, broker: int) -> Exchange:
        """Return the requests of one kind for this partition on one channel."""
        ...

    def sender_gap(self, epoch: int) -> None:
        """Lines of the controller of an epoch are missing here."""
        ...

    def receiver_gap(self, broker: int) -> None:
        """Lines of a broker are missing here."""
        ...

    def shows(self, epoch: int, now: LeaderAndIsr) -> None:
        """Record what a line shows, under a controller epoch, of the leadership."""
        ...
