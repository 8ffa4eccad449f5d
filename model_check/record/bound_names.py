"""What forbids a step that only the bounds of an exploration forbid: the names of bounds, as both engines count them."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_spec.model_check.record.seen_spec import SeenSpec
from kafka_spec.spec.language import Function, source_of, tree
from kafka_spec.spec.language.walking import walk
from kafka_spec.spec.vocabulary.table import Spec, first_line


def bound_names(spec: Spec | SeenSpec) -> tuple[str, ...]:
    """Return all names under which steps of a spec may be counted as forbidden, in a fixed order."""
    limits = [bound_name(limit, spec) for rule in spec.rules for limit in rule.bound_guards]
    limits += [spec.constraint.__name__] if spec.constraint is not None else []
    return tuple(dict.fromkeys([*spec.bounds, *limits])) or ("",)


def bound_name(limit: Function, spec: Spec | SeenSpec) -> str:
    """Return what a predicate of `within` is counted as: the bounds that it reads, or else its sentence."""
    read = set(_constants(limit))
    return " and ".join(name for name in spec.bounds if name in read) or first_line(limit)


def _constants(function: Function) -> Iterator[str]:
    """Yield the names of `k` that a function reads, itself or through the functions that it calls."""
    source = source_of(function)
    for node in walk(*source.body):
        match node:
            case tree.Field(tree.Local("k"), name):
                yield name
    for callee in source.calls:
        yield from _constants(callee)
