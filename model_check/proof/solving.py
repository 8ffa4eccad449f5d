"""Asks the solver; turns what it finds into two states of Python, which the interpreter confirms."""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

import z3

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.in_processes import in_processes
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.proof.obligations import EXECUTED, STATES, Induction, Obligation, shown_binding
from kafka_spec.model_check.proof.states import fill, plain
from kafka_spec.model_check.proof.terms import Formula, is_true
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain, SpecError, show_change, show_path, show_value
from kafka_spec.spec.vocabulary.table import Property, Spec

Answer = Literal["proved", "not proved", "undecided"]
Decided: TypeAlias = "tuple[tuple[str, str], Answer, float, Induced | None]"
"""The rule and the statement of an obligation, what was found of it, in how many seconds, and why it does not hold."""


@dataclass(frozen=True)
class Induced:
    """A counterexample to induction: a state that meets all statements, and the step out of it that violates one."""

    rule: str
    binding: tuple[int, ...]
    statement: str
    before: tuple[tuple[str, str], ...]
    """Every field of the state, as a person reads it."""
    initial: tuple[str, ...] = ()
    """The fields that have their initial value."""
    changed: tuple[tuple[str, str, str], ...] = ()
    """The fields that the step changes, before and after."""
    why: str = ""
    """Why the step, or the statement, cannot be executed; "" if it can."""


@dataclass
class Standing:
    """What is known of one rule and one statement: how many obligations, and how many of them are open."""

    proved: int = 0
    open: int = 0
    undecided: int = 0
    seconds: float = 0.0
    induced: Induced | None = None

    def add(self, answer: Answer, seconds: float, induced: Induced | None) -> None:
        """Count one more obligation."""
        self.seconds += seconds
        self.proved += answer == "proved"
        self.open += answer == "not proved"
        self.undecided += answer == "undecided"
        self.induced = self.induced or induced


@dataclass
class Proof:
    """A proof, or what is missing of it: a cell for each rule and statement."""

    spec: Spec
    bounds: Mapping[str, int]
    lifted: frozenset[str]
    statements: Sequence[Property]
    cells: dict[tuple[str, str], Standing] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def obligations(self) -> int:
        """The number of obligations."""
        return sum(cell.proved + cell.open + cell.undecided for cell in self.cells.values())

    @property
    def is_complete(self) -> bool:
        """Whether every obligation is proved, and there is one for each statement."""
        stated_as = {statement for _, statement in self.cells}
        return all(not cell.open and not cell.undecided for cell in self.cells.values()) and all(
            statement.name in stated_as for statement in self.statements
        )


def proved(formulas: Sequence[Formula], milliseconds: int) -> tuple[Answer, Any]:
    """Return whether formulas cannot hold together; if they can, also the model in which they do."""
    for options in ({}, {"auto_config": False, "mbqi": False}):
        solver = z3.SimpleSolver() if options else z3.Solver()
        for name, value in options.items():
            solver.set(name, value)
        solver.set("timeout", milliseconds)
        solver.add(*formulas)
        found = solver.check()
        if found == z3.unsat:
            return "proved", None
        if found == z3.sat:
            return "not proved", solver.model()
    return "undecided", None


def parts_of(goal: Formula) -> list[Formula]:
    """Return goals that together are the goal: the parts of a conjunction, also below implications and quantifiers."""
    if z3.is_and(goal):
        return [part for inner in goal.children() for part in parts_of(inner)]
    if z3.is_implies(goal):
        return [z3.Implies(goal.arg(0), part) for part in parts_of(goal.arg(1))]
    if z3.is_quantifier(goal) and goal.is_forall():
        fresh = [z3.FreshConst(goal.var_sort(number), goal.var_name(number)) for number in range(goal.num_vars())]
        return parts_of(z3.substitute_vars(goal.body(), *reversed(fresh)))
    return [goal]


def decide(obligation: Obligation, milliseconds: int) -> tuple[Answer, Any]:
    """Return whether a goal follows: at once, or if that is not decided, part by part."""
    if is_true(obligation.goal):
        return "proved", None
    answer, model = proved(obligation.refuted_by, milliseconds)
    if answer != "undecided":
        return answer, model
    for part in parts_of(obligation.goal):
        answer, model = proved((*obligation.given, *obligation.also, z3.Not(part)), milliseconds)
        if answer != "proved":
            return answer, model
    return "proved", None


def prove(
    induction: Induction,
    *,
    threads: int = 1,
    milliseconds: int = 20_000,
    smtlib: Path | None = None,
    budget: Budget | None = None,
) -> Proof:
    """Prove that all statements hold in every reachable state, as far as the solver can.

    What is left when the budget is spent is undecided. With `smtlib`, each obligation is also written to a file of that folder; it
    is proved if a solver says `unsat`.
    """
    began = time.perf_counter()
    proof = Proof(induction.spec, induction.bounds, induction.lifted, induction.statements)
    work = Work(induction, induction.tasks, milliseconds, smtlib, budget or Budget())
    for decided in _decided(work, threads):
        for place, answer, seconds, induced in decided:
            proof.cells.setdefault(place, Standing()).add(answer, seconds, induced)
    proof.seconds = time.perf_counter() - began
    return proof


@dataclass(frozen=True)
class Work:
    """What is to be proved, in parts, in how much time for each obligation, and where they are written."""

    induction: Induction
    tasks: Sequence[Callable[[], Iterator[Obligation]]]
    milliseconds: int
    smtlib: Path | None
    budget: Budget


def _decided(work: Work, threads: int) -> Iterator[list[Decided]]:
    """Yield what was found of each task; formulas cannot be sent to a process, but a fork has them."""
    numbers, decide_one = range(len(work.tasks)), functools.partial(_decide, work)
    yield from map(decide_one, numbers) if threads == 1 else in_processes(decide_one, numbers, threads, work.budget)


def _decide(work: Work, number: int) -> list[Decided]:
    found: list[Decided] = []
    for place, obligation in enumerate(work.tasks[number]()):
        began = time.perf_counter()
        if work.smtlib is not None and not is_true(obligation.goal):
            _write(obligation, work.smtlib / f"{number:04}-{place:04}.smt2")
        answer: Answer = "undecided"
        if not work.budget.exhausted():
            answer, model = decide(obligation, work.milliseconds)
        induced = induced_by(work.induction, obligation, model) if answer == "not proved" else None
        found.append(((obligation.rule, obligation.statement), answer, time.perf_counter() - began, induced))
    return found


def _write(obligation: Obligation, file: Path) -> None:
    """Write an obligation as SMT-LIB 2."""
    solver = z3.Solver()
    solver.add(*obligation.refuted_by)
    step = f"{obligation.rule}{shown_binding(obligation.binding)}"
    file.write_text(f"; {step} keeps: {obligation.statement}\n(set-logic ALL)\n{solver.to_smt2()}", encoding="utf-8")


def valued_by(model: Any) -> Callable[[Any], Any]:
    """Return the function that gives the number or truth that a term is in a model of the solver."""

    def valued(term: Any) -> Any:
        found = model.eval(term, model_completion=True)
        return z3.is_true(found) if z3.is_bool(term) else found.as_long()

    return valued


def induced_by(induction: Induction, obligation: Obligation, model: Any) -> Induced | None:
    """Return the counterexample to induction of a model, confirmed by the interpreter; None where a bound is lifted.

    Raises:
        EngineError: the interpreter disagrees with the translation.
    """
    if induction.lifted:
        return None

    valued = valued_by(model)
    world = Interpreter(induction.spec, induction.bounds)
    state = world.space.fresh()
    binding = tuple(plain(value, valued) for _, value in obligation.binding)
    if obligation.given:  # else it begins in the one state that is fresh
        fill(induction.state, state, valued)
    return _confirmed(induction, world, obligation, binding, state)


def _confirmed(induction: Induction, world: Interpreter, obligation: Obligation, binding: tuple[int, ...], state: Any) -> Induced:
    """Return a counterexample, replayed by the interpreter."""
    what = f"{obligation.rule}{binding} and {obligation.statement}"
    found = induced_step(world, obligation.rule, binding, obligation.statement, state)
    try:
        after = _replayed(induction, world, obligation, binding, state)
    except OutOfBound as error:
        raise EngineError(f"the solver says that a step is possible; it is beyond the bound {error}: {what}") from error
    except (OutOfDomain, SpecError) as error:
        if obligation.statement == EXECUTED:
            return dataclasses.replace(found, why=str(error))
        raise EngineError(f"the solver says that a step can be executed; the interpreter says: {error}: {what}") from error
    if after is None:
        raise EngineError(f"the solver says that a step leads astray; the interpreter disagrees: {what}")
    return induced_step(world, obligation.rule, binding, obligation.statement, state, after)


def induced_step(
    world: Interpreter, rule: str, binding: tuple[int, ...], statement: str, state: Any, after: Any | None = None
) -> Induced:
    """Return what is shown of a step that does not keep a statement; `after` is the state behind it, if it can be executed."""
    fields = tuple((show_path(one.path), show_value(one.type, one.before)) for one in world.space.fields(state))
    special = {show_path(one.path) for one in world.space.changes(world.space.fresh(), state)}
    changes = [] if after is None else world.space.changes(state, after)
    return Induced(
        rule, binding, statement, fields,
        initial=tuple(path for path, _ in fields if path not in special),
        changed=tuple((show_path(one.path), *show_change(one.type, one.before, one.after)) for one in changes),
    )  # fmt: skip


def _replayed(induction: Induction, world: Interpreter, obligation: Obligation, binding: tuple[int, ...], state: Any) -> Any:
    """Return the state after the step, which violates the statement; None if it cannot be taken, or does not violate it.

    Raises:
        OutOfDomain, SpecError: it cannot be executed.
    """
    if obligation.rule == STATES:
        for statement in induction.statements:
            world.judge(statement, state)
        return None
    spec = induction.spec
    rule = spec.start if obligation.rule == spec.start.name else spec.rule(obligation.rule)
    if binding not in set(world.enabled(rule, state)) or not world.within(rule, state, binding):
        return None
    after = world.apply(rule, state, binding, beyond=True)
    violated = [
        statement
        for statement in induction.statements
        if statement.name == obligation.statement and not world.judge(statement, after)
    ]
    return after if violated else None


__all__ = ["Answer", "Induced", "Proof", "decide", "induced_by", "induced_step", "parts_of", "prove", "proved", "valued_by"]
