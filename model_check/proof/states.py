"""Cells of states that are unknown, and of states of Python; and states of Python from cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import z3

from kafka_spec.model_check.proof.cells import (
    ArrayCell,
    Cell,
    Leaf,
    Limits,
    RecordCell,
    ScalarCell,
    SequenceCell,
    SlotsCell,
    leaves,
)
from kafka_spec.model_check.proof.order import comes_before, same
from kafka_spec.model_check.proof.terms import (
    FALSE,
    TRUE,
    Formula,
    MemberTruths,
    Untranslatable,
    Value,
    Whole,
    all_of,
    any_of,
    compared,
    implied,
    number,
)
from kafka_spec.model_check.proof.values import as_number, as_set
from kafka_spec.spec.language.domain import Array, Collection, Record, Scalar, Sequence, Type, items_of


@dataclass
class Fresh:
    """Makes the cells of an unknown state; `typed` is what their types say of them."""

    limits: Limits
    typed: list[Formula] = field(default_factory=list)

    def cell(self, type_: Type, name: str, when: Formula = TRUE) -> Cell:
        """Return a cell whose content is unknown; it has a meaning under a condition."""
        match type_:
            case Scalar(many=True):
                bits = tuple(z3.Bool(f"{name}.{member}") for member in range(type_.high.bit_length()))
                return ScalarCell(type_, MemberTruths(bits))
            case Scalar():
                value = Whole(z3.Int(name), type_.low, self.limits.high(type_))
                self.typed.append(implied(when, in_range(type_, value, self.limits)))
                return ScalarCell(type_, value)
            case Array():
                return ArrayCell(type_, [self.cell(type_.item, f"{name}[{index}]", when) for index in range(type_.length)])
            case Record():
                return RecordCell(type_, {part: self.cell(inner, f"{name}.{part}", when) for part, inner in type_.fields.items()})
            case Sequence():
                length = Whole(z3.Int(f"#{name}"), 0, self.limits.capacity(type_))
                self.typed.append(length.term >= 0)
                if length.high is None:
                    return self.sequence(type_, name, length)
                self.typed.append(length.term <= length.high)
                return self.slots(type_, name, length, length.high)

    def slots(self, type_: Sequence, name: str, length: Whole, capacity: int) -> SlotsCell:
        """Return a sequence, a set or an option with a limit, of unknown items."""
        held = [compared("<", number(index), length) for index in range(capacity)]
        cell = SlotsCell(type_, [self.cell(type_.item, f"{name}[{index}]", when) for index, when in enumerate(held)], length)
        for index in range(1, capacity if isinstance(type_, Collection) else 0):
            before, item = cell.items[index - 1], cell.items[index]
            repeated = same(before, item, TRUE) if isinstance(type_, Collection) and type_.repeats else FALSE
            self.typed.append(implied(held[index], any_of(comes_before(before, item, TRUE), repeated)))
        return cell

    def sequence(self, type_: Sequence, name: str, length: Whole) -> SequenceCell:
        """Return a sequence without a limit, of unknown items."""
        if isinstance(type_, Collection) or type_.distinct:
            raise Untranslatable(f"{type_.place}: a set of records, or distinct items, without a limit")
        columns = {leaf: _columns(f"{name}.{'.'.join(leaf)}", scalar) for leaf, scalar in leaves(type_.item)}
        cell = SequenceCell(type_, columns, length, self.limits)
        for leaf, scalar in leaves(type_.item):
            if not scalar.many:
                self.typed.append(self.items(cell, leaf, scalar))
        return cell

    def items(self, cell: SequenceCell, leaf: Leaf, scalar: Scalar) -> Formula:
        """Return what the type says of a leaf of all items."""
        index = Whole(z3.Int("item"), 0, None)
        fits = implied(compared("<", index, cell.length), in_range(scalar, cell.read(leaf, scalar, index), self.limits))
        return z3.ForAll([index.term], implied(index.term >= 0, fits))


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
            if (capacity := limits.capacity(type_)) is None:
                return _constant_sequence(type_, value, limits)
            items = [*items_of(value), *(type_.item.fresh() for _ in range(capacity - len(value)))]
            return SlotsCell(type_, [constant_cell(type_.item, item, limits) for item in items], number(len(value)))


def _constant_sequence(type_: Sequence, value: Any, limits: Limits) -> SequenceCell:
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


def fill(cell: Cell, target: Any, valued: Callable[[Any], Any]) -> None:
    """Write into a Python state what a cell holds; `valued` gives the number or truth that a term stands for.

    Only a state without lifted bounds is written.
    """
    match cell:
        case RecordCell(_, fields):
            for name, inner in fields.items():
                if isinstance(inner, ScalarCell):
                    target.__dict__[name] = plain(inner.value, valued)
                else:
                    fill(inner, getattr(target, name), valued)
        case ArrayCell(_, items):
            list.__init__(target, [_filled(inner, valued) for inner in items])
        case SlotsCell(_, items, length):
            list.__init__(target, [_filled(inner, valued) for inner in items[: valued(length.term)]])
        case _:
            raise Untranslatable("a value of Python of a sequence without a limit")


def _filled(cell: Cell, valued: Callable[[Any], Any]) -> Any:
    if isinstance(cell, ScalarCell):
        return plain(cell.value, valued)
    found = cell.type.fresh()
    fill(cell, found, valued)
    return found


def plain(value: Value, valued: Callable[[Any], Any]) -> int:
    """Return the number that a value stands for."""
    if isinstance(value, MemberTruths):
        return sum(1 << member for member, bit in enumerate(value.bits) if valued(bit))
    return int(valued(as_number(value).term))


__all__ = ["Fresh", "constant_cell", "fill", "in_range", "plain"]
