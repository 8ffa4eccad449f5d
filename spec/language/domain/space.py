"""The space of states at given bounds: differences between states, where a value stands, and how it is printed."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kafka_spec.spec.language.domain.limits import Bound
from kafka_spec.spec.language.domain.records import Counters, RecordDomain
from kafka_spec.spec.language.domain.types import (
    Array,
    Collection,
    Map,
    Maybe,
    Record,
    Scalar,
    Sequence,
    Type,
    item_at,
    items_of,
    paths,
)

Path: TypeAlias = tuple[str | int, ...]
"""The path to a value in a state: field names and indices, from the root."""


@dataclass(frozen=True)
class Change:
    """One field that a step changed: where it stands, its value before and after, and who keeps it (or "")."""

    path: Path
    type: Type
    before: Any
    after: Any
    kept_by: str


class Space:
    """All states of a dataclass at given bounds: how to make, copy, compare and print them.

    `counted` are the bounds on how often rules fire; each has a counter in the state.
    """

    def __init__(self, state: type, bounds: Mapping[str, int], counted: tuple[Bound, ...] = ()) -> None:
        self.root: Record = RecordDomain(state, Counters(counted)).at(bounds, state.__name__)

    def fresh(self) -> Any:
        """Return the state in which every field has its initial value."""
        return self.root.fresh()

    def changes(self, before: Any, after: Any) -> list[Change]:
        """Return what differs, a sequence counting as one field."""
        return list(_changes(self.root, before, after, (), ""))

    def fields(self, state: Any) -> list[Change]:
        """Return every field of the state, in the order of its declaration, as a change that changes nothing."""
        return list(_changes(self.root, state, state, (), "", every=True))


def machine_paths(root: Record, machine: str) -> list[tuple[str, ...]]:
    """Return where the state of the machine of this name stands: field names, with "[]" for an index."""
    return list(paths(root, lambda type_: isinstance(type_, Scalar) and type_.machine == machine))


def machine_range(root: Record, path: tuple[str, ...]) -> tuple[int, int, int]:
    """Return the lowest, the highest and the initial state in the field at a path."""
    type_: Type = root
    for part in path:
        if isinstance(type_, Record):
            type_ = type_.fields[part]
        else:
            assert isinstance(type_, Array)
            type_ = type_.item
    assert isinstance(type_, Scalar)
    return type_.low, type_.high, type_.initial


def _changes(type_: Type, before: Any, after: Any, path: Path, keeper: str, every: bool = False) -> Iterator[Change]:
    if isinstance(type_, Record):
        for name, field in type_.fields.items():
            holder = type_.holders.get(name, keeper)
            yield from _changes(field, getattr(before, name), getattr(after, name), (*path, name), holder, every)
    elif isinstance(type_, Array):
        for index, (old, new) in enumerate(zip(items_of(before), items_of(after), strict=True)):
            yield from _changes(type_.item, old, new, (*path, index), keeper, every)
    elif every or type_.freeze(before) != type_.freeze(after):
        yield Change(path, type_, before, after, keeper)


def show_value(type_: Type, value: Any) -> str:
    """Print a value of the type as a person reads it."""
    if isinstance(type_, Scalar):
        return type_.show(value)
    if isinstance(type_, Record):
        shown = (f"{name} {show_value(field, getattr(value, name))}" for name, field in type_.shown_fields(value))
        return "(" + ", ".join(shown) + ")"
    if isinstance(type_, Maybe):
        return show_value(type_.item, item_at(value, 0)) if len(value) else "none"
    if isinstance(type_, Map):
        return "{" + ", ".join(f"{type_.show_key(key)}: {show_value(type_.item, value.option(key))}" for key in value) + "}"
    items = ", ".join(show_value(type_.item, item) for item in value)
    return f"{{{items}}}" if isinstance(type_, Collection) else f"[{items}]"


LONG = 160
"""Characters of a sequence above which a change of it is shown by the items that were dropped and added."""


def show_change(type_: Type, before: Any, after: Any) -> tuple[str, str]:
    """Print a field before and after a step. Of a long sequence show what was dropped in front, and how added items differ.

    An added item is shown by its differences from the one before it, such as `partition.leader none`.
    """
    shown = show_value(type_, before), show_value(type_, after)
    if not isinstance(type_, Sequence) or isinstance(type_, Collection) or max(map(len, shown)) <= LONG:
        return shown
    old, new = type_.freeze(before), type_.freeze(after)
    gone = next(gone for gone in range(len(old) + 1) if new[: len(old) - gone] == old[gone:])
    if old and gone == len(old):
        return shown
    parts = [f"the first {f'{gone} ' if gone > 1 else ''}dropped"] if gone else []
    items = [*before, *list(after)[len(old) - gone :]]
    for last, item in itertools.pairwise(items[len(old) - 1 :] if len(old) else [None, *items]):
        changes = _changes(type_.item, last, item, (), "") if last is not None else ()
        differs = ", ".join(f"{show_path(one.path)} {show_value(one.type, one.after)}" for one in changes)
        parts.append(f"added ({differs or 'the same again'})" if last is not None else f"added {show_value(type_.item, item)}")
    return _counted(len(old)), "; ".join([_counted(len(new)), *parts])


def _counted(items: int) -> str:
    return f"{items} item{'' if items == 1 else 's'}"


def plain_value(type_: Type, value: Any) -> Any:
    """Return a value as JSON holds it: integers, lists, and objects for records."""
    if isinstance(type_, Scalar):
        return int(value)
    if isinstance(type_, Record):
        return {name: plain_value(field, getattr(value, name)) for name, field in type_.fields.items()}
    if isinstance(type_, Maybe):
        return plain_value(type_.item, item_at(value, 0)) if len(value) else None
    if isinstance(type_, Map):
        return {str(key): plain_value(type_.item, value.option(key)) for key in value}
    return [plain_value(type_.item, item) for item in value]


def show_path(path: Path) -> str:
    """Print a path as code would spell it, `replicas[0].hw`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def path_of(template: str, values: Mapping[str, int]) -> Path:
    """Read a path as `show_path` writes it, in which names in braces stand for values: `channels[{broker}].requests`."""
    parts = re.findall(r"\w+", template.format_map(values))
    return tuple(int(part) if part.isdecimal() else part for part in parts)


def type_at(type_: Type, path: Path) -> Type | None:
    """Return the type of the value at a path, or None if there is none."""
    for part in path:
        if isinstance(type_, Record) and part in type_.fields:
            type_ = type_.fields[str(part)]
        elif isinstance(type_, Array) and isinstance(part, int):
            type_ = type_.item
        else:
            return None
    return type_


def value_at(value: Any, path: Path) -> Any:
    """Return the value at a path of a state."""
    for part in path:
        value = item_at(value, part) if isinstance(part, int) else getattr(value, part)
    return value
