"""Reads calls: of functions of the language, of built-in functions, and of those of spec/language/domain that write and read."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from kafka_spec.spec.language import domain, tree
from kafka_spec.spec.language.reading import READS_ONLY, RECORD_CLASS, LaterCheck, Reading, read_only
from kafka_spec.spec.language.words import (
    ARGUMENTS,
    BUILTINS,
    CALL_CURES,
    CURES,
    METHOD_CURES,
    MOVERS,
    OVER_GENERATORS,
    READERS,
    WITH_FIELDS,
    WRITERS,
    is_defined,
    is_function,
)


class ReadsExpressions(Protocol):
    """What reads expressions."""

    def value(self, node: ast.expr, known: set[str]) -> tree.Expression:
        """Read an expression."""

    def loops(self, node: ast.GeneratorExp, known: set[str]) -> tuple[tuple[tree.Loop, ...], tree.Expression]:
        """Read a generator."""


class CallReader:
    """Reads the calls of a function."""

    def __init__(self, reading: Reading, values: ReadsExpressions) -> None:
        self.reading = reading
        self.values = values

    def read(self, node: ast.Call, known: set[str], whole: bool = False, results: int = 1) -> tree.Expression:
        """Read a call that is not a writer's: the `whole` of what is assigned, tested or returned, or a part of an expression.

        `results` is how many values are needed; -1: any number.
        """
        callee = self.callee(node)
        if callee in WRITERS:
            self.reading.refuse(node, f"{self.name(node)}() returns no value; write it on a line of its own")
        if getattr(callee, "__fires__", False):
            fired = self.fire(node, known)
            if not whole:
                self.reading.refuse_moving(node)
            return fired
        if callee in OVER_GENERATORS and len(node.args) == 1 and not node.keywords:
            return self.gathered(node, callee, known)
        if isinstance(callee, str):
            arguments = tuple(self.values.value(argument, known) for argument in node.args)
            return tree.Primitive(callee, arguments, line=node.lineno)
        if callee is abs:
            read_only(*node.args)
        given = self.given(node, callee, known)
        if callee in READERS or callee in BUILTINS:
            return _NODES[callee](given, node.lineno)
        return self.called(node, callee, given.values, whole, results)

    def statement(self, node: ast.Call, known: set[str]) -> tree.Statement:
        """Read a call on a line of its own."""
        callee, reading = self.callee(node), self.reading
        if callee not in WRITERS:
            return tree.Do(self.read(node, known, whole=True, results=-1), line=node.lineno)
        if items := reading.resized_by(node.args[0] if node.args else None):
            reading.refuse_resizing(node, items)
        given = self.given(node, callee, known)
        reading.writes = reading.resizes = True
        reading.moves = reading.moves or callee in MOVERS
        return _WRITERS[callee](given, node.lineno)

    def name(self, node: ast.Call) -> str:
        """Return the name that is called."""
        if isinstance(node.func, ast.Lambda):
            self.reading.refuse(node, CURES[ast.Lambda])
        if not isinstance(node.func, ast.Name):
            method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            cure = METHOD_CURES.get(method, "call a function by its name")
            self.reading.refuse(node, f"methods do not compile; {cure}")
        return node.func.id

    def callee(self, node: ast.Call) -> Any:
        """Return what is called; the name alone, if that is one which only the reader of the tree knows."""
        name = self.name(node)
        if name in self.reading.locals:
            self.reading.refuse(node, f"{name} is a local name; call a function of the module by its name")
        if self.reading.extended is not None and not is_defined(self.reading.function, name):
            return name
        return self.reading.constant(node, name)

    def gathered(self, node: ast.Call, callee: Any, known: set[str]) -> tree.Expression:
        """Read a function of a generator."""
        (generator,) = node.args
        if not isinstance(generator, ast.GeneratorExp):
            numbers = ", or two numbers and more" if callee in BUILTINS else ""
            name = self.name(node)
            self.reading.refuse(node, f"{name}() takes a generator, `{name}(... for ... in ...)`{numbers}")
        loops, item = self.values.loops(generator, known)
        return tree.Gathered(OVER_GENERATORS[callee], item, loops, line=node.lineno)

    def given(self, node: ast.Call, callee: Any, known: set[str]) -> tree.Given:
        """Read the arguments of a call."""
        name, refuse = self.name(node), self.reading.refuse
        if callee is domain.members_of:
            refuse(node, "members_of() is what a loop goes over, or what `in` is followed by; a set is already its value")
        if isinstance(callee, type) and not issubclass(callee, int):
            refuse(node, f"no {callee.__name__} is made here; give its fields to what takes it, append(sequence, field=...)")
        if node.keywords and callee not in WITH_FIELDS:
            refuse(node, "pass arguments by position")
        values = tuple(self.values.value(argument, known) for argument in node.args)
        fields = [(keyword.arg, self.values.value(keyword.value, known)) for keyword in node.keywords]
        low, high = ARGUMENTS.get(callee, (0, len(values)))
        if not low <= len(values) <= high:
            refuse(node, f"{name}() takes {low if low == high or len(values) < low else high} arguments here")
        if any(field is None for field, _ in fields):
            refuse(node, f"{name}() takes fields by their names; write name=value for each")
        if (callee in WRITERS or callee in READERS or callee is len) and not isinstance(values[0], tree.Place):
            refuse(node, f"{ast.unparse(node.args[0])} is a number, and {name}() is of a part of the state")
        cls = getattr(node, RECORD_CLASS, None)
        return tree.Given(values, tuple((str(field), value) for field, value in fields), line=node.lineno, cls=cls)

    def called(self, node: ast.Call, callee: Any, arguments: tuple[tree.Expression, ...], whole: bool, results: int) -> tree.Call:
        """Read a call of a function of the language; what that does is determined after it is read."""
        name, reading = self.name(node), self.reading
        if not is_function(callee):
            others = sorted({*BUILTINS.values(), *OVER_GENERATORS.values(), *WRITERS.values(), *READERS.values()})
            cure = CALL_CURES.get(name, f"functions of the specification can be, and {', '.join(others)}")
            reading.refuse(node, f"{name} cannot be called here; {cure}")
        if callee is reading.function:
            reading.refuse(node, "a function cannot call itself")
        if len(arguments) != callee.__code__.co_argcount:
            every = ", each of which has to be given" if callee.__defaults__ else ""
            reading.refuse(node, f"{name}() takes {callee.__code__.co_argcount} arguments{every}")
        reading.calls[callee] = None
        reads_only = getattr(node, READS_ONLY, False)
        reading.asked.append(LaterCheck(node, callee, name, whole, results, reading.resized_by(None), reads_only))
        return tree.Call(callee, name, arguments, line=node.lineno)

    def fire(self, node: ast.Call, known: set[str]) -> tree.Fire:
        """Read what a machine is fired with."""
        reading = self.reading
        if items := reading.resized_by(None):
            reading.refuse_resizing(node, items)
        match node:
            case ast.Call(
                args=[state, constants, ast.Name(id=name), ast.Tuple(elts=entity), ast.Constant(value=str() as trigger)],
                keywords=[],
            ):
                first, second, *others = [self.values.value(part, known) for part in (state, constants, *entity)]
                machine = reading.constant(node, name)
                if not hasattr(machine, "triggers"):
                    reading.refuse(node, f"{name} is not a Machine; fire one")
                if trigger not in machine.triggers:
                    reading.refuse(node, f"{machine.name} has no trigger {trigger!r}; it has {', '.join(machine.triggers)}")
                if len(others) != len(machine.entity):
                    reading.refuse(node, f"{machine.name} is one machine for each ({', '.join(machine.entity)}); name those")
                reading.fires[machine, trigger] = None
                reading.writes = True
                return tree.Fire(first, second, machine, name, tuple(others), trigger, line=node.lineno)
        reading.refuse(node, "write fire(s, k, MACHINE, (entity, ...), 'trigger'), the trigger as a literal")


def _behind(given: tree.Given) -> tree.Given:
    """Return what is given behind the place."""
    return tree.Given(given.values[1:], given.fields, line=given.line, cls=given.cls)


_NODES: Mapping[Any, Callable[[tree.Given, int], tree.Expression]] = {
    len: lambda given, line: tree.Length(given.values[0], line=line),
    abs: lambda given, line: tree.Extreme(True, (given.values[0], tree.Signed("-", given.values[0], line=line)), line=line),
    min: lambda given, line: tree.Extreme(False, given.values, line=line),
    max: lambda given, line: tree.Extreme(True, given.values, line=line),
    domain.has: lambda given, line: tree.Has(given.values[0], _behind(given), line=line),
    domain.count: lambda given, line: tree.Count(given.values[0], _behind(given), line=line),
    domain.present: lambda given, line: tree.Present(given.values[0], line=line),
    domain.value_of: lambda given, line: tree.Content(given.values[0], line=line),
}

_WRITERS: Mapping[Any, Callable[[tree.Given, int], tree.Statement]] = {
    domain.append: lambda given, line: tree.Append(given.values[0], _behind(given), line=line),
    domain.truncate: lambda given, line: tree.Truncate(*given.values, line=line),
    domain.pop_first: lambda given, line: tree.PopFirst(*given.values, line=line),
    domain.reset: lambda given, line: tree.Reset(*given.values, line=line),
    domain.assign: lambda given, line: tree.Overwrite(*given.values, line=line),
    domain.add: lambda given, line: tree.Add(given.values[0], _behind(given), line=line),
    domain.remove: lambda given, line: tree.Remove(given.values[0], _behind(given), line=line),
    domain.put: lambda given, line: tree.Put(given.values[0], _behind(given), line=line),
    domain.drop: lambda given, line: tree.Drop(given.values[0], _behind(given), line=line),
}
