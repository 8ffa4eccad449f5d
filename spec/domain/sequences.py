"""Domains of several items: arrays with one item for each index, and sequences up to a capacity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from kafka_spec.spec.domain.limits import Bound, Number, SpecError, bound_of, value_at_bounds
from kafka_spec.spec.domain.records import domain_of
from kafka_spec.spec.domain.scalars import Broker, Domain
from kafka_spec.spec.domain.types import Array, Sequence


@dataclass(frozen=True)
class Each(Domain):
    """An array with one item for each index 0..length-1; `label` names an index ("broker", "partition")."""

    item: Domain | type
    length: Number
    label: str = ""

    def at(self, bounds: Mapping[str, int], place: str) -> Array:
        """Return the type at these bounds."""
        item, length = domain_of(self.item).at(bounds, place), value_at_bounds(self.length, bounds, place)
        if length < 0:
            raise SpecError(f"{place}: an array of {length} items; correct its length, or the range of its bound")
        return Array(item, length, self.label, place)

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound the domain mentions."""
        yield from domain_of(self.item).bounds()
        if bound := bound_of(self.length):
            yield bound


class PerBroker(Each):
    """One item for each broker."""

    def __init__(self, item: Domain | type, brokers: Number) -> None:
        super().__init__(item, brokers, "broker")


@dataclass(frozen=True)
class Bounded(Domain):
    """A sequence of at most `capacity` items, in order: a log, a list of requests."""

    item: Domain | type
    capacity: Number
    label: str = ""
    distinct: ClassVar[bool] = False

    def at(self, bounds: Mapping[str, int], place: str) -> Sequence:
        """Return the type at these bounds."""
        item, capacity = domain_of(self.item).at(bounds, place), value_at_bounds(self.capacity, bounds, place)
        if capacity < 0:
            raise SpecError(f"{place}: a sequence of at most {capacity} items; correct its capacity, or the range of its bound")
        bound = bound_of(self.capacity)
        return Sequence(item, capacity, bound.name if bound else None, self.label, self.distinct, place)

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound the domain mentions."""
        yield from domain_of(self.item).bounds()
        if bound := bound_of(self.capacity):
            yield bound


@dataclass(frozen=True)
class Queue(Bounded):
    """A FIFO channel: what is appended was sent, what `pop_first` takes was received."""


class Assignment(Bounded):
    """An ordered list of distinct brokers: Kafka's assigned replicas, where the first is preferred."""

    distinct: ClassVar[bool] = True

    def __init__(self, brokers: Number) -> None:
        super().__init__(Broker(brokers), brokers)
