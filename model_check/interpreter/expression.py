"""Expressions about a state, as users type them: columns of a trace, and questions while exploring.

An expression is Python over `s`, the state, and `k`, the constants; it also knows the members of the spec's enumerations. It is
checked before it is evaluated: it can read fields and call a few pure functions, and nothing else.
"""

from __future__ import annotations

import ast
import contextlib
import enum
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FrameType
from typing import Any

from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.spec.language.domain import SpecError

ITEMS, LARGEST, SECONDS = 10_000, 1 << 62, 1.0
"""The most items of a range, the largest number that a product may be, and the most time that an expression may take."""


def _range(*given: int) -> range:
    """Return a range, unless it is long."""
    if len(numbers := range(*given)) > ITEMS:
        raise ValueError(f"a range has {len(numbers):,} items; {ITEMS:,} at most")
    return numbers


def _product(one: Any, other: Any) -> int:
    """Return the product of two numbers, unless it is large; nothing else is multiplied."""
    if not isinstance(one, int) or not isinstance(other, int):
        raise TypeError("only numbers are multiplied")
    if abs(found := one * other) > LARGEST:
        raise ValueError("a product is larger than 2^62")
    return found


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **{function.__name__: function for function in (abs, all, any, bool, enumerate, len, list, max, min)},
    "range": _range,
    **{function.__name__: function for function in (set, sorted, sum, zip)},
}
"""The functions that an expression may call."""

PARTS = (
    ast.Expression, ast.Constant, ast.Name, ast.Load, ast.Store, ast.Attribute, ast.Subscript, ast.Slice, ast.Compare, ast.cmpop,
    ast.BoolOp, ast.boolop, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.BitAnd,
    ast.BitOr, ast.RShift, ast.IfExp, ast.Call, ast.Tuple, ast.List, ast.GeneratorExp, ast.ListComp, ast.SetComp,
    ast.comprehension,
)  # fmt: skip
"""The parts of Python that an expression may have. There is no power and no left shift: numbers stay small."""

LONGEST = 500
"""The most characters of an expression."""


@dataclass(frozen=True)
class Expression:
    """A checked expression: its name, its text, and its code."""

    name: str
    text: str
    code: CodeType

    def of(self, world: Interpreter, state: Any) -> Any:
        """Return its value in a state.

        Raises:
            SpecError: it cannot be evaluated there, for example because it names a field that does not exist.
        """
        scope = {"__builtins__": {}, **FUNCTIONS, "_product": _product, **enumerations(world), "s": state, "k": world.k}
        try:
            with _in_time(SECONDS):
                return eval(self.code, scope)  # only the parts above
        except Exception as error:
            raise SpecError(f"{self.text!r} cannot be evaluated: {type(error).__name__}: {error}") from None


def expression(text: str) -> Expression:
    """Parse `expression` or `name = expression`.

    Raises:
        SpecError: it is not an expression, or has a part that is not allowed.
    """
    name, equals, body = text.partition("=")
    if not (equals and name.strip().isidentifier() and not body.startswith("=")):
        name, body = text, text
    name, body = name.strip(), body.strip()
    if len(body) > LONGEST:
        raise SpecError(f"an expression has at most {LONGEST} characters; shorten {body[:40]!r}...")
    try:
        tree = ast.parse(body, mode="eval")
    except (SyntaxError, ValueError, RecursionError) as error:
        raise SpecError(f"{body!r} is not an expression: {error}; write for example s.leader == 1") from None
    for node in ast.walk(tree):
        _refuse(node, body)
    products = ast.fix_missing_locations(_Products().visit(tree))
    return Expression(name, body, compile(products, "<expression>", "eval"))


class _Products(ast.NodeTransformer):
    """Replaces each product by a call of `_product`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """Replace one product."""
        self.generic_visit(node)
        if not isinstance(node.op, ast.Mult):
            return node
        return ast.copy_location(ast.Call(ast.Name("_product", ast.Load()), [node.left, node.right], []), node)


@contextlib.contextmanager
def _in_time(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the code that runs here when the time is over."""
    ends = time.perf_counter() + seconds

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        frame.f_trace_opcodes = True
        if time.perf_counter() > ends:
            raise TimeoutError(f"it takes longer than {seconds:g} s")
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        yield
    finally:
        sys.settrace(before)


def enumerations(world: Interpreter) -> dict[str, type[enum.IntEnum]]:
    """Return the enumerations of the spec's machines by name."""
    return {type(machine.initial).__name__: type(machine.initial) for machine in world.spec.machines}


def shown_answer(value: Any) -> str:
    """Return a value as a person reads it."""
    return value.name if isinstance(value, enum.IntEnum) else str(value)


def _refuse(node: ast.AST, text: str) -> None:
    """Refuse a part that could do more than read the state."""
    problem = ""
    if not isinstance(node, PARTS):
        problem = type(node).__name__
    elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
        problem = f".{node.attr}"
    elif isinstance(node, ast.Name) and node.id.startswith("_"):
        problem = node.id
    elif isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in FUNCTIONS and not node.keywords):
        problem = f"a call of {ast.unparse(node.func)}"
    elif isinstance(node, ast.Constant) and not isinstance(node.value, int | str):
        problem = repr(node.value)
    if problem:
        raise SpecError(
            f"{text!r} has {problem}; an expression reads fields of s and k, compares and counts, and calls {', '.join(FUNCTIONS)}"
        )
