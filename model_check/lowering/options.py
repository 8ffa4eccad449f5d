"""Compiles the functions of spec/language/domain/options.py, with which functions read and write options and maps.

A value is made in local bytes before it is put, since it may be made of what stands there.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from llvmlite import ir

from kafka_spec.model_check.lowering.elements import ElementCalls
from kafka_spec.model_check.lowering.values import I8, I64, ONE, ZERO, Ref
from kafka_spec.spec.language import domain
from kafka_spec.spec.language.domain import Map, Maybe


class OptionCalls(ElementCalls):
    """Compiles put, drop and present."""

    @property
    def writers(self) -> Mapping[Callable[..., None], Callable[[ast.Call], None]]:
        """For each of the functions that write, what compiles a call of it."""
        return {**super().writers, domain.put: self.put, domain.drop: self.drop}

    def asked(self, node: ast.Call, name: str) -> ir.Value:
        """Return the result of present(), has() or count()."""
        if name == "present":
            return self.b.zext(self.there(self.option(node)[0]), I64)
        return super().asked(node, name)

    def option(self, node: ast.Call) -> tuple[Ref, list[ast.expr]]:
        """Return the option that a call means, and the arguments behind it; of a map the first of these is the key."""
        ref = self.value(node.args[0])
        if isinstance(ref, Ref) and isinstance(ref.packed.type, Map):
            if len(node.args) < 2:
                self.refuse(node, f"{ast.unparse(node.args[0])} is a map; name the key, too")
            return self.checked_item(ref, self.number(node.args[1]), self.place(node)), node.args[2:]
        if not isinstance(ref, Ref) or not isinstance(ref.packed.type, Maybe):
            self.refuse(node, f"{ast.unparse(node.args[0])} is no option")
        return ref, node.args[1:]

    def put(self, node: ast.Call) -> None:
        """Give an option, or a key of a map, a value."""
        option, given = self.option(node)
        packed, type_ = option.packed.item, option.packed.type
        assert packed is not None and isinstance(type_, Maybe)
        if type_.kept:
            self.refuse(node, f"{ast.unparse(node.args[0])} {type_.kept}")
        local = self.slot(ir.ArrayType(I8, packed.size))
        value = Ref(packed, self.b.bitcast(local, I8.as_pointer()))
        self.make(node, value, self.given(node, given, packed), type_.place)
        self.copy(self.item(option, ZERO).pointer, value.pointer, packed.size)
        self.set_length(option, ONE)

    def drop(self, node: ast.Call) -> None:
        """Take the value of an option, or of a key of a map, away."""
        option, more = self.option(node)
        assert option.packed.item is not None and isinstance(option.packed.type, Maybe)
        if more:
            self.refuse(node, "drop() takes an option, or a map and a key")
        if option.packed.type.kept:
            self.refuse(node, f"{ast.unparse(node.args[0])} {option.packed.type.kept}")
        with self.check(self.there(option), "error", self.place(node), "there is nothing to drop; ask present() first"):
            self.clear(self.item(option, ZERO).pointer, I64(option.packed.item.size))
            self.set_length(option, ZERO)
