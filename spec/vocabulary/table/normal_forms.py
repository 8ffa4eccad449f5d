"""Normal forms: what a state is brought into before a search compares it with those it has seen.

States that differ only in what can make no difference any more have one normal form, so a search of normal forms has fewer states.
A part of a normal form is a function of the language of guards and effects, which changes the state, or `Ranks`, which reads
from the domains which fields it changes: a new field of such a domain is covered, and a field that no part knows stays as it is.
`Symmetric` does so for members that are interchangeable (symmetry.py).

Soundness is not assumed: `check --verify normal_form` compares it with the search of all states.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from kafka_spec.spec.language import Function, is_function, source_of
from kafka_spec.spec.language.domain import (
    Array,
    Collection,
    Items,
    OutOfBound,
    OutOfDomain,
    Record,
    Scalar,
    Sequence,
    Space,
    SpecError,
    Type,
    item_at,
    items_of,
    path_of,
    type_at,
    value_at,
)
from kafka_spec.spec.vocabulary.table.functions import Name, call, check_function
from kafka_spec.spec.vocabulary.table.symmetry import Symmetric, check_symmetric, rename_to_form

MOST_NUMBERS = 62
"""The most numbers of a domain with ranks: compiled code keeps the set of used numbers in one word."""


@dataclass(frozen=True)
class Ranks:
    """Replace numbers of which only the order counts by their ranks, in all fields whose domain has the name `of`.

    The numbers up to `keep` stand for themselves: they say that there is none. The field at `newest` holds the largest number,
    and new numbers are made from it by adding 1; where it holds none, numbers begin. A state in which another field holds a
    larger one ends the search with an error: numbers that begin again while old ones are in use must not be replaced.

    With `each`, the label of an array, there is one order for each of its indices: that of a field is the innermost such index
    on its path, or where there is none the value of the field `told_by` of the same record. With `equality` a number is only
    ever compared for equality with the newest one: all older ones become `keep`.

    `limits` are the ends of the paths of fields, such as `readers[].seen`, of which only counts which numbers of other fields
    are smaller: a limit gets the rank of the smallest of the others that is not smaller. The newest number is never smaller.
    """

    of: Name
    newest: str
    keep: int = 0
    each: str = ""
    told_by: str = ""
    equality: bool = False
    limits: tuple[str, ...] = ()

    def is_limit(self, path: str) -> bool:
        """Whether the field at this path, whose indices are left out, is a limit."""
        return any(f".{path}".endswith(f".{limit}") for limit in self.limits)


Part: TypeAlias = Function | Ranks | Symmetric
"""A part of a normal form."""


def bring_into_form(parts: tuple[Part, ...], root: Record, s: Any, k: Any, what: str = "normal form") -> None:
    """Bring a state into its normal form, or into its view, which `what` says.

    Raises:
        SpecError: a part cannot be applied to this state.
    """
    for part in parts:
        if isinstance(part, Ranks):
            _rank(part, root, s)
            continue
        if isinstance(part, Symmetric):
            rename_to_form(part, root, s)
            continue
        try:
            call(part, {"s": s, "k": k})
        except (OutOfBound, OutOfDomain) as error:
            raise SpecError(f"{what}: {part.__name__} leaves a domain: {error}") from None


def holds_numbers(type_: Type, name: Name) -> bool:
    """Whether a field of the domain with this name is inside the type."""
    if isinstance(type_, Record):
        return any(holds_numbers(field, name) for field in type_.fields.values())
    return type_.name == name if isinstance(type_, Scalar) else holds_numbers(type_.item, name)


def newest_of(part: Ranks, root: Record, s: Any, order: int) -> int:
    """Return the largest number of an order, as the field at `newest` holds it."""
    return int(value_at(s, path_of(part.newest, {part.each: order} if part.each else {})))


def _rank(part: Ranks, root: Record, s: Any) -> None:
    cells = list(_cells(part, root, s, 0))
    for order in {cell.order for cell in cells}:
        mine = [cell for cell in cells if cell.order == order]
        newest = newest_of(part, root, s, order)
        if (largest := max(cell.number for cell in mine)) > newest:
            raise SpecError(f"normal form: {part.of} {largest} is larger than {newest}, the newest one in {part.newest}")
        used = {cell.number for cell in mine if not part.is_limit(cell.path)}
        for cell in mine:
            _replace(cell.holder, cell.key, rank_of(part, cell.number, used, newest))


def rank_of(part: Ranks, number: int, used: set[int], newest: int) -> int:
    """Return the new number of one; `used` are those that are not limits."""
    if number <= part.keep:
        return number
    if part.equality:
        return part.keep + (number == newest)
    return part.keep + 1 + sum(part.keep < other < number for other in used)


@dataclass(frozen=True)
class _Cell:
    """A number of the domain: where it stands, its path without indices, and its order."""

    holder: Any
    key: Any
    path: str
    order: int

    @property
    def number(self) -> int:
        return _content(self.holder, self.key)


def _cells(part: Ranks, type_: Type, value: Any, order: int, known: bool = False, path: str = "") -> Iterator[_Cell]:
    """Yield each number of the domain."""
    if isinstance(type_, Record):
        for name, field in type_.fields.items():
            inside = f"{path}.{name}".removeprefix(".")
            if isinstance(field, Scalar) and field.name == part.of:
                yield _Cell(value, name, inside, getattr(value, part.told_by) if part.told_by and not known else order)
            elif not isinstance(field, Scalar) and holds_numbers(field, part.of):
                yield from _cells(part, field, getattr(value, name), order, known, inside)
        return
    assert isinstance(type_, Array | Sequence)
    for index, item in enumerate(items_of(value)):
        labelled = isinstance(type_, Array) and bool(part.each) and type_.label == part.each
        inner = index if labelled else order
        if isinstance(type_.item, Scalar):
            yield _Cell(value, index, f"{path}[]", inner)
        else:
            yield from _cells(part, type_.item, item, inner, known or labelled, f"{path}[]")


def _content(holder: Any, key: Any) -> int:
    return int(item_at(holder, key) if isinstance(holder, Items) else getattr(holder, key))


def _replace(holder: Any, key: Any, number: int) -> None:
    if isinstance(holder, list):
        list.__setitem__(holder, key, number)
    else:
        holder.__dict__[key] = number


# ---------------------------------------------------------------------------------------------------------------------
# What is refused when a spec is declared


def check_normal_form(parts: tuple[Part, ...], space: Space, where: str) -> None:
    """Refuse a function that fires or takes what there is not, and ranks of numbers that the state does not have."""
    if not isinstance(parts, tuple):
        raise SpecError(f"{where}: it is not a tuple of parts; write (one,)")
    if len([part for part in parts if isinstance(part, Symmetric)]) > 1:
        raise SpecError(
            f"{where}: sets of interchangeable members are renamed together; name them in one, Symmetric(CLIENTS, SERVERS)"
        )
    for part in parts:
        if isinstance(part, Ranks):
            _check_ranks(part, space.root, where)
            continue
        if isinstance(part, Symmetric):
            check_symmetric(part, space.root, where)
            continue
        if not is_function(part):
            raise SpecError(f"{where}: {part!r} is neither a function of s and k that changes a state, nor Ranks or Symmetric")
        check_function(part, {"s", "k"}, where)
        if source_of(part).fires:
            raise SpecError(f"{source_of(part).place}: {where}: {part.__name__} fires a machine, which only a step may do")


def _check_ranks(part: Ranks, root: Record, where: str) -> None:
    where = f"{where}, ranks of {part.of}"
    if not holds_numbers(root, part.of):
        raise SpecError(f"{where}: no field's domain has this name; name the domain, as in Range(0, 15, name={part.of!r})")
    newest = type_at(root, path_of(part.newest, {part.each: 0} if part.each else {}))
    if not isinstance(newest, Scalar) or newest.name != part.of:
        raise SpecError(f"{where}: {part.newest} is not a field of this domain")
    declared = list(_declared(part, root, ""))
    for limit in part.limits:
        if not any(replace(part, limits=(limit,)).is_limit(path) for path, _, _ in declared):
            raise SpecError(f"{where}: the limit {limit} is not the end of the path of a field of this domain")
    if part.is_limit(re.sub(r"\[[^]]*\]", "[]", part.newest)):
        raise SpecError(f"{where}: the newest number is not a limit")
    for path, type_, whose in declared:
        if type_.high - type_.low > MOST_NUMBERS or type_.bound is not None:
            raise SpecError(f"{where}: {path} holds {type_.low}..{type_.high}; give it a fixed domain of {MOST_NUMBERS} numbers")
        if (type_.low, type_.high) != (newest.low, newest.high) or not type_.low <= type_.initial <= part.keep <= type_.high:
            raise SpecError(f"{where}: {path} differs from {part.newest}, or its initial number is not kept")
        if part.each and not whose:
            raise SpecError(f"{where}: {path} is under no index of a {part.each}, and nothing identifies whose number it is")


def _declared(part: Ranks, type_: Type, path: str, whose: bool = False) -> Iterator[tuple[str, Scalar, bool]]:
    """Yield each field of the domain: its path, its type, and whether it is known to which order it belongs."""
    if isinstance(type_, Record):
        for name, field in type_.fields.items():
            teller = isinstance(field, Scalar) and isinstance(type_.fields.get(part.told_by), Scalar)
            yield from _declared(part, field, f"{path}.{name}".removeprefix("."), whose or teller)
    elif isinstance(type_, Scalar):
        if type_.name == part.of:
            yield path, type_, whose
    else:
        if isinstance(type_, Collection) and holds_numbers(type_.item, part.of):
            raise SpecError(f"ranks of {part.of}: {path} is a {type_.what}, whose elements would have to be sorted again")
        labelled = isinstance(type_, Array) and type_.label == part.each
        yield from _declared(part, type_.item, f"{path}[]", whose or labelled)
