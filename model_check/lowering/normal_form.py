"""Compiles the normal form of a spec: its functions, and the ranks of numbers, which spec/vocabulary/table/normal_forms.py defines.

The numbers that fields of a domain hold are collected as bits of one word for each order; a number's rank is a count of lower bits.
All ranks that follow each other are taken in one walk over the state, since walking costs more than counting.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

from llvmlite import ir

from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.symmetry import form_function
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import I1, I64, ONE, ZERO, Compiled, K, Ref
from kafka_spec.model_check.record.layout import Packed
from kafka_spec.spec.language.domain import Array, Path, Scalar, path_of
from kafka_spec.spec.vocabulary.table import Ranks, Symmetric
from kafka_spec.spec.vocabulary.table.normal_forms import Part, holds_numbers

FEW = 4
"""The most items of an array whose walk is written out, item by item, so that compiled code knows whose numbers it sees."""


class Former:
    """Emits the change of a state into its normal form or its view, with an emitter that has a fault cell."""

    def __init__(self, unit: Unit, name: str, parts: tuple[Part, ...], root: Packed) -> None:
        self.parts = parts
        self.compiled = unit.declare(name, (root, "k"), results=0, inline=False)
        inner = Emitter(unit, self.compiled.code, self.compiled.code.args[-1])
        s = Ref(root, self.compiled.code.args[0])
        for together, some in itertools.groupby(self.parts, lambda part: isinstance(part, Ranks)):
            if together:
                inner.invoke(rank_function(unit, root, [part for part in some if isinstance(part, Ranks)]), [s])
                continue
            for part in some:
                if isinstance(part, Symmetric):
                    inner.invoke(form_function(unit, root, part), [s])
                elif not isinstance(part, Ranks):
                    inner.effect(part, {"s": s, "k": K()})
        inner.b.ret_void()

    def emit(self, to: Emitter, s: Ref) -> None:
        """Emit the change of a state; a part that fails records a fault."""
        to.invoke(self.compiled, [s, K()])


def rank_function(unit: Unit, root: Packed, parts: list[Ranks]) -> Compiled:
    """Return the function that replaces the numbers of some domains in a state by their ranks."""
    compiled = unit.declare("ranks", (root,), results=0, inline=False)
    _Ranking(unit, compiled.code, Ref(root, compiled.code.args[0]), parts)
    return compiled


class _Order:
    """The words of one order: which numbers are used, and which are limits; `top` is the bit of the newest number."""

    def __init__(self, used: ir.Value, limits: ir.Value | None, top: ir.Value) -> None:
        self.used, self.limits, self.top = used, limits, top


class _Numbers:
    """The numbers of one domain: what the declaration says of them, and the words of each order."""

    def __init__(self, part: Ranks, type_: Scalar, orders: list[_Order]) -> None:
        self.part, self.type, self.orders = part, type_, orders
        self.kept = (2 << (part.keep - type_.low)) - 1
        """The bits of the numbers that stand for themselves."""


Whose = tuple[ir.Value, bool]
"""The index of an order, and whether the path to a field has given it."""

Cell = Callable[[_Numbers, Packed, ir.Value, ir.Value, bool], None]
"""Emits what happens to a number, given its packed form, its address, its order and whether it is a limit."""


class _Ranking(Emitter):
    """One walk over the fields collects what is used, another replaces it, if there are gaps."""

    def __init__(self, unit: Unit, code: ir.Function, root: Ref, parts: list[Ranks]) -> None:
        super().__init__(unit, code, code.args[-1])
        self.root = root
        self.domains = [self.numbers(part) for part in parts]
        self.walk(root, [(ZERO, False) for _ in parts], "", self.collect)
        gaps: ir.Value = I1(0)
        for numbers in self.domains:
            for order in numbers.orders:
                gaps = self.b.or_(gaps, self.has_gaps(numbers, order))
        with self.b.if_then(gaps):
            self.walk(root, [(ZERO, False) for _ in parts], "", self.replace)
        self.b.ret_void()

    def numbers(self, part: Ranks) -> _Numbers:
        """Return the words of a domain, which hold no number yet."""
        first = path_of(part.newest, {part.each: 0} if part.each else {})
        type_ = self.at_path(first).packed.type
        assert isinstance(type_, Scalar)
        orders = []
        for index in range(self.count(part, first)):
            newest = self.at_path(path_of(part.newest, {part.each: index} if part.each else {}))
            limits = self.slot(I64, ZERO) if part.limits else None
            orders.append(_Order(self.slot(I64, ZERO), limits, self.bit(type_, newest.packed, newest.pointer)))
        return _Numbers(part, type_, orders)

    def count(self, part: Ranks, path: Path) -> int:
        """Return the number of orders: the length of the array at which the path to the newest number has its index."""
        if not part.each:
            return 1
        depth = next(depth for depth, step in enumerate(path) if isinstance(step, int))
        type_ = self.at_path(path[:depth]).packed.type
        assert isinstance(type_, Array)
        return type_.length

    def at_path(self, path: Path) -> Ref:
        """Return the reference to the value at a path of the state."""
        ref = self.root
        for step in path:
            if isinstance(step, int):
                ref = self.item(ref, I64(step))
            else:
                assert ref.packed.fields is not None
                offset, packed = ref.packed.fields[step]
                ref = Ref(packed, self.at(ref.pointer, offset))
        return ref

    def walk(self, ref: Ref, whose: list[Whose], path: str, emit: Cell) -> None:
        """Emit something for each number."""
        type_ = ref.packed.type
        if ref.packed.fields is not None:
            for name, (offset, packed) in ref.packed.fields.items():
                inside = f"{path}.{name}".removeprefix(".")
                if isinstance(packed.type, Scalar):
                    self.field(ref, packed, offset, whose, inside, emit)
                elif any(holds_numbers(packed.type, numbers.part.of) for numbers in self.domains):
                    self.walk(Ref(packed, self.at(ref.pointer, offset)), whose, inside, emit)
            return
        assert not isinstance(type_, Scalar)

        def item(index: ir.Value) -> None:
            one, reported = self.item(ref, index), []
            for numbers, known in zip(self.domains, whose, strict=True):
                labelled = isinstance(type_, Array) and bool(numbers.part.each) and type_.label == numbers.part.each
                reported.append((index, True) if labelled else known)
            if isinstance(one.packed.type, Scalar):
                for numbers, (order, _) in zip(self.domains, reported, strict=True):
                    if one.packed.type.name == numbers.part.of:
                        emit(numbers, one.packed, one.pointer, order, numbers.part.is_limit(f"{path}[]"))
            else:
                self.walk(one, reported, f"{path}[]", emit)

        if isinstance(type_, Array) and type_.length <= FEW:
            for index in range(type_.length):
                item(I64(index))
        else:
            self.loop(ZERO, self.length(ref), item)

    def field(self, ref: Ref, packed: Packed, offset: int, whose: list[Whose], path: str, emit: Cell) -> None:
        """Emit something for a field of a record, if it is a number of a domain."""
        assert isinstance(packed.type, Scalar) and ref.packed.fields is not None
        for numbers, (order, known) in zip(self.domains, whose, strict=True):
            if packed.type.name == numbers.part.of:
                if numbers.part.told_by and not known and len(numbers.orders) > 1:
                    at, teller = ref.packed.fields[numbers.part.told_by]
                    order = self.load(teller, self.at(ref.pointer, at))
                emit(numbers, packed, self.at(ref.pointer, offset), order, numbers.part.is_limit(path))

    def bit(self, type_: Scalar, packed: Packed, pointer: ir.Value) -> ir.Value:
        return self.b.shl(ONE, self.b.sub(self.load(packed, pointer), I64(type_.low)))

    def collect(self, numbers: _Numbers, packed: Packed, pointer: ir.Value, order: ir.Value, limit: bool) -> None:
        """Add a number to those used, or to the limits."""
        bit = self.bit(numbers.type, packed, pointer)
        for index, words in enumerate(numbers.orders):
            if isinstance(order, ir.Constant) and len(numbers.orders) > 1 and order.constant != index:
                continue
            word = words.limits if limit else words.used
            mine = bit
            if not isinstance(order, ir.Constant) and len(numbers.orders) > 1:
                mine = self.b.select(self.b.icmp_signed("==", order, I64(index)), bit, ZERO)
            self.b.store(self.b.or_(self.b.load(word), mine), word)

    def has_gaps(self, numbers: _Numbers, order: _Order) -> ir.Value:
        """Return whether a number has to be replaced; record a fault if one is larger than the newest."""
        part, kept = numbers.part, I64(numbers.kept)
        used = self.b.or_(self.b.load(order.used), kept)
        found = used if order.limits is None else self.b.or_(used, self.b.load(order.limits))
        most = self.b.or_(kept, self.b.sub(self.b.shl(order.top, ONE), ONE))
        within = self.b.icmp_signed("==", self.b.and_(found, self.b.not_(most)), ZERO)
        with self.check(within, "error", "normal form", f"a {part.of} is larger than the newest one in {part.newest}"):
            pass
        self.b.store(used, order.used)
        if part.equality:
            return self.b.icmp_unsigned(">", order.top, I64(numbers.kept + 1))
        # without a gap up to the newest number, each limit is one of the numbers used
        return self.b.icmp_signed("!=", self.b.and_(used, self.b.add(used, ONE)), ZERO)

    def replace(self, numbers: _Numbers, packed: Packed, pointer: ir.Value, order: ir.Value, limit: bool) -> None:
        """Replace a number by its rank."""
        bit = self.bit(numbers.type, packed, pointer)
        used, top = self.of_order(numbers, order)
        if numbers.part.equality:
            newest = self.b.zext(self.b.icmp_signed("==", bit, top), I64)
            older = self.b.icmp_unsigned(">", bit, I64(numbers.kept))
            rank = self.b.select(older, self.b.add(I64(numbers.part.keep), newest), self.load(packed, pointer))
        else:
            ones = self.unit.intrinsic("llvm.ctpop.i64", I64, [I64])
            rank = self.b.add(self.b.call(ones, [self.b.and_(used, self.b.sub(bit, ONE))]), I64(numbers.type.low))
        narrow = self.b.trunc(rank, ir.IntType(8 * packed.size))
        self.b.store(narrow, self.b.bitcast(pointer, narrow.type.as_pointer())).align = 1

    def of_order(self, numbers: _Numbers, order: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return the word of used numbers of an order, and the bit of its newest number."""
        used, top = self.b.load(numbers.orders[0].used), numbers.orders[0].top
        for index, words in enumerate(numbers.orders[1:], 1):
            mine = self.b.icmp_signed("==", order, I64(index))
            used, top = self.b.select(mine, self.b.load(words.used), used), self.b.select(mine, words.top, top)
        return used, top
