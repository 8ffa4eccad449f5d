"""The storage of a search: records of a level, shards of the set of seen fingerprints, candidates of a slice.

Depends on bytes and the compiled functions that fill them, not on the order of the search.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check import compile as compiled
from kafka_spec.model_check.compile import Code
from kafka_spec.spec.table import SpecError

FULL = 0.7
"""The load at which a table of fingerprints grows."""

Words = npt.NDArray[np.uint64]


class Records:
    """Storage for the states of a level with their fingerprints, parents and actions.

    The address space for as many states as the machine's memory can hold is reserved at once. The system allocates memory at the
    first write, so that growth needs no copy; the memory is reused for the next levels. With `room`, the largest number of
    states, memory is allocated in small pages.
    """

    def __init__(self, record_bytes: int, action_bits: int, room: int | None = None) -> None:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        huge = room is None
        self.room = min(memory // (record_bytes + 16), (1 << 32) - 1) if room is None else room
        self.states: npt.NDArray[np.uint8] = _reserve(self.room * record_bytes, np.uint8, huge).reshape(self.room, record_bytes)
        self.marks: Words = _reserve(self.room, np.uint64, huge)
        self.parents: npt.NDArray[np.uint32] = _reserve(self.room, np.uint32, huge)
        self.actions: npt.NDArray[Any] = _reserve(self.room, np.dtype(f"u{action_bits // 8}"), huge)
        self.count = 0


def _reserve(count: int, kind: Any, huge: bool) -> npt.NDArray[Any]:
    """Return an array whose memory is allocated when it is first written, in large pages if `huge`."""
    size = count * np.dtype(kind).itemsize
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        area = mmap.mmap(-1, size, flags=flags)
    except OSError as error:
        raise SpecError(f"{size >> 20} MiB of address space cannot be reserved: {error}; raise the limit (ulimit -v)") from None
    if huge and hasattr(mmap, "MADV_HUGEPAGE"):
        area.madvise(mmap.MADV_HUGEPAGE)
    if hasattr(mmap, "MADV_DONTFORK"):
        # otherwise the system counts it again for a child process, and may refuse to start one
        area.madvise(mmap.MADV_DONTFORK)
    return np.frombuffer(area, kind)


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


class Shard:
    """The seen fingerprints whose high bits are `number`, and the new states of this level."""

    def __init__(
        self, program: Code, record_bytes: int, action_bits: int, number: int, shift: int, new: Records | None = None
    ) -> None:
        self.program, self.record_bytes, self.number, self.shift = program, record_bytes, number, shift
        self.table: Words = np.zeros(1 << 12, np.uint64)
        self.seen = 0
        self.new = new or Records(record_bytes, action_bits)
        self.mine = np.empty(0, np.uint32)

    def growth(self, candidates: int) -> int:
        """Return the most bytes that the shard may allocate for this many candidates."""
        size = len(self.table)
        table = 2 * size * 8 if self.seen + candidates > FULL * size else 0
        return table + candidates * (self.record_bytes + 16)

    def make_room(self, candidates: int) -> None:
        """Grow until this many candidates fit, even if all are new and belong to this shard."""
        if self.new.count + candidates > self.new.room:
            raise MemoryError
        if candidates >= len(self.mine):
            self.mine = np.empty(candidates + 1, np.uint32)
        size = len(self.table)
        while self.seen + candidates > FULL * size:
            size *= 2
        if size > len(self.table):
            self.grow(size)

    def grow(self, size: int) -> None:
        """Move to a larger table."""
        table: Words = np.zeros(size, np.uint64)
        self.program.rehash(address(self.table), len(self.table), address(table), size - 1)
        self.table = table

    def take(self, slices: Sequence[Candidates]) -> None:
        """Take the new states of this shard from the candidates of some slices, in order."""
        new = self.new
        for part in slices:
            self.make_room(part.count)
            known = self.program.insert(
                address(self.table), len(self.table) - 1, self.shift, self.number,
                address(part.states), address(part.marks), address(part.parents), address(part.actions), part.count,
                address(new.states), address(new.marks), address(new.parents), address(new.actions), new.count, address(self.mine),
            )  # fmt: skip
            self.seen += known - new.count
            new.count = known


class Slice:
    """The candidates of a slice of the frontier, and the counters of the successor function."""

    def __init__(self, program: Code, record_bytes: int, room: int) -> None:
        self.program = program
        self.states = np.empty((room, record_bytes), np.uint8)
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
        self.counters[compiled.STUCK] = self.counters[compiled.UNTYPED] = -1
        self.counters[compiled.HEADER : self.program.fired : 2] = -1

    def expand(self, states: npt.NDArray[np.uint8], marks: Words, begin: int, end: int) -> None:
        """Fill the slice with the successors of the states begin..end-1 of the frontier."""
        program = self.program
        if program.on_graph:
            self.cuts[: end - begin] = 0
        self.count = program.expand(
            address(states[begin:end]), address(marks[begin:end]), end - begin, begin, program.k, program.seed,
            address(self.states), address(self.marks), address(self.parents), address(self.actions),
            address(self.cuts), address(self.counters),
        )  # fmt: skip


def address(array: npt.NDArray[Any]) -> int:
    """Return the address of an array's first byte."""
    return array.ctypes.data
