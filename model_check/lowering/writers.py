"""Compiles the functions of spec/language/domain/operations.py, with which effects write sequences and records."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from llvmlite import ir

from kafka_spec.model_check.lowering.function import FunctionCode
from kafka_spec.model_check.lowering.values import I64, ONE, ZERO, Ref
from kafka_spec.model_check.record.layout import Packed
from kafka_spec.spec.language import domain, tree
from kafka_spec.spec.language.domain import Collection, Maybe, Record, Scalar, Sequence
from kafka_spec.spec.language.text import text_of


@dataclass(frozen=True)
class Supplied:
    """What append() or put() is given: a number, something to copy, values for the fields of a record, or the last two."""

    number: ir.Value | None = None
    source: Ref | None = None
    fields: Mapping[str, ir.Value | Ref] = dataclasses.field(default_factory=dict)


def append(f: FunctionCode, node: tree.Append) -> None:
    """Append a number, a record, or a copy or the initial value of something else."""
    ref = _sequence(f, node.sequence)
    type_, place = ref.packed.type, f.place(node)
    assert isinstance(type_, Sequence) and ref.packed.item is not None
    value = value_given(f, node, "append", node.given, ref.packed.item)
    length = f.length(ref)
    room = f.b.icmp_signed("<", length, I64(type_.capacity))
    with f.check(room, "bound" if type_.bound else "domain", place, type_.bound or f"{type_.place} is full"):
        if type_.distinct:
            number = value.number
            assert number is not None
            f.loop(ZERO, length, lambda now: _differs(f, ref, now, number, place))
        make(f, node, f.item(ref, length), value, type_.place)
        f.set_length(ref, f.b.add(length, ONE))


def truncate(f: FunctionCode, node: tree.Truncate) -> None:
    """Drop the items from an offset on."""
    ref, to = _sequence(f, node.sequence), f.number(node.offset)
    assert ref.packed.item is not None
    size = I64(ref.packed.item.size)
    with f.check(f.b.icmp_signed("<=", ZERO, to), "error", f.place(node), "a truncation below 0"):
        length = f.length(ref)
        with f.b.if_then(f.b.icmp_signed("<", to, length)):
            f.clear(f.item(ref, to).pointer, f.b.mul(f.b.sub(length, to), size))
            f.set_length(ref, to)


def pop_first(f: FunctionCode, node: tree.PopFirst) -> None:
    """Drop the first item."""
    ref = _sequence(f, node.sequence)
    assert ref.packed.item is not None
    size = I64(ref.packed.item.size)
    length = f.length(ref)
    some = f.b.icmp_signed("<", ZERO, length)
    with f.check(some, "error", f.place(node), "nothing to take from an empty sequence"):
        left = f.b.sub(length, ONE)
        f.move(f.item(ref, ZERO).pointer, f.item(ref, ONE).pointer, f.b.mul(left, size))
        f.clear(f.item(ref, left).pointer, size)
        f.set_length(ref, left)


def reset(f: FunctionCode, node: tree.Reset) -> None:
    """Give a record or a container its initial value."""
    target = _whole(f, node.record)
    _refuse_kept(f, node, target)
    f.refresh(target)


def overwrite(f: FunctionCode, node: tree.Overwrite) -> None:
    """Copy the contents of a record or a container to another."""
    target = _whole(f, node.record)
    source = copied(f, node.source, target.packed)
    _refuse_kept(f, node, target)
    f.move(target.pointer, source.pointer, target.packed.size)


def _whole(f: FunctionCode, node: tree.Expression) -> Ref:
    """Return the reference to the record or the container that a writer changes."""
    ref = f.value(node)
    if not isinstance(ref, Ref):
        f.refuse(node, f"{text_of(node)} is not a record, an array, a sequence, a set of records, an option or a map")
    return ref


def copied(f: FunctionCode, node: tree.Expression, packed: Packed) -> Ref:
    """Return the reference to a record or a container that is copied to a place of the same form."""
    source = f.value(node)
    if not isinstance(source, Ref):
        f.refuse(node, f"{text_of(node)} is a number, and what is copied here is a record or a container")
    if domain.form(source.packed.type) != domain.form(packed.type):
        f.refuse(node, f"{text_of(node)}: {domain.unlike(source.packed.type, packed.type)}")
    return source


def _sequence(f: FunctionCode, node: tree.Expression) -> Ref:
    """Return the sequence that a writer changes."""
    ref = f.value(node)
    if not isinstance(ref, Ref) or not isinstance(ref.packed.type, Sequence):
        f.refuse(node, f"{text_of(node)} is not a sequence")
    if isinstance(ref.packed.type, Collection):
        f.refuse(node, f"{text_of(node)} is a {ref.packed.type.what}; use add() and remove()")
    if isinstance(ref.packed.type, Maybe):
        f.refuse(node, f"{text_of(node)} is an option; put() a value, or drop() it")
    if ref.packed.type.kept:
        f.refuse(node, f"{text_of(node)} {ref.packed.type.kept}")
    return ref


def _differs(f: FunctionCode, ref: Ref, index: ir.Value, number: ir.Value, place: str) -> None:
    """Record a fault if an item equals this number."""
    item = f.item(ref, index)
    other = f.b.icmp_signed("!=", f.load(item.packed, item.pointer), number)
    with f.check(other, "domain", place, "the number is already in the sequence, and the items are distinct"):
        pass


def value_given(f: FunctionCode, node: tree.Node, name: str, given: tree.Given, packed: Packed) -> Supplied:
    """Return what append() or put() is given for a value of this kind, evaluated in the order of Python."""
    type_ = packed.type
    if isinstance(type_, Scalar):
        if len(given.values) != 1 or given.fields:
            f.refuse(node, f"{name} one number here")
        return Supplied(number=f.number(given.values[0]))
    if not isinstance(type_, Record):
        if len(given.values) > 1 or given.fields:
            f.refuse(node, f"{name}() takes a value to copy here, or none for an empty one")
        return Supplied(source=copied(f, given.values[0], packed) if given.values else None)
    if len(given.values) > 1:
        f.refuse(node, f"{name} one {type_.cls.__name__} here, or its fields")
    source = record_of(f, given.values[0], type_) if given.values else None
    return Supplied(source=source, fields=fields_given(f, node, name, given, packed))


def record_of(f: FunctionCode, node: tree.Expression, type_: Record) -> Ref:
    """Return the reference to a record that is copied to one of this type."""
    source = f.record(node)
    if not isinstance(source.packed.type, Record) or source.packed.type.cls is not type_.cls:
        f.refuse(node, f"{text_of(node)} is not a {type_.cls.__name__}")
    return source


def fields_given(f: FunctionCode, node: tree.Node, name: str, given: tree.Given, packed: Packed) -> dict[str, ir.Value | Ref]:
    """Return what a call gives to fields of a record: numbers, and references to what is copied."""
    assert isinstance(packed.type, Record) and packed.fields is not None
    if given.cls is not None and packed.type.cls is not given.cls:
        f.refuse(node, f"{name}() takes {packed.type.cls.__name__} here, and not {given.cls.__name__}(...)")
    title, values = packed.type.cls.__name__, dict[str, "ir.Value | Ref"]()
    for field, value in given.fields:
        if field not in packed.fields:
            f.refuse(node, f"{title} has no field {field}; it has {', '.join(packed.fields)}")
        part = packed.fields[field][1]
        values[field] = f.number(value) if isinstance(part.type, Scalar) else copied(f, value, part)
    return values


def make(f: FunctionCode, node: tree.Node, target: Ref, value: Supplied, title: str) -> None:
    """Write the value that append() or put() is given; `title` names where it stands."""
    place = f.place(node)
    if value.number is not None:
        f.store(target.packed, target.pointer, value.number, place, title)
        return
    f.refresh(target)
    type_ = target.packed.type
    if value.source is not None:
        _refuse_kept(f, node, target)
        f.copy(target.pointer, value.source.pointer, target.packed.size)
    if not isinstance(type_, Record):
        return
    assert target.packed.fields is not None
    for name, content in value.fields.items():
        offset, packed = target.packed.fields[name]
        of_field = Ref(packed, f.at(target.pointer, offset))
        if isinstance(content, Ref):
            _refuse_kept(f, node, of_field)
            f.copy(of_field.pointer, content.pointer, packed.size)
            continue
        assert isinstance(packed.type, Scalar)
        if packed.type.kept:
            f.refuse(node, f"{type_.cls.__name__}.{name} {packed.type.kept}")
        f.store(packed, of_field.pointer, content, place, f"{type_.cls.__name__}.{name}")
    if type_.tags is not None:
        check_tag(f, target, type_, place)


def check_tag(f: FunctionCode, item: Ref, type_: Record, place: str) -> None:
    """Record a fault if a field has a value but does not belong to the kind of message that the tag names."""
    assert type_.tags is not None and item.packed.fields is not None
    tag, members = type_.tags
    offset, packed = item.packed.fields[tag]
    kind = f.load(packed, f.at(item.pointer, offset))
    for name, (at, field) in item.packed.fields.items():
        if name == tag:
            continue
        initial = f.b.bitcast(f.unit.template(field), item.pointer.type)
        ok = f.b.icmp_signed("==", f.order(field, f.at(item.pointer, at), initial), ZERO)
        for value, names in members.items():
            if name in names:
                ok = f.b.or_(ok, f.b.icmp_signed("==", kind, I64(value)))
        with f.check(ok, "domain", place, f"{name} has no meaning in this kind of {type_.cls.__name__}"):
            pass


def _refuse_kept(f: FunctionCode, node: tree.Node, ref: Ref) -> None:
    """Refuse a write to a record or a container that contains a machine's state or a counter."""
    if kept := domain.kept_inside(ref.packed.type):
        f.refuse(node, f"the {'record' if isinstance(ref.packed.type, Record) else 'container'} {kept}")
