"""What a Spark task keeps of fingerprints and candidates: the tables of the executor, the sieve of a task, the blobs that travel.

Depends on packed records and files, not on Spark. worker.py says how they are used.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from kafka_spec.model_check.code.arrays import Bytes, Numbers, Places, Words, address
from kafka_spec.model_check.code.compiled import Code
from kafka_spec.model_check.code.kernel import SLACK
from kafka_spec.model_check.code.row_codec import Codec
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.search.shards import Shard, slack, slots_for
from kafka_spec.model_check.search.slices import Candidates
from kafka_spec.model_check.search.stored_states import Records
from kafka_spec.model_check.spark.task import NoRoom, Task

PACKING = pa.Codec("lz4_raw")
"""The compression of packed states: it halves those of the control plane, and they are written and read on shared storage."""
HEADER = 4096
"""Bytes before the fingerprints in the file of a table."""

Mapped: TypeAlias = dict[int, tuple[int, mmap.mmap]]
"""Tables that a process has mapped into memory: by the number of the shard the number of the file, and its content."""


class Sieve(Shard):
    """Drops candidates that the task has already sent."""

    def __init__(self, program: Code, new: Records) -> None:
        super().__init__(program, 0, 0, huge=False)
        self.new = new

    def start(self, number: int, bits: int, expected: int) -> None:
        """Clear the table, and make room for the expected number of candidates."""
        self.number, self.bits, self.seen, self.new.count = number, bits, 0, 0
        self.table.fill(0)
        self.table = self.area[: slots_for(1 << 12, expected) + SLACK]

    def take(self, found: Candidates) -> None:
        """Take those candidates for this part that are not sent yet."""
        self.new.take_at_once(self.program, found, self.deduplicate(found.marks[: found.count]))

    def empty(self) -> Outgoing:
        """Return and remove the candidates; their fingerprints remain in the table."""
        new, count = self.new, self.new.count
        new.count = 0
        return Outgoing(new.marks[:count], new.parents[:count], new.actions[:count], new.states[:count])


@dataclass(frozen=True)
class Outgoing:
    """Some candidates that a task has found, in that order."""

    marks: Words
    parents: Numbers
    """The numbers of the parents among the states that the task has expanded."""
    actions: npt.NDArray[Any]
    states: Bytes

    def __getitem__(self, some: slice) -> Outgoing:
        return Outgoing(self.marks[some], self.parents[some], self.actions[some], self.states[some])


def sent(codec: Codec, found: Outgoing) -> bytes:
    """Return states as they are sent: how many bytes their rows take, the sum of the fingerprints, and the rows, compressed."""
    count = len(found.marks)
    room, sizes = np.empty(count * codec.most, np.uint8), np.empty(count, codec.counter)
    used = codec.pack(found.states, np.arange(count, dtype=np.uint32), room, sizes)
    head = np.array([used, found.marks.sum(dtype=np.uint64)], np.uint64)
    packed: bytes = PACKING.compress(pa.py_buffer(room[:used]), asbytes=True)
    return head.tobytes() + packed


class Blob:
    """Some candidates for a part, as a task has sent them."""

    def __init__(self, count: int, content: Any, states: int, codec: Codec, kind: np.dtype[Any], first: int) -> None:
        """Read a buffer: states as they were sent, `states` bytes of it, then the numbers of the parents, and the actions.

        `first` is the row, in its level, of the first state that the task expanded.
        """
        self.packed = content.slice(0, states)
        self.count, self.codec, self.first = count, codec, first
        self.parents: Numbers = np.frombuffer(content.slice(states, 4 * count), np.uint32)
        self.actions = np.frombuffer(content.slice(states + 4 * count), kind).astype(np.uint32)

    @property
    def rows(self) -> Places:
        """The rows of the parents in their level."""
        return self.parents.astype(np.int64) + self.first

    def row_of(self, number: int) -> int:
        """Return one of them."""
        return self.first + int(self.parents[number])

    def unpack(self, states: Bytes, marks: Words) -> None:
        """Write the states with their fingerprints into some room. Those of all blobs would take many times as much as packed.

        Raises:
            EngineError: they are not those that were sent.
        """
        used, total = np.frombuffer(self.packed, np.uint64, 2).tolist()
        rows = np.empty(used + self.codec.reach, np.uint8)
        rows[:used] = np.frombuffer(PACKING.decompress(self.packed.slice(16), used), np.uint8)
        self.codec.restore(rows, used, states, marks)
        if int(marks.sum(dtype=np.uint64)) != total:
            raise EngineError("states have changed on their way from one task to another")


class Table(Shard):
    """The seen fingerprints of a shard, in a file that the workers of an executor share; locked as a context manager."""

    def __init__(self, task: Task, code: Code, mapped: Mapped, number: int) -> None:
        """Name the table of a shard; `mapped` has the tables that this process has mapped into memory, by number."""
        self.program, self.number, self.mapped = code, number, mapped
        self.bits = task.shards.bit_length() - 1
        self.mine = np.empty(0, np.uint32)
        self.path = task.folder / f"shard-{number:04d}.table"

    def __enter__(self) -> Table:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.lock = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        if self.path.exists():
            self.open()
        else:
            self.clear()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.lock)

    def open(self) -> None:
        """Map the file into memory, unless it is mapped."""
        number, known = self.path.stat().st_ino, self.mapped.get(self.number)
        if known is None or known[0] != number:
            with self.path.open("r+b") as file:
                known = number, mmap.mmap(file.fileno(), 0)
            self.mapped[self.number] = known
        self.head = np.frombuffer(known[1], np.int64, 3)
        self.table = np.frombuffer(known[1], np.uint64, offset=HEADER)

    def make(self, slots: int, fill: Any = None) -> None:
        """Replace the file by a new table after `fill` has filled it."""
        temporary = self.path.with_suffix(".new")
        with temporary.open("w+b") as file:
            try:
                # the space is allocated now: a full disk gives an error here, and does not kill the process at a store
                os.posix_fallocate(file.fileno(), 0, HEADER + 8 * (slots + SLACK))
            except OSError as error:
                temporary.unlink()
                raise NoRoom(f"no room for the tables of seen states in {self.path.parent}: {error.strerror}") from None
            area = mmap.mmap(file.fileno(), 0)
        np.frombuffer(area, np.int64, 3)[:] = (-1, 0, 0)
        if fill is not None:
            fill(area)
        temporary.rename(self.path)
        self.open()

    def clear(self) -> None:
        """Replace the table by an empty one."""
        self.make(1 << 12)

    def grow(self, slots: int) -> None:
        """Move to a larger table."""

        def fill(area: mmap.mmap) -> None:
            np.frombuffer(area, np.int64, 3)[:] = self.head
            table = np.frombuffer(area, np.uint64, offset=HEADER)
            slack(self.program.fill(address(self.table), len(self.table), address(table), slots, self.bits))

        self.make(slots, fill)

    @property
    def level(self) -> int:
        """The level up to which the table is complete."""
        return int(self.head[0])

    @property
    def changing(self) -> bool:
        """Whether the addition of a level was begun and not finished."""
        return bool(self.head[2])

    @property
    def seen(self) -> int:
        """The number of fingerprints in the table."""
        return int(self.head[1])

    @seen.setter
    def seen(self, count: int) -> None:
        self.head[1] = count

    def change(self) -> None:
        """Mark the table as being changed."""
        self.head[2] = 1

    def commit(self, level: int) -> None:
        """Mark the table as complete up to a level."""
        self.head[0], self.head[2] = level, 0
