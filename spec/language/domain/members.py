"""Sets of members of a declared set, held as bit masks. The functions are ordinary ones of the language."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from kafka_spec.spec.language.domain.limits import BadAccess
from kafka_spec.spec.language.integers import same_numbers

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


def singleton(member: int) -> MemberSet:
    """The set of this member alone."""
    return NO_MEMBERS | (1 << member)


def including(members: int, member: int) -> MemberSet:
    """The set and the member."""
    return singleton(member) | members


def excluding(members: int, member: int) -> MemberSet:
    """The set without the member."""
    return ~singleton(member) & members


def first_members(count: int) -> MemberSet:
    """The set of the members below a number: all of them, if there are so many."""
    return NO_MEMBERS | ((1 << count) - 1)


def members_of(members: int) -> MemberSet:
    """Give the members of a set to a loop, in ascending order.

    Raises:
        BadAccess: the number is not a set of members numbered 0 to 61.
    """
    if not 0 <= members < 1 << 62:
        raise BadAccess(f"members_of({members}): a set is a number of 0 or more, below 2**62")
    return MemberSet(members)


def set_of(members: Iterable[int]) -> MemberSet:
    """The set of what a generator gives: `set_of(i for i in range(k.servers) if is_up(s, i))`.

    Raises:
        BadAccess: a member is not numbered 0 to 61.
    """
    found = NO_MEMBERS
    for member in members:
        if not 0 <= member < 62:
            raise BadAccess(f"set_of(): {member} is not a member; members are numbered 0 to 61")
        found |= 1 << member
    return found


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
