"""The interpreter: a spec at given bounds, executed in plain Python over the dataclasses of its state.

It defines the meaning of a step for all engines; counterexamples are replayed with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka_spec.model_check.interpreter.revalidate import revalidate
from kafka_spec.model_check.record.actions import Actions
from kafka_spec.model_check.record.bound_names import bound_name
from kafka_spec.model_check.within import look
from kafka_spec.spec.language import Function, parameters_of
from kafka_spec.spec.language.domain import NONE, OutOfBound, OutOfDomain, count_firing
from kafka_spec.spec.vocabulary import table
from kafka_spec.spec.vocabulary.table import (
    Among,
    Attempt,
    ElementOf,
    ItemOf,
    Property,
    Question,
    Rule,
    Spec,
    SpecError,
    arguments,
    elements_of,
    first_line,
    numbers_of,
    numbers_type,
    whole_types,
)

Binding = tuple[int, ...]


Key = tuple[Any, ...]
"""All fields of a state."""


class Interpreter:
    """A spec at given bounds, executed in plain Python: its initial states and the steps out of a state."""

    def __init__(self, spec: Spec, bounds: Mapping[str, int]) -> None:
        revalidate(spec)
        self.spec = spec
        self.bounds = bounds
        self.off = spec.switched_off(bounds)
        self.attempts: list[Attempt] = []
        """The attempts of `fire` in the last applied step."""
        self.k = spec.constants(bounds, self.attempts)
        self.space = spec.space(bounds)
        self.actions = Actions(spec, self.space, bounds)
        self.wholes = {rule.name: whole_types(rule.params, bounds, rule.name) for rule in (*spec.rules, spec.start)}
        """For each rule the parameters that are records or containers, and their types."""
        self.claims = spec.claims_at(bounds)
        """What is judged of the spec's properties at these bounds."""

    def arguments(self, rule: Rule, binding: Binding, s: Any) -> dict[str, Any]:
        """Return what the functions of a rule get for its parameters in a state."""
        return arguments(rule.params, binding, s, self.wholes[rule.name])

    def claim(self, name: str) -> Property:
        """Return an instance by its name; a property whose bindings are several instances here, as one about all of them."""
        found = next((claim for claim in self.claims if claim.name == name), None)
        stated = self.spec.property(name) if found is None else found
        return stated.at(self.bounds, tuple(stated.named_things.values()))[0]

    def key(self, state: Any) -> Key:
        """Return the values by which states are compared: all fields."""
        return self.space.root.freeze(state)

    def formed(self, s: Any) -> Any:
        """Return what a search keeps of a state: its normal form if the spec is reduced, else the state itself.

        Raises:
            SpecError: the normal form cannot be applied to this state.
        """
        return self._changed_by(self.spec.normal_form, s, "normal form") if self.spec.reduced else s

    def viewed(self, s: Any) -> Any:
        """Return what identifies a state in a search: its view if the spec has one, else the state itself.

        Raises:
            SpecError: the view cannot be applied to this state.
        """
        return self._changed_by(self.spec.view, s, "view") if self.spec.view else s

    def _changed_by(self, parts: tuple[Any, ...], s: Any, what: str) -> Any:
        """Return a copy of a state, changed by the parts of a normal form or a view."""
        form = self.space.root.copy(s)
        table.bring_into_form(parts, self.space.root, form, self.k, what)
        return form

    def beyond(self, s: Any) -> str:
        """Return the name of the constraint that a state does not meet, or ""."""
        constraint = self.spec.constraint
        if constraint is None or self.call(constraint, {"s": s, "k": self.k}, "constraint"):
            return ""
        return constraint.__name__

    def values(self, rule: Rule, name: str, s: Any, binding: Binding) -> Iterable[int]:
        """Return the values that a parameter of a rule can take in this state, after those of `binding`."""
        parameter = rule.params[name]
        if isinstance(parameter, ElementOf):
            return numbers_of(elements_of(parameter, s, dict(zip(rule.params, binding, strict=False))))
        if isinstance(parameter, ItemOf):
            return range(len(getattr(s, parameter.field)))
        type_ = numbers_type(parameter, self.bounds, rule.name)
        if isinstance(parameter, Among):
            that = (parameter.that,)
            numbers = range(max(0, type_.low) if parameter.or_none else type_.low, type_.high + 1)
            found = [value for value in numbers if self.holds(that, rule, s, (*binding, value))]
            return found or ([NONE] if parameter.or_none else [])
        return range(type_.low, type_.high + 1)

    def enabled(self, rule: Rule, s: Any) -> Iterator[Binding]:
        """Yield the bindings for which all guards hold, in order; each guard is evaluated as soon as its parameters are bound."""
        names = list(rule.params)

        def bind(binding: Binding, left: tuple[Any, ...]) -> Iterator[Binding]:
            bound = {"s", "k", *names[: len(binding)]}
            ready = [guard for guard in left if set(parameters_of(guard)) <= bound]
            if not self.holds(ready, rule, s, binding):
                return
            if len(binding) == len(names):
                yield binding
                return
            for value in self.values(rule, names[len(binding)], s, binding):
                yield from bind((*binding, value), left[len(ready) :])

        return bind((), rule.guards)

    def refusing(
        self, rule: Rule, s: Any, admits: Callable[[Binding, int], bool] = lambda before, value: True
    ) -> Iterator[tuple[Binding, Function | None]]:
        """Yield for each choice of parameters how far it gets: the values chosen so far, and the guard that refuses them.

        None in place of the guard: all guards hold for all parameters, or the next one has no value that `admits` accepts.
        """
        names = list(rule.params)

        def bind(binding: Binding, left: tuple[Any, ...]) -> Iterator[tuple[Binding, Function | None]]:
            bound = {"s", "k", *names[: len(binding)]}
            ready = [guard for guard in left if set(parameters_of(guard)) <= bound]
            for guard in ready:
                if not self.holds((guard,), rule, s, binding):
                    yield binding, guard
                    return
            following = self.values(rule, names[len(binding)], s, binding) if len(binding) < len(names) else ()
            admitted = [value for value in following if admits(binding, value)]
            if not admitted:
                yield binding, None
            for value in admitted:
                yield from bind((*binding, value), left[len(ready) :])

        return bind((), rule.guards)

    def holds(self, predicates: Sequence[Any], rule: Rule, s: Any, binding: Binding) -> bool:
        """Whether all of the rule's predicates hold for the binding."""
        scope = {"s": s, "k": self.k, **self.arguments(rule, binding, s)}
        return all(self.call(predicate, scope, rule.name, binding) for predicate in predicates)

    def could_without_bounds(self, s: Any) -> bool:
        """Whether a rule that is switched off could fire."""
        return any(True for rule in self.spec.rules if rule.name in self.off for _ in self.enabled(rule, s))

    def within(self, rule: Rule, s: Any, binding: Binding) -> bool:
        """Whether no bound of the exploration forbids the step."""
        return not self.forbidden_by(rule, s, binding)

    def forbidden_by(self, rule: Rule, s: Any, binding: Binding) -> str:
        """Return the name of the bound that forbids the step before its effects, or ""."""
        for limit in rule.limits:
            if getattr(s.spent, limit.name) >= self.bounds[limit.name]:
                return limit.name
        for predicate in rule.bound_guards:
            if not self.holds((predicate,), rule, s, binding):
                return bound_name(predicate, self.spec)
        return ""

    def allows(self, rule: Rule, s: Any, binding: Binding) -> bool:
        """Whether the rule can fire with this binding, and no bound prevents it."""
        return self.holds(rule.guards, rule, s, binding) and self.within(rule, s, binding)

    def apply(self, rule: Rule, s: Any, binding: Binding, beyond: bool = False) -> Any:
        """Return the state after the rule's effects, with the counters of its bounds increased.

        With `beyond` the state need not meet the constraint.

        Raises:
            OutOfBound: a bound of the exploration forbids the step, or the constraint does.
            OutOfDomain: the type invariant is violated.
            SpecError: an effect cannot be executed.
        """
        after = self.space.root.copy(s)
        scope = {"s": after, "k": self.k, **self.arguments(rule, binding, s)}
        self.attempts.clear()
        for effect in rule.effects:
            self.call(effect, scope, rule.name, binding)
        for limit in rule.limits:
            count_firing(after, limit)
        if not beyond and (constraint := self.beyond(after)):
            raise OutOfBound(constraint)
        return after

    def call(self, function: Any, scope: Mapping[str, Any], what: str, binding: Binding = ()) -> Any:
        """Call a function of the spec; its errors are reported with the rule or property that called it."""
        try:
            return table.call(function, scope)
        except OutOfDomain:
            raise
        except (SpecError, ArithmeticError, ValueError, LookupError) as error:
            where = f"{what}({', '.join(map(str, binding))})" if binding else what
            # parts of the state have errors of their own
            reason = f"a constant has nothing at this place ({error})" if isinstance(error, LookupError) else error
            raise SpecError(f"{where}: {function.__name__} cannot be executed: {reason}") from error

    def initial(self) -> list[Any]:
        """Return the distinct initial states, in the order of the start rule's bindings."""
        return [state for _, state in self.beginnings()]

    def beginnings(self) -> list[tuple[Binding, Any]]:
        """Return the distinct initial states, each with the first binding of the start rule that makes it."""
        fresh, start = self.space.fresh(), self.spec.start
        found: dict[Key, tuple[Binding, Any]] = {}
        for binding in self.enabled(start, fresh):
            look()
            if self.within(start, fresh, binding):
                try:
                    state = self.apply(start, fresh, binding, beyond=True)
                except (OutOfBound, OutOfDomain) as error:
                    why = f"it is beyond the bound {error}" if isinstance(error, OutOfBound) else str(error)
                    raise SpecError(f"{self.spec.name}: {start.name}{binding} is not an initial state: {why}") from None
                if constraint := self.beyond(state):
                    raise SpecError(
                        f"{self.spec.name}: the initial state {start.name}{binding} does not meet the constraint {constraint}; "
                        "correct the constraint, or leave the state out with bound_guards= of the rule that starts"
                    )
                found.setdefault(self.key(state), (binding, state))
        if not found:
            needs = "; ".join(first_line(guard) for guard in start.guards)
            raise SpecError(
                f"{self.spec.name}: there is no initial state: {start.name} needs that {needs}; correct the bounds, or the spec"
            )
        return list(found.values())

    def tests(self, claim: Property, **of: Any) -> bool:
        """Whether a state `s`, or the step from `before` to `after`, meets the antecedent of a property."""
        return claim.when is None or any(self.answer(claim, when, of) for when in claim.antecedents)

    def answer(self, claim: Property, question: Question, of: Mapping[str, Any]) -> bool:
        """Whether a predicate or an antecedent of an instance is true of a state `s`, or of the step from `before` to `after`."""
        return bool(self.call(question.function, {**of, "k": self.k, **dict(question.given)}, claim.name))

    def meets(self, claim: Property, s: Any) -> bool:
        """Whether the predicate of an instance is true of a state; of a goal one of its bindings is enough."""
        each = any if claim.kind == "reachable" else all
        return each(self.answer(claim, predicate, {"s": s}) for predicate in claim.predicates)

    def is_final(self, s: Any) -> bool:
        """Whether a state without a step is one in which the protocol may rest."""
        final = self.spec.final_states
        return final is not None and bool(self.call(final, {"s": s, "k": self.k}, "final"))

    def is_stuck(self, s: Any) -> bool:
        """Whether no rule can fire in a state, and the protocol may not rest there."""
        return not any(True for rule in self.spec.rules for _ in self.enabled(rule, s)) and not self.is_final(s)

    def judge(self, claim: Property, s: Any) -> bool:
        """Whether a property is true in a state: its antecedent implies its predicate."""
        return self.meets(claim, s) if claim.kind == "reachable" else self._implied(claim, {"s": s})

    def judge_step(self, claim: Property, before: Any, after: Any) -> bool:
        """Whether a step invariant is true of a step: its antecedent implies its predicate."""
        return self._implied(claim, {"before": before, "after": after})

    def _implied(self, claim: Property, of: Mapping[str, Any]) -> bool:
        """Whether for each binding of an instance its antecedent implies its predicate."""
        return all(
            (when is not None and not self.answer(claim, when, of)) or self.answer(claim, predicate, of)
            for when, predicate in claim.parts
        )

    def moves(self, s: Any) -> tuple[set[int], bool]:
        """Return the numbers of the protocol actions that change a state of a search, and whether a bound prevents one."""
        changing, cut = set(), False
        for number, rule in enumerate(self.spec.rules):
            for binding in self.enabled(rule, s) if rule.kind == "protocol" else ():
                try:
                    if not self.within(rule, s, binding):
                        raise OutOfBound
                    if self.key(self.formed(self.apply(rule, s, binding))) != self.key(s):
                        changing.add(self.actions.number(number, binding))
                except OutOfBound:
                    cut = True
                except OutOfDomain:
                    continue
        return changing, cut

    def recovers(self, claim: Property, s: Any, most: int) -> bool:
        """Whether protocol steps can reach a state that meets the property or is undecided; search at most `most` states."""
        known, left = {self.key(self.formed(s))}, [self.formed(s)]
        for state in left:
            if self.meets(claim, state):
                return True
            for rule in self.spec.rules:
                for binding in self.enabled(rule, state) if rule.kind == "protocol" else ():
                    try:
                        if not self.within(rule, state, binding):
                            return True
                        after = self.formed(self.apply(rule, state, binding))
                    except OutOfBound:
                        return True
                    except OutOfDomain:
                        continue
                    if len(known) < most and self.key(after) not in known:
                        known.add(self.key(after))
                        left.append(after)
        return False
