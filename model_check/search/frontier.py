"""Where the states of the last level wait to be expanded: in memory, or in the files of a state-dir; packed where they are many.

Depends on bytes, not on the order of the search. A level is read in pieces, as records or as their light rows, with their
fingerprints.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Bytes, Words
from kafka_spec.model_check.code.compiled import Code
from kafka_spec.model_check.code.row_codec import Codec
from kafka_spec.model_check.search.stored_states import LightRecords, PackedRecords, Records
from kafka_spec.model_check.store.checkpoints import Checkpoints

PACK_FROM = 256 << 20
"""Bytes of the records of a level from which on it is packed; a state-dir holds packed states only."""
PACK_ROWS_FROM = 512 << 20
"""The same for the light rows of a level, of which much fewer bytes are spared."""
PIECE = 1 << 14
"""States that are packed, or written, at a time."""


@dataclass(frozen=True)
class Level:
    """How the states of a level were first reached: for each, in order, the index of its parent and the number of the action."""

    parents: npt.NDArray[np.uint32]
    actions: npt.NDArray[Any]


def path_to(history: Sequence[Level | None], index: int) -> tuple[int, list[int]]:
    """Return the number of the initial state and the actions that first led to a state of the last level."""
    actions: list[int] = []
    for how in reversed(history):
        assert how is not None
        actions.insert(0, int(how.actions[index]))
        index = int(how.parents[index])
    return index, actions[1:]


class Starts:
    """Where rows of different lengths begin: for every row of some thousand, and from there by the sizes of the rows between."""

    EVERY = 1 << 10

    def __init__(self, sizes: Iterable[Any]) -> None:
        """Take the sizes of all rows, in pieces of EVERY rows, or multiples of it but for the last."""
        sums = [np.add.reduceat(some, np.arange(0, len(some), self.EVERY), dtype=np.uint64) for some in sizes if len(some)]
        self.known = np.cumsum(np.concatenate([np.zeros(1, np.uint64), *sums]), dtype=np.uint64)

    @classmethod
    def in_memory(cls, kept: LightRecords | PackedRecords) -> Starts:
        """Return where the rows of a level in memory begin."""
        return cls(kept.sizes[at : min(kept.count, at + PIECE)] for at in range(0, kept.count, PIECE))

    def of(self, row: int, sizes: Callable[[int, int], Any]) -> int:
        """Return where a row begins; `sizes` returns those of a range of rows."""
        near = row // self.EVERY
        return int(self.known[near]) + int(sizes(near * self.EVERY, row).sum(dtype=np.uint64))


Kept = TypeVar("Kept", Records, LightRecords, PackedRecords)


class TwoLevels(Generic[Kept]):
    """A level in memory, and the next one while it is found. When that becomes the frontier, they change their places."""

    now: Kept
    new: Kept

    def marks(self, count: int) -> Words:
        """Return a copy of the fingerprints."""
        return self.now.marks[:count].copy()

    def advance(self, level: int) -> Level | None:
        """Make the new states the frontier; return how they were reached, if that is kept."""
        self.now, self.new = self.new, self.now
        self.new.clear()
        return Level(*self.now.keep_ways()) if self.now.traced else None


Rows = TypeVar("Rows", LightRecords, PackedRecords)


class RowsInMemory(TwoLevels[Rows]):
    """Levels in memory whose rows have different lengths."""

    starts: Starts

    def start_of(self, row: int) -> int:
        """Return where a row of the frontier begins."""
        return self.starts.of(row, lambda first, last: self.now.sizes[first:last])

    def advance(self, level: int) -> Level | None:
        """Make the new states the frontier, and note where their rows begin; return how they were reached, if that is kept."""
        how = super().advance(level)
        self.starts = Starts.in_memory(self.now)
        return how


class Unpacking(abc.ABC):
    """A frontier of packed states."""

    program: Code
    large = False
    """It is packed already."""

    @abc.abstractmethod
    def read(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the states begin..end-1 with their fingerprints, unpacked, into `room` if it is given."""

    def rows(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the light rows of the states begin..end-1, and their fingerprints."""
        states, marks = self.read(begin, end, room)
        return self.program.rows_of(states), marks


class InMemory(TwoLevels[Records]):
    """Records in memory."""

    def __init__(self, program: Code, action_bits: int, traced: bool) -> None:
        self.program = program
        self.now: Records = Records(program.shape.record_bytes, action_bits, traced=traced)
        self.new: Records = Records(program.shape.record_bytes, action_bits, traced=traced)

    @property
    def large(self) -> bool:
        """Whether the frontier should be packed."""
        return self.now.count * self.program.shape.record_bytes > PACK_FROM

    def read(self, begin: int, end: int) -> tuple[Bytes, Words]:
        """Return the states begin..end-1 with their fingerprints."""
        return self.now.states[begin:end], self.now.marks[begin:end]

    def rows(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the light rows of the states begin..end-1, and their fingerprints."""
        return self.program.rows_of(self.now.states[begin:end]), self.now.marks[begin:end]


class LightInMemory(RowsInMemory[LightRecords]):
    """Light rows in memory."""

    def __init__(self, program: Code, action_bits: int, traced: bool) -> None:
        self.program = program
        self.now: LightRecords = LightRecords(action_bits, traced)
        self.new: LightRecords = LightRecords(action_bits, traced)

    @property
    def large(self) -> bool:
        """Whether the frontier should be packed."""
        return self.now.used > PACK_ROWS_FROM

    def read(self, begin: int, end: int) -> tuple[Bytes, Words]:
        """Return the states begin..end-1 with their fingerprints."""
        rows, marks = self.rows(begin, end)
        return self.program.records_of(rows, end - begin), marks

    def rows(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the light rows of the states begin..end-1, and their fingerprints."""
        start = self.start_of(begin)
        return self.now.rows[start : self.now.used], self.now.marks[begin:end]


class PackedInMemory(RowsInMemory[PackedRecords], Unpacking):
    """Packed states in memory."""

    def __init__(self, program: Code, codec: Codec, old: InMemory | LightInMemory) -> None:
        """Pack a level."""
        self.program, self.codec, count, action_bits = program, codec, old.now.count, 8 * old.now.actions.itemsize
        self.now: PackedRecords = PackedRecords(codec, action_bits, old.now.traced)
        self.new: PackedRecords = PackedRecords(codec, action_bits, old.now.traced)
        self.now.marks[:count] = old.now.marks[:count]
        for begin in range(0, count, PIECE):
            states, _ = old.read(begin, min(count, begin + PIECE))
            self.now.pack(states)
        self.starts = Starts.in_memory(self.now)

    def read(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the states begin..end-1 with their fingerprints, unpacked, into `room` if it is given."""
        marks = self.now.marks[begin:end]
        start = self.start_of(begin)
        return self.codec.unpack(self.now.rows[start:], self.now.used - start, marks, room), marks


class OnDisk(Unpacking):
    """A level in the files of a state-dir, always packed; the next one is in memory while it is found."""

    def __init__(self, folder: Checkpoints, program: Code, codec: Codec, action_bits: int, traced: bool) -> None:
        self.folder, self.program, self.codec, self.traced = folder, program, codec, traced
        self.new = PackedRecords(codec, action_bits, traced)
        self.level = -1

    def read(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the states begin..end-1 with their fingerprints, unpacked, into `room` if it is given."""
        marks = self.folder.read(self.level, "marks", begin, end, np.uint64)
        start, stop = (self.starts.of(row, self.sizes) for row in (begin, end))
        rows = np.empty(stop - start + self.codec.reach, np.uint8)
        rows[: stop - start] = self.folder.read(self.level, "states", start, stop, np.uint8)
        return self.codec.unpack(rows, stop - start, marks, room), marks

    def sizes(self, begin: int, end: int) -> npt.NDArray[Any]:
        """Return the bytes of the rows begin..end-1."""
        return self.folder.read(self.level, "sizes", begin, end, self.codec.counter)

    def marks(self, count: int) -> Words:
        """Return the fingerprints."""
        found: Words = self.folder.read(self.level, "marks", 0, count, np.uint64)
        return found

    def advance(self, level: int) -> Level | None:
        """Write the new states, and make them the frontier; return how they were reached, if that is kept."""
        new = self.new
        self.folder.write(level, "states", [new.rows[: new.used]])
        for name in ("sizes", "marks", *(("parents", "actions") if self.traced else ())):
            self.folder.write(level, name, [getattr(new, name)[: new.count]])
        self.open(level, new.count)
        new.clear()
        return self.history(level) if self.traced else None

    def open(self, level: int, states: int) -> None:
        """Read a level that is written."""
        self.level = level
        self.starts = Starts(self.sizes(at, min(states, at + PIECE)) for at in range(0, states, PIECE))

    def history(self, level: int) -> Level:
        """Return how the states of a level were reached; it stays in its files."""
        kind = self.new.actions.dtype
        return Level(self.folder.mapped(level, "parents", np.uint32), self.folder.mapped(level, "actions", kind))


Frontier: TypeAlias = InMemory | LightInMemory | PackedInMemory | OnDisk
