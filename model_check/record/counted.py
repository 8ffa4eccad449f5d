"""What the code of a program judges and counts, and where its counters are.

Depends on the spec alone, not on LLVM.
"""

from __future__ import annotations

from collections.abc import Sequence

from kafka_spec.model_check.record.bound_names import bound_names
from kafka_spec.model_check.record.seen_spec import SeenSpec
from kafka_spec.spec.vocabulary.table import ABOUT_PATHS, Property, Question, Spec

DIGEST, FAULT, FAULT_STATE, FAULT_ACTION, STUCK, UNTYPED, UNTYPED_ACTION, UNTYPED_FAULT, STEPS, EXPANDED, HEADER = range(11)
"""The first counters of the successor function; those of step invariants and rules follow."""

RECENT = 1 << 12
"""How many fingerprints of successors are remembered, each at the place that its last bits give."""


class Plan:
    """What the code of a program is to judge and to count."""

    def __init__(self, spec: Spec | SeenSpec, claims: Sequence[Property], digests: bool) -> None:
        """Sort the properties by where the code judges them; `digests`: whether the graph's digest is computed."""
        self.digests = digests
        self.spec, self.rules = spec, spec.rules
        self.states = [claim for claim in claims if claim.kind in ("invariant", "reachable")]
        """The properties that the judge decides, in the judge's order."""
        self.on_graph: Sequence[Property] = [claim for claim in claims if claim.kind in ABOUT_PATHS]
        self.steps = [claim for claim in claims if claim.kind == "step invariant"]
        """The properties that the successor function decides: step invariants, and those on states if not all states are kept."""
        if spec.checks_successors:
            self.steps += self.states
        self.ways = [claim.predicates for claim in self.on_graph] + antecedents(self.on_graph)
        """The predicates and antecedents of the properties on the graph; the judge returns the value of each in every state."""
        self.state_tests = antecedents(self.states)
        self.step_tests = antecedents(self.steps)
        self.fired = HEADER + 2 * len(self.steps)
        self.bounded = self.fired + len(spec.rules)
        self.bound_names = bound_names(spec)
        self.met = self.bounded + len(spec.rules) * len(self.bound_names)


def antecedents(claims: Sequence[Property]) -> list[tuple[Question, ...]]:
    """Return the distinct antecedents of some properties; properties that share an antecedent share its count."""
    return list(dict.fromkeys(claim.antecedents for claim in claims if claim.when is not None))
