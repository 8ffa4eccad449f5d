"""A fault that compiled code met is reported by the oracle, which meets it again in plain Python and says more.

Depends on the oracle and on what a program judges.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, NoReturn

from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary.table import Rule, SpecError


def explain(world: Interpreter, program: Program, otherwise: str, place: str, start: int, numbers: Sequence[int]) -> NoReturn:
    """Raise the oracle's error for the state at the end of a path, in which compiled code faulted.

    Raises:
        SpecError: with the oracle's message, or `otherwise` if the oracle finds no fault.
    """
    state = world.formed(world.initial()[start])
    for number in numbers:
        rule, binding = world.actions.decode(number)
        state = world.formed(world.apply(rule, state, binding))
    explain_state(world, program, otherwise, place, state, len(numbers))


def explain_state(world: Interpreter, program: Program, otherwise: str, place: str, state: Any, steps: int) -> NoReturn:
    """Raise the oracle's error for a state, so many steps from the start, in which compiled code faulted; `explain` says more."""
    try:
        for claim in program.plan.states:
            world.judge(claim, state)
        for claim in program.plan.on_graph:
            world.tests(claim, s=state)
            world.meets(claim, state)
        for rule in world.spec.rules:
            for binding in world.enabled(rule, state):
                _retry(world, program, rule, state, binding)
        world.is_stuck(state)
    except SpecError as error:
        raise SpecError(f"{error} (after {steps} steps; {place})") from error
    raise SpecError(f"{otherwise} (after {steps} steps)")


def _retry(world: Interpreter, program: Program, rule: Rule, state: Any, binding: tuple[int, ...]) -> None:
    """Do a step in plain Python to raise its error; leaving a bound or a domain is not an error here."""
    if not world.within(rule, state, binding):
        return
    with contextlib.suppress(OutOfBound, OutOfDomain):
        after = world.apply(rule, state, binding, beyond=True)
        for claim in program.plan.steps:
            if claim.kind == "step invariant":
                world.judge_step(claim, state, after)
            else:
                world.judge(claim, after)
        if not world.beyond(after):
            world.viewed(world.formed(after))
