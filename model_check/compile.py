"""Compiles a spec at given bounds to a program: the successor function, the judge of states, the set of fingerprints.

There is one module of machine code for each shape; bounds and decisions that do not change the shape are values of `k`, which are
set when it is loaded, or code is generated for them. Does not depend on any engine. lowering/ writes the functions.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence

from llvmlite import ir

from kafka_spec.model_check import kernel
from kafka_spec.model_check.code import Code, Shape
from kafka_spec.model_check.counted import Plan
from kafka_spec.model_check.fingerprint import SECRET, mix
from kafka_spec.model_check.inputs import text_of
from kafka_spec.model_check.known_code import Written, written
from kafka_spec.model_check.layout import Actions, Layout
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.exports import Export, Tallied
from kafka_spec.model_check.lowering.judges import Forms, JudgeOfMany, StateJudge, StepJudge
from kafka_spec.model_check.lowering.light_rows import Lighten, LightRows, Restore
from kafka_spec.model_check.lowering.normal_form import Former
from kafka_spec.model_check.lowering.successors import Successors, name_bounds
from kafka_spec.model_check.lowering.symmetry import Renamer
from kafka_spec.model_check.lowering.unit import Tally
from kafka_spec.model_check.lowering.values import I64, Fault
from kafka_spec.model_check.machine_code import Tier
from kafka_spec.spec.source import definition_of
from kafka_spec.spec.table import Constants, Property, Spec


class Program(Plan, Code):
    """The compiled code of a spec at given bounds."""

    def __init__(
        self,
        spec: Spec,
        layout: Layout,
        actions: Actions,
        claims: Sequence[Property],
        k: Constants,
        leave_out: frozenset[str] = frozenset(),
        anew: bool = False,
        covering: bool = False,
        tier: Tier = Tier.FAST,
    ) -> None:
        """Compile, or use code that was compiled from equal inputs before; `anew`: always compile; `tier`: see machine_code."""
        began = time.perf_counter()
        Plan.__init__(self, spec, claims, "digest" not in leave_out)
        self.written = self._compile(spec, layout, actions, claims, tuple(vars(k)), leave_out, anew, covering)
        seed = layout.seed ^ mix(layout.seed ^ SECRET[0], SECRET[1])
        counts = actions.count, actions.bits, len(spec.rules), len(self.cut_names), len(self.states), len(self.steps)
        tests = len(self.state_tests), len(self.step_tests)
        paths = tuple(-1 if claim.when is None else self.ways.index(claim.antecedents) for claim in self.on_graph)
        shape = Shape(
            layout.size, *counts, *tests, tuple(vars(k).values()), seed, layout.most, bool(layout.wide), len(self.ways), paths
        )
        Code.__init__(self, self.written.code, shape, anew, tier)
        self.tallied = self._entry("tallied", None, [ctypes.c_void_p]) if covering else None
        self.seconds = time.perf_counter() - began

    def load(self, anew: bool = False, tier: Tier = Tier.FAST) -> None:
        """Load the machine code, and use it from now on; the arguments are those of `machine_code.load`."""
        super().load(anew, tier)
        integer, pointer = ctypes.c_int64, ctypes.c_void_p
        renames = self.spec.symmetry is not None
        self.rename = self._entry("rename_members", None, [pointer, integer, integer, pointer]) if renames else None

    def _compile(
        self,
        spec: Spec,
        layout: Layout,
        actions: Actions,
        claims: Sequence[Property],
        constants: tuple[str, ...],
        leave_out: frozenset[str],
        anew: bool,
        covering: bool,
    ) -> Written:
        """Return what the compiler writes, or wrote before for equal inputs."""
        literals = {"RECORD_BYTES": layout.size, "AHEAD": kernel.AHEAD, "SLACK": kernel.SLACK, "SIGN": -1 << 63}
        functions = self.functions(actions.bits, bool(layout.wide))
        engine = (
            f"{type(self).__module__}.{type(self).__qualname__}",
            sorted(leave_out),
            int(covering),
            literals,
            self.cut_names,
            [claim.name for claim in self.steps],
            [(definition_of(function).text, shapes) for function, shapes in functions.items()],
        )

        def write() -> tuple[str, tuple[Fault, ...], tuple[Tally, ...]]:
            compiler = Compiler(layout.root, constants, literals, spec.machines, "checks" not in leave_out, covering)
            compiler.rows = self.told_rows()
            former = Former(compiler, "bring into form", spec.normal_form if spec.reduced else (), layout.root)
            viewer = Former(compiler, "view", spec.view, layout.root)
            light = LightRows(compiler, layout)
            ir.Function(compiler.module, ir.FunctionType(I64, [I64]), "bound.of.fault")
            if self.steps:
                StepJudge(self, compiler, layout)
            Successors(self, compiler, layout, actions, former, viewer, light)
            judge = StateJudge(self, compiler, layout).code
            JudgeOfMany(compiler, layout, judge)
            Forms(compiler, layout, former, light.fingerprint)
            if layout.wide:
                JudgeOfMany(compiler, layout, judge, light)
                Lighten(compiler, layout, light)
                Restore(compiler, layout, light)
            if spec.symmetry is not None:
                Renamer(compiler, layout.root, spec.symmetry)
            self.emit_more(compiler, layout, actions)
            name_bounds(self, compiler)
            for function, shapes in functions.items():
                Export(compiler, function.__name__, compiler.function(function, shapes, trusted=True).code)
            if covering:
                Tallied(compiler)
            return str(compiler.module), tuple(compiler.faults), tuple(compiler.tallies)

        return written(text_of(spec, layout, actions, claims, constants, engine), write, anew)

    def tallies(self) -> dict[Tally, int]:
        """Return the counts of coverage; empty if it is not measured."""
        if self.tallied is None:
            return {}
        names = self.written.tallies
        counts = (ctypes.c_int64 * max(1, len(names)))()
        self.tallied(counts)
        return dict(zip(names, counts, strict=False))

    def told_rows(self) -> dict[tuple[str, int], int] | None:
        """Return where the code tells which rows of machines were taken (`lowering.unit.Unit.rows`); here it does not tell."""
        return None

    def emit_more(self, compiler: Compiler, layout: Layout, actions: Actions) -> None:
        """Add what a kind of program has besides; here nothing."""

    def fault_of(self, code: int) -> Fault:
        """Return the fault with this number."""
        return self.written.faults[code // 4 - 1]
