"""What functions may do to options and maps: put, drop, present, value_of. Engines compile calls of these functions.

An option holds a value or none. A map has an option for each of its keys: `key in map`, `map[key]`, `len(map)` and `for key in map`
are of the keys that have a value.
"""

from __future__ import annotations

from typing import Any

from kafka_spec.spec.language.domain.limits import BadAccess
from kafka_spec.spec.language.domain.operations import item_given
from kafka_spec.spec.language.domain.types import Entries, Items, Maybe, item_at


def put(target: Any, /, *values: Any, **fields: int) -> None:
    """Give an option a value, or a key of a map: `put(option, value)`, `put(map, key, value)`; what was there is replaced.

    A record is given by its fields (the others hold their initial value), by another record, or by both.

    Raises:
        BadAccess: there is no such key, or the value is of another kind.
        OutOfBound: a number is beyond a bound.
        OutOfDomain: a number is outside its domain.
    """
    option, type_, given = _option(target, values, "put")
    list.__init__(option, [item_given(type_, given, fields, "put")])


def drop(target: Any, key: Any = None, /) -> None:
    """Take the value of an option away, or a key out of a map: `drop(option)`, `drop(map, key)`.

    Raises:
        BadAccess: there is none.
    """
    option, type_, _ = _option(target, () if key is None else (key,), "drop")
    if not len(option):
        raise BadAccess(f"{type_.place}: there is nothing to drop; ask present(), or `key in ...`, first")
    list.clear(option)


def present(option: Any) -> bool:
    """Whether an option has a value."""
    return len(_checked(option, "present")) == 1


def value_of(option: Any) -> Any:
    """Return the value of an option.

    Raises:
        BadAccess: it has none.
    """
    if not len(_checked(option, "value_of")):
        raise BadAccess(f"{option.type.place}: there is no value; ask present() first")
    return item_at(option, 0)


def _option(target: Any, values: tuple[Any, ...], what: str) -> tuple[Items, Maybe, tuple[Any, ...]]:
    """Return the option that is to be changed, its type, and the values behind it."""
    option = target
    if isinstance(target, Entries):
        if not values or not isinstance(values[0], int):
            raise BadAccess(f"{target.type.place}: name the key, {what}(map, key{', ...' if what == 'put' else ''})")
        option, values = target.option(values[0]), values[1:]
    type_ = _checked(option, what).type
    assert isinstance(type_, Maybe)
    if type_.kept:
        raise BadAccess(f"{type_.place} {type_.kept}")
    return option, type_, values


def _checked(option: Any, what: str) -> Items:
    if not isinstance(option, Items) or not isinstance(option.type, Maybe):
        raise BadAccess(f"{what}() is for options, and {option!r} is none")
    return option
