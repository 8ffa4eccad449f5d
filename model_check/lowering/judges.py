"""Compiles what looks at states and steps: the judge of states, the judge of steps, and normal forms."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence

from llvmlite import ir

from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.light_rows import LightRows
from kafka_spec.model_check.lowering.normal_form import Former
from kafka_spec.model_check.lowering.values import I1, I8, I64, ONE, POINTER, WORD, ZERO, K, Ref, Value
from kafka_spec.model_check.record.counted import HEADER, Plan
from kafka_spec.model_check.record.layout import RecordLayout
from kafka_spec.spec.vocabulary.table import Property, Question


class JudgeEmitter(Emitter):
    """What judges ask of an instance; one of interchangeable members has several bindings."""

    def ask(self, question: Question, scope: dict[str, Value]) -> ir.Value:
        """Return the answer to a question as one bit."""
        return self.predicate(question.function, {**scope, **{name: I64(value) for name, value in question.given}})

    def some(self, questions: Sequence[Question], scope: dict[str, Value]) -> ir.Value:
        """Return whether the answer to one of the questions is yes."""
        return functools.reduce(self.b.or_, (self.ask(question, scope) for question in questions), I1(0))

    def every(self, questions: Sequence[Question], scope: dict[str, Value]) -> ir.Value:
        """Return whether the answer to each of the questions is yes."""
        return functools.reduce(self.b.and_, (self.ask(question, scope) for question in questions), I1(1))

    def decided(self, claim: Property, scope: dict[str, Value]) -> ir.Value:
        """Return whether a state or step, one that meets an antecedent, violates the instance, or reaches the goal."""
        if claim.kind == "reachable":
            return self.some(claim.predicates, scope)
        if len(claim.parts) == 1:
            return self.b.not_(self.every(claim.predicates, scope))
        hit = self.slot(I1, I1(0))
        for when, predicate in claim.parts:
            with self.b.if_then(self.ask(when, scope)) if when is not None else contextlib.nullcontext():
                self.b.store(self.b.or_(self.b.load(hit), self.b.not_(self.ask(predicate, scope))), hit)
        return self.b.load(hit)


class StepJudge(JudgeEmitter):
    """The judge of steps: checks each step invariant where its antecedent holds, and counts those steps.

    judge_steps(before, after, number, action, counters, fault); a function, since its calls from each rule would repeat it.
    """

    def __init__(self, program: Plan, compiler: Compiler, layout: RecordLayout) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I64, I64, WORD, WORD]), "judge_steps")
        code.linkage = "internal"
        before, after, self.number, self.action, self.counters, fault = code.args
        super().__init__(compiler, code, fault)
        root = layout.root
        scope: dict[str, Value] = {"before": Ref(root, before), "after": Ref(root, after), "s": Ref(root, after), "k": K()}
        met = {when: self.some(when, scope) for when in program.step_tests}
        for number, when in enumerate(met):
            cell = self.counter(program.met + number)
            self.b.store(self.b.add(self.b.load(cell), self.b.zext(met[when], I64)), cell)
        for number, claim in enumerate(program.steps):
            with self.b.if_then(met[claim.antecedents]) if claim.when is not None else contextlib.nullcontext():
                self.judge_step(HEADER + 2 * number, claim, scope)
        self.b.ret_void()

    def counter(self, index: int) -> ir.Value:
        """Return the address of a counter."""
        return self.b.gep(self.counters, [I64(index)])

    def judge_step(self, counter: int, claim: Property, scope: dict[str, Value]) -> None:
        """Emit the check of one property; its counter keeps the first step that breaks it, or that reaches a goal."""
        broken = self.decided(claim, scope)
        first = self.b.icmp_signed("<", self.b.load(self.counter(counter)), ZERO)
        with self.b.if_then(self.b.and_(broken, first), likely=False):
            self.b.store(self.number, self.counter(counter))
            self.b.store(self.action, self.counter(counter + 1))


class Forms(Emitter):
    """The normal forms of states.

    form(states, count, seed, marks, fault) brings each of the states into its normal form, in place, and stores its fingerprint.
    Returns the index of a state that has none, with the code of the fault, or -1.
    """

    def __init__(self, compiler: Compiler, layout: RecordLayout, former: Former, fingerprint: ir.Function) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(I64, [POINTER, I64, I64, WORD, WORD]), "form")
        super().__init__(compiler, code, None)
        states, count, seed, marks, reported = code.args
        self.fault = self.fault_cell()

        def state(now: ir.Value) -> None:
            record = self.at(states, self.b.mul(now, I64(layout.size)))
            former.emit(self, Ref(layout.root, record))
            with self.b.if_then(self.b.icmp_signed("!=", self.b.load(self.fault), ZERO), likely=False):
                self.b.store(self.b.load(self.fault), reported)
                self.b.ret(now)
            self.b.store(self.b.call(fingerprint, [record, seed]), self.b.gep(marks, [now]))

        self.loop(ZERO, count, state)
        self.b.ret(I64(-1))


class StateJudge(JudgeEmitter):
    """The judge: finds the first state that violates each invariant, and the first that meets each goal.

    judge.state(state, now, first, meets) is about one state, with the number `now` among those that are judged. It fills the
    negative cells of `first`, one for each property. One more cell gets the code of a fault, and the cells after it count the
    states that meet each antecedent. `meets` has a row for each state and in it a byte for each of the program's `ways`: 1 where it
    is true. Returns 1 if a property faulted, else 0.
    """

    def __init__(self, program: Plan, compiler: Compiler, layout: RecordLayout) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(I64, [POINTER, I64, WORD, POINTER]), "judge.state")
        code.linkage = "internal"
        code.attributes.add("nounwind")
        super().__init__(compiler, code, None)
        self.fault = self.slot(I64, ZERO)
        state, now, first, meets = code.args
        claims = program.states
        scope: dict[str, Value] = {"s": Ref(layout.root, state), "k": K()}
        met = {when: self.some(when, scope) for when in program.state_tests}
        for index, when in enumerate(met, len(claims) + 1):
            cell = self.b.gep(first, [I64(index)])
            self.b.store(self.b.add(self.b.load(cell), self.b.zext(met[when], I64)), cell)
        for index, claim in enumerate(claims):
            cell = self.b.gep(first, [I64(index)])
            open_ = self.b.icmp_signed("<", self.b.load(cell), ZERO)
            asked = self.b.and_(open_, met[claim.antecedents]) if claim.when is not None else open_
            with self.b.if_then(asked), self.b.if_then(self.decided(claim, scope), likely=False):
                self.b.store(now, cell)
        for index, way in enumerate(program.ways):
            place = self.b.add(self.b.mul(now, I64(len(program.ways))), I64(index))
            self.b.store(self.b.zext(self.every(way, scope), I8), self.at(meets, place))
        with self.b.if_then(self.b.icmp_signed("!=", self.b.load(self.fault), ZERO), likely=False):
            self.b.store(self.b.load(self.fault), self.b.gep(first, [I64(len(claims))]))
            self.b.ret(ONE)
        self.b.ret(ZERO)


class JudgeOfMany(Emitter):
    """judge(states, count, first, meets): judges records one after the other, and judge_rows the same for light rows.

    Returns the index of the state in which a property faulted, or -1.
    """

    def __init__(self, compiler: Compiler, layout: RecordLayout, one: ir.Function, light: LightRows | None = None) -> None:
        types, name = [POINTER, I64, WORD, POINTER], "judge" if light is None else "judge_rows"
        super().__init__(compiler, ir.Function(compiler.module, ir.FunctionType(I64, types), name), None)
        states, count, first, meets = self.code.args
        read = light.reader(self, states) if light is not None else None

        def state(now: ir.Value) -> None:
            record = self.at(states, self.b.mul(now, I64(layout.size))) if read is None else read()
            ended = self.b.icmp_signed("!=", self.b.call(one, [record, now, first, meets]), ZERO)
            with self.b.if_then(ended, likely=False):
                self.b.ret(now)

        self.loop(ZERO, count, state)
        self.b.ret(I64(-1))
