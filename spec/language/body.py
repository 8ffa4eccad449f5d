"""Reads the body of a function: its statements, and which local names surely have a value where."""

from __future__ import annotations

import ast

from kafka_spec.spec.language import tree
from kafka_spec.spec.language.expressions import ExpressionReader, cure_of
from kafka_spec.spec.language.reading import Reading
from kafka_spec.spec.language.words import CURES

Known = set[str] | None
"""The local names that surely have a value after a statement; None if control does not continue there."""


class BodyReader:
    """Reads the statements of a function."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.expressions = ExpressionReader(reading)
        self.results: set[int] = set()
        """How many values the return statements give."""

    def block(self, statements: list[ast.stmt], known: set[str]) -> tuple[tree.Block, Known]:
        """Read statements one after the other."""
        after: Known = set(known)
        block: list[tree.Statement] = []
        for statement in statements:
            if after is None:
                self.reading.refuse(statement, "this line is never reached")
            read, after = self.statement(statement, after)
            block.append(read)
        return tuple(block), after

    def statement(self, node: ast.stmt, known: set[str]) -> tuple[tree.Statement, Known]:
        """Read a statement."""
        line = node.lineno
        match node:
            case ast.Expr(value=ast.Call() as call):
                return self.expressions.calls.statement(call, known), known
            case ast.Assign(targets=[ast.Tuple() as target], value=value):
                return self.unpack(node, target, value, known)
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                of = self.expressions.whole(value, known)
                to = self.target(target, known)
                return tree.Assign(to, of, line=line), known | {to.name} if isinstance(to, tree.Local) else known
            case ast.AugAssign(target=target, op=op, value=value):
                sign = self.expressions.sign(op, node)
                by = self.expressions.value(value, known)
                if isinstance(target, ast.Name):
                    self.expressions.name(target, target.id, known)
                return tree.Change(self.target(target, known), sign, by, line=line), known
            case ast.If() | ast.For() | ast.While():
                return self.compound(node, known)
            case ast.Return(value=value):
                return tree.Return(self.returned(value, known), line=line), None
            case ast.Break():
                return tree.Break(line=line), None
            case ast.Continue():
                return tree.Continue(line=line), None
            case ast.Pass():
                return tree.Pass(line=line), known
        self.reading.unknown(node, node)

    def compound(self, node: ast.If | ast.For | ast.While, known: set[str]) -> tuple[tree.Statement, Known]:
        """Read a statement that has others inside."""
        line = node.lineno
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                condition = self.expressions.whole(test, known)
                (yes, after), (no, otherwise) = self.block(body, known), self.block(orelse, known)
                both = otherwise if after is None else after if otherwise is None else after & otherwise
                return tree.If(condition, yes, no, line=test.lineno), both  # as Python counts: `if (` may stand above its test
            case ast.For(target=ast.Name(id=name), iter=over, body=body):
                if node.orelse:
                    self.reading.refuse(node, "loops are without else")
                of = self.expressions.over(node, over, known)
                around = self.reading.over_items
                self.reading.over_items = [*around, over] if isinstance(of, tree.Items) else around
                inside, _ = self.block(body, known | {name})
                self.reading.over_items = around
                return tree.For(name, of, inside, line=line), known
            case ast.While(test=test, body=body, orelse=[]) if self.reading.extended is not None:
                condition = self.expressions.value(test, known)
                return tree.While(condition, self.block(body, known)[0], line=line), known
            case ast.For(iter=over):
                self.reading.refuse(node, CURES[ast.For] + cure_of(over))
        self.reading.unknown(node, node)

    def unpack(self, node: ast.stmt, target: ast.Tuple, value: ast.expr, known: set[str]) -> tuple[tree.Statement, Known]:
        """Read an assignment of several values to names."""
        names = tuple(tree.Local(part.id, line=part.lineno) for part in target.elts if isinstance(part, ast.Name))
        if len(names) < len(target.elts):
            self.reading.refuse(node, "several values go to names; assign to one field or item after the other")
        if len(names) < 2:
            self.reading.refuse(node, "a tuple of one name, or of none; assign to the name itself")
        values: tuple[tree.Expression, ...] | tree.Expression
        match value:
            case ast.Tuple(elts=parts):
                values = self.expressions.values(parts, known)
                if len(values) != len(names):
                    self.reading.refuse(node, f"{len(names)} names for {len(values)} values")
            case ast.Call():
                values = self.expressions.calls.read(value, known, whole=True, results=len(names))
            case _:
                values = self.expressions.value(value, known)
        if not isinstance(values, tuple | tree.Call):
            self.reading.refuse(node, "only a tuple or the result of a function can be taken apart")
        return tree.Unpack(names, values, line=node.lineno), known | {name.name for name in names}

    def returned(self, value: ast.expr | None, known: set[str]) -> tuple[tree.Expression, ...]:
        """Read what is returned."""
        match value:
            case None:
                values: tuple[tree.Expression, ...] = ()
            case ast.Tuple(elts=parts):
                values = self.expressions.values(parts, known)
                if len(values) < 2:
                    self.reading.refuse(value, "a tuple of one value, or of none; return the value itself")
            case _:
                values = (self.expressions.whole(value, known),)
        self.results.add(len(values))
        return values

    def target(self, node: ast.expr, known: set[str]) -> tree.Target:
        """Read what is assigned to."""
        match node:
            case ast.Name(id=name):
                return tree.Local(name, line=node.lineno)
            case ast.Attribute() | ast.Subscript():
                place = self.expressions.value(node, known)
                if isinstance(place, tree.Field | tree.Item):
                    self.reading.writes = True
                    return place
        self.reading.refuse(node, "assign to a name, a field or an item")
