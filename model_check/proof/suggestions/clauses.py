"""The clauses that hold in all states that were searched: a clause says that one or another of at most three literals is true.

A literal is a condition or its contrary. A clause of a table holds in a state if it does for all values of the table's variables.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.proof.suggestions.conditions import Grammar, StateCondition, Table
from kafka_spec.model_check.within import look

Literals: TypeAlias = tuple[int, ...]
"""The literals of a clause: a condition by its number, or its contrary by that number and the count of the conditions."""
Truths: TypeAlias = npt.NDArray[np.bool_]

MOST_IN_THREES, MOST_IN_PAIRS = 160, 3_000
"""How many literals there may be for clauses of three, and of two."""
MOST_CLAUSES = 1_500
"""The most clauses of three that a table gets."""


@dataclass(eq=False)
class Mined:
    """A table, its conditions, and the clauses about all of its variables that hold in all states."""

    table: Table
    conditions: Sequence[StateCondition]
    names: dict[str, Any]
    clauses: list[Literals] = field(default_factory=list)

    @cached_property
    def rows(self) -> Callable[..., Iterable[tuple[Any, ...]]]:
        """The function of Python that yields, for all values of the variables, what is true of a state `s` at bounds `k`."""
        lines, indent = ["def rows(s, k):"], "    "
        for variable in self.table:
            lines.append(f"{indent}for {variable.name} in {variable.over}:")
            indent += "    "
        if apart := self.apart:
            lines.append(f"{indent}if {apart}:")
            indent += "    "
        lines.append(f"{indent}yield ({' '.join(f'{one.text},' for one in self.conditions)})")
        names = dict(self.names)
        exec("\n".join(lines), names)  # the texts are the grammar's
        found: Callable[..., Iterable[tuple[Any, ...]]] = names["rows"]
        return found

    @property
    def apart(self) -> str:
        """The condition, as text, that two variables over the same stand for different things; "" if there are none."""
        pairs = itertools.combinations(self.table, 2)
        return " and ".join(f"{one.name} != {other.name}" for one, other in pairs if one.slot == other.slot)

    def truths(self, states: Iterable[Any], k: Any) -> Truths:
        """Return what is true of each literal (second index), for all values of the variables in these states (first index)."""
        rows = {tuple(map(bool, row)) for state in states for row in self.rows(state, k)}
        found = np.array(sorted(rows), dtype=bool).reshape(len(rows), len(self.conditions))
        return np.concatenate([found, ~found], axis=1)

    @cached_property
    def padded(self) -> npt.NDArray[np.intp]:
        """The clauses as three literals each: one stands twice where there are fewer."""
        return np.array([(clause * 3)[:3] for clause in self.clauses], dtype=np.intp).reshape(-1, 3)

    def violated(self, state: Any, k: Any) -> Truths:
        """Return of each clause whether a state violates it."""
        found = np.zeros(len(self.clauses), dtype=bool)
        literals = self.truths([state], k)
        for column in np.array_split(np.arange(len(self.clauses)), max(1, len(self.clauses) * len(literals) // 2_000_000)):
            first, second, third = (literals[:, self.padded[column, place]] for place in range(3))
            found[column] = ~(first | second | third).all(axis=0)
        return found

    def mine(self, states: Sequence[Any], k: Any) -> None:
        """Find the clauses that hold in all states, none of which has another one in it."""
        literals = self.truths(states, k)
        every = frozenset(variable.name for variable in self.table)
        variables = [condition.variables for condition in self.conditions] * 2
        if len(literals):
            found = clauses_of(literals)
            self.clauses = [one for one in found if frozenset[str]().union(*(variables[number] for number in one)) == every]

    def up_to(self, most: int) -> Mined:
        """Return the table with its clauses of at most so many literals."""
        return Mined(self.table, self.conditions, self.names, [clause for clause in self.clauses if len(clause) <= most])

    def literal(self, number: int) -> str:
        """Return a literal as text."""
        count = len(self.conditions)
        return self.conditions[number].text if number < count else self.conditions[number - count].negated

    def text(self, clause: Literals) -> str:
        """Return a clause as an expression of the language."""
        stated = " or ".join(map(self.literal, clause))
        if not self.table:
            return stated
        loops = " ".join(f"for {variable.name} in {variable.over}" for variable in self.table)
        return f"all({stated} {loops}{f' if {self.apart}' if self.apart else ''})"


def clauses_of(literals: Truths) -> list[Literals]:
    """Return the shortest clauses that are true in all rows; the columns are conditions, and then their contraries."""
    conditions = literals.shape[1] // 2
    packed = np.packbits(literals.T, axis=1)
    full = np.packbits(np.ones(len(literals), dtype=bool))
    true = (packed == full).all(axis=1)
    units: list[Literals] = [(int(number),) for number in np.flatnonzero(true)]
    left = np.flatnonzero(~true & (packed != 0).any(axis=1))
    if len(left) > MOST_IN_PAIRS:
        return units
    pairs = list(_pairs(packed, left, full, conditions))
    threes = _threes(packed, left, full, conditions, set(pairs)) if len(left) <= MOST_IN_THREES else iter(())
    return [*units, *pairs, *itertools.islice(threes, MOST_CLAUSES)]


def _pairs(packed: npt.NDArray[np.uint8], left: npt.NDArray[np.intp], full: Any, conditions: int) -> Iterator[Literals]:
    for place, one in enumerate(left):
        rest = left[place + 1 :]
        covered = ((packed[rest] | packed[one]) == full).all(axis=1)
        yield from ((int(one), int(other)) for other in rest[covered] if (other - one) % conditions)


def _threes(
    packed: npt.NDArray[np.uint8], left: npt.NDArray[np.intp], full: Any, conditions: int, pairs: set[Literals]
) -> Iterator[Literals]:
    for (_, one), (behind, other) in itertools.combinations(enumerate(left), 2):
        look()
        if (int(one), int(other)) in pairs or (other - one) % conditions == 0:
            continue
        rest = left[behind + 1 :]
        missing = full & ~(packed[one] | packed[other])
        for third in rest[((packed[rest] & missing) == missing).all(axis=1)]:
            clause = (int(one), int(other), int(third))
            if not {clause[::2], clause[1:]} & pairs and (third - one) % conditions and (third - other) % conditions:
                yield clause


def mined(grammar: Grammar, tables: Sequence[tuple[Table, Sequence[StateCondition]]], states: Sequence[Any], k: Any) -> list[Mined]:
    """Return the clauses of all tables that hold in all states; each is stated once, whatever its variables are called."""
    found = []
    for table, conditions in tables:
        one = Mined(table, conditions, grammar.names)
        one.mine(states, k)
        one.clauses = list({_canonical(one, clause): clause for clause in reversed(one.clauses)}.values())[::-1]
        if one.clauses:
            found.append(one)
    return found


def _canonical(one: Mined, clause: Literals) -> frozenset[str]:
    """Return the texts of a clause's literals, those with the first two variables exchanged if these come first."""
    texts = frozenset(map(one.literal, clause))
    if not one.apart:
        return texts
    first, second, *_ = (variable.name for variable in one.table)
    swapped = frozenset(_exchanged(text, first, second) for text in texts)
    return min(texts, swapped, key=sorted)


def _exchanged(text: str, one: str, other: str) -> str:
    """Return a text with two names exchanged; they are single letters, which no other word is."""
    return re.sub(rf"\b({one}|{other})\b", lambda found: other if found[0] == one else one, text)
