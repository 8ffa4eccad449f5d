"""Finds rules that are declared but listed in no spec; without an error the model would silently lack them.

It inspects the modules of the rules and the specs at each call, and stores nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.vocabulary.table import Rule, Spec


def refuse_unlisted(spec: Spec) -> None:
    """Raise SpecError if a rule that is declared in a module of the spec is listed in no spec.

    These modules are those that declare the spec, the specs that it is a version of, and their rules. A rule that is declared
    there must be in one of these specs, or in another spec of these modules.
    """
    family = [spec]
    while family[-1].base is not None:
        family.append(family[-1].base)
    rules = [rule for one in family for rule in (*one.rules, one.start)]
    names = dict.fromkeys([*(one.declared_in for one in family), *(rule.declared_in for rule in rules)])
    modules = [sys.modules[name] for name in names if name in sys.modules]
    listed = {id(rule) for rule in rules}
    candidates = [(module, name, rule) for module in modules for name, rule in declared_in(module) if id(rule) not in listed]
    if not candidates:
        return
    others = [other for module in modules for _, other in values_of(module, Spec)]
    listed |= {id(rule) for other in others for rule in (*other.rules, other.start)}
    for module, name, rule in candidates:
        if id(rule) not in listed:
            raise SpecError(
                f"spec {spec.name}: rule {rule.name} is declared ({module.__name__}.{name}) and no spec lists it, so no check "
                "would ever fire it; list it under rules, or delete it (a version drops a rule by replacing(without=...))"
            )


def declared_in(module: ModuleType) -> Iterator[tuple[str, Rule]]:
    """Yield the rules that a module declares, with their names in the module."""
    for name, rule in values_of(module, Rule):
        if rule.declared_in == module.__name__:
            yield name, rule


def values_of(module: ModuleType, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values of a kind that a module holds, by themselves or in a tuple, a list or a dict."""
    for name, value in list(vars(module).items()):
        several = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else (value,)
        for one in list(several):
            if isinstance(one, kind):
                yield name, one
