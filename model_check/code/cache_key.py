"""All that a compilation may read, and the text of it: equal texts give equal code.

The compiler is given a *view* of a spec at its bounds (`Inputs`), and the key of compiled code is the text of that view. What the
key leaves out cannot be read through the view: a type has no attribute but those that are in the text, and asking for another is an
error, whatever the bounds. So nobody has to know which parts of a spec the compiler reads. Left out are values that code reads when
it runs, such as the upper end of a domain that a bound gives, so that checks at other bounds share the code.

A function is written as its source and the current values of its global names; the functions that it calls are written in the same
way, each once. Depends on the parts of a spec and the packed form of its states, not on LLVM or the compiler.
"""

from __future__ import annotations

import dataclasses
import enum
import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn, cast

from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.record.actions import ActionNumbers
from kafka_spec.model_check.record.layout import Packed, RecordLayout
from kafka_spec.model_check.record.seen_spec import SeenSpec
from kafka_spec.spec import language
from kafka_spec.spec.language import domain
from kafka_spec.spec.language.domain import Domain, Map, Record, Scalar, Type
from kafka_spec.spec.vocabulary.table import Machine, Property, Spec, Symmetric

UNSEEN: Mapping[type, frozenset[str]] = {
    Scalar: frozenset({"show"}),  # how a value prints
    Record: frozenset({"live", "holders"}),  # the class of records in plain Python; for traces
    Map: frozenset({"show_key"}),
}
"""What code never depends on. `Scalar.high` is unseen, too, where code reads its bound when it runs."""


class Inputs:
    """The inputs of a compilation: the only way from the compiler to a spec and its bounds."""

    def __init__(
        self,
        spec: Spec,
        root: Packed,
        actions: ActionNumbers,
        claims: Iterable[Property],
        constants: Iterable[str],
        engine: tuple[Any, ...],
    ) -> None:
        """Take what may be seen.

        Args:
            spec: the rules, machines and forms.
            root: how states are packed.
            actions: the lowest and highest value of each parameter of each rule, and those that are not numbers.
            claims: the properties to judge.
            constants: the names of `k`; their values are read at run time.
            engine: all other values that the engine's own code depends on.
        """
        self.spec, self.claims = SeenSpec.of(spec), tuple(claims)
        self.constants, self.engine = tuple(constants), engine
        self.layout = RecordLayout(seen(root, at_run_time(self.spec, self.constants)))
        wholes = [{name: seen(of, frozenset()) for name, of in of_rule.items()} for of_rule in actions.wholes]
        self.actions = ActionNumbers([list(of_rule) for of_rule in actions.ranges], wholes)

    @property
    def text(self) -> str:
        """The text of all that can be seen."""
        reported = _Telling()
        parts = (self.constants, self.engine, self.layout.root, self.actions.ranges, self.actions.wholes, self.spec, self.claims)
        return reported.all(parts)


def at_run_time(spec: SeenSpec, constants: Iterable[str]) -> frozenset[str]:
    """Return the bounds that code reads when it runs. The number of members that a search renames is compiled in."""
    return frozenset(constants) - {name for part in (*spec.forms, *spec.view) if isinstance(part, Symmetric) for name in part.names}


def seen(place: Packed, constants: frozenset[str]) -> Packed:
    """Return a packed form in whose types what a key leaves out cannot be read; `constants` are read when code runs."""
    if place.fields is not None:
        fields = {name: (offset, seen(field, constants)) for name, (offset, field) in place.fields.items()}
        inner: dict[str, Any] = {"fields": {name: field.type for name, (_, field) in fields.items()}}
        return dataclasses.replace(place, type=_seen_type(place.type, inner, constants), fields=fields)
    if place.item is None:
        return dataclasses.replace(place, type=_seen_type(place.type, {}, constants))
    item, head = seen(place.item, constants), place.head and seen(place.head, constants)
    return dataclasses.replace(place, type=_seen_type(place.type, {"item": item.type}, constants), item=item, head=head)


def _seen_type(type_: Type, inner: Mapping[str, Any], constants: frozenset[str]) -> Type:
    """Return a type that has only the attributes that are seen, with those of `inner` in place of its own."""
    unseen = frozenset[str]().union(*(UNSEEN.get(cls, ()) for cls in type(type_).__mro__))
    if isinstance(type_, Scalar) and type_.bound in constants:
        unseen |= {"high"}
    cls: Any = type(type_)
    found = object.__new__(_seen_class(cls, unseen))
    attributes = {field.name: getattr(type_, field.name) for field in dataclasses.fields(type_) if field.name not in unseen}
    found.__dict__.update({**attributes, **inner})
    return cast(Type, found)


@functools.cache
def _seen_class(cls: type, unseen: frozenset[str]) -> Any:
    """Return a subclass of a type whose instances refuse to tell some attributes."""

    def refusing(name: str) -> property:
        def refuse(self: object) -> NoReturn:
            raise EngineError(
                f"the compiler asks for {cls.__name__}.{name}, which the key of compiled code leaves out; read it when code runs, "
                "or let it be seen (model_check/code/cache_key.py)"
            )

        return property(refuse)

    return type(cls.__name__, (cls,), {"__module__": cls.__module__, **{name: refusing(name) for name in sorted(unseen)}})


class _Telling:
    """Writes values as text; classes and functions as numbers, in the order of their first occurrence."""

    def __init__(self) -> None:
        self.classes: dict[type, int] = {}
        self.functions: dict[Callable[..., Any], int] = {}

    def all(self, parts: tuple[Any, ...]) -> str:
        """Return the text of some parts, then that of each function that they name, directly or through calls."""
        lines = [self.value(part) for part in parts]
        reported = 0
        while reported < len(self.functions):
            function = list(self.functions)[reported]
            lines.append(self.source(function))
            reported += 1
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
        if language.is_function(value):
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
        """Return an object with all its fields; of a type all that it has, what is inside it as it is packed."""
        if isinstance(value, Type):
            fields = {name: item for name, item in vars(value).items() if name not in ("fields", "item")}
        elif dataclasses.is_dataclass(value):
            fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        elif isinstance(value, Domain):
            fields = dict(vars(value))
        else:
            raise EngineError(f"{value!r} cannot be distinguished from others, so code that depends on it cannot be kept")
        shown = ", ".join(f"{name}={self.value(item)}" for name, item in fields.items())
        return f"{self.class_(type(value))}({shown})"

    def source(self, function: Callable[..., Any]) -> str:
        """Return the source of a function, its file and line, and the values of its global names."""
        source = language.source_of(function)
        written = {language.as_written(one) for one in source.calls} - set(source.calls)  # their variants are called
        named = [(name, value) for name, value in source.names if not (language.is_function(value) and value in written)]
        names = ", ".join(f"{name}={self.named(value)}" for name, value in named)
        return f"{self.value(function)} {source.place} [{names}]\n{source.text}"

    def named(self, value: Any) -> str:
        """Return the value of a global name as text."""
        if isinstance(value, Machine):
            return f"machine {value.name}"
        if value in language.WRITERS:
            return f"writes {language.WRITERS[value]}"
        if value in language.READERS:
            return f"reads {language.READERS[value]}"
        if value in language.OVER_GENERATORS or value in language.BUILTINS or value in (range, domain.members_of):
            return f"built in {value.__name__}"
        if getattr(value, "__fires__", False):
            return "fires"
        return self.value(value)
