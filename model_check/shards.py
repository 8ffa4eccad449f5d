"""The storage of a search: records of a level, shards of the set of seen fingerprints, candidates of a slice.

Depends on bytes and the compiled functions that fill them, not on the order of the search.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check import counted
from kafka_spec.model_check.arrays import Words, address, memory, reserve
from kafka_spec.model_check.code import Code
from kafka_spec.model_check.codec import Codec
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.kernel import SLACK

FULL, DENSE = 0.7, 0.92
"""The load at which a small and a large table of fingerprints grows."""
LARGE = 1 << 24
"""The slots from which on a table is large: it grows by a sixteenth, and a state takes 8.7 to 9.2 bytes. A small one doubles."""

RELEASED = 256 << 20
"""Bytes of states from which on memory is returned to the system where they stood."""


class Columns:
    """Storage for the fingerprints, parents and actions of the states of a level; what it keeps of states is up to its kind.

    The address space for as many states as the machine's memory can hold is reserved at once. The system allocates memory at the
    first write, so that growth needs no copy; the memory is reused for the next levels. Memory is allocated in large pages if
    `huge`.
    """

    def __init__(self, room: int, action_bits: int, huge: bool = True) -> None:
        self.room = room
        self.marks: Words = reserve(room, np.uint64, huge)
        self.parents: npt.NDArray[np.uint32] = reserve(room, np.uint32, huge)
        self.actions: npt.NDArray[Any] = reserve(room, np.dtype(f"u{action_bits // 8}"), huge)
        self.count = 0


class Records(Columns):
    """Storage for whole states. With `room`, the largest number of states, memory is allocated in small pages."""

    def __init__(self, record_bytes: int, action_bits: int, room: int | None = None) -> None:
        most = min(memory() // (record_bytes + 16), (1 << 32) - 1)
        super().__init__(most if room is None else room, action_bits, huge=room is None)
        self.states: npt.NDArray[np.uint8] = reserve(self.room * record_bytes, np.uint8, room is None).reshape(-1, record_bytes)

    def release(self, begin: int, end: int) -> None:
        """Return the memory of the states begin..end-1 to the system, if that is more than RELEASED bytes."""
        if (end - begin) * self.states.shape[1] >= RELEASED:
            for array in (self.states, self.marks, self.parents, self.actions):
                _release(array, begin, end)

    def clear(self) -> None:
        """Forget all states."""
        self.release(0, self.count)
        self.count = 0


class PackedRecords(Columns):
    """Storage for packed states: rows of different lengths, one after the other, and the bytes of each."""

    def __init__(self, codec: Codec, action_bits: int) -> None:
        super().__init__(min(memory() // 16, (1 << 32) - 1), action_bits)
        self.codec, self.used = codec, 0
        self.rows: npt.NDArray[np.uint8] = reserve(memory(), np.uint8, huge=True)
        self.sizes: npt.NDArray[Any] = reserve(self.room, codec.counter, huge=True)

    def add(self, states: npt.NDArray[np.uint8], places: npt.NDArray[np.uint32]) -> None:
        """Pack the records at some places behind the others; their fingerprints and the count are set by the caller."""
        if self.used + len(places) * self.codec.most + self.codec.reach > len(self.rows):
            raise MemoryError
        self.used += self.codec.pack(states, places, self.rows[self.used :], self.sizes[self.count :])

    def starts(self) -> Words:
        """Return where each row begins, and where the last one ends."""
        found = np.zeros(self.count + 1, np.uint64)
        np.cumsum(self.sizes[: self.count], dtype=np.uint64, out=found[1:])
        return found

    def release(self, begin: int, end: int, used: int) -> None:
        """Return the memory of the states begin..end-1 to the system, and of the rows from a byte on; spare some light rows."""
        if self.codec.quick and self.used - used < RELEASED:
            return
        for array in (self.sizes, self.marks, self.parents, self.actions):
            _release(array, begin, end)
        _release(self.rows, used, max(used, self.used))

    def clear(self) -> None:
        """Forget all states."""
        self.release(0, self.count, 0)
        self.count = self.used = 0


def _release(array: npt.NDArray[Any], begin: int, end: int) -> None:
    """Return the memory of the items begin..end-1 of an array to the system."""
    each = array.strides[0]
    first = -(-begin * each // mmap.PAGESIZE) * mmap.PAGESIZE
    area: Any = array
    while not isinstance(area, mmap.mmap):
        area = area.obj if isinstance(area, memoryview) else area.base
    if hasattr(mmap, "MADV_DONTNEED") and end * each > first:
        area.madvise(mmap.MADV_DONTNEED, first, end * each - first)


class Candidates(Protocol):
    """States that may be new, in order, with their fingerprints, parents and actions."""

    @property
    def count(self) -> int: ...  # noqa: D102
    @property
    def states(self) -> npt.NDArray[np.uint8]: ...  # noqa: D102
    @property
    def marks(self) -> Words: ...  # noqa: D102
    @property
    def parents(self) -> npt.NDArray[np.uint32]: ...  # noqa: D102
    @property
    def actions(self) -> npt.NDArray[np.uint32]: ...  # noqa: D102


def slots_for(slots: int, marks: int) -> int:
    """Return how many slots a table of `slots` slots should have to hold this many fingerprints."""
    while marks > (FULL if slots < LARGE else DENSE) * slots:
        slots = 2 * slots if slots < LARGE else slots + slots // 16
    return slots


class Shard:
    """The seen fingerprints whose leading `bits` are `number`, and the new states of this level.

    The fingerprint of a state stands for it: of n states, two share one of the 2^64 fingerprints with a probability of about
    n^2 / 2^65 (1.7e-12 for 7,915 states, 2.7 % for 10^9). Then the later of the two is not searched, and what only it leads to is
    not found. Every result says how probable that was.
    """

    def __init__(
        self, program: Code, record_bytes: int, action_bits: int, number: int, bits: int, new: Records | None = None
    ) -> None:
        self.program, self.record_bytes, self.number, self.bits = program, record_bytes, number, bits
        self.area: Words = reserve(min(memory() // 8, (1 << 32) - 1), np.uint64, huge=new is None)
        self.table = self.area[: (1 << 12) + SLACK]
        self.seen = 0
        self.new: Records | PackedRecords = new or Records(record_bytes, action_bits)
        self.mine = np.empty(0, np.uint32)
        self.keys: Words = np.empty(0, np.uint64)

    counted: npt.NDArray[np.int64] | None = None
    """How many new states of this level each action led to, where nothing else is kept of how they were reached."""
    order: npt.NDArray[np.intp]
    """The order of the new states, at the end of a level."""

    @property
    def slots(self) -> int:
        """The slots of the table, without the slack."""
        return len(self.table) - SLACK

    def growth(self, candidates: int) -> int:
        """Return the most bytes that the shard may allocate for this many candidates."""
        more = slots_for(self.slots, self.seen + candidates)
        return (more - self.slots) * 8 + candidates * (self.record_bytes + 16)

    def make_room(self, candidates: int) -> None:
        """Grow until this many candidates fit, even if all are new and belong to this shard."""
        if self.new.count + candidates > self.new.room:
            raise MemoryError
        if candidates >= len(self.mine):
            self.mine = np.empty(candidates + 1, np.uint32)
        self.expect(candidates)

    def expect(self, marks: int) -> None:
        """Grow until the table is wide enough for this many fingerprints more.

        Fingerprints that come in ascending order need this for all of them at once: the first ones all belong to the beginning of
        the table, and would fill it there.
        """
        more = slots_for(self.slots, self.seen + marks)
        if more > self.slots:
            self.grow(more)

    def grow(self, slots: int) -> None:
        """Give the table more slots."""
        if slots + SLACK > len(self.area):
            raise MemoryError
        slack(self.program.widen(address(self.area), self.slots, slots, self.bits))
        self.table = self.area[: slots + SLACK]

    def take(self, slices: Sequence[Candidates]) -> None:
        """Take the new states of this shard from the candidates of some slices, in order."""
        new = self.new
        for part in slices:
            self.make_room(part.count)
            # parents and actions that are not kept are written to the same place for each slice
            skipped = 0 if self.counted is None else new.count
            known = slack(self.program.insert(
                address(self.table), self.slots, self.bits, self.number,
                address(part.states), address(part.marks), address(part.parents), address(part.actions), part.count,
                address(new.states) if isinstance(new, Records) else 0, address(new.marks),
                address(new.parents) - skipped * new.parents.itemsize, address(new.actions) - skipped * new.actions.itemsize,
                new.count, address(self.mine), isinstance(new, Records),
            ))  # fmt: skip
            if self.counted is not None:
                self.counted += np.bincount(new.actions[: known - new.count], minlength=len(self.counted))
            if isinstance(new, PackedRecords):
                new.add(part.states, self.mine[: known - new.count])
            self.seen += known - new.count
            new.count = known

    def pack(self, codec: Codec, action_bits: int) -> None:
        """Pack new states from now on; there are none yet in this level."""
        self.new = PackedRecords(codec, action_bits)

    def by_action(self, actions: int) -> npt.NDArray[np.int64]:
        """Return how many new states of this level each of so many actions led to."""
        return np.bincount(self.new.actions[: self.new.count], minlength=actions) if self.counted is None else self.counted

    def add(self, marks: Words) -> None:
        """Add fingerprints that are not in the table; `expect` comes first where they are in ascending order."""
        self.expect(len(marks))
        marks = np.ascontiguousarray(marks)
        slack(self.program.fill(address(marks), len(marks), address(self.table), self.slots, self.bits))
        self.seen += len(marks)

    def sort(self, ordered: bool = True) -> None:
        """Find the order of the new states by fingerprint.

        What is sorted are the leading bits of fingerprints with places behind them: that takes half the time.
        """
        count, marks = self.new.count, self.new.marks[: self.new.count]
        if count > len(self.keys):
            self.keys = np.empty(count + count // 4, np.uint64)
        keys, low = self.keys[:count], (1 << count.bit_length()) - 1
        self.program.keys(address(marks), count, low, address(keys))
        if ordered:
            keys.sort()
        known = self.program.places(address(keys), count, low) == 0
        self.order = keys.view(np.intp) if known else np.argsort(marks)

    def pieces(self, most: int) -> Iterator[npt.NDArray[np.intp]]:
        """Yield the places of the new states in their order, so many at a time."""
        for begin in range(0, len(self.order), most):
            yield self.order[begin : begin + most]

    def forget_new(self) -> None:
        """Forget the new states of this level."""
        self.new.clear()
        self.order = np.empty(0, np.intp)
        if self.counted is not None:
            self.counted[:] = 0


def slack(result: int) -> int:
    """Return what a function on a table returned, or raise EngineError if the table had no slack left for a fingerprint."""
    if result < 0:
        raise EngineError("fingerprints crowd at one place of the table of seen states, as random ones do not; use another seed")
    return result


class Slice:
    """The candidates of a slice of the frontier, and the counters of the successor function."""

    def __init__(self, program: Code, record_bytes: int, room: int) -> None:
        self.program = program
        self.states = np.empty((room, record_bytes), np.uint8)
        self.sources = np.empty((room, record_bytes), np.uint8)
        """Room for the states of the slice, where they are unpacked."""
        self.marks: Words = np.empty(room, np.uint64)
        self.parents = np.empty(room, np.uint32)
        self.actions = np.empty(room, np.uint32)
        self.cuts = np.zeros(room, np.uint8)
        """For each state of the slice, whether a bound forbade a protocol step; only used if a claim needs the graph."""
        self.count = 0
        self.counters = np.zeros(program.counters, np.int64)
        self.start_level()

    def start_level(self) -> None:
        """Forget the findings of the level before."""
        self.counters[counted.STUCK] = self.counters[counted.UNTYPED] = -1
        self.counters[counted.HEADER : self.program.fired : 2] = -1

    def expand(self, states: npt.NDArray[np.uint8], marks: Words, begin: int) -> None:
        """Fill the slice with the successors of some states, of which the first has the number `begin` in the frontier."""
        program = self.program
        if program.on_graph:
            self.cuts[: len(states)] = 0
        self.count = program.expand(
            address(states), address(marks), len(states), begin, program.seed,
            address(self.states), address(self.marks), address(self.parents), address(self.actions),
            address(self.cuts), address(self.counters),
        )  # fmt: skip
