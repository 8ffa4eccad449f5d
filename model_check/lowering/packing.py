"""Compiles the codec of a search: it packs records of bytes into rows of bits, by the domains of their fields at given bounds.

Depends on the packed form of states, not on rules. A field takes as many bits as its values need, a sequence only its length and
the items that it has, and a row is a whole number of bytes. Rows stand one after the other and are read in turn, since only a row
itself says how long it is. Neighbouring numbers are gathered in a word, which is written, or read, at once. Every record that is
unpacked is compared with its fingerprint, so neither a value outside its domain nor damage to a row changes a state in silence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from llvmlite import ir

from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.light_rows import LightRows
from kafka_spec.model_check.lowering.values import I8, I64, POINTER, WORD, ZERO, Ref
from kafka_spec.model_check.record.layout import Packed, RecordLayout
from kafka_spec.spec.language.domain import Array, Scalar, Sequence

NUMBER = ir.IntType(32).as_pointer()
SPARE = 8
"""Bytes behind the longest row that may be read with it, as part of a word."""
REACH = 57
"""Bits that a word of 64 bits holds at any place of a byte."""


def bits_of(place: Packed) -> int:
    """Return the most bits that a value takes in a row."""
    if place.fields is not None:
        return sum(bits_of(field) for _, field in place.fields.values())
    if isinstance(place.type, Scalar):
        return (place.type.high - place.type.low).bit_length()
    assert isinstance(place.type, Array | Sequence) and place.item is not None
    if place.head is None:
        return count_of(place) * bits_of(place.item)
    return bits_of(place.head) + count_of(place) * bits_of(place.item)


def count_of(place: Packed) -> int:
    """Return the most items that an array or a sequence holds."""
    assert isinstance(place.type, Array | Sequence)
    return place.type.length if isinstance(place.type, Array) else place.type.capacity


def flat(place: Packed, offset: int = 0) -> Iterator[tuple[int, Packed]]:
    """Yield the numbers, arrays and sequences of a record in order, with their offsets; a sequence comes after its length."""
    if place.fields is not None:
        for at, field in place.fields.values():
            yield from flat(field, offset + at)
    else:
        if place.head is not None:
            yield offset, place.head
        yield offset, place


def packed_bytes(layout: RecordLayout) -> int:
    """Return the most bytes of a row."""
    return max(1, -(-bits_of(layout.root) // 8))


def size_bits(most: int) -> int:
    """Return the bits of the number that counts the bytes of a row, which are so many at most."""
    return next(bits for bits in (8, 16, 32) if most < 1 << bits)


def codec_text(layout: RecordLayout) -> str:
    """Return the text of the module with `pack` and `unpack` for the records of a layout."""
    compiler = Compiler(layout.root, ())
    _Pack(compiler, layout)
    _Unpack(compiler, layout, LightRows(compiler, layout).fingerprint)
    return str(compiler.module)


class _Codec(Emitter, ABC):
    """What packing and unpacking share: the walk over a record, in runs of numbers that one word holds."""

    room: ir.Value
    """The row."""

    def begin(self, layout: RecordLayout) -> None:
        """Allocate the place in the row, in bits."""
        self.most = packed_bytes(layout)
        self.place = self.slot(I64)

    def walk(self, place: Packed, record: ir.Value) -> None:
        """Emit what happens to a value that starts at the place in the row, which is behind it afterwards."""
        run: list[tuple[Packed, ir.Value, int]] = []
        used = 0
        for offset, part in flat(place):
            pointer, bits = self.at(record, offset), bits_of(part)
            is_number = isinstance(part.type, Scalar)
            if not is_number or used + bits > REACH:
                self.run(run, used)
                run, used = [], 0
            if is_number:
                run.append((part, pointer, used))
                used += bits
                continue
            item = part.item
            assert item is not None

            def inside(index: ir.Value, part: Packed = part, item: Packed = item, of: ir.Value = pointer) -> None:
                self.walk(item, self.item(Ref(part, of), index).pointer)

            length, most = self.length(Ref(part, pointer)), I64(count_of(part))
            # a damaged row may tell a length that does not fit
            self.loop(ZERO, self.b.select(self.b.icmp_unsigned("<", length, most), length, most), inside)
        self.run(run, used)

    def run(self, run: list[tuple[Packed, ir.Value, int]], used: int) -> None:
        """Emit what happens to neighbouring numbers: the packed form, the address and the first bit of each; `used`: all bits."""
        if run:
            at = self.b.load(self.place)
            word = self.b.bitcast(self.at(self.room, self.b.lshr(at, I64(3))), WORD)
            self.numbers(run, word, self.b.and_(at, I64(7)))
            self.b.store(self.b.add(at, I64(used)), self.place)

    @abstractmethod
    def numbers(self, run: list[tuple[Packed, ir.Value, int]], word: ir.Value, first: ir.Value) -> None:
        """Emit what happens to numbers in a word of the row, from a bit of it on."""

    def bytes_used(self) -> ir.Value:
        """Return the bytes up to the place in the row."""
        size = self.b.lshr(self.b.add(self.b.load(self.place), I64(7)), I64(3))
        return self.b.select(self.b.icmp_unsigned(">", size, I64(1)), size, I64(1))

    def lowest(self, packed: Packed) -> ir.Value:
        assert isinstance(packed.type, Scalar)
        return I64(packed.type.low)


class _Pack(_Codec):
    """pack(states, places, count, rows, sizes): packs the records at some places one after the other; returns the bytes of all."""

    def __init__(self, compiler: Compiler, layout: RecordLayout) -> None:
        counter = ir.IntType(size_bits(packed_bytes(layout)))
        types = [POINTER, NUMBER, I64, POINTER, counter.as_pointer()]
        code = ir.Function(compiler.module, ir.FunctionType(I64, types), "pack")
        super().__init__(compiler, code, None)
        states, places, count, rows, sizes = code.args
        self.begin(layout)
        self.room = self.b.bitcast(self.slot(ir.ArrayType(I8, self.most + SPARE)), POINTER)
        self.clear(self.room, I64(self.most + SPARE))
        written = self.slot(I64, ZERO)

        def record(now: ir.Value) -> None:
            state = self.b.zext(self.b.load(self.b.gep(places, [now])), I64)
            self.b.store(ZERO, self.place)
            self.walk(layout.root, self.at(states, self.b.mul(state, I64(layout.size))))
            size, at = self.bytes_used(), self.b.load(written)
            self.copy(self.at(rows, at), self.room, size)
            self.clear(self.room, size)
            self.b.store(self.b.trunc(size, counter), self.b.gep(sizes, [now]))
            self.b.store(self.b.add(at, size), written)

        self.loop(ZERO, count, record)
        self.b.ret(self.b.load(written))

    def numbers(self, run: list[tuple[Packed, ir.Value, int]], word: ir.Value, first: ir.Value) -> None:
        """Add numbers to the word that holds their bits."""
        value = ZERO
        for packed, pointer, shift in run:
            number = self.b.sub(self.load(packed, pointer), self.lowest(packed))
            value = self.b.or_(value, self.b.shl(number, I64(shift)))
        old = self.b.load(word)
        old.align = 1
        self.b.store(self.b.or_(old, self.b.shl(value, first)), word).align = 1


class _Unpack(_Codec):
    """unpack(rows, size, marks, known, count, seed, states): restores records from rows of so many bytes.

    Returns the first whose fingerprint is another, or that has no row, or -1. If no fingerprints are known, they are written.
    """

    def __init__(self, compiler: Compiler, layout: RecordLayout, fingerprint: ir.Function) -> None:
        types = [POINTER, I64, WORD, I64, I64, I64, POINTER]
        code = ir.Function(compiler.module, ir.FunctionType(I64, types), "unpack")
        super().__init__(compiler, code, None)
        rows, size, marks, known, count, seed, states = code.args
        self.begin(layout)
        read = self.slot(I64, ZERO)

        def record(now: ir.Value) -> None:
            state, start, mark = self.at(states, self.b.mul(now, I64(layout.size))), self.b.load(read), self.b.gep(marks, [now])
            with self.b.if_then(self.b.icmp_unsigned(">=", start, size), likely=False):
                self.b.ret(now)
            self.clear(state, I64(layout.size))
            self.room = self.at(rows, start)
            self.b.store(ZERO, self.place)
            self.walk(layout.root, state)
            found = self.b.call(fingerprint, [state, seed])
            with self.b.if_then(self.b.icmp_signed("==", known, ZERO)):
                self.b.store(found, mark)
            with self.b.if_then(self.b.icmp_signed("!=", found, self.b.load(mark)), likely=False):
                self.b.ret(now)
            self.b.store(self.b.add(start, self.bytes_used()), read)

        self.loop(ZERO, count, record)
        self.b.ret(I64(-1))

    def numbers(self, run: list[tuple[Packed, ir.Value, int]], word: ir.Value, first: ir.Value) -> None:
        """Restore numbers from the word that holds their bits."""
        held = self.b.load(word)
        held.align = 1
        value = self.b.lshr(held, first)
        for packed, pointer, shift in run:
            mask = I64((1 << bits_of(packed)) - 1)
            number = self.b.add(self.b.and_(self.b.lshr(value, I64(shift)), mask), self.lowest(packed))
            narrow = self.b.trunc(number, ir.IntType(8 * packed.size))
            self.b.store(narrow, self.b.bitcast(pointer, narrow.type.as_pointer())).align = 1
