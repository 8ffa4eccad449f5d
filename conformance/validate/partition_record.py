"""What the views of one partition share: the place of findings, the counts of rows, and the requests between them."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from kafka_spec.conformance.validate.events import Cursor
from kafka_spec.conformance.validate.exchange import Exchange
from kafka_spec.conformance.validate.findings import Refusal, Violation

RowCounts = Counter[tuple[str, tuple[int, ...]]]
"""How often a row was seen: machine, and the numbers of the rows that it may have been."""


class PartitionRecord(Protocol):
    """One partition, as its views write to it; `PartitionCheck` is one."""

    name: str
    cursor: Cursor
    keeps_moments: bool
    rows: RowCounts
    refusals: Counter[Refusal]
    violations: list[Violation]
    uncached: set[int]
    """Controller epochs in which the partition was deleted, as brokers say."""

    def exchange(self, epoch: int, broker: int) -> Exchange:
        """Return the LeaderAndIsr requests for this partition on one channel."""
        ...

    def leads(self, epoch: int, leader_epoch: int, leader: int) -> None:
        """Note under a controller epoch who leads in a leader epoch."""
        ...
