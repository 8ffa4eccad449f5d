"""Translates expressions of the language to terms: one `match` over their nodes, as the interpreter has it.

Each is evaluated under the condition, its *path*, that control reaches it.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias, assert_never

import z3

from kafka_spec.model_check.proof import places, writers
from kafka_spec.model_check.proof.lookup import looked_up
from kafka_spec.model_check.proof.loops import Loops
from kafka_spec.model_check.proof.order import same
from kafka_spec.model_check.proof.places import Reference
from kafka_spec.model_check.proof.terms import (
    TRUE,
    Formula,
    MemberTruths,
    Truth,
    Untranslatable,
    Value,
    Whole,
    all_of,
    any_of,
    compared,
    folded,
    is_false,
    negation,
    number,
)
from kafka_spec.model_check.proof.values import (
    as_number,
    as_set,
    as_truth,
    calculated,
    combined,
    complement,
    divided,
    equal,
    exclusive,
    extreme,
    has_member,
    merged,
    shifted,
    singleton,
)
from kafka_spec.spec.language import Function, domain, tree
from kafka_spec.spec.language.domain import Map
from kafka_spec.spec.vocabulary.table import Constants

Known: TypeAlias = Value | Reference | Constants
"""What a name may stand for."""

_BITWISE: Mapping[str, Callable[..., Formula]] = {"&": all_of, "|": any_of, "^": exclusive}


class SymbolicExpressions(Loops):
    """Evaluates the expressions of one call."""

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
            case tree.Field() | tree.Item() | tree.Content():
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
            case tree.Not() | tree.Comparison() | tree.Contained() | tree.Present() | tree.Fire():
                return Truth(self.truth(node, path))
            case tree.Call():
                (result,) = self.called(node, path)
                return result
            case tree.Length(of):
                return self.reference(of, path).length
            case tree.Has(elements, given) | tree.Count(elements, given):
                return self.of_elements(isinstance(node, tree.Has), self.reference(elements, path), self.given(given, path))
            case tree.Extreme(largest, parts):
                return extreme(largest, [(TRUE, as_number(self.simple(part, path))) for part in parts])
            case tree.Gathered():
                return self.gathered(node, path)
            case tree.Lookup():
                return self.of_constant(node, path)
            case tree.Primitive():
                self.refuse(node, "a function of the engines")
            case _:
                assert_never(node)

    def simple(self, node: tree.Expression, path: Formula) -> Value:
        """Return the number, truth or set that an expression is."""
        return self.number_or_set(node, self.value(node, path))

    def number_or_set(self, node: tree.Expression, value: Any) -> Value:
        """Return the value of an expression, which is none that has parts."""
        if isinstance(value, Reference | Constants):
            self.refuse(node, "a record or a sequence as a value")
        return value  # type: ignore[no-any-return]

    def truth(self, node: tree.Expression, path: Formula) -> Formula:
        """Return whether an expression is true."""
        match node:
            case tree.Not(of):
                return negation(self.truth(of, path))
            case tree.Comparison(left, others):
                before = self.value(left, path)
                if isinstance(before, Reference) and len(others) == 1 and others[0][0] in ("==", "!="):
                    return self.contents(others[0][0], before, self.reference(others[0][1], path))
                found, before = [], self.number_or_set(left, before)
                for sign, other in others:
                    after = self.simple(other, path)
                    found.append(self.comparison(sign, before, after))
                    before = after
                return all_of(*found)
            case tree.Contained(one, among):
                return self.contained(self.value(one, path), among, path)
            case tree.Present(option):
                return self.of_places(option, path, places.is_present)
            case tree.Fire():
                return self.fired(node, path)
        return as_truth(self.simple(node, path))

    def contents(self, sign: str, left: Reference, right: Reference) -> Formula:
        """Return whether two records, or two sequences, have the same contents, or have not."""
        pairs = [(all_of(one, other), first, second) for one, first in left.places for other, second in right.places]
        alike = any_of(*(all_of(when, _same(first, second)) for when, first, second in pairs))
        return alike if sign == "==" else negation(alike)

    def comparison(self, sign: str, left: Value, right: Value) -> Formula:
        """Return the comparison of two values."""
        if sign in ("==", "!="):
            same = equal(left, right)
            return same if sign == "==" else negation(same)
        return compared(sign, as_number(left), as_number(right))

    def contained(self, one: Any, among: tree.Values | tree.Members | tree.Items, path: Formula) -> Formula:
        """Return whether a value is among others, a record is in a set, or a key in a map."""
        match among:
            case tree.Values(parts):
                return any_of(*(equal(one, self.simple(part, path)) for part in parts))
            case tree.Members(of):
                return has_member(as_set(self.simple(of, path)), as_number(one))
            case tree.Items(of):
                within = self.reference(of, path)
                if isinstance(within.places[0][1].type, Map):
                    return self.of_places(of, path, lambda place: places.has_index(place, as_number(one)))
                if isinstance(one, Reference):
                    return self.of_places(of, path, lambda place: writers.has(self.context, place, [one], {}))
                return self.some_item(within, lambda item: equal(one, item))

    def of_elements(self, has: bool, elements: Reference, given: tuple[writers.Values, writers.Fields]) -> Value:
        """Return whether an element is in a set or a bag, or how often."""
        if has:
            return Truth(any_of(*(all_of(w, writers.has(self.context, place, *given)) for w, place in elements.places)))
        return places.one_of((when, writers.count(self.context, place, *given)) for when, place in elements.places)

    def of_places(self, node: tree.Expression, path: Formula, question: Callable[[places.Place], Formula]) -> Formula:
        """Return the answer of a question about the place that an expression means."""
        return any_of(*(all_of(when, question(place)) for when, place in self.reference(node, path).places))

    def given(self, given: tree.Given, path: Formula) -> tuple[writers.Values, writers.Fields]:
        """Return what a writer or a reader is given: values, and fields by name."""
        values = [value for node in given.values if not isinstance(value := self.value(node, path), Constants)]
        fields = {name: self.value(node, path) for name, node in given.fields}
        return values, {name: value for name, value in fields.items() if not isinstance(value, Constants)}

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
        if sign in _BITWISE:
            return combined(_BITWISE[sign], as_set(left), as_set(right))
        other = as_number(right)
        if sign in ("<<", ">>"):
            self.context.need("a shift by 0 or more", compared(">=", other, number(0)), self.absolute(path))
            is_one = sign == "<<" and not isinstance(left, MemberTruths) and as_number(left).known == 1
            return singleton(other) if is_one else shifted(sign, left, other)
        if sign in ("//", "%"):
            self.context.need("a divisor other than 0", compared("!=", other, number(0)), self.absolute(path))
            return divided(sign, as_number(left), other)
        if sign in ("+", "-", "*"):
            return calculated(sign, as_number(left), other)
        self.refuse(node, f"{sign} of these operands")

    def of_constant(self, node: tree.Lookup, path: Formula) -> Value:
        """Return the number at some places of a constant."""
        found = tuple(looked_up(node.table, [as_number(self.simple(place, path)) for place in node.places]))
        self.context.need("a place of a constant", any_of(*(when for when, _ in found)), self.absolute(path))
        return places.one_of(found) if found else number(0)

    def signed(self, sign: str, value: Value) -> Value:
        """Return the result of an operator with one operand."""
        if sign == "~" and isinstance(value, MemberTruths):
            return complement(value)
        whole = as_number(value)
        if sign == "~":
            bounded = whole.known is None and whole.low is not None and whole.high is not None
            return complement(as_set(value)) if bounded else calculated("-", number(-1), whole)
        return whole if sign == "+" else calculated("-", number(0), whole)

    def merge(self, test: Formula, yes: Value, no: Value) -> Value:
        """Return one of two values."""
        return merged(test, yes, no)

    # places and calls

    def place(self, node: tree.Expression, path: Formula) -> Reference:
        """Return the places that a field or an item may mean."""
        match node:
            case tree.Field(of, name):
                found = [(when, places.field_of(place, name)) for when, place in self.reference(of, path).places]
                return Reference(tuple(found))
            case tree.Item(of, index):
                at, within = as_number(self.simple(index, path)), self.reference(of, path)
                for when, place in () if self.context.quiet else within.places:
                    self.context.need("an index in range", places.has_index(place, at), self.absolute(all_of(path, when)))
                return within.at(at)
            case tree.Content(option):
                options = self.reference(option, path).places
                for when, place in options:
                    self.context.need("a value of an option", places.is_present(place), self.absolute(all_of(path, when)))
                return Reference(tuple((when, places.option_of(place).items[0]) for when, place in options))
        self.refuse(node, f"{type(node).__name__.lower()}()")

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
    def fired(self, node: tree.Fire, path: Formula) -> Formula:
        """Change the state of a machine by its table; return whether a row was found."""

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
            return Whole(folded(z3.Sum([z3.IntVal(0), *bits])), 0, len(bits))
        return None

    def refuse(self, node: tree.Node, what: str) -> NoReturn:
        """Raise the error of what has no translation, with its place."""
        raise Untranslatable(f"{self.source.place_of(node)}: in {self.source.function.__name__}: {what}")


def _without(members: MemberTruths, others: MemberTruths) -> MemberTruths:
    return combined(all_of, members, complement(others))


def _same(one: places.Place, other: places.Place) -> Formula:
    """Return whether two places of one type have the same contents."""
    if isinstance(one, places.Inside) or isinstance(other, places.Inside):
        raise Untranslatable("a comparison of records in a sequence without a limit")
    return same(one, other, TRUE)
