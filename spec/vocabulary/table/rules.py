"""Rules: the atomic actions of the world."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from kafka_spec.spec.language import Function, is_function, source_of
from kafka_spec.spec.language.domain import Bound, SpecError
from kafka_spec.spec.vocabulary.table.former_names import accepts_former_names
from kafka_spec.spec.vocabulary.table.functions import (
    Name,
    check_effect,
    check_function,
    check_pure,
    check_template,
    module_of_caller,
    name_of,
)
from kafka_spec.spec.vocabulary.table.kinds import check_choice, check_kinds
from kafka_spec.spec.vocabulary.table.parameters import Among, Parameter, checked_params

RuleKind: TypeAlias = Literal["protocol", "operator", "fault"]
Fairness: TypeAlias = Literal["none", "weak", "strong", "weak each", "strong each"]
"""What is assumed of a protocol rule: of the rule as a whole, or with `each` of every binding of its parameters."""


@accepts_former_names
@dataclass(frozen=True)
class Rule:
    """One atomic action of the world.

    `actor` acts ("controller", "broker {follower}", a template over the parameters), `params` are what an instance
    (*binding*) is chosen by, in order. It can fire if all `guards` hold; if then one of the `bound_guards` does not, it is only a
    bound of the exploration that prevents the step, which is counted and named. `at_most` is a bound on how often the rule fires
    (or several; rules may share one): counter, limit and counting follow from it. `effects` run in order on the new state.
    All take some of `s`, `k` and the parameters, by name. A guard runs as soon as its parameters have values: `guards` are put into
    this order, so one that needs few parameters is cheap, and must not rely on one that needs more. `summary` is the step in
    Kafka's words, a template, in which `{request.leader}` is a field of the item that an `ItemOf` names; `reference` is the source.
    `receives` names the sequence whose first message the rule reads, a path with parameters in braces:
    `channels[{broker}].requests`; traces show it as received.
    `asks` is whom the actor asks, a template as `actor`, where request and answer are one step; charts show it as an arrow.

    `fairness` is what properties about what happens eventually assume of a protocol rule; if it says nothing, the spec does
    (`Spec.fairness`). Weak: the rule is eventually taken if it stays enabled, that is, if in every state from some point on it can
    fire with some binding, and change the state. Strong: it is eventually taken if it is enabled infinitely often. So say TLA+'s WF
    and SF of the action with its parameters under an existential quantifier. "weak each" and "strong each" say it of every binding
    by itself: each broker gets its turn, and also each outcome that a parameter chooses. None: it need never be taken. Rules of
    other kinds have no fairness; they fire finitely often.
    """

    name: Name
    actor: str
    summary: str
    reference: str = ""
    effects: tuple[Function, ...] = ()
    params: Mapping[Name, Parameter] = field(default_factory=dict)
    guards: tuple[Function, ...] = ()
    bound_guards: tuple[Function, ...] = ()
    kind: RuleKind = "protocol"
    fairness: Fairness | None = None
    receives: str = ""
    asks: str = ""
    at_most: Bound | tuple[Bound, ...] = ()
    declared_in: Name = field(init=False, compare=False, repr=False)
    """The module that states it."""

    @property
    def may_be_off(self) -> bool:
        """Whether a bound of 0 switches the rule off (`Spec.switched_off`)."""
        return self.kind != "protocol" and bool(self.limits)

    @property
    def limits(self) -> tuple[Bound, ...]:
        """The bounds on how often the rule fires, each of which counts its firings."""
        return self.at_most if isinstance(self.at_most, tuple) else (self.at_most,)

    def __post_init__(self) -> None:
        if not hasattr(self, "declared_in"):  # a check validates again what was declared long ago
            object.__setattr__(self, "declared_in", module_of_caller())
        where = f"rule {self.name}"
        check_kinds(self, where, dict.fromkeys(("name", "actor", "summary", "reference", "receives", "asks"), str))
        check_choice(self.kind, get_args(RuleKind), f"{where}: kind")
        check_choice(self.fairness, (None, *get_args(Fairness)), f"{where}: fairness")
        if wrong := [limit for limit in self.limits if not isinstance(limit, Bound)]:
            raise SpecError(f"{where}: at_most is {wrong[0]!r}; name a Bound, whose value says how often the rule may fire")
        if len(set(self.limits)) < len(self.limits):
            raise SpecError(f"{where}: at_most names a bound twice, so each firing would count twice; name it once")
        if self.fairness is not None and self.kind != "protocol":
            raise SpecError(f"{where}: a rule of kind {self.kind} happens finitely often and has no fairness; leave it out")
        for part in ("effects", "guards", "bound_guards"):
            if not isinstance(getattr(self, part), tuple):
                one = getattr(getattr(self, part), "__name__", "one")
                raise SpecError(f"{where}: {part} is not a tuple; write {part}=({one},)")
            if wrong := [one for one in getattr(self, part) if not is_function(one)]:
                raise SpecError(f"{where}: {part} holds {wrong[0]!r}, which is not a plain function; name the function itself")
        object.__setattr__(self, "params", checked_params(self.params, where))
        if reserved := [name for name in self.params if name in ("s", "k")]:
            raise SpecError(f"{where}: a parameter cannot be named {reserved[0]}: that is the state, or the constants")
        for template in (self.actor, self.summary, self.receives, self.asks):
            check_template(template, self.params, where)
        for function in (*self.guards, *self.bound_guards, *self.effects):
            check_function(function, {"s", "k", *self.params}, where)
        for guard in (*self.guards, *self.bound_guards):
            check_pure(guard, where)
        for effect in self.effects:
            check_effect(effect, where)
        for number, (name, parameter) in enumerate(self.params.items(), 1):
            if isinstance(parameter, Among):
                check_function(parameter.that, {"s", "k", *list(self.params)[:number]}, f"{where}, parameter {name},")
                check_pure(parameter.that, f"{where}, parameter {name}")
        object.__setattr__(self, "guards", tuple(sorted(self.guards, key=self.needs)))

    def needs(self, guard: Function) -> int:
        """Return how many parameters have values before a guard runs: all up to the last one that it takes."""
        return max((list(self.params).index(n) + 1 for n in source_of(guard).parameters if n in self.params), default=0)

    def without_guard(self, guard: Name) -> Rule:
        """Return the rule weakened by one guard, to see which property notices."""
        left = tuple(g for g in self.guards if name_of(g) != guard)
        if len(left) == len(self.guards):
            raise SpecError(f"rule {self.name} has no guard {guard}; it has {', '.join(map(name_of, self.guards))}")
        return dataclasses.replace(self, guards=left)
