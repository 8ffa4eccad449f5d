"""Leads-to properties: the steps that a search records, and the search for fair cycles in them.

Works on numbers of states and actions. lasso.py defines a violation and constructs the counterexample; this module decides the
same over arrays. States are numbered level by level, in the order of the frontier. A state is *open* for a claim if it does not
meet its predicate, and *owes* if it meets its antecedent. During the search a step is recorded as the number of its source, the
fingerprint of its target and the number of its action, if the source is open for some claim and the target is another state. At
the end fingerprints are replaced by numbers and the steps are sorted by source. For each claim the fair components of the open
states are found and extended backwards over open states. The first state in the result that owes is a violation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.arrays import Flags, Numbers, Places, Words
from kafka_spec.model_check.graph_code import Components, Numbering, grouped
from kafka_spec.model_check.lasso import Step, lasso
from kafka_spec.model_check.recovery import NO_STEPS, Exhausted, batches, spread
from kafka_spec.spec.table import Rule

STEP_BYTES, STATE_BYTES = 56, 64
"""Bytes that each recorded step and state take at the end, in addition to the recording (16 bytes a step), which is freed."""


@dataclass(frozen=True)
class LeadsToViolation:
    """The number of a state that owes, the actions of a path from it to a fair component, and those of a cycle in it."""

    state: int
    lead: tuple[int, ...]
    circle: tuple[int, ...]


class Liveness:
    """The recording of a search that decides leads-to claims."""

    def __init__(self, claims: int, rules: Sequence[Rule]) -> None:
        self.claims = claims
        self.fairness = [rule.assumed for rule in rules]
        self.protocol: Flags = np.array([rule.kind == "protocol" for rule in rules], np.bool_)
        self.weak, self.strong = (np.array([kind == which for kind in self.fairness], np.bool_) for which in ("weak", "strong"))
        self.count = 0
        self.first = 0
        """The number of the first state of the last level."""
        self.marks: list[Words] = []
        self.meets: list[Flags] = []
        self.owes: list[Flags] = []
        """For each level, state and claim, whether the state meets the predicate, and whether it meets the antecedent."""
        self.cuts: list[Flags] = []
        """For each level and state, whether a bound forbids a protocol step."""
        self.steps: list[tuple[Numbers, Words, Numbers]] = []
        """The steps in any order: the numbers of sources, the fingerprints of targets, the numbers of actions."""

    def add_level(self, marks: Words, meets: Flags, owes: Flags) -> None:
        """Add the states of a level: their fingerprints, and whether each meets each claim's predicate, and antecedent."""
        self.first, self.count = self.count, self.count + len(marks)
        if self.count > np.iinfo(np.uint32).max:
            raise MemoryError
        self.marks.append(marks)
        self.meets.append(meets)
        self.owes.append(owes)
        self.cuts.append(np.zeros(len(marks), np.bool_))

    def add_steps(self, begin: int, cut: Flags, parents: Numbers, targets: Words, actions: Numbers) -> None:
        """Add steps out of the states of the last level that start at index `begin`, one for each of `cut`.

        `parents` are indices in the level, `targets` fingerprints. Several threads may call this, for disjoint states.
        """
        end = begin + len(cut)
        self.cuts[-1][begin:end] = cut
        matters: Flags = np.asarray(~self.meets[-1][begin:end].all(axis=1))
        kept = matters[parents - np.uint32(begin)] & (targets != self.marks[-1][parents])
        if kept.any():
            self.steps.append((parents[kept] + np.uint32(self.first), targets[kept], actions[kept]))

    def newest(self, kept: int, ended: bool) -> dict[str, npt.NDArray[Any]]:
        """Return the recording of the last level and of the steps that lead to it; `Recovery.newest` says more."""
        empty = (*NO_STEPS, np.empty(0, np.uint32))
        sources, targets, actions = (
            np.concatenate([none, *(step[n] for step in self.steps[kept:])]) for n, none in enumerate(empty)
        )
        steps = {"sources": sources, "targets": targets, "actions": actions}
        if ended:
            return {"cuts": self.cuts[-1], "meets": self.meets[-1][:0], "owes": self.owes[-1][:0], **steps}
        cuts = self.cuts[-2] if len(self.cuts) > 1 else self.cuts[-1][:0]
        return {"cuts": cuts, "meets": self.meets[-1], "owes": self.owes[-1], **steps}

    def restore(self, marks: Words, told: Mapping[str, npt.NDArray[Any]]) -> None:
        """Add the recording of the next level, as `newest` returned it."""
        if self.cuts:
            self.cuts[-1] = told["cuts"].view(np.bool_).copy()
            kinds = {"sources": np.uint32, "targets": np.uint64, "actions": np.uint32}
            sources, targets, actions = (told[name].view(kind) for name, kind in kinds.items())
            self.steps.append((sources, targets, actions))
        flags = [told[name].view(np.bool_).reshape(-1, self.claims).copy() for name in ("meets", "owes")]
        self.add_level(marks, *flags)

    def judge(self, exhausted: Exhausted) -> tuple[str, list[LeadsToViolation | None]]:
        """Return "" and for each claim its violation, or None; the text is the reason if the budget does not allow it.

        This frees the recording.
        """
        count = sum(len(sources) for sources, _, _ in self.steps)
        if reason := exhausted(count * STEP_BYTES + self.count * STATE_BYTES):
            return reason, []
        graph = self.graph(count, exhausted)
        if isinstance(graph, str):
            return graph, []
        # what is in no fair component of the states that are open for some claim is in none of those that are open for this one
        hopeful = self.fair_parts(graph, ~(np.concatenate(self.cuts) | np.concatenate([m.all(axis=1) for m in self.meets]))) > 0
        found: list[LeadsToViolation | None] = []
        for claim in range(self.claims):
            open_ = ~np.concatenate([level[:, claim] for level in self.meets])
            owes = np.concatenate([level[:, claim] for level in self.owes])
            if reason := exhausted(0):
                return reason, []
            parts = self.fair_parts(graph, open_ & hopeful)
            never = parts > 0
            if never.any():
                sources = np.repeat(np.arange(self.count, dtype=np.uint32), np.diff(graph.starts))
                inside = open_[sources] & open_[graph.targets]
                if reason := spread(never, *grouped(graph.targets[inside], sources[inside], self.count), exhausted):
                    return reason, []
            lost = never & owes
            found.append(self.violation(graph, int(np.argmax(lost)), open_, parts) if lost.any() else None)
        return "", found

    def graph(self, count: int, exhausted: Exhausted) -> _Graph | str:
        """Return the recorded steps by source and action, with state numbers; or why the budget does not allow it."""
        numbering = Numbering(self.marks)
        self.marks.clear()
        sources, targets, actions = (np.empty(count, np.uint32) for _ in range(3))
        end = count
        for some, to, by in batches(self.steps):
            if reason := exhausted(0):
                return reason
            # from the end, so that steps which one thread recorded stay in order, and are grouped below in no time
            at = end - len(some)
            sources[at:end], targets[at:end], actions[at:end] = some, numbering.of(to), by
            end = at
        # the actions of a state were recorded in their order
        starts, targets = grouped(sources, targets, self.count)
        return _Graph(starts, targets, grouped(sources, actions, self.count)[1])

    def fair_parts(self, graph: _Graph, left: Flags) -> Numbers:
        """Return for each state the number of its fair component, or 0; only the states of `left` count."""
        fair, left = np.zeros(self.count, np.uint32), left.copy()
        known = 0
        while left.any():
            parts = Components(graph.starts, graph.targets, graph.actions, self.protocol, left)
            unfair, avoided = parts.demands(self.weak, self.strong)
            again = np.zeros(parts.found + 1, np.bool_)
            again[parts.parts[avoided]] = True
            again &= ~unfair
            good = left & ~(unfair | again)[parts.parts]
            fair[good] = parts.parts[good] + np.uint32(known)
            known += parts.found
            left &= again[parts.parts] & ~avoided
        return fair

    def violation(self, graph: _Graph, state: int, open_: Flags, parts: Numbers) -> LeadsToViolation:
        """Return the violation of a state that owes: an infinite behaviour from it."""
        protocol = self.protocol.tolist()
        lead, circle = lasso(state, graph.steps, protocol, self.fairness, lambda n: bool(open_[n]), lambda n: int(parts[n]))
        return LeadsToViolation(state, lead, circle)


@dataclass(frozen=True)
class _Graph:
    """Steps in the order of source, then action; those out of state n begin at `starts[n]`."""

    starts: Places
    targets: Numbers
    actions: Numbers

    def steps(self, node: int) -> list[Step]:
        """Return the steps out of a state."""
        some = slice(self.starts[node], self.starts[node + 1])
        return list(zip(self.actions[some].tolist(), self.targets[some].tolist(), strict=True))
