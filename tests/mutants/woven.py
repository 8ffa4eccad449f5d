"""Weaves every mutant of a spec into one spec, so that one compilation holds them all: the bound `mutant` says which of them runs.

A mutant of a guard reads `k.mutant == 7 or guard(...)`, that of a comparison `a < b + (k.mutant == 8)`, that of a write
`if k.mutant != 9: ...`. With mutant=0 the woven spec is the spec itself. Properties, bounds and initial states keep the functions
of the spec, so what judges is never broken.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
import linecache
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

from kafka_spec.model_check.exploration import Exploration
from kafka_spec.spec.language import WRITERS, Source, source_of
from kafka_spec.spec.language.domain import Bound
from kafka_spec.spec.language.local_functions import lifted
from kafka_spec.spec.language.reading import Reading
from kafka_spec.spec.language.source import definition_of
from kafka_spec.spec.language.words import resolve
from kafka_spec.spec.vocabulary.table import Among, BoundSet, Machine, Row, Rule, Spec

Function = Callable[..., Any]
MUTANT = "mutant"


@dataclass(frozen=True)
class SpecMutant:
    """A way to break a spec: its name, and what is broken."""

    name: str
    kind: str
    inside: Function | str | tuple[str, str]
    """The function that is broken, or the name of the rule, or machine and trigger of the row."""


class Woven:
    """A spec with all its mutants; `mutants[n - 1]` runs where the bound `mutant` is n."""

    def __init__(self, spec: Spec) -> None:
        self.mutants: list[SpecMutant] = []
        self._names: set[str] = set()
        self._woven: dict[Function, Function] = {}
        self.texts: list[str] = []
        """The text of every function, with its mutants."""
        rules = [rule if rule.name in spec.unreachable_rules else self._rule(rule) for rule in spec.rules]
        machines = [self._machine(machine) for machine in spec.machines]
        self.spec = dataclasses.replace(
            spec,
            rules=tuple(rules),
            machines=tuple(machines),
            more_bounds=(*spec.more_bounds, Bound(MUTANT, 0, 10_000, "the number of the mutant that runs; 0: none")),
            bound_sets=tuple(BoundSet(chosen.name, {**chosen.values, MUTANT: 0}, chosen.why) for chosen in spec.bound_sets),
        )

    def number(self, kind: str, inside: Function | str | tuple[str, str], where: str, what: str) -> int:
        """Add a mutant, and return its number."""
        name, again = f"{where}: {what}", 2
        while name in self._names:
            name, again = f"{where}: {what} ({again})", again + 1
        self._names.add(name)
        self.mutants.append(SpecMutant(name, kind, inside))
        return len(self.mutants)

    def function(self, function: Function) -> Function:
        """Return a function with the mutants of its body woven in, and of all that it calls."""
        if function not in self._woven:
            source = source_of(function)
            tree = copy.deepcopy(_definition(function))
            weaver = _Weaver(self, source)
            tree.body = weaver.block(tree.body)
            if "k" not in source.parameters:
                tree.args.args.append(ast.arg("k"))
            names = {name: self.function(called) for name, called in weaver.called.items()}
            self._woven[function] = self._made(tree, {**function.__globals__, **names}, function)
        return self._woven[function]

    def _guard(self, guard: Function, inside: str | tuple[str, str], where: str, refuses: bool = False) -> Function:
        """Return a guard that holds always (of `unless`, never) where its mutant runs."""
        inner = self.function(guard)
        kind = "guard of a rule" if isinstance(inside, str) else "guard of a row"
        number = self.number(kind, inside, where, f"without {'not ' if refuses else ''}{guard.__name__}")
        parameters = ", ".join(dict.fromkeys([*source_of(guard).parameters, "k"]))
        test = f"k.{MUTANT} != {number} and" if refuses else f"k.{MUTANT} == {number} or"
        text = f'def {guard.__name__}({parameters}):\n    """A guard."""\n    return {test} guard({parameters})\n'
        tree = ast.parse(text).body[0]
        assert isinstance(tree, ast.FunctionDef)
        return self._made(tree, {**guard.__globals__, "guard": inner}, guard)

    def _rule(self, rule: Rule) -> Rule:
        params = {
            name: dataclasses.replace(of, that=self.function(of.that)) if isinstance(of, Among) else of
            for name, of in rule.params.items()
        }
        guards = tuple(self._guard(guard, rule.name, rule.name) for guard in rule.guards)
        return dataclasses.replace(rule, params=params, guards=guards, effects=tuple(map(self.function, rule.effects)))

    def _machine(self, machine: Machine) -> Machine:
        return dataclasses.replace(machine, rows=tuple(self._row(machine.name, row) for row in machine.rows))

    def _row(self, machine: str, row: Row) -> Row:
        if row.waits_for:
            return row
        where = f"{machine}, {row.label} from {row.sources[0].name}"
        inside = machine, row.trigger
        return dataclasses.replace(
            row,
            guards=tuple(self._guard(guard, inside, where) for guard in _functions(row.guards)),
            unless=tuple(self._guard(guard, inside, where, refuses=True) for guard in _functions(row.unless)),
            effects=tuple(map(self.function, _functions(row.effects))),
        )

    def _made(self, tree: ast.FunctionDef, names: dict[str, Any], like: Function) -> Function:
        """Return a function of this definition, whose text can be read under a file name of its own."""
        text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
        self.texts.append(text)
        file = f"<{like.__name__} with mutants, {id(self)}.{len(self.texts)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        module = compile(text, file, "exec", flags=like.__code__.co_flags & 0x1FF0000, dont_inherit=True)
        (code,) = (value for value in module.co_consts if isinstance(value, CodeType))
        made = FunctionType(code, names, like.__name__)
        made.__module__, made.__doc__ = like.__module__, like.__doc__
        return made


class _Weaver(ast.NodeTransformer):
    """Puts the mutants of one function into its body."""

    def __init__(self, woven: Woven, source: Source) -> None:
        self.woven, self.source = woven, source
        self.where = f"{source.function.__module__.rpartition('.')[2]}.{source.function.__name__}"
        self.called = {name: resolve(source.function, name) for name, called in source.names if called in source.calls}

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Return statements with their mutants."""
        return [self.visit(statement) for statement in statements]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        assert isinstance(node.func, ast.Name)
        called = self.called.get(node.func.id)
        if called is not None and "k" not in source_of(called).parameters:
            node.args.append(ast.Name("k"))
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        reported = ast.unparse(node)
        self.generic_visit(node)
        if len(node.ops) > 1:
            return node
        runs = _runs(self.woven.number("comparison", self.source.function, self.where, f"{reported}, weakened"))
        match node.ops[0]:
            case ast.Lt() | ast.LtE():
                node.comparators[0] = ast.BinOp(node.comparators[0], ast.Add(), runs)
            case ast.Gt() | ast.GtE():
                node.left = ast.BinOp(node.left, ast.Add(), runs)
            case _:
                return ast.BoolOp(ast.Or(), [runs, node])
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return self._write(node) if isinstance(node.targets[0], ast.Attribute | ast.Subscript) else self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        return self._write(node) if isinstance(node.target, ast.Attribute | ast.Subscript) else self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if not isinstance(node.value, ast.Call) or not isinstance(node.value.func, ast.Name):
            return node
        called = self.source.function.__globals__.get(node.value.func.id)
        return self._write(node) if called in WRITERS or self._may_write(called) else self.generic_visit(node)

    def _may_write(self, called: Any) -> bool:
        return getattr(called, "__fires__", False) or (called in self.source.calls and source_of(called).writes)

    def _write(self, node: ast.stmt) -> ast.stmt:
        number = self.woven.number("write", self.source.function, self.where, f"without {ast.unparse(node)}")
        self.generic_visit(node)
        return ast.If(ast.UnaryOp(ast.Not(), _runs(number)), [node], [])


def _definition(function: Function) -> ast.FunctionDef:
    """Return the definition of a function, with its local functions lifted."""
    tree = definition_of(function).tree
    assert isinstance(tree, ast.FunctionDef)
    return lifted(tree, function, Reading(function).refuse)


def _runs(number: int) -> ast.expr:
    return ast.Compare(ast.Attribute(ast.Name("k"), MUTANT), [ast.Eq()], [ast.Constant(number)])


def _functions(guards: Iterable[Any]) -> list[Function]:
    return [guard for guard in guards if callable(guard)]


class Reach:
    """Which rules run each function, row and guard, in their effects or in their guards."""

    def __init__(self, spec: Spec) -> None:
        self.effects: dict[Any, set[str]] = {}
        self.guards: dict[Any, set[str]] = {}
        self._machines = {machine.name: machine for machine in spec.machines}
        for rule in spec.rules:
            self.guards.setdefault(rule.name, set()).add(rule.name)
            for effect in rule.effects:
                self._visit(effect, rule.name, self.effects)
            for guard in (*rule.guards, *(of.that for of in rule.params.values() if isinstance(of, Among))):
                self._visit(guard, rule.name, self.guards)

    def _visit(self, function: Function, rule: str, found: dict[Any, set[str]]) -> None:
        if rule in found.setdefault(function, set()):
            return
        found[function].add(rule)
        source = source_of(function)
        for called in source.calls:
            self._visit(called, rule, found)
        for machine, trigger in source.fires:
            found.setdefault((machine.name, trigger), set()).add(rule)
            for row in self._machines[machine.name].rows_of(trigger):
                for other in _functions((*row.looks, *row.effects)):
                    self._visit(other, rule, found)

    def runs(self, mutant: SpecMutant, healthy: Exploration) -> bool:
        """Whether a rule fires that runs what is broken, in its effects or in its guards."""
        rules = self.effects.get(mutant.inside, set()) | self.guards.get(mutant.inside, set())
        return any(healthy.fired[rule] for rule in rules)

    def may_differ(self, mutant: SpecMutant, healthy: Exploration) -> bool:
        """Whether the graph of a mutant can be another than the healthy one: whether anything evaluates what is broken.

        What only effects use is evaluated only where one of their rules fires; a rule that may fire 0 times never does.
        """
        if any(healthy.fired[rule] for rule in self.effects.get(mutant.inside, ())):
            return True
        limits = [healthy.spec.rule(rule).limits for rule in self.guards.get(mutant.inside, ())]
        return any(all(healthy.bounds[limit.name] > 0 for limit in some) for some in limits)
