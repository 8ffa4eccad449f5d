"""The text of all inputs of a compilation: equal texts give equal code.

Depends on the parts of a spec and the packed form of its states, not on LLVM or the compiler. An object is written with all of its
fields, so that none can be forgotten; the exceptions are listed here with their reasons. A function is written as its source and
the current values of its global names; the functions that it calls are written in the same way, each once.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.layout import Actions, Layout
from kafka_spec.spec import domain, lint
from kafka_spec.spec.domain import Array, Collection, Domain, Map, Maybe, Record, Scalar, Sequence
from kafka_spec.spec.table import Machine, Property, Spec

LEFT_OUT: Mapping[type, tuple[str, ...]] = {
    Scalar: ("show", "high"),  # how a value prints; `high` is written unless code reads its bound at run time
    Record: ("fields", "live", "holders"),  # written as they are packed; the class of records in plain Python; for traces
    Array: ("item",),  # written as it is packed
    Sequence: ("item",),
    Collection: ("item",),
    Maybe: ("item",),
    Map: ("item", "show_key"),
}


def text_of(
    spec: Spec, layout: Layout, actions: Actions, claims: Iterable[Property], constants: Iterable[str], engine: tuple[Any, ...]
) -> str:
    """Return the text of all inputs of a program's compilation.

    Args:
        spec: the rules and machines.
        layout: how states are packed.
        actions: the numbering of actions.
        claims: the checked properties.
        constants: the names of `k`; their values are read at run time.
        engine: all other values that the engine's own code depends on.
    """
    told = _Telling(frozenset(constants))
    machines: tuple[Machine, ...] = spec.machines
    form = (spec.reduced, *(spec.normal_form if spec.reduced else ()))
    said = (spec.rules, machines, tuple(claims), spec.final_states, spec.constraint, spec.view)
    parts = (tuple(constants), engine, layout.size, layout.root, form, actions.ranges, *said)
    return told.all(parts)


class _Telling:
    """Writes values as text; classes and functions as numbers, in the order of their first occurrence."""

    def __init__(self, constants: frozenset[str]) -> None:
        self.constants = constants
        self.classes: dict[type, int] = {}
        self.functions: dict[Callable[..., Any], int] = {}

    def all(self, parts: tuple[Any, ...]) -> str:
        """Return the text of some parts, then that of each function that they name, directly or through calls."""
        lines = [self.value(part) for part in parts]
        told = 0
        while told < len(self.functions):
            function = list(self.functions)[told]
            lines.append(self.source(function))
            told += 1
        return "\n".join(lines)

    def value(self, value: Any) -> str:
        """Return a value as text."""
        if isinstance(value, enum.IntEnum):
            return f"{self.class_(type(value))}={int(value)}"
        if value is None or isinstance(value, str):
            return repr(value)
        if isinstance(value, int):
            return str(int(value))
        if isinstance(value, type):
            return self.class_(value)
        if isinstance(value, Mapping):
            return "{" + ", ".join(f"{self.value(key)}: {self.value(item)}" for key, item in value.items()) + "}"
        if isinstance(value, Iterable):
            return f"({', '.join(map(self.value, value))})"
        if lint.is_function(value):
            return f"f{self.functions.setdefault(value, len(self.functions))}"
        return self.fields(value)

    def class_(self, cls: type) -> str:
        """Return a class as its number, at its first occurrence with its name and members."""
        known, number = cls in self.classes, self.classes.setdefault(cls, len(self.classes))
        if known:
            return f"c{number}"
        members = [(name, int(member)) for name, member in cls.__members__.items()] if issubclass(cls, enum.IntEnum) else ""
        return f"c{number} {cls.__module__}.{cls.__qualname__} {members}"

    def fields(self, value: Any) -> str:
        """Return an object with all its fields."""
        if dataclasses.is_dataclass(value):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif isinstance(value, Domain):
            fields = dict(vars(value))
        else:
            raise EngineError(f"{value!r} cannot be told apart from others, so code that depends on it cannot be kept")
        for name in LEFT_OUT.get(type(value), ()):
            del fields[name]
        if isinstance(value, Scalar) and value.bound not in self.constants:
            fields["high"] = value.high
        shown = ", ".join(f"{name}={self.value(item)}" for name, item in fields.items())
        return f"{self.class_(type(value))}({shown})"

    def source(self, function: Callable[..., Any]) -> str:
        """Return the source of a function, its file and line, and the values of its global names."""
        source = lint.source_of(function)
        names = ", ".join(f"{name}={self.named(value)}" for name, value in source.names)
        return f"{self.value(function)} {source.place} [{names}]\n{source.text}"

    def named(self, value: Any) -> str:
        """Return the value of a global name as text."""
        if isinstance(value, Machine):
            return f"machine {value.name}"
        if value in lint.WRITERS:
            return f"writes {lint.WRITERS[value]}"
        if value in lint.READERS:
            return f"reads {lint.READERS[value]}"
        if value in lint.OVER_GENERATORS or value in lint.BUILTINS or value in (range, domain.members_of):
            return f"built in {value.__name__}"
        if getattr(value, "__fires__", False):
            return "fires"
        return self.value(value)
