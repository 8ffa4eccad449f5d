"""The candidates for a part of a level, from all tasks that sent some, in the order in which one search by itself would find them.

Depends on blobs of candidates (tables.py) and the order of their parents (order.py), not on Spark or files.

Theory of operation. What one task has sent is in order: its states were, and so are the actions of each. So this merges. A blob is
unpacked when the merge comes to it, and dropped when it has been passed, so that few are unpacked at a time: one of each task that
sent some, and those that end in the window. A window ends where some blobs end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kafka_spec.model_check.code.arrays import Bytes, Numbers, Places, Words, memory, reserve
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.spark.order import Order
from kafka_spec.model_check.spark.tables import Blob

BLOBS = 8
"""The least number of blobs that end in a window, but for the last one."""


class Room:
    """Room for the candidates of the blobs that are unpacked, a slot for each; `Records` takes the new ones from here."""

    def __init__(self, record_bytes: int, size: int, slots: int | None = None) -> None:
        """Reserve address space for so many candidates, by default as much as there is memory; `size` are the most of a blob."""
        self.size, self.count = size, slots or memory() // record_bytes
        self.states: Bytes = reserve(self.count * record_bytes, np.uint8, huge=False).reshape(-1, record_bytes)
        self.marks: Words = reserve(self.count, np.uint64, huge=False)
        self.actions: Numbers = reserve(self.count, np.uint32, huge=False)
        self.rows: Places = reserve(self.count, np.int64, huge=False)
        """The rows of the parents in their level."""
        self.places: Places = reserve(self.count, np.int64, huge=False)
        """The places of the parents in their level."""
        self.parents: Numbers = reserve(self.count, np.uint32, huge=False)
        """Never written: rows may be larger numbers."""

    def unpack(self, blob: Blob, number: int, order: Order) -> Opened:
        """Unpack a blob, the one with this number of those that are unpacked."""
        begin, end = number * self.size, number * self.size + blob.count
        if end > self.count:
            raise MemoryError
        blob.unpack(self.states[begin:end], self.marks[begin:end])
        self.actions[begin:end], self.rows[begin:end] = blob.actions, blob.rows
        self.places[begin:end] = order.places[self.rows[begin:end]]
        return Opened(number, begin, end)


@dataclass
class Opened:
    """A blob that is unpacked, and the slots of those of its candidates that the merge has not passed."""

    number: int
    begin: int
    end: int


def windows(blobs: Sequence[Blob], order: Order, room: Room) -> Iterator[Numbers]:
    """Yield the candidates of blobs in the order of their parents and actions, some at a time: their slots in the room.

    Args:
        blobs: the blobs of each task in the order in which they were sent, one task after the other.
        order: the order of the parents.
        room: room for those that are unpacked.

    Raises:
        EngineError: candidates are left, since those of a task are not in order.
    """
    ends = sorted(int(order.places[blob.row_of(-1)]) for blob in blobs)
    coming = sorted(((int(order.places[blob.row_of(0)]), number) for number, blob in enumerate(blobs)), reverse=True)
    step = max(BLOBS, len({blob.first for blob in blobs}))
    opened: list[Opened] = []
    free = list(range(len(blobs)))[::-1]
    for last in sorted({*ends[step - 1 :: step], *ends[-1:]}):
        while coming and coming[-1][0] <= last:
            opened.append(room.unpack(blobs[coming.pop()[1]], free.pop(), order))
        if not opened:
            break
        yield window(opened, last, room)
        free += [one.number for one in opened if one.begin == one.end]
        opened = [one for one in opened if one.begin < one.end]
    if opened or coming:
        raise EngineError("the candidates of a task are not in the order of their parents")


def window(opened: Sequence[Opened], last: int, room: Room) -> Numbers:
    """Return the candidates of several blobs whose parents are at places up to the last one, in order, and pass them.

    Equal parents are of one task, whose candidates stay as they are.
    """
    slots, places = [], []
    for one in opened:
        begin, one.begin = one.begin, one.begin + int(np.searchsorted(room.places[one.begin : one.end], last, "right"))
        slots.append(np.arange(begin, one.begin, dtype=np.uint32))
        places.append(room.places[begin : one.begin])
    found: Numbers = np.concatenate(slots)[np.argsort(np.concatenate(places), kind="stable")]
    return found
