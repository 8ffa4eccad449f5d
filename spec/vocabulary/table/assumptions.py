"""What a version assumes: decisions, bound sets, and abstractions."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.language.integers import unusable
from kafka_spec.spec.vocabulary.table.functions import Name
from kafka_spec.spec.vocabulary.table.kinds import check_kinds


@dataclass(frozen=True)
class Decision:
    """A named choice of a version or an era, read as `k.NAME`; `value` is one of the members of an IntEnum."""

    name: Name
    value: enum.IntEnum
    meaning: str

    def __post_init__(self) -> None:
        if reason := unusable(self.value):
            raise SpecError(f"decision {self.name}: {self.value!r} {reason}")


@dataclass(frozen=True)
class BoundSet:
    """Named values for all bounds of a spec, and their purpose."""

    name: Name
    values: Mapping[str, int]
    why: str

    def __post_init__(self) -> None:
        check_kinds(self, f"bound set {self.name}", {"name": str, "values": Mapping, "why": str})


def family(defaults: Mapping[Name, int], name: Name, why: str, /, **changes: int) -> BoundSet:
    """Return the bound set with these defaults and changes, in the order of the defaults.

    Raises:
        SpecError: if a change is of a name that the defaults lack.
    """
    if unknown := [change for change in changes if change not in defaults]:
        raise SpecError(f"bound set {name}: no bound is named {unknown[0]}; known: {', '.join(defaults)}")
    return BoundSet(name, {**defaults, **changes}, why)


def beginning_with(name: str, bound_sets: tuple[BoundSet, ...]) -> tuple[BoundSet, ...]:
    """Return the bound sets with the named one first, which is the default of a check."""
    (first,) = [bounds for bounds in bound_sets if bounds.name == name]
    return (first, *(bounds for bounds in bound_sets if bounds is not first))


@dataclass(frozen=True)
class Abstraction:
    """Something the model leaves out, and why its verdict is still valid, or what the verdict does not cover."""

    what: str
    why: str
