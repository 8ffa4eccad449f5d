"""Compares the search of a spec by its normal form with the search of all its states.

The normal form is right if the normal forms of all states are the states of the reduced search, and if both can do the same. That
is compared on the whole graph, up to collisions of 64-bit hashes:

* No state is missed, none is extra: the normal forms of all states are the states of the reduced search.
* Protocol steps lead to the same: each protocol step that changes the normal form is a step of the reduced search, by the same
  action; or by the same rule, where members are interchangeable. A state can do all that its normal form can, unless a protocol
  step leads on within the class (a request that is certain to be refused is refused first).
* A property about paths has the same predicate and the same antecedent in a state and in its normal form; a recoverable one may
  have its goal a few such steps later.
* Every property has the same verdict.

Steps of operators and faults need no step of their own in the reduced search if their states are reached otherwise: a fault that
changes nothing but its count may be one earlier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.code.arrays import Words, address
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.exploration import EngineError, Exploration, Progress, quiet
from kafka_spec.model_check.search.embedded import Search, explore
from kafka_spec.model_check.search.slices import Slice
from kafka_spec.spec.vocabulary.table import Property, Spec

PIECE = 4096
"""States that are compared at a time."""


def compared(
    spec: Spec,
    bounds: Mapping[str, int],
    *,
    properties: Sequence[Property] | None = None,
    threads: int = 1,
    deadlock: bool = False,
    budget: Budget | None = None,
    progress: Progress = quiet,
) -> Exploration:
    """Return the search of a spec by its normal form, compared with the search of all its states.

    Raises:
        EngineError: they differ; the message says in what.
    """
    budget = budget or Budget()
    reduced = spec.in_normal_form()
    graphs = _Graph(None), _Graph(None)

    def search(which: Spec, graph: _Graph) -> Exploration:
        return explore(
            which,
            bounds,
            properties=properties,
            threads=threads,
            everything=True,
            deadlock=deadlock,
            budget=budget,
            progress=progress,
            on_level=graph.add_level,
        )

    result = search(reduced, graphs[0])
    if result.stopped:
        return result
    graphs[1].former = graphs[0].former
    whole = search(spec, graphs[1])
    if whole.stopped:
        result.complete, result.stopped = False, f"the comparison with all states was not finished: {whole.stopped}"
        return result
    if wrong := graphs[0].differences(graphs[1]) + _verdicts(result, whole):
        raise EngineError(f"{spec.name}: the normal form is not right at these bounds: {'; '.join(wrong)}")
    result.unreduced = whole.distinct
    result.compared.append("the search of all states")
    return result


def _verdicts(result: Exploration, whole: Exploration) -> list[str]:
    """Return the properties with different verdicts, as sentences."""
    return [
        f"{name}: {result.verdict_of(name)} in normal form, {whole.verdict_of(name)} without"
        for name, _ in whole.claims
        if result.verdict_of(name) != whole.verdict_of(name)
    ]


class _Graph:
    """The graph of a search by normal forms: its states, its protocol steps, and what each state can do."""

    def __init__(self, former: Program | None) -> None:
        self.former = former
        """The program that knows the normal form; None: that of the search itself."""
        self.states: list[Words] = []
        self.steps: list[Words] = []
        self.abilities: list[Words] = []
        """For each state without a protocol step within its class: a hash of its normal form and of all its steps."""
        self.moved: list[str] = []
        """Properties that a state and its normal form meet otherwise."""

    def add_level(self, search: Search) -> None:
        """Add the states of a search's frontier and the steps out of them."""
        if self.former is None:
            self.former = search.program
        part = Slice(search.program, PIECE * max(1, search.world.actions.count))
        rules, first = len(search.world.spec.rules), search.world.actions.first
        named = np.arange(first[-1]) if self.former.plan.spec.symmetry is None else np.repeat(np.arange(rules), np.diff(first))
        protocol = np.array([rule.kind == "protocol" for rule in search.world.actions.rules], np.bool_)
        for begin in range(0, search.width, PIECE):
            end = min(search.width, begin + PIECE)
            states, marks = search.frontier.read(begin, end)
            sources = self.forms(states)
            self.states.append(np.unique(sources))
            part.expand(states, marks, begin)
            parents, actions = part.parents[: part.count] - np.uint32(begin), part.actions[: part.count]
            targets = self.forms(part.states[: part.count])
            mine = protocol[actions]
            changes = sources[parents] != targets
            counted = mine & changes
            inside = mine & ~changes & (marks[parents] != part.marks[: part.count])
            hashes = np.where(
                counted, _mixed(_mixed(sources[parents]) ^ _mixed(named[actions].astype(np.uint64)) ^ targets), np.uint64(0)
            )
            self.steps.append(np.unique(hashes[counted]))
            ends = np.cumsum(np.bincount(parents, minlength=end - begin))
            total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
            sums = total[ends] - total[np.concatenate([np.zeros(1, np.int64), ends[:-1]])]
            free = np.ones(end - begin, np.bool_)
            free[parents[inside]] = False
            self.abilities.append(np.unique(_mixed(sources ^ _mixed(sums))[free]))
            self.compare_properties(search, states, free)

    def forms(self, states: npt.NDArray[np.uint8]) -> Words:
        """Return the fingerprints of the normal forms of states."""
        return self.formed(states)[1]

    def formed(self, states: npt.NDArray[np.uint8]) -> tuple[npt.NDArray[np.uint8], Words]:
        """Return the normal forms of states, and their fingerprints."""
        assert self.former is not None
        forms, marks, fault = states.copy(), np.empty(len(states), np.uint64), np.zeros(1, np.int64)
        former = self.former
        if former.form(address(forms), len(forms), former.seed, address(marks), address(fault)) >= 0:
            raise EngineError(f"a state has no normal form: {former.fault_of(int(fault[0])).message}")
        return forms, marks

    def compare_properties(self, search: Search, states: npt.NDArray[np.uint8], free: npt.NDArray[np.bool_]) -> None:
        """Compare what the properties about paths say of states and of their normal forms.

        A goal of a recoverable property may be met only in the normal form where a protocol step leads on within the class: such
        steps eventually lead to a state that has no more of them, and there it must be met.
        """
        program = search.program
        if not program.plan.on_graph:
            return
        said = []
        for records in (states, self.formed(states)[0]):
            meets = np.zeros((len(records), len(program.plan.ways)), np.bool_)
            cells = np.zeros(len(program.plan.states) + 1 + len(program.plan.state_tests), np.int64)
            records = np.ascontiguousarray(records)  # kept while its address is in use
            program.judge(address(records), len(records), address(cells), address(meets))
            said.append(meets)
        differs = said[0] != said[1]
        for number, claim in enumerate(program.plan.on_graph):
            if claim.kind == "recoverable":
                differs[:, number] &= free | said[0][:, number]
        self.moved += [asked.function.__name__ for way in np.flatnonzero(differs.any(axis=0)) for asked in program.plan.ways[way]]

    def differences(self, whole: _Graph) -> list[str]:
        """Return in what the reduced search differs from that of all states, as sentences."""
        wrong = []
        mine, all_ = _joined(self.states), _joined(whole.states)
        for what, left in (("missed", np.setdiff1d(all_, mine)), ("extra", np.setdiff1d(mine, all_))):
            if len(left):
                wrong.append(f"{len(left):,} of {len(all_):,} normal forms {what}")
        for what, left in (
            ("protocol steps between normal forms missed", np.setdiff1d(_joined(whole.steps), _joined(self.steps))),
            ("protocol steps between normal forms extra", np.setdiff1d(_joined(self.steps), _joined(whole.steps))),
            (
                "kinds of states cannot do what their normal form can",
                np.setdiff1d(_joined(whole.abilities), _joined(self.abilities)),
            ),
        ):
            if len(left):
                wrong.append(f"{len(left):,} {what}")
        return wrong + [f"{name} is not the same in a state and in its normal form" for name in dict.fromkeys(whole.moved)]


def _joined(parts: list[Words]) -> Words:
    return np.unique(np.concatenate(parts)) if parts else np.empty(0, np.uint64)


def _mixed(words: Any) -> Words:
    """Return a hash of each word (the finalizer of splitmix64)."""
    x = words + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Words = x ^ (x >> np.uint64(31))
    return mixed
