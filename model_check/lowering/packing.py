"""Compiles the codec of a search: it packs records of bytes into rows of bits, by the domains of their fields at given bounds.

Depends on the packed form of states, not on rules. A field takes as many bits as its values need, an item of a sequence beyond its
length is zeros, and a row is a whole number of bytes. Neighbouring numbers are gathered in a word, which is written, or read, at
once. Every record that is unpacked is compared with its fingerprint, so neither a value outside its domain nor damage to a row
changes a state in silence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

from llvmlite import ir

from kafka_spec.model_check.layout import Layout, Packed
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.hashing import Hashing
from kafka_spec.model_check.lowering.values import I8, I64, POINTER, WORD, ZERO, Ref
from kafka_spec.spec.domain import Array, Scalar, Sequence

NUMBER = ir.IntType(32).as_pointer()
REACH = 57
"""Bits that a word of 64 bits holds at any place of a byte."""


def bits_of(place: Packed) -> int:
    """Return the bits that a value takes in a row."""
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


def packed_bytes(layout: Layout) -> int:
    """Return the bytes of a row."""
    return max(1, -(-bits_of(layout.root) // 8))


def codec_text(layout: Layout) -> str:
    """Return the text of the module with `pack` and `unpack` for the records of a layout."""
    compiler = Compiler(layout.root, ())
    _Pack(compiler, layout)
    _Unpack(compiler, layout)
    return str(compiler.module)


class _Codec(Hashing, ABC):
    """What packing and unpacking share: the walk over a record, in runs of numbers that one word holds."""

    room: ir.Value
    """A row with a word behind it."""

    def begin(self, layout: Layout) -> None:
        """Allocate the room for one row."""
        self.layout, self.size, self.record_bytes = layout, packed_bytes(layout), layout.size
        self.room = self.b.bitcast(self.slot(ir.ArrayType(I8, self.size + 8)), POINTER)

    def walk(self, place: Packed, record: ir.Value, at: ir.Value) -> None:
        """Emit what happens to a value that starts at a bit of the row."""
        run: list[tuple[Packed, ir.Value, int]] = []
        used = 0
        for offset, part in flat(place):
            pointer, bits = self.at(record, offset), bits_of(part)
            is_number = isinstance(part.type, Scalar)
            if not is_number or used + bits > REACH:
                self.numbers(run, at)
                at, run, used = self.b.add(at, I64(used)), [], 0
            if is_number:
                run.append((part, pointer, used))
                used += bits
                continue
            item = part.item
            assert item is not None

            def inside(
                index: ir.Value, part: Packed = part, item: Packed = item, at: ir.Value = at, of: ir.Value = pointer
            ) -> None:
                self.walk(item, self.item(Ref(part, of), index).pointer, self.b.add(at, self.b.mul(index, I64(bits_of(item)))))

            length, most = self.length(Ref(part, pointer)), I64(count_of(part))
            # a damaged row may tell a length that does not fit
            self.loop(ZERO, self.b.select(self.b.icmp_unsigned("<", length, most), length, most), inside)
            at = self.b.add(at, I64(bits_of(item) * count_of(part)))
        self.numbers(run, at)

    @abstractmethod
    def numbers(self, run: list[tuple[Packed, ir.Value, int]], at: ir.Value) -> None:
        """Emit what happens to neighbouring numbers: the packed form, the address and the first bit of each, from a bit on."""

    def word(self, at: ir.Value) -> ir.Value:
        """Return the address of the word that a bit of the row is in."""
        return self.b.bitcast(self.at(self.room, self.b.lshr(at, I64(3))), WORD)

    def lowest(self, packed: Packed) -> ir.Value:
        assert isinstance(packed.type, Scalar)
        return I64(packed.type.low)


class _Pack(_Codec):
    """pack(states, places, count, rows): packs the records at some places one after the other."""

    def __init__(self, compiler: Compiler, layout: Layout) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(ir.VoidType(), [POINTER, NUMBER, I64, POINTER]), "pack")
        super().__init__(compiler, code, None)
        states, places, count, rows = code.args
        self.begin(layout)

        def record(now: ir.Value) -> None:
            place = self.b.zext(self.b.load(self.b.gep(places, [now])), I64)
            self.clear(self.room, I64(self.size + 8))
            self.walk(layout.root, self.at(states, self.b.mul(place, I64(layout.size))), ZERO)
            self.copy(self.at(rows, self.b.mul(now, I64(self.size))), self.room, self.size)

        self.loop(ZERO, count, record)
        self.b.ret_void()

    def numbers(self, run: list[tuple[Packed, ir.Value, int]], at: ir.Value) -> None:
        """Add numbers to the word that holds their bits."""
        value = ZERO
        for packed, pointer, shift in run:
            number = self.b.sub(self.load(packed, pointer), self.lowest(packed))
            value = self.b.or_(value, self.b.shl(number, I64(shift)))
        if run:
            word = self.word(at)
            old = self.b.load(word)
            old.align = 1
            self.b.store(self.b.or_(old, self.b.shl(value, self.b.and_(at, I64(7)))), word).align = 1


class _Unpack(_Codec):
    """unpack(rows, marks, count, seed, states): restores records; returns the first whose fingerprint is another, or -1."""

    def __init__(self, compiler: Compiler, layout: Layout) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(I64, [POINTER, WORD, I64, I64, POINTER]), "unpack")
        super().__init__(compiler, code, None)
        rows, marks, count, self.seed, states = code.args
        self.begin(layout)
        self.clear(self.room, I64(self.size + 8))

        def record(now: ir.Value) -> None:
            state = self.at(states, self.b.mul(now, I64(layout.size)))
            self.copy(self.room, self.at(rows, self.b.mul(now, I64(self.size))), self.size)
            self.clear(state, I64(layout.size))
            self.walk(layout.root, state, ZERO)
            same = self.b.icmp_signed("==", self.hash(state), self.b.load(self.b.gep(marks, [now])))
            with self.b.if_then(self.b.not_(same), likely=False):
                self.b.ret(now)

        self.loop(ZERO, count, record)
        self.b.ret(I64(-1))

    def numbers(self, run: list[tuple[Packed, ir.Value, int]], at: ir.Value) -> None:
        """Restore numbers from the word that holds their bits."""
        if not run:
            return
        word = self.b.load(self.word(at))
        word.align = 1
        value = self.b.lshr(word, self.b.and_(at, I64(7)))
        for packed, pointer, shift in run:
            mask = I64((1 << bits_of(packed)) - 1)
            number = self.b.add(self.b.and_(self.b.lshr(value, I64(shift)), mask), self.lowest(packed))
            narrow = self.b.trunc(number, ir.IntType(8 * packed.size))
            self.b.store(narrow, self.b.bitcast(pointer, narrow.type.as_pointer())).align = 1
