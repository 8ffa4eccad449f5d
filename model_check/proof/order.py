"""The order of values by their contents, in which sets and bags of records keep their elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from kafka_spec.model_check.proof.cells import ArrayCell, Cell, RecordCell, ScalarCell, SlotsCell
from kafka_spec.model_check.proof.terms import (
    FALSE,
    TRUE,
    Formula,
    Untranslatable,
    all_of,
    any_of,
    as_number,
    compared,
    equal,
    implied,
    number,
)

Ordered: TypeAlias = tuple[Formula, Formula]
"""Whether one value comes before another, and whether they are equal."""


def ordered(one: Cell, other: Cell) -> Ordered:
    """Compare two values of one type: records field by field; of two sequences the shorter comes first."""
    match one, other:
        case ScalarCell(), ScalarCell():
            return compared("<", as_number(one.value), as_number(other.value)), equal(one.value, other.value)
        case RecordCell(), RecordCell():
            return lexically(ordered(part, other.fields[name]) for name, part in one.fields.items())
        case ArrayCell(), ArrayCell():
            return lexically(map(ordered, one.items, other.items))
        case SlotsCell(), SlotsCell():
            lengths = compared("<", one.length, other.length), compared("==", one.length, other.length)
            return lexically((lengths, *(_held(one, other, index) for index in range(len(one.items)))))
    raise Untranslatable("a comparison of sequences without a limit")


def _held(one: SlotsCell, other: SlotsCell, index: int) -> Ordered:
    held = compared("<", number(index), one.length)
    less, same = ordered(one.items[index], other.items[index])
    return all_of(held, less), implied(held, same)


def lexically(parts: Iterable[Ordered]) -> Ordered:
    """Compare by the first part that differs."""
    before, so_far = FALSE, TRUE
    for less, equals in parts:
        before, so_far = any_of(before, all_of(so_far, less)), all_of(so_far, equals)
    return before, so_far


def same(one: Cell, other: Cell) -> Formula:
    """Return whether two values of one type are equal."""
    return ordered(one, other)[1]
