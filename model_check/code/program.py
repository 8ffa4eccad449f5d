"""Compiles a spec at given bounds to a program: the successor function, the judge of states, the set of fingerprints.

There is one module of machine code for each shape; bounds and decisions that do not change the shape are values of `k`, which are
set when it is loaded, or code is generated for them. Does not depend on any engine. lowering/ writes the functions.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir

from kafka_spec.model_check.code import kernel
from kafka_spec.model_check.code.cache_key import Inputs
from kafka_spec.model_check.code.compiled import Code, Shape
from kafka_spec.model_check.code.memo import Written, written
from kafka_spec.model_check.llvm.machine_code import Tier
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.exports import Export, Tallied
from kafka_spec.model_check.lowering.judges import Forms, JudgeOfMany, StateJudge, StepJudge
from kafka_spec.model_check.lowering.light_rows import Lighten, LightRows, Restore
from kafka_spec.model_check.lowering.normal_form import Former
from kafka_spec.model_check.lowering.renaming import Renamer
from kafka_spec.model_check.lowering.successors import Successors, name_bounds
from kafka_spec.model_check.lowering.unit import Tally
from kafka_spec.model_check.lowering.values import I64, Fault
from kafka_spec.model_check.record.actions import ActionNumbers, Actions
from kafka_spec.model_check.record.counted import Plan
from kafka_spec.model_check.record.fingerprint import SECRET, mix
from kafka_spec.model_check.record.layout import Layout, RecordLayout
from kafka_spec.model_check.record.seen_spec import SeenSpec
from kafka_spec.spec.language.source import definition_of
from kafka_spec.spec.vocabulary.table import Constants, Property, Spec

LITERALS = {"AHEAD": kernel.AHEAD, "SLACK": kernel.SLACK, "SIGN": -1 << 63}
"""The names that the engine's own functions read as numbers, besides the size of a record."""


@dataclass(frozen=True)
class Options:
    """How a program is compiled."""

    leave_out: tuple[str, ...]
    covering: bool
    """Whether the code counts what it runs."""
    action_bits: int
    light: bool
    """Whether the light row of a record is another form than the record."""


class Program(Code):
    """The compiled code of a spec at given bounds, with the plan of what it judges and counts."""

    def __init__(
        self,
        spec: Spec,
        layout: Layout,
        actions: Actions,
        claims: Sequence[Property],
        k: Constants,
        leave_out: frozenset[str] = frozenset(),
        fresh: bool = False,
        covering: bool = False,
        tier: Tier = Tier.FAST,
    ) -> None:
        """Compile, or use code that was compiled from equal inputs before; `fresh`: always compile; `tier`: see machine_code."""
        began = time.perf_counter()
        self.plan = plan = Plan(spec, claims, "digest" not in leave_out)
        self.written = self._compile(spec, layout, actions, claims, tuple(vars(k)), leave_out, fresh, covering)
        seed = layout.seed ^ mix(layout.seed ^ SECRET[0], SECRET[1])
        counts = actions.count, actions.bits, len(spec.rules), len(plan.bound_names), len(plan.states), len(plan.steps)
        tests = len(plan.state_tests), len(plan.step_tests)
        paths = tuple(-1 if claim.when is None else plan.ways.index(claim.antecedents) for claim in plan.on_graph)
        ways, all_steps = len(plan.ways), any(claim.kind == "eventually always" for claim in plan.on_graph)
        values, light = tuple(vars(k).values()), bool(layout.wide)
        shape = Shape(layout.size, *counts, *tests, values, seed, layout.most, light, ways, paths, all_steps)
        super().__init__(self.written.code, shape, fresh, tier)
        self.tallied = self._entry("tallied", None, [ctypes.c_void_p]) if covering else None
        self.seconds = time.perf_counter() - began

    def load(self, fresh: bool = False, tier: Tier = Tier.FAST) -> None:
        """Load the machine code, and use it from now on; the arguments are those of `machine_code.load`."""
        super().load(fresh, tier)
        integer, pointer = ctypes.c_int64, ctypes.c_void_p
        named = self.plan.spec.symmetry.names if self.plan.spec.symmetry is not None else ()
        self.renames = {members: self._entry(f"rename {members}", None, [pointer, integer, integer, pointer]) for members in named}

    def _compile(
        self,
        spec: Spec,
        layout: Layout,
        actions: Actions,
        claims: Sequence[Property],
        constants: tuple[str, ...],
        leave_out: frozenset[str],
        fresh: bool,
        covering: bool,
    ) -> Written:
        """Return what the compiler writes, or wrote before for equal inputs."""
        options = Options(tuple(sorted(leave_out)), covering, actions.bits, bool(layout.wide))
        functions = self.functions(actions.bits, bool(layout.wide))
        engine = (
            f"{type(self).__module__}.{type(self).__qualname__}",
            options,
            LITERALS,
            [(definition_of(function).text, shapes) for function, shapes in functions.items()],
        )
        inputs = Inputs(spec, layout.root, actions, claims, constants, engine)
        return written(inputs.text, lambda: type(self).write_code(inputs, options), fresh)

    @classmethod
    def write_code(cls, inputs: Inputs, options: Options) -> tuple[str, tuple[Fault, ...], tuple[Tally, ...]]:
        """Return the text of the code for these inputs, its faults and its tallies. Of a spec it sees what the inputs show."""
        spec, layout, actions = inputs.spec, inputs.layout, inputs.actions
        plan = Plan(spec, inputs.claims, "digest" not in options.leave_out)
        literals, checked = {**LITERALS, "RECORD_BYTES": layout.size}, "checks" not in options.leave_out
        compiler = Compiler(layout.root, inputs.constants, literals, spec.machines, checked, options.covering)
        compiler.rows = cls.taken_rows(spec)
        former = Former(compiler, "bring into form", spec.forms, layout.root)
        viewer = Former(compiler, "view", spec.view, layout.root)
        light = LightRows(compiler, layout)
        ir.Function(compiler.module, ir.FunctionType(I64, [I64]), "bound.of.fault")
        if plan.steps:
            StepJudge(plan, compiler, layout)
        Successors(plan, compiler, layout, actions, former, viewer, light)
        judge = StateJudge(plan, compiler, layout).code
        JudgeOfMany(compiler, layout, judge)
        Forms(compiler, layout, former, light.fingerprint)
        if layout.wide:
            JudgeOfMany(compiler, layout, judge, light)
            Lighten(compiler, layout, light)
            Restore(compiler, layout, light)
        if spec.symmetry is not None:
            for members in spec.symmetry.names:
                Renamer(compiler, layout.root, members)
        cls.emit_more(plan, compiler, layout, actions)
        name_bounds(plan, compiler)
        for function, shapes in cls.functions(options.action_bits, options.light).items():
            Export(compiler, function.__name__, compiler.function(function, shapes, trusted=True).code)
        if options.covering:
            Tallied(compiler)
        return str(compiler.module), tuple(compiler.faults), tuple(compiler.tallies)

    def tallies(self) -> dict[Tally, int]:
        """Return the counts of coverage; empty if it is not measured."""
        if self.tallied is None:
            return {}
        names = self.written.tallies
        counts = (ctypes.c_int64 * max(1, len(names)))()
        self.tallied(counts)
        return dict(zip(names, counts, strict=False))

    @classmethod
    def taken_rows(cls, spec: SeenSpec) -> dict[tuple[str, int], int] | None:
        """Return where the code records the rows of machines that were taken (`lowering.unit.Unit.rows`); None if it does not."""
        return None

    @classmethod
    def emit_more(cls, plan: Plan, compiler: Compiler, layout: RecordLayout, actions: ActionNumbers) -> None:
        """Emit the additional functions of a kind of program; by default none."""

    def fault_of(self, code: int) -> Fault:
        """Return the fault with this number."""
        return self.written.faults[code // 4 - 1]
