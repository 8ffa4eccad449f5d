"""The reference engine: breadth-first search in plain Python over the dataclasses of the spec.

It is short and simple, and not optimised. It compares whole states, and packs them only to print fingerprints. It defines the
meaning of a step for all engines; counterexamples are replayed with it too.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_spec.model_check.budget import Budget, Stopped
from kafka_spec.model_check.exploration import Exploration, Finding, Progress, check_sums, quiet
from kafka_spec.model_check.interpreter.interpreter import Interpreter, Key
from kafka_spec.model_check.interpreter.symmetry_check import compare_level, refuse_properties
from kafka_spec.model_check.level_order import orders_by_fingerprint
from kafka_spec.model_check.oracle.graph import Graph
from kafka_spec.model_check.record.fingerprint import MASK, edge_hash
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.within import limited
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary import table
from kafka_spec.spec.vocabulary.table import (
    EVENTUAL,
    Property,
    Rule,
    Spec,
)


def explore(
    spec: Spec,
    bounds: Mapping[str, int],
    *,
    properties: Sequence[Property] | None = None,
    everything: bool = False,
    deadlock: bool = False,
    budget: Budget | None = None,
    progress: Progress = quiet,
    seed: int | None = None,
) -> Exploration:
    """Explore the spec breadth first; `model_check.embedded.explore` documents the arguments."""
    claims = spec.claims_at(bounds, properties)
    refuse_properties(spec, claims)
    result = Exploration(spec, dict(bounds), "oracle", 1, claims, deadlock)
    search = _Search(Interpreter(spec, bounds), result, seed)
    budget = budget or Budget()
    began = time.perf_counter()
    try:
        with limited(budget):
            search.begin()
    except Stopped as stop:
        result.stopped = str(stop)
        return result
    while search.frontier and (everything or not result.violated) and not result.stopped:
        compare_level(search.world, claims, result.depth, [state for _, state in search.frontier])
        if not (reason := budget.exhausted(result.distinct)):
            reason = search.next_level(budget)
        result.stopped = reason
        result.search_seconds = time.perf_counter() - began
        progress(result, result.search_seconds)
    if not search.frontier:
        result.stopped = search.judge_graph(budget)
    result.ended(not search.frontier)
    check_sums(result, None if result.stopped else len(search.seen))
    return result


class _Search:
    """The frontier, the seen states, and how each state was first reached."""

    def __init__(self, world: Interpreter, result: Exploration, seed: int | None) -> None:
        self.world, self.result = world, result
        self.layout = Layout(world.space, seed)
        self.by_fingerprint = orders_by_fingerprint(world.spec, seed)
        self.frontier: list[tuple[int, Any]] = []
        self.history: list[list[tuple[int, int]]] = []
        """For each level and state, the index of its parent in the level before (or of the initial state), and the action."""
        self.seen: set[Key] = set()
        self.graph = Graph(result.properties, world.actions)

    def mark(self, state: Any) -> int:
        return self.layout.fingerprint(self.layout.pack(self.world.viewed(state)))

    def rank(self, state: Any) -> int:
        """Return by what the states of a level are ordered before the order in which they are found."""
        return self.mark(state) if self.by_fingerprint else 0

    def known_by(self, state: Any) -> Key:
        """Return the values by which the search knows a state."""
        return self.world.key(self.world.viewed(state))

    def begin(self) -> None:
        states = [self.world.formed(state) for state in self.world.initial()]
        first = {self.known_by(state): index for index, state in reversed(list(enumerate(states)))}
        order = sorted(first.values(), key=lambda index: (self.rank(states[index]), index))
        self.frontier = [(self.mark(states[index]), states[index]) for index in order]
        self.history.append([(index, -1) for index in order])
        self.seen.update(self.known_by(state) for state in states)
        self.result.levels.append(len(order))
        self.judge_level()

    def found(self, claim: str, level: int, index: int, *last: int) -> None:
        """Record the shortest path to a state as a finding; `last` are further actions at its end."""
        if claim in self.result.findings:
            return
        actions = list(last)
        for parents in reversed(self.history[1 : level + 1]):
            index, action = parents[index]
            actions.insert(0, action)
        self.result.findings[claim] = Finding(self.history[0][index][0], tuple(actions))

    def judge_level(self) -> None:
        spec, start = self.world.spec, len(self.history) == 1
        claims = [claim for claim in self.result.properties if claim.kind in ("invariant", "reachable")]
        for claim in claims if start or spec.checks_stored_states else ():
            for index, (_, state) in enumerate(self.frontier):
                if claim.when is not None and (start or not spec.checks_successors):
                    self.result.tested[claim.name] += self.world.tests(claim, s=state)
                if claim.name not in self.result.findings and self.world.judge(claim, state) == (claim.kind == "reachable"):
                    self.found(claim.name, len(self.history) - 1, index)
        if self.graph.claims:
            self.graph.add_level([self.world.key(state) for _, state in self.frontier])
        for claim in self.graph.claims:
            for _, state in self.frontier:
                meets, owes = (
                    self.world.meets(claim, state),
                    self.world.tests(claim, s=state) and (start or claim.kind != "eventually"),
                )
                self.result.tested[claim.name] += self.graph.judged(claim, self.world.key(state), meets, owes)

    def judge_graph(self, budget: Budget) -> str:
        """Check the properties that need the graph; return "", or why the budget does not allow it."""
        for claim in self.graph.claims:
            reason, first, lead, cycle = self.graph.judge(claim, budget)
            if reason:
                return reason
            if first >= 0:
                self.found(claim.name, *self.graph.places[first])
                if claim.kind in EVENTUAL:
                    self.result.findings[claim.name] = self.result.findings[claim.name].going_on(lead, cycle)
        return ""

    def judge_successor(self, claim: Property, before: Any, after: Any, place: tuple[int, int, int]) -> None:
        """Judge a property on a step, or if not every state is kept on the state to which it leads."""
        if claim.kind == "step invariant":
            tested, hit = self.world.tests(claim, before=before, after=after), not self.world.judge_step(claim, before, after)
        elif self.world.spec.checks_successors and claim.kind in ("invariant", "reachable"):
            tested, hit = self.world.tests(claim, s=after), self.world.judge(claim, after) == (claim.kind == "reachable")
        else:
            return
        if claim.when is not None:
            self.result.tested[claim.name] += tested
        if hit:
            self.found(claim.name, *place)

    def next_level(self, budget: Budget) -> str:
        fresh: list[tuple[int, Any, tuple[int, int]]] = []
        for index, (_, state) in enumerate(self.frontier):
            if reason := budget.exhausted():
                return reason
            for action, mark, after in self.successors(index, state):
                key = self.known_by(after)
                if key not in self.seen:
                    self.seen.add(key)
                    fresh.append((mark, after, (index, action)))
        fresh.sort(key=lambda entry: self.rank(entry[1]))
        self.frontier = [(mark, state) for mark, state, _ in fresh]
        for _, _, (_, action) in fresh:
            self.result.new[self.world.actions.decode(action)[0].name] += 1
        if fresh:
            self.history.append([parent for _, _, parent in fresh])
            self.result.levels.append(len(fresh))
            self.judge_level()
        return ""

    def successors(self, index: int, state: Any) -> Iterator[tuple[int, int, Any]]:
        """Yield action, fingerprint and state of each step out of a state, and check the step."""
        world, result, level = self.world, self.result, len(self.history) - 1
        stuck = True

        def cut(rule: Rule, action: int, name: str) -> None:
            result.cut_by[rule.name, name] += 1
            if self.graph.claims:
                self.graph.forbid(world.key(state), action)

        for number, rule in enumerate(world.spec.rules):
            if rule.name in world.off:
                continue
            for binding in world.enabled(rule, state):
                stuck = False
                action = world.actions.number(number, binding)
                try:
                    if reason := world.forbidden_by(rule, state, binding):
                        raise OutOfBound(reason)
                    after = world.apply(rule, state, binding, beyond=True)
                except OutOfBound as bound:
                    cut(rule, action, bound.args[0])
                    continue
                except OutOfDomain:
                    self.found(table.TYPE_INVARIANT, level, index, action)
                    continue
                for claim in result.properties:
                    self.judge_successor(claim, state, after, (level, index, action))
                if constraint := world.beyond(after):
                    cut(rule, action, constraint)
                    continue
                after = world.formed(after)
                if self.graph.claims:
                    self.graph.add_step(world.key(state), action, world.key(after))
                mark = self.mark(after)
                result.fired[rule.name] += 1
                result.digest = (result.digest + edge_hash(self.frontier[index][0], action, mark)) & MASK
                yield action, mark, after
        if stuck and not world.could_without_bounds(state) and not world.is_final(state) and result.deadlock:
            self.found(table.DEADLOCK, level, index)
