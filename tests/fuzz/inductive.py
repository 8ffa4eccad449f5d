"""Inductive checks by their definition, in plain Python: all values of a type made one by one, and every step judged."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from kafka_spec.model_check.inductive import check_inductive
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.search.every_state import values_in
from kafka_spec.model_check.search.induction import NO_STEP
from kafka_spec.spec.language.domain import Array, Collection, OutOfBound, OutOfDomain, Record, Scalar, Type
from kafka_spec.spec.language.domain import Sequence as SequenceType
from kafka_spec.spec.language.domain.types import order
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from kafka_spec.spec.vocabulary.unlimited import unlimited

MOST = 2000
"""The most states of a space of which plain Python takes every step."""


def values(type_: Type) -> Iterator[Any]:
    """Yield every value of a type, made in plain Python."""
    if isinstance(type_, Scalar):
        yield from range(type_.low, type_.high + 1)
    elif isinstance(type_, Record):
        for chosen in itertools.product(*(list(values(one)) for one in type_.fields.values())):
            value = type_.fresh()
            value.__dict__.update(zip(type_.fields, chosen, strict=True))
            used = {name for name, _ in type_.shown_fields(value)}
            if all(name in used or value.__dict__[name] == type_.fields[name].fresh() for name in type_.fields):
                yield value
    elif isinstance(type_, Array):
        for items in itertools.product(list(values(type_.item)), repeat=type_.length):
            yield type_.holding(items)
    else:
        yield from sequences(type_)


def sequences(type_: SequenceType) -> Iterator[Any]:
    """Yield every value of a sequence, a set or a bag."""
    items = list(values(type_.item))
    if isinstance(type_, Collection):
        items.sort(key=lambda item: order(type_.item, item))
    for length in range(type_.capacity + 1):
        for chosen in itertools.product(range(len(items)), repeat=length):
            pairs = list(itertools.pairwise(chosen))
            if isinstance(type_, Collection) and not all(a < b or (type_.repeats and a == b) for a, b in pairs):
                continue
            if type_.distinct and len(set(chosen)) < length:
                continue
            yield type_.holding([items[number] for number in chosen])


def by_definition(
    spec: Spec, names: Sequence[str], implied: Sequence[str], bounds: Mapping[str, int]
) -> tuple[int, Counter[str], set[Any]]:
    """Return how many states are admitted, the steps of each rule, and what breaks what: in plain Python, from the words alone."""
    stated = {one.name: one for one in (*spec.properties, *spec.lemmas)}
    free = unlimited(spec, spec.bound_values(bounds), [stated[name] for name in (*names, *implied)])
    world = Interpreter(free, spec.bound_values(bounds))
    of = {name: free.claims_at(world.bounds, [stated[name]]) for name in (*names, *implied)}

    def violated(state: Any, which: Sequence[str]) -> Iterator[str]:
        claims = [claim for name in which for claim in of[name] if claim.kind == "invariant"]
        yield from (claim.name for claim in claims if not world.judge(claim, state))

    fired, broken, admitted = Counter[str](), set[Any](), 0
    broken |= {(free.start.name, next(violated(state, names))) for state in world.initial() if any(violated(state, names))}
    for state in values(world.space.root):
        if any(violated(state, names)):
            continue
        admitted += 1
        broken |= {(NO_STEP, name) for name in [*violated(state, implied)][:1]}
        for rule in free.rules:
            for binding in world.enabled(rule, state):
                if not world.within(rule, state, binding):
                    continue
                try:
                    after = world.apply(rule, state, binding)
                except OutOfBound:
                    continue
                except OutOfDomain:
                    broken.add((rule.name, "TypeInvariant"))
                    continue
                fired[rule.name] += 1
                broken |= {(rule.name, name) for name in [*violated(after, names)][:1]}
                steps = [claim for name in implied for claim in of[name] if claim.kind == "step invariant"]
                broken |= {(rule.name, claim.name) for claim in steps if not world.judge_step(claim, state, after)}
    return admitted, fired, broken


def known_once(spec: Spec, found: tuple[int, Counter[str], set[tuple[str, str]]]) -> Any:
    """Return a result in which of step invariants and domains it is only known whether some rule violates them."""
    admitted, fired, broken = found
    once = {"TypeInvariant", *(claim.name for claim in spec.properties if claim.kind == "step invariant")}
    return admitted, fired, {("" if claim.partition("[")[0] in once else rule, claim) for rule, claim in broken}


def differs(spec: Spec, bounds: Mapping[str, int]) -> tuple[bool, str]:
    """Return whether the space of a spec is small enough, and in what an inductive check differs from its definition."""
    space = unlimited(spec, bounds, ()).space(bounds)
    claims = [claim for claim in spec.properties if claim.kind in ("invariant", "step invariant")]
    names = [claim.name for claim in claims if claim.kind == "invariant"][:2]
    if not names or values_in(space.root) > MOST:
        return False, ""
    implied = [claim.name for claim in claims if claim.name not in names]
    try:
        expected: Any = by_definition(spec, names, implied, bounds)
        if expected[-1]:
            Interpreter(spec, spec.bound_values(bounds)).initial()  # a search follows, which needs a state to begin in
    except SpecError:
        expected = "cannot be executed"
    try:
        result = check_inductive(spec, names, bounds, implied=implied, threads=2)
        found: Any = result.admitted, +result.fired, set(result.broken)
        if not isinstance(expected, str):
            expected, found = known_once(spec, expected), known_once(spec, found)
    except SpecError:
        found = "cannot be executed"
    return True, "" if found == expected else f"an inductive check finds {found}, and by definition it is {expected}"
