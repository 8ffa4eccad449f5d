"""Bodies of functions as terms, by symbolic execution: each path through a function ends in a term, and an IF joins paths.

This module handles control flow. `run` follows statements to where control leaves them (`Ends` says which term that gives); `step`
executes a statement that always falls through, and leaves its result in the frame. Loops are in loops.py.
"""

from __future__ import annotations

import abc
import ast
from collections.abc import Callable
from dataclasses import dataclass

from kafka_spec.diagrams.tla.calls import Calls
from kafka_spec.diagrams.tla.expressions import CONSTANTS
from kafka_spec.diagrams.tla.frames import Frame
from kafka_spec.diagrams.tla.shortened import choice
from kafka_spec.diagrams.tla.sorts import BOOL, Sort
from kafka_spec.diagrams.tla.terms import Access, Atom, Term, Tuple, number
from kafka_spec.diagrams.tla.values import Impossible, Value
from kafka_spec.spec.language import resolve

NOWHERE = Atom("nowhere")
"""The end of a path that is never taken."""


@dataclass(frozen=True)
class Ends:
    """The terms for the ends of a path: control falls off the last statement, returns, breaks the loop, or continues it."""

    fall: Callable[[Frame], Term]
    back: Callable[[Frame, list[Value]], Term]
    leave: Callable[[Frame], Term] | None = None
    again: Callable[[Frame], Term] | None = None
    truth: bool = False
    """Whether the terms are truth values."""


def jumps(statements: list[ast.stmt], own_loop: bool = True) -> bool:
    """Whether control may leave statements other than at their end; with `own_loop`, break and continue count too."""
    for node in statements:
        if isinstance(node, ast.Return) or (own_loop and isinstance(node, ast.Break | ast.Continue)):
            return True
        if isinstance(node, ast.If) and (jumps(node.body, own_loop) or jumps(node.orelse, own_loop)):
            return True
        if isinstance(node, ast.For) and jumps(node.body, False):
            return True
    return False


class Statements(Calls):
    """Follows statements."""

    def run(self, frame: Frame, statements: list[ast.stmt], ends: Ends) -> Term:
        """Return the term of all paths from here on."""
        for index, node in enumerate(statements):
            rest = statements[index + 1 :]
            match node:
                case ast.Return(value=value):
                    term = ends.back(frame, self.returned(frame, value))
                    return self.closed(frame, term)
                case ast.Break():
                    assert ends.leave is not None
                    return self.closed(frame, ends.leave(frame))
                case ast.Continue():
                    assert ends.again is not None
                    return self.closed(frame, ends.again(frame))
                case ast.If(test=test, body=body, orelse=orelse) if jumps([node]):
                    condition = self.test(frame, test, whole=True)
                    yes = self.scoped(frame, [*body, *rest], ends)
                    no = self.scoped(frame, [*orelse, *rest], ends)
                    return self.closed(
                        frame, no if yes == NOWHERE else yes if no == NOWHERE else choice(condition, yes, no, ends.truth)
                    )
                case ast.For() if jumps([node]):
                    return self.closed(frame, self.loop_out(frame, node, rest, ends))
                case _:
                    self.step(frame, node)
        return self.closed(frame, ends.fall(frame))

    @abc.abstractmethod
    def loop_out(self, frame: Frame, node: ast.For, rest: list[ast.stmt], ends: Ends) -> Term:
        """Return the term of a loop that may return and of the statements after it."""

    @abc.abstractmethod
    def loop(self, frame: Frame, node: ast.For) -> None:
        """Translate a loop that does not return."""

    def returned(self, frame: Frame, node: ast.expr | None) -> list[Value]:
        """Return the values that a function returns."""
        if node is None:
            return []
        if isinstance(node, ast.Tuple):
            return [self.value(frame, part) for part in node.elts]
        if isinstance(node, ast.Call):
            return self.call(frame, node, whole=True)
        return [self.value(frame, node, whole=True)]

    def step(self, frame: Frame, node: ast.stmt) -> None:
        """Execute a statement that falls through."""
        try:
            self.take(frame, node)
        except Impossible as error:
            self.refuse(node, f"{ast.unparse(node).splitlines()[0]}: {error}")

    def take(self, frame: Frame, node: ast.stmt) -> None:
        """Execute a statement that falls through, by its kind."""
        match node:
            case ast.Expr(value=ast.Constant()) | ast.Pass():
                pass
            case ast.Expr(value=ast.Call(func=ast.Name(id=name)) as called):
                if getattr(resolve(self.source.function, name), "__fires__", False):
                    self.fire(frame, called, whole=True, asked=False)
                else:
                    self.call(frame, called, whole=True)
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value):
                for target, part in zip(targets, self.several(frame, value), strict=True):
                    self.assign(frame, target, part)
            case ast.Assign(targets=[target], value=value) | ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(frame, target, self.value(frame, value, whole=True))
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                before = self.local(frame, name)
                self.assign(frame, target, self.values.arithmetic(op, before, self.value(frame, value)))
            case ast.AugAssign(target=target, op=op, value=value):
                place = self.place(frame, target)
                before = self.read(frame, place)
                result = self.values.arithmetic(op, before, self.value(frame, value))
                self.store(frame, place, result, node)
            case ast.If(test=test, body=body, orelse=orelse):
                self.branch(frame, self.test(frame, test, whole=True), body, orelse)
            case ast.For():
                self.loop(frame, node)
            case _:
                self.refuse(node, f"{type(node).__name__} has no form in TLA+ here")

    def several(self, frame: Frame, node: ast.expr) -> list[Value]:
        """Return the values assigned to a tuple of names."""
        if isinstance(node, ast.Tuple):
            return [self.value(frame, part) for part in node.elts]
        if isinstance(node, ast.Call):
            return self.call(frame, node, whole=True)
        self.refuse(node, "only a tuple or the result of a function can be taken apart")

    def assign(self, frame: Frame, target: ast.expr, value: Value) -> None:
        """Assign to a name, a field or an item."""
        if isinstance(target, ast.Name):
            if value.sort != CONSTANTS:
                frame.locals[target.id] = self.bound(frame, target.id, value)
            return
        self.store(frame, self.place(frame, target), value, target)

    def scoped(self, frame: Frame, statements: list[ast.stmt], ends: Ends) -> Term:
        """Follow a branch; its names may be reused after it."""
        used = set(self.used)
        term = self.run(frame.fork(), statements, ends)
        self.used = used
        return term

    def branch(self, frame: Frame, test: Term, body: list[ast.stmt], orelse: list[ast.stmt]) -> None:
        """Execute an `if` whose branches both fall through, and join their changes."""
        yes, no, used = frame.fork(), frame.fork(), set(self.used)
        for way, statements in ((yes, body), (no, orelse)):
            for statement in statements:
                self.step(way, statement)
            self.used = set(used)
        names, sorts = self.changed_names(frame, yes, no)
        roots = [name for name, root in frame.roots.items() if any(way.roots[name].state() != root.state() for way in (yes, no))]
        if not names and not roots:
            return
        ends = []
        for way in (yes, no):
            parts = [self.values.as_sort(way.locals[name], sort).term for name, sort in zip(names, sorts, strict=True)]
            parts += [way.roots[root].now() for root in roots]
            ends.append(self.closed(way, parts[0] if len(parts) == 1 else Tuple(tuple(parts))))
        single = len(names) + len(roots) == 1
        joined = choice(test, ends[0], ends[1], single and sorts == [BOOL])
        after = [joined] if single else self.unpack(frame, "joined", joined, len(names) + len(roots))
        for name, part, sort in zip(names, after, sorts, strict=False):
            frame.locals[name] = self.bound(frame, name, Value(part, sort))
        for root, part in zip(roots, after[len(names) :], strict=True):
            frame.put(root, part)
            self.name_root(frame, root)

    def changed_names(self, frame: Frame, yes: Frame, no: Frame) -> tuple[list[str], list[Sort]]:
        """Return the local numbers that two branches changed, and the sorts to join them as."""
        names: list[str] = []
        sorts: list[Sort] = []
        for name in dict.fromkeys([*yes.locals, *no.locals]):
            one, other, before = yes.locals.get(name), no.locals.get(name), frame.locals.get(name)
            if one is None or other is None or (one == before and other == before):
                continue  # a name with a value on one branch only is not read later
            if one.place is not None or other.place is not None:
                frame.locals.pop(name, None)
                if one.place == other.place and one.place is not None:
                    frame.locals[name] = Value(one.term, one.sort, place=one.place)
                continue
            names.append(name)
            sorts.append(self.values.joined(one.sort, other.sort))
        return names, sorts

    def unpack(self, frame: Frame, name: str, term: Term, count: int) -> list[Term]:
        """Bind a tuple to a name, and return its parts."""
        known = self.fresh(name)
        frame.bindings.append((known, term))
        return [Access(Atom(known), number(index + 1)) for index in range(count)]
