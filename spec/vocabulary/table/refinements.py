"""Refinements: one spec implements another, by a mapping of its states.

Source: Abadi and Lamport 1991, The existence of refinement mappings; TLA+'s `INSTANCE ... WITH`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kafka_spec.spec.language import Function
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.vocabulary.table.functions import Name, check_function
from kafka_spec.spec.vocabulary.table.kinds import check_kinds

AbstractSpec = TypeVar("AbstractSpec")
"""A spec, which is what has refinements."""


@dataclass(frozen=True)
class Refinement(Generic[AbstractSpec]):
    """The spec that has this under `refines` implements the spec `of`: `kafka-spec refines MODEL` judges it.

    The `mapping` takes `s`, a state of the implementing spec, and `a`, a fresh state of the other one, which it fills in; it may
    take `k`, the constants of the implementing spec. An initial state has to become an initial state of `of`. A step has to become
    a step of `of`, or up to `steps` of them, or to leave `a` as it is. Fairness is not compared.

    The bounds of `of` have the values in `bounds`; otherwise, that of the bound of the same name of the implementing spec, or of
    the first bound set of `of`.
    """

    of: AbstractSpec
    mapping: Function
    bounds: Mapping[Name, int] = field(default_factory=dict)
    steps: int = 1

    def __post_init__(self) -> None:
        where = f"refinement of {getattr(self.of, 'name', self.of)}"
        check_kinds(self, where, {"bounds": Mapping, "steps": int})
        if self.steps < 1:
            raise SpecError(f"{where}: steps is {self.steps}; a step of the implementing spec is 1 or more")
        check_function(self.mapping, {"s", "a", "k"}, where)
