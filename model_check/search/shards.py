"""The storage of a search: candidates of a slice, records of a level, shards of the set of seen fingerprints.

Depends on bytes and the compiled functions that fill them, not on the order of the search.
"""

from __future__ import annotations

import abc
import itertools
import mmap
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Bytes, Numbers, Places, Words, address, memory, reserve
from kafka_spec.model_check.code.compiled import Code, Shape
from kafka_spec.model_check.code.kernel import SLACK
from kafka_spec.model_check.code.row_codec import Codec
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.record import counted
from kafka_spec.model_check.search.threads import Job

FULL, DENSE = 0.7, 0.92
"""The load at which a small and a large table of fingerprints grows."""
LARGE = 1 << 24
"""The slots from which on a table is large: it grows by a sixteenth, and a state takes 8.7 to 9.2 bytes. A small one doubles."""

RELEASED = 256 << 20
"""Bytes of states from which on memory is returned to the system where they stood."""


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


def room_for(shape: Shape, states: int, most: int) -> int:
    """Return how many candidates a slice of so many states has room for: all that there can be, or those that take `most` bytes."""
    actions = max(1, shape.actions)
    return max(actions, states, min(states * actions, most // (shape.record_bytes + 16)))


class Slice:
    """The candidates of a slice of the frontier, the steps to them and to others, and the counters of the successor function."""

    def __init__(self, program: Code, room: int) -> None:
        """Take room for so many candidates: at least as many as there are actions."""
        record_bytes = program.shape.record_bytes
        self.program = program
        self.rows: Bytes = np.empty(room * program.shape.row_bytes, np.uint8)
        """The light rows of the candidates, one after the other."""
        self.starts: Places = np.empty(room + 1 if program.shape.light else 0, np.int64)
        """Where the row of each candidate begins, and the end of the last; only if light rows are another form than records."""
        self.sources = np.empty((room, record_bytes), np.uint8)
        """Room for the states of the slice, where they are unpacked."""
        self.marks: Words = np.empty(room, np.uint64)
        self.parents: Numbers = np.empty(room, np.uint32)
        self.actions: Numbers = np.empty(room, np.uint32)
        self.count = self.reached = 0
        """The candidates; the number of the first state that was not expanded, for want of room or since it was not given."""
        self.restored: Bytes | None = None
        """The records of the candidates, once they have been asked for."""
        self.recent: Words = np.zeros(counted.RECENT, np.uint64)
        """Fingerprints of successors that were candidates before."""
        steps = room if program.shape.paths else 0
        self.targets: Words = np.empty(steps, np.uint64)
        """The steps, only if a property needs the graph: the fingerprints of their targets, their parents and actions."""
        self.step_parents: Numbers = np.empty(steps, np.uint32)
        self.step_actions: Numbers = np.empty(steps, np.uint32)
        self.cuts = np.zeros(room, np.uint8)
        """For each state of the slice, whether a bound prevented a protocol step; only used if a property needs the graph."""
        written: list[npt.NDArray[Any]] = [self.rows, self.marks, self.parents, self.actions, self.recent]
        written += [self.targets, self.step_parents, self.step_actions, self.starts]
        self.written = np.array([*(address(array) for array in written), room - program.shape.actions], np.int64)
        self.counters = np.zeros(program.counters, np.int64)
        self.start_level()

    def start_level(self) -> None:
        """Forget the findings of the level before."""
        self.counters[counted.STUCK] = self.counters[counted.UNTYPED] = -1
        self.counters[counted.HEADER : self.program.fired : 2] = -1

    def expand(self, states: Bytes, marks: Words, begin: int, every: bool = True) -> None:
        """Fill the slice with the successors of some states, of which the first has the number `begin` in the frontier.

        There must be room for them.
        Without `every` a successor may be left out that was a candidate of this slice before; then the sources of all calls are
        in the order of a search, which knows what came before.
        """
        self.expand_rows(self.program.rows_of(states), marks, begin, every)
        if self.count >= 0 and self.reached < begin + len(marks):
            raise EngineError(f"a slice with room for {len(self.marks):,} candidates has none for those of {len(marks):,} states")

    def expand_rows(self, rows: Bytes, marks: Words, begin: int, every: bool = True) -> None:
        """Do the same for states that are given as light rows, as far as there is room: for those before `reached`."""
        program, self.restored = self.program, None
        if program.shape.paths:
            self.cuts[: len(marks)] = 0
        self.count = program.expand(
            address(rows), address(marks), len(marks), begin, program.seed, every,
            address(self.written), address(self.cuts), address(self.counters),
        )  # fmt: skip
        self.reached = begin + int(self.counters[counted.EXPANDED])

    def over(self, states: Bytes, marks: Words, most: int, every: bool = False) -> Iterator[tuple[int, int]]:
        """Expand states, of which the first has the number 0, at most so many at a time; yield which they are."""
        begin = 0
        while begin < len(marks):
            end = min(len(marks), begin + most)
            self.expand_rows(self.program.rows_of(states[begin:end]), marks[begin:end], begin, every)
            yield begin, self.reached
            begin = self.reached

    def put(self, states: Bytes) -> None:
        """Make some states the candidates; the caller sets what else is known of them."""
        self.count, self.restored = len(states), None
        if self.program.shape.light:
            rows, sizes = self.program.sized_rows_of(states)
            self.starts[: self.count + 1] = np.cumsum([0, *sizes.tolist()])
        else:
            rows = self.program.rows_of(states)
        self.rows[: len(rows)] = rows

    def bytes_of(self, places: Numbers) -> int:
        """Return the bytes of the light rows of some candidates, where they are another form than records."""
        return int((self.starts[places + np.uint32(1)] - self.starts[places]).sum())

    @property
    def states(self) -> Bytes:
        """The records of the candidates, which are restored when they are first asked for if light rows are another form."""
        if self.restored is None:
            self.restored = self.program.records_of(self.rows, max(0, self.count))
        return self.restored

    @property
    def steps(self) -> tuple[Numbers, Words, Numbers]:
        """The steps out of the states of the slice: parents, fingerprints of targets, actions."""
        count = int(self.counters[counted.STEPS])
        return self.step_parents[:count], self.targets[:count], self.step_actions[:count]


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


def slots_for(slots: int, marks: int) -> int:
    """Return how many slots a table of `slots` slots should have to hold this many fingerprints."""
    while marks > (FULL if slots < LARGE else DENSE) * slots:
        slots = 2 * slots if slots < LARGE else slots + slots // 16
    return slots


class Shard:
    """The seen fingerprints whose leading `bits` are `number`.

    The fingerprint of a state stands for it: of n states, two share one of the 2^64 fingerprints with a probability of about
    n^2 / 2^65 (1.7e-12 for 7,915 states, 2.7 % for 10^9). Then the later of the two is not searched, and what only it leads to is
    not found. Every result says how probable that was.
    """

    def __init__(self, program: Code, number: int, bits: int, huge: bool = True) -> None:
        self.program, self.number, self.bits = program, number, bits
        self.area: Words = reserve(min(memory() // 8, (1 << 32) - 1), np.uint64, huge)
        self.table = self.area[: (1 << 12) + SLACK]
        self.seen = 0
        self.mine: Numbers = np.empty(0, np.uint32)

    @property
    def slots(self) -> int:
        """The slots of the table, without the slack."""
        return len(self.table) - SLACK

    def growth(self, candidates: int) -> int:
        """Return the most bytes that the table may allocate for this many candidates."""
        return (slots_for(self.slots, self.seen + candidates) - self.slots) * 8

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

    def deduplicate(self, marks: Words) -> Numbers:
        """Add the fingerprints of this shard among those of some candidates; return the places of the new ones, until called again.

        The first of equal candidates is the new one.
        """
        if len(marks) >= len(self.mine):
            self.mine = np.empty(len(marks) + 1, np.uint32)
        self.expect(len(marks))
        fresh = slack(
            self.program.insert(
                address(self.table), self.slots, self.bits, self.number, address(marks), len(marks), address(self.mine)
            )
        )
        self.seen += fresh
        return self.mine[:fresh]

    def add(self, marks: Words) -> None:
        """Add fingerprints that are not in the table; `expect` comes first where they are in ascending order."""
        self.expect(len(marks))
        marks = np.ascontiguousarray(marks)
        slack(self.program.fill(address(marks), len(marks), address(self.table), self.slots, self.bits))
        self.seen += len(marks)


def slack(result: int) -> int:
    """Return what a function on a table returned, or raise EngineError if the table had no slack left for a fingerprint."""
    if result < 0:
        raise EngineError("fingerprints crowd at one place of the table of seen states, as random ones do not; use another seed")
    return result
