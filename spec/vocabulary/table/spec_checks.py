"""Checks of a whole spec when it is declared: whether its parts fit together."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Mapping

from kafka_spec.spec.language import Function, is_function, source_of
from kafka_spec.spec.language.domain import (
    Bound,
    Capacity,
    Collection,
    Map,
    Record,
    Scalar,
    Sequence,
    Space,
    SpecError,
    Type,
    check_numbered,
    machine_paths,
    machine_range,
    path_of,
    type_at,
)
from kafka_spec.spec.vocabulary.table.assumptions import BoundSet, Decision
from kafka_spec.spec.vocabulary.table.functions import Name, check_function, check_pure, names_in
from kafka_spec.spec.vocabulary.table.machines import Machine
from kafka_spec.spec.vocabulary.table.normal_forms import Part
from kafka_spec.spec.vocabulary.table.parameters import Among, ElementOf, ItemOf, Parameter
from kafka_spec.spec.vocabulary.table.properties import ABOUT_PATHS, DEADLOCK, EVENTUAL, TYPE_INVARIANT, Property
from kafka_spec.spec.vocabulary.table.rules import Rule


def check_names(rules: tuple[Rule, ...], properties: tuple[Property, ...], machines: tuple[Machine, ...], where: str) -> None:
    """Refuse duplicate names, names of built-in properties, and a spec without rules."""
    parts_of: dict[str, tuple[Rule | Property | Machine, ...]] = {"rule": rules, "property": properties, "machine": machines}
    for what, parts in parts_of.items():
        names = [part.name for part in parts]
        if "" in names:
            raise SpecError(f"{where}: a {what} has no name; give it one")
        if strange := [name for name in names if not name.isprintable()]:
            raise SpecError(f"{where}: {what} {strange[0]!r} has a line break or a control character in its name; leave it out")
        if twice := [name for name in names if names.count(name) > 1]:
            raise SpecError(f"{where}: {what} {twice[0]} is declared twice; a version changes a part with replacing()")
    if reserved := [claim.name for claim in properties if claim.name in (TYPE_INVARIANT, DEADLOCK)]:
        raise SpecError(f"{where}: {reserved[0]} is a built-in property; give the property another name")
    if not rules:
        raise SpecError(f"{where}: it has no rules; state at least one")


def check_predicate(predicate: Function | None, where: str, that: str) -> None:
    """Check that `function` is a predicate of the state, if given."""
    if predicate is None:
        return
    if not is_function(predicate):
        raise SpecError(f"{where} is {predicate!r}; name a predicate of s and k {that}")
    check_function(predicate, {"s", "k"}, where)
    check_pure(predicate, where)


def check_view(view: tuple[Part, ...], properties: tuple[Property, ...], where: str) -> None:
    """Refuse a view beside properties of paths: states that it identifies may continue differently."""
    if view and (ways := [claim.name for claim in properties if claim.kind in ABOUT_PATHS]):
        raise SpecError(
            f"{where}: {ways[0]} is about paths, and the view identifies states that may continue differently; leave one out"
        )


def check_parameters(rule: Rule, space: Space, where: str) -> None:
    """Refuse a rule with a parameter that is not a number, or that reads what is not a sequence of the state."""
    for name, parameter in rule.params.items():
        _check_parameter(space, parameter, f"{where}, rule {rule.name}, parameter {name}")
        if isinstance(parameter, ElementOf):
            _check_elements(space, rule, name, parameter, f"{where}, rule {rule.name}, parameter {name}")
    received = type_at(space.root, path_of(rule.receives, dict.fromkeys(rule.params, 0))) if rule.receives else None
    if rule.receives and (not isinstance(received, Sequence) or isinstance(received, Collection)):
        raise SpecError(f"{where}, rule {rule.name}: it receives from {rule.receives}, which is not a sequence of the state")
    for sentence in (rule.actor, rule.summary, rule.asks):
        for name, _ in names_in(sentence, where):
            _check_named(space, rule, name, f"{where}, rule {rule.name}: {sentence!r} names {name!r}")


def _check_named(space: Space, rule: Rule, name: str, where: str) -> None:
    """Refuse a sentence that names a field that the item of a parameter does not have."""
    of, *fields = name.split(".")
    parameter = rule.params[of]
    if not fields:
        return
    if not isinstance(parameter, ItemOf | ElementOf):
        what = "is a number and has no fields" if isinstance(_largest(parameter, where), Scalar) else "is shown whole"
        raise SpecError(f"{where}; {of} {what}, so write {{{of}}}")
    path = (parameter.field,) if isinstance(parameter, ItemOf) else parameter.at(dict.fromkeys(rule.params, 0))
    item = getattr(type_at(space.root, path), "item", None)
    known = tuple(item.fields) if isinstance(item, Record) else ()
    if len(fields) > 1 or fields[0] not in known:
        raise SpecError(f"{where}; {of} has {'the fields ' + ', '.join(known) if known else 'no fields'}")


def check_fairness(fairness: Mapping[str, str], rules: tuple[Rule, ...], properties: tuple[Property, ...], where: str) -> None:
    """Refuse a leads-to property where fairness would be about elements of a set.

    In a binding an element is its number among the elements of that state. So "the same action stays enabled" would mean another
    element in another state, and a property could hold by a fairness that nobody assumes.
    """
    claims = [claim.name for claim in properties if claim.kind in EVENTUAL]
    for rule in rules if claims else ():
        names = [name for name, of in rule.params.items() if isinstance(of, ElementOf)]
        if fairness[rule.name].endswith("each") and names:
            raise SpecError(
                f"{where}: {claims[0]} needs to know what is fair to rule {rule.name}, and its parameter {names[0]} is an element "
                'of a set, which has no name from one state to the next; say fairness="weak", of the whole rule, or choose it by '
                "numbers and ask has()"
            )


def check_fired(rules: tuple[Rule, ...], machines: tuple[Machine, ...], where: str) -> None:
    """Refuse rules that fire a machine or a trigger that the spec does not list."""
    effects = [effect for rule in rules for effect in rule.effects]
    fired = dict.fromkeys(pair for effect in effects for pair in source_of(effect).fires)
    tables = {machine.name: machine for machine in machines}
    for machine, trigger in fired:
        if machine.name not in tables:
            raise SpecError(f"{where}: its rules fire machine {machine.name}; list it under machines")
        if trigger not in tables[machine.name].triggers or tables[machine.name].entity != machine.entity:
            raise SpecError(f"{where}: its rules fire {trigger} of machine {machine.name}, which has no such row here")
    _check_fires(tables, where)


def check_machine(machine: Machine, space: Space, where: str) -> None:
    """Refuse a machine without its field in the state, or with names of functions that are not bound."""
    paths = machine_paths(space.root, machine.name)
    if len(paths) != 1 or paths[0].count("[]") != len(machine.entity):
        raise SpecError(
            f"{where}: the state of machine {machine.name} must be in one field, declared StateOf(...), "
            f"under one index for each of ({', '.join(machine.entity)})"
        )
    states = sorted(int(state) for state in machine.states)
    if machine_range(space.root, paths[0]) != (states[0], states[-1], int(machine.initial)):
        raise SpecError(
            f"{where}: the field {'.'.join(paths[0])} must hold the states of machine {machine.name} and start in "
            f"{machine.initial.name}, the first of its members; declare it StateOf({machine.states.__name__}, {machine.name!r})"
        )
    for row in machine.rows:
        needed = row.looks if row.waits_for else (*row.looks, *row.effects)
        if unbound := [name for name in needed if isinstance(name, str)]:
            raise SpecError(f"{where}: machine {machine.name}: {unbound[0]} has no function; use Machine.bind")


def check_constants(bounds: Iterable[Bound], decisions: tuple[Decision, ...], where: str) -> None:
    """Refuse two bounds of one name, a name that is also a decision's, and names that `k.NAME` cannot spell."""
    known: dict[Name, Bound] = {}
    for bound in bounds:
        if (other := known.setdefault(bound.name, bound)) != bound:
            ranges = " and ".join(f"{one.low}..{one.high} ({one.meaning})" for one in (other, bound))
            raise SpecError(f"{where}: two bounds are named {bound.name}: {ranges}; declare one, or name them apart")
    names = [*known, *(decision.name for decision in decisions)]
    for name in names:
        if names.count(name) > 1:
            raise SpecError(f"{where}: {name} is declared twice among bounds and decisions; k.{name} could be either")
        if not name.isidentifier() or name.startswith("_") or keyword.iskeyword(name):
            raise SpecError(f"{where}: {name!r} cannot be read as k.NAME; name bounds and decisions with letters, digits and _")


def check_bound_sets(bound_sets: tuple[BoundSet, ...], bounds: Mapping[Name, Bound], where: str) -> None:
    """Refuse a bound set that leaves a bound open, or that has a value out of its range."""
    named = [values.name for values in bound_sets]
    for values in bound_sets:
        if named.count(values.name) > 1:
            raise SpecError(f"{where}: two bound sets are named {values.name}; give one another name")
        if missing := [name for name, bound in bounds.items() if name not in values.values and not isinstance(bound, Capacity)]:
            raise SpecError(f"{where}: bound set {values.name} has no value of {', '.join(missing)}")
        if unknown := [name for name in values.values if name not in bounds]:
            raise SpecError(f"{where}: bound set {values.name}: no bound is named {unknown[0]}; known: {', '.join(bounds)}")
        for name, value in values.values.items():
            bound = bounds[name]
            if not isinstance(value, int):
                raise SpecError(f"{where}: bound set {values.name}: {name}={value!r} is not an integer")
            if not bound.low <= value <= bound.high:
                raise SpecError(f"{where}: bound set {values.name}: {name}={value} is outside {bound.low}..{bound.high}")


def _check_fires(tables: Mapping[Name, Machine], where: str) -> None:
    """Refuse rows whose effects fire machines that are not listed, or that fire themselves again."""

    def visit(machine: Name, trigger: str, above: tuple[tuple[Name, str], ...]) -> None:
        if (machine, trigger) in above:
            raise SpecError(f"{where}: firing {trigger} of machine {machine} fires itself again; break the cycle with a rule")
        for row in tables[machine].rows_of(trigger):
            for effect in row.effects:
                for other, further in source_of(effect).fires if not isinstance(effect, str) else ():
                    if other.name not in tables:
                        raise SpecError(f"{where}: row {row.label!r} fires machine {other.name}; list it under machines")
                    visit(other.name, further, (*above, (machine, trigger)))

    for machine in tables.values():
        for trigger in machine.triggers:
            visit(machine.name, trigger, ())


def _check_parameter(space: Space, parameter: Parameter, where: str) -> None:
    if isinstance(parameter, ItemOf):
        type_ = space.root.fields.get(parameter.field)
        if isinstance(type_, Collection):
            raise SpecError(f"{where}: {parameter.field} is a {type_.what}; range over ElementOf({parameter.field!r})")
        if not isinstance(type_, Sequence):
            raise SpecError(f"{where}: {parameter.field} is not a sequence of the state")
    elif not isinstance(parameter, ElementOf):
        domain = parameter.domain if isinstance(parameter, Among) else parameter
        if any(isinstance(bound, Capacity) for bound in domain.bounds()):
            raise SpecError(f"{where}: it ranges over all that its container may hold, so say its capacity")
        type_ = _largest(parameter, where)
        if type_ is not None and not isinstance(type_, Scalar):
            check_numbered(type_, where)


def _largest(parameter: Parameter, where: str) -> Type | None:
    """Return the type of a parameter at the largest bounds; None of an item or an element of the state."""
    if isinstance(parameter, ItemOf | ElementOf):
        return None
    domain = parameter.domain if isinstance(parameter, Among) else parameter
    return parameter.at({bound.name: bound.high for bound in domain.bounds()}, where)


def _check_elements(space: Space, rule: Rule, name: Name, parameter: ElementOf, where: str) -> None:
    """Refuse a parameter whose path leads to no set or bag, or names what is not an earlier parameter that is a number."""
    before = list(rule.params)[: list(rule.params).index(name)]
    for index in parameter.names:
        known = None if index not in before else _largest(rule.params[index], where)
        if not isinstance(known, Scalar):
            raise SpecError(f"{where}: {parameter.path} names {index}; it may name parameters before it that are numbers")
    ranged = type_at(space.root, parameter.at(dict.fromkeys(before, 0)))
    if not isinstance(ranged, Collection):
        cure = "declare it field(SetOf(RECORD, CAPACITY))"
        if isinstance(ranged, Map | Scalar):
            cure = "for its keys or members take a Member(...), and a guard `key in s.map` or `contains(s.set, member)`"
        raise SpecError(f"{where}: {parameter.path} is not a set or bag of records; {cure}")
