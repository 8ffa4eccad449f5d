"""Says why members are not interchangeable: what a state and the same state under other names of its members do otherwise.

In plain Python, by the oracle; the embedded engine compares with compiled code (renamings.py), and asks here for the reason.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain, Record, show_value
from kafka_spec.spec.vocabulary.table import EVENTUAL, Property, Rule, Spec, SpecError, Symmetric
from kafka_spec.spec.vocabulary.table.symmetry import Renaming, check_orders, number_of_members, renamed

MOST_RENAMINGS = 24
"""Of more renamings some are compared: exchanges of two members, of which all others are made, and so many at random."""
NARROW = 64
"""The most states of a level that the oracle compares with all of these, not with one each."""


def all_renamings(root: Record, part: Symmetric, level: int) -> list[tuple[str, Renaming]]:
    """Return the renamings to compare the states of a level with, each of one set: where they are many, others on each level."""
    check_orders(root, part.names)
    return [(members, to) for members in part.names for to in renamings(number_of_members(root, members), level)]


def renamings(count: int, level: int) -> list[Renaming]:
    """Return the renamings of so many members with which the states of a level are compared."""
    if math.factorial(count) <= MOST_RENAMINGS:
        return list(itertools.permutations(range(count)))[1:]
    found: list[Renaming] = []
    for one, other in itertools.combinations(range(count), 2):
        to = list(range(count))
        to[one], to[other] = other, one
        found.append(tuple(to))
    chance = random.Random(level)
    return found + [tuple(chance.sample(range(count), count)) for _ in range(MOST_RENAMINGS)]


def refuse_properties(spec: Spec, claims: Iterable[Property]) -> None:
    """Refuse leads-to properties in a search that renames members, and recoverable ones about one member.

    What is fair to an action is a question about one member, and such a search takes one for the other from step to step. So the
    member that a path begins with may have another name at its end.
    """
    if spec.symmetry is None:
        return
    alike = f"each of the {' and '.join(spec.symmetry.names)}, and a search that takes them as interchangeable cannot tell"
    for claim in claims:
        if claim.kind in EVENTUAL:
            raise SpecError(
                f"{spec.name}: {claim.name} asks what is fair to {alike} them apart; leave the property out, or search all states"
            )
        if claim.kind == "recoverable" and len(claim.bindings) > 1:
            raise SpecError(
                f"{spec.name}: {claim.name} asks for a path of {alike} which of them is at its end; leave the property out, or "
                "search all states"
            )


def compare_level(world: Interpreter, claims: Sequence[Property], level: int, states: Sequence[Any]) -> None:
    """Compare the states of a level with their renamings; `refuse_difference` says what it raises."""
    part = world.spec.symmetry
    if part is None:
        return
    several = all_renamings(world.space.root, part, level)
    pairs = itertools.product(states, several) if len(states) <= NARROW else zip(states, itertools.cycle(several), strict=False)
    for state, (members, to) in pairs:
        refuse_difference(world, claims, state, members, to)


def refuse_difference(world: Interpreter, claims: Sequence[Property], state: Any, members: str, to: Renaming) -> None:
    """Raise SpecError if a state can do something else under other names of some members, or if a property says otherwise of it."""
    root = world.space.root
    other = renamed(root, state, members, to)
    if what := _difference(world, claims, state, other):
        names = ", ".join(f"{old} is called {new}" for old, new in enumerate(to) if old != new)
        raise SpecError(
            f"{world.spec.name}: the {members} are not interchangeable: {what}, in this state and where {names}: "
            f"{show_value(root, state)}; search all states, or fix what distinguishes them"
        )


def _difference(world: Interpreter, claims: Sequence[Property], state: Any, other: Any) -> str:
    """Return the first thing that differs between two states, as a sentence, or ""."""
    for rule in world.spec.rules:
        mine, its = _steps(world, rule, state), _steps(world, rule, other)
        if len(mine) != len(its):
            return f"rule {rule.name} can fire in {len(mine)} and in {len(its)} ways"
        if Counter(form for form, _ in mine) != Counter(form for form, _ in its):
            return f"rule {rule.name} leads to other states"
        for claim in claims:
            if _said_of_steps(world, claim, state, mine) != _said_of_steps(world, claim, other, its):
                return f"property {claim.name} says something else of a step of rule {rule.name}"
    for claim in claims:
        if claim.kind == "step invariant":
            continue
        judge = world.meets if claim.kind == "recoverable" else world.judge
        mine_said, its_said = ((world.tests(claim, s=one), judge(claim, one)) for one in (state, other))
        if mine_said != its_said:
            return f"property {claim.name} says something else"
    if world.is_final(state) != world.is_final(other):
        return "the protocol may rest in one only"
    return ""


def _steps(world: Interpreter, rule: Rule, state: Any) -> list[tuple[Any, Any]]:
    """Return where the steps of a rule lead: values of the normal form, and the state itself; or why not, and None."""
    found: list[tuple[Any, Any]] = []
    for binding in world.enabled(rule, state):
        try:
            if reason := world.forbidden_by(rule, state, binding):
                raise OutOfBound(reason)
            after = world.apply(rule, state, binding)
            found.append((world.key(world.formed(after)), after))
        except OutOfBound as bound:
            found.append((bound.args[0], None))
        except OutOfDomain:
            found.append(("domain", None))
    return found


def _said_of_steps(world: Interpreter, claim: Property, before: Any, steps: Sequence[tuple[Any, Any]]) -> Counter[Any]:
    """Return what a property says of steps, or of the states to which they lead."""
    reached = [after for _, after in steps if after is not None]
    if claim.kind == "step invariant":
        return Counter((world.tests(claim, before=before, after=s), world.judge_step(claim, before, s)) for s in reached)
    if claim.kind in ("invariant", "reachable"):
        return Counter((world.tests(claim, s=s), world.judge(claim, s)) for s in reached)
    return Counter()
