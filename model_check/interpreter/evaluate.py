"""Evaluates a predicate of a spec from its tree; records for each call its result, the deciding return and local values.

Works on the language of spec/language and on plain Python states; does not depend on any property. The caller (explain.py) checks
the result against that of Python.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from kafka_spec.spec import language
from kafka_spec.spec.language import Function, Source, domain, source_of, tree
from kafka_spec.spec.language.domain import BrokerSet, Scalar, show_set
from kafka_spec.spec.vocabulary.table import Constants

Show = Callable[[int], str]
"""Prints a number."""

_ARITHMETIC: Mapping[tree.ArithmeticSign, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
_ORDERS: Mapping[tree.OrderSign, Callable[[Any, Any], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SIGNS: Mapping[str, Callable[[Any], Any]] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_GATHERED: Mapping[tree.Gathering, Callable[[Iterable[Any]], Any]] = {
    how: function for function, how in language.OVER_GENERATORS.items()
}


class _Jump(Exception):  # noqa: N818 - control flow: how a loop or a function ends
    pass


class _Break(_Jump):
    pass


class _Continue(_Jump):
    pass


class _Return(_Jump):
    pass


@dataclass
class Call:
    """One call of a function: its result, the return that gave it, the tests around that, its names, and the calls it made."""

    source: Source
    names: dict[str, Any]
    shows: dict[str, Show] = field(default_factory=dict)
    """How the value of a name is printed, if the value is from a field of the state or is a set of brokers."""
    answer: Any = None
    end: tree.Return | None = None
    tests: tuple[tree.Expression, ...] = ()
    """The tests of the `if` statements around the return, the outermost first."""
    calls: list[Call] = field(default_factory=list)

    def value(self, node: tree.Expression) -> Any:
        """Evaluate an expression of the function on its current names, without recording calls."""
        return _Evaluator(Call(self.source, self.names)).value(node)


def evaluate(function: Function, arguments: tuple[Any, ...], shows: Sequence[Show | None] = ()) -> Call:
    """Call a pure function of the language; return a record of the call.

    `shows` says how each argument is printed, or None if that is not known.
    """
    source = source_of(function)
    known = {name: show for name, show in zip(source.parameters, shows, strict=False) if show is not None}
    call = Call(source, dict(zip(source.parameters, arguments, strict=True)), known)
    _Evaluator(call).run()
    return call


class _Evaluator:
    """Evaluates the body of one call."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.names = call.names
        self.tests: tuple[tree.Expression, ...] = ()

    def run(self) -> None:
        with contextlib.suppress(_Return):
            self.block(self.call.source.body)

    # statements

    def block(self, statements: tree.Block) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: tree.Statement) -> None:
        match node:
            case tree.Assign(tree.Local(name), value):
                self.names[name] = self.value(value)
                self.note_show(name, value)
            case tree.Unpack(names, values):
                results = self.value(values) if isinstance(values, tree.Call) else [self.value(value) for value in values]
                self.names |= {local.name: result for local, result in zip(names, results, strict=True)}
            case tree.Change(tree.Local(name), sign, value):
                self.names[name] = _ARITHMETIC[sign](self.names[name], self.value(value))
            case tree.If():
                self.branch(node)
            case tree.For():
                self.loop(node)
            case tree.Return(values):
                results = tuple(self.value(value) for value in values)
                self.call.answer = None if not results else results[0] if len(results) == 1 else results
                self.call.end, self.call.tests = node, self.tests
                raise _Return
            case tree.Break():
                raise _Break
            case tree.Continue():
                raise _Continue
            case tree.Do(what):
                self.value(what)
            case tree.Pass():
                pass
            case (
                tree.Assign() | tree.Change() | tree.Append() | tree.Truncate() | tree.PopFirst() | tree.Reset() | tree.Overwrite()
                | tree.Add() | tree.Remove() | tree.Put() | tree.Drop()
            ):  # fmt: skip
                self.call.source.refuse(node, "a predicate changes the state")
            case tree.While():
                self.call.source.refuse(node, "only the engine's own functions have a while loop")
            case _:
                assert_never(node)

    def branch(self, node: tree.If) -> None:
        if not self.value(node.test):
            self.block(node.orelse)
            return
        around, self.tests = self.tests, (*self.tests, node.test)
        self.block(node.body)
        self.tests = around

    def loop(self, node: tree.For) -> None:
        around = self.tests
        for item in self.iterated(node.over):
            self.names[node.name] = item
            try:
                self.block(node.body)
            except _Continue:
                pass
            except _Break:
                break
            finally:
                self.tests = around

    # how values are printed

    def note_show(self, name: str, node: tree.Expression) -> None:
        """Record how a name is printed to which the value of an expression was just assigned."""
        self.call.shows.pop(name, None)
        if show := show_set if isinstance(self.names[name], BrokerSet) else self.show_of(node):
            self.call.shows[name] = show

    def show_of(self, node: tree.Expression) -> Show | None:
        """Return how the value of an expression is printed: like its field; a set computed from sets like these."""
        type_: object = None
        match node:
            case tree.Local(name):
                return self.call.shows.get(name)
            case tree.Arithmetic("&" | "|" | "^", left, right):
                return self.show_of(left) or self.show_of(right)
            case tree.Field(of, name) if not isinstance(self.value(of), Constants):
                type_ = getattr(getattr(self.value(of), "__type__", None), "fields", {}).get(name)
            case tree.Item(of):
                type_ = getattr(getattr(self.value(of), "type", None), "item", None)
        return type_.show if isinstance(type_, Scalar) else None

    # expressions

    def value(self, node: tree.Expression) -> Any:
        match node:
            case tree.Number(number) | tree.Constant(_, number):
                return number
            case tree.Local(name):
                return self.names[name]
            case tree.Field(of, name):
                return getattr(self.value(of), name)
            case tree.Item(of, index):
                return self.value(of)[self.value(index)]
            case tree.Arithmetic(sign, left, right):
                return _ARITHMETIC[sign](self.value(left), self.value(right))
            case tree.Signed(sign, of):
                return _SIGNS[sign](self.value(of))
            case tree.Not(of):
                return not self.value(of)
            case tree.Comparison(left, others):
                return self.compare(self.value(left), others)
            case tree.Contained(one, among):
                return self.value(one) in self.among(among)
            case tree.Junction(every, parts):
                return self.decide(every, parts)
            case tree.Choice(test, yes, no):
                return self.value(yes if self.value(test) else no)
            case tree.Gathered(how, item, loops):
                return _GATHERED[how](self.generate(item, loops))
            case tree.Call():
                return self.called(node)
            case tree.Length(of):
                return len(self.value(of))
            case tree.Extreme(largest, parts):
                return (max if largest else min)(map(self.value, parts))
            case tree.Has(elements, given) | tree.Count(elements, given):
                ask = domain.has if isinstance(node, tree.Has) else domain.count
                return ask(self.value(elements), *map(self.value, given.values), **self.fields(given))
            case tree.Content(option) | tree.Present(option):
                return (domain.present if isinstance(node, tree.Present) else domain.value_of)(self.value(option))
            case tree.Lookup(_, places, table):
                return self.looked_up(table, places)
            case tree.Fire() | tree.Primitive():
                self.call.source.refuse(node, "a predicate changes the state")
            case _:
                assert_never(node)

    def looked_up(self, table: tree.Table, places: tuple[tree.Expression, ...]) -> int:
        """Return the number of a constant at some places."""
        first, *others = places
        place = self.value(first)
        if table.counts_back and place < 0:
            place += len(table.entries)
        found = dict(table.entries).get(place)
        if found is None and table.optional:
            return 0
        if found is None:
            raise IndexError(place)
        return self.looked_up(found, tuple(others)) if isinstance(found, tree.Table) else found

    def fields(self, given: tree.Given) -> dict[str, Any]:
        return {name: self.value(value) for name, value in given.fields}

    def generate(self, item: tree.Expression, loops: tuple[tree.Loop, ...]) -> Iterator[Any]:
        """Yield what a generator gives."""
        if not loops:
            yield self.value(item)
            return
        first, *others = loops
        for found in self.iterated(first.over):
            self.names[first.name] = found
            if all(self.value(test) for test in first.tests):
                yield from self.generate(item, tuple(others))
        self.names.pop(first.name, None)

    def iterated(self, over: tree.Over) -> Iterable[Any]:
        """Return what a loop goes over."""
        match over:
            case tree.Range(start, stop):
                return range(self.value(start), self.value(stop))
            case tree.Members() | tree.Items():
                found: Iterable[Any] = self.among(over)
                return found
            case _:
                assert_never(over)

    def among(self, among: tree.Values | tree.Members | tree.Items) -> Any:
        """Return what a value may be in."""
        match among:
            case tree.Values(parts):
                return tuple(map(self.value, parts))
            case tree.Members(of):
                return domain.members_of(self.value(of))
            case tree.Items(of):
                return self.value(of)
            case _:
                assert_never(among)

    def decide(self, every: bool, parts: tuple[tree.Expression, ...]) -> Any:
        """Return the deciding operand of `and` (if `every`) or of `or`."""
        result: Any = every
        for part in parts:
            result = self.value(part)
            if bool(result) != every:
                break
        return result

    def compare(self, left: Any, others: tuple[tuple[tree.OrderSign, tree.Expression], ...]) -> bool:
        for sign, other in others:
            right = self.value(other)
            if not _ORDERS[sign](left, right):
                return False
            left = right
        return True

    def called(self, node: tree.Call) -> Any:
        """Call a function; do not record calls of the helpers of spec/, which explain nothing."""
        arguments = tuple(map(self.value, node.arguments))
        if node.function.__module__.startswith(f"{domain.__name__}."):
            return node.function(*arguments)
        made = evaluate(node.function, arguments, [self.show_of(argument) for argument in node.arguments])
        self.call.calls.append(made)
        return made.answer
