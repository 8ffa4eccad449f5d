"""Compiles the normal form of states in which members are interchangeable, which spec/vocabulary/table/symmetry.py defines.

Signatures are sums in registers: the loops over members are unrolled. What a member or a set of members adds to them all is a row
of a table of constants, for each place in the state where one stands. A state is copied under its new names only if they
differ, and other numberings are tried only where signatures are equal and an exchange of their members changes the state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from llvmlite import ir

from kafka_spec.model_check.lowering.renaming import MembersEmitter, rename_function
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import I1, I32, I64, ONE, ZERO, Compiled, Ref
from kafka_spec.model_check.record.layout import Packed
from kafka_spec.spec.language.domain import NONE, Array, Collection, Record, Scalar
from kafka_spec.spec.vocabulary.table import Symmetric
from kafka_spec.spec.vocabulary.table.symmetry import WORD as WORD_MASK
from kafka_spec.spec.vocabulary.table.symmetry import add_signs, check_orders, exchange, names_members, weight

UNROLLED = 8
"""The largest capacity of a sequence whose items are summed without a loop."""
TABLED = 4
"""The most members of a set that one row of a table is for; a larger set adds several rows."""


def form_function(unit: Unit, root: Packed, part: Symmetric) -> Compiled:
    """Return the function that renames the members in a state so that it is the normal form of its renamings."""
    check_orders(root.type, part.names)
    inner: Compiled | None = None
    for place in reversed(range(len(part.names))):
        members, others = part.names[place], part.names[place + 1 :]
        compiled = unit.declare(f"symmetric {members}", (root,), results=0, inline=False)
        _Forming(unit, compiled, root, members, others, inner)
        inner = compiled
    assert inner is not None
    return inner


@dataclass(frozen=True)
class _Place:
    """Where in the state a value stands, as signatures count it."""

    path: tuple[str, ...] = ()
    factor: int | ir.Value = 1
    """By what it counts: the place in sequences; a number if that is known to the compiler."""
    owners: tuple[int, ...] = ()
    """The members whose items it is in."""
    there: ir.Value = I1(1)
    """Whether it is before the ends of all sequences that it is in."""

    def field(self, name: str) -> _Place:
        """Return the place of a field, or of an item, "[]"."""
        return replace(self, path=(*self.path, name))


class _Forming(MembersEmitter):
    """Signatures, the numbering that they tell, and the state under it; `inner` brings that into the form of the `others`."""

    def __init__(
        self, unit: Unit, compiled: Compiled, root: Packed, members: str, others: Sequence[str], inner: Compiled | None
    ) -> None:
        super().__init__(unit, compiled, root, members)
        self.others = others
        state = compiled.code.args[0]
        self.lanes = ir.VectorType(I64, 1 << (self.count - 1).bit_length())
        self.rows, self.sums = self.slot(self.lanes, self.lanes(None)), [self.slot(I64, ZERO) for _ in range(self.count)]
        """The sums of rows of tables, and of all else."""
        self.add(Ref(root, state), _Place())
        rename, ties = rename_function(unit, root, members), _ties_function(unit, root, members, inner)
        named = self.b.load(self.rows)
        signed = [
            self.b.add(self.b.load(cell), self.b.extract_element(named, I32(member))) for member, cell in enumerate(self.sums)
        ]
        to, sums = self.numbering(), self.b.bitcast(self.slot(ir.ArrayType(I64, self.count)), I64.as_pointer())
        moved: ir.Value = I1(0)
        tied: ir.Value = I1(0)
        for member, mine in enumerate(signed):
            rank: ir.Value = ZERO
            for other, its in enumerate(signed):
                if other != member:
                    before = self.b.icmp_unsigned("<=" if other < member else "<", its, mine)
                    rank = self.b.add(rank, self.b.zext(before, I64))
                if other < member:
                    tied = self.b.or_(tied, self.b.icmp_unsigned("==", its, mine))
            self.b.store(rank, self.b.gep(to, [I64(member)]))
            self.b.store(mine, self.b.gep(sums, [I64(member)]))
            moved = self.b.or_(moved, self.b.icmp_signed("!=", rank, I64(member)))
        with self.b.if_then(self.b.or_(moved, tied)):
            before = self.state()
            self.copy(before, state, root.size)
            self.rename_copy(state, before, to, rename)
            with self.b.if_then(tied):
                self.b.call(ties.code, [state, before, sums, self.fault])
        if inner is not None:
            with self.b.if_then(self.b.not_(tied)):
                self.b.call(inner.code, [state, self.fault])
        self.b.ret_void()

    def bump(self, member: int, amount: ir.Value) -> None:
        self.b.store(self.b.add(self.b.load(self.sums[member]), amount), self.sums[member])

    def add(self, ref: Ref, at: _Place) -> None:
        """Emit the sums of what a value says of members."""
        packed, type_ = ref.packed, ref.packed.type
        if not at.owners and not names_members(type_, self.members):
            return
        if packed.fields is not None:
            for name, (offset, field) in packed.fields.items():
                self.add(Ref(field, self.at(ref.pointer, offset)), at.field(name))
        elif isinstance(type_, Scalar):
            self.add_number(type_, self.load(packed, ref.pointer), at)
        elif isinstance(type_, Array) and type_.members == self.members:
            for index in range(self.count):
                self.add(self.item(ref, I64(index)), replace(at.field("[]"), owners=(*at.owners, index)))
        else:
            self.add_items(ref, at)

    def add_items(self, ref: Ref, at: _Place) -> None:
        """Emit the sums of the items of a sequence, or of an array that has no item for each member."""
        type_, length = ref.packed.type, self.length(ref)
        assert not isinstance(type_, Record | Scalar)
        unordered = isinstance(type_, Collection) or (isinstance(type_, Array) and type_.members in self.others)

        def one(index: ir.Value, there: ir.Value) -> None:
            item = self.item(ref, index)
            factor = at.factor if unordered else self.times(at.factor, self.odd(index))
            self.add(item, replace(at.field("[]"), factor=factor, there=there))

        most = type_.length if isinstance(type_, Array) else type_.capacity
        if most > UNROLLED:
            self.loop(ZERO, length, lambda now: one(now, at.there))
        for index in range(most if most <= UNROLLED else 0):
            one(I64(index), self.b.and_(at.there, self.b.icmp_signed("<", I64(index), length)))

    def odd(self, index: ir.Value) -> int | ir.Value:
        """Return the factor of the item at an index of a sequence."""
        if isinstance(index, ir.Constant):
            return 2 * int(index.constant) + 3
        return self.b.add(self.b.mul(index, I64(2)), I64(3))

    def times(self, one: int | ir.Value, other: int | ir.Value) -> int | ir.Value:
        """Return the product, which is a constant if both are."""
        if isinstance(one, int) and isinstance(other, int):
            return one * other & WORD_MASK
        mine, its = (I64(value) if isinstance(value, int) else value for value in (one, other))
        return self.b.mul(mine, its)

    def add_number(self, type_: Scalar, value: ir.Value, at: _Place) -> None:
        """Emit the sums of a number, of a member, or of a set of members; behind the end of a sequence all bytes are 0."""
        if type_.members in self.others:
            present = self.b.zext(self.b.and_(at.there, self.b.icmp_signed("!=", value, I64(NONE))), I64)
            value = self.b.ctpop(value) if type_.many else present
        if type_.members != self.members:
            for depth, owner in enumerate(at.owners):
                weighed = self.times(at.factor, weight((*at.path, str(depth))))
                self.bump(owner, self.b.mul(value, I64(weighed) if isinstance(weighed, int) else weighed))
        elif not type_.many:
            number = self.b.select(at.there, self.b.add(value, ONE), ZERO)
            self.add_row(number, [self.row(type_, member, at) for member in range(NONE, self.count)], at.factor)
        else:
            for first in range(0, self.count, TABLED):
                sets = range(1 << min(TABLED, self.count - first))
                number = self.b.and_(self.b.lshr(value, I64(first)), I64(len(sets) - 1))
                self.add_row(number, [self.row(type_, some << first, at) for some in sets], at.factor)

    def row(self, type_: Scalar, value: int, at: _Place) -> list[int]:
        """Return what a member, or a set of members, adds to the signature of each; times the factor if that is known."""
        found = [0] * self.lanes.count
        add_signs(type_, value, self.members, at.path, at.factor if isinstance(at.factor, int) else 1, at.owners, found)
        return [sum_ & WORD_MASK for sum_ in found]

    def add_row(self, number: ir.Value, rows: list[list[int]], factor: int | ir.Value) -> None:
        """Emit the sum of a row of a table, times the factor if that is not in the table."""
        table = ir.ArrayType(self.lanes, len(rows))
        constant = ir.GlobalVariable(self.unit.module, table, self.unit.module.get_unique_name("signs"))
        constant.initializer = table([self.lanes([I64(sum_) for sum_ in row]) for row in rows])
        constant.global_constant, constant.linkage = True, "internal"
        row = self.b.load(self.b.gep(constant, [ZERO, number]))
        if isinstance(factor, int):
            self.b.store(self.b.add(self.b.load(self.rows), row), self.rows)
        for member in range(0 if isinstance(factor, int) else self.count):
            self.bump(member, self.b.mul(self.b.extract_element(row, I32(member)), factor))


def _ties_function(unit: Unit, root: Packed, members: str, inner: Compiled | None) -> Compiled:
    """Return the function ties(form, state, sums): the form becomes the least renaming of the state that the sums allow."""
    compiled = unit.declare(f"ties {members}", (root, root, 64), results=0, inline=False)
    compiled.code.attributes.discard("inlinehint")
    compiled.code.attributes.add("noinline")
    _Ties(unit, compiled, root, members, inner)
    return compiled


class _Ties(MembersEmitter):
    """Members whose signatures are equal: nothing is to do if each may be exchanged with the next, else all orders are tried."""

    def __init__(self, unit: Unit, compiled: Compiled, root: Packed, members: str, inner: Compiled | None) -> None:
        super().__init__(unit, compiled, root, members)
        form, state, sums = compiled.code.args[:3]
        rename = rename_function(unit, root, members)
        signed = [self.b.load(self.b.gep(sums, [I64(member)])) for member in range(self.count)]
        other, to = self.state(), self.numbering()
        differ = self.slot(I1, I1(0))
        for place, one, next_ in self.neighbours(signed):
            for member, number in enumerate(exchange(self.count, place)):
                self.b.store(I64(number), self.b.gep(to, [I64(member)]))
            with self.b.if_then(self.b.icmp_unsigned("==", one, next_)):
                self.rename(other, form, to, rename)
                unlike = self.b.icmp_signed("!=", self.order(root, other, form), ZERO)
                self.b.store(self.b.or_(self.b.load(differ), unlike), differ)

        if inner is not None:
            self.b.call(inner.code, [form, self.fault])

        def try_(number: ir.Value) -> None:
            self.number_members(to, number)
            with self.b.if_then(self.keeps_order(signed, to)):
                self.rename(other, state, to, rename)
                if inner is not None:
                    self.b.call(inner.code, [other, self.fault])
                with self.b.if_then(self.b.icmp_signed("<", self.order(root, other, form), ZERO)):
                    self.copy(form, other, root.size)

        with self.b.if_then(self.b.load(differ)):
            self.loop(ZERO, I64(math.factorial(self.count)), try_)
        self.b.ret_void()

    def neighbours(self, signed: list[ir.Value]) -> list[tuple[int, ir.Value, ir.Value]]:
        """Return each place in the order of the signatures, with the signature there and the next."""
        words = self.b.bitcast(self.slot(ir.ArrayType(I64, self.count)), I64.as_pointer())
        for member, mine in enumerate(signed):
            rank: ir.Value = ZERO
            for other, its in enumerate(signed):
                if other != member:
                    rank = self.b.add(rank, self.b.zext(self.b.icmp_unsigned("<=" if other < member else "<", its, mine), I64))
            self.b.store(mine, self.b.gep(words, [rank]))
        ranked = [self.b.load(self.b.gep(words, [I64(place)])) for place in range(self.count)]
        return [(place, ranked[place], ranked[place + 1]) for place in range(self.count - 1)]

    def number_members(self, to: ir.Value, number: ir.Value) -> None:
        """Write a numbering by its number among all: each member in turn is exchanged with one of those from it on."""
        for member in range(self.count):
            self.b.store(I64(member), self.b.gep(to, [I64(member)]))
        left = number
        for member in range(self.count - 1):
            choices = I64(self.count - member)
            chosen = self.b.gep(to, [self.b.add(I64(member), self.b.urem(left, choices))])
            left, mine = self.b.udiv(left, choices), self.b.gep(to, [I64(member)])
            one, other = self.b.load(mine), self.b.load(chosen)
            self.b.store(other, mine)
            self.b.store(one, chosen)

    def keeps_order(self, signed: list[ir.Value], to: ir.Value) -> ir.Value:
        """Return whether a numbering is in the order of the signatures."""
        numbers = [self.b.load(self.b.gep(to, [I64(member)])) for member in range(self.count)]
        keeps: ir.Value = I1(1)
        for one, mine in enumerate(signed):
            for other, its in enumerate(signed):
                if one != other:
                    before = self.b.icmp_signed("<", numbers[one], numbers[other])
                    keeps = self.b.and_(keeps, self.b.or_(before, self.b.icmp_unsigned("<=", its, mine)))
        return keeps
