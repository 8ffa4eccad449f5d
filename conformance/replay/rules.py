"""The rules of the control-plane model as steps of the implementation, and the steps that it refuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kafka_spec.conformance.replay import controller_steps, environment_steps, replica_steps, request_steps
from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.conformance.replay.steps import LONG
from kafka_spec.impl.broker.isr import NOT_REGISTERED
from kafka_spec.impl.coordination import znodes
from kafka_spec.spec.domain import SpecError
from kafka_spec.spec.gates import fetch_is_of_registration

STEPS: Mapping[str, Callable[..., None]] = {
    **controller_steps.STEPS,
    **request_steps.STEPS,
    **replica_steps.STEPS,
    **environment_steps.STEPS,
}
"""The steps by the names of rules."""


def do(projection: Projection, rule: str, binding: Mapping[str, int]) -> None:
    """Let the implementation do the step of a rule.

    Raises:
        NotEnabled: the implementation cannot do it.
        SpecError: the rule has no step.
    """
    step = step_of(rule)
    projection.clock += LONG
    step(projection, **binding)


def step_of(rule: str) -> Callable[..., None]:
    """Return the function that does the step of a rule, or raise SpecError, which says where to add one."""
    if rule not in STEPS:
        raise SpecError(
            f"rule {rule} has no step in the replay, so model and implementation cannot be compared on it; write a function that "
            f'has the implementation do it, and put it under @STEPS.of("{rule}") into a file of conformance/replay: '
            "controller_steps.py (what controllers do), request_steps.py (what brokers do with controllers' requests), "
            "replica_steps.py (leaders and followers), or environment_steps.py (operators, clients and faults)"
        )
    return STEPS[rule]


def refuses(projection: Projection, rule: str, binding: Mapping[str, int]) -> bool:
    """Whether the implementation, which is stricter in one place, refuses this step of the model.

    A follower with an expired session cannot join the ISR if the era compares the broker epoch of a fetch with the registered one
    (KIP-903), since there is none. The model compares them only for a fetch that was delayed on the network.
    """
    if rule in ("ExpandIsr", "ExpandIsrUnanswered") and projection.ensemble.find(znodes.broker(binding["follower"])) is None:
        return not fetch_is_of_registration(0, NOT_REGISTERED, projection.k.fetch_generation_checked)
    return False
