"""What has to be proved: each rule keeps each statement, in any state that meets all statements, and the initial states meet them.

A *statement* is an invariant: a lemma or a property. All statements are proved together, by induction.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import z3

from kafka_spec.model_check.proof.cells import Cell, Fresh, Limits, constant_cell, copied
from kafka_spec.model_check.proof.context import Collected
from kafka_spec.model_check.proof.places import Reference
from kafka_spec.model_check.proof.terms import (
    TRUE,
    Formula,
    Truth,
    Untranslatable,
    Value,
    Whole,
    all_of,
    as_truth,
    implied,
    is_false,
    negation,
    number,
)
from kafka_spec.model_check.proof.translation import SymbolicCall
from kafka_spec.spec.language import Function, parameters_of, source_of
from kafka_spec.spec.language.domain import NONE, Scalar
from kafka_spec.spec.vocabulary.table import Among, ElementOf, ItemOf, Property, Rule, Spec

EXECUTED = "can be executed"
"""The statement about every rule and every statement that no index is out of range, and no number outside its field's domain."""
STATES = "every state"
"""In place of a rule: what holds in every state that meets the statements."""
MOST_VALUES = 64
"""The most values of a parameter that are tried one by one."""


@dataclass(frozen=True)
class Obligation:
    """A goal that has to follow from what is given; `rule` and `binding` say of which step, `statement` of which statement."""

    rule: str
    binding: tuple[tuple[str, Any], ...]
    statement: str
    given: tuple[Formula, ...]
    goal: Formula
    also: tuple[Formula, ...] = ()
    """What is given besides, of the step alone."""

    @property
    def refuted_by(self) -> tuple[Formula, ...]:
        """The formulas that are satisfiable together unless the goal follows."""
        return (*self.given, *self.also, negation(self.goal))


@dataclass(frozen=True)
class SymbolicStep:
    """A rule with some values of its parameters: when it can fire, and the state after that."""

    rule: Rule
    binding: Mapping[str, Value]
    fires: Formula
    after: Cell
    context: Collected


@dataclass
class Induction:
    """A spec at bounds, some of them lifted, and the statements about it."""

    spec: Spec
    bounds: Mapping[str, int]
    statements: Sequence[Property]
    lifted: frozenset[str] = frozenset()
    typed: list[Formula] = field(init=False)

    def __post_init__(self) -> None:
        self.limits = Limits(self.lifted)
        self.k = self.spec.constants(self.bounds)
        self.space = self.spec.space(self.bounds)
        fresh = Fresh(self.limits)
        self.state = fresh.cell(self.space.root, "s")
        self.typed = fresh.typed

    # formulas

    def call(self, context: Collected, function: Function, scope: Mapping[str, Any], path: Formula) -> tuple[Value, ...]:
        """Run a function of the spec on a symbolic state."""
        source = source_of(function)
        return SymbolicCall(context, source, {name: scope[name] for name in parameters_of(function)}, path).run()

    def holds(self, context: Collected, function: Function, scope: Mapping[str, Any], path: Formula = TRUE) -> Formula:
        """Return whether a predicate holds."""
        (result,) = self.call(context, function, scope, path)
        return as_truth(result)

    def scope(self, state: Cell, binding: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the functions of a rule get."""
        return {"s": Reference(((TRUE, state),)), "k": self.k, **binding}

    def context(self) -> Collected:
        """Return a context in which nothing is collected yet."""
        return Collected(self.limits, self.k)  # type: ignore[arg-type]

    def stated_as(self, statement: Property, state: Cell, context: Collected) -> Formula:
        """Return that a statement holds in a state."""
        found = []
        for when, predicate in statement.parts:
            path = TRUE
            for question in (when, predicate):
                if question is None:
                    continue
                scope = self.scope(state, {name: number(value) for name, value in question.given})
                holds = self.holds(context, question.function, scope, path)
                if question is predicate:
                    found.append(implied(path, holds))
                path = all_of(path, holds)
        return all_of(*found)

    # steps

    def bindings(self, rule: Rule) -> Iterator[dict[str, Value]]:
        """Yield the values of a rule's parameters: one by one, or where there is no limit as an unknown number."""
        yield from map(dict, itertools.product(*([(name, value) for value in self.values(rule, name)] for name in rule.params)))

    def values(self, rule: Rule, name: str) -> Sequence[Value]:
        """Return the values that a parameter can have."""
        parameter = rule.params[name]
        unknown = z3.Int(f"{rule.name}.{name}")
        if isinstance(parameter, ItemOf):
            cell = self.state.fields[parameter.field]  # type: ignore[union-attr]
            return [Whole(unknown, 0, None if cell.length.high is None else cell.length.high - 1)]  # type: ignore[union-attr]
        if isinstance(parameter, ElementOf):
            raise Untranslatable(f"{rule.name}: elements of sets of records as parameters")
        type_: Any = parameter.at(self.bounds, rule.name)
        high = self.limits.high(type_) if isinstance(type_, Scalar) and not type_.many else type_.high
        if high is None or high - type_.low >= MOST_VALUES:
            return [Whole(unknown, type_.low, high)]
        return [number(value) for value in range(type_.low, type_.high + 1)]

    def step(self, rule: Rule, binding: Mapping[str, Value], state: Cell) -> SymbolicStep:
        """Return what a rule does with these parameters."""
        context = self.context()
        scope = self.scope(state, binding)
        fires = self.admitted(rule, binding, context, state)
        for guard in rule.guards:
            fires = all_of(fires, self.holds(context, guard, scope, fires))
        for guard in rule.bound_guards:
            if not self.is_lifted(guard):
                fires = all_of(fires, self.holds(context, guard, scope, fires))
        after = copied(state)
        scope = self.scope(after, binding)
        if not is_false(fires):
            for effect in rule.effects:
                self.call(context, effect, scope, fires)
            self.count(rule, after, context, fires)
        return SymbolicStep(rule, binding, fires, after, context)

    def admitted(self, rule: Rule, binding: Mapping[str, Value], context: Collected, state: Cell) -> Formula:
        """Return whether the values are some that the parameters range over in this state."""
        found, earlier = [], dict[str, Value]()
        for name, parameter in rule.params.items():
            value = binding[name]
            if isinstance(value, Whole) and value.known is None:
                found.append(value.term >= (value.low or 0))
                if value.high is not None:
                    found.append(value.term <= value.high)
            if isinstance(parameter, ItemOf):
                assert isinstance(value, Whole)
                found.append(value.term < state.fields[parameter.field].length.term)  # type: ignore[union-attr]
            if isinstance(parameter, Among):
                found.append(self.among(rule, name, parameter, value, earlier, context, state, all_of(*found)))
            earlier[name] = value
        return all_of(*found)

    def among(
        self, rule: Rule, name: str, parameter: Among, value: Value, earlier: Mapping[str, Value], context: Collected, state: Cell,
        path: Formula,
    ) -> Formula:  # fmt: skip
        """Return whether the predicate admits a value; of none whether it admits no other."""

        def admits(one: Value) -> Formula:
            return self.holds(context, parameter.that, self.scope(state, {**earlier, name: one}), path)

        if not (parameter.or_none and isinstance(value, Whole) and value.known == NONE):
            return admits(value)
        others = [one for one in self.values(rule, name) if isinstance(one, Whole) and one.known is not None and one.known >= 0]
        return all_of(*(negation(admits(one)) for one in others))

    def is_lifted(self, guard: Function) -> bool:
        """Whether a predicate only expresses a bound that is lifted."""
        text = source_of(guard).text
        return any(f"k.{name}" in text for name in self.lifted)

    def count(self, rule: Rule, after: Any, context: Collected, fires: Formula) -> None:
        """Count a firing for the bounds that limit the rule."""
        for limit in rule.limits:
            cell = after.fields["spent"].fields[limit.name]
            more = Whole(z3.simplify(cell.value.term + 1), 0, None)
            if limit.name not in self.lifted:
                context.assume(more.term <= self.bounds[limit.name], fires)
            cell.value = Whole(more.term, 0, cell.value.high)

    def steps(self) -> Iterator[SymbolicStep]:
        """Yield the steps of all rules."""
        for rule in self.spec.rules:
            for binding in self.bindings(rule):
                step = self.step(rule, binding, self.state)
                if not is_false(step.fires):
                    yield step

    def beginnings(self) -> Iterator[SymbolicStep]:
        """Yield the initial states."""
        fresh = constant_cell(self.space.root, self.space.fresh(), self.limits)
        for binding in self.bindings(self.spec.start):
            step = self.step(self.spec.start, binding, fresh)
            if not is_false(step.fires):
                yield step

    # obligations

    @cached_property
    def tasks(self) -> Sequence[Callable[[], Iterator[Obligation]]]:
        """All that has to be proved, in parts that can be worked on side by side.

        Raises:
            Untranslatable: the spec has something that has no translation.
        """
        return list(self._tasks())

    def _tasks(self) -> Iterator[Callable[[], Iterator[Obligation]]]:
        context = self.context()
        stated_as = [self.stated_as(statement, self.state, context) for statement in self.statements]
        defined = tuple(formula for _, formula in context.definitions.values())
        given = (*self.typed, *stated_as, *defined)
        yield lambda: (Obligation(STATES, (), EXECUTED, given, needed.formula) for needed in context.needed)
        for step in self.beginnings():
            yield functools.partial(self.of_step, step, (), [None] * len(self.statements))
        for step in self.steps():
            yield functools.partial(self.of_step, step, given, stated_as)

    def of_step(self, step: SymbolicStep, given: tuple[Formula, ...], stated_as: Sequence[Formula | None]) -> Iterator[Obligation]:
        """Yield what has to be proved of one step."""
        binding = tuple(step.binding.items())
        for needed in step.context.needed:
            defined = tuple(formula for _, formula in step.context.definitions.values())
            yield Obligation(step.rule.name, binding, EXECUTED, given, needed.formula, (*needed.known, *defined))
        for statement, before in zip(self.statements, stated_as, strict=True):
            context = Collected(self.limits, self.k, definitions=dict(step.context.definitions), quiet=True)  # type: ignore[arg-type]
            after = self.stated_as(statement, step.after, context)
            if before is not None and after.eq(before):
                after = TRUE
            defined = tuple(formula for _, formula in context.definitions.values())
            also = (step.fires, *step.context.assumed, *defined)
            yield Obligation(step.rule.name, binding, statement.name, given, after, also)


def shown_binding(binding: tuple[tuple[str, Any], ...]) -> str:
    """Print the values of parameters that are known."""
    known = [f"{name}={value.known}" for name, value in binding if isinstance(value, Whole) and value.known is not None]
    return f"({', '.join(known)})" if known else ""


__all__ = ["EXECUTED", "STATES", "Induction", "Obligation", "SymbolicStep", "Truth", "shown_binding"]
