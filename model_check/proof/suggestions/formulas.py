"""Clauses as formulas about a symbolic state: a Boolean for each condition and choice of the variables, and what defines it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import z3

from kafka_spec.model_check.proof.cells import Cell, SlotsCell
from kafka_spec.model_check.proof.obligations import Induction
from kafka_spec.model_check.proof.places import Reference, field_of
from kafka_spec.model_check.proof.solving import proved
from kafka_spec.model_check.proof.suggestions.clauses import Mined
from kafka_spec.model_check.proof.suggestions.conditions import StateCondition, Table, Variable
from kafka_spec.model_check.proof.terms import TRUE, Formula, all_of, any_of, compared, is_true, negation, number
from kafka_spec.model_check.proof.translation import SymbolicCall
from kafka_spec.model_check.proof.values import as_truth
from kafka_spec.model_check.within import look
from kafka_spec.spec.language import Function, source_of
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.language.source import made

MOST_COMPARED = 3
"""For how many values of its variables a condition is compared with others."""


def function_of(name: str, text: str, parameters: Sequence[str], names: dict[str, Any], about: Function, summary: str) -> Function:
    """Return a predicate of the language that returns an expression, which is given as text."""
    tree = ast.parse(f'def {name}({", ".join(parameters)}):\n    """{summary}"""\n    return {text}\n').body[0]
    assert isinstance(tree, ast.FunctionDef)
    found: Function = made(tree, about, {**names, "__builtins__": __builtins__})
    return found


def readable(
    induction: Induction, table: Table, conditions: Sequence[StateCondition], names: dict[str, Any]
) -> list[StateCondition]:
    """Return the conditions that can be translated, and read in every state, reachable or not; of equal ones the shortest."""
    found: dict[tuple[Any, ...], StateCondition] = {}
    choices = list(itertools.islice(_choices(induction, table, induction.state), MOST_COMPARED))
    for condition in sorted(conditions, key=lambda one: len(one.text)):
        look()
        formulas = []
        for given, there, _ in choices:
            if (formula := _readable(induction, condition, table, names, given, there)) is None:
                break
            formulas.append(formula)
        else:
            key, contrary = tuple(map(_text, formulas)), tuple(_text(negation(one)) for one in formulas)
            if not {key, contrary} & found.keys() and not {*key} <= {"true"} and not {*key} <= {"false"}:
                found[key] = condition
    return list(found.values())


def _text(formula: Formula) -> str:
    return z3.simplify(formula).sexpr() if isinstance(formula, z3.ExprRef) else str(formula)


def _readable(
    induction: Induction, condition: StateCondition, table: Table, names: dict[str, Any], given: dict[str, Any], there: Formula
) -> Formula | None:
    """Return a condition about these values; None if it has no translation, or cannot be read in some state."""
    context = induction.context()
    try:
        formula = condition_at(induction, condition, table, names, given, induction.state, context)
    except SpecError:
        return None
    if context.definitions:
        return None
    needed = all_of(*(one.formula for one in context.needed))
    return formula if is_true(needed) or proved([*induction.typed, there, negation(needed)], 1000)[0] == "proved" else None


def condition_at(
    induction: Induction,
    condition: StateCondition,
    table: Table,
    names: dict[str, Any],
    given: dict[str, Any],
    state: Cell,
    context: Any,
) -> Formula:
    """Return a condition about these values of the variables, in a symbolic state."""
    about = induction.statements[0].predicate
    parameters = ("s", "k", *(one.name for one in table if one.name in condition.variables))
    function = names.get(key := f"condition {condition.text} {parameters}")  # a key that is not a name: no text means it
    if function is None:
        function = names[key] = function_of("condition", condition.text, parameters, names, about, "A condition.")
    scope = {"s": Reference(((TRUE, state),)), "k": induction.k, **given}
    (result,) = SymbolicCall(context, source_of(function), {name: scope[name] for name in parameters}, TRUE).run()
    return as_truth(result)


def _choices(induction: Induction, table: Table, state: Cell) -> Iterator[tuple[dict[str, Any], Formula, tuple[int, ...]]]:
    """Yield the values of a table's variables, when there are such, and their numbers."""
    each = [list(_values(variable, state)) for variable in table]
    for chosen in itertools.product(*each):
        numbers = tuple(place for _, _, place in chosen)
        if any(
            one.slot == other.slot and a == b
            for (one, a), (other, b) in itertools.combinations(zip(table, numbers, strict=True), 2)
        ):
            continue
        given = {variable.name: value for variable, (value, _, _) in zip(table, chosen, strict=True)}
        there = [when for _, when, _ in chosen]
        for variable, place in zip(table, numbers, strict=True):
            if variable.slot.what == "item":
                there.append(_in_range(induction, variable, place, given, state))
        yield given, all_of(*there), numbers


def _values(variable: Variable, state: Cell) -> Iterator[tuple[Any, Formula, int]]:
    """Yield the values of one variable, whether there is such a one, and its number."""
    match variable.slot.what:
        case "index" | "item":
            yield from ((number(place), TRUE, place) for place in range(variable.slot.count))
        case _:
            cell: Any = state
            for name in variable.slot.text.split(".")[1:]:
                cell = field_of(cell, name)
            assert isinstance(cell, SlotsCell)
            for place, item in enumerate(cell.items):
                yield Reference(((TRUE, item),)), compared("<", number(place), cell.length), place


def _in_range(induction: Induction, variable: Variable, place: int, given: dict[str, Any], state: Cell) -> Formula:
    """Return whether the sequences that a variable is an index of have so many items."""
    length = variable.over.removeprefix("range(")[:-1]
    names = tuple(name for name in given if name != variable.name)
    condition = StateCondition(f"{place} < {length}", "", frozenset(names))
    table = tuple(Variable(name, variable.slot, "") for name in names)
    return condition_at(induction, condition, table, {}, given, state, induction.context())


class Stated:
    """The clauses of some tables in one symbolic state."""

    def __init__(self, induction: Induction, tables: Sequence[Mined], state: Cell, tag: str) -> None:
        self.definitions: list[Formula] = []
        self.known: dict[tuple[str, tuple[Any, ...]], Any] = {}
        self.clauses: list[Formula] = []
        for mined in tables:
            choices = list(_choices(induction, mined.table, state))
            for clause in mined.clauses:
                look()
                found = []
                for given, there, numbers in choices:
                    literals = [self.literal(induction, mined, one, given, numbers, state, tag) for one in clause]
                    found.append(any_of(negation(there), *literals))
                self.clauses.append(all_of(*found))

    def literal(
        self, induction: Induction, mined: Mined, place: int, given: dict[str, Any], numbers: tuple[int, ...], state: Cell, tag: str
    ) -> Formula:
        """Return the Boolean of a literal, defined where it is first used."""
        condition = mined.conditions[place % len(mined.conditions)]
        chosen = tuple(
            (variable.slot, one) for variable, one in zip(mined.table, numbers, strict=True) if variable.name in condition.variables
        )
        key = condition.text, chosen
        if key not in self.known:
            formula = condition_at(induction, condition, mined.table, mined.names, given, state, induction.context())
            if z3.is_true(formula) or z3.is_false(formula):
                self.known[key] = formula
            else:
                self.known[key] = z3.Bool(f"{tag} {len(self.known)}")
                self.definitions.append(self.known[key] == formula)
        return self.known[key] if place < len(mined.conditions) else negation(self.known[key])
