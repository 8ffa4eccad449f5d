"""Compiles the functions of spec/language/domain/options.py, with which functions read and write options and maps.

A value is made in local bytes before it is put, since it may be made of what stands there.
"""

from __future__ import annotations

from llvmlite import ir

from kafka_spec.model_check.lowering.function import FunctionCode
from kafka_spec.model_check.lowering.values import I8, I64, ONE, ZERO, Ref
from kafka_spec.model_check.lowering.writers import make, value_given
from kafka_spec.spec.language import tree
from kafka_spec.spec.language.domain import Map, Maybe
from kafka_spec.spec.language.text import text_of


def put(f: FunctionCode, node: tree.Put) -> None:
    """Give an option, or a key of a map, a value."""
    option, given = _option(f, node)
    packed, type_ = option.packed.item, option.packed.type
    assert packed is not None and isinstance(type_, Maybe)
    if type_.kept:
        f.refuse(node, f"{text_of(node.option)} {type_.kept}")
    local = f.slot(ir.ArrayType(I8, packed.size))
    value = Ref(packed, f.b.bitcast(local, I8.as_pointer()))
    make(f, node, value, value_given(f, node, "put", given, packed), type_.place)
    f.copy(f.item(option, ZERO).pointer, value.pointer, packed.size)
    f.set_length(option, ONE)


def drop(f: FunctionCode, node: tree.Drop) -> None:
    """Take the value of an option, or of a key of a map, away."""
    option, given = _option(f, node)
    assert option.packed.item is not None and isinstance(option.packed.type, Maybe)
    if given.values:
        f.refuse(node, "drop() takes an option, or a map and a key")
    if option.packed.type.kept:
        f.refuse(node, f"{text_of(node.option)} {option.packed.type.kept}")
    with f.check(f.there(option), "error", f.place(node), "there is nothing to drop; ask present() first"):
        f.clear(f.item(option, ZERO).pointer, I64(option.packed.item.size))
        f.set_length(option, ZERO)


def present(f: FunctionCode, node: tree.Present) -> ir.Value:
    """Return whether an option has a value, as one bit."""
    ref = f.value(node.option)
    if isinstance(ref, Ref) and isinstance(ref.packed.type, Map):
        f.refuse(node, f"{text_of(node.option)} is a map; write `key in {text_of(node.option)}`")
    if not isinstance(ref, Ref) or not isinstance(ref.packed.type, Maybe):
        f.refuse(node, f"{text_of(node.option)} is not an option")
    return f.there(ref)


def _option(f: FunctionCode, node: tree.Put | tree.Drop) -> tuple[Ref, tree.Given]:
    """Return the option that a call means, and what it is given besides; of a map the first value is the key."""
    given, ref = node.given, f.value(node.option)
    if isinstance(ref, Ref) and isinstance(ref.packed.type, Map):
        if not given.values:
            f.refuse(node, f"{text_of(node.option)} is a map; name the key, too")
        option = f.checked_item(ref, f.number(given.values[0]), f.place(node))
        return option, tree.Given(given.values[1:], given.fields, line=given.line)
    if not isinstance(ref, Ref) or not isinstance(ref.packed.type, Maybe):
        f.refuse(node, f"{text_of(node.option)} is not an option")
    return ref, given
