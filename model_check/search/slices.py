"""A slice of the frontier: its states are expanded at a time, and it holds the candidates that they lead to.

Depends on bytes and the compiled functions that fill them, not on the order of the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Bytes, Numbers, Places, Words, address
from kafka_spec.model_check.code.compiled import Code, Shape
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.record import counted


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
