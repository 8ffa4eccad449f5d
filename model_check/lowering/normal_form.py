"""Compiles the normal form of a spec: its functions, and the ranks of numbers, which spec/table/normal_forms.py defines.

The numbers that fields of a domain hold are collected as bits of one word for each order; a number's rank is a count of lower bits.
"""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from kafka_spec.model_check.layout import Packed
from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.symmetry import form_function
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import I64, ONE, ZERO, Compiled, K, Ref
from kafka_spec.spec.domain import Array, Path, Scalar, path_of
from kafka_spec.spec.table import Ranks, Symmetric
from kafka_spec.spec.table.normal_forms import Part, holds_numbers

Cell = Callable[[Packed, ir.Value, ir.Value], None]
"""Emits what happens to a field, given its packed form, its address and its order."""


class Former:
    """Emits the change of a state into its normal form or its view, with an emitter that has a fault cell."""

    def __init__(self, unit: Unit, name: str, parts: tuple[Part, ...], root: Packed) -> None:
        self.parts = parts
        self.compiled = unit.declare(name, (root, "k"), results=0, inline=False)
        inner = Emitter(unit, self.compiled.code, self.compiled.code.args[-1])
        s = Ref(root, self.compiled.code.args[0])
        for part in self.parts:
            if isinstance(part, Ranks):
                inner.invoke(rank_function(unit, root, part), [s])
            elif isinstance(part, Symmetric):
                inner.invoke(form_function(unit, root, part), [s])
            else:
                inner.effect(part, {"s": s, "k": K()})
        inner.b.ret_void()

    def emit(self, to: Emitter, s: Ref) -> None:
        """Emit the change of a state; a part that fails records a fault."""
        to.invoke(self.compiled, [s, K()])


def rank_function(unit: Unit, root: Packed, part: Ranks) -> Compiled:
    """Return the function that replaces the numbers of a domain in a state by their ranks."""
    compiled = unit.declare(f"rank {part.of}", (root,), results=0, inline=False)
    _Ranking(unit, compiled.code, Ref(root, compiled.code.args[0]), part)
    return compiled


class _Ranking(Emitter):
    """One pass over the fields collects what is used, another replaces it, if there are gaps."""

    def __init__(self, unit: Unit, code: ir.Function, root: Ref, part: Ranks) -> None:
        super().__init__(unit, code, code.args[-1])
        self.root, self.part = root, part
        first = path_of(part.newest, {part.each: 0} if part.each else {})
        self.type = self.scalar(self.at_path(first).packed)
        self.orders = self.count(first)
        kept = (2 << (part.keep - self.type.low)) - 1
        self.used = self.slot(ir.ArrayType(I64, self.orders))
        for order in range(self.orders):
            self.b.store(I64(kept), self.word(I64(order)))
        self.cells(root, ZERO, False, self.collect)
        gaps: ir.Value = ir.IntType(1)(0)
        for order in range(self.orders):
            self.check_newest(order)
            used = self.b.load(self.word(I64(order)))
            gaps = self.b.or_(gaps, self.b.icmp_signed("!=", self.b.and_(used, self.b.add(used, ONE)), ZERO))
        with self.b.if_then(gaps):
            self.cells(root, ZERO, False, self.replace)
        self.b.ret_void()

    def scalar(self, packed: Packed) -> Scalar:
        assert isinstance(packed.type, Scalar)
        return packed.type

    def count(self, path: Path) -> int:
        """Return the number of orders: the length of the array at which the path to the newest number has its index."""
        if not self.part.each:
            return 1
        depth = next(depth for depth, step in enumerate(path) if isinstance(step, int))
        type_ = self.at_path(path[:depth]).packed.type
        assert isinstance(type_, Array)
        return type_.length

    def at_path(self, path: Path) -> Ref:
        """Return the reference to what stands at a path of the state."""
        ref = self.root
        for step in path:
            if isinstance(step, int):
                ref = self.item(ref, I64(step))
            else:
                assert ref.packed.fields is not None
                offset, packed = ref.packed.fields[step]
                ref = Ref(packed, self.at(ref.pointer, offset))
        return ref

    def word(self, order: ir.Value) -> ir.Value:
        return self.b.gep(self.used, [ZERO, order])

    def cells(self, ref: Ref, order: ir.Value, known: bool, emit: Cell) -> None:
        """Emit something for each field of the domain."""
        part, type_ = self.part, ref.packed.type
        if ref.packed.fields is not None:
            for offset, packed in ref.packed.fields.values():
                if isinstance(packed.type, Scalar):
                    if packed.type.name == part.of:
                        whose = order
                        if part.told_by and not known:
                            at, teller = ref.packed.fields[part.told_by]
                            whose = self.load(teller, self.at(ref.pointer, at))
                        emit(packed, self.at(ref.pointer, offset), whose)
                elif holds_numbers(packed.type, part.of):
                    self.cells(Ref(packed, self.at(ref.pointer, offset)), order, known, emit)
            return
        assert not isinstance(type_, Scalar)
        labelled = isinstance(type_, Array) and bool(part.each) and type_.label == part.each

        def inside(index: ir.Value) -> None:
            item, whose = self.item(ref, index), index if labelled else order
            if isinstance(item.packed.type, Scalar):
                emit(item.packed, item.pointer, whose)
            else:
                self.cells(item, whose, known or labelled, emit)

        self.loop(ZERO, self.length(ref), inside)

    def bit(self, packed: Packed, pointer: ir.Value) -> ir.Value:
        return self.b.shl(ONE, self.b.sub(self.load(packed, pointer), I64(self.type.low)))

    def collect(self, packed: Packed, pointer: ir.Value, order: ir.Value) -> None:
        """Add a number to those used."""
        word = self.word(order)
        self.b.store(self.b.or_(self.b.load(word), self.bit(packed, pointer)), word)

    def check_newest(self, order: int) -> None:
        """Record a fault if a number is larger than the newest; where only equality counts, make one of all older numbers."""
        newest = self.at_path(path_of(self.part.newest, {self.part.each: order} if self.part.each else {}))
        word = self.word(I64(order))
        used, top = self.b.load(word), self.bit(newest.packed, newest.pointer)
        kept = (2 << (self.part.keep - self.type.low)) - 1
        most = self.b.or_(I64(kept), self.b.sub(self.b.shl(top, ONE), ONE))
        beyond = self.b.icmp_signed("==", self.b.and_(used, self.b.not_(most)), ZERO)
        if self.part.equality:
            older = self.b.and_(used, self.b.and_(self.b.sub(top, ONE), I64(~kept)))
            # the older numbers all get the rank of the least of them
            least = self.b.and_(older, self.b.sub(ZERO, older))
            self.b.store(self.b.or_(self.b.xor(used, older), least), word)
        with self.check(beyond, "error", "normal form", f"a {self.part.of} is larger than the newest one in {self.part.newest}"):
            pass

    def replace(self, packed: Packed, pointer: ir.Value, order: ir.Value) -> None:
        """Replace a number by its rank."""
        ones = self.unit.intrinsic("llvm.ctpop.i64", I64, [I64])
        used, bit = self.b.load(self.word(order)), self.bit(packed, pointer)
        below = self.b.call(ones, [self.b.and_(used, self.b.sub(bit, ONE))])
        if self.part.equality:
            # an older number that is not in the word has the same rank as the one that stands for all
            missing = self.b.icmp_signed("==", self.b.and_(used, bit), ZERO)
            below = self.b.select(missing, I64(self.part.keep - self.type.low + 1), below)
        rank = self.b.add(below, I64(self.type.low))
        narrow = self.b.trunc(rank, ir.IntType(8 * packed.size))
        self.b.store(narrow, self.b.bitcast(pointer, narrow.type.as_pointer())).align = 1
