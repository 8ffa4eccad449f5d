"""What the controller's decisions make of a partition: the change that an event writes, by the functions that the checker explores.

A prediction depends on the partition's shape and on what the event asks, so it is remembered by both.

Source: Kafka 3.9 PartitionChangeBuilder.java, through impl/kraft/partition_change.py and spec/decisions/partition_change.py.
"""

from __future__ import annotations

from typing import NamedTuple

from kafka_spec.conformance.metadata.rulings import Ruling
from kafka_spec.conformance.metadata.shapes import NOBODY, FoldedPartition, PartitionShape, ShapeChange, change_of
from kafka_spec.impl.kraft.partition_change import AskedChange, AssignedReplicas, build_change
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.partition_change import ElectionKind
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet

MOST_REMEMBERED = 1 << 18
ANY_PARTITION = TopicPartition("", 0)


class AskedShape(NamedTuple):
    """What an event asks of a partition; see AskedChange. `least` is the effective min.insync.replicas."""

    isr: tuple[int, ...]
    acceptable: BrokerSet
    least: int
    election: ElectionKind = ElectionKind.ONLINE
    recovery: int | None = None
    lost_records: BrokerSet = NO_BROKERS
    assignment: AssignedReplicas | None = None


def in_any_order(change: ShapeChange) -> ShapeChange:
    """Return a change with the ELR in ascending order: Kafka's is that of a hash set."""
    if change.elr is None or len(change.elr) < 2:
        return change
    return change._replace(elr=tuple(sorted(change.elr)))


class Predictions:
    """Remembers predictions under each ruling."""

    def __init__(self) -> None:
        self._rulings: dict[Ruling, dict[tuple[PartitionShape, AskedShape], ShapeChange | None]] = {}
        self._ruling: Ruling | None = None
        self._all_acting: dict[Ruling, dict[tuple[PartitionShape, AskedShape], tuple[str, ...]]] = {}
        self._ruling_acting: Ruling | None = None
        self._acting: dict[tuple[PartitionShape, AskedShape], tuple[str, ...]] = {}
        self._known: dict[tuple[PartitionShape, AskedShape], ShapeChange | None] = {}

    def acting(self, ruling: Ruling, shape: PartitionShape, asked: AskedShape) -> tuple[str, ...]:
        """Return the cases without which the change would be another."""
        if ruling is not self._ruling_acting:
            self._ruling_acting, self._acting = ruling, self._all_acting.setdefault(ruling, {})
        key = (shape, asked)
        known = self._acting.get(key)
        if known is None:
            if len(self._acting) >= MOST_REMEMBERED:
                self._acting.clear()
            built = self._built(ruling, shape, asked)
            found = tuple(name for name in ruling.acting if self._built(ruling.off(name), shape, asked) != built)
            known = self._acting[key] = found
        return known

    def predict(self, ruling: Ruling, shape: PartitionShape, asked: AskedShape) -> ShapeChange | None:
        """Return the change that is written, with the ELR in ascending order; None if nothing is."""
        if ruling is not self._ruling:
            self._ruling, self._known = ruling, self._rulings.setdefault(ruling, {})
        key = (shape, asked)
        if key in self._known:
            return self._known[key]
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        found = self._known[key] = self._built(ruling, shape, asked)
        return found

    @staticmethod
    def _built(ruling: Ruling, shape: PartitionShape, asked: AskedShape) -> ShapeChange | None:
        wanted = AskedChange(asked.isr, asked.acceptable, asked.election, asked.recovery, asked.lost_records, asked.assignment)
        record = build_change(ANY_PARTITION, shape.registered(), wanted, asked.least, ruling.k).record
        if record is None:
            return None
        assert record.topic_id == NOBODY
        return in_any_order(
            ShapeChange(
                record.isr,
                record.leader,
                record.replicas,
                record.removing_replicas,
                record.adding_replicas,
                record.leader_recovery_state,
                record.eligible_leader_replicas,
                record.last_known_elr,
            )
        )


def recorded(record: object) -> ShapeChange:
    """Return what a record changes, to be compared with a prediction."""
    return in_any_order(change_of(record))


Predicted = dict[FoldedPartition, AskedShape]
"""What an event asks of each partition that it concerns."""


class Explained(NamedTuple):
    """An event: its name, how many records it wrote, whom it concerns, what it asked of which partitions."""

    name: str
    records: int
    subject: str = ""
    asked: tuple[tuple[FoldedPartition, AskedShape], ...] = ()


def differing(wanted: ShapeChange | None, found: ShapeChange) -> list[str]:
    """Return the fields in which a record differs from what an event would write, with both values."""
    if wanted is None:
        return ["it would write no record"]
    return [
        f"{name} is {value}, not {other}"
        for name, value, other in zip(ShapeChange._fields, found, wanted, strict=True)
        if value != other
    ]
