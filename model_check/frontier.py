"""Where the states of the last level wait to be expanded: in memory, or in the files of a state-dir; packed where they are many.

Depends on bytes, not on the order of the search. A level is read in pieces, as whole records with their fingerprints.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.arrays import Bytes, Words, address
from kafka_spec.model_check.checkpoints import Checkpoints
from kafka_spec.model_check.codec import Codec
from kafka_spec.model_check.shards import Columns, PackedRecords, Records, Shard

PACK_FROM = 256 << 20
"""Bytes of a level from which on it is packed; a state-dir holds packed states only."""
TIGHTEN_FROM = 1 << 30
"""Bytes of the light rows of a level from which on it is packed tighter."""
PIECE = 1 << 14
"""States that are packed, or written, at a time."""

Together = Callable[[Sequence[Callable[[], None]]], None]
"""Runs some jobs, on several threads if there are any."""


@dataclass(frozen=True)
class Level:
    """How the states of a level were first reached: for each, in order, the index of its parent and the number of the action."""

    parents: npt.NDArray[np.uint32]
    actions: npt.NDArray[Any]


def way_to(history: Sequence[Level | None], index: int) -> tuple[int, list[int]]:
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

    def of(self, row: int, sizes: Callable[[int, int], Any]) -> int:
        """Return where a row begins; `sizes` returns those of a range of rows."""
        near = row // self.EVERY
        return int(self.known[near]) + int(sizes(near * self.EVERY, row).sum(dtype=np.uint64))


class InMemory:
    """A level in memory. Its room is that of the level before, which has been expanded when it is replaced."""

    def __init__(self, record_bytes: int, action_bits: int, traced: bool) -> None:
        self.records, self.action_bits, self.traced = Records(record_bytes, action_bits), action_bits, traced

    def read(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the states begin..end-1 with their fingerprints."""
        return self.records.states[begin:end], self.records.marks[begin:end]

    def marks(self, count: int) -> Words:
        """Return a copy of the fingerprints."""
        return self.records.marks[:count].copy()

    def replace(self, shards: Sequence[Shard], level: int, together: Together) -> Level | None:
        """Take the ordered new states of the shards; return how they were reached, if that is kept."""
        into = self.records

        def settle(shard: Shard, at: int, end: int) -> None:
            assert isinstance(shard.new, Records)
            shard.program.gather(address(shard.order), end - at, address(shard.new.states), address(into.states[at:]))

        total, how = settled(into, shards, settle, self.traced, together)
        into.release(total, into.count)
        into.count = total
        return how


class PackedInMemory:
    """A level in memory, packed. Its room is that of the level before."""

    def __init__(self, codec: Codec, old: InMemory | PackedInMemory) -> None:
        """Pack a level, or pack it with another codec."""
        self.codec = codec
        self.action_bits: int = old.action_bits
        self.traced: bool = old.traced
        self.records = PackedRecords(codec, old.action_bits)
        count = old.records.count
        self.records.marks[:count] = old.records.marks[:count]
        for begin in range(0, count, PIECE):
            states, _ = old.read(begin, min(count, begin + PIECE))
            self.records.add(states, np.arange(len(states), dtype=np.uint32))
            self.records.count += len(states)
        self.find_starts()

    def find_starts(self) -> None:
        """Note where rows begin."""
        sizes, count = self.records.sizes, self.records.count
        self.starts = Starts(sizes[at : min(count, at + PIECE)] for at in range(0, count, PIECE))

    def read(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the states begin..end-1 with their fingerprints, unpacked, into `room` if it is given."""
        marks = self.records.marks[begin:end]
        start = self.starts.of(begin, lambda first, last: self.records.sizes[first:last])
        return self.codec.unpack(self.records.rows[start:], self.records.used - start, marks, room), marks

    def marks(self, count: int) -> Words:
        """Return a copy of the fingerprints."""
        return self.records.marks[:count].copy()

    def replace(self, shards: Sequence[Shard], level: int, together: Together) -> Level | None:
        """Take the ordered new states of the shards; return how they were reached, if that is kept."""
        into = self.records
        places = np.cumsum([0, *(used_by(shard) for shard in shards)]).tolist()
        begins = dict(zip((shard.number for shard in shards), places, strict=False))

        def settle(shard: Shard, at: int, end: int) -> None:
            new = shard.new
            assert isinstance(new, PackedRecords)
            self.codec.gather(new.rows, new.starts(), shard.order, into.rows[begins[shard.number] :], into.sizes[at:end])

        total, how = settled(into, shards, settle, self.traced, together)
        used = sum(used_by(shard) for shard in shards)
        into.release(total, into.count, used)
        into.count, into.used = total, used
        self.find_starts()
        return how


def used_by(shard: Shard) -> int:
    """Return the bytes of the new packed states of a shard."""
    assert isinstance(shard.new, PackedRecords)
    return shard.new.used


def settled(
    into: Columns, shards: Sequence[Shard], settle: Callable[[Shard, int, int], None], traced: bool, together: Together
) -> tuple[int, Level | None]:
    """Let `settle` take the ordered new states of each shard to a range of places, with their fingerprints.

    Returns their number, and how they were reached, if that is kept.
    """
    starts = np.cumsum([0, *(shard.new.count for shard in shards)]).tolist()
    kept = starts[-1] if traced else 0
    parents, actions = np.empty(kept, np.uint32), np.empty(kept, into.actions.dtype)

    def job(shard: Shard, at: int) -> None:
        new, order, end = shard.new, shard.order, at + shard.new.count
        settle(shard, at, end)
        np.take(new.marks, order, out=into.marks[at:end], mode="clip")
        if kept:
            np.take(new.parents, order, out=parents[at:end], mode="clip")
            np.take(new.actions, order, out=actions[at:end], mode="clip")

    # the shards differ in the leading bits, so their concatenation is in order
    together([functools.partial(job, shard, at) for shard, at in zip(shards, starts, strict=False)])
    return starts[-1], Level(parents, actions) if traced else None


class OnDisk:
    """A level in the files of a state-dir, always packed."""

    def __init__(self, folder: Checkpoints, codec: Codec, action_bits: int, traced: bool) -> None:
        self.folder, self.codec, self.traced = folder, codec, traced
        self.kind = np.dtype(f"u{action_bits // 8}")
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

    def replace(self, shards: Sequence[Shard], level: int, together: Together) -> Level | None:
        """Write the ordered new states of the shards; return how they were reached, if that is kept."""
        self.folder.write(level, "states", (row for shard in shards for row in self.gathered(shard)))
        for name in ("sizes", "marks", *(("parents", "actions") if self.traced else ())):
            self.folder.write(level, name, (getattr(s.new, name)[p] for s in shards for p in s.pieces(PIECE)))
        self.open(level, sum(shard.new.count for shard in shards))
        return self.history(level) if self.traced else None

    def gathered(self, shard: Shard) -> Iterator[Bytes]:
        """Yield the rows of a shard in their order, in pieces."""
        new = shard.new
        assert isinstance(new, PackedRecords)
        starts, sizes = new.starts(), np.empty(PIECE, self.codec.counter)
        room = np.empty(PIECE * self.codec.most, np.uint8)
        for places in shard.pieces(PIECE):
            yield room[: self.codec.gather(new.rows, starts, places, room, sizes)]

    def open(self, level: int, states: int) -> None:
        """Read a level that is written."""
        self.level = level
        self.starts = Starts(self.sizes(at, min(states, at + PIECE)) for at in range(0, states, PIECE))

    def history(self, level: int) -> Level:
        """Return how the states of a level were reached; it stays in its files."""
        return Level(self.folder.mapped(level, "parents", np.uint32), self.folder.mapped(level, "actions", self.kind))


Frontier: TypeAlias = InMemory | PackedInMemory | OnDisk
