"""Compiles functions of generators (any, all, sum, min, max, set_of) and `in`.

As in Python, any() and all() evaluate no further item once the answer is known; the others evaluate all.
"""

from __future__ import annotations

import abc
import ast
from collections.abc import Callable, Sequence

from llvmlite import ir

from kafka_spec.model_check.lowering.options import OptionCalls
from kafka_spec.model_check.lowering.values import I1, I64, ONE, ZERO, Ref
from kafka_spec.spec import language
from kafka_spec.spec.language import domain
from kafka_spec.spec.language.domain import Collection, Map, Scalar


class Generators(OptionCalls, abc.ABC):
    """Compiles generators; the loops of a generator run like `for` loops."""

    @abc.abstractmethod
    def after_moves(self, code: Sequence[ast.AST]) -> None:
        """Forget names of items if the code may move items."""

    def over(
        self,
        target: str,
        of: ast.expr,
        body: Callable[[], None],
        jumps: list[tuple[ir.Block, ir.Block]] | None = None,
        code: Sequence[ast.AST] = (),
    ) -> None:
        """Run a body, whose source is `code`, for each item of a range, a set of members, or a collection, under a name."""
        if isinstance(of, ast.Call) and isinstance(of.func, ast.Name):
            if language.resolve(self.source.function, of.func.id) is domain.members_of:
                mask = self.members(of)
                self.after_moves(code)
                self.over_members(target, mask, body, jumps)
                return
            limits = [self.number(bound) for bound in of.args]
            start, stop = (ZERO, limits[0]) if len(limits) == 1 else limits
            self.after_moves(code)
            self.loop(start, stop, lambda now: self.named_item(target, now, body), jumps)
            return
        items = self.value(of)
        if not isinstance(items, Ref) or items.packed.item is None:
            self.refuse(
                of, f"{ast.unparse(of)} has no items; loop over a sequence, an array, a map, a set of records, or members_of(...)"
            )
        numbers = isinstance(items.packed.type, Map) or isinstance(items.packed.item.type, Scalar)
        if target in self.names or (target in self.slots and not numbers):
            self.refuse(of, f"{target} stands for something else before the loop; give the item a name of its own")

        def inside(now: ir.Value) -> None:
            item = self.item(items, now)
            if isinstance(items.packed.type, Map):
                self.only_if(self.there(item), lambda: self.named_item(target, now, body))
            elif isinstance(item.packed.type, Scalar):
                self.named_item(target, self.load(item.packed, item.pointer), body)
            else:
                self.names[target] = item
                body()

        self.loop(ZERO, self.length(items), inside, jumps)
        self.names.pop(target, None)
        self.stale.discard(target)

    def named_item(self, target: str, number: ir.Value, body: Callable[[], None]) -> None:
        """Run code with a number under a name."""
        if target not in self.slots:
            self.slots[target] = self.slot(I64)
        self.b.store(number, self.slots[target])
        body()

    def members(self, of: ast.Call) -> ir.Value:
        """Return the set of a members_of(...), 0 if it is none."""
        mask = self.number(of.args[0])
        good = self.slot(I64)
        self.b.store(ZERO, good)
        inside = self.b.icmp_unsigned("<", mask, I64(1 << 62))
        with self.check(inside, "error", self.place(of), "members_of() of what is no set of members 0 to 61"):
            self.b.store(mask, good)
        return self.b.load(good)

    def over_members(
        self, target: str, mask: ir.Value, body: Callable[[], None], jumps: list[tuple[ir.Block, ir.Block]] | None
    ) -> None:
        """Run code for each member of a set, in ascending order."""
        left = self.slot(I64, mask)
        head, inside, out = (self.code.append_basic_block(name) for name in ("members", "member", "done"))
        self.b.branch(head)
        self.b.position_at_end(head)
        mask = self.b.load(left)
        self.b.cbranch(self.b.icmp_signed("!=", mask, ZERO), inside, out)
        self.b.position_at_end(inside)
        self.b.store(self.b.and_(mask, self.b.sub(mask, ONE)), left)
        if jumps is not None:
            jumps.append((head, out))
        self.named_item(target, self.b.cttz(mask, I1(1)), body)
        if jumps is not None:
            jumps.pop()
        if not self.b.block.is_terminated:
            self.b.branch(head)
        self.b.position_at_end(out)

    def only_if(self, test: ir.Value, body: Callable[[], None]) -> None:
        """Run code if a test holds; the code may jump."""
        there, on = self.code.append_basic_block("there"), self.code.append_basic_block("absent")
        self.b.cbranch(test, there, on)
        self.b.position_at_end(there)
        body()
        if not self.b.block.is_terminated:
            self.b.branch(on)
        self.b.position_at_end(on)

    def keys(self, items: Ref) -> ir.Value:
        """Return how many keys of a map have a value."""
        count = self.slot(I64)
        self.b.store(ZERO, count)

        def inside(now: ir.Value) -> None:
            there = self.b.zext(self.there(self.item(items, now)), I64)
            self.b.store(self.b.add(self.b.load(count), there), count)

        self.loop(ZERO, self.length(items), inside)
        return self.b.load(count)

    def generate(self, node: ast.GeneratorExp, each: Callable[[], None], depth: int = 0) -> None:
        """Run code for each item that a generator gives; the item is `node.elt`."""
        if depth == len(node.generators):
            each()
            return
        clause = node.generators[depth]
        assert isinstance(clause.target, ast.Name)

        def inside() -> None:
            out = self.code.append_basic_block("left_out")
            for test in clause.ifs:
                on = self.code.append_basic_block("admitted")
                self.b.cbranch(self.test(test), on, out)
                self.b.position_at_end(on)
            self.generate(node, each, depth + 1)
            self.b.branch(out)
            self.b.position_at_end(out)

        self.over(clause.target.id, clause.iter, inside)

    def of_generator(self, call: ast.Call, name: str) -> ir.Value:
        """Return the result of a function of a generator."""
        node = call.args[0]
        assert isinstance(node, ast.GeneratorExp)
        if name in ("any", "all"):
            return self.sought(node, name == "any")
        result, some = self.slot(I64), self.slot(I1)
        self.b.store(ZERO, result)
        self.b.store(I1(0), some)

        def each() -> None:
            number, before = self.number(node.elt), self.b.load(result)
            if name == "sum":
                now = self.arithmetic(node, ast.Add(), before, number)
            elif name == "set_of":
                inside = self.b.icmp_unsigned("<", number, I64(62))
                self.note(inside, node, "set_of() of what is no member 0 to 61")
                now = self.b.or_(before, self.b.shl(ONE, self.b.select(inside, number, ZERO)))
            else:
                closer = self.b.icmp_signed("<" if name == "min" else ">", number, before)
                now = self.b.select(self.b.or_(closer, self.b.not_(self.b.load(some))), number, before)
            self.b.store(now, result)
            self.b.store(I1(1), some)

        self.generate(node, each)
        if name in ("min", "max"):
            self.note(self.b.load(some), call, f"{name}() of nothing")
        return self.b.load(result)

    def sought(self, node: ast.GeneratorExp, sign: bool) -> ir.Value:
        """Return whether some item is true (`sign`), or whether all are."""
        result = self.slot(I64)
        self.b.store(I64(int(not sign)), result)
        out = self.code.append_basic_block("answered")

        def each() -> None:
            found, on = self.code.append_basic_block("found"), self.code.append_basic_block("sought")
            self.b.cbranch(self.test(node.elt), *((found, on) if sign else (on, found)))
            self.b.position_at_end(found)
            self.b.store(I64(int(sign)), result)
            self.b.branch(out)
            self.b.position_at_end(on)

        self.generate(node, each)
        self.b.branch(out)
        self.b.position_at_end(out)
        return self.b.load(result)

    def is_in(self, node: ast.AST, left: ast.expr, of: ast.expr) -> ir.Value:
        """Return whether a value is in a tuple, a set of members, a sequence of numbers, or a set of records, as one bit."""
        if isinstance(of, ast.Tuple):
            number, among = self.number(left), [self.number(part) for part in of.elts]
            result: ir.Value = I1(0)
            for other in among:
                result = self.b.or_(result, self.b.icmp_signed("==", number, other))
            return result
        if isinstance(of, ast.Call):
            number, mask = self.number(left), self.members(of)
            inside = self.b.icmp_unsigned("<", number, I64(62))
            bit = self.b.and_(self.b.lshr(mask, self.b.select(inside, number, ZERO)), ONE)
            return self.b.and_(inside, self.b.icmp_signed("!=", bit, ZERO))
        items = self.value(of)
        if isinstance(items, Ref) and isinstance(items.packed.type, Map):
            number, length = self.number(left), self.length(items)
            inside = self.b.icmp_unsigned("<", number, length)
            return self.b.and_(inside, self.there(self.item(items, self.b.select(inside, number, ZERO))))
        if isinstance(items, Ref) and isinstance(items.packed.type, Collection):
            copies = self.found(ast.copy_location(ast.Call(ast.Name("has", ast.Load()), [of, left], []), of)).copies
            return self.b.icmp_signed("<", ZERO, copies)
        if not isinstance(items, Ref) or items.packed.item is None or not isinstance(items.packed.item.type, Scalar):
            self.refuse(
                node, f"`in` is for maps, sets of records and sequences of numbers, and {ast.unparse(of)} is none; write any(...)"
            )
        number, found = self.number(left), self.slot(I1)
        self.b.store(I1(0), found)

        def compare(now: ir.Value) -> None:
            item = self.item(items, now)
            same = self.b.icmp_signed("==", self.load(item.packed, item.pointer), number)
            self.b.store(self.b.or_(self.b.load(found), same), found)

        self.loop(ZERO, self.length(items), compare)
        return self.b.load(found)
