"""Shorthand: `match` on numbers and members of an IntEnum, several values for fields and items, `enumerate`, and `default=`.

Plain Python runs a function as written. Its readers see `if` and `elif`, one assignment after the other, a loop that counts, and
`max(...) if any(...) else default`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any, NoReturn

from kafka_spec.spec.language.reading import read_only
from kafka_spec.spec.language.words import Function, is_defined, resolve

Refuse = Callable[[ast.AST, str], NoReturn]


def written_out(tree: ast.FunctionDef, function: Function, refuse: Refuse) -> ast.FunctionDef:
    """Return a definition without shorthand; the definition itself if it has none. `refuse` raises an error at a node."""
    writer = _WritingOut(tree, function, refuse)
    if not any(map(writer.is_short, ast.walk(tree))):
        return tree
    twin = copy.deepcopy(tree)
    writer.visit(twin)
    return ast.fix_missing_locations(twin)


def every_name(tree: ast.FunctionDef) -> set[str]:
    """Return the names in a function, also those of its parameters."""
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} | {one.arg for one in tree.args.args}


def free_name(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, and take it."""
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def may_be_short(node: ast.AST) -> bool:
    """Whether a node may be shorthand, by its form alone: few are."""
    kind = type(node)
    if kind is ast.Assign:
        return isinstance(node.targets[0], ast.Tuple)  # type: ignore[attr-defined]
    if kind is ast.For:
        return isinstance(node.target, ast.Tuple)  # type: ignore[attr-defined]
    return kind is ast.Match or (kind is ast.keyword and node.arg == "default")  # type: ignore[attr-defined]


def _is_spread(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=parts)]):
            return len(parts) > 1 and all(isinstance(part, ast.Name | ast.Attribute | ast.Subscript) for part in parts) and not all(
                isinstance(part, ast.Name) for part in parts
            )  # fmt: skip
    return False


class _WritingOut(ast.NodeTransformer):
    """Writes out the shorthand of one function."""

    def __init__(self, tree: ast.FunctionDef, function: Function, refuse: Refuse) -> None:
        self.function, self.refuse = function, refuse
        self.taken = every_name(tree)
        self.stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}

    def is_short(self, node: ast.AST) -> bool:
        """Whether a node is shorthand."""
        return isinstance(node, ast.Match) or _is_spread(node) or self.counts(node) or self.default(node) is not None

    def calls(self, node: ast.AST, *builtins: object) -> bool:
        """Whether a node is a call of one of these functions of Python."""
        match node:
            case ast.Call(func=ast.Name(id=name)) if name not in self.stored and is_defined(self.function, name):
                return resolve(self.function, name) in builtins
        return False

    def counts(self, node: ast.AST) -> bool:
        """Whether a node is a loop over enumerate(...)."""
        match node:
            case ast.For(target=ast.Tuple(elts=[ast.Name(), ast.Name()]), iter=ast.Call(args=[_], keywords=[]) as call):
                return self.calls(call, enumerate)
        return False

    def default(self, node: ast.AST) -> ast.expr | None:
        """Return the default of a max() or min() of a generator, if it has one."""
        match node:
            case ast.Call(args=[ast.GeneratorExp()], keywords=[ast.keyword(arg="default", value=value)]):
                return value if self.calls(node, max, min) else None
        return None

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | list[ast.stmt]:
        self.generic_visit(node)
        if not _is_spread(node):
            return node
        (target,) = node.targets
        assert isinstance(target, ast.Tuple)
        names = [free_name(f"value{place}", self.taken) for place in range(len(target.elts))]
        stored: list[ast.expr] = [name_at(name, node, ast.Store()) for name in names]
        first = ast.copy_location(ast.Assign([ast.copy_location(ast.Tuple(stored, ast.Store()), target)], node.value), node)
        stores = [ast.Assign([to], name_at(name, node)) for to, name in zip(target.elts, names, strict=True)]
        return [first, *(ast.copy_location(store, node) for store in stores)]

    def visit_For(self, node: ast.For) -> ast.For | list[ast.stmt]:
        self.generic_visit(node)
        if not self.counts(node):
            return node
        assert isinstance(node.target, ast.Tuple) and isinstance(node.iter, ast.Call)
        number, item = node.target.elts
        counter, start = free_name("counted", self.taken), ast.copy_location(ast.UnaryOp(ast.USub(), ast.Constant(1)), node)
        first = ast.Assign([name_at(counter, node, ast.Store())], start)
        count = ast.AugAssign(name_at(counter, node, ast.Store()), ast.Add(), ast.Constant(1))
        body = [count, ast.Assign([number], name_at(counter, node))]
        node.target, (node.iter,) = item, node.iter.args
        node.body[:0] = [ast.copy_location(one, number) for one in body]
        return [ast.copy_location(first, node), node]

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if (default := self.default(node)) is None:
            return node
        (generator,) = node.args
        assert isinstance(generator, ast.GeneratorExp)
        read_only(*generator.generators)
        some = ast.GeneratorExp(ast.Constant(1), copy.deepcopy(generator.generators))
        node.keywords = []
        return ast.copy_location(ast.IfExp(ast.Call(name_at("any", node), [some], []), node, default), node)

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        self.generic_visit(node)
        first: list[ast.stmt] = []
        subject = node.subject
        if not isinstance(subject, ast.Name):  # a guard of a case may change what else it is
            name = free_name("matched", self.taken)
            first = [ast.copy_location(ast.Assign([name_at(name, subject, ast.Store())], subject), node)]
            subject = name_at(name, subject)
        chain: list[ast.stmt] = []
        for case in reversed(node.cases):
            test = self.test_of(case.pattern, subject)
            if case.guard is not None:
                test = case.guard if test is None else ast.copy_location(ast.BoolOp(ast.And(), [test, case.guard]), case.guard)
            chain = case.body if test is None else [ast.copy_location(ast.If(test, case.body, chain), case.pattern)]
        return [*first, *chain]

    def test_of(self, pattern: ast.pattern, subject: ast.expr) -> ast.expr | None:
        """Return the test of a pattern; None for the one that matches everything."""
        match pattern:
            case ast.MatchValue(value=value):
                return ast.copy_location(ast.Compare(copy.deepcopy(subject), [ast.Eq()], [value]), pattern)
            case ast.MatchOr(patterns=patterns):
                values = [one.value for one in patterns if isinstance(one, ast.MatchValue)]
                if len(values) == len(patterns):
                    among = ast.copy_location(ast.Tuple(values, ast.Load()), pattern)
                    return ast.copy_location(ast.Compare(copy.deepcopy(subject), [ast.In()], [among]), pattern)
            case ast.MatchAs(pattern=None, name=None):
                return None
        self.refuse(pattern, "a case is a number, a member of an IntEnum, several with | between them, or _")


def name_at(name: str, at: ast.AST, ctx: ast.expr_context | None = None) -> ast.Name:
    """Return a name where a node is, to be read unless `ctx` says otherwise."""
    return ast.copy_location(ast.Name(name, ctx or ast.Load()), at)


def number_at(number: int, at: ast.AST) -> ast.expr:
    """Return a number where a node is."""
    positive = ast.copy_location(ast.Constant(abs(number)), at)
    return positive if number >= 0 else ast.copy_location(ast.UnaryOp(ast.USub(), positive), at)


def tuple_at(parts: list[Any], at: ast.AST, ctx: ast.expr_context | None = None) -> ast.expr:
    """Return a tuple of some expressions, or the only one."""
    return parts[0] if len(parts) == 1 else ast.copy_location(ast.Tuple(parts, ctx or ast.Load()), at)
