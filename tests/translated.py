"""Compares the translation of `kafka-spec prove` with the interpreter: the steps out of states, and the statements in them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import z3

from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.proof import terms
from kafka_spec.model_check.proof.cells import terms_of
from kafka_spec.model_check.proof.obligations import Induction, SymbolicStep
from kafka_spec.model_check.proof.states import constant_cell, fill
from kafka_spec.model_check.proof.terms import all_of
from kafka_spec.model_check.proof.values import as_number
from kafka_spec.model_check.state_graph import graph_of
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary.table import ItemOf, Rule, Spec, SpecError


def induction_of(spec: Spec, bounds: Mapping[str, int], lifted: Sequence[str] = ()) -> Induction:
    """Return the induction about all invariants and lemmas of a spec."""
    stated = [statement for statement in (*spec.properties, *spec.lemmas) if statement.kind == "invariant"]
    return Induction(spec, bounds, spec.claims_at(bounds, stated), frozenset(lifted))


class At:
    """The formulas of an induction, evaluated in one state."""

    def __init__(self, induction: Induction, state: Any) -> None:
        known = constant_cell(induction.space.root, state, induction.limits)
        self.pairs = list(zip(terms_of(induction.state), terms_of(known), strict=True))

    def value(self, term: Any, *more: tuple[Any, Any]) -> Any:
        """Return the number or truth that a term is."""
        found = z3.simplify(z3.substitute(term, *self.pairs, *more))
        if z3.is_bool(found):
            assert terms.is_true(found) or terms.is_false(found), f"not decided: {found}"
            return terms.is_true(found)
        return found.as_long()


def bindings_of(step: SymbolicStep, state: Any) -> Iterator[tuple[tuple[int, ...], list[tuple[Any, Any]]]]:
    """Yield the bindings that a step may be about, each with what its unknown parameters are."""
    wholes = [as_number(value) for value in step.binding.values()]
    ranges = [
        (one.known,) if one.known is not None else range(len(getattr(state, parameter.field)))
        if isinstance(parameter, ItemOf) else range(one.low or 0, (one.high or 0) + 1)
        for one, parameter in zip(wholes, step.rule.params.values(), strict=True)
    ]  # fmt: skip
    for binding in itertools.product(*ranges):
        pairs = [(one.term, z3.IntVal(given)) for one, given in zip(wholes, binding, strict=True) if one.known is None]
        yield binding, pairs


def agree(induction: Induction, world: Interpreter, steps: Sequence[SymbolicStep], state: Any) -> int:
    """Compare all steps out of a state, and all statements in it; return how many steps can be taken."""
    at, taken = At(induction, state), 0
    assert all(at.value(formula) for formula in induction.typed)
    for statement in induction.statements:
        context = induction.context()
        holds = at.value(induction.stated_as(statement, induction.state, context))
        executed = all(at.value(needed.formula) for needed in context.needed)
        try:
            judged: bool | None = world.judge(statement, state)
        except (OutOfDomain, SpecError):
            judged = None
        assert judged == (holds if executed else None), statement.name
    found = {rule.name: _enabled(world, rule, state) for rule in world.spec.rules}
    missed = {name: set(enabled or ()) for name, enabled in found.items()}
    for step in steps:
        for binding, unknown in bindings_of(step, state):
            missed[step.rule.name].discard(binding)
            taken += _agrees(induction, world, step, state, at, binding, unknown, found[step.rule.name])
    assert not any(missed.values()), f"steps of the interpreter that the translation lacks: {missed} in {state}"
    return taken


def _enabled(world: Interpreter, rule: Rule, state: Any) -> set[tuple[int, ...]] | None:
    """Return the bindings for which a rule can fire; None if a guard cannot be executed."""
    try:
        return {binding for binding in world.enabled(rule, state) if world.within(rule, state, binding)}
    except (OutOfDomain, SpecError):
        return None


def _agrees(
    induction: Induction, world: Interpreter, step: SymbolicStep, state: Any, at: At, binding: tuple[int, ...],
    unknown: list[tuple[Any, Any]], enabled: set[tuple[int, ...]] | None,
) -> bool:  # fmt: skip
    """Compare one step out of a state; return whether it can be taken."""
    where = f"{step.rule.name}{binding} in {state}"
    if enabled is None:
        return False
    executed = all(at.value(needed.formula, *unknown) for needed in step.context.needed)
    bounded = at.value(all_of(step.fires, *step.context.assumed), *unknown)
    if binding not in enabled:
        assert not bounded or not executed, where
        return False
    assert at.value(step.fires, *unknown), where
    try:
        after = world.apply(step.rule, state, binding, beyond=True)
    except OutOfBound:
        assert not bounded, where
        return True
    except (OutOfDomain, SpecError):
        assert not executed or not bounded, where
        return True
    assert bounded and executed, f"{where}: {[n.what for n in step.context.needed if not at.value(n.formula, *unknown)]}"
    found = world.space.fresh()
    fill(step.after, found, lambda term: at.value(term, *unknown))
    assert world.key(found) == world.key(after), f"{where}: {found} and not {after}"
    return True


def compared(spec: Spec, bounds: Mapping[str, int], most: int, states: int) -> int:
    """Compare the translation and the interpreter in some of the first `most` states; return how many steps were compared."""
    induction, world = induction_of(spec, bounds), Interpreter(spec, bounds)
    steps = list(induction.steps())
    found = graph_of(world, most).states
    return sum(agree(induction, world, steps, state) for state in found[:: max(1, len(found) // states)])
