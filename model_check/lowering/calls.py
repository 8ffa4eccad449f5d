"""Compiles calls: of functions of the spec, built-in functions and `fire`, and those that only the engine's own functions may make.

After a call that may move items of a sequence, names for those items are stale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from llvmlite import ir

from kafka_spec.model_check.lowering.function import FunctionCode
from kafka_spec.model_check.lowering.generators import keys
from kafka_spec.model_check.lowering.values import I64, POINTER, Ref, shape_of
from kafka_spec.spec.language import tree
from kafka_spec.spec.language.domain import Map


def call(f: FunctionCode, node: tree.Call) -> Sequence[ir.Value]:
    """Emit a call of a function; return the integers that it returns."""
    arguments = [f.value(argument) for argument in node.arguments]
    shapes = tuple(shape_of(value) for value in arguments)
    results = f.invoke(f.unit.function(node.function, shapes, f.trusted), arguments)
    f.after_moves(node)
    return results


def fire(f: FunctionCode, node: tree.Fire) -> ir.Value:
    """Fire a trigger of a machine; return whether a row was found."""
    s = f.value(node.state)
    assert isinstance(s, Ref)
    entity = [f.number(part) for part in node.entity]
    compiled = f.unit.fire(node.machine, node.trigger, s.packed, len(entity))
    (fired,) = f.invoke(compiled, [s, f.value(node.constants), *entity])
    f.after_moves(node)
    return fired


def length(f: FunctionCode, node: tree.Length) -> ir.Value:
    """Return how many items there are."""
    ref = f.value(node.of)
    if not isinstance(ref, Ref) or ref.packed.item is None:
        f.refuse(node, "len() is of a sequence, an array, a map or a set of records")
    return keys(f, ref) if isinstance(ref.packed.type, Map) else f.length(ref)


def extreme(f: FunctionCode, node: tree.Extreme) -> ir.Value:
    """Return the result of min() or max()."""
    result, *others = (f.number(part) for part in node.parts)
    for other in others:
        closer = f.b.icmp_signed(">" if node.largest else "<", other, result)
        result = f.b.select(closer, other, result)
    return result


def primitive(f: FunctionCode, node: tree.Primitive) -> Sequence[ir.Value]:
    """Emit a call that only the engine's own functions may make."""
    if node.name in _ENGINE:
        _ENGINE[node.name](f, *node.arguments)
        return []
    return f.invoke(f.unit.emitted[node.name], [f.value(argument) for argument in node.arguments])


def _prefetch(f: FunctionCode, array: tree.Expression, index: tree.Expression) -> None:
    """Fetch an item of an array into the cache."""
    cell = f.b.bitcast(f.b.gep(f.buffer(array).pointer, [f.number(index)]), POINTER)
    i32 = ir.IntType(32)
    fetch = f.unit.intrinsic("llvm.prefetch.p0", ir.VoidType(), [POINTER, i32, i32, i32])
    f.b.call(fetch, [cell, i32(1), i32(1), i32(1)])


def _copy_record(
    f: FunctionCode, to: tree.Expression, index: tree.Expression, source: tree.Expression, other: tree.Expression
) -> None:
    """Copy a record of one array to another."""
    size = f.unit.literals["RECORD_BYTES"]
    target, origin = f.buffer(to), f.buffer(source)
    target_at = f.at(target.pointer, f.b.mul(f.number(index), I64(size)))
    f.copy(target_at, f.at(origin.pointer, f.b.mul(f.number(other), I64(size))), size)


def _copy_bytes(
    f: FunctionCode,
    to: tree.Expression,
    begin: tree.Expression,
    source: tree.Expression,
    other: tree.Expression,
    size: tree.Expression,
) -> None:
    """Copy so many bytes from a place of one array to a place of another."""
    target, origin = f.buffer(to), f.buffer(source)
    f.copy(f.at(target.pointer, f.number(begin)), f.at(origin.pointer, f.number(other)), f.number(size))


_ENGINE: Mapping[str, Callable[..., None]] = {"prefetch": _prefetch, "copy_record": _copy_record, "copy_bytes": _copy_bytes}
"""The functions that only the engine's own code may call, and what compiles them."""
