"""The language of guards and effects, and the check that a function conforms to it.

The same source runs as plain Python and as compiled code. So it may use only constructs with the same meaning in both: attribute
access, indexing, integer and bit arithmetic, comparisons, boolean operators, `if`, `for` over `range` or items, tuple returns and
calls of other such functions. A function outside the language is refused at import; the message names the place and the cure.
"""

from __future__ import annotations

import ast
import enum
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any, NoReturn

from kafka_spec.spec import domain
from kafka_spec.spec.domain import SpecError
from kafka_spec.spec.integers import LARGEST, unusable
from kafka_spec.spec.source import Unreadable, definition_of

Function = Callable[..., Any]

WRITERS: dict[Any, str] = {
    function: function.__name__
    for function in (domain.append, domain.truncate, domain.pop_first, domain.reset, domain.assign, domain.add, domain.remove)
}
"""The functions of spec/domain that change a sequence, a set or a record; engines have their own form of each."""

READERS: dict[Any, str] = {domain.has: "has", domain.count: "count"}
"""The functions of spec/domain that look into a set or a bag; engines have their own form of each."""

BUILTINS = {len: "len", min: "min", max: "max"}

OVER_GENERATORS: dict[Any, str] = {any: "any", all: "all", sum: "sum", min: "min", max: "max", domain.set_of: "set_of"}
"""The functions that take a generator; engines have their own form of each."""

_ARGUMENTS: dict[Any, tuple[int, int]] = {
    len: (1, 1),
    min: (2, 9),
    max: (2, 9),
    domain.append: (1, 2),
    domain.truncate: (2, 2),
    domain.pop_first: (1, 1),
    domain.reset: (1, 1),
    domain.assign: (2, 2),
    domain.add: (1, 2),
    domain.remove: (1, 2),
    domain.has: (1, 2),
    domain.count: (1, 2),
}
"""How many arguments these take by position, at least and at most."""

_WITH_FIELDS = (domain.append, domain.add, domain.remove, domain.has, domain.count)
"""The functions that take the fields of a record by name."""

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
_CURES: dict[type[ast.AST], str] = {
    ast.Lambda: "a lambda has no name for traces and pictures; write a named function with a docstring",
    ast.For: "loops are `for name in range(stop)`, `range(start, stop)`, or over a sequence, an array or a set of records",
    ast.While: "a while loop has no limit; write `for ... in range(...)`",
    ast.ListComp: "lists do not compile; write any(), all(), sum(), min() or max() of a generator, or a `for` loop",
    ast.SetComp: "write set_of(... for ... in ...)",
    ast.GeneratorExp: "a generator is the only argument of any(), all(), sum(), min(), max() or set_of()",
    ast.Raise: "a step cannot raise; state what must hold as a guard or a property",
    ast.Try: "a step cannot raise, so there is nothing to catch",
    ast.Assert: "state what must hold as a property",
    ast.Slice: "slices do not compile; use truncate() or a `for` loop",
    ast.Div: "fractions do not exist here; use //",
    ast.Pow: "use shifts or products",
    ast.Is: "compare with ==",
    ast.IsNot: "compare with !=",
}


@dataclass(frozen=True)
class Source:
    """A function of the language: its definition as it stands in its file, where that is, and what it calls."""

    function: Function
    tree: ast.FunctionDef
    text: str
    place: str
    parameters: tuple[str, ...]
    calls: tuple[Function, ...]
    writes: bool
    """Whether it changes the state, itself or through a function it calls."""
    fires: tuple[tuple[Any, str], ...]
    """The (machine, trigger) pairs it fires, itself or through a function it calls."""
    code: CodeType
    names: tuple[tuple[str, Any], ...]
    """What the global names in it stand for."""
    results: int
    """How many values it returns."""
    moves: bool = False
    """Whether it may move or drop items of a sequence, so that a name for one means something else afterwards."""
    resizes: bool = False
    """Whether it may change what items a sequence or a set has, so that no loop over items may call it."""


MOVERS = (domain.truncate, domain.pop_first, domain.reset, domain.assign, domain.add, domain.remove)
"""The writers that may move or drop items."""


def resolve(function: Function, name: str) -> Any:
    """Return what a global name means inside the function, or raise KeyError."""
    if name in function.__globals__:
        return function.__globals__[name]
    builtins = function.__globals__["__builtins__"]
    return (builtins if isinstance(builtins, dict) else vars(builtins))[name]


def is_function(value: object) -> bool:
    """Whether the value is a plain function, which the language can call."""
    return inspect.isfunction(value)


def parameters_of(function: Function) -> tuple[str, ...]:
    """Return the names of the parameters of a function that was read."""
    code: CodeType = function.__code__
    return code.co_varnames[: code.co_argcount]


def source_of(function: Function) -> Source:
    """Return the checked source of a function of the language, or raise SpecError with place and cure.

    It is read once; `forget_what_changed` has it read anew where the function, or what it names, is another by now.
    """
    if (known := _sources.get(function)) is not None:
        return known
    reader = _Reader(function)
    if function in _reading:
        through = ", ".join(dict.fromkeys(other.__name__ for other in _reading[_reading.index(function) + 1 :]))
        reader.refuse(None, f"a function cannot call itself, not even through {through}")
    _reading.append(function)
    try:
        source = _sources[function] = reader.read()
    finally:
        _reading.pop()
    return source


_sources: dict[Function, Source] = {}
_reading: list[Function] = []
"""The functions that are being read, each called by the previous one."""


def forget_what_changed() -> None:
    """Forget the sources of functions whose code or global names are no longer what was read, and of all that call them."""
    changed = {function for function, source in _sources.items() if not _is_current(source)}
    while changed:
        for function in changed:
            del _sources[function]
        changed = {function for function, source in _sources.items() if not changed.isdisjoint(source.calls)}


def _is_current(source: Source) -> bool:
    """Whether a function still has the code and its global names still stand for what was read."""
    if source.function.__code__ is not source.code:
        return False
    for name, value in source.names:
        try:
            now = resolve(source.function, name)
        except KeyError:
            return False
        if now is not value and not (type(now) is type(value) is int and now == value):
            return False
    return True


class _Reader:
    """Reads one function and refuses constructs that the language does not have."""

    def __init__(self, function: Function) -> None:
        if not is_function(function):
            raise SpecError(f"{function!r} is not a plain function; guards and effects are named functions")
        code = function.__code__
        self.function = function
        self.file = code.co_filename
        self.first_line = code.co_firstlineno
        self.calls: dict[Function, None] = {}
        self.fires: dict[tuple[Any, str], None] = {}
        self.writes = self.moves = self.resizes = False
        self.over_items: list[ast.For] = []
        """The loops over items that are being read, each within the one before."""
        self.under_loops: list[tuple[ast.Call, str, Function]] = []
        """Calls of functions in loops over items, and over what."""
        self.inner: list[tuple[ast.Call, Function | None]] = []
        """Calls inside of expressions: they may not move items, since Python and machine code then read different ones."""
        if function.__name__ == "<lambda>":
            self.refuse(None, _CURES[ast.Lambda])
        if function.__closure__:
            self.refuse(None, "it captures a variable of another function; make it a module's function")
        self.names: dict[str, Any] = {}
        try:
            definition = definition_of(function)
        except Unreadable as error:
            self.refuse(None, str(error))
        self.text = definition.text
        if not isinstance(definition.tree, ast.FunctionDef) or definition.tree.decorator_list:
            self.refuse(None, "it must be a plain `def` without decorators")
        self.tree = definition.tree

    def refuse(self, node: ast.AST | None, cure: str) -> NoReturn:
        line = getattr(node, "lineno", self.first_line)
        raise SpecError(f"{self.file}:{line}: in {self.function.__name__}: {cure}")

    def read(self) -> Source:
        arguments = self.tree.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs or arguments.defaults:
            self.refuse(self.tree, "parameters are plain names, without defaults or stars")
        parameters = tuple(argument.arg for argument in arguments.args)
        own = self.function.__module__.startswith(f"{domain.__name__.partition('.')[0]}.")
        documented = ast.get_docstring(self.tree) is not None
        if own and not documented:
            self.refuse(self.tree, "it has no docstring; its name and first line are what traces and pictures show")
        self.locals = set(parameters) | {
            node.id for node in ast.walk(self.tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        }
        ends = self.block(self.tree.body[documented:], set(parameters)) is not None
        counts = results_of(self.tree)
        if len(counts) > 1:
            self.refuse(self.tree, f"it returns now {min(counts)}, now {max(counts)} values; return as many everywhere")
        if ends and counts - {0}:
            self.refuse(self.tree, "it may end without returning a value; end it with a return")
        place = f"{self.file}:{self.first_line}"
        calls = tuple(self.calls)
        inner = [source_of(call) for call in calls]
        for node, callee in self.inner:
            if callee is None or source_of(callee).moves:
                self.refuse(node, "this call may move items while an expression reads them; give it a line of its own")
        for node, items, callee in self.under_loops:
            if source_of(callee).resizes:
                self.refuse_resizing(node, items)
        fires = dict.fromkeys([*self.fires, *(pair for source in inner for pair in source.fires)])
        return Source(
            function=self.function,
            tree=self.tree,
            text=self.text,
            place=place,
            parameters=parameters,
            calls=calls,
            writes=self.writes or any(source.writes for source in inner),
            fires=tuple(fires),
            code=self.function.__code__,
            names=tuple(self.names.items()),
            results=max(counts, default=0),
            moves=self.moves or bool(fires) or any(source.moves for source in inner),
            resizes=self.resizes or bool(fires) or any(source.resizes for source in inner),
        )

    def refuse_resizing(self, node: ast.AST, items: str) -> NoReturn:
        self.refuse(
            node,
            f"this may change which items there are while a loop goes over {items}; note what is to be done in the loop and do it "
            "after it, or write a rule with a parameter ElementOf(...)",
        )

    # statements; each returns the local names that are definitely assigned after it, or None if control does not continue

    def block(self, statements: list[ast.stmt], known: set[str]) -> set[str] | None:
        after: set[str] | None = set(known)
        for statement in statements:
            if after is None:
                self.refuse(statement, "this line is never reached")
            after = self.statement(statement, after)
        return after

    def statement(self, node: ast.stmt, known: set[str]) -> set[str] | None:
        match node:
            case ast.Expr(value=ast.Call() as call):
                self.call(call, known, statement=True, whole=True)
            case ast.Assign(targets=[target], value=value):
                self.whole(value, known, record=True, several=isinstance(target, ast.Tuple))
                return known | self.target(target, known)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.whole(value, known, record=True)
                return known | {name}
            case ast.AugAssign(target=target, op=op, value=value):
                if not isinstance(op, _OPERATORS):
                    self.unknown(op, node)
                self.value(value, known)
                self.value(_as_load(target), known)
                self.target(target, known)
            case ast.If(test=test, body=body, orelse=orelse):
                self.whole(test, known)
                yes, no = self.block(body, known), self.block(orelse, known)
                return no if yes is None else yes if no is None else yes & no
            case ast.For(target=ast.Name(id=name), iter=over, body=body):
                if node.orelse:
                    self.refuse(node, "loops are without else")
                items = self.iteration(node, over, known)
                self.over_items += [node] if items else []
                self.block(body, known | {name})
                self.over_items = self.over_items[:-1] if items else self.over_items
            case ast.Return(value=value):
                if isinstance(value, ast.Tuple):
                    for part in value.elts:
                        self.value(part, known)
                elif value is not None:
                    self.whole(value, known)
                return None
            case ast.Break() | ast.Continue():
                return None
            case ast.Pass():
                pass
            case _:
                self.unknown(node, node)
        return known

    def target(self, node: ast.expr, known: set[str]) -> set[str]:
        match node:
            case ast.Name(id=name):
                return {name}
            case ast.Tuple(elts=parts) if all(isinstance(part, ast.Name) for part in parts):
                return {part.id for part in parts if isinstance(part, ast.Name)}
            case ast.Attribute() | ast.Subscript():
                self.value(_as_load(node), known)
                self.writes = True
                return set()
            case _:
                self.refuse(node, "assign to a name, a field or an item")

    # expressions

    def iteration(self, node: ast.AST, over: ast.expr, known: set[str]) -> bool:
        """Read what a loop goes over; return whether that is items, which may not come or go in the loop."""
        match over:
            case ast.Name() | ast.Attribute() | ast.Subscript():
                self.value(over, known, record=True)
                return True
            case ast.Call(func=ast.Name(id="range"), args=bounds, keywords=[]) if 1 <= len(bounds) <= 2:
                if "range" in self.locals or self.constant(node, "range") is not range:
                    self.refuse(node, "range is another name here; loops are over the range() that is built in")
                for bound in bounds:
                    self.value(bound, known)
                return False
            case ast.Call(func=ast.Name(id=name), args=[members], keywords=[]) if self.means(name, domain.members_of):
                self.constant(node, name)
                self.value(members, known)
                return False
        self.refuse(node, _CURES[ast.For])

    def means(self, name: str, function: Any) -> bool:
        """Whether a name means this function here."""
        try:
            return name not in self.locals and resolve(self.function, name) is function
        except KeyError:
            return False

    def generator(self, node: ast.GeneratorExp, known: set[str]) -> None:
        """Read a generator: its loops, their conditions, and what it gives."""
        known = set(known)
        for loop in node.generators:
            if loop.is_async or not isinstance(loop.target, ast.Name):
                self.refuse(node, "a generator gives a name to each item: `... for name in ...`")
            if loop.target.id in known:
                self.refuse(node, f"{loop.target.id} has a value already; give the item a name of its own")
            self.iteration(node, loop.iter, known)
            known |= {loop.target.id}
            for test in loop.ifs:
                self.value(test, known)
        self.value(node.elt, known)

    def whole(self, node: ast.expr, known: set[str], record: bool = False, several: bool = False) -> None:
        """Read an expression that may be a call as a whole."""
        match node:
            case ast.Call():
                self.call(node, known, whole=True)
            case ast.UnaryOp(op=ast.Not(), operand=ast.Call() as call):
                self.call(call, known, whole=True)
            case _:
                self.value(node, known, record, several)

    def value(self, node: ast.expr, known: set[str], record: bool = False, several: bool = False) -> None:
        match node:
            case ast.Constant(value=int() as number):
                if number > LARGEST:
                    self.refuse(node, f"{number} is too large; numbers have 64 bits")
            case ast.Constant(value=other):
                self.refuse(node, f"{other!r} is no number, and the state holds numbers: use 0 and 1, or a member of an IntEnum")
            case ast.Name(id=name):
                self.name(node, name, known)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if name not in self.locals:
                members = self.constant(node, name)
                if not (isinstance(members, type) and issubclass(members, enum.IntEnum) and attr in members.__members__):
                    self.refuse(node, f"{name}.{attr} is not a member of an IntEnum; read the state, k, or a constant")
                if reason := unusable(members[attr]):
                    self.refuse(node, f"{name}.{attr} {reason}")
            case ast.Attribute(value=value):
                self.value(value, known, record=True)
            case ast.Subscript(value=value, slice=index):
                self.value(value, known, record=True)
                self.value(index, known)
            case ast.BinOp(left=left, op=op, right=right):
                if not isinstance(op, _OPERATORS):
                    self.unknown(op, node)
                self.value(left, known)
                self.value(right, known)
            case ast.UnaryOp(operand=operand):
                self.value(operand, known)
            case ast.BoolOp(values=values):
                for part in values:
                    self.value(part, known)
            case ast.Compare(left=left, ops=[ast.In() | ast.NotIn()], comparators=[of]):
                self.value(left, known, record=True)
                match of:
                    case ast.Tuple(elts=parts):
                        for part in parts:
                            self.value(part, known)
                    case ast.Call(func=ast.Name(id=name), args=[members], keywords=[]) if self.means(name, domain.members_of):
                        self.constant(node, name)
                        self.value(members, known)
                    case ast.Name() | ast.Attribute() | ast.Subscript():
                        self.value(of, known, record=True)
                    case _:
                        self.refuse(node, "write `in` a set of records, a sequence, members_of(...), or values in parentheses")
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                for comparison in ops:
                    if not isinstance(comparison, _COMPARISONS):
                        self.unknown(comparison, node)
                for part in (left, *comparators):
                    self.value(part, known)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                for part in (test, body, orelse):
                    self.value(part, known)
            case ast.Call():
                self.call(node, known)
            case ast.Tuple(elts=parts) if several:
                for part in parts:
                    self.value(part, known, record=True)
            case _:
                self.unknown(node, node)

    def name(self, node: ast.AST, name: str, known: set[str]) -> None:
        if name in self.locals:
            if name not in known:
                self.refuse(node, f"{name} may be unassigned here; assign it on every path that leads here")
            return
        if not isinstance(value := self.constant(node, name), int):
            self.refuse(node, f"{name} is {type(value).__name__}; outside the state only integers and IntEnums can be read")
        if reason := unusable(value):
            self.refuse(node, f"{name} {reason}")

    def constant(self, node: ast.AST, name: str) -> Any:
        try:
            value = self.names[name] = resolve(self.function, name)
        except KeyError:
            self.refuse(node, f"{name} is not defined")
        return value

    def call(self, node: ast.Call, known: set[str], statement: bool = False, whole: bool = False) -> None:
        if not isinstance(node.func, ast.Name):
            self.refuse(node, "methods do not compile; call a function by its name")
        if node.func.id in self.locals:
            self.refuse(node, f"{node.func.id} is a local name; call a function of the module by its name")
        callee = self.constant(node, node.func.id)
        items = ast.unparse(self.over_items[-1].iter) if self.over_items else ""
        if items and (callee in WRITERS or getattr(callee, "__fires__", False)):
            self.refuse_resizing(node, items)
        if getattr(callee, "__fires__", False):
            self.fire(node, known)
            if not whole:
                self.inner.append((node, None))
            return
        if callee in OVER_GENERATORS and len(node.args) == 1 and not node.keywords:
            if not isinstance(node.args[0], ast.GeneratorExp):
                self.refuse(node, f"{node.func.id}() takes a generator, `{node.func.id}(... for ... in ...)`" + _or_numbers(callee))
            self.generator(node.args[0], known)
            return
        if callee is domain.members_of:
            self.refuse(node, "members_of() is what a loop goes over, or what `in` is followed by; a set is already its value")
        if node.keywords and callee not in _WITH_FIELDS:
            self.refuse(node, "pass arguments by position")
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.value(argument, known, record=True)
        low, high = _ARGUMENTS.get(callee, (0, len(node.args)))
        if not low <= len(node.args) <= high:
            self.refuse(node, f"{node.func.id}() takes {low if low == high or len(node.args) < low else high} arguments here")
        if callee in WRITERS:
            if not statement:
                self.refuse(node, f"{node.func.id}() returns no value; write it on a line of its own")
            self.writes = True
            self.moves = self.moves or callee in MOVERS
            self.resizes = True
        elif callee in BUILTINS or callee in READERS:
            pass
        elif is_function(callee):
            if callee is self.function:
                self.refuse(node, "a function cannot call itself")
            self.calls[callee] = None
            if items:
                self.under_loops.append((node, items, callee))
            if not whole:
                self.inner.append((node, callee))
            if len(node.args) != callee.__code__.co_argcount:
                self.refuse(node, f"{node.func.id}() takes {callee.__code__.co_argcount} arguments")
        else:
            self.refuse(node, f"{node.func.id} cannot be called here; call functions of the specification")

    def fire(self, node: ast.Call, known: set[str]) -> None:
        match node.args:
            case [state, constants, ast.Name(id=machine), ast.Tuple(elts=entity), ast.Constant(value=str() as trigger)]:
                for part in (state, constants, *entity):
                    self.value(part, known, record=True)
                table = self.constant(node, machine)
                if not hasattr(table, "triggers"):
                    self.refuse(node, f"{machine} is not a Machine; fire one")
                if trigger not in table.triggers:
                    self.refuse(node, f"{table.name} has no trigger {trigger!r}; it has {', '.join(table.triggers)}")
                if len(entity) != len(table.entity):
                    self.refuse(node, f"{table.name} is one machine for each ({', '.join(table.entity)}); name those")
                self.fires[table, trigger] = None
                self.writes = True
            case _:
                self.refuse(node, "write fire(s, k, MACHINE, (entity, ...), 'trigger'), the trigger as a literal")

    def unknown(self, what: ast.AST, node: ast.AST) -> NoReturn:
        cure = _CURES.get(type(what), f"{type(what).__name__} is outside the language of guards and effects (spec/lint.py)")
        self.refuse(node, cure)


def _or_numbers(callee: Any) -> str:
    return ", or two numbers and more" if callee in BUILTINS else ""


def results_of(tree: ast.FunctionDef) -> set[int]:
    """Return how many values the return statements of a function give."""
    values = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return {len(value.elts) if isinstance(value, ast.Tuple) else 0 if value is None else 1 for value in values}


def _as_load(node: ast.expr) -> ast.expr:
    """Return the place that is assigned to, as an expression that reads it."""
    match node:
        case ast.Attribute(value=value, attr=attr):
            return ast.copy_location(ast.Attribute(value, attr, ast.Load()), node)
        case ast.Subscript(value=value, slice=index):
            return ast.copy_location(ast.Subscript(value, index, ast.Load()), node)
        case ast.Name(id=name):
            return ast.copy_location(ast.Name(name, ast.Load()), node)
    return node
