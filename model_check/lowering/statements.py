"""Compiles statements: the body of a function.

Handles control flow and local names.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from llvmlite import ir

from kafka_spec.model_check.lowering.calls import Calls
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import I64, ZERO, Buffer, Compiled, Ref, Shape, Value, shape_of
from kafka_spec.spec import language
from kafka_spec.spec.language.domain import Scalar


class Body(Calls):
    """Compiles the body of one function."""

    def __init__(self, unit: Unit, source: language.Source, compiled: Compiled, shapes: tuple[Shape, ...], trusted: bool) -> None:
        super().__init__(unit, source, compiled, shapes, trusted)
        self.jumps: list[tuple[ir.Block, ir.Block]] = []

    def compile(self) -> None:
        """Emit the whole function."""
        self.block(self.source.tree.body)
        if not self.b.block.is_terminated:
            if self.compiled.results > 1:
                self.refuse(self.source.tree, "it may end without returning a value")
            self.b.ret(ZERO) if self.compiled.results else self.b.ret_void()

    def block(self, statements: list[ast.stmt]) -> None:
        """Emit statements up to the first that ends the block."""
        for statement in statements:
            if self.b.block.is_terminated:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        """Emit one statement."""
        if not (self.trusted or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))):
            self.tally("line", self.source.code.co_filename, node.lineno)
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call() as called):
                self.call(called)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                self.unpack(node, targets, value)
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                if isinstance(target, ast.Name):
                    self.assign(target, self.arithmetic(node, op, self.named_number(target), self.number(value)))
                else:
                    # as in Python: evaluate the target once, then read its value, then the other operand
                    ref = self.reference(target)
                    if not isinstance(ref.packed.type, Scalar):
                        self.refuse(target, f"a number is needed here, and {ast.unparse(target)} is a record or a sequence")
                    before = self.load(ref.packed, ref.pointer)
                    self.write(target, ref, self.arithmetic(node, op, before, self.number(value)))
            case ast.If(test=test, body=body, orelse=orelse):
                self.branch(test, body, orelse)
            case ast.For(target=ast.Name(id=name), iter=of, body=body):
                self.over(name, of, lambda: self.block(body), self.jumps, body)
            case ast.While(test=test, body=body) if self.trusted:
                head, inside_block, out = (self.code.append_basic_block(n) for n in ("while", "inside", "out"))
                self.b.branch(head)
                self.b.position_at_end(head)
                self.b.cbranch(self.test(test), inside_block, out)
                self.b.position_at_end(inside_block)
                self.jumps.append((head, out))
                self.block(body)
                self.jumps.pop()
                if not self.b.block.is_terminated:
                    self.b.branch(head)
                self.b.position_at_end(out)
            case ast.Continue():
                self.b.branch(self.jumps[-1][0])
            case ast.Break():
                self.b.branch(self.jumps[-1][1])
            case ast.Return(value=None):
                self.b.ret_void()
            case ast.Return(value=ast.Tuple(elts=parts)):
                result: ir.Value = ir.Constant(self.code.function_type.return_type, ir.Undefined)
                for index, part in enumerate(parts):
                    result = self.b.insert_value(result, self.number(part), index)
                self.b.ret(result)
            case ast.Return(value=ast.expr() as value):
                self.b.ret(self.number(value))
            case _:
                self.refuse(node, f"{type(node).__name__} cannot be compiled")

    def branch(self, test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """Emit an `if`."""
        yes, on = self.code.append_basic_block("yes"), self.code.append_basic_block("on")
        no = self.code.append_basic_block("no") if orelse else on
        self.b.cbranch(self.test(test), yes, no)
        ends = []
        for block, statements in ((yes, body), (no, orelse)):
            if statements:
                self.b.position_at_end(block)
                self.block(statements)
                if not self.b.block.is_terminated:
                    ends.append(self.b.branch(on))
        self.b.position_at_end(on)
        if orelse and not ends:
            self.b.unreachable()

    def variable(self, name: str, value: ir.Value) -> None:
        """Store a number in a local variable."""
        if name not in self.slots:
            self.slots[name] = self.slot(I64)
        self.b.store(value, self.slots[name])

    def unpack(self, node: ast.stmt, targets: list[ast.expr], value: ast.expr) -> None:
        """Assign the items of a tuple, or the results of a call."""
        if isinstance(value, ast.Tuple):
            values: Sequence[Value] = [self.value(part) for part in value.elts]
        elif isinstance(value, ast.Call):
            values = self.call(value)
        else:
            self.refuse(node, "only a tuple or the result of a function can be taken apart")
        if len(values) != len(targets):
            self.refuse(node, f"{len(targets)} names for {len(values)} values")
        for target, part in zip(targets, values, strict=True):
            self.assign(target, part)

    def assign(self, target: ast.expr, value: Value) -> None:
        """Assign to a name, a field or an item."""
        match target:
            case ast.Name(id=name) if isinstance(value, Ref | Buffer):
                if name in self.slots or (name in self.names and shape_of(self.names[name]) != shape_of(value)):
                    self.refuse(target, f"{name} stands for different things; give each a name of its own")
                if name in self.names and self.b.block is not self.entry:
                    self.refuse(target, f"{name} is given to another record on the way; use two names")
                self.names[name] = value
                self.stale.discard(name)
            case ast.Name(id=name):
                if name in self.names:
                    self.refuse(target, f"{name} stands for different things; give each a name of its own")
                self.variable(name, self.integer(target, value))
            case ast.Subscript(value=of, slice=index) if self.trusted and isinstance(buffer := self.value(of), Buffer):
                cell = self.b.gep(buffer.pointer, [self.number(index)])
                self.b.store(self.b.trunc(self.integer(target, value), ir.IntType(buffer.bits)), cell)
            case _:
                self.write(target, self.reference(target), value)

    def write(self, target: ast.expr, ref: Ref, value: Value) -> None:
        """Store a value in a field or an item."""
        if not isinstance(ref.packed.type, Scalar):
            self.refuse(target, "an assignment would share a record; copy it with assign(), append(), ...")
        if ref.packed.type.kept:
            self.refuse(target, f"this {ref.packed.type.kept}")
        self.store(ref.packed, ref.pointer, self.integer(target, value), self.place(target), ast.unparse(target))
