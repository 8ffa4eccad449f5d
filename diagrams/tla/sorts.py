"""Sorts: the TLA+ form of a value: an integer, a truth value, a set, a record, an array (a function from 0) or a sequence.

Depends on domains and their symbolic limits, not on functions of a spec. A sort says how a value is written. The domain says which
values are allowed and which limits come from bounds; types.py derives the type invariant and the bounds' constraint from it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kafka_spec.diagrams.tla.terms import PLUS, Atom, Infix, Term, number
from kafka_spec.spec.language.domain import (
    SPENT,
    ArrayOf,
    Bound,
    Capacity,
    Counters,
    Domain,
    Elements,
    Limit,
    MapOf,
    Number,
    OneOf,
    Option,
    Range,
    SequenceOf,
    Spent,
    Subset,
    capacities_in,
    domain_of,
)
from kafka_spec.spec.vocabulary.table import Spec, SpecError


@dataclass(frozen=True)
class Simple:
    """An integer, a truth value, or a set of integers; `outside` is the complement of a set; no field can hold one."""

    name: str


INT, BOOL, SET, OUTSIDE = Simple("int"), Simple("bool"), Simple("set"), Simple("outside")


@dataclass(frozen=True)
class Record:
    """A record of this dataclass."""

    cls: type


@dataclass(frozen=True)
class Array:
    """A function from 0 to below `length`; `of` is its domain."""

    item: Sort
    length: Term
    of: Domain = field(compare=False)


@dataclass(frozen=True)
class Sequence:
    """A sequence, in TLA+ a tuple whose first index is 1; `of` is the domain of an item."""

    item: Sort
    of: Domain = field(compare=False)


@dataclass(frozen=True)
class Optional(Sequence):
    """An option: a sequence of at most one item."""


@dataclass(frozen=True)
class Keyed(Array):
    """A map: a function to options."""


@dataclass(frozen=True)
class Unordered:
    """A set of records; of a bag, the set of its distinct records, each in a pair with how often it is there."""

    item: Record
    repeats: bool


Sort: TypeAlias = Simple | Record | Array | Sequence | Unordered


def constant_name(name: str) -> str:
    """Return the TLA+ name of a bound, a decision or an operator: `MaxRecords` for `max_records`."""
    words = [word for word in name.split("_") if word]
    return "".join(word[:1].upper() + word[1:] for word in words) or "Unnamed"


def constant_bounds(spec: Spec) -> dict[str, Bound]:
    """Return the bounds that are constants of a module: all but the capacities that a search finds."""
    return {name: bound for name, bound in spec.bounds.items() if name not in capacities_in(spec.bounds)}


def limit(of: Number) -> Term:
    """Return a limit: a number, or a bound plus a number."""
    if isinstance(of, int):
        return number(int(of))
    bound, plus = (of.bound, of.plus) if isinstance(of, Limit) else (of, 0)
    return plus_number(Atom(constant_name(bound.name)), plus)


def plus_number(term: Term, plus: int) -> Term:
    """Return a term plus a number, in the shortest form."""
    if isinstance(term, Infix) and term.symbol in ("+", "-") and isinstance(term.right, Atom) and term.right.text.isdecimal():
        old = int(term.right.text) if term.symbol == "+" else -int(term.right.text)
        return plus_number(term.left, old + plus)
    if isinstance(term, Atom) and term.text.isdecimal():
        return number(int(term.text) + plus)
    if plus == 0:
        return term
    return Infix("+" if plus > 0 else "-", term, Atom(str(abs(plus))), PLUS)


def spelled(domain: Domain) -> Domain:
    """Return a domain as TLA+ spells it: a map as an array of options, an option as a sequence of at most one item."""
    if isinstance(domain, MapOf):
        return ArrayOf(Option(domain.item), domain.count)
    return SequenceOf(domain.item, 1) if isinstance(domain, Option) else domain


def is_bound(of: Number) -> bool:
    """Whether a limit comes from a bound of the exploration, or is one that a search lifts: TLA+ has none of these."""
    return isinstance(of, Bound | Limit)


def limits_steps(of: Number) -> bool:
    """Whether a step beyond a limit is not a step."""
    return is_bound(of) and not isinstance(of, Capacity)


def class_of(domain: Any) -> type | None:
    """Return the dataclass of a domain of records, or None."""
    return getattr(domain, "cls", None)


class Shapes:
    """The sorts of a spec's state."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def option(self, domain: Option | MapOf) -> Optional:
        """Return the sort of an option, or of what a map has at a key."""
        of = domain_of(domain.item)
        return Optional(self.sort(of), of)

    def sort(self, domain: Domain) -> Sort:
        """Return the sort of the domain's values."""
        if isinstance(domain, Subset):
            if domain.sets:
                raise SpecError("a set of sets is not translated; leave it to `kafka-spec check --engine both`")
            return SET
        if isinstance(domain, Range | OneOf):
            return INT
        if isinstance(domain, ArrayOf):
            return Array(self.sort(domain_of(domain.item)), limit(domain.length), domain)
        if isinstance(domain, Option):
            return self.option(domain)
        if isinstance(domain, MapOf):
            return Keyed(self.option(domain), limit(domain.count), domain)
        if isinstance(domain, Elements):
            item = self.sort(domain_of(domain.item))
            assert isinstance(item, Record)
            return Unordered(item, domain.repeats)
        if isinstance(domain, SequenceOf):
            return Sequence(self.sort(domain_of(domain.item)), domain_of(domain.item))
        if isinstance(domain, Counters):
            return Record(Spent)
        if (cls := class_of(domain)) is not None:
            return Record(cls)
        raise SpecError(f"{type(domain).__name__} has no form in TLA+ yet; the domains are those of spec/language/domain")

    def domains(self, cls: type) -> dict[str, Domain]:
        """Return the domains of a record's fields, by name, in their order."""
        if cls is Spent:
            return {bound.name: Range(0, bound) for bound in self.spec.counted}
        fields = {field.name: field.metadata["domain"] for field in dataclasses.fields(cls)}
        if cls is self.spec.state and self.spec.counted and SPENT not in fields:
            fields[SPENT] = Counters(self.spec.counted)
        return fields

    def at(self, steps: tuple[str | int, ...]) -> Sort:
        """Return the sort of the value at a path of the state; indices may be names."""
        sort: Sort = Record(self.spec.state)
        for step in steps:
            if isinstance(sort, Record):
                sort = self.field(sort.cls, str(step))
            else:
                assert isinstance(sort, Array)
                sort = sort.item
        return sort

    def field(self, cls: type, name: str) -> Sort:
        """Return the sort of a field of a record."""
        return self.sort(self.domains(cls)[name])
