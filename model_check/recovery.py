"""Recoverable properties: the steps that a search records, and backward reachability over them.

Works on numbers of states and steps between them. States are numbered level by level, in the order of the frontier. A state is
*safe* for a claim if it meets the predicate or is undecided, and *owes* a path if it meets the antecedent. During the search a step
is recorded as the number of its source and the fingerprint of its target, unless the source is safe for all claims. At the end
fingerprints are replaced by numbers, the steps are sorted by target, and safety spreads from targets to sources. The first of the
remaining states that owes a path is a violation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check import graph_code
from kafka_spec.model_check.arrays import Flags, Numbers, Places, Words
from kafka_spec.model_check.graph_code import Numbering, grouped

NO_STEPS = (np.empty(0, np.uint32), np.empty(0, np.uint64))
Exhausted: TypeAlias = Callable[[int], str]
"""Returns "", or why the budget forbids the allocation of this many bytes."""

PIECE = 1 << 16
"""The number of states whose steps are followed at a time."""
STEP_BYTES, STATE_BYTES = 12, 24
"""Bytes that each recorded step and state take at the end, in addition to the recording, which is freed meanwhile."""
BATCH = 1 << 20
"""The number of steps whose targets are looked up at a time."""


class Recovery:
    """The recording of a search that decides from which states protocol steps can reach a state that meets a claim."""

    def __init__(self, claims: int) -> None:
        self.claims = claims
        self.count = 0
        """The number of states."""
        self.first = 0
        """The number of the first state of the last level."""
        self.marks: list[Words] = []
        self.safe: list[Flags] = []
        """For each level, state and claim, whether the state is safe."""
        self.owes: list[Flags] = []
        """For each level, state and claim, whether the state owes a path."""
        self.steps: list[tuple[Numbers, Words]] = []
        """The steps in any order: the numbers of sources, the fingerprints of targets."""

    def add_level(self, marks: Words, meets: Flags, owes: Flags) -> None:
        """Add the states of a level: their fingerprints, and whether each meets each claim's predicate, and owes a path."""
        self.first, self.count = self.count, self.count + len(marks)
        if self.count > np.iinfo(np.uint32).max:
            raise MemoryError
        self.marks.append(marks)
        self.safe.append(meets)
        self.owes.append(owes)

    def add_steps(self, begin: int, undecided: Flags, parents: Numbers, targets: Words, leads: Flags) -> None:
        """Add steps out of the states of the last level that start at index `begin`, one for each of `undecided`.

        `parents` are indices in the level, `targets` fingerprints; only steps with a true `leads` count. Several threads may call
        this, for disjoint states.
        """
        safe = self.safe[-1][begin : begin + len(undecided)]
        safe[undecided] = True
        matters: Flags = np.asarray(~safe.all(axis=1))
        kept = leads & matters[parents - np.uint32(begin)]
        if kept.any():
            self.steps.append((parents[kept] + np.uint32(self.first), targets[kept]))

    def newest(self, kept: int, ended: bool) -> dict[str, npt.NDArray[Any]]:
        """Return the recording of the last level, and of all but the first `kept` pieces of steps, which lead to it.

        With `ended` the last level has been expanded and led to no other, so what is new are its steps.
        """
        sources, targets = (np.concatenate([none, *(step[n] for step in self.steps[kept:])]) for n, none in enumerate(NO_STEPS))
        steps = {"sources": sources, "targets": targets}
        if ended:
            return {"decided": self.safe[-1], "safe": self.safe[-1][:0], "owes": self.owes[-1][:0], **steps}
        decided = self.safe[-2] if len(self.safe) > 1 else self.safe[-1][:0]
        return {"decided": decided, "safe": self.safe[-1], "owes": self.owes[-1], **steps}

    def restore(self, marks: Words, told: Mapping[str, npt.NDArray[Any]]) -> None:
        """Add the recording of the next level, as `newest` returned it."""
        if self.safe:
            self.safe[-1] = told["decided"].view(np.bool_).reshape(-1, self.claims).copy()
            self.steps.append((told["sources"].view(np.uint32), told["targets"].view(np.uint64)))
        flags = [told[name].view(np.bool_).reshape(-1, self.claims).copy() for name in ("safe", "owes")]
        self.add_level(marks, *flags)

    def lost(self, exhausted: Exhausted) -> tuple[str, list[int]]:
        """Return "" and for each claim the number of the first state that owes a path and has none, or -1.

        The text is the reason if the budget does not allow it. This frees the recording.
        """
        steps = sum(len(sources) for sources, _ in self.steps)
        if reason := exhausted(steps * STEP_BYTES + self.count * STATE_BYTES):
            return reason, []
        numbering = Numbering(self.marks)
        self.marks.clear()
        sources, numbers = np.empty(steps, np.uint32), np.empty(steps, np.uint32)
        at = 0
        for some, targets in batches(self.steps):
            if reason := exhausted(0):
                return reason, []
            sources[at : at + len(some)], numbers[at : at + len(some)] = some, numbering.of(targets)
            at += len(some)
        del numbering
        starts, back = grouped(numbers, sources, self.count)
        del sources, numbers
        found = []
        for claim in range(self.claims):
            safe = np.concatenate([level[:, claim] for level in self.safe])
            if reason := spread(safe, starts, back, exhausted):
                return reason, []
            lost = np.concatenate([level[:, claim] for level in self.owes]) & ~safe
            found.append(int(np.argmax(lost)) if lost.any() else -1)
        return "", found


def batches(pieces: list[Any]) -> Iterator[tuple[npt.NDArray[Any], ...]]:
    """Take pieces of steps from the end of a list, and yield their columns joined, many steps at a time: each piece is small."""
    while pieces:
        some = [pieces.pop()]
        steps = len(some[0][0])
        while pieces and steps + len(pieces[-1][0]) <= BATCH:
            some.append(pieces.pop())
            steps += len(some[-1][0])
        yield tuple(np.concatenate(columns) for columns in zip(*reversed(some), strict=True))


def spread(safe: Flags, starts: Places, back: Numbers, exhausted: Exhausted) -> str:
    """Mark all states safe that can reach a safe one; return "", or why the budget does not allow it.

    The sources of the steps to state n are `back[starts[n]:starts[n + 1]]`.
    """
    queue = np.empty(len(safe), np.uint32)
    filled, begin = int(np.count_nonzero(safe)), 0
    queue[:filled] = np.flatnonzero(safe)
    while begin < filled:
        if reason := exhausted(0):
            return reason
        end = min(filled, begin + PIECE)
        filled = graph_code.spread(safe, starts, back, queue, begin, end, filled)
        begin = end
    return ""
