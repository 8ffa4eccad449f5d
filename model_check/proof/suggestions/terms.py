"""What is in a state, as terms: texts of the language with slots for the variables of a lemma."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka_spec.spec.language import Source
from kafka_spec.spec.language.domain import (
    Array,
    ArrayOf,
    Collection,
    Domain,
    Map,
    MapOf,
    Maybe,
    OneOf,
    Option,
    Record,
    Scalar,
    SequenceOf,
    Subset,
    Type,
    domain_of,
)
from kafka_spec.spec.language.domain import Sequence as SequenceType

Sort: TypeAlias = tuple[str, Any]
"""What can be compared: members of one set, members of one enumeration, numbers up to one limit, or elements of one set."""

MOST_MEMBERS = 8
"""The most members of an enumeration, or numbers of a range, that a condition is stated for one by one."""


@dataclass(frozen=True)
class Slot:
    """What a variable stands for: an index of arrays, of a sequence of this text, or an element of a set of this text."""

    what: str
    sort: Sort
    text: str
    count: int
    """How many values a variable in it has at most."""


@dataclass(frozen=True)
class StateTerm:
    """Something in a state: its text, in which `{0}` is the variable of the first slot; `given` is what must hold to read it."""

    text: str
    slots: tuple[Slot, ...]
    sort: Sort
    many: bool = False
    type: Type | None = None
    values: tuple[str, ...] = ()
    """The values it is compared with."""
    given: tuple[str, ...] = ()


class Terms:
    """Collects the terms of the states of a class, and the slots in them; `names` gets the enumerations that they name."""

    def __init__(self, root: Record, bounds: Mapping[str, int], names: dict[str, Any], sources: Sequence[Source]) -> None:
        self.names, self.sources = names, sources
        self.found: list[StateTerm] = []
        self.walk(domain_of(root.cls), root, "s", (), ())
        members = (member_slot(term, bounds) for term in self.found)
        slots = itertools.chain((slot for term in self.found for slot in term.slots), (slot for slot in members if slot))
        self.slots = tuple(dict.fromkeys(slots))
        self.found += [StateTerm("{0}", (slot,), slot.sort, type=self.element(slot)) for slot in self.slots]
        self.found += [StateTerm("{0} + 1", (slot,), slot.sort) for slot in self.slots if slot.what == "item"]

    def walk(self, domain: Domain, type_: Type, text: str, slots: tuple[Slot, ...], given: tuple[str, ...]) -> None:
        """Collect what is in a part of the state."""
        match type_:
            case Scalar():
                self.found.append(self.scalar(domain, type_, text, slots, given))
            case Record():
                self.found.append(StateTerm(text, slots, ("record", type_.cls), type=type_, given=given))
                declared = {one.name: one.metadata["domain"] for one in dataclasses.fields(type_.cls)}
                for name, inner in type_.fields.items():
                    if not (isinstance(inner, Scalar) and inner.counter) and name in declared and name != "spent":
                        self.walk(domain_of(declared[name]), inner, f"{text}.{name}", slots, given)
            case Array():
                self.items(domain, type_, text, slots, given)
            case Maybe():
                assert isinstance(domain, Option)
                self.found.append(StateTerm(f"present({text})", slots, ("truth", None), given=given))
                self.walk(domain_of(domain.item), type_.item, f"value_of({text})", slots, (*given, f"present({text})"))
            case SequenceType():
                self.sequence(domain, type_, text, slots, given)

    def items(self, domain: Domain, type_: Array, text: str, slots: tuple[Slot, ...], given: tuple[str, ...]) -> None:
        """Collect what is in the items of an array, or under the keys of a map."""
        sort = ("member", type_.members) if type_.members else ("number", type_.length - 1)
        slot = Slot("index", sort, f"k.{type_.members}" if type_.members else str(type_.length), type_.length)
        variable = f"{{{len(slots)}}}"
        if isinstance(type_, Map):
            assert isinstance(domain, MapOf)
            there = f"{variable} in {text}"
            self.found.append(StateTerm(there, (*slots, slot), ("truth", None), given=given))
            self.walk(domain_of(domain.item), type_.item.item, f"{text}[{variable}]", (*slots, slot), (*given, there))
        else:
            assert isinstance(domain, ArrayOf)
            self.walk(domain_of(domain.item), type_.item, f"{text}[{variable}]", (*slots, slot), given)

    def sequence(self, domain: Domain, type_: SequenceType, text: str, slots: tuple[Slot, ...], given: tuple[str, ...]) -> None:
        """Collect what is in the items of a sequence or the elements of a set, and how many there are."""
        assert isinstance(domain, SequenceOf)
        length = ("number", type_.bound or type_.capacity)
        self.found.append(StateTerm(text, slots, ("sequence", text), given=given))
        self.found.append(StateTerm(f"len({text})", slots, length, values=("0",), given=given))
        self.found.append(StateTerm(f"len({text}) - 1", slots, length, given=given))
        if isinstance(type_, Collection):
            if not slots and not given:
                self.walk(
                    domain_of(domain.item), type_.item, "{0}", (Slot("element", ("element", text), text, type_.capacity),), ()
                )
        elif len(slots) < 2 and not given:
            slot = Slot("item", length, text, type_.capacity)
            self.walk(domain_of(domain.item), type_.item, f"{text}[{{{len(slots)}}}]", (*slots, slot), given)

    def scalar(self, domain: Domain, type_: Scalar, text: str, slots: tuple[Slot, ...], given: tuple[str, ...]) -> StateTerm:
        """Return the term of a number or a set of members."""
        if isinstance(domain, OneOf):
            name = domain.members.__name__
            values = tuple(f"{name}.{member.name}" for member in domain.members)
            if len(values) > MOST_MEMBERS or self.names.setdefault(name, domain.members) is not domain.members:
                values = ()
            return StateTerm(text, slots, ("enum", domain.members), values=values, given=given)
        sort: Sort
        if type_.many:
            of = domain.names if isinstance(domain, Subset) else None
            sort = ("enum", of) if of else ("member", type_.members) if type_.members else ("number", type_.high.bit_length() - 1)
            if isinstance(domain, Subset) and domain.sets:
                sort = ("set", sort)
            return StateTerm(text, slots, sort, many=True, given=given)
        if type_.members:
            return StateTerm(text, slots, ("member", type_.members), values=("NONE",) if type_.low < 0 else (), given=given)
        if (type_.low, type_.high, type_.bound) == (0, 1, None):
            return StateTerm(text, slots, ("truth", None), values=("1",), given=given)
        few = type_.bound is None and type_.high - type_.low < MOST_MEMBERS
        known = [str(number) for number in (range(type_.low, type_.high + 1) if few else {type_.low, type_.initial})]
        named = [f"k.{type_.bound}"] if type_.bound and any(f"k.{type_.bound}" in one.text for one in self.sources) else []
        return StateTerm(text, slots, ("number", type_.bound or type_.high), values=(*known, *named), given=given)

    def element(self, slot: Slot) -> Type | None:
        """Return the type of the elements that a variable stands for; None if it stands for a number."""
        return next((term.type for term in self.found if term.text == "{0}" and term.slots == (slot,)), None)


def shifted(term: StateTerm) -> bool:
    """Whether a term is another one plus or minus 1; such a one is only compared for equality."""
    return term.text.endswith((" - 1", " + 1"))


def member_slot(term: StateTerm, bounds: Mapping[str, int]) -> Slot | None:
    """Return the slot of a variable that stands for a member of what a set holds, or of what a number names one of."""
    match term.sort:
        case ("member", str() as bound):
            return Slot("index", term.sort, f"k.{bound}", bounds[bound])
        case ("number", int() as last) if term.many:
            return Slot("index", term.sort, str(last + 1), last + 1)
    return None
