"""What is proved of a spec: some of its invariants and all its lemmas together, with some bounds lifted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_spec.model_check.budget import Budget
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Property, Spec, SpecError

if TYPE_CHECKING:
    from kafka_spec.model_check.proof.obligations import Induction

PROVED = "proved"


def invariants_of(spec: Spec, names: Sequence[str] | None) -> tuple[Property, ...]:
    """Return the properties that are asked for, or all invariants.

    Raises:
        SpecError: there is no such property, or it is not an invariant.
    """
    asked = [spec.property(name) for name in names] if names else [one for one in spec.properties if one.kind == "invariant"]
    if wrong := [statement for statement in asked if statement.kind != "invariant"]:
        raise SpecError(f"{wrong[0].name} is of kind {wrong[0].kind}; only an invariant is proved by induction")
    if not asked:
        raise SpecError(f"{spec.name} states no invariant to prove; declare one with invariant(...)")
    return tuple(asked)


def lifted_bounds(spec: Spec, bounds: Mapping[str, int], names: Sequence[str], what: str) -> frozenset[str]:
    """Return the bounds to lift; `what` begins a message about one of them.

    Raises:
        SpecError: there is no such bound, or it says more than where numbers and sequences end.
    """
    from kafka_spec.model_check.proof.lifting import says_more_than_ends

    for name in names:
        if name not in bounds:
            raise SpecError(f"{what}{name}: {spec.name} has no such bound; it has {', '.join(bounds)}")
        if says_more_than_ends(spec, bounds, name):
            raise SpecError(f"{what}{name}: it says how many there are, which a proof needs to know; lift other bounds")
    return frozenset(names)


def induction_about(
    spec: Spec, asked: Sequence[Property], bounds: Mapping[str, int], lifted: frozenset[str] = frozenset()
) -> Induction:
    """Return the induction about some properties and all lemmas of a spec."""
    from kafka_spec.model_check.proof.obligations import Induction

    return Induction(spec, bounds, spec.claims_at(bounds, (*asked, *spec.lemmas)), lifted)


def outcome_of_induction(
    spec: Spec, asked: Sequence[Property], bounds: Mapping[str, int], lifted: frozenset[str], threads: int, budget: Budget
) -> str:
    """Prove invariants within a budget; return "proved", or what is not: which rule does not keep which statement."""
    with needing("prove"):
        from kafka_spec.model_check.proof.solving import prove

    proof = prove(induction_about(spec, asked, bounds, lifted), threads=threads, budget=budget)
    if proof.is_complete:
        return PROVED
    left = {place: cell for place, cell in proof.cells.items() if cell.open or cell.undecided}
    told = [
        f"{rule} does not keep {statement}" if cell.open else f"whether {rule} keeps {statement} was not decided in time"
        for (rule, statement), cell in left.items()
    ]
    return "; ".join(told[:3]) + (f"; and {len(told) - 3} more" if len(told) > 3 else "")
