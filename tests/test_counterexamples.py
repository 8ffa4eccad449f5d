"""Every counterexample that the manifest claims of a bug, step by step on the implementation, which fails the same way.

On `fixed` the same actions, as far as they are possible, break nothing.

The counterexamples are the checker's shortest, kept in tests/golden/counterexamples.json; the oracle follows each before it counts.
No state is loaded between two steps: the implementation continues from its own state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import GOLDEN, named_checks
from edges import broken, difference, plain, stage

from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.conformance.replay.rules import do
from kafka_spec.model_check.counterexample import REPLAYED_WAYS
from kafka_spec.model_check.layout import Layout
from kafka_spec.model_check.manifest import NamedCheck
from kafka_spec.model_check.oracle import ExecutableSpec as Model
from kafka_spec.spec.control.fixed import FIXED
from kafka_spec.spec.control.state import World
from kafka_spec.spec.table import Rule, Spec

FILE = "counterexamples.json"
CHECKS = {
    check.name: check for check in named_checks() if check.name.startswith(("bug/", "reassignment/")) and check.expected.traces
}
CLAIMS = [(name, claim) for name, check in CHECKS.items() for claim in check.expected.traces]
"""Each bug of the manifest that is violated, with each property that it breaks."""
QUICK = 1_000
"""Searches up to this number of states are repeated, to check the golden file against the checker."""


def golden_actions(name: str, claim: str) -> dict[str, Any]:
    """Return the golden counterexample: its initial state's number, and its actions.

    Of a leads-to property it goes on to a circle and once around it: after `met` actions its antecedent is met, after `back`
    actions the circle begins.
    """
    found: dict[str, Any] = json.loads((GOLDEN / FILE).read_text(encoding="utf-8"))[name][claim]
    return found


def found_actions(check: NamedCheck) -> dict[str, Any]:
    """Return the checker's counterexamples, in the golden file's form."""
    result = check.run()
    model = Model(check.spec, result.bounds)
    told = {}
    for claim in check.expected.traces:
        finding = result.findings[result.shown_by(claim) or claim]
        actions = [model.actions.decode(number) for number in finding.actions]
        told[claim] = {"start": finding.start, "actions": [[rule.name, *binding] for rule, binding in actions]}
        if finding.back >= 0:
            told[claim] |= {"met": finding.met, "back": finding.back}
    return told


@dataclass(frozen=True)
class ReplayedStep:
    """One step of a model: its target state, typed, and its action."""

    rule: Rule
    binding: Mapping[str, int]
    state: Any


class LedFollower:
    """Follows actions in a model, and on the implementation beside it."""

    def __init__(self, spec: Spec, bounds: Mapping[str, int], start: int) -> None:
        self.model = Model(spec, bounds)
        self.layout = Layout(self.model.space)
        self.state = self.model.initial()[start]

    def plain(self) -> World:
        """Return the model's state as bare dataclasses."""
        found: World = plain(self.layout.root, self.state)
        return found

    def rule(self, name: str, binding: tuple[int, ...]) -> Rule | None:
        """Return the rule of this name, if it exists and is enabled."""
        rules = [rule for rule in self.model.spec.rules if rule.name == name]
        if not rules or not self.model.allows(rules[0], self.state, binding):
            return None
        return rules[0]

    def step(self, projection: Projection, rule: Rule, binding: tuple[int, ...]) -> tuple[World, World]:
        """Take a step on both sides; return the implementation's states before and after, which equal the model's."""
        before = self.plain()
        self.state = self.model.apply(rule, self.state, binding)
        wanted = self.plain()
        do(projection, rule.name, dict(zip(rule.params, binding, strict=True)))
        found = projection.project(wanted.spent, wanted.notes)
        assert found == wanted, f"{rule.name}{binding}: {difference(wanted, found)}"
        return before, found


@pytest.mark.parametrize(("name", "claim"), CLAIMS, ids=[f"{name}-{claim}" for name, claim in CLAIMS])
def test_the_implementation_fails_in_the_same_way(name: str, claim: str) -> None:
    """With the switch, each step leads the implementation where it leads the model, and the last one breaks the claim."""
    check, actions = CHECKS[name], golden_actions(name, claim)
    steps, back = len(actions["actions"]), actions.get("back", -1)
    assert steps + (back in (-1, steps)) == check.expected.traces[claim]
    follower = LedFollower(check.spec, check.bounds, actions["start"])
    with stage(check.spec, check.bounds) as projection:
        projection.load(follower.plain())
        before = found = follower.plain()
        path = [found]
        for rule_name, *binding in actions["actions"]:
            rule = follower.rule(rule_name, tuple(binding))
            assert rule is not None, f"{rule_name}{binding} does not replay"
            before, found = follower.step(projection, rule, tuple(binding))
            path.append(found)
    stated = check.spec.property(claim)
    if stated.kind == "leads-to":
        goes_on = path[actions["met"] :]
        assert path[back] == found, "the circle does not close"
        assert follower.model.tests(stated, s=goes_on[0])
        assert not any(follower.model.meets(stated, state) for state in goes_on)
    elif stated.kind == "recoverable":
        assert not follower.model.recovers(stated, follower.state, REPLAYED_WAYS)
    else:
        assert list(broken(follower.model, (stated,), before, found)) == [claim]


@pytest.mark.parametrize(("name", "claim"), CLAIMS, ids=[f"{name}-{claim}" for name, claim in CLAIMS])
def test_fixed_survives(name: str, claim: str) -> None:
    """The same actions on `fixed` violate no property; an action whose guards do not hold in the current state is skipped."""
    check, actions = CHECKS[name], golden_actions(name, claim)
    follower = LedFollower(FIXED, check.bounds, actions["start"])
    done = []
    with stage(FIXED, check.bounds) as projection:
        projection.load(follower.plain())
        for rule_name, *binding in actions["actions"]:
            if (rule := follower.rule(rule_name, tuple(binding))) is not None:
                before, found = follower.step(projection, rule, tuple(binding))
                done.append(rule_name)
                assert list(broken(follower.model, FIXED.properties, before, found)) == []
    assert done
    recovers = FIXED.property("Recovers")
    if check.spec.property(claim).kind == "recoverable":
        assert follower.model.recovers(recovers, follower.state, REPLAYED_WAYS)


@pytest.mark.slow
def test_the_golden_counterexamples_are_the_checkers(golden: Callable[[str, str], None], request: pytest.FixtureRequest) -> None:
    """The checker's counterexamples equal the golden file, for all bugs with a short search; `--update-golden` runs them all."""
    known = {} if request.config.getoption("--update-golden") else json.loads((GOLDEN / FILE).read_text(encoding="utf-8"))
    told = {
        name: found_actions(check) if name not in known or (check.expected.distinct or 0) <= QUICK else known[name]
        for name, check in CHECKS.items()
        if check.expected.traces
    }
    golden(FILE, compact(told))


def compact(told: Mapping[str, Mapping[str, Any]]) -> str:
    """Return JSON with an action to a line."""
    text = json.dumps(told, indent=1)
    for claims in told.values():
        for found in claims.values():
            for action in found["actions"]:
                text = text.replace(json.dumps(action, indent=1).replace("\n", "\n    "), json.dumps(action))
    return text + "\n"
