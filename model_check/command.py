"""The subcommands `check`, `trace`, `states` and `models`.

Knows files, screen and signals; every decision is made elsewhere. stdout is the result, stderr is progress and complaints.
Exit codes: 0 all as expected and complete, 1 a property violated or an expectation not met, 2 usage, configuration or
table error, 3 inconclusive (budget, memory, interrupt), 4 engines disagree or internal error.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from model_check.check import ENGINES, Expectation, check, need
from model_check.counterexample import Replay, trace_of
from model_check.exploration import Budget, Distribution, Exploration, Finding, Progress
from model_check.manifest import NamedCheck, named_bounds, read_manifest
from model_check.oracle import World
from model_check.progress import Display
from model_check.report.plain import SCHEMA_VERSION, check_plain, model_plain, result_plain
from model_check.report.text import check_line, model_text, result_text, states_text, story_text, trace_text
from spec.table import DEADLOCK, TYPE_INVARIANT, Spec, SpecError
from spec.trace import Trace

MANIFEST = Path("pyproject.toml")
MOST_THREADS = 64
AS_EXPECTED, VIOLATED, MISUSE, INCONCLUSIVE, INTERNAL = range(5)


class Models:
    """Finds specs by name: those of the catalogue, and `module:NAME` for people's own."""

    def __init__(self, catalogue: Mapping[str, Spec]) -> None:
        self.catalogue = catalogue

    def find(self, name: str) -> Spec:
        """Return the spec of a name, or raise SpecError."""
        if ":" in name:
            return self.load(*name.split(":", 1))
        if name not in self.catalogue:
            raise SpecError(f"model {name!r} is unknown; there is {', '.join(self.catalogue)}, or module:NAME for your own")
        return self.catalogue[name]

    @staticmethod
    def load(module: str, name: str) -> Spec:
        """Return a spec out of a module that can be imported, the current folder included."""
        if str(Path.cwd()) not in sys.path:
            sys.path.insert(0, str(Path.cwd()))
        try:
            spec = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            raise SpecError(f"{module}:{name}: {error}; run where the module is, or set PYTHONPATH") from None
        except AttributeError:
            raise SpecError(f"{module}:{name}: module {module} has no {name}") from None
        except SpecError:
            raise
        except Exception as error:
            # the module is the user's: whatever it raises is told with the line that raised it
            frame = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{frame.filename}:{frame.lineno}"
            raise SpecError(f"{module}:{name} cannot be imported: {where}: {type(error).__name__}: {error}") from None
        if not isinstance(spec, Spec):
            raise SpecError(f"{module}:{name} is {type(spec).__name__}, and a Spec is needed")
        return spec


def add_commands(commands: Any, catalogue: Mapping[str, Spec]) -> None:
    """Add the subcommands to an argument parser's subparsers."""
    models = Models(catalogue)
    parser = commands.add_parser("check", help="check models, or the manifest of the project")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a model, a named check, or module:SPEC; none: the manifest")
    _add_check_options(parser)
    parser.set_defaults(run=lambda options: run_check(options, models))
    parser = commands.add_parser("trace", help="show how a property is violated or a goal is reached, step by step")
    parser.add_argument("models", nargs=1, metavar="MODEL", help="a model, a named check, or module:SPEC")
    _add_check_options(parser)
    parser.set_defaults(run=lambda options: run_trace(options, models))
    parser = commands.add_parser("states", help="look at the states that a Spark search left behind")
    parser.add_argument("state_dir", metavar="DIR", help="the --state-dir of the search")
    parser.add_argument(
        "--where", metavar="SQL", help="a condition on the columns, such as \"level = 3 and quorum_leader = 'broker 1'\""
    )
    parser.add_argument("--limit", type=_positive, default=10, metavar="N", help="show so many (default: 10)")
    parser.add_argument("--path", metavar="FINGERPRINT", help="show a shortest way to the state with this fingerprint")
    parser.add_argument("--model", metavar="MODEL", help="for --path: the model, where it is your own (module:SPEC)")
    parser.add_argument("--columns", action="store_true", help="list the columns")
    parser.add_argument("--master", default="local[*]", metavar="URL", help="the Spark master (default: local[*])")
    parser.add_argument("--full", action="store_true", help="show whole states on the way, not only what changed")
    _add_output_options(parser)
    parser.set_defaults(run=lambda options: run_states(options, models))
    parser = commands.add_parser("models", help="what there is: models, bounds, rules, properties, abstractions")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="show these in full")
    _add_output_options(parser)
    parser.set_defaults(run=lambda options: run_models(options, models))


def _add_check_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--bound", action="append", default=[], metavar="NAME=N", help="set one bound; may be repeated")
    add("--bounds", metavar="SET", help="take a named set of bounds; --bound changes single ones")
    add("--property", action="append", dest="properties", metavar="NAME", help="judge only this; may be repeated")
    add(
        "--engine",
        choices=ENGINES,
        help="embedded (compiled, the default), oracle (plain Python), both, which must agree, or spark",
    )
    add("--master", metavar="URL", help="for spark: local[N], spark://HOST:PORT and the like (default: local[*])")
    add("--state-dir", metavar="DIR", help="for spark: keep the levels there, as Parquet")
    add("--resume", action="store_true", help="for spark: go on with the search in --state-dir")
    add("--handover", type=_positive, metavar="N", help="for spark: the states of a level from which on Spark takes over")
    add("--threads", type=_threads, default=_cores(), metavar="N", help="threads (default: one a core)")
    add("--all", action="store_true", help="go on to the end after a violation")
    add("--deadlock", action="store_true", help="also check that no state is without a step")
    add("--all-rules-fire", action="store_true", help="a rule that never fires is a failure")
    add("--verify", action="store_true", help="search again with another hash seed; the counts must be equal")
    add("--seconds", type=_duration, metavar="S", help="stop after this time, inconclusive")
    add("--memory", type=_positive, metavar="MIB", help="stop before using more memory, inconclusive")
    add("--max-states", type=_positive, metavar="N", help="stop after the level that reaches so many states, inconclusive")
    add("--manifest", type=Path, default=MANIFEST, metavar="FILE", help="where the named checks are")
    add("--traces", action="store_true", help="for the manifest: tell the counterexample of each violated property")
    add("--full", action="store_true", help="show whole states in traces, not only what changed")
    _add_output_options(parser)


def _add_output_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what the result is written as")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write the result there instead of to stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    parser.add_argument("-v", "--verbose", action="store_true", help="for the manifest: every result in full")


def _duration(text: str) -> float:
    seconds = float(text)
    if not 0 <= seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is no time of 0 seconds or more")
    return seconds


def _threads(text: str) -> int:
    threads = _positive(text)
    if threads > MOST_THREADS:
        raise argparse.ArgumentTypeError(f"{text} is more than {MOST_THREADS}; more threads than cores only wait")
    return threads


def _cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


# ---------------------------------------------------------------------------------------------------------------------
# check


def run_check(options: argparse.Namespace, models: Models) -> int:
    """Check models or the manifest, write the result, return the exit code."""
    named = _named_checks(options, models)
    if not options.models:
        return _run_manifest(options, list(named.values()))
    chosen = [named[name] if name in named else _unnamed(options, models.find(name)) for name in options.models]
    if len(chosen) > 1 or options.models[0] in named:
        return _run_manifest(options, chosen)
    result = _run(options, chosen[0])
    traces = _traces(result, result.violated)
    if options.format == "json":
        with_goals = _traces(result, result.findings)
        _write(options, json.dumps(result_plain(result, with_goals), indent=1))
    else:
        _write(options, result_text(result, traces, options.full))
        _warn_of_dead_rules(result)
    if options.all_rules_fire and result.dead_rules and result.verdict == "holds":
        return VIOLATED
    return {"holds": AS_EXPECTED, "violated": VIOLATED, "inconclusive": INCONCLUSIVE}[result.verdict]


def _run_manifest(options: argparse.Namespace, checks: Sequence[NamedCheck]) -> int:
    """Run named checks one after the other, and tell what is not as expected."""
    plain, code, lines, met = [], AS_EXPECTED, [], 0
    for named in checks:
        result = _run(options, named)
        unmet = named.expected.unmet(result)
        lines.append(check_line(named.name, result, named.expected))
        if options.verbose:
            lines.append(result_text(result, _traces(result, result.violated), options.full))
        if options.format == "json":
            plain.append(check_plain(named.name, result, _traces(result, result.findings), named.expected))
        if not options.verbose:
            surprise = unmet and named.expected.verdict != "violated"
            traces = _traces(result, result.violated).values() if options.traces or surprise else ()
            lines += [trace_text(trace, named.spec, options.full) if surprise else story_text(trace) for trace in traces]
        if options.format == "text" and not options.output:
            print("\n".join(lines), flush=True)
            lines = []
        met += not unmet
        if unmet:
            code = max(code, INCONCLUSIVE if result.verdict == "inconclusive" else VIOLATED)
        if result.stopped == "interrupted":
            break
    lines.append(f"{met} of {len(checks)} checks as expected")
    if options.format == "json":
        _write(options, json.dumps({"schema_version": SCHEMA_VERSION, "checks": plain}, indent=1))
    else:
        _write(options, "\n".join(lines))
    return code


def _named_checks(options: argparse.Namespace, models: Models) -> dict[str, NamedCheck]:
    """Return the checks of the manifest; none where models are named and there is no manifest to look into."""
    if options.models and all(":" in name or name in models.catalogue for name in options.models):
        return {}
    if options.models and options.manifest == MANIFEST and not options.manifest.exists():
        return {}
    named = {check.name: check for check in read_manifest(options.manifest, models.find)}
    own = {
        "--bound": options.bound,
        "--bounds": options.bounds,
        "--property": options.properties,
        "--all-rules-fire": options.all_rules_fire,
    }
    given = [option for option, value in own.items() if value]
    if given and (not options.models or named.keys() & set(options.models)):
        raise SpecError(f"{given[0]}: a named check has its own; change it in {options.manifest}, or name a model")
    return named


def _unnamed(options: argparse.Namespace, spec: Spec) -> NamedCheck:
    """Return the check that the options ask for."""
    bounds = dict(named_bounds(spec, options.bounds)) if options.bounds else {}
    bounds.update(_bound(text) for text in options.bound)
    expected = Expectation(all_rules_fire=options.all_rules_fire)
    properties = tuple(options.properties) if options.properties else None
    values = spec.bound_values(bounds)
    return NamedCheck(spec.name, spec, values, expected, properties, "embedded", False, False, None, None)


def _bound(text: str) -> tuple[str, int]:
    name, _, value = text.partition("=")
    try:
        return name.strip(), int(value)
    except ValueError:
        raise SpecError(f"--bound {text}: write NAME=N with a whole number N") from None


def _run(options: argparse.Namespace, named: NamedCheck) -> Exploration:
    """Run one check under the options' budget, with progress, interruptible."""
    seconds = options.seconds if options.seconds is not None else named.seconds
    memory = options.memory if options.memory is not None else named.memory_mib
    budget = Budget(seconds, memory << 20 if memory is not None else None, options.max_states)
    distribution = _distribution(options, named)
    with Display(enabled=not options.quiet) as display, _interruptible(budget):
        show: Progress = display.show
        return check(
            named.spec,
            named.bounds,
            properties=named.properties,
            engine=options.engine or named.engine,
            threads=options.threads,
            everything=options.all or named.everything,
            deadlock=options.deadlock or named.deadlock,
            verify=options.verify,
            budget=budget,
            progress=show,
            distribution=distribution,
        )


def _distribution(options: argparse.Namespace, named: NamedCheck) -> Distribution | None:
    """Return what the options say about Spark, or None where another engine searches."""
    given = {name: getattr(options, name) for name in ("master", "state_dir", "resume", "handover") if getattr(options, name)}
    if (options.engine or named.engine) != "spark":
        if given:
            raise SpecError(f"--{next(iter(given)).replace('_', '-')} is for --engine spark")
        return None
    if "state_dir" not in given:
        raise SpecError("--engine spark keeps the states it finds; name a folder for them with --state-dir")
    if len(options.models) != 1:
        # each of several checks has a folder of its own
        given["state_dir"] = f"{given['state_dir']}/{named.name.replace('/', '-')}"
    return Distribution(**given)


@contextmanager
def _interruptible(budget: Budget) -> Iterator[None]:
    """Let Ctrl-C end the search in order: what was reached is told. A second one ends the program."""

    def interrupt(number: int, frame: object) -> None:
        if budget.interrupted:
            raise KeyboardInterrupt
        budget.interrupted = True

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _traces(result: Exploration, names: Any) -> dict[str, Trace]:
    traces = {name: trace_of(result, name) for name in names}
    return {name: trace for name, trace in traces.items() if trace is not None}


def _warn_of_dead_rules(result: Exploration) -> None:
    if result.complete and result.dead_rules:
        print(f"warning: rules that never fire within these bounds: {', '.join(result.dead_rules)}", file=sys.stderr)


def _write(options: argparse.Namespace, text: str) -> None:
    if options.output is None:
        print(text)
        return
    try:
        options.output.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        raise SpecError(f"--output {options.output}: {error.strerror}; name a file that can be written") from None


# ---------------------------------------------------------------------------------------------------------------------
# trace and models


def run_trace(options: argparse.Namespace, models: Models) -> int:
    """Show the traces of the violated properties, or of those asked for; return 0 if there is something to show."""
    name, wanted = options.models[0], options.properties
    options.properties = None
    named = _named_checks(options, models)
    chosen = named[name] if name in named else _unnamed(options, models.find(name))
    if wanted:
        # only what is wanted is judged, so that the search goes on until it is shown
        stated = [claim for claim in wanted if claim not in (TYPE_INVARIANT, DEADLOCK)]
        for claim in stated:
            chosen.spec.property(claim)
        chosen = dataclasses.replace(chosen, properties=tuple(stated), deadlock=chosen.deadlock or DEADLOCK in wanted)
    result = _run(options, chosen)
    traces = _traces(result, [claim for claim in (wanted or result.violated) if claim in result.findings])
    if options.format == "json":
        _write(options, json.dumps([trace.to_plain() for trace in traces.values()], indent=1))
    elif traces:
        _write(options, "\n\n".join(trace_text(trace, chosen.spec, options.full) for trace in traces.values()))
    if not traces:
        what = ", ".join(wanted) if wanted else "a property"
        print(f"{chosen.name}: no trace: {what} is not shown within these bounds ({result.verdict})", file=sys.stderr)
        return INCONCLUSIVE if result.verdict == "inconclusive" else VIOLATED
    return AS_EXPECTED


def run_states(options: argparse.Namespace, models: Models) -> int:
    """Show states that a Spark search left behind, or the way to one; return 0 if there are any."""
    if options.path:
        return _run_path(options, models)
    if options.columns:
        store = need("state_dir")
        columns = [
            "level",
            "fingerprint",
            "parent",
            "rule",
            *(c["name"] for c in store.run_of(store.Storage(options.state_dir))["columns"]),
        ]
        _write(options, json.dumps(columns) if options.format == "json" else "\n".join(columns))
        return AS_EXPECTED
    total, rows = need("distributed").query(options.state_dir, options.where, options.limit, options.master)
    _write(
        options, json.dumps({"states": total, "shown": rows}, indent=1) if options.format == "json" else states_text(total, rows)
    )
    return AS_EXPECTED if total else VIOLATED


def _run_path(options: argparse.Namespace, models: Models) -> int:
    """Show a shortest way to a state, told and checked by the oracle."""
    store = need("state_dir")
    try:
        mark = int(options.path, 16)
    except ValueError:
        raise SpecError(f"--path {options.path}: write a fingerprint as it is shown, 16 hexadecimal digits") from None
    storage = store.Storage(options.state_dir)
    try:
        about = store.run_of(storage)
        level = store.locate(storage, mark)
        if level < 0:
            raise SpecError(f"--path {options.path}: no finished level in {options.state_dir} has this state")
        start, actions = store.way_to(storage, level, mark)
    except store.Damaged as error:
        raise SpecError(str(error)) from None
    spec = models.find(options.model or about["model"])
    result = Exploration(spec, about["bounds"], "spark", 1, ())
    trace, _, _ = Replay(World(spec, about["bounds"]), result).way(f"state {options.path}", Finding(start, tuple(actions)))
    plain = options.format == "json"
    _write(options, json.dumps(trace.to_plain(), indent=1) if plain else trace_text(trace, spec, options.full, reached=True))
    return AS_EXPECTED


def run_models(options: argparse.Namespace, models: Models) -> int:
    """List the models, or show some in full."""
    specs = [models.find(name) for name in options.models] if options.models else list(models.catalogue.values())
    if options.format == "json":
        _write(options, json.dumps([model_plain(spec) for spec in specs], indent=1))
    elif options.models:
        _write(options, "\n\n".join(model_text(spec) for spec in specs))
    else:
        width = max(len(spec.name) for spec in specs)
        rows = [f"{spec.name:<{width}}  {spec.says}" for spec in specs]
        _write(options, "\n".join([*rows, "", "kafka-spec models MODEL shows one in full"]))
    return AS_EXPECTED


def show_warnings() -> None:
    """Write warnings as one line each on stderr."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"warning: {message}", file=sys.stderr)

    warnings.showwarning = show
