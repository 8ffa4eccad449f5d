"""What loops go over: their range or set as terms, and one iteration, for `for` loops and those of generators alike."""

from __future__ import annotations

from typing import assert_never

from kafka_spec.diagrams.tla.expressions import Function, keys
from kafka_spec.diagrams.tla.frames import Frame
from kafka_spec.diagrams.tla.sorts import INT, Array, Keyed, Sequence, Unordered, plus_number
from kafka_spec.diagrams.tla.terms import Access, Apply, Atom, Term, number
from kafka_spec.diagrams.tla.values import Place, Value
from kafka_spec.spec.language import tree


def range_of(f: Function, frame: Frame, over: tree.Over) -> tuple[Term, Term]:
    """Return the first and the last index of a loop."""
    if (members := _set(f, frame, over)) is not None:
        return number(1), Apply("Cardinality", (members,))
    match over:
        case tree.Range(start, stop):
            low = f.values.integer(f.value(frame, start))
            return low, plus_number(f.values.integer(f.value(frame, stop)), -1)
        case tree.Members(of) | tree.Items(of):
            value = f.read(frame, f.place(frame, of))
        case _:
            assert_never(over)
    if isinstance(value.sort, Unordered):
        size = f.values.apply("BagSize", value.term) if value.sort.repeats else Apply("Cardinality", (value.term,))
        return number(1), size
    if isinstance(value.sort, Array):
        return number(0), plus_number(value.sort.length, -1)
    return number(1), Apply("Len", (value.term,))


def _set(f: Function, frame: Frame, over: tree.Over) -> Term | None:
    """Return the set that a loop goes over, which is a set of members or the keys of a map; None for other loops."""
    match over:
        case tree.Members(of):
            return f.values.set(f.value(frame, of))
        case tree.Items(of):
            value = f.value(frame, of)
            return keys(f, value) if isinstance(value.sort, Keyed) else None
        case tree.Range():
            return None
        case _:
            assert_never(over)


def turn(f: Function, frame: Frame, node: tree.For | tree.Loop, index: str = "") -> tuple[Frame, str]:
    """Return one iteration of a loop, and the name of its index."""
    if (members := _set(f, frame, node.over)) is not None:
        inside, index, known = frame.fork(), index or f.fresh("i"), f.fresh(node.name)
        ascending = f.values.apply("InOrder", members, Atom("Below"))
        f.unit.text.helper("Below")
        inside.bindings.append((known, Access(ascending, Atom(index))))
        inside.locals[node.name] = Value(Atom(known), INT)
        return inside, index
    if isinstance(node.over, tree.Items):
        return _turn_of_items(f, frame, node.name, node.over.of, index)
    if node.name in frame.locals:
        f.refuse(node, f"{node.name} has a value before the loop; give the index a name of its own")
    inside, index = frame.fork(), index or f.fresh(node.name)
    inside.locals[node.name] = Value(Atom(index), INT)
    return inside, index


def _turn_of_items(f: Function, frame: Frame, name: str, items: tree.Place, index: str) -> tuple[Frame, str]:
    """Return one iteration of a loop over items, and the name of its index: elements are taken in their order."""
    place = f.place(frame, items)
    value = f.read(frame, place)
    inside, index = frame.fork(), index or f.fresh("i")
    if isinstance(value.sort, Unordered):
        helper = "BagInOrder" if value.sort.repeats else "InOrder"
        ordered = f.values.apply(helper, value.term, Atom(f.unit.before(value.sort.item)))
        known = f.fresh(name)
        inside.bindings.append((known, Access(ordered, Atom(index))))
        f.element(inside, name, known, value.sort.item)
        return inside, index
    assert isinstance(value.sort, Array | Sequence)
    at = Place(place.root, (*place.steps, Atom(index)))
    inside.locals.pop(name, None)
    inside.locals[name] = f.bound(inside, name, f.read(inside, at))
    return inside, index


def members(f: Function, frame: Frame, node: tree.For | tree.Loop) -> tuple[Frame, str, Term] | None:
    """Return one iteration of a loop over a set in any order, the name of its element, and the set; None for other loops."""
    if (found := _set(f, frame, node.over)) is not None:
        inside, known = frame.fork(), f.fresh(node.name)
        inside.locals[node.name] = Value(Atom(known), INT)
        return inside, known, found
    if not isinstance(node.over, tree.Items):
        return None
    value = f.read(frame, f.place(frame, node.over.of))
    if not isinstance(value.sort, Unordered):
        return None
    inside, known = frame.fork(), f.fresh(node.name)
    f.element(inside, node.name, known, value.sort.item)
    of = f.values.apply("BagMembers", value.term) if value.sort.repeats else value.term
    return inside, known, of
