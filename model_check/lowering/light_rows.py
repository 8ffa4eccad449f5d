"""Compiles the light rows of records (layout.py): writing one with its fingerprint, and restoring a record.

Depends on the packed form of states, not on rules. Where there are no wide sequences a record is its own light row.

Theory of operation. A row consists of words, and each is read from the record, so the hash takes them from there while they are
written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llvmlite import ir

from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.hashing import Hashing
from kafka_spec.model_check.lowering.values import I64, POINTER, WORD, ZERO, Ref
from kafka_spec.model_check.record.layout import GROUP, Packed, RecordLayout

SIZE = ir.IntType(32)
"""The number that counts the bytes of a row."""
PAIR = ir.LiteralStructType([I64, I64])


class LightRows:
    """The functions of a module for the light rows of a layout; `fingerprint(record, seed)`.

    Where there are wide sequences, too: write(record, row, seed) returns the bytes of the row and its hash, the fingerprint;
    restore(row, record) returns the bytes of the row. All of them are functions, since their calls from each rule would repeat
    them.
    """

    def __init__(self, compiler: Compiler, layout: RecordLayout) -> None:
        self.layout = layout
        if layout.wide:
            self.write = _Write(compiler, layout).code
            self.restore = _Restore(compiler, layout).code
        self.fingerprint = _Fingerprint(compiler, layout, self).code

    def room(self, code: Emitter) -> ir.Value:
        """Return room for a record in the frame of a function."""
        return code.b.bitcast(code.slot(ir.ArrayType(I64, self.layout.size // 8)), POINTER)

    def reader(self, code: Emitter, rows: ir.Value) -> Callable[[], ir.Value]:
        """Return what emits the reading of the next of some rows, and returns the record, in room that the next one uses again."""
        record, read = self.room(code), code.slot(I64, ZERO)

        def following() -> ir.Value:
            there = code.b.load(read)
            size = code.b.call(self.restore, [code.at(rows, there), record])
            code.b.store(code.b.add(there, size), read)
            return record

        return following


def _internal(compiler: Compiler, result: ir.Type, name: str, *types: ir.Type) -> ir.Function:
    code = ir.Function(compiler.module, ir.FunctionType(result, list(types)), name)
    code.linkage = "internal"
    code.attributes.add("nounwind")
    return code


def _words(size: int) -> int:
    """Return how many words hold so many bytes."""
    return -(-size // 8)


class _OfRow(Hashing):
    """What the functions of rows share: the parts of a record and of its row."""

    layout: RecordLayout

    def parts(self) -> Iterator[tuple[int, int, int]]:
        """Yield the parts that are always there: the offset in the record, the offset in the row, the bytes."""
        at = 0
        for offset, size in self.layout.always:
            yield offset, at, size
            at += 8 * _words(size)

    def sequences(self, record: ir.Value) -> list[Ref]:
        """Return the wide sequences of a record."""
        return [Ref(place, self.at(record, offset)) for offset, place in self.layout.wide]

    def count(self, sequence: Ref) -> ir.Value:
        """Return how many items a sequence has; a damaged record may tell a length that does not fit."""
        length, most = self.length(sequence), I64(_capacity(sequence.packed))
        return self.b.select(self.b.icmp_unsigned("<", length, most), length, most)

    def each_word(self, record: ir.Value, offset: int | None, size: int) -> Iterator[ir.Value]:
        """Yield the words of a part, the last one padded with zeros; `offset` is its place in a record, if it is in one."""
        for begin in range(0, size, 8):
            left = size - begin
            if left >= 8:
                yield self.read(record, begin)
            elif offset is not None and offset + begin + 8 <= self.layout.size:
                yield self.b.and_(self.read(record, begin), I64((1 << 8 * left) - 1))
            else:
                value = ZERO
                for byte in range(left):
                    one = self.b.zext(self.b.load(self.at(record, begin + byte)), I64)
                    value = self.b.or_(value, self.b.shl(one, I64(8 * byte)))
                yield value


def _capacity(place: Packed) -> int:
    assert place.head is not None and place.item is not None
    return (place.size - place.head.size) // place.item.size


class _Write(_OfRow):
    """light.write(record, row, seed): writes the row of a record; returns its bytes and its hash."""

    def __init__(self, compiler: Compiler, layout: RecordLayout) -> None:
        super().__init__(compiler, _internal(compiler, PAIR, "light.write", POINTER, POINTER, I64), None)
        self.layout = layout
        record, row, self.seed = self.code.args
        for argument in (record, row):
            argument.add_attribute("noalias")
        words = [word for offset, _, size in self.parts() for word in self.each_word(self.at(record, offset), offset, size)]
        words += [ZERO] * (layout.row_head // 8 - len(words))
        self.put(row, words)
        lanes = [self.seed, self.seed, self.seed]
        for at in range(0, len(words), GROUP // 8):
            lanes = self.lanes(words[at : at + GROUP // 8], lanes)
        end = self.slot(I64, I64(layout.row_head))
        for sequence, (offset, place) in zip(self.sequences(record), layout.wide, strict=True):
            assert place.item is not None
            item, last = place.item.size, offset + place.size - place.item.size

            def one(now: ir.Value, sequence: Ref = sequence, item: int = item, last: int = last) -> None:
                there = self.b.load(end)
                self.put(self.at(row, there), list(self.each_word(self.item(sequence, now).pointer, last, item)))
                self.b.store(self.b.add(there, I64(8 * _words(item))), end)

            self.loop(ZERO, self.count(sequence), one)
        size = self.b.load(end)
        mark = self.hash_on(row, layout.row_head, size, lanes)
        self.b.ret(self.b.insert_value(self.b.insert_value(ir.Constant(PAIR, ir.Undefined), size, 0), mark, 1))

    def put(self, row: ir.Value, words: list[ir.Value]) -> None:
        """Write words."""
        for number, word in enumerate(words):
            self.b.store(word, self.b.bitcast(self.at(row, 8 * number), WORD)).align = 1


class _Restore(_OfRow):
    """light.restore(row, record): writes the record of a row; returns the bytes of the row."""

    def __init__(self, compiler: Compiler, layout: RecordLayout) -> None:
        super().__init__(compiler, _internal(compiler, I64, "light.restore", POINTER, POINTER), None)
        self.layout = layout
        row, record = self.code.args
        for argument in (row, record):
            argument.add_attribute("noalias")
        self.clear(record, I64(layout.size))
        for offset, at, size in self.parts():
            self.copy(self.at(record, offset), self.at(row, at), size)
        end = self.slot(I64, I64(layout.row_head))
        for sequence in self.sequences(record):
            assert sequence.packed.item is not None

            def one(now: ir.Value, sequence: Ref = sequence, size: int = sequence.packed.item.size) -> None:
                there = self.b.load(end)
                self.copy(self.item(sequence, now).pointer, self.at(row, there), size)
                self.b.store(self.b.add(there, I64(8 * _words(size))), end)

            self.loop(ZERO, self.count(sequence), one)
        self.b.ret(self.b.load(end))


class _Fingerprint(Hashing):
    """fingerprint(record, seed)."""

    def __init__(self, compiler: Compiler, layout: RecordLayout, rows: LightRows) -> None:
        super().__init__(compiler, _internal(compiler, I64, "fingerprint", POINTER, I64), None)
        record, self.seed = self.code.args
        self.record_bytes = layout.size
        if layout.wide:
            row = self.b.bitcast(self.slot(ir.ArrayType(I64, layout.most // 8)), POINTER)
            self.b.ret(self.b.extract_value(self.b.call(rows.write, [record, row, self.seed]), 1))
        else:
            self.b.ret(self.hash(record))


class Lighten(Emitter):
    """lighten(records, count, rows, sizes): writes the light rows of records, one after the other; returns the bytes of all.

    `sizes` gets the bytes of each.
    """

    def __init__(self, compiler: Compiler, layout: RecordLayout, light: LightRows) -> None:
        types = [POINTER, I64, POINTER, SIZE.as_pointer()]
        super().__init__(compiler, ir.Function(compiler.module, ir.FunctionType(I64, types), "lighten"), None)
        records, count, room, sizes = self.code.args
        written = self.slot(I64, ZERO)

        def record(now: ir.Value) -> None:
            there = self.b.load(written)
            state = self.at(records, self.b.mul(now, I64(layout.size)))
            size = self.b.extract_value(self.b.call(light.write, [state, self.at(room, there), ZERO]), 0)
            self.b.store(self.b.trunc(size, SIZE), self.b.gep(sizes, [now]))
            self.b.store(self.b.add(there, size), written)

        self.loop(ZERO, count, record)
        self.b.ret(self.b.load(written))


class Restore(Emitter):
    """restore(rows, count, records): restores the records of light rows that stand one after the other; returns their bytes."""

    def __init__(self, compiler: Compiler, layout: RecordLayout, light: LightRows) -> None:
        types = [POINTER, I64, POINTER]
        super().__init__(compiler, ir.Function(compiler.module, ir.FunctionType(I64, types), "restore"), None)
        room, count, records = self.code.args
        read = self.slot(I64, ZERO)

        def record(now: ir.Value) -> None:
            there, state = self.b.load(read), self.at(records, self.b.mul(now, I64(layout.size)))
            size = self.b.call(light.restore, [self.at(room, there), state])
            self.b.store(self.b.add(there, size), read)

        self.loop(ZERO, count, record)
        self.b.ret(self.b.load(read))
