"""Compiles the functions of spec/domain/operations.py, with which effects write sequences and records.

Depends on packed sequences and records, not on statements.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from llvmlite import ir

from kafka_spec.model_check.lowering.expressions import Expressions
from kafka_spec.model_check.lowering.values import I64, ONE, ZERO, Ref
from kafka_spec.spec import domain
from kafka_spec.spec.domain import Collection, Maybe, Record, Scalar, Sequence


class Writers(Expressions):
    """Compiles append, truncate, pop_first, reset and assign."""

    @property
    def writers(self) -> Mapping[Callable[..., None], Callable[[ast.Call], None]]:
        """For each of these functions, what compiles a call of it."""
        return {
            domain.append: self.append,
            domain.truncate: self.truncate,
            domain.pop_first: self.pop_first,
            domain.reset: self.reset,
            domain.assign: self.assign_record,
        }

    def sequence(self, node: ast.Call) -> Ref:
        """Return the sequence that is the first argument of a call."""
        ref = self.value(node.args[0])
        if not isinstance(ref, Ref) or not isinstance(ref.packed.type, Sequence):
            self.refuse(node, f"{ast.unparse(node.args[0])} is not a sequence")
        if isinstance(ref.packed.type, Collection):
            self.refuse(node, f"{ast.unparse(node.args[0])} is a {ref.packed.type.what}; use add() and remove()")
        if isinstance(ref.packed.type, Maybe):
            self.refuse(node, f"{ast.unparse(node.args[0])} is an option; put() a value, or drop() it")
        if ref.packed.type.kept:
            self.refuse(node, f"{ast.unparse(node.args[0])} {ref.packed.type.kept}")
        return ref

    def record(self, node: ast.expr) -> Ref:
        """Return the reference to the record that an expression denotes."""
        ref = self.value(node)
        if not isinstance(ref, Ref) or ref.packed.fields is None:
            self.refuse(node, f"{ast.unparse(node)} is no record")
        return ref

    def append(self, node: ast.Call) -> None:
        """Append a number or a record."""
        ref = self.sequence(node)
        type_, place = ref.packed.type, self.place(node)
        assert isinstance(type_, Sequence)
        fields = {keyword.arg: self.number(keyword.value) for keyword in node.keywords}
        numbers = [self.number(argument) for argument in node.args[1:]]
        length = self.length(ref)
        room = self.b.icmp_signed("<", length, I64(type_.capacity))
        with self.check(room, "bound" if type_.bound else "domain", place, type_.bound or f"{type_.place} is full"):
            item = self.item(ref, length)
            if isinstance(item.packed.type, Scalar):
                if len(numbers) != 1 or fields:
                    self.refuse(node, "append one number here")
                if type_.distinct:
                    self.loop(ZERO, length, lambda now: self.differs(ref, now, numbers[0], place))
                self.store(item.packed, item.pointer, numbers[0], place, type_.place)
            else:
                self.append_record(node, item, fields)
            self.set_length(ref, self.b.add(length, ONE))

    def differs(self, ref: Ref, index: ir.Value, number: ir.Value, place: str) -> None:
        """Record a fault if an item equals this number."""
        item = self.item(ref, index)
        other = self.b.icmp_signed("!=", self.load(item.packed, item.pointer), number)
        with self.check(other, "domain", place, "the number is already in the sequence, and the items are distinct"):
            pass

    def append_record(self, node: ast.Call, item: Ref, fields: dict[str | None, ir.Value]) -> None:
        """Write a record in the place of an item: the given fields, and the initial values of the others."""
        type_, place = item.packed.type, self.place(node)
        assert isinstance(type_, Record) and item.packed.fields is not None
        self.refresh(item)
        for name, number in fields.items():
            if name is None or name not in item.packed.fields:
                self.refuse(node, f"{type_.cls.__name__} has no field {name}")
            offset, packed = item.packed.fields[name]
            if not isinstance(packed.type, Scalar) or packed.type.kept:
                self.refuse(node, f"{type_.cls.__name__}.{name} cannot be set here; append sets numbers")
            self.store(packed, self.at(item.pointer, offset), number, place, f"{type_.cls.__name__}.{name}")
        if type_.tags is not None:
            self.check_tag(item, type_, place)

    def check_tag(self, item: Ref, type_: Record, place: str) -> None:
        """Record a fault if a field has a value but does not belong to the kind of message that the tag names."""
        assert type_.tags is not None and item.packed.fields is not None
        tag, members = type_.tags
        offset, packed = item.packed.fields[tag]
        kind = self.load(packed, self.at(item.pointer, offset))
        for name, (at, field) in item.packed.fields.items():
            if name == tag or not isinstance(field.type, Scalar):
                continue
            number = self.load(field, self.at(item.pointer, at))
            ok = self.b.icmp_signed("==", number, I64(field.type.initial))
            for value, names in members.items():
                if name in names:
                    ok = self.b.or_(ok, self.b.icmp_signed("==", kind, I64(value)))
            with self.check(ok, "domain", place, f"{name} has no meaning in this kind of {type_.cls.__name__}"):
                pass

    def truncate(self, node: ast.Call) -> None:
        """Drop the items from an offset on."""
        ref, to = self.sequence(node), self.number(node.args[1])
        assert ref.packed.item is not None
        size = I64(ref.packed.item.size)
        with self.check(self.b.icmp_signed("<=", ZERO, to), "error", self.place(node), "a truncation below 0"):
            length = self.length(ref)
            with self.b.if_then(self.b.icmp_signed("<", to, length)):
                self.clear(self.item(ref, to).pointer, self.b.mul(self.b.sub(length, to), size))
                self.set_length(ref, to)

    def pop_first(self, node: ast.Call) -> None:
        """Drop the first item."""
        ref = self.sequence(node)
        assert ref.packed.item is not None
        size = I64(ref.packed.item.size)
        length = self.length(ref)
        some = self.b.icmp_signed("<", ZERO, length)
        with self.check(some, "error", self.place(node), "nothing to take from an empty sequence"):
            left = self.b.sub(length, ONE)
            self.move(self.item(ref, ZERO).pointer, self.item(ref, ONE).pointer, self.b.mul(left, size))
            self.clear(self.item(ref, left).pointer, size)
            self.set_length(ref, left)

    def reset(self, node: ast.Call) -> None:
        """Give every field of a record its initial value."""
        target = self.record(node.args[0])
        self.refuse_kept(node, target)
        self.refresh(target)

    def refuse_kept(self, node: ast.AST, ref: Ref) -> None:
        """Refuse a write to a record that contains a machine's state or a counter."""
        if kept := domain.kept_inside(ref.packed.type):
            self.refuse(node, f"the record {kept}")

    def assign_record(self, node: ast.Call) -> None:
        """Copy the contents of a record to another."""
        target, source = self.record(node.args[0]), self.record(node.args[1])
        assert isinstance(target.packed.type, Record) and isinstance(source.packed.type, Record)
        if target.packed.type.cls is not source.packed.type.cls:
            self.refuse(node, "the two are different records")
        self.refuse_kept(node, target)
        self.move(target.pointer, source.pointer, target.packed.size)
