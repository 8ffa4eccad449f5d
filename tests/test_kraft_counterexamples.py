"""Every counterexample of KRaft's bugs in the manifest, step by step on the implementation, which fails the same way.

On `fixed` the same actions, as far as they are possible, break nothing. The counterexamples are the checker's; no state is loaded
between two steps: the implementation continues from its own state.
"""

from __future__ import annotations

from typing import Any

import pytest
from _pytest.mark import ParameterSet
from conftest import named_checks
from edges import broken, difference, plain
from kraft_edges import kraft_stage

from kafka_spec.conformance.kraft_replay.stage import KRaftStage
from kafka_spec.conformance.kraft_replay.steps import do
from kafka_spec.model_check.counterexample import REPLAYED_WAYS
from kafka_spec.model_check.layout import Layout
from kafka_spec.model_check.manifest import NamedCheck
from kafka_spec.model_check.oracle import ExecutableSpec
from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.table import Spec

CHECKS = {
    check.name: check
    for check in named_checks()
    if check.name.startswith("kraft/") and check.spec.state is FIXED.state and check.expected.traces
}
"""The checks of KRaft that find violations."""


class LedCluster:
    """Follows actions in a model, and on the implementation beside it."""

    def __init__(self, spec: Spec, check: NamedCheck, start: int, stage: KRaftStage) -> None:
        self.model = ExecutableSpec(spec, check.bounds)
        self.stage = stage
        self.state = self.model.initial()[start]
        self._root = Layout(self.model.space).root
        stage.load(self.plain())

    def plain(self) -> Any:
        """Return the model's state as bare dataclasses."""
        return plain(self._root, self.state)

    def follow(self, name: str, binding: tuple[int, ...]) -> tuple[Any, Any] | None:
        """Take a step on both sides; return the implementation's states before and after, None if the step is not enabled."""
        rule = self.model.spec.rule(name)
        if binding not in self.model.enabled(rule, self.state) or not self.model.allows(rule, self.state, binding):
            return None
        before = self.plain()
        self.state = self.model.apply(rule, self.state, binding)
        wanted = self.plain()
        do(self.stage, name, dict(zip(rule.params, binding, strict=True)))
        found = self.stage.project(wanted.spent, wanted.history)
        assert found == wanted, f"{name}{binding}: {difference(wanted, found)}"
        return before, found


LARGE = (
    "kraft/KAFKA-14154",
    "kraft/KAFKA-15583",
    "kraft/stale-reassignment-lists",
    "kraft/cancellation-elects-cleanly-three-brokers",
    "kraft/cancellation-below-min-isr",
    "kraft/era_4_3-three-reassign",
)
"""The checks that take seconds each; the others take half a second on average."""


def cases() -> list[ParameterSet]:
    """Return the checks, of which the large ones are long."""
    marks = {name: (pytest.mark.slow, pytest.mark.long) if name in LARGE else pytest.mark.slow for name in CHECKS}
    return [pytest.param(name, marks=mark, id=name) for name, mark in marks.items()]


@pytest.mark.parametrize("name", cases())
def test_counterexamples_lead_the_implementation(name: str) -> None:
    """With the switches, each step leads the implementation where it leads the model, and the last one breaks the claim.

    On `fixed` the same actions violate no property; an action that is not enabled is skipped.
    """
    check = CHECKS[name]
    result = check.run()
    for claim in check.expected.traces:
        finding = result.findings[claim]
        numbers = ExecutableSpec(check.spec, check.bounds).actions
        actions = [(rule.name, binding) for rule, binding in map(numbers.decode, finding.actions)]
        with kraft_stage(check.spec, check.bounds) as stage:
            led = LedCluster(check.spec, check, finding.start, stage)
            path = [led.plain()]
            for action in actions:
                taken = led.follow(*action)
                assert taken is not None, f"{action} does not replay"
                before, found = taken
                path.append(found)
            stated = check.spec.property(claim)
            if stated.kind == "leads-to":
                assert path[finding.back] == found, "the circle does not close"
                assert led.model.tests(stated, s=path[finding.met])
                assert not any(led.model.meets(stated, state) for state in path[finding.met :])
            elif stated.kind == "recoverable":
                assert not led.model.recovers(stated, led.state, REPLAYED_WAYS)
            else:
                assert list(broken(led.model, (stated,), before, found)) == [claim]
        with kraft_stage(FIXED, check.bounds) as stage:
            led = LedCluster(FIXED, check, finding.start, stage)
            done = [taken for action in actions if (taken := led.follow(*action)) is not None]
            assert done
            for before, found in done:
                assert list(broken(led.model, FIXED.properties, before, found)) == []
