"""Bounds of an exploration, the limits that are stated with them, and the errors for values beyond a limit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from kafka_spec.spec.language.integers import unusable


class SpecError(Exception):
    """A specification, a table or a request for a check is wrong; the message names the place and the cure."""


class OutOfDomain(SpecError):  # noqa: N818 - says what happened
    """A store left a limit that the specification states as a fact: the type invariant is violated."""


class BadAccess(SpecError):  # noqa: N818 - says what happened
    """A guard or an effect reads or changes something that does not exist; compiled code detects the same."""


class OutOfBound(Exception):  # noqa: N818 - no error: a step that the exploration leaves out
    """A store left a limit that only a bound of the exploration sets; `args[0]` names the bound."""


@dataclass(frozen=True)
class Bound:
    """A named limit of the exploration, a value of `k` at run time.

    `low` and `high` are the values a user may ask for, both included; `meaning` says what is counted.
    """

    name: str
    low: int
    high: int
    meaning: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not isinstance(self.meaning, str):
            raise SpecError(f"bound {self.name}: write Bound(name, low, high, meaning); name and meaning are texts")
        for value in (self.low, self.high):
            if reason := unusable(value):
                raise SpecError(f"bound {self.name}: {value!r} {reason}")
        if self.low > self.high:
            raise SpecError(f"bound {self.name}: from {self.low} to {self.high} there is no value; the lower comes first")

    def __add__(self, plus: int) -> Limit:
        return Limit(self, plus)

    def __sub__(self, minus: int) -> Limit:
        return Limit(self, -minus)


@dataclass(frozen=True)
class Capacity(Bound):
    """How much a container holds whose capacity was left out: a search that needs more begins again with twice as much.

    So it limits nothing, up to `high`. Without a value it begins at `first`.
    """

    first: int = 4


def capacities_in(bounds: Mapping[str, Bound]) -> dict[str, Capacity]:
    """Return those of some bounds that are capacities which were left out, by name."""
    return {name: bound for name, bound in bounds.items() if isinstance(bound, Capacity)}


CAPACITY = "capacity_of_"
"""How the names of these bounds begin."""


def capacity_of(items: str) -> Capacity:
    """Return the capacity of containers of these items if none is said: one for all, so that one can be copied to another."""
    return Capacity(f"{CAPACITY}{items}", 1, 4096, f"{items} that a container may hold; a search that needs more doubles it")


@dataclass(frozen=True)
class Limit:
    """A bound plus a constant, such as `MAX_RECORDS - 1`."""

    bound: Bound
    plus: int = 0

    def __add__(self, plus: int) -> Limit:
        return Limit(self.bound, self.plus + plus)

    def __sub__(self, minus: int) -> Limit:
        return Limit(self.bound, self.plus - minus)


Number: TypeAlias = int | Bound | Limit


def limit_of(number: object, where: str) -> Number:
    """Return a limit of a domain that is being made, or refuse what is none."""
    if not isinstance(number, int | Bound | Limit):
        raise SpecError(f"{where}: a limit is a number or a Bound, and not {number!r}")
    return number


def value_at_bounds(number: Number, bounds: Mapping[str, int], place: str) -> int:
    """Return the value of a number at these bounds."""
    number = limit_of(number, place)
    if isinstance(number, int):
        value = number
    else:
        limit = number if isinstance(number, Limit) else Limit(number)
        value = bounds[limit.bound.name] + limit.plus
    if reason := unusable(value):
        raise SpecError(f"{place}: {value!r} {reason}")
    return value


def counted_by(number: Number) -> str:
    """Return the name of the bound that a number is, or ""."""
    limit = number if isinstance(number, Limit) else Limit(number) if isinstance(number, Bound) else None
    return limit.bound.name if limit is not None and limit.plus == 0 else ""


def bound_of(number: Number) -> Bound | None:
    """Return the bound in a number, if there is one."""
    if isinstance(number, Limit):
        return number.bound
    return number if isinstance(number, Bound) else None
