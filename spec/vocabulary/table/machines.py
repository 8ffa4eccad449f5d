"""State machines as tables of rows."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from kafka_spec.spec.language import Function
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.language.integers import unusable
from kafka_spec.spec.vocabulary.table.former_names import accepts_former_names
from kafka_spec.spec.vocabulary.table.functions import Name, check_effect, check_function, check_pure, name_of


@accepts_former_names
@dataclass(frozen=True)
class Row:
    """One legal change of one machine.

    `trigger` is Kafka's request in snake case; `guards` are predicates that must all hold, `unless` are guards of which none may
    hold; `effects` run in order, then the machine enters `target`. Guards and effects are functions, or names that `Machine.bind`
    resolves. `cites` is the source. An *initialisation* row seeds a state at start-up and makes no pair legal. A row that
    `waits_for` something that is not modelled yet is part of the table, and firing it is an error.
    """

    trigger: str
    sources: tuple[enum.IntEnum, ...]
    target: enum.IntEnum
    guards: tuple[Function | Name, ...] = ()
    effects: tuple[Function | Name, ...] = ()
    reference: str = ""
    kind: Literal["transition", "initialisation"] = "transition"
    waits_for: str = ""
    unless: tuple[Function | Name, ...] = ()

    @property
    def looks(self) -> tuple[Function | Name, ...]:
        """All guards that the row evaluates: those that must hold, then those that must not."""
        return (*self.guards, *self.unless)

    @property
    def conditions(self) -> tuple[str, ...]:
        """What must be true for the row to fit, in words: the names of `guards`, and `not NAME` for those of `unless`."""
        return (*map(name_of, self.guards), *(f"not {name_of(guard)}" for guard in self.unless))

    @property
    def label(self) -> str:
        """`trigger [guards and not other] / effects`, as pictures show it."""
        guards = f" [{' and '.join(self.conditions)}]" if self.conditions else ""
        effects = f" / {', '.join(map(name_of, self.effects))}" if self.effects else ""
        return self.trigger + guards + effects

    def excludes(self, other: Row) -> bool:
        """Whether the guards alone show that both rows never fit at once: one needs what the other forbids."""
        return bool(set(self.guards) & set(other.unless) or set(self.unless) & set(other.guards))

    def implies(self, other: Row) -> bool:
        """Whether the guards alone show that the other row fits wherever this one does."""
        return set(other.guards) <= set(self.guards) and set(other.unless) <= set(self.unless)


@accepts_former_names
@dataclass(frozen=True)
class Machine:
    """A state machine as one table. `entity` names the indices of its instances, such as ("controller", "partition").

    `era` is the version of Kafka whose table it is. Guards and effects take some of `s`, `k` and the names of the entity, by name.
    """

    name: Name
    states: type[enum.IntEnum]
    initial: enum.IntEnum
    rows: tuple[Row, ...]
    entity: tuple[Name, ...] = ()
    reference: str = ""
    era: str = ""

    def __post_init__(self) -> None:
        _check_machine(self)

    @cached_property
    def triggers(self) -> tuple[str, ...]:
        """The triggers in the order of the rows."""
        return tuple(dict.fromkeys(row.trigger for row in self.rows))

    @cached_property
    def legal_pairs(self) -> tuple[tuple[enum.IntEnum, enum.IntEnum], ...]:
        """The distinct (source, target) of transition rows."""
        pairs = [(s, row.target) for row in self.rows if row.kind == "transition" for s in row.sources]
        return tuple(dict.fromkeys(pairs))

    def rows_of(self, trigger: str) -> tuple[Row, ...]:
        """The rows that a trigger may pick."""
        return tuple(row for row in self.rows if row.trigger == trigger)

    @cached_property
    def unproved_pairs(self) -> tuple[tuple[Row, Row], ...]:
        """The pairs of rows on one trigger and source whose guards do not show that they exclude each other.

        A check verifies that they do: whenever the trigger fires, in every explored state and for every entity, the guards of all
        its rows are evaluated, and two rows that fit are an error.
        """
        return tuple((other, row) for other, row, _ in _rivals(self.rows) if not row.excludes(other))

    def bind(self, functions: Mapping[Name, Function]) -> Machine:
        """Return the machine with names of guards and effects replaced by the functions of those names."""

        def bound(names: tuple[Function | Name, ...]) -> tuple[Function | Name, ...]:
            return tuple(functions.get(n, n) if isinstance(n, str) else n for n in names)

        rows = tuple(
            dataclasses.replace(r, guards=bound(r.guards), effects=bound(r.effects), unless=bound(r.unless)) for r in self.rows
        )
        return dataclasses.replace(self, rows=rows)


def _rivals(rows: tuple[Row, ...]) -> Iterator[tuple[Row, Row, enum.IntEnum]]:
    """Yield each pair of rows that share a trigger and a source, with the first such source."""
    for index, row in enumerate(rows):
        for other in rows[:index]:
            common = [state for state in row.sources if state in other.sources]
            if row.trigger == other.trigger and common:
                yield other, row, common[0]


def _check_machine(machine: Machine) -> None:
    where = f"machine {machine.name}"
    for state in machine.states:
        if reason := unusable(state):
            raise SpecError(f"{where}: state {state.name} {reason}")
    reached = {machine.initial}
    for row in machine.rows:
        for state in (*row.sources, row.target):
            if not isinstance(state, machine.states):
                raise SpecError(f"{where}: row {row.label!r} names {state!r}, which is not a {machine.states.__name__}")
        if not row.sources:
            raise SpecError(f"{where}: row {row.label!r} has no source; name the states it starts from")
    for _ in machine.rows:
        reached |= {row.target for row in machine.rows if reached & set(row.sources)}
    if unreached := [state.name for state in machine.states if state not in reached]:
        raise SpecError(f"{where}: no rows lead from {machine.initial.name} to {', '.join(unreached)}; add or drop a row")
    for row in machine.rows:
        if both := [name_of(guard) for guard in row.guards if guard in row.unless]:
            raise SpecError(f"{where}: row {row.label!r} requires {both[0]} and forbids it, so it never fits; remove one of them")
        for function in (*row.looks, *row.effects):
            if not isinstance(function, str):
                check_function(function, {"s", "k", *machine.entity}, f"{where}, row {row.label!r}")
        for guard in row.looks:
            check_pure(guard, f"{where}, row {row.label!r}")
        for effect in row.effects:
            check_effect(effect, f"{where}, row {row.label!r}")
    for other, row, source in _rivals(machine.rows):
        if not row.excludes(other) and (row.implies(other) or other.implies(row)):
            raise SpecError(
                f"{where}: rows {other.label!r} and {row.label!r} both leave {source.name} on {row.trigger}, and wherever one fits "
                "the other does; name a guard in one of them, and the same under `unless` in the other"
            )
