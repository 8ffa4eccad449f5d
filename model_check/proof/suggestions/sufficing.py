"""Of the clauses that every rule keeps, the few from which the statements of a spec follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import z3

from kafka_spec.model_check.proof.obligations import EXECUTED
from kafka_spec.model_check.proof.solving import proved
from kafka_spec.model_check.proof.suggestions.clauses import Truths
from kafka_spec.model_check.proof.suggestions.keeping import SOLVING, ClauseSearch
from kafka_spec.model_check.proof.terms import Formula, is_true, negation
from kafka_spec.model_check.within import look

Uses: TypeAlias = dict[int, list[tuple[str, str]]]
"""Candidates by number, and what each is used for: rules, and what these then keep."""


def fewest(search: ClauseSearch, kept: Sequence[int]) -> Uses:
    """Return the statements and clauses with which every rule keeps the statements, and all can be executed as far as it can be.

    None of the clauses can be left out.
    """
    goals, unexecuted = set(search.statements), list(_unexecuted(search))
    chosen = sufficient(search, kept)
    open_before = [_escape(search, formulas, chosen) is not None for formulas, _ in unexecuted]
    for number in sorted(chosen - goals, key=lambda number: -len(search.texts[number])):
        if number in chosen:
            rest = set(search.kept(sorted(chosen - {number})))
            executed = ([_escape(search, formulas, rest) is not None for formulas, _ in unexecuted]) == open_before
            chosen = rest if goals <= rest and executed else chosen
    return _uses(search, chosen)


def sufficient(search: ClauseSearch, kept: Sequence[int]) -> set[int]:
    """Return the statements, and clauses with which every rule keeps them all.

    As long as a step leads astray from a state that meets what is chosen, one more clause is chosen: of those that exclude the
    state the one that excludes most of such states so far.
    """
    chosen, before, escapes = set(search.statements), set[int](), list[Truths]()
    clauses = [number for number in kept if number < search.clauses]

    def excluded(formulas: Sequence[Formula]) -> bool:
        """Choose a clause that excludes a state; whether there is such a state, and a clause."""
        look()
        if (state := _escape(search, formulas, chosen)) is None:
            return False
        escapes.append(search.violated(state))
        choices = [number for number in clauses if escapes[-1][number]]
        if choices:
            chosen.add(max(choices, key=lambda number: (sum(far[number] for far in escapes), -len(search.texts[number]))))
        return bool(choices)

    while chosen != before:
        before = set(chosen)
        for step in search.steps:
            while excluded([*search.step(step), search.some_broken(frozenset(chosen))]):
                pass
        for formulas, _ in _unexecuted(search):
            while excluded(formulas):
                pass
    return chosen


def _escape(search: ClauseSearch, formulas: Sequence[Formula], chosen: set[int]) -> Any | None:
    """Return a state that meets what is chosen, and some formulas; None if there is none."""
    model = proved([*search.given, *(search.before[number] for number in chosen), *formulas], SOLVING)[1]
    return None if model is None else search.state(model)


def _unexecuted(search: ClauseSearch) -> Iterator[tuple[list[Formula], str]]:
    """Yield when a statement, or a step of a rule, cannot be executed."""
    yield from (([negation(formula)], "") for formula in search.executed)
    for step in search.steps:
        defined = [formula for _, formula in step.context.definitions.values()]
        for needed in step.context.needed:
            yield [*needed.known, *defined, negation(needed.formula)], step.rule.name


def _uses(search: ClauseSearch, chosen: set[int]) -> Uses:
    """Return what is used of what is chosen, and what for."""
    found: Uses = {number: [] for number in search.statements}
    solver, left = z3.Solver(), list(search.statements)
    solver.set("timeout", SOLVING)
    solver.set("core.minimize", True)
    solver.add(*search.given)
    for number in sorted(chosen):
        if not is_true(search.before[number]):
            solver.assert_and_track(search.before[number], f"candidate {number}")

    def use(formulas: Sequence[Formula], rule: str, what: str, itself: int = -1) -> None:
        solver.push()
        solver.add(*formulas)
        core = {int(str(mark).partition(" ")[2]) for mark in solver.unsat_core()} if solver.check() == z3.unsat else set[int]()
        solver.pop()
        left.extend(sorted(core - found.keys()))
        for number in sorted(core - {itself}):
            found.setdefault(number, []).append((rule, what))

    for formulas, rule in _unexecuted(search):
        use(formulas, rule, EXECUTED)
    for goal in left:  # it grows meanwhile
        for step in search.steps:
            look()
            use([*search.step(step), search.violations[goal]], step.rule.name, search.name(goal) or str(goal), goal)
    return found
