"""Compiles the quick codec of a search: it packs records into light rows (layout.py), without the room of wide sequences.

Depends on the packed form of states, not on rules. Bytes are copied as they are: a row takes more bytes than one of bits
(packing.py), and a fraction of the time.
"""

from __future__ import annotations

from llvmlite import ir

from kafka_spec.model_check.layout import Layout
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.hashing import Hashing
from kafka_spec.model_check.lowering.unpacking import Unpack
from kafka_spec.model_check.lowering.values import I32, I64, POINTER, ZERO, Ref


class _LightRows(Hashing):
    """What writing and reading of light rows share."""

    layout: Layout
    end: ir.Value
    """The bytes of the row so far."""

    def begin(self, layout: Layout) -> None:
        """Allocate the place in the row, in bytes."""
        self.layout, self.record_bytes = layout, layout.size
        self.end = self.slot(I64)

    def start_items(self) -> None:
        """Go to the first item of a row."""
        self.b.store(I64(sum(size for _, size in self.layout.always)), self.end)

    def next_item(self, row: ir.Value, size: int) -> ir.Value:
        """Return the address of the next item of a row, of so many bytes, and pass it."""
        there = self.b.load(self.end)
        self.b.store(self.b.add(there, I64(size)), self.end)
        return self.at(row, there)


class LightPack(_LightRows):
    """pack(states, places, count, rows, sizes): writes the light rows of the records at some places; returns the bytes of all."""

    def __init__(self, compiler: Compiler, layout: Layout, counter: ir.IntType) -> None:
        types = [POINTER, I32.as_pointer(), I64, POINTER, counter.as_pointer()]
        code = ir.Function(compiler.module, ir.FunctionType(I64, types), "pack")
        super().__init__(compiler, code, None)
        states, places, count, rows, sizes = code.args
        self.begin(layout)
        written = self.slot(I64, ZERO)

        def record(now: ir.Value) -> None:
            place, to = self.b.zext(self.b.load(self.b.gep(places, [now])), I64), self.b.load(written)
            self.write(self.at(rows, to), self.at(states, self.b.mul(place, I64(layout.size))))
            self.b.store(self.b.trunc(self.b.load(self.end), counter), self.b.gep(sizes, [now]))
            self.b.store(self.b.add(to, self.b.load(self.end)), written)

        self.loop(ZERO, count, record)
        self.b.ret(self.b.load(written))

    def write(self, row: ir.Value, state: ir.Value) -> None:
        """Emit the writing of one row."""
        at = 0
        for offset, size in self.layout.always:
            self.copy(self.at(row, at), self.at(state, offset), size)
            at += size
        self.start_items()
        for offset, place in self.layout.wide:
            sequence = Ref(place, self.at(state, offset))

            def item(now: ir.Value, sequence: Ref = sequence) -> None:
                one = self.item(sequence, now)
                self.copy(self.next_item(row, one.packed.size), one.pointer, one.packed.size)

            self.loop(ZERO, self.length(sequence), item)


class LightUnpack(_LightRows, Unpack):
    """`unpack` of light rows."""

    def restore(self, state: ir.Value, row: ir.Value) -> ir.Value:
        """Emit the writing of one record over zeros; return the bytes of its row."""
        at = 0
        for offset, size in self.layout.always:
            self.copy(self.at(state, offset), self.at(row, at), size)
            at += size
        self.start_items()
        for offset, place in self.layout.wide:
            assert place.head is not None and place.item is not None
            sequence = Ref(place, self.at(state, offset))
            length, most = self.length(sequence), I64((place.size - place.head.size) // place.item.size)

            def item(now: ir.Value, sequence: Ref = sequence) -> None:
                one = self.item(sequence, now)
                self.copy(one.pointer, self.next_item(row, one.packed.size), one.packed.size)

            # a damaged row may tell a length that does not fit
            self.loop(ZERO, self.b.select(self.b.icmp_unsigned("<", length, most), length, most), item)
        return self.b.load(self.end)
