"""Random walks on compiled code: what can be said of bounds that no search completes.

A walk begins in an initial state and takes steps by a policy. Its states and steps are judged by the code that judges those of a
search. What a walk finds is a violation; what walks do not find may still exist, so they never lead to *holds*.

Theory of operation. Walk w of seed s depends on s and w alone, or, where a policy counts how often rules fired, on the walks
before it in its batch. A batch is a fixed range of walks. So the walks are the same for any number of threads and machines, and of
several violations the one of the first walk is told. Compiled code walks and judges (walk_kernel.py); a batch returns its counts.
Different states are counted on a sample of their fingerprints (Sample), which is exact while they are few.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check import counted, walk_kernel
from kafka_spec.model_check.exploration import Budget, EngineError, Exploration, Finding
from kafka_spec.model_check.faults import explain
from kafka_spec.model_check.layout import Layout
from kafka_spec.model_check.oracle import ExecutableSpec
from kafka_spec.model_check.shards import Words, address
from kafka_spec.model_check.walk_code import WalkCode, WalkProgram, rows_of
from kafka_spec.spec.table import DEADLOCK, TYPE_INVARIANT, Property, Spec, SpecError

POLICIES = ("rule", "successor", "late", "rare")
"""The policies: a rule that can fire and then one of its steps, each as likely as the others; each step as likely as the others;
as `rule`, but operators and faults only after a random number of steps; of two rules drawn, the one that fired less often."""
MIXED = "mixed"
"""All policies in turn, walk by walk."""
LENGTH = 300
"""The most steps of a walk."""
BATCH_STEPS = 32_768
"""The most steps of a batch."""
JUDGED = ("invariant", "step invariant", "reachable")
"""The kinds of properties that walks judge; the others are about all continuations of a state, of which a walk is one."""
SAMPLE = 1 << 16
"""The most fingerprints that are kept to estimate how many different states there were."""
INCOMPLETE = "random walks do not visit all states"


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
    """A violation or a goal that a walk met: the claim, the number of the walk, and the path in it."""

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
    """For each antecedent of a claim on states, the states that met it."""
    rows: npt.NDArray[np.uint8]
    marks: Words
    states: int
    """The states that were judged, each as often as a walk came to it."""
    met: list[Met] = field(default_factory=list)
    fault: tuple[str, int, int, tuple[int, ...]] | None = None
    """Where compiled code met an error of the spec: what was executed, its code, and the path to the state."""


class Sample:
    """Counts different fingerprints by those whose low bits are 0: all at first, then half of them whenever there are too many."""

    def __init__(self) -> None:
        self.bits = 0
        self.held: set[int] = set()

    def add(self, marks: Words) -> None:
        """Count some fingerprints."""
        self.held.update(self.of(marks).tolist())
        while len(self.held) > SAMPLE:
            self.bits += 1
            self.held = {mark for mark in self.held if not mark & ((1 << self.bits) - 1)}

    def of(self, marks: Words) -> Words:
        """Return which of some fingerprints would be held, each once."""
        return np.unique(marks[marks & np.uint64((1 << self.bits) - 1) == 0])

    @property
    def count(self) -> int:
        """How many different fingerprints there were; exact if `bits` is 0."""
        return len(self.held) << self.bits


class Walker:
    """Walks batches, with buffers of its own; each thread has one."""

    def __init__(self, code: WalkCode, names: WalkClaims, initial: Sequence[bytes], kinds: Sequence[int], walks: Walks) -> None:
        self.code, self.names, self.walks = code, names, walks
        size, actions = code.shape.record_bytes, max(1, code.shape.actions)
        self.initial = np.frombuffer(b"".join(initial), np.uint8)
        self.initials = len(initial)
        self.kinds = np.array([*kinds, 0], np.uint8)
        self.states = np.zeros((walks.length + 2) * size, np.uint8)
        self.trail = np.zeros(walks.length + 1, np.uint32)
        self.choices, self.starts = np.zeros(actions + 1, np.int64), np.zeros(actions + 2, np.int64)
        self.marks: Words = np.zeros(walks.batch * (walks.length + 1), np.uint64)
        self.chance, self.told = np.zeros(1, np.int64), np.zeros(4, np.int64)

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
                address(self.marks),
                code.k, code.seed, address(counters), address(counters[code.fired :]), address(counters[counted.STUCK :]),
                address(counters[counted.HEADER :]), len(names.steps), address(first), len(names.states), address(batch.rows),
                address(self.chance), address(self.told),
            )  # fmt: skip
            steps, start, marked, unfit = self.told.tolist()
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
class WalkClaims:
    """The names of the claims, in the order of the compiled code, and how their findings are read."""

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


@dataclass
class Walked:
    """The result of random walks."""

    found: Exploration
    """The counts of rules and antecedents, and the findings; never complete."""
    walks: Walks
    count: int = 0
    """The number of walks."""
    steps: int = 0
    judged: int = 0
    """The states that were judged, each as often as a walk came to it."""
    seconds: float = 0.0
    met: dict[str, Met] = field(default_factory=dict)
    """For each finding the walk that met it, as it was walked."""
    rows: Mapping[str, Sequence[tuple[str, bool]]] = field(default_factory=dict)
    """For each machine its rows, each with whether a walk took it."""
    curve: list[tuple[int, int, int]] = field(default_factory=list)
    """Walks, steps, and how many different states these had; each entry has some twice the steps of the one before."""
    exact: bool = True
    """Whether the number of different states is counted; else it is estimated."""
    stopped: str = ""
    """Why there were fewer walks than asked for."""

    @property
    def different(self) -> int:
        """How many different states the walks had."""
        return self.curve[-1][2] if self.curve else 0

    @property
    def not_judged(self) -> list[Property]:
        """The properties that walks cannot judge."""
        return [claim for claim in self.found.properties if claim.kind not in JUDGED]

    @property
    def violated(self) -> list[str]:
        """The violated properties."""
        return self.found.violated


Progress: TypeAlias = Callable[[Walked], None]


class Simulation:
    """Walks in progress: takes batches in order and adds them up."""

    def __init__(
        self,
        spec: Spec,
        bounds: Mapping[str, int],
        claims: Sequence[Property],
        walks: Walks,
        deadlock: bool,
        everything: bool = False,
    ) -> None:
        self.everything = everything
        self.world, self.walks = ExecutableSpec(spec, bounds), walks
        self.layout = Layout(self.world.space)
        judged = [claim for claim in claims if claim.kind in JUDGED]
        self.program = program = WalkProgram(spec, self.layout, self.world.actions, judged, self.world.k)
        found = Exploration(spec, dict(bounds), "random walks", 1, tuple(claims), deadlock, stopped=INCOMPLETE)
        found.compile_seconds, found.record_bytes = program.seconds, self.layout.size
        self.result = Walked(found, walks)
        self.initial = [self.layout.pack(state) for state in self.world.initial()]
        self.kinds = [int(rule.kind != "protocol") for rule in spec.rules]
        names = [claim.name for claim in program.states], [claim.name for claim in program.steps]
        goals = frozenset(claim.name for claim in judged if claim.kind == "reachable")
        self.places = rows_of(spec)
        self.names = WalkClaims(tuple(names[0]), tuple(names[1]), goals, deadlock, len(self.places), everything)
        self.rows = np.zeros(1 + len(self.places), np.uint8)
        self.sample = Sample()
        self.began = time.perf_counter()

    @property
    def over(self) -> bool:
        """Whether a violation ends the walks."""
        return bool(self.result.violated) and not self.everything

    def walker(self) -> Walker:
        """Return a walker, for one thread."""
        return Walker(self.program, self.names, self.initial, self.kinds, self.walks)

    def add(self, batch: WalkBatch) -> None:
        """Add the next batch to the result."""
        if batch.fault is not None:
            what, code, start, path = batch.fault
            fault = self.program.fault_of(code)
            explain(self.world, self.program, f"{fault.place}: {what}: {fault.message}", fault.place, start, path)
        result, found, program = self.result, self.result.found, self.program
        fired = batch.counters[program.fired : program.bounded].tolist()
        cuts = batch.counters[program.bounded : program.met].reshape(len(program.rules), -1).tolist()
        for rule, count, row in zip(program.rules, fired, cuts, strict=True):
            found.fired[rule.name] += count
            found.bounded[rule.name] += sum(row)
            found.cut_by.update({(rule.name, name): cut for name, cut in zip(program.cut_names, row, strict=True) if cut})
        found.bounded = +found.bounded
        tests = dict(zip(program.step_tests, batch.counters[program.met :].tolist(), strict=True))
        tests |= dict(zip(program.state_tests, batch.tests.tolist(), strict=True))
        found.tested.update(
            {claim.name: tests[claim.when] for claim in (*program.states, *program.steps) if claim.when is not None}
        )
        result.count += batch.end - batch.begin
        result.steps += sum(fired)
        result.judged += batch.states
        result.seconds = time.perf_counter() - self.began
        self.rows |= batch.rows
        self.sample.add(batch.marks)
        for met in batch.met:
            if met.claim not in result.met:
                result.met[met.claim] = met
                found.findings[met.claim] = Finding(met.start, met.actions, shortest=False)
        if not result.curve or result.steps >= 2 * result.curve[-1][1]:
            result.curve.append((result.count, result.steps, self.sample.count))

    def close(self, budget: Budget) -> Walked:
        """Return the result."""
        result = self.result
        result.seconds = result.found.search_seconds = time.perf_counter() - self.began
        if budget.interrupted or (result.count < (self.walks.most or 0) and not result.violated):
            result.stopped = budget.exhausted()
        if result.curve and result.curve[-1][0] != result.count:
            result.curve.append((result.count, result.steps, self.sample.count))
        result.exact = self.sample.bits == 0
        result.rows = {
            machine.name: [
                (row.label, bool(self.rows[self.places[machine.name, index]]))
                for index, row in enumerate(machine.rows)
                if (machine.name, index) in self.places
            ]
            for machine in self.world.spec.machines
        }
        if sum(result.found.fired.values()) != result.steps:
            raise EngineError(f"{self.world.spec.name}: the sums of random walks do not add up")
        return result


Run: TypeAlias = Callable[[Simulation, Budget, Progress], None]
"""What runs batches, and adds them in order."""


def walk(
    simulation: Simulation,
    *,
    threads: int = 1,
    budget: Budget | None = None,
    progress: Progress = lambda walked: None,
    run: Run | None = None,
) -> Walked:
    """Walk at random until the walks are done, the budget is spent, or a walk meets a violation.

    Args:
        simulation: the spec, and the walks that are asked for.
        threads: the number of threads; the walks are the same for any.
        budget: limits of time, which begins now; without a number of walks it must have one.
        progress: called after each batch.
        run: what runs the batches instead of threads of this process.

    Raises:
        SpecError: nothing ends the walks, or the spec cannot be executed in some state.
    """
    budget = budget or Budget()
    if simulation.walks.most is None and budget.seconds is None:
        raise SpecError("random walks do not end by themselves; name a number of walks or a time")
    simulation.result.found.threads = threads
    simulation.began = budget.began = time.perf_counter()
    if run is not None:
        run(simulation, budget, progress)
    else:
        on_threads(simulation, threads, budget, progress)
    return simulation.close(budget)


def on_threads(simulation: Simulation, threads: int, budget: Budget, progress: Progress) -> None:
    """Run the batches on threads of this process. Batches are begun in order and added in order."""
    idle = [simulation.walker() for _ in range(threads)]
    waiting: dict[Future[WalkBatch], tuple[Walker, int]] = {}
    ready: dict[int, WalkBatch] = {}
    result, following = simulation.result, 0
    ranges = simulation.walks.ranges()
    with ThreadPoolExecutor(threads) as pool:
        while True:
            while idle and not simulation.over and not budget.exhausted():
                if (part := next(ranges, None)) is None:
                    break
                walker = idle.pop()
                waiting[pool.submit(walker.run, *part, simulation.sample.bits)] = (walker, part[0])
            if not waiting:
                break
            done, _ = wait(waiting, return_when=FIRST_COMPLETED)
            for future in done:
                walker, begin = waiting.pop(future)
                idle.append(walker)
                ready[begin] = future.result()
            while following in ready and not simulation.over:
                simulation.add(ready.pop(following))
                following += simulation.walks.batch
                progress(result)
