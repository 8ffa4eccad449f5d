"""Refinements: one spec implements another, by a mapping of its states.

Source: Abadi and Lamport 1991, The existence of refinement mappings; TLA+'s `INSTANCE ... WITH`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafka_spec.spec.language import Function
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.vocabulary.table.functions import Name, check_function
from kafka_spec.spec.vocabulary.table.kinds import check_kinds

if TYPE_CHECKING:
    from kafka_spec.spec.vocabulary.table.spec import Spec


@dataclass(frozen=True)
class Refinement:
    """The spec that has this under `refines` implements the spec `of`: `kafka-spec refines MODEL` judges it.

    The `mapping` takes `s`, a state of the implementing spec, and `a`, a fresh state of the other one, which it fills in; it may
    take `k`, the constants of the implementing spec. An initial state has to become an initial state of `of`. A step has to become a
    step of `of`, or up to `steps` of them, or to leave `a` as it is. Fairness is not compared.

    The bounds of `of` have the values in `bounds`; otherwise, that of the bound of the same name of the implementing spec, or of
    the first bound set of `of`.
    """

    of: Spec
    mapping: Function
    bounds: Mapping[Name, int] = field(default_factory=dict)
    steps: int = 1

    def __post_init__(self) -> None:
        where = self.where
        check_kinds(self, where, {"bounds": Mapping, "steps": int})
        if self.steps < 1:
            raise SpecError(f"{where}: steps is {self.steps}; a step of the implementing spec is 1 or more")
        check_function(self.mapping, {"s", "a", "k"}, where)
        if self.of.counted:
            raise SpecError(
                f"{where}: it counts how often {self.of.counted[0].name} is used up (at_most), which no mapping can say; "
                "state rules without at_most, and limit them by the domains of fields"
            )
        if self.of.view:
            raise SpecError(f"{where}: it compares states by a view; state the spec without one")
        self.values({})

    @property
    def where(self) -> str:
        """What messages call it."""
        return f"refinement of {self.of.name}"

    def values(self, bounds: Mapping[Name, int]) -> dict[Name, int]:
        """Return the bounds of the abstract spec where the implementing one has these.

        Raises:
            SpecError: a bound is unknown, is out of its range, or has no value.
        """
        same = {name: bounds[name] for name in self.of.bounds if name in bounds}
        first = self.of.bound_sets[0].values if self.of.bound_sets else {}
        values = {**first, **same, **self.bounds}
        if missing := [name for name in self.of.bounds if bounds and name not in values]:
            raise SpecError(f"{self.where}: bound {missing[0]} of {self.of.name} has no value; give it in Refinement(bounds=...)")
        left = {name: bound.low for name, bound in self.of.bounds.items() if name not in values}
        return self.of.bound_values({**left, **values})
