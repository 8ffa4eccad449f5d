"""Operations on values: numbers, truths and sets of members, each also read as the others, as Python reads them."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence

import z3

from kafka_spec.model_check.proof.terms import (
    FALSE,
    TRUE,
    Formula,
    MemberTruths,
    Truth,
    Untranslatable,
    Value,
    Whole,
    all_of,
    any_of,
    chosen,
    compared,
    folded,
    is_false,
    is_true,
    negation,
    number,
    same_term,
)


def as_number(value: Value) -> Whole:
    """Return a value as the number that it is in the language; a set is the number with these bits."""
    match value:
        case Whole():
            return value
        case Truth(term):
            return Whole(chosen(term, z3.IntVal(1), z3.IntVal(0)), 0, 1)
        case MemberTruths(bits, others):
            parts = [chosen(bit, z3.IntVal(1 << member), z3.IntVal(0)) for member, bit in enumerate(bits)]
            beyond = chosen(others, z3.IntVal(-1 << len(bits)), z3.IntVal(0))
            low = 0 if is_false(others) else -1 << len(bits)
            high = -1 if is_true(others) else (1 << len(bits)) - 1
            if all(map(z3.is_int_value, (beyond, *parts))):
                return number(sum(part.as_long() for part in (beyond, *parts)))
            return Whole(z3.Sum([beyond, *parts]), low, high)


def as_truth(value: Value) -> Formula:
    """Return whether a value counts as true."""
    match value:
        case Truth(term):
            return term
        case Whole():
            return compared("!=", value, number(0))
        case MemberTruths(bits, others):
            return any_of(others, *bits)


def as_set(value: Value) -> MemberTruths:
    """Return a value as a set of members: the bits of a number."""
    if isinstance(value, MemberTruths):
        return value
    whole = as_number(value)
    if (constant := whole.known) is not None:
        bits = (z3.BoolVal(bool(constant >> bit & 1)) for bit in range(constant.bit_length()))
        return MemberTruths(tuple(bits), z3.BoolVal(constant < 0))
    if whole.low is None or whole.high is None:
        raise Untranslatable("the bits of a number without a limit")
    width = max(whole.low.bit_length(), whole.high.bit_length())
    bits = (whole.term / (1 << bit) % 2 == 1 for bit in range(width))
    return MemberTruths(tuple(bits), compared("<", whole, number(0)))


# ---------------------------------------------------------------------------------------------------------------------
# Sets


def singleton(member: Whole) -> MemberTruths:
    """Return the set of one member."""
    if member.high is None:
        raise Untranslatable("a set of members whose number has no limit")
    return MemberTruths(tuple(compared("==", member, number(bit)) for bit in range(member.high + 1)))


def combined(how: Callable[..., Formula], left: MemberTruths, right: MemberTruths) -> MemberTruths:
    """Return what an operation on truths makes of two sets, member by member."""
    bits = tuple(how(left.bit(member), right.bit(member)) for member in range(max(len(left.bits), len(right.bits))))
    return MemberTruths(bits, how(left.others, right.others))


def complement(members: MemberTruths) -> MemberTruths:
    """Return all members that are not in a set."""
    return MemberTruths(tuple(map(negation, members.bits)), negation(members.others))


def has_member(members: MemberTruths, member: Whole) -> Formula:
    """Return whether a number is in a set; a negative one is not."""
    if member.known is not None:
        return members.bit(member.known) if member.known >= 0 else FALSE
    parts = [all_of(compared("==", member, number(bit)), known) for bit, known in enumerate(members.bits)]
    return any_of(*parts, all_of(members.others, compared(">=", member, number(len(members.bits)))))


def shifted(sign: str, value: Value, by: Whole) -> Value:
    """Return a value shifted by a number of bits; where that is negative, which is an error, the result has no meaning."""
    if by.high is None:
        raise Untranslatable("a shift by a number without a limit")
    most = max(0, by.high)
    result = _shifted(sign, value, most)
    for count in reversed(range(max(0, by.low or 0), most)):
        result = merged(compared("==", by, number(count)), _shifted(sign, value, count), result)
    return result


def _shifted(sign: str, value: Value, by: int) -> Value:
    if isinstance(value, MemberTruths):
        bits = (*(FALSE for _ in range(by)), *value.bits) if sign == "<<" else value.bits[by:]
        return MemberTruths(bits, value.others)
    whole, factor = as_number(value), 1 << by
    ends = [None if end is None else end * factor if sign == "<<" else end // factor for end in (whole.low, whole.high)]
    return Whole(folded(whole.term * factor if sign == "<<" else whole.term / factor), *ends)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers

_EXACT: Mapping[str, Callable[[int, int], int]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def calculated(sign: str, left: Whole, right: Whole) -> Whole:
    """Return a sum, a difference or a product."""
    if left.known is not None and right.known is not None:
        return number(_EXACT[sign](left.known, right.known))
    if right.known == 0 and sign != "*":
        return left
    term = _EXACT[sign](left.term, right.term)  # not simplified: that takes as long as the term is large
    ends = (left.low, left.high, right.low, right.high)
    low = high = None
    if None not in ends:
        corners = [_EXACT[sign](one, other) for one in ends[:2] for other in ends[2:]]  # type: ignore[arg-type]
        low, high = min(corners), max(corners)
    elif sign == "+" and left.low is not None and right.low is not None:
        low = left.low + right.low
    return Whole(term, low, high)


def divided(sign: str, left: Whole, right: Whole) -> Whole:
    """Return a quotient or a remainder, as Python rounds: the remainder has the sign of the divisor, which is not 0."""
    quotient, remainder = left.term / right.term, left.term % right.term  # of SMT: the remainder is not negative
    if right.low is None or right.low <= 0:
        rounded = z3.And(right.term < 0, remainder != 0)
        quotient, remainder = quotient - z3.If(rounded, 1, 0), remainder + z3.If(rounded, right.term, 0)
        quotient, remainder = (z3.If(right.term == 0, 0, one) for one in (quotient, remainder))
    if sign == "%":
        far = None if right.high is None else max(0, right.high - 1)
        return Whole(folded(remainder), None if right.low is None else min(0, right.low + 1), far)
    ends = [left.low, left.high]
    largest = None if None in ends else max(abs(end) for end in ends if end is not None)
    return Whole(folded(quotient), None if largest is None else -largest, largest)


def extreme(largest: bool, parts: Sequence[tuple[Formula, Whole]]) -> Whole:
    """Return the largest or the smallest of the numbers that are there, of which one is."""
    if not parts:
        return number(0)
    (some, result), *others = parts
    for takes, other in others:
        closer = all_of(takes, any_of(negation(some), compared(">" if largest else "<", other, result)))
        low, high = span((result, other))
        if is_true(some) and is_true(takes):
            ends = [end for one in (result, other) if (end := one.low if largest else one.high) is not None]
            low, high = (max(ends, default=None), high) if largest else (low, min(ends, default=None))
        result = Whole(as_number(merged(closer, other, result)).term, low, high)
        some = any_of(some, takes)
    return result


# ---------------------------------------------------------------------------------------------------------------------
# All values


def equal(left: Value, right: Value) -> Formula:
    """Return whether two values are equal."""
    if isinstance(left, MemberTruths) or isinstance(right, MemberTruths):
        if any(not isinstance(one, MemberTruths) and as_number(one).known is None for one in (left, right)):
            return compared("==", as_number(left), as_number(right))
        one, other = as_set(left), as_set(right)
        members = range(max(len(one.bits), len(other.bits)))
        same = (same_truth(one.bit(member), other.bit(member)) for member in members)
        return all_of(same_truth(one.others, other.others), *same)
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
    members = range(max(len(yes.bits), len(no.bits)))
    bits = (chosen(test, yes.bit(member), no.bit(member)) for member in members)
    return MemberTruths(tuple(bits), chosen(test, yes.others, no.others))


def span(parts: Sequence[Whole]) -> tuple[int | None, int | None]:
    """Return the least and the largest that one of some numbers can be."""
    lows, highs = [part.low for part in parts], [part.high for part in parts]
    low = None if None in lows else min(one for one in lows if one is not None)
    return low, None if None in highs else max(one for one in highs if one is not None)
