"""A state as terms: a cell for each value that stands somewhere in it.

A sequence is an array of SMT for each number in its items, and a length; what the arrays hold beyond the length has no meaning.
Where a bound is lifted (`Limits.lifted`), numbers and lengths that it limits have no upper end.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import z3

from kafka_spec.model_check.proof.terms import (
    TRUE,
    Formula,
    MemberTruths,
    Untranslatable,
    Value,
    Whole,
    all_of,
    as_number,
    as_set,
    chosen,
    compared,
    has_member,
    implied,
    number,
)
from kafka_spec.spec.language.domain import Array, Collection, Map, Record, Scalar, Sequence, Type, items_of

Leaf: TypeAlias = tuple[str, ...]
"""The path from an item of a sequence to a number in it."""


@dataclass(frozen=True)
class Limits:
    """Which bounds are lifted."""

    lifted: frozenset[str] = frozenset()

    def high(self, type_: Scalar) -> int | None:
        """Return the largest value of a number, or None if its bound is lifted."""
        return None if type_.bound in self.lifted else type_.high

    def capacity(self, type_: Sequence) -> int | None:
        """Return how many items a sequence can have, or None if its bound is lifted."""
        return None if type_.bound in self.lifted else type_.capacity


@dataclass(eq=False)
class ScalarCell:
    """The place of one number or set."""

    type: Scalar
    value: Value


@dataclass(eq=False)
class RecordCell:
    """The place of a record."""

    type: Record
    fields: dict[str, Cell]


@dataclass(eq=False)
class ArrayCell:
    """The place of an array."""

    type: Array
    items: list[Cell]


@dataclass(eq=False)
class SequenceCell:
    """The place of a sequence: for each leaf of its items one array, of a set one for each member."""

    type: Sequence
    columns: dict[Leaf, tuple[z3.ArrayRef, ...]]
    length: Whole
    limits: Limits

    def read(self, leaf: Leaf, type_: Scalar, index: Whole) -> Value:
        """Return the number or set at a leaf of an item."""
        found = [z3.Select(column, index.term) for column in self.columns[leaf]]
        return MemberTruths(tuple(found)) if type_.many else Whole(found[0], type_.low, self.limits.high(type_))

    def write(self, leaf: Leaf, type_: Scalar, index: Whole, value: Value, when: Formula) -> None:
        """Set the number or set at a leaf of an item, under a condition."""
        columns = self.columns[leaf]
        terms = _terms(type_, value, len(columns))
        self.columns[leaf] = tuple(
            z3.Store(column, index.term, chosen(when, term, z3.Select(column, index.term)))
            for column, term in zip(columns, terms, strict=True)
        )


Cell: TypeAlias = ScalarCell | RecordCell | ArrayCell | SequenceCell


def _terms(type_: Scalar, value: Value, width: int) -> list[Any]:
    if type_.many:
        return [as_set(value).bit(member) for member in range(width)]
    return [as_number(value).term]


def leaves(type_: Type, path: Leaf = ()) -> Iterator[tuple[Leaf, Scalar]]:
    """Yield where the numbers and sets stand inside an item of a sequence."""
    match type_:
        case Scalar():
            yield path, type_
        case Record():
            for name, inner in type_.fields.items():
                yield from leaves(inner, (*path, name))
        case _:
            raise Untranslatable(f"{getattr(type_, 'place', 'a sequence')}: items of a sequence that hold sequences or arrays")


def _refuse(type_: Type) -> None:
    if isinstance(type_, Collection | Map):
        what = "maps" if isinstance(type_, Map) else f"{type_.what}s of records"
        raise Untranslatable(f"{type_.place}: {what}")


@dataclass
class Fresh:
    """Makes the cells of an unknown state; `typed` is what their types say of them."""

    limits: Limits
    typed: list[Formula] = field(default_factory=list)

    def cell(self, type_: Type, name: str) -> Cell:
        """Return a cell whose content is unknown."""
        _refuse(type_)
        match type_:
            case Scalar(many=True):
                bits = tuple(z3.Bool(f"{name}.{member}") for member in range(type_.high.bit_length()))
                return ScalarCell(type_, MemberTruths(bits))
            case Scalar():
                value = Whole(z3.Int(name), type_.low, self.limits.high(type_))
                self.typed.append(in_range(type_, value, self.limits))
                return ScalarCell(type_, value)
            case Array():
                return ArrayCell(type_, [self.cell(type_.item, f"{name}[{index}]") for index in range(type_.length)])
            case Record():
                return RecordCell(type_, {part: self.cell(inner, f"{name}.{part}") for part, inner in type_.fields.items()})
            case Sequence():
                return self.sequence(type_, name)

    def sequence(self, type_: Sequence, name: str) -> SequenceCell:
        """Return a sequence of unknown length and items."""
        columns = {leaf: _columns(f"{name}.{'.'.join(leaf)}", scalar) for leaf, scalar in leaves(type_.item)}
        capacity = self.limits.capacity(type_)
        length = Whole(z3.Int(f"{name}.length"), 0, capacity)
        cell = SequenceCell(type_, columns, length, self.limits)
        self.typed.append(length.term >= 0)
        if capacity is not None:
            self.typed.append(length.term <= capacity)
        for leaf, scalar in leaves(type_.item):
            if not scalar.many:
                self.typed.append(self.items(cell, leaf, scalar, capacity))
        return cell

    def items(self, cell: SequenceCell, leaf: Leaf, scalar: Scalar, capacity: int | None) -> Formula:
        """Return what the type says of a leaf of all items."""

        def at(index: Whole) -> Formula:
            return implied(compared("<", index, cell.length), in_range(scalar, cell.read(leaf, scalar, index), self.limits))

        if capacity is not None:
            return all_of(*(at(number(index)) for index in range(capacity)))
        index = z3.Int("item")
        return z3.ForAll([index], implied(index >= 0, at(Whole(index, 0, None))))


def _columns(name: str, scalar: Scalar) -> tuple[z3.ArrayRef, ...]:
    if not scalar.many:
        return (z3.Array(name, z3.IntSort(), z3.IntSort()),)
    return tuple(z3.Array(f"{name}.{member}", z3.IntSort(), z3.BoolSort()) for member in range(scalar.high.bit_length()))


def in_range(type_: Scalar, value: Value, limits: Limits) -> Formula:
    """Return whether a number is in its range, as far as its bound is not lifted."""
    term = as_number(value).term
    high = limits.high(type_)
    return all_of(term >= type_.low, TRUE if high is None else term <= high)


def constant_cell(type_: Type, value: Any, limits: Limits) -> Cell:
    """Return a cell that holds the value of a Python state."""
    _refuse(type_)
    match type_:
        case Scalar(many=True):
            width = type_.high.bit_length()
            return ScalarCell(type_, MemberTruths(tuple(as_set(number(value)).bit(member) for member in range(width))))
        case Scalar():
            return ScalarCell(type_, number(value))
        case Array():
            return ArrayCell(type_, [constant_cell(type_.item, item, limits) for item in items_of(value)])
        case Record():
            inner = {name: constant_cell(part, getattr(value, name), limits) for name, part in type_.fields.items()}
            return RecordCell(type_, inner)
        case Sequence():
            cell = SequenceCell(type_, {leaf: _blank(scalar) for leaf, scalar in leaves(type_.item)}, number(len(value)), limits)
            for index, item in enumerate(value):
                for leaf, scalar in leaves(type_.item):
                    content = item
                    for part in leaf:
                        content = getattr(content, part)
                    cell.write(leaf, scalar, number(index), number(content), TRUE)
            return cell


def _blank(scalar: Scalar) -> tuple[z3.ArrayRef, ...]:
    if not scalar.many:
        return (z3.K(z3.IntSort(), z3.IntVal(scalar.initial)),)
    return tuple(z3.K(z3.IntSort(), z3.BoolVal(bool(scalar.initial >> bit & 1))) for bit in range(scalar.high.bit_length()))


def copied(cell: Cell) -> Cell:
    """Return a copy that shares no place."""
    match cell:
        case ScalarCell(type_, value):
            return ScalarCell(type_, value)
        case RecordCell(type_, fields):
            return RecordCell(type_, {name: copied(inner) for name, inner in fields.items()})
        case ArrayCell(type_, items):
            return ArrayCell(type_, list(map(copied, items)))
        case SequenceCell(type_, columns, length, limits):
            return SequenceCell(type_, dict(columns), length, limits)


def fill(cell: Cell, target: Any, valued: Callable[[Any], Any]) -> None:
    """Write into a Python state what a cell holds; `valued` gives the number or truth that a term stands for."""
    match cell:
        case RecordCell(_, fields):
            for name, inner in fields.items():
                if isinstance(inner, ScalarCell):
                    target.__dict__[name] = plain(inner.value, valued)
                else:
                    fill(inner, getattr(target, name), valued)
        case ArrayCell(_, items):
            for index, inner in enumerate(items):
                if isinstance(inner, ScalarCell):
                    list.__setitem__(target, index, plain(inner.value, valued))
                else:
                    fill(inner, list.__getitem__(target, index), valued)
        case SequenceCell():
            list.extend(target, (_item(cell, number(index), valued) for index in range(valued(cell.length.term))))


def _item(cell: SequenceCell, index: Whole, valued: Callable[[Any], Any]) -> Any:
    found = cell.type.item.fresh()
    for leaf, scalar in leaves(cell.type.item):
        content = plain(cell.read(leaf, scalar, index), valued)
        if not leaf:
            return content
        holder = found
        for part in leaf[:-1]:
            holder = getattr(holder, part)
        holder.__dict__[leaf[-1]] = content
    return found


def plain(value: Value, valued: Callable[[Any], Any]) -> int:
    """Return the number that a value stands for."""
    if isinstance(value, MemberTruths):
        return sum(1 << member for member, bit in enumerate(value.bits) if valued(bit))
    return int(valued(as_number(value).term))


def counting_bounds(type_: Type) -> frozenset[str]:
    """Return the bounds that count the members of sets and the items of arrays."""
    match type_:
        case Scalar():
            return frozenset({type_.members} - {""})
        case Array():
            return frozenset({type_.members} - {""}) | counting_bounds(type_.item)
        case Record():
            return frozenset().union(*map(counting_bounds, type_.fields.values()))
        case Sequence():
            return counting_bounds(type_.item)


def terms_of(cell: Cell) -> Iterator[Any]:
    """Yield the unknown terms of a cell, in a fixed order."""
    match cell:
        case ScalarCell(_, value):
            yield from value.bits if isinstance(value, MemberTruths) else (as_number(value).term,)
        case RecordCell(_, fields):
            yield from itertools.chain.from_iterable(map(terms_of, fields.values()))
        case ArrayCell(_, items):
            yield from itertools.chain.from_iterable(map(terms_of, items))
        case SequenceCell(_, columns, length, _):
            yield length.term
            yield from itertools.chain.from_iterable(columns.values())


__all__ = [
    "ArrayCell", "Cell", "Fresh", "Leaf", "Limits", "RecordCell", "ScalarCell", "SequenceCell", "constant_cell", "copied", "fill",
    "has_member", "in_range", "leaves", "plain", "terms_of",
]  # fmt: skip
