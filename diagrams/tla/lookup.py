"""Lookups in constants that are data, as terms. TLC stops at a place that a constant does not have, and at one below 0."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_spec.diagrams.tla.expressions import NOTHING, Function
from kafka_spec.diagrams.tla.frames import Frame
from kafka_spec.diagrams.tla.shortened import both, choice, either
from kafka_spec.diagrams.tla.sorts import BOOL, INT
from kafka_spec.diagrams.tla.terms import COMPARE, FALSE, Access, Atom, Infix, Term, number
from kafka_spec.diagrams.tla.values import Value, set_of
from kafka_spec.spec.language import tree


def lookup(f: Function, frame: Frame, node: tree.Lookup) -> Value:
    """Return the number at some places, or whether it is there."""
    places = [f.value(frame, place) for place in node.places]
    if _last(node.table, len(places)).optional:
        return Value(_is_there(f, node.table, places), BOOL)
    return Value(_number(f, node.table, places), INT)


def _last(table: tree.Table, places: int) -> tree.Table:
    """Return a table by the last place."""
    for _ in range(places - 1):
        table = next((part for _, part in table.entries if isinstance(part, tree.Table)), table)
    return table


def _is_there(f: Function, table: tree.Table, places: Sequence[Value]) -> Term:
    first, *others = places
    if not others:
        here = set_of([place for place, _ in table.entries])
        return Infix("\\in", f.values.integer(first), here, COMPARE) if table.entries else FALSE
    inside = [(place, _is_there(f, part, others)) for place, part in table.entries if isinstance(part, tree.Table)]
    if table.optional:
        return either(*(both(_is(f, first, place), term) for place, term in inside))
    return _chosen(f, first, inside, boolean=True)


def _number(f: Function, table: tree.Table, places: Sequence[Value]) -> Term:
    first, *others = places
    if others:
        return _chosen(
            f, first, [(place, _number(f, part, others)) for place, part in table.entries if isinstance(part, tree.Table)]
        )
    numbers = [(place, part) for place, part in table.entries if isinstance(part, int)]
    if table.counts_back and numbers:
        item = f.values.arithmetic("+", first, Value(number(1), INT, 1))
        return Access(Atom(f"<<{', '.join(number(part).flat() for _, part in numbers)}>>"), item.term)
    return _chosen(f, first, [(place, number(part)) for place, part in numbers])


def _chosen(f: Function, first: Value, among: Sequence[tuple[int, Term]], boolean: bool = False) -> Term:
    """Return the term of the place that it is; there is no such term for another place."""
    term: Term = Access(NOTHING, f.values.integer(first))
    for place, found in reversed(among):
        term = choice(_is(f, first, place), found, term, boolean)
    return term


def _is(f: Function, first: Value, place: int) -> Term:
    return f.values.equal(first, Value(number(place), INT, place))
