"""Suggests the lemmas that an induction lacks."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from kafka_spec.model_check.budget import Budget, Stopped
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.proof.obligations import Induction
from kafka_spec.model_check.proof.solving import Induced, induced_step
from kafka_spec.model_check.proof.suggestions.clauses import mined
from kafka_spec.model_check.proof.suggestions.conditions import Grammar
from kafka_spec.model_check.proof.suggestions.formulas import function_of, readable
from kafka_spec.model_check.proof.suggestions.keeping import ClauseSearch
from kafka_spec.model_check.proof.suggestions.sufficing import Uses, fewest
from kafka_spec.model_check.state_graph import graph_of
from kafka_spec.model_check.within import limited
from kafka_spec.spec.vocabulary.table import Property, lemma

MOST_STATES = 20_000
"""The most states that clauses are mined from."""
MOST_NEAREST = 5
"""The most clauses that are shown which exclude a state."""


@dataclass(frozen=True)
class Suggested:
    """A lemma that is suggested: its text, and what it is used for, each as a rule and what that rule then keeps."""

    lemma: Property
    text: str
    uses: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Obstacle:
    """A step that breaks a statement although all clauses that every rule keeps hold, and clauses that exclude its state.

    Each of those with the rule that does not keep it.
    """

    step: Induced
    nearest: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Suggestions:
    """What was tried, and the lemmas that were found; none if they do not suffice."""

    states: int = 0
    complete: bool = False
    conditions: int = 0
    clauses: int = 0
    kept: int = 0
    """How many clauses every rule keeps."""
    lemmas: tuple[Suggested, ...] = ()
    obstacles: tuple[Obstacle, ...] = ()
    """Of each statement that no clauses help with."""
    stopped: str = ""
    """Why it was ended early, with nothing found; "" if it was not."""
    seconds: float = 0.0

    @property
    def suffice(self) -> bool:
        """Whether the lemmas suffice for what was asked, as far as is known before it is proved; there may be none."""
        return not self.obstacles and not self.stopped


def suggest(induction: Induction, budget: Budget) -> Suggestions:
    """Return lemmas with which the statements of an induction can be proved, if there are such among the clauses."""
    began = time.perf_counter()
    try:
        with limited(budget):
            found = _suggest(induction)
    except Stopped as reason:
        found = Suggestions(stopped=str(reason))
    return replace(found, seconds=time.perf_counter() - began)


def _suggest(induction: Induction) -> Suggestions:
    world = Interpreter(induction.spec, induction.bounds)
    graph = graph_of(world, MOST_STATES)
    grammar = Grammar(induction.spec, induction.bounds, induction.statements)
    tables = [(table, readable(induction, table, grammar.conditions(table), grammar.names)) for table in grammar.tables()]
    found = mined(grammar, tables, graph.states, world.k)
    conditions = len({one.text for _, some in tables for one in some})
    for most in (2, 3):
        candidates = ClauseSearch(induction, [table.up_to(most) for table in found])
        kept = candidates.kept(range(len(candidates.before)))
        missing = [goal for goal in candidates.statements if goal not in kept]
        if not missing:
            break
    return Suggestions(
        len(graph.states),
        graph.complete,
        conditions,
        candidates.clauses,
        sum(number < candidates.clauses for number in kept),
        () if missing else suggested(candidates, fewest(candidates, kept)),
        tuple(one for goal in missing if (one := obstacle(candidates, goal, kept)) is not None),
    )


def obstacle(candidates: ClauseSearch, goal: int, kept: Sequence[int]) -> Obstacle | None:
    """Return why a statement is not kept; None if the solver does not find it in time."""
    if (found := candidates.counterexample(goal, kept)) is None:
        return None
    step, binding, state = found
    world = candidates.world
    after = world.apply(step.rule, state, binding, beyond=True)
    nearest = candidates.excluding(state)[:MOST_NEAREST]
    shown = induced_step(world, step.rule.name, binding, candidates.name(goal), state, after)
    return Obstacle(shown, tuple((candidates.texts[number], candidates.broken_by[number]) for number in nearest))


def suggested(candidates: ClauseSearch, needed: Uses) -> tuple[Suggested, ...]:
    """Return the lemmas of the clauses that are needed."""
    numbers = [number for number in needed if number < candidates.clauses]
    if not numbers:
        return ()
    taken = {statement.name for statement in candidates.induction.statements} | candidates.tables[0].names.keys()
    free = (f"Suggested{place}" for place in itertools.count(1) if not {f"Suggested{place}", f"suggested{place}"} & taken)
    names = {str(number): name for number, name in zip(numbers, free, strict=False)}
    about = candidates.induction.statements[0].predicate
    found = []
    for number in numbers:
        text, name = candidates.texts[number], names[str(number)]
        function = function_of(name.lower(), text, ("s", "k"), candidates.tables[0].names, about, "A lemma that is suggested.")
        uses = tuple(dict.fromkeys((rule, names.get(what, what)) for rule, what in needed[number]))
        found.append(Suggested(lemma(name, function), text, uses))
    return tuple(found)
