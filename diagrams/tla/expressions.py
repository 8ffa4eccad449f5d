"""A function of the language as terms: its names and places, and what the translations of its parts ask of each other.

statements.py holds the two `match` over the nodes of a function's tree (spec/language/tree.py). What a node becomes is stated
there, here, or by a function of the module of its subject: calls.py, generators.py, loops.py.
"""

from __future__ import annotations

import abc
import enum
from collections.abc import Callable
from typing import Any, NoReturn

from kafka_spec.diagrams.tla.frames import Frame, new_root, walked
from kafka_spec.diagrams.tla.shortened import both, choice, either, let
from kafka_spec.diagrams.tla.sorts import (
    BOOL,
    INT,
    OUTSIDE,
    SET,
    Array,
    Keyed,
    Record,
    Sequence,
    Simple,
    Sort,
    Unordered,
    plus_number,
)
from kafka_spec.diagrams.tla.terms import COMPARE, FALSE, TRUE, Access, Apply, Atom, Bind, Infix, Term, number
from kafka_spec.diagrams.tla.values import Impossible, Place, Value, Values
from kafka_spec.spec.language import Source, tree
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.language.text import text_of

CONSTANTS = Simple("constants")
"""The form of `k`: it is not passed on, since its values are constants of the module."""

NOTHING = Atom("<<>>")
"""An option without a value."""


class Function(abc.ABC):
    """A function whose parameters have these sorts."""

    def __init__(self, unit: Any, source: Source, sorts: tuple[Sort, ...]) -> None:
        self.unit = unit
        self.values: Values = unit.values
        self.source = source
        self.sorts = dict(zip(source.parameters, sorts, strict=True))
        self.written: set[str] = set()
        """The parameters that the function changes."""
        self.used: set[str] = set()
        self.parameters = {name: self.fresh(name) for name, sort in self.sorts.items() if sort != CONSTANTS}

    def begin(self) -> Frame:
        """Return the frame at the start of the function."""
        frame = Frame({}, {})
        for name in self.source.parameters:
            sort = self.sorts[name]
            if isinstance(sort, Record | Array | Sequence | Unordered):
                frame.roots[name] = new_root(self.parameters[name])
            elif sort != CONSTANTS:
                frame.locals[name] = Value(Atom(self.parameters[name]), sort)
        return frame

    def fresh(self, name: str) -> str:
        """Return a name that neither this function nor an operator of the module uses."""
        base = name.strip("_") or "unused"
        base = base if base[0].islower() else f"a_{base}"
        name, count = base, 1
        while name in self.used or name in self.unit.text.taken:
            count += 1
            name = f"{base}{count}"
        self.used.add(name)
        return name

    def refuse(self, node: tree.Node | None, message: str) -> NoReturn:
        """Raise an error for a construct without a translation, with its position."""
        self.source.refuse(node, message)

    # values

    def value(self, frame: Frame, node: tree.Expression, whole: bool = False) -> Value:
        """Return the value of an expression."""
        try:
            return self.value_of(frame, node, whole)
        except Impossible as error:
            self.refuse(node, f"{text_of(node)}: {error}")

    @abc.abstractmethod
    def value_of(self, frame: Frame, node: tree.Expression, whole: bool) -> Value:
        """Return the value of an expression, by its kind."""

    def test(self, frame: Frame, node: tree.Expression, whole: bool = False) -> Term:
        """Return an expression as a formula that says whether it is true."""
        try:
            return self.values.truth(self.value(frame, node, whole))
        except Impossible as error:
            self.refuse(node, f"{text_of(node)}: {error}")

    def named(self, node: tree.Constant) -> Value:
        """Return the value of a name outside the function."""
        value = node.value
        if isinstance(value, BrokerSet):
            items = list(value)
            return Value(Atom("{" + ", ".join(map(str, items)) + "}"), SET, int(value))
        if isinstance(value, enum.IntEnum):
            return Value(self.unit.text.member(value), INT, int(value))
        if isinstance(value, bool):
            return Value(TRUE if value else FALSE, BOOL)
        return Value(self.unit.text.constant(node.name, int(value)), INT, int(value))

    def comparison(self, frame: Frame, node: tree.Comparison) -> Term:
        """Return whether a comparison holds; of a chain, whether every one holds."""
        left, terms = self.value(frame, node.left), []
        rights = [(sign, self.value(frame, other)) for sign, other in node.others]
        for sign, right in rights:
            terms.append(self.values.compare(sign, left, right))
            left = right
        return both(*terms)

    def junction(self, frame: Frame, every: bool, parts: tuple[tree.Expression, ...]) -> Value:
        """Return `a and b` or `a or b`: a truth value, or for numbers the operand that decides."""
        operands = [self.value(frame, part) for part in parts]
        if all(operand.sort == BOOL for operand in operands):
            return Value((both if every else either)(*(operand.term for operand in operands)), BOOL)
        *before, result = operands
        for operand in reversed(before):
            test = self.values.truth(operand)
            result = self.chosen(test, result, operand) if every else self.chosen(test, operand, result)
        return result

    def chosen(self, test: Term, yes: Value, no: Value) -> Value:
        """Return one of two values."""
        sort = self.values.joined(yes.sort, no.sort)
        if sort == OUTSIDE or not isinstance(sort, Simple):
            raise Impossible("only numbers and sets can be chosen among")
        one, other = self.values.as_sort(yes, sort), self.values.as_sort(no, sort)
        return Value(choice(test, one.term, other.term, sort == BOOL), sort)

    # places

    def local(self, frame: Frame, name: str) -> Value:
        """Return the value of a parameter or a local name."""
        if name in frame.locals:
            value = frame.locals[name]
            return value if value.place is None else self.read(frame, value.place, value)
        if self.sorts[name] == CONSTANTS:
            return Value(Atom("k"), CONSTANTS)
        return self.read(frame, Place(name))

    def place(self, frame: Frame, node: tree.Expression) -> Place:
        """Return the place that an expression denotes."""
        match node:
            case tree.Local(name) if name in frame.roots and name not in frame.locals:
                return Place(name)
            case tree.Local(name) if name in frame.locals and (place := frame.locals[name].place) is not None:
                return place
            case tree.Field(of, name):
                at = self.place(frame, of)
                sort = self.sort_at(at)
                if not isinstance(sort, Record) or name not in self.unit.shapes.domains(sort.cls):
                    self.refuse(node, f"{text_of(of)} has no field {name}")
                return Place(at.root, (*at.steps, name))
            case tree.Item(of, index):
                at = self.place(frame, of)
                sort = self.sort_at(at)
                if not isinstance(sort, Array | Sequence):
                    self.refuse(node, f"{text_of(of)} has no items")
                number_ = self.values.integer(self.value(frame, index))
                steps = (*at.steps, plus_number(number_, 1) if isinstance(sort, Sequence) else number_)
                return Place(at.root, (*steps, number(1)) if isinstance(sort, Keyed) else steps)
            case tree.Content(option):
                at = self.place(frame, option)
                return Place(at.root, (*at.steps, number(1)))
        self.refuse(node, f"{text_of(node)} is neither a field nor an item")

    def is_constants(self, node: tree.Place) -> bool:
        """Whether an expression denotes the bounds and decisions."""
        return isinstance(node, tree.Local) and self.sorts.get(node.name) == CONSTANTS

    def sort_at(self, place: Place) -> Sort:
        """Return the sort of the value at a place."""
        sort = self.sorts[place.root]
        for step in place.steps:
            if isinstance(step, str):
                assert isinstance(sort, Record)
                sort = self.unit.shapes.field(sort.cls, step)
            else:
                assert isinstance(sort, Array | Sequence)
                sort = sort.item
        return sort

    def read(self, frame: Frame, place: Place, name: Value | None = None) -> Value:
        """Return the current value at a place."""
        if frame.touched(place):
            frame.settle(place.root, self.fresh(self.parameters[place.root]))
        return Value(self.term_at(frame, place), self.sort_at(place), place=place)

    def element(self, frame: Frame, name: str, known: str, sort: Record) -> None:
        """Bind a local name to an element of a set or a bag: a record that nothing changes."""
        self.sorts[name] = sort
        frame.roots[name] = new_root(known)

    def term_at(self, frame: Frame, place: Place) -> Term:
        """Return the shortest term for a place: through a name that was bound to a prefix of its path and is still valid."""
        root = frame.roots[place.root]
        best, rest = root.term, place.steps
        for value in frame.locals.values():
            at = value.place
            if at is None or at.root != place.root or value.version != root.version:
                continue
            if at.steps == place.steps[: len(at.steps)] and len(place.steps) - len(at.steps) < len(rest):
                best, rest = value.term, place.steps[len(at.steps) :]
        return walked(best, rest)

    def bound(self, frame: Frame, name: str, value: Value) -> Value:
        """Bind a value to a local name, and return the value under that name."""
        if value.place is not None and isinstance(value.sort, Record | Array | Sequence | Unordered):
            known = self.fresh(name)
            frame.bindings.append((known, value.term))
            return Value(Atom(known), value.sort, place=value.place, version=frame.roots[value.place.root].version)
        if isinstance(value.term, Atom) and value.term.text != name:
            return Value(value.term, value.sort, value.known, value.bits)
        known = self.fresh(name)
        frame.bindings.append((known, value.term))
        return Value(Atom(known), value.sort, value.known, value.bits)

    def closed(self, frame: Frame, term: Term) -> Term:
        """Return a term under the definitions made on the path (a LET)."""
        return let(frame.bindings, term)

    # changes

    def write(self, frame: Frame, place: Place, term: Term) -> None:
        """Write a value at a place."""
        self.written.add(place.root)
        if not place.steps:
            frame.put(place.root, term)
            if not isinstance(term, Atom):
                self.name_root(frame, place.root)
            return
        frame.roots[place.root].pending.append((place.steps, replaced(term, self.term_at(frame, place), Atom("@"))))

    def name_root(self, frame: Frame, root: str) -> None:
        """Give the new version of a parameter a name."""
        frame.settle(root, self.fresh(self.parameters[root]))

    def change(self, frame: Frame, place: Place, make: Callable[[Term], Term]) -> None:
        """Replace a sequence or a record by a term over its old value."""
        if place.steps:
            self.written.add(place.root)
            frame.roots[place.root].pending.append((place.steps, make(Atom("@"))))
        else:
            self.write(frame, place, make(frame.roots[place.root].now()))

    def store(self, frame: Frame, place: Place, value: Value) -> None:
        """Assign a number to a field or an item."""
        self.write(frame, place, self.values.as_sort(value, self.sort_at(place)).term)

    def unpack(self, frame: Frame, name: str, term: Term, count: int) -> list[Term]:
        """Bind a tuple to a name, and return its parts."""
        known = self.fresh(name)
        frame.bindings.append((known, term))
        return [Access(Atom(known), number(index + 1)) for index in range(count)]


def replaced(term: Term, old: Term, new: Term) -> Term:
    """Return a term with each occurrence of `old` replaced, except inside another EXCEPT, where `@` has another meaning."""
    if term == old:
        return new
    if isinstance(term, Infix):
        return Infix(term.symbol, replaced(term.left, old, new), replaced(term.right, old, new), term.at)
    if isinstance(term, Apply):
        return Apply(term.name, tuple(replaced(argument, old, new) for argument in term.arguments))
    return term


def keys(f: Function, value: Value) -> Term:
    """Return the set of the keys of a map that have a value."""
    key = f.fresh("key")
    there = Infix("#", Access(value.term, Atom(key)), NOTHING, COMPARE)
    return Bind(f"{{{key} \\in DOMAIN {value.term.flat()} :", there, "}")
