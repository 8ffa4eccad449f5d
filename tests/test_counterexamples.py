"""Every counterexample that the manifest claims of a bug, step by step on the implementation, which fails the same way.

On `fixed` the same actions, as far as they are possible, break nothing.

The counterexamples are the checker's shortest, kept in tests/golden/counterexamples.json; the oracle follows each before it counts.
No state is loaded between two steps: the implementation continues from its own state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from conftest import GOLDEN, named_checks
from led import Action, fails_in_the_same_way, survives

from kafka_spec.model_check.interpreter.interpreter import Interpreter as Model
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.traces.counterexample import REPLAYED_WAYS
from kafka_spec.spec.zookeeper.eras import SUITE
from kafka_spec.spec.zookeeper.fixed import FIXED

FILE = "counterexamples.json"
BUGS = {f"zookeeper/{case.name}" for case in SUITE.expressed} | {"zookeeper/old-leader-without-successor"}
CHECKS = {
    check.name: check
    for check in named_checks()
    if check.expected.traces
    and (check.spec.name in BUGS or (check.spec.name.startswith("zookeeper/era_") and "reassigned" in check.bound_set))
    and not check.name.endswith("-progress")
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
    reported = {}
    for claim in check.expected.traces:
        finding = result.findings[result.shown_by(claim) or claim]
        actions = [model.actions.decode(number) for number in finding.actions]
        reported[claim] = {"start": finding.start, "actions": [[rule.name, *binding] for rule, binding in actions]}
        if finding.back >= 0:
            reported[claim] |= {"met": finding.met, "back": finding.back}
    return reported


def actions_of(found: Mapping[str, Any]) -> list[Action]:
    """Return the actions of a golden counterexample."""
    return [(rule, tuple(binding)) for rule, *binding in found["actions"]]


@pytest.mark.parametrize(("name", "claim"), CLAIMS, ids=[f"{name}-{claim}" for name, claim in CLAIMS])
def test_the_implementation_fails_in_the_same_way(name: str, claim: str) -> None:
    """With the switch, each step leads the implementation where it leads the model, and the last one breaks the claim."""
    check, found = CHECKS[name], golden_actions(name, claim)
    met, back = (found.get(place, -1) for place in ("met", "back"))
    length = len(found["actions"])
    assert length + (back in (-1, length)) == check.expected.traces[claim]
    fails_in_the_same_way(check.spec, check.bounds, claim, found["start"], actions_of(found), met, back)


@pytest.mark.parametrize(("name", "claim"), CLAIMS, ids=[f"{name}-{claim}" for name, claim in CLAIMS])
def test_fixed_survives(name: str, claim: str) -> None:
    """The same actions on `fixed` violate no property; an action whose guards do not hold in the current state is skipped."""
    check, found = CHECKS[name], golden_actions(name, claim)
    cluster = survives(FIXED, check.bounds, found["start"], actions_of(found))
    if check.spec.property(claim).kind == "recoverable":
        assert cluster.model.recovers(FIXED.property("Recovers"), cluster.state, REPLAYED_WAYS)


def test_the_golden_counterexamples_are_the_checkers(golden: Callable[[str, str], None], request: pytest.FixtureRequest) -> None:
    """The checker's counterexamples equal the golden file, for all bugs with a short search; `--update-golden` runs them all."""
    known = {} if request.config.getoption("--update-golden") else json.loads((GOLDEN / FILE).read_text(encoding="utf-8"))
    reported = {
        name: found_actions(check) if name not in known or (check.expected.distinct or 0) <= QUICK else known[name]
        for name, check in CHECKS.items()
        if check.expected.traces
    }
    golden(FILE, compact(reported))


def compact(reported: Mapping[str, Mapping[str, Any]]) -> str:
    """Return JSON with an action to a line."""
    text = json.dumps(reported, indent=1)
    for claims in reported.values():
        for found in claims.values():
            for action in found["actions"]:
                text = text.replace(json.dumps(action, indent=1).replace("\n", "\n    "), json.dumps(action))
    return text + "\n"
