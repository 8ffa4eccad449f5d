"""A family: a bound set that says what it is for, how `fixed` is checked there, and what cannot be tested there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_spec.spec.vocabulary.table import BoundSet, Name, Untestable
from kafka_spec.spec.vocabulary.table import family as bound_set


@dataclass(frozen=True)
class Family(BoundSet):
    """A bound set of a world.

    `checked`: `fixed` is checked there, else only cases and eras are. `without` names properties, or kinds of properties, that
    are not judged of `fixed`, for time. `normal_form`: searches that run to their end search normal forms. `cannot_test`: what no
    search of `fixed` can test there.
    """

    checked: bool = True
    without: tuple[str, ...] = ()
    normal_form: bool = False
    cannot_test: tuple[Untestable, ...] = ()


def family(
    defaults: Mapping[Name, int],
    name: Name,
    why: str,
    /,
    checked: bool = True,
    without: tuple[str, ...] = (),
    normal_form: bool = False,
    cannot_test: tuple[Untestable, ...] = (),
    **changes: int,
) -> Family:
    """Return the family with these defaults and changes of bounds, in the order of the defaults."""
    values = bound_set(defaults, name, why, **changes).values
    return Family(name, values, why, checked, without, normal_form, cannot_test)
