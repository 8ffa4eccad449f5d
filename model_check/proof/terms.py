"""The values of the language as terms of SMT: whole numbers with what is known of their range, truths, and sets of members.

A set is one truth for each member, and one for all members beyond, so that `~` has the meaning that it has for the numbers of
Python. The constructors fold constants, so that a step leaves the formulas of what it does not touch as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    """A set of members: whether each is in it, and whether all others are."""

    bits: tuple[Formula, ...]
    others: bool = False

    def bit(self, member: int) -> Formula:
        """Return whether a member is in the set."""
        return self.bits[member] if member < len(self.bits) else z3.BoolVal(self.others)


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


def as_number(value: Value) -> Whole:
    """Return a value as the number that it is in the language."""
    match value:
        case Whole():
            return value
        case Truth(term):
            return Whole(chosen(term, z3.IntVal(1), z3.IntVal(0)), 0, 1)
        case MemberTruths(bits, others):
            if others:
                raise Untranslatable("a complement of a set is used as a number")
            parts = [chosen(bit, z3.IntVal(1 << member), z3.IntVal(0)) for member, bit in enumerate(bits)]
            return Whole(z3.simplify(z3.Sum([z3.IntVal(0), *parts])), 0, (1 << len(bits)) - 1)


def as_truth(value: Value) -> Formula:
    """Return whether a value counts as true."""
    match value:
        case Truth(term):
            return term
        case Whole():
            return compared("!=", value, number(0))
        case MemberTruths(bits, others):
            return any_of(z3.BoolVal(others), *bits)


def as_set(value: Value) -> MemberTruths:
    """Return a value as a set of members: the bits of a number."""
    if isinstance(value, MemberTruths):
        return value
    whole = as_number(value)
    if (constant := whole.known) is not None:
        return MemberTruths(tuple(z3.BoolVal(bool(constant >> bit & 1)) for bit in range(constant.bit_length())), constant < 0)
    if whole.low is None or whole.low < 0 or whole.high is None:
        raise Untranslatable("the bits of a number that may be negative or has no limit")
    return MemberTruths(tuple(whole.term / (1 << bit) % 2 == 1 for bit in range(whole.high.bit_length())))


def shifted(sign: str, value: Value, by: int) -> Value:
    """Return a value shifted by a known number of bits."""
    if isinstance(value, MemberTruths):
        bits = (*(FALSE for _ in range(by)), *value.bits) if sign == "<<" else value.bits[by:]
        return MemberTruths(bits, value.others)
    whole, factor = as_number(value), 1 << by
    ends = [None if end is None else end * factor if sign == "<<" else end // factor for end in (whole.low, whole.high)]
    return Whole(z3.simplify(whole.term * factor if sign == "<<" else whole.term / factor), *ends)


def singleton(member: Whole) -> MemberTruths:
    """Return the set of one member."""
    if member.high is None:
        raise Untranslatable("a set of members whose number has no limit")
    return MemberTruths(tuple(compared("==", member, number(bit)) for bit in range(member.high + 1)))


def combined(how: Callable[..., Formula], left: MemberTruths, right: MemberTruths) -> MemberTruths:
    """Return what an operation on truths makes of two sets, member by member."""
    bits = tuple(how(left.bit(member), right.bit(member)) for member in range(max(len(left.bits), len(right.bits))))
    return MemberTruths(bits, is_true(how(z3.BoolVal(left.others), z3.BoolVal(right.others))))


def complement(members: MemberTruths) -> MemberTruths:
    """Return all members that are not in a set."""
    return MemberTruths(tuple(map(negation, members.bits)), not members.others)


def has_member(members: MemberTruths, member: Whole) -> Formula:
    """Return whether a number is in a set; a negative one is not."""
    if member.known is not None:
        return members.bit(member.known) if member.known >= 0 else FALSE
    parts = [all_of(compared("==", member, number(bit)), known) for bit, known in enumerate(members.bits)]
    beyond = compared(">=", member, number(len(members.bits))) if members.others else FALSE
    return any_of(*parts, beyond)


def equal(left: Value, right: Value) -> Formula:
    """Return whether two values are equal."""
    if isinstance(left, MemberTruths) or isinstance(right, MemberTruths):
        if any(not isinstance(one, MemberTruths) and as_number(one).known is None for one in (left, right)):
            return compared("==", as_number(left), as_number(right))
        one, other = as_set(left), as_set(right)
        if one.others != other.others:
            return FALSE
        members = range(max(len(one.bits), len(other.bits)))
        return all_of(*(same_truth(one.bit(member), other.bit(member)) for member in members))
    if isinstance(left, Truth) and isinstance(right, Truth):
        return same_truth(left.term, right.term)
    return compared("==", as_number(left), as_number(right))


def same_truth(left: Formula, right: Formula) -> Formula:
    """Return whether two truths are the same."""
    if same_term(left, right):
        return TRUE
    for one, other in ((left, right), (right, left)):
        if is_true(one):
            return other
        if is_false(one):
            return negation(other)
    return left == right


def exclusive(left: Formula, right: Formula) -> Formula:
    """Return whether exactly one of two truths is true."""
    return negation(same_truth(left, right))


def merged(test: Formula, yes: Value, no: Value) -> Value:
    """Return one of two values."""
    if is_true(test) or yes is no:
        return yes
    if is_false(test):
        return no
    if isinstance(yes, Truth) and isinstance(no, Truth):
        return Truth(chosen(test, yes.term, no.term))
    if isinstance(yes, MemberTruths) or isinstance(no, MemberTruths):
        return _merged_sets(test, as_set(yes), as_set(no))
    one, other = as_number(yes), as_number(no)
    return Whole(chosen(test, one.term, other.term), *span((one, other)))


def _merged_sets(test: Formula, yes: MemberTruths, no: MemberTruths) -> MemberTruths:
    if yes.others != no.others:
        raise Untranslatable("a set or its complement, by a condition")
    members = range(max(len(yes.bits), len(no.bits)))
    return MemberTruths(tuple(chosen(test, yes.bit(member), no.bit(member)) for member in members), yes.others)


def span(parts: Sequence[Whole]) -> tuple[int | None, int | None]:
    """Return the least and the largest that one of some numbers can be."""
    lows, highs = [part.low for part in parts], [part.high for part in parts]
    low = None if None in lows else min(one for one in lows if one is not None)
    return low, None if None in highs else max(one for one in highs if one is not None)
