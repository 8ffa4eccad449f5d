"""The machine code of a program, and how it is called. It needs no spec, so it can be sent to workers.

Does not compile: compile.py writes the text of the code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kafka_spec.model_check.code import kernel
from kafka_spec.model_check.code.arrays import Bytes, Numbers, address
from kafka_spec.model_check.llvm.machine_code import CodeText, Tier, load
from kafka_spec.model_check.record.counted import HEADER
from kafka_spec.spec.language.integers import unusable
from kafka_spec.spec.vocabulary.table import SpecError


@dataclass(frozen=True)
class Shape:
    """The numbers that a caller of a program's code needs. They do not refer to the spec, so they can be sent to workers."""

    record_bytes: int
    actions: int
    action_bits: int
    rules: int
    cuts: int
    """The number of names under which forbidden steps are counted."""
    states: int
    """The number of properties that the judge decides."""
    steps: int
    """The number of step invariants that the successor function checks."""
    state_tests: int
    """The numbers of antecedents that the judge and the successor function count."""
    step_tests: int
    k: tuple[int, ...]
    seed: int
    """The initial value of the hash, derived from the seed of the fingerprints."""
    row_bytes: int
    """The most bytes of a light row (layout.py)."""
    light: bool
    """Whether the light row of a record is another form than the record."""
    ways: int = 0
    """The number of predicates and antecedents of properties about paths, which the judge evaluates in every state."""
    paths: tuple[int, ...] = ()
    """For each path property the place of its antecedent among those, or -1; its predicate has the number of the property."""
    all_steps: bool = False
    """Whether a property of paths needs the steps out of all states."""


class Code:
    """A program's machine code, and how to call it. The text of the code and its shape are enough to load it on any machine."""

    def __init__(self, module: CodeText, shape: Shape, fresh: bool = False, tier: Tier = Tier.FAST) -> None:
        self.module, self.shape = module, shape
        self.fired = HEADER + 2 * shape.steps
        self.bounded = self.fired + shape.rules
        self.met = self.bounded + shape.rules * shape.cuts
        self.counters = self.met + shape.step_tests
        """The number of counters of the successor function: the header, two for each step invariant, one for each rule and
        one for each name under which its forbidden steps are counted, one for each antecedent of a step invariant."""
        if strange := [value for value in shape.k if unusable(value)]:
            raise SpecError(f"a bound or a decision of {strange[0]} {unusable(strange[0])}")
        self.seed = ctypes.c_int64(shape.seed).value  # all 64 bits, read as a signed number
        self.load(fresh, tier)

    def load(self, fresh: bool = False, tier: Tier = Tier.FAST) -> None:
        """Load the machine code, and use it from now on; the arguments are those of `machine_code.load`."""
        self.loaded = load(self.module, self.shape.k, tier, fresh)
        integer, pointer = ctypes.c_int64, ctypes.c_void_p
        self.expand = self._entry("expand", integer, [pointer, pointer, *[integer] * 4, *[pointer] * 3])
        self.form = self._entry("form", integer, [pointer, integer, integer, pointer, pointer])
        self.judge = self._entry("judge", integer, [pointer, integer, pointer, pointer])
        self.judge_rows = self.judge
        if self.shape.light:
            self.judge_rows = self._entry("judge_rows", integer, [pointer, integer, pointer, pointer])
            self._lighten = self._entry("lighten", integer, [pointer, integer, pointer, pointer])
            self._restore = self._entry("restore", integer, [pointer, integer, pointer])
        for function, shapes in self.functions(self.shape.action_bits, self.shape.light).items():
            arguments = [integer if kind == "int" else pointer for kind in shapes]
            setattr(self, function.__name__, self._entry(function.__name__, integer, arguments))

    def rows_of(self, states: Bytes) -> Bytes:
        """Return the light rows of records, one after the other."""
        return self.sized_rows_of(states)[0] if self.shape.light else states.reshape(-1)

    def sized_rows_of(self, states: Bytes) -> tuple[Bytes, Numbers]:
        """Return the light rows of records, where they are another form, and the bytes of each."""
        count = len(states)
        rows, sizes = np.empty(count * self.shape.row_bytes, np.uint8), np.empty(count, np.uint32)
        states = np.ascontiguousarray(states)  # kept while its address is in use
        used = self._lighten(address(states), count, address(rows), address(sizes))
        return rows[:used], sizes

    def records_of(self, rows: Bytes, count: int, room: Bytes | None = None) -> Bytes:
        """Return the records of so many light rows, in `room` if it is given and they are another form."""
        if not self.shape.light:
            return rows[: count * self.shape.record_bytes].reshape(count, self.shape.record_bytes)
        states = np.empty((count, self.shape.record_bytes), np.uint8) if room is None else room[:count]
        self._restore(address(rows), count, address(states))
        return states

    insert: Callable[..., int]
    append: Callable[..., int]
    append_rows: Callable[..., int]
    fill: Callable[..., int]
    widen: Callable[..., int]

    @property
    def text(self) -> str:
        """The text of the code."""
        return self.module.text

    @classmethod
    def functions(cls, action_bits: int, light: bool) -> Mapping[Callable[..., Any], tuple[int | str, ...]]:
        """Return the engine's own functions that the module contains, with the kinds of their arguments."""
        return kernel.signatures(action_bits, light)

    def _entry(self, name: str, result: Any, arguments: list[Any]) -> Callable[..., Any]:
        return ctypes.CFUNCTYPE(result, *arguments)(self.loaded.engine.get_function_address(name))
