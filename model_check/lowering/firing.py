"""Compiles `fire`: selects the row of a table and runs it, as `spec.table.fire` does in Python.

Depends on tables and packed states. If no row applies, the state is unchanged and the result is 0; two such rows are a fault.
"""

from __future__ import annotations

from llvmlite import ir

from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import I1, I8, I64, ONE, POINTER, ZERO, Buffer, Compiled, K, Ref, Shape, named
from kafka_spec.spec.language.domain import Record, machine_paths
from kafka_spec.spec.vocabulary.table import Machine, Row


class FiringCompiler(Emitter):
    """Compiles one trigger of a machine."""

    def __init__(self, unit: Unit, machine: Machine, trigger: str, compiled: Compiled, shapes: tuple[Shape, ...]) -> None:
        super().__init__(unit, compiled.code, compiled.code.args[-1])
        self.machine, self.trigger = machine, trigger
        self.scope = named(("s", "k", *machine.entity), shapes, compiled.code.args)
        self.where = f"machine {machine.name}"

    def compile(self) -> None:
        """Emit the whole function."""
        cell = self.cell()
        state = self.load(cell.packed, cell.pointer)
        rows = self.machine.rows_of(self.trigger)
        fits = [self.fits(row, state) for row in rows]
        picked = ZERO
        for fit in fits:
            picked = self.b.add(picked, self.b.zext(fit, I64))
        message = f"{self.trigger} fits two rows; make their guards exclude each other"
        with self.check(self.b.icmp_signed("<", picked, I64(2)), "error", self.where, message):
            for row, fit in zip(rows, fits, strict=True):
                with self.b.if_then(fit):
                    self.enter(row, cell)
        self.b.ret(picked)

    def cell(self) -> Ref:
        """Return the reference to the state of the entity's machine."""
        s = self.scope["s"]
        assert isinstance(s, Ref)
        assert isinstance(s.packed.type, Record)
        (path,) = machine_paths(s.packed.type, self.machine.name)
        entity = iter(self.machine.entity)
        ref = s
        for part in path:
            if part == "[]":
                index = self.scope[next(entity)]
                assert not isinstance(index, Ref | Buffer | K)
                ref = self.checked_item(ref, index, self.where)
            else:
                assert ref.packed.fields is not None
                offset, packed = ref.packed.fields[part]
                ref = Ref(packed, self.at(ref.pointer, offset))
        return ref

    def fits(self, row: Row, state: ir.Value) -> ir.Value:
        """Return whether a row applies: its sources contain the state, its guards hold, and no guard of its `unless` holds."""
        result = self.slot(I1, I1(0))
        inside: ir.Value = I1(0)
        for source in row.sources:
            inside = self.b.or_(inside, self.b.icmp_signed("==", state, I64(int(source))))
        out = self.code.append_basic_block("judged")
        on = self.code.append_basic_block("source")
        self.b.cbranch(inside, on, out)
        self.b.position_at_end(on)
        for guard in row.guards:
            assert not isinstance(guard, str)
            on = self.code.append_basic_block("guard")
            self.b.cbranch(self.judged(guard, self.scope, "row", *self.whose(row)), on, out)
            self.b.position_at_end(on)
        for guard in row.unless:
            assert not isinstance(guard, str)
            on = self.code.append_basic_block("unless")
            self.b.cbranch(self.judged(guard, self.scope, "row", *self.whose(row)), out, on)
            self.b.position_at_end(on)
        self.b.store(I1(1), result)
        self.b.branch(out)
        self.b.position_at_end(out)
        return self.b.load(result)

    def whose(self, row: Row) -> tuple[str, int]:
        """Return how coverage names a row: by its machine and its place in the table."""
        return self.machine.name, next(number for number, other in enumerate(self.machine.rows) if other is row)

    def enter(self, row: Row, cell: Ref) -> None:
        """Run a row's effects and set the state to its target."""
        self.tally("row", *self.whose(row))
        if row.waits_for:
            with self.check(I1(0), "error", self.where, f"row {row.label!r} waits for {row.waits_for}"):
                pass
            return
        self.tell(row)
        for effect in row.effects:
            assert not isinstance(effect, str)
            self.effect(effect, self.scope)
        self.store(cell.packed, cell.pointer, I64(int(row.target)), self.where, f"the state of {self.machine.name}")

    def tell(self, row: Row) -> None:
        """Note that a row is taken, if someone wants to know."""
        place = self.unit.rows.get((self.machine.name, self.machine.rows.index(row))) if self.unit.rows is not None else None
        if place is not None:
            address = self.b.load(self.b.gep(self.fault, [ONE]))
            self.b.store(I8(1), self.at(self.b.inttoptr(address, POINTER), place))
