"""Evaluates a predicate of a spec from its parsed source; records for each call its result, the deciding return and local values.

Works on the language of spec/language and on plain Python states; does not depend on any property. The caller (explain.py) checks
the result against that of Python.
"""

from __future__ import annotations

import ast
import contextlib
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_spec.spec import language
from kafka_spec.spec.language import Function, Source, domain, source_of
from kafka_spec.spec.language.domain import BrokerSet, Scalar, show_set
from kafka_spec.spec.vocabulary.table import Constants

Show = Callable[[int], str]
"""Prints a number."""

_OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
    ast.In: lambda one, others: one in others,
    ast.NotIn: lambda one, others: one not in others,
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
    end: ast.Return | None = None
    tests: tuple[ast.expr, ...] = ()
    """The tests of the `if` statements around the return, the outermost first."""
    calls: list[Call] = field(default_factory=list)

    def value(self, node: ast.expr) -> Any:
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
        self.tests: tuple[ast.expr, ...] = ()

    def run(self) -> None:
        with contextlib.suppress(_Return):
            self.block(self.call.source.tree.body)

    # statements

    def block(self, statements: list[ast.stmt]) -> None:
        for statement in statements:
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, self.value(value))
                if isinstance(target, ast.Name):
                    self.note_show(target.id, value)
            case ast.AugAssign(target=ast.Name(id=name), op=op, value=value):
                self.names[name] = _OPERATORS[type(op)](self.names[name], self.value(value))
            case ast.If(test=test, body=body, orelse=orelse):
                if not self.value(test):
                    self.block(orelse)
                    return
                around, self.tests = self.tests, (*self.tests, test)
                self.block(body)
                self.tests = around
            case ast.For(target=ast.Name() as target, iter=over, body=body):
                self.loop(target, self.iterated(over), body)
            case ast.Return(value=value):
                self.call.answer = self.value(value) if value is not None else None
                self.call.end, self.call.tests = node, self.tests
                raise _Return
            case ast.Break():
                raise _Break
            case ast.Continue():
                raise _Continue
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case _:
                raise TypeError(f"{ast.unparse(node)} is no part of a predicate")

    def loop(self, target: ast.Name, numbers: Iterable[Any], body: list[ast.stmt]) -> None:
        around = self.tests
        for number in numbers:
            self.names[target.id] = number
            try:
                self.block(body)
            except _Continue:
                pass
            except _Break:
                break
            finally:
                self.tests = around

    def assign(self, target: ast.expr, value: Any) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = value
            case ast.Tuple(elts=parts):
                for part, item in zip(parts, value, strict=True):
                    self.assign(part, item)
            case _:
                raise TypeError(f"{ast.unparse(target)} is assigned to in a predicate")

    # how values are printed

    def note_show(self, name: str, node: ast.expr) -> None:
        """Record how a name is printed to which the value of an expression was just assigned."""
        self.call.shows.pop(name, None)
        if show := show_set if isinstance(self.names[name], BrokerSet) else self.show_of(node):
            self.call.shows[name] = show

    def show_of(self, node: ast.expr) -> Show | None:
        """Return how the value of an expression is printed: like its field; a set computed from sets like these."""
        type_: object = None
        match node:
            case ast.Name(id=name):
                return self.call.shows.get(name)
            case ast.BinOp(left=left, op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), right=right):
                return self.show_of(left) or self.show_of(right)
            case ast.Attribute(value=of, attr=attr) if not isinstance(self.value(of), Constants):
                type_ = getattr(getattr(self.value(of), "__type__", None), "fields", {}).get(attr)
            case ast.Subscript(value=of):
                type_ = getattr(getattr(self.value(of), "type", None), "item", None)
        return type_.show if isinstance(type_, Scalar) else None

    # expressions

    def value(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=constant):
                return constant
            case ast.Name(id=name):
                return self.names[name] if name in self.names else language.resolve(self.call.source.function, name)
            case ast.Attribute(value=of, attr=attr):
                return getattr(self.value(of), attr)
            case ast.Subscript(value=of, slice=index):
                return self.value(of)[self.value(index)]
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)](self.value(left), self.value(right))
            case ast.UnaryOp(op=op, operand=operand):
                return _OPERATORS[type(op)](self.value(operand))
            case ast.BoolOp(op=op, values=values):
                return self.decide(isinstance(op, ast.And), values)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self.compare(self.value(left), ops, comparators)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.value(body if self.value(test) else orelse)
            case ast.Tuple(elts=parts):
                return tuple(self.value(part) for part in parts)
            case ast.Call(func=ast.Name(id=name), args=[ast.GeneratorExp() as generator]):
                return language.resolve(self.call.source.function, name)(self.generate(generator, 0))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords):
                callee = language.resolve(self.call.source.function, name)
                if callee in language.READERS:
                    fields = {str(keyword.arg): self.value(keyword.value) for keyword in keywords}
                    return callee(*(self.value(argument) for argument in arguments), **fields)
                return self.called(callee, arguments)
        raise TypeError(f"{ast.unparse(node)} is no part of a predicate")

    def generate(self, node: ast.GeneratorExp, depth: int) -> Iterator[Any]:
        """Yield what a generator gives."""
        if depth == len(node.generators):
            yield self.value(node.elt)
            return
        clause = node.generators[depth]
        assert isinstance(clause.target, ast.Name)
        for item in self.iterated(clause.iter):
            self.names[clause.target.id] = item
            if all(self.value(test) for test in clause.ifs):
                yield from self.generate(node, depth + 1)
        self.names.pop(clause.target.id, None)

    def iterated(self, node: ast.expr) -> Iterable[Any]:
        """Return what a loop goes over."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            of: Iterable[Any] = language.resolve(self.call.source.function, node.func.id)(*map(self.value, node.args))
            return of
        items: Iterable[Any] = self.value(node)
        return items

    def decide(self, every: bool, values: list[ast.expr]) -> Any:
        """Return the deciding operand of `and` (if `every`) or of `or`."""
        result: Any = every
        for value in values:
            result = self.value(value)
            if bool(result) != every:
                break
        return result

    def compare(self, left: Any, ops: list[ast.cmpop], comparators: list[ast.expr]) -> bool:
        for op, comparator in zip(ops, comparators, strict=True):
            right = self.value(comparator)
            if not _OPERATORS[type(op)](left, right):
                return False
            left = right
        return True

    def called(self, callee: Function, nodes: list[ast.expr]) -> Any:
        """Call a function; do not record calls of built-in functions and of the helpers of spec/, which explain nothing."""
        arguments = tuple(self.value(node) for node in nodes)
        if callee in language.BUILTINS or callee.__module__.startswith(f"{domain.__name__}."):
            return callee(*arguments)
        made = evaluate(callee, arguments, [self.show_of(node) for node in nodes])
        self.call.calls.append(made)
        return made.answer
