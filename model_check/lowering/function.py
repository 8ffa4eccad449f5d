"""A function of the language under construction: its local names, and what the emitters of its parts ask of each other.

The tree of a function (spec/language/tree.py) has a closed set of nodes. statements.py and expressions.py each hold one `match`
over them; what a node becomes is emitted there, or by a function of the module of its subject: arithmetic.py, writers.py,
elements.py, options.py, generators.py, calls.py.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import NoReturn

from llvmlite import ir

from kafka_spec.model_check.lowering.emit import Emitter
from kafka_spec.model_check.lowering.unit import Unit
from kafka_spec.model_check.lowering.values import I64, ZERO, Buffer, Compiled, K, Ref, Shape, Value, named
from kafka_spec.spec import language
from kafka_spec.spec.language import tree
from kafka_spec.spec.language.text import text_of
from kafka_spec.spec.language.walking import walk


class FunctionCode(Emitter, abc.ABC):
    """The code of a function whose parameters have these shapes; `trusted`: one of the engine's own, which is not checked."""

    def __init__(self, unit: Unit, source: language.Source, compiled: Compiled, shapes: tuple[Shape, ...], trusted: bool) -> None:
        super().__init__(unit, compiled.code, compiled.code.args[-1])
        self.source = source
        self.compiled = compiled
        self.trusted = trusted
        self.jumps: list[tuple[ir.Block, ir.Block]] = []
        """Where `continue` and `break` lead, in each loop around."""
        self.names: dict[str, Value] = {}
        """The references: parameters and local names."""
        self.stale: set[str] = set()
        """The names of items that may have moved."""
        self.slots: dict[str, ir.Value] = {}
        """The local variables that hold integers."""
        for name, value in named(source.parameters, shapes, compiled.code.args).items():
            if isinstance(value, Ref) and value.packed is not unit.root and not value.still:
                value = Ref(value.packed, value.pointer, moving=True)
            if isinstance(value, Ref | Buffer | K):
                self.names[name] = value
            else:
                self.slots[name] = self.slot(I64, value)

    @abc.abstractmethod
    def value(self, node: tree.Expression) -> Value:
        """Return the value of an expression."""

    @abc.abstractmethod
    def reference(self, node: tree.Field | tree.Item | tree.Content) -> Ref:
        """Return the reference to a field, an item, or the value of an option."""

    @abc.abstractmethod
    def test(self, node: tree.Expression) -> ir.Value:
        """Return whether an expression is true, as one bit."""

    @abc.abstractmethod
    def block(self, statements: tree.Block) -> None:
        """Emit statements up to the first that ends the block."""

    def place(self, node: tree.Node) -> str:
        """Return the file and line of a node."""
        return self.source.place_of(node)

    def refuse(self, node: tree.Node, message: str) -> NoReturn:
        """Raise the error for what a part cannot be with these arguments, with its place."""
        self.source.refuse(node, message)

    def note(self, ok: ir.Value, node: tree.Node, message: str) -> None:
        """Record a fault if the check fails, and continue."""
        with self.check(ok, "error", self.place(node), message):
            pass

    # values

    def integer(self, node: tree.Expression, value: Value) -> ir.Value:
        """Return a value as an integer; refuse a reference."""
        if isinstance(value, Ref | Buffer | K):
            self.refuse(node, f"a number is needed here, and {text_of(node)} is a record or a sequence")
        return value

    def number(self, node: tree.Expression) -> ir.Value:
        """Return the value of an expression that must be a number."""
        return self.integer(node, self.value(node))

    def record(self, node: tree.Expression) -> Ref:
        """Return the reference to the record that an expression denotes."""
        ref = self.value(node)
        if not isinstance(ref, Ref) or ref.packed.fields is None:
            self.refuse(node, f"{text_of(node)} is not a record")
        return ref

    def buffer(self, node: tree.Expression) -> Buffer:
        """Return the array of the engine that an expression denotes."""
        buffer = self.value(node)
        assert isinstance(buffer, Buffer)
        return buffer

    # names

    def local(self, node: tree.Local) -> Value:
        """Return the value of a parameter or a local name."""
        name = node.name
        if name in self.slots:
            return self.b.load(self.slots[name])
        if name in self.stale:
            self.refuse(node, f"items may have moved since {name} was named; name it after that, or read what you need before")
        return self.names[name]

    def variable(self, name: str, value: ir.Value) -> None:
        """Store a number in a local variable."""
        if name not in self.slots:
            self.slots[name] = self.slot(I64)
        self.b.store(value, self.slots[name])

    def after_moves(self, *nodes: tree.Node) -> None:
        """Forget names of items if the code may move items: in Python they denote the old item, here its old place."""
        if not self.trusted and any(map(_may_move, walk(*nodes))):
            self.stale |= {name for name, value in self.names.items() if isinstance(value, Ref) and value.moving}

    # options

    def there(self, option: Ref) -> ir.Value:
        """Return whether an option has a value, as one bit."""
        return self.b.icmp_signed("<", ZERO, self.length(option))

    def content(self, option: Ref, node: tree.Node) -> Ref:
        """Return the value of an option; record a fault if it has none."""
        self.note(self.there(option), node, "there is no value; ask present(), or `key in ...`, first")
        return self.item(option, ZERO)

    def only_if(self, test: ir.Value, body: Callable[[], None]) -> None:
        """Run code if a test holds; the code may jump."""
        there, on = self.code.append_basic_block("there"), self.code.append_basic_block("absent")
        self.b.cbranch(test, there, on)
        self.b.position_at_end(there)
        body()
        if not self.b.block.is_terminated:
            self.b.branch(on)
        self.b.position_at_end(on)


def _may_move(node: tree.Node) -> bool:
    """Whether a node may move items of a sequence."""
    if isinstance(node, tree.Call):
        return language.source_of(node.function).moves
    return isinstance(node, (*tree.MOVERS, tree.Fire))
