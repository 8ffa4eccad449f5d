"""Coverage: which rules, rows, guards, antecedents and lines of a spec a search has run, and how often.

Counted by the compiled code of a search on one thread (`explore(..., covering=True)`). A guard that never refuses could be dropped
within these bounds, and nothing would change; one that is never true makes its rule or row dead. A row is counted where it is
chosen, also in steps that a bound then forbids. The start rule runs in plain Python, and its lines are not counted.
"""

from __future__ import annotations

import ast
import functools
import linecache
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.model_check.record.layout import Packed, packed
from kafka_spec.spec.language import Function, Source, source_of, tree
from kafka_spec.spec.language.domain import Maybe, Sequence
from kafka_spec.spec.language.walking import walk
from kafka_spec.spec.vocabulary.table import Among, Machine, Row, Rule, Spec, first_line

Judged = Literal["both", "never refuses", "always refuses", "never asked"]


@dataclass(frozen=True)
class Condition:
    """A guard of a rule, or a condition of a row: how often it was asked, and how often it refused."""

    name: str
    summary: str
    asked: int
    refused: int

    @property
    def judged(self) -> Judged:
        """What the counts say of it."""
        if not self.asked:
            return "never asked"
        return "never refuses" if not self.refused else "always refuses" if self.refused == self.asked else "both"


@dataclass(frozen=True)
class CoveredRule:
    """A rule: its firings, the states it reached first, the steps that only a bound prevented, its guards, and its lines."""

    name: str
    fired: int
    new: int
    bounded: int
    conditions: tuple[Condition, ...]
    """Its guards."""
    file: str
    lines: tuple[int, int]
    """The first and the last line of its statement; (0, 0) if that was not found."""
    unreachable: bool
    """Whether the spec says that it cannot fire."""


@dataclass(frozen=True)
class CoveredRow:
    """A row of a machine: how often it was chosen, its conditions, and its lines."""

    machine: str
    change: str
    fired: int
    conditions: tuple[Condition, ...]
    file: str
    lines: tuple[int, int]
    unreachable = False


@dataclass(frozen=True)
class CoveredProperty:
    """A property: on how many states or steps it was tested, by the name of its antecedent; None for a goal."""

    name: str
    kind: str
    verdict: str
    antecedent: str
    tested: int | None


@dataclass(frozen=True)
class CoveredContainer:
    """A sequence, set, bag or queue of the state: the most items that one held, and how many it has room for."""

    path: str
    fullest: int
    capacity: int
    bound: str
    """The bound that its capacity follows; "" if it is a number."""
    item_bytes: int
    """The bytes of a state for each item that it has room for."""


@dataclass(frozen=True)
class Coverage:
    """What a search has run of a spec."""

    model: str
    bounds: dict[str, int]
    verdict: str
    stopped: str
    distinct: int
    rules: tuple[CoveredRule, ...]
    rows: tuple[CoveredRow, ...]
    properties: tuple[CoveredProperty, ...]
    containers: tuple[CoveredContainer, ...]
    lines: dict[str, dict[int, int]]
    """For each file, by the number of the line on which a statement begins, how often it was run."""

    @property
    def parts(self) -> tuple[CoveredRule | CoveredRow, ...]:
        """The rules, then the rows."""
        return *self.rules, *self.rows

    @property
    def conditions(self) -> list[tuple[str, Condition]]:
        """The guards of rules that fired and the conditions of rows that were chosen, each with what it belongs to."""
        rows = [(f"{row.machine} {row.change}", condition) for row in self.rows if row.fired for condition in row.conditions]
        return [*((rule.name, guard) for rule in self.rules if rule.fired for guard in rule.conditions), *rows]


def coverage_of(result: Exploration) -> Coverage:
    """Return the coverage of a search that has counted it."""
    spec = result.spec
    rules = tuple(_rule(result, rule) for rule in spec.rules)
    rows = tuple(_row(result, machine, number) for machine in spec.machines for number in range(len(machine.rows)))
    names = {claim.name: claim.when.__name__ for claim in result.properties if claim.when is not None}
    properties = tuple(
        CoveredProperty(name, kind, result.verdict_of(name), names.get(name, ""), result.tested_of(name))
        for name, kind in result.claims
    )
    lines: dict[str, dict[int, int]] = {}
    for source in sources(spec, (claim for found in result.properties for claim in (found.predicate, found.when) if claim)):
        file = source.code.co_filename
        for number in statements(source):
            lines.setdefault(file, {})[number] = result.tallies.get(("line", file, number), 0)
    containers = tuple(_containers(result, packed(spec.space(result.bounds).root), ""))
    ran = result.verdict, result.stopped, result.distinct
    return Coverage(spec.name, dict(result.bounds), *ran, rules, rows, properties, containers, lines)


def _containers(result: Exploration, place: Packed, path: str) -> Iterator[CoveredContainer]:
    """Yield the containers inside a part of the state; an option is none."""
    if place.fields is not None:
        for name, (_, field) in place.fields.items():
            yield from _containers(result, field, f"{path}.{name}".removeprefix("."))
    elif place.item is not None:
        of = place.type
        if isinstance(of, Sequence) and not isinstance(of, Maybe) and ("fullest", path) in result.tallies:
            yield CoveredContainer(path, result.tallies["fullest", path], of.capacity, of.bound or "", place.item.size)
        yield from _containers(result, place.item, f"{path}[]")


def _condition(result: Exploration, function: Function, whose: tuple[str | int, ...], denied: bool = False) -> Condition:
    name = function.__name__
    asked, held = (result.tallies.get((kind, *whose, name), 0) for kind in ("asked", "held"))
    if denied:
        return Condition(f"not {name}", f"not: {first_line(function)}", asked, held)
    return Condition(name, first_line(function), asked, asked - held)


def _rule(result: Exploration, rule: Rule) -> CoveredRule:
    guards = tuple(_condition(result, guard, ("rule", rule.name)) for guard in rule.guards)
    file = getattr(sys.modules.get(rule.declared_in), "__file__", None) or ""
    calls = [node for node in _calls(file, "Rule") if _named(node, rule.name)]
    counts = result.fired[rule.name], result.new[rule.name], result.bounded[rule.name]
    return CoveredRule(rule.name, *counts, guards, file, _span(calls), rule.name in result.spec.unreachable_rules)


def _row(result: Exploration, machine: Machine, number: int) -> CoveredRow:
    row, whose = machine.rows[number], ("row", machine.name, number)
    conditions = (
        *(_condition(result, guard, whose) for guard in row.guards if callable(guard)),
        *(_condition(result, guard, whose, denied=True) for guard in row.unless if callable(guard)),
    )
    file, lines = _place_of(machine, row)
    sources = ", ".join(source.name for source in row.sources)
    change = f"{row.trigger}: {sources} to {row.target.name}"
    return CoveredRow(machine.name, change, result.tallies.get(whose, 0), conditions, file, lines)


def sources(spec: Spec, claims: Iterable[Function]) -> Iterator[Source]:
    """Yield the functions that compiled code may run: those of rules, rows and properties, and what they call, each once."""
    first: list[Function] = [
        function
        for rule in spec.rules
        for function in (*rule.guards, *rule.bound_guards, *rule.effects, *_among(rule))
    ]  # fmt: skip
    rows = [row for machine in spec.machines for row in machine.rows]
    first += [function for row in rows for function in (*row.looks, *row.effects) if callable(function)]
    left, known = [*first, *claims], set()
    while left:
        function = left.pop()
        if function not in known:
            known.add(function)
            source = source_of(function)
            left += source.calls
            yield source


def _among(rule: Rule) -> list[Function]:
    return [parameter.that for parameter in rule.params.values() if isinstance(parameter, Among)]


def statements(source: Source) -> list[int]:
    """Return the lines on which the statements of a function begin, without its docstring."""
    return sorted({node.line for node in walk(*source.body) if isinstance(node, tree.Statement)})


# ---------------------------------------------------------------------------------------------------------------------
# Where rules and rows stand


@functools.lru_cache(maxsize=64)
def _tree(file: str) -> ast.Module:
    try:
        return ast.parse("".join(linecache.getlines(file)) if file else "")
    except SyntaxError:
        return ast.Module([], [])


def _calls(file: str, name: str) -> list[ast.Call]:
    """Return the calls of a name in a file, from top to bottom."""
    nodes = ast.walk(_tree(file))
    calls = [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name]
    return sorted(calls, key=lambda node: node.lineno)


def _assigned(file: str) -> Iterator[tuple[str, ast.Call]]:
    """Yield the names that a module gives to the results of calls."""
    for node in _tree(file).body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            yield from ((target.id, node.value) for target in node.targets if isinstance(target, ast.Name))


def _named(node: ast.Call, name: str, keyword: str = "name") -> bool:
    """Whether the first argument of a call, or the one with this keyword, is a name."""
    values = [*node.args[:1], *(given.value for given in node.keywords if given.arg == keyword)]
    return any(isinstance(value, ast.Constant) and value.value == name for value in values)


def _span(calls: list[ast.Call]) -> tuple[int, int]:
    """Return the lines of the one call that was found; of several it is not known which one is meant."""
    return (calls[0].lineno, calls[0].end_lineno or calls[0].lineno) if len(calls) == 1 else (0, 0)


def _place_of(machine: Machine, row: Row) -> tuple[str, tuple[int, int]]:
    """Return the file and the lines of a row: the call in its machine that has its trigger, its sources and its guards."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if not file or not any(isinstance(v, Machine) and v.name == machine.name for v in list(vars(module).values())):
            continue
        stated = [node for home in _calls(file, "Machine") if _named(home, machine.name) for node in _rows_in(home, file)]
        inside = [node for node in stated if _named(node, row.trigger, "trigger")]
        same = [other for other in machine.rows if other.trigger == row.trigger]
        if len(inside) == len(same):
            return file, _span([inside[next(place for place, other in enumerate(same) if other is row)]])
    return "", (0, 0)


def _rows_in(home: ast.Call, file: str) -> Iterator[ast.Call]:
    """Yield the rows that the statement of a machine lists, in order; a row with a name of its own is found by it."""
    named = {name: call for name, call in _assigned(file) if isinstance(call.func, ast.Name) and call.func.id == "Row"}
    for rows in (*home.args, *(given.value for given in home.keywords if given.arg == "rows")):
        for row in rows.elts if isinstance(rows, ast.Tuple) else ():
            if isinstance(row, ast.Call):
                yield row
            elif isinstance(row, ast.Name) and row.id in named:
                yield named[row.id]
