"""Checks that what a constructor was given is of the right kind; the message names the place, the value, and what belongs there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_spec.spec.language.domain import SpecError

WORDS: Mapping[type, str] = {str: "a text", Mapping: "a dict", type: "a class"}


def check_kinds(part: object, where: str, kinds: Mapping[str, type]) -> None:
    """Refuse a part with a field that is not of its kind."""
    for name, kind in kinds.items():
        value = getattr(part, name)
        if not isinstance(value, kind):
            raise SpecError(f"{where}: {name} must be {WORDS.get(kind, kind.__name__)}, and is {shown(value)}")


def check_tuples(part: object, where: str, kinds: Mapping[str, type]) -> None:
    """Refuse a part with a field that is not a tuple of things of a kind."""
    for name, kind in kinds.items():
        values = getattr(part, name)
        if isinstance(values, kind):
            raise SpecError(f"{where}: {name} must be a tuple; write ({shown(values)},)")
        if not isinstance(values, tuple | list):
            raise SpecError(f"{where}: {name} must be a tuple of {kind.__name__}, and is {shown(values)}")
        if wrong := [value for value in values if not isinstance(value, kind)]:
            raise SpecError(f"{where}: {name} holds {shown(wrong[0])}, which is not a {kind.__name__}")


def check_choice(value: object, choices: tuple[object, ...], where: str) -> None:
    """Refuse a value that is not one of a few."""
    if value not in choices:
        raise SpecError(f"{where} must be {' or '.join(map(repr, choices))}, and is {value!r}")


def shown(value: Any) -> str:
    """Return what a value of the wrong kind is, in words."""
    if isinstance(value, str | int) or value is None:
        return repr(value)
    if isinstance(value, type):
        return f"the class {value.__name__}"
    name = getattr(value, "name", getattr(value, "__name__", None))
    return f"{type(value).__name__} {name}" if isinstance(name, str) else type(value).__name__
