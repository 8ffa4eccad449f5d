"""Translates functions of the language to terms: one `match` over the nodes of their trees, as the interpreter has it.

Control goes along all paths at once: each statement runs under the condition, its *path*, that control reaches it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kafka_spec.model_check.proof import places, writers
from kafka_spec.model_check.proof.cells import ArrayCell
from kafka_spec.model_check.proof.context import Collected
from kafka_spec.model_check.proof.expressions import Known, SymbolicExpressions
from kafka_spec.model_check.proof.loops import Ending
from kafka_spec.model_check.proof.places import Reference
from kafka_spec.model_check.proof.terms import (
    FALSE,
    TRUE,
    Formula,
    Value,
    Whole,
    all_of,
    any_of,
    compared,
    is_false,
    is_true,
    negation,
    number,
)
from kafka_spec.model_check.proof.values import as_number, as_truth, merged
from kafka_spec.spec.language import Function, Source, source_of, tree
from kafka_spec.spec.language.domain import Map, machine_paths
from kafka_spec.spec.vocabulary.table import Constants, Machine, Row
from kafka_spec.spec.vocabulary.table.firing import table_of


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
            writers.write(self.context, place, value, self.absolute(all_of(path, when)))

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
                what = self.given(given, path)
                self.at_places(sequence, path, lambda place, when: writers.append(self.context, place, *what, when))
            case tree.Add(elements, given):
                what = self.given(given, path)
                self.at_places(elements, path, lambda place, when: writers.add(self.context, place, *what, when))
            case tree.Remove(elements, given):
                what = self.given(given, path)
                self.at_places(elements, path, lambda place, when: writers.remove(self.context, place, *what, when))
            case tree.Put(option, given) | tree.Drop(option, given):
                values, fields = self.given(given, path)
                if self.is_map(option, path):
                    values, at = values[1:], self.key(option, values[0], path)
                else:
                    at = self.reference(option, path)
                for when, place in at.places:
                    here = self.absolute(all_of(path, when))
                    if isinstance(node, tree.Drop):
                        writers.drop(self.context, place, here)
                    else:
                        writers.put(self.context, place, values, fields, here)
            case tree.Truncate(sequence, offset):
                end = as_number(self.simple(offset, path))
                self.at_places(sequence, path, lambda place, when: writers.truncate(self.context, place, end, when))
            case tree.PopFirst(sequence):
                self.at_places(sequence, path, lambda place, when: writers.pop_first(self.context, place, when))
            case tree.Reset(record):
                self.at_places(record, path, lambda place, when: places.overwrite(place, None, when))
            case tree.Overwrite(record, source):
                sources = self.reference(source, path).places
                for where, one in sources:
                    self.at_places(record, all_of(path, where), lambda place, when, one=one: places.overwrite(place, one, when))  # type: ignore[misc]
            case _:
                self.refuse(node, f"{type(node).__name__.lower()}()")

    def at_places(self, node: tree.Expression, path: Formula, writer: Callable[[places.Place, Formula], None]) -> None:
        """Run a writer at each place that an expression may mean, under the condition that it means it."""
        for when, place in self.reference(node, path).places:
            writer(place, self.absolute(all_of(path, when)))

    def is_map(self, node: tree.Expression, path: Formula) -> bool:
        """Whether an expression means a map."""
        return isinstance(self.reference(node, path).places[0][1].type, Map)

    def key(self, node: tree.Expression, key: Any, path: Formula) -> Reference:
        """Return the option of a key of a map."""
        index, found = as_number(key), []
        for when, place in self.reference(node, path).places:
            assert isinstance(place, ArrayCell)
            inside = all_of(compared(">=", index, number(0)), compared("<", index, number(len(place.items))))
            self.context.need("a key of the map", inside, self.absolute(all_of(path, when)))
            found += [(all_of(when, compared("==", index, number(at))), option) for at, option in enumerate(place.items)]
        return Reference(tuple(found))

    # calls

    def inner(self, function: Function, arguments: list[Known], path: Formula) -> tuple[Value, ...]:
        """Run a function of the spec."""
        source = source_of(function)
        names = dict(zip(source.parameters, arguments, strict=True))
        return SymbolicCall(self.context, source, names, self.absolute(path)).run()

    def fired(self, node: tree.Fire, path: Formula) -> Formula:
        """Change the state of a machine by its table; return whether a row was found."""
        machine = table_of(self.context.k, node.machine)
        entity = [as_number(self.simple(index, path)) for index in node.entity]
        state = self.machine_state(node.state, machine, entity, path)
        source = as_number(places.one_of((when, places.value_at(place)) for when, place in state.places))
        scope: dict[str, Known] = {"s": self.value(node.state, path), "k": self.value(node.constants, path)}
        scope |= dict(zip(machine.entity, entity, strict=True))
        rows = machine.rows_of(node.trigger)
        fits = [self.fits(row, source, scope, path) for row in rows]
        for one, other in itertools.combinations(fits, 2):
            self.context.need(f"one row of {machine.name} that fits", negation(all_of(one, other)), self.absolute(path))
        for row, fit in zip(rows, fits, strict=True):
            here = all_of(path, fit)
            if row.waits_for:
                self.context.need(f"a row that does not wait for {row.waits_for}", FALSE, self.absolute(here))
            for effect in row.effects if not is_false(fit) else ():
                self.of_scope(effect, scope, here)
            for when, place in state.places:
                places.store(place, number(row.target), self.absolute(all_of(here, when)))
        return any_of(*fits)

    def of_scope(self, function: Any, scope: Mapping[str, Any], path: Formula) -> tuple[Value, ...]:
        """Run a function of a table on what it asks for by name."""
        return self.inner(function, [scope[name] for name in source_of(function).parameters], path)

    def fits(self, row: Row, source: Whole, scope: Mapping[str, Any], path: Formula) -> Formula:
        """Return whether a row leaves this state, and its guards say that it fits."""
        found = any_of(*(compared("==", source, number(state)) for state in row.sources))
        for guard in row.looks:
            if is_false(found):
                break
            (holds,) = self.of_scope(guard, scope, all_of(path, found))
            found = all_of(found, negation(as_truth(holds)) if guard in row.unless else as_truth(holds))
        return found

    def machine_state(self, state: tree.Expression, machine: Machine, entity: Sequence[Whole], path: Formula) -> Reference:
        """Return where the state of one entity of a machine stands."""
        reference, indices = self.reference(state, path), iter(entity)
        ((_, root),) = reference.places
        (steps,) = machine_paths(root.type, machine.name)  # type: ignore[arg-type]
        for step in steps:
            if step == "[]":
                index = next(indices)
                for when, place in reference.places:
                    self.context.need("an index in range", places.has_index(place, index), self.absolute(all_of(path, when)))
                reference = reference.at(index)
            else:
                reference = Reference(tuple((when, places.field_of(place, step)) for when, place in reference.places))
        return reference
