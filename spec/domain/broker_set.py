"""Sets of brokers, held as bit masks. The functions are ordinary ones of the language of guards and effects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kafka_spec.spec.integers import same_numbers

NONE = -1
"""No broker: the value of a leader field when nobody leads (Kafka: LeaderAndIsr.NoLeader)."""


@same_numbers
class BrokerSet(int):
    """A set of brokers, held as a bit mask: compiled code and the state of a model have the plain number.

    `BrokerSet.of(numbers)` makes one, iterating gives its brokers in ascending order, and `&`, `|` and `~` make sets of sets.
    """

    __slots__ = ()

    @classmethod
    def of(cls, brokers: Iterable[int]) -> BrokerSet:
        """Return the set of these brokers."""
        mask = 0
        for broker in brokers:
            mask |= 1 << broker
        return cls(mask)

    def __and__(self, other: int) -> BrokerSet:
        return BrokerSet(int.__and__(self, other))

    def __or__(self, other: int) -> BrokerSet:
        return BrokerSet(int.__or__(self, other))

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> BrokerSet:
        return BrokerSet(int.__invert__(self))

    def __contains__(self, broker: int) -> bool:
        return broker >= 0 and bool(self >> broker & 1)

    def __iter__(self) -> Iterator[int]:
        left = int(self) & (1 << self.bit_length()) - 1
        while left:  # broker numbers may be large, and few
            lowest = left & -left
            yield lowest.bit_length() - 1
            left ^= lowest

    def __repr__(self) -> str:
        return show_set(self)


NO_BROKERS = BrokerSet()
"""The empty set."""


def contains(brokers: int, broker: int) -> bool:
    """Whether the broker is in the set."""
    return (brokers >> broker) & 1 == 1


def only(broker: int) -> BrokerSet:
    """The set of this broker alone."""
    return NO_BROKERS | (1 << broker)


def including(brokers: int, broker: int) -> BrokerSet:
    """The set and the broker."""
    return only(broker) | brokers


def excluding(brokers: int, broker: int) -> BrokerSet:
    """The set without the broker."""
    return ~only(broker) & brokers


def first_brokers(count: int) -> BrokerSet:
    """The set of the brokers below a number: all of them, if there are so many."""
    return NO_BROKERS | ((1 << count) - 1)


def show_set(brokers: int) -> str:
    """Print a bit mask as a set of broker numbers, `{0, 2}`."""
    return "{" + ", ".join(map(str, BrokerSet(brokers))) + "}"
