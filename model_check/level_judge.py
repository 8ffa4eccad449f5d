"""Judges the states of a level by the compiled properties, on several threads.

Depends on a level that can be read in pieces, not on the order of the search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.arrays import Bytes, Words, address
from kafka_spec.model_check.compile import Program
from kafka_spec.model_check.shards import Together

PIECE_BYTES = 4 << 20
"""Bytes of states that are judged at a time."""


class Readable(Protocol):
    """States that can be read in pieces."""

    def read(self, begin: int, end: int, room: Bytes | None = None) -> tuple[Bytes, Words]:
        """Return the states begin..end-1 with their fingerprints, in `room` if they are unpacked and it is given."""
        ...


@dataclass(frozen=True)
class Judged:
    """What the judge says of the states of a level."""

    firsts: Sequence[int]
    """For each claim the first state that decides it, or -1."""
    met: Sequence[int]
    """How many states met each antecedent."""
    ways: npt.NDArray[np.bool_]
    """For each state, which predicates of claims about paths it meets."""
    fault: tuple[int, int] | None = None
    """The first state in which a property cannot be evaluated, and the code of the fault."""


def judge_level(
    program: Program, frontier: Readable, width: int, known: Sequence[bool], threads: int, together: Together
) -> Judged:
    """Judge the states of a level; `known` says which claims are decided."""
    claims = len(known)
    share, size = -(-width // threads), program.shape.record_bytes
    piece = max(1, min(share, PIECE_BYTES // size))
    start = [*(0 if decided else -1 for decided in known), *[0] * (1 + len(program.state_tests))]
    firsts = np.array([start] * threads, np.int64)
    faults = [-1] * threads
    meets = np.zeros((width, len(program.ways)), np.bool_)

    def job(thread: int) -> Callable[[], None]:
        row, end = firsts[thread], min(width, (thread + 1) * share)

        def judge() -> None:
            room = np.empty((piece, size), np.uint8)
            for begin in range(thread * share, end, piece):
                last = min(end, begin + piece)
                states, _ = frontier.read(begin, last, room)
                found = np.flatnonzero(row[:claims] < 0)
                fault = program.judge(address(states), len(states), address(row), address(meets[begin:last]))
                row[found] += np.where(row[found] >= 0, begin, 0)
                if fault >= 0:
                    faults[thread] = begin + fault
                    return

        return judge

    if threads > 1:
        together([job(thread) for thread in range(threads)])
        if max(faults) >= 0:
            # which faults threads meet may depend on their findings: report the fault that a single thread would meet
            return judge_level(program, frontier, width, known, 1, together)
    else:
        job(0)()
    hits = [[int(row[n]) for row in firsts if row[n] >= 0] for n in range(claims)]
    first = [min(found, default=-1) for found in hits]
    met = firsts[:, claims + 1 :].sum(axis=0).tolist()
    return Judged(first, met, meets, (faults[0], int(firsts[0][claims])) if faults[0] >= 0 else None)
