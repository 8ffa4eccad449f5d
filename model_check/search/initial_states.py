"""The initial states: made in plain Python, or where the rule that starts has many bindings by compiled code."""

from __future__ import annotations

import copy

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code.arrays import Bytes, Words, memory
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.llvm.machine_code import Tier
from kafka_spec.model_check.record import counted
from kafka_spec.model_check.record.actions import Actions
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search.slices import Slice
from kafka_spec.spec.vocabulary.table import Spec, SpecError

MANY = 2000
"""Bindings of the rule that starts from which on compiling it takes less time than plain Python does."""
MOST = 1 << 24
"""Bindings up to which all are made at once, which takes seconds and does not notice that a budget is exhausted."""


def initial_states(world: Interpreter, layout: Layout) -> tuple[Bytes, Words]:
    """Return the records of the distinct initial states, in the order of the bindings that make them, and their fingerprints.

    Raises:
        SpecError: there is none, or a binding makes a state that is none.
    """
    found = _compiled(world, layout)
    if found is not None:
        return found
    states = [world.formed(state) for state in world.initial()]
    records = b"".join(map(layout.pack, states))
    marks = [layout.fingerprint(layout.pack(world.viewed(state))) for state in states]
    return np.frombuffer(records, np.uint8).reshape(len(states), -1), np.array(marks, np.uint64)


def _compiled(world: Interpreter, layout: Layout) -> tuple[Bytes, Words] | None:
    """Return what compiled code makes of every binding, or None where there are few bindings, or one makes no initial state.

    Then plain Python says which one, and why.
    """
    spec = world.spec
    if spec.reduced or spec.view or spec.constraint is not None:
        return None
    beginning = _beginning(spec)
    try:
        actions = Actions(beginning, world.space, world.bounds)
    except SpecError:  # more bindings than there are numbers of actions
        return None
    if not MANY <= actions.count <= min(MOST, memory() // 16 // (layout.size + 32)):
        return None
    program = Program(beginning, layout, actions, [], world.k, tier=Tier.QUICK)
    part = Slice(program, actions.count + 1)
    fresh = np.frombuffer(layout.pack(world.space.fresh()), np.uint8).reshape(1, -1)
    part.expand(fresh, np.zeros(1, np.uint64), 0)
    fired = int(part.counters[program.fired])
    cut = part.counters[program.bounded : program.met].any() or part.counters[counted.UNTYPED] >= 0
    if part.count != fired or fired == 0 or cut:
        return None
    states, marks = part.states, part.marks[: part.count]
    _, first = np.unique(states.view(f"V{layout.size}").reshape(-1), return_index=True)
    places: npt.NDArray[np.intp] = np.sort(first)
    return states[places], marks[places]


def _beginning(spec: Spec) -> Spec:
    """Return a spec whose only rule is the one that starts; it judges nothing."""
    beginning = copy.copy(spec)
    changes = {"rules": (spec.start,), "properties": (), "lemmas": (), "normal_form": (), "final": None}
    for name, value in changes.items():
        object.__setattr__(beginning, name, value)
    return beginning
