"""Compiles the firing of rules: the bindings of each rule, what admits a step, and the step itself.

Does not know what is done with a step: successors.py adds it to the candidates of a search, random_walks/walk_code.py walks.
"""

from __future__ import annotations

import abc
import contextlib
from dataclasses import dataclass

from llvmlite import ir

from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.hashing import Hashing
from kafka_spec.model_check.lowering.shared_guards import Opening, SharedGuards, count_of
from kafka_spec.model_check.lowering.values import (
    FAULT_KINDS,
    I1,
    I8,
    I32,
    I64,
    ONE,
    ZERO,
    Buffer,
    K,
    Ref,
    Value,
    named,
    plain,
    shape_of,
)  # fmt: skip
from kafka_spec.model_check.record.actions import ActionNumbers
from kafka_spec.model_check.record.bound_names import bound_name
from kafka_spec.model_check.record.counted import (
    FAULT,
    FAULT_ACTION,
    FAULT_STATE,
    STUCK,
    UNTYPED,
    UNTYPED_ACTION,
    UNTYPED_FAULT,
    Plan,
)
from kafka_spec.model_check.record.layout import Packed, RecordLayout
from kafka_spec.spec.language import Function, parameters_of
from kafka_spec.spec.language.domain import SPENT, Bound, Collection, Scalar
from kafka_spec.spec.vocabulary.table import Among, ElementOf, ItemOf, Rule


@dataclass
class Binding:
    """The binding of a rule's parameters that is being emitted."""

    index: int
    rule: Rule
    scope: dict[str, Value]
    """What has a value so far: the state, the constants, and the first parameters."""
    left: list[Function]
    """The guards that are not asked yet."""

    @property
    def names(self) -> list[str]:
        """The names of the rule's parameters."""
        return list(self.rule.params)

    def ready(self) -> list[Function]:
        """Take the guards whose parameters have values."""
        ready = [guard for guard in self.left if set(parameters_of(guard)) <= self.scope.keys()]
        self.left[:] = [guard for guard in self.left if guard not in ready]
        return ready


class Firings(SharedGuards, Hashing):
    """What the functions that fire rules share: the bindings of each rule, what admits a step, and the step itself.

    Nested loops bind a rule's parameters. Each guard is evaluated as soon as its parameters are bound: most guards are false, and
    a false guard ends that iteration of its loop.
    """

    number: ir.Value
    """The number of the state before the step."""
    now: ir.Value
    counters: ir.Value
    cuts: ir.Value
    late: ir.Value
    """Whether this is the second round, that of the rules that are switched off."""
    moves: ir.Value
    """The cell that becomes 1 where the guards of some rule hold."""
    stop: ir.Block
    """Where a fault that ends the search leads."""
    reported: ir.Value
    """Where the functions of steps find what is carried."""
    carried: tuple[str, ...] = ()
    """The attributes, all of them values of LLVM, that a step needs besides the state, and that its function receives."""

    def __init__(self, program: Plan, compiler: Compiler, layout: RecordLayout, actions: ActionNumbers, code: ir.Function) -> None:
        super().__init__(compiler, code, None)
        self.program, self.layout, self.actions = program, layout, actions
        self.judging = compiler.module.globals.get("judge_steps")
        self.bound_of_fault = compiler.module.get_global("bound.of.fault")

    def counter(self, index: int | ir.Value) -> ir.Value:
        """Return the address of a counter."""
        return self.b.gep(self.counters, [I64(index) if isinstance(index, int) else index])

    def add(self, index: int) -> None:
        """Add 1 to a counter."""
        cell = self.counter(index)
        self.b.store(self.b.add(self.b.load(cell), ONE), cell)

    def carry(self) -> None:
        """Make room for what the functions of steps receive; `tell` puts it there."""
        self.reported = self.slot(ir.LiteralStructType([getattr(self, name).type for name in self.carried]))

    def tell(self, *names: str) -> None:
        """Emit that the functions of steps receive some of what is carried."""
        for name in names:
            self.b.store(getattr(self, name), self.b.gep(self.reported, [I32(0), I32(self.carried.index(name))]))

    def recall(self) -> None:
        """In a function that receives what is carried, load it."""
        for place, name in enumerate(self.carried):
            setattr(self, name, self.b.load(self.b.gep(self.reported, [I32(0), I32(place)])))

    def every_rule(self) -> None:
        """Emit the firing of all rules in a state, and note whether it is a deadlock.

        Rules that are switched off are asked only in a second round, if the guards of no other rule hold.
        """
        late = self.slot(I1, I1(0))
        again, done = self.code.append_basic_block("again"), self.code.append_basic_block("done")
        self.b.branch(again)
        self.b.position_at_end(again)
        self.late = self.b.load(late)
        for index, rule in enumerate(self.program.rules):
            if rule.may_be_off:
                with self.b.if_then(self.b.or_(self.late, self.b.not_(self.is_off(rule)))):
                    self.rule(index, rule)
            else:
                self.rule(index, rule)
        idle = self.b.icmp_signed("==", self.b.load(self.moves), ZERO)
        second = self.b.and_(idle, self.b.not_(self.late))
        self.b.store(I1(1), late)
        self.b.cbranch(second, again, done).set_weights([1, 2000])
        self.b.position_at_end(done)
        self.note_deadlock()

    def is_off(self, rule: Rule) -> ir.Value:
        """Return whether a bound of 0 switches a rule off."""
        off: ir.Value = I1(0)
        for packed, _ in self.spent_by(rule):
            assert isinstance(packed.type, Scalar)
            off = self.b.or_(off, self.b.icmp_signed("==", self.highest(packed.type), ZERO))
        return off

    def rule(self, index: int, rule: Rule) -> None:
        """Emit the guards of one rule with every binding, and the call of what fires it."""
        first = I64(self.actions.first[index])
        self.bind(Binding(index, rule, {"s": self.source, "k": K()}, list(rule.guards)), 0, first)
        self.end_on_fault(first)

    def bind(self, binding: Binding, depth: int, action: ir.Value) -> None:
        """Emit the binding of the parameters from `depth` on, and what happens with each; a guard is evaluated once it can be."""
        out = self.code.append_basic_block("next")
        for guard in binding.ready():
            on = self.code.append_basic_block("on")
            holds = self.predicate(guard, binding.scope)
            self.tally_answer(holds, "rule", binding.rule.name, guard.__name__)
            self.b.cbranch(holds, on, out)
            self.b.position_at_end(on)
        opening = self.openings[binding.index]
        if depth == len(binding.names):
            self.fire(binding.index, binding.rule, binding.scope, action)
        elif depth == 0 and opening is not None:
            self.bind_listed(binding, opening, action)
        else:
            self.bind_next(binding, depth, action)
        self.b.branch(out)
        self.b.position_at_end(out)

    def bind_listed(self, binding: Binding, opening: Opening, action: ir.Value) -> None:
        """Emit the binding of the first parameters to the values for which the guards that a rule asks first hold."""
        binding.left[:] = [guard for guard in binding.left if guard not in opening.guards]
        behind = count_of(tuple(self.actions.ranges[binding.index][len(opening.ranges) :]))

        def on_list(ordinal: ir.Value, values: list[ir.Value]) -> None:
            binding.scope.update(zip(binding.names, values, strict=False))
            self.bind(binding, len(values), self.b.add(action, self.b.mul(ordinal, I64(behind))))

        self.where_it_holds(opening, on_list)

    def bind_next(self, binding: Binding, depth: int, action: ir.Value) -> None:
        """Emit a loop that binds the next parameter to each value that it takes."""
        name, ranges = binding.names[depth], self.actions.ranges[binding.index]
        parameter, (low, high) = binding.rule.params[name], ranges[depth]
        start, stop, weight = I64(low), I64(high + 1), I64(count_of(tuple(ranges[depth + 1 :])))
        elements = self.elements(parameter, binding.scope) if isinstance(parameter, ElementOf) else None
        if isinstance(parameter, ItemOf):
            assert self.source.packed.fields is not None
            offset, packed = self.source.packed.fields[parameter.field]
            stop = self.length(Ref(packed, self.at(self.source.pointer, offset)))
        elif elements is not None:
            stop = self.length(elements)
        none = self.none_is_among(parameter, name, binding.scope, high) if isinstance(parameter, Among) else I1(0)

        def inside(now: ir.Value) -> None:
            binding.scope[name] = self.chosen(binding.index, name, now) if elements is None else self.item(elements, now)
            admitted = contextlib.nullcontext()
            if elements is not None:
                admitted = self.b.if_then(self.is_first(elements, now))
            elif isinstance(parameter, Among):
                admitted = self.b.if_then(self.is_among(parameter, now, binding.scope, none))
            with admitted:
                self.bind(binding, depth + 1, self.b.add(action, self.b.mul(self.b.sub(now, start), weight)))

        self.loop(start, stop, inside)

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
        """Emit what happens to a rule whose guards hold: the step is taken, or counted as one that a bound prevents."""
        self.b.store(ONE, self.moves)
        out = self.code.append_basic_block("fired")
        if rule.may_be_off:
            on = self.code.append_basic_block("early")
            self.b.cbranch(self.late, out, on)
            self.b.position_at_end(on)
        for bound, (packed, offset) in zip(rule.limits, self.spent_by(rule), strict=True):
            assert isinstance(packed.type, Scalar)
            count = self.load(packed, self.at(self.source.pointer, offset))
            self.within(self.b.icmp_signed("<", count, self.highest(packed.type)), index, bound.name, out)
        self.fire_apart(index, rule, {name: value for name, value in scope.items() if name not in ("s", "k")}, action)
        self.b.branch(out)
        self.b.position_at_end(out)

    def fire_apart(self, index: int, rule: Rule, binding: dict[str, Value], action: ir.Value) -> None:
        """Emit the step of a rule, unless a limit forbids it, as a function of its own, and its call.

        So the guards of all rules are in one function, which reads a field once for many of them, and no call is made for what
        most often does not hold. What only a step needs is in memory.
        """
        near = [self.source.pointer, self.fault, self.reported, action, *plain(binding.values())]
        types, name = [part.type for part in near], f"{self.code.name}.{rule.name}.{index}"
        code = ir.Function(self.unit.module, ir.FunctionType(I64, types), name)
        code.linkage = "internal"
        code.attributes.add("nounwind")
        with self.within_function(code):
            self.reported, action, *given = code.args[2:]
            self.recall()
            self.stop, out = code.append_basic_block("stop"), code.append_basic_block("out")
            scope = {"s": self.source, "k": K(), **named(binding, map(shape_of, binding.values()), given)}
            for limit in rule.bound_guards:
                self.within(self.predicate(limit, scope), index, bound_name(limit, self.program.spec), out)
            self.admitted(index, rule, scope, action, out)
            self.b.branch(out)
            self.b.position_at_end(out)
            self.b.ret(ZERO)
            self.b.position_at_end(self.stop)
            self.b.ret(ONE)
        on = self.code.append_basic_block("taken")
        ended = self.b.icmp_signed("!=", self.b.call(code, near), ZERO)
        self.b.cbranch(ended, self.stop, on).set_weights([1, 2000])
        self.b.position_at_end(on)

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
            inside = self.predicate(constraint, {"s": after, "k": K()})
            self.end_on_fault(action)
            self.within(inside, index, constraint.__name__, out)
        return after

    def note_deadlock(self) -> None:
        """Emit that the state is noted as the first one in which the guards of no rule hold."""
        idle = self.b.icmp_signed("==", self.b.load(self.moves), ZERO)
        first = self.b.icmp_signed("<", self.b.load(self.counter(STUCK)), ZERO)
        with self.b.if_then(idle, likely=False):
            if self.program.spec.final_states is not None:
                final = self.predicate(self.program.spec.final_states, {"s": self.source, "k": K()})
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
        self.cut_off(index, I64(self.program.bound_names.index(name)))
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
        """Count a step that a bound prevents under its name; set the state's byte in `cuts` if a property on the graph needs it."""
        cell = self.counter(self.b.add(name, I64(self.program.bounded + index * len(self.program.bound_names))))
        self.b.store(self.b.add(self.b.load(cell), ONE), cell)
        if self.program.on_graph and self.program.rules[index].kind == "protocol":
            self.b.store(I8(1), self.at(self.cuts, self.now))

    def judge_steps(self, after: Ref, action: ir.Value) -> None:
        """Check the step invariants on this step."""
        if self.judging is not None:
            self.b.call(self.judging, [self.source.pointer, after.pointer, self.number, action, self.counters, self.fault])
