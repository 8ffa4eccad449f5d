"""Firing: the one way in which the state of a machine changes; and `k`, which carries the tables that are fired."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kafka_spec.spec.language.domain import SpecError, as_fired, machine_paths
from kafka_spec.spec.language.integers import unusable
from kafka_spec.spec.vocabulary.table.functions import Name, call
from kafka_spec.spec.vocabulary.table.machines import Machine


class Overlap(SpecError):  # noqa: N818 - says what happened
    """Two rows of a table could both fire; their guards must exclude each other."""


@dataclass(frozen=True)
class Attempt:
    """The result of one `fire`: the row's target, or None if the table refused."""

    machine: Name
    entity: tuple[int, ...]
    trigger: str
    source: enum.IntEnum
    target: enum.IntEnum | None


class Constants:
    """`k`: bounds and decisions, as attributes. Values at run time, never part of compiled code.

    It also carries what `fire` needs besides the state: the spec's tables, and the list of attempts that `fire` adds to. Guards and
    effects can read only bounds and decisions.
    """

    __slots__ = ("__dict__", "_attempts", "_tables")

    def __init__(self, values: Mapping[str, int], machines: Iterable[Machine] = (), attempts: list[Attempt] | None = None) -> None:
        for name, value in values.items():
            if reason := unusable(value):
                raise SpecError(f"k.{name}: {value!r} {reason}")
        self.__dict__.update({name: int(value) for name, value in values.items()})
        self._tables = {machine.name: machine for machine in machines}
        self._attempts = [] if attempts is None else attempts

    def __getattr__(self, name: str) -> int:
        raise SpecError(f"k.{name} is neither a bound nor a decision of this spec; it has {', '.join(vars(self)) or 'none'}")


def fire(s: Any, k: Constants, machine: Machine, entity: tuple[int, ...], trigger: str) -> bool:
    """Change the state of one entity by the machine's table; its state changes in no other way.

    The table is the one that `k` carries under that name, so that a version that replaces a machine replaces it everywhere.
    Picks the row of that trigger whose sources hold the current state, whose guards all hold and of whose `unless` none does,
    runs its effects, and enters its target. Returns whether a row was found; a refused attempt changes nothing. Each attempt is
    recorded in `k`.

    Raises:
        Overlap: two rows could fire.
        SpecError: `k` carries no such table; the row waits for something that is not modelled yet.
    """
    root = type(s).__type__
    machine = table_of(k, machine)
    holder, place = _machine_place(root, s, machine, entity)
    source = machine.states(holder[place] if isinstance(place, int) else getattr(holder, place))
    scope = {"s": s, "k": k, **dict(zip(machine.entity, entity, strict=True))}
    rows = [row for row in machine.rows_of(trigger) if source in row.sources]
    picked = [
        row
        for row in rows
        if all(call(guard, scope) for guard in row.guards) and not any(call(guard, scope) for guard in row.unless)
    ]
    if len(picked) > 1:
        raise Overlap(
            f"machine {machine.name}: {trigger} in {source.name} fits {picked[0].label!r} and {picked[1].label!r}; "
            "make their guards exclude each other"
        )
    target = picked[0].target if picked else None
    k._attempts.append(Attempt(machine.name, entity, trigger, source, target))
    if target is None:
        return False
    if picked[0].waits_for:
        raise SpecError(f"machine {machine.name}: row {picked[0].label!r} waits for {picked[0].waits_for}")
    for effect in picked[0].effects:
        call(effect, scope)
    if isinstance(place, int):
        list.__setitem__(holder, place, int(target))
    else:
        as_fired(holder, place, int(target))
    return True


def table_of(k: Constants, machine: Machine) -> Machine:
    """Return the table that `k` carries under the name of a machine.

    Raises:
        SpecError: it carries none.
    """
    if machine.name not in k._tables:
        raise SpecError(f"machine {machine.name} is fired and k does not carry it; make k with spec.constants, or name it there")
    return k._tables[machine.name]


fire.__fires__ = True  # type: ignore[attr-defined]


def _machine_place(root: Any, s: Any, machine: Machine, entity: tuple[int, ...]) -> tuple[Any, Any]:
    """Return the holder of the machine's state and the field name or index in it."""
    (path,) = machine_paths(root, machine.name)
    indices = iter(entity)
    holder = s
    parts: list[str | int] = [next(indices) if part == "[]" else part for part in path]
    for part in parts[:-1]:
        holder = holder[part] if isinstance(part, int) else getattr(holder, part)
    return holder, parts[-1]
