"""Every counterexample of KRaft's bugs in the manifest, step by step on the implementation, which fails the same way.

On `fixed` the same actions, as far as they are possible, break nothing. The counterexamples are the checker's; no state is loaded
between two steps: the implementation continues from its own state.
"""

from __future__ import annotations

import pytest
from conftest import named_checks
from led import fails_in_the_same_way, survives

from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.spec.kraft.fixed import FIXED

CHECKS = {
    check.name: check
    for check in named_checks()
    if check.name.startswith("kraft/") and check.spec.state is FIXED.state and check.expected.traces
}
"""The checks of KRaft that find violations."""


@pytest.mark.parametrize("name", CHECKS)
def test_counterexamples_lead_the_implementation(name: str) -> None:
    """With the switches, each step leads the implementation where it leads the model, and the last one breaks the claim.

    On `fixed` the same actions violate no property; an action that is not enabled is skipped.
    """
    check = CHECKS[name]
    result = check.run()
    for claim in check.expected.traces:
        finding = result.findings[claim]
        numbers = Interpreter(check.spec, check.bounds).actions
        actions = [(rule.name, binding) for rule, binding in map(numbers.decode, finding.actions)]
        fails_in_the_same_way(check.spec, check.bounds, claim, finding.start, actions, finding.met, finding.back)
        survives(FIXED, check.bounds, finding.start, actions)
