"""The values of the language as terms of SMT: whole numbers with what is known of their range, truths, and sets of members.

The constructors fold constants, so that a step leaves the formulas of what it does not touch as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import z3

from kafka_spec.spec.language.domain import SpecError

Formula: TypeAlias = z3.BoolRef
TRUE, FALSE = z3.BoolVal(True), z3.BoolVal(False)
_TRUE, _FALSE = TRUE.ast.value, FALSE.ast.value


def is_true(part: Any) -> bool:
    """Whether a formula is the constant; the library keeps each term once, so its address says it, and says it fast."""
    return bool(part.ast.value == _TRUE)


def is_false(part: Any) -> bool:
    """Whether a formula is the constant."""
    return bool(part.ast.value == _FALSE)


def same_term(one: Any, other: Any) -> bool:
    """Whether two terms are one term."""
    return bool(one.ast.value == other.ast.value)


class Untranslatable(SpecError):  # noqa: N818 - says what is the matter
    """Something that has no translation; the message names it."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: proofs do not know this yet; `kafka-spec check` does")


@dataclass(frozen=True)
class Whole:
    """A whole number, and the least and the largest that it can be, or None where nothing is known."""

    term: z3.ArithRef
    low: int | None
    high: int | None

    @property
    def known(self) -> int | None:
        """The number, if it is a constant."""
        if self.low is not None and self.low == self.high:
            return self.low
        return int(self.term.as_long()) if z3.Z3_is_numeral_ast(self.term.ctx_ref(), self.term.as_ast()) else None


@dataclass(frozen=True)
class Truth:
    """A truth, which the language also reads as 1 or 0."""

    term: Formula


@dataclass(frozen=True)
class MemberTruths:
    """A set of members: whether each is in it, and whether all others are, as in the bits of a negative number of Python."""

    bits: tuple[Formula, ...]
    others: Formula = FALSE

    def bit(self, member: int) -> Formula:
        """Return whether a member is in the set."""
        return self.bits[member] if member < len(self.bits) else self.others


Value: TypeAlias = Whole | Truth | MemberTruths


def number(value: int) -> Whole:
    """Return a constant."""
    return Whole(z3.IntVal(int(value)), int(value), int(value))


def all_of(*parts: Formula) -> Formula:
    """Return the conjunction of some formulas."""
    left: dict[int, Formula] = {}
    for part in parts:
        if is_false(part):
            return FALSE
        if not is_true(part):
            left.setdefault(part.ast.value, part)
    found = list(left.values())
    return TRUE if not found else found[0] if len(found) == 1 else z3.And(found)


def any_of(*parts: Formula) -> Formula:
    """Return the disjunction of some formulas."""
    left: dict[int, Formula] = {}
    for part in parts:
        if is_true(part):
            return TRUE
        if not is_false(part):
            left.setdefault(part.ast.value, part)
    found = list(left.values())
    if len(found) == 2 and same_term(found[0], negation(found[1])):
        return TRUE
    return FALSE if not found else found[0] if len(found) == 1 else z3.Or(found)


def negation(part: Formula) -> Formula:
    """Return the negation of a formula."""
    if is_true(part) or is_false(part):
        return FALSE if is_true(part) else TRUE
    return part.arg(0) if z3.is_not(part) else z3.Not(part)


def implied(when: Formula, then: Formula) -> Formula:
    """Return an implication."""
    if is_true(when) or is_true(then):
        return then
    return TRUE if is_false(when) else z3.Implies(when, then)


def chosen(test: Formula, yes: Any, no: Any) -> Any:
    """Return one of two terms of one sort."""
    if is_true(test) or same_term(yes, no):
        return yes
    if is_false(test):
        return no
    if z3.is_bool(yes) and (is_true(yes) or is_false(yes) or is_true(no) or is_false(no)):
        return any_of(all_of(test, yes), all_of(negation(test), no))
    return z3.If(test, yes, no)


def folded(term: z3.ArithRef) -> z3.ArithRef:
    """Return a term, as a number if its parts are; to simplify more takes as long as the term is large."""
    return z3.simplify(term) if all(map(z3.is_int_value, term.children())) else term


def compared(sign: str, left: Whole, right: Whole) -> Formula:
    """Return the comparison of two numbers."""
    if sign in (">", ">="):
        return compared("<" if sign == ">" else "<=", right, left)
    if sign in ("!=", "<="):
        return negation(compared("==", left, right) if sign == "!=" else compared("<", right, left))
    if sign == "==":
        if left.known is not None and right.known is not None:
            return z3.BoolVal(left.known == right.known)
        if same_term(left.term, right.term):
            return TRUE
        if _below(left, right) or _below(right, left):
            return FALSE
        first, other = sorted((left.term, right.term), key=lambda term: bool(z3.is_int_value(term)))
        return first == other
    if _below(left, right):
        return TRUE
    if same_term(left.term, right.term) or (left.low is not None and right.high is not None and left.low >= right.high):
        return FALSE
    return left.term < right.term


def _below(left: Whole, right: Whole) -> bool:
    return left.high is not None and right.low is not None and left.high < right.low
