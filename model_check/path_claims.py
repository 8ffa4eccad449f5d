"""The claims of a search about paths: what is recorded for them while states are found, and how they are judged at the end.

Depends on numbers of states and steps (recovery.py, liveness.py), not on where they come from: the embedded engine records them
as it searches, the Spark engine reads them from its levels (spark/paths.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kafka_spec.model_check.arrays import Flags, Words
from kafka_spec.model_check.compile import Program
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.liveness import Liveness
from kafka_spec.model_check.recovery import Exhausted, Recovery
from kafka_spec.spec.table import Rule

Found = Callable[[str, int, int], None]
"""Records the shortest path to the state with an index in a level as the finding of a claim."""


class PathClaims:
    """The claims on the graph of a search, and what is recorded for them."""

    def __init__(self, program: Program, rules: Sequence[Rule]) -> None:
        """Begin to record; `rules` has the rule of each number of an action."""
        self.program, self.claims = program, program.on_graph
        rules = rules if self.claims else []
        self.recoverable = [number for number, claim in enumerate(self.claims) if claim.kind == "recoverable"]
        self.leading = [number for number, claim in enumerate(self.claims) if claim.kind == "leads-to"]
        """The indices of both kinds of claims."""
        self.recovery = Recovery(len(self.recoverable)) if self.recoverable else None
        self.liveness = Liveness(len(self.leading), rules) if self.leading else None
        self.kept: dict[str, int] = {}
        """How many pieces of the steps of each recording the folder of the search has."""
        self.protocol = np.array([rule.kind == "protocol" for rule in rules], np.bool_)
        """For each number of an action whether its rule is a protocol rule; empty if no claim needs it."""

    def recordings(self) -> list[tuple[str, Recovery | Liveness]]:
        """Return the recordings of steps, each with the name of its files."""
        both: list[tuple[str, Recovery | Liveness | None]] = [("recovery", self.recovery), ("liveness", self.liveness)]
        return [(name, graph) for name, graph in both if graph is not None]

    def add_level(self, marks: Words, meets: Flags) -> list[int]:
        """Record the fingerprints of a level, and which of its states meet predicates and antecedents, as the judge told.

        Return for each claim how many states owe what it claims.
        """
        everywhere = np.ones(len(marks), np.bool_)
        claims, ways = self.claims, self.program.ways
        goals = meets[:, : len(claims)]
        owes = np.stack([everywhere if c.when is None else meets[:, ways.index(c.when)] for c in claims], axis=1)
        if self.recovery is not None:
            self.recovery.add_level(marks, goals[:, self.recoverable], owes[:, self.recoverable])
        if self.liveness is not None:
            self.liveness.add_level(marks, goals[:, self.leading], owes[:, self.leading])
        return [int(count) for count in (owes & ~goals).sum(axis=0)]

    def add_steps(self, begin: int, cuts: Flags, parents: Any, targets: Words, actions: Any) -> None:
        """Record steps out of states of the last level from index `begin` on; `cuts` says for each what a bound forbade it."""
        if self.recovery is not None:
            self.recovery.add_steps(begin, cuts, parents, targets, self.protocol[actions])
        if self.liveness is not None:
            self.liveness.add_steps(begin, cuts, parents, targets, actions)

    def judge(self, result: Exploration, exhausted: Exhausted, found: Found) -> str:
        """Judge the claims on the recordings; return "", or why the budget does not allow it."""
        if self.recovery is not None:
            reason, lost = self.recovery.lost(exhausted)
            if reason:
                return reason
            for place, number in zip(self.recoverable, lost, strict=True):
                if number >= 0:
                    found(self.claims[place].name, *place_of(result, number))
        if self.liveness is not None:
            reason, violations = self.liveness.judge(exhausted)
            if reason:
                return reason
            for place, violation in zip(self.leading, violations, strict=True):
                if violation is not None:
                    name = self.claims[place].name
                    found(name, *place_of(result, violation.state))
                    result.findings[name] = result.findings[name].going_on(violation.lead, violation.circle)
        return ""


def place_of(result: Exploration, number: int) -> tuple[int, int]:
    """Return level and index of a state by its number."""
    starts = np.cumsum([0, *result.levels])
    level = int(np.searchsorted(starts, number, side="right")) - 1
    return level, number - int(starts[level])
