"""Which clauses every rule keeps, if it is taken from a state that meets all that are left.

Those that some step breaks are left out, until no step breaks any (Flanagan and Leino, "Houdini, an annotation assistant for
ESC/Java", FME 2001). The solver finds states, and the interpreter takes the steps out of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.proof.cells import terms_of
from kafka_spec.model_check.proof.obligations import Induction, SymbolicStep
from kafka_spec.model_check.proof.solving import proved, valued_by
from kafka_spec.model_check.proof.states import Fresh, fill, plain
from kafka_spec.model_check.proof.suggestions.clauses import Mined, Truths
from kafka_spec.model_check.proof.suggestions.formulas import Stated
from kafka_spec.model_check.proof.terms import Formula, all_of, any_of, negation
from kafka_spec.model_check.within import look
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain, SpecError

SOLVING = 20_000
"""The most milliseconds for one question to the solver; what it does not decide counts as kept until the proof."""
STEPS_ON = 40
"""How many states behind one that the solver finds are looked at."""


@dataclass
class ClauseSearch:
    """The clauses of all tables, and behind them the statements of the spec, by number; `induction` has the statements."""

    induction: Induction
    tables: Sequence[Mined]
    world: Interpreter = field(init=False)
    steps: list[SymbolicStep] = field(init=False)
    before: list[Formula] = field(init=False)
    """Of each candidate the formula that it holds before a step."""
    after: list[Formula] = field(init=False)
    """The same after it."""
    broken_by: dict[int, str] = field(default_factory=dict)
    """The rule that did not keep a candidate, of each that was left out."""

    def __post_init__(self) -> None:
        induction = self.induction
        self.world = Interpreter(induction.spec, induction.bounds)
        self.steps = list(induction.steps())
        self.next = Fresh(induction.limits).cell(induction.space.root, "next")
        stated, behind = (
            Stated(induction, self.tables, induction.state, "before"),
            Stated(induction, self.tables, self.next, "after"),
        )
        self.clauses = len(stated.clauses)
        context, supposed = induction.supposed
        defined = [formula for _, formula in context.definitions.values()]
        self.given = [*induction.typed, *stated.definitions, *behind.definitions, *defined]
        self.executed = [needed.formula for needed in context.needed]
        later = induction.context()
        later.quiet = True
        self.before = [*stated.clauses, *supposed]
        self.after = [*behind.clauses, *(induction.stated_as(one, self.next, later) for one in induction.statements)]
        self.given += [formula for _, formula in later.definitions.values()]
        self.violations = list(map(negation, self.after))
        self.disjunctions: dict[frozenset[int], Formula] = {}

    def step(self, step: SymbolicStep) -> list[Formula]:
        """Return that a step can be executed, and is taken."""
        pairs = zip(terms_of(self.next), terms_of(step.after), strict=True)
        defined = [formula for _, formula in step.context.definitions.values()]
        executed = [needed.formula for needed in step.context.needed]
        return [step.fires, *step.context.assumed, *executed, *defined, *(one == other for one, other in pairs)]

    @property
    def statements(self) -> range:
        """The numbers of the spec's own statements."""
        return range(self.clauses, len(self.before))

    def name(self, number: int) -> str:
        """Return the name of a statement, or "" of a clause."""
        return "" if number < self.clauses else self.induction.statements[number - self.clauses].name

    @cached_property
    def texts(self) -> list[str]:
        """The clauses as expressions of the language, by number."""
        return [table.text(clause) for table in self.tables for clause in table.clauses]

    def violated(self, state: Any) -> Truths:
        """Return of each candidate whether a state violates it."""
        k = self.world.k
        of_clauses = [table.violated(state, k) for table in self.tables]
        of_statements = [not self.world.judge(statement, state) for statement in self.induction.statements]
        return np.concatenate([*of_clauses, np.array(of_statements, dtype=bool)])

    # what every rule keeps

    def kept(self, asked: Sequence[int]) -> list[int]:
        """Return the candidates, of those asked for, that every rule keeps together."""
        alive, before = set(asked), frozenset[int]()
        while alive != before:
            before = frozenset(alive)
            supposed = all_of(*self.given, *(self.before[number] for number in before))
            for step in self.steps:
                self.drop(step, alive, before, supposed)
        return sorted(alive)

    def drop(self, step: SymbolicStep, alive: set[int], before: frozenset[int], supposed: Formula) -> None:
        """Leave out what a step breaks from a state that meets what is supposed, the candidates `before`."""
        while alive:
            look()
            model = proved([supposed, *self.step(step), self.some_broken(frozenset(alive))], SOLVING)[1]
            if model is None:
                break
            if self.violated(self.state(model))[list(before)].any():
                raise EngineError("the solver's state violates what it is given; the interpreter disagrees with the translation")
            broken = self.broken(step, model, alive)
            if not broken:
                raise EngineError(f"the solver says that {step.rule.name} breaks a candidate; the interpreter disagrees")
            alive -= broken

    def some_broken(self, alive: frozenset[int]) -> Formula:
        """Return that one of some candidates is violated after a step."""
        if alive not in self.disjunctions:
            self.disjunctions = {alive: any_of(*(self.violations[number] for number in alive))}
        return self.disjunctions[alive]

    def broken(self, step: SymbolicStep, model: Any, alive: set[int]) -> set[int]:
        """Return the candidates that the step of a model breaks, or a step soon after it."""
        broken, left = set[int](), [self.world.apply(step.rule, self.state(model), self.binding(step, model), beyond=True)]
        self.note(left[0], step.rule.name, alive, broken)
        known = {self.world.key(left[0])}
        for state in left:
            for rule, after in self.out_of(state):
                if len(left) < STEPS_ON and (key := self.world.key(after)) not in known:
                    known.add(key)
                    left.append(after)
                    self.note(after, rule, alive, broken)
        return broken

    def note(self, state: Any, rule: str, alive: set[int], broken: set[int]) -> None:
        """Note the candidates that a state violates."""
        for number in {int(one) for one in np.flatnonzero(self.violated(state))} & alive - broken:
            broken.add(number)
            self.broken_by.setdefault(number, rule)

    def binding(self, step: SymbolicStep, model: Any) -> tuple[int, ...]:
        """Return the values of the parameters of a step in a model."""
        return tuple(plain(value, valued_by(model)) for value in step.binding.values())

    def state(self, model: Any) -> Any:
        """Return the state before the step of a model."""
        state = self.world.space.fresh()
        fill(self.induction.state, state, valued_by(model))
        return state

    def out_of(self, state: Any) -> Iterator[tuple[str, Any]]:
        """Yield the steps out of a state."""
        for rule in self.world.spec.rules:
            try:
                for binding in self.world.enabled(rule, state):
                    if self.world.within(rule, state, binding):
                        yield rule.name, self.world.apply(rule, state, binding, beyond=True)
            except (OutOfBound, OutOfDomain, SpecError):
                continue

    def excluding(self, state: Any) -> list[int]:
        """Return the clauses, of those that were left out, that a state violates: the shortest first."""
        found = (int(number) for number in np.flatnonzero(self.violated(state)) if number in self.broken_by)
        return sorted((number for number in found if number < self.clauses), key=lambda number: len(self.texts[number]))

    def counterexample(self, goal: int, kept: Sequence[int]) -> tuple[SymbolicStep, tuple[int, ...], Any] | None:
        """Return a step that breaks a candidate, though it and what is kept hold before: its rule, its binding, the state."""
        supposed = [*self.given, *(self.before[number] for number in {*kept, goal}), self.violations[goal]]
        for step in self.steps:
            if (model := proved([*supposed, *self.step(step)], SOLVING)[1]) is not None:
                return step, self.binding(step, model), self.state(model)
        return None
