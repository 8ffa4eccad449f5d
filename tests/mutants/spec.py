"""Breaks the *model* in every small way, and shows which property notices: `make spec-mutants`.

python -m tests.mutants.spec                 all mutants of control/fixed, some hours on one core
python -m tests.mutants.spec --part 2/40     the second fortieth of them; parts are kept and add up
python -m tests.mutants.spec --list          the mutants, without running them

A mutant is `control/fixed` with one guard of a rule or of a row left out, one comparison weakened by one, or one write of an effect
left out, in any function that it uses. It is searched at ever larger bounds until a property is violated, a step cannot be
executed, or the bounds are all done. If the graph of states is everywhere that of the model itself, the mutant changes nothing.
Otherwise it lives: no property notices it, and REASONS says why, or nobody knows.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import json
import linecache
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import CodeType
from typing import Any

from kafka_spec.model_check import embedded
from kafka_spec.model_check.exploration import Budget, EngineError, Exploration
from kafka_spec.spec.control.eras import FIXED
from kafka_spec.spec.lint import WRITERS, source_of
from kafka_spec.spec.table import Rule, Spec, SpecError, name_of

Function = Callable[..., Any]
HERE = Path(__file__).parent
PAGE, KEPT = HERE / "SPEC.md", HERE / "spec_mutants.json"
FAMILIES = (
    "first_look", "lone_replica", "bounce", "lost_request", "shutdown", "reassigned", "deletion", "unanswered_expansion",
    "crash_and_expiry", "deletion_and_expiry", "log_goals",
)  # fmt: skip
"""The bound sets at which mutants are searched: small, and together with every kind of fault."""
MOST, PATIENCE = 500_000, 60.0
"""The most states and seconds that the search of a mutant takes."""

REASONS: dict[str, str] = {}
"""Mutants that live for a known reason."""


@dataclass(frozen=True)
class SpecMutant:
    """A way to break the model: a name, its kind, and how it is done."""

    name: str
    kind: str
    apply: Callable[[], contextlib.AbstractContextManager[Spec]]


# ---------------------------------------------------------------------------------------------------------------------
# The mutants


def mutants(spec: Spec) -> list[SpecMutant]:
    """Return all mutants of a spec, in a stable order."""
    live = [rule for rule in spec.rules if rule.name not in spec.unreachable_rules]
    found = [_without_guard(spec, rule, guard) for rule in live for guard in rule.guards]
    found += [
        _without_condition(spec, number, place, condition)
        for number, machine in enumerate(spec.machines)
        for place, row in enumerate(machine.rows)
        if not row.waits_for
        for condition in row.conditions
    ]
    for function in functions_of(spec, live):
        found += list(_weaker(spec, function)) + list(_unwritten(spec, function))
    return found


def functions_of(spec: Spec, rules: list[Rule]) -> list[Function]:
    """Return every function that the rules and tables use, also through others; properties are not broken."""
    found: dict[Function, None] = {}

    def visit(function: Function) -> None:
        if function not in found:
            found[function] = None
            for called in source_of(function).calls:
                visit(called)

    for rule in rules:
        for function in (*rule.guards, *rule.effects):
            visit(function)
    for machine in spec.machines:
        for row in machine.rows:
            for function in () if row.waits_for else (*row.looks, *row.effects):
                if not isinstance(function, str):
                    visit(function)
    return list(found)


def _without_guard(spec: Spec, rule: Rule, guard: Function) -> SpecMutant:
    def apply() -> contextlib.AbstractContextManager[Spec]:
        return contextlib.nullcontext(spec.replacing(spec.name, spec.says, rules=(rule.without_guard(guard.__name__),)))

    return SpecMutant(f"{rule.name} without {guard.__name__}", "guard of a rule", apply)


def _without_condition(spec: Spec, number: int, place: int, condition: str) -> SpecMutant:
    machine = spec.machines[number]
    row = machine.rows[place]
    weak = replace(
        row,
        guards=tuple(g for g in row.guards if name_of(g) != condition),
        unless=tuple(g for g in row.unless if f"not {name_of(g)}" != condition),
    )

    def apply() -> contextlib.AbstractContextManager[Spec]:
        rows = tuple(weak if at == place else other for at, other in enumerate(machine.rows))
        return contextlib.nullcontext(spec.replacing(spec.name, spec.says, machines=(replace(machine, rows=rows),)))

    return SpecMutant(f"{machine.name}: {row.label} from {row.sources[0].name} without {condition}", "guard of a row", apply)


def _weaker(spec: Spec, function: Function) -> Iterator[SpecMutant]:
    """Yield the function with one comparison weakened: by one, or away."""
    tree = source_of(function).tree
    compared = [node for node in ast.walk(tree) if isinstance(node, ast.Compare) and len(node.ops) == 1]
    for at, node in enumerate(compared):

        def change(fresh: ast.FunctionDef, at: int = at) -> None:
            _weaken([node for node in ast.walk(fresh) if isinstance(node, ast.Compare) and len(node.ops) == 1][at])

        yield SpecMutant(
            f"{function.__name__}: {ast.unparse(node)} weakened ({at})", "comparison", _changed(spec, function, change)
        )


def _weaken(node: ast.Compare) -> None:
    match node.ops[0]:
        case ast.Lt():
            node.ops[0] = ast.LtE()
        case ast.Gt():
            node.ops[0] = ast.GtE()
        case ast.LtE():
            node.comparators[0] = ast.BinOp(node.comparators[0], ast.Add(), ast.Constant(1))
        case ast.GtE():
            node.left = ast.BinOp(node.left, ast.Add(), ast.Constant(1))
        case _:
            node.left, node.ops[0], node.comparators[0] = ast.Constant(0), ast.Eq(), ast.Constant(0)


def _unwritten(spec: Spec, function: Function) -> Iterator[SpecMutant]:
    """Yield the function with one write left out."""
    source = source_of(function)
    for at, node in enumerate(_writes(source.tree, function)):

        def change(fresh: ast.FunctionDef, at: int = at) -> None:
            _pass(fresh, _writes(fresh, function)[at])

        yield SpecMutant(f"{function.__name__}: without {ast.unparse(node)} ({at})", "write", _changed(spec, function, change))


def _writes(tree: ast.FunctionDef, function: Function) -> list[ast.stmt]:
    writers = set(WRITERS.values())
    found: list[ast.stmt] = []
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Attribute() | ast.Subscript()]) | ast.AugAssign(target=ast.Attribute() | ast.Subscript()):
                found.append(node)
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))):
                called = function.__globals__.get(name)
                if name in writers or (called in source_of(function).calls and source_of(called).writes):
                    found.append(node)
    return found


def _pass(tree: ast.AST, left_out: ast.stmt) -> None:
    for node in ast.walk(tree):
        for _, block in ast.iter_fields(node):
            if isinstance(block, list) and left_out in block:
                block[block.index(left_out)] = ast.Pass()


def _changed(
    spec: Spec, function: Function, change: Callable[[ast.FunctionDef], None]
) -> Callable[[], contextlib.AbstractContextManager[Spec]]:
    """Return what gives the function another text for a while, in every spec that uses it."""

    @contextlib.contextmanager
    def apply() -> Iterator[Spec]:
        before = function.__code__
        function.__code__ = _compiled(function, change)
        try:
            yield spec
        finally:
            function.__code__ = before

    return apply


_made: list[None] = []


def _compiled(function: Function, change: Callable[[ast.FunctionDef], None]) -> CodeType:
    """Return the code of a changed function, whose text can be read under a file name of its own."""
    tree = copy.deepcopy(source_of(function).tree)
    change(tree)
    _made.append(None)
    file = f"<mutant {len(_made)}>"
    text = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    futures = function.__code__.co_flags & 0x1FF0000
    module = compile(text, file, "exec", flags=futures, dont_inherit=True)
    (code,) = (value for value in module.co_consts if isinstance(value, CodeType) and value.co_name == function.__name__)
    return code


# ---------------------------------------------------------------------------------------------------------------------
# Their fates


def families(spec: Spec) -> list[tuple[str, Exploration]]:
    """Return the bound sets, each with the search of the model itself, which must hold."""
    found = [(chosen.name, search(spec, dict(chosen.values))) for chosen in spec.bound_sets if chosen.name in FAMILIES]
    if wrong := [name for name, result in found if result.verdict != "holds"]:
        raise SystemExit(f"the model itself does not hold at {wrong[0]}")
    return sorted(found, key=lambda entry: entry[1].distinct)


def search(spec: Spec, bounds: dict[str, int]) -> Exploration:
    """Search a spec, as far as is reasonable."""
    return embedded.explore(spec, bounds, budget=Budget(seconds=PATIENCE, max_states=MOST))


def fate(mutant: SpecMutant, known: list[tuple[str, Exploration]]) -> dict[str, str]:
    """Search a mutant until something notices it; return what did, and where."""
    differs = ""
    with mutant.apply() as spec:
        for name, healthy in known:
            try:
                result = search(spec, dict(healthy.bounds))
            except (SpecError, EngineError) as error:
                return {"noticed": "error", "by": str(error).partition(": ")[2][:90].replace("|", "/"), "at": name}
            if result.violated:
                return {"noticed": "property", "by": ", ".join(result.violated[:3]), "at": name}
            if not result.complete:
                differs = differs or f"{name}, not searched to the end"
            elif result.digest != healthy.digest:
                differs = differs or name
    return {"noticed": "", "by": "", "at": differs}


def page(kept: dict[str, dict[str, str]], every: list[SpecMutant]) -> str:
    """Return the table of what is known about the mutants of today."""
    rows: dict[str, Counter[str]] = {}
    alive = []
    for mutant in every:
        one = kept.get(mutant.name)
        kind = rows.setdefault(mutant.kind, Counter())
        word = "not tried" if one is None else one["noticed"] or ("alive" if one["at"] else "changes nothing")
        kind[word] += 1
        if word == "alive" and one is not None:
            alive.append(f"| {_cell(mutant.name)} | {one['at']} | {REASONS.get(mutant.name, '')} |")
    words = ("property", "error", "changes nothing", "alive", "not tried")
    total = sum(rows.values(), Counter())
    lines = [f"| {name} | {sum(of.values())} | " + " | ".join(str(of[word]) for word in words) + " |" for name, of in rows.items()]
    lines.append(f"| all | {sum(total.values())} | " + " | ".join(str(total[word]) for word in words) + " |")
    return "\n".join(
        [
            "# Mutants of the model",
            "",
            "`make spec-mutants` breaks `control/fixed` in every small way and searches at ever larger bounds. *property*: one",
            "is violated. *error*: a step cannot be executed, or two rows fit. *changes nothing*: at all bounds tried the graph",
            "of states is that of the model itself. *alive*: the graph differs somewhere, and nothing notices.",
            "",
            "| what is broken | mutants | " + " | ".join(words) + " |",
            "|---|---|" + "---|" * len(words),
            *lines,
            "",
            f"Noticed, of those that were tried and change something: {share(total)}.",
            "",
            "| alive | differs first at | why |",
            "|---|---|---|",
            *alive,
            "",
        ]
    )


def share(total: Counter[str]) -> str:
    """Return the share of mutants that are noticed."""
    noticed = total["property"] + total["error"]
    return f"{noticed} of {noticed + total['alive']}, {noticed / max(1, noticed + total['alive']):.1%}"


def _cell(text: str) -> str:
    return f"`{text.replace('|', '/')}`"


def main() -> int:
    """Run mutants and write the table; the exit code is 1 if a mutant of this part lives without a reason."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", default="1/1", metavar="I/N", help="only the I-th of N parts")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    options = parser.parse_args()
    if not (part := re.fullmatch(r"([1-9]\d*)/([1-9]\d*)", options.part)):
        parser.error(f"--part {options.part}: name one as 2/40")
    every = mutants(FIXED)
    chosen = every[int(part[1]) - 1 :: int(part[2])]
    if options.list:
        sys.stdout.write("\n".join(f"{mutant.kind:<16} {mutant.name}" for mutant in chosen) + f"\n{len(chosen)} mutants\n")
        return 0
    kept: dict[str, dict[str, str]] = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    known = families(FIXED)
    sys.stdout.write(f"{len(chosen)} mutants at {', '.join(f'{name} {healthy.distinct:,}' for name, healthy in known)}\n")
    alive = 0
    for mutant in chosen:
        one = kept[mutant.name] = fate(mutant, known)
        lives = not one["noticed"] and bool(one["at"])
        alive += lives and mutant.name not in REASONS
        sys.stdout.write(
            f"{one['noticed'] or ('ALIVE' if lives else 'changes nothing'):<16} {mutant.name}: {one['by']} {one['at']}\n"
        )
        sys.stdout.flush()
        names = {other.name for other in every}
        KEPT.write_text(json.dumps({n: f for n, f in sorted(kept.items()) if n in names}, indent=0) + "\n", encoding="utf-8")
        PAGE.write_text(page(kept, every), encoding="utf-8")
    was = re.search(r"^Noticed.*$", before, re.MULTILINE)
    now = re.search(r"^Noticed.*$", page(kept, every), re.MULTILINE)
    sys.stdout.write(f"before: {was[0] if was else 'nothing'}\nnow: {now[0] if now else ''}\n")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
