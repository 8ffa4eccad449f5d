"""The values of a type, numbered from 0 in their order: what a parameter of a rule ranges over that is not a number itself."""

from __future__ import annotations

import math
from typing import Any

from kafka_spec.spec.language.domain.limits import SpecError
from kafka_spec.spec.language.domain.types import Array, Collection, Record, Scalar, Sequence, Type

MOST = 1 << 31
"""The most values of a type that are numbered."""


def count_of(type_: Type, place: str) -> int:
    """Return how many values a type has; `place` names what ranges over them.

    Raises:
        SpecError: they are not numbered, or are too many.
    """
    count = check_numbered(type_, place)
    if count > MOST:
        raise SpecError(f"{place}: it has {count:,} values, of which there may be {MOST:,}; take smaller bounds, or fewer fields")
    return count


def check_numbered(type_: Type, place: str) -> int:
    """Refuse a type whose values are not numbered; return how many there are."""
    match type_:
        case Scalar():
            if type_.machine is not None or type_.counter:
                raise SpecError(f"{place}: the state of a machine and the counters of firings are not chosen; leave them out")
            return type_.high - type_.low + 1
        case Record(tags=tags) if tags is not None:
            raise SpecError(f"{place}: the fields of a tagged message depend on its tag; choose the tag and the fields apart")
        case Record():
            return math.prod(check_numbered(field, place) for field in type_.fields.values())
        case Array():
            return int(check_numbered(type_.item, place) ** type_.length)
        case Collection():
            raise SpecError(f"{place}: the sets and bags of records are not numbered; choose what is added, one record a step")
    if type_.distinct:
        raise SpecError(f"{place}: distinct items are not numbered; write Among(SequenceOf(...), PREDICATE) of what differs")
    return sum(check_numbered(type_.item, place) ** length for length in range(type_.capacity + 1))


def nth(type_: Type, number: int) -> Any:
    """Return the value of a number below `count_of` the type.

    Fields and items that come first count most, and shorter sequences come first: the order of elements in a set.
    """
    if isinstance(type_, Scalar):
        return type_.low + number
    if isinstance(type_, Record):
        value = type_.fresh()
        for name, field in reversed(list(type_.fields.items())):
            number, digit = divmod(number, check_numbered(field, ""))
            value.__dict__[name] = nth(field, digit)
        return value
    length, count = getattr(type_, "length", 0), check_numbered(type_.item, "")
    if isinstance(type_, Sequence):
        while number >= count**length:
            number -= count**length
            length += 1
    items: list[Any] = []
    for _ in range(length):
        number, digit = divmod(number, count)
        items.insert(0, nth(type_.item, digit))
    return type_.holding(items)
