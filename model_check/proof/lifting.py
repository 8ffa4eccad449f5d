"""Which bounds can be lifted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_spec.model_check.proof.cells import Limits
from kafka_spec.spec.language.domain import Array, Record, Scalar, Sequence, Type
from kafka_spec.spec.vocabulary.table import ElementOf, ItemOf, Spec, numbers_type


def says_more_than_ends(spec: Spec, bounds: Mapping[str, int], name: str) -> bool:
    """Whether a bound says more than where numbers and sequences end, such as how many members there are.

    Then a proof at one value of it is not a proof for all, so it cannot be lifted.
    """
    limits = Limits(frozenset({name}))

    def known(values: Mapping[str, int]) -> list[Any]:
        parameters = (one for rule in (spec.start, *spec.rules) for one in rule.params.values())
        types: list[Type] = [numbers_type(one, values, name) for one in parameters if not isinstance(one, ItemOf | ElementOf)]
        return [shape(type_, limits) for type_ in (spec.space(values).root, *types)]

    counts = {bound.name for statement in (*spec.properties, *spec.lemmas) for bound in statement.counting_bounds}
    return name in counts or known(bounds) != known({**bounds, name: bounds[name] + 1})


def shape(type_: Type, limits: Limits) -> Any:
    """Return what a proof knows of a type: all but the ends that are lifted."""
    match type_:
        case Scalar():
            return type_.low, limits.high(type_), type_.initial, type_.many
        case Array():
            return type_.length, shape(type_.item, limits)
        case Record():
            return [(name, shape(inner, limits)) for name, inner in type_.fields.items()]
        case Sequence():
            return limits.capacity(type_), shape(type_.item, limits)
