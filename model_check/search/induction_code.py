"""Compiles a spec for inductive checks: a program that also says of each of many states which invariant it violates first."""

from __future__ import annotations

import ctypes

import numpy as np
from llvmlite import ir

from kafka_spec.model_check.code.arrays import Bytes, Places, address
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.llvm.machine_code import Tier
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.judges import JudgeEmitter
from kafka_spec.model_check.lowering.values import I64, POINTER, WORD, ZERO, K, Ref, Value
from kafka_spec.model_check.record.actions import ActionNumbers
from kafka_spec.model_check.record.counted import Plan
from kafka_spec.model_check.record.layout import RecordLayout


class InductionProgram(Program):
    """The compiled code of a spec at given bounds, for the search and for inductive checks."""

    def load(self, fresh: bool = False, tier: Tier = Tier.FAST) -> None:
        """Load the machine code, and use it from now on; the arguments are those of `machine_code.load`."""
        super().load(fresh, tier)
        arguments = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p]
        self._first_violated = self._entry("first_violated", ctypes.c_int64, arguments)

    @classmethod
    def emit_more(cls, plan: Plan, compiler: Compiler, layout: RecordLayout, actions: ActionNumbers) -> None:
        """Emit the judge."""
        _FirstViolated(plan, compiler, layout)

    def first_violated(self, states: Bytes, which: Places) -> tuple[int, int]:
        """Write for each state the number of the first property of the plan that it violates, or how many there are.

        Return the first state in which a property cannot be evaluated, or -1, and the code of the fault.
        """
        code = np.zeros(1, np.int64)
        place = self._first_violated(address(states), len(states), address(which), address(code))
        return place, int(code[0])


class _FirstViolated(JudgeEmitter):
    """first_violated(states, count, which, fault): asks the properties of each state in their order, up to the first it violates.

    So a property may rely on those before it. Returns the index of a state in which one faults, with the code in `fault`, or -1.
    """

    def __init__(self, plan: Plan, compiler: Compiler, layout: RecordLayout) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(I64, [POINTER, I64, WORD, WORD]), "first_violated")
        super().__init__(compiler, code, None)
        states, count, which, reported = code.args
        self.fault = self.fault_cell()

        def state(now: ir.Value) -> None:
            scope: dict[str, Value] = {"s": Ref(layout.root, self.at(states, self.b.mul(now, I64(layout.size)))), "k": K()}
            found, ended = self.b.gep(which, [now]), self.code.append_basic_block("judged")
            for number, claim in enumerate(plan.states):
                self.b.store(I64(number), found)
                following = self.code.append_basic_block("following")
                if claim.when is not None:
                    asked = self.code.append_basic_block("asked")
                    self.b.cbranch(self.some(claim.antecedents, scope), asked, following)
                    self.b.position_at_end(asked)
                violated = self.decided(claim, scope)
                faulted = self.b.icmp_signed("!=", self.b.load(self.fault), ZERO)
                self.b.cbranch(self.b.or_(violated, faulted), ended, following)
                self.b.position_at_end(following)
            self.b.store(I64(len(plan.states)), found)
            self.b.branch(ended)
            self.b.position_at_end(ended)
            with self.b.if_then(self.b.icmp_signed("!=", self.b.load(self.fault), ZERO), likely=False):
                self.b.store(self.b.load(self.fault), reported)
                self.b.ret(now)

        self.loop(ZERO, count, state)
        self.b.ret(I64(-1))
