"""Judges a plan: from each situation the model is searched with the plan, with no fault, then with each one, and so on.

What a search violates is searched again without the plan, with the same faults.

A plan does harm if some faults lose a record with it and none without it, or if it leaves a partition without a leader, without a
replica that may be elected, or below min.insync.replicas by itself. Where it does harm, the same is searched with something to
wait for.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations_with_replacement
from typing import Any, Literal, TypeAlias

from kafka_spec.conformance.advise.plans import OperatorPlan
from kafka_spec.conformance.advise.situations import Alike, Bounds, touched_by, waiting_for
from kafka_spec.conformance.metadata.cluster import ClusterAtEnd
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import check
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.in_processes import in_processes
from kafka_spec.model_check.sent_results import received, sent
from kafka_spec.spec.kraft.planned import Wait, planned
from kafka_spec.spec.kraft.wanted import WANTED
from kafka_spec.spec.vocabulary.table import TYPE_INVARIANT, Name, Spec

Faults: TypeAlias = tuple[Name, ...]
"""Faults of an environment, by the names of their bounds."""

FAULTS: dict[Name, str] = {"crashes": "kill", "fences": "time-out", "isr_shrinks": "slow follower", "lossy_crashes": "power loss"}
"""The faults, in words; the first are the likeliest."""
RECORDS, LEADER, CANDIDATES, MIN_ISR = (claim.name for claim in WANTED)
KEEPS: dict[str, Name] = {"records": RECORDS, "leader": LEADER, "candidates": CANDIDATES, "min-isr": MIN_ISR}
ACTIONS = ("ShutDown", "Reassign", "CancelReassignment", "ChangeMinIsr", "Unregister", "ElectPreferred", "ElectUnclean")
PLANNED_STEPS = (
    "controlled_shutdowns", "reassignments", "min_isr_changes", "unregistrations", "preferred_elections", "unclean_elections",
)  # fmt: skip
"""The bounds of these actions."""
AFTER_HARM = 300_000
"""The most states of a search after harm was found, and of one for what does not count as harm."""

AdviceVerdict: TypeAlias = Literal["safe", "unsafe", "undecided"]


@dataclass
class Margin:
    """What it takes: for each property the faults that violate it, the fewest first, each with the search that shows it.

    Faults that contain others which violate it already are left out.
    """

    violated: dict[Name, dict[Faults, Exploration]] = field(default_factory=dict)
    kept: set[tuple[Name, Faults]] = field(default_factory=set)
    """The properties that were searched to the end with some faults, and are not violated."""
    stopped: str = ""
    """Why not everything was searched."""
    acted: bool = True
    """Whether what is planned could be done."""
    untested: bool = False
    """Whether no broker ever leads without a fault, so that nothing shows whether records are lost."""
    states: int = 0

    def falls(self, name: Name, faults: Faults) -> bool:
        """Whether a property is violated by some faults, or by fewer of them."""
        return any(Counter(known) <= Counter(faults) for known in self.violated.get(name, ()))

    def knows(self, name: Name, faults: Faults) -> bool:
        """Whether it is known if a property is violated by some faults."""
        return (name, faults) in self.kept or self.falls(name, faults)

    def with_results(self, change: Callable[[Any], Any]) -> Margin:
        """Return the same with other results."""
        changed = {name: {faults: change(result) for faults, result in found.items()} for name, found in self.violated.items()}
        return dataclasses.replace(self, violated=changed)

    def least(self, name: Name) -> tuple[Faults, Exploration] | None:
        """Return the fewest faults that violate a property, and the search that shows it."""
        return next(iter(self.violated.get(name, {}).items()), None)


@dataclass
class Advice:
    """What a plan does to the partitions of one situation; `before` is the situation without it, as far as it was asked."""

    alike: Alike
    wait: Wait
    before: Margin
    planned: Margin = field(default_factory=Margin)
    undecided: str = ""
    cure: Advice | None = None
    """If the plan does harm, the advice for the least to wait for that makes it safe."""

    @property
    def harm(self) -> Mapping[Name, Faults]:
        """The properties that the plan takes away, the worst first, each with the faults that it then takes.

        Lost records count with any faults, everything else only without one.
        """
        found: dict[Name, Faults] = {}
        for name in KEEPS.values():
            for faults in self.planned.violated.get(name, ()):
                if counts(name, faults) and (name, faults) in self.before.kept:
                    found.setdefault(name, faults)
        return found

    @property
    def verdict(self) -> AdviceVerdict:
        """Whether the plan does harm here."""
        return "unsafe" if self.harm else "undecided" if self.undecided else "safe"


@dataclass(frozen=True)
class SentAdvice:
    """An advice that another process sends, without what both have."""

    wait: Wait
    margins: tuple[Margin, Margin]
    """Without the plan and with it; their results are sent ones."""
    undecided: str
    cure: SentAdvice | None

    @staticmethod
    def of(advice: Advice) -> SentAdvice:
        """Return what is sent of an advice."""
        margins = advice.before.with_results(sent), advice.planned.with_results(sent)
        return SentAdvice(advice.wait, margins, advice.undecided, SentAdvice.of(advice.cure) if advice.cure else None)

    def received(self, alike: Alike, spec: Spec) -> Advice:
        """Return the advice."""
        before, after = (margin.with_results(lambda result: received(result, spec)) for margin in self.margins)
        return Advice(alike, self.wait, before, after, self.undecided, self.cure.received(alike, spec) if self.cure else None)


def counts(name: Name, faults: Faults) -> bool:
    """Whether it counts as harm if a property is violated by some faults."""
    return name == RECORDS or not faults


class Adviser:
    """Judges situations in one version of Kafka, with at most `faults` faults, while clients write at most `writes` records."""

    def __init__(self, spec: Spec, faults: int, writes: int, keep: Sequence[Name], budget: Budget, threads: int) -> None:
        self.spec = planned(spec)
        self.most, self.writes, self.keep, self.budget, self.threads = faults, writes, tuple(keep), budget, threads
        self._before: dict[Bounds, Margin] = {}

    def cure(self, advice: Advice, waits: Sequence[Wait]) -> Advice | None:
        """Return the advice with the least to wait for that makes the plan safe; None if nothing of it does."""
        tries = (self.advise(advice.alike, wait, only_harm=True) for wait in waits)
        return next((tried for tried in tries if tried.verdict == "safe"), None)

    def advise(self, alike: Alike, wait: Wait, only_harm: bool = False) -> Advice:
        """Judge a plan in a situation, with what is waited for; `only_harm` judges what may be harm alone."""
        situation = alike.situation
        advice = Advice(alike, wait, self._before.setdefault(situation.before, Margin()))
        bounds = {**dict(situation.planned), "plan_wait": int(wait)}
        for number in range(self.most + 1):
            for faults in combinations_with_replacement(FAULTS, number):
                names = [name for name in self.keep if counts(name, faults) or not (only_harm or advice.harm or name == CANDIDATES)]
                self._judge(advice, bounds, faults, names)
            if advice.planned.stopped:
                break
        advice.undecided = self._undecided(advice)
        return advice

    def _judge(self, advice: Advice, bounds: Mapping[str, int], faults: Faults, names: Sequence[Name]) -> None:
        """Search with some faults; what they violate that fewer do not, search without the plan."""
        left = [name for name in names if not advice.planned.falls(name, faults)]
        while left or not faults:  # without faults, one search runs to its end: it shows whether the plan can be carried out
            found = self._search(advice.planned, bounds, faults, left, AFTER_HARM if advice.harm else None)
            for name in found:
                left.remove(name)
                self._compare(advice, name, faults)
            if not found:
                break

    def _compare(self, advice: Advice, name: Name, faults: Faults) -> None:
        """Search without the plan whether the same faults violate a property."""
        if not advice.before.knows(name, faults):
            most = None if counts(name, faults) else AFTER_HARM
            self._search(advice.before, dict(advice.alike.situation.before), faults, [name], most)

    def _search(
        self, margin: Margin, bounds: Mapping[str, int], faults: Faults, names: Sequence[Name], most: int | None
    ) -> Sequence[Name]:
        """Search for the shortest violation, and return which properties it is of; note what a search without one leaves open."""
        values = {**bounds, "records": 1 + self.writes, **{kind: faults.count(kind) for kind in FAULTS}}
        self.budget.max_states = most
        result = check(self.spec, values, properties=names, threads=self.threads, budget=self.budget)
        margin.states += result.distinct
        found = [name for name in names if name in result.violated]
        for name in found:
            margin.violated.setdefault(name, {})[faults] = result
        if found:
            return found
        if reason := left_open(result):
            margin.stopped = margin.stopped or reason
            return found
        margin.kept.update((name, faults) for name in names)
        if not faults:
            margin.acted = not plans_a_step(bounds) or any(result.fired[action] for action in ACTIONS)
            margin.untested = RECORDS in names and result.tested_of(RECORDS) == 0
        return found

    def _undecided(self, advice: Advice) -> str:
        """Return why it is open whether the plan does harm, or ""."""
        planned, before = advice.planned, advice.before
        if not planned.acted:
            return "the plan cannot be carried out: what it waits for does not come, or there is nothing to do"
        if planned.stopped:
            return planned.stopped
        asked = [(name, faults) for name, found in planned.violated.items() for faults in found if counts(name, faults)]
        return before.stopped if any(not before.knows(name, faults) for name, faults in asked) else ""


@dataclass
class Advised:
    """What was asked, of which cluster, and the advice for each situation."""

    plan: OperatorPlan
    cluster: str
    faults: int
    writes: int
    keep: Sequence[Name]
    advices: list[Advice] = field(default_factory=list)
    not_modelled: Mapping[str, str] = field(default_factory=dict)
    order: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Of a restart, the brokers in the order that waits least, each with its partitions that are not in sync now."""
    notes: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> AdviceVerdict:
        """Whether the plan is safe for all partitions."""
        verdicts = {advice.verdict for advice in self.advices}
        if "unsafe" in verdicts:
            return "unsafe"
        return "undecided" if "undecided" in verdicts or self.not_modelled or self.notes else "safe"


def judged(
    cluster: ClusterAtEnd, plan: OperatorPlan, adviser: Adviser, shown: Callable[[int, int], None] = lambda done, of: None
) -> Advised:
    """Judge a plan in each situation that it touches; where it does harm, look for what to wait for."""
    touched = touched_by(plan, cluster)
    advised = Advised(
        plan, cluster.text, adviser.most, adviser.writes, adviser.keep, not_modelled=touched.not_modelled, notes=cluster.notes
    )
    if plan.one_by_one:
        advised.order = waiting_for(plan, cluster.judge.image)
    for advice in _advices(adviser, plan, touched.alike):
        advised.advices.append(advice)
        shown(len(advised.advices), len(touched.alike))
    return advised


def _advices(adviser: Adviser, plan: OperatorPlan, alike: Sequence[Alike]) -> Iterator[Advice]:
    """Yield the advice for each situation, in order: the first is judged here, and compiles; the others in several processes."""

    def judge(number: int) -> Advice:
        advice = adviser.advise(alike[number], plan.wait)
        if advice.harm:
            advice.cure = adviser.cure(advice, plan.waits)
        return advice

    def judge_there(number: int) -> SentAdvice:
        adviser.threads = 1
        return SentAdvice.of(judge(number))

    processes = min(adviser.threads, len(alike) - 1)
    if processes < 2:
        yield from map(judge, range(len(alike)))
        return
    yield judge(0)
    for place, found in enumerate(in_processes(judge_there, range(1, len(alike)), processes, adviser.budget), 1):
        yield found.received(alike[place], adviser.spec)


def left_open(result: Exploration) -> str:
    """Return why a search that found nothing of what was asked does not show that there is nothing, or ""."""
    protocol = [rule.name for rule in result.spec.rules if rule.kind == "protocol" and result.bounded[rule.name]]
    if result.violated:
        return f"the model leaves its domain: {TYPE_INVARIANT}"
    if not result.complete:
        return result.stopped
    return f"a bound prevents steps of {', '.join(protocol)}" if protocol else ""


def plans_a_step(bounds: Mapping[str, int]) -> bool:
    """Whether some step of the model carries out the plan; there is none if it only allows unclean elections, or no more."""
    return any(bounds[name] for name in PLANNED_STEPS)
