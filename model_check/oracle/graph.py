"""The graph of an oracle's search; recoverable and leads-to properties are checked on it at the end.

Plain Python over sets; short and simple, and not optimised. States are numbered level by level, in the order of the frontier.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.graph.lasso import Fair, Step, fair_parts, lasso
from kafka_spec.model_check.record.actions import Actions
from kafka_spec.spec.vocabulary.table import ABOUT_PATHS, Property

Judged: TypeAlias = tuple[str, int, tuple[int, ...], tuple[int, ...]]
"""Why a property could not be checked, or ""; the number of a violating state, or -1; the actions of a path on, and of a cycle."""


class Graph:
    """The states and steps of a search, and which states meet the predicates and antecedents of some properties."""

    def __init__(self, claims: Sequence[Property], actions: Actions) -> None:
        self.claims = [claim for claim in claims if claim.kind in ABOUT_PATHS]
        self.protocol = [rule.kind == "protocol" for rule in actions.rules]
        self.fairness = Fair(*actions.fairness)
        self.places: list[tuple[int, int]] = []
        """Level and index of each state."""
        self.numbers: dict[object, int] = {}
        self.steps: list[list[tuple[int, object]]] = []
        """For each state the actions that change it, and their targets."""
        self.cut: set[int] = set()
        """The states in which a bound prevents a protocol step."""
        self.meets: dict[str, set[int]] = {claim.name: set() for claim in self.claims}
        self.owes: dict[str, set[int]] = {claim.name: set() for claim in self.claims}

    def add_level(self, keys: Sequence[object]) -> None:
        """Add the states of a level."""
        level = self.places[-1][0] + 1 if self.places else 0
        for index, key in enumerate(keys):
            self.numbers[key] = len(self.places)
            self.places.append((level, index))
            self.steps.append([])

    def judged(self, claim: Property, key: object, meets: bool, owes: bool) -> bool:
        """Record whether a state meets a property's predicate and antecedent; return whether the property is tested there."""
        if meets:
            self.meets[claim.name].add(self.numbers[key])
        if owes:
            self.owes[claim.name].add(self.numbers[key])
        return owes and not meets

    def add_step(self, source: object, action: int, target: object) -> None:
        """Add a step if it changes the state."""
        if source != target:
            self.steps[self.numbers[source]].append((action, target))

    def forbid(self, source: object, action: int) -> None:
        """Record that a bound prevents a step."""
        if self.protocol[action]:
            self.cut.add(self.numbers[source])

    def sources(self, within: set[int], protocol: bool) -> list[list[int]]:
        """Return for each state the sources in `within` of steps to it; count protocol steps only, or all steps."""
        back: list[list[int]] = [[] for _ in self.places]
        for source in within:
            for action, target in self.steps[source]:
                if self.protocol[action] or not protocol:
                    back[self.numbers[target]].append(source)
        return back

    def judge(self, claim: Property, budget: Budget) -> Judged:
        """Return the first state that violates a property, with the actions of its finding; or why the budget does not allow it."""
        if claim.kind == "recoverable":
            return self.lost(claim, budget)
        return self.unrest(claim) if claim.kind == "eventually always" else self.violation(claim, budget)

    def lost(self, claim: Property, budget: Budget) -> Judged:
        """Check a recoverable property: find a state that meets its antecedent and from which its predicate cannot be reached."""
        safe = self.meets[claim.name] | self.cut
        reason = spread(safe, self.sources(set(range(len(self.places))), protocol=True), budget)
        return reason, -1 if reason else min(self.owes[claim.name] - safe, default=-1), (), ()

    def forward(self, node: int) -> list[Step]:
        """Return the steps out of a state."""
        return [(action, self.numbers[target]) for action, target in self.steps[node]]

    def of_protocol(self, node: int) -> list[Step]:
        """Return the protocol steps out of a state."""
        return [(action, to) for action, to in self.forward(node) if self.protocol[action]]

    def unrest(self, claim: Property) -> Judged:
        """Check an eventually-always property: find a state that does not meet it, which a fair path may visit again and again."""
        parts = fair_parts(sorted(set(range(len(self.places))) - self.cut), self.of_protocol, self.fairness)
        part = {node: number for number, nodes in enumerate(parts, 1) for node in nodes}
        first = min(set(part) - self.meets[claim.name], default=-1)
        if first < 0:
            return "", -1, (), ()

        def number_of(node: int) -> int:
            return part.get(node, 0)

        return "", first, *lasso(first, self.forward, self.protocol, self.fairness, part.__contains__, number_of)

    def violation(self, claim: Property, budget: Budget) -> Judged:
        """Check a leads-to property: find a state that meets its antecedent, after which its predicate may never be met."""
        open_ = set(range(len(self.places))) - self.meets[claim.name]
        parts = fair_parts(sorted(open_ - self.cut), self.of_protocol, self.fairness)
        part = {node: number for number, nodes in enumerate(parts, 1) for node in nodes}
        never = set(part)
        if reason := spread(never, self.sources(open_, protocol=False), budget):
            return reason, -1, (), ()
        first = min(never & self.owes[claim.name], default=-1)
        if first < 0:
            return "", -1, (), ()
        return (
            "",
            first,
            *lasso(first, self.forward, self.protocol, self.fairness, open_.__contains__, lambda node: part.get(node, 0)),
        )


def spread(found: set[int], back: Sequence[Sequence[int]], budget: Budget) -> str:
    """Add all states that can reach one in `found`; return "", or why the budget does not allow it."""
    left = list(found)
    for node in left:
        if reason := budget.exhausted():
            return reason
        fresh = set(back[node]) - found
        found |= fresh
        left += fresh
    return ""
