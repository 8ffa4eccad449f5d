"""References to places of a state. Where an index is not a constant, a reference may mean one of several places, by conditions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import z3

from kafka_spec.model_check.proof.cells import ArrayCell, Cell, Leaf, Limits, RecordCell, ScalarCell, SequenceCell, SlotsCell
from kafka_spec.model_check.proof.states import constant_cell
from kafka_spec.model_check.proof.terms import (
    TRUE,
    Formula,
    Untranslatable,
    Value,
    Whole,
    all_of,
    any_of,
    compared,
    folded,
    is_false,
    number,
)
from kafka_spec.model_check.proof.values import as_number, as_set, merged
from kafka_spec.spec.language.domain import Map, Maybe, Record, Scalar, Type


@dataclass(frozen=True, eq=False)
class Inside:
    """A place inside an item of a sequence without a limit."""

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

    @property
    def length(self) -> Whole:
        """How many items there are."""
        found = self.each(length_of)
        assert isinstance(found, Whole)
        return found

    def at(self, index: Whole) -> Reference:
        """Return the item at an index that is in range."""
        found = [(all_of(when, where), item) for when, place in self.places for where, item in items_at(place, index)]
        return Reference(tuple(found))


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


def value_at(place: Place) -> Value:
    """Return the number or set at a place."""
    found = content(place)
    assert not isinstance(found, Reference)
    return found


def field_of(place: Place, name: str) -> Place:
    """Return the place of a field of a record."""
    match place:
        case RecordCell(_, fields):
            return fields[name]
        case Inside(sequence, index, leaf, Record() as type_):
            return Inside(sequence, index, (*leaf, name), type_.fields[name])
    raise Untranslatable(f"a field {name} of what is not a record")


def items_at(place: Place, index: Whole) -> list[tuple[Formula, Place]]:
    """Return the places that an index of an array or a sequence, or a key of a map, can mean, with their conditions."""
    match place:
        case ArrayCell(_, items) | SlotsCell(_, items):
            if isinstance(place.type, Map):
                items = [option_of(item).items[0] for item in items]
            if index.known is not None and 0 <= index.known < len(items):
                return [(TRUE, items[index.known])]
            found = [(compared("==", index, number(position)), item) for position, item in enumerate(items)]
            return [(when, item) for when, item in found if not is_false(when)] or [(TRUE, _no_item(place.type))]
        case SequenceCell(type_):
            return [(TRUE, Inside(place, index, (), type_.item))]
    raise Untranslatable("an item of what is neither an array nor a sequence")


def _no_item(type_: Type) -> Place:
    """Return an item for an index that is always out of range, which is noted elsewhere."""
    item: Type = type_.item.item if isinstance(type_, Map) else type_.item  # type: ignore[union-attr]
    return constant_cell(item, item.fresh(), Limits())


def option_of(place: Place) -> SlotsCell:
    """Return the place of an option."""
    assert isinstance(place, SlotsCell) and isinstance(place.type, Maybe)
    return place


def is_present(place: Place) -> Formula:
    """Return whether an option has a value."""
    return compared(">", option_of(place).length, number(0))


def length_of(place: Place) -> Whole:
    """Return how many items there are; of a map, how many keys have a value."""
    match place:
        case ArrayCell(Map(), items):
            lengths = [option_of(item).length.term for item in items]
            return Whole(folded(z3.Sum([z3.IntVal(0), *lengths])), 0, len(items))
        case ArrayCell(_, items):
            return number(len(items))
        case SequenceCell() | SlotsCell():
            return place.length
    raise Untranslatable("the length of what is neither an array nor a sequence")


def has_index(place: Place, index: Whole) -> Formula:
    """Return whether there is an item at an index, or a value under a key."""
    if isinstance(place, ArrayCell) and isinstance(place.type, Map):
        return any_of(*(all_of(compared("==", index, number(key)), is_present(item)) for key, item in enumerate(place.items)))
    return all_of(compared(">=", index, number(0)), compared("<", index, length_of(place)))


def store(place: Place, value: Value, when: Formula) -> None:
    """Set the number or set at a place, under a condition; the value fits."""
    match place:
        case ScalarCell(type_, before):
            place.value = as_set(merged(when, as_set(value), before)) if type_.many else as_number(merged(when, value, before))
        case Inside(sequence, index, leaf, Scalar() as type_):
            sequence.write(leaf, type_, index, value, when)
        case _:
            raise Untranslatable("an assignment to what is not a number")


def overwrite(target: Place, source: Place | None, when: Formula) -> None:
    """Copy the content of one place to another of the same type, or without a source the initial value."""
    match target:
        case ArrayCell(_, items):
            for index, item in enumerate(items):
                overwrite(item, source.items[index] if isinstance(source, ArrayCell) else None, when)
        case SlotsCell(_, items):
            if isinstance(source, SlotsCell):
                for item, other in zip(items, source.items, strict=True):
                    overwrite(item, other, when)
            resize(target, source.length if isinstance(source, SlotsCell) else number(0), when)
        case SequenceCell():
            if isinstance(source, SequenceCell):
                for leaf, old in target.columns.items():
                    new = source.columns[leaf]
                    target.columns[leaf] = tuple(merged_column(when, *pair) for pair in zip(new, old, strict=True))
            resize(target, source.length if isinstance(source, SequenceCell) else number(0), when)
        case _ if isinstance(target.type, Record):
            for name in target.type.fields:
                overwrite(field_of(target, name), None if source is None else field_of(source, name), when)
        case _:
            assert isinstance(target.type, Scalar)
            store(target, number(target.type.initial) if source is None else value_at(source), when)


def merged_column(when: Formula, new: z3.ArrayRef, old: z3.ArrayRef) -> z3.ArrayRef:
    """Return one of two arrays."""
    return new if when.eq(TRUE) or new.eq(old) else z3.If(when, new, old)


def resize(sequence: SlotsCell | SequenceCell, length: Whole, when: Formula) -> None:
    """Set how many items there are, under a condition."""
    found = as_number(merged(when, length, sequence.length))
    capacity = len(sequence.items) if isinstance(sequence, SlotsCell) else None
    sequence.length = Whole(found.term, 0, found.high if capacity is None or found.high is None else min(found.high, capacity))


__all__ = [
    "Inside", "Place", "Reference", "content", "field_of", "has_index", "is_present", "items_at", "length_of", "one_of",
    "option_of", "overwrite", "resize", "store", "value_at",
]  # fmt: skip
