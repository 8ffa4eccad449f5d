"""What a compilation sees of a spec. Names, sentences and sources are not among it."""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.spec.language import Function
from kafka_spec.spec.vocabulary.table import Machine, Rule, Spec, Symmetric
from kafka_spec.spec.vocabulary.table.normal_forms import Part


@dataclass(frozen=True)
class SeenSpec:
    """What a compilation sees of a spec."""

    rules: tuple[Rule, ...]
    machines: tuple[Machine, ...]
    final_states: Function | None
    constraint: Function | None
    forms: tuple[Part, ...]
    """The parts of the normal form, if the search takes it."""
    view: tuple[Part, ...]
    symmetry: Symmetric | None
    checks_successors: bool
    bounds: tuple[str, ...]
    """The names of the bounds."""

    @classmethod
    def of(cls, spec: Spec) -> SeenSpec:
        """Return what is seen of a spec."""
        forms = spec.normal_form if spec.reduced else ()
        parts = spec.final_states, spec.constraint, forms, spec.view, spec.symmetry, spec.checks_successors, tuple(spec.bounds)
        return cls(spec.rules, spec.machines, *parts)
