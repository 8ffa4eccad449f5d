"""Takes every step out of many states, those that some invariants admit, and judges where it leads."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from kafka_spec.model_check.code.arrays import Bytes, Places, memory
from kafka_spec.model_check.record import counted
from kafka_spec.model_check.record.actions import Actions
from kafka_spec.model_check.search.induction_code import InductionProgram
from kafka_spec.model_check.search.slices import Slice, room_for
from kafka_spec.spec.vocabulary.table import TYPE_INVARIANT

CANDIDATES = 128 << 20
"""The most bytes of the states that steps lead to, of one thread at a time."""
PIECE = 1 << 14
"""The states whose steps are taken at a time."""
NO_STEP = "(no step)"
"""In place of a rule: the states that the invariants admit."""


@dataclass
class BlockFindings:
    """What a block of states showed: counts, and for each rule and property the first state that it violates, with the action."""

    admitted: int = 0
    broken: Counter[tuple[str, str]] = field(default_factory=Counter)
    first: dict[tuple[str, str], tuple[bytes, int | None]] = field(default_factory=dict)
    fault: tuple[bytes, str] | None = None
    """A state in which something cannot be executed, and what the compiled code says of it."""


class InductionWorker:
    """One thread of an inductive check: tries blocks of states.

    The first `needed` of the properties say which states are admitted; the others are to follow from them.
    """

    def __init__(self, program: InductionProgram, actions: Actions, needed: int) -> None:
        self.program, self.actions, self.needed = program, actions, needed
        shape = program.shape
        self.part = Slice(program, room_for(shape, PIECE, min(CANDIDATES, memory() // 4)))
        self.names = [claim.name for claim in program.plan.states]

    def try_states(self, states: Bytes) -> BlockFindings:
        """Take the steps of those states that the invariants admit."""
        found = BlockFindings()
        which = np.zeros(len(states), np.int64)
        place, code = self.program.first_violated(states, which)
        if place >= 0:
            found.fault = states[place].tobytes(), self.program.fault_of(code).message
            return found
        states, which = states[which >= self.needed], which[which >= self.needed]
        found.admitted = len(states)
        for number in range(self.needed, len(self.names)):
            if len(those := np.flatnonzero(which == number)):
                found.broken[NO_STEP, self.names[number]] += len(those)
                found.first.setdefault((NO_STEP, self.names[number]), (states[those[0]].tobytes(), None))
        for begin in range(0, len(states), PIECE):
            self.take_steps(np.ascontiguousarray(states[begin : begin + PIECE]), found)
            if found.fault is not None:
                break
        return found

    def take_steps(self, states: Bytes, found: BlockFindings) -> None:
        """Take all steps out of some states, and judge where they lead."""
        part, program = self.part, self.program
        begin = 0
        while begin < len(states):
            part.start_level()
            rest = states[begin:]
            part.expand_rows(program.rows_of(rest), np.zeros(len(rest), np.uint64), begin, every=True)
            if part.count < 0:
                state = states[int(part.counters[counted.FAULT_STATE])]
                found.fault = state.tobytes(), program.fault_of(int(part.counters[counted.FAULT])).message
                return
            self.judge_steps(states, found)
            after, which = part.states[: part.count], np.zeros(part.count, np.int64)
            place, code = program.first_violated(np.ascontiguousarray(after), which)
            if place >= 0:
                found.fault = after[place].tobytes(), program.fault_of(code).message
                return
            self.count_broken(states, which, found)
            begin = part.reached

    def judge_steps(self, states: Bytes, found: BlockFindings) -> None:
        """Record the first step that leaves a domain, and the first that violates each step invariant."""
        counters = self.part.counters
        places = [(TYPE_INVARIANT, counted.UNTYPED)]
        places += [(claim.name, counted.HEADER + 2 * number) for number, claim in enumerate(self.program.plan.steps)]
        for name, place in places:
            if (number := int(counters[place])) >= 0:
                action = int(counters[place + 1])
                if all(claim != name for _, claim in found.first):
                    key = self.actions.decode(action)[0].name, name
                    found.broken[key], found.first[key] = 1, (states[number].tobytes(), action)

    def count_broken(self, states: Bytes, which: Places, found: BlockFindings) -> None:
        """Count the steps that violate an invariant, by rule."""
        bad = np.flatnonzero(which < self.needed)
        keys = self.actions.rules_of(self.part.actions[bad]) * self.needed + which[bad]
        for key, first, count in zip(
            *(part.tolist() for part in np.unique(keys, return_index=True, return_counts=True)), strict=True
        ):
            rule, claim = divmod(key, self.needed)
            of = self.actions.spec.rules[rule].name, self.names[claim]
            found.broken[of] += count
            place = bad[first]
            found.first.setdefault(of, (states[int(self.part.parents[place])].tobytes(), int(self.part.actions[place])))
