"""Translates functions of the language to terms: one `match` over the nodes of their trees, as the interpreter has it.

Control goes along all paths at once: each statement runs under the condition, its *path*, that control reaches it.
"""

from __future__ import annotations

from typing import Any

from kafka_spec.model_check.proof import places
from kafka_spec.model_check.proof.context import Collected
from kafka_spec.model_check.proof.expressions import Known, SymbolicExpressions
from kafka_spec.model_check.proof.loops import Ending
from kafka_spec.model_check.proof.places import Reference
from kafka_spec.model_check.proof.terms import (
    FALSE,
    TRUE,
    Formula,
    Untranslatable,
    Value,
    all_of,
    any_of,
    as_number,
    is_false,
    is_true,
    merged,
    negation,
)
from kafka_spec.spec.language import Function, Source, source_of, tree
from kafka_spec.spec.vocabulary.table import Constants


class SymbolicCall(SymbolicExpressions):
    """One call of a function: its names, and the paths on which it has returned."""

    def __init__(self, context: Collected, source: Source, names: dict[str, Any], outer: Formula) -> None:
        self.context, self.source, self.names, self.outer = context, source, names, outer
        self.returned: list[tuple[Formula, tuple[Value, ...]]] = []
        self.endings: list[Ending] = []

    def run(self) -> tuple[Value, ...]:
        """Run the function and return its results."""
        self.block(self.source.body, TRUE)
        if not self.returned:
            return ()
        *others, (_, results) = self.returned
        for path, values in reversed(others):
            results = tuple(merged(path, yes, no) for yes, no in zip(values, results, strict=True))
        return results

    # statements

    def block(self, statements: tree.Block, path: Formula) -> Formula:
        """Run statements; return the path on which control continues behind them."""
        for statement in statements:
            if is_false(path):
                break
            path = self.statement(statement, path)
        return path

    def statement(self, node: tree.Statement, path: Formula) -> Formula:
        """Run a statement; return the path on which control continues behind it."""
        match node:
            case tree.If(test, body, orelse):
                return self.branch(self.truth(test, path), body, orelse, path)
            case tree.For():
                return self.loop(node, path)
            case tree.Return(values):
                self.returned.append((path, tuple(self.simple(value, path) for value in values)))
                return FALSE
            case tree.Break():
                self.endings[-1].broken.append(path)
                return FALSE
            case tree.Continue():
                self.endings[-1].continued.append(path)
                return FALSE
            case tree.Pass():
                return path
            case tree.Do(what):
                self.called(what, path) if isinstance(what, tree.Call) else self.value(what, path)
                return path
            case tree.While():
                self.refuse(node, "a while loop")
            case tree.Assign() | tree.Unpack() | tree.Change():
                self.assign(node, path)
            case _:
                self.write(node, path)
        return path

    def branch(self, test: Formula, body: tree.Block, orelse: tree.Block, path: Formula) -> Formula:
        """Run both sides of an `if`, each on its path."""
        yes, no = all_of(path, test), all_of(path, negation(test))
        after, otherwise = self.block(body, yes), self.block(orelse, no)
        return path if after is yes and otherwise is no else any_of(after, otherwise)

    def assign(self, node: tree.Assign | tree.Unpack | tree.Change, path: Formula) -> None:
        """Give names, fields and items their values."""
        match node:
            case tree.Assign(target, value):
                self.set(target, self.value(value, path), path)
            case tree.Unpack(names, values):
                found = (
                    self.called(values, path) if isinstance(values, tree.Call) else [self.value(value, path) for value in values]
                )
                for name, one in zip(names, found, strict=True):
                    self.set(name, one, path)
            case tree.Change(target, sign, value):
                before = self.simple(target, path)
                self.set(target, self.arithmetic(node, sign, before, self.simple(value, path), path), path)

    def set(self, target: tree.Target, value: Known, path: Formula) -> None:
        """Give a name, a field or an item its value on a path."""
        if isinstance(target, tree.Local):
            self.names[target.name] = self.either(path, value, self.names.get(target.name))
            return
        if isinstance(value, Reference | Constants):
            self.refuse(target, "an assignment of what is not a number")
        for when, place in self.place(target, path).places:
            places.write(self.context, place, value, self.absolute(all_of(path, when)))

    def either(self, path: Formula, value: Known, before: Known | None) -> Known:
        """Return what a name stands for that gets a value on a path."""
        if before is None or is_true(path) or isinstance(value, Constants):
            return value
        if isinstance(value, Reference):
            others = before.places if isinstance(before, Reference) else ()
            kept = tuple((all_of(negation(path), when), place) for when, place in others)
            return Reference((*((all_of(path, when), place) for when, place in value.places), *kept))
        return value if isinstance(before, Reference | Constants) else self.merge(path, value, before)

    def write(self, node: tree.Statement, path: Formula) -> None:
        """Run a writer of the language."""
        match node:
            case tree.Append(sequence, given):
                values = self.given(given, path)
                for when, place in self.reference(sequence, path).places:
                    places.append(self.context, place, values, self.absolute(all_of(path, when)))
            case tree.Truncate(sequence, offset):
                number_ = as_number(self.simple(offset, path))
                for when, place in self.reference(sequence, path).places:
                    places.truncate(self.context, place, number_, self.absolute(all_of(path, when)))
            case tree.PopFirst(sequence):
                for when, place in self.reference(sequence, path).places:
                    places.pop_first(self.context, place, self.absolute(all_of(path, when)))
            case tree.Reset(record):
                for when, place in self.reference(record, path).places:
                    places.overwrite(self.context, place, None, self.absolute(all_of(path, when)))
            case tree.Overwrite(record, source):
                self.overwrite(self.reference(record, path), self.reference(source, path), path)
            case _:
                self.refuse(node, f"{type(node).__name__.lower()}()")

    def overwrite(self, targets: Reference, sources: Reference, path: Formula) -> None:
        """Copy one record to another."""
        if len(sources.places) > 1 and len(targets.places) > 1:
            raise Untranslatable("assign() from one of several records to one of several")
        for when, place in targets.places:
            for where, source in sources.places:
                places.overwrite(self.context, place, source, self.absolute(all_of(path, when, where)))

    def given(self, given: tree.Given, path: Formula) -> dict[tuple[str, ...], Value]:
        """Return the numbers and sets that a writer is given, by their paths in the item."""
        found: dict[tuple[str, ...], Value] = {}
        for node in given.values:
            value = self.value(node, path)
            if isinstance(value, Reference):
                each = [(when, places.read_leaves(place)) for when, place in value.places]
                found |= {leaf: places.one_of([(when, known[leaf]) for when, known in each]) for leaf in each[0][1]}
            elif not isinstance(value, Constants):
                found[()] = value
        return found | {(name,): self.simple(node, path) for name, node in given.fields}

    def inner(self, function: Function, arguments: list[Known], path: Formula) -> tuple[Value, ...]:
        """Run a function of the spec."""
        source = source_of(function)
        names = dict(zip(source.parameters, arguments, strict=True))
        return SymbolicCall(self.context, source, names, self.absolute(path)).run()
