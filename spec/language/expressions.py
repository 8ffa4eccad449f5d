"""Reads expressions: refuses what the language does not have, and returns the tree of the rest."""

from __future__ import annotations

import ast
import enum
from typing import Literal

from kafka_spec.spec.language import domain, tree
from kafka_spec.spec.language.calls import CallReader
from kafka_spec.spec.language.data import CONTAINERS, Data, DataReader, meaning_in, snapshot
from kafka_spec.spec.language.integers import LARGEST, unusable
from kafka_spec.spec.language.reading import COMPARISONS, OPERATORS, RECORD_CLASS, Reading
from kafka_spec.spec.language.words import CALL_CURES, CURES


class ExpressionReader:
    """Reads the expressions of a function; `known` are the local names that surely have a value."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.calls = CallReader(reading, self)
        self.data = DataReader(meaning_in(reading.function, lambda: reading.locals), reading.refuse)

    def whole(self, node: ast.expr, known: set[str]) -> tree.Expression:
        """Read an expression that may be a call as a whole, which may move items."""
        negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        call = node.operand if isinstance(node, ast.UnaryOp) and negated else node
        if not isinstance(call, ast.Call) or self.lookup(call, known) is not None:
            return self.value(node, known)
        read = self.calls.read(call, known, whole=True)
        return tree.Not(read, line=node.lineno) if negated else read

    def values(self, nodes: list[ast.expr], known: set[str]) -> tuple[tree.Expression, ...]:
        """Read expressions one after the other."""
        return tuple(self.value(node, known) for node in nodes)

    def value(self, node: ast.expr, known: set[str]) -> tree.Expression:
        """Read an expression."""
        reading, line = self.reading, node.lineno
        if (of_constant := self.lookup(node, known)) is not None:
            return of_constant
        match node:
            case ast.Constant() | ast.Name() | ast.Attribute(value=ast.Name()):
                return self.simple(node, known)
            case ast.Attribute(value=of, attr=name):
                return tree.Field(self.place(of, known, f"field {name}"), name, line=line, cls=getattr(node, RECORD_CLASS, None))
            case ast.Subscript(value=of, slice=ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as back))):
                items = ast.unparse(of)
                reading.refuse(node, f"an index is 0 or more; write {items}[len({items}) - {back}]")
            case ast.Subscript(value=of, slice=index):
                return tree.Item(self.place(of, known, "items"), self.value(index, known), line=line)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self.power(node, self.value(left, known), self.value(right, known))
            case ast.BinOp(left=left, op=op, right=right):
                return tree.Arithmetic(self.sign(op, node), self.value(left, known), self.value(right, known), line=line)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return tree.Not(self.value(operand, known), line=line)
            case ast.UnaryOp(op=op, operand=operand):
                sign: Literal["-", "+", "~"] = "-" if isinstance(op, ast.USub) else "+" if isinstance(op, ast.UAdd) else "~"
                return tree.Signed(sign, self.value(operand, known), line=line)
            case ast.BoolOp(op=op, values=values):
                return tree.Junction(isinstance(op, ast.And), self.values(values, known), line=line)
            case ast.Compare():
                return self.comparison(node, known)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return tree.Choice(*self.values([test, body, orelse], known), line=line)
            case ast.Call():
                return self.calls.read(node, known)
        reading.unknown(node, node)

    def comparison(self, node: ast.Compare, known: set[str]) -> tree.Expression:
        """Read a comparison, or a chain of them."""
        line = node.lineno
        match node:
            case ast.Compare(left=left, ops=[ast.NotIn()], comparators=[of]):
                inside = ast.copy_location(ast.Compare(left, [ast.In()], [of]), node)
                return tree.Not(self.value(inside, known), line=line)
            case ast.Compare(left=left, ops=[ast.In()], comparators=[of]):
                return tree.Contained(self.value(left, known), self.among(node, of, known), line=line)
        for comparison in node.ops:
            if type(comparison) not in COMPARISONS:
                self.reading.unknown(comparison, node)
        signs = [COMPARISONS[type(comparison)] for comparison in node.ops]
        first, *others = self.values([node.left, *node.comparators], known)
        return tree.Comparison(first, tuple(zip(signs, others, strict=True)), line=line)

    def lookup(self, node: ast.expr, known: set[str]) -> tree.Lookup | tree.Number | None:
        """Read a number in a constant that is data, how many it has, or whether one is in it; None for what is not about one."""
        match node:
            case ast.Subscript() | ast.Attribute() if (data := self.data.read(node)) is not None:
                if not data.is_number():
                    self.reading.refuse(
                        node, f"{ast.unparse(node)} is part of a constant, and no number; read its items where they are needed"
                    )
                return self.table(node, data, known)
            case ast.Call(func=ast.Name(id="len"), args=[of], keywords=[]) if self.reading.means("len", len):
                if (data := self.data.read(of)) is not None and not data.is_number():
                    return self.table(node, data.made(len), known)
            case ast.Call(func=ast.Attribute(value=of)) if self.data.read(of) is not None:
                self.reading.refuse(
                    node,
                    f"{ast.unparse(node)} cannot be called here; a constant has items, len() and `in`, and is looped over; "
                    "a dictionary is also looped over by items(), keys() and values()",
                )
            case ast.Compare(left=left, ops=[ast.In()], comparators=[of]) if (data := self.data.read(of)) is not None:
                parts = left.elts if isinstance(left, ast.Tuple) else [left]
                data = self.data.elements(of, data, len(parts))
                for part in parts:
                    data = data.at(part)
                return self.table(node, data, known, len(parts))
        return None

    def table(self, node: ast.expr, data: Data, known: set[str], optional: int = 0) -> tree.Lookup | tree.Number:
        """Return the number of a constant at some places, of which the last ones are optional."""
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and (held := snapshot(self.data.meaning(part.id))) is not None:
                self.reading.names[part.id] = held
        if not data.places:
            return tree.Number(int(data.value), line=node.lineno)
        return tree.Lookup(ast.unparse(node), self.values(list(data.places), known), data.table(optional), line=node.lineno)

    def power(self, node: ast.expr, base: tree.Expression, exponent: tree.Expression) -> tree.Number:
        """Return the power of two numbers that are known when a function is read."""
        if not isinstance(base, tree.Number | tree.Constant) or not isinstance(exponent, tree.Number | tree.Constant):
            self.reading.refuse(node, CURES[ast.Pow])
        if not 0 <= exponent.value <= 63 or abs(base.value**exponent.value) > LARGEST:
            self.reading.refuse(node, f"{ast.unparse(node)} is too large, or no whole number; numbers have 64 bits")
        return tree.Number(int(base.value**exponent.value), line=node.lineno)

    def sign(self, op: ast.operator, node: ast.AST) -> tree.ArithmeticSign:
        """Return the sign of an operator."""
        if type(op) not in OPERATORS:
            self.reading.unknown(op, node)
        return OPERATORS[type(op)]

    def simple(self, node: ast.Constant | ast.Name | ast.Attribute, known: set[str]) -> tree.Expression:
        """Read a number, a name, or a field of a name."""
        reading, line = self.reading, node.lineno
        match node:
            case ast.Constant(value=int() as number):
                if number > LARGEST and reading.extended is None:
                    reading.refuse(node, f"{number} is too large; numbers have 64 bits")
                return tree.Number(number, line=line)
            case ast.Name(id=name):
                return self.name(node, name, known)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name not in reading.locals:
                members = reading.constant(node, name)
                if not (isinstance(members, type) and issubclass(members, enum.IntEnum) and attr in members.__members__):
                    reading.refuse(node, f"{name}.{attr} is not a member of an IntEnum; read the state, k, or a constant")
                if reason := unusable(members[attr]):
                    reading.refuse(node, f"{name}.{attr} {reason}")
                return tree.Constant(f"{name}.{attr}", members[attr], line=line)
            case ast.Attribute(value=of, attr=attr):
                return tree.Field(self.place(of, known, f"field {attr}"), attr, line=line, cls=getattr(node, RECORD_CLASS, None))
        reading.refuse(node, f"{node.value!r} is not a number, and the state holds numbers: use 0 and 1, or a member of an IntEnum")

    def name(self, node: ast.expr, name: str, known: set[str]) -> tree.Expression:
        """Read a name that is a value."""
        reading, line = self.reading, node.lineno
        if name in reading.locals:
            if name not in known:
                reading.refuse(node, f"{name} may be unassigned here; assign it on every path that leads here")
            return tree.Local(name, line=line)
        if reading.extended is not None and name in reading.extended:
            return tree.Constant(name, reading.extended[name], line=line)
        value = reading.constant(node, name)
        if isinstance(value, type) and issubclass(value, enum.IntEnum):
            reading.refuse(node, f"{name} is a class; name a member of it, such as {name}.{next(iter(value.__members__), '')}")
        if not isinstance(value, int):
            if isinstance(value, CONTAINERS):
                reading.refuse(
                    node, f"{name} is a {type(value).__name__}, and a number is needed here; read one, {name}[...], or loop over it"
                )
            reading.refuse(
                node, f"{name} is {type(value).__name__}; outside the state only integers, IntEnums, and tables of them can be read"
            )
        if reason := unusable(value):
            reading.refuse(node, f"{name} {reason}")
        return tree.Constant(name, value, line=line)

    def among(self, node: ast.expr, of: ast.expr, known: set[str]) -> tree.Values | tree.Members | tree.Items:
        """Read what a value may be in."""
        match of:
            case ast.Tuple(elts=parts):
                return tree.Values(self.values(parts, known), line=of.lineno)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return tree.Items(self.place(of, known, "items; write any(...)"), line=of.lineno)
        if (members := self.members(node, of, known)) is not None:
            return members
        cure = "write `in` a set of records, a sequence, a map, members_of(...), or values in parentheses"
        self.reading.refuse(node, cure + cure_of(of))

    def place(self, node: ast.expr, known: set[str], what: str) -> tree.Place:
        """Read an expression that must be a place, since only a place can have fields or items."""
        place = self.value(node, known)
        if not isinstance(place, tree.Place):
            self.reading.refuse(node, f"{ast.unparse(node)} is a number and has no {what}")
        return place

    def members(self, node: ast.AST, of: ast.expr, known: set[str]) -> tree.Members | None:
        """Read a members_of(...); None for something else."""
        match of:
            case ast.Call(func=ast.Name(id=name), args=[members], keywords=[]) if self.reading.means(name, domain.members_of):
                self.reading.constant(node, name)
                return tree.Members(self.value(members, known), line=of.lineno)
        return None

    def over(self, node: ast.AST, over: ast.expr, known: set[str]) -> tree.Over:
        """Read what a loop goes over."""
        match over:
            case ast.Name() | ast.Attribute() | ast.Subscript():
                cure = "items; loop over a sequence, an array, a map, a set of records, or members_of(...)"
                return tree.Items(self.place(over, known, cure), line=over.lineno)
            case ast.Call(func=ast.Name(id="range"), args=bounds, keywords=[]) if 1 <= len(bounds) <= 2:
                if "range" in self.reading.locals or self.reading.constant(node, "range") is not range:
                    self.reading.refuse(node, "range is another name here; loops are over the range() that is built in")
                start, stop = (tree.Number(0), *self.values(bounds, known))[-2:]
                return tree.Range(start, stop, line=over.lineno)
        if (members := self.members(node, over, known)) is not None:
            return members
        self.reading.refuse(node, CURES[ast.For] + cure_of(over))

    def loops(self, node: ast.GeneratorExp, known: set[str]) -> tuple[tuple[tree.Loop, ...], tree.Expression]:
        """Read a generator: its loops with their conditions, and what it gives."""
        known, loops, around = set(known), [], self.reading.over_items
        for loop in node.generators:
            if loop.is_async or not isinstance(loop.target, ast.Name):
                self.reading.refuse(node, "a generator gives a name to each item: `... for name in ...`")
            name = loop.target.id
            if name in known:
                self.reading.refuse(node, f"{name} has a value already; give the item a name of its own")
            over = self.over(node, loop.iter, known)
            known |= {name}
            if isinstance(over, tree.Items):
                self.reading.over_items = [*self.reading.over_items, loop.iter]
            loops.append(tree.Loop(name, over, self.values(loop.ifs, known), line=loop.target.lineno))
        item = self.value(node.elt, known)
        self.reading.over_items = around
        return tuple(loops), item


def cure_of(of: ast.expr) -> str:
    """The cure for the items that a call returns: those of value_of() are named first, and no other function returns any."""
    called = ast.unparse(of.func) if isinstance(of, ast.Call) else ""
    if called == "value_of":
        return f"; give {ast.unparse(of)} a name first"
    return f"; {CALL_CURES[called]}" if called in CALL_CURES else ""
