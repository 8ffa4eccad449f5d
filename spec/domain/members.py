"""Sets of members of a declared set, held as bit masks. The functions are ordinary ones of the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from kafka_spec.spec.integers import same_numbers

NONE = -1
"""No member: the value of a leader field when nobody leads (Kafka: LeaderAndIsr.NoLeader)."""


@same_numbers
class MemberSet(int):
    """A set of members, held as a bit mask: compiled code and the state of a model have the plain number.

    `MemberSet.of(numbers)` makes one, iterating gives its members in ascending order, and `&`, `|` and `~` make sets of sets.
    """

    __slots__ = ()

    @classmethod
    def of(cls, members: Iterable[int]) -> MemberSet:
        """Return the set of these members."""
        mask = 0
        for member in members:
            mask |= 1 << member
        return cls(mask)

    def __and__(self, other: int) -> MemberSet:
        return MemberSet(int.__and__(self, other))

    def __or__(self, other: int) -> MemberSet:
        return MemberSet(int.__or__(self, other))

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> MemberSet:
        return MemberSet(int.__invert__(self))

    def __contains__(self, member: int) -> bool:
        return member >= 0 and bool(self >> member & 1)

    def __iter__(self) -> Iterator[int]:
        left = int(self) & (1 << self.bit_length()) - 1
        while left:  # member numbers may be large, and few
            lowest = left & -left
            yield lowest.bit_length() - 1
            left ^= lowest

    def __repr__(self) -> str:
        return show_set(self)


NO_MEMBERS = MemberSet()
"""The empty set."""


def contains(members: int, member: int) -> bool:
    """Whether the member is in the set."""
    return (members >> member) & 1 == 1


def only(member: int) -> MemberSet:
    """The set of this member alone."""
    return NO_MEMBERS | (1 << member)


def including(members: int, member: int) -> MemberSet:
    """The set and the member."""
    return only(member) | members


def excluding(members: int, member: int) -> MemberSet:
    """The set without the member."""
    return ~only(member) & members


def first_members(count: int) -> MemberSet:
    """The set of the members below a number: all of them, if there are so many."""
    return NO_MEMBERS | ((1 << count) - 1)


def size(members: int) -> int:
    """How many members the set has."""
    found = 0
    for member in range(62):
        found += members >> member & 1
    return found


def show_set(members: int) -> str:
    """Print a bit mask as a set of member numbers, `{0, 2}`."""
    return "{" + ", ".join(map(str, MemberSet(members))) + "}"


# Kafka's names of the same
BrokerSet: TypeAlias = MemberSet
NO_BROKERS = NO_MEMBERS
first_brokers = first_members
