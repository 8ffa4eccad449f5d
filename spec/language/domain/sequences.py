"""Domains of several items: arrays with one item for each index, sequences up to a capacity, sets and bags, maps and options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from kafka_spec.spec.language.domain.limits import (
    Bound,
    Number,
    SpecError,
    bound_of,
    capacity_of,
    counted_by,
    limit_of,
    value_at_bounds,
)
from kafka_spec.spec.language.domain.operations import kept_inside
from kafka_spec.spec.language.domain.records import domain_of
from kafka_spec.spec.language.domain.scalars import Domain, OneOf, Range, Subset
from kafka_spec.spec.language.domain.types import Array, Collection, Map, Maybe, Record, Scalar, Sequence, as_element


@dataclass(frozen=True)
class ArrayOf(Domain):
    """An array with one item for each index 0..length-1; `label` names an index ("broker", "partition")."""

    item: Domain | type
    length: Number
    label: str = ""

    def at(self, bounds: Mapping[str, int], place: str) -> Array:
        """Return the type at these bounds."""
        item, length = domain_of(self.item).at(bounds, place), value_at_bounds(self.length, bounds, place)
        if length < 0:
            raise SpecError(f"{place}: an array of {length} items; correct its length, or the range of its bound")
        return Array(item, length, self.label, place, counted_by(self.length))

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound the domain mentions."""
        yield from domain_of(self.item).bounds()
        if bound := bound_of(self.length):
            yield bound


@dataclass(frozen=True)
class SequenceOf(Domain):
    """A sequence of at most `capacity` items, in order: a log, a list of requests.

    If the capacity is left out, a search finds it, and nothing is limited by it (`Capacity`).
    """

    item: Domain | type
    capacity: Number = None  # type: ignore[assignment]
    label: str = ""
    distinct: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.capacity is None:
            numbers = "numbers" if isinstance(self.item, Range | OneOf | Subset) else "containers"
            object.__setattr__(self, "capacity", capacity_of(self.item.__name__ if isinstance(self.item, type) else numbers))

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
class Queue(SequenceOf):
    """A FIFO channel: what is appended was sent, what `pop_first` takes was received."""


@dataclass(frozen=True)
class Elements(SequenceOf):
    """A set of at most `capacity` records of a dataclass, or a bag, in which a record may be more than once."""

    repeats: bool = False

    def at(self, bounds: Mapping[str, int], place: str) -> Collection:
        """Return the type at these bounds."""
        type_ = super().at(bounds, place)
        if not isinstance(type_.item, Record):
            raise SpecError(f"{place}: the elements of a set or bag with a capacity are records; name their dataclass")
        if kept := kept_inside(type_.item):
            raise SpecError(f"{place}: {type_.item.cls.__name__} {kept}; it cannot be an element of a set or bag")
        fields = {**vars(type_), "item": as_element(type_.item)}
        return Collection(**fields, repeats=self.repeats)


@dataclass(frozen=True)
class Option(Domain):
    """A value of a domain, or none, which is the initial value."""

    item: Domain | type

    def at(self, bounds: Mapping[str, int], place: str) -> Maybe:
        """Return the type at these bounds."""
        item = domain_of(self.item).at(bounds, place)
        if kept := kept_inside(item):
            raise SpecError(f"{place}: what is optional {kept}; it cannot come and go")
        if isinstance(item, Maybe):
            raise SpecError(f"{place}: an option of an option; one of them is enough")
        return Maybe(item, 1, None, "", False, place)

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound the domain mentions."""
        yield from domain_of(self.item).bounds()


@dataclass(frozen=True)
class MapOf(Domain):
    """A map from the keys of a domain to values, initially without any: `MapOf(Member(SERVERS, "server"), Session)`.

    The keys are members of a declared set, by their domain or their number, or of an IntEnum numbered from 0 (`OneOf(Kind)`).
    """

    keys: Number | Domain
    item: Domain | type

    @property
    def count(self) -> Number:
        """How many keys there may be."""
        if isinstance(self.keys, OneOf):
            return len(self.keys.members)
        return self.keys.high + 1 if isinstance(self.keys, Range) else self.keys  # type: ignore[return-value]

    def at(self, bounds: Mapping[str, int], place: str) -> Map:
        """Return the type at these bounds."""
        if isinstance(self.keys, type):
            raise SpecError(f"{place}: {self.keys.__name__} is not a domain; keys are Member(...), OneOf(...), or how many")
        keys = self.keys if isinstance(self.keys, Domain) else Range(0, limit_of(self.keys, place) - 1)
        scalar = keys.at(bounds, f"{place}, the keys")
        if not isinstance(keys, Range | OneOf) or not isinstance(scalar, Scalar) or scalar.low != 0:
            raise SpecError(
                f"{place}: the keys of a map are numbered from 0; name a Member(...), an IntEnum, or how many there are"
            )
        option = Option(self.item).at(bounds, place)
        return Map(option, scalar.high + 1, getattr(keys, "name", ""), place, counted_by(self.count), scalar.show)

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound the domain mentions."""
        yield from domain_of(self.item).bounds()
        if isinstance(self.keys, Domain):
            yield from self.keys.bounds()
        elif bound := bound_of(self.keys):
            yield bound


def SetOf(of: Number | Domain | type, capacity: Number | None = None, *, full: bool = False) -> Domain:  # noqa: N802
    """Return the domain of sets.

    `SetOf(Message, capacity)` holds records of a dataclass, initially none: `add`, `remove`, `has`, `len` and `for m in s.messages`
    are what functions do with it, and `ElementOf` what a rule ranges over; the capacity may be left out. `SetOf(members)` holds
    members of a declared set, by their number or by the domain of one, and `SetOf(OneOf(Colour))` members of an IntEnum; initially
    none, or all of them if it is `full`. `SetOf(SetOf(members))` holds sets of up to five members, which `including`, `contains`
    and `members_of` take and give.
    """
    if isinstance(of, type):
        if full:
            raise SpecError(f"SetOf({of.__name__}): a set of records is empty at first; add() them in the rule that starts")
        return Elements(of, capacity)  # type: ignore[arg-type]
    if capacity is not None:
        cure = ", or a set of records: a dataclass with a field, SetOf(Record, capacity)" if isinstance(of, Domain) else ""
        raise SpecError(f"SetOf(members) has no capacity: it may hold all of them{cure}")
    if isinstance(of, Subset) and not (full or of.full or of.sets):
        return Subset(of.members, names=of.names, sets=True)
    if isinstance(of, OneOf):
        if sorted(of.members) != list(range(len(of.members))):
            raise SpecError(f"SetOf({of.members.__name__}): the members of a set are numbered from 0, without gaps")
        return Subset(len(of.members), full, of.members)
    if isinstance(of, Domain):
        if not isinstance(of, Range) or of.low != 0:
            if not isinstance(of, Range):
                raise SpecError("SetOf(...): a member is a number; what is more is a record: SetOf(Record, CAPACITY)")
            raise SpecError(f"SetOf({of}): the members of a set are numbered from 0; name a Member(...), or how many there are")
        return Subset(of.high + 1, full)
    return Subset(limit_of(of, "SetOf(members)"), full)


def BagOf(of: type, capacity: Number | None = None) -> Elements:  # noqa: N802
    """Return the domain of bags of records: sets in which a record may be more than once; `count` says how often it is."""
    return Elements(of, capacity, repeats=True)  # type: ignore[arg-type]


class Distinct(SequenceOf):
    """A sequence whose items are distinct numbers."""

    distinct: ClassVar[bool] = True
