"""A spec without limits on how often its rules fire."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from kafka_spec.spec.language import Function, source_of, tree
from kafka_spec.spec.language.domain import SPENT
from kafka_spec.spec.language.walking import walk
from kafka_spec.spec.vocabulary.change import functions_of
from kafka_spec.spec.vocabulary.table import Property, Rule, Spec


def unlimited(spec: Spec, bounds: Mapping[str, int], claims: Sequence[Property]) -> Spec:
    """Return a spec with these properties alone, whose rules fire any number of times, or never if a bound of `at_most` is 0.

    Where a function reads how often rules have fired, that is a part of the state, and stays bounded.
    """
    asked = [one for claim in claims for one in (claim.predicate, claim.when) if one is not None]
    reads = any(map(_reads_counters, functions_of(spec, asked)))
    rules = [
        rule if reads or any(bounds[limit.name] == 0 for limit in rule.limits) else _without_limits(rule) for rule in spec.rules
    ]
    found = dataclasses.replace(
        spec,
        rules=tuple(rules),
        properties=tuple(claims),
        lemmas=(),
        refines=(),
        normal_form=(),
        view=(),
        constraint=None,
        unreachable_rules=(),
        more_bounds=tuple(spec.bounds.values()),
    )
    object.__setattr__(found, "declared_in", spec.declared_in)
    return found


def _reads_counters(function: Function) -> bool:
    return any(isinstance(node, tree.Field) and node.name == SPENT for node in walk(*source_of(function).body))


def _without_limits(rule: Rule) -> Rule:
    found = dataclasses.replace(rule, at_most=())
    object.__setattr__(found, "declared_in", rule.declared_in)
    return found
