"""What functions may do to sets and bags of records: add, remove, has, count. Engines compile calls of these functions.

An element is given by its fields (the others hold their initial value), or by a record of the same dataclass that is in the
state or is an element itself. Elements are compared by their contents.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Any

from kafka_spec.spec.language.domain.forms import contents_of
from kafka_spec.spec.language.domain.limits import BadAccess, OutOfBound, OutOfDomain
from kafka_spec.spec.language.domain.operations import check_tag, given_in
from kafka_spec.spec.language.domain.types import Collection, Items, Record, Scalar, Type, order, type_of


def add(elements: Any, element: Any = None, /, **fields: Any) -> None:
    """Put an element into a set or a bag; nothing happens if it is in the set already.

    Raises:
        OutOfBound: the set or bag is full, and a bound says so.
        OutOfDomain: it is full, or a field is outside its domain.
    """
    element, fields = _given(elements, element, fields)
    type_, new = _meant(elements, element, "add")
    for name, content in fields.items():
        field = _field(type_, name)
        if isinstance(field, Scalar):
            field.check(content, f"{type_.item.cls.__name__}.{name}")
        _set(new, name, field, content)
    if type_.item.tags is not None:
        check_tag(type_, type_.item, new)
    place, copies = _place(elements, new)
    if copies and not type_.repeats:
        return
    if len(elements) >= type_.capacity:
        if type_.bound is not None:
            raise OutOfBound(type_.bound)
        raise OutOfDomain(f"{type_.place}: add to a full {type_.what} ({type_.capacity} elements)")
    list.insert(elements, place, new)


def remove(elements: Any, element: Any = None, /, **fields: Any) -> None:
    """Take an element out of a set, or one copy of it out of a bag.

    Raises:
        BadAccess: it is not there.
    """
    place, copies = _found(elements, element, fields, "remove")
    if not copies:
        type_ = elements.type
        raise BadAccess(f"{type_.place}: what is removed is not in the {type_.what}; ask has() first")
    del elements[place : place + 1]


def has(elements: Any, element: Any = None, /, **fields: Any) -> bool:
    """Whether an element is in a set or a bag."""
    return _found(elements, element, fields, "has")[1] > 0


def count(elements: Any, element: Any = None, /, **fields: Any) -> int:
    """How often an element is in a bag; in a set, 0 or 1."""
    return _found(elements, element, fields, "count")[1]


def _given(elements: Any, element: Any, fields: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return None and the fields of a record that is in no state, or what is given as it is."""
    is_value = isinstance(elements, Items) and isinstance(elements.type.item, Record) and type(element) is elements.type.item.cls
    return (None, {**given_in(element), **fields}) if is_value else (element, fields)


def _meant(elements: Any, element: Any, what: str) -> tuple[Collection, Any]:
    """Return the type of a set or bag, and a copy of the element, or a fresh one."""
    if not isinstance(elements, Items) or not isinstance(elements.type, Collection):
        raise BadAccess(f"{what}() is for a set or bag of records, and {elements!r} is none")
    type_ = elements.type
    if element is None:
        return type_, type_.item.fresh()
    if type_of(element).cls is not type_.item.cls:
        raise BadAccess(f"{what}(): {type(element).__name__} and {type_.item.cls.__name__} are different records")
    return type_, type_.item.copy(element)


def _field(type_: Collection, name: str) -> Type:
    """Return the type of a field of an element."""
    if name not in type_.item.fields:
        raise BadAccess(f"{type_.item.cls.__name__} has no field {name}")
    return type_.item.fields[name]


def _set(element: Any, name: str, field: Type, content: Any) -> None:
    """Set a field of an element that is not in a set yet."""
    where = f"{type(element).__name__}.{name}"
    element.__dict__[name] = int(content) if isinstance(field, Scalar) else contents_of(content, field, where)


def _found(elements: Any, element: Any, fields: dict[str, Any], what: str) -> tuple[int, int]:
    """Return where an element stands, and how often; a field outside its domain is in no element."""
    element, fields = _given(elements, element, fields)
    type_, wanted = _meant(elements, element, what)
    inside = True
    for name, content in fields.items():
        field = _field(type_, name)
        if isinstance(field, Scalar):
            inside = inside and field.low <= content <= field.high
        _set(wanted, name, field, content)
    return _place(elements, wanted) if inside else (0, 0)


def _place(elements: Any, record: Any) -> tuple[int, int]:
    """Return the place of a record in the order, and how often it stands there."""
    item = elements.type.item
    keys, key = [order(item, one) for one in elements], order(item, record)
    return bisect_left(keys, key), keys.count(key)
