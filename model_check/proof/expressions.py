"""Translates expressions of the language to terms: one `match` over their nodes, as the interpreter has it.

Each is evaluated under the condition, its *path*, that control reaches it.
"""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias, assert_never

import z3

from kafka_spec.model_check.proof import places
from kafka_spec.model_check.proof.loops import Loops
from kafka_spec.model_check.proof.places import Reference
from kafka_spec.model_check.proof.terms import (
    Formula,
    MemberTruths,
    Truth,
    Untranslatable,
    Value,
    Whole,
    all_of,
    any_of,
    as_number,
    as_set,
    as_truth,
    combined,
    compared,
    complement,
    equal,
    exclusive,
    has_member,
    is_false,
    merged,
    negation,
    number,
    singleton,
    span,
)
from kafka_spec.spec.language import Function, domain, tree
from kafka_spec.spec.vocabulary.table import Constants

Known: TypeAlias = Value | Reference | Constants
"""What a name may stand for."""

_BITWISE: Mapping[str, Callable[..., Formula]] = {"&": all_of, "|": any_of, "^": exclusive}


class SymbolicExpressions(Loops):
    """Evaluates the expressions of one call."""

    outer: Formula

    def absolute(self, path: Formula) -> Formula:
        """Return the condition that control is on a path of this call, that of the caller included."""
        return all_of(self.outer, path)

    def value(self, node: tree.Expression, path: Formula) -> Known:
        """Return the value of an expression."""
        match node:
            case tree.Number(constant) | tree.Constant(_, constant):
                return Truth(z3.BoolVal(constant)) if isinstance(constant, bool) else number(constant)
            case tree.Local(name):
                return self.names[name]  # type: ignore[no-any-return]
            case tree.Field(of, name) if isinstance(self.value(of, path), Constants):
                return self.context.constant(name)
            case tree.Field() | tree.Item():
                return self.place(node, path).each(places.content)
            case tree.Arithmetic(sign, left, right):
                return self.arithmetic(node, sign, self.simple(left, path), self.simple(right, path), path)
            case tree.Signed(sign, of):
                return self.signed(sign, self.simple(of, path))
            case tree.Junction(every, parts):
                return self.junction(every, parts, path)
            case tree.Choice(test, yes, no):
                when = self.truth(test, path)
                return self.merge(when, self.simple(yes, all_of(path, when)), self.simple(no, all_of(path, negation(when))))
            case tree.Not() | tree.Comparison() | tree.Contained():
                return Truth(self.truth(node, path))
            case tree.Call():
                (result,) = self.called(node, path)
                return result
            case tree.Length(of):
                found = self.reference(of, path).each(places.length_of)
                assert not isinstance(found, Reference)
                return found
            case tree.Extreme(largest, parts):
                return self.extreme(largest, [as_number(self.simple(part, path)) for part in parts])
            case tree.Gathered():
                return self.gathered(node, path)
            case tree.Content() | tree.Has() | tree.Count() | tree.Present() | tree.Fire() | tree.Primitive():
                self.refuse(node, f"{type(node).__name__.lower()}()")
            case _:
                assert_never(node)

    def simple(self, node: tree.Expression, path: Formula) -> Value:
        """Return the number, truth or set that an expression is."""
        value = self.value(node, path)
        if isinstance(value, Reference | Constants):
            self.refuse(node, "a record or a sequence as a value")
        return value

    def truth(self, node: tree.Expression, path: Formula) -> Formula:
        """Return whether an expression is true."""
        match node:
            case tree.Not(of):
                return negation(self.truth(of, path))
            case tree.Comparison(left, others):
                found, before = [], self.simple(left, path)
                for sign, other in others:
                    after = self.simple(other, path)
                    found.append(self.comparison(sign, before, after))
                    before = after
                return all_of(*found)
            case tree.Contained(one, among):
                return self.contained(self.simple(one, path), among, path)
        return as_truth(self.simple(node, path))

    def comparison(self, sign: str, left: Value, right: Value) -> Formula:
        """Return the comparison of two values."""
        if sign in ("==", "!="):
            same = equal(left, right)
            return same if sign == "==" else negation(same)
        return compared(sign, as_number(left), as_number(right))

    def contained(self, one: Value, among: tree.Values | tree.Members | tree.Items, path: Formula) -> Formula:
        """Return whether a value is among others."""
        match among:
            case tree.Values(parts):
                return any_of(*(equal(one, self.simple(part, path)) for part in parts))
            case tree.Members(of):
                return has_member(as_set(self.simple(of, path)), as_number(one))
            case tree.Items(of):
                return self.some_item(self.reference(of, path), path, lambda item: equal(one, item))

    def junction(self, every: bool, parts: tuple[tree.Expression, ...], path: Formula) -> Value:
        """Return the operand of `and` or `or` that decides."""
        first, *others = parts
        value = self.simple(first, path)
        if not others:
            return value
        true = as_truth(value)
        goes_on = true if every else negation(true)
        if is_false(goes_on):
            return value
        rest = self.junction(every, tuple(others), all_of(path, goes_on))
        if isinstance(value, Truth) and isinstance(rest, Truth):
            return Truth(all_of(true, rest.term) if every else any_of(true, rest.term))
        return self.merge(goes_on, rest, value)

    def arithmetic(self, node: tree.Node, sign: str, left: Value, right: Value, path: Formula) -> Value:
        """Return the result of an operator."""
        if sign == "<<" and as_number(left).known == 1 and not isinstance(left, MemberTruths):
            shift = as_number(right)
            self.context.need("a shift by 0 or more", compared(">=", shift, number(0)), self.absolute(path))
            return singleton(shift)
        if sign in _BITWISE and (isinstance(left, MemberTruths) or isinstance(right, MemberTruths)):
            return combined(_BITWISE[sign], as_set(left), as_set(right))
        one, other = as_number(left), as_number(right)
        if one.known is not None and other.known is not None and sign not in ("//", "%"):
            return number(_EXACT[sign](one.known, other.known))
        if sign in ("+", "-", "*"):
            return _plain(sign, one, other)
        if sign in ("//", "%") and other.known is not None and other.known > 0:
            result = one.term / other.term if sign == "//" else one.term % other.term
            return Whole(z3.simplify(result), 0 if sign == "%" else None, other.known - 1 if sign == "%" else None)
        self.refuse(node, f"{sign} of these operands")

    def signed(self, sign: str, value: Value) -> Value:
        """Return the result of an operator with one operand."""
        if sign == "~":
            return complement(as_set(value))
        whole = as_number(value)
        return whole if sign == "+" else _plain("-", number(0), whole)

    def extreme(self, largest: bool, parts: list[Whole]) -> Whole:
        """Return the largest or the smallest of some numbers."""
        result, *others = parts
        for other in others:
            closer = compared(">" if largest else "<", other, result)
            best = as_number(self.merge(closer, other, result))
            lows, highs = [one.low for one in (result, other)], [one.high for one in (result, other)]
            known = highs if not largest else lows
            near = [one for one in known if one is not None]
            low, high = span((result, other))
            if not largest:
                high = min(near) if near else None
            else:
                low = max(near) if near else None
            result = Whole(best.term, low, high)
        return result

    def merge(self, test: Formula, yes: Value, no: Value) -> Value:
        """Return one of two values."""
        return merged(test, yes, no)

    # places and calls

    def place(self, node: tree.Field | tree.Item | tree.Expression, path: Formula) -> Reference:
        """Return the places that a field or an item may mean."""
        match node:
            case tree.Field(of, name):
                found = [(when, places.field_of(place, name)) for when, place in self.reference(of, path).places]
                return Reference(tuple(found))
            case tree.Item(of, index):
                at = as_number(self.simple(index, path))
                items: list[tuple[Formula, places.Place]] = []
                for when, place in self.reference(of, path).places:
                    self.need_index(at, places.length_of(place), all_of(path, when))
                    items += [(all_of(when, where), item) for where, item in places.items_at(place, at)]
                if not items:
                    self.refuse(node, "an index that is always out of range")
                return Reference(tuple(items))
        self.refuse(node, f"{type(node).__name__.lower()}()")

    def need_index(self, index: Whole, length: Whole, path: Formula) -> None:
        """Note that an index has to be one of a sequence."""
        if self.context.quiet:
            return
        inside = all_of(compared(">=", index, number(0)), compared("<", index, length))
        self.context.need("an index in range", inside, self.absolute(path))

    def reference(self, node: tree.Expression, path: Formula) -> Reference:
        """Return the places that an expression may mean."""
        value = self.value(node, path)
        if not isinstance(value, Reference):
            self.refuse(node, "a number in place of a record or a sequence")
        return value

    def called(self, node: tree.Call, path: Formula) -> tuple[Value, ...]:
        """Return the results of a call."""
        arguments = [self.value(argument, path) for argument in node.arguments]
        known = self.of_members(node.function, arguments, path)
        return (known,) if known is not None else self.inner(node.function, arguments, path)

    @abstractmethod
    def inner(self, function: Function, arguments: list[Known], path: Formula) -> tuple[Value, ...]:
        """Run a function of the spec."""

    def of_members(self, function: Function, arguments: list[Any], path: Formula) -> Value | None:
        """Return the result of a function of sets of members, or None if it is none."""
        if function is domain.contains:
            member = as_number(arguments[1])
            self.context.need("a member of 0 or more", compared(">=", member, number(0)), self.absolute(path))
            return Truth(has_member(as_set(arguments[0]), member))
        if function in (domain.singleton, domain.including, domain.excluding):
            one = self.arithmetic(self.source.body[0], "<<", number(1), arguments[-1], path)
            if function is domain.singleton:
                return one
            before = as_set(arguments[0])
            return combined(any_of, before, as_set(one)) if function is domain.including else _without(before, as_set(one))
        if function is domain.first_members:
            count = as_number(arguments[0])
            if count.high is None:
                raise Untranslatable("first_members() of a number without a limit")
            return MemberTruths(tuple(compared(">", count, number(bit)) for bit in range(count.high)))
        if function is domain.size:
            bits = [as_number(Truth(bit)).term for bit in as_set(arguments[0]).bits]
            return Whole(z3.simplify(z3.Sum([z3.IntVal(0), *bits])), 0, len(bits))
        return None

    def refuse(self, node: tree.Node, what: str) -> NoReturn:
        """Raise the error of what has no translation, with its place."""
        raise Untranslatable(f"{self.source.place_of(node)}: in {self.source.function.__name__}: {what}")


_EXACT: Mapping[str, Callable[[int, int], int]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_,
    "|": operator.or_, "^": operator.xor,
}  # fmt: skip


def _without(members: MemberTruths, others: MemberTruths) -> MemberTruths:
    return combined(all_of, members, complement(others))


def _plain(sign: str, left: Whole, right: Whole) -> Whole:
    """Return a sum, a difference or a product."""
    term = {"+": left.term + right.term, "-": left.term - right.term, "*": left.term * right.term}[sign]
    ends = (left.low, left.high, right.low, right.high)
    low = high = None
    if None not in ends:
        corners = [_EXACT[sign](one, other) for one in ends[:2] for other in ends[2:]]  # type: ignore[arg-type]
        low, high = min(corners), max(corners)
    elif sign == "+" and left.low is not None and right.low is not None:
        low = left.low + right.low
    return Whole(z3.simplify(term), low, high)
