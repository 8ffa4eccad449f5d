"""Changes of a spec that somebody proposes: other decisions, a guard left out, functions in place of others.

A changed spec is a version of the spec, made of the same rules and machines. A function that calls a replaced one, itself or
through others, gets a copy that calls the new one. So the spec stays as it was, and both can be checked in one process. What judges
(properties, final states, the constraint, forms and views) keeps its functions: a change is judged by what the spec states.
"""

from __future__ import annotations

import dataclasses
import difflib
import enum
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from kafka_spec.spec.language import Function, Source, as_written, parameters_of, source_of
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.language.words import LOCAL_FUNCTIONS
from kafka_spec.spec.vocabulary.table import Among, Machine, Row, Rule, Spec
from kafka_spec.spec.vocabulary.table.functions import Name, name_of

Declared = TypeVar("Declared", Rule, Spec)
SHOWN = 12
"""The most names that a message lists."""
REPLACES = "REPLACES"
"""The dictionary of a patch that says what its functions replace, where their names do not."""


def with_decision(spec: Spec, name: Name, value: str) -> Spec:
    """Return the spec with another value of a decision, by the name of the value.

    Raises:
        SpecError: there is no such decision or value, or it is the value already.
    """
    known = {decision.name: decision for decision in spec.decisions}
    if name not in known:
        raise SpecError(f"{spec.name}: decision {name!r} is unknown; {_near(name, known)}")
    values = {member.name.upper(): member for member in type(known[name].value)}
    if (wanted := values.get(value.upper())) is None:
        raise SpecError(f"{spec.name}: decision {name} is one of {', '.join(values)}, and not {value!r}")
    if wanted == known[name].value:
        raise SpecError(f"{spec.name}: decision {name} is {wanted.name} already; it can be {_others(values.values(), wanted)}")
    return _version(spec, decisions={name: wanted})


def without_guard(spec: Spec, guard: Name) -> Spec:
    """Return the spec without a guard, in all rules and rows that have it; `RULE:GUARD` is of one rule or machine.

    Raises:
        SpecError: no rule and no row has it.
    """
    place, _, name = guard.rpartition(":")
    rules = [rule for rule in spec.rules if place in ("", rule.name) and name in map(name_of, rule.guards)]
    machines = [
        machine
        for machine in spec.machines
        if place in ("", machine.name) and any(name in map(name_of, row.looks) for row in machine.rows)
    ]
    if not rules and not machines:
        places = [*(rule.name for rule in spec.rules), *(machine.name for machine in spec.machines)]
        if place and place not in places:
            raise SpecError(f"{spec.name}: no rule and no machine is named {place!r}; {_near(place, places)}")
        known = {name_of(one) for rule in spec.rules for one in rule.guards if place in ("", rule.name)}
        known |= {name_of(one) for m in spec.machines if place in ("", m.name) for row in m.rows for one in row.looks}
        raise SpecError(f"{spec.name}: no guard is named {name!r}; {_near(name, known)}")

    def row_without(row: Row) -> Row:
        guards, unless = (tuple(one for one in part if name_of(one) != name) for part in (row.guards, row.unless))
        return dataclasses.replace(row, guards=guards, unless=unless)

    changed = [dataclasses.replace(machine, rows=tuple(map(row_without, machine.rows))) for machine in machines]
    return _version(spec, rules=[_declared(rule.without_guard(name), rule) for rule in rules], machines=changed)


def replacements(spec: Spec, patch: ModuleType) -> dict[Function, Function]:
    """Return what the functions of a module replace in a spec: those of the same names.

    What its functions call besides is what they import; a helper of its own needs no namesake. Where a name is that of several
    functions of the spec, or is to be another, `REPLACES = {"name": "module.name"}` says what is replaced.

    Raises:
        SpecError: no function of the module replaces one of the spec, or it is not clear which.
    """
    known: dict[str, list[Function]] = {}
    for function in dict.fromkeys(map(as_written, functions_of(spec))):
        known.setdefault(function.__name__, []).append(function)
    judging = {function.__name__ for claim in spec.properties for function in (claim.predicate, claim.when) if function is not None}
    own = {name: one for name, one in vars(patch).items() if isinstance(one, FunctionType) and one.__module__ == patch.__name__}
    stated: Mapping[str, str] = getattr(patch, REPLACES, {})
    if strange := [name for name in stated if name not in own]:
        raise SpecError(f"{patch.__name__}: {REPLACES} names {strange[0]}, and the file has no function of that name")
    found_for: dict[Function, Function] = {}
    for name, function in own.items():
        module, _, named = stated.get(name, name).rpartition(".")
        found = [one for one in known.get(named, ()) if not module or one.__module__.endswith(module)]
        if len(found) > 1:
            places = " or ".join(f"{one.__module__}.{named}" for one in found)
            raise SpecError(f'{patch.__name__}: {name} may replace {places}; say which, as in {REPLACES} = {{"{name}": "..."}}')
        if not found and name in stated:
            raise SpecError(f"{patch.__name__}: {spec.name} has no function {stated[name]}; {_near(named, known)}")
        found_for |= dict.fromkeys(found, function)
    if not found_for:
        name = next(iter(own), "")
        if judges := [one for one in own if one in judging]:
            raise SpecError(f"{patch.__name__}: {judges[0]} is a property's; a change is judged by the properties as they are")
        raise SpecError(f"{patch.__name__}: none of its functions is one of the rules of {spec.name}; {_near(name, known)}")
    called = {as_written(one) for function in functions_of(spec) for one in source_of(function).calls}
    for old, new in found_for.items():
        if old in called and (was := parameters_of(old)) != (now := parameters_of(new)):
            raise SpecError(f"{source_of(new).place}: {new.__name__} takes {', '.join(now)}, and what it replaces {', '.join(was)}")
    return found_for


def patched(spec: Spec, replaced: Mapping[Function, Function]) -> Spec:
    """Return the spec with functions in place of others."""
    return _Replacing(replaced).spec(spec)


def functions_of(spec: Spec, others: Iterable[Function] = ()) -> list[Function]:
    """Return the functions of a protocol: those that rules and machines name, others, and what they call, each once."""
    found: dict[Function, None] = {}
    waiting = [*_named(spec), *others]
    while waiting:
        function = waiting.pop()
        if function not in found:
            found[function] = None
            waiting += source_of(function).calls
    return list(found)


def _named(spec: Spec) -> Iterator[Function]:
    parts: list[Function | Name] = []
    for rule in (*spec.rules, spec.start):
        parts += [*rule.guards, *rule.bound_guards, *rule.effects]
        parts += [parameter.that for parameter in rule.params.values() if isinstance(parameter, Among)]
    for machine in spec.machines:
        parts += [one for row in machine.rows for one in (*row.looks, *row.effects)]
    yield from (one for one in parts if isinstance(one, FunctionType))


class _Replacing:
    """Replaces functions of a spec, and copies those that call them."""

    def __init__(self, replaced: Mapping[Function, Function]) -> None:
        self.versions: dict[Function, Function] = dict(replaced)

    def spec(self, spec: Spec) -> Spec:
        """Return the spec with the new functions."""
        return _version(
            spec,
            rules=[self.rule(rule) for rule in spec.rules],
            machines=[self.machine(machine) for machine in spec.machines],
            start=self.rule(spec.start),
        )

    def rule(self, rule: Rule) -> Rule:
        params = {
            name: dataclasses.replace(one, that=self.part(one.that)) if isinstance(one, Among) else one
            for name, one in rule.params.items()
        }
        guards, bound_guards, effects = map(self.all, (rule.guards, rule.bound_guards, rule.effects))
        changed = dataclasses.replace(rule, params=params, guards=guards, bound_guards=bound_guards, effects=effects)
        return rule if changed == rule else _declared(changed, rule)

    def machine(self, machine: Machine) -> Machine:
        rows = tuple(
            dataclasses.replace(row, guards=self.all(row.guards), unless=self.all(row.unless), effects=self.all(row.effects))
            for row in machine.rows
        )
        return machine if rows == machine.rows else dataclasses.replace(machine, rows=rows)

    def all(self, parts: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(map(self.part, parts))

    def part(self, part: Any) -> Any:
        """Return the version of a function; what is none stays as it is."""
        return self.version(part) if isinstance(part, FunctionType) else part

    def version(self, function: Function) -> Function:
        """Return the version of a function; of a variant that takes records by their fields the one of what is written."""
        written = as_written(function)
        if written not in self.versions:
            self.versions[written] = self.copy(written, source_of(function))
        return self.versions[written]

    def copy(self, function: Function, source: Source) -> Function:
        """Return the function, or a copy of it where what it calls has another version."""
        local = [one for one in LOCAL_FUNCTIONS.get(source.function, {}).values() if as_written(one) is one]
        sources = [source, *map(source_of, local)]  # local functions are read again with the global names of the copy
        called = {as_written(one): one for each in sources for one in each.calls if one not in local}
        changed: dict[str, Any] = {
            name: new
            for each in sources
            for name, value in each.names
            if isinstance(value, FunctionType) and value in called and (new := self.version(called[value])) is not value
        }
        if not changed:
            return function
        made = FunctionType(function.__code__, {**function.__globals__, **changed}, function.__name__, function.__defaults__)
        made.__doc__, made.__module__ = function.__doc__, function.__module__
        made.__dict__.update(function.__dict__)
        return made


def _version(spec: Spec, **changes: Any) -> Spec:
    """Return a version of a spec, in which any rule may fire."""
    return _declared(spec.replacing(spec.name, spec.summary, unreachable_rules=(), **changes), spec)


def _declared(changed: Declared, original: Declared) -> Declared:
    """Return a changed part, declared where the original is."""
    object.__setattr__(changed, "declared_in", original.declared_in)
    return changed


def _near(name: str, known: Iterable[str]) -> str:
    """Return the known names that are like one, or all of few, in words."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=3) or (names if len(names) <= SHOWN else [])
    return f"perhaps {' or '.join(near)}" if near else f"there are {len(names)}, such as {', '.join(names[:3])}"


def _others(members: Iterable[enum.IntEnum], but: enum.IntEnum) -> str:
    return " or ".join(member.name for member in members if member is not but) or "nothing else"
