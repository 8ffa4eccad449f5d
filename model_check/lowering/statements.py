"""Compiles statements: one `match` over their nodes says what each becomes."""

from __future__ import annotations

from typing import assert_never

from llvmlite import ir

from kafka_spec.model_check.lowering.arithmetic import arithmetic
from kafka_spec.model_check.lowering.calls import call, primitive
from kafka_spec.model_check.lowering.elements import add, remove
from kafka_spec.model_check.lowering.expressions import Expressions
from kafka_spec.model_check.lowering.generators import loop
from kafka_spec.model_check.lowering.options import drop, put
from kafka_spec.model_check.lowering.values import ZERO, Buffer, Ref, Value
from kafka_spec.model_check.lowering.writers import append, overwrite, pop_first, reset, truncate
from kafka_spec.spec.language import tree
from kafka_spec.spec.language.domain import Scalar
from kafka_spec.spec.language.text import text_of


class Body(Expressions):
    """Compiles the body of one function."""

    def compile(self) -> None:
        """Emit the whole function."""
        self.block(self.source.body)
        if not self.b.block.is_terminated:
            self.b.ret(ZERO) if self.compiled.results else self.b.ret_void()

    def block(self, statements: tree.Block) -> None:
        """Emit statements up to the first that ends the block."""
        for statement in statements:
            if self.b.block.is_terminated:
                return
            if not self.trusted:
                self.tally("line", self.source.code.co_filename, statement.line)
            self.statement(statement)

    def statement(self, node: tree.Statement) -> None:
        """Emit one statement."""
        match node:
            case tree.Pass():
                pass
            case tree.Do(tree.Call() as what):
                call(self, what)
            case tree.Do(tree.Primitive() as what):
                primitive(self, what)
            case tree.Do(what):
                self.value(what)
            case tree.Assign(target, value):
                self.assign(target, self.value(value))
            case tree.Unpack():
                self.unpack(node)
            case tree.Change():
                self.change(node)
            case tree.If():
                self.branch(node)
            case tree.For(body=body):
                loop(self, node, lambda: self.block(body), self.jumps, body)
            case tree.While():
                self.repeat(node)
            case tree.Continue():
                self.b.branch(self.jumps[-1][0])
            case tree.Break():
                self.b.branch(self.jumps[-1][1])
            case tree.Return(values):
                self.end(values)
            case tree.Append():
                append(self, node)
            case tree.Truncate():
                truncate(self, node)
            case tree.PopFirst():
                pop_first(self, node)
            case tree.Reset():
                reset(self, node)
            case tree.Overwrite():
                overwrite(self, node)
            case tree.Add():
                add(self, node)
            case tree.Remove():
                remove(self, node)
            case tree.Put():
                put(self, node)
            case tree.Drop():
                drop(self, node)
            case _:
                assert_never(node)
        if isinstance(node, tree.MOVERS):
            self.after_moves(node)

    # control flow

    def branch(self, node: tree.If) -> None:
        """Emit an `if`."""
        yes, on = self.code.append_basic_block("yes"), self.code.append_basic_block("on")
        no = self.code.append_basic_block("no") if node.orelse else on
        self.b.cbranch(self.test(node.test), yes, no)
        ends = []
        for block, statements in ((yes, node.body), (no, node.orelse)):
            if statements:
                self.b.position_at_end(block)
                self.block(statements)
                if not self.b.block.is_terminated:
                    ends.append(self.b.branch(on))
        self.b.position_at_end(on)
        if node.orelse and not ends:
            self.b.unreachable()

    def repeat(self, node: tree.While) -> None:
        """Emit a `while` loop of one of the engine's functions."""
        head, inside, out = (self.code.append_basic_block(name) for name in ("while", "inside", "out"))
        self.b.branch(head)
        self.b.position_at_end(head)
        self.b.cbranch(self.test(node.test), inside, out)
        self.b.position_at_end(inside)
        self.jumps.append((head, out))
        self.block(node.body)
        self.jumps.pop()
        if not self.b.block.is_terminated:
            self.b.branch(head)
        self.b.position_at_end(out)

    def end(self, values: tuple[tree.Expression, ...]) -> None:
        """Emit a `return`."""
        numbers = [self.number(value) for value in values]
        if len(numbers) < 2:
            self.b.ret(*numbers) if numbers else self.b.ret_void()
            return
        result: ir.Value = ir.Constant(self.code.function_type.return_type, ir.Undefined)
        for index, number in enumerate(numbers):
            result = self.b.insert_value(result, number, index)
        self.b.ret(result)

    # assignments

    def unpack(self, node: tree.Unpack) -> None:
        """Assign several values, or the results of a call."""
        values = call(self, node.values) if isinstance(node.values, tree.Call) else [self.value(value) for value in node.values]
        for name, value in zip(node.names, values, strict=True):
            self.assign(name, value)

    def change(self, node: tree.Change) -> None:
        """Assign the result of an operator; as in Python, the target is evaluated once, then read, then the other operand."""
        if isinstance(node.target, tree.Local):
            before = self.number(node.target)
            self.assign(node.target, arithmetic(self, node, node.sign, before, self.number(node.value)))
            return
        ref = self.reference(node.target)
        if not isinstance(ref.packed.type, Scalar):
            self.refuse(node, f"a number is needed here, and {text_of(node.target)} is a record or a sequence")
        before = self.load(ref.packed, ref.pointer)
        self.write(node.target, ref, arithmetic(self, node, node.sign, before, self.number(node.value)))

    def assign(self, target: tree.Target, value: Value) -> None:
        """Assign to a name, a field or an item."""
        match target:
            case tree.Local(name) if isinstance(value, Ref | Buffer):
                if name in self.slots:
                    self.refuse(target, f"{name} stands for different things; give each a name of its own")
                if name in self.names and self.b.block is not self.entry:
                    self.refuse(target, f"{name} stands for another record or container already; use two names")
                self.names[name] = value
                self.stale.discard(name)
            case tree.Local(name):
                if name in self.names:
                    self.refuse(target, f"{name} stands for different things; give each a name of its own")
                self.variable(name, self.integer(target, value))
            case tree.Item(of, index) if self.trusted and isinstance(buffer := self.value(of), Buffer):
                cell = self.b.gep(buffer.pointer, [self.number(index)])
                self.b.store(self.b.trunc(self.integer(target, value), ir.IntType(buffer.bits)), cell)
            case tree.Field() | tree.Item():
                self.write(target, self.reference(target), value)

    def write(self, target: tree.Field | tree.Item, ref: Ref, value: Value) -> None:
        """Store a value in a field or an item."""
        if not isinstance(ref.packed.type, Scalar):
            self.refuse(target, f"an assignment would share {text_of(target)}; copy it, assign({text_of(target)}, ...)")
        if ref.packed.type.kept:
            self.refuse(target, f"this {ref.packed.type.kept}")
        if not isinstance(value, ir.Value):
            self.refuse(target, f"{text_of(target)} holds a number, and what is stored there is a record or a container")
        self.store(ref.packed, ref.pointer, value, self.place(target), text_of(target))
