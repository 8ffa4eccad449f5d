"""The order of values by their contents, in which sets and bags of records keep their elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from kafka_spec.model_check.proof.cells import ArrayCell, Cell, RecordCell, ScalarCell, SlotsCell
from kafka_spec.model_check.proof.terms import (
    FALSE,
    Formula,
    MemberTruths,
    Untranslatable,
    Value,
    all_of,
    any_of,
    compared,
    implied,
    negation,
    number,
)
from kafka_spec.model_check.proof.values import as_number, as_set, equal, same_truth

Part: TypeAlias = tuple[Formula, Value, Value]
"""Two numbers or sets at the same place of two values, and when they are there."""


def parts(one: Cell, other: Cell, when: Formula) -> Iterator[Part]:
    """Yield what is compared of two values of one type: records field by field; of two sequences first the lengths."""
    match one, other:
        case ScalarCell(), ScalarCell():
            yield when, one.value, other.value
        case RecordCell(), RecordCell():
            for name, part in one.fields.items():
                yield from parts(part, other.fields[name], when)
        case ArrayCell(), ArrayCell():
            for part, its in zip(one.items, other.items, strict=True):
                yield from parts(part, its, when)
        case SlotsCell(), SlotsCell():
            yield when, one.length, other.length
            for index, (part, its) in enumerate(zip(one.items, other.items, strict=True)):
                yield from parts(part, its, all_of(when, compared("<", number(index), one.length)))
        case _:
            raise Untranslatable("a comparison of sequences without a limit")


def same(one: Cell, other: Cell, when: Formula) -> Formula:
    """Return whether two values of one type are there, as the condition says, and equal."""
    return all_of(when, *(implied(there, equal(left, right)) for there, left, right in parts(one, other, when)))


def comes_before(one: Cell, other: Cell, when: Formula) -> Formula:
    """Return whether the first of two values that are there, as the condition says, comes before the other."""
    result = FALSE
    for there, left, right in reversed(list(parts(one, other, when))):
        result = any_of(all_of(there, _less(left, right)), all_of(implied(there, equal(left, right)), result))
    return all_of(when, result)


def _less(left: Value, right: Value) -> Formula:
    if not isinstance(left, MemberTruths) or not isinstance(right, MemberTruths):
        return compared("<", as_number(left), as_number(right))
    one, other = as_set(left), as_set(right)
    result, width = FALSE, max(len(one.bits), len(other.bits))
    for member in range(width):  # the last one decides first
        first, second = one.bit(member), other.bit(member)
        result = any_of(all_of(negation(first), second), all_of(same_truth(first, second), result))
    return result
