"""Compiles the successor function of a search: every rule with every binding, in each state of a slice of the frontier."""

from __future__ import annotations

from llvmlite import ir

from kafka_spec.model_check.lowering.compiler import Compiler
from kafka_spec.model_check.lowering.light_rows import LightRows
from kafka_spec.model_check.lowering.normal_form import Former
from kafka_spec.model_check.lowering.rules import Firings
from kafka_spec.model_check.lowering.values import I32, I64, ONE, POINTER, WORD, ZERO, Ref, Value
from kafka_spec.model_check.record.actions import ActionNumbers
from kafka_spec.model_check.record.counted import DIGEST, EXPANDED, RECENT, STEPS, Plan
from kafka_spec.model_check.record.layout import RecordLayout
from kafka_spec.spec.vocabulary.table import Rule


class Successors(Firings):
    """The successor function: for each state of a slice of the frontier, fires every rule with every binding.

    expand(rows, fingerprints, count, base, seed, every, out, cuts, counters) returns the number of candidates it wrote, or -1
    after a fault that ends the search. `base` is the number of the slice's first state. States are read and written as their light
    rows, one after the other. `out` has the addresses of what is written: of each candidate its row, fingerprint, parent and
    action; then the fingerprints that were written lately; then of each step the fingerprint of its target, parent and action; then
    where the row of each candidate begins, and the end of the last, where there are wide sequences; last the number of
    candidates beyond which no further state is expanded; the counter EXPANDED is the number of states that were. A successor with a
    fingerprint written lately was a candidate before, of this parent or an earlier one: it is not new, and no candidate unless
    `every` is 1.
    Steps are written where a property is checked on the graph; then the byte of a state in `cuts` becomes 1 if a bound prevented a
    protocol step there.
    """

    carried = (
        "number", "now", "mark", "counters", "cuts", "written", "filled", "digest",
        "out_rows", "out_fingerprints", "out_parents", "out_actions", "recent", "every", "seed",
        "recorded", "step_targets", "step_parents", "step_actions", "out_starts", "room",
    )  # fmt: skip

    def __init__(
        self,
        program: Plan,
        compiler: Compiler,
        layout: RecordLayout,
        actions: ActionNumbers,
        former: Former,
        viewer: Former,
        light: LightRows,
    ) -> None:
        arguments = [POINTER, WORD, I64, I64, I64, I64, WORD, POINTER, WORD]
        super().__init__(
            program, compiler, layout, actions, ir.Function(compiler.module, ir.FunctionType(I64, arguments), "expand")
        )
        code = self.code
        self.former, self.viewer, self.light = former, viewer, light
        self.rows, self.fingerprints, count, self.base, self.seed, self.every, out, self.cuts, self.counters = code.args
        for argument in (self.rows, self.fingerprints, out, self.cuts, self.counters):
            argument.add_attribute("noalias")
        self.take_outputs(out)
        self.fault = self.fault_cell()
        self.written = self.slot(I64, ZERO)
        self.following = light.reader(self, self.rows) if layout.wide else None
        self.room = light.room(self) if layout.wide else self.b.bitcast(self.written, POINTER)
        self.filled = self.slot(I64, ZERO)
        self.recorded = self.slot(I64, ZERO)
        self.digest = self.slot(I64, self.b.load(self.counter(DIGEST)))
        self.moves = self.slot(I64, ZERO)
        self.share_guards()
        self.number = self.now = self.mark = ZERO
        self.carry()
        self.tell(*self.carried[3:])
        self.stop = code.append_basic_block("stop")
        self.b.store(count, self.counter(EXPANDED))
        self.jumps: list[tuple[ir.Block, ir.Block]] = []
        self.loop(ZERO, count, self.state, self.jumps)
        self.b.store(self.b.load(self.digest), self.counter(DIGEST))
        self.b.store(self.b.load(self.recorded), self.counter(STEPS))
        if layout.wide:
            self.b.store(self.b.load(self.filled), self.b.gep(self.out_starts, [self.b.load(self.written)]))
        self.b.ret(self.b.load(self.written))
        self.b.position_at_end(self.stop)
        self.b.ret(I64(-1))

    def take_outputs(self, out: ir.Value) -> None:
        """Emit the reading of the addresses in `out`."""
        numbers = I32.as_pointer()
        kinds = (POINTER, WORD, numbers, numbers, WORD, WORD, numbers, numbers, WORD)
        written = [self.b.inttoptr(self.b.load(self.b.gep(out, [I64(place)])), kind) for place, kind in enumerate(kinds)]
        self.out_rows, self.out_fingerprints, self.out_parents, self.out_actions, self.recent, *steps = written
        self.step_targets, self.step_parents, self.step_actions, self.out_starts = steps
        self.spare = self.b.load(self.b.gep(out, [I64(len(kinds))]))
        """With so many candidates or fewer, there is room for all successors of one more state."""

    def state(self, now: ir.Value) -> None:
        """Emit the firing of all rules in one state, unless there may be no room for its successors."""
        used = self.recorded if self.program.on_graph else self.written
        with self.b.if_then(self.b.icmp_signed(">", self.b.load(used), self.spare), likely=False):
            self.b.store(now, self.counter(EXPANDED))
            self.b.branch(self.jumps[-1][1])
        state = self.at(self.rows, self.b.mul(now, I64(self.layout.size))) if self.following is None else self.following()
        self.source = Ref(self.layout.root, state)
        self.mark = self.b.load(self.b.gep(self.fingerprints, [now]))
        self.now, self.number = now, self.b.add(self.base, now)
        self.b.store(ZERO, self.moves)
        self.forget()
        self.tell("number", "now", "mark")
        self.every_rule()

    def admitted(self, index: int, rule: Rule, scope: dict[str, Value], action: ir.Value, out: ir.Block) -> None:
        """Emit the step to a successor, and add it to the candidates."""
        slot, wide = self.b.load(self.written), bool(self.layout.wide)
        target = self.room if wide else self.at(self.out_rows, self.b.mul(slot, I64(self.layout.size)))
        after = self.take(target, index, rule, scope, action, out)
        if self.former.parts:
            self.former.emit(self, after)
            self.end_on_fault(action)
        if wide:
            filled = self.b.load(self.filled)
            self.b.store(filled, self.b.gep(self.out_starts, [slot]))
            row = self.b.call(self.light.write, [target, self.at(self.out_rows, filled), self.seed])
            size, mark = self.b.extract_value(row, 0), self.b.extract_value(row, 1)
        if not wide or self.viewer.parts:
            mark = self.b.call(self.light.fingerprint, [self.viewed(target, action), self.seed])
        if self.program.digests:
            self.b.store(self.b.add(self.b.load(self.digest), self.edge_hash(self.mark, action, mark)), self.digest)
        self.write(slot, mark, action, self.out_fingerprints, self.out_parents, self.out_actions)
        kept = self.b.or_(self.every, self.unfamiliar(mark))
        self.b.store(self.b.add(slot, kept), self.written)
        if wide:
            self.b.store(self.b.add(filled, self.b.mul(size, kept)), self.filled)
        if self.program.on_graph:
            step = self.b.load(self.recorded)
            self.write(step, mark, action, self.step_targets, self.step_parents, self.step_actions)
            self.b.store(self.b.add(step, ONE), self.recorded)
        self.add(self.program.fired + index)

    def write(self, place: ir.Value, mark: ir.Value, action: ir.Value, *columns: ir.Value) -> None:
        """Write fingerprint, parent and action of a successor at a place of three arrays."""
        for value, column in zip((mark, self.b.trunc(self.number, I32), self.b.trunc(action, I32)), columns, strict=True):
            self.b.store(value, self.b.gep(column, [place]))

    def unfamiliar(self, mark: ir.Value) -> ir.Value:
        """Return 0 if a successor with this fingerprint was written lately, else 1; remember the fingerprint."""
        place = self.b.gep(self.recent, [self.b.and_(mark, I64(RECENT - 1))])
        before = self.b.load(place)
        self.b.store(mark, place)
        return self.b.zext(self.b.icmp_signed("!=", before, mark), I64)

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
            b.ret(I64(program.bound_names.index(fault.message)))
    b.position_at_end(unknown)
    b.ret(ZERO)
