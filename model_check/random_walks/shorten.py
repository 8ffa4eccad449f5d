"""Shortens what a random walk found: first by leaving steps out, then by a search around the walk.

The shorter path ends with a violation of the same property; it need not be a shortest one. Does not trust itself: the oracle
replays the path before it is shown.

Theory of operation. *Leaving out*: a part of the actions is removed, and of the others those are taken that can be; if that still
shows the violation, it is the new walk. Parts are halves at first, then quarters, and so on down to single actions. *Search
around*: all states of the walk together are the first level of a breadth-first search, which continues until it holds enough
states. The graph that it has seen then is searched for a shortest path from the walk's first state to any violation; it may leave
the walk and come back to it. Both are repeated as long as the walk gets shorter.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.code.arrays import Words, address
from kafka_spec.model_check.random_walks.batches import WalkProperties
from kafka_spec.model_check.random_walks.simulation import Simulation, Walked
from kafka_spec.model_check.record import counted
from kafka_spec.model_check.search.slices import Slice
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT

MOST_BYTES = 96 << 20
"""The most bytes of the states of a search around a walk."""
MOST_STATES = 200_000
SLICE = 1024
"""States that are expanded at a time."""

Path = tuple[int, ...]


def shorten(simulation: Simulation, walked: Walked, budget: Budget | None = None) -> None:
    """Replace the finding of each violated property by a shorter one; leave the goals that were reached as they are."""
    for claim in walked.violated:
        finding = walked.found.findings[claim]
        shortener = Shortener(simulation, claim, finding.start)
        path, before = finding.actions, None
        while path != before and not (budget or Budget()).exhausted():
            before = path
            path = shortener.leave_out(path)
            path = shortener.search_around(path)
        walked.found.findings[claim] = replace(finding, actions=path)


@dataclass
class Around:
    """The states that a search around a walk has seen, and the steps out of those that were expanded."""

    states: npt.NDArray[np.uint8]
    marks: Words
    sources: npt.NDArray[np.int64]
    """For each step the number of its source."""
    targets: npt.NDArray[np.int64]
    """For each step the number of its target, or -1 if that is not among the states."""
    actions: npt.NDArray[np.int64]


class Shortener:
    """Looks for shorter paths to a violation of one property from one initial state."""

    def __init__(self, simulation: Simulation, claim: str, start: int) -> None:
        self.program, self.names, self.claim = simulation.program, simulation.names, claim
        self.size, self.start = simulation.layout.size, simulation.initial[start]
        self.seen_by: WalkProperties = replace(self.names, deadlock=claim == DEADLOCK, every=True)
        self.choices = np.zeros(max(1, self.program.shape.actions) + 1, np.int64)
        self.rows = np.zeros(1 + self.names.rows, np.uint8)

    # leaving out

    def follow(self, actions: Sequence[int]) -> tuple[npt.NDArray[np.uint8], Path | None]:
        """Take those of some actions that can be taken; return the states, and the path to a violation if there is one."""
        program, count = self.program, len(actions)
        states = np.zeros((count + 2, self.size), np.uint8)
        states[0] = np.frombuffer(self.start, np.uint8)
        trail, given = np.zeros(count + 1, np.uint32), np.array([*actions, 0], np.uint32)
        counters, first = self.seen_by.cells(program)
        taken = program.follow(
            address(given), count, address(states), address(trail), address(self.choices), address(counters),
            address(self.rows),
        )  # fmt: skip
        if taken < 0:
            return states[:1], None
        states = states[: taken + 1]
        program.judge(address(states), taken + 1, address(first), address(states))
        met = self.seen_by.met(counters, first, trail[:taken].tolist())
        return states, next((path for claim, path in met if claim == self.claim), None)

    def leave_out(self, actions: Path) -> Path:
        """Return a part of the actions that still leads to a violation, of which no single action can be left out."""
        size = max(1, len(actions) // 2)
        while True:
            at, shorter = 0, False
            while at < len(actions):
                _, path = self.follow(actions[:at] + actions[at + size :])
                if path is not None and len(path) < len(actions):
                    actions, shorter = path, True
                else:
                    at += size
            if size == 1 and not shorter:
                return actions
            size = max(1, size // 2)

    # a search around

    def search_around(self, actions: Path) -> Path:
        """Return a shorter path through states near the walk, or the same."""
        states, path = self.follow(actions)
        if path != actions:
            return actions
        around = self.explored(states)
        ways = Ways(around)
        found = self.nearest(around, ways)
        return found if found is not None and len(found) < len(actions) else actions

    def slices(self, states: npt.NDArray[np.uint8], marks: Words, counters: npt.NDArray[np.int64]) -> Iterator[tuple[int, Slice]]:
        """Expand states slice by slice; yield the first state of each slice and its successors."""
        part = Slice(self.program, SLICE * max(1, min(self.program.shape.actions, 256)))
        part.counters = counters
        step = max(1, len(part.marks) // max(1, self.program.shape.actions))
        for begin in range(0, len(states), step):
            part.expand(states[begin : begin + step], marks[begin : begin + step], begin)
            if part.count < 0:
                return
            yield begin, part

    def explored(self, walk: npt.NDArray[np.uint8]) -> Around:
        """Search breadth first from all states of a walk, until enough states are known."""
        most = min(MOST_STATES, MOST_BYTES // self.size)
        marks = self.marks_of(walk)
        first = np.unique(marks, return_index=True)[1]
        first.sort()
        states, marks = [walk[first]], marks[first]
        frontier, frontier_marks, known = states[0], marks, len(marks)
        sources: list[npt.NDArray[np.int64]] = []
        reached: list[Words] = []
        actions: list[npt.NDArray[np.int64]] = []
        base, counters = 0, self.seen_by.cells(self.program)[0]
        while len(frontier) and known < most:
            new: list[npt.NDArray[np.uint8]] = []
            new_marks: list[Words] = []
            for _, part in self.slices(frontier, frontier_marks, counters):
                count = part.count
                sources.append(part.parents[:count].astype(np.int64) + base)
                reached.append(part.marks[:count].copy())
                actions.append(part.actions[:count].astype(np.int64))
                fresh, places = np.unique(part.marks[:count], return_index=True)
                kept = places[~np.isin(fresh, np.concatenate([marks, *new_marks]))]
                new.append(part.states[kept].copy())
                new_marks.append(part.marks[kept].copy())
                known += len(kept)
                if known >= most:
                    break
            base += len(frontier)
            frontier, frontier_marks = np.concatenate(new), np.concatenate(new_marks)
            states.append(frontier)
            marks = np.concatenate([marks, frontier_marks])
        order = np.argsort(marks)
        ends = np.concatenate(reached) if reached else np.zeros(0, np.uint64)
        places = np.minimum(np.searchsorted(marks, ends, sorter=order), len(marks) - 1)
        targets = np.where(marks[order[places]] == ends, order[places], -1)
        none = np.zeros(0, np.int64)
        return Around(np.concatenate(states), marks, np.concatenate(sources or [none]), targets, np.concatenate(actions or [none]))

    def marks_of(self, states: npt.NDArray[np.uint8]) -> Words:
        """Return the fingerprints of some states."""
        marks: Words = np.zeros(len(states), np.uint64)
        reported = np.zeros(1, np.int64)
        self.program.form(address(states), len(states), self.program.seed, address(marks), address(reported))
        return marks

    def nearest(self, around: Around, ways: Ways) -> Path | None:
        """Return a shortest path to a violation that the states and steps around a walk show."""
        order = ways.order
        states, marks = np.ascontiguousarray(around.states[order]), around.marks[order]
        counters, first = self.seen_by.cells(self.program)
        if self.claim in self.names.states:
            self.program.judge(address(states), len(states), address(first), address(states))
            at = int(first[self.names.states.index(self.claim)])
            return ways.to(int(order[at])) if at >= 0 else None
        for _ in self.slices(states, marks, counters):
            pass
        if self.claim == DEADLOCK:
            place, action = counted.STUCK, -1
        elif self.claim == TYPE_INVARIANT:
            place, action = counted.UNTYPED, int(counters[counted.UNTYPED_ACTION])
        else:
            place = counted.HEADER + 2 * self.names.steps.index(self.claim)
            action = int(counters[place + 1])
        at = int(counters[place])
        return None if at < 0 else (*ways.to(int(order[at])), *([] if action < 0 else [action]))


class Ways:
    """Shortest paths from the first state of a walk to the states around it."""

    def __init__(self, around: Around) -> None:
        inside = around.targets >= 0
        sources, targets, actions = around.sources[inside], around.targets[inside], around.actions[inside]
        by_source = np.argsort(sources, kind="stable")
        starts = np.searchsorted(sources[by_source], np.arange(len(around.marks) + 1))
        self.parents = np.full(len(around.marks), -1, np.int64)
        self.actions = np.full(len(around.marks), -1, np.int64)
        level, seen, order = np.zeros(1, np.int64), np.zeros(len(around.marks), np.bool_), []
        seen[0] = True
        while len(level):
            order.append(level)
            steps = np.concatenate([by_source[starts[state] : starts[state + 1]] for state in level])
            steps = steps[~seen[targets[steps]]]
            level, first = np.unique(targets[steps], return_index=True)
            seen[level] = True
            self.parents[level], self.actions[level] = sources[steps[first]], actions[steps[first]]
        self.order = np.concatenate(order)
        """The states that can be reached, the nearest first."""

    def to(self, state: int) -> Path:
        """Return the actions of the path to a state."""
        path: list[int] = []
        while self.parents[state] >= 0:
            path.insert(0, int(self.actions[state]))
            state = int(self.parents[state])
        return tuple(path)
