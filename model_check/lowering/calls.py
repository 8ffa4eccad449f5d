"""Compiles calls: of functions of the spec, built-in functions and `fire`, and those that only the engine's own functions may make.

Resolves the callee of a name. After a call that may move items of a sequence, names for those items are stale.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

from llvmlite import ir

from kafka_spec.model_check.lowering.generators import Generators
from kafka_spec.model_check.lowering.values import I64, POINTER, Buffer, Ref, shape_of
from kafka_spec.spec import language
from kafka_spec.spec.language import domain
from kafka_spec.spec.language.domain import Map


class Calls(Generators):
    """Compiles calls."""

    @property
    def engine(self) -> Mapping[str, Callable[..., None]]:
        """The functions that only the engine's own code may call, and what compiles them."""
        return {"prefetch": self.prefetch, "copy_record": self.copy_record, "copy_bytes": self.copy_bytes}

    def call(self, node: ast.Call) -> Sequence[ir.Value]:
        """Emit a call; return the integers that the callee returns."""
        assert isinstance(node.func, ast.Name)
        name = node.func.id
        if self.trusted and name in self.engine:
            self.engine[name](*node.args)
            return []
        if self.trusted and name in self.unit.emitted:
            return self.invoke(self.unit.emitted[name], [self.value(argument) for argument in node.args])
        callee = language.resolve(self.source.function, name)
        if callee in language.WRITERS:
            self.writers[callee](node)
            self.after_moves([node])
            return []
        if callee is domain.value_of:
            self.reference(node)
            return []
        if callee in language.READERS:
            return [self.asked(node, language.READERS[callee])]
        if callee in language.OVER_GENERATORS and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            return [self.of_generator(node, language.OVER_GENERATORS[callee])]
        if callee in language.BUILTINS:
            return [self.builtin(node, language.BUILTINS[callee])]
        if getattr(callee, "__fires__", False):
            fired = self.fire(node)
            self.after_moves([node])
            return [fired]
        arguments = [self.value(argument) for argument in node.args]
        shapes = tuple(shape_of(value) for value in arguments)
        results = self.invoke(self.unit.function(callee, shapes, self.trusted), arguments)
        self.after_moves([node])
        return results

    def after_moves(self, code: Sequence[ast.AST]) -> None:
        """Forget names of items if the code may move items: in Python they denote the old item, here its old place."""
        if self.trusted or not any(self.may_move(node) for part in code for node in ast.walk(part)):
            return
        self.stale |= {name for name, value in self.names.items() if isinstance(value, Ref) and value.moving}

    def may_move(self, node: ast.AST) -> bool:
        """Whether a node is a call that may move items of a sequence."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return False
        callee = language.resolve(self.source.function, node.func.id)
        if callee in language.MOVERS or getattr(callee, "__fires__", False):
            return True
        return (
            language.is_function(callee)
            and callee not in (*language.WRITERS, *language.READERS, *language.OVER_GENERATORS, domain.members_of)
            and language.source_of(callee).moves
        )

    def builtin(self, node: ast.Call, name: str) -> ir.Value:
        """Return the result of len(), min() or max()."""
        if name == "len":
            ref = self.value(node.args[0])
            if not isinstance(ref, Ref) or ref.packed.item is None:
                self.refuse(node, "len() is of a sequence, an array, a map or a set of records")
            return self.keys(ref) if isinstance(ref.packed.type, Map) else self.length(ref)
        result, *others = (self.number(argument) for argument in node.args)
        for other in others:
            closer = self.b.icmp_signed("<" if name == "min" else ">", other, result)
            result = self.b.select(closer, other, result)
        return result

    def fire(self, node: ast.Call) -> ir.Value:
        """Fire a trigger of a machine; return whether a row was found."""
        match node.args:
            case [state, k, ast.Name(id=machine), ast.Tuple(elts=parts), ast.Constant(value=str() as trigger)]:
                s = self.value(state)
                assert isinstance(s, Ref)
                entity = [self.number(part) for part in parts]
                table = language.resolve(self.source.function, machine)
                compiled = self.unit.fire(table, trigger, s.packed, len(entity))
                return self.invoke(compiled, [s, self.value(k), *entity])[0]
        self.refuse(node, "write fire(s, k, MACHINE, (entity, ...), 'trigger')")

    def prefetch(self, array: ast.expr, index: ast.expr) -> None:
        """Fetch an item of an array into the cache."""
        buffer = self.value(array)
        assert isinstance(buffer, Buffer)
        cell = self.b.bitcast(self.b.gep(buffer.pointer, [self.number(index)]), POINTER)
        i32 = ir.IntType(32)
        fetch = self.unit.intrinsic("llvm.prefetch.p0", ir.VoidType(), [POINTER, i32, i32, i32])
        self.b.call(fetch, [cell, i32(1), i32(1), i32(1)])

    def copy_record(self, to: ast.expr, index: ast.expr, source: ast.expr, other: ast.expr) -> None:
        """Copy a record of one array to another."""
        size = self.unit.literals["RECORD_BYTES"]
        target, origin = self.value(to), self.value(source)
        assert isinstance(target, Buffer) and isinstance(origin, Buffer)
        target_at = self.at(target.pointer, self.b.mul(self.number(index), I64(size)))
        self.copy(target_at, self.at(origin.pointer, self.b.mul(self.number(other), I64(size))), size)

    def copy_bytes(self, to: ast.expr, begin: ast.expr, source: ast.expr, other: ast.expr, size: ast.expr) -> None:
        """Copy so many bytes from a place of one array to a place of another."""
        target, origin = self.value(to), self.value(source)
        assert isinstance(target, Buffer) and isinstance(origin, Buffer)
        self.copy(self.at(target.pointer, self.number(begin)), self.at(origin.pointer, self.number(other)), self.number(size))
