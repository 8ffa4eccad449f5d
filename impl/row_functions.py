"""The methods of an actor that rows may name: their decorators, and the check that they fit the rows of its machines.

Methods that rows may use are marked `@guard` or `@effect`. A name without such a method, or such a method that no row of any era
uses, is an error when a machine is built. So table and actor cannot drift apart.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, get_type_hints

from kafka_spec.spec.vocabulary.table import Machine, Row, SpecError, name_of

Method = TypeVar("Method", bound=Callable[..., Any])
INPUTS = "inputs"
"""The parameter of a row function that receives the `inputs` of `fire`."""


def guard(method: Method) -> Method:
    """Mark a method as a guard that rows may name: it reads, and returns whether it holds."""
    method.__row_function__ = "guard"  # type: ignore[attr-defined]
    return method


def effect(method: Method) -> Method:
    """Mark a method as an effect that rows may name: it writes, sends, truncates."""
    method.__row_function__ = "effect"  # type: ignore[attr-defined]
    return method


def parameters_of(actor: type, method: str) -> list[str]:
    """Return the names of a method's parameters."""
    return list(inspect.signature(getattr(actor, method)).parameters)[1:]


@functools.lru_cache(maxsize=64)
def marked_methods(
    actor: type, machines: tuple[tuple[Machine, tuple[str, ...]], ...], every_era: tuple[Machine, ...], inputs: type | None
) -> tuple[str, ...]:
    """Return the names of an actor's marked methods; see `machine.build` for the errors."""
    marked = {n: m for n in dir(actor) if hasattr(m := getattr(actor, n), "__row_function__")}
    for machine, names in machines:
        for row in machine.rows:
            _check_row(actor, marked, machine, row, names, inputs)
    named = {
        name_of(function)
        for machine in (*(machine for machine, _ in machines), *every_era)
        for row in machine.rows
        for function in (*row.looks, *row.effects)
    }  # fmt: skip
    if unused := sorted(set(marked) - named):
        raise SpecError(
            f"{actor.__name__}.{unused[0]} is marked as {marked[unused[0]].__row_function__}, and no row of any era uses it; "
            "delete it, or name it in a row" + (f" (also {', '.join(unused[1:])})" if unused[1:] else "")
        )
    return tuple(marked)


def _check_row(
    actor: type, marked: Mapping[str, Any], machine: Machine, row: Row, names: tuple[str, ...], inputs: type | None
) -> None:
    """Raise SpecError for a row whose guards or effects the actor cannot run."""
    where = f"machine {machine.name}, row {row.label!r}"
    needed = [(name_of(g), "guard") for g in row.looks]
    needed += [(name_of(e), "effect") for e in row.effects if not row.waits_for]
    for name, mark in needed:
        if name not in marked:
            plain = hasattr(actor, name)
            cure = f"mark it @{mark}" if plain else f"write it, and mark it @{mark}"
            raise SpecError(f"{where}: {actor.__name__} has no {mark} {name}; {cure}")
        if marked[name].__row_function__ != mark:
            raise SpecError(f"{where}: {actor.__name__}.{name} is marked as {marked[name].__row_function__}, and used as {mark}")
        for parameter in parameters_of(actor, name):
            if parameter == INPUTS:
                _check_inputs(where, actor, name, inputs)
            elif parameter not in names:
                raise SpecError(
                    f"{where}: {actor.__name__}.{name} takes {parameter}, which is not a part of the entity ({', '.join(names)})"
                )


def _check_inputs(where: str, actor: type, method: str, inputs: type | None) -> None:
    """Raise SpecError for a row function whose inputs have another type than those of `fire`."""
    wanted = get_type_hints(getattr(actor, method)).get(INPUTS)
    if inputs is None or wanted is None or not issubclass(inputs, wanted):
        given = "none" if inputs is None else inputs.__name__
        wants = "of no type" if wanted is None else wanted.__name__
        raise SpecError(f"{where}: {actor.__name__}.{method} takes inputs ({wants}); the machine is built for {given}")
