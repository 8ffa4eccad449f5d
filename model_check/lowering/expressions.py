"""Compiles expressions: one `match` over their nodes says what each becomes."""

from __future__ import annotations

from typing import assert_never

from llvmlite import ir

from kafka_spec.model_check.lowering.arithmetic import arithmetic
from kafka_spec.model_check.lowering.calls import call, extreme, fire, length, primitive
from kafka_spec.model_check.lowering.elements import count, has
from kafka_spec.model_check.lowering.function import FunctionCode
from kafka_spec.model_check.lowering.generators import contained, gathered
from kafka_spec.model_check.lowering.lookup import lookup
from kafka_spec.model_check.lowering.options import present
from kafka_spec.model_check.lowering.values import I1, I64, ZERO, Buffer, K, Ref, Value
from kafka_spec.spec.language import tree
from kafka_spec.spec.language.domain import Collection, Map, Maybe, Record, Scalar, form, unlike
from kafka_spec.spec.language.text import text_of


class Expressions(FunctionCode):
    """Compiles the expressions of a function."""

    def value(self, node: tree.Expression) -> Value:
        """Return the value of an expression."""
        match node:
            case tree.Number(number) | tree.Constant(_, number):
                return I64(int(number))
            case tree.Local():
                return self.local(node)
            case tree.Field() | tree.Item() | tree.Content():
                return self.read(node)
            case tree.Arithmetic(sign, left, right):
                return arithmetic(self, node, sign, self.number(left), self.number(right))
            case tree.Signed():
                return self.signed(node)
            case tree.Not() | tree.Comparison() | tree.Contained() | tree.Has() | tree.Present():
                return self.b.zext(self.test(node), I64)
            case tree.Junction(every, parts):
                return self.either(every, parts)
            case tree.Choice():
                return self.choice(node)
            case tree.Gathered():
                return gathered(self, node)
            case tree.Count():
                return count(self, node)
            case tree.Length():
                return length(self, node)
            case tree.Extreme():
                return extreme(self, node)
            case tree.Fire():
                return fire(self, node)
            case tree.Call():
                return call(self, node)[0]
            case tree.Lookup():
                return lookup(self, node)
            case tree.Primitive():
                return primitive(self, node)[0]
            case _:
                assert_never(node)

    def signed(self, node: tree.Signed) -> ir.Value:
        """Return the value of an operator with one operand."""
        of = self.number(node.of)
        return arithmetic(self, node, "-", ZERO, of) if node.sign == "-" else of if node.sign == "+" else self.b.not_(of)

    def test(self, node: tree.Expression) -> ir.Value:
        """Return whether an expression is true, as one bit."""
        match node:
            case tree.Not(of):
                return self.b.not_(self.test(of))
            case tree.Contained():
                return contained(self, node)
            case tree.Comparison(left, others):
                first = self.value(left)
                if isinstance(first, Ref) and len(others) == 1 and others[0][0] in ("==", "!="):
                    return self.contents(node, others[0][0], first, self.value(others[0][1]))
                return self.comparison(self.integer(left, first), others)
            case tree.Junction(every, parts):
                return self.short_circuit(every, parts)
            case tree.Has():
                return has(self, node)
            case tree.Present():
                return present(self, node)
        return self.b.icmp_signed("!=", self.number(node), ZERO)

    # places

    def read(self, node: tree.Field | tree.Item | tree.Content) -> Value:
        """Return the number, or the reference to the record or the sequence, that is at a place."""
        if isinstance(node, tree.Field) and self.is_constants(node.of):
            return self.constant(node)
        if self.trusted and isinstance(node, tree.Item) and isinstance(buffer := self.value(node.of), Buffer):
            raw = self.b.load(self.b.gep(buffer.pointer, [self.number(node.index)]))
            return raw if buffer.bits == 64 else self.b.zext(raw, I64)
        ref = self.reference(node)
        return self.load(ref.packed, ref.pointer) if isinstance(ref.packed.type, Scalar) else ref

    def is_constants(self, node: tree.Place) -> bool:
        """Whether an expression denotes the bounds and decisions."""
        return isinstance(node, tree.Local) and isinstance(self.names.get(node.name), K)

    def constant(self, node: tree.Field) -> ir.Value:
        """Return a bound or a decision."""
        if node.name not in self.unit.constants:
            known = ", ".join(self.unit.constants) or "none"
            self.refuse(node, f"k.{node.name} is neither a bound nor a decision of this spec; it has {known}")
        return self.known(node.name)

    def reference(self, node: tree.Field | tree.Item | tree.Content) -> Ref:
        """Return the reference to a field, an item, or the value of an option."""
        match node:
            case tree.Field(of, name):
                if self.is_constants(of):
                    self.refuse(node, f"{text_of(node)} is a bound or a decision, which no step changes; write the state")
                ref = self.value(of)
                if not isinstance(ref, Ref) or ref.packed.fields is None or name not in ref.packed.fields:
                    fields = ", ".join(ref.packed.fields) if isinstance(ref, Ref) and ref.packed.fields else "no fields"
                    self.refuse(node, f"{text_of(of)} has no field {name}; it has {fields}")
                if node.cls is not None and isinstance(ref.packed.type, Record) and ref.packed.type.cls is not node.cls:
                    self.refuse(node, f"{text_of(of)} is a record of another class than {node.cls.__name__}")
                offset, packed = ref.packed.fields[name]
                return Ref(packed, self.at(ref.pointer, offset), ref.moving, ref.still)
            case tree.Item(of, index):
                ref = self.value(of)
                if not isinstance(ref, Ref) or ref.packed.item is None:
                    self.refuse(node, f"{text_of(of)} has no items")
                if isinstance(ref.packed.type, Collection):
                    cure = f"write `for element in {text_of(of)}`"
                    self.refuse(node, f"elements of a {ref.packed.type.what} have no index; {cure}")
                item = self.checked_item(ref, self.number(index), self.place(node))
                return self.content(item, node) if isinstance(ref.packed.type, Map) else item
            case tree.Content(option):
                ref = self.value(option)
                if not isinstance(ref, Ref) or not isinstance(ref.packed.type, Maybe):
                    self.refuse(node, f"{text_of(option)} is not an option")
                return self.content(ref, node)
            case _:
                assert_never(node)

    # conditions

    def contents(self, node: tree.Comparison, sign: str, one: Ref, other: Value) -> ir.Value:
        """Return whether two records of a class, or two values of one field, have the same contents, or have not."""
        left, right = text_of(node.left), text_of(node.others[0][1])
        if not isinstance(other, Ref):
            self.refuse(node, f"{right} is a number, and {left} is a record or a container")
        if form(one.packed.type) != form(other.packed.type):
            self.refuse(node, f"{right} is compared with {left}: {unlike(other.packed.type, one.packed.type)}")
        return self.b.icmp_signed(sign, self.order(one.packed, one.pointer, other.pointer), ZERO)

    def comparison(self, left: ir.Value, others: tuple[tuple[tree.OrderSign, tree.Expression], ...]) -> ir.Value:
        """Return `a < b < c` as one bit: each operand is evaluated at most once, and only if all comparisons before it hold."""
        if len(others) == 1:
            ((sign, right),) = others
            return self.b.icmp_signed(sign, left, self.number(right))
        result = self.slot(I1, I1(0))
        out = self.code.append_basic_block("compared")
        for index, (sign, operand) in enumerate(others):
            right = self.number(operand)
            true = self.b.icmp_signed(sign, left, right)
            if index == len(others) - 1:
                self.b.store(true, result)
                self.b.branch(out)
            else:
                on = self.code.append_basic_block("compare")
                self.b.cbranch(true, on, out)
                self.b.position_at_end(on)
            left = right
        self.b.position_at_end(out)
        return self.b.load(result)

    def short_circuit(self, every: bool, parts: tuple[tree.Expression, ...]) -> ir.Value:
        """Return `a and b` (`every`) or `a or b` as one bit."""
        result = self.slot(I1, I1(0 if every else 1))
        out = self.code.append_basic_block("decided")
        for index, part in enumerate(parts):
            true = self.test(part)
            if index == len(parts) - 1:
                self.b.store(true, result)
                self.b.branch(out)
            else:
                on = self.code.append_basic_block("undecided")
                self.b.cbranch(true, *((on, out) if every else (out, on)))
                self.b.position_at_end(on)
        self.b.position_at_end(out)
        return self.b.load(result)

    def either(self, every: bool, parts: tuple[tree.Expression, ...]) -> ir.Value:
        """Return the value of `a and b` (`every`) or `a or b`: the operand that decides."""
        result = self.slot(I64)
        out = self.code.append_basic_block("decided")
        for index, part in enumerate(parts):
            number = self.number(part)
            self.b.store(number, result)
            if index == len(parts) - 1:
                self.b.branch(out)
            else:
                on = self.code.append_basic_block("undecided")
                true = self.b.icmp_signed("!=", number, ZERO)
                self.b.cbranch(true, *((on, out) if every else (out, on)))
                self.b.position_at_end(on)
        self.b.position_at_end(out)
        return self.b.load(result)

    def choice(self, node: tree.Choice) -> ir.Value:
        """Return the value of `yes if test else no`."""
        result = self.slot(I64)
        with self.b.if_else(self.test(node.test)) as (yes, no):
            with yes:
                self.b.store(self.number(node.yes), result)
            with no:
                self.b.store(self.number(node.no), result)
        return self.b.load(result)
