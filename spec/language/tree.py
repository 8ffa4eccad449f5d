"""The tree of a function of the language: names resolved, a closed set of nodes.

It is made once (body.py) and is all that readers see of a function: the compiler, the interpreter, the export to TLA+. A reader
handles `Statement` and `Expression` with one `match` that ends in `assert_never`, so a node that it lacks is a type error.

What is a number, a record or a sequence depends on the argument for which a function is read. A *place* (`Local`, `Field`, `Item`,
`Content`) may be any of these; the value of every other expression is a number.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

ArithmeticSign = Literal["+", "-", "*", "//", "%", "<<", ">>", "&", "|", "^"]
OrderSign = Literal["==", "!=", "<", "<=", ">", ">="]
Gathering = Literal["any", "all", "sum", "min", "max", "set_of"]


@dataclass(frozen=True, slots=True)
class Node:
    """A part of a function; `line` is the line of the file on which it begins."""

    line: int = field(default=0, kw_only=True, compare=False)


# ---------------------------------------------------------------------------------------------------------------------
# Expressions


@dataclass(frozen=True, slots=True)
class Number(Node):
    """A number written in the function, or True or False."""

    value: int


@dataclass(frozen=True, slots=True)
class Constant(Node):
    """A number outside the function, by the name that it has there: `LIMIT`, or `Colour.RED`."""

    name: str
    value: int


@dataclass(frozen=True, slots=True)
class Local(Node):
    """A parameter or a local name."""

    name: str


@dataclass(frozen=True, slots=True)
class Field(Node):
    """A field of a record, a bound or a decision: `of.name`. If `cls` is given, it is of a record of that class."""

    of: Place
    name: str
    cls: type | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Item(Node):
    """An item of an array or a sequence, or the value of a map at a key: `of[index]`."""

    of: Place
    index: Expression


@dataclass(frozen=True, slots=True)
class Content(Node):
    """The value of an option: `value_of(option)`."""

    option: Expression


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """An operator with two operands: `left + right`."""

    sign: ArithmeticSign
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Signed(Node):
    """An operator with one operand: `-of`."""

    sign: Literal["+", "-", "~"]
    of: Expression


@dataclass(frozen=True, slots=True)
class Not(Node):
    """A negation: `not of`."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """A comparison, or a chain of them: `left < middle <= right`."""

    left: Expression
    others: tuple[tuple[OrderSign, Expression], ...]


@dataclass(frozen=True, slots=True)
class Contained(Node):
    """Whether a value is among others: `one in among`."""

    one: Expression
    among: Values | Members | Items


@dataclass(frozen=True, slots=True)
class Junction(Node):
    """`a and b` (`every`) or `a or b`: the first operand that decides."""

    every: bool
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`yes if test else no`."""

    test: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, slots=True)
class Call(Node):
    """A call of another function of the language, by the name that it has in this one."""

    function: Callable[..., Any]
    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Fire(Node):
    """`fire(state, k, MACHINE, (entity, ...), "trigger")`: whether a row was found."""

    state: Expression
    constants: Expression
    machine: Any
    name: str
    entity: tuple[Expression, ...]
    trigger: str


@dataclass(frozen=True, slots=True)
class Length(Node):
    """How many items there are: `len(of)`."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Extreme(Node):
    """The largest or the smallest of some numbers: `max(a, b)`."""

    largest: bool
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Gathered(Node):
    """What a function makes of a generator: `any(item for ...)`."""

    how: Gathering
    item: Expression
    loops: tuple[Loop, ...]


@dataclass(frozen=True, slots=True)
class Has(Node):
    """Whether a set or a bag has an element: `has(elements, ...)`."""

    elements: Expression
    given: Given


@dataclass(frozen=True, slots=True)
class Count(Node):
    """How often an element is in a set or a bag: `count(elements, ...)`."""

    elements: Expression
    given: Given


@dataclass(frozen=True, slots=True)
class Present(Node):
    """Whether an option has a value: `present(option)`."""

    option: Expression


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a constant by their first place, each a table by the next one unless it is the last."""

    entries: tuple[tuple[int, Table | int], ...]
    counts_back: bool
    """Whether it is a sequence: place -1 is its last one."""
    optional: bool
    """Whether the number is 0 where it has no such place."""


@dataclass(frozen=True, slots=True)
class Lookup(Node):
    """A number in a constant that is data, or how many there are, or whether one is in it: `NEXT[a][0]`, `b in NEXT[a]`."""

    text: str
    places: tuple[Expression, ...]
    table: Table


@dataclass(frozen=True, slots=True)
class Primitive(Node):
    """A call of what only a reader knows, by its name; only functions of the extended language have one (`extended`)."""

    name: str
    arguments: tuple[Expression, ...]


Place: TypeAlias = Local | Field | Item | Content
"""What may be a record, a sequence or a number."""

Expression: TypeAlias = (
    Number | Constant | Place | Arithmetic | Signed | Not | Comparison | Contained | Junction | Choice | Call | Fire | Length
    | Extreme | Gathered | Has | Count | Present | Lookup | Primitive
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# What loops go over, what a value may be in, and what writers are given


@dataclass(frozen=True, slots=True)
class Range(Node):
    """The numbers from `start` to below `stop`."""

    start: Expression
    stop: Expression


@dataclass(frozen=True, slots=True)
class Members(Node):
    """The members of a set, in ascending order: `members_of(of)`."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Items(Node):
    """The items of a sequence or an array, the keys of a map, or the elements of a set or a bag of records."""

    of: Place


@dataclass(frozen=True, slots=True)
class Values(Node):
    """Some numbers, in parentheses."""

    parts: tuple[Expression, ...]


Over: TypeAlias = Range | Members | Items
"""What a loop goes over."""


@dataclass(frozen=True, slots=True)
class Loop(Node):
    """A loop of a generator: `for name in over if tests`."""

    name: str
    over: Over
    tests: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Given(Node):
    """What a writer or a reader is given besides the place: values, and fields of a record by name; of a record of `cls`."""

    values: tuple[Expression, ...] = ()
    fields: tuple[tuple[str, Expression], ...] = ()
    cls: type | None = field(default=None, kw_only=True)


# ---------------------------------------------------------------------------------------------------------------------
# Statements


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`target = value`."""

    target: Target
    value: Expression


@dataclass(frozen=True, slots=True)
class Unpack(Node):
    """`a, b = values`: as many values, or the results of a call."""

    names: tuple[Local, ...]
    values: tuple[Expression, ...] | Call


@dataclass(frozen=True, slots=True)
class Change(Node):
    """`target += value`."""

    target: Target
    sign: ArithmeticSign
    value: Expression


@dataclass(frozen=True, slots=True)
class If(Node):
    """`if test: ... else: ...`; its line is that of the test, as in Python."""

    test: Expression
    body: Block
    orelse: Block


@dataclass(frozen=True, slots=True)
class For(Node):
    """`for name in over: ...`."""

    name: str
    over: Over
    body: Block


@dataclass(frozen=True, slots=True)
class While(Node):
    """`while test: ...`; only functions of the extended language have one."""

    test: Expression
    body: Block


@dataclass(frozen=True, slots=True)
class Return(Node):
    """`return`, `return value` or `return a, b`."""

    values: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Break(Node):
    """`break`."""


@dataclass(frozen=True, slots=True)
class Continue(Node):
    """`continue`."""


@dataclass(frozen=True, slots=True)
class Pass(Node):
    """`pass`."""


@dataclass(frozen=True, slots=True)
class Do(Node):
    """An expression on a line of its own, such as a call of a function that writes."""

    what: Expression


@dataclass(frozen=True, slots=True)
class Append(Node):
    """`append(sequence, ...)`."""

    sequence: Expression
    given: Given


@dataclass(frozen=True, slots=True)
class Truncate(Node):
    """`truncate(sequence, offset)`."""

    sequence: Expression
    offset: Expression


@dataclass(frozen=True, slots=True)
class PopFirst(Node):
    """`pop_first(sequence)`."""

    sequence: Expression


@dataclass(frozen=True, slots=True)
class Reset(Node):
    """`reset(record)`."""

    record: Expression


@dataclass(frozen=True, slots=True)
class Overwrite(Node):
    """`assign(record, source)`."""

    record: Expression
    source: Expression


@dataclass(frozen=True, slots=True)
class Add(Node):
    """`add(elements, ...)`."""

    elements: Expression
    given: Given


@dataclass(frozen=True, slots=True)
class Remove(Node):
    """`remove(elements, ...)`."""

    elements: Expression
    given: Given


@dataclass(frozen=True, slots=True)
class Put(Node):
    """`put(option, ...)`, or `put(map, key, ...)`: of a map the first value given is the key."""

    option: Expression
    given: Given


@dataclass(frozen=True, slots=True)
class Drop(Node):
    """`drop(option)`, or `drop(map, key)`: of a map the value given is the key."""

    option: Expression
    given: Given


Target: TypeAlias = Local | Field | Item
Writer: TypeAlias = Append | Truncate | PopFirst | Reset | Overwrite | Add | Remove | Put | Drop
Statement: TypeAlias = Assign | Unpack | Change | If | For | While | Return | Break | Continue | Pass | Do | Writer

Block: TypeAlias = tuple[Statement, ...]


MOVERS = (Truncate, PopFirst, Reset, Overwrite, Add, Remove, Put, Drop)
"""The writers that may move or drop items."""
