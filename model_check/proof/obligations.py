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

from kafka_spec.model_check.proof.cells import Cell, Limits, SlotsCell, copied
from kafka_spec.model_check.proof.context import Collected
from kafka_spec.model_check.proof.order import same
from kafka_spec.model_check.proof.places import Reference, field_of, length_of, store, value_at
from kafka_spec.model_check.proof.states import Fresh, constant_cell
from kafka_spec.model_check.proof.terms import (
    TRUE,
    Formula,
    Untranslatable,
    Value,
    Whole,
    all_of,
    any_of,
    compared,
    implied,
    is_false,
    negation,
    number,
)
from kafka_spec.model_check.proof.translation import SymbolicCall
from kafka_spec.model_check.proof.values import as_number, as_truth, calculated
from kafka_spec.spec.language import Function, parameters_of, source_of
from kafka_spec.spec.language.domain import NONE, Type, nth
from kafka_spec.spec.vocabulary.table import Among, ElementOf, ItemOf, Property, Rule, Spec, numbers_type, whole_types

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
        self.least = {name: self.spec.bounds[name].low for name in self.lifted}
        self.lifts = [z3.Int(f"k.{name}") >= low for name, low in sorted(self.least.items())]
        self.typed = [*fresh.typed, *self.lifts]

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
        return Collected(self.limits, self.k, self.least)

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
        unknown = z3.Int(f"{rule.name}({name})")
        if isinstance(parameter, ItemOf):
            length = length_of(field_of(self.state, parameter.field))
            return [number(0) if length.high == 1 else Whole(unknown, 0, None if length.high is None else length.high - 1)]
        if isinstance(parameter, ElementOf):
            high = self.elements(parameter, self.state, dict.fromkeys(parameter.names, number(0))).length.high
            return [number(index) for index in range(high or 0)]
        type_ = numbers_type(parameter, self.bounds, rule.name)
        high = type_.high if type_.many else self.limits.high(type_)
        if high is None or high - type_.low >= MOST_VALUES:
            return [Whole(unknown, type_.low, high)]
        return [number(value) for value in range(type_.low, type_.high + 1)]

    def step(self, rule: Rule, binding: Mapping[str, Value], state: Cell) -> SymbolicStep:
        """Return what a rule does with these parameters."""
        context = self.context()
        fires = self.admitted(rule, binding, context, state)
        given = self.arguments(rule, binding, state)
        scope = self.scope(state, given)
        for guard in rule.guards:
            fires = all_of(fires, self.holds(context, guard, scope, fires))
        for guard in rule.bound_guards:
            if not self.is_lifted(guard):
                fires = all_of(fires, self.holds(context, guard, scope, fires))
        for limit in rule.limits:
            if limit.name not in self.lifted:
                spent = value_at(field_of(field_of(state, "spent"), limit.name))
                fires = all_of(fires, compared("<", as_number(spent), number(self.bounds[limit.name])))
        after = copied(state)
        scope = self.scope(after, given)
        if not is_false(fires):
            for effect in rule.effects:
                self.call(context, effect, scope, fires)
            self.count(rule, after, fires)
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
                found.append(compared("<", as_number(value), length_of(field_of(state, parameter.field))))
            if isinstance(parameter, ElementOf):
                found.append(self.is_element(parameter, as_number(value), earlier, state))
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
            given = self.arguments(rule, {**earlier, name: one}, state)
            return self.holds(context, parameter.that, self.scope(state, given), path)

        if parameter.or_none and as_number(value).known is None:
            raise Untranslatable(f"{rule.name}: {name}: one of more than {MOST_VALUES} numbers, or none")
        if not (parameter.or_none and as_number(value).known == NONE):
            return admits(value)
        others = [one for one in self.values(rule, name) if isinstance(one, Whole) and one.known is not None and one.known >= 0]
        return all_of(*(negation(admits(one)) for one in others))

    def elements(self, parameter: ElementOf, state: Cell, earlier: Mapping[str, Value]) -> Reference:
        """Return the set or bag that a parameter ranges over."""
        found = Reference(((TRUE, state),))
        for step in parameter.steps:
            if isinstance(step, int) or step.startswith("{"):
                found = found.at(number(step) if isinstance(step, int) else as_number(earlier[step[1:-1]]))
            else:
                found = Reference(tuple((when, field_of(place, step)) for when, place in found.places))
        return found

    def is_element(self, parameter: ElementOf, index: Whole, earlier: Mapping[str, Value], state: Cell) -> Formula:
        """Return whether there is an element of this number that differs from the one before."""
        found, at = [], index.known or 0
        for when, elements in self.elements(parameter, state, earlier).places:
            assert isinstance(elements, SlotsCell)
            differs = negation(same(elements.items[at - 1], elements.items[at], TRUE)) if at else TRUE
            found.append(all_of(when, compared("<", index, elements.length), differs))
        return any_of(*found)

    def arguments(self, rule: Rule, binding: Mapping[str, Value], state: Cell) -> dict[str, Any]:
        """Return what the functions of a rule get for its parameters: numbers, and elements as they are before the step."""
        found: dict[str, Any] = dict(binding)
        wholes = whole_types(rule.params, self.bounds, rule.name)
        for name in binding:
            parameter = rule.params[name]
            if isinstance(parameter, ElementOf):
                found[name] = self.elements(parameter, state, binding).at(as_number(binding[name]))
            elif name in wholes:
                found[name] = Reference(((TRUE, self.whole(rule, name, wholes[name], as_number(binding[name]))),))
        return found

    def whole(self, rule: Rule, name: str, type_: Type, value: Whole) -> Cell:
        """Return a parameter that is a record or a container, by its number."""
        if value.known is None:
            raise Untranslatable(f"{rule.name}: {name}: one of more than {MOST_VALUES} records or containers")
        return constant_cell(type_, nth(type_, value.known), self.limits)

    def is_lifted(self, guard: Function) -> bool:
        """Whether a predicate only expresses a bound that is lifted."""
        text = source_of(guard).text
        return any(f"k.{name}" in text for name in self.lifted)

    def count(self, rule: Rule, after: Cell, fires: Formula) -> None:
        """Count a firing for the bounds that limit the rule."""
        for limit in rule.limits:
            cell = field_of(field_of(after, "spent"), limit.name)
            store(cell, calculated("+", as_number(value_at(cell)), number(1)), fires)

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
    def supposed(self) -> tuple[Collected, list[Formula]]:
        """The statements about any state, and what their translation collects."""
        context = self.context()
        return context, [self.stated_as(statement, self.state, context) for statement in self.statements]

    @cached_property
    def given(self) -> tuple[Formula, ...]:
        """What is given of the state before a step: its types and all statements."""
        context, supposed = self.supposed
        return (*self.typed, *supposed, *(formula for _, formula in context.definitions.values()))

    @cached_property
    def tasks(self) -> Sequence[Callable[[], Iterator[Obligation]]]:
        """All that has to be proved, in parts that can be worked on side by side.

        Raises:
            Untranslatable: the spec has something that has no translation.
        """
        context, _ = self.supposed
        steps = [functools.partial(self.of_step, step) for step in (*self.beginnings(), *self.steps())]
        return [lambda: (Obligation(STATES, (), EXECUTED, self.given, needed.formula) for needed in context.needed), *steps]

    def of_step(self, step: SymbolicStep) -> Iterator[Obligation]:
        """Yield what has to be proved of one step, or of an initial state."""
        given, supposed = self.given, self.supposed[1]
        if step.rule is self.spec.start:
            given, supposed = tuple(self.lifts), [TRUE] * len(supposed)
        binding = tuple(step.binding.items())
        for needed in step.context.needed:
            defined = tuple(formula for _, formula in step.context.definitions.values())
            yield Obligation(step.rule.name, binding, EXECUTED, given, needed.formula, (*needed.known, *defined))
        for statement, before in zip(self.statements, supposed, strict=True):
            context = self.context()
            context.definitions, context.quiet = dict(step.context.definitions), True
            after = self.stated_as(statement, step.after, context)
            if after.eq(before):
                after = TRUE
            defined = tuple(formula for _, formula in context.definitions.values())
            also = (step.fires, *step.context.assumed, *defined)
            yield Obligation(step.rule.name, binding, statement.name, given, after, also)


def shown_binding(binding: tuple[tuple[str, Any], ...]) -> str:
    """Print the values of parameters that are known."""
    known = [f"{name}={value.known}" for name, value in binding if isinstance(value, Whole) and value.known is not None]
    return f"({', '.join(known)})" if known else ""


__all__ = ["EXECUTED", "STATES", "Induction", "Obligation", "SymbolicStep", "shown_binding"]
