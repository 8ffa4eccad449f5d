"""Where the states of the last level wait to be expanded: in memory, or in the files of a state-dir; packed where they are many.

Depends on bytes, not on the order of the search. A level is read in pieces, as whole records with their fingerprints.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.checkpoints import Checkpoints
from kafka_spec.model_check.codec import Codec
from kafka_spec.model_check.shards import Records, Shard, Words

PACK_FROM = 64 << 20
"""Bytes of a level from which on it is packed; a state-dir holds packed states only."""
PIECE = 1 << 14
"""States that are packed, or written, at a time."""

Bytes = npt.NDArray[np.uint8]
Together = Callable[[Sequence[Callable[[], None]]], None]
"""Runs some jobs, on several threads if there are any."""


@dataclass(frozen=True)
class Level:
    """How the states of a level were first reached: for each, in order, the index of its parent and the number of the action."""

    parents: npt.NDArray[np.uint32]
    actions: npt.NDArray[Any]


class InMemory:
    """A level in memory. Its room is that of the level before, which has been expanded when it is replaced."""

    def __init__(self, record_bytes: int, action_bits: int, traced: bool) -> None:
        self.records, self.action_bits, self.traced = Records(record_bytes, action_bits), action_bits, traced
        self.codec: Codec | None = None

    def read(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the states begin..end-1 with their fingerprints; packed ones are unpacked, into `room` if it is given."""
        rows, marks = self.records.states[begin:end], self.records.marks[begin:end]
        return (rows if self.codec is None else self.codec.unpack(rows, marks, room)), marks

    def marks(self, count: int) -> Words:
        """Return a copy of the fingerprints."""
        return self.records.marks[:count].copy()

    def replace(self, shards: Sequence[Shard], level: int, together: Together) -> Level | None:
        """Take the ordered new states of the shards; return how they were reached, if that is kept."""
        starts = np.cumsum([0, *(shard.new.count for shard in shards)]).tolist()
        kept = starts[-1] if self.traced else 0
        parents, actions = np.empty(kept, np.uint32), np.empty(kept, np.dtype(f"u{self.action_bits // 8}"))

        def settle(shard: Shard, at: int) -> Callable[[], None]:
            def job() -> None:
                new, order, end = shard.new, shard.order, at + shard.new.count
                np.take(new.states, order, axis=0, out=self.records.states[at:end], mode="clip")
                np.take(new.marks, order, out=self.records.marks[at:end], mode="clip")
                if kept:
                    np.take(new.parents, order, out=parents[at:end], mode="clip")
                    np.take(new.actions, order, out=actions[at:end], mode="clip")

            return job

        # the shards differ in the leading bits, so their concatenation is in order
        together([settle(shard, at) for shard, at in zip(shards, starts, strict=False)])
        self.records.release(starts[-1], self.records.count)
        self.records.count = starts[-1]
        return Level(parents, actions) if self.traced else None

    def pack(self, codec: Codec) -> None:
        """Pack the level, and expect packed states from now on."""
        old, self.records = self.records, Records(codec.size, self.action_bits)
        self.records.count = count = old.count
        self.records.marks[:count] = old.marks[:count]
        for begin in range(0, count, PIECE):
            end = min(count, begin + PIECE)
            codec.pack(old.states, np.arange(begin, end, dtype=np.uint32), self.records.states[begin:end])
        self.codec = codec


class OnDisk:
    """A level in the files of a state-dir, always packed."""

    def __init__(self, folder: Checkpoints, codec: Codec, action_bits: int, traced: bool) -> None:
        self.folder, self.codec, self.traced = folder, codec, traced
        self.kind = np.dtype(f"u{action_bits // 8}")
        self.level = -1

    def read(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the states begin..end-1 with their fingerprints, unpacked, into `room` if it is given."""
        rows = self.folder.read(self.level, "states", begin, end, np.uint8, self.codec.size)
        marks = self.folder.read(self.level, "marks", begin, end, np.uint64)
        return self.codec.unpack(rows, marks, room), marks

    def marks(self, count: int) -> Words:
        """Return the fingerprints."""
        found: Words = self.folder.read(self.level, "marks", 0, count, np.uint64)
        return found

    def replace(self, shards: Sequence[Shard], level: int, together: Together) -> Level | None:
        """Write the ordered new states of the shards; return how they were reached, if that is kept."""
        for name in ("states", "marks", *(("parents", "actions") if self.traced else ())):
            self.folder.write(level, name, (getattr(s.new, name)[p] for s in shards for p in s.pieces(PIECE)))
        self.level = level
        return self.history(level) if self.traced else None

    def history(self, level: int) -> Level:
        """Return how the states of a level were reached; it stays in its files."""
        return Level(self.folder.mapped(level, "parents", np.uint32), self.folder.mapped(level, "actions", self.kind))
