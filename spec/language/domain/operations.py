"""What effects may do to sequences and records. Engines compile calls of these functions."""

from __future__ import annotations

from typing import Any, TypeVar

from kafka_spec.spec.language.domain.forms import contents_of
from kafka_spec.spec.language.domain.limits import BadAccess, Bound, OutOfBound, OutOfDomain
from kafka_spec.spec.language.domain.records import fields_of, is_record_class, number_fields
from kafka_spec.spec.language.domain.types import (
    ELEMENT,
    Array,
    Collection,
    Items,
    Maybe,
    Record,
    Scalar,
    Sequence,
    Type,
    item_at,
    paths,
    type_of,
)

Copied = TypeVar("Copied")


def append(sequence: Any, /, *values: Any, **fields: Any) -> None:
    """Append a number, or a record given by its fields (the others hold their initial value), by another record, or by both.

    Of what is neither a number nor a record a copy is appended, or without a value the initial one.

    Raises:
        BadAccess: the value is of another kind.
        OutOfBound: the sequence is full and a bound says so, or a number is beyond a bound.
        OutOfDomain: it is full, or a number is outside its domain.
    """
    type_: Sequence = sequence.type
    if isinstance(type_, Collection):
        raise BadAccess(f"{type_.place}: append() is for sequences; add() puts an element into a {type_.what}")
    _refuse_option(type_)
    _refuse_element(type_)
    if len(sequence) >= type_.capacity:
        if type_.bound is not None:
            raise OutOfBound(type_.bound)
        raise OutOfDomain(f"{type_.place}: append to a full sequence ({type_.capacity} items); take the place first")
    item = item_given(type_, values, fields, "append")
    if type_.distinct and item in sequence:
        raise OutOfDomain(f"{type_.place}: {item} is already in the sequence, and the items are distinct")
    list.append(sequence, item)


def item_given(type_: Sequence, values: tuple[Any, ...], fields: dict[str, Any], what: str) -> Any:
    """Return what append() or put() is given: a number; a record by fields, by another, or by both; a copy of something else."""
    item = type_.item
    if isinstance(item, Scalar):
        if len(values) != 1 or fields:
            raise BadAccess(f"{type_.place}: {what}() takes one number here")
        item.check(values[0], type_.place)
        return int(values[0])
    if not isinstance(item, Record):
        if len(values) > 1 or fields:
            raise BadAccess(f"{type_.place}: {what}() takes a value to copy here, or none for an empty one")
        if not values:
            return item.fresh()
        _refuse_machines(item, type_.place, what)
        return contents_of(values[0], item, type_.place)
    if len(values) == 1 and type(values[0]) is item.cls:
        return item_given(type_, (), {**given_in(values[0]), **fields}, what)
    if len(values) > 1 or (values and type_of(values[0]).cls is not item.cls):
        raise BadAccess(f"{type_.place}: {what}() takes one {item.cls.__name__} here, or its fields")
    if values:
        _refuse_kept(item, what)
    value = item.copy(values[0]) if values else item.fresh()
    for name, content in fields.items():
        field = item.fields.get(name)
        if field is None or isinstance(field, Scalar):
            setattr(value, name, content)
        else:
            place = f"{item.cls.__name__}.{name}"
            _refuse_machines(field, place, what)
            value.__dict__[name] = contents_of(content, field, place)
    if item.tags is not None:
        check_tag(type_, item, value)
    return value


def copy_of(record: Copied) -> Copied:
    """Return a record with the contents of one, which may be in the state; it does not change when that does.

    Raises:
        BadAccess: a field of it holds no number.
    """
    if is_record_class(type(record)) and not hasattr(record, "__type__"):
        return record
    type_ = type_of(record)
    if number_fields(type_.cls).keys() != type_.fields.keys():
        raise BadAccess(f"copy_of(): {type_.cls.__name__} has fields that hold no number")
    copied: Copied = type_.cls(**values_of(record, type_.cls))
    return copied


def values_of(record: Any, cls: type) -> dict[str, int]:
    """Return the numbers of a record of a class, by field."""
    return {name: getattr(record, name) for name in number_fields(cls)}


def given_in(record: Any) -> dict[str, Any]:
    """Return the fields of a record that is not in the state: its numbers, and what it was given to copy."""
    others = {name: getattr(record, name) for name in fields_of(type(record))}
    return {**values_of(record, type(record)), **{name: value for name, value in others.items() if is_copied(value)}}


def is_copied(value: Any) -> bool:
    """Whether a value is a record or a container of a state."""
    return isinstance(value, Items) or hasattr(type(value), "__type__")


def check_tag(type_: Sequence, item: Record, record: Any) -> None:
    """Refuse a message with a field that has no meaning under its tag."""
    assert item.tags is not None
    tag, members = item.tags
    for name, field in item.fields.items():
        if name != tag and name not in members[getattr(record, tag)] and getattr(record, name) != field.fresh():
            raise OutOfDomain(f"{type_.place}: {name} has no meaning in this kind of {item.cls.__name__}")


def truncate(sequence: Any, length: int) -> None:
    """Drop the items from offset `length` on; nothing happens if there are none."""
    _refuse_option(sequence.type)
    _refuse_element(sequence.type)
    if length < 0:
        raise BadAccess(f"{sequence.type.place}: truncation to {length}; an offset is 0 or more")
    del sequence[length:]


def pop_first(sequence: Any) -> None:
    """Drop the first item; the others move up."""
    _refuse_option(sequence.type)
    _refuse_element(sequence.type)
    if isinstance(sequence.type, Collection):
        raise BadAccess(f"{sequence.type.place}: a {sequence.type.what} has no first item; remove() an element")
    if not sequence:
        raise BadAccess(f"{sequence.type.place}: nothing to take from an empty sequence")
    del sequence[0:1]


def _refuse_option(type_: Sequence) -> None:
    if isinstance(type_, Maybe):
        raise BadAccess(f"{type_.place}: an option is not a sequence; put() a value, or drop() it")


def _refuse_element(type_: Sequence) -> None:
    if type_.kept:
        raise BadAccess(f"{type_.place} {type_.kept}")


def reset(target: Any) -> None:
    """Give a record or a container its initial value, so that values without meaning do not multiply states."""
    type_ = _type_at(target)
    _refuse_kept(type_, "reset")
    _overwrite(type_, target, type_.fresh())


def assign(target: Any, source: Any) -> None:
    """Copy the contents of one record to another of its class, or of a container to one that holds the same values.

    An assignment with `=` would share them.
    """
    type_ = _type_at(target)
    if not isinstance(type_, Record):
        _refuse_kept(type_, "assign")
        _overwrite(type_, target, contents_of(source, type_, type_.place))
        return
    if type(source) is type_.cls:
        for name, value in values_of(source, type_.cls).items():
            setattr(target, name, value)
        return
    if type_.cls is not type_of(source).cls:
        raise BadAccess(f"assign(): {type(target).__name__} and {type(source).__name__} are different records")
    _refuse_kept(type_, "assign")
    _overwrite(type_, target, source)


def _type_at(target: Any) -> Record | Array | Sequence:
    """Return the type of a record or a container of a state."""
    return target.type if isinstance(target, Items) else type_of(target)


def _refuse_kept(type_: Record | Array | Sequence, what: str) -> None:
    """Refuse to write a machine's state, or a counter, as part of a record or a container."""
    if kept := kept_inside(type_):
        raise BadAccess(f"{what}(): {type_.cls.__name__ if isinstance(type_, Record) else type_.place} {kept}")


def _refuse_machines(type_: Type, place: str, what: str) -> None:
    """Refuse to copy what holds the state of a machine."""
    if kept := machines_inside(type_):
        raise BadAccess(f"{what}(): {place} {kept}")


def kept_inside(type_: Type) -> str:
    """Why a value of the type may not be written as a whole, as the end of a sentence, or ""."""
    if kept := machines_inside(type_):
        return kept
    if any(True for _ in paths(type_, lambda t: isinstance(t, Scalar | Sequence) and t.kept == ELEMENT)):
        return ELEMENT
    if any(True for _ in paths(type_, lambda t: isinstance(t, Scalar) and t.counter)):
        return "holds counters of firings, which only the rules that say at_most change"
    return ""


def machines_inside(type_: Type) -> str:
    """Why no value of the type may be made from another, as the end of a sentence, or ""."""
    machines = paths(type_, lambda t: isinstance(t, Scalar) and t.machine is not None)
    return "holds the state of a machine, which only fire() changes" if any(True for _ in machines) else ""


def _overwrite(type_: Type, target: Any, source: Any) -> None:
    """Copy contents in place, so that names for the parts of the target stay valid."""
    if isinstance(type_, Record):
        for name, field in type_.fields.items():
            if isinstance(field, Scalar):
                target.__dict__[name] = source.__dict__[name]
            else:
                _overwrite(field, getattr(target, name), getattr(source, name))
    elif isinstance(type_, Array) and not isinstance(type_.item, Scalar):
        for index in range(type_.length):
            _overwrite(type_.item, item_at(target, index), item_at(source, index))
    else:
        assert isinstance(type_, Array | Sequence)
        list.__init__(target, list(type_.copy(source)))


def as_fired(record: Any, name: str, value: int) -> None:
    """Set a machine's state; only `fire` calls this."""
    record.__dict__[name] = value


def count_firing(s: Any, bound: Bound) -> None:
    """Count one more firing of a rule that the bound limits; engines call this."""
    counts = s.spent
    type_of(counts).fields[bound.name].check(counts.__dict__[bound.name] + 1, f"Spent.{bound.name}")  # type: ignore[union-attr]
    counts.__dict__[bound.name] += 1
