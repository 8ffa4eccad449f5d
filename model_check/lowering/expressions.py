"""Compiles expressions: names, fields and items, conditions.

Does not compile statements; the subclass compiles calls (calls.py).
"""

from __future__ import annotations

import abc
import ast
from collections.abc import Sequence

from llvmlite import ir

from kafka_spec.model_check.lowering.arithmetic import Arithmetic
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import I1, I64, ZERO, Buffer, Compiled, K, Ref, Shape, Value, named
from kafka_spec.spec import language
from kafka_spec.spec.language import domain
from kafka_spec.spec.language.domain import Collection, Map, Maybe, Scalar


class Expressions(Arithmetic, abc.ABC):
    """Compiles the expressions of a function whose parameters have the given shapes."""

    def __init__(self, unit: Unit, source: language.Source, compiled: Compiled, shapes: tuple[Shape, ...], trusted: bool) -> None:
        super().__init__(unit, source, compiled, trusted)
        self.names: dict[str, Value] = {}
        """The references: parameters and local names."""
        self.stale: set[str] = set()
        """The names of items that may have moved."""
        self.slots: dict[str, ir.Value] = {}
        """The local variables that hold integers."""
        for name, value in named(source.parameters, shapes, compiled.code.args).items():
            if isinstance(value, Ref) and value.packed is not unit.root and not value.still:
                value = Ref(value.packed, value.pointer, moving=True)
            if isinstance(value, Ref | Buffer | K):
                self.names[name] = value
            else:
                self.slots[name] = self.slot(I64, value)

    @abc.abstractmethod
    def call(self, node: ast.Call) -> Sequence[ir.Value]:
        """Emit a call; return the integers that the callee returns."""

    @abc.abstractmethod
    def is_in(self, node: ast.AST, left: ast.expr, of: ast.expr) -> ir.Value:
        """Return whether a value is in others, as one bit."""

    def integer(self, node: ast.AST, value: Value) -> ir.Value:
        """Return a value as an integer; refuse a reference."""
        if isinstance(value, Ref | Buffer | K):
            what = ast.unparse(node) if isinstance(node, ast.expr) else "this"
            self.refuse(node, f"a number is needed here, and {what} is a record or a sequence")
        return value

    def number(self, node: ast.expr) -> ir.Value:
        """Return the value of an expression that must be a number."""
        return self.integer(node, self.value(node))

    def named_number(self, node: ast.Name) -> ir.Value:
        """Return the value of a name that must be a number."""
        return self.integer(node, self.named(node, node.id))

    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression."""
        match node:
            case ast.Constant(value=int() as number):
                return I64(int(number))
            case ast.Name(id=name):
                return self.named(node, name)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if isinstance(self.names.get(name), K):
                return self.constant(node, attr)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name not in self.names and name not in self.slots:
                return I64(int(language.resolve(self.source.function, name)[attr]))
            case ast.Subscript(value=of, slice=index) if self.trusted and isinstance(buffer := self.value(of), Buffer):
                raw = self.b.load(self.b.gep(buffer.pointer, [self.number(index)]))
                return raw if buffer.bits == 64 else self.b.zext(raw, I64)
            case ast.Attribute() | ast.Subscript():
                ref = self.reference(node)
                return self.load(ref.packed, ref.pointer) if isinstance(ref.packed.type, Scalar) else ref
            case ast.BinOp(left=left, op=op, right=right):
                return self.arithmetic(node, op, self.number(left), self.number(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.arithmetic(node, ast.Sub(), ZERO, self.number(operand))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.number(operand)
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self.b.not_(self.number(operand))
            case ast.UnaryOp(op=ast.Not()) | ast.Compare():
                return self.b.zext(self.test(node), I64)
            case ast.BoolOp(op=op, values=values):
                return self.either(isinstance(op, ast.And), values)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.choice(self.test(test), body, orelse)
            case ast.Call() if self.takes_value(node):
                ref = self.reference(node)
                return self.load(ref.packed, ref.pointer) if isinstance(ref.packed.type, Scalar) else ref
            case ast.Call():
                results = self.call(node)
                if len(results) != 1:
                    self.refuse(node, f"one value is needed here, and the function returns {len(results)}")
                return results[0]
        self.refuse(node, f"{type(node).__name__} cannot be compiled")

    def named(self, node: ast.AST, name: str) -> Value:
        """Return the value of a local or a global name."""
        if name in self.slots:
            return self.b.load(self.slots[name])
        if name in self.stale:
            self.refuse(node, f"items may have moved since {name} was named; name it after that, or read what you need before")
        if name in self.names:
            return self.names[name]
        if self.trusted and name in self.unit.literals:
            return I64(self.unit.literals[name])
        value = language.resolve(self.source.function, name)
        if not isinstance(value, int):
            self.refuse(node, f"{name} is no number")
        return I64(int(value))

    def constant(self, node: ast.AST, name: str) -> ir.Value:
        """Return a bound or a decision."""
        if name not in self.unit.constants:
            known = ", ".join(self.unit.constants)
            self.refuse(node, f"k.{name} is neither a bound nor a decision of this spec; it has {known}")
        return self.known(name)

    def reference(self, node: ast.expr) -> Ref:
        """Return the reference to a field or an item."""
        match node:
            case ast.Attribute(value=of, attr=attr):
                ref = self.value(of)
                if isinstance(ref, K):
                    self.refuse(node, f"{ast.unparse(node)} is a bound or a decision, which no step changes; write the state")
                if not isinstance(ref, Ref) or ref.packed.fields is None or attr not in ref.packed.fields:
                    fields = ", ".join(ref.packed.fields) if isinstance(ref, Ref) and ref.packed.fields else "no fields"
                    self.refuse(node, f"{ast.unparse(of)} has no field {attr}; it has {fields}")
                offset, packed = ref.packed.fields[attr]
                return Ref(packed, self.at(ref.pointer, offset), ref.moving, ref.still)
            case ast.Subscript(value=of, slice=index):
                ref = self.value(of)
                if not isinstance(ref, Ref) or ref.packed.item is None:
                    self.refuse(node, f"{ast.unparse(of)} has no items")
                if isinstance(ref.packed.type, Collection):
                    self.refuse(
                        node, f"elements of a {ref.packed.type.what} have no index; write `for element in {ast.unparse(of)}`"
                    )
                item = self.checked_item(ref, self.number(index), self.place(node))
                return self.content(item, self.place(node)) if isinstance(ref.packed.type, Map) else item
            case ast.Call(args=[of]) if self.takes_value(node):
                ref = self.value(of)
                if not isinstance(ref, Ref) or not isinstance(ref.packed.type, Maybe):
                    self.refuse(node, f"{ast.unparse(of)} is no option")
                return self.content(ref, self.place(node))
        self.refuse(node, f"{ast.unparse(node)} is no field and no item")

    def takes_value(self, node: ast.expr) -> bool:
        """Whether an expression is a call of value_of()."""
        if self.trusted or not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            return False
        return language.resolve(self.source.function, node.func.id) is domain.value_of

    def there(self, option: Ref) -> ir.Value:
        """Return whether an option has a value, as one bit."""
        return self.b.icmp_signed("<", ZERO, self.length(option))

    def content(self, option: Ref, place: str) -> Ref:
        """Return the value of an option; record a fault if it has none."""
        with self.check(self.there(option), "error", place, "there is no value; ask present(), or `key in ...`, first"):
            pass
        return self.item(option, ZERO)

    def test(self, node: ast.expr) -> ir.Value:
        """Return whether an expression is true, as one bit."""
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self.b.not_(self.test(operand))
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn() as op], comparators=[of]):
                there = self.is_in(node, left, of)
                return there if isinstance(op, ast.In) else self.b.not_(there)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self.comparison(op, self.number(left), self.number(right))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self.chain(self.number(left), list(zip(ops, comparators, strict=True)))
            case ast.BoolOp(op=op, values=values):
                return self.short_circuit(isinstance(op, ast.And), values)
        return self.b.icmp_signed("!=", self.number(node), ZERO)

    def chain(self, left: ir.Value, rest: list[tuple[ast.cmpop, ast.expr]]) -> ir.Value:
        """Return `a < b < c` as one bit: each operand is evaluated at most once, and only if all comparisons before it hold."""
        result = self.slot(I1, I1(0))
        out = self.code.append_basic_block("compared")
        for index, (op, operand) in enumerate(rest):
            right = self.number(operand)
            true = self.comparison(op, left, right)
            if index == len(rest) - 1:
                self.b.store(true, result)
                self.b.branch(out)
            else:
                on = self.code.append_basic_block("compare")
                self.b.cbranch(true, on, out)
                self.b.position_at_end(on)
            left = right
        self.b.position_at_end(out)
        return self.b.load(result)

    def short_circuit(self, every: bool, values: list[ast.expr]) -> ir.Value:
        """Return `a and b` (`every`) or `a or b` as one bit."""
        result = self.slot(I1, I1(0 if every else 1))
        out = self.code.append_basic_block("decided")
        for index, value in enumerate(values):
            true = self.test(value)
            if index == len(values) - 1:
                self.b.store(true, result)
                self.b.branch(out)
            else:
                on = self.code.append_basic_block("undecided")
                self.b.cbranch(true, *((on, out) if every else (out, on)))
                self.b.position_at_end(on)
        self.b.position_at_end(out)
        return self.b.load(result)

    def either(self, every: bool, values: list[ast.expr]) -> ir.Value:
        """Return the value of `a and b` (`every`) or `a or b`: the operand that decides."""
        result = self.slot(I64)
        out = self.code.append_basic_block("decided")
        for index, value in enumerate(values):
            number = self.number(value)
            self.b.store(number, result)
            if index == len(values) - 1:
                self.b.branch(out)
            else:
                on = self.code.append_basic_block("undecided")
                true = self.b.icmp_signed("!=", number, ZERO)
                self.b.cbranch(true, *((on, out) if every else (out, on)))
                self.b.position_at_end(on)
        self.b.position_at_end(out)
        return self.b.load(result)

    def choice(self, test: ir.Value, body: ast.expr, orelse: ast.expr) -> ir.Value:
        """Return the value of `body if test else orelse`."""
        result = self.slot(I64)
        with self.b.if_else(test) as (yes, no):
            with yes:
                self.b.store(self.number(body), result)
            with no:
                self.b.store(self.number(orelse), result)
        return self.b.load(result)
