"""The storage of the states of a level: as records, as light rows, or packed.

Depends on bytes and the compiled functions that fill them, not on the order of the search.
"""

from __future__ import annotations

import abc
import itertools
import mmap
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Bytes, Numbers, Words, address, memory, reserve
from kafka_spec.model_check.code.compiled import Code
from kafka_spec.model_check.code.row_codec import Codec
from kafka_spec.model_check.search.slices import Candidates, Slice
from kafka_spec.model_check.search.threads import Job

RELEASED = 256 << 20
"""Bytes of states from which on memory is returned to the system where they stood."""

Found = TypeVar("Found", bound=Candidates)
Look = Callable[[int, int, Bytes, npt.NDArray[Any]], None]
"""Is shown new states where they were just written: the number of their slice, the index of the first in the level, the light rows,
the actions that led to them."""


class Columns(abc.ABC, Generic[Found]):
    """Storage for the fingerprints, parents and actions of the states of a level; what it keeps of states is up to its kind.

    The address space for as many states as the machine's memory can hold is reserved at once. The system allocates memory at the
    first write, so that growth needs no copy; the memory is reused for the next levels. Memory is allocated in large pages if
    `huge`. Without `traced` parents and actions are those of the last states that were taken; with it there may be `ways` of them,
    of all levels whose ways are kept.
    """

    def __init__(self, room: int, action_bits: int, huge: bool = True, traced: bool = True, ways: int | None = None) -> None:
        self.room, self.traced, ways = room, traced, room if ways is None else ways
        self.marks: Words = reserve(room, np.uint64, huge)
        self.parents: npt.NDArray[np.uint32] = reserve(ways, np.uint32, huge)
        self.actions: npt.NDArray[Any] = reserve(ways, np.dtype(f"u{action_bits // 8}"), huge)
        self.count = self.coming = 0

    def take(
        self, program: Code, slices: Sequence[Found], places: Sequence[Sequence[Numbers]], look: Look | None = None
    ) -> list[Job]:
        """Return the jobs that take the candidates at some places of each slice, in order; `taken` comes when all have run.

        The places of a slice come in parts, each in order. A job reads and writes nothing that another one of them writes.
        """
        starts = list(itertools.accumulate((sum(map(len, some)) for some in places), initial=self.count))
        if starts[-1] > min(self.room, len(self.parents)):
            raise MemoryError
        self.coming = starts[-1] - starts[0]
        return [self.taking(program, *one, look) for one in zip(range(len(places)), slices, places, starts, strict=False)]

    def take_at_once(self, program: Code, part: Found, places: Numbers) -> None:
        """Take the candidates at some places of one slice."""
        for job in self.take(program, [part], [[places]]):
            job()
        self.taken()

    def append(self, program: Code, part: Found, places: Numbers, at: int, states: Bytes) -> npt.NDArray[Any]:
        """Write the candidates at some places from index `at` on, and their records to `states`; return their actions."""
        way = at if self.traced else at - self.count
        records = part.states  # kept while its address is in use
        program.append(
            address(places), len(places), address(records), address(part.marks), address(part.parents), address(part.actions),
            address(states), address(self.marks[at:]), address(self.parents[way:]), address(self.actions[way:]),
        )  # fmt: skip
        return self.actions[way : way + len(places)]

    def append_rows(
        self, program: Code, part: Slice, places: Numbers, at: int, rows: Bytes, sizes: npt.NDArray[Any]
    ) -> npt.NDArray[Any]:
        """Do the same for candidates whose light rows are another form than records: write the rows, and the bytes of each."""
        way = at if self.traced else at - self.count
        program.append_rows(
            address(places), len(places), address(part.rows), address(part.starts), address(part.marks), address(part.parents),
            address(part.actions), address(rows), address(sizes), address(self.marks[at:]), address(self.parents[way:]),
            address(self.actions[way:]),
        )  # fmt: skip
        return self.actions[way : way + len(places)]

    @abc.abstractmethod
    def taking(self, program: Code, number: int, part: Found, places: Sequence[Numbers], at: int, look: Look | None) -> Job:
        """Return the job that takes the candidates at some places of slice `number`, from index `at` on."""

    def taken(self) -> None:
        """Count the states that the jobs of `take` took."""
        self.count, self.coming = self.count + self.coming, 0

    def keep_ways(self) -> tuple[npt.NDArray[np.uint32], npt.NDArray[Any]]:
        """Return the parents and the actions of the states; they stay where they are, and those of later states follow."""
        kept = self.parents[: self.count], self.actions[: self.count]
        self.parents, self.actions = self.parents[self.count :], self.actions[self.count :]
        return kept

    def release(self, *arrays: npt.NDArray[Any]) -> None:
        """Return the memory of all states to the system, and that of their rows in some arrays."""
        kept: list[npt.NDArray[Any]] = [self.marks, self.parents, self.actions, *arrays]
        for array in kept:
            _release(array, self.count)


class Records(Columns[Candidates]):
    """Storage for whole states. With `room`, the largest number of states, memory is allocated in small pages."""

    def __init__(self, record_bytes: int, action_bits: int, room: int | None = None, traced: bool = True) -> None:
        most = min(memory() // (record_bytes + 16), (1 << 32) - 1)
        super().__init__(most if room is None else room, action_bits, room is None, traced, memory() // 4 if room is None else None)
        self.states: npt.NDArray[np.uint8] = reserve(self.room * record_bytes, np.uint8, room is None).reshape(-1, record_bytes)

    def taking(self, program: Code, number: int, part: Candidates, places: Sequence[Numbers], at: int, look: Look | None) -> Job:
        """Return the job that takes the candidates at some places of slice `number`, from index `at` on."""

        def job() -> None:
            some = merged(places)
            actions = self.append(program, part, some, at, self.states[at:])
            if look is not None:
                look(number, at, program.rows_of(self.states[at : at + len(some)]), actions)

        return job

    def sort(self) -> None:
        """Bring the states into the order of their fingerprints."""
        arrays: list[npt.NDArray[Any]] = [self.states, self.parents, self.actions, self.marks]
        order = np.argsort(self.marks[: self.count])
        for array in arrays:
            array[: self.count] = array[order]

    def clear(self) -> None:
        """Forget all states; return their memory to the system if it is more than RELEASED bytes."""
        if self.count * self.states.shape[1] >= RELEASED:
            self.release(self.states)
        self.count = 0


class LightRecords(Columns[Slice]):
    """Storage for light rows: one after the other, and the bytes of each."""

    def __init__(self, action_bits: int, traced: bool = True) -> None:
        super().__init__(min(memory() // 32, (1 << 32) - 1), action_bits, traced=traced, ways=memory() // 4)
        self.rows: Bytes = reserve(memory(), np.uint8, huge=True)
        self.sizes: Numbers = reserve(self.room, np.uint32, huge=True)
        self.used = self.filling = 0
        """The bytes of the rows, without and with those that jobs of `take` write."""

    def taking(self, program: Code, number: int, part: Slice, places: Sequence[Numbers], at: int, look: Look | None) -> Job:
        """Return the job that takes the candidates at some places of slice `number`, from index `at` on."""
        begin = self.filling
        self.filling += sum(part.bytes_of(some) for some in places)
        if self.filling > len(self.rows):
            raise MemoryError

        def job() -> None:
            some = merged(places)
            rows = self.rows[begin:]
            actions = self.append_rows(program, part, some, at, rows, self.sizes[at:])
            if look is not None:
                look(number, at, rows, actions)

        return job

    def taken(self) -> None:
        """Count the states that the jobs of `take` took."""
        self.used = self.filling
        super().taken()

    def clear(self) -> None:
        """Forget all states; return their memory to the system if it is more than RELEASED bytes."""
        if self.used >= RELEASED:
            self.release(self.sizes)
            _release(self.rows, self.used)
        self.count = self.used = self.filling = 0


class PackedRecords(Columns[Slice]):
    """Storage for packed states: rows of different lengths, one after the other, and the bytes of each."""

    def __init__(self, codec: Codec, action_bits: int, traced: bool = True) -> None:
        super().__init__(min(memory() // 16, (1 << 32) - 1), action_bits, traced=traced, ways=memory() // 4)
        self.codec, self.used = codec, 0
        self.rows: npt.NDArray[np.uint8] = reserve(memory(), np.uint8, huge=True)
        self.sizes: npt.NDArray[Any] = reserve(self.room, codec.counter, huge=True)
        self.packed: list[tuple[int, int]] = []
        """Where each job of `take` has written rows, and how many bytes."""

    def pack(self, states: npt.NDArray[np.uint8]) -> None:
        """Pack states behind the others; their fingerprints are set by the caller."""
        places = np.arange(len(states), dtype=np.uint32)
        self.used += self.codec.pack(states, places, self.rows[self.used :], self.sizes[self.count :])
        self.count += len(states)

    def taking(self, program: Code, number: int, part: Slice, places: Sequence[Numbers], at: int, look: Look | None) -> Job:
        """Return the job that takes the candidates at some places of slice `number`, from index `at` on.

        On their way they are where the slice's sources were.
        """
        room = self.used + (at - self.count) * self.codec.most
        if self.used + self.coming * self.codec.most + self.codec.reach > len(self.rows):
            raise MemoryError

        def job() -> None:
            some = merged(places)
            if program.shape.light:
                rows, sizes = np.empty(part.bytes_of(some), np.uint8), np.empty(len(some), np.uint32)
                actions = self.append_rows(program, part, some, at, rows, sizes)
            else:
                rows = part.sources.reshape(-1)
                actions = self.append(program, part, some, at, part.sources)
            if look is not None:
                look(number, at, rows, actions)
            states = program.records_of(rows, len(some), part.sources)
            everything = np.arange(len(some), dtype=np.uint32)
            self.packed.append((room, self.codec.pack(states, everything, self.rows[room:], self.sizes[at:])))

        return job

    def taken(self) -> None:
        """Count the states that the jobs of `take` took, and close the gaps between their rows."""
        for room, size in sorted(self.packed):
            if room > self.used:
                self.rows[self.used : self.used + size] = self.rows[room : room + size]
            self.used += size
        self.packed.clear()
        super().taken()

    def clear(self) -> None:
        """Forget all states, and return their memory to the system."""
        self.release(self.sizes)
        _release(self.rows, self.used)
        self.count = self.used = 0


def merged(places: Sequence[Numbers]) -> Numbers:
    """Return in order what several parts have, each in order."""
    if len(places) == 1:
        return places[0]
    return np.sort(np.concatenate(places), kind="stable")  # this kind finds parts that are in order, and merges them


def _release(array: npt.NDArray[Any], end: int) -> None:
    """Return the memory of the items before `end` of an array to the system."""
    area: Any = array
    while not isinstance(area, mmap.mmap):
        area = area.obj if isinstance(area, memoryview) else area.base
    first = address(array) - address(np.frombuffer(area, np.uint8))
    begin = -(-first // mmap.PAGESIZE) * mmap.PAGESIZE  # what is before the array is somebody else's
    if hasattr(mmap, "MADV_DONTNEED") and first + end * array.strides[0] > begin:
        area.madvise(mmap.MADV_DONTNEED, begin, first + end * array.strides[0] - begin)
