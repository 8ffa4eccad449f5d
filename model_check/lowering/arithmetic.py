"""Compiles integer arithmetic to checked machine code: a result beyond 64 bits is a fault and never wraps.

In `trusted` functions arithmetic wraps and is not checked.
"""

from __future__ import annotations

from typing import assert_never

from llvmlite import ir

from kafka_spec.model_check.lowering.function import FunctionCode
from kafka_spec.model_check.lowering.values import I64, ONE, ZERO
from kafka_spec.spec.language import tree


def arithmetic(f: FunctionCode, node: tree.Node, sign: tree.ArithmeticSign, left: ir.Value, right: ir.Value) -> ir.Value:
    """Return the result of an operator; on an error record a fault, and return an arbitrary number."""
    b = f.b
    match sign:
        case "//" | "%":
            return _division(f, node, sign == "%", left, right)
        case "<<" | ">>":
            return _shift(f, node, sign == "<<", left, right)
        case "&":
            return b.and_(left, right)
        case "|":
            return b.or_(left, right)
        case "^":
            return b.xor(left, right)
        case "+":
            plain, safe = b.add, b.sadd_with_overflow
        case "-":
            plain, safe = b.sub, b.ssub_with_overflow
        case "*":
            plain, safe = b.mul, b.smul_with_overflow
        case _:
            assert_never(sign)
    if f.trusted:
        return plain(left, right)
    both = safe(left, right)
    f.note(b.not_(b.extract_value(both, 1)), node, "a number leaves 64 bits")
    return b.extract_value(both, 0)


def _shift(f: FunctionCode, node: tree.Node, left_shift: bool, value: ir.Value, by: ir.Value) -> ir.Value:
    """Return a value shifted by 0 to 62 bits; other shifts are faults."""
    if f.trusted:
        return f.b.shl(value, by) if left_shift else f.b.lshr(value, by)
    f.note(f.b.icmp_unsigned("<", by, I64(63)), node, "a shift by less than 0 or more than 62")
    by = f.b.and_(by, I64(63))
    if not left_shift:
        return f.b.ashr(value, by)
    shifted = f.b.shl(value, by)
    f.note(f.b.icmp_signed("==", f.b.ashr(shifted, by), value), node, "a number leaves 64 bits")
    return shifted


def _division(f: FunctionCode, node: tree.Node, remainder: bool, left: ir.Value, right: ir.Value) -> ir.Value:
    """Return a quotient or a remainder, rounded down as in Python."""
    if f.trusted:
        return f.b.urem(left, right) if remainder else f.b.udiv(left, right)
    zero = f.b.icmp_signed("==", right, ZERO)
    f.note(f.b.not_(zero), node, "a division by zero")
    too_large = f.b.and_(f.b.icmp_signed("==", left, I64(-1 << 63)), f.b.icmp_signed("==", right, I64(-1)))
    f.note(f.b.not_(too_large), node, "a number leaves 64 bits")
    right = f.b.select(f.b.or_(zero, too_large), ONE, right)
    quotient, rest = f.b.sdiv(left, right), f.b.srem(left, right)
    uneven = f.b.icmp_signed("!=", rest, ZERO)
    apart = f.b.icmp_signed("<", f.b.xor(rest, right), ZERO)
    floor = f.b.and_(uneven, apart)
    if remainder:
        return f.b.select(floor, f.b.add(rest, right), rest)
    return f.b.select(floor, f.b.sub(quotient, ONE), quotient)
