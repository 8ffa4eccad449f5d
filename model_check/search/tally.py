"""Adds up what the slices of an embedded search counted, and records what they found on steps."""

from __future__ import annotations

from collections import Counter
from typing import Protocol

import numpy as np

from kafka_spec.model_check.code.arrays import Places
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.record import counted
from kafka_spec.model_check.search.slices import Slice
from kafka_spec.spec.vocabulary.table import DEADLOCK, TYPE_INVARIANT


class Counting(Protocol):
    """What a tally needs to know of a search (embedded.py)."""

    world: Interpreter
    result: Exploration
    program: Program
    slices: list[Slice]
    new: Places
    """How many states of finished levels each rule reached first, since the last tally."""
    tested_at_start: Counter[str]

    def found(self, claim: str, level: int, index: int, *last: int) -> None:
        """Record the shortest path to a state as a finding; `last` are further actions at its end."""


def judge_steps(search: Counting, level: int) -> None:
    """Record what the slices found on the steps out of a level."""
    counters = [part.counters for part in search.slices]
    places = [(DEADLOCK, counted.STUCK)] if search.result.deadlock else []
    places += [(TYPE_INVARIANT, counted.UNTYPED)]
    places += [(claim.name, counted.HEADER + 2 * number) for number, claim in enumerate(search.program.plan.steps)]
    for name, place in places:
        hits = [(int(row[place]), int(row[place + 1])) for row in counters if row[place] >= 0]
        if hits and name not in search.result.findings:
            index, action = min(hits)
            search.found(name, level, index, *([] if name == DEADLOCK else [action]))


def add_up(search: Counting) -> None:
    """Add up what was counted of all levels so far."""
    result, program = search.result, search.program
    for rule, new in zip(search.world.spec.rules, search.new.tolist(), strict=True):
        result.new[rule.name] += new
    search.new.fill(0)
    counters = np.array([part.counters for part in search.slices])
    result.digest = int(counters[:, counted.DIGEST].astype(np.uint64).sum())
    fired = counters[:, program.fired : program.bounded].sum(axis=0).tolist()
    result.fired = Counter({rule.name: times for rule, times in zip(program.plan.rules, fired, strict=True)})
    cuts = counters[:, program.bounded : program.met].sum(axis=0).reshape(len(program.plan.rules), len(program.plan.bound_names))
    for index, cut in zip(*(places.tolist() for places in np.nonzero(cuts)), strict=True):
        result.cut_by[program.plan.rules[index].name, program.plan.bound_names[cut]] = int(cuts[index, cut])
    tests = dict(zip(program.plan.step_tests, counters[:, program.met :].sum(axis=0).tolist(), strict=True))
    for claim in program.plan.steps:
        if claim.when is not None:
            # on states that are judged where steps lead: those at the start were judged by themselves
            result.tested[claim.name] = tests[claim.antecedents] + search.tested_at_start[claim.name]
