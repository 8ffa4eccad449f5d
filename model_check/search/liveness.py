"""Leads-to properties: the search for fair cycles in the steps that a search recorded.

Works on numbers of states and actions (steps.py). lasso.py defines a violation and constructs the counterexample; this module
decides the same over arrays. A state is *open* for a property if it does not meet its predicate; it *owes* if it meets its
antecedent. For each property the fair components of the open states are found and extended backwards over open states. The first
state in the result that owes is a violation.

States from which no protocol step leads on among the open ones are components by themselves. They are taken away, from the last to
the first, and again, as long as that takes most of what is left. Only the rest is searched for components, and often there is none.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from kafka_spec.model_check.code import graph_code
from kafka_spec.model_check.code.arrays import Flags, Numbers
from kafka_spec.model_check.code.graph_code import Components
from kafka_spec.model_check.graph.lasso import Fair, lasso
from kafka_spec.model_check.search.edge_log import Exhausted, RecordedSteps
from kafka_spec.model_check.search.recovery import PIECE, backwards, spread
from kafka_spec.spec.vocabulary.table import Rule

FEW = 32
"""Of so many states one must be taken away for another try."""
Column = Callable[[int], Flags]
"""Returns for each state whether it is open for a property, or whether it owes it."""


@dataclass(frozen=True)
class LeadsToViolation:
    """The number of a state that owes, the actions of a path from it to a fair component, and those of a cycle in it."""

    state: int
    lead: tuple[int, ...]
    cycle: tuple[int, ...]


class Liveness:
    """Decides leads-to properties on recorded steps."""

    def __init__(self, steps: RecordedSteps, rules: Sequence[Rule], fairness: Fair) -> None:
        """Take the steps, and the rule and the fairness of each number of an action."""
        self.steps, self.fairness = steps, fairness
        self.protocol: Flags = np.array([rule.kind == "protocol" for rule in rules], np.bool_)
        self.groups: Numbers = np.array(fairness.groups, np.uint32)
        """The group of each action, and of which groups weak or strong fairness is assumed, each by its number."""
        self.weak, self.strong = (np.array([kind == which for kind in fairness.kinds], np.bool_) for which in ("weak", "strong"))

    def judge(
        self, claims: Sequence[int], lasting: Collection[int], open_for: Column, owing: Column, exhausted: Exhausted
    ) -> tuple[str, list[LeadsToViolation | None]]:
        """Return "" and for each property its violation, or None; the text is the reason if the budget does not allow it.

        A property of `lasting` is violated where a fair path may visit an open state again and again.
        """
        # what is in no fair component of the states that are open for some claim is in none of those that are open for this one
        calm = np.concatenate(self.steps.open) & ~np.concatenate(self.steps.cuts)
        reason, hopeful = self.fair_parts(calm, exhausted)
        found: list[LeadsToViolation | None] = []
        for claim in claims:
            if reason or (reason := exhausted(0)):
                return reason, []
            if not hopeful.any():
                found.append(None)
                continue
            open_ = open_for(claim)
            if claim in lasting:
                lost = open_ & (hopeful > 0)
                found.append(self.violation(int(np.argmax(lost)), hopeful > 0, hopeful) if lost.any() else None)
                continue
            reason, parts = self.fair_parts(open_ & (hopeful > 0), exhausted)
            never = parts > 0
            reason = reason or spread(never, open_ & ~never, self.steps.graph, np.ones(len(self.protocol), np.bool_), exhausted)
            if reason:
                return reason, []
            lost = never & owing(claim)
            found.append(self.violation(int(np.argmax(lost)), open_, parts) if lost.any() else None)
        return reason, found

    def fair_parts(self, left: Flags, exhausted: Exhausted) -> tuple[str, Numbers]:
        """Return "" and for each state the number of its fair component, or 0; `left` are the states that count, and is used up."""
        fair = np.zeros(len(left), np.uint32)
        known = 0
        while left.any():
            reason, resting = self.trim(left, exhausted)
            if reason:
                return reason, fair
            fair[resting] = np.arange(known + 1, known + 1 + len(resting))
            known += len(resting)
            if not left.any():
                break
            parts = Components(self.steps.graph, self.protocol, left)
            unfair, avoided = parts.demands(self.groups, self.weak, self.strong)
            again = np.zeros(parts.found + 1, np.bool_)
            again[parts.parts[avoided]] = True
            again &= ~unfair
            good = left & ~(unfair | again)[parts.parts]
            fair[good] = parts.parts[good] + np.uint32(known)
            known += parts.found
            left &= again[parts.parts] & ~avoided
        return "", fair

    def trim(self, left: Flags, exhausted: Exhausted) -> tuple[str, Numbers]:
        """Take states that are components by themselves out of `left`; return "" and those in which a fair behaviour may rest."""
        resting, fair = np.zeros(len(left), np.bool_), (self.weak | self.strong)[self.groups]
        waiting = backwards(left)
        while len(waiting):
            kept = 0
            for begin in range(0, len(waiting), PIECE):
                if reason := exhausted(0):
                    return reason, waiting
                end = min(len(waiting), begin + PIECE)
                kept = graph_code.trim(left, self.steps.graph, self.protocol, fair, waiting, begin, end, kept, resting)
            if len(waiting) - kept <= len(waiting) // FEW:
                break
            waiting = waiting[:kept]
        return "", np.flatnonzero(resting).astype(np.uint32)

    def violation(self, state: int, open_: Flags, parts: Numbers) -> LeadsToViolation:
        """Return the violation of a state that owes: an infinite behaviour from it."""
        protocol = self.protocol.tolist()
        lead, cycle = lasso(state, self.steps.of, protocol, self.fairness, lambda n: bool(open_[n]), lambda n: int(parts[n]))
        return LeadsToViolation(state, lead, cycle)
