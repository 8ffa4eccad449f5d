"""Compiles the successor function of a search: every rule with every binding, in each state of a slice of the frontier."""

from __future__ import annotations

from llvmlite import ir

from kafka_spec.model_check.counted import DIGEST, Plan
from kafka_spec.model_check.layout import Actions, Layout
from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.normal_form import Former
from kafka_spec.model_check.lowering.rules import Firings
from kafka_spec.model_check.lowering.values import I32, I64, ONE, POINTER, WORD, ZERO, Ref, Value
from kafka_spec.spec.table import Rule


class Successors(Firings):
    """The successor function: for each state of a slice of the frontier, fires every rule with every binding.

    expand(states, fingerprints, count, base, seed, out_states, out_fingerprints, out_parents, out_actions, cuts, counters)
    returns the number of successors it wrote, or -1 after a fault that ends the search. `base` is the number of the slice's first
    state. Where a claim is checked on the graph, the byte of a state in `cuts` becomes 1 if a bound forbade a protocol step there.
    """

    carried = (
        "number", "now", "mark", "counters", "cuts", "written", "digest",
        "out_states", "out_fingerprints", "out_parents", "out_actions", "seed",
    )  # fmt: skip

    def __init__(
        self,
        program: Plan,
        compiler: Compiler,
        layout: Layout,
        actions: Actions,
        former: Former,
        viewer: Former,
        fingerprint: ir.Function,
    ) -> None:
        arguments = [POINTER, WORD, I64, I64, I64, POINTER, WORD, I32.as_pointer(), I32.as_pointer(), POINTER, WORD]
        super().__init__(
            program, compiler, layout, actions, ir.Function(compiler.module, ir.FunctionType(I64, arguments), "expand")
        )
        code = self.code
        self.former, self.viewer, self.fingerprint = former, viewer, fingerprint
        (self.states, self.fingerprints, count, self.base, self.seed, *out, self.cuts, self.counters) = code.args
        self.out_states, self.out_fingerprints, self.out_parents, self.out_actions = out
        for argument in (self.states, self.out_states, self.fingerprints, *out[1:], self.cuts, self.counters):
            argument.add_attribute("noalias")
        self.fault = self.fault_cell()
        self.written = self.slot(I64, ZERO)
        self.digest = self.slot(I64, self.b.load(self.counter(DIGEST)))
        self.moves = self.slot(I64, ZERO)
        self.share_guards()
        self.number = self.now = self.mark = ZERO
        self.carry()
        self.tell(*self.carried[3:])
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
        self.tell("number", "now", "mark")
        for index, rule in enumerate(self.program.rules):
            self.rule(index, rule)
        self.note_deadlock()

    def admitted(self, index: int, rule: Rule, scope: dict[str, Value], action: ir.Value, out: ir.Block) -> None:
        """Emit the step to a successor, and add it to the candidates."""
        slot = self.b.load(self.written)
        target = self.at(self.out_states, self.b.mul(slot, I64(self.layout.size)))
        after = self.take(target, index, rule, scope, action, out)
        if self.former.parts:
            self.former.emit(self, after)
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
        self.viewer.emit(self, Ref(self.layout.root, copy))
        self.end_on_fault(action)
        return copy


def name_bounds(program: Plan, compiler: Compiler) -> None:
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
