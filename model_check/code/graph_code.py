"""Compiles and calls the functions on graphs (graph_kernel.py).

They are the same for all specs, and are compiled and loaded when a search is to judge properties about paths.
"""

from __future__ import annotations

import ctypes
import functools
import inspect
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kafka_spec.model_check.code import graph_kernel, kernel
from kafka_spec.model_check.code.arrays import Flags, Numbers, Places, Words, address
from kafka_spec.model_check.code.memo import written
from kafka_spec.model_check.llvm.machine_code import Loaded, load
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.exports import Export
from kafka_spec.model_check.lowering.unit import Tally
from kafka_spec.model_check.lowering.values import Fault
from kafka_spec.model_check.record.layout import packed
from kafka_spec.spec.language.domain import Scalar


@functools.cache
def _functions() -> tuple[Loaded, dict[str, Any]]:
    """Return the loaded code, which lives as long as somebody has it, and its functions by name."""

    def write() -> tuple[str, tuple[Fault, ...], tuple[Tally, ...]]:
        compiler = Compiler(packed(Scalar(0, 0, 0, None, str)), (), {"AHEAD": kernel.AHEAD})
        for function, shapes in graph_kernel.SIGNATURES.items():
            Export(compiler, function.__name__, compiler.function(function, shapes, trusted=True).code)
        return str(compiler.module), (), ()

    code = load(written(f"{inspect.getsource(graph_kernel)}\n{kernel.AHEAD}", write, fresh=False).code)
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


def review(meets: Flags, places: Numbers, leading: npt.NDArray[np.uint8]) -> tuple[Flags, Flags, list[int]]:
    """Return which states are open for some leads-to property, which lack a recoverable one, and how many owe each property."""
    open_, lacking = np.zeros(len(meets), np.bool_), np.zeros(len(meets), np.bool_)
    owing = np.zeros(len(places), np.int64)
    meets = np.ascontiguousarray(meets)
    _call("review", meets, *meets.shape, len(places), places, leading, open_, lacking, owing)
    return open_, lacking, owing.tolist()


def begin(starts: Places, degrees: Numbers, first: int) -> None:
    """Write where the steps of the states from `first` on begin; see `graph_kernel.begin`."""
    _call("begin", starts, degrees, first, len(degrees))


def keep(*given: npt.NDArray[Any] | int) -> int:
    """Keep the steps that matter; see `graph_kernel.keep`."""
    return _call("keep", *given)


class Numbering:
    """The numbers of states by their fingerprints, which are all different: 12 bytes a state, besides the fingerprints."""

    def __init__(self, marks: Words, first: int = 0) -> None:
        """Number the fingerprints in their order, from `first` on."""
        self.marks, self.first = marks, first
        self.slots = 3 * len(marks) + 1
        self.table = np.zeros(self.slots, np.uint32)
        _call("enter", marks, len(marks), self.table, self.slots)

    def find(self, targets: Words, places: Numbers, numbers: Numbers) -> int:
        """Write the numbers of some fingerprints to their places in `numbers`; return how many are of other states.

        Those move to the front, with their places.
        """
        return _call("look_up", targets, places, len(targets), self.marks, self.table, self.slots, self.first, numbers)


Graph: TypeAlias = tuple[Places, Numbers, Numbers]
"""Where the steps of each state begin, and the target and the action of each step."""


def spread(marked: Flags, graph: Graph, lasting: Flags, waiting: Numbers, begin: int, end: int, kept: int) -> int:
    """Mark some states that have a step to a marked one; see `graph_kernel.spread`."""
    return _call("spread", marked, *graph, lasting, waiting, begin, end, kept)


def trim(
    left: Flags, graph: Graph, lasting: Flags, fair: Flags, waiting: Numbers, begin: int, end: int, kept: int, resting: Flags
) -> int:
    """Take some states that have no step to a state of `left` out of it; see `graph_kernel.trim`."""
    return _call("trim", left, *graph, lasting, fair, waiting, begin, end, kept, resting)


class Components:
    """The strongly connected components of a graph, of the states that are left and the steps whose actions are lasting.

    `parts` has the component of each state, counted from 1; `found` is how many there are.
    """

    def __init__(self, graph: Graph, lasting: Flags, left: Flags) -> None:
        count = len(left)
        rank = left.astype(np.uint32) - np.uint32(1)  # 0 for what is left, the largest number for the rest
        self.graph, self.firsts = graph, np.zeros(count + 1, np.uint32)
        self.members, path, own, opened = (np.empty(count, np.uint32) for _ in range(4))
        rest = rank, self.members, self.firsts, path, np.empty(count, np.int64), own, opened
        self.found = _call("components", *graph, lasting, count, *rest)
        self.parts = ~rank

    def demands(self, groups: Numbers, weak: Flags, strong: Flags) -> tuple[Flags, Flags]:
        """Return which components weak fairness of groups of actions rules out, and which states strong fairness rules out."""
        unfair, avoided = np.zeros(self.found + 1, np.bool_), np.zeros(len(self.parts), np.bool_)
        enabled, taken, seen = (np.zeros(len(weak), kind) for kind in (np.uint32, np.bool_, np.uint32))
        counted = enabled, taken, seen, unfair, avoided
        _call("demand", *self.graph, groups, weak, strong, self.parts, self.members, self.firsts, self.found, *counted)
        return unfair, avoided
