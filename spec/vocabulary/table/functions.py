"""The functions that parts of a spec name: guards, effects and predicates, and what they may take, return and write."""

from __future__ import annotations

import string
import sys
from collections.abc import Mapping
from types import FrameType
from typing import Any, TypeAlias

from kafka_spec.spec.language import Function, parameters_of, source_of
from kafka_spec.spec.language.domain import SpecError

Name: TypeAlias = str


def name_of(function: Function | Name) -> Name:
    """Return the name of a guard or an effect, bound or not."""
    return function if isinstance(function, str) else function.__name__


def first_line(function: Function) -> str:
    """Return what a guard says, as part of a sentence: its docstring, or its name in words."""
    summary = function.__doc__ or function.__name__.replace("_", " ").strip()
    return summary[:1].lower() + summary.partition("\n")[0][1:].rstrip(".")


def call(function: Function | Name, scope: Mapping[str, Any]) -> Any:
    """Call a guard, an effect or a predicate with those values of the scope that its parameters name."""
    if isinstance(function, str):
        raise SpecError(f"{function} is a name without a function; bind it with Machine.bind({{name: function}})")
    return function(*[scope[name] for name in parameters_of(function)])


def module_of_caller() -> Name:
    """Return the name of the module that declares the part under construction, as namedtuple and enum find it."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module != "dataclasses" and not module.startswith(f"{__package__}."):
            return module
        frame = frame.f_back
    return ""


def check_template(template: str, params: Mapping[Name, Any], where: str) -> None:
    """Refuse a sentence that names a parameter that the rule does not have, or says how to print one."""
    for name, form in names_in(template, where):
        if name.split(".")[0] not in params:
            raise SpecError(f"{where}: {template!r} names {name!r}; it may name {', '.join(params) or 'no parameter'}")
        if form:
            raise SpecError(f"{where}: {template!r} says how to print {name}; its domain knows, so write {{{name}}}")


def names_in(template: str, where: str) -> list[tuple[str, str]]:
    """Return what stands between the braces of a sentence: names, and how to print each."""
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise SpecError(f"{where}: {template!r}: {error}") from None
    return [(name, (form or "") + (how or "")) for _, name, form, how in parts if name is not None]


def check_function(function: Function, known: set[str], where: str) -> None:
    """Refuse a function with a parameter that is not one of the known names."""
    source = source_of(function)
    if unknown := [name for name in source.parameters if name not in known]:
        raise SpecError(
            f"{source.place}: {function.__name__} takes {unknown[0]}, which {where} does not have; "
            f"it may take {', '.join(sorted(known))}"
        )


def check_pure(guard: Function | Name, where: str) -> None:
    """Refuse a guard or a predicate that writes, or that does not return one value."""
    if isinstance(guard, str):
        return
    if source_of(guard).results != 1:
        raise SpecError(f"{source_of(guard).place}: {where}: guard {guard.__name__} must return one value, true or false")
    if source_of(guard).writes:
        raise SpecError(f"{source_of(guard).place}: {where}: guard {guard.__name__} writes; guards look, effects write")


def check_effect(effect: Function | Name, where: str) -> None:
    """Refuse an effect that returns a value, which nothing would read."""
    if not isinstance(effect, str) and source_of(effect).results:
        raise SpecError(
            f"{source_of(effect).place}: {where}: effect {effect.__name__} returns a value, which nobody reads; "
            "effects assign to fields of the state"
        )
