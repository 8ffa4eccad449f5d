"""Which rules were declared and stand in no spec: without an error they would silently be left out of the model.

Knows rules, specs and the modules that state them, and keeps nothing: it looks into the modules when it is asked.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from kafka_spec.spec.domain import SpecError
from kafka_spec.spec.table import Rule, Spec


def refuse_unlisted(spec: Spec) -> None:
    """Raise SpecError if a rule that is declared beside the rules of the spec stands in no spec.

    Looked at are the modules that state the spec and what it is a version of, and those that declare their rules. A rule that is
    declared there must stand in one of these specs, or in another spec of these modules.
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
                f"spec {spec.name}: rule {rule.name} is declared ({module.__name__}.{name}) and stands in no spec, so no check "
                "would ever fire it; list it under rules, or delete it (a version drops a rule by replacing(without=...))"
            )


def declared_in(module: ModuleType) -> Iterator[tuple[str, Rule]]:
    """Yield the rules that a module declares, with the names that they stand under."""
    for name, rule in values_of(module, Rule):
        if rule.declared_in == module.__name__:
            yield name, rule


def values_of(module: ModuleType, kind: type[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the values of a kind that stand in a module, by themselves or in a tuple, a list or a dict."""
    for name, value in list(vars(module).items()):
        several = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else (value,)
        for one in list(several):
            if isinstance(one, kind):
                yield name, one
