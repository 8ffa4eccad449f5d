"""Local functions: what a function defines inside itself becomes a function of its own; what it captures are arguments.

Plain Python runs the function as it stands. Whoever reads its source sees calls of ordinary functions, so neither the engines nor
an export know local functions. A captured name is passed as it is when the call is made, which is what Python reads.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from typing import NoReturn

from kafka_spec.spec.language.source import made
from kafka_spec.spec.language.words import LOCAL_FUNCTIONS, Function

Refuse = Callable[[ast.AST, str], NoReturn]


def lifted(tree: ast.FunctionDef, function: Function, refuse: Refuse) -> ast.FunctionDef:
    """Return a definition without the functions inside it; calls of these pass what they capture.

    `refuse` raises an error at a node, where a function is not local to the whole body or captures what it cannot.
    """
    if not hasattr(function, "__outer__"):
        LOCAL_FUNCTIONS.pop(function, None)  # its code may be another than when it was read before
    inner = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not inner:
        return tree
    _refuse_early_use(tree, refuse)
    tree = copy.deepcopy(tree)
    inner = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    tree.body = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    outside = _names_of(tree)
    items = {loop.target.id for loop in _loops(tree) if isinstance(loop.target, ast.Name)}
    captured: dict[str, list[str]] = {}
    known = dict(LOCAL_FUNCTIONS.get(function, {}))
    for node in inner:
        _refuse_what_hides(node, refuse)
        name, own = node.name, _names_of(node)
        if shared := sorted((own - _parameters(node)) & outside):
            refuse(node, f"{shared[0]} is a name of {tree.name}, too; give it a name of its own in {name}")
        if name in outside or name in known:
            refuse(node, f"{name} has a value already; give the local function a name of its own")
        of_others = [one for callee in _read(node) for one in captured.get(callee, ())]
        if hidden := sorted(own & set(of_others)):
            refuse(node, f"{hidden[0]} means something else in what {name} calls; give it a name of its own in {name}")
        captured[name] = list(dict.fromkeys([*(one for one in _read(node) if one in outside - own), *of_others]))
        if hidden := [one for one in captured[name] if one in items]:
            refuse(node, f"{hidden[0]} belongs to a generator of {tree.name}; pass it as an argument")
        _Passing(captured).visit(node)
        node.args.args[:0] = [ast.arg(one) for one in captured[name]]
        local = _function(node, f"{tree.name}_{name}", function)
        LOCAL_FUNCTIONS[local] = dict(known)
        known[name] = local
    LOCAL_FUNCTIONS[function] = known
    _Passing(captured).visit(tree)
    return tree


def _refuse_what_hides(node: ast.FunctionDef, refuse: Refuse) -> None:
    """Refuse what would be lost, or could not run, in a function of its own."""
    if node.decorator_list:
        refuse(node, "a local function must be a plain `def` without decorators")
    for part in ast.walk(node):
        if isinstance(part, ast.Nonlocal | ast.Global):
            refuse(part, f"{type(part).__name__} is outside the language; return the value from {node.name}")


def _refuse_early_use(tree: ast.FunctionDef, refuse: Refuse) -> None:
    """Refuse a use of a local function before or in its own definition."""
    later = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    for statement in tree.body:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and node.id in later:
                refuse(node, f"{node.id} is defined further down, or calls itself; a local function is defined before it is called")
        if isinstance(statement, ast.FunctionDef):
            later.discard(statement.name)


def _names_of(tree: ast.FunctionDef) -> set[str]:
    """Return the parameters of a function and the names that it gives values to, except in generators."""
    in_generators = {id(loop.target) for loop in _loops(tree)}
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in in_generators
    }
    return stored | _parameters(tree)


def _parameters(tree: ast.FunctionDef) -> set[str]:
    return {argument.arg for argument in tree.args.args}


def _loops(tree: ast.AST) -> Iterator[ast.comprehension]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.comprehension))


def _read(tree: ast.AST) -> list[str]:
    """Return the names that a function reads, in order."""
    return [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]


class _Passing(ast.NodeTransformer):
    """Adds the captured names to the calls of local functions."""

    def __init__(self, captured: dict[str, list[str]]) -> None:
        self.captured = captured

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name):
            more = self.captured.get(node.func.id, ())
            node.args[:0] = [ast.copy_location(ast.Name(name, ast.Load()), node) for name in more]
        return node


def _function(tree: ast.FunctionDef, name: str, outer: Function) -> Function:
    """Return a function with this definition, where the outer one stands."""
    tree.name = name
    function: Function = made(tree, outer, outer.__globals__)
    function.__outer__ = outer  # type: ignore[attr-defined]
    return function
