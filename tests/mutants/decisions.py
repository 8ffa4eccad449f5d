"""Breaks the *decisions* in every small way, and shows which comparison with Kafka's own classes notices.

    python -m tests.mutants.decisions --jars .kafka                  3.9.1 and 4.4.0, an hour on one core
    python -m tests.mutants.decisions --jars .kafka --only log.py    of one file
    python -m tests.mutants.decisions --jars .kafka --callers        those of functions that call decisions, too; two hours
    python -m tests.mutants.decisions --list                         the mutants, without running them

A mutant is a function of spec/decisions with one comparison, operator, number or condition changed, or with `--callers` a function
of impl/ or of spec/kraft that calls one with an argument taken for another. Its code is exchanged in this process, where Kafka's
classes run too. The subjects of `kafka-spec conformance` that execute the function are compared until the first difference.

What was found is in DECISIONS.md. A mutant that lives decides as Kafka does in every case that was compared.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import inspect
import json
import os
import pkgutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

from kafka_spec.conformance.kafka_classes.comparison import Comparison, Subject, run_subject

HERE = Path(__file__).parent
PAGE = HERE / "DECISIONS.md"
DECISIONS = "kafka_spec.spec.decisions"
CALLERS = ("kafka_spec.impl", "kafka_spec.spec.kraft")
VERSIONS = ("3.9.1", "4.4.0")
PATIENCE = 5
"""A comparison that takes so many times as long as without a mutant, and as many seconds more, does not end: it is noticed."""

SIGNS: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn,
    ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And, ast.Add: ast.Sub, ast.Sub: ast.Add, ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}  # fmt: skip

Function = FunctionType


class Noticed(BaseException):
    """A comparison differs; no handler of the code that is compared catches this."""


@dataclass(frozen=True)
class DecisionMutant:
    """A function with other code: its name, what is changed, and the code."""

    function: Function
    change: str
    code: CodeType

    @property
    def name(self) -> str:
        """The function and the change."""
        return f"{place_of(self.function)}: {self.change}"


def place_of(function: Function) -> str:
    """Return the file and the name of a function."""
    return f"{function.__module__.removeprefix('kafka_spec.').replace('.', '/')}.py {function.__qualname__}"


# ---------------------------------------------------------------------------------------------------------------------
# The mutants


def decisions() -> dict[Function, None]:
    """Return the functions of spec/decisions, in the order of their files."""
    return {function: None for module in modules(DECISIONS) for function in functions_of(module)}


def callers(of: dict[Function, None]) -> Iterator[Function]:
    """Yield the functions that call decisions, but for decisions themselves."""
    for package in CALLERS:
        for module in modules(package):
            for function in functions_of(module):
                if any(called in of for called in called_by(function).values()):
                    yield function


def modules(package: str) -> Iterator[ModuleType]:
    """Yield a package and all modules below it."""
    top = importlib.import_module(package)
    yield top
    for found in pkgutil.walk_packages(top.__path__, f"{package}."):
        yield importlib.import_module(found.name)


def functions_of(module: ModuleType) -> Iterator[Function]:
    """Yield the plain functions of a module, and the methods of its classes, that no decorator wraps."""
    for value in vars(module).values():
        inside = vars(value).values() if inspect.isclass(value) else (value,)
        for one in inside:
            if inspect.isfunction(one) and one.__module__ == module.__name__ and not hasattr(one, "__wrapped__"):
                yield one


def definition(function: Function) -> ast.FunctionDef | None:
    """Return the definition of a function with the lines of its file; None if it is not one."""
    try:
        lines, first = inspect.getsourcelines(function)
        (found,) = ast.parse(textwrap.dedent("".join(lines))).body
    except (OSError, SyntaxError, ValueError):
        return None
    if not isinstance(found, ast.FunctionDef) or found.decorator_list:
        return None
    ast.increment_lineno(found, first - 1)
    return found


def called_by(function: Function) -> dict[str, Any]:
    """Return what a function calls by a global name, or by one of a module: `elect(...)`, `election.elect(...)`."""
    found = {}
    for node in ast.walk(definition(function) or ast.Pass()):
        match node:
            case ast.Call(func=ast.Name(id=name)):
                found[name] = function.__globals__.get(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=attr)):
                found[f"{name}.{attr}"] = getattr(function.__globals__.get(name), attr, None)
    return found


def mutants(with_callers: bool) -> Iterator[DecisionMutant]:
    """Yield all mutants: of decisions everything that can be changed, of their callers the arguments."""
    those = decisions()
    for function in those:
        yield from of_function(function, changes)
    for function in callers(those) if with_callers else ():
        called = {name for name, value in called_by(function).items() if value in those}
        yield from of_function(function, lambda node, called=called: other_arguments(node, called))  # type: ignore[misc]


def of_function(function: Function, changing: Callable[[ast.AST], Iterator[tuple[str, ast.AST]]]) -> Iterator[DecisionMutant]:
    """Yield the mutants of a function: each other node for each node, and the code with it."""
    tree = definition(function)
    if tree is None:
        return
    known = Counter[str]()
    for number, node in enumerate(ast.walk(tree)):
        for what, other in changing(node):
            twin = copy.deepcopy(tree)
            put(twin, number, other)
            code = compiled(twin, function)
            if code is None or (code.co_code == function.__code__.co_code and code.co_consts == function.__code__.co_consts):
                continue
            known[what] += 1
            yield DecisionMutant(function, what if known[what] == 1 else f"{what} ({known[what]})", code)


def changes(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Yield what a node of a decision may be changed to, with words for it."""
    match node:
        case ast.Compare(ops=[sign]) | ast.BinOp(op=sign) | ast.BoolOp(op=sign) if type(sign) in SIGNS:
            twin = copy.deepcopy(node)
            if isinstance(twin, ast.Compare):
                twin.ops = [SIGNS[type(sign)]()]  # type: ignore[list-item]
            else:
                twin.op = SIGNS[type(sign)]()  # type: ignore[attr-defined]
            yield f"`{ast.unparse(node)}` as `{ast.unparse(twin)}`", twin
    match node:
        case ast.BoolOp(op=op, values=values):
            for left_out in range(len(values)):
                rest = [value for place, value in enumerate(values) if place != left_out]
                twin = rest[0] if len(rest) == 1 else ast.BoolOp(op, rest)
                yield f"`{ast.unparse(node)}` without `{ast.unparse(values[left_out])}`", twin
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield f"`{ast.unparse(node)}` as `{ast.unparse(operand)}`", operand
        case ast.IfExp(test=test, body=yes, orelse=no):
            yield f"`{ast.unparse(node)}` as `{ast.unparse(yes)}`", yes
            yield f"`{ast.unparse(node)}` as `{ast.unparse(no)}`", no
        case ast.If(test=test):
            for truth in (True, False):
                twin = copy.copy(node)
                twin.test = ast.Constant(truth)
                yield f"`if {ast.unparse(test)}` {'always' if truth else 'never'}", twin
        case ast.Constant(value=bool() as truth):
            yield f"`{truth}` as `{not truth}`", ast.Constant(not truth)
        case ast.Constant(value=int() as number):
            yield f"`{number}` as `{number + 1}`", ast.Constant(number + 1)


def other_arguments(node: ast.AST, called: set[str]) -> Iterator[tuple[str, ast.AST]]:
    """Yield calls of decisions with an argument taken for the next one, or left at 0."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) not in called:
        return
    for place, argument in enumerate(node.args):
        others = [ast.Constant(0), *node.args[place + 1 : place + 2]]
        for other in others:
            twin = copy.copy(node)
            twin.args = [*node.args[:place], other, *node.args[place + 1 :]]
            yield f"`{ast.unparse(node)}` with `{ast.unparse(other)}` for `{ast.unparse(argument)}`", twin


def put(tree: ast.AST, number: int, other: ast.AST) -> None:
    """Put another node in the place of the one with this number, in the order of ast.walk."""
    target = list(ast.walk(tree))[number]
    for parent in ast.walk(tree):
        for field, value in ast.iter_fields(parent):
            if value is target:
                setattr(parent, field, ast.copy_location(copy.deepcopy(other), target))
            elif isinstance(value, list) and any(item is target for item in value):
                setattr(
                    parent, field, [ast.copy_location(copy.deepcopy(other), item) if item is target else item for item in value]
                )
    ast.fix_missing_locations(tree)


def compiled(tree: ast.FunctionDef, function: Function) -> CodeType | None:
    """Return the code of a definition, if it can be exchanged for that of the function."""
    flags = function.__code__.co_flags & 0x1FF0000
    module = compile(ast.Module([tree], []), function.__code__.co_filename, "exec", flags, dont_inherit=True)
    code = next(value for value in module.co_consts if isinstance(value, CodeType))
    return code if len(code.co_freevars) == len(function.__code__.co_freevars) else None


# ---------------------------------------------------------------------------------------------------------------------
# Which comparison notices


class FirstDifference(Comparison):
    """A comparison that ends at its first difference."""

    def compare(self, case: object, ours: Any, kafkas: Any, chosen: str | None = None) -> None:
        """Compare one case."""
        super().compare(case, ours, kafkas, chosen)
        if self.different:
            raise Noticed


def executed(subject: Subject, kafka: Any, cases: int) -> tuple[set[CodeType], float]:
    """Return the codes that a comparison executes, and the seconds that it takes; it must find no difference."""
    found = set[CodeType]()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.add(frame.f_code)

    sys.setprofile(note)
    threading.setprofile(note)
    try:
        result = run_subject(subject, kafka, 1, cases, time.monotonic)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    if result.failures:
        raise SystemExit(f"{subject.name} of {kafka.version} fails without a mutant: {'; '.join(result.failures)}")
    return found, result.seconds


def notices(subject: Subject, kafka: Any, cases: int, seconds: float) -> str:
    """Return how a comparison that takes so many seconds notices what is broken; "" if it does not."""
    comparison = FirstDifference()

    def give_up(*_: Any) -> None:
        raise Noticed("does not end")

    signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE + round(PATIENCE * seconds))
    try:
        subject.compare(kafka, comparison, random_of(subject), cases)
    except Noticed as how:
        return str(how) or "differs"
    except Exception as error:
        if "OutOfMemory" in type(error).__name__:
            raise SystemExit(f"{subject.name} leaves Java no memory, so nothing can be said of the mutants that follow") from error
        return type(error).__name__
    finally:
        signal.alarm(0)
    listed = {one.name for one in subject.chosen if kafka.version in one.versions}
    return "a chosen difference is gone, or new" if listed != set(comparison.chosen) else ""


def random_of(subject: Subject) -> Any:
    """Return the source of the inputs that `run_subject` gives a subject."""
    from random import Random

    return Random(f"1 {subject.name}")


def fates(version: str, jars: Path, cases: int, wanted: list[DecisionMutant]) -> dict[str, str]:
    """Return by which subject each mutant is noticed; "" if by none, and "-" if no subject executes it."""
    from kafka_spec.conformance.kafka_classes.jars import checked_jars
    from kafka_spec.conformance.kafka_classes.java import Kafka
    from kafka_spec.conformance.kafka_classes.subjects import SUBJECTS

    kafka = Kafka(version, checked_jars(version, jars / version))
    of_version = [subject for subject in SUBJECTS.values() if version in subject.versions]
    runs = sorted(((*executed(subject, kafka, cases), subject) for subject in of_version), key=lambda run: run[1])
    found, noticed = {}, Counter[tuple[Function, str]]()
    for mutant in wanted:
        healthy = mutant.function.__code__
        those = [(subject, seconds) for codes, seconds, subject in runs if healthy in codes]
        those.sort(key=lambda one: -noticed[mutant.function, one[0].name])
        fate = "" if those else "-"
        mutant.function.__code__ = mutant.code
        try:
            for subject, seconds in those:
                if how := notices(subject, kafka, cases, seconds):
                    fate = f"{subject.name}: {how}"
                    noticed[mutant.function, subject.name] += 1
                    break
        finally:
            mutant.function.__code__ = healthy
        found[mutant.name] = fate
        sys.stderr.write(f"{version} {mutant.name} {fate or 'LIVES'}\n")
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The table


def in_process(version: str, options: argparse.Namespace) -> dict[str, str]:
    """Return the fates with one version of Kafka, whose classes need a process of their own."""
    command = [sys.executable, "-m", "tests.mutants.decisions", "--kafka", version, "--jars", str(options.jars), "--fates"]
    command += ["--cases", str(options.cases), *(("--only", options.only) if options.only else ())]
    command += ["--callers"] * options.callers
    run = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, str] = json.loads(run.stdout)
    return found


def page(found: dict[str, dict[str, str]]) -> str:
    """Return the table of what is known: for each mutant its fate with each version."""
    words = {name: word_of(of) for name, of in found.items()}
    files: dict[str, Counter[str]] = {}
    for name, word in words.items():
        files.setdefault(name.partition(" ")[0], Counter())[word] += 1
    total = sum(files.values(), Counter())
    columns = ("noticed", "lives", "not executed")
    rows = [
        f"| {file} | {sum(of.values())} | " + " | ".join(str(of[word]) for word in columns) + " |" for file, of in files.items()
    ]
    rows.append(f"| all | {sum(total.values())} | " + " | ".join(str(total[word]) for word in columns) + " |")
    alive = [f"- {name}" for name, word in words.items() if word == "lives"]
    unseen = dict.fromkeys(name.partition(":")[0] for name, word in words.items() if word == "not executed")
    return "\n".join(
        [
            "# Mutants of the decisions",
            "",
            "`make decision-mutants` changes one thing in a decision, and compares with the classes of Kafka",
            f"{' and '.join(VERSIONS)}. *noticed*: a comparison differs, or cannot be executed. *lives*: all those that",
            "execute the function agree. *not executed*: no comparison with Kafka's classes executes it.",
            "",
            "| file | mutants | " + " | ".join(columns) + " |",
            "|---|---|---|---|---|",
            *rows,
            "",
            "## Alive",
            "",
            *alive,
            "",
            "## Not executed",
            "",
            *(f"- {place}" for place in unseen),
            "",
        ]
    )


def word_of(of: dict[str, str]) -> str:
    """Return the class of the fates of one mutant."""
    if any(fate not in ("", "-") for fate in of.values()):
        return "noticed"
    return "lives" if "" in of.values() else "not executed"


def main() -> int:
    """Run the mutants and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jars", type=Path, default=Path(".kafka"))
    parser.add_argument("--kafka", nargs="+", default=VERSIONS)
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--only", default="", help="mutants whose name has this in it")
    parser.add_argument("--callers", action="store_true", help="also functions that call decisions")
    parser.add_argument("--list", action="store_true", help="only list the mutants")
    parser.add_argument("--fates", action="store_true", help="write the fates with one version to stdout")
    options = parser.parse_args()
    wanted = [mutant for mutant in mutants(options.callers) if options.only in mutant.name]
    if options.list:
        sys.stdout.write("".join(f"{mutant.name}\n" for mutant in wanted))
        return 0
    if options.fates:
        (version,) = options.kafka
        json.dump(fates(version, options.jars, options.cases, wanted), sys.stdout)
        sys.stdout.flush()
        os._exit(0)  # threads of Kafka's controller would keep the process
    by_version = {version: in_process(version, options) for version in options.kafka}
    found = {mutant.name: {version: of[mutant.name] for version, of in by_version.items()} for mutant in wanted}
    text = page(found)
    if not options.only and not options.callers:
        PAGE.write_text(text, encoding="utf-8")
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
