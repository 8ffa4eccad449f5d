"""Functions of generators as terms: quantifiers, sums, and sets by comprehension; and `in`."""

from __future__ import annotations

from typing import assert_never

from kafka_spec.diagrams.tla.expressions import Function, keys
from kafka_spec.diagrams.tla.frames import Frame
from kafka_spec.diagrams.tla.iteration import members, range_of, turn
from kafka_spec.diagrams.tla.shortened import both, choice
from kafka_spec.diagrams.tla.sorts import BOOL, INT, SET, Array, Keyed, Record, Sequence, Unordered
from kafka_spec.diagrams.tla.terms import COMPARE, IMPLIES, RANGE, TIMES, TRUE, Apply, Atom, Bind, Enumerated, Infix, Term, number
from kafka_spec.diagrams.tla.values import Value
from kafka_spec.spec.language import tree
from kafka_spec.spec.language.text import text_of

Loops = tuple[tree.Loop, ...]


def gathered(f: Function, frame: Frame, node: tree.Gathered) -> Value:
    """Return the value of a function of a generator."""
    if node.how in ("any", "all"):
        return Value(_quantified(f, frame, node.item, node.loops, node.how == "any"), BOOL)
    if node.how == "sum":
        return Value(_summed(f, frame, node.item, node.loops), INT)
    image = _image(f, frame, node.item, node.loops)
    if node.how == "set_of":
        return Value(image, SET)
    return Value(f.values.apply("Lowest" if node.how == "min" else "Highest", image), INT)


def _clause(f: Function, frame: Frame, loop: tree.Loop) -> tuple[Frame, str, Term]:
    """Return one iteration of a loop of a generator, the name that it binds, and the set from which that is."""
    if (found := members(f, frame, loop)) is not None:
        return found
    low, high = range_of(f, frame, loop.over)
    inside, index = turn(f, frame, loop)
    return inside, index, Infix("..", low, high, RANGE)


def _quantified(f: Function, frame: Frame, item: tree.Expression, loops: Loops, some: bool) -> Term:
    """Return the formula of any() (`some`) or all()."""
    if not loops:
        return f.test(frame, item)
    inside, name, of = _clause(f, frame, loops[0])
    tests = both(*(f.test(inside, test) for test in loops[0].tests))
    rest = _quantified(f, inside, item, loops[1:], some)
    claim = both(tests, rest) if some else rest if tests == TRUE else Infix("=>", tests, rest, IMPLIES)
    sign = "\\E" if some else "\\A"
    return Bind(f"{sign} {name} \\in {of.flat()} :", f.closed(inside, claim))


def _summed(f: Function, frame: Frame, item: tree.Expression, loops: Loops) -> Term:
    """Return the sum of what a generator gives; an element of a bag counts as often as it is there."""
    if not loops:
        return f.values.integer(f.value(frame, item))
    inside, name, of = _clause(f, frame, loops[0])
    tests = both(*(f.test(inside, test) for test in loops[0].tests))
    term = _summed(f, inside, item, loops[1:])
    if isinstance(loops[0].over, tree.Items):
        value = f.read(frame, f.place(frame, loops[0].over.of))
        if isinstance(value.sort, Unordered) and value.sort.repeats:
            term = Infix("*", f.values.apply("Copies", value.term, Atom(name)), term, TIMES)
    body = f.closed(inside, choice(tests, term, number(0)))
    return f.values.apply("Total", Bind(f"LAMBDA {name} :", body), of)


def _image(f: Function, frame: Frame, item: tree.Expression, loops: Loops) -> Term:
    """Return the set of what a generator gives."""
    inside, name, of = _clause(f, frame, loops[0])
    tests = both(*(f.test(inside, test) for test in loops[0].tests))
    if tests != TRUE:
        of = Bind(f"{{{name} \\in {of.flat()} :", f.closed(inside, tests), "}")
    if len(loops) > 1:
        inner = f.closed(inside, _image(f, inside, item, loops[1:]))
        return Apply("UNION ", (Bind("{", inner, f" : {name} \\in {of.flat()}}}"),))
    given = f.closed(inside, f.values.integer(f.value(inside, item)))
    return of if given == Atom(name) else Bind("{", given, f" : {name} \\in {of.flat()}}}")


def contained(f: Function, frame: Frame, node: tree.Contained) -> Term:
    """Return whether a value is in a tuple, a set of members, a sequence of numbers, or a set of records."""
    match node.among:
        case tree.Values(parts):
            among = Enumerated(tuple(f.values.integer(f.value(frame, part)) for part in parts))
            return Infix("\\in", f.values.integer(f.value(frame, node.one)), among, COMPARE)
        case tree.Members(of):
            members_ = f.values.set(f.value(frame, of))
            return Infix("\\in", f.values.integer(f.value(frame, node.one)), members_, COMPARE)
        case tree.Items(of):
            return _in_items(f, frame, node, of)
        case _:
            assert_never(node.among)


def _in_items(f: Function, frame: Frame, node: tree.Contained, of: tree.Place) -> Term:
    """Return whether a value is in a collection."""
    items = f.value(frame, of)
    if isinstance(items.sort, Keyed):
        among = keys(f, items)
        return Infix("\\in", f.values.integer(f.value(frame, node.one)), among, COMPARE)
    one = f.value(frame, node.one)
    if isinstance(items.sort, Unordered) and isinstance(one.sort, Record):
        there = f.values.apply("BagMembers", items.term) if items.sort.repeats else items.term
        return Infix("\\in", one.term, there, COMPARE)
    if not isinstance(items.sort, Array | Sequence):
        f.refuse(of, f"{text_of(of)} has no items")
    index = f.fresh("i")
    item = Value(Atom(f"{items.term.flat()}[{index}]"), items.sort.item)
    return Bind(f"\\E {index} \\in DOMAIN {items.term.flat()} :", f.values.equal(item, one))
