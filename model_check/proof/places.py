"""References to places of a state. Where an index is not a constant, a reference may mean one of several places, by conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import z3

from kafka_spec.model_check.proof.cells import ArrayCell, Cell, Leaf, RecordCell, ScalarCell, SequenceCell, leaves
from kafka_spec.model_check.proof.context import Collected
from kafka_spec.model_check.proof.terms import (
    FALSE,
    TRUE,
    Formula,
    MemberTruths,
    Truth,
    Untranslatable,
    Value,
    Whole,
    all_of,
    any_of,
    as_number,
    as_set,
    chosen,
    compared,
    implied,
    is_false,
    merged,
    negation,
    number,
)
from kafka_spec.spec.language.domain import Record, Scalar, Type


@dataclass(frozen=True, eq=False)
class Inside:
    """A place inside an item of a sequence."""

    sequence: SequenceCell
    index: Whole
    leaf: Leaf
    type: Type


Place: TypeAlias = Cell | Inside


@dataclass(frozen=True, eq=False)
class Reference:
    """One of some places; of the conditions exactly one is true where the reference is used."""

    places: tuple[tuple[Formula, Place], ...]

    def each(self, of: Callable[[Place], Reference | Value]) -> Reference | Value:
        """Return what is found from each place, as one reference or one value."""
        found = [(when, of(place)) for when, place in self.places]
        references = [(when, one) for when, one in found if isinstance(one, Reference)]
        if references:
            return Reference(tuple((all_of(when, inner), place) for when, one in references for inner, place in one.places))
        values = [(when, one) for when, one in found if not isinstance(one, Reference)]
        return one_of(values)


def one_of(values: Iterable[tuple[Formula, Value]]) -> Value:
    """Return the value whose condition is true; the last one needs none."""
    *others, (_, result) = values
    for when, value in reversed(others):
        result = merged(when, value, result)
    return result


def content(place: Place) -> Reference | Value:
    """Return the number or set at a place, or a reference to the record, array or sequence."""
    match place:
        case ScalarCell():
            return place.value
        case Inside(sequence, index, leaf, Scalar() as type_):
            return sequence.read(leaf, type_, index)
    return Reference(((TRUE, place),))


def field_of(place: Place, name: str) -> Place:
    """Return the place of a field of a record."""
    match place:
        case RecordCell(_, fields):
            return fields[name]
        case Inside(sequence, index, leaf, Record() as type_):
            return Inside(sequence, index, (*leaf, name), type_.fields[name])
    raise Untranslatable(f"a field {name} of what is not a record")


def items_at(place: Place, index: Whole) -> list[tuple[Formula, Place]]:
    """Return the places that an index of an array or a sequence can mean, with their conditions."""
    match place:
        case ArrayCell(_, items):
            if index.known is not None:
                return [(TRUE, items[index.known])] if 0 <= index.known < len(items) else []
            found = [(compared("==", index, number(position)), item) for position, item in enumerate(items)]
            return [(when, item) for when, item in found if not is_false(when)]
        case SequenceCell(type_):
            return [(TRUE, Inside(place, index, (), type_.item))]
    raise Untranslatable("an item of what is neither an array nor a sequence")


def length_of(place: Place) -> Whole:
    """Return how many items there are."""
    match place:
        case ArrayCell(_, items):
            return number(len(items))
        case SequenceCell():
            return place.length
    raise Untranslatable("the length of what is neither an array nor a sequence")


def write(context: Collected, place: Place, value: Value, when: Formula) -> None:
    """Set the number or set at a place, under a condition."""
    match place:
        case ScalarCell(type_, before):
            place.value = _kept(merged(when, fitting(context, type_, value, when), before), type_, context)
        case Inside(sequence, index, leaf, Scalar() as type_):
            sequence.write(leaf, type_, index, fitting(context, type_, value, when), when)
        case _:
            raise Untranslatable("an assignment to what is not a number")


def _kept(value: Value, type_: Scalar, context: Collected) -> Value:
    """Return a value of a field with what its type says of it."""
    if type_.many or not isinstance(value, Whole):
        return value if isinstance(value, MemberTruths) else as_set(value) if type_.many else as_number(value)
    return Whole(value.term, type_.low, context.limits.high(type_))


def fitting(context: Collected, type_: Scalar, value: Value, when: Formula) -> Value:
    """Return a value as its field holds it. Beyond a bound there is no step; elsewhere the value has to be in the field's range."""
    if type_.many:
        members = as_set(value)
        width = type_.high.bit_length()
        beyond = any_of(z3.BoolVal(members.others), *members.bits[width:])
        context.need(f"a set within {type_.show(type_.high)}", negation(beyond), when)
        return MemberTruths(tuple(members.bit(member) for member in range(width)))
    whole, high = as_number(value), context.limits.high(type_)
    context.need(f"a number of {type_.low} or more", compared(">=", whole, number(type_.low)), when)
    if high is not None:
        fits = compared("<=", whole, number(high))
        if type_.bound is None:
            context.need(f"a number of {high} or less", fits, when)
        else:
            context.assume(fits, when)
    return whole


def append(context: Collected, place: Place, values: dict[Leaf, Value], when: Formula) -> None:
    """Append an item whose leaves have these values; the others have their initial value."""
    if not isinstance(place, SequenceCell):
        raise Untranslatable("an append to what is not a sequence")
    capacity = context.limits.capacity(place.type)
    if capacity is not None:
        fits = compared("<", place.length, number(capacity))
        if place.type.bound is None:
            context.need("room for an item", fits, when)
        else:
            context.assume(fits, when)
    for leaf, scalar in leaves(place.type.item):
        value = values.get(leaf, number(scalar.initial))
        if place.type.distinct:
            _need_distinct(context, place, leaf, scalar, value, when)
        place.write(leaf, scalar, place.length, fitting(context, scalar, value, when), when)
    longer = Whole(chosen(when, z3.simplify(place.length.term + 1), place.length.term), 0, capacity)
    place.length = longer


def _need_distinct(context: Collected, place: SequenceCell, leaf: Leaf, scalar: Scalar, value: Value, when: Formula) -> None:
    if (capacity := context.limits.capacity(place.type)) is None:
        raise Untranslatable(f"{place.type.place}: distinct items without a limit")
    for index in map(number, range(capacity)):
        other = compared("!=", as_number(place.read(leaf, scalar, index)), as_number(value))
        context.need("an item that is not in the sequence yet", implied(compared("<", index, place.length), other), when)


def truncate(context: Collected, place: Place, offset: Whole, when: Formula) -> None:
    """Drop the items from an offset on."""
    if not isinstance(place, SequenceCell):
        raise Untranslatable("truncation of what is not a sequence")
    context.need("an offset of 0 or more", compared(">=", offset, number(0)), when)
    shorter = all_of(when, compared("<", offset, place.length))
    place.length = Whole(chosen(shorter, offset.term, place.length.term), 0, place.length.high)


def pop_first(context: Collected, place: Place, when: Formula) -> None:
    """Drop the first item; the others move up."""
    if not isinstance(place, SequenceCell) or (capacity := context.limits.capacity(place.type)) is None:
        raise Untranslatable("pop_first() of a sequence without a limit")
    context.need("an item to take", compared(">", place.length, number(0)), when)
    for leaf, scalar in leaves(place.type.item):
        before = SequenceCell(place.type, dict(place.columns), place.length, place.limits)
        for index in range(capacity - 1):
            place.write(leaf, scalar, number(index), before.read(leaf, scalar, number(index + 1)), when)
    less = chosen(when, z3.simplify(place.length.term - 1), place.length.term)
    place.length = Whole(less, 0, capacity)


def overwrite(context: Collected, target: Place, source: Place | None, when: Formula) -> None:
    """Copy the content of one place to another of the same type, or without a source the initial value."""
    if isinstance(target, ArrayCell):
        for index, item in enumerate(target.items):
            overwrite(context, item, source.items[index] if isinstance(source, ArrayCell) else None, when)
    elif isinstance(target, SequenceCell):
        other = source if isinstance(source, SequenceCell) else None
        columns = {} if other is None else other.columns
        for leaf, old in target.columns.items():
            target.columns[leaf] = tuple(chosen(when, new, one) for new, one in zip(columns.get(leaf, old), old, strict=True))
        length = z3.IntVal(0) if other is None else other.length.term
        target.length = Whole(chosen(when, length, target.length.term), 0, target.length.high)
    elif isinstance(target.type, Record):
        for name in target.type.fields:
            overwrite(context, field_of(target, name), None if source is None else field_of(source, name), when)
    elif isinstance(target.type, Scalar):
        value = number(target.type.initial) if source is None else content(source)
        assert not isinstance(value, Reference)
        write(context, target, value, when)


def read_leaves(place: Place) -> dict[Leaf, Value]:
    """Return the numbers and sets in a record, by their paths."""
    found: dict[Leaf, Value] = {}
    for leaf, _ in leaves(place.type):
        inner = place
        for part in leaf:
            inner = field_of(inner, part)
        value = content(inner)
        assert not isinstance(value, Reference)
        found[leaf] = value
    return found


__all__ = [
    "FALSE", "Inside", "Place", "Reference", "Truth", "append", "content", "field_of", "items_at", "length_of", "one_of",
    "overwrite", "pop_first", "read_leaves", "truncate", "write",
]  # fmt: skip
