"""Judges the property that members are interchangeable in the states that a search of compiled code visits.

If it is right, a state under other names of its members can do the same under those names, and every property says the same of it.
All states are compared while the search is small, and some of each level then, chosen at random. On Spark the driver compares what
tasks report. `check --verify normal_form` compares all states, where those can be searched.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Bytes, Words, address, some_of
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.interpreter.symmetry_check import all_renamings, refuse_difference
from kafka_spec.model_check.record.counted import HEADER, STUCK, UNTYPED
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search.frontier import Frontier
from kafka_spec.model_check.search.slices import Slice
from kafka_spec.spec.vocabulary.table import Symmetric
from kafka_spec.spec.vocabulary.table.symmetry import Renaming

ALL = 4096
"""Up to so many states of a search, all are compared."""
SOME = 64
"""Of each further level, so many states are compared."""
GROUP = 1024
"""States that are compared at a time."""


class Renamings:
    """Compares states of a search with their renamings."""

    def __init__(self, world: Interpreter, program: Program, layout: Layout, part: Symmetric) -> None:
        self.world, self.program, self.layout, self.part = world, program, layout, part
        rules = np.arange(1, len(world.spec.rules) + 1, dtype=np.uint64)
        self.sign_of_rule: Words = rules * np.uint64(0x9E3779B97F4A7C15)
        """A number for each rule."""
        self.slice = Slice(program, GROUP * max(1, world.actions.count))
        self.compared = 0

    @classmethod
    def of(cls, world: Interpreter, program: Program, layout: Layout) -> Renamings | None:
        """Return what compares the states of a search, if members are interchangeable there."""
        part = world.spec.symmetry
        return cls(world, program, layout, part) if part is not None else None

    def judge(self, level: int, frontier: Frontier, width: int) -> None:
        """Compare the states of a level, or some of them.

        Raises:
            SpecError: the members are not interchangeable.
        """
        everything = self.compared + width <= ALL or width <= SOME
        self.compared += width if everything else SOME
        for states, marks in whole(frontier, width) if everything else [spread(frontier, width)]:
            self.compare(level, states, marks)

    def compare(self, level: int, states: Bytes, marks: Words) -> None:
        """Compare some states of a level, at most a group; `judge` says what it raises."""
        plain = self.account(states, marks)
        for members, to in all_renamings(self.world.space.root, self.part, level):
            if self.account(self.renamed(states, members, to), marks) != plain:
                self.explain(states, members, to)

    def renamed(self, states: npt.NDArray[np.uint8], members: str, to: Renaming) -> npt.NDArray[np.uint8]:
        """Return states under other names of some members."""
        other, numbers = states.copy(), np.array(to, np.int64)
        self.program.renames[members](address(other), len(other), self.layout.size, address(numbers))
        return other

    def account(self, states: npt.NDArray[np.uint8], marks: Words) -> tuple[Any, ...]:
        """Return what states can do and what properties say of them, without the numbers of actions, which name members."""
        program, part = self.program, self.slice
        part.counters[:] = 0
        part.start_level()
        part.expand(states, marks, 0)
        cells = part.counters
        counted = (
            cells[some].tobytes() for some in ([STUCK, UNTYPED], slice(HEADER, program.fired, 2), slice(program.fired, None))
        )
        steps = np.zeros(len(states), np.uint64)
        if part.count >= 0:
            signs = self.sign_of_rule[self.world.actions.rules_of(part.actions[: part.count])]
            signs ^= part.marks[: part.count]
            signs *= np.uint64(0xBF58476D1CE4E5B9)
            signs ^= signs >> np.uint64(29)
            np.add.at(steps, part.parents[: part.count], signs)
        firsts = np.array([-1] * len(program.plan.states) + [0] * (1 + len(program.plan.state_tests)), np.int64)
        meets = np.zeros((len(states), len(program.plan.ways)), np.bool_)
        faulted = program.judge(address(states), len(states), address(firsts), address(meets))
        return part.count, *counted, steps.tobytes(), faulted, firsts.tobytes(), meets.tobytes()

    def explain(self, states: npt.NDArray[np.uint8], members: str, to: Renaming) -> None:
        """Raise the reason why some of the states differ from their renamings."""
        claims = list(dict.fromkeys([*self.program.plan.states, *self.program.plan.on_graph, *self.program.plan.steps]))
        for record in states:
            refuse_difference(self.world, claims, self.layout.unpack(record.tobytes()), members, to)
        raise EngineError(f"{self.world.spec.name}: compiled code reports its {members} apart, and the oracle does not")


def whole(frontier: Frontier, width: int) -> Iterator[tuple[Bytes, Words]]:
    """Yield all states of a level in groups, with their fingerprints."""
    for begin in range(0, width, GROUP):
        states, marks = frontier.read(begin, min(width, begin + GROUP))
        yield np.ascontiguousarray(states), marks


def spread(frontier: Frontier, width: int) -> tuple[Bytes, Words]:
    """Return some states of a level with their fingerprints, from places chosen at random, always the same ones."""
    read = [frontier.read(place, place + 1) for place in some_of(width, SOME).tolist()]
    states, marks = (np.concatenate(column) for column in zip(*read, strict=True))
    return np.ascontiguousarray(states), marks
