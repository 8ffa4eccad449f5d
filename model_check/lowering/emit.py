"""Emits machine code for packed values: references, checked loads and stores, loops, calls.

Depends on the packed form of states and on LLVM, not on the language of specs. Theory of operation: a value is an integer or a
reference; a reference is a pointer to packed bytes with their packed form. A failed check is recorded as a *fault* with its place.
It does not unwind. The first fault is stored in a cell that every function gets as an argument, the operation is skipped, and the
caller reads the cell after the firing. LLVM inlines the calls and keeps the cell in a register, so a check costs one comparison.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from llvmlite import ir

from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import I1, I8, I64, ONE, POINTER, ZERO, Compiled, Ref, Value, plain, shape_of
from kafka_spec.model_check.record.layout import Packed
from kafka_spec.spec import language
from kafka_spec.spec.language.domain import Array, Scalar


class Emitter:
    """An LLVM function under construction, with the checked operations on packed bytes."""

    def __init__(self, unit: Unit, code: ir.Function, fault: ir.Value) -> None:
        self.unit = unit
        self.code = code
        self.entry = code.append_basic_block("entry")
        self.b = ir.IRBuilder(self.entry)
        self.fault = fault

    def slot(self, type_: ir.Type, initial: ir.Value | None = None) -> ir.Value:
        """Return a local variable, allocated at the entry of the function."""
        with self.b.goto_block(self.entry):
            if self.entry.instructions:
                self.b.position_at_start(self.entry)
            variable = self.b.alloca(type_)
        if initial is not None:
            self.b.store(initial, variable)
        return variable

    def fault_cell(self, rows: ir.Value | None = None) -> ir.Value:
        """Return a cell for faults without one.

        Behind it stands the address of the bytes that tell which rows were taken, if the unit has them; without `rows` they are
        forgotten.
        """
        cell = self.b.bitcast(self.slot(ir.ArrayType(I64, 2)), I64.as_pointer())
        if self.unit.rows is not None:
            rows = rows or self.b.bitcast(self.slot(ir.ArrayType(I8, 1 + len(self.unit.rows))), POINTER)
            self.b.store(self.b.ptrtoint(rows, I64), self.b.gep(cell, [ONE]))
        self.b.store(ZERO, cell)
        return cell

    def at(self, pointer: ir.Value, offset: int | ir.Value) -> ir.Value:
        """Return the pointer plus an offset in bytes."""
        if isinstance(offset, int):
            return pointer if offset == 0 else self.b.gep(pointer, [I64(offset)])
        return self.b.gep(pointer, [offset])

    def check(self, ok: ir.Value, kind: str, place: str, message: str) -> contextlib.AbstractContextManager[None]:
        """Return a context whose code runs if the check holds; otherwise a fault is recorded and the code is skipped."""
        if not self.unit.checked:
            return contextlib.nullcontext()
        code = I64(self.unit.fault_code(kind, place, message))
        good, bad, on = (self.code.append_basic_block(name) for name in ("good", "bad", "on"))
        branch = self.b.cbranch(ok, good, bad)
        branch.set_weights([2000, 1])
        self.b.position_at_end(bad)
        first = self.b.load(self.fault)
        self.b.store(self.b.select(self.b.icmp_signed("==", first, ZERO), code, first), self.fault)
        self.b.branch(on)
        self.b.position_at_end(good)
        return self.until(on)

    @contextlib.contextmanager
    def until(self, on: ir.Block) -> Iterator[None]:
        """Branch to a block and continue there when the context ends."""
        yield
        if not self.b.block.is_terminated:
            self.b.branch(on)
        self.b.position_at_end(on)

    def load(self, packed: Packed, pointer: ir.Value) -> ir.Value:
        """Read a scalar as a 64-bit integer."""
        raw = self.b.load(self.b.bitcast(pointer, ir.IntType(8 * packed.size).as_pointer()))
        raw.align = 1
        return self.b.sext(raw, I64) if packed.signed else self.b.zext(raw, I64)

    def store(self, packed: Packed, pointer: ir.Value, value: ir.Value, place: str, name: str) -> None:
        """Write a scalar if its type contains the value; otherwise record a fault."""
        type_ = packed.type
        assert isinstance(type_, Scalar)

        def write() -> None:
            narrow = self.b.trunc(value, ir.IntType(8 * packed.size))
            self.b.store(narrow, self.b.bitcast(pointer, narrow.type.as_pointer())).align = 1

        below = f"{name} would fall below {type_.low}"
        with self.check(self.b.icmp_signed("<=", I64(type_.low), value), "domain", place, below):
            inside = self.b.icmp_signed("<=", value, self.highest(type_))
            above = type_.bound or f"{name} would exceed {type_.high}"
            with self.check(inside, "bound" if type_.bound else "domain", place, above):
                write()

    def highest(self, type_: Scalar) -> ir.Value:
        """Return the largest value of a type; if a bound limits it, compute it from the bound's value."""
        if type_.bound is None or type_.bound not in self.unit.constants:
            return I64(type_.high)
        bound = self.known(type_.bound)
        return self.b.add(bound, I64(type_.plus))

    def known(self, name: str) -> ir.Value:
        """Return the value of a bound or a decision."""
        return self.b.load(self.b.gep(self.unit.known, [ZERO, I64(self.unit.constants.index(name))]))

    def length(self, ref: Ref) -> ir.Value:
        """Return the number of items."""
        if isinstance(ref.packed.type, Array):
            return I64(ref.packed.type.length)
        assert ref.packed.head is not None
        return self.load(ref.packed.head, ref.pointer)

    def set_length(self, ref: Ref, length: ir.Value) -> None:
        """Write the length of a sequence; the caller ensures that it is within the capacity."""
        assert ref.packed.head is not None
        narrow = self.b.trunc(length, ir.IntType(8 * ref.packed.head.size))
        self.b.store(narrow, self.b.bitcast(ref.pointer, narrow.type.as_pointer())).align = 1

    def item(self, ref: Ref, index: ir.Value) -> Ref:
        """Return the item at an index; the caller ensures that it is in range."""
        assert ref.packed.item is not None
        start = self.at(ref.pointer, ref.packed.head.size if ref.packed.head else 0)
        at = self.at(start, self.b.mul(index, I64(ref.packed.item.size)))
        return Ref(ref.packed.item, at, not ref.still and (ref.moving or ref.packed.head is not None), ref.still)

    def checked_item(self, ref: Ref, index: ir.Value, place: str) -> Ref:
        """Return the item at an index; out of range, record a fault and return the first item, or local bytes if it has no room."""
        inside = self.b.icmp_unsigned("<", index, self.length(ref))
        good = self.slot(I64, ZERO)
        with self.check(inside, "error", place, "an index is outside its sequence"):
            self.b.store(index, good)
        if ref.packed.item is not None and ref.packed.size == (ref.packed.head.size if ref.packed.head else 0):
            nowhere = self.b.bitcast(self.slot(ir.ArrayType(I8, max(1, ref.packed.item.size))), POINTER)
            return Ref(ref.packed.item, nowhere, ref.moving, ref.still)
        return self.item(ref, self.b.load(good))

    def move(self, target: ir.Value, source: ir.Value, size: int | ir.Value) -> None:
        """Copy bytes; source and target may overlap."""
        move = self.unit.intrinsic("llvm.memmove.p0.p0.i64", ir.VoidType(), [POINTER, POINTER, I64, I1])
        self.b.call(move, [target, source, I64(size) if isinstance(size, int) else size, I1(0)])

    def copy(self, target: ir.Value, source: ir.Value, size: int | ir.Value) -> None:
        """Copy bytes; source and target must not overlap."""
        copy = self.unit.intrinsic("llvm.memcpy.p0.p0.i64", ir.VoidType(), [POINTER, POINTER, I64, I1])
        self.b.call(copy, [target, source, I64(size) if isinstance(size, int) else size, I1(0)])

    def clear(self, target: ir.Value, size: ir.Value) -> None:
        """Fill bytes with zeros."""
        fill = self.unit.intrinsic("llvm.memset.p0.i64", ir.VoidType(), [POINTER, I8, I64, I1])
        self.b.call(fill, [target, I8(0), size, I1(0)])

    def order(self, packed: Packed, one: ir.Value, other: ir.Value) -> ir.Value:
        """Return a number below 0, 0 or above 0: whether one packed value comes before the other (spec.domain.types.order)."""
        result = self.slot(I64, ZERO)
        out = self.code.append_basic_block("ordered")

        def scalar(place: Packed, one: ir.Value, other: ir.Value) -> None:
            a, b = self.load(place, one), self.load(place, other)
            differ, on = self.code.append_basic_block("differ"), self.code.append_basic_block("same")
            self.b.cbranch(self.b.icmp_signed("==", a, b), on, differ)
            self.b.position_at_end(differ)
            self.b.store(self.b.select(self.b.icmp_signed("<", a, b), I64(-1), ONE), result)
            self.b.branch(out)
            self.b.position_at_end(on)

        def compare(place: Packed, one: ir.Value, other: ir.Value) -> None:
            if place.fields is not None:
                for offset, field in place.fields.values():
                    compare(field, self.at(one, offset), self.at(other, offset))
            elif place.item is not None:
                item = place.item
                if place.head is not None:
                    scalar(place.head, one, other)
                start = place.head.size if place.head else 0
                self.loop(
                    ZERO,
                    self.length(Ref(place, one)),
                    lambda now: compare(
                        item,
                        self.at(self.at(one, start), self.b.mul(now, I64(item.size))),
                        self.at(self.at(other, start), self.b.mul(now, I64(item.size))),
                    ),
                )
            else:
                scalar(place, one, other)

        compare(packed, one, other)
        self.b.branch(out)
        self.b.position_at_end(out)
        return self.b.load(result)

    def refresh(self, ref: Ref) -> None:
        """Write the initial values of a record."""
        self.copy(ref.pointer, self.b.bitcast(self.unit.template(ref.packed), POINTER), ref.packed.size)

    def invoke(self, compiled: Compiled, arguments: Sequence[Value]) -> list[ir.Value]:
        """Call a compiled function; return its integer results."""
        result = self.b.call(compiled.code, [*plain(arguments), self.fault])
        if compiled.results <= 1:
            return [result] * compiled.results
        return [self.b.extract_value(result, index) for index in range(compiled.results)]

    def predicate(self, function: Callable[..., Any], scope: dict[str, Value]) -> ir.Value:
        """Call a predicate with the values of its parameters by name; return its result as one bit."""
        arguments = [scope[name] for name in language.parameters_of(function)]
        compiled = self.unit.function(function, tuple(shape_of(value) for value in arguments))
        (result,) = self.invoke(compiled, arguments)
        return self.b.icmp_signed("!=", result, ZERO)

    def judged(self, function: Callable[..., Any], scope: dict[str, Value], *whose: str | int) -> ir.Value:
        """Return the result of a predicate, and count for coverage how often it is asked and how often it holds."""
        result = self.predicate(function, scope)
        self.tally_answer(result, *whose, function.__name__)
        return result

    def tally_answer(self, result: ir.Value, *whose: str | int) -> None:
        """Count for coverage that a predicate is asked, and whether it holds."""
        self.tally("asked", *whose)
        if self.unit.covering:
            self.tally("held", *whose, by=self.b.zext(result, I64))

    def tally(self, *counted: str | int, by: ir.Value = ONE) -> None:
        """Add to a counter, if coverage is measured."""
        if self.unit.covering:
            cell = self.unit.tally(counted)
            self.b.store(self.b.add(self.b.load(cell), by), cell)

    def effect(self, function: Callable[..., Any], scope: dict[str, Value]) -> None:
        """Call an effect with the values of its parameters by name."""
        arguments = [scope[name] for name in language.parameters_of(function)]
        self.invoke(self.unit.function(function, tuple(shape_of(value) for value in arguments)), arguments)

    def loop(
        self,
        start: ir.Value,
        stop: ir.Value,
        body: Callable[[ir.Value], None],
        jumps: list[tuple[ir.Block, ir.Block]] | None = None,
    ) -> None:
        """Run the body for start, start + 1, ..., stop - 1; in the body, `jumps` ends with the targets of continue and break."""
        counter = self.slot(I64, start)
        head, inside, step, out = (self.code.append_basic_block(name) for name in ("head", "body", "step", "out"))
        self.b.branch(head)
        self.b.position_at_end(head)
        now = self.b.load(counter)
        self.b.cbranch(self.b.icmp_signed("<", now, stop), inside, out)
        self.b.position_at_end(inside)
        if jumps is not None:
            jumps.append((step, out))
        body(now)
        if jumps is not None:
            jumps.pop()
        if not self.b.block.is_terminated:
            self.b.branch(step)
        self.b.position_at_end(step)
        self.b.store(self.b.add(now, ONE), counter)
        self.b.branch(head)
        self.b.position_at_end(out)
