"""Which known bugs do the harm: each with which `fixed` takes the same steps to the same harm, while `fixed` alone does not."""

from __future__ import annotations

from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.spec.case import Case
from kafka_spec.spec.kraft.eras import SUITE
from kafka_spec.spec.kraft.planned import planned
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from kafka_spec.spec.vocabulary.trace import Trace

FEATURES = ("elr", "bump_on_shrink")
"""The decisions that a cluster's features make, whatever its release."""


def causes(trace: Trace, spec: Spec) -> tuple[Case, ...]:
    """Return the bugs that do harm, from a trace of the model of a cluster; none if `fixed` does it too, or several must meet."""
    decided = {decision.name: decision.value for decision in spec.decisions}
    features = {name: decided[name] for name in FEATURES}

    def does_harm(version: Spec) -> bool:
        return _takes(planned(version.replacing(version.name, version.summary, decisions=features)), trace)

    if does_harm(SUITE.fixed):
        return ()
    cases = [case for case in SUITE.expressed if case.decides and case.decisions.items() <= decided.items()]
    return tuple(case for case in cases if does_harm(SUITE.spec_with(case)))


def _takes(spec: Spec, trace: Trace) -> bool:
    """Whether a version of the model takes the steps of a trace, and they violate what they violate there."""
    world = Interpreter(spec, spec.bound_values(dict(trace.bounds)))
    claim = world.claim(trace.shows)
    first = tuple(value for _, value in trace.start.action.binding)
    state = next((state for binding, state in world.beginnings() if binding == first), None)
    for step in trace.steps:
        rule, binding = spec.rule(step.action.rule), tuple(value for _, value in step.action.binding)
        if state is None or binding not in world.enabled(rule, state) or not world.within(rule, state, binding):
            return False
        before = state
        try:
            state = world.apply(rule, before, binding)
        except (OutOfBound, OutOfDomain, SpecError):
            return False
        kept = world.judge(claim, state) if claim.kind == "invariant" else world.judge_step(claim, before, state)
        if not kept:
            return True
    return False
