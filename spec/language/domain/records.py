"""Domains of records: dataclasses whose fields are declared with `holds`, messages, and the counters of limited rules."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from kafka_spec.spec.language.domain.limits import Bound, SpecError
from kafka_spec.spec.language.domain.scalars import Domain, OneOf, Range, StateOf, Subset
from kafka_spec.spec.language.domain.types import Record, Scalar, Type, typed_class


class Spent:
    """How often the rules that a bound limits have fired: one counter for each bound that some rule's `at_most` names.

    A state may declare their place by a field `spent: Spent = field(Counters())`; otherwise that field is added at its end.
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
        live = typed_class(Spent, fields)
        type_ = Record(Spent, fields, None, live, {})
        live.__type__ = type_  # type: ignore[attr-defined]
        return type_

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound that is counted."""
        yield from self.limits


@dataclass(frozen=True)
class RecordDomain(Domain):
    """The records of a dataclass."""

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
                    f"{self.cls.__name__}.{SPENT}: rules use at_most, and their counters are in a field of that name; "
                    f"rename your field, or declare it {SPENT}: Spent = field(Counters())"
                )
        live = typed_class(self.cls, fields)
        type_ = Record(self.cls, fields, getattr(self.cls, "__tags__", None), live, holders)
        live.__type__ = type_  # type: ignore[attr-defined]
        return type_

    def _counters(self, name: str) -> Counters:
        if self.counters is None or name != SPENT:
            raise SpecError(f"{self.cls.__name__}.{name}: counters must be in a field {SPENT} of the whole state")
        return self.counters

    def bounds(self) -> Iterator[Bound]:
        """Yield every bound the domain mentions."""
        for field in _fields(self.cls):
            yield from field.metadata["domain"].bounds()


SPENT = "spent"
"""The name of the field with the counters."""


def _fields(cls: type) -> tuple[dataclasses.Field[Any], ...]:
    if not dataclasses.is_dataclass(cls):
        raise SpecError(f"{cls.__name__} is not a dataclass; states are dataclasses whose fields are declared with holds()")
    for field in dataclasses.fields(cls):
        if "domain" not in field.metadata:
            raise SpecError(f"{cls.__name__}.{field.name} has no domain; declare it as {field.name}: ... = field(DOMAIN)")
    return dataclasses.fields(cls)


def domain_of(what: Domain | type) -> Domain:
    """Return the domain itself, or for a dataclass the domain of its records."""
    if isinstance(what, Domain):
        return what
    if not isinstance(what, type) or what in _INSTEAD:
        cure = _INSTEAD.get(what, "a domain or a dataclass") if isinstance(what, type) else "a domain or a dataclass"
        raise SpecError(f"{getattr(what, '__name__', repr(what))} is not a domain; write {cure}")
    return RecordDomain(what)


_INSTEAD: Mapping[type, str] = {
    bool: "Flag()",
    int: "Range(low, high)",
    str: "OneOf(...) of an IntEnum",
    set: "SetOf(...), of members or of records",
    list: "SequenceOf(ITEM, CAPACITY), or ArrayOf(ITEM, LENGTH)",
    tuple: "a dataclass",
    dict: "MapOf(KEYS, VALUE)",
}
"""What to declare in place of a class of Python."""


def field(domain: Domain | type, kept_by: str = "") -> Any:
    """Declare a field of a state and what it may hold.

    `kept_by` names the keeper where a change of the field is a write that others can read later ("ZooKeeper"); traces
    show such changes as writes. A record may also be declared by its dataclass alone. A record that is made outside the
    state, `Message(term=2)`, has the initial values of the other fields that hold numbers.
    """
    held = domain_of(domain)
    initial = _initial(held)
    return dataclasses.field(metadata={"domain": held, "kept_by": kept_by, "initial": initial}, default=initial)


def _initial(domain: Domain) -> int | None:
    """Return the initial value of a field that holds a number, if it is the same at all bounds."""
    if not _is_number(domain):
        return None
    bounds = list(domain.bounds())
    try:
        ends = [domain.at({one.name: value(one) for one in bounds}, "") for value in (attrgetter("low"), attrgetter("high"))]
    except SpecError:  # it is refused, with its place, where a spec uses it
        return None
    values = {end.initial for end in ends if isinstance(end, Scalar)}
    return values.pop() if len(values) == 1 else None


def _is_number(domain: Domain) -> bool:
    return isinstance(domain, Range | OneOf | Subset) and not isinstance(domain, StateOf)


def is_record_class(value: object) -> bool:
    """Whether a value is a dataclass whose fields are declared with domains."""
    if not isinstance(value, type) or not dataclasses.is_dataclass(value):
        return False
    return all("domain" in one.metadata for one in dataclasses.fields(value))


def fields_of(cls: type) -> tuple[str, ...]:
    """Return the names of the fields of a record."""
    return tuple(one.name for one in _fields(cls))


def positional_fields(cls: type) -> tuple[str, ...] | None:
    """Return the fields that the constructor of a record takes by position; None if it does more than to store fields."""
    parameters = inspect.signature(cls).parameters
    if hasattr(cls, "__post_init__") or set(parameters) != set(fields_of(cls)) or "__init__" not in vars(cls):
        return None
    return tuple(name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD)


def number_fields(cls: type) -> dict[str, int | None]:
    """Return the fields of a record that hold a number, with their initial value; None if that depends on a bound."""
    return {one.name: one.metadata["initial"] for one in _fields(cls) if _is_number(one.metadata["domain"])}


def message(cls: type) -> type:
    """Decorate a dataclass as a message: a message that appears in a sequence of the state was sent."""
    cls.__message__ = True  # type: ignore[attr-defined]
    return cls


def tagged(tag: str, members: Mapping[enum.IntEnum, tuple[str, ...]]) -> Callable[[type], type]:
    """Decorate a dataclass as a tagged message: the value of field `tag` determines which other fields are used.

    The others hold their initial value, so that equal messages are equal; `append` refuses to set them.
    """

    def decorate(cls: type) -> type:
        known = {field.name for field in _fields(cls)}
        for kind, names in members.items():
            if unknown := sorted({*names, tag} - known):
                raise SpecError(f"{cls.__name__}: tag {kind.name} names {unknown[0]}, which is not a field of it")
            if missing := [other.name for other in type(kind) if other not in members]:
                raise SpecError(f"{cls.__name__}: tag {missing[0]} is not mentioned; say which fields it has, or ()")
        cls.__tags__ = (tag, {int(kind): names for kind, names in members.items()})  # type: ignore[attr-defined]
        return message(cls)

    return decorate
