"""The arrows of a picture of a machine: its rows, grouped. Independent of formats and positions.

An arrow groups all rows of one trigger that lead from the same states to the same state. Each row is a choice with its own guards
and effects. Arrows of one trigger from the same states to several are one box. Every row is in exactly one choice for each of its
sources, so a picture neither adds nor omits a row.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kafka_spec.spec.language.domain import machine_paths
from kafka_spec.spec.vocabulary.table import Machine, Row, Spec, SpecError, name_of

Status: TypeAlias = Literal["same", "added", "removed", "changed"]
Choice: TypeAlias = tuple[tuple[str, ...], tuple[str, ...]]
"""The conditions (guards, and `not` those of `unless`) and the names of the effects of one row."""


@dataclass(frozen=True)
class Arrow:
    """Rows of one trigger from the same sources to one target; `status` says which of two compared eras has them."""

    trigger: str
    sources: tuple[enum.IntEnum, ...]
    target: enum.IntEnum
    kind: str
    choices: tuple[Choice, ...]
    status: Status = "same"

    @property
    def from_anywhere(self) -> bool:
        """Whether it leaves every state of the machine."""
        return len(self.sources) == len(type(self.target))


@dataclass(frozen=True)
class Box:
    """What is drawn as one box: the arrows of one trigger from the same sources, each to a target of its own."""

    arrows: tuple[Arrow, ...]

    @property
    def first(self) -> Arrow:
        """The arrow that has what all of them share: trigger, sources, kind, status."""
        return self.arrows[0]

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The choices of all its arrows, in the order of their numbers."""
        return tuple(choice for arrow in self.arrows for choice in arrow.choices)

    def numbers(self, arrow: Arrow) -> range:
        """Return the numbers that the choices of one of its arrows have in the box, from 1 on."""
        before = sum(len(other.choices) for other in self.arrows[: self.arrows.index(arrow)])
        return range(before + 1, before + 1 + len(arrow.choices))


@dataclass(frozen=True)
class ComparedChange:
    """What one trigger does from one state to another, in two eras: the choices of the older and of the newer one."""

    status: Status
    trigger: str
    source: enum.IntEnum
    target: enum.IntEnum
    kind: str
    older: tuple[Choice, ...]
    newer: tuple[Choice, ...]


def arrows(machine: Machine) -> tuple[Arrow, ...]:
    """Return the arrows of a machine, in the order of its rows."""
    return _gathered(
        (row.trigger, source, row.target, row.kind, choice_of(row), "same") for row in machine.rows for source in row.sources
    )


def boxes(drawn: Iterable[Arrow]) -> tuple[Box, ...]:
    """Return the boxes of a picture, in the order of their first arrows."""
    found: dict[object, list[Arrow]] = {}
    for arrow in drawn:
        found.setdefault((arrow.trigger, arrow.sources, arrow.kind, arrow.status), []).append(arrow)
    return tuple(Box(tuple(several)) for several in found.values())


def choice_of(row: Row) -> Choice:
    """Return the conditions of a row, and the names of its effects."""
    return row.conditions, tuple(map(name_of, row.effects))


def _gathered(single: Iterable[tuple[str, enum.IntEnum, enum.IntEnum, str, Choice, Status]]) -> tuple[Arrow, ...]:
    """Merge rows that differ only in the source, then rows that differ only in guards and effects."""
    sources: dict[tuple[str, enum.IntEnum, str, Choice, Status], set[enum.IntEnum]] = {}
    for trigger, source, target, kind, choice, status in single:
        sources.setdefault((trigger, target, kind, choice, status), set()).add(source)
    choices: dict[tuple[str, tuple[enum.IntEnum, ...], enum.IntEnum, str, Status], list[Choice]] = {}
    for (trigger, target, kind, choice, status), found in sources.items():
        choices.setdefault((trigger, tuple(sorted(found)), target, kind, status), []).append(choice)
    return tuple(
        Arrow(trigger, source, target, kind, tuple(several), status)
        for (trigger, source, target, kind, status), several in choices.items()
    )


def entity_paths(spec: Spec, bounds: Mapping[str, int]) -> dict[str, re.Pattern[str]]:
    """Return for each machine the paths of its states in a trace, with a group for each index of the entity."""
    root = spec.space(bounds).root
    found = {}
    for machine in spec.machines:
        (path,) = machine_paths(root, machine.name)
        text = "".join(r"\[(\d+)\]" if part == "[]" else rf"\.{re.escape(part)}" for part in path)
        found[machine.name] = re.compile(text.removeprefix(r"\."))
    return found


# ---------------------------------------------------------------------------------------------------------------------
# Two eras


def changes(older: Machine, newer: Machine) -> tuple[ComparedChange, ...]:
    """Return how each (trigger, source, target) of two tables compares, including unchanged ones.

    Raises:
        SpecError: the tables have different states, so one picture cannot show both; an older era may lack some.
    """
    names = [[state.name for state in machine.states] for machine in (older, newer)]
    lacks_some = older.name == newer.name and set(names[0]) <= set(names[1])
    if names[0] != names[1] and not lacks_some:
        raise SpecError(
            f"machines {older.name} and {newer.name} have different states ({', '.join(names[0])}; {', '.join(names[1])}); "
            "compare two eras of one machine"
        )
    before, after = _by_pair(older), _by_pair(newer)
    found = []
    for key in [*after, *(key for key in before if key not in after)]:
        old, new = before.get(key, ()), after.get(key, ())
        status: Status = "added" if not old else "removed" if not new else "same" if set(old) == set(new) else "changed"
        trigger, source, target, kind = key
        found.append(ComparedChange(status, trigger, newer.states[source], newer.states[target], kind, old, new))
    return tuple(found)


def compared(older: Machine, newer: Machine) -> tuple[Arrow, ...]:
    """Return the arrows of both tables in one picture, each with its status."""
    return _gathered(
        (change.trigger, change.source, change.target, change.kind, choice, _status(change, choice))
        for change in changes(older, newer)
        for choice in (*change.newer, *(choice for choice in change.older if choice not in change.newer))
    )


def _status(change: ComparedChange, choice: Choice) -> Status:
    if choice not in change.newer:
        return "removed"
    if choice not in change.older:
        return "added"
    return "same"


def _by_pair(machine: Machine) -> dict[tuple[str, str, str, str], tuple[Choice, ...]]:
    pairs: dict[tuple[str, str, str, str], list[Choice]] = {}
    for row in machine.rows:
        for source in row.sources:
            pairs.setdefault((row.trigger, source.name, row.target.name, row.kind), []).append(choice_of(row))
    return {pair: tuple(choices) for pair, choices in pairs.items()}
