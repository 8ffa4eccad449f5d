"""Whether one spec implements another: every step that a search takes is, under a mapping, a step of the abstract spec or none.

The compiled search finds the states and records the steps between them. The mapping runs in plain Python, once for each state. Many
states become the same abstract state, so few pairs of abstract states are left, and the interpreter decides them.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kafka_spec.model_check.abstract_states import AbstractStates, rules_on_path
from kafka_spec.model_check.budget import Budget, Stopped
from kafka_spec.model_check.exploration import EngineError, Exploration, Finding, Verdict
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.search.edge_log import RecordedSteps
from kafka_spec.model_check.search.embedded import Search, explore
from kafka_spec.model_check.search.frontier import path_to
from kafka_spec.model_check.search.path_properties import place_of
from kafka_spec.model_check.traces.counterexample import Replay
from kafka_spec.model_check.within import limited, look
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary.table import Refinement, Spec, SpecError, eventually_always
from kafka_spec.spec.vocabulary.trace import Trace

READ = 4096
"""The states of a level that are unpacked at a time."""
SOURCES = 1 << 20
"""The states whose steps are mapped at a time."""


def is_a_state(s: Any) -> bool:
    """Any state."""
    return True


EVERY_STEP = eventually_always("EveryStep", is_a_state, "the search records every step for it")


@dataclass(frozen=True)
class Mismatch:
    """What the abstract spec does not do: a step, or the beginning, of the implementing spec."""

    trace: Trace
    changed: tuple[tuple[str, str, str], ...]
    """What the last step changes of the abstract state: path, before and after. Of a beginning, what differs from a fresh state."""
    offered: tuple[str, ...]
    """What the abstract spec can do there instead: its rules with their bindings."""
    cut_by: tuple[str, ...] = ()
    """The bounds of the abstract spec that prevent steps there: a step that is missing may be one of those."""


@dataclass
class RefinementResult:
    """Whether a spec implements another, as far as was searched."""

    refinement: Refinement[Spec]
    searched: Exploration
    bounds: Mapping[str, int]
    """The bounds of the abstract spec."""
    states: int = 0
    """The abstract states that were reached."""
    changes: int = 0
    """The pairs of abstract states that steps of the implementing spec lead from and to."""
    taken: Counter[str] = field(default_factory=Counter)
    """For each rule of the abstract spec, how many of these pairs it explains."""
    mismatch: Mismatch | None = None
    """The first step that the abstract spec does not take."""
    beyond: Mismatch | None = None
    """The first step that it does not take within its bounds."""

    @property
    def never_taken(self) -> list[str]:
        """The rules of the abstract spec that no step of the implementing spec takes."""
        return [rule.name for rule in self.refinement.of.rules if not self.taken[rule.name]]

    @property
    def undecided(self) -> str:
        """Why there is no verdict; "" if there is one."""
        if self.mismatch is not None:
            return ""
        if not self.searched.complete:
            return self.searched.stopped or "the search is not complete"
        if self.beyond is not None:
            return f"bounds of {self.refinement.of.name} prevent steps ({', '.join(self.beyond.cut_by)}); raise them"
        return "" if self.changes else "no step changes the abstract state, so nothing was tested"

    @property
    def verdict(self) -> Verdict:
        """Whether it implements the abstract spec."""
        return "violated" if self.mismatch is not None else "inconclusive" if self.undecided else "holds"


def judge_refinement(
    spec: Spec,
    refinement: Refinement[Spec],
    bounds: Mapping[str, int] | None = None,
    *,
    threads: int = 1,
    budget: Budget | None = None,
) -> RefinementResult:
    """Search a spec, and judge whether it implements another.

    Args:
        spec: the implementing spec; it is searched without its normal form.
        refinement: the abstract spec, and the mapping.
        bounds: values of its bounds by name; the other bounds have the values of its first bound set.
        threads: the threads of the search.
        budget: the limits of time, memory and states.

    Raises:
        SpecError: a spec or the mapping cannot be executed, or one of the specs is not one that a refinement can be about.
    """
    refuse_unfit(spec, refinement.of)
    bounds, budget = spec.bound_values(bounds or {}), budget or Budget()
    mapped = _Mapped(
        Interpreter(spec, bounds), AbstractStates(Interpreter(refinement.of, abstract_bounds(refinement, bounds))), refinement
    )
    searched = explore(
        spec, bounds, properties=(EVERY_STEP,), everything=True, threads=threads, budget=budget, on_level=mapped.add_level
    )
    result = RefinementResult(refinement, searched, mapped.abstract.world.bounds, len(mapped.abstract.states))
    if searched.complete:
        try:
            with limited(budget):
                mapped.judge(result)
        except Stopped as stop:
            searched.complete, searched.stopped = False, str(stop)
    return result


def refuse_unfit(spec: Spec, abstract: Spec) -> None:
    """Refuse specs whose states no mapping can compare.

    Raises:
        SpecError: the message says what to leave out.
    """
    for one in (spec, abstract):
        if one.view:
            raise SpecError(f"{one.name}: its view takes different states for one; judge a spec without it")
    if abstract.counted:
        raise SpecError(
            f"{abstract.name} counts how often {abstract.counted[0].name} is used up (at_most), which no mapping can say; "
            "state its rules without at_most, and limit them by the domains of fields"
        )


def abstract_bounds(refinement: Refinement[Spec], bounds: Mapping[str, int]) -> dict[str, int]:
    """Return the bounds of the abstract spec where the implementing one has these.

    Raises:
        SpecError: a bound is unknown, is out of its range, or has no value.
    """
    abstract = refinement.of
    same = {name: bounds[name] for name in abstract.bounds if name in bounds}
    values = {**(abstract.bound_sets[0].values if abstract.bound_sets else {}), **same, **refinement.bounds}
    if missing := [name for name in abstract.bounds if name not in values]:
        raise SpecError(f"bound {missing[0]} of {abstract.name} has no value; give it in Refinement(bounds=...)")
    return abstract.bound_values(values)


@dataclass(frozen=True)
class AbstractStep:
    """A step between abstract states: where it is first taken in the search, as the number of a state and that of an action."""

    before: int
    after: int
    source: int
    action: int


class _Mapped:
    """A search, whose states are mapped as they are found, and whose steps are judged at its end."""

    def __init__(self, world: Interpreter, abstract: AbstractStates, refinement: Refinement[Spec]) -> None:
        self.world, self.abstract, self.refinement = world, abstract, refinement
        self.levels: list[Any] = []
        """For each level and state, the number of its abstract state."""
        self.cut: dict[AbstractStep, set[str]] = {}
        """The bounds that cut the abstract spec where it does not take a step."""
        self.search: Search | None = None
        self.recorded: RecordedSteps | None = None

    def add_level(self, search: Search) -> None:
        """Map the states of the level that the search has just found."""
        self.search, self.recorded = search, search.paths.steps
        level, numbers = len(search.history) - 1, np.empty(search.width, np.uint32)
        size = search.layout.size
        for begin in range(0, search.width, READ):
            end = min(search.width, begin + READ)
            rows = search.frontier.read(begin, end)[0].tobytes()
            for index in range(begin, end):
                state = search.layout.unpack(rows[(index - begin) * size : (index - begin + 1) * size])
                numbers[index] = self.mapped(state, level, index)
        self.levels.append(numbers)

    def mapped(self, state: Any, level: int, index: int) -> int:
        """Return the number of the abstract state that a state of the search becomes."""
        look()
        mapped = self.abstract.world.space.fresh()
        try:
            self.abstract.world.call(
                self.refinement.mapping, {"s": state, "a": mapped, "k": self.world.k}, f"refinement of {self.refinement.of.name}"
            )
        except (OutOfBound, OutOfDomain, TypeError, AttributeError) as error:
            path = ", ".join(str(step.action) for step in self.trace(level, index).steps) or "the beginning"
            what = f"the bound {error} of {self.refinement.of.name} ends it; raise it" if isinstance(error, OutOfBound) else error
            raise SpecError(f"{self.refinement.mapping.__name__} after {path}: {what}") from None
        return self.abstract.number(mapped)

    def trace(self, level: int, index: int, *last: int) -> Trace:
        """Return the path to a state, and further actions at its end."""
        assert self.search is not None
        start, actions = path_to(self.search.history[: level + 1], index)
        replay = Replay(self.world, self.search.result)
        return replay.way(f"implements {self.refinement.of.name}", Finding(start, (*actions, *last)))[0]

    def judge(self, result: RefinementResult) -> None:
        """Judge the beginnings, and each pair of abstract states between which there is a step."""
        result.states = len(self.abstract.states)
        begins = {self.abstract.number(state) for state in self.abstract.world.initial()}
        for index, number in enumerate(self.levels[0].tolist()):
            if number not in begins:
                changed = self.abstract.changed(self.abstract.world.space.fresh(), number)
                result.mismatch = Mismatch(self.trace(0, index), changed, ())
                return
        pairs = list(self.pairs())
        result.changes = len(pairs)
        wrong: list[AbstractStep] = []
        for before, group in itertools.groupby(sorted(pairs, key=lambda step: step.before), lambda step: step.before):
            steps = list(group)
            tree, cut = self.abstract.reached_from(before, self.refinement.steps, {step.after for step in steps})
            for step in steps:
                if step.after in tree:
                    result.taken.update(rules_on_path(tree, step.after))
                else:
                    wrong.append(step)
                    self.cut[step] = cut
        wrong.sort(key=lambda step: (bool(self.cut[step]), step.source))
        if wrong:
            first = self.mismatch(wrong[0], result)
            result.mismatch, result.beyond = (None, first) if first.cut_by else (first, None)

    def mismatch(self, step: AbstractStep, result: RefinementResult) -> Mismatch:
        """Return what the abstract spec does not do."""
        return Mismatch(
            self.trace(*place_of(result.searched, step.source), step.action),
            self.abstract.changed(self.abstract.states[step.before], step.after),
            tuple(self.abstract.ways_from(step.before).offered),
            tuple(sorted(self.cut[step])),
        )

    def pairs(self) -> Iterator[AbstractStep]:
        """Yield the first step of the search between each two abstract states, in the order of their sources."""
        assert self.recorded is not None
        numbers = np.concatenate(self.levels).astype(np.uint64)
        starts, targets, actions = self.recorded.graph
        if len(numbers) != self.recorded.count:
            raise EngineError(f"{self.recorded.count:,} states have steps, and {len(numbers):,} were mapped")
        known = set[int]()
        for begin in range(0, len(numbers), SOURCES):
            look()
            end = min(len(numbers), begin + SOURCES)
            first, last = int(starts[begin]), int(starts[end])
            sources = np.repeat(np.arange(begin, end), np.diff(starts[begin : end + 1]))
            both = numbers[sources] << np.uint64(32) | numbers[targets[first:last]]
            _, places = np.unique(both, return_index=True)
            for place in np.sort(places).tolist():
                pair = int(both[place])
                if pair not in known and pair >> 32 != pair & 0xFFFFFFFF:
                    known.add(pair)
                    yield AbstractStep(pair >> 32, pair & 0xFFFFFFFF, int(sources[place]), int(actions[first + place]))
