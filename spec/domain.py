"""What a field of a state may hold, declared once beside the field.

This module knows no rule, no engine and no bytes; it knows values. A state is a tree of dataclasses whose fields
carry a *domain* (`hw: int = holds(Range(0, LOG_SIZE))`). A domain may mention *bounds*, the named limits of an
exploration. `Space(State, bounds)` fixes them and yields a tree of *types* (scalar, array, sequence, record) from which
everything else is derived: fresh values, copies, equality, differences, printing, and in the engines dtype and bytes.

Theory of operation. Rules run as ordinary Python on the values made here, and as compiled code elsewhere; both must agree.
So a value refuses at once what compiled code could not do: a store outside its domain, an index outside its sequence (a
negative one too), a copy by assignment. A limit written as a number is a claim: leaving it is an `OutOfDomain`, an
error of the specification. A limit that comes from a `Bound` only says how far to explore: leaving it is an
`OutOfBound`, and the engines drop that step, count it and name it.
"""

from __future__ import annotations

import abc
import dataclasses
import enum
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

NONE = -1
"""No broker: the value of a leader field when nobody leads (Kafka: LeaderAndIsr.NoLeader)."""

Path: TypeAlias = tuple[str | int, ...]
"""Where a value stands in a state: field names and indices, from the root."""


class SpecError(Exception):
    """A specification, a table or a request for a check is wrong; the message names the place and the cure."""


class OutOfDomain(SpecError):  # noqa: N818 - says what happened
    """A store left a limit that the specification states as a fact: the type invariant is violated."""


class BadAccess(SpecError):  # noqa: N818 - says what happened
    """A guard or an effect reads or changes what is not there; in compiled code the same is found."""


class OutOfBound(Exception):  # noqa: N818 - no error: a step that the exploration leaves out
    """A store left a limit that only a bound of the exploration sets; `args[0]` names the bound."""


# ---------------------------------------------------------------------------------------------------------------------
# Bounds and limits


@dataclass(frozen=True)
class Bound:
    """A named limit of the exploration, a value of `k` at run time.

    `low` and `high` are the values a user may ask for, both included; `meaning` says what is counted.
    """

    name: str
    low: int
    high: int
    meaning: str

    def __add__(self, plus: int) -> Limit:
        return Limit(self, plus)

    def __sub__(self, minus: int) -> Limit:
        return Limit(self, -minus)


@dataclass(frozen=True)
class Limit:
    """A bound plus a constant, such as `MAX_RECORDS - 1`."""

    bound: Bound
    plus: int = 0

    def __add__(self, plus: int) -> Limit:
        return Limit(self.bound, self.plus + plus)

    def __sub__(self, minus: int) -> Limit:
        return Limit(self.bound, self.plus - minus)


Number: TypeAlias = int | Bound | Limit


def _value(number: Number, bounds: Mapping[str, int]) -> int:
    if isinstance(number, int):
        return number
    limit = number if isinstance(number, Limit) else Limit(number)
    return bounds[limit.bound.name] + limit.plus


def _bound_of(number: Number) -> Bound | None:
    if isinstance(number, Limit):
        return number.bound
    return number if isinstance(number, Bound) else None


# ---------------------------------------------------------------------------------------------------------------------
# Types: domains at given bounds


@dataclass(frozen=True)
class Scalar:
    """An integer in low..high.

    `bound` names the bound behind `high`, if one is; `show` prints a value; `machine` names the machine whose state it is; a
    `counter` counts firings of the rules that a bound limits.
    """

    low: int
    high: int
    initial: int
    bound: str | None
    show: Callable[[int], str]
    machine: str | None = None
    counter: bool = False

    @property
    def kept(self) -> str:
        """Why effects may not set it, as the end of a sentence, or "" where they may."""
        if self.machine is not None:
            return "is the state of a machine; change it with fire()"
        return "counts firings; only the rules that say at_most change it" if self.counter else ""

    def fresh(self) -> int:
        """Return the initial value."""
        return self.initial

    def copy(self, value: int) -> int:
        """Return a copy that shares nothing."""
        return value

    def freeze(self, value: int) -> int:
        """Return what two values are compared by."""
        return int(value)

    def check(self, value: object, place: str) -> None:
        """Raise unless the value may stand here."""
        if not isinstance(value, int):
            raise BadAccess(f"{place}: {value!r} is no integer; fields hold integers, copy records with assign()")
        if self.low <= value <= self.high:
            return
        if self.bound is not None and value > self.high:
            raise OutOfBound(self.bound)
        raise OutOfDomain(f"{place}: {value} is outside {self.low}..{self.high}")


class Items(list[Any]):
    """The value of an array or a sequence: a list that refuses what compiled code could not check or do."""

    __slots__ = ("type",)

    def __init__(self, type_: Array | Sequence, values: Iterable[Any]) -> None:
        super().__init__(values)
        self.type = type_

    def __getitem__(self, index: Any) -> Any:
        if not 0 <= index < len(self):
            raise BadAccess(f"{self.type.place}: index {index} of {len(self)} items")
        return super().__getitem__(index)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not 0 <= index < len(self):
            raise BadAccess(f"{self.type.place}: index {index} of {len(self)} items")
        if not isinstance(self.type.item, Scalar):
            raise BadAccess(f"{self.type.place}: an assignment would share a record; copy it with assign()")
        if self.type.item.kept:
            raise BadAccess(f"{self.type.place}[{index}] {self.type.item.kept}")
        self.type.item.check(value, self.type.place)
        super().__setitem__(index, int(value))


@dataclass(frozen=True)
class Array:
    """A fixed number of items, one for each index; `label` names what an index stands for ("broker")."""

    item: Type
    length: int
    label: str
    place: str

    def fresh(self) -> Items:
        """Return the initial value."""
        return Items(self, (self.item.fresh() for _ in range(self.length)))

    def copy(self, value: Items) -> Items:
        """Return a copy that shares nothing."""
        return Items(self, value if isinstance(self.item, Scalar) else [self.item.copy(item) for item in value])

    def freeze(self, value: Items) -> tuple[Any, ...]:
        """Return what two values are compared by."""
        return tuple([self.item.freeze(item) for item in value])


@dataclass(frozen=True)
class Sequence:
    """Up to `capacity` items in order. `bound` names the bound behind the capacity, if one is."""

    item: Type
    capacity: int
    bound: str | None
    label: str
    distinct: bool
    place: str

    def fresh(self) -> Items:
        """Return the initial value."""
        return Items(self, ())

    def copy(self, value: Items) -> Items:
        """Return a copy that shares nothing."""
        return Items(self, value if isinstance(self.item, Scalar) else [self.item.copy(item) for item in value])

    def freeze(self, value: Items) -> tuple[Any, ...]:
        """Return what two values are compared by."""
        return tuple([self.item.freeze(item) for item in value])


@dataclass(frozen=True)
class Record:
    """A dataclass with typed fields. `live` is the subclass of it whose instances check every store."""

    cls: type
    fields: Mapping[str, Type]
    tags: tuple[str, Mapping[int, tuple[str, ...]]] | None
    live: Any
    holders: Mapping[str, str]

    def fresh(self) -> Any:
        """Return the initial value."""
        value = self.live.__new__(self.live)
        value.__dict__.update({name: type_.fresh() for name, type_ in self.fields.items()})
        return value

    def copy(self, value: Any) -> Any:
        """Return a copy that shares nothing."""
        twin = self.live.__new__(self.live)
        source = value.__dict__
        twin.__dict__.update({n: source[n] if isinstance(t, Scalar) else t.copy(source[n]) for n, t in self.fields.items()})
        return twin

    def freeze(self, value: Any) -> tuple[Any, ...]:
        """Return what two values are compared by."""
        source = value.__dict__
        return tuple([type_.freeze(source[name]) for name, type_ in self.fields.items()])

    def shown_fields(self, value: Any) -> Iterator[tuple[str, Type]]:
        """The fields that mean something in this value: all, or in a tagged message those of its tag."""
        names: Iterable[str] = self.fields
        if self.tags is not None:
            tag, members = self.tags
            names = (tag, *members[getattr(value, tag)])
        for name in names:
            yield name, self.fields[name]


Type: TypeAlias = Scalar | Array | Sequence | Record


def _live(cls: type, fields: Mapping[str, Type]) -> type:
    """Return a subclass of the dataclass whose instances refuse a store outside the field's type."""

    def checked(self: Any, name: str, value: Any) -> None:
        type_ = fields.get(name)
        if not isinstance(type_, Scalar):
            raise BadAccess(f"{cls.__name__}.{name}: an assignment would share it; copy with assign(), append(), ...")
        if type_.kept:
            raise BadAccess(f"{cls.__name__}.{name} {type_.kept}")
        type_.check(value, f"{cls.__name__}.{name}")
        self.__dict__[name] = int(value)

    return type(cls.__name__, (cls,), {"__setattr__": checked, "__module__": cls.__module__})


def as_fired(record: Any, name: str, value: int) -> None:
    """Set a machine's state; for `fire` alone."""
    record.__dict__[name] = value


def count_firing(s: Any, bound: Bound) -> None:
    """Count one more firing of a rule that the bound limits; for whoever executes rules."""
    counts = s.spent
    _type_of(counts).fields[bound.name].check(counts.__dict__[bound.name] + 1, f"Spent.{bound.name}")  # type: ignore[union-attr]
    counts.__dict__[bound.name] += 1


# ---------------------------------------------------------------------------------------------------------------------
# Domains


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
            elif (bound := _bound_of(value)) is not None:
                yield bound


@dataclass(frozen=True)
class Range(Domain):
    """The integers low..high, both included. `initial` is the value that means nothing yet (default: `low`)."""

    low: Number
    high: Number
    initial: Number | None = None

    def at(self, bounds: Mapping[str, int], place: str) -> Scalar:
        """Return the type at these bounds."""
        low, high = _value(self.low, bounds), _value(self.high, bounds)
        initial = low if self.initial is None else _value(self.initial, bounds)
        if not low <= initial <= high:
            raise SpecError(f"{place}: initially {initial}, which is outside {low}..{high}; mend the domain")
        bound = _bound_of(self.high)
        return Scalar(low, high, initial, bound.name if bound else None, self.show)

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


class Broker(Range):
    """One of `brokers` brokers, numbered from 0. Brokers are not interchangeable: assignments order them."""

    def __init__(self, brokers: Number) -> None:
        super().__init__(0, brokers - 1)

    def show(self, value: int) -> str:
        """Print a value."""
        return f"broker {value}"


class BrokerOrNone(Range):
    """One of `brokers` brokers, or none (`NONE`, the initial value)."""

    def __init__(self, brokers: Number) -> None:
        super().__init__(NONE, brokers - 1)

    def show(self, value: int) -> str:
        """Print a value."""
        return "none" if value == NONE else f"broker {value}"


@dataclass(frozen=True)
class OneOf(Domain):
    """A member of an IntEnum; the initial value is its first member."""

    members: type[enum.IntEnum]

    def at(self, bounds: Mapping[str, int], place: str) -> Scalar:
        """Return the type at these bounds."""
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
class SetOf(Domain):
    """A set of brokers, held as a bit mask (see the helpers below) and printed as a set."""

    brokers: Number
    full: bool = False

    def at(self, bounds: Mapping[str, int], place: str) -> Scalar:
        """Return the type at these bounds."""
        everyone = (1 << _value(self.brokers, bounds)) - 1
        return Scalar(0, everyone, everyone if self.full else 0, None, show_set)


@dataclass(frozen=True)
class Each(Domain):
    """An array with one item for each index 0..length-1; `label` names an index ("broker", "partition")."""

    item: Domain | type
    length: Number
    label: str = ""

    def at(self, bounds: Mapping[str, int], place: str) -> Array:
        """Return the type at these bounds."""
        item, length = domain_of(self.item).at(bounds, place), _value(self.length, bounds)
        if length < 0:
            raise SpecError(f"{place}: an array of {length} items; mend its length, or the range of the bound behind it")
        return Array(item, length, self.label, place)

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound the domain mentions."""
        yield from domain_of(self.item).bounds()
        if bound := _bound_of(self.length):
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
        item = domain_of(self.item).at(bounds, place)
        bound = _bound_of(self.capacity)
        name = bound.name if bound else None
        return Sequence(item, _value(self.capacity, bounds), name, self.label, self.distinct, place)

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound the domain mentions."""
        yield from domain_of(self.item).bounds()
        if bound := _bound_of(self.capacity):
            yield bound


@dataclass(frozen=True)
class Queue(Bounded):
    """A FIFO channel: what is appended was sent, what `pop_first` takes was received."""


class Assignment(Bounded):
    """An ordered list of distinct brokers: Kafka's assigned replicas, where the first is preferred."""

    distinct: ClassVar[bool] = True

    def __init__(self, brokers: Number) -> None:
        super().__init__(Broker(brokers), brokers)


class Spent:
    """How often the rules that a bound limits have fired: one counter for each bound that some rule's `at_most` names.

    A state may say where they stand, with a field `spent: Spent = holds(Counters())`; else that field is added at its end.
    """

    def __init__(self, **counts: int) -> None:
        self.__dict__.update(counts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spent) and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Spent({', '.join(f'{name}={count}' for name, count in vars(self).items())})"

    if TYPE_CHECKING:

        def __getattr__(self, bound: str) -> int: ...


@dataclass(frozen=True)
class Counters(Domain):
    """A counter for each of the bounds, from 0 up to its value; a spec fills in those that its rules name."""

    limits: tuple[Bound, ...] = ()

    def at(self, bounds: Mapping[str, int], place: str) -> Record:
        """Return the type at these bounds."""
        fields: dict[str, Type] = {
            limit.name: Scalar(0, bounds[limit.name], 0, limit.name, str, counter=True) for limit in self.limits
        }
        live = _live(Spent, fields)
        type_ = Record(Spent, fields, None, live, {})
        live.__type__ = type_  # type: ignore[attr-defined]
        return type_

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound that is counted."""
        yield from self.limits


@dataclass(frozen=True)
class _RecordDomain(Domain):
    cls: type
    counters: Counters | None = None
    """Of a whole state: what its field `spent` holds."""

    def at(self, bounds: Mapping[str, int], place: str) -> Record:
        """Return the type at these bounds."""
        fields: dict[str, Type] = {}
        holders: dict[str, str] = {}
        for field in _fields(self.cls):
            domain = field.metadata["domain"]
            if isinstance(domain, Counters):
                domain = self._counters(field.name)
            fields[field.name] = domain.at(bounds, f"{self.cls.__name__}.{field.name}")
            if field.metadata["kept_by"]:
                holders[field.name] = field.metadata["kept_by"]
        if self.counters is not None and self.counters.limits:
            spent = fields.setdefault(SPENT, self.counters.at(bounds, f"{self.cls.__name__}.{SPENT}"))
            if not isinstance(spent, Record) or spent.cls is not Spent:
                raise SpecError(
                    f"{self.cls.__name__}.{SPENT}: rules say at_most, and their counters stand in a field of that name; "
                    f"name yours otherwise, or declare it {SPENT}: Spent = holds(Counters())"
                )
        live = _live(self.cls, fields)
        type_ = Record(self.cls, fields, getattr(self.cls, "__tags__", None), live, holders)
        live.__type__ = type_  # type: ignore[attr-defined]
        return type_

    def _counters(self, name: str) -> Counters:
        if self.counters is None or name != SPENT:
            raise SpecError(f"{self.cls.__name__}.{name}: counters stand in a field {SPENT} of the whole state, and nowhere else")
        return self.counters

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound the domain mentions."""
        for field in _fields(self.cls):
            yield from field.metadata["domain"].bounds()


SPENT = "spent"
"""The field of a state in which the counters stand."""


def _fields(cls: type) -> tuple[dataclasses.Field[Any], ...]:
    if not dataclasses.is_dataclass(cls):
        raise SpecError(f"{cls.__name__} is no dataclass; states are dataclasses whose fields are declared with holds()")
    for field in dataclasses.fields(cls):
        if "domain" not in field.metadata:
            raise SpecError(f"{cls.__name__}.{field.name} has no domain; declare it as {field.name}: ... = holds(DOMAIN)")
    return dataclasses.fields(cls)


def domain_of(what: Domain | type) -> Domain:
    """Return the domain itself, or for a dataclass the domain of its records."""
    return what if isinstance(what, Domain) else _RecordDomain(what)


def holds(domain: Domain | type, kept_by: str = "") -> Any:
    """Declare a field of a state and what it may hold.

    `kept_by` names the keeper where a change of the field is a write that others can read later ("ZooKeeper"); traces
    show such changes as writes. A record may also be declared by its dataclass alone.
    """
    return dataclasses.field(metadata={"domain": domain_of(domain), "kept_by": kept_by}, default=None)


def message(cls: type) -> type:
    """Decorate a dataclass as a message: where one appears in a sequence of the state, it was sent."""
    cls.__message__ = True  # type: ignore[attr-defined]
    return cls


def tagged(tag: str, members: Mapping[enum.IntEnum, tuple[str, ...]]) -> Callable[[type], type]:
    """Decorate a dataclass as a tagged message: field `tag` says which of the other fields mean something.

    The others hold their initial value, so that equal messages are equal; `append` refuses to set them.
    """

    def decorate(cls: type) -> type:
        known = {field.name for field in _fields(cls)}
        for kind, names in members.items():
            if unknown := sorted({*names, tag} - known):
                raise SpecError(f"{cls.__name__}: tag {kind.name} names {unknown[0]}, which is no field of it")
            if missing := [other.name for other in type(kind) if other not in members]:
                raise SpecError(f"{cls.__name__}: tag {missing[0]} is not mentioned; say which fields it has, or ()")
        cls.__tags__ = (tag, {int(kind): names for kind, names in members.items()})  # type: ignore[attr-defined]
        return message(cls)

    return decorate


# ---------------------------------------------------------------------------------------------------------------------
# What effects may do to sequences and records; engines compile calls of these


def append(sequence: Any, value: int | None = None, /, **fields: int) -> None:
    """Append a number, or a record given by its fields (the others hold their initial value)."""
    type_: Sequence = sequence.type
    if len(sequence) >= type_.capacity:
        if type_.bound is not None:
            raise OutOfBound(type_.bound)
        raise OutOfDomain(f"{type_.place}: append to a full sequence ({type_.capacity} items); take the place first")
    if isinstance(type_.item, Record):
        record = type_.item.fresh()
        for name, content in fields.items():
            setattr(record, name, content)
        if type_.item.tags is not None:
            _check_tag(type_, type_.item, record)
        list.append(sequence, record)
        return
    assert isinstance(type_.item, Scalar)
    type_.item.check(value, type_.place)
    if type_.distinct and value in sequence:
        raise OutOfDomain(f"{type_.place}: {value} stands there already, and the items are distinct")
    list.append(sequence, value)


def _check_tag(type_: Sequence, item: Record, record: Any) -> None:
    assert item.tags is not None
    tag, members = item.tags
    for name, field in item.fields.items():
        if name != tag and name not in members[getattr(record, tag)] and getattr(record, name) != field.fresh():
            raise OutOfDomain(f"{type_.place}: {name} means nothing in this kind of {item.cls.__name__}")


def truncate(sequence: Any, length: int) -> None:
    """Drop the items from offset `length` on; nothing happens if there are none."""
    if length < 0:
        raise BadAccess(f"{sequence.type.place}: truncation to {length}; an offset is 0 or more")
    del sequence[length:]


def pop_first(sequence: Any) -> None:
    """Drop the first item; the others move up."""
    if not sequence:
        raise BadAccess(f"{sequence.type.place}: nothing to take from an empty sequence")
    del sequence[0:1]


def reset(record: Any) -> None:
    """Give every field of the record its initial value: what means nothing must not multiply states."""
    type_ = _type_of(record)
    _refuse_kept(type_, "reset")
    _overwrite(type_, record, type_.fresh())


def assign(target: Any, source: Any) -> None:
    """Copy the contents of one record to another of the same type (an assignment would make them one)."""
    type_ = _type_of(target)
    if type_.cls is not _type_of(source).cls:
        raise BadAccess(f"assign(): {type(target).__name__} and {type(source).__name__} are different records")
    _refuse_kept(type_, "assign")
    _overwrite(type_, target, source)


def _refuse_kept(type_: Record, what: str) -> None:
    """Refuse to write a machine's state, or a counter, as part of a record."""
    if kept := kept_inside(type_):
        raise BadAccess(f"{what}(): {type_.cls.__name__} {kept}")


def kept_inside(type_: Type) -> str:
    """Why a value of the type may not be written as a whole, as the end of a sentence, or ""."""
    if any(_paths(type_, lambda t: isinstance(t, Scalar) and t.machine is not None)):
        return "holds the state of a machine, which only fire() changes"
    if any(_paths(type_, lambda t: isinstance(t, Scalar) and t.counter)):
        return "holds counters of firings, which only the rules that say at_most change"
    return ""


def _overwrite(type_: Type, target: Any, source: Any) -> None:
    """Copy contents in place, so that names for the parts of the target stay true."""
    if isinstance(type_, Record):
        for name, field in type_.fields.items():
            if isinstance(field, Scalar):
                target.__dict__[name] = source.__dict__[name]
            else:
                _overwrite(field, getattr(target, name), getattr(source, name))
    elif isinstance(type_, Array) and not isinstance(type_.item, Scalar):
        for index in range(type_.length):
            _overwrite(type_.item, target[index], source[index])
    else:
        assert isinstance(type_, Array | Sequence)
        list.__init__(target, list(type_.copy(source)))


def _type_of(record: Any) -> Record:
    type_ = getattr(type(record), "__type__", None)
    if not isinstance(type_, Record):
        raise BadAccess(f"{record!r} is no record of a state")
    return type_


# ---------------------------------------------------------------------------------------------------------------------
# The space of states


@dataclass(frozen=True)
class Change:
    """One field that a step changed: where it stands, its value before and after, and who keeps it (or "")."""

    path: Path
    type: Type
    before: Any
    after: Any
    kept_by: str


class Space:
    """All states of a dataclass at given bounds: how to make, copy, compare and print them.

    `counted` are the bounds on how often rules fire; each has a counter in the state.
    """

    def __init__(self, state: type, bounds: Mapping[str, int], counted: tuple[Bound, ...] = ()) -> None:
        self.root: Record = _RecordDomain(state, Counters(counted)).at(bounds, state.__name__)

    def fresh(self) -> Any:
        """Return the state in which every field has its initial value."""
        return self.root.fresh()

    def changes(self, before: Any, after: Any) -> list[Change]:
        """Return what differs, a sequence counting as one field."""
        return list(_changes(self.root, before, after, (), ""))

    def fields(self, state: Any) -> list[Change]:
        """Return every field of the state, in the order of its declaration, as a change that changes nothing."""
        return list(_changes(self.root, state, state, (), "", every=True))


def machine_paths(root: Record, machine: str) -> list[tuple[str, ...]]:
    """Return where the state of the machine of this name stands: field names, with "[]" for an index."""
    return list(_paths(root, lambda type_: isinstance(type_, Scalar) and type_.machine == machine))


def machine_range(root: Record, path: tuple[str, ...]) -> tuple[int, int, int]:
    """Return the lowest, the highest and the initial state in the field at a path."""
    type_: Type = root
    for part in path:
        if isinstance(type_, Record):
            type_ = type_.fields[part]
        else:
            assert isinstance(type_, Array)
            type_ = type_.item
    assert isinstance(type_, Scalar)
    return type_.low, type_.high, type_.initial


def _changes(type_: Type, before: Any, after: Any, path: Path, keeper: str, every: bool = False) -> Iterator[Change]:
    if isinstance(type_, Record):
        for name, field in type_.fields.items():
            holder = type_.holders.get(name, keeper)
            yield from _changes(field, getattr(before, name), getattr(after, name), (*path, name), holder, every)
    elif isinstance(type_, Array):
        for index in range(type_.length):
            yield from _changes(type_.item, before[index], after[index], (*path, index), keeper, every)
    elif every or type_.freeze(before) != type_.freeze(after):
        yield Change(path, type_, before, after, keeper)


def _paths(type_: Type, wanted: Callable[[Type], bool], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    if wanted(type_):
        yield path
    elif isinstance(type_, Record):
        for name, field in type_.fields.items():
            yield from _paths(field, wanted, (*path, name))
    elif isinstance(type_, Array):
        yield from _paths(type_.item, wanted, (*path, "[]"))


def show_value(type_: Type, value: Any) -> str:
    """Print a value of the type as a person reads it."""
    if isinstance(type_, Scalar):
        return type_.show(value)
    if isinstance(type_, Record):
        shown = (f"{name} {show_value(field, getattr(value, name))}" for name, field in type_.shown_fields(value))
        return "(" + ", ".join(shown) + ")"
    return "[" + ", ".join(show_value(type_.item, item) for item in value) + "]"


def plain_value(type_: Type, value: Any) -> Any:
    """Return a value as JSON holds it: integers, lists, and objects for records."""
    if isinstance(type_, Scalar):
        return int(value)
    if isinstance(type_, Record):
        return {name: plain_value(field, getattr(value, name)) for name, field in type_.fields.items()}
    return [plain_value(type_.item, item) for item in value]


def show_path(path: Path) -> str:
    """Print a path as code would spell it, `replicas[0].hw`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def path_of(template: str, values: Mapping[str, int]) -> Path:
    """Read a path as `show_path` writes it, in which names in braces stand for values: `channels[{broker}].requests`."""
    parts = re.findall(r"\w+", template.format_map(values))
    return tuple(int(part) if part.isdecimal() else part for part in parts)


def type_at(type_: Type, path: Path) -> Type | None:
    """Return the type of what stands at a path, or None where nothing does."""
    for part in path:
        if isinstance(type_, Record) and part in type_.fields:
            type_ = type_.fields[str(part)]
        elif isinstance(type_, Array) and isinstance(part, int):
            type_ = type_.item
        else:
            return None
    return type_


def value_at(value: Any, path: Path) -> Any:
    """Return what stands at a path of a state."""
    for part in path:
        value = value[part] if isinstance(part, int) else getattr(value, part)
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Sets of brokers. The functions are ordinary ones of the subset, compiled like any other


class BrokerSet(int):
    """A set of brokers, held as a bit mask: compiled code and the state of a model have the plain number.

    `BrokerSet.of(numbers)` makes one, iterating gives its brokers in ascending order, and `&`, `|` and `~` make sets of sets.
    """

    __slots__ = ()

    @classmethod
    def of(cls, brokers: Iterable[int]) -> BrokerSet:
        """Return the set of these brokers."""
        mask = 0
        for broker in brokers:
            mask |= 1 << broker
        return cls(mask)

    def __and__(self, other: int) -> BrokerSet:
        return BrokerSet(int.__and__(self, other))

    def __or__(self, other: int) -> BrokerSet:
        return BrokerSet(int.__or__(self, other))

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> BrokerSet:
        return BrokerSet(int.__invert__(self))

    def __contains__(self, broker: int) -> bool:
        return broker >= 0 and bool(self >> broker & 1)

    def __iter__(self) -> Iterator[int]:
        left = int(self) & (1 << self.bit_length()) - 1
        while left:  # broker numbers may be large, and few
            lowest = left & -left
            yield lowest.bit_length() - 1
            left ^= lowest

    def __repr__(self) -> str:
        return show_set(self)


NO_BROKERS = BrokerSet()
"""The empty set."""


def contains(brokers: int, broker: int) -> bool:
    """Whether the broker is in the set."""
    return (brokers >> broker) & 1 == 1


def only(broker: int) -> BrokerSet:
    """The set of this broker alone."""
    return NO_BROKERS | (1 << broker)


def including(brokers: int, broker: int) -> BrokerSet:
    """The set and the broker."""
    return only(broker) | brokers


def excluding(brokers: int, broker: int) -> BrokerSet:
    """The set without the broker."""
    return ~only(broker) & brokers


def first_brokers(count: int) -> BrokerSet:
    """The set of the brokers below a number: all of them, if there are so many."""
    return NO_BROKERS | ((1 << count) - 1)


def show_set(brokers: int) -> str:
    """Print a bit mask as a set of broker numbers, `{0, 2}`."""
    return "{" + ", ".join(map(str, BrokerSet(brokers))) + "}"
