"""The properties of a search about paths: what is recorded for them while states are found, and how they are judged at the end.

Depends on numbers of states and steps (steps.py), not on where they come from: the embedded engine records them as it searches, the
Spark engine reads them from its levels (spark/paths.py). recovery.py and liveness.py judge.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code import graph_code
from kafka_spec.model_check.code.arrays import Flags, Numbers, Words
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.graph.lasso import Fair
from kafka_spec.model_check.record.actions import Actions
from kafka_spec.model_check.search.edge_log import Exhausted, RecordedSteps
from kafka_spec.model_check.search.liveness import Liveness
from kafka_spec.model_check.search.recovery import spread
from kafka_spec.spec.vocabulary.table import EVENTUAL

Found = Callable[[str, int, int], None]
"""Records the shortest path to the state with an index in a level as the finding of a property."""


class PathProperties:
    """The properties on the graph of a search, and what is recorded for them."""

    def __init__(self, program: Program, actions: Actions) -> None:
        """Begin to record."""
        self.claims, self.rules = program.plan.on_graph, actions.rules if program.plan.on_graph else []
        self.actions = actions
        self.recoverable = [number for number, claim in enumerate(self.claims) if claim.kind == "recoverable"]
        self.leading = [number for number, claim in enumerate(self.claims) if claim.kind in EVENTUAL]
        """The indices of both kinds of properties."""
        self.leads = np.array([1 + (c.kind == "eventually always") if c.kind in EVENTUAL else 0 for c in self.claims], np.uint8)
        """For each property 0 if it is recoverable, 2 if it needs the steps out of all states, else 1."""
        self.later = np.array([claim.kind == "eventually" for claim in self.claims], np.bool_)
        """For each property whether no state but an initial one owes it."""
        ways = program.plan.ways
        self.whens = np.array([len(ways) if c.when is None else ways.index(c.antecedents) for c in self.claims], np.uint32)
        """For each property the place of its antecedent among the predicates of the judge; their number if it has none."""
        self.protocol: Flags = np.array([rule.kind == "protocol" for rule in self.rules], np.bool_)
        """For each number of an action whether its rule is a protocol rule; empty if no property needs it."""
        self.matter: Flags = self.protocol | bool(self.leading)
        """For each number of an action whether its steps are recorded."""
        self.meets: list[Flags] = []
        """For each level and state, which predicates and antecedents it meets."""
        self.steps: RecordedSteps | None = RecordedSteps(self.matter) if self.claims else None
        """What is recorded, until it has been judged."""

    def add_level(self, marks: Words, meets: Flags) -> list[int]:
        """Record the fingerprints of a level, and which of its states meet predicates and antecedents, as the judge reported.

        Return for each property how many states owe what it requires.
        """
        assert self.steps is not None
        whens = self.whens + (self.later & bool(self.meets)).astype(np.uint32)
        open_, lacking, owing = graph_code.review(meets, whens, self.leads)
        self.meets.append(meets)
        self.steps.add_level(marks, open_, lacking)
        return owing

    def add_steps(self, begin: int, cuts: Flags, parents: Numbers, targets: Words, actions: Numbers) -> None:
        """Record the steps out of states of the last level from index `begin` on; `cuts` says for which a bound prevented any.

        The steps of a state are in one call, in the order of parents. Several threads may call this.
        """
        assert self.steps is not None
        self.steps.add_steps(begin, cuts, parents, targets, actions)

    def newest(self, ended: bool) -> dict[str, npt.NDArray[Any]]:
        """Return the recording of the last level, and of the steps that lead to it.

        With `ended` the last level has been expanded and led to no other, so what is new are its steps.
        """
        return (
            {"meets": self.meets[-1][:0] if ended else self.meets[-1], **self.steps.newest(ended)} if self.steps is not None else {}
        )

    def restore(self, marks: Words, reported: Mapping[str, npt.NDArray[Any]]) -> None:
        """Add the recording of the next level, as `newest` returned it."""
        if self.steps is None:
            return
        self.steps.restore(reported)
        if len(marks):
            self.add_level(marks, reported["meets"].view(np.bool_).reshape(len(marks), -1).copy())

    def column(self, place: int) -> Flags:
        """Return which states meet a predicate or an antecedent."""
        return np.concatenate(
            [level[:, place] if place < level.shape[1] else np.ones(len(level), np.bool_) for level in self.meets]
        )

    def owing(self, claim: int) -> Flags:
        """Return which states meet the antecedent of a property, or are initial where it begins there."""
        owing = self.column(int(self.whens[claim]))
        if self.later[claim]:
            owing[len(self.meets[0]) :] = False
        return owing

    def judge(self, result: Exploration, exhausted: Exhausted, found: Found) -> str:
        """Judge the properties on the recording, which this frees; return "", or why the budget does not allow it."""
        if self.steps is None:
            return ""
        steps, self.steps = self.steps, None
        if reason := steps.finish(exhausted):
            return reason
        for claim in self.recoverable:
            safe = self.column(claim) | np.concatenate(steps.cuts)
            if reason := spread(safe, ~safe, steps.graph, self.protocol, exhausted):
                return reason
            if not safe.all() and (lost := self.owing(claim) & ~safe).any():
                found(self.claims[claim].name, *place_of(result, int(np.argmax(lost))))
        if self.leading:
            live = Liveness(steps, self.rules, Fair(*self.actions.fairness))
            lasting = {number for number in self.leading if self.claims[number].kind == "eventually always"}
            reason, violations = live.judge(self.leading, lasting, lambda claim: ~self.column(claim), self.owing, exhausted)
            if reason:
                return reason
            for claim, violation in zip(self.leading, violations, strict=True):
                if violation is not None:
                    name = self.claims[claim].name
                    found(name, *place_of(result, violation.state))
                    result.findings[name] = result.findings[name].going_on(violation.lead, violation.cycle)
        return ""


def place_of(result: Exploration, number: int) -> tuple[int, int]:
    """Return level and index of a state by its number."""
    starts = np.cumsum([0, *result.levels])
    level = int(np.searchsorted(starts, number, side="right")) - 1
    return level, number - int(starts[level])
