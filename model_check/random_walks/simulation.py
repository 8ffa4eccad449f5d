"""Random walks on compiled code: what can be said of bounds that no search completes.

A walk begins in an initial state and takes steps by a policy. Its states and steps are judged by the code that judges those of a
search. What a walk finds is a violation; what walks do not find may still exist, so they never lead to *holds*.

Theory of operation. Walk w of seed s depends on s and w alone, or, where a policy counts how often rules fired, on the walks before
it in its batch. A batch is a fixed range of walks. So the walks are the same for any number of threads and machines, and of several
violations the one of the first walk is reported. Compiled code walks and judges (walk_kernel.py); a batch returns its counts
(batches.py). Different states are counted on a sample of their fingerprints (Sample), which is exact while they are few.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.code.arrays import Words
from kafka_spec.model_check.exploration import EngineError, Exploration, Finding
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.random_walks.batches import Met, WalkBatch, Walker, WalkProperties, Walks
from kafka_spec.model_check.random_walks.walk_code import WalkProgram, rows_of
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.traces.faults import explain
from kafka_spec.spec.vocabulary.table import Property, Spec, SpecError

JUDGED = ("invariant", "step invariant", "reachable")
"""The kinds of properties that walks judge; the others are about all continuations of a state, of which a walk is one."""
SAMPLE = 1 << 16
"""The most fingerprints that are kept to estimate how many different states there were."""
INCOMPLETE = "random walks do not visit all states"


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
        self.world, self.walks = Interpreter(spec, bounds), walks
        self.layout = Layout(self.world.space)
        claims = spec.claims_at(bounds, claims)
        judged = [claim for claim in claims if claim.kind in JUDGED]
        self.program = program = WalkProgram(spec, self.layout, self.world.actions, judged, self.world.k)
        found = Exploration(spec, dict(bounds), "random walks", 1, tuple(claims), deadlock, stopped=INCOMPLETE)
        found.compile_seconds, found.record_bytes = program.seconds, self.layout.size
        self.result = Walked(found, walks)
        self.initial = [self.layout.pack(state) for state in self.world.initial()]
        self.kinds = [int(rule.kind != "protocol") for rule in spec.rules]
        names = [claim.name for claim in program.plan.states], [claim.name for claim in program.plan.steps]
        goals = frozenset(claim.name for claim in judged if claim.kind == "reachable")
        self.places = rows_of(spec)
        self.names = WalkProperties(tuple(names[0]), tuple(names[1]), goals, deadlock, len(self.places), everything)
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
        cuts = batch.counters[program.bounded : program.met].reshape(len(program.plan.rules), -1).tolist()
        for rule, count, row in zip(program.plan.rules, fired, cuts, strict=True):
            found.fired[rule.name] += count
            found.cut_by.update({(rule.name, name): cut for name, cut in zip(program.plan.bound_names, row, strict=True) if cut})
        tests = dict(zip(program.plan.step_tests, batch.counters[program.met :].tolist(), strict=True))
        tests |= dict(zip(program.plan.state_tests, batch.tests.tolist(), strict=True))
        found.tested.update(
            {
                claim.name: tests[claim.antecedents]
                for claim in (*program.plan.states, *program.plan.steps)
                if claim.when is not None
            }
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
