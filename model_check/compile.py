"""Compiles a spec at given bounds to a program: the successor function, the judge of states, the set of fingerprints.

There is one module of machine code for each shape; bounds and decisions that do not change the shape are values of `k` at run
time. Does not depend on any engine.
"""

from __future__ import annotations

import abc
import contextlib
import ctypes
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from llvmlite import ir

from kafka_spec.model_check import kernel
from kafka_spec.model_check.cuts import cut_name, cut_names
from kafka_spec.model_check.fingerprint import SECRET, mix
from kafka_spec.model_check.inputs import text_of
from kafka_spec.model_check.layout import Actions, Layout, Packed
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.hashing import Hashing
from kafka_spec.model_check.lowering.normal_form import Former
from kafka_spec.model_check.lowering.unit import Tally
from kafka_spec.model_check.lowering.values import FAULT_KINDS, I1, I8, I64, ONE, POINTER, ZERO, Buffer, Fault, K, Ref, Value
from kafka_spec.model_check.machine_code import load
from kafka_spec.spec.domain import SPENT, Bound, Collection, Scalar
from kafka_spec.spec.integers import unusable
from kafka_spec.spec.lint import Function, parameters_of
from kafka_spec.spec.source import definition_of
from kafka_spec.spec.table import Among, Constants, ElementOf, ItemOf, Property, Rule, Spec, SpecError

WORD = I64.as_pointer()
I32 = ir.IntType(32)

# the counters of the successor function; those of rules and step invariants follow
DIGEST, FAULT, FAULT_STATE, FAULT_ACTION, STUCK, UNTYPED, UNTYPED_ACTION, UNTYPED_FAULT, HEADER = range(9)


KEPT = 32
"""The most compiled shapes that a process keeps; the oldest is dropped. In a manifest, checks of one shape often stand together."""

_compiled: dict[str, tuple[Compiler, str]] = {}
"""For each text of the compiler's inputs: the compiler with its faults, and the text of the code."""


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
    """The number of claims that the judge decides."""
    steps: int
    """The number of step invariants that the successor function checks."""
    state_tests: int
    """The numbers of antecedents that the judge and the successor function count."""
    step_tests: int
    k: tuple[int, ...]
    seed: int
    """The initial value of the hash, derived from the seed of the fingerprints."""


class Code:
    """A program's machine code, and how to call it. The text of the code and its shape are enough to load it on any machine."""

    def __init__(self, text: str, shape: Shape, anew: bool = False) -> None:
        self.text, self.shape = text, shape
        self.fired = HEADER + 2 * shape.steps
        self.bounded = self.fired + shape.rules
        self.met = self.bounded + shape.rules * shape.cuts
        self.counters = self.met + shape.step_tests
        """The number of counters of the successor function: the header, two for each step invariant, one for each rule and
        one for each name under which its forbidden steps are counted, one for each antecedent of a step invariant."""
        if strange := [value for value in shape.k if unusable(value)]:
            raise SpecError(f"a bound or a decision of {strange[0]} {unusable(strange[0])}")
        self.k = (ctypes.c_int64 * max(1, len(shape.k)))(*shape.k)
        self.seed = ctypes.c_int64(shape.seed).value  # all 64 bits, read as a signed number
        self._library, self.from_cache = load(text, anew)
        integer, pointer = ctypes.c_int64, ctypes.c_void_p
        self.expand = self._entry("expand", integer, [pointer, pointer, integer, integer, pointer, integer, *[pointer] * 6])
        self.form = self._entry("form", integer, [pointer, integer, pointer, integer, pointer, pointer])
        self.judge = self._entry("judge", integer, [pointer, integer, pointer, pointer, pointer])
        for function, shapes in self.functions(shape.action_bits).items():
            arguments = [integer if kind == "int" else pointer for kind in shapes]
            setattr(self, function.__name__, self._entry(function.__name__, integer, arguments))

    insert: Callable[..., int]
    fill: Callable[..., int]
    widen: Callable[..., int]
    components: Callable[..., int]
    leads = False
    """Whether a leads-to claim is checked; code sent to workers checks none."""
    on_graph: Sequence[Property] = ()
    """The claims whose predicates the judge evaluates in every state, in its order; empty for code without a spec."""

    def functions(self, action_bits: int) -> Mapping[Callable[..., Any], tuple[int | str, ...]]:
        """Return the engine's own functions that the module contains, with the kinds of their arguments."""
        return kernel.signatures(action_bits, self.leads)

    def _entry(self, name: str, result: Any, arguments: list[Any]) -> Callable[..., Any]:
        return ctypes.CFUNCTYPE(result, *arguments)(self._library.get_function_address(name))


class Program(Code):
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
    ) -> None:
        """Compile, or use code that was compiled from equal inputs before; `anew`: always compile."""
        began = time.perf_counter()
        self.digests = "digest" not in leave_out
        self.spec, self.rules = spec, spec.rules
        self.states = [claim for claim in claims if claim.kind in ("invariant", "reachable")]
        """The claims that the judge decides, in the judge's order."""
        self.on_graph = [claim for claim in claims if claim.kind in ("recoverable", "leads-to")]
        self.leads = any(claim.kind == "leads-to" for claim in claims)
        self.steps = [claim for claim in claims if claim.kind == "step invariant"]
        """The claims that the successor function decides: step invariants, and those on states if not all states are kept."""
        if spec.judges_steps:
            self.steps += self.states
        self.ways = [claim.predicate for claim in self.on_graph] + antecedents(self.on_graph)
        """The predicates and antecedents of the claims on the graph; the judge returns the value of each in every state."""
        self.state_tests = antecedents(self.states)
        self.step_tests = antecedents(self.steps)
        self.fired = HEADER + 2 * len(self.steps)
        self.bounded = self.fired + len(spec.rules)
        self.cut_names = cut_names(spec)
        self.met = self.bounded + len(spec.rules) * len(self.cut_names)
        self._compiler, text = self._compile(spec, layout, actions, claims, tuple(vars(k)), leave_out, anew, covering)
        seed = layout.seed ^ mix(layout.seed ^ SECRET[0], SECRET[1])
        counts = actions.count, actions.bits, len(spec.rules), len(self.cut_names), len(self.states), len(self.steps)
        tests = len(self.state_tests), len(self.step_tests)
        super().__init__(text, Shape(layout.size, *counts, *tests, tuple(vars(k).values()), seed), anew)
        self.tallied = self._entry("tallied", None, [ctypes.c_void_p]) if covering else None
        self.seconds = time.perf_counter() - began

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
    ) -> tuple[Compiler, str]:
        """Return a compiler with its faults, and the text of its code; reuse those of an earlier compilation of equal inputs."""
        literals = {"RECORD_BYTES": layout.size, "AHEAD": kernel.AHEAD, "SLACK": kernel.SLACK, "SIGN": -1 << 63}
        functions = self.functions(actions.bits)
        engine = (
            type(self).__name__,
            sorted(leave_out),
            int(covering),
            literals,
            [(definition_of(function).text, shapes) for function, shapes in functions.items()],
        )
        key = text_of(spec, layout, actions, claims, constants, engine)
        if anew or key not in _compiled:
            compiler = Compiler(layout.root, constants, literals, spec.machines, "checks" not in leave_out, covering)
            compiler.rows = self.told_rows()
            former = Former(compiler, "bring into form", spec.normal_form if spec.reduced else (), layout.root)
            viewer = Former(compiler, "view", spec.view, layout.root)
            fingerprint = _Fingerprint(compiler, layout).code
            ir.Function(compiler.module, ir.FunctionType(I64, [I64]), "bound.of.fault")
            if self.steps:
                _Steps(self, compiler, layout)
            _Successors(self, compiler, layout, actions, former, viewer, fingerprint)
            _Judge(self, compiler, layout)
            _Forms(compiler, layout, former, fingerprint)
            self.emit_more(compiler, layout, actions)
            _name_bounds(self, compiler)
            for function, shapes in functions.items():
                _Export(compiler, function.__name__, compiler.function(function, shapes, trusted=True).code)
            if covering:
                _Tallied(compiler)
            _compiled.pop(key, None)
            while len(_compiled) >= KEPT:
                del _compiled[next(iter(_compiled))]
            _compiled[key] = compiler, str(compiler.module)
        return _compiled[key]

    def tallies(self) -> dict[Tally, int]:
        """Return the counts of coverage; empty if it is not measured."""
        if self.tallied is None:
            return {}
        names = list(self._compiler.tallies)
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
        return self._compiler.fault_of(code)


def antecedents(claims: Sequence[Property]) -> list[Function]:
    """Return the distinct antecedents of some claims; claims that share an antecedent share its count."""
    return list(dict.fromkeys(claim.when for claim in claims if claim.when is not None))


# ---------------------------------------------------------------------------------------------------------------------
# Generated functions


class _Export(Emitter):
    """Exports a compiled function of the engine from the module; the function cannot fault."""

    def __init__(self, compiler: Compiler, name: str, inner: ir.Function) -> None:
        type_ = inner.function_type
        code = ir.Function(compiler.module, ir.FunctionType(type_.return_type, type_.args[:-1]), name)
        super().__init__(compiler, code, None)
        result = self.b.call(inner, [*code.args, self.slot(I64, ZERO)])
        self.b.ret_void() if isinstance(type_.return_type, ir.VoidType) else self.b.ret(result)


class _Tallied(Emitter):
    """Writes the counters of coverage to an array: tallied(counts)."""

    def __init__(self, compiler: Compiler) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(ir.VoidType(), [WORD]), "tallied")
        super().__init__(compiler, code, None)
        for number, cell in enumerate(compiler.tallies.values()):
            self.b.store(self.b.load(cell), self.b.gep(code.args[0], [I64(number)]))
        self.b.ret_void()


Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""The lowest and the highest value of each parameter."""


class Firings(Hashing):
    """What the functions that fire rules share: the bindings of each rule, what admits a step, and the step itself.

    Nested loops bind a rule's parameters. Each guard is evaluated as soon as its parameters are bound: most guards are false, and
    a false guard ends that iteration of its loop.
    """

    source: Ref
    """The state before the step, and its number."""
    number: ir.Value
    now: ir.Value
    k: K
    counters: ir.Value
    cuts: ir.Value
    moves: ir.Value
    """The cell that becomes 1 where the guards of some rule hold."""
    stop: ir.Block
    """Where a fault that ends the search leads."""

    def __init__(self, program: Program, compiler: Compiler, layout: Layout, actions: Actions, code: ir.Function) -> None:
        super().__init__(compiler, code, None)
        self.program, self.layout, self.actions = program, layout, actions
        self.judging = compiler.module.globals.get("judge_steps")
        self.bound_of_fault = compiler.module.get_global("bound.of.fault")
        self.shared: dict[tuple[Function, Ranges], int] = {}
        """The place of the answers of each shared guard, by its function and the ranges of its parameters."""
        self.room = 0

    def share_guards(self) -> None:
        """Make room for the answers of guards that several rules ask; `forget` is needed before the first state and each next.

        A guard is asked once in a state for each value of its parameters, when the first rule comes to it.
        """
        asked = Counter(
            (guard, self.ranges_of(guard, index)) for index, rule in enumerate(self.program.rules) for guard in rule.guards
        )
        for (guard, ranges), rules in asked.items():
            if rules > 1 and ranges is not None and not self.unit.covering:  # coverage counts what each rule asks
                self.shared[guard, ranges] = self.room
                self.room += math.prod(high - low + 1 for low, high in ranges)
        self.answers = self.b.bitcast(self.slot(ir.ArrayType(I8, max(1, self.room))), POINTER)

    def forget(self) -> None:
        """Emit that the answers of the state before are forgotten."""
        self.clear(self.answers, I64(self.room))

    def ranges_of(self, guard: Function, index: int) -> Ranges | None:
        """Return the ranges of a guard's parameters in a rule, in the guard's order; None if one of them is no number."""
        rule = self.program.rules[index]
        ranges = dict(zip(rule.params, self.actions.ranges[index], strict=True))
        names = [name for name in parameters_of(guard) if name not in ("s", "k")]
        numbers = not any(isinstance(rule.params[name], ItemOf | ElementOf) for name in names)
        return tuple(ranges[name] for name in names) if numbers else None

    def guard(self, guard: Function, scope: dict[str, Value], index: int) -> ir.Value:
        """Return whether a guard of a rule holds; ask it unless another rule has asked it in this state."""
        ranges = self.ranges_of(guard, index)
        if ranges is None or (guard, ranges) not in self.shared:
            return self.predicate(guard, scope)
        place: ir.Value = ZERO
        for name, (low, high) in zip([n for n in parameters_of(guard) if n not in ("s", "k")], ranges, strict=True):
            value = scope[name]
            assert not isinstance(value, Ref | Buffer | K)
            place = self.b.add(self.b.mul(place, I64(high - low + 1)), self.b.sub(value, I64(low)))
        cell = self.at(self.answers, self.b.add(place, I64(self.shared[guard, ranges])))
        with self.b.if_then(self.b.icmp_unsigned("==", self.b.load(cell), I8(0))):
            self.b.store(self.b.select(self.predicate(guard, scope), I8(2), I8(1)), cell)
        return self.b.icmp_unsigned("==", self.b.load(cell), I8(2))

    def counter(self, index: int | ir.Value) -> ir.Value:
        """Return the address of a counter."""
        return self.b.gep(self.counters, [I64(index) if isinstance(index, int) else index])

    def add(self, index: int) -> None:
        """Add 1 to a counter."""
        cell = self.counter(index)
        self.b.store(self.b.add(self.b.load(cell), ONE), cell)

    def rule(self, index: int, rule: Rule) -> None:
        """Emit the firing of one rule with every binding."""
        scope: dict[str, Value] = {"s": self.source, "k": self.k}
        names, action = list(rule.params), I64(self.actions.first[index])
        left = list(rule.guards)

        def bind(depth: int, action: ir.Value) -> None:
            out = self.code.append_basic_block("next")
            for guard in [g for g in left if set(parameters_of(g)) <= scope.keys()]:
                left.remove(guard)
                on = self.code.append_basic_block("on")
                holds = self.guard(guard, scope, index)
                self.tally_answer(holds, "rule", rule.name, guard.__name__)
                self.b.cbranch(holds, on, out)
                self.b.position_at_end(on)
            if depth == len(names):
                self.fire(index, rule, scope, action)
            else:
                low, high = self.actions.ranges[index][depth]
                start, stop = I64(low), I64(high + 1)
                parameter = rule.params[names[depth]]
                elements = self.elements(parameter, scope) if isinstance(parameter, ElementOf) else None
                if isinstance(parameter, ItemOf):
                    assert self.source.packed.fields is not None
                    offset, packed = self.source.packed.fields[parameter.field]
                    stop = self.length(Ref(packed, self.at(self.source.pointer, offset)))
                elif elements is not None:
                    stop = self.length(elements)
                weight = 1
                for low_, high_ in self.actions.ranges[index][depth + 1 :]:
                    weight *= high_ - low_ + 1

                none = self.none_is_among(parameter, names[depth], scope, high) if isinstance(parameter, Among) else I1(0)

                def inside(now: ir.Value) -> None:
                    scope[names[depth]] = now if elements is None else self.item(elements, now)
                    admitted = contextlib.nullcontext()
                    if elements is not None:
                        admitted = self.b.if_then(self.is_first(elements, now))
                    elif isinstance(parameter, Among):
                        admitted = self.b.if_then(self.is_among(parameter, now, scope, none))
                    with admitted:
                        bind(depth + 1, self.b.add(action, self.b.mul(self.b.sub(now, start), I64(weight))))

                self.loop(start, stop, inside)
            self.b.branch(out)
            self.b.position_at_end(out)

        bind(0, action)
        self.end_on_fault(I64(self.actions.first[index]))

    def elements(self, parameter: ElementOf, scope: dict[str, Value]) -> Ref:
        """Return the set or bag that a parameter ranges over, in the state before the step."""
        ref = Ref(self.source.packed, self.source.pointer, still=True)
        for step in parameter.steps:
            if isinstance(step, str) and not step.startswith("{"):
                assert ref.packed.fields is not None
                offset, packed = ref.packed.fields[step]
                ref = Ref(packed, self.at(ref.pointer, offset), still=True)
            else:
                index = I64(step) if isinstance(step, int) else scope[step[1:-1]]
                assert not isinstance(index, Ref | Buffer | K)
                ref = self.checked_item(ref, index, parameter.path)
        return ref

    def none_is_among(self, parameter: Among, name: str, scope: dict[str, Value], high: int) -> ir.Value:
        """Return whether a parameter is NONE here, because its predicate holds for no value."""
        if not parameter.or_none:
            return I1(0)
        none = self.slot(I1)
        self.b.store(I1(1), none)

        def look(now: ir.Value) -> None:
            holds = self.predicate(parameter.that, {**scope, name: now})
            self.b.store(self.b.and_(self.b.load(none), self.b.not_(holds)), none)

        self.loop(ZERO, I64(high + 1), look)
        return self.b.load(none)

    def is_among(self, parameter: Among, now: ir.Value, scope: dict[str, Value], none: ir.Value) -> ir.Value:
        """Return whether a value is one that a parameter takes here."""
        if not parameter.or_none:
            return self.predicate(parameter.that, scope)
        result = self.slot(I1)
        self.b.store(none, result)
        with self.b.if_then(self.b.icmp_signed("<=", ZERO, now)):
            self.b.store(self.predicate(parameter.that, scope), result)
        return self.b.load(result)

    def is_first(self, elements: Ref, now: ir.Value) -> ir.Value:
        """Return whether an element is the first of its equals, which stand side by side."""
        assert isinstance(elements.packed.type, Collection)
        if not elements.packed.type.repeats:
            return I1(1)
        first = self.b.icmp_signed("==", now, ZERO)
        before = self.item(elements, self.b.select(first, ZERO, self.b.sub(now, ONE)))
        order = self.order(before.packed, before.pointer, self.item(elements, now).pointer)
        return self.b.or_(first, self.b.icmp_signed("!=", order, ZERO))

    def end_on_fault(self, action: ir.Value) -> None:
        """Emit the end of the search if a fault was recorded."""
        code = self.b.load(self.fault)
        on = self.code.append_basic_block("sound")
        bad = self.code.append_basic_block("fault")
        self.b.cbranch(self.b.icmp_signed("==", code, ZERO), on, bad).set_weights([2000, 1])
        self.b.position_at_end(bad)
        for counter, value in ((FAULT, code), (FAULT_STATE, self.number), (FAULT_ACTION, action)):
            self.b.store(value, self.counter(counter))
        self.b.branch(self.stop)
        self.b.position_at_end(on)

    def fire(self, index: int, rule: Rule, scope: dict[str, Value], action: ir.Value) -> None:
        """Emit what happens to a rule whose guards hold: the step is taken, or counted as one that a bound forbids."""
        self.b.store(ONE, self.moves)
        out = self.code.append_basic_block("fired")
        for bound, (packed, offset) in zip(rule.limits, self.spent_by(rule), strict=True):
            assert isinstance(packed.type, Scalar)
            count = self.load(packed, self.at(self.source.pointer, offset))
            self.within(self.b.icmp_signed("<", count, self.highest(packed.type)), index, bound.name, out)
        for limit in rule.within:
            self.within(self.predicate(limit, scope), index, cut_name(limit, self.program.spec), out)
        self.admitted(index, rule, scope, action, out)
        self.b.branch(out)
        self.b.position_at_end(out)

    @abc.abstractmethod
    def admitted(self, index: int, rule: Rule, scope: dict[str, Value], action: ir.Value, out: ir.Block) -> None:
        """Emit what is done with a step that can be taken."""

    def take(self, target: ir.Value, index: int, rule: Rule, scope: dict[str, Value], action: ir.Value, out: ir.Block) -> Ref:
        """Emit a step: write the state after it to `target`, and judge it; branch to `out` if it leaves a bound or a domain."""
        self.copy(target, self.source.pointer, self.layout.size)
        after = Ref(self.layout.root, target)
        for effect in rule.effects:
            self.effect(effect, {**scope, "s": after})
        for packed, offset in self.spent_by(rule):
            cell = self.at(target, offset)
            self.store(packed, cell, self.b.add(self.load(packed, cell), ONE), f"rule {rule.name}", "a counter")
        self.after_faults(index, action, out)
        self.judge_steps(after, action)
        if (constraint := self.program.spec.constraint) is not None:
            inside = self.predicate(constraint, {"s": after, "k": self.k})
            self.end_on_fault(action)
            self.within(inside, index, constraint.__name__, out)
        return after

    def note_deadlock(self) -> None:
        """Emit that the state is noted as the first one in which the guards of no rule hold."""
        idle = self.b.icmp_signed("==", self.b.load(self.moves), ZERO)
        first = self.b.icmp_signed("<", self.b.load(self.counter(STUCK)), ZERO)
        with self.b.if_then(idle, likely=False):
            if self.program.spec.final_states is not None:
                final = self.predicate(self.program.spec.final_states, {"s": self.source, "k": self.k})
                self.end_on_fault(ZERO)
                first = self.b.and_(first, self.b.not_(final))
            with self.b.if_then(first):
                self.b.store(self.number, self.counter(STUCK))

    def spent_by(self, rule: Rule) -> list[tuple[Packed, int]]:
        """Return the counters of a rule's bounds, as `spent` does."""
        return [self.spent(limit) for limit in rule.limits]

    def spent(self, limit: Bound) -> tuple[Packed, int]:
        """Return the packed counter of a bound, and its offset in a state."""
        assert self.layout.root.fields is not None
        offset, spent = self.layout.root.fields[SPENT]
        assert spent.fields is not None
        inner, packed = spent.fields[limit.name]
        return packed, offset + inner

    def within(self, ok: ir.Value, index: int, name: str, out: ir.Block) -> None:
        """Continue if a bound allows the step of this rule; otherwise count the step as cut off and branch to `out`."""
        on, cut = self.code.append_basic_block("within"), self.code.append_basic_block("cut")
        self.b.cbranch(ok, on, cut)
        self.b.position_at_end(cut)
        self.cut_off(index, I64(self.program.cut_names.index(name)))
        self.b.branch(out)
        self.b.position_at_end(on)

    def after_faults(self, index: int, action: ir.Value, out: ir.Block) -> None:
        """Drop a step that left a bound, record one that left a domain, and end the search on an error."""
        code = self.b.load(self.fault)
        on, faulty = self.code.append_basic_block("sound"), self.code.append_basic_block("faulty")
        self.b.cbranch(self.b.icmp_signed("==", code, ZERO), on, faulty).set_weights([2000, 1])
        self.b.position_at_end(faulty)
        kind = self.b.and_(code, I64(3))
        blocks = {name: self.code.append_basic_block(name) for name in FAULT_KINDS}
        switch = self.b.switch(kind, blocks["error"])
        for name, number in FAULT_KINDS.items():
            switch.add_case(I64(number), blocks[name])
        self.b.position_at_end(blocks["bound"])
        self.b.store(ZERO, self.fault)
        self.cut_off(index, self.b.call(self.bound_of_fault, [code]))
        self.b.branch(out)
        self.b.position_at_end(blocks["domain"])
        self.b.store(ZERO, self.fault)
        with self.b.if_then(self.b.icmp_signed("<", self.b.load(self.counter(UNTYPED)), ZERO)):
            self.b.store(self.number, self.counter(UNTYPED))
            self.b.store(action, self.counter(UNTYPED_ACTION))
            self.b.store(code, self.counter(UNTYPED_FAULT))
        self.b.branch(out)
        self.b.position_at_end(blocks["error"])
        self.end_on_fault(action)
        self.b.unreachable()
        self.b.position_at_end(on)

    def cut_off(self, index: int, name: ir.Value) -> None:
        """Count a step that a bound forbids under its name; set the state's byte in `cuts` if a claim on the graph needs it."""
        cell = self.counter(self.b.add(name, I64(self.program.bounded + index * len(self.program.cut_names))))
        self.b.store(self.b.add(self.b.load(cell), ONE), cell)
        if self.program.on_graph and self.program.rules[index].kind == "protocol":
            self.b.store(I8(1), self.at(self.cuts, self.now))

    def judge_steps(self, after: Ref, action: ir.Value) -> None:
        """Check the step invariants on this step."""
        if self.judging is not None:
            self.b.call(
                self.judging, [self.source.pointer, after.pointer, self.k.pointer, self.number, action, self.counters, self.fault]
            )


class _Successors(Firings):
    """The successor function: for each state of a slice of the frontier, fires every rule with every binding.

    expand(states, fingerprints, count, base, k, seed, out_states, out_fingerprints, out_parents, out_actions, cuts, counters)
    returns the number of successors it wrote, or -1 after a fault that ends the search. `base` is the number of the slice's first
    state. Where a claim is checked on the graph, the byte of a state in `cuts` becomes 1 if a bound forbade a protocol step there.
    """

    def __init__(
        self,
        program: Program,
        compiler: Compiler,
        layout: Layout,
        actions: Actions,
        former: Former,
        viewer: Former,
        fingerprint: ir.Function,
    ) -> None:
        arguments = [POINTER, WORD, I64, I64, WORD, I64, POINTER, WORD, I32.as_pointer(), I32.as_pointer(), POINTER, WORD]
        super().__init__(
            program, compiler, layout, actions, ir.Function(compiler.module, ir.FunctionType(I64, arguments), "expand")
        )
        code = self.code
        self.former, self.viewer, self.fingerprint = former, viewer, fingerprint
        (self.states, self.fingerprints, count, self.base, k, self.seed, *out, self.cuts, self.counters) = code.args
        self.out_states, self.out_fingerprints, self.out_parents, self.out_actions = out
        for argument in (self.states, self.out_states, self.fingerprints, k, *out[1:], self.cuts, self.counters):
            argument.add_attribute("noalias")
        self.k = K(k)
        self.fault = self.fault_cell(k)
        self.written = self.slot(I64, ZERO)
        self.digest = self.slot(I64, self.b.load(self.counter(DIGEST)))
        self.moves = self.slot(I64, ZERO)
        self.share_guards()
        self.stop = code.append_basic_block("stop")
        self.loop(ZERO, count, self.state)
        self.b.store(self.b.load(self.digest), self.counter(DIGEST))
        self.b.ret(self.b.load(self.written))
        self.b.position_at_end(self.stop)
        self.b.ret(I64(-1))

    def state(self, now: ir.Value) -> None:
        """Emit the firing of all rules in one state."""
        s = self.at(self.states, self.b.mul(now, I64(self.layout.size)))
        self.source = Ref(self.layout.root, s)
        self.mark = self.b.load(self.b.gep(self.fingerprints, [now]))
        self.now, self.number = now, self.b.add(self.base, now)
        self.b.store(ZERO, self.moves)
        self.forget()
        for index, rule in enumerate(self.program.rules):
            self.rule(index, rule)
        self.note_deadlock()

    def admitted(self, index: int, rule: Rule, scope: dict[str, Value], action: ir.Value, out: ir.Block) -> None:
        """Emit the step to a successor, and add it to the candidates."""
        slot = self.b.load(self.written)
        target = self.at(self.out_states, self.b.mul(slot, I64(self.layout.size)))
        after = self.take(target, index, rule, scope, action, out)
        if self.former.parts:
            self.former.emit(self, after, self.k)
            self.end_on_fault(action)
        mark = self.b.call(self.fingerprint, [self.viewed(target, action), self.seed])
        if self.program.digests:
            self.b.store(self.b.add(self.b.load(self.digest), self.edge_hash(self.mark, action, mark)), self.digest)
        self.b.store(mark, self.b.gep(self.out_fingerprints, [slot]))
        self.b.store(self.b.trunc(self.number, I32), self.b.gep(self.out_parents, [slot]))
        self.b.store(self.b.trunc(action, I32), self.b.gep(self.out_actions, [slot]))
        self.b.store(self.b.add(slot, ONE), self.written)
        self.add(self.program.fired + index)

    def viewed(self, state: ir.Value, action: ir.Value) -> ir.Value:
        """Return the address of what identifies a state: its copy as the view changes it, or the state itself."""
        if not self.viewer.parts:
            return state
        copy = self.b.bitcast(self.slot(ir.ArrayType(I64, -(-self.layout.size // 8))), POINTER)
        self.copy(copy, state, self.layout.size)
        self.viewer.emit(self, Ref(self.layout.root, copy), self.k)
        self.end_on_fault(action)
        return copy


def _name_bounds(program: Program, compiler: Compiler) -> None:
    """Emit the function that says which bound a fault is about, as the place of its name in `cut_names`."""
    function = compiler.module.get_global("bound.of.fault")
    function.linkage = "internal"
    b = ir.IRBuilder(function.append_basic_block("entry"))
    unknown = function.append_basic_block("none")
    switch = b.switch(b.lshr(function.args[0], I64(2)), unknown)
    for number, fault in enumerate(compiler.faults, 1):
        if fault.kind == "bound":
            block = function.append_basic_block("bound")
            switch.add_case(I64(number), block)
            b.position_at_end(block)
            b.ret(I64(program.cut_names.index(fault.message)))
    b.position_at_end(unknown)
    b.ret(ZERO)


class _Steps(Emitter):
    """The judge of steps: checks each step invariant where its antecedent holds, and counts those steps.

    judge_steps(before, after, k, number, action, counters, fault); a function, since its calls from each rule would repeat it.
    """

    def __init__(self, program: Program, compiler: Compiler, layout: Layout) -> None:
        code = ir.Function(
            compiler.module, ir.FunctionType(ir.VoidType(), [POINTER, POINTER, WORD, I64, I64, WORD, WORD]), "judge_steps"
        )
        code.linkage = "internal"
        before, after, k, self.number, self.action, self.counters, fault = code.args
        super().__init__(compiler, code, fault)
        root = layout.root
        scope: dict[str, Value] = {"before": Ref(root, before), "after": Ref(root, after), "s": Ref(root, after), "k": K(k)}
        met = {when: self.predicate(when, scope) for when in program.step_tests}
        for number, when in enumerate(met):
            cell = self.counter(program.met + number)
            self.b.store(self.b.add(self.b.load(cell), self.b.zext(met[when], I64)), cell)
        for number, claim in enumerate(program.steps):
            with self.b.if_then(met[claim.when]) if claim.when is not None else contextlib.nullcontext():
                self.judge_step(HEADER + 2 * number, claim, scope)
        self.b.ret_void()

    def counter(self, index: int) -> ir.Value:
        return self.b.gep(self.counters, [I64(index)])

    def judge_step(self, counter: int, claim: Property, scope: dict[str, Value]) -> None:
        true = self.predicate(claim.predicate, scope)
        broken = true if claim.kind == "reachable" else self.b.not_(true)
        first = self.b.icmp_signed("<", self.b.load(self.counter(counter)), ZERO)
        with self.b.if_then(self.b.and_(broken, first), likely=False):
            self.b.store(self.number, self.counter(counter))
            self.b.store(self.action, self.counter(counter + 1))


class _Fingerprint(Hashing):
    """The hash of a record: fingerprint(record, seed); a function, since its calls from each rule would repeat it."""

    def __init__(self, compiler: Compiler, layout: Layout) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(I64, [POINTER, I64]), "fingerprint")
        code.linkage = "internal"
        super().__init__(compiler, code, None)
        record, self.seed = code.args
        self.record_bytes = layout.size
        self.b.ret(self.hash(record))


class _Forms(Emitter):
    """The normal forms of states.

    form(states, count, k, seed, marks, fault) brings each of the states into its normal form, in place, and stores its fingerprint.
    Returns the index of a state that has none, with the code of the fault, or -1.
    """

    def __init__(self, compiler: Compiler, layout: Layout, former: Former, fingerprint: ir.Function) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(I64, [POINTER, I64, WORD, I64, WORD, WORD]), "form")
        super().__init__(compiler, code, None)
        states, count, k, seed, marks, told = code.args
        self.fault = self.fault_cell(k)

        def state(now: ir.Value) -> None:
            record = self.at(states, self.b.mul(now, I64(layout.size)))
            former.emit(self, Ref(layout.root, record), K(k))
            with self.b.if_then(self.b.icmp_signed("!=", self.b.load(self.fault), ZERO), likely=False):
                self.b.store(self.b.load(self.fault), told)
                self.b.ret(now)
            self.b.store(self.b.call(fingerprint, [record, seed]), self.b.gep(marks, [now]))

        self.loop(ZERO, count, state)
        self.b.ret(I64(-1))


class _Judge(Emitter):
    """The judge: finds the first state that violates each invariant, and the first that meets each goal.

    judge(states, count, k, first, meets) fills the negative cells of `first`, one for each claim. One more cell gets the code of a
    fault, and the cells after it count the states that meet each antecedent. `meets` has a row for each state and in it a byte for
    each of the program's `ways`: 1 where it is true.
    Returns the index of the state in which a claim faulted, or -1.
    """

    def __init__(self, program: Program, compiler: Compiler, layout: Layout) -> None:
        code = ir.Function(compiler.module, ir.FunctionType(I64, [POINTER, I64, WORD, WORD, POINTER]), "judge")
        super().__init__(compiler, code, None)
        self.program, self.layout = program, layout
        self.fault = self.slot(I64, ZERO)
        self.states, count, k, self.first, self.meets = code.args
        self.k = K(k)
        self.loop(ZERO, count, self.state)
        self.b.ret(I64(-1))

    def state(self, now: ir.Value) -> None:
        """Emit the check of one state."""
        claims = self.program.states
        scope: dict[str, Value] = {
            "s": Ref(self.layout.root, self.at(self.states, self.b.mul(now, I64(self.layout.size)))),
            "k": self.k,
        }
        met = {when: self.predicate(when, scope) for when in self.program.state_tests}
        for index, when in enumerate(met, len(claims) + 1):
            cell = self.b.gep(self.first, [I64(index)])
            self.b.store(self.b.add(self.b.load(cell), self.b.zext(met[when], I64)), cell)
        for index, claim in enumerate(claims):
            cell = self.b.gep(self.first, [I64(index)])
            open_ = self.b.icmp_signed("<", self.b.load(cell), ZERO)
            with self.b.if_then(self.b.and_(open_, met[claim.when]) if claim.when is not None else open_):
                true = self.predicate(claim.predicate, scope)
                hit = true if claim.kind == "reachable" else self.b.not_(true)
                with self.b.if_then(hit, likely=False):
                    self.b.store(now, cell)
        for index, way in enumerate(self.program.ways):
            place = self.b.add(self.b.mul(now, I64(len(self.program.ways))), I64(index))
            self.b.store(self.b.zext(self.predicate(way, scope), I8), self.at(self.meets, place))
        with self.b.if_then(self.b.icmp_signed("!=", self.b.load(self.fault), ZERO), likely=False):
            self.b.store(self.b.load(self.fault), self.b.gep(self.first, [I64(len(claims))]))
            self.b.ret(now)
