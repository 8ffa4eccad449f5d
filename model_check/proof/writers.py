"""What the writers of the language do to places; and the questions about elements, `has` and `count`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import z3

from kafka_spec.model_check.proof.cells import Cell, RecordCell, SequenceCell, SlotsCell, leaves
from kafka_spec.model_check.proof.context import Collected
from kafka_spec.model_check.proof.order import comes_before, same
from kafka_spec.model_check.proof.places import (
    Place,
    Reference,
    field_of,
    is_present,
    option_of,
    overwrite,
    resize,
    store,
    value_at,
)
from kafka_spec.model_check.proof.states import constant_cell
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
    compared,
    folded,
    negation,
    number,
)
from kafka_spec.model_check.proof.values import as_number, as_set, equal
from kafka_spec.spec.language.domain import Collection, Scalar
from kafka_spec.spec.language.domain import Sequence as SequenceType

Values = Sequence[Reference | Value]
Fields = Mapping[str, Reference | Value]


def write(context: Collected, place: Place, value: Value, when: Formula) -> None:
    """Set the number or set at a place, under a condition."""
    if not isinstance(place.type, Scalar):
        raise Untranslatable("an assignment to what is not a number")
    store(place, fitting(context, place.type, value, when), when)


def fitting(context: Collected, type_: Scalar, value: Value, when: Formula) -> Value:
    """Return a value as its field holds it. Beyond a bound there is no step; elsewhere the value has to be in the field's range."""
    if type_.many:
        members = as_set(value)
        width = type_.high.bit_length()
        beyond = any_of(members.others, *members.bits[width:])
        context.need(f"a set within {type_.show(type_.high)}", negation(beyond), when)
        return MemberTruths(tuple(members.bit(member) for member in range(width)))
    whole, high = as_number(value), context.limits.high(type_)
    context.need(f"a number of {type_.low} or more", compared(">=", whole, number(type_.low)), when)
    if high is not None:
        _within(context, f"a number of {high} or less", compared("<=", whole, number(high)), type_.bound, when)
    low = type_.low if whole.low is None else max(whole.low, type_.low)
    return Whole(whole.term, low, whole.high if high is None else high if whole.high is None else min(whole.high, high))


def _within(context: Collected, what: str, fits: Formula, bound: str | None, when: Formula) -> None:
    """Note a limit: what a bound says is assumed, what a type says is needed."""
    if bound is None:
        context.need(what, fits, when)
    else:
        context.assume(fits, when)


def _room(context: Collected, place: SlotsCell | SequenceCell, when: Formula) -> None:
    capacity = context.limits.capacity(place.type)
    if capacity is not None:
        _within(context, "room for an item", compared("<", place.length, number(capacity)), place.type.bound, when)


def item_given(context: Collected, type_: SequenceType, values: Values, fields: Fields, when: Formula | None) -> Cell:
    """Return a new item: an initial value, or a copy of another, with some fields set. Without a condition nothing has to fit."""
    item = constant_cell(type_.item, type_.item.fresh(), context.limits)
    for value in values:
        _given(context, item, value, when)
    for name, one in fields.items():
        _given(context, field_of(item, name), one, when)
    if when is not None and isinstance(item, RecordCell):
        _need_tag(context, type_, item, when)
    return item


def _given(context: Collected, place: Place, value: Reference | Value, when: Formula | None) -> None:
    """Give a new item, or a field of it, its value."""
    if isinstance(value, Reference):
        for where, source in value.places:
            overwrite(place, source, where)
    elif when is None:
        store(place, value, TRUE)
    else:
        store(place, fitting(context, place.type, value, when), TRUE)  # type: ignore[arg-type]


def _need_tag(context: Collected, type_: SequenceType, item: RecordCell, when: Formula) -> None:
    """Note that fields without a meaning under the tag have their initial value."""
    if item.type.tags is None:
        return
    tag, members = item.type.tags
    for name, field in item.type.fields.items():
        if name == tag:
            continue
        used = [equal(value_at(item.fields[tag]), number(kind)) for kind, names in members.items() if name in names]
        initial = same(item.fields[name], constant_cell(field, field.fresh(), context.limits), TRUE)
        context.need(f"{type_.place}: {name} has a meaning", any_of(initial, *used), when)


# ---------------------------------------------------------------------------------------------------------------------
# Sequences and options


def append(context: Collected, place: Place, values: Values, fields: Fields, when: Formula) -> None:
    """Append an item."""
    if not isinstance(place, SequenceCell | SlotsCell):
        raise Untranslatable("an append to what is not a sequence")
    _room(context, place, when)
    item = item_given(context, place.type, values, fields, when)
    if isinstance(place, SlotsCell):
        if place.type.distinct:
            context.need("an item that is not in the sequence yet", equal(_copies(place, item), number(0)), when)
        for index, slot in enumerate(place.items):
            overwrite(slot, item, all_of(when, compared("==", place.length, number(index))))
    else:
        for leaf, scalar in leaves(place.type.item):
            part: Place = item
            for name in leaf:
                part = field_of(part, name)
            place.write(leaf, scalar, place.length, value_at(part), when)
    resize(place, _more(place.length, 1), when)


def _more(length: Whole, count: int) -> Whole:
    high = None if length.high is None else length.high + count
    return Whole(folded(length.term + count), 0, high)


def truncate(context: Collected, place: Place, offset: Whole, when: Formula) -> None:
    """Drop the items from an offset on."""
    if not isinstance(place, SequenceCell | SlotsCell):
        raise Untranslatable("truncation of what is not a sequence")
    context.need("an offset of 0 or more", compared(">=", offset, number(0)), when)
    resize(place, offset, all_of(when, compared("<", offset, place.length)))


def pop_first(context: Collected, place: Place, when: Formula) -> None:
    """Drop the first item; the others move up."""
    if not isinstance(place, SlotsCell):
        raise Untranslatable("pop_first() of a sequence without a limit")
    context.need("an item to take", compared(">", place.length, number(0)), when)
    for before, after in zip(place.items, place.items[1:], strict=False):
        overwrite(before, after, when)
    resize(place, _more(place.length, -1), when)


def put(context: Collected, place: Place, values: Values, fields: Fields, when: Formula) -> None:
    """Give an option a value."""
    option = option_of(place)
    overwrite(option.items[0], item_given(context, option.type, values, fields, when), when)
    resize(option, number(1), when)


def drop(context: Collected, place: Place, when: Formula) -> None:
    """Take the value of an option away."""
    context.need("a value to drop", is_present(place), when)
    resize(option_of(place), number(0), when)


# ---------------------------------------------------------------------------------------------------------------------
# Sets and bags of records


def _elements(place: Place) -> tuple[SlotsCell, Collection]:
    if not isinstance(place, SlotsCell) or not isinstance(place.type, Collection):
        raise Untranslatable("an element of what is not a set of records")
    return place, place.type


def _held(elements: SlotsCell, index: int) -> Formula:
    return compared("<", number(index), elements.length)


def _copies(elements: SlotsCell, item: Cell) -> Value:
    """Return how often an item is there."""
    found = [as_number(Truth(same(slot, item, _held(elements, index)))).term for index, slot in enumerate(elements.items)]
    return Whole(folded(z3.Sum([z3.IntVal(0), *found])), 0, len(found))


def count(context: Collected, place: Place, values: Values, fields: Fields) -> Value:
    """Return how often an element is in a set or a bag."""
    elements, type_ = _elements(place)
    return _copies(elements, item_given(context, type_, values, fields, None))


def has(context: Collected, place: Place, values: Values, fields: Fields) -> Formula:
    """Return whether an element is in a set or a bag."""
    elements, type_ = _elements(place)
    item = item_given(context, type_, values, fields, None)
    return any_of(*(same(slot, item, _held(elements, index)) for index, slot in enumerate(elements.items)))


def add(context: Collected, place: Place, values: Values, fields: Fields, when: Formula) -> None:
    """Put an element into a set or a bag, in its place in the order."""
    elements, type_ = _elements(place)
    item = item_given(context, type_, values, fields, when)
    if not type_.repeats:
        there = (same(slot, item, _held(elements, index)) for index, slot in enumerate(elements.items))
        when = all_of(when, negation(any_of(*there)))
    _room(context, elements, when)
    earlier = [comes_before(slot, item, _held(elements, index)) for index, slot in enumerate(elements.items)]
    for index in reversed(range(len(elements.items))):
        after = earlier[index - 1] if index else TRUE  # all before this one come before the item
        overwrite(elements.items[index], item, all_of(when, negation(earlier[index]), after))
        if index:
            overwrite(elements.items[index], elements.items[index - 1], all_of(when, negation(after)))
    resize(elements, _more(elements.length, 1), when)


def remove(context: Collected, place: Place, values: Values, fields: Fields, when: Formula) -> None:
    """Take an element out of a set, or one copy of it out of a bag."""
    elements, type_ = _elements(place)
    item = item_given(context, type_, values, fields, None)
    passed, found = FALSE, []
    for index, slot in enumerate(elements.items):
        passed = any_of(passed, same(slot, item, _held(elements, index)))
        found.append(passed)
    context.need("an element to remove", passed, when)
    for index, following in enumerate(elements.items[1:]):
        overwrite(elements.items[index], following, all_of(when, found[index]))
    resize(elements, _more(elements.length, -1), when)


__all__ = [
    "Fields", "Values", "add", "append", "count", "drop", "fitting", "has", "item_given",
    "pop_first", "put", "remove", "truncate", "write",
]  # fmt: skip
