"""What the image has of a partition and of a broker, and what a change record does to a partition.

A *shape* is what decisions about a partition depend on. Few shapes occur in a log, and many partitions share each.

Source: Kafka 3.9 PartitionRegistration.java, BrokerRegistration.java.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from uuid import UUID

from kafka_spec.impl.kraft.image import RegisteredPartition
from kafka_spec.impl.kraft.records import NO_LEADER_CHANGE, NO_RECOVERY_CHANGE
from kafka_spec.spec.kraft.machines import CONTROLLED_SHUTDOWN, UNFENCED, BrokerState
from kafka_spec.spec.kraft.machines import FENCED as IS_FENCED
from kafka_spec.spec.language.domain import NONE

NOBODY = UUID(int=0)

UNASSIGNED_DIRECTORY, LOST_DIRECTORY, MIGRATING_DIRECTORY = bytes(15) + b"\1", bytes(15) + b"\2", bytes(16)
RESERVED_DIRECTORIES = frozenset({UNASSIGNED_DIRECTORY, LOST_DIRECTORY, MIGRATING_DIRECTORY})
"""Ids that are not directories (DirectoryId.java)."""


def bare(items: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return parts of a record in a fixed order, without the versions that they were written in."""
    return tuple(sorted(item[1:-1] for item in items))


LARGEST_BROKER = 1 << 16
"""The largest broker id that is read: sets of brokers are bit masks."""
STRANGE_BROKER = f"a broker id that is none from 0 to {LARGEST_BROKER}"


class PartitionShape(NamedTuple):
    """What the decisions about a partition depend on: everything but its name, its epochs and its directories."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    elr: tuple[int, ...] = ()
    last_known: tuple[int, ...] = ()
    recovery: int = 0
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def preferred(self) -> int:
        """The first replica; NONE of a broken log's partition that has no replicas."""
        return self.replicas[0] if self.replicas else NONE

    def is_sound(self) -> bool:
        """Whether all lists name broker ids that can be, and the leader is one or none."""
        lists = (*self.replicas, *self.isr, *self.elr, *self.adding, *self.removing)
        last = (self.leader, *self.last_known)  # the last known leader was none in 4.0 (last-known-when-isr-empties)
        return all(0 <= one <= LARGEST_BROKER for one in lists) and all(NONE <= one <= LARGEST_BROKER for one in last)

    def registered(self) -> RegisteredPartition:
        """Return the partition as the controller's decisions take it, with epochs 0."""
        last = self.last_known[0] if self.last_known else NONE
        return RegisteredPartition(
            NOBODY, self.replicas, self.isr, self.leader, 0, 0, self.elr, last, self.recovery, self.adding, self.removing
        )


class ShapeChange(NamedTuple):
    """What a PartitionChangeRecord changes; what is None, NO_LEADER_CHANGE or NO_RECOVERY_CHANGE stays."""

    isr: tuple[int, ...] | None = None
    leader: int = NO_LEADER_CHANGE
    replicas: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    recovery: int = NO_RECOVERY_CHANGE
    elr: tuple[int, ...] | None = None
    last_known: tuple[int, ...] | None = None


NOTHING = ShapeChange()


_CHANGED = slice(3, 9), slice(10, 12)
"""Where a PartitionChangeRecord, as a tuple, has the fields of a ShapeChange: before and after its directories."""


def change_of(record: Any) -> ShapeChange:
    """Return what a PartitionChangeRecord changes, but for directories."""
    return tuple.__new__(ShapeChange, record[_CHANGED[0]] + record[_CHANGED[1]])


def merged(shape: PartitionShape, change: ShapeChange) -> PartitionShape:
    """Return a partition after a change (PartitionRegistration.merge)."""
    isr, leader, replicas, removing, adding, recovery, elr, last_known = change
    return PartitionShape(
        shape.replicas if replicas is None else replicas,
        shape.isr if isr is None else isr,
        shape.leader if leader == NO_LEADER_CHANGE else leader,
        shape.elr if elr is None else elr,
        shape.last_known if last_known is None else last_known,
        shape.recovery if recovery == NO_RECOVERY_CHANGE else recovery,
        shape.adding if adding is None else adding,
        shape.removing if removing is None else removing,
    )


class FoldedPartition:
    """A partition; `directories` are those of its replicas, in their order, () if the log does not tell them."""

    __slots__ = ("directories", "leader_epoch", "number", "partition_epoch", "shape", "topic_id")

    def __init__(
        self,
        topic_id: bytes,
        number: int,
        shape: PartitionShape,
        leader_epoch: int,
        partition_epoch: int,
        directories: tuple[bytes, ...],
    ) -> None:
        self.topic_id = topic_id
        self.number = number
        self.shape = shape
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.directories = directories

    def directory_of(self, broker: int) -> bytes | None:
        """Return the log directory of a broker's replica, None if the log does not tell it."""
        return dict(zip(self.shape.replicas, self.directories, strict=False)).get(broker)

    def content(self) -> tuple[Any, ...]:
        """Return everything that a snapshot says of it."""
        return self.shape, self.leader_epoch, self.partition_epoch, self.directories


class FoldedBroker:
    """A registered broker."""

    __slots__ = ("cordoned", "directories", "epoch", "fenced", "incarnation", "number", "record", "stops")

    def __init__(self, record: Any) -> None:
        self.number: int = record.broker_id
        self.epoch: int = record.broker_epoch
        self.incarnation: bytes = record.incarnation_id
        self.fenced: bool = record.fenced
        self.stops: bool = record.in_controlled_shutdown
        self.directories: tuple[bytes, ...] = record.log_dirs or ()
        self.cordoned: tuple[bytes, ...] | None = record.cordoned_log_dirs
        """The directories that get no new replicas (KIP-1066); None if the broker does not say."""
        self.record = record

    @property
    def state(self) -> BrokerState:
        """Its state in the table of registrations."""
        return IS_FENCED if self.fenced else CONTROLLED_SHUTDOWN if self.stops else UNFENCED

    @property
    def active(self) -> bool:
        """Whether it may lead: neither fenced nor in controlled shutdown."""
        return not self.fenced and not self.stops

    def content(self) -> tuple[Any, ...]:
        """Return everything that a snapshot says of it."""
        same = (bare(self.record.end_points), bare(self.record.features), self.record.rack)
        cordoned = None if self.cordoned is None else sorted(self.cordoned)
        return self.epoch, self.incarnation, self.fenced, self.stops, sorted(self.directories), cordoned, same
