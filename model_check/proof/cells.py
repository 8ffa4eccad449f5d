"""A state as terms: a cell for each value that stands somewhere in it.

A sequence with a limit, a set of records and an option have a *slot* for each item that they can hold, which is a cell too, and a
length; the slots beyond the length have no meaning. Where the bound that limits a sequence is lifted (`Limits.lifted`), it is an
array of SMT for each number in its items, and a length.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import z3

from kafka_spec.model_check.proof.terms import Formula, MemberTruths, Untranslatable, Value, Whole, chosen
from kafka_spec.model_check.proof.values import as_number, as_set
from kafka_spec.spec.language.domain import Array, Record, Scalar, Sequence, Type

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
    """The place of an array, or of a map: of that the items are the options of its keys."""

    type: Array
    items: list[Cell]


@dataclass(eq=False)
class SlotsCell:
    """The place of a sequence, a set or an option with a limit: a cell for each item that it can have, and how many it has."""

    type: Sequence
    items: list[Cell]
    length: Whole


@dataclass(eq=False)
class SequenceCell:
    """The place of a sequence without a limit: for each leaf of its items one array, of a set one for each member."""

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


Cell: TypeAlias = ScalarCell | RecordCell | ArrayCell | SlotsCell | SequenceCell


def _terms(type_: Scalar, value: Value, width: int) -> list[Any]:
    if type_.many:
        return [as_set(value).bit(member) for member in range(width)]
    return [as_number(value).term]


def leaves(type_: Type, path: Leaf = ()) -> Iterator[tuple[Leaf, Scalar]]:
    """Yield where the numbers and sets stand inside an item of a sequence without a limit."""
    match type_:
        case Scalar():
            yield path, type_
        case Record():
            for name, inner in type_.fields.items():
                yield from leaves(inner, (*path, name))
        case _:
            raise Untranslatable(f"{type_.place}: sequences and arrays in the items of a sequence whose bound is lifted")


def copied(cell: Cell) -> Cell:
    """Return a copy that shares no place."""
    match cell:
        case ScalarCell(type_, value):
            return ScalarCell(type_, value)
        case RecordCell(type_, fields):
            return RecordCell(type_, {name: copied(inner) for name, inner in fields.items()})
        case ArrayCell(type_, items):
            return ArrayCell(type_, list(map(copied, items)))
        case SlotsCell(sequence, items, length):
            return SlotsCell(sequence, list(map(copied, items)), length)
        case SequenceCell(sequence, columns, length, limits):
            return SequenceCell(sequence, dict(columns), length, limits)


def terms_of(cell: Cell) -> Iterator[Any]:
    """Yield the unknown terms of a cell, in a fixed order."""
    match cell:
        case ScalarCell(_, value):
            yield from value.bits if isinstance(value, MemberTruths) else (as_number(value).term,)
        case RecordCell(_, fields):
            yield from itertools.chain.from_iterable(map(terms_of, fields.values()))
        case ArrayCell(_, items):
            yield from itertools.chain.from_iterable(map(terms_of, items))
        case SlotsCell(_, items, length):
            yield length.term
            yield from itertools.chain.from_iterable(map(terms_of, items))
        case SequenceCell(_, columns, length, _):
            yield length.term
            yield from itertools.chain.from_iterable(columns.values())


__all__ = [
    "ArrayCell", "Cell", "Leaf", "Limits", "RecordCell", "ScalarCell", "SequenceCell", "SlotsCell", "copied", "leaves", "terms_of",
]  # fmt: skip
