"""Compiles loops, functions of generators (any, all, sum, min, max, set_of) and `in`.

As in Python, any() and all() evaluate no further item once the answer is known; the others evaluate all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from llvmlite import ir

from kafka_spec.model_check.lowering.arithmetic import arithmetic
from kafka_spec.model_check.lowering.elements import has
from kafka_spec.model_check.lowering.function import FunctionCode
from kafka_spec.model_check.lowering.values import I1, I64, ONE, ZERO, Ref
from kafka_spec.spec.language import tree
from kafka_spec.spec.language.domain import Collection, Map, Scalar
from kafka_spec.spec.language.text import text_of

Jumps = list[tuple[ir.Block, ir.Block]]
Run = Callable[[], None]


def loop(f: FunctionCode, node: tree.For | tree.Loop, body: Run, jumps: Jumps | None = None, code: tree.Block = ()) -> None:
    """Run a body, which is that of `code`, for each item that a loop goes over, under its name."""
    match node.over:
        case tree.Members():
            mask = _members(f, node.over)
            f.after_moves(*code)
            _over_members(f, node.name, mask, body, jumps)
        case tree.Range(start, stop):
            limits = f.number(start), f.number(stop)
            f.after_moves(*code)
            f.loop(*limits, lambda now: _named(f, node.name, now, body), jumps)
        case tree.Items(of):
            _over_items(f, node.name, of, body, jumps)
        case _:
            assert_never(node.over)


def _over_items(f: FunctionCode, name: str, of: tree.Place, body: Run, jumps: Jumps | None) -> None:
    """Run a body for each item of a collection."""
    items = f.value(of)
    if not isinstance(items, Ref) or items.packed.item is None:
        cure = "loop over a sequence, an array, a map, a set of records, or members_of(...)"
        f.refuse(of, f"{text_of(of)} has no items; {cure}")
    numbers = isinstance(items.packed.type, Map) or isinstance(items.packed.item.type, Scalar)
    if name in f.names or (name in f.slots and not numbers):
        f.refuse(of, f"{name} stands for something else before the loop; give the item a name of its own")

    def inside(now: ir.Value) -> None:
        item = f.item(items, now)
        if isinstance(items.packed.type, Map):
            f.only_if(f.there(item), lambda: _named(f, name, now, body))
        elif isinstance(item.packed.type, Scalar):
            _named(f, name, f.load(item.packed, item.pointer), body)
        else:
            f.names[name] = item
            body()

    f.loop(ZERO, f.length(items), inside, jumps)
    f.names.pop(name, None)
    f.stale.discard(name)


def _named(f: FunctionCode, name: str, number: ir.Value, body: Run) -> None:
    """Run code with a number under a name."""
    f.variable(name, number)
    body()


def _members(f: FunctionCode, node: tree.Members) -> ir.Value:
    """Return the set of a members_of(...), 0 if it is none."""
    mask = f.number(node.of)
    good = f.slot(I64)
    f.b.store(ZERO, good)
    inside = f.b.icmp_unsigned("<", mask, I64(1 << 62))
    with f.check(inside, "error", f.place(node), "members_of() of a value that is not a set of members 0 to 61"):
        f.b.store(mask, good)
    return f.b.load(good)


def _over_members(f: FunctionCode, name: str, mask: ir.Value, body: Run, jumps: Jumps | None) -> None:
    """Run code for each member of a set, in ascending order."""
    left = f.slot(I64, mask)
    head, inside, out = (f.code.append_basic_block(name) for name in ("members", "member", "done"))
    f.b.branch(head)
    f.b.position_at_end(head)
    mask = f.b.load(left)
    f.b.cbranch(f.b.icmp_signed("!=", mask, ZERO), inside, out)
    f.b.position_at_end(inside)
    f.b.store(f.b.and_(mask, f.b.sub(mask, ONE)), left)
    if jumps is not None:
        jumps.append((head, out))
    _named(f, name, f.b.cttz(mask, I1(1)), body)
    if jumps is not None:
        jumps.pop()
    if not f.b.block.is_terminated:
        f.b.branch(head)
    f.b.position_at_end(out)


def keys(f: FunctionCode, items: Ref) -> ir.Value:
    """Return how many keys of a map have a value."""
    count = f.slot(I64)
    f.b.store(ZERO, count)

    def inside(now: ir.Value) -> None:
        there = f.b.zext(f.there(f.item(items, now)), I64)
        f.b.store(f.b.add(f.b.load(count), there), count)

    f.loop(ZERO, f.length(items), inside)
    return f.b.load(count)


def _generate(f: FunctionCode, loops: tuple[tree.Loop, ...], each: Run) -> None:
    """Run code for each item that a generator gives."""
    if not loops:
        each()
        return
    first, *others = loops

    def inside() -> None:
        out = f.code.append_basic_block("left_out")
        for test in first.tests:
            on = f.code.append_basic_block("admitted")
            f.b.cbranch(f.test(test), on, out)
            f.b.position_at_end(on)
        _generate(f, tuple(others), each)
        f.b.branch(out)
        f.b.position_at_end(out)

    loop(f, first, inside)


def gathered(f: FunctionCode, node: tree.Gathered) -> ir.Value:
    """Return the result of a function of a generator."""
    if node.how in ("any", "all"):
        return _sought(f, node, node.how == "any")
    result, some = f.slot(I64), f.slot(I1)
    f.b.store(ZERO, result)
    f.b.store(I1(0), some)

    def each() -> None:
        number, before = f.number(node.item), f.b.load(result)
        if node.how == "sum":
            now = arithmetic(f, node, "+", before, number)
        elif node.how == "set_of":
            inside = f.b.icmp_unsigned("<", number, I64(62))
            f.note(inside, node, "set_of() of a value that is not a member 0 to 61")
            now = f.b.or_(before, f.b.shl(ONE, f.b.select(inside, number, ZERO)))
        else:
            closer = f.b.icmp_signed("<" if node.how == "min" else ">", number, before)
            now = f.b.select(f.b.or_(closer, f.b.not_(f.b.load(some))), number, before)
        f.b.store(now, result)
        f.b.store(I1(1), some)

    _generate(f, node.loops, each)
    if node.how in ("min", "max"):
        f.note(f.b.load(some), node, f"{node.how}() of nothing")
    return f.b.load(result)


def _sought(f: FunctionCode, node: tree.Gathered, sign: bool) -> ir.Value:
    """Return whether some item is true (`sign`), or whether all are."""
    result = f.slot(I64)
    f.b.store(I64(int(not sign)), result)
    out = f.code.append_basic_block("answered")

    def each() -> None:
        found, on = f.code.append_basic_block("found"), f.code.append_basic_block("sought")
        f.b.cbranch(f.test(node.item), *((found, on) if sign else (on, found)))
        f.b.position_at_end(found)
        f.b.store(I64(int(sign)), result)
        f.b.branch(out)
        f.b.position_at_end(on)

    _generate(f, node.loops, each)
    f.b.branch(out)
    f.b.position_at_end(out)
    return f.b.load(result)


def contained(f: FunctionCode, node: tree.Contained) -> ir.Value:
    """Return whether a value is in a tuple, a set of members, a sequence of numbers, or a set of records, as one bit."""
    match node.among:
        case tree.Values(parts):
            number, among = f.number(node.one), [f.number(part) for part in parts]
            result: ir.Value = I1(0)
            for other in among:
                result = f.b.or_(result, f.b.icmp_signed("==", number, other))
            return result
        case tree.Members():
            number, mask = f.number(node.one), _members(f, node.among)
            inside = f.b.icmp_unsigned("<", number, I64(62))
            bit = f.b.and_(f.b.lshr(mask, f.b.select(inside, number, ZERO)), ONE)
            return f.b.and_(inside, f.b.icmp_signed("!=", bit, ZERO))
        case tree.Items(of):
            return _in_items(f, node, of)
        case _:
            assert_never(node.among)


def _in_items(f: FunctionCode, node: tree.Contained, of: tree.Place) -> ir.Value:
    """Return whether a value is in a collection, as one bit."""
    items = f.value(of)
    if isinstance(items, Ref) and isinstance(items.packed.type, Map):
        number, length = f.number(node.one), f.length(items)
        inside = f.b.icmp_unsigned("<", number, length)
        return f.b.and_(inside, f.there(f.item(items, f.b.select(inside, number, ZERO))))
    if isinstance(items, Ref) and isinstance(items.packed.type, Collection):
        return has(f, tree.Has(of, tree.Given((node.one,)), line=of.line))
    if not isinstance(items, Ref) or items.packed.item is None or not isinstance(items.packed.item.type, Scalar):
        what = f"`in` is for maps, sets of records and sequences of numbers, and {text_of(of)} is none"
        set_of_members = isinstance(of, tree.Field | tree.Item) and getattr(f.reference(of).packed.type, "many", False)
        f.refuse(node, f"{what}; write {f'contains({text_of(of)}, {text_of(node.one)})' if set_of_members else 'any(...)'}")
    number, found = f.number(node.one), f.slot(I1)
    f.b.store(I1(0), found)

    def compare(now: ir.Value) -> None:
        item = f.item(items, now)
        same = f.b.icmp_signed("==", f.load(item.packed, item.pointer), number)
        f.b.store(f.b.or_(f.b.load(found), same), found)

    f.loop(ZERO, f.length(items), compare)
    return f.b.load(found)
