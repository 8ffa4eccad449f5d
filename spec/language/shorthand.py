"""Shorthand: `match` on numbers and members of an IntEnum, and an assignment of several values to fields and items.

Plain Python runs a function as written. Its readers see `if` and `elif`, and one assignment after the other.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import NoReturn

Refuse = Callable[[ast.AST, str], NoReturn]


def written_out(tree: ast.FunctionDef, refuse: Refuse) -> ast.FunctionDef:
    """Return a definition without shorthand; the definition itself if it has none. `refuse` raises an error at a node."""
    if not any(isinstance(node, ast.Match) or _is_spread(node) for node in ast.walk(tree)):
        return tree
    twin = copy.deepcopy(tree)
    _WritingOut(twin, refuse).visit(twin)
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


def _is_spread(node: ast.AST) -> bool:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=parts)]):
            return len(parts) > 1 and all(isinstance(part, ast.Name | ast.Attribute | ast.Subscript) for part in parts) and not all(
                isinstance(part, ast.Name) for part in parts
            )  # fmt: skip
    return False


class _WritingOut(ast.NodeTransformer):
    """Writes out the shorthand of one function."""

    def __init__(self, tree: ast.FunctionDef, refuse: Refuse) -> None:
        self.refuse = refuse
        self.taken = every_name(tree)

    def visit_Assign(self, node: ast.Assign) -> ast.Assign | list[ast.stmt]:
        if not _is_spread(node):
            return node
        (target,) = node.targets
        assert isinstance(target, ast.Tuple)
        names = [free_name(f"value{place}", self.taken) for place in range(len(target.elts))]
        stored: list[ast.expr] = [name_at(name, node, ast.Store()) for name in names]
        first = ast.copy_location(ast.Assign([ast.copy_location(ast.Tuple(stored, ast.Store()), target)], node.value), node)
        stores = [ast.Assign([to], name_at(name, node)) for to, name in zip(target.elts, names, strict=True)]
        return [first, *(ast.copy_location(store, node) for store in stores)]

    def visit_Match(self, node: ast.Match) -> list[ast.stmt]:
        self.generic_visit(node)
        first: list[ast.stmt] = []
        subject = node.subject
        if not isinstance(subject, ast.Name | ast.Attribute | ast.Subscript):
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
