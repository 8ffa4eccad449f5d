"""Compiles a spec for random walks: a program that lists the steps out of a state, takes one of them, and walks.

The steps are those of the search: they are admitted, taken and judged by the same code (lowering/rules.py). Does not choose any
step: walk_kernel.py does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from llvmlite import ir

from kafka_spec.model_check.code import kernel
from kafka_spec.model_check.code.compiled import Code
from kafka_spec.model_check.code.program import Program
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.rules import Firings
from kafka_spec.model_check.lowering.values import I64, ONE, POINTER, WORD, ZERO, Compiled, K, Ref, Value
from kafka_spec.model_check.random_walks import walk_kernel
from kafka_spec.model_check.record.actions import ActionNumbers
from kafka_spec.model_check.record.counted import Plan
from kafka_spec.model_check.record.layout import RecordLayout
from kafka_spec.model_check.record.seen_spec import SeenSpec
from kafka_spec.spec.vocabulary.table import ElementOf, Rule, Spec

RULE_BITS = 32
"""A choice is the number of an action with the number of its rule above these bits."""


class WalkCode(Code):
    """A program's machine code with the functions of walk_kernel.py."""

    walks: Callable[..., int]
    follow: Callable[..., int]

    @classmethod
    def functions(cls, action_bits: int, light: bool) -> Mapping[Callable[..., Any], tuple[int | str, ...]]:
        """Return the engine's own functions, those of walks included."""
        return {**kernel.signatures(action_bits, light), **walk_kernel.SIGNATURES}


class WalkProgram(Program, WalkCode):
    """The compiled code of a spec at given bounds, for the search and for random walks."""

    @classmethod
    def taken_rows(cls, spec: SeenSpec) -> dict[tuple[str, int], int]:
        """Return the place of each row among the bytes that tell which were taken."""
        return rows_of(spec)

    @classmethod
    def emit_more(cls, plan: Plan, compiler: Compiler, layout: RecordLayout, actions: ActionNumbers) -> None:
        """Emit what the functions of walk_kernel.py call."""
        emitted = {
            "choices_in": _Choices(plan, compiler, layout, actions).code,
            "take": _Take(plan, compiler, layout, actions).code,
            "mark": _Mark(compiler, layout).code,
            "judge": _Judged(compiler).code,
        }
        compiler.emitted.update({name: Compiled(code, 1) for name, code in emitted.items()})


def rows_of(spec: Spec | SeenSpec) -> dict[tuple[str, int], int]:
    """Return the place of each row of a spec's machines, by machine and place in its table, among the bytes of `take`."""
    rows = [(machine.name, index) for machine in spec.machines for index, row in enumerate(machine.rows) if not row.waits_for]
    return {row: place for place, row in enumerate(rows)}


class _Choices(Firings):
    """Lists the steps that can be taken: choices_in(states, at, choices, counters) returns how many, or -1 after a fault."""

    carried = ("number", "choices", "counters", "listed")

    def __init__(self, program: Plan, compiler: Compiler, layout: RecordLayout, actions: ActionNumbers) -> None:
        arguments = [POINTER, I64, WORD, WORD, WORD]
        code = ir.Function(compiler.module, ir.FunctionType(I64, arguments), "choices_in")
        code.linkage = "internal"
        super().__init__(program, compiler, layout, actions, code)
        states, self.number, self.choices, self.counters, _ = code.args
        self.fault = self.fault_cell()
        self.source = Ref(layout.root, self.at(states, self.b.mul(self.number, I64(layout.size))))
        self.moves, self.listed = self.slot(I64, ZERO), self.slot(I64, ZERO)
        self.share_guards()
        self.forget()
        self.carry()
        self.tell(*self.carried)
        self.stop = code.append_basic_block("stop")
        self.every_rule()
        self.b.ret(self.b.load(self.listed))
        self.b.position_at_end(self.stop)
        self.b.ret(I64(-1))

    def admitted(self, index: int, rule: Rule, scope: dict[str, Value], action: ir.Value, out: ir.Block) -> None:
        """Emit the addition of a step to the list."""
        place = self.b.load(self.listed)
        self.b.store(self.b.or_(action, I64(index << RULE_BITS)), self.b.gep(self.choices, [place]))
        self.b.store(self.b.add(place, ONE), self.listed)


class _Take(Firings):
    """Takes a step: take(states, at, choice, counters, rows) writes the state after it behind the state at `at`, and judges it.

    Returns 1; 0 if the step leaves a bound or a domain; or -1 after a fault. The bytes of the rows that it takes become 1.
    """

    def __init__(self, program: Plan, compiler: Compiler, layout: RecordLayout, actions: ActionNumbers) -> None:
        arguments = [POINTER, I64, I64, WORD, POINTER, WORD]
        code = ir.Function(compiler.module, ir.FunctionType(I64, arguments), "take")
        code.linkage = "internal"
        super().__init__(program, compiler, layout, actions, code)
        states, self.number, choice, self.counters, rows, _ = code.args
        self.fault = self.fault_cell(rows)
        self.source = Ref(layout.root, self.at(states, self.b.mul(self.number, I64(layout.size))))
        self.target = self.at(self.source.pointer, layout.size)
        self.stop = code.append_basic_block("stop")
        self.out = code.append_basic_block("none")
        action = self.b.and_(choice, I64((1 << RULE_BITS) - 1))
        switch = self.b.switch(self.b.lshr(choice, I64(RULE_BITS)), self.out)
        for index, rule in enumerate(program.rules):
            block = code.append_basic_block("rule")
            switch.add_case(I64(index), block)
            self.b.position_at_end(block)
            self.admitted(index, rule, self.bound(index, rule, action), action, self.out)
            self.b.ret(ONE)
        self.b.position_at_end(self.out)
        self.b.ret(ZERO)
        self.b.position_at_end(self.stop)
        self.b.ret(I64(-1))

    def bound(self, index: int, rule: Rule, action: ir.Value) -> dict[str, Value]:
        """Return the values of a rule's parameters, which the number of the action stands for."""
        scope: dict[str, Value] = {"s": self.source, "k": K()}
        ranges, left = self.actions.ranges[index], self.b.sub(action, I64(self.actions.first[index]))
        digits: list[ir.Value] = []
        for low, high in reversed(ranges):
            size = I64(high - low + 1)
            digits.insert(0, self.b.add(self.b.urem(left, size), I64(low)))
            left = self.b.udiv(left, size)
        for (name, parameter), digit in zip(rule.params.items(), digits, strict=True):
            if isinstance(parameter, ElementOf):
                scope[name] = self.item(self.elements(parameter, scope), digit)
            else:
                scope[name] = self.chosen(index, name, digit)
        return scope

    def admitted(self, index: int, rule: Rule, scope: dict[str, Value], action: ir.Value, out: ir.Block) -> None:
        """Emit the step."""
        self.take(self.target, index, rule, scope, action, out)
        self.add(self.program.fired + index)


class _Mark(Emitter):
    """The fingerprint of a state of a walk: mark(states, at, seed)."""

    def __init__(self, compiler: Compiler, layout: RecordLayout) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(I64, [POINTER, I64, I64, WORD]), "mark")
        code.linkage = "internal"
        states, at, seed, fault = code.args
        super().__init__(compiler, code, fault)
        fingerprint = compiler.module.get_global("fingerprint")
        self.b.ret(self.b.call(fingerprint, [self.at(states, self.b.mul(at, I64(layout.size))), seed]))


class _Judged(Emitter):
    """The search's judge of states, as the engine's own functions call it."""

    def __init__(self, compiler: Compiler) -> None:
        judge = compiler.module.get_global("judge")
        code = ir.Function(compiler.module, ir.FunctionType(I64, [*judge.function_type.args, WORD]), "judged")
        code.linkage = "internal"
        super().__init__(compiler, code, code.args[-1])
        self.b.ret(self.b.call(judge, list(code.args[:-1])))
