"""Compiles integer arithmetic to checked machine code: a result beyond 64 bits is a fault and never wraps.

Depends on operators and their places in the source, not on the origin of their operands.
"""

from __future__ import annotations

import ast
from typing import NoReturn

from llvmlite import ir

from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import I64, ONE, ZERO, Compiled
from kafka_spec.spec import language
from kafka_spec.spec.vocabulary.table import SpecError


class Arithmetic(Emitter):
    """Compiles the operators of one function; in `trusted` functions arithmetic wraps and is not checked."""

    def __init__(self, unit: Unit, source: language.Source, compiled: Compiled, trusted: bool) -> None:
        super().__init__(unit, compiled.code, compiled.code.args[-1])
        self.source = source
        self.compiled = compiled
        self.trusted = trusted

    def place(self, node: ast.AST) -> str:
        """Return the file and line of a node."""
        file, _, line = self.source.place.rpartition(":")
        return f"{file}:{getattr(node, 'lineno', line)}" if file else self.source.place

    def refuse(self, node: ast.AST, message: str) -> NoReturn:
        """Raise the error for a construct that the compiler does not support, with its place."""
        raise SpecError(f"{self.place(node)}: in {self.source.function.__name__}: {message}")

    def arithmetic(self, node: ast.AST, op: ast.operator, left: ir.Value, right: ir.Value) -> ir.Value:
        """Return the result of an operator; on an error record a fault, and return an arbitrary number."""
        b = self.b
        if isinstance(op, ast.FloorDiv | ast.Mod):
            return self.division(node, isinstance(op, ast.Mod), left, right)
        if isinstance(op, ast.LShift | ast.RShift):
            return self.shift(node, isinstance(op, ast.LShift), left, right)
        plain = {ast.Add: b.add, ast.Sub: b.sub, ast.Mult: b.mul, ast.BitAnd: b.and_, ast.BitOr: b.or_, ast.BitXor: b.xor}
        if self.trusted or isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return plain[type(op)](left, right)
        safe = {ast.Add: b.sadd_with_overflow, ast.Sub: b.ssub_with_overflow, ast.Mult: b.smul_with_overflow}
        both = safe[type(op)](left, right)
        self.note(b.not_(b.extract_value(both, 1)), node, "a number leaves 64 bits")
        return b.extract_value(both, 0)

    def note(self, ok: ir.Value, node: ast.AST, message: str) -> None:
        """Record a fault if the check fails, and continue."""
        with self.check(ok, "error", self.place(node), message):
            pass

    def shift(self, node: ast.AST, left_shift: bool, value: ir.Value, by: ir.Value) -> ir.Value:
        """Return a value shifted by 0 to 62 bits; other shifts are faults."""
        if self.trusted:
            return self.b.shl(value, by) if left_shift else self.b.lshr(value, by)
        self.note(self.b.icmp_unsigned("<", by, I64(63)), node, "a shift by less than 0 or more than 62")
        by = self.b.and_(by, I64(63))
        if not left_shift:
            return self.b.ashr(value, by)
        shifted = self.b.shl(value, by)
        self.note(self.b.icmp_signed("==", self.b.ashr(shifted, by), value), node, "a number leaves 64 bits")
        return shifted

    def division(self, node: ast.AST, remainder: bool, left: ir.Value, right: ir.Value) -> ir.Value:
        """Return a quotient or a remainder, rounded down as in Python."""
        if self.trusted:
            return self.b.urem(left, right) if remainder else self.b.udiv(left, right)
        zero = self.b.icmp_signed("==", right, ZERO)
        self.note(self.b.not_(zero), node, "a division by zero")
        too_large = self.b.and_(self.b.icmp_signed("==", left, I64(-1 << 63)), self.b.icmp_signed("==", right, I64(-1)))
        self.note(self.b.not_(too_large), node, "a number leaves 64 bits")
        right = self.b.select(self.b.or_(zero, too_large), ONE, right)
        quotient, rest = self.b.sdiv(left, right), self.b.srem(left, right)
        uneven = self.b.icmp_signed("!=", rest, ZERO)
        apart = self.b.icmp_signed("<", self.b.xor(rest, right), ZERO)
        floor = self.b.and_(uneven, apart)
        if remainder:
            return self.b.select(floor, self.b.add(rest, right), rest)
        return self.b.select(floor, self.b.sub(quotient, ONE), quotient)

    def comparison(self, op: ast.cmpop, left: ir.Value, right: ir.Value) -> ir.Value:
        """Return whether a comparison holds."""
        symbols = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
        return self.b.icmp_signed(symbols[type(op)], left, right)
