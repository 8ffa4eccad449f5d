"""The values of compiled code: integers, references to packed bytes, and the faults that it can record.

Depends on the packed form of states and on LLVM's types, not on the language of specs.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from llvmlite import ir

from kafka_spec.model_check.record.layout import Packed

I1, I8, I32, I64 = ir.IntType(1), ir.IntType(8), ir.IntType(32), ir.IntType(64)
POINTER, WORD = I8.as_pointer(), I64.as_pointer()
ZERO, ONE = I64(0), I64(1)
FAULT_KINDS = {"bound": 0, "domain": 1, "error": 2}


@dataclass(frozen=True)
class Fault:
    """A failed check: `kind` is bound, domain or error; `place` is the source line; `message` describes the failure."""

    kind: str
    place: str
    message: str


@dataclass(frozen=True)
class Ref:
    """A reference to packed bytes."""

    packed: Packed
    pointer: ir.Value
    moving: bool = False
    """Whether the bytes are in an item of a sequence, which may be moved or dropped."""
    still: bool = False
    """Whether the bytes are in the state before the step, which no effect changes."""


@dataclass(frozen=True)
class Buffer:
    """An array of the engine: integers of `bits` bits."""

    bits: int
    pointer: ir.Value


@dataclass(frozen=True)
class K:
    """The constants, which are in the module (`lowering.unit.Unit.known`); functions are not given them."""


Value: TypeAlias = ir.Value | Ref | Buffer | K


@dataclass(frozen=True)
class Still:
    """The shape of a reference into the state before the step."""

    packed: Packed


Shape: TypeAlias = Packed | Still | int | str
"""The type of an argument: the packed form of a reference, the bits of a buffer's items, "int" or "k"."""


def plain(values: Iterable[Value]) -> list[ir.Value]:
    """Return values as LLVM arguments."""
    return [value.pointer if isinstance(value, Ref | Buffer) else value for value in values if not isinstance(value, K)]


def named(names: Iterable[str], shapes: Iterable[Shape], arguments: Iterable[ir.Value]) -> dict[str, Value]:
    """Return the values of LLVM arguments of these shapes, by name."""
    given = iter(arguments)
    return {name: K() if shape == "k" else reshaped(shape, next(given)) for name, shape in zip(names, shapes, strict=False)}


def shape_of(value: Value) -> Shape:
    """Return the shape of a value."""
    if isinstance(value, Ref):
        return Still(value.packed) if value.still else value.packed
    if isinstance(value, Buffer):
        return value.bits
    return "k" if isinstance(value, K) else "int"


def reshaped(shape: Shape, argument: ir.Value) -> Value:
    """Return an LLVM argument as a value of a shape."""
    if isinstance(shape, Packed):
        return Ref(shape, argument)
    if isinstance(shape, Still):
        return Ref(shape.packed, argument, still=True)
    return Buffer(shape, argument) if isinstance(shape, int) else argument


def llvm_type(shape: Shape) -> ir.Type:
    """Return the LLVM type of an argument of a shape."""
    if isinstance(shape, int):
        return ir.IntType(shape).as_pointer()
    return POINTER if isinstance(shape, Packed | Still) else I64


@dataclass(frozen=True)
class Compiled:
    """A function in LLVM; `results` is the number of integers it returns."""

    code: ir.Function
    results: int
