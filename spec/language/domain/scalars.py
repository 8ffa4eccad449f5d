"""Domains of single numbers: ranges, flags, members of a declared set or an enumeration, states of a machine, sets of members."""

from __future__ import annotations

import abc
import dataclasses
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from kafka_spec.spec.language.domain.limits import Bound, Limit, Number, SpecError, bound_of, counted_by, limit_of, value_at_bounds
from kafka_spec.spec.language.domain.members import NONE, MemberSet, show_set
from kafka_spec.spec.language.domain.types import Scalar, Type
from kafka_spec.spec.language.integers import unusable


class Domain(abc.ABC):
    """What a field or a parameter may hold. `at` fixes the bounds; `place` names the field in messages."""

    @abc.abstractmethod
    def at(self, bounds: Mapping[str, int], place: str) -> Type:
        """Return the type at these bounds."""

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound the domain mentions."""
        for value in vars(self).values():
            if isinstance(value, Domain):
                yield from value.bounds()
            elif (bound := bound_of(value)) is not None:
                yield bound


@dataclass(frozen=True)
class Range(Domain):
    """The integers low..high, both included. `initial` is the initial value (default: `low`).

    By its `name` a normal form refers to all fields of the domain.
    """

    low: Number
    high: Number
    initial: Number | None = None
    name: str = ""

    def at(self, bounds: Mapping[str, int], place: str) -> Scalar:
        """Return the type at these bounds."""
        low, high = value_at_bounds(self.low, bounds, place), value_at_bounds(self.high, bounds, place)
        initial = low if self.initial is None else value_at_bounds(self.initial, bounds, place)
        if not low <= initial <= high:
            raise SpecError(f"{place}: initially {initial}, which is outside {low}..{high}; correct the domain")
        bound = bound_of(self.high)
        plus = self.high.plus if isinstance(self.high, Limit) else 0
        return Scalar(low, high, initial, bound.name if bound else None, self.show, plus=plus, name=self.name)

    def show(self, value: int) -> str:
        """Print a value."""
        return str(value)


class Flag(Range):
    """True or false, held as 1 or 0."""

    def __init__(self) -> None:
        super().__init__(0, 1)

    def show(self, value: int) -> str:
        """Print a value."""
        return "yes" if value else "no"


@dataclass(frozen=True)
class Member(Range):
    """A member of a declared set, numbered from 0: `Member(SERVERS, "server")` is one of so many servers.

    `name` is how traces call one ("server 2"). Members are not interchangeable by themselves.
    """

    name: str = ""

    def __init__(self, members: Number, name: str = "") -> None:
        super().__init__(0, limit_of(members, "Member") - 1)
        object.__setattr__(self, "name", name)

    def at(self, bounds: Mapping[str, int], place: str) -> Scalar:
        """Return the type at these bounds."""
        return dataclasses.replace(super().at(bounds, place), members=counted_by(self.high + 1))

    def show(self, value: int) -> str:
        """Print a value."""
        return f"{self.name} {value}".lstrip()


@dataclass(frozen=True)
class MemberOrNone(Range):
    """A member of a declared set, or none (`NONE`, the initial value)."""

    name: str = ""

    def __init__(self, members: Number, name: str = "") -> None:
        super().__init__(NONE, limit_of(members, "MemberOrNone") - 1)
        object.__setattr__(self, "name", name)

    def at(self, bounds: Mapping[str, int], place: str) -> Scalar:
        """Return the type at these bounds."""
        return dataclasses.replace(super().at(bounds, place), members=counted_by(self.high + 1))

    def show(self, value: int) -> str:
        """Print a value."""
        return "none" if value == NONE else f"{self.name} {value}".lstrip()


@dataclass(frozen=True)
class OneOf(Domain):
    """A member of an IntEnum; the initial value is its first member."""

    members: type[enum.IntEnum]

    def __new__(cls, *given: Any, **_: Any) -> Self:
        """Refuse members that are written out."""
        if len(given) > len(dataclasses.fields(cls)):
            raise SpecError(f"{cls.__name__} takes the class of the members, {cls.__name__}(Colour), an enum.IntEnum; got {given}")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        if not isinstance(self.members, type) or not issubclass(self.members, enum.IntEnum):
            raise SpecError(f"{type(self).__name__}: {self.members!r} is not an enum.IntEnum; name such a class")

    def at(self, bounds: Mapping[str, int], place: str) -> Scalar:
        """Return the type at these bounds."""
        for member in self.members:
            if reason := unusable(member):
                raise SpecError(f"{place}: {self.members.__name__}.{member.name} {reason}")
        values = sorted(self.members)
        if values != list(range(values[0], values[-1] + 1)):
            raise SpecError(f"{place}: the values of {self.members.__name__} have gaps; number them without")
        first = next(iter(self.members))
        show = {int(member): member.name for member in self.members}.__getitem__
        return Scalar(values[0], values[-1], int(first), None, show, getattr(self, "machine", None))


@dataclass(frozen=True)
class StateOf(OneOf):
    """The state of the machine of this name. Only `fire` changes it."""

    machine: str


@dataclass(frozen=True)
class Subset(Domain):
    """A set of members of a declared set, held as a bit mask and printed as a set; `SetOf(members)` makes one."""

    members: Number
    full: bool = False
    names: type[enum.IntEnum] | None = None
    """The class of which these are members, for traces."""
    sets: bool = False
    """Whether it holds sets of these members, by their masks: a set of sets."""

    def at(self, bounds: Mapping[str, int], place: str) -> Scalar:
        """Return the type at these bounds."""
        members = value_at_bounds(self.members, bounds, place)
        if self.sets:
            if not 0 <= members <= MOST_IN_SETS:
                cure = "of more, declare a set of records: a dataclass with such a field, SetOf(Record, CAPACITY)"
                raise SpecError(f"{place}: a set of sets of {members} members; there may be 0 to {MOST_IN_SETS}; {cure}")
            return Scalar(0, (1 << (1 << members)) - 1, 0, None, self.show, many=True, members_inside=counted_by(self.members))
        if not 0 <= members <= 62:
            raise SpecError(f"{place}: a set of {members} members; there may be 0 to 62, one bit each; ArrayOf(Flag(), n) has more")
        everyone = (1 << members) - 1
        initial = everyone if self.full else 0
        return Scalar(0, everyone, initial, None, self.show, members=counted_by(self.members), many=True)

    def show(self, value: int) -> str:
        """Print a set."""
        if self.sets:
            return "{" + ", ".join(self.show_members(inner) for inner in MemberSet(value)) + "}"
        return self.show_members(value)

    def show_members(self, value: int) -> str:
        """Print a set of members."""
        if self.names is None:
            return show_set(value)
        return "{" + ", ".join(self.names(member).name for member in MemberSet(value)) + "}"


MOST_IN_SETS = 5
"""The most members of the sets in a set: each of the 32 sets of five has a bit."""
