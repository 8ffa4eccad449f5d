"""Types: domains at given bounds. A type makes, copies, freezes and checks the values of a state."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka_spec.spec.language.domain.limits import BadAccess, OutOfBound, OutOfDomain

ELEMENT = "is part of an element of a set or bag, or of a parameter, which do not change; remove() the element and add() another"
"""Why effects may not change a part of an element, or of a parameter that is a record or a container."""


@dataclass(frozen=True)
class Scalar:
    """An integer in low..high.

    `bound` names the bound behind `high`, if one is, and `plus` is what is added to it; `show` prints a value; `machine` names the
    machine whose state it is; a `counter` counts firings of rules that a bound limits; `name` is that of its domain. A set holds
    `many` members, and `members_inside` names the bound that counts those of sets in it, which no symmetry renames.
    """

    low: int
    high: int
    initial: int
    bound: str | None
    show: Callable[[int], str]
    machine: str | None = None
    plus: int = 0
    counter: bool = False
    element: bool = False
    """Whether it is part of an element of a set or a bag, which has no other identity than its content."""
    name: str = ""
    members: str = ""
    """The bound that counts the members of which it holds one; "" if it holds none, or their number is fixed."""
    many: bool = False
    members_inside: str = ""

    @property
    def kept(self) -> str:
        """Why effects may not set it, as the end of a sentence, or "" where they may."""
        if self.element:
            return ELEMENT
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
            raise BadAccess(f"{place}: {value!r} is not an integer; fields hold integers, copy records with assign()")
        if self.low <= value <= self.high:
            return
        if self.bound is not None and value > self.high:
            raise OutOfBound(self.bound)
        raise OutOfDomain(f"{place}: {value} is outside {self.low}..{self.high}")


class Items(list[Any]):
    """The value of an array or a sequence: a list that refuses operations that compiled code cannot check or do."""

    __slots__ = ("type",)

    def __init__(self, type_: Array | Sequence, values: Iterable[Any]) -> None:
        super().__init__(values)
        self.type = type_

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.type, Collection):
            raise BadAccess(f"{self.type.place}: elements of a {self.type.what} have no index; write `for element in ...`")
        if not 0 <= index < len(self):
            raise BadAccess(f"{self.type.place}: index {index} of {len(self)} items")
        return super().__getitem__(index)

    def __contains__(self, value: object) -> bool:
        if isinstance(self.type.item, Scalar):
            return super().__contains__(value)
        if not isinstance(self.type, Collection):
            raise BadAccess(f"{self.type.place}: `in` is for sets of records and for sequences of numbers; write any(...)")
        if type_of(value).cls is not self.type.item.cls:
            raise BadAccess(f"{self.type.place}: expected a {self.type.item.cls.__name__}, got a {type(value).__name__}")
        return any(order(self.type.item, value) == order(self.type.item, item) for item in self)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not 0 <= index < len(self):
            raise BadAccess(f"{self.type.place}: index {index} of {len(self)} items")
        if not isinstance(self.type.item, Scalar):
            raise BadAccess(f"{self.type.place}: an assignment would share a record; copy it with assign()")
        if self.type.item.kept:
            raise BadAccess(f"{self.type.place}[{index}] {self.type.item.kept}")
        self.type.item.check(value, self.type.place)
        super().__setitem__(index, int(value))


class Entries(Items):
    """The value of a map. Functions of a spec see the keys that are there and their values; `items_of` gives the options."""

    __slots__ = ()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[int]:
        return (key for key, option in enumerate(items_of(self)) if len(option))

    def __contains__(self, key: object) -> bool:
        if not isinstance(key, int):
            raise BadAccess(f"{self.type.place}: the keys of a map are numbers")
        return 0 <= key < list.__len__(self) and len(item_at(self, key)) == 1

    def __getitem__(self, key: Any) -> Any:
        return self.known(key)[0]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.known(key)[0] = value

    def known(self, key: int) -> Items:
        """Return the option of a key that has a value."""
        if key not in self:
            raise BadAccess(f"{self.type.place}: nothing is there under key {key}; ask `key in ...` first, or put() a value")
        return self.option(key)

    def option(self, key: int) -> Items:
        """Return the option of a key."""
        if not 0 <= key < list.__len__(self):
            raise BadAccess(f"{self.type.place}: {key} is not a key; there are {list.__len__(self)}")
        option: Items = item_at(self, key)
        return option


def items_of(value: Items) -> Iterator[Any]:
    """Yield the items of an array or a sequence as the state holds them: of a map the option of each key."""
    return list.__iter__(value)


def item_at(value: Items, index: int) -> Any:
    """Return an item of an array or a sequence as the state holds it: of a map the option of a key."""
    return list.__getitem__(value, index)


@dataclass(frozen=True)
class Array:
    """A fixed number of items, one for each index; `label` names the meaning of an index ("broker")."""

    item: Type
    length: int
    label: str
    place: str
    members: str
    """The bound that counts its items, one for each member; "" if their number is fixed."""

    def holding(self, items: Iterable[Any]) -> Items:
        """Return a value with these items."""
        return Items(self, items)

    def fresh(self) -> Items:
        """Return the initial value."""
        return self.holding(self.item.fresh() for _ in range(self.length))

    def copy(self, value: Items) -> Items:
        """Return a copy that shares nothing."""
        items = items_of(value)
        return self.holding(items if isinstance(self.item, Scalar) else [self.item.copy(item) for item in items])

    def freeze(self, value: Items) -> tuple[Any, ...]:
        """Return what two values are compared by."""
        return tuple([self.item.freeze(item) for item in items_of(value)])


@dataclass(frozen=True)
class Map(Array):
    """Keys 0..length-1, each with a value or none: an array of options. `show_key` prints a key."""

    item: Maybe
    show_key: Callable[[int], str]

    def holding(self, items: Iterable[Any]) -> Entries:
        """Return a value with these items."""
        return Entries(self, items)


@dataclass(frozen=True)
class Sequence:
    """Up to `capacity` items in order. `bound` names the bound behind the capacity, if one is."""

    item: Type
    capacity: int
    bound: str | None
    label: str
    distinct: bool
    place: str
    element: bool = False
    """Whether it is part of an element of a set or a bag."""

    @property
    def kept(self) -> str:
        """Why effects may not change it, as the end of a sentence, or "" where they may."""
        return ELEMENT if self.element else ""

    def holding(self, items: Iterable[Any]) -> Items:
        """Return a value with these items."""
        return Items(self, items)

    def fresh(self) -> Items:
        """Return the initial value."""
        return self.holding(())

    def copy(self, value: Items) -> Items:
        """Return a copy that shares nothing."""
        return Items(self, value if isinstance(self.item, Scalar) else [self.item.copy(item) for item in value])

    def freeze(self, value: Items) -> tuple[Any, ...]:
        """Return what two values are compared by."""
        return tuple([self.item.freeze(item) for item in value])


@dataclass(frozen=True)
class Maybe(Sequence):
    """A value, or none: a sequence of at most one item."""


@dataclass(frozen=True)
class Collection(Sequence):
    """Up to `capacity` records without an order of their own: a set, or a bag if one may be there more than once.

    Its items are kept in the order of their contents, so equal collections are equal values.
    """

    item: Record
    repeats: bool = False

    @property
    def what(self) -> str:
        """What it is, for messages."""
        return "bag" if self.repeats else "set"


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
        twin, source = self.live.__new__(self.live), value.__dict__
        twin.__dict__.update({n: source[n] if isinstance(t, Scalar) else t.copy(source[n]) for n, t in self.fields.items()})
        return twin

    def freeze(self, value: Any) -> tuple[Any, ...]:
        """Return what two values are compared by."""
        source = value.__dict__
        return tuple([type_.freeze(source[name]) for name, type_ in self.fields.items()])

    def shown_fields(self, value: Any) -> Iterator[tuple[str, Type]]:
        """The fields that are used in this value: all, or in a tagged message those of its tag."""
        names: Iterable[str] = self.fields
        if self.tags is not None:
            tag, members = self.tags
            names = (tag, *members[getattr(value, tag)])
        for name in names:
            yield name, self.fields[name]


Type: TypeAlias = Scalar | Array | Sequence | Record


def typed_class(cls: type, fields: Mapping[str, Type]) -> type:
    """Return a subclass of the dataclass whose instances refuse a store outside the field's type."""

    def checked(self: Any, name: str, value: Any) -> None:
        type_ = fields.get(name)
        if not isinstance(type_, Scalar):
            raise BadAccess(f"{cls.__name__}.{name}: an assignment would share it; copy with assign(), append(), ...")
        if type_.kept:
            raise BadAccess(f"{cls.__name__}.{name} {type_.kept}")
        type_.check(value, f"{cls.__name__}.{name}")
        self.__dict__[name] = int(value)

    def equal(self: Any, other: object) -> bool:
        return isinstance(other, cls) and all(getattr(self, name) == getattr(other, name) for name in fields)

    return type(cls.__name__, (cls,), {"__setattr__": checked, "__eq__": equal, "__module__": cls.__module__})


def as_element(type_: Type) -> Type:
    """Return the type of an element of a set or a bag: nothing in it can be changed."""
    if isinstance(type_, Record):
        fields = {name: as_element(field) for name, field in type_.fields.items()}
        live = typed_class(type_.cls, fields)
        frozen = dataclasses.replace(type_, fields=fields, live=live)
        live.__type__ = frozen  # type: ignore[attr-defined]
        return frozen
    if isinstance(type_, Scalar):
        return dataclasses.replace(type_, element=True)
    if isinstance(type_, Array):
        return dataclasses.replace(type_, item=as_element(type_.item))
    return dataclasses.replace(type_, item=as_element(type_.item), element=True)


def order(type_: Type, value: Any) -> Any:
    """Return the key by which elements are ordered: field by field; of sequences the shorter comes first."""
    if isinstance(type_, Scalar):
        return int(value)
    if isinstance(type_, Record):
        return tuple(order(field, value.__dict__[name]) for name, field in type_.fields.items())
    items = tuple(order(type_.item, item) for item in items_of(value))
    return (len(items), items)


def type_of(record: Any) -> Record:
    """Return the type of a record of a state."""
    type_ = getattr(type(record), "__type__", None)
    if not isinstance(type_, Record):
        raise BadAccess(f"{record!r} is not a record of a state")
    return type_


def paths(type_: Type, wanted: Callable[[Type], bool], path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield where the wanted types stand inside a type: field names, with "[]" for an index."""
    if wanted(type_):
        yield path
    elif isinstance(type_, Record):
        for name, field in type_.fields.items():
            yield from paths(field, wanted, (*path, name))
    elif isinstance(type_, Array):
        yield from paths(type_.item, wanted, (*path, "[]"))
