"""Calls as terms: functions of the spec, `fire`, built-in functions, and the functions that read and change parts of the state.

A function that changes one of its parameters becomes an operator that returns the parameter's new value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafka_spec.diagrams.tla.expressions import CONSTANTS, NOTHING, Function, keys
from kafka_spec.diagrams.tla.frames import Frame, overlap
from kafka_spec.diagrams.tla.sorts import BOOL, INT, SET, Array, Keyed, Optional, Record, Sequence, Sort, Unordered, plus_number
from kafka_spec.diagrams.tla.terms import (
    COMPARE,
    RANGE,
    SETS,
    TRUE,
    Apply,
    Atom,
    Enumerated,
    Except,
    Fields,
    Infix,
    Term,
    Tuple,
    number,
)
from kafka_spec.diagrams.tla.values import Place, Value, Values, singleton
from kafka_spec.spec.language import domain, source_of, tree
from kafka_spec.spec.language.text import text_of

SETS_OF_MEMBERS = ("MemberSet", "BrokerSet")
"""How a function says that a parameter is a set of members."""


def call(f: Function, frame: Frame, node: tree.Call, whole: bool) -> list[Value]:
    """Return the values of a call of a function."""
    arguments = [f.value(frame, part) for part in node.arguments]
    if (helper := _HELPERS.get(node.function)) is not None:
        return [helper(f.values, *arguments)]
    for index, annotation in enumerate(source_of(node.function).annotations):
        if annotation in SETS_OF_MEMBERS and arguments[index].sort != SET:
            arguments[index] = f.values.as_sort(arguments[index], SET)
    operator = f.unit.operator(node.function, tuple(argument.sort for argument in arguments))
    given = tuple(argument.term for argument in arguments if argument.sort != CONSTANTS)
    applied = Apply(operator.name, given) if given else Atom(operator.name)
    if not operator.written:
        return _results(f, frame, applied, operator.results)
    if not whole:
        f.refuse(node, f"{text_of(node)} changes the state inside an expression; give it a line of its own")
    return _changes(f, frame, applied, operator.results, _written(f, node, arguments, operator.written))


def _written(f: Function, node: tree.Call, arguments: list[Value], written: tuple[int, ...]) -> list[Place]:
    """Return the places that a call changes, none of which may have two names in it."""
    records = Record | Array | Sequence | Unordered
    places = [
        (argument.place, index in written)
        for index, argument in enumerate(arguments)
        if isinstance(argument.sort, records) and argument.place is not None
    ]
    changed = [place for place, changes in places if changes]
    for i, (one, changes) in enumerate(places):
        for other, _ in places[i + 1 :]:
            if one.root == other.root and overlap(one.steps, other.steps) and (changes or other in changed):
                f.refuse(node, f"{text_of(node)} is given two names of one record, and changes it")
    return changed


def _changes(f: Function, frame: Frame, applied: Term, results: tuple[Sort, ...], written: list[Place]) -> list[Value]:
    """Store the new values that an operator returns for the parameters that it changes."""
    count = len(written) + len(results)
    if count == 1:
        f.write(frame, written[0], applied)
        return []
    parts = f.unpack(frame, "done", applied, count)
    for place, part in zip(written, parts, strict=False):
        f.write(frame, place, part)
    return [Value(part, sort) for part, sort in zip(parts[len(written) :], results, strict=True)]


def _results(f: Function, frame: Frame, applied: Term, sorts: tuple[Sort, ...]) -> list[Value]:
    """Return the values of a function that changes nothing."""
    if len(sorts) <= 1:
        return [Value(applied, sort) for sort in sorts]
    parts = f.unpack(frame, "pair" if len(sorts) == 2 else "results", applied, len(sorts))
    return [Value(part, sort) for part, sort in zip(parts, sorts, strict=True)]


_HELPERS: Mapping[Callable[..., Any], Callable[..., Value]] = {
    domain.contains: lambda v, of, one: Value(Infix("\\in", v.integer(one), v.set(of), 5), BOOL),
    domain.singleton: lambda v, one: Value(singleton(v.integer(one)), SET),
    domain.including: lambda v, of, one: _with_one(v, "\\cup", of, one),
    domain.excluding: lambda v, of, one: _with_one(v, "\\", of, one),
    domain.size: lambda v, of: Value(Apply("Cardinality", (v.set(of),)), INT),
    domain.first_members: lambda v, end: Value(Infix("..", number(0), plus_number(v.integer(end), -1), RANGE), SET),
}
"""The helpers of spec/language/domain/members.py for sets of members, which TLA+ has forms of its own for."""


def _with_one(values: Values, symbol: str, of: Value, one: Value) -> Value:
    element = singleton(values.integer(one))
    return Value(Infix(symbol, values.set(of), element, SETS), SET)


def fire(f: Function, frame: Frame, node: tree.Fire, whole: bool, asked: bool = True) -> Value:
    """Fire a trigger of a machine; if `asked`, return whether a row was found."""
    if not whole:
        f.refuse(node, "fire() inside an expression has no form in TLA+ here; give it a line of its own")
    place = f.place(frame, node.state)
    if place.steps:
        f.refuse(node, "fire() takes the whole state")
    arguments = tuple(f.values.integer(f.value(frame, part)) for part in node.entity)
    before = f.read(frame, place)
    fits = Apply(f.unit.fits(node.machine, node.trigger), (before.term, *arguments)) if asked else TRUE
    f.write(frame, place, Apply(f.unit.fire(node.machine, node.trigger), (before.term, *arguments)))
    return Value(fits, BOOL)


# what reads


def length(f: Function, frame: Frame, node: tree.Length) -> Term:
    """Return how many items there are."""
    value = f.value(frame, node.of)
    if isinstance(value.sort, Keyed):
        return Apply("Cardinality", (keys(f, value),))
    if isinstance(value.sort, Array):
        return value.sort.length
    if isinstance(value.sort, Unordered):
        return f.values.apply("BagSize", value.term) if value.sort.repeats else Apply("Cardinality", (value.term,))
    return Apply("Len", (value.term,))


def extreme(f: Function, frame: Frame, node: tree.Extreme) -> Term:
    """Return the result of min() or max()."""
    result, *others = (f.values.integer(f.value(frame, part)) for part in node.parts)
    for other in others:
        result = f.values.apply("Max" if node.largest else "Min", result, other)
    return result


def present(f: Function, frame: Frame, node: tree.Present) -> Term:
    """Return whether an option has a value."""
    place, _, _ = _option(f, frame, node, node.option, tree.Given())
    return Infix("#", f.read(frame, place).term, NOTHING, COMPARE)


def has(f: Function, frame: Frame, node: tree.Has | tree.Count) -> Term:
    """Return whether an element is in a set or a bag."""
    place, sort = _elements(f, frame, node.elements)
    within, item = f.read(frame, place).term, _record(f, frame, node, node.given, sort.item)
    return Infix("\\in", item, f.values.apply("BagMembers", within) if sort.repeats else within, COMPARE)


def count(f: Function, frame: Frame, node: tree.Count) -> Term:
    """Return how often an element is in a set or a bag."""
    place, sort = _elements(f, frame, node.elements)
    if not sort.repeats:
        return f.values.apply("Number", has(f, frame, node))
    within, item = f.read(frame, place).term, _record(f, frame, node, node.given, sort.item)
    return f.values.apply("Copies", within, item)


# what changes


def append(f: Function, frame: Frame, node: tree.Append) -> None:
    """Append a number, a record or a container."""
    place, sort = _sequence(f, frame, node.sequence)
    item = _item(f, frame, node, node.given, sort)
    f.change(frame, place, lambda old: Apply("Append", (old, item)))


def truncate(f: Function, frame: Frame, node: tree.Truncate) -> None:
    """Drop all items from an offset on."""
    place, _ = _sequence(f, frame, node.sequence)
    to = f.value(frame, node.offset)
    if to.known == 0:
        f.change(frame, place, lambda _: Atom("<<>>"))
    else:
        f.change(frame, place, lambda old: f.values.apply("Truncate", old, f.values.integer(to)))


def pop_first(f: Function, frame: Frame, node: tree.PopFirst) -> None:
    """Drop the first item."""
    place, _ = _sequence(f, frame, node.sequence)
    f.change(frame, place, lambda old: Apply("Tail", (old,)))


def reset(f: Function, frame: Frame, node: tree.Reset) -> None:
    """Give a record or a container its initial value."""
    place = f.place(frame, node.record)
    fresh = f.unit.types.fresh_of(f.sort_at(place))
    f.change(frame, place, lambda _: fresh)


def overwrite(f: Function, frame: Frame, node: tree.Overwrite) -> None:
    """Copy the contents of a record or a container to another."""
    place, source = f.place(frame, node.record), f.value(frame, node.source)
    f.change(frame, place, lambda _: source.term)


def put(f: Function, frame: Frame, node: tree.Put) -> None:
    """Give an option, or a key of a map, a value."""
    place, sort, given = _option(f, frame, node, node.option, node.given)
    item = _item(f, frame, node, given, sort)
    f.change(frame, place, lambda _: Tuple((item,)))


def drop(f: Function, frame: Frame, node: tree.Drop) -> None:
    """Take the value of an option, or of a key of a map, away."""
    place, _, _ = _option(f, frame, node, node.option, node.given)
    f.change(frame, place, lambda _: NOTHING)


def add(f: Function, frame: Frame, node: tree.Add) -> None:
    """Put an element into a set or a bag."""
    place, sort = _elements(f, frame, node.elements)
    item = _record(f, frame, node, node.given, sort.item)
    if sort.repeats:
        f.change(frame, place, lambda old: f.values.apply("BagAdd", old, item))
    else:
        f.change(frame, place, lambda old: Infix("\\cup", old, Enumerated((item,)), SETS))


def remove(f: Function, frame: Frame, node: tree.Remove) -> None:
    """Take an element out of a set or a bag."""
    place, sort = _elements(f, frame, node.elements)
    item = _record(f, frame, node, node.given, sort.item)
    if sort.repeats:
        f.change(frame, place, lambda old: f.values.apply("BagRemove", old, item))
    else:
        f.change(frame, place, lambda old: Infix("\\", old, Enumerated((item,)), SETS))


def _sequence(f: Function, frame: Frame, node: tree.Expression) -> tuple[Place, Sequence]:
    """Return the sequence that an expression denotes."""
    place = f.place(frame, node)
    sort = f.sort_at(place)
    if not isinstance(sort, Sequence):
        f.refuse(node, f"{text_of(node)} is not a sequence")
    return place, sort


def _elements(f: Function, frame: Frame, node: tree.Expression) -> tuple[Place, Unordered]:
    """Return the set or bag that an expression denotes."""
    place = f.place(frame, node)
    sort = f.sort_at(place)
    if not isinstance(sort, Unordered):
        f.refuse(node, f"{text_of(node)} is not a set or bag of records")
    return place, sort


def _option(
    f: Function, frame: Frame, node: tree.Node, of: tree.Expression, given: tree.Given
) -> tuple[Place, Optional, tree.Given]:
    """Return the option that a call means, and what it is given besides; of a map the first value is the key."""
    place = f.place(frame, of)
    sort = f.sort_at(place)
    if isinstance(sort, Keyed) and given.values:
        place = Place(place.root, (*place.steps, f.values.integer(f.value(frame, given.values[0]))))
        sort, given = sort.item, tree.Given(given.values[1:], given.fields, line=given.line)
    if not isinstance(sort, Optional):
        f.refuse(node, f"{text_of(of)} is not an option")
    return place, sort, given


def _item(f: Function, frame: Frame, node: tree.Node, given: tree.Given, sort: Sequence) -> Term:
    """Return the item that append() or put() is given: a record, a number, or the initial value of something else."""
    if isinstance(sort.item, Record):
        return _record(f, frame, node, given, sort.item)
    if given.values:
        return f.values.as_sort(f.value(frame, given.values[0]), sort.item).term
    fresh: Term = f.unit.types.fresh_of(sort.item) if isinstance(sort.item, Array) else f.unit.types.fresh(sort.of)
    return fresh


def _record(f: Function, frame: Frame, node: tree.Node, given: tree.Given, sort: Record) -> Term:
    """Return the record that a call names by its fields, or by another record and the fields in which it differs."""
    fields = f.unit.shapes.domains(sort.cls)
    terms = {}
    for name, value in given.fields:
        if name not in fields:
            f.refuse(node, f"{sort.cls.__name__} has no field {name}")
        terms[name] = f.values.as_sort(f.value(frame, value), f.unit.shapes.field(sort.cls, name)).term
    if len(terms) == len(fields):
        return Fields(tuple((name, terms[name]) for name in fields))
    base: Term = f.value(frame, given.values[0]).term if given.values else f.unit.types.fresh_of(sort)
    return Except(base, tuple((f".{name}", term) for name, term in terms.items())) if terms else base
