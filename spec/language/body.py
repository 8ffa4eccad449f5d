"""What the body of a function may contain: statements, expressions and calls, read one by one.

It notes what the function calls, fires and changes. What a whole function must be is in the module above.
"""

from __future__ import annotations

import ast
import enum
from typing import Any, NoReturn

from kafka_spec.spec.language import domain
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.language.integers import LARGEST, unusable
from kafka_spec.spec.language.words import (
    ARGUMENTS,
    BUILTINS,
    COMPARISONS,
    CURES,
    MOVERS,
    OPERATORS,
    OVER_GENERATORS,
    READERS,
    WITH_FIELDS,
    WRITERS,
    Function,
    is_function,
    resolve,
)


class BodyReader:
    """Reads the body of one function and refuses constructs that the language does not have."""

    def __init__(self, function: Function) -> None:
        code = function.__code__
        self.function = function
        self.file = code.co_filename
        self.first_line = code.co_firstlineno
        self.locals: set[str] = set()
        """The names that the function gives values to."""
        self.calls: dict[Function, None] = {}
        self.fires: dict[tuple[Any, str], None] = {}
        self.writes = self.moves = self.resizes = False
        self.over_items: list[ast.For] = []
        """The loops over items that are being read, each within the one before."""
        self.under_loops: list[tuple[ast.Call, str, Function]] = []
        """Calls of functions in loops over items, and over what."""
        self.inner: list[tuple[ast.Call, Function | None]] = []
        """Calls inside of expressions: they may not move items, since Python and machine code then read different ones."""
        self.names: dict[str, Any] = {}

    def refuse(self, node: ast.AST | None, cure: str) -> NoReturn:
        """Raise an error at a node; it names the place and the cure."""
        line = getattr(node, "lineno", self.first_line)
        raise SpecError(f"{self.file}:{line}: in {self.function.__name__}: {cure}")

    def refuse_resizing(self, node: ast.AST, items: str) -> NoReturn:
        """Refuse what may change the items that a loop goes over."""
        self.refuse(
            node,
            f"this may change which items there are while a loop goes over {items}; note what is to be done in the loop and do it "
            "after it, or write a rule with a parameter ElementOf(...)",
        )

    # statements; each returns the local names that are definitely assigned after it, or None if control does not continue

    def block(self, statements: list[ast.stmt], known: set[str]) -> set[str] | None:
        """Read statements one after the other."""
        after: set[str] | None = set(known)
        for statement in statements:
            if after is None:
                self.refuse(statement, "this line is never reached")
            after = self.statement(statement, after)
        return after

    def statement(self, node: ast.stmt, known: set[str]) -> set[str] | None:
        """Read a statement."""
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
                if not isinstance(op, OPERATORS):
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
                    if len(value.elts) < 2:
                        self.refuse(node, "a tuple of one value, or of none; return the value itself")
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
        """Read what is assigned to; return the names among it."""
        match node:
            case ast.Name(id=name):
                return {name}
            case ast.Tuple(elts=parts) if all(isinstance(part, ast.Name) for part in parts):
                if len(parts) < 2:
                    self.refuse(node, "a tuple of one name, or of none; assign to the name itself")
                return {part.id for part in parts if isinstance(part, ast.Name)}
            case ast.Attribute() | ast.Subscript():
                self.value(_as_load(node), known)
                self.writes = True
                return set()
            case ast.Tuple():
                self.refuse(node, "several values go to names; assign to one field or item after the other")
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
        self.refuse(node, CURES[ast.For] + _named(over))

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
        """Read an expression; `record` if it may be a record or its items, `several` if it may be a tuple."""
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
                if not isinstance(op, OPERATORS):
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
                        cure = "write `in` a set of records, a sequence, a map, members_of(...), or values in parentheses"
                        self.refuse(node, cure + _named(of))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                for comparison in ops:
                    if not isinstance(comparison, COMPARISONS):
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
        """Read a name that is a value."""
        if name in self.locals:
            if name not in known:
                self.refuse(node, f"{name} may be unassigned here; assign it on every path that leads here")
            return
        value = self.constant(node, name)
        if isinstance(value, type) and issubclass(value, enum.IntEnum):
            self.refuse(node, f"{name} is a class; name a member of it, such as {name}.{next(iter(value.__members__), '')}")
        if not isinstance(value, int):
            self.refuse(node, f"{name} is {type(value).__name__}; outside the state only integers and IntEnums can be read")
        if reason := unusable(value):
            self.refuse(node, f"{name} {reason}")

    def constant(self, node: ast.AST, name: str) -> Any:
        """Return what a global name means, and note that it is used."""
        try:
            value = self.names[name] = resolve(self.function, name)
        except KeyError:
            self.refuse(node, f"{name} is not defined")
        return value

    def call(self, node: ast.Call, known: set[str], statement: bool = False, whole: bool = False) -> None:
        """Read a call: a `statement` of its own, or the `whole` of what is assigned, tested or returned."""
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
        if isinstance(callee, type) and not issubclass(callee, int):
            self.refuse(node, f"no {callee.__name__} is made here; give its fields to what takes it, append(sequence, field=...)")
        if node.keywords and callee not in WITH_FIELDS:
            self.refuse(node, "pass arguments by position")
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            self.value(argument, known, record=True)
        low, high = ARGUMENTS.get(callee, (0, len(node.args)))
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
        """Read what a machine is fired with."""
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
        """Refuse what the language does not have."""
        cure = CURES.get(type(what), f"{type(what).__name__} is outside the language of guards and effects (spec/language)")
        self.refuse(node, cure)


def _or_numbers(callee: Any) -> str:
    return ", or two numbers and more" if callee in BUILTINS else ""


def _named(of: ast.expr) -> str:
    """The cure for the items that value_of() returns: they are named first."""
    if isinstance(of, ast.Call) and ast.unparse(of.func) == "value_of":
        return f"; give {ast.unparse(of)} a name first"
    return ""


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
