"""Inductive checks: do invariants hold in the initial states, and does every step keep them, from any state that meets them?

All states of the space are tried, reachable or not. What is inductive holds in every reachable state, without a search.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from kafka_spec.model_check.budget import INTERRUPTED, Budget, Stopped
from kafka_spec.model_check.exploration import EngineError, Exploration, Verdict
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.llvm.machine_code import Tier
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.room import refuse_open
from kafka_spec.model_check.search.embedded import explore
from kafka_spec.model_check.search.every_state import EveryState
from kafka_spec.model_check.search.induction import BlockFindings, InductionWorker
from kafka_spec.model_check.search.induction_code import InductionProgram
from kafka_spec.model_check.search.initial_states import initial_states
from kafka_spec.model_check.search.threads import Job, Threads
from kafka_spec.model_check.traces.counterexample import Replay
from kafka_spec.model_check.traces.faults import explain_state
from kafka_spec.model_check.within import limited
from kafka_spec.spec.language.domain import SpecError, show_path, show_value
from kafka_spec.spec.vocabulary.table import TYPE_INVARIANT, Property, Rule, Spec
from kafka_spec.spec.vocabulary.trace import Trace
from kafka_spec.spec.vocabulary.unlimited import unlimited

SEARCH_SECONDS = 20.0
"""The time of the search for reachable states that violate an invariant, unless the check has a limit of its own."""
BLOCK, BLOCK_BYTES = 1 << 16, 64 << 20
"""The states that are tried at a time by a thread, and the most bytes of their records."""


@dataclass
class InductiveResult:
    """What an inductive check found.

    Each rule and each invariant has a count of the steps that do not keep it. A state is asked for the invariants in their order,
    and counts for the first that it violates.
    """

    spec: Spec
    bounds: Mapping[str, int]
    invariants: Sequence[Property]
    """What was checked to be inductive, all together."""
    implied: Sequence[Property]
    """Invariants and step invariants that were judged in every state, and on every step, that the others admit."""
    free: Sequence[str] = ()
    """The bounds of `at_most` that are left out: their rules fire any number of times."""
    every: int = 0
    """The states of the space."""
    tried: int = 0
    """The states that were tried: all, unless the check was stopped."""
    admitted: int = 0
    """The states that meet the invariants."""
    fired: Counter[str] = field(default_factory=Counter)
    """The steps of each rule out of these."""
    cut_by: Counter[tuple[str, str]] = field(default_factory=Counter)
    """The steps of each rule that only a bound prevented, by rule and name of the bound."""
    broken: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each property was violated, by rule and property; of step invariants and domains only the first counts."""
    traces: dict[tuple[str, str], Trace] = field(default_factory=dict)
    """The first step by which a rule violates a property, from a state that meets the invariants; without a step: such a state."""
    searched: Exploration | None = None
    """If something is violated: a search of the spec for the same, to say whether such a state is reachable."""
    stopped: str = ""
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return a summary of a few lines."""
        bounds = ", ".join(f"{name}={value}" for name, value in self.bounds.items()) or "no bounds"
        lines = [f"{self.spec.name} at {bounds}: {self.verdict}" + (f", stopped: {self.stopped}" if self.stopped else "")]
        lines.append(f"  {self.admitted:,} of {self.tried:,} states meet {' and '.join(claim.name for claim in self.invariants)}")
        lines += [
            f"  {rule} does not keep {claim}: {count:,} step{'s' * (count != 1)}"
            for (rule, claim), count in self.broken.items()
            if rule in self.fired
        ]
        lines += [
            f"  {claim} is violated in {count:,} state{'s' * (count != 1)}"
            for (rule, claim), count in self.broken.items()
            if rule not in self.fired
        ]
        return "\n".join(lines)

    @property
    def initial(self) -> list[tuple[str, str]]:
        """Every field of a state with its initial value, as a person reads it."""
        space = self.spec.space(self.bounds)
        return [(show_path(one.path), show_value(one.type, one.after)) for one in space.fields(space.fresh())]

    @property
    def searched_less(self) -> str:
        """Why states may be reachable though the search, which has ended, violates nothing; "" if they are not."""
        assert self.searched is not None
        if self.free:
            limits = ", ".join(f"{name}={self.bounds[name]}" for name in self.free)
            return f"the search limits how often rules fire ({limits})"
        if self.searched.left_constraint:
            return "the search does not follow steps that leave the constraint"
        return "the search takes states with the same view for one" if self.searched.spec.view else ""

    @property
    def is_inductive(self) -> bool:
        """Whether no rule breaks one of the invariants, or leads out of the domains, as far as states were tried."""
        needed = {TYPE_INVARIANT, *(claim.name for claim in self.invariants)}
        return not any(claim in needed for _, claim in self.broken)

    @property
    def verdict(self) -> Verdict:
        """Whether the invariants are inductive, and imply the other properties."""
        return "violated" if self.broken else "inconclusive" if self.stopped else "holds"


def check_inductive(
    spec: Spec,
    names: Sequence[str],
    bounds: Mapping[str, int] | None = None,
    *,
    implied: Sequence[str] = (),
    threads: int = 1,
    budget: Budget | None = None,
    progress: Callable[[InductiveResult], None] = lambda result: None,
) -> InductiveResult:
    """Check whether invariants are inductive at bounds.

    How often rules fire is not bounded (see `unlimited`). Constraint, view and normal form are left out as well.

    Args:
        spec: the spec.
        names: the invariants, of its properties or its lemmas; "lemmas" and "invariants" stand for all of them. A state is asked
            for them in this order, so one may rely on those before it, for instance that an index is in range.
        bounds: values of bounds by name; the other bounds have the values of the spec's first bound set.
        implied: names of invariants and step invariants that are to follow from them.
        threads: threads of this process; the result is the same for any number.
        budget: the limit of time.
        progress: called now and then with the result so far.

    Raises:
        SpecError: the request or the spec is wrong, the state has too many values, or a guard, an effect or a property cannot be
            executed in a state that the invariants admit.
    """
    refuse_open(spec, bounds or {})
    result = _asked(spec, names, spec.bound_values(bounds or {}), implied)
    budget, began = budget or Budget(), time.perf_counter()
    try:
        with limited(budget):
            _Check(result, threads, budget, progress).run()
    except Stopped as stop:
        result.stopped = str(stop)
    result.seconds = time.perf_counter() - began
    if result.broken and result.stopped != INTERRUPTED:
        result.searched = _searched(spec, result, threads, Budget(SEARCH_SECONDS) if budget.seconds is None else budget)
    return result


def _searched(spec: Spec, result: InductiveResult, threads: int, budget: Budget) -> Exploration:
    """Search for a reachable state, or a step out of one, that violates one of the properties."""
    names = {claim.stated for claim in (*result.invariants, *result.implied)}
    stated = tuple(one for one in (*spec.properties, *spec.lemmas) if one.name in names)
    judged = dataclasses.replace(spec, properties=stated, lemmas=())
    return explore(judged, result.bounds, threads=threads, budget=budget)


def _asked(spec: Spec, names: Sequence[str], bounds: Mapping[str, int], implied: Sequence[str]) -> InductiveResult:
    """Return the empty result of a check."""
    chosen = _named(spec, names, ("invariant",))
    further = [one for one in _named(spec, implied, ("invariant", "step invariant")) if one not in chosen]
    judged = unlimited(spec, bounds, (*chosen, *further))
    free = [bound.name for bound in spec.counted if bound not in judged.counted]
    return InductiveResult(judged, bounds, judged.claims_at(bounds, chosen), judged.claims_at(bounds, further), free)


def _named(spec: Spec, names: Sequence[str], kinds: Sequence[str]) -> list[Property]:
    """Return the properties and lemmas of these names, which must be of these kinds; "lemmas" and "invariants" stand for all."""
    stated = {one.name: [one] for one in (*spec.properties, *spec.lemmas)}
    stated |= {"lemmas": [*spec.lemmas], "invariants": [one for one in spec.properties if one.kind == "invariant"]}
    found: dict[Property, None] = {}
    for name in names:
        if name in stated and not stated[name]:
            raise SpecError(f"{spec.name}: it states no {name}; declare one with {name[:-1]}(...)")
        if name not in stated:
            known = [one for one, those in stated.items() if those and those[0].kind in kinds]
            raise SpecError(f"{spec.name}: {kinds[0]} {name!r} is unknown; there is {', '.join(known) or 'none'}")
        if wrong := [one for one in stated[name] if one.kind not in kinds]:
            raise SpecError(f"{name} is of kind {wrong[0].kind}; an inductive check is of an {' or '.join(kinds)}")
        found |= dict.fromkeys(stated[name])
    return list(found)


def _anything(s: Any) -> None:
    """Begin in any state."""


class _Check:
    """An inductive check in progress."""

    def __init__(self, result: InductiveResult, threads: int, budget: Budget, progress: Callable[[InductiveResult], None]) -> None:
        self.result, self.budget, self.progress, self.began = result, budget, progress, time.perf_counter()
        self.world = Interpreter(result.spec, result.bounds)
        self.layout = Layout(self.world.space)
        self.every = EveryState(self.layout)
        self.once = {TYPE_INVARIANT, *(claim.name for claim in result.implied if claim.kind == "step invariant")}
        """The properties of which only the first step that violates them is known."""
        result.every = self.every.count
        claims, actions = (*result.invariants, *result.implied), self.world.actions
        leave_out = frozenset({"digest"})
        self.program = InductionProgram(result.spec, self.layout, actions, claims, self.world.k, leave_out, tier=Tier.QUICK)
        self.workers = [InductionWorker(self.program, actions, len(result.invariants)) for _ in range(threads)]
        self.threads = Threads(threads)
        anywhere = dataclasses.replace(result.spec, start=Rule("AnyState", "world", "any state", effects=(_anything,)))
        told = Exploration(anywhere, dict(result.bounds), "embedded", threads, tuple(claims))
        self.replay = Replay(Interpreter(anywhere, result.bounds), told)

    def run(self) -> None:
        """Try the initial states, then every state."""
        try:
            self.begin()
            size = max(1, min(BLOCK, BLOCK_BYTES // self.layout.size))
            for begin in range(0, self.every.count, size * len(self.workers)):
                if reason := self.budget.exhausted():
                    self.result.stopped = reason
                    break
                self.try_blocks(range(begin, min(self.every.count, begin + size * len(self.workers)), size), size)
        finally:
            self.threads.close()
        self.add_up()

    def begin(self) -> None:
        """Judge the initial states."""
        records, _ = initial_states(self.world, self.layout)
        which = np.zeros(len(records), np.int64)
        place, code = self.program.first_violated(records, which)
        if place >= 0:
            self.explain(records[place].tobytes(), self.program.fault_of(code).message)
        for number, claim in enumerate(self.result.invariants):
            if len(those := np.flatnonzero(which == number)):
                key = self.result.spec.start.name, claim.name
                self.result.broken[key] = len(those)
                self.result.traces[key] = self.told(claim.name, records[those[0]].tobytes(), None, "an initial state")

    def try_blocks(self, begins: Sequence[int], size: int) -> None:
        """Try some blocks of states, each with a thread, and add up what they show, in their order."""
        ends = [min(self.every.count, begin + size) for begin in begins]
        found: list[BlockFindings | None] = [None] * len(begins)

        def trying(number: int) -> Job:
            def job() -> None:
                found[number] = self.workers[number].try_states(self.every.block(begins[number], ends[number]))

            return job

        self.threads.together([trying(number) for number in range(len(begins))])
        for part in found:
            assert part is not None
            if part.fault is not None:
                self.explain(*part.fault)
            self.result.admitted += part.admitted
            for (rule, claim), (record, action) in part.first.items():
                if claim in self.once and any(claim == known for _, known in self.result.broken):
                    continue
                self.result.broken[rule, claim] += part.broken[rule, claim]
                if (rule, claim) not in self.result.traces:
                    self.result.traces[rule, claim] = self.told(claim, record, action)
        self.result.tried, self.result.seconds = ends[-1], time.perf_counter() - self.began
        self.progress(self.result)

    def add_up(self) -> None:
        """Add up the steps that the workers counted."""
        program, rules = self.program, self.world.spec.rules
        counters = np.array([worker.part.counters for worker in self.workers]).sum(axis=0)
        fired = counters[program.fired : program.bounded].tolist()
        self.result.fired = Counter({rule.name: times for rule, times in zip(rules, fired, strict=True)})
        cuts = counters[program.bounded : program.met].reshape(len(rules), len(program.plan.bound_names))
        for rule, cut in np.argwhere(cuts).tolist():
            self.result.cut_by[rules[rule].name, program.plan.bound_names[cut]] = int(cuts[rule, cut])

    def explain(self, record: bytes, otherwise: str) -> NoReturn:
        """Raise what the interpreter says of a state in which something cannot be executed."""
        state = self.layout.unpack(record)
        try:
            explain_state(self.world, self.program, otherwise, "induction", state, 0)
        except SpecError as error:
            named = ", ".join(claim.name for claim in self.result.invariants)
            where = "; ".join(f"{path} = {value}" for path, value in self.differing(state)) or "every field has its initial value"
            cure = f"If it is not reachable, name an invariant that excludes it before {named}"
            raise SpecError(f"{error.__cause__ or error}; the state: {where}. {cure}") from None

    def differing(self, state: Any) -> list[tuple[str, str]]:
        """Return the fields of a state that do not have their initial value, with what they hold, as a person reads it."""
        changes = self.world.space.changes(self.world.space.fresh(), state)
        return [(show_path(one.path), show_value(one.type, one.after)) for one in changes]

    def told(self, claim: str, record: bytes, action: int | None, begins: str = "a state that meets the invariants") -> Trace:
        """Return a state, and if there is an action the step out of it, as a trace; the interpreter confirms both.

        Raises:
            EngineError: it disagrees.
        """
        world, state = self.replay.world, self.layout.unpack(record)
        start = dataclasses.replace(self.replay.teller.step(None, (), None, state), summary=begins)
        if action is None:
            self.replay.confirm(claim, None, state)
            return Trace(world.spec.name, tuple(world.bounds.items()), claim, start, ())
        if not all(world.judge(one, state) for one in self.result.invariants):
            raise EngineError(f"{claim}: compiled code takes a step out of a state that the interpreter does not admit")
        rule, binding = world.actions.decode(action)
        after, note = self.replay.follow(claim, rule, binding, state, True)
        self.replay.confirm(claim, state, after)
        step = self.replay.teller.step(rule, binding, state, after)
        told = dataclasses.replace(step, summary=step.summary + note)
        return Trace(world.spec.name, tuple(world.bounds.items()), claim, start, (told,))
