"""Judges the states of a level by the compiled properties: while they are found, or all again.

Depends on records, not on the order of the search. States are judged where they were just written, since the processor's cache
still holds them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Bytes, Flags, Words, address
from kafka_spec.model_check.code.program import Program

PIECE_BYTES = 4 << 20
"""Bytes of states that are judged at a time."""


class Readable(Protocol):
    """States that can be read in pieces."""

    def rows(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the light rows of the states begin..end-1, and their fingerprints; `room` is for states that are unpacked."""
        ...


@dataclass(frozen=True)
class Judged:
    """What the judge says of the states of a level."""

    firsts: Sequence[int]
    """For each property the first state that decides it, or -1."""
    met: Sequence[int]
    """How many states met each antecedent."""
    ways: Flags
    """For each state, which predicates of properties about paths it meets."""
    fault: tuple[int, int] | None = None
    """The first state in which a property cannot be evaluated, and the code of the fault."""


class LevelJudge:
    """What the judge has said so far of the states of a level. Several threads may show it states, each with a number."""

    def __init__(self, program: Program, known: Sequence[bool] | None, threads: int) -> None:
        """Begin a level; `known` says which properties about states are decided; None: they need no judge."""
        self.program, self.claims = program, len(program.plan.states)
        self.judges = bool(program.plan.on_graph or (program.plan.states and known is not None))
        self.known = [True] * self.claims if known is None else known
        start = [*(0 if decided else -1 for decided in self.known), *[0] * (1 + len(program.plan.state_tests))]
        self.rows: npt.NDArray[np.int64] = np.array([start] * threads, np.int64)
        self.ways: list[tuple[int, Flags]] = []
        self.faults: list[int] = []

    def look(self, thread: int, begin: int, states: Bytes, count: int) -> None:
        """Judge so many states, given as light rows.

        The first has the index `begin` in the level, and no index of a thread is before an earlier one.
        """
        if not self.judges or self.faults:
            return
        row, meets = self.rows[thread], np.zeros((count, len(self.program.plan.ways)), np.bool_)
        open_ = row[: self.claims] < 0
        fault = self.program.judge_rows(address(states), count, address(row), address(meets))
        row[: self.claims][open_ & (row[: self.claims] >= 0)] += begin
        if fault >= 0:
            self.faults.append(begin + fault)
        if self.program.plan.ways:
            self.ways.append((begin, meets))

    @property
    def said(self) -> Judged:
        """What was reported to all threads together."""
        hits = [[int(row[n]) for row in self.rows if row[n] >= 0 and not known] for n, known in enumerate(self.known)]
        firsts = [min(some, default=-1) for some in hits]
        met = self.rows[:, self.claims + 1 :].sum(axis=0).tolist()
        found = [meets for _, meets in sorted(self.ways, key=lambda one: one[0])]
        ways = np.concatenate(found) if found else np.zeros((0, len(self.program.plan.ways)), np.bool_)
        fault = (min(self.faults), int(self.rows[0, self.claims])) if self.faults else None
        return Judged(firsts, met, ways, fault)


def judge_again(program: Program, known: Sequence[bool] | None, frontier: Readable, width: int) -> Judged:
    """Judge all states of a level in its order, on one thread."""
    judge = LevelJudge(program, known, 1)
    piece = max(1, min(width, PIECE_BYTES // program.shape.record_bytes))
    room = np.empty((piece, program.shape.record_bytes), np.uint8)
    for begin in range(0, width, piece):
        end = min(width, begin + piece)
        judge.look(0, begin, frontier.rows(begin, end, room)[0], end - begin)
    return judge.said
