"""Values that are copied whole: which places may hold the same values, and copies of records and containers.

A container is an array, a sequence, a set or bag of records, an option or a map.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from kafka_spec.spec.language.domain.limits import BadAccess
from kafka_spec.spec.language.domain.types import Array, Collection, Items, Map, Maybe, Record, Scalar, Sequence, Type


def form(type_: Type) -> Hashable:
    """Return what two types have in common whose values are the same at all bounds: each can be copied to the other, or compared.

    A limit that a bound gives equals the same bound alone, and a record those of its class.
    """
    if isinstance(type_, Scalar):
        return type_.low, type_.high if type_.bound is None else (type_.bound, type_.plus), type_.many, type_.members
    if isinstance(type_, Record):
        return type_.cls
    if isinstance(type_, Array):
        return "map" if isinstance(type_, Map) else "array", type_.length, type_.members, form(type_.item)
    kind = type_.what if isinstance(type_, Collection) else "option" if isinstance(type_, Maybe) else "sequence"
    return kind, type_.capacity, type_.bound, type_.distinct, form(type_.item)


def contents_of(source: Any, type_: Record | Array | Sequence, place: str) -> Any:
    """Return a copy of a record or a container of a state as a value of a type; `place` names what it is for.

    Raises:
        BadAccess: it is neither, or may hold other values.
    """
    own: Type | None = source.type if isinstance(source, Items) else getattr(type(source), "__type__", None)
    if own is None:
        raise BadAccess(f"{place}: {source!r} is not a record or a container of the state, and only these are copied here")
    if form(own) != form(type_):
        raise BadAccess(f"{place}: {unlike(own, type_)}")
    return type_.copy(source)


def unlike(source: Type, target: Type) -> str:
    """Return the end of a message: what is copied, or compared, does not have the form of the other."""
    if isinstance(source, Record) and isinstance(target, Record):
        return f"{source.cls.__name__} and {target.cls.__name__} are different records"
    what = source.cls.__name__ if isinstance(source, Record) else "a number" if isinstance(source, Scalar) else source.place
    return f"{what} does not hold the same values; declare both with the same domain and the same limits"
