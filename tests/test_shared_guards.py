"""Guards that several rules ask: asked once in a state, they admit what each rule alone would admit, in the same order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language.domain import ArrayOf, Range, field
from kafka_spec.spec.vocabulary.table import Among, Rule, Spec, SpecError, invariant


@dataclass
class Board:
    """A few cells, and what was chosen last."""

    cells: list[int] = field(ArrayOf(Range(0, 2), 3))
    last: int = field(Range(-10, 22))


def cell_is_above(s: Board, kind: int, cell: int) -> bool:
    """A cell's number is larger than another."""
    return s.cells[cell] > kind


def cell_is_even(s: Board, cell: int) -> bool:
    """The cell's number is even."""
    return s.cells[cell] != 1


def cell_is_the_number(s: Board, cell: int, number: int) -> bool:
    """The cell holds the number."""
    return s.cells[cell] == number


def outside_is_above(s: Board, kind: int, cell: int) -> bool:
    """Ask for a cell that is not there, once the last cell is raised."""
    return s.cells[cell + 3 * s.cells[2]] > kind


def ends_are_low(s: Board) -> bool:
    """Neither the first cell nor the last one is full."""
    return s.cells[0] + s.cells[2] < 3


def kind_is_odd(s: Board, kind: int) -> bool:
    """A number is odd."""
    return kind == 1 or kind == -1


def raise_it(s: Board, kind: int, cell: int) -> None:
    """Raise the cell's number unless it is full, and note what was chosen."""
    if s.cells[cell] < 2:
        s.cells[cell] += 1
    s.last = 10 * kind + cell


def note(s: Board, kind: int, cell: int) -> None:
    """Note what was chosen, as other rules do: several ways lead to one state."""
    s.last = 10 * kind + cell


def note_cell(s: Board, cell: int) -> None:
    """Note a cell."""
    s.last = -cell


def last_is_small(s: Board) -> bool:
    """The number that was noted is below 11."""
    return s.last < 11


def rule(name: str, guards: tuple[Callable[..., bool], ...], effect: Callable[..., None], **params: Any) -> Rule:
    """Return a rule."""
    return Rule(name, "board", name, effects=(effect,), guards=guards, params=params)


KIND, CELL, NUMBER = Range(-1, 2), Range(0, 2), Range(0, 2)
SOME: Mapping[str, Any] = {"kind": Range(0, 1), "cell": Range(1, 2)}

RULES = (
    rule("Raise", (ends_are_low, cell_is_above, cell_is_even), raise_it, kind=KIND, cell=CELL),
    rule("Note", (ends_are_low, cell_is_above), note, kind=KIND, cell=CELL),
    rule("OfOddKind", (kind_is_odd, cell_is_above), note, kind=KIND, cell=CELL),
    rule("CellFirst", (cell_is_above,), note, cell=CELL, kind=KIND),
    rule("CellFirstToo", (cell_is_even, cell_is_above), note, cell=CELL, kind=KIND),
    rule("EvenCell", (cell_is_even,), note_cell, cell=CELL),
    rule("NoteSome", (cell_is_above,), note, **SOME),
    rule("RaiseSome", (cell_is_above,), raise_it, **SOME),
    rule("Chosen", (cell_is_above,), note, kind=Among(KIND, kind_is_odd), cell=CELL),
    rule("ThatNumber", (cell_is_above, cell_is_the_number), raise_it, kind=KIND, cell=CELL, number=NUMBER),
    rule("EvenKind", (cell_is_above, cell_is_even), note, kind=KIND, cell=CELL),
    rule("EvenNumber", (cell_is_above, cell_is_even, cell_is_the_number), raise_it, kind=KIND, cell=CELL, number=NUMBER),
    rule("NoteNumber", (cell_is_above, cell_is_even, cell_is_the_number), note, kind=KIND, cell=CELL, number=NUMBER),
)


def board(*rules: Rule) -> Spec:
    """Return the spec of some rules."""
    claims = (invariant("LastIsSmall", last_is_small, "what was noted is small"),)
    return Spec("board", "cells are raised, and what was chosen is noted", Board, rules, properties=claims)


@pytest.mark.parametrize("rules", [RULES, RULES[::-1], RULES[1:], RULES[3:]], ids=["all", "turned", "not-the-first", "others"])
def test_rules_take_turns(rules: tuple[Rule, ...]) -> None:
    """Whichever rule asks a guard first, both engines find the same steps, and the same first way to each state."""
    one, other = (engine.explore(board(*rules), {}, everything=True) for engine in (oracle, embedded))
    assert one.complete and one.distinct > 100 and "LastIsSmall" in one.findings
    assert (one.levels, one.fired, one.digest, one.new) == (other.levels, other.fired, other.digest, other.new)
    assert one.findings == other.findings and trace_of(other, "LastIsSmall") is not None


@pytest.mark.parametrize("guards", [(outside_is_above,), (cell_is_above, outside_is_above)], ids=["first", "behind-another"])
def test_a_fault_names_its_rule(guards: tuple[Callable[..., bool], ...]) -> None:
    """A shared guard that cannot be evaluated is an error in each engine, told of the first rule that asks it."""
    fails = [rule(name, guards, note, kind=KIND, cell=CELL) for name in ("Fails", "FailsToo")]
    for engine in (oracle, embedded):
        with pytest.raises(SpecError, match=r"Fails\(-1, 0\)"):
            engine.explore(board(RULES[0], *fails), {}, everything=True)
