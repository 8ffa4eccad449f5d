"""Batches of random walks: which walks are asked for, how compiled code walks a batch, and what a batch returns.

Depends on compiled code and on the names of properties, not on a spec: a machine that has only the code can walk
(spark/walk_task.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Words, address
from kafka_spec.model_check.random_walks import walk_kernel
from kafka_spec.model_check.random_walks.walk_code import WalkCode
from kafka_spec.model_check.record import counted
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT, SpecError

POLICIES = ("rule", "successor", "late", "rare")
"""The policies: a rule that can fire and then one of its steps, each as likely as the others; each step as likely as the others;
as `rule`, but operators and faults only after a random number of steps; of two rules drawn, the one that fired less often."""
MIXED = "mixed"
"""All policies in turn, walk by walk."""
LENGTH = 300
"""The most steps of a walk."""
BATCH_STEPS = 32_768
"""The most steps of a batch."""


@dataclass(frozen=True)
class Walks:
    """The walks that are asked for."""

    policy: str = MIXED
    seed: int = 1
    length: int = LENGTH
    """The most steps of a walk."""
    most: int | None = None
    """The number of walks; None: as many as the budget allows."""

    def __post_init__(self) -> None:
        if self.policy not in (*POLICIES, MIXED):
            raise SpecError(f"the policy {self.policy!r} is unknown; there is {', '.join((*POLICIES, MIXED))}")
        if not 0 <= self.seed < 1 << 62:
            raise SpecError(f"the seed {self.seed} is not a number of 0 to 2^62 - 1")

    @property
    def batch(self) -> int:
        """The number of walks of a batch."""
        return max(len(POLICIES), BATCH_STEPS // self.length)

    def ranges(self) -> Iterator[tuple[int, int]]:
        """Yield the first walk of each batch and the first that is no longer in it; without end, if `most` is None."""
        begin = 0
        while self.most is None or begin < self.most:
            yield begin, begin + self.batch if self.most is None else min(self.most, begin + self.batch)
            begin += self.batch


@dataclass(frozen=True)
class Met:
    """A violation or a goal that a walk met: the property, the number of the walk, and the path in it."""

    claim: str
    walk: int
    start: int
    actions: tuple[int, ...]


@dataclass
class WalkBatch:
    """What a batch returns: its counters, the bytes of rows, fingerprints for the sample, and what it met."""

    begin: int
    end: int
    counters: npt.NDArray[np.int64]
    tests: npt.NDArray[np.int64]
    """For each antecedent of a property on states, the states that met it."""
    rows: npt.NDArray[np.uint8]
    marks: Words
    states: int
    """The states that were judged, each as often as a walk came to it."""
    met: list[Met] = field(default_factory=list)
    fault: tuple[str, int, int, tuple[int, ...]] | None = None
    """Where compiled code met an error of the spec: what was executed, its code, and the path to the state."""


class Walker:
    """Walks batches, with buffers of its own; each thread has one."""

    def __init__(self, code: WalkCode, names: WalkProperties, initial: Sequence[bytes], kinds: Sequence[int], walks: Walks) -> None:
        self.code, self.names, self.walks = code, names, walks
        size, actions = code.shape.record_bytes, max(1, code.shape.actions)
        self.initial = np.frombuffer(b"".join(initial), np.uint8)
        self.initials = len(initial)
        self.kinds = np.array([*kinds, 0], np.uint8)
        self.states = np.zeros((walks.length + 2) * size, np.uint8)
        self.trail = np.zeros(walks.length + 1, np.uint32)
        self.choices, self.starts = np.zeros(actions + 1, np.int64), np.zeros(actions + 2, np.int64)
        self.marks: Words = np.zeros(walks.batch * (walks.length + 1), np.uint64)
        self.chance, self.reported = np.zeros(1, np.int64), np.zeros(4, np.int64)

    def run(self, begin: int, end: int, bits: int = 0) -> WalkBatch:
        """Walk the walks begin..end-1; `bits` of the sample are known."""
        code, walks, names = self.code, self.walks, self.names
        policy = POLICIES.index(walks.policy) if walks.policy in POLICIES else -1
        counters, first = names.cells(code)
        batch = WalkBatch(
            begin, end, counters, first[len(names.states) + 1 :], np.zeros(1 + names.rows, np.uint8), self.marks[:0], 0
        )
        parts: list[Words] = []
        now = begin
        while now < end and batch.fault is None:
            now = code.walks(
                now, end, walks.seed, walks.length, policy, len(POLICIES), address(self.initial), self.initials,
                address(self.states), address(self.trail), address(self.choices), address(self.starts), address(self.kinds),
                address(self.marks), code.seed, address(counters), address(counters[code.fired :]),
                address(counters[counted.STUCK :]),
                address(counters[counted.HEADER :]), len(names.steps), address(first), len(names.states), address(batch.rows),
                address(self.chance), address(self.reported),
            )  # fmt: skip
            steps, start, marked, unfit = self.reported.tolist()
            parts.append(self.marks[:marked].copy())
            trail = self.trail[:steps].tolist()
            if counters[counted.FAULT]:
                at = int(counters[counted.FAULT_STATE])
                batch.fault = ("a rule", int(counters[counted.FAULT]), start, tuple(trail[:at]))
            elif unfit >= 0:
                batch.fault = ("a property", int(first[len(names.states)]), start, tuple(trail[:unfit]))
            else:
                batch.met += [Met(claim, now - 1, start, path) for claim, path in names.met(counters, first, trail)]
        batch.end = now
        marks = np.concatenate(parts)
        batch.states = len(marks)
        batch.marks = np.unique(marks[marks & np.uint64((1 << bits) - 1) == 0])
        return batch


@dataclass(frozen=True)
class WalkProperties:
    """The names of the properties, in the order of the compiled code, and how their findings are read."""

    states: tuple[str, ...]
    steps: tuple[str, ...]
    goals: frozenset[str]
    deadlock: bool
    rows: int
    every: bool
    """Whether violations after the first one of a walk count too."""

    def cells(self, code: WalkCode) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the counters of the steps and those of the states, with nothing found."""
        counters = np.zeros(code.counters, np.int64)
        counters[counted.STUCK] = -1 if self.deadlock else walk_kernel.KNOWN
        counters[counted.UNTYPED] = -1
        counters[counted.HEADER : code.fired : 2] = -1
        first = np.zeros(len(self.states) + 1 + code.shape.state_tests, np.int64)
        first[: len(self.states)] = -1
        return counters, first

    def met(
        self, counters: npt.NDArray[np.int64], first: npt.NDArray[np.int64], trail: Sequence[int]
    ) -> list[tuple[str, tuple[int, ...]]]:
        """Return what is new in the cells, with its path, and mark it as known; of violations the first in the walk, or all."""
        found: list[tuple[str, tuple[int, ...]]] = []

        def look(cells: npt.NDArray[np.int64], place: int, claim: str, last: int | None) -> None:
            if 0 <= (at := int(cells[place])) < walk_kernel.KNOWN:
                found.append((claim, (*trail[:at], *([] if last is None else [last]))))
                cells[place] = walk_kernel.KNOWN

        for number, claim in enumerate(self.states):
            look(first, number, claim, None)
        for number, claim in enumerate(self.steps):
            place = counted.HEADER + 2 * number
            look(counters, place, claim, int(counters[place + 1]))
        look(counters, counted.STUCK, DEADLOCK, None)
        look(counters, counted.UNTYPED, TYPE_INVARIANT, int(counters[counted.UNTYPED_ACTION]))
        least = min((len(path) for claim, path in found if claim not in self.goals), default=0)
        return [(claim, path) for claim, path in found if self.every or claim in self.goals or len(path) == least]
