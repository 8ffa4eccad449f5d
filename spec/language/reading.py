"""What is known while a function is read: what its names mean, and what it calls, fires and changes."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from kafka_spec.spec.language import tree
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.language.words import CURES, Function, resolve

RECORD_CLASS = "record_class"
"""The attribute of a node of Python that names the class of a record, where only its fields are written (record_values.py)."""


READS_ONLY = "reads_only"
"""The attribute of a call in an expression that readers evaluate more than once, or in another order than Python does."""


def read_only(*nodes: ast.AST) -> None:
    """Let no call in these expressions change the state: they are evaluated more often, or in another order, than as written."""
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                setattr(part, READS_ONLY, True)


@dataclass(frozen=True)
class LaterCheck:
    """A call of a function: whether it stands alone, how many values are needed (-1: any number), and the items it loops over."""

    node: ast.Call
    callee: Function
    name: str
    whole: bool
    results: int
    items: str
    reads_only: bool
    """Whether the function may not change the state."""


class Reading:
    """The reading of one function.

    `extended` is given for functions of the extended language, which the engine has: it may use arrays, `while` loops, and the
    functions that only the compiler knows. These are the names that it uses as numbers, and what they stand for.
    """

    def __init__(self, function: Function, extended: Mapping[str, int] | None = None) -> None:
        code = function.__code__
        self.function = function
        self.extended = extended
        self.file = code.co_filename
        self.first_line = code.co_firstlineno
        self.stored: set[str] = set()
        """The names that it gives values to by assignments and loops."""
        self.locals: set[str] = set()
        """The names that the function gives values to."""
        self.names: dict[str, Any] = {}
        """What the global names in it stand for."""
        self.calls: dict[Function, None] = {}
        self.fires: dict[tuple[Any, str], None] = {}
        self.writes = self.moves = self.resizes = False
        self.over_items: list[ast.expr] = []
        """What the loops go over that are being read and go over items, each within the one before."""
        self.asked: list[LaterCheck] = []
        """The calls of functions, which are checked once those functions are read."""

    def refuse(self, node: ast.AST | None, cure: str) -> NoReturn:
        """Raise an error at a node; it names the place and the cure."""
        line = getattr(node, "lineno", self.first_line)
        raise SpecError(f"{self.file}:{line}: in {self.function.__name__}: {cure}")

    def resized_by(self, changed: ast.expr | None) -> str:
        """Return, as text, the items of a loop around that may be among what is changed; "" if none may.

        Two fields of a parameter have no items in common; None for a change that may be anywhere.
        """
        place = self.field_of_parameter(changed)
        for over in reversed(self.over_items):
            other = self.field_of_parameter(over)
            if place is None or other is None or place[0] != other[0] or place[1] == other[1]:
                return ast.unparse(over)
        return ""

    def field_of_parameter(self, node: ast.expr | None) -> tuple[str, str] | None:
        """Return the parameter, and the field of it, in which a place is; None if that is not clear from its text."""
        field = ""
        while isinstance(node, ast.Attribute | ast.Subscript):
            field = node.attr if isinstance(node, ast.Attribute) else field
            node = node.value
        if not isinstance(node, ast.Name) or not field or node.id in self.stored:
            return None
        return node.id, field

    def refuse_resizing(self, node: ast.AST, items: str) -> NoReturn:
        """Refuse what may change the items that a loop goes over."""
        self.refuse(
            node,
            f"this may change which items there are while a loop goes over {items}; note what is to be done in the loop and do it "
            "after it, or write a rule with a parameter ElementOf(...)",
        )

    def refuse_moving(self, node: ast.AST) -> NoReturn:
        """Refuse what may move items inside of an expression: Python and machine code then read different ones."""
        self.refuse(node, "this call may move items while an expression reads them; give it a line of its own")

    def check(self, asked: LaterCheck, results: int, writes: bool, moves: bool, resizes: bool) -> None:
        """Refuse a call of a function that returns so many values, and may write, move or resize, where that must not be."""
        if asked.reads_only and writes:
            self.refuse(asked.node, f"{asked.name}() changes the state; give what it returns a name first, in a line of its own")
        if not asked.whole and moves:
            self.refuse_moving(asked.node)
        if asked.items and resizes:
            self.refuse_resizing(asked.node, asked.items)
        if asked.results == 1 != results:
            self.refuse(asked.node, f"one value is needed here, and {asked.name}() returns {results or 'none'}")
        if asked.results not in (-1, results):
            self.refuse(asked.node, f"{asked.results} names for {results} values")

    def unknown(self, what: ast.AST, node: ast.AST) -> NoReturn:
        """Refuse what the language does not have."""
        cure = CURES.get(type(what), f"{type(what).__name__} does not compile; docs/vocabulary.md has what does")
        self.refuse(node, cure)

    def constant(self, node: ast.AST, name: str) -> Any:
        """Return what a global name means, and note that it is used."""
        try:
            value = self.names[name] = resolve(self.function, name)
        except KeyError:
            self.refuse(node, f"{name} is not defined")
        return value

    def means(self, name: str, function: Any) -> bool:
        """Whether a name means this function here."""
        try:
            return name not in self.locals and resolve(self.function, name) is function
        except KeyError:
            return False


OPERATORS: Mapping[type[ast.operator], tree.ArithmeticSign] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.LShift: "<<", ast.RShift: ">>",
    ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
}  # fmt: skip
COMPARISONS: Mapping[type[ast.cmpop], tree.OrderSign] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
