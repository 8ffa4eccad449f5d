"""Compiles the renaming of members in a state, which spec/vocabulary/table/symmetry.py defines."""

from __future__ import annotations

from llvmlite import ir

from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import I8, I64, ONE, POINTER, WORD, ZERO, Compiled, Ref
from kafka_spec.model_check.record.layout import Packed
from kafka_spec.spec.language.domain import Array, Collection, Record, Scalar
from kafka_spec.spec.vocabulary.table.symmetry import names_members, number_of_members


def rename_function(unit: Unit, root: Packed, members: str) -> Compiled:
    """Return the function copy(target, source, to): target, a copy of source, gets new names, to[m] for m; to[-1] is -1."""
    name = f"copy with other {members}"
    if name not in unit.emitted:
        compiled = unit.emitted[name] = unit.declare(name, (root, root, 64), results=0, inline=False)
        _Renaming(unit, compiled, root, members)
    return unit.emitted[name]


class MembersEmitter(Emitter):
    """What the functions share: the members' bound and number, and local states and numberings."""

    def __init__(self, unit: Unit, compiled: Compiled, root: Packed, members: str) -> None:
        super().__init__(unit, compiled.code, compiled.code.args[-1])
        self.root, self.members = root, members
        assert isinstance(root.type, Record)
        self.count = number_of_members(root.type, self.members)

    def numbering(self) -> ir.Value:
        """Return a local numbering of the members; NONE keeps its number."""
        words = self.b.bitcast(self.slot(ir.ArrayType(I64, self.count + 1)), I64.as_pointer())
        self.b.store(I64(-1), words)
        return self.b.gep(words, [ONE])

    def state(self) -> ir.Value:
        """Return the address of a local state."""
        return self.b.bitcast(self.slot(ir.ArrayType(I8, self.root.size)), POINTER)

    def rename(self, target: ir.Value, source: ir.Value, to: ir.Value, function: Compiled) -> None:
        """Write a state into another one under other names."""
        self.copy(target, source, self.root.size)
        self.rename_copy(target, source, to, function)

    def rename_copy(self, target: ir.Value, source: ir.Value, to: ir.Value, function: Compiled) -> None:
        """Write the names of a state into its copy under other names."""
        self.b.call(function.code, [target, source, to, self.fault])


class _Renaming(MembersEmitter):
    """Writes again, in a copy of the state, what names members."""

    def __init__(self, unit: Unit, compiled: Compiled, root: Packed, members: str) -> None:
        super().__init__(unit, compiled, root, members)
        target, source, self.to = compiled.code.args[:3]
        target.add_attribute("noalias")
        self.put(root, target, source)
        self.b.ret_void()

    def new_number(self, member: ir.Value) -> ir.Value:
        return self.b.load(self.b.gep(self.to, [member]))

    def put(self, packed: Packed, target: ir.Value, source: ir.Value) -> None:
        """Emit the renaming of a value whose bytes the target has already."""
        type_ = packed.type
        if not names_members(type_, self.members):
            return
        if packed.fields is not None:
            for offset, field in packed.fields.values():
                self.put(field, self.at(target, offset), self.at(source, offset))
        elif isinstance(type_, Scalar):
            narrow = self.b.trunc(self.number(type_, self.load(packed, source)), ir.IntType(8 * packed.size))
            self.b.store(narrow, self.b.bitcast(target, narrow.type.as_pointer())).align = 1
        elif isinstance(type_, Collection):
            self.loop(ZERO, self.length(Ref(packed, source)), lambda now: self.put_element(packed, target, source, now))
        elif isinstance(type_, Array) and type_.members == self.members:
            for index in range(self.count):
                self.put_item(packed, target, source, I64(index), self.new_number(I64(index)))
        else:
            self.loop(ZERO, self.length(Ref(packed, source)), lambda now: self.put_item(packed, target, source, now, now))

    def number(self, type_: Scalar, value: ir.Value) -> ir.Value:
        """Return a member, or a set of members, under the new numbers."""
        if not type_.many:
            return self.new_number(value)
        renamed: ir.Value = ZERO
        for member in range(self.count):
            bit = self.b.and_(self.b.lshr(value, I64(member)), ONE)
            renamed = self.b.or_(renamed, self.b.shl(bit, self.new_number(I64(member))))
        return renamed

    def put_item(self, packed: Packed, target: ir.Value, source: ir.Value, index: ir.Value, there: ir.Value) -> None:
        """Emit the renaming of an item; its index is `there` then."""
        assert packed.item is not None
        old, new = self.item(Ref(packed, source), index).pointer, self.item(Ref(packed, target), there).pointer
        if there is not index:
            self.copy(new, old, packed.item.size)
        self.put(packed.item, new, old)

    def put_element(self, packed: Packed, target: ir.Value, source: ir.Value, index: ir.Value) -> None:
        """Emit the renaming of an element of a set or bag, which is put among those before it by its content."""
        item = packed.item
        assert item is not None
        element = self.b.bitcast(self.slot(ir.ArrayType(I8, item.size)), POINTER)
        old = self.item(Ref(packed, source), index).pointer
        self.copy(element, old, item.size)
        self.put(item, element, old)
        place = self.slot(I64, ZERO)

        def compare(now: ir.Value) -> None:
            before = self.b.icmp_signed("<", self.order(item, self.item(Ref(packed, target), now).pointer, element), ZERO)
            self.b.store(self.b.add(self.b.load(place), self.b.zext(before, I64)), place)

        self.loop(ZERO, index, compare)
        at = self.item(Ref(packed, target), self.b.load(place)).pointer
        behind = self.b.mul(self.b.sub(index, self.b.load(place)), I64(item.size))
        self.move(self.at(at, item.size), at, behind)
        self.copy(at, element, item.size)


class Renamer(MembersEmitter):
    """Exports `rename MEMBERS`(states, count, size, to): renames them in each of some states, of so many bytes, in place."""

    def __init__(self, unit: Unit, root: Packed, members: str) -> None:
        code = ir.Function(unit.module, ir.FunctionType(ir.VoidType(), [POINTER, I64, I64, WORD]), f"rename {members}")
        super().__init__(unit, Compiled(code, 0), root, members)
        states, count, size, numbers = code.args
        self.fault = self.slot(I64, ZERO)
        to, copy, rename = self.numbering(), self.state(), rename_function(unit, root, members)
        for member in range(self.count):
            self.b.store(self.b.load(self.b.gep(numbers, [I64(member)])), self.b.gep(to, [I64(member)]))

        def one(now: ir.Value) -> None:
            state = self.at(states, self.b.mul(now, size))
            self.rename(copy, state, to, rename)
            self.copy(state, copy, root.size)

        self.loop(ZERO, count, one)
        self.b.ret_void()
