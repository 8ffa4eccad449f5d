"""The graph that a search records for properties about paths: its states by number, and the steps out of those that matter.

States are numbered level by level, in the order of the frontier. A step is kept as the number of its target and that of its
action, in the order of sources: 8 bytes. While a level is expanded only the fingerprints of targets are known. When the next
level is there, fingerprints become numbers: most targets are in that level or the last two, whose tables stay in the processor's
cache. The others are looked up among all states at the end.

Does not know what properties mean, nor where states come from.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code import graph_code
from kafka_spec.model_check.code.arrays import Flags, Numbers, Places, Words, memory, reserve
from kafka_spec.model_check.code.graph_code import Graph, Numbering
from kafka_spec.model_check.exploration import EngineError

Exhausted: TypeAlias = Callable[[int], str]
"""Returns "", or why the budget forbids the allocation of this many bytes."""

NEAR = 3
"""The number of levels, the newest ones, in which targets are looked for at once."""
STATE_BYTES = 64
"""Bytes that each state takes at the end, in addition to the recording."""
MOST = np.iinfo(np.uint32).max


class RecordedSteps:
    """The states and steps of a search."""

    def __init__(self, matter: Flags) -> None:
        """Begin to record; `matter` says of each action whether its steps matter."""
        self.matter = matter
        self.count = 0
        """The number of states."""
        self.first = 0
        """The number of the first state of the last level."""
        self.marks: list[Words] = []
        self.open: list[Flags] = []
        self.lacking: list[Flags] = []
        """For each level and state, whether it is open for some leads-to property, and whether it lacks a recoverable one."""
        self.cuts: list[Flags] = []
        """For each level and state, whether a bound prevents a protocol step."""
        self.starts: Places = reserve(min(memory() // 8, MOST), np.int64, huge=True)
        self.targets: Numbers = reserve(memory() // 4, np.uint32, huge=True)
        self.actions: Numbers = reserve(memory() // 4, np.uint32, huge=True)
        self.settled = 0
        """The number of states whose steps are in order: all but those of the last level."""
        self.strange: list[tuple[int, Numbers, Words]] = []
        """For each level the steps whose targets have no number yet: where its steps begin, their places from there, targets."""
        self.near: list[Numbering] = []
        self.pending: list[tuple[int, int, int]] = []
        """Steps out of the last level, in pieces: the index of the first source, the first step, and how many steps they are."""
        self.room: Words = reserve(memory() // 8, np.uint64, huge=True)
        """The targets of those steps; their actions follow those of the level before."""
        self.used = 0
        self.lock = threading.Lock()
        self.degrees: Numbers = np.zeros(0, np.uint32)
        """The number of recorded steps of each state of the last level."""

    @property
    def graph(self) -> Graph:
        """The steps out of each state."""
        return self.starts, self.targets, self.actions

    def of(self, state: int) -> list[tuple[int, int]]:
        """Return action and target of each step out of a state."""
        some = slice(self.starts[state], self.starts[state + 1])
        return list(zip(self.actions[some].tolist(), self.targets[some].tolist(), strict=True))

    def add_level(self, marks: Words, open_: Flags, lacking: Flags) -> None:
        """Add a level's states: their fingerprints, which are open for a leads-to property, and which lack a recoverable one."""
        if self.count + len(marks) > MOST:
            raise MemoryError
        marks = np.ascontiguousarray(marks)
        self.near = [Numbering(marks, self.count), *self.near[: NEAR - 1]]
        self.settle()
        self.first, self.count = self.count, self.count + len(marks)
        self.marks.append(marks)
        self.open.append(open_)
        self.lacking.append(lacking)
        self.cuts.append(np.zeros(len(marks), np.bool_))
        self.degrees = np.zeros(len(marks), np.uint32)

    def add_steps(self, begin: int, cuts: Flags, parents: Numbers, targets: Words, actions: Numbers) -> None:
        """Add the steps out of the states of the last level that start at index `begin`, one for each of `cuts`.

        `parents` are indices in the level, in ascending order, `targets` fingerprints. Several threads may call this, each state is
        in one call.
        """
        end, count = begin + len(cuts), len(parents)
        self.cuts[-1][begin:end] = cuts
        base = int(self.starts[self.first])
        with self.lock:
            at, self.used = self.used, self.used + count
        if base + at + count > len(self.actions) or at + count > len(self.room):
            raise MemoryError
        kept = graph_code.keep(
            begin, end, parents, targets, actions, count, self.marks[-1], self.open[-1], self.lacking[-1], cuts, self.matter,
            self.degrees[begin:end], self.room[at:], self.actions[base + at :],
        )  # fmt: skip
        if kept < 0:
            raise EngineError("steps are not in the order of their sources")
        with self.lock:
            self.pending.append((begin, at, kept))
            if self.used == at + count:
                self.used = at + kept

    def settle(self) -> None:
        """Put the steps out of the last level in order, and number their targets as far as they are near."""
        if self.settled == self.count:
            return
        at = int(self.starts[self.first])
        graph_code.begin(self.starts, self.degrees, self.first)
        self.settled = self.count
        pieces = sorted(self.pending)
        self.pending, self.used = [], 0
        count = sum(kept for _, _, kept in pieces)
        if count > MOST:
            raise MemoryError
        places = np.cumsum([0, *(kept for _, _, kept in pieces)])
        if [place for _, place, _ in pieces] == places[:-1].tolist():
            targets = self.room[:count]
        else:  # several threads recorded them
            targets = np.concatenate([self.room[place : place + kept] for _, place, kept in pieces])
            actions = self.actions[at:]
            actions[:count] = np.concatenate([actions[place : place + kept] for _, place, kept in pieces])
        self.number(targets, at)

    def number(self, targets: Words, at: int) -> None:
        """Number the targets of the steps from index `at` on by the near levels; note the others."""
        places = np.arange(len(targets), dtype=np.uint32)
        for level in self.near:
            missed = level.find(targets, places, self.targets[at : at + len(places)])
            targets, places = targets[:missed], places[:missed]
        if len(targets):
            self.strange.append((at, places.copy(), targets.copy()))

    def finish(self, exhausted: Exhausted) -> str:
        """Number the targets that are not numbered yet; return "", or why the budget does not allow it.

        Raises:
            EngineError: a step leads to a state that the search has not found.
        """
        if reason := exhausted(self.count * STATE_BYTES):
            return reason
        self.settle()
        self.near = []
        everything = Numbering(np.concatenate(self.marks)) if self.strange else None
        while self.strange and everything is not None:
            if reason := exhausted(0):
                return reason
            at, places, targets = self.strange.pop()
            if everything.find(targets, places, self.targets[at:]):
                raise EngineError(f"a step leads to the state {int(targets[0]):016x}, which the search has not found")
        return ""

    # checkpoints

    def newest(self, ended: bool) -> dict[str, npt.NDArray[Any]]:
        """Return the recorded steps that lead to the last level; with `ended`, those out of it, since it led to no other."""
        if ended:
            self.settle()
        end, level = (self.count, -1) if ended else (self.first, -2)
        cuts = self.cuts[level] if len(self.cuts) >= -level else np.zeros(0, np.bool_)
        low, high = int(self.starts[end - len(cuts)]), int(self.starts[end])
        places, strange = np.zeros(0, np.uint32), np.zeros(0, np.uint64)
        if low < high and self.strange and self.strange[-1][0] == low:
            _, places, strange = self.strange[-1]
        steps = {"targets": self.targets[low:high], "actions": self.actions[low:high]}
        degrees = np.diff(self.starts[end - len(cuts) : end + 1]).astype(np.uint32)
        return {"cuts": cuts, "degrees": degrees, **steps, "places": places, "strange": strange}

    def restore(self, reported: Mapping[str, npt.NDArray[Any]]) -> None:
        """Add the steps out of the last level, as `newest` returned them."""
        self.cuts[-1:] = [reported["cuts"].view(np.bool_).copy()] * len(self.cuts[-1:])
        self.degrees = reported["degrees"].view(np.uint32)
        self.settle()
        at, end = int(self.starts[self.first]), int(self.starts[self.count])
        self.targets[at:end], self.actions[at:end] = reported["targets"].view(np.uint32), reported["actions"].view(np.uint32)
        if len(places := reported["places"].view(np.uint32)):
            self.strange.append((at, places.copy(), reported["strange"].view(np.uint64).copy()))
