"""Makes the text of a module smaller, as long as what is wrong with it stays.

Knows Python's syntax, no spec: parts of lists are left out, an `if` becomes its body, an operation one of its operands.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Callable, Iterator

Edit = Callable[[], None]


def edits(tree: ast.Module) -> Iterator[Edit]:
    """Yield what can be done to a tree, the outermost first; each is to be done at once, and on a fresh tree."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                for index in reversed(range(len(value))):
                    if len(value) > 1 or not isinstance(value[index], ast.stmt):
                        yield lambda of=value, at=index, node=node: drop(node, of, at)  # type: ignore[misc]
                    for part in instead(value[index]):
                        yield lambda of=value, at=index, part=part: of.__setitem__(slice(at, at + 1), part)  # type: ignore[misc]
            else:
                for part in instead(value):
                    if isinstance(part[0], ast.expr):
                        yield lambda node=node, name=name, part=part: setattr(node, name, part[0])  # type: ignore[misc]


def drop(node: ast.AST, items: list[ast.AST], index: int) -> None:
    """Leave an item out; a dictionary has it twice, and so has a comparison."""
    del items[index]
    for other in (
        ("values", "keys") if isinstance(node, ast.Dict) else ("ops", "comparators") if isinstance(node, ast.Compare) else ()
    ):
        if (found := getattr(node, other)) is not items:
            del found[index]


def instead(node: object) -> list[list[ast.AST]]:
    """Return what may stand in the place of a node."""
    match node:
        case ast.If(body=body, orelse=orelse):
            return [list(body), *([list(orelse)] if orelse else [])]
        case ast.BinOp(left=left, right=right):
            return [[left], [right]]
        case ast.BoolOp(values=values):
            return [[value] for value in values]
        case ast.IfExp(body=body, orelse=orelse):
            return [[body], [orelse]]
        case ast.UnaryOp(operand=operand):
            return [[operand]]
        case ast.Call(func=ast.Name(id="min" | "max"), args=values):
            return [[value] for value in values]
    return []


def shrunk(text: str, wrong: Callable[[str], bool], seconds: float) -> str:
    """Return a smaller text that is wrong too, after so many seconds at most."""
    until, number, last = time.monotonic() + seconds, 0, ""
    text = ast.unparse(ast.parse(text))
    while time.monotonic() < until:
        tree = ast.parse(text)
        edit = next((edit for index, edit in enumerate(edits(tree)) if index == number), None)
        if edit is None:
            if text == last:
                break
            number, last = 0, text
            continue
        try:
            edit()
            smaller = ast.unparse(tree)
        except Exception:
            number += 1
            continue
        if len(smaller) < len(text) and wrong(smaller):
            text = smaller
        else:
            number += 1
    return text
