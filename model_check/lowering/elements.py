"""Compiles the functions of spec/language/domain/elements.py, with which functions read and write sets and bags of records.

The elements are in the order of their contents. An element that is asked for is first written to local bytes, as if it were one.
"""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from kafka_spec.model_check.lowering.function import FunctionCode
from kafka_spec.model_check.lowering.values import I1, I8, I64, ONE, ZERO, Ref
from kafka_spec.model_check.lowering.writers import check_tag, fields_given, record_of
from kafka_spec.spec.language import tree
from kafka_spec.spec.language.domain import Collection, Record, Scalar
from kafka_spec.spec.language.text import text_of


@dataclass(frozen=True)
class Found:
    """A set or bag, an element in local bytes, where it stands or would stand, and how often it is there."""

    elements: Ref
    element: Ref
    place: ir.Value
    copies: ir.Value


def add(f: FunctionCode, node: tree.Add) -> None:
    """Put an element into a set or a bag."""
    found = _found(f, node, "add", add=True)
    type_ = found.elements.packed.type
    assert isinstance(type_, Collection)
    fresh = I1(1) if type_.repeats else f.b.icmp_signed("==", found.copies, ZERO)
    with f.b.if_then(fresh):
        length = f.length(found.elements)
        room = f.b.icmp_signed("<", length, I64(type_.capacity))
        full = type_.bound or f"{type_.place}: add to a full {type_.what}"
        with f.check(room, "bound" if type_.bound else "domain", f.place(node), full):
            _close_up(f, found, length, ZERO, ONE)
            f.copy(f.item(found.elements, found.place).pointer, found.element.pointer, found.element.packed.size)
            f.set_length(found.elements, f.b.add(length, ONE))


def remove(f: FunctionCode, node: tree.Remove) -> None:
    """Take an element out of a set, or one copy out of a bag."""
    found = _found(f, node, "remove")
    there = f.b.icmp_signed("<", ZERO, found.copies)
    with f.check(there, "error", f.place(node), "what is removed is not there; ask has() first"):
        length = f.length(found.elements)
        _close_up(f, found, length, ONE, ZERO)
        left = f.b.sub(length, ONE)
        f.clear(f.item(found.elements, left).pointer, I64(found.element.packed.size))
        f.set_length(found.elements, left)


def count(f: FunctionCode, node: tree.Count) -> ir.Value:
    """Return how often an element is in a set or a bag."""
    return _found(f, node, "count").copies


def has(f: FunctionCode, node: tree.Has) -> ir.Value:
    """Return whether an element is in a set or a bag, as one bit."""
    return f.b.icmp_signed("<", ZERO, _found(f, node, "has").copies)


def _close_up(f: FunctionCode, found: Found, length: ir.Value, start: ir.Value, to: ir.Value) -> None:
    """Move the elements from `start` places behind the found one on to `to` places behind it."""
    origin = f.b.add(found.place, start)
    target = f.item(found.elements, f.b.add(found.place, to)).pointer
    size = f.b.mul(f.b.sub(length, origin), I64(found.element.packed.size))
    f.move(target, f.item(found.elements, origin).pointer, size)


def _found(f: FunctionCode, node: tree.Add | tree.Remove | tree.Has | tree.Count, name: str, add: bool = False) -> Found:
    """Look for the element that a call names."""
    elements = f.value(node.elements)
    if not isinstance(elements, Ref) or not isinstance(elements.packed.type, Collection):
        f.refuse(node, f"{text_of(node.elements)} is not a set or bag of records")
    assert elements.packed.item is not None
    element, inside = _meant(f, node, name, elements, add)
    place, copies = f.slot(I64, ZERO), f.slot(I64, ZERO)
    f.b.store(ZERO, place)
    f.b.store(ZERO, copies)

    def compare(now: ir.Value) -> None:
        order = f.order(element.packed, f.item(elements, now).pointer, element.pointer)
        before, same = f.b.icmp_signed("<", order, ZERO), f.b.icmp_signed("==", order, ZERO)
        for cell, counts in ((place, before), (copies, same)):
            f.b.store(f.b.add(f.b.load(cell), f.b.zext(counts, I64)), cell)

    with f.b.if_then(inside):
        f.loop(ZERO, f.length(elements), compare)
    return Found(elements, element, f.b.load(place), f.b.load(copies))


def _meant(
    f: FunctionCode, node: tree.Add | tree.Remove | tree.Has | tree.Count, name: str, elements: Ref, add: bool
) -> tuple[Ref, ir.Value]:
    """Return the element that a call names, in local bytes, and whether each field is in its domain."""
    packed, place = elements.packed.item, f.place(node)
    assert packed is not None and isinstance(packed.type, Record) and packed.fields is not None
    given = record_of(f, node.given.values[0], packed.type) if node.given.values else None
    fields = fields_given(f, node, name, node.given, packed)
    local = f.slot(ir.ArrayType(I8, packed.size))
    element = Ref(packed, f.b.bitcast(local, I8.as_pointer()))
    if given is not None:
        f.copy(element.pointer, given.pointer, packed.size)
    else:
        f.refresh(element)
    inside: ir.Value = I1(1)
    for field, number in fields.items():
        offset, part = packed.fields[field]
        at = f.at(element.pointer, offset)
        if isinstance(number, Ref):
            f.copy(at, number.pointer, part.size)
            continue
        assert isinstance(part.type, Scalar)
        if add:
            f.store(part, at, number, place, f"{packed.type.cls.__name__}.{field}")
        else:
            above = f.b.icmp_signed("<=", I64(part.type.low), number)
            below = f.b.icmp_signed("<=", number, f.highest(part.type))
            inside = f.b.and_(inside, f.b.and_(above, below))
            narrow = f.b.trunc(number, ir.IntType(8 * part.size))
            f.b.store(narrow, f.b.bitcast(at, narrow.type.as_pointer())).align = 1
    if add and packed.type.tags is not None:
        check_tag(f, element, packed.type, place)
    return element, inside
