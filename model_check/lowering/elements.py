"""Compiles the functions of spec/language/domain/elements.py, with which functions read and write sets and bags of records.

The elements stand in the order of their contents. An element that is asked for is first written to local bytes, as if it were one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from llvmlite import ir

from kafka_spec.model_check.lowering.values import I1, I8, I64, ONE, ZERO, Ref
from kafka_spec.model_check.lowering.writers import Writers
from kafka_spec.spec.language import domain
from kafka_spec.spec.language.domain import Collection, Record, Scalar


@dataclass(frozen=True)
class Found:
    """A set or bag, an element in local bytes, where it stands or would stand, and how often it is there."""

    elements: Ref
    element: Ref
    place: ir.Value
    copies: ir.Value


class ElementCalls(Writers):
    """Compiles add, remove, has and count."""

    @property
    def writers(self) -> Mapping[Callable[..., None], Callable[[ast.Call], None]]:
        """For each of the functions that write, what compiles a call of it."""
        return {**super().writers, domain.add: self.add, domain.remove: self.remove}

    def add(self, node: ast.Call) -> None:
        """Put an element into a set or a bag."""
        found = self.found(node, add=True)
        type_ = found.elements.packed.type
        assert isinstance(type_, Collection)
        fresh = I1(1) if type_.repeats else self.b.icmp_signed("==", found.copies, ZERO)
        with self.b.if_then(fresh):
            length = self.length(found.elements)
            room = self.b.icmp_signed("<", length, I64(type_.capacity))
            full = type_.bound or f"{type_.place}: add to a full {type_.what}"
            with self.check(room, "bound" if type_.bound else "domain", self.place(node), full):
                self.close_up(found, length, ZERO, ONE)
                self.copy(self.item(found.elements, found.place).pointer, found.element.pointer, found.element.packed.size)
                self.set_length(found.elements, self.b.add(length, ONE))

    def remove(self, node: ast.Call) -> None:
        """Take an element out of a set, or one copy out of a bag."""
        found = self.found(node)
        there = self.b.icmp_signed("<", ZERO, found.copies)
        with self.check(there, "error", self.place(node), "what is removed is not there; ask has() first"):
            length = self.length(found.elements)
            self.close_up(found, length, ONE, ZERO)
            left = self.b.sub(length, ONE)
            self.clear(self.item(found.elements, left).pointer, I64(found.element.packed.size))
            self.set_length(found.elements, left)

    def close_up(self, found: Found, length: ir.Value, start: ir.Value, to: ir.Value) -> None:
        """Move the elements from `start` places behind the found one on to `to` places behind it."""
        origin = self.b.add(found.place, start)
        target = self.item(found.elements, self.b.add(found.place, to)).pointer
        size = self.b.mul(self.b.sub(length, origin), I64(found.element.packed.size))
        self.move(target, self.item(found.elements, origin).pointer, size)

    def asked(self, node: ast.Call, name: str) -> ir.Value:
        """Return the result of has() or count()."""
        copies = self.found(node).copies
        return copies if name == "count" else self.b.zext(self.b.icmp_signed("<", ZERO, copies), I64)

    def found(self, node: ast.Call, add: bool = False) -> Found:
        """Look for the element that a call names."""
        elements = self.value(node.args[0])
        if not isinstance(elements, Ref) or not isinstance(elements.packed.type, Collection):
            self.refuse(node, f"{ast.unparse(node.args[0])} is not a set or bag of records")
        assert elements.packed.item is not None
        element, inside = self.meant(node, elements, add)
        place, copies = self.slot(I64, ZERO), self.slot(I64, ZERO)
        self.b.store(ZERO, place)
        self.b.store(ZERO, copies)

        def compare(now: ir.Value) -> None:
            order = self.order(element.packed, self.item(elements, now).pointer, element.pointer)
            before, same = self.b.icmp_signed("<", order, ZERO), self.b.icmp_signed("==", order, ZERO)
            for cell, counts in ((place, before), (copies, same)):
                self.b.store(self.b.add(self.b.load(cell), self.b.zext(counts, I64)), cell)

        with self.b.if_then(inside):
            self.loop(ZERO, self.length(elements), compare)
        return Found(elements, element, self.b.load(place), self.b.load(copies))

    def meant(self, node: ast.Call, elements: Ref, add: bool) -> tuple[Ref, ir.Value]:
        """Return the element that a call names, in local bytes, and whether each field is in its domain."""
        packed = elements.packed.item
        assert packed is not None and isinstance(packed.type, Record) and packed.fields is not None
        type_, place = packed.type, self.place(node)
        given = self.record_of(node.args[1], type_) if len(node.args) > 1 else None
        numbers = self.fields_given(node, packed, ast.unparse(node.func))
        local = self.slot(ir.ArrayType(I8, packed.size))
        element = Ref(packed, self.b.bitcast(local, I8.as_pointer()))
        if given is not None:
            self.copy(element.pointer, given.pointer, packed.size)
        else:
            self.refresh(element)
        inside: ir.Value = I1(1)
        for name, number in numbers.items():
            offset, field = packed.fields[name]
            assert isinstance(field.type, Scalar)
            at, title = self.at(element.pointer, offset), f"{type_.cls.__name__}.{name}"
            if add:
                self.store(field, at, number, place, title)
            else:
                above = self.b.icmp_signed("<=", I64(field.type.low), number)
                below = self.b.icmp_signed("<=", number, self.highest(field.type))
                inside = self.b.and_(inside, self.b.and_(above, below))
                narrow = self.b.trunc(number, ir.IntType(8 * field.size))
                self.b.store(narrow, self.b.bitcast(at, narrow.type.as_pointer())).align = 1
        if add and type_.tags is not None:
            self.check_tag(element, type_, place)
        return element, inside
