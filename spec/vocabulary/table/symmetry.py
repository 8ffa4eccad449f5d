"""Symmetry: members of a declared set are interchangeable, so states that differ by a renaming of them have one normal form.

The normal form of a state is one of its renamings. Each member has a *signature*: a sum over what the state says of it, in which no
member's number occurs. Members are numbered in the order of their signatures. Where signatures are equal all such numberings are
tried, and that with the least state wins. So the form depends on the signatures, and whether it is one for all renamings does not.

Several sets are renamed one inside the other: for each numbering of the first set that its signatures allow, the form under the
others. A signature of the first set says nothing of the numbers in the others, which are not fixed yet.

That members are interchangeable is an assertion about rules and properties. A search judges it in states that it visits
(model_check/interpreter/symmetry_check.py), and `check --verify normal_form` compares it with the search of all states.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from kafka_spec.spec.language.domain import NONE, Array, Bound, Collection, MemberSet, Record, Scalar, SpecError, Type
from kafka_spec.spec.language.domain.types import items_of, order

MOST_MEMBERS = 8
"""The most interchangeable members: where signatures do not tell them apart, all their orders are tried."""
WORD = (1 << 64) - 1

Renaming = tuple[int, ...]
"""The new number of each member."""


@dataclass(frozen=True, init=False)
class Symmetric:
    """The members that a bound counts are interchangeable: `Symmetric(REPLICAS)`, and `Symmetric(CLIENTS, REPLICAS)` of several.

    It reads from the domains where they are named: `Member(REPLICAS)`, `MemberOrNone(REPLICAS)`, `SetOf(REPLICAS)`, and as the
    indices of an `ArrayOf(..., REPLICAS)`.
    """

    sets: tuple[Bound, ...]

    def __init__(self, *sets: Bound) -> None:
        object.__setattr__(self, "sets", sets)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the bounds."""
        return tuple(bound.name for bound in self.sets)


def names_members(type_: Type, members: str) -> bool:
    """Whether a renaming of the members changes anything inside a type."""
    if isinstance(type_, Record):
        return any(names_members(field, members) for field in type_.fields.values())
    if isinstance(type_, Scalar):
        return type_.members == members
    return (isinstance(type_, Array) and type_.members == members) or names_members(type_.item, members)


def nests_members(type_: Type, members: str) -> bool:
    """Whether anything inside a type is a set of sets of the members."""
    if isinstance(type_, Record):
        return any(nests_members(field, members) for field in type_.fields.values())
    return type_.members_inside == members if isinstance(type_, Scalar) else nests_members(type_.item, members)


def number_of_members(type_: Type, members: str) -> int:
    """Return how many members there are, as the state's type says.

    Raises:
        SpecError: there are too many.
    """
    count = next(_counts(type_, members))
    if count > MOST_MEMBERS:
        raise SpecError(
            f"{count} {members} are interchangeable, and a search tries the orders of at most {MOST_MEMBERS}; search all "
            "states, or ask for fewer"
        )
    return count


def check_orders(type_: Type, sets: Sequence[str]) -> None:
    """Refuse sets of members that have more orders than a search tries.

    Raises:
        SpecError: there are too many.
    """
    orders = math.prod(math.factorial(number_of_members(type_, members)) for members in sets)
    if orders > (most := math.factorial(MOST_MEMBERS)):
        raise SpecError(
            f"the {' and '.join(sets)} have {orders:,} orders together, and a search tries at most {most:,}; search all states, or "
            "ask for fewer members"
        )


def _counts(type_: Type, members: str) -> Iterator[int]:
    if isinstance(type_, Record):
        for field in type_.fields.values():
            yield from _counts(field, members)
    elif isinstance(type_, Scalar):
        if type_.members == members:
            yield type_.high.bit_length() if type_.many else type_.high + 1
    else:
        if isinstance(type_, Array) and type_.members == members:
            yield type_.length
        yield from _counts(type_.item, members)


def renamed(type_: Type, value: Any, members: str, to: Renaming) -> Any:
    """Return a copy of a value in which member m is called `to[m]`."""
    if isinstance(type_, Scalar):
        if type_.members != members:
            return value
        if type_.many:
            return int(MemberSet.of(to[member] for member in MemberSet(value)))
        return to[value] if value != NONE else value
    if isinstance(type_, Record):
        twin = type_.live.__new__(type_.live)
        twin.__dict__.update({name: renamed(field, getattr(value, name), members, to) for name, field in type_.fields.items()})
        return twin
    items = [renamed(type_.item, item, members, to) for item in items_of(value)]
    if isinstance(type_, Array) and type_.members == members:
        items = [item for _, item in sorted(zip(to, items, strict=True), key=lambda pair: pair[0])]
    if isinstance(type_, Collection):
        items.sort(key=lambda item: order(type_.item, item))
    return type_.holding(items)


def weight(path: Sequence[str]) -> int:
    """Return the odd number by which a signature counts the value at a path of types (FNV-1a).

    It has 48 bits, so that sums seldom exceed a word. Then a step, which changes a few terms, seldom changes the order of the
    members, and a search has little to rename.
    """
    number = 0xCBF29CE484222325
    for letter in ".".join(path).encode():
        number = (number ^ letter) * 0x100000001B3 & WORD
    return number >> 16 | 1


def signatures(type_: Type, value: Any, members: str, others: Sequence[str] = ()) -> list[int]:
    """Return the signature of each member in a state, in which the members of `others` have no numbers."""
    found = [0] * number_of_members(type_, members)
    add_signs(type_, value, members, (), 1, (), found, others)
    return [sum_ & WORD for sum_ in found]


def add_signs(
    type_: Type,
    value: Any,
    members: str,
    path: tuple[str, ...],
    factor: int,
    owners: tuple[int, ...],
    found: list[int],
    others: Sequence[str] = (),
) -> None:
    """Add what a value says of members; it is in the items of the `owners`, and `factor` is that of its place in sequences."""
    if isinstance(type_, Record):
        for name, field in type_.fields.items():
            add_signs(field, getattr(value, name), members, (*path, name), factor, owners, found, others)
    elif isinstance(type_, Scalar):
        if type_.members in others:
            value = int(value).bit_count() if type_.many else int(value != NONE)
        if type_.members != members:
            for depth, owner in enumerate(owners):
                found[owner] += value * factor * weight((*path, str(depth)))
            return
        named = list(MemberSet(value)) if type_.many else [value] if value != NONE else []
        for member in named:
            found[member] += factor * weight((*path, "named"))
            for depth, owner in enumerate(owners):
                found[owner] += factor * weight((*path, str(depth), "itself" if owner == member else "another"))
    else:
        own = isinstance(type_, Array) and type_.members == members
        unordered = own or isinstance(type_, Collection) or (isinstance(type_, Array) and type_.members in others)
        for index, item in enumerate(items_of(value)):
            place = factor if unordered else factor * (2 * index + 3) & WORD
            add_signs(type_.item, item, members, (*path, "[]"), place, (*owners, index) if own else owners, found, others)


def rename_to_form(part: Symmetric, root: Record, s: Any) -> None:
    """Rename the members in a state so that it is the normal form of all its renamings."""
    s.__dict__.update(least(root, s, part.names).__dict__)


def least(root: Record, s: Any, sets: Sequence[str]) -> Any:
    """Return the normal form of a state's renamings of the members of some sets."""
    if not sets:
        return s
    members, *others = sets
    signed = signatures(root, s, members, others)
    ranked = sorted(range(len(signed)), key=lambda member: signed[member])
    first = renamed(root, s, members, inverse(ranked))
    tied = [place for place, (one, other) in enumerate(itertools.pairwise(ranked)) if signed[one] == signed[other]]
    key = order(root, first)
    if all(order(root, renamed(root, first, members, exchange(len(signed), place))) == key for place in tied):
        return least(root, first, others)
    numberings = (to for to in itertools.permutations(range(len(signed))) if keeps_order(signed, to))
    forms = (least(root, renamed(root, s, members, to), others) for to in numberings)
    return min(forms, key=lambda form: order(root, form))


def inverse(ranked: Sequence[int]) -> Renaming:
    """Return the numbering that puts the members in this order."""
    return tuple(ranked.index(member) for member in range(len(ranked)))


def exchange(count: int, place: int) -> Renaming:
    """Return the renaming that exchanges a member and the next."""
    return (*range(place), place + 1, place, *range(place + 2, count))


def keeps_order(signed: Sequence[int], to: Renaming) -> bool:
    """Whether a numbering is in the order of the signatures."""
    return all(to[one] < to[other] for one, mine in enumerate(signed) for other, its in enumerate(signed) if mine < its)


def check_symmetric(part: Symmetric, root: Record, where: str) -> None:
    """Refuse members that the state does not name, and the same members twice."""
    if not part.sets or (wrong := [one for one in part.sets if not isinstance(one, Bound)]):
        shown = ", ".join(map(repr, wrong)) if part.sets else ""
        raise SpecError(f"{where}: Symmetric({shown}): name the bound that counts the members, as in Member(REPLICAS)")
    if len(set(part.sets)) < len(part.sets):
        raise SpecError(f"{where}: Symmetric({', '.join(part.names)}): a set of members is named twice; name it once")
    for name in part.names:
        if not names_members(root, name):
            raise SpecError(
                f"{where}: no field names one of the {name}; declare them Member({name.upper()}), MemberOrNone, SetOf "
                f"or ArrayOf(..., {name.upper()})"
            )
    if any(nests_members(root, name) for name in part.names):
        raise SpecError(
            f"{where}: the state holds sets of sets of {' or '.join(part.names)}, which are not renamed; search all states"
        )
