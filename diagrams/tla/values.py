"""Values of expressions: a term with its sort, and conversions between integers, truth values and sets.

In the language, a set of brokers is a number with bitwise operators, and a truth value is 0 or 1. In TLA+ they are sets and
Booleans. So a bitwise operator with a set operand becomes a set operator, and a number that can be read as a set (`1 << broker`)
carries both forms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, assert_never

from kafka_spec.diagrams.tla.shortened import negated
from kafka_spec.diagrams.tla.sorts import BOOL, INT, OUTSIDE, SET, Simple, Sort, plus_number
from kafka_spec.diagrams.tla.terms import (
    COMPARE,
    EMPTY,
    FALSE,
    IMPLIES,
    PLUS,
    POWER,
    RANGE,
    SETS,
    TIMES,
    TRUE,
    Apply,
    Atom,
    Infix,
    Term,
    number,
)
from kafka_spec.diagrams.tla.text import Text
from kafka_spec.spec.language import tree

Bitwise = Literal["&", "|", "^"]
Step = str | Term
"""A field, or an index in TLA+'s counting."""


@dataclass(frozen=True)
class Place:
    """The place of a value in a parameter of the function: the parameter, and the steps to the value."""

    root: str
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Value:
    """A term and its sort; for an integer also its number, if known, and the set that its bits form, if written as one."""

    term: Term
    sort: Sort
    known: int | None = None
    bits: Term | None = None
    place: Place | None = None
    version: int = field(default=-1, compare=False)
    """For a named place: the version of its root for which `term` is valid."""


class Impossible(Exception):  # noqa: N818 - says what is the matter
    """A value cannot be written as another sort."""


class Values:
    """Conversions and operators."""

    def __init__(self, text: Text) -> None:
        self.text = text

    def apply(self, helper: str, *arguments: Term) -> Term:
        """Apply one of the operators that TLA+ lacks."""
        self.text.helper(helper)
        return Apply(helper, arguments)

    def as_sort(self, value: Value, sort: Sort) -> Value:
        """Return a value converted to a sort, or raise Impossible."""
        if value.sort == sort:
            return value
        if sort == INT:
            return Value(self.integer(value), INT, value.known)
        if sort == BOOL:
            return Value(self.truth(value), BOOL)
        if sort == SET:
            return Value(self.set(value), SET)
        raise Impossible(f"{value.sort} is not {sort}")

    def integer(self, value: Value) -> Term:
        """Return a value as an integer."""
        if value.sort == INT:
            return value.term
        if value.sort == BOOL:
            if value.term in (TRUE, FALSE):
                return number(int(value.term == TRUE))
            return self.apply("Number", value.term)
        if value.sort == SET:
            return number(0) if value.term == EMPTY else self.apply("Bits", value.term)
        raise Impossible("a set that is the complement of another has no number here; take what it leaves of a set (a & ~b)")

    def truth(self, value: Value) -> Term:
        """Return a value as a truth value: whether it is not 0."""
        if value.sort == BOOL:
            return value.term
        if value.known is not None:
            return FALSE if value.known == 0 else TRUE
        if value.sort == SET:
            return Infix("#", value.term, EMPTY, COMPARE)
        return Infix("#", self.integer(value), number(0), COMPARE)

    def set(self, value: Value) -> Term:
        """Return a value as a set."""
        if value.sort == SET:
            return value.term
        if value.bits is not None:
            return value.bits
        if value.known is not None and value.known >= 0:
            return set_of([bit for bit in range(value.known.bit_length()) if value.known >> bit & 1])
        if value.sort == INT:
            return self.apply("SetOfBits", value.term)
        raise Impossible("the complement of a set is not a set of brokers; take what it leaves of a set (a & ~b)")

    def joined(self, one: Sort, other: Sort) -> Sort:
        """Return a common sort of two sorts."""
        if one == other:
            return one
        if {one, other} == {INT, BOOL}:
            return INT
        if SET in (one, other) and {one, other} <= {SET, INT}:
            return SET
        raise Impossible(f"now {one}, now {other}")

    # operators

    def compare(self, sign: tree.OrderSign, left: Value, right: Value) -> Term:
        """Return whether a comparison holds."""
        if sign == "==":
            return self.equal(left, right)
        if sign == "!=":
            return negated(self.equal(left, right))
        return Infix(sign, self.integer(left), self.integer(right), COMPARE)

    def equal(self, left: Value, right: Value) -> Term:
        """Return whether two values are the same number, or have the same contents."""
        if not isinstance(left.sort, Simple):
            if left.sort != right.sort:
                raise Impossible("only records of one class, and sequences of one field, are compared")
            return Infix("=", left.term, right.term, COMPARE)
        for one, other in ((left, right), (right, left)):
            if one.sort == BOOL and other.known is not None:
                return one.term if other.known == 1 else negated(one.term) if other.known == 0 else FALSE
            if one.sort == SET and other.known is not None and other.known < 0:
                return FALSE
        if SET in (left.sort, right.sort):
            return Infix("=", self.set(left), self.set(right), COMPARE)
        if left.sort == right.sort == BOOL:
            return Infix("<=>", left.term, right.term, IMPLIES)
        return Infix("=", self.integer(left), self.integer(right), COMPARE)

    def arithmetic(self, sign: tree.ArithmeticSign, left: Value, right: Value) -> Value:
        """Return the result of an operator."""
        if sign == "&" or sign == "|" or sign == "^":
            return self.bitwise(sign, left, right)
        a, b = self.integer(left), self.integer(right)
        match sign:
            case "+" | "-":
                return self._sum(sign == "+", left, right, a, b)
            case "*":
                return Value(Infix("*", a, b, TIMES), INT)
            case "//":
                return Value(Infix("\\div", a, b, TIMES) if (right.known or 0) > 0 else self.apply("FloorDiv", a, b), INT)
            case "%":
                return Value(Infix("%", a, b, PLUS) if (right.known or 0) > 0 else self.apply("Mod", a, b), INT)
            case "<<" if left.known == 1:
                return Value(power(b), INT, bits=singleton(b))
            case "<<":
                return Value(Infix("*", a, power(b), TIMES), INT)
            case ">>":
                return Value(Infix("\\div", a, power(b), TIMES), INT)
            case _:
                assert_never(sign)

    def _sum(self, plus: bool, left: Value, right: Value, a: Term, b: Term) -> Value:
        if left.known is not None and right.known is not None:
            result = left.known + right.known if plus else left.known - right.known
            return Value(number(result), INT, result)
        if right.known is not None:
            bits = None
            if not plus and right.known == 1 and isinstance(left.term, Infix) and left.term.symbol == "^":
                bits = Infix("..", number(0), plus_number(left.term.right, -1), RANGE)  # (1 << n) - 1: the brokers below n
            return Value(plus_number(a, right.known if plus else -right.known), INT, bits=bits)
        return Value(Infix("+" if plus else "-", a, b, PLUS), INT)

    def bitwise(self, sign: Bitwise, left: Value, right: Value) -> Value:
        """Return the result of & | ^: on sets if one operand is a set, otherwise on numbers."""
        sorts = {left.sort, right.sort}
        if BOOL in sorts and sorts == {BOOL}:
            if sign != "^":
                return Value(Infix("/\\" if sign == "&" else "\\/", left.term, right.term, 3), BOOL)
        if not sorts & {SET, OUTSIDE}:
            name = {"&": "BitAnd", "|": "BitOr", "^": "BitXor"}[sign]
            return Value(self.apply(name, self.integer(left), self.integer(right)), INT)
        if OUTSIDE in sorts:
            return self._with_outside(sign, left, right)
        a, b = self.set(left), self.set(right)
        if sign == "^":
            difference = Infix("\\", Infix("\\cup", a, b, SETS), Infix("\\cap", a, b, SETS), SETS)
            return Value(difference, SET)
        if EMPTY in (a, b):
            return Value(EMPTY if sign == "&" else a if b == EMPTY else b, SET)
        return Value(Infix("\\cap" if sign == "&" else "\\cup", a, b, SETS), SET)

    def _with_outside(self, sign: Bitwise, left: Value, right: Value) -> Value:
        """Return the result of & or | where an operand is the complement of a set; its term is the set left out."""
        if left.sort == right.sort and sign != "^":
            symbol = "\\cup" if sign == "&" else "\\cap"
            return Value(Infix(symbol, left.term, right.term, SETS), OUTSIDE)
        inside, outside = (right, left) if left.sort == OUTSIDE else (left, right)
        if sign == "&":
            return Value(Infix("\\", self.set(inside), outside.term, SETS), SET)
        if sign == "|":
            return Value(Infix("\\", outside.term, self.set(inside), SETS), OUTSIDE)
        raise Impossible("^ with the complement of a set has no form in TLA+ here; write it with & and |")

    def inverted(self, value: Value) -> Value:
        """Return ~value."""
        if value.sort == OUTSIDE:
            return Value(value.term, SET)
        if value.sort == SET or value.bits is not None:
            return Value(self.set(value), OUTSIDE)
        return Value(Infix("-", number(-1), self.integer(value), PLUS), INT)

    def opposite(self, value: Value) -> Value:
        """Return -value."""
        if value.known is not None:
            return Value(number(-value.known), INT, -value.known)
        return Value(Infix("-", number(0), self.integer(value), PLUS), INT)


def power(exponent: Term) -> Term:
    """Return a power of 2."""
    return Infix("^", Atom("2"), exponent, POWER)


def set_of(items: list[int]) -> Term:
    """Return the set of these numbers."""
    return Atom("{" + ", ".join(map(str, items)) + "}")


def singleton(item: Term) -> Term:
    """Return the set of one item."""
    return Atom("{" + item.flat() + "}")
