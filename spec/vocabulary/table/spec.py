"""Specs: a state, the rules that change it, the machines that they fire, and its properties."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, get_args

from kafka_spec.spec.language import Function
from kafka_spec.spec.language.domain import Bound, Domain, Space, SpecError, capacities_in, domain_of
from kafka_spec.spec.vocabulary.table.assumptions import Abstraction, BoundSet, Decision
from kafka_spec.spec.vocabulary.table.firing import Attempt, Constants
from kafka_spec.spec.vocabulary.table.former_names import accepts_former_names
from kafka_spec.spec.vocabulary.table.functions import Name, module_of_caller
from kafka_spec.spec.vocabulary.table.kinds import check_choice, check_kinds, check_tuples
from kafka_spec.spec.vocabulary.table.machines import Machine
from kafka_spec.spec.vocabulary.table.normal_forms import Part as NormalFormPart
from kafka_spec.spec.vocabulary.table.normal_forms import check_normal_form
from kafka_spec.spec.vocabulary.table.parameters import Among
from kafka_spec.spec.vocabulary.table.properties import Property
from kafka_spec.spec.vocabulary.table.refinements import Refinement
from kafka_spec.spec.vocabulary.table.rules import Fairness, Rule
from kafka_spec.spec.vocabulary.table.spec_checks import (
    check_bound_sets,
    check_constants,
    check_fairness,
    check_fired,
    check_machine,
    check_names,
    check_parameters,
    check_predicate,
    check_view,
)
from kafka_spec.spec.vocabulary.table.symmetry import Symmetric

Part = TypeVar("Part", Rule, Property, Machine)


def anywhere() -> bool:
    """The protocol may rest in every state: `Spec(final=anywhere)` checks no deadlock."""
    return True


def _do_nothing(s: Any) -> None:
    """Leave the state as its domains have it initially."""


@accepts_former_names
@dataclass(frozen=True)
class Spec:
    """A protocol version: its state, rules, machines and properties, and what is left out.

    `start` is a rule whose instances, applied to the fresh state, are the initial states. Bounds are collected from the
    domains; `more_bounds` are those that only guards read. `unreachable_rules` are rules this version never fires. `lemmas` are
    for `prove`, `refines` for the command of that name. A search of a `reduced` spec compares states by their `normal_form`, whose
    parts are applied in order; it is refused where a bound of `normal_form_without` is above 0: that has no normal form.

    A state in which no rule can fire is a deadlock, unless `final`, a predicate of `s` and `k`, holds there. Where only a bound
    forbids a step there is none. `final=anywhere` checks no deadlock.

    A step to a state in which `constraint`, a predicate of `s` and `k`, does not hold is judged and counted, and not followed. A
    `view` says what identifies a state: its parts change a copy of the state, as those of a normal form do, and of states with
    equal copies only the first is explored. A check with either covers less, and says so.
    """

    name: Name
    summary: str
    state: type
    rules: tuple[Rule, ...]
    properties: tuple[Property, ...] = ()
    lemmas: tuple[Property, ...] = ()
    refines: tuple[Refinement[Spec], ...] = ()
    start: Rule = field(default_factory=lambda: Rule("Start", "world", "the initial state", "", (_do_nothing,)))
    more_bounds: tuple[Bound, ...] = ()
    decisions: tuple[Decision, ...] = ()
    machines: tuple[Machine, ...] = ()
    abstractions: tuple[Abstraction, ...] = ()
    bound_sets: tuple[BoundSet, ...] = ()
    unreachable_rules: tuple[Name, ...] = ()
    normal_form: tuple[NormalFormPart, ...] = ()
    normal_form_without: tuple[Bound, ...] = ()
    reduced: bool = False
    final: Function | None = None
    constraint: Function | None = None
    view: tuple[NormalFormPart, ...] = ()
    reference: str = ""
    fairness: Fairness = "weak"
    """What is assumed of protocol rules that do not say it themselves."""
    base: Spec | None = field(default=None, compare=False, repr=False)  # the spec of which this is a version
    declared_in: Name = field(init=False, compare=False, repr=False)  # the module that states it

    def __post_init__(self) -> None:
        if not hasattr(self, "declared_in"):  # a check validates again what was declared long ago
            object.__setattr__(self, "declared_in", module_of_caller())
        _check_spec(self)

    @property
    def checks_deadlock(self) -> bool:
        """Whether a check judges deadlocks unless it says otherwise."""
        return self.final is not anywhere

    @property
    def symmetry(self) -> Symmetric | None:
        """Which members a search of this spec takes as interchangeable; None: it distinguishes all."""
        parts = self.normal_form if self.reduced else ()
        return next((part for part in parts if isinstance(part, Symmetric)), None)

    @property
    def checks_successors(self) -> bool:
        """Whether state properties are checked where each step leads, since a search does not keep every state that it meets."""
        return self.reduced or self.constraint is not None or bool(self.view)

    @property
    def checks_stored_states(self) -> bool:
        """Whether state properties are checked in the states that a search keeps, too.

        They need not be where steps lead to those very states, or to the same with interchangeable members under other names. Any
        other part of a normal form may take steps at once, so what it makes is judged by itself.
        """
        takes_steps = self.reduced and any(not isinstance(part, Symmetric) for part in self.normal_form)
        return takes_steps or not self.checks_successors

    @property
    def final_states(self) -> Function | None:
        """The predicate of the states that may have no step; None if a check that judges deadlocks allows none."""
        return self.final if self.checks_deadlock else None

    @cached_property
    def bounds(self) -> Mapping[Name, Bound]:
        """The bounds by name, in the order of the first bound set, or else as the state mentions them."""
        return self._in_order(self.all_bounds())

    def all_bounds(self) -> Iterator[Bound]:
        """Yield each bound wherever it is named."""
        yield from domain_of(self.state).bounds()
        yield from self.more_bounds
        yield from (limit for rule in self.rules for limit in rule.limits)
        for parameter in (one for rule in (*self.rules, self.start) for one in rule.params.values()):
            domain = parameter.domain if isinstance(parameter, Among) else parameter
            yield from domain.bounds() if isinstance(domain, Domain) else ()

    @cached_property
    def counted(self) -> tuple[Bound, ...]:
        """The bounds on how often rules fire; the state has a counter for each, in this order."""
        return tuple(self._in_order(limit for rule in self.rules for limit in rule.limits).values())

    def _in_order(self, bounds: Iterable[Bound]) -> Mapping[Name, Bound]:
        """Return bounds by name, in the order of the first bound set, or else as they come."""
        found = {bound.name: bound for bound in bounds}
        first = self.bound_sets[0].values if self.bound_sets else {}
        return {**{name: found[name] for name in first if name in found}, **found}

    def space(self, bounds: Mapping[str, int]) -> Space:
        """Return all states at these bounds.

        Raises:
            SpecError: the spec is reduced, and its normal form does not cover these bounds.
        """
        if self.reduced and (without := [bound.name for bound in self.normal_form_without if bounds.get(bound.name, 0) > 0]):
            raise SpecError(f"{self.name}: its normal form does not cover {without[0]}={bounds[without[0]]}; search all its states")
        return Space(self.state, bounds, self.counted)

    def fairness_of(self, rule: Rule) -> Fairness:
        """Return what is assumed of a rule."""
        return "none" if rule.kind != "protocol" else rule.fairness or self.fairness

    def rule(self, name: Name) -> Rule:
        """Return a rule by its name."""
        found: Rule = by_name(self.rules, name, f"{self.name}: rule")
        return found

    def property(self, name: Name) -> Property:
        """Return a property by its name, or one of its instances by that, as in `Name[partition=1]`."""
        if (found := self.property_named(name)) is None:
            return by_name(self.properties, name, f"{self.name}: property")  # type: ignore[no-any-return]
        return found

    def property_named(self, name: Name) -> Property | None:
        """Return the property with this name, or the instance of one; None for any other name, as that of a built-in property."""
        stated = {claim.name: claim for claim in self.properties}
        base, _, shown = name.rstrip("]").partition("[")
        return stated.get(name) or (stated[base].bound_to(shown) if base in stated else None)

    def claims_at(self, bounds: Mapping[str, int], properties: Iterable[Property] | None = None) -> tuple[Property, ...]:
        """Return what a search at these bounds judges of some properties, or of all: one instance for each binding of each."""
        alike = self.symmetry.sets if self.symmetry is not None else ()
        asked = self.properties if properties is None else properties
        return tuple(claim for stated in asked for claim in stated.at(bounds, alike))

    def bound_values(self, asked: Mapping[str, int]) -> dict[str, int]:
        """Return values for all bounds: those asked for, the others from the first bound set.

        Raises:
            SpecError: an unknown bound, a value out of its range, or one left open.
        """
        if not isinstance(asked, Mapping):
            named = ", ".join(known.name for known in self.bound_sets) or "none"
            sets = f"the bound sets ({named}) have theirs as `values`"
            raise SpecError(f"{self.name}: bounds are a dict of name to number, not {asked!r}; {sets}")
        values = {name: bound.first for name, bound in capacities_in(self.bounds).items()}
        values |= self.bound_sets[0].values if self.bound_sets else {}
        for name, value in asked.items():
            bound = by_name(self.bounds.values(), name, f"{self.name}: bound", "; one that only functions read is in more_bounds=")
            if not isinstance(value, int):
                raise SpecError(f"{self.name}: bound {name}={value!r} is not an integer")
            if not bound.low <= value <= bound.high:
                raise SpecError(f"{self.name}: bound {name}={value} is outside {bound.low}..{bound.high}")
            values[name] = value
        if missing := [name for name in self.bounds if name not in values]:
            raise SpecError(f"{self.name}: bound {missing[0]} has no value; give it with --bound {missing[0]}=N")
        return {name: values[name] for name in self.bounds}

    def in_normal_form(self) -> Spec:
        """Return this spec, to be searched by its normal form.

        Raises:
            SpecError: it has none.
        """
        if not self.normal_form:
            raise SpecError(f"{self.name}: it has no normal form; search all its states")
        if self.view:
            raise SpecError(f"{self.name}: its view says what identifies a state; take it or the normal form")
        return self._reduced

    @cached_property
    def _reduced(self) -> Spec:
        reduced = dataclasses.replace(self, reduced=True)
        object.__setattr__(reduced, "declared_in", self.declared_in)
        return reduced

    def constants(self, bounds: Mapping[str, int], attempts: list[Attempt] | None = None) -> Constants:
        """Return `k` at these bounds, with this spec's tables; what `fire` tries is added to `attempts`."""
        decided = {decision.name: decision.value for decision in self.decisions}
        return Constants({**bounds, **decided}, self.machines, attempts)

    def switched_off(self, bounds: Mapping[str, int]) -> Mapping[Name, Name]:
        """Return the rules of operators and faults that may fire 0 times at these bounds, each with such a bound.

        They are not part of a search: it neither evaluates their guards nor counts the steps that the bounds prevent. Protocol
        rules are none of them, since a protocol step that a bound prevents leaves open what would have followed. Only whether a
        state is a deadlock depends on them: it is none if one of them could fire.
        """
        off = {
            rule.name: [limit.name for limit in rule.limits if bounds[limit.name] == 0] for rule in self.rules if rule.may_be_off
        }
        return {name: limits[0] for name, limits in off.items() if limits}

    def replacing(
        self,
        name: Name,
        summary: str,
        *,
        rules: Iterable[Rule] = (),
        without: Iterable[Name] = (),
        properties: Iterable[Property] = (),
        machines: Iterable[Machine] = (),
        decisions: Mapping[Name, enum.IntEnum] | None = None,
        **other: Any,
    ) -> Spec:
        """Return a version of this spec: a small diff.

        Rules, properties and machines replace those of the same name in their place, or are added at the end; `without` takes
        rules away; `decisions` sets named decisions. Further keywords replace fields of the spec.
        """
        for part, given in (("rules", rules), ("without", without), ("properties", properties), ("machines", machines)):
            if isinstance(given, str | Rule | Property | Machine):
                raise SpecError(f"{self.name}: {part} must be a tuple; write {part}=(one,)")
        for gone in without:
            self.rule(gone)
        for decision in decisions or {}:
            by_name(self.decisions, decision, f"{self.name}: decision")
        decided = tuple(dataclasses.replace(d, value=(decisions or {}).get(d.name, d.value)) for d in self.decisions)
        left = tuple(rule for rule in _merged(self.rules, rules) if rule.name not in set(without))
        counted = {limit for rule in left for limit in rule.limits}
        idle = tuple(limit for limit in self.counted if limit not in counted and limit not in self.more_bounds)
        return dataclasses.replace(
            self,
            name=name,
            summary=summary,
            rules=left,
            properties=_merged(self.properties, properties),
            machines=_merged(self.machines, machines),
            decisions=decided,
            **{"more_bounds": (*self.more_bounds, *idle), "base": self, **other},
        )


def _merged(old: Iterable[Part], new: Iterable[Part]) -> tuple[Part, ...]:
    return tuple({**{part.name: part for part in old}, **{part.name: part for part in new}}.values())


def by_name(parts: Iterable[Any], name: Name, what: str, cure: str = "") -> Any:
    """Return the part of this name."""
    known = {part.name: part for part in parts}
    if name not in known:
        raise SpecError(f"{what} {name!r} is unknown; there is {', '.join(known) or 'none'}{cure}")
    return known[name]


def _check_spec(spec: Spec) -> None:
    where = f"spec {spec.name}"
    check_kinds(spec, where, {"name": str, "summary": str, "state": type, "reference": str, "start": Rule})
    assumed = {"decisions": Decision, "abstractions": Abstraction, "bound_sets": BoundSet, "unreachable_rules": str}
    stated = {"rules": Rule, "properties": Property, "machines": Machine, "more_bounds": Bound, "lemmas": Property}
    check_tuples(spec, where, {**stated, "refines": Refinement, **assumed})
    check_names(spec.rules, (*spec.properties, *spec.lemmas), spec.machines, where)
    check_predicate(spec.final, f"{where}: final", "that holds where the protocol may rest, or anywhere")
    check_predicate(spec.constraint, f"{where}: constraint", "that holds in the states to be explored")
    if spec.start.limits:
        raise SpecError(f"{where}: {spec.start.name} says at_most, and it makes the initial states; use within")
    check_constants(spec.all_bounds(), spec.decisions, where)
    space = spec.space({bound.name: bound.low for bound in spec.bounds.values()})
    for rule in (*spec.rules, spec.start):
        check_parameters(rule, space, where)
    check_choice(spec.fairness, get_args(Fairness), f"{where}: fairness")
    check_fairness({rule.name: spec.fairness_of(rule) for rule in spec.rules}, spec.rules, spec.properties, where)
    check_fired((*spec.rules, spec.start), spec.machines, where)
    for machine in spec.machines:
        check_machine(machine, space, where)
    check_bound_sets(spec.bound_sets, spec.bounds, where)
    check_normal_form(spec.normal_form, space, f"{where}, normal form")
    check_normal_form(spec.view, space, f"{where}, view")
    check_view(spec.view, spec.properties, where)
    for name in spec.unreachable_rules:
        spec.rule(name)
    for one in spec.refines:
        check_kinds(one, where, {"of": Spec})
