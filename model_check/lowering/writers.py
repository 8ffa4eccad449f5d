"""Compiles the functions of spec/language/domain/operations.py, with which effects write sequences and records.

Depends on packed sequences and records, not on statements.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from llvmlite import ir

from kafka_spec.model_check.lowering.expressions import Expressions
from kafka_spec.model_check.lowering.values import I64, ONE, ZERO, Ref
from kafka_spec.model_check.record.layout import Packed
from kafka_spec.spec.language import domain
from kafka_spec.spec.language.domain import Collection, Maybe, Record, Scalar, Sequence


@dataclass(frozen=True)
class Given:
    """What append() or put() is given: a number, or a record, numbers for fields, or both."""

    number: ir.Value | None = None
    source: Ref | None = None
    fields: Mapping[str, ir.Value] = dataclasses.field(default_factory=dict)


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
        """Append a number, a record, or the initial value of something else."""
        ref = self.sequence(node)
        type_, place = ref.packed.type, self.place(node)
        assert isinstance(type_, Sequence) and ref.packed.item is not None
        given = self.given(node, node.args[1:], ref.packed.item)
        length = self.length(ref)
        room = self.b.icmp_signed("<", length, I64(type_.capacity))
        with self.check(room, "bound" if type_.bound else "domain", place, type_.bound or f"{type_.place} is full"):
            if type_.distinct:
                number = given.number
                assert number is not None
                self.loop(ZERO, length, lambda now: self.differs(ref, now, number, place))
            self.make(node, self.item(ref, length), given, type_.place)
            self.set_length(ref, self.b.add(length, ONE))

    def differs(self, ref: Ref, index: ir.Value, number: ir.Value, place: str) -> None:
        """Record a fault if an item equals this number."""
        item = self.item(ref, index)
        other = self.b.icmp_signed("!=", self.load(item.packed, item.pointer), number)
        with self.check(other, "domain", place, "the number is already in the sequence, and the items are distinct"):
            pass

    def given(self, node: ast.Call, parts: list[ast.expr], packed: Packed) -> Given:
        """Return what append() or put() is given for a value of this kind, evaluated in the order of Python."""
        type_, name = packed.type, ast.unparse(node.func)
        if isinstance(type_, Scalar):
            if len(parts) != 1 or node.keywords:
                self.refuse(node, f"{name} one number here")
            return Given(number=self.number(parts[0]))
        if not isinstance(type_, Record):
            if parts or node.keywords:
                self.refuse(node, f"{name}() gives the initial value here; change it after that")
            return Given()
        if len(parts) > 1:
            self.refuse(node, f"{name} one {type_.cls.__name__} here, or its fields")
        source = self.record_of(parts[0], type_) if parts else None
        return Given(source=source, fields=self.fields_given(node, packed, name))

    def record_of(self, node: ast.expr, type_: Record) -> Ref:
        """Return the reference to a record that is copied to one of this type."""
        source = self.record(node)
        if not isinstance(source.packed.type, Record) or source.packed.type.cls is not type_.cls:
            self.refuse(node, f"{ast.unparse(node)} is no {type_.cls.__name__}")
        return source

    def fields_given(self, node: ast.Call, packed: Packed, name: str) -> dict[str, ir.Value]:
        """Return the numbers that a call gives to fields of a record."""
        assert isinstance(packed.type, Record) and packed.fields is not None
        title, numbers = packed.type.cls.__name__, {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg not in packed.fields:
                self.refuse(node, f"{title} has no field {keyword.arg}; it has {', '.join(packed.fields)}")
            if not isinstance(packed.fields[keyword.arg][1].type, Scalar):
                self.refuse(node, f"{title}.{keyword.arg} cannot be given here; {name}() takes fields that hold numbers")
            numbers[keyword.arg] = self.number(keyword.value)
        return numbers

    def make(self, node: ast.Call, value: Ref, given: Given, title: str) -> None:
        """Write the value that append() or put() is given; `title` names where it stands."""
        place = self.place(node)
        if given.number is not None:
            self.store(value.packed, value.pointer, given.number, place, title)
            return
        self.refresh(value)
        type_ = value.packed.type
        if not isinstance(type_, Record):
            return
        assert value.packed.fields is not None
        if given.source is not None:
            self.refuse_kept(node, value)
            self.copy(value.pointer, given.source.pointer, value.packed.size)
        for name, number in given.fields.items():
            offset, packed = value.packed.fields[name]
            assert isinstance(packed.type, Scalar)
            if packed.type.kept:
                self.refuse(node, f"{type_.cls.__name__}.{name} {packed.type.kept}")
            self.store(packed, self.at(value.pointer, offset), number, place, f"{type_.cls.__name__}.{name}")
        if type_.tags is not None:
            self.check_tag(value, type_, place)

    def check_tag(self, item: Ref, type_: Record, place: str) -> None:
        """Record a fault if a field has a value but does not belong to the kind of message that the tag names."""
        assert type_.tags is not None and item.packed.fields is not None
        tag, members = type_.tags
        offset, packed = item.packed.fields[tag]
        kind = self.load(packed, self.at(item.pointer, offset))
        for name, (at, field) in item.packed.fields.items():
            if name == tag:
                continue
            initial = self.b.bitcast(self.unit.template(field), item.pointer.type)
            ok = self.b.icmp_signed("==", self.order(field, self.at(item.pointer, at), initial), ZERO)
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
