"""Compiles and calls the functions on graphs (graph_kernel.py).

They are the same for all specs, and are compiled and loaded when a search is to judge claims about paths.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
from typing import Any

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check import graph_kernel, kernel
from kafka_spec.model_check.arrays import Flags, Numbers, Places, Words, address
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.known_code import written
from kafka_spec.model_check.layout import packed
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.exports import Export
from kafka_spec.model_check.lowering.unit import Tally
from kafka_spec.model_check.lowering.values import Fault
from kafka_spec.model_check.machine_code import Loaded, load
from kafka_spec.spec.domain import Scalar


@functools.cache
def _functions() -> tuple[Loaded, dict[str, Any]]:
    """Return the loaded code, which lives as long as somebody has it, and its functions by name."""

    def write() -> tuple[str, tuple[Fault, ...], tuple[Tally, ...]]:
        compiler = Compiler(packed(Scalar(0, 0, 0, None, str)), (), {"AHEAD": kernel.AHEAD})
        for function, shapes in graph_kernel.SIGNATURES.items():
            Export(compiler, function.__name__, compiler.function(function, shapes, trusted=True).code)
        return str(compiler.module), (), ()

    code = load(written(f"{inspect.getsource(graph_kernel)}\n{kernel.AHEAD}", write, anew=False).code)
    loaded = {}
    for function, shapes in graph_kernel.SIGNATURES.items():
        arguments = [ctypes.c_int64 if kind == "int" else ctypes.c_void_p for kind in shapes]
        loaded[function.__name__] = ctypes.CFUNCTYPE(ctypes.c_int64, *arguments)(
            code.engine.get_function_address(function.__name__)
        )
    return code, loaded


def _call(name: str, *given: npt.NDArray[Any] | int) -> int:
    """Call a function with numbers and contiguous arrays."""
    plain = []
    for value in given:
        if isinstance(value, np.ndarray):
            assert value.flags.c_contiguous
            plain.append(address(value))
        else:
            plain.append(int(value))
    result: int = _functions()[1][name](*plain)
    return result


class Numbering:
    """The numbers of states by their fingerprints, which are all different: 14 bytes a state."""

    def __init__(self, marks: list[Words]) -> None:
        """Number the fingerprints of the levels, which are in order."""
        self.marks = np.concatenate(marks)
        count = len(self.marks)
        self.slots = count + count // 2 + 1
        self.table = np.zeros(self.slots, np.uint32)
        _call("enter", self.marks, count, self.table, self.slots)

    def of(self, targets: Words) -> Numbers:
        """Return the numbers of the states with these fingerprints.

        Raises:
            EngineError: no state has one of them.
        """
        numbers = np.empty(len(targets), np.uint32)
        targets = np.ascontiguousarray(targets)
        strange = _call("look_up", targets, len(targets), self.marks, self.table, self.slots, numbers)
        if strange >= 0:
            raise EngineError(f"a step leads to the state {int(targets[strange]):016x}, which the search has not found")
        return numbers


def grouped(keys: Numbers, values: Numbers, states: int) -> tuple[Places, Numbers]:
    """Group values by their keys, which are states: those of state n are `values[starts[n]:starts[n + 1]]` of what is returned."""
    starts, result = np.zeros(states + 1, np.int64), np.empty(len(keys), np.uint32)
    _call("group", keys, values, len(keys), states, starts, result)
    return starts, result


def spread(safe: Flags, starts: Places, back: Numbers, queue: Numbers, begin: int, end: int, filled: int) -> int:
    """Follow the steps to some states back; see `graph_kernel.spread`."""
    return _call("spread", safe, starts, back, queue, begin, end, filled)


class Components:
    """The strongly connected components of a graph, of the states that are left and the steps whose actions are lasting.

    `parts` has the component of each state, counted from 1; `found` is how many there are.
    """

    def __init__(self, starts: Places, targets: Numbers, actions: Numbers, lasting: Flags, left: Flags) -> None:
        count = len(left)
        rank = left.astype(np.uint32) - np.uint32(1)  # 0 for what is left, the largest number for the rest
        self.starts, self.targets, self.actions, self.firsts = starts, targets, actions, np.zeros(count + 1, np.uint32)
        self.members, path, own, opened = (np.empty(count, np.uint32) for _ in range(4))
        rest = rank, self.members, self.firsts, path, np.empty(count, np.int64), own, opened
        self.found = _call("components", starts, targets, actions, lasting, count, *rest)
        self.parts = ~rank

    def demands(self, weak: Flags, strong: Flags) -> tuple[Flags, Flags]:
        """Return which components weak fairness of actions rules out, and which states strong fairness rules out."""
        unfair, avoided = np.zeros(self.found + 1, np.bool_), np.zeros(len(self.parts), np.bool_)
        enabled, taken = np.zeros(len(weak), np.uint32), np.zeros(len(weak), np.bool_)
        _call(
            "demand", self.starts, self.targets, self.actions, weak, strong, self.parts, self.members, self.firsts, self.found,
            enabled, taken, unfair, avoided,
        )  # fmt: skip
        return unfair, avoided
