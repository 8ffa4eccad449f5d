"""Expressions of the language as terms.

Independent of statements; a subclass (calls.py) translates calls.
"""

from __future__ import annotations

import abc
import ast
import enum
from typing import Any, NoReturn

from kafka_spec.diagrams.tla.frames import Frame, new_root, walked
from kafka_spec.diagrams.tla.shortened import both, choice, either, let, negated
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
from kafka_spec.diagrams.tla.terms import FALSE, TRUE, Atom, Term, number
from kafka_spec.diagrams.tla.values import Impossible, Place, Value, Values
from kafka_spec.spec.language import Source, resolve
from kafka_spec.spec.language.domain import BrokerSet, value_of
from kafka_spec.spec.vocabulary.table import SpecError

CONSTANTS = Simple("constants")
"""The form of `k`: it is not passed on, since its values are constants of the module."""


class Expressions(abc.ABC):
    """The values of expressions in a function whose parameters have these sorts."""

    def __init__(self, unit: Any, source: Source, sorts: tuple[Sort, ...]) -> None:
        self.unit = unit
        self.values: Values = unit.values
        self.source = source
        self.sorts = dict(zip(source.parameters, sorts, strict=True))
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

    def refuse(self, node: ast.AST, message: str) -> NoReturn:
        """Raise an error for a construct without a translation, with its position."""
        file, _, line = self.source.place.rpartition(":")
        raise SpecError(f"{file}:{getattr(node, 'lineno', line)}: in {self.source.function.__name__}: {message}")

    @abc.abstractmethod
    def call(self, frame: Frame, node: ast.Call, whole: bool) -> list[Value]:
        """Return the values of a call; `whole` if the call is the entire expression."""

    @abc.abstractmethod
    def contained(self, frame: Frame, left: ast.expr, of: ast.expr) -> Term:
        """Return whether a value is in others."""

    # values

    def value(self, frame: Frame, node: ast.expr, whole: bool = False) -> Value:
        """Return the value of an expression."""
        try:
            return self.value_of(frame, node, whole)
        except Impossible as error:
            self.refuse(node, f"{ast.unparse(node)}: {error}")

    def value_of(self, frame: Frame, node: ast.expr, whole: bool) -> Value:
        """Return the value of an expression, by its kind."""
        match node:
            case ast.Constant(value=bool() as truth):
                return Value(TRUE if truth else FALSE, BOOL)
            case ast.Constant(value=int() as known):
                return Value(number(known), INT, known)
            case ast.Name(id=name) if name in self.sorts or name in frame.locals:
                return self.local(frame, name)
            case ast.Name(id=name):
                return self.named(name, resolve(self.source.function, name))
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if self.sorts.get(name) == CONSTANTS:
                bound: Value = self.unit.constant(attr)
                return bound
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name not in self.sorts and name not in frame.locals:
                member = resolve(self.source.function, name)[attr]
                return Value(self.unit.text.member(member), INT, int(member))
            case ast.Attribute() | ast.Subscript():
                return self.read(frame, self.place(frame, node))
            case ast.BinOp(left=left, op=op, right=right):
                return self.values.arithmetic(op, self.value(frame, left), self.value(frame, right))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Value(negated(self.test(frame, operand, whole)), BOOL)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self.values.inverted(self.value(frame, operand))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.values.opposite(self.value(frame, operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.value(frame, operand)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[of]):
                there = self.contained(frame, left, of)
                return Value(there if isinstance(op, ast.In) else negated(there), BOOL)
            case ast.Compare():
                return Value(self.comparison(frame, node), BOOL)
            case ast.BoolOp(op=op, values=parts):
                return self.junction(frame, isinstance(op, ast.And), parts)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.chosen(self.test(frame, test), self.value(frame, body), self.value(frame, orelse))
            case ast.Call() if self.takes_value(node):
                return self.read(frame, self.place(frame, node))
            case ast.Call():
                results = self.call(frame, node, whole)
                if len(results) != 1:
                    self.refuse(node, f"one value is needed here, and the function returns {len(results)}")
                return results[0]
        self.refuse(node, f"{ast.unparse(node)} ({type(node).__name__}) has no form in TLA+ here")

    def test(self, frame: Frame, node: ast.expr, whole: bool = False) -> Term:
        """Return an expression as a formula that says whether it is true."""
        try:
            return self.values.truth(self.value(frame, node, whole))
        except Impossible as error:
            self.refuse(node, f"{ast.unparse(node)}: {error}")

    def named(self, name: str, value: Any) -> Value:
        """Return the value of a global name."""
        if isinstance(value, BrokerSet):
            items = list(value)
            return Value(Atom("{" + ", ".join(map(str, items)) + "}"), SET, int(value))
        if isinstance(value, enum.IntEnum):
            return Value(self.unit.text.member(value), INT, int(value))
        if isinstance(value, bool):
            return Value(TRUE if value else FALSE, BOOL)
        return Value(self.unit.text.constant(name, int(value)), INT, int(value))

    def comparison(self, frame: Frame, node: ast.Compare) -> Term:
        """Return whether a comparison holds; of a chain, whether every one holds."""
        operands = [self.value(frame, part) for part in (node.left, *node.comparators)]
        pairs = zip(node.ops, operands, operands[1:], strict=False)
        return both(*(self.values.compare(op, left, right) for op, left, right in pairs))

    def junction(self, frame: Frame, every: bool, nodes: list[ast.expr]) -> Value:
        """Return `a and b` or `a or b`: a truth value, or for numbers the operand that decides."""
        operands = [self.value(frame, node) for node in nodes]
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

    def place(self, frame: Frame, node: ast.expr) -> Place:
        """Return the place that an expression denotes."""
        match node:
            case ast.Name(id=name) if name in frame.roots and name not in frame.locals:
                return Place(name)
            case ast.Name(id=name) if name in frame.locals and (place := frame.locals[name].place) is not None:
                return place
            case ast.Attribute(value=of, attr=attr):
                at = self.place(frame, of)
                sort = self.sort_at(at)
                if not isinstance(sort, Record) or attr not in self.unit.shapes.domains(sort.cls):
                    self.refuse(node, f"{ast.unparse(of)} has no field {attr}")
                return Place(at.root, (*at.steps, attr))
            case ast.Subscript(value=of, slice=index):
                at = self.place(frame, of)
                sort = self.sort_at(at)
                if not isinstance(sort, Array | Sequence):
                    self.refuse(node, f"{ast.unparse(of)} has no items")
                number_ = self.values.integer(self.value(frame, index))
                steps = (*at.steps, plus_number(number_, 1) if isinstance(sort, Sequence) else number_)
                return Place(at.root, (*steps, number(1)) if isinstance(sort, Keyed) else steps)
            case ast.Call(args=[of]) if self.takes_value(node):
                at = self.place(frame, of)
                return Place(at.root, (*at.steps, number(1)))
        self.refuse(node, f"{ast.unparse(node)} is no field and no item")

    def takes_value(self, node: ast.Call) -> bool:
        """Whether a call is one of value_of()."""
        return isinstance(node.func, ast.Name) and resolve(self.source.function, node.func.id) is value_of

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
