"""One check: a spec, bounds, an engine, and the expectations. The API behind the command line.

Does no input or output. An engine is imported only when it is used: it needs the extra `check` or `spark`, while listing models
and drawing machines need neither.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from kafka_spec.model_check.agreement import agreed
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.engines import Engine, SearchRequest, need, refuse_unfit
from kafka_spec.model_check.exploration import Distribution, EngineError, Exploration, Progress, Verdict, quiet
from kafka_spec.model_check.record.fingerprint import VERIFY_SEED
from kafka_spec.model_check.room import search_with_room, with_room
from kafka_spec.model_check.within import limited
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT, Spec
from kafka_spec.spec.vocabulary.trace import Trace
from kafka_spec.spec.vocabulary.unlisted_rules import refuse_unlisted

if TYPE_CHECKING:
    from kafka_spec.model_check.random_walks.batches import Walks
    from kafka_spec.model_check.random_walks.simulation import Walked


@dataclass(frozen=True)
class Expectation:
    """The expected result of a check; None or empty where nothing is expected."""

    verdict: Verdict | Literal["proved"] = "holds"
    """*proved* is *holds*, and by induction more than that: also what the search has not reached, up to bounds and beyond some."""
    distinct: int | None = None
    unreduced: int | None = None
    """The number of states without the normal form, for a check that searches normal forms."""
    depth: int | None = None
    traces: Mapping[str, int] = field(default_factory=dict)
    """The number of states in the shortest counterexample of each property that must be violated.

    Empty: those that are `asked` for may be, and no others.
    """
    asked: Sequence[str] = ()
    """The names of the properties that the check names; empty: it judges all."""
    all_rules_fire: bool = False
    all_properties_tested: bool = False
    not_tested: Mapping[str, str] = field(default_factory=dict)
    """The properties that the check cannot test, each with the reason."""
    no_counts: str = ""
    """What is wrong if the project keeps counts in a file and has none of this check there."""

    def untested(self, result: Exploration) -> list[str]:
        """Return the instances that were never tested, except those that are expected not to be, by any of their names."""
        expected = {one for name in self.not_tested for one in result.claims_named(name)}
        return [name for name in result.untested if name not in expected]

    def unmet(self, result: Exploration) -> list[str]:
        """Return the expectations that are not met, as sentences."""
        if result.verdict == "inconclusive":
            return [f"the verdict is inconclusive: {result.stopped or 'the search stopped'}"]
        problems = [self.no_counts] if self.no_counts else []
        if result.verdict != ("holds" if self.verdict == "proved" else self.verdict):
            which = f" ({', '.join(result.violated)})" if result.violated else ""
            problems.append(f"the verdict is {result.verdict}{which}, expected {self.verdict}")
        counts = [("distinct states", self.distinct, result.distinct), ("levels", self.depth, result.depth)]
        if result.unreduced is not None:
            counts.append(("states without the normal form", self.unreduced, result.unreduced))
        for what, expected, found in counts:
            if expected is not None and expected != found:
                problems.append(f"{found:,} {what}, expected {expected:,}")
        for name, states in self.traces.items():
            problems += _unlike(result, name, states)
        if self.traces and self.verdict == "violated":
            said = {one for name in self.traces for one in result.claims_named(name)}
            more = {name: result.findings[name].states for name in result.violated if name not in said}
            problems += [f"{name} is violated, too, in {states} states; say so in traces" for name, states in more.items()]
        elif self.verdict == "violated":
            asked = {one for name in self.asked for one in result.claims_named(name)}
            strange = {TYPE_INVARIANT: ": a field leaves its domain", DEADLOCK: ": no rule can fire"}
            problems += [
                f"{name} is violated, which nobody asked for{strange.get(name, '')}; fix the model, or say so in traces"
                for name in result.violated
                if name not in asked
            ]
        if self.verdict == "proved" and result.verdict == "holds" and result.induction != "proved":
            problems.append(f"not proved by induction: {result.induction or 'it was not tried'}; kafka-spec prove shows more")
        if result.reached_after_all:
            problems.append(f"rules that the model lists as unreachable fire: {', '.join(result.reached_after_all)}")
        if self.all_rules_fire and result.dead_rules:
            problems.append(f"rules that never fire: {', '.join(result.dead_rules)}")
        if self.all_properties_tested and self.untested(result):
            problems.append(f"properties that were never tested: {', '.join(self.untested(result))}")
        for name, reason in self.not_tested.items():
            if not set(result.claims_named(name)) <= set(result.untested):
                problems.append(f"{name} was tested, against expectation: {reason}")
        return problems


def _unlike(result: Exploration, name: str, states: int) -> list[str]:
    """Return what is wrong with the counterexample of an instance, or with those of a property's instances, as sentences.

    A property's name stands for all its instances, and all must be alike: as long as the search ended, each is violated.
    """
    lengths = {one: result.findings[one].states if one in result.findings else None for one in result.claims_named(name)}
    met = {one: length for one, length in lengths.items() if length is not None or result.complete} or lengths
    if set(met.values()) == {states}:
        return []
    if len(set(met.values())) > 1:
        reported = ", ".join(f"{one} {length or 'no counterexample'}" for one, length in met.items())
        return [f"{name}: its bindings differ ({reported}); name them in traces"]
    return [f"{name}: the counterexample has {next(iter(met.values()), None) or 'no'} states, expected {states}"]


@dataclass(frozen=True)
class Outcome:
    """The outcome of a named check."""

    name: str
    result: Exploration
    expected: Expectation

    @functools.cached_property
    def unmet(self) -> list[str]:
        """The expectations that are not met, as sentences."""
        return self.expected.unmet(self.result)

    @functools.cached_property
    def traces(self) -> Mapping[str, Trace]:
        """The traces of all violations and of all reached goals, by property."""
        with needing("check"):
            from kafka_spec.model_check.traces.counterexample import trace_of
        found = {name: trace_of(self.result, name) for name in self.result.findings}
        return {name: trace for name, trace in found.items() if trace is not None}

    @property
    def violations(self) -> Mapping[str, Trace]:
        """The traces of the violated properties."""
        return {name: self.traces[name] for name in self.result.violated if name in self.traces}


def check(
    spec: Spec,
    bounds: Mapping[str, int] | None = None,
    *,
    properties: Sequence[str] | None = None,
    engine: Engine = "embedded",
    threads: int = 1,
    everything: bool = False,
    deadlock: bool | None = None,
    verify: bool = False,
    normal_form: bool = False,
    verify_normal_form: bool = False,
    budget: Budget | None = None,
    progress: Progress = quiet,
    distribution: Distribution | None = None,
    traces: bool = True,
) -> Exploration:
    """Check a spec at bounds.

    Args:
        spec: the spec to check.
        bounds: values of bounds by name; the other bounds have the values of the spec's first bound set. Capacities that the spec
            leaves out are found: while a search needs more, it begins again with twice as much. `result.bounds` has them.
        properties: names of the properties to check; by default all, with Deadlock unless the spec may rest anywhere.
        engine: "embedded", "oracle" (plain Python, slow, the reference), "both" (they must agree), or "spark".
        threads: threads of the embedded engine; the result is the same for any number.
        everything: continue the search to its end after a violation.
        deadlock: whether to check for deadlocks, that is, states that are not final and have no step; None: see `properties`.
        verify: search again with another fingerprint seed and newly compiled code; the counts must be equal.
        normal_form: search the normal forms of the spec's states.
        verify_normal_form: do so to the end, and compare with the search of all states.
        budget: limits of time, memory and states.
        progress: called after each level.
        distribution: where the Spark engine runs, and where it or the embedded engine keeps the states.
        traces: keep how each state was reached; without, the embedded engine takes less memory, and shows no counterexamples.

    Raises:
        SpecError: the request or the spec is wrong, or a declared rule belongs to no spec.
        EngineError: two engines or two seeds disagree.
    """
    refuse_unlisted(spec)
    values = spec.bound_values(bounds or {})
    claims = [spec.property(name) for name in judged_by_spec(properties)] if properties is not None else None
    refuse_unfit(engine, distribution, traces=traces, again=verify or verify_normal_form)
    deadlock, budget = checks_deadlock(spec, properties, deadlock), budget or Budget()
    searched = spec.in_normal_form() if normal_form or verify_normal_form else spec
    request = SearchRequest(searched, values, claims, threads, everything, deadlock, budget, progress, distribution, traces)

    def search(bounds: Mapping[str, int]) -> Exploration:
        return _searched(replace(request, bounds=bounds), engine, spec if verify_normal_form else None, verify)

    return search(values) if distribution is not None else search_with_room(search, values, budget.exhausted)


def _searched(request: SearchRequest, engine: Engine, unreduced: Spec | None, verify: bool) -> Exploration:
    """Search once at the bounds of a request, and compare as was asked; `unreduced` is the spec whose normal forms are compared."""
    if engine == "spark":
        return request.by_spark()
    if unreduced is not None:
        result = request.by_normal_form_and_all(unreduced)
    else:
        result = request.by_oracle() if engine == "oracle" else request.by_embedded()
    if verify and not result.stopped:
        again = request.by_oracle(VERIFY_SEED) if engine == "oracle" else request.by_embedded(VERIFY_SEED, fresh=True)
        compare(result, again, "another seed", exact=False)
    if engine == "both" and not result.stopped:
        compare(result, request.by_oracle(), "the oracle", exact=True)
    return result


def checks_deadlock(spec: Spec, properties: Sequence[str] | None, deadlock: bool | None) -> bool:
    """Return whether to check for deadlocks: as asked, or if the properties say so, or by default unless the spec may rest."""
    if deadlock is None:
        deadlock = spec.checks_deadlock if properties is None else DEADLOCK in properties
    return deadlock


def judged_by_spec(names: Iterable[str]) -> list[str]:
    """Return the names of properties that a spec states, each once: all but the built-in ones."""
    return [name for name in dict.fromkeys(names) if name not in (TYPE_INVARIANT, DEADLOCK)]


def simulate(
    spec: Spec,
    bounds: Mapping[str, int] | None = None,
    walks: Walks | None = None,
    *,
    properties: Sequence[str] | None = None,
    threads: int = 1,
    everything: bool = False,
    deadlock: bool | None = None,
    budget: Budget | None = None,
    progress: Callable[[Walked], None] = lambda walked: None,
    master: str = "",
) -> Walked:
    """Walk through a spec at random; shorten what the walks find.

    Args:
        spec: the spec.
        bounds: values of bounds by name; the other bounds have the values of the spec's first bound set.
        walks: policy, seed, length and number of the walks; by default of all policies, as many as the budget allows.
        properties: names of the properties to judge; by default all. Those about all paths from a state are not judged.
        threads: threads of this process; the walks are the same for any number.
        everything: continue after a violation; each property is reported once.
        deadlock: whether a state that is not final and has no step is a violation; None: as `check` decides.
        budget: the limit of time.
        progress: called after each batch of walks.
        master: the Spark master of a cluster that walks instead of this process.

    Raises:
        SpecError: the request or the spec is wrong, or a declared rule belongs to no spec.
        Stopped: the time was spent before the first walk.
    """
    with needing("check"):
        from kafka_spec.model_check.random_walks import batches, shorten, simulation
    refuse_unlisted(spec)
    claims = [spec.property(name) for name in judged_by_spec(properties)] if properties is not None else spec.properties
    deadlock = checks_deadlock(spec, properties, deadlock)
    values = with_room(spec, spec.bound_values(bounds or {}), ROOM_OF_WALKS)
    with limited(budget or Budget()):
        request = simulation.Simulation(spec, values, claims, walks or batches.Walks(), deadlock, everything)
    run = need("walks").OnSpark(master) if master else None
    walked = simulation.walk(request, threads=threads, budget=budget, progress=progress, run=run)
    shorten.shorten(request, walked)
    return walked


ROOM_OF_WALKS = 64
"""The least capacity of a container in random walks, where the spec leaves it out."""


def compare(result: Exploration, other: Exploration, who: str, exact: bool) -> None:
    """Raise EngineError unless two explorations of one spec agree; `exact`: both have the same seed, so digests too.

    With another seed, another one of the states with the same view is explored.
    """
    if other.stopped:
        result.complete, result.stopped = False, f"the comparison with {who} was not finished: {other.stopped}"
        return
    but = () if exact else ("digest", "new", "findings") if result.spec.view else ("digest",)
    theirs_of = agreed(other, but)
    for kind, mine in agreed(result, but).items():
        if mine != (theirs := theirs_of[kind]):
            raise EngineError(
                f"{result.spec.name}: {kind} not the same for the {result.engine} engine and {who}: {mine}, {theirs}"
                + ("; its view takes states for one that differ in what can follow" if result.spec.view and not exact else "")
            )
    if not exact and result.generated and result.digest == other.digest:
        raise EngineError(f"{result.spec.name}: {who} gives the same fingerprints, so nothing was verified")
    result.compared.append(who)
