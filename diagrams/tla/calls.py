"""Calls as terms: functions of the spec, `fire`, built-in functions, and methods that change sequences and records.

A function that changes one of its parameters becomes an operator that returns the parameter's new value.
"""

from __future__ import annotations

import abc
import ast
from typing import Any

from kafka_spec.diagrams.tla.expressions import CONSTANTS, Expressions
from kafka_spec.diagrams.tla.frames import Frame, overlap
from kafka_spec.diagrams.tla.sorts import BOOL, INT, SET, Array, Keyed, Optional, Record, Sequence, Sort, Unordered, plus_number
from kafka_spec.diagrams.tla.terms import (
    COMPARE,
    RANGE,
    SETS,
    TRUE,
    Access,
    Apply,
    Atom,
    Bind,
    Enumerated,
    Except,
    Fields,
    Infix,
    Term,
    Tuple,
    number,
)
from kafka_spec.diagrams.tla.values import Place, Value, singleton
from kafka_spec.spec.language import BUILTINS, OVER_GENERATORS, READERS, WRITERS, domain, resolve, source_of

NOTHING = Atom("<<>>")
"""An option without a value."""


class Calls(Expressions):
    """The translation of calls."""

    def __init__(self, unit: Any, source: Any, sorts: tuple[Sort, ...]) -> None:
        super().__init__(unit, source, sorts)
        self.written: set[str] = set()
        """The parameters that the function changes."""

    def call(self, frame: Frame, node: ast.Call, whole: bool) -> list[Value]:
        """Return the values of a call."""
        assert isinstance(node.func, ast.Name)
        callee = resolve(self.source.function, node.func.id)
        if callee in WRITERS:
            getattr(self, f"{WRITERS[callee]}_")(frame, node)
            return []
        if callee in READERS:
            return [self.asked(frame, node, READERS[callee])]
        if callee in OVER_GENERATORS and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return [self.of_generator(frame, node.args[0], OVER_GENERATORS[callee])]
        if callee in BUILTINS:
            return [self.builtin(frame, node, BUILTINS[callee])]
        if getattr(callee, "__fires__", False):
            return [self.fire(frame, node, whole)]
        arguments = [self.argument(frame, part) for part in node.args]
        if (known := self.set_helper(callee, arguments)) is not None:
            return [known]
        return self.operator(frame, node, callee, arguments, whole)

    @abc.abstractmethod
    def of_generator(self, frame: Frame, node: ast.GeneratorExp, name: str) -> Value:
        """Return the value of a function of a generator."""

    def argument(self, frame: Frame, node: ast.expr) -> Value:
        """Return an argument of a call."""
        return self.value(frame, node)

    def operator(self, frame: Frame, node: ast.Call, callee: Any, arguments: list[Value], whole: bool) -> list[Value]:
        """Apply the operator of a function of the spec."""
        source = source_of(callee)
        for index, name in enumerate(source.parameters):
            if annotation_of(source.tree, name) in SETS_OF_MEMBERS and arguments[index].sort != SET:
                arguments[index] = self.values.as_sort(arguments[index], SET)
        operator = self.unit.operator(callee, tuple(argument.sort for argument in arguments))
        given = tuple(argument.term for argument in arguments if argument.sort != CONSTANTS)
        applied = Apply(operator.name, given) if given else Atom(operator.name)
        if not operator.written:
            return self.parts(frame, applied, operator.results, node)
        if not whole:
            self.refuse(node, f"{ast.unparse(node)} changes the state inside an expression; give it a line of its own")
        records = [
            (index, argument)
            for index, argument in enumerate(arguments)
            if isinstance(argument.sort, Record | Array | Sequence | Unordered)
        ]
        places = [(argument.place, index in operator.written) for index, argument in records if argument.place is not None]
        written = [place for place, changes in places if changes]
        for i, (one, changes) in enumerate(places):
            for other, _ in places[i + 1 :]:
                if one.root == other.root and overlap(one.steps, other.steps) and (changes or other in written):
                    self.refuse(node, f"{ast.unparse(node)} is given two names of one record, and changes it")
        return self.effect(frame, applied, operator, written, node)

    def effect(self, frame: Frame, applied: Term, operator: Any, written: list[Place], node: ast.AST) -> list[Value]:
        """Store the new values that an operator returns for the parameters that it changes."""
        count = len(written) + len(operator.results)
        if count == 1:
            self.write(frame, written[0], applied)
            return []
        name = self.fresh("done")
        frame.bindings.append((name, applied))
        parts = [Access(Atom(name), number(index + 1)) for index in range(count)]
        for place, part in zip(written, parts, strict=False):
            self.write(frame, place, part)
        return [Value(part, sort) for part, sort in zip(parts[len(written) :], operator.results, strict=True)]

    def parts(self, frame: Frame, applied: Term, sorts: tuple[Sort, ...], node: ast.AST) -> list[Value]:
        """Return the values of a function that changes nothing."""
        if len(sorts) <= 1:
            return [Value(applied, sort) for sort in sorts]
        name = self.fresh("pair" if len(sorts) == 2 else "results")
        frame.bindings.append((name, applied))
        return [Value(Access(Atom(name), number(index + 1)), sort) for index, sort in enumerate(sorts)]

    # changes

    def write(self, frame: Frame, place: Place, term: Term) -> None:
        """Write a value at a place."""
        self.written.add(place.root)
        if not place.steps:
            frame.put(place.root, term)
            if not isinstance(term, Atom):
                self.name_root(frame, place.root)
            return
        frame.roots[place.root].pending.append((place.steps, replaced(term, self.term_now(frame, place), Atom("@"))))

    def name_root(self, frame: Frame, root: str) -> None:
        """Give the new version of a parameter a name."""
        frame.settle(root, self.fresh(self.parameters[root]))

    def term_now(self, frame: Frame, place: Place) -> Term:
        """Return the term by which the right-hand side reads the assigned place."""
        return self.term_at(frame, place)

    def sequence(self, frame: Frame, node: ast.Call) -> tuple[Place, Sequence]:
        """Return the sequence that a method which changes sequences is called with."""
        place = self.place(frame, node.args[0])
        sort = self.sort_at(place)
        if not isinstance(sort, Sequence):
            self.refuse(node, f"{ast.unparse(node.args[0])} is no sequence")
        return place, sort

    def append_(self, frame: Frame, node: ast.Call) -> None:
        """Append a number or a record."""
        place, sort = self.sequence(frame, node)
        if isinstance(sort.item, Record):
            item = self.record(frame, node, sort.item)
        elif len(node.args) > 1:
            item = self.values.as_sort(self.value(frame, node.args[1]), sort.item).term
        else:
            item = self.unit.types.fresh(sort.of)
        self.change(frame, place, lambda old: Apply("Append", (old, item)))

    def record(self, frame: Frame, node: ast.Call, sort: Record) -> Term:
        """Return the record that a call names by its fields, or by another record and the fields in which it differs."""
        fields = self.unit.shapes.domains(sort.cls)
        given = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in fields:
                self.refuse(node, f"{sort.cls.__name__} has no field {keyword.arg}")
            value = self.value(frame, keyword.value)
            given[keyword.arg] = self.values.as_sort(value, self.unit.shapes.field(sort.cls, keyword.arg)).term
        if len(given) == len(fields):
            return Fields(tuple((name, given[name]) for name in fields))
        base: Term = self.unit.types.fresh_of(sort) if len(node.args) < 2 else self.value(frame, node.args[1]).term
        return Except(base, tuple((f".{name}", term) for name, term in given.items())) if given else base

    def option(self, frame: Frame, node: ast.Call) -> tuple[Place, Optional, list[ast.expr]]:
        """Return the option that a call means, and the arguments behind it; of a map the first of these is the key."""
        place, rest = self.place(frame, node.args[0]), node.args[1:]
        sort = self.sort_at(place)
        if isinstance(sort, Keyed):
            place, rest = Place(place.root, (*place.steps, self.values.integer(self.value(frame, rest[0])))), rest[1:]
            sort = sort.item
        if not isinstance(sort, Optional):
            self.refuse(node, f"{ast.unparse(node.args[0])} is no option")
        return place, sort, rest

    def put_(self, frame: Frame, node: ast.Call) -> None:
        """Give an option, or a key of a map, a value."""
        place, sort, given = self.option(frame, node)
        if isinstance(sort.item, Record):
            item = self.record(
                frame, ast.copy_location(ast.Call(node.func, [node.args[0], *given], node.keywords), node), sort.item
            )
        elif given:
            item = self.values.as_sort(self.value(frame, given[0]), sort.item).term
        else:
            item = self.unit.types.fresh(sort.of)
        self.change(frame, place, lambda _: Tuple((item,)))

    def drop_(self, frame: Frame, node: ast.Call) -> None:
        """Take the value of an option, or of a key of a map, away."""
        place, _, _ = self.option(frame, node)
        self.change(frame, place, lambda _: NOTHING)

    def keys(self, value: Value) -> Term:
        """Return the set of the keys of a map that have a value."""
        key = self.fresh("key")
        there = Infix("#", Access(value.term, Atom(key)), NOTHING, COMPARE)
        return Bind(f"{{{key} \\in DOMAIN {value.term.flat()} :", there, "}")

    def elements(self, frame: Frame, node: ast.expr) -> tuple[Place, Unordered]:
        """Return the set or bag that an expression denotes."""
        place = self.place(frame, node)
        sort = self.sort_at(place)
        if not isinstance(sort, Unordered):
            self.refuse(node, f"{ast.unparse(node)} is not a set or bag of records")
        return place, sort

    def add_(self, frame: Frame, node: ast.Call) -> None:
        """Put an element into a set or a bag."""
        place, sort = self.elements(frame, node.args[0])
        item = self.record(frame, node, sort.item)
        if sort.repeats:
            self.change(frame, place, lambda old: self.values.apply("BagAdd", old, item))
        else:
            self.change(frame, place, lambda old: Infix("\\cup", old, Enumerated((item,)), SETS))

    def remove_(self, frame: Frame, node: ast.Call) -> None:
        """Take an element out of a set or a bag."""
        place, sort = self.elements(frame, node.args[0])
        item = self.record(frame, node, sort.item)
        if sort.repeats:
            self.change(frame, place, lambda old: self.values.apply("BagRemove", old, item))
        else:
            self.change(frame, place, lambda old: Infix("\\", old, Enumerated((item,)), SETS))

    def asked(self, frame: Frame, node: ast.Call, name: str) -> Value:
        """Return the value of present(), has() or count(); value_of() on a line of its own says nothing."""
        if name == "present":
            place, _, _ = self.option(frame, node)
            return Value(Infix("#", self.read(frame, place).term, NOTHING, COMPARE), BOOL)
        place, sort = self.elements(frame, node.args[0])
        within, item = self.read(frame, place).term, self.record(frame, node, sort.item)
        if sort.repeats and name == "count":
            return Value(self.values.apply("Copies", within, item), INT)
        there = Infix("\\in", item, self.values.apply("BagMembers", within) if sort.repeats else within, COMPARE)
        return Value(there, BOOL) if name == "has" else Value(self.values.apply("Number", there), INT)

    def truncate_(self, frame: Frame, node: ast.Call) -> None:
        """Drop all items from an offset on."""
        place, _ = self.sequence(frame, node)
        to = self.value(frame, node.args[1])
        if to.known == 0:
            self.change(frame, place, lambda _: Atom("<<>>"))
        else:
            self.change(frame, place, lambda old: self.values.apply("Truncate", old, self.values.integer(to)))

    def pop_first_(self, frame: Frame, node: ast.Call) -> None:
        """Drop the first item."""
        place, _ = self.sequence(frame, node)
        self.change(frame, place, lambda old: Apply("Tail", (old,)))

    def reset_(self, frame: Frame, node: ast.Call) -> None:
        """Give every field of a record its initial value."""
        place = self.place(frame, node.args[0])
        fresh = self.unit.types.fresh_of(self.sort_at(place))
        self.change(frame, place, lambda _: fresh)

    def assign_(self, frame: Frame, node: ast.Call) -> None:
        """Copy the contents of one record to another."""
        place, source = self.place(frame, node.args[0]), self.value(frame, node.args[1])
        self.change(frame, place, lambda _: source.term)

    def change(self, frame: Frame, place: Place, make: Any) -> None:
        """Replace a sequence or a record by a term over its old value."""
        if place.steps:
            self.written.add(place.root)
            frame.roots[place.root].pending.append((place.steps, make(Atom("@"))))
        else:
            self.write(frame, place, make(frame.roots[place.root].now()))

    def store(self, frame: Frame, place: Place, value: Value, node: ast.AST) -> None:
        """Assign a number to a field or an item."""
        sort = self.sort_at(place)
        self.write(frame, place, self.values.as_sort(value, sort).term)

    # machines and built-in functions

    def fire(self, frame: Frame, node: ast.Call, whole: bool, asked: bool = True) -> Value:
        """Fire a trigger of a machine; if `asked`, return whether a row was found."""
        state, _, machine, entity, trigger = node.args
        assert isinstance(machine, ast.Name) and isinstance(entity, ast.Tuple) and isinstance(trigger, ast.Constant)
        if not whole:
            self.refuse(node, "fire() inside an expression has no form in TLA+ here; give it a line of its own")
        place = self.place(frame, state)
        if place.steps:
            self.refuse(node, "fire() takes the whole state")
        arguments = tuple(self.values.integer(self.value(frame, part)) for part in entity.elts)
        before = self.read(frame, place)
        table = resolve(self.source.function, machine.id)
        trigger_name = str(trigger.value)
        fits = Apply(self.unit.fits(table, trigger_name), (before.term, *arguments)) if asked else TRUE
        self.write(frame, place, Apply(self.unit.fire(table, trigger_name), (before.term, *arguments)))
        return Value(fits, BOOL)

    def builtin(self, frame: Frame, node: ast.Call, name: str) -> Value:
        """Return the value of len(), min() or max()."""
        if name == "len":
            value = self.value(frame, node.args[0])
            if isinstance(value.sort, Keyed):
                return Value(Apply("Cardinality", (self.keys(value),)), INT)
            if isinstance(value.sort, Array):
                return Value(value.sort.length, INT)
            if isinstance(value.sort, Unordered):
                repeats = value.sort.repeats
                return Value(self.values.apply("BagSize", value.term) if repeats else Apply("Cardinality", (value.term,)), INT)
            return Value(Apply("Len", (value.term,)), INT)
        result, *others = (self.values.integer(self.value(frame, part)) for part in node.args)
        for other in others:
            result = self.values.apply("Min" if name == "min" else "Max", result, other)
        return Value(result, INT)

    def set_helper(self, callee: Any, arguments: list[Value]) -> Value | None:
        """Return the TLA+ form of a call of spec/language/domain/members.py's helpers for sets of members."""
        values = self.values
        if callee is domain.contains:
            return Value(Infix("\\in", values.integer(arguments[1]), values.set(arguments[0]), 5), BOOL)
        if callee is domain.singleton:
            return Value(singleton(values.integer(arguments[0])), SET)
        if callee in (domain.including, domain.excluding):
            one = singleton(values.integer(arguments[1]))
            return Value(Infix("\\cup" if callee is domain.including else "\\", values.set(arguments[0]), one, SETS), SET)
        if callee is domain.size:
            return Value(Apply("Cardinality", (values.set(arguments[0]),)), INT)
        if callee is domain.first_members:
            return Value(Infix("..", number(0), plus_number(values.integer(arguments[0]), -1), RANGE), SET)
        return None


SETS_OF_MEMBERS = ("MemberSet", "BrokerSet")
"""How a function says that a parameter is a set of members."""


def annotation_of(tree: ast.FunctionDef, name: str) -> str:
    """Return the annotation of a parameter as text."""
    for argument in tree.args.args:
        if argument.arg == name and argument.annotation is not None:
            return ast.unparse(argument.annotation)
    return ""


def replaced(term: Term, old: Term, new: Term) -> Term:
    """Return a term with each occurrence of `old` replaced, except inside another EXCEPT, where `@` has another meaning."""
    if term == old:
        return new
    if isinstance(term, Infix):
        return Infix(term.symbol, replaced(term.left, old, new), replaced(term.right, old, new), term.at)
    if isinstance(term, Apply):
        return Apply(term.name, tuple(replaced(argument, old, new) for argument in term.arguments))
    return term
