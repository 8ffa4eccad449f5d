"""Bodies of functions as terms, by symbolic execution: each path through a function ends in a term, and an IF joins paths.

Two `match` over the nodes of the tree say what each becomes: `value_of` for expressions, `take` for statements that always fall
through, which leave their result in the frame. `run` follows statements to where control leaves them (`Ends` says which term that
gives). Loops are in loops.py.
"""

from __future__ import annotations

from typing import assert_never

from kafka_spec.diagrams.tla.calls import (
    add,
    append,
    call,
    count,
    drop,
    extreme,
    fire,
    has,
    length,
    overwrite,
    pop_first,
    present,
    put,
    remove,
    reset,
    truncate,
)
from kafka_spec.diagrams.tla.expressions import CONSTANTS
from kafka_spec.diagrams.tla.frames import Frame
from kafka_spec.diagrams.tla.generators import contained, gathered
from kafka_spec.diagrams.tla.lookup import lookup
from kafka_spec.diagrams.tla.loops import NOWHERE, Ends, Runs, loop, loop_out
from kafka_spec.diagrams.tla.shortened import choice, negated
from kafka_spec.diagrams.tla.sorts import BOOL, INT, Sort
from kafka_spec.diagrams.tla.terms import FALSE, TRUE, Term, Tuple, number
from kafka_spec.diagrams.tla.values import Impossible, Value
from kafka_spec.spec.language import tree
from kafka_spec.spec.language.text import line_of, text_of


def jumps(statements: tree.Block, own_loop: bool = True) -> bool:
    """Whether control may leave statements other than at their end; with `own_loop`, break and continue count too."""
    for node in statements:
        if isinstance(node, tree.Return) or (own_loop and isinstance(node, tree.Break | tree.Continue)):
            return True
        if isinstance(node, tree.If) and (jumps(node.body, own_loop) or jumps(node.orelse, own_loop)):
            return True
        if isinstance(node, tree.For) and jumps(node.body, False):
            return True
    return False


class Body(Runs):
    """Translates the body of a function."""

    # expressions

    def value_of(self, frame: Frame, node: tree.Expression, whole: bool) -> Value:
        """Return the value of an expression, by its kind."""
        match node:
            case tree.Number(bool() as truth):
                return Value(TRUE if truth else FALSE, BOOL)
            case tree.Number(known):
                return Value(number(known), INT, known)
            case tree.Constant():
                return self.named(node)
            case tree.Local(name):
                return self.local(frame, name)
            case tree.Field(of, name) if self.is_constants(of):
                bound: Value = self.unit.constant(name)
                return bound
            case tree.Field() | tree.Item() | tree.Content():
                return self.read(frame, self.place(frame, node))
            case tree.Arithmetic(sign, left, right):
                return self.values.arithmetic(sign, self.value(frame, left), self.value(frame, right))
            case tree.Not(of):
                return Value(negated(self.test(frame, of, whole)), BOOL)
            case tree.Signed(sign, of):
                value = self.value(frame, of)
                return value if sign == "+" else self.values.opposite(value) if sign == "-" else self.values.inverted(value)
            case tree.Contained():
                return Value(contained(self, frame, node), BOOL)
            case tree.Comparison():
                return Value(self.comparison(frame, node), BOOL)
            case tree.Junction(every, parts):
                return self.junction(frame, every, parts)
            case tree.Choice(test, yes, no):
                return self.chosen(self.test(frame, test), self.value(frame, yes), self.value(frame, no))
            case tree.Gathered():
                return gathered(self, frame, node)
            case tree.Has():
                return Value(has(self, frame, node), BOOL)
            case tree.Present():
                return Value(present(self, frame, node), BOOL)
            case tree.Count() | tree.Length() | tree.Extreme():
                return Value(self.counted(frame, node), INT)
            case tree.Fire():
                return fire(self, frame, node, whole)
            case tree.Call():
                return call(self, frame, node, whole)[0]
            case tree.Lookup():
                return lookup(self, frame, node)
            case tree.Primitive():
                self.refuse(node, f"{text_of(node)} is not a call of the language")
            case _:
                assert_never(node)

    def counted(self, frame: Frame, node: tree.Count | tree.Length | tree.Extreme) -> Term:
        """Return a number of elements or of items, or the largest or smallest of some numbers."""
        match node:
            case tree.Count():
                return count(self, frame, node)
            case tree.Length():
                return length(self, frame, node)
            case tree.Extreme():
                return extreme(self, frame, node)

    # statements

    def run(self, frame: Frame, statements: tree.Block, ends: Ends) -> Term:
        """Return the term of all paths from here on."""
        for index, node in enumerate(statements):
            rest = statements[index + 1 :]
            match node:
                case tree.Return(values):
                    term = ends.back(frame, self.returned(frame, values))
                    return self.closed(frame, term)
                case tree.Break():
                    assert ends.leave is not None
                    return self.closed(frame, ends.leave(frame))
                case tree.Continue():
                    assert ends.again is not None
                    return self.closed(frame, ends.again(frame))
                case tree.If(test, body, orelse) if jumps((node,)):
                    condition = self.test(frame, test, whole=True)
                    yes = self.scoped(frame, (*body, *rest), ends)
                    no = self.scoped(frame, (*orelse, *rest), ends)
                    return self.closed(
                        frame, no if yes == NOWHERE else yes if no == NOWHERE else choice(condition, yes, no, ends.truth)
                    )
                case tree.For() if jumps((node,)):
                    return self.closed(frame, loop_out(self, frame, node, rest, ends))
                case _:
                    self.step(frame, node)
        return self.closed(frame, ends.fall(frame))

    def returned(self, frame: Frame, values: tuple[tree.Expression, ...]) -> list[Value]:
        """Return the values that a function returns."""
        return [self.value(frame, value, whole=len(values) == 1) for value in values]

    def step(self, frame: Frame, node: tree.Statement) -> None:
        """Execute a statement that falls through."""
        try:
            self.take(frame, node)
        except Impossible as error:
            self.refuse(node, f"{line_of(node)}: {error}")

    def take(self, frame: Frame, node: tree.Statement) -> None:
        """Execute a statement that falls through, by its kind."""
        match node:
            case tree.Pass():
                pass
            case tree.Do(tree.Fire() as fired):
                fire(self, frame, fired, whole=True, asked=False)
            case tree.Do(tree.Call() as called):
                call(self, frame, called, whole=True)
            case tree.Do(what):
                self.value(frame, what, whole=True)
            case tree.Unpack(names, values):
                parts = (
                    call(self, frame, values, whole=True)
                    if isinstance(values, tree.Call)
                    else [self.value(frame, value) for value in values]
                )
                for name, part in zip(names, parts, strict=True):
                    self.assign(frame, name, part)
            case tree.Assign(target, value):
                self.assign(frame, target, self.value(frame, value, whole=True))
            case tree.Change():
                self.augment(frame, node)
            case tree.If(test, body, orelse):
                self.branch(frame, self.test(frame, test, whole=True), body, orelse)
            case tree.For():
                loop(self, frame, node)
            case tree.Append():
                append(self, frame, node)
            case tree.Truncate():
                truncate(self, frame, node)
            case tree.PopFirst():
                pop_first(self, frame, node)
            case tree.Reset():
                reset(self, frame, node)
            case tree.Overwrite():
                overwrite(self, frame, node)
            case tree.Add():
                add(self, frame, node)
            case tree.Remove():
                remove(self, frame, node)
            case tree.Put():
                put(self, frame, node)
            case tree.Drop():
                drop(self, frame, node)
            case tree.Return() | tree.Break() | tree.Continue() | tree.While():
                self.refuse(node, f"{type(node).__name__} does not fall through")
            case _:
                assert_never(node)

    def augment(self, frame: Frame, node: tree.Change) -> None:
        """Assign the result of an operator."""
        if isinstance(node.target, tree.Local):
            before = self.local(frame, node.target.name)
            self.assign(frame, node.target, self.values.arithmetic(node.sign, before, self.value(frame, node.value)))
            return
        place = self.place(frame, node.target)
        before = self.read(frame, place)
        self.store(frame, place, self.values.arithmetic(node.sign, before, self.value(frame, node.value)))

    def assign(self, frame: Frame, target: tree.Target, value: Value) -> None:
        """Assign to a name, a field or an item."""
        if not isinstance(target, tree.Local):
            self.store(frame, self.place(frame, target), value)
        elif value.sort != CONSTANTS:
            frame.locals[target.name] = self.bound(frame, target.name, value)

    def scoped(self, frame: Frame, statements: tree.Block, ends: Ends) -> Term:
        """Follow a branch; its names may be reused after it."""
        used = set(self.used)
        term = self.run(frame.fork(), statements, ends)
        self.used = used
        return term

    def branch(self, frame: Frame, test: Term, body: tree.Block, orelse: tree.Block) -> None:
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
