"""The subcommands `check`, `trace`, `states` and `models`.

Knows files, screen and signals; every decision is made elsewhere. stdout is the result, stderr is progress and complaints.
Exit codes: 0 all as expected and complete, 1 a property violated or an expectation not met, 2 usage, configuration or
table error, 3 inconclusive (budget, memory, interrupt), 4 engines disagree or internal error.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import importlib
import json
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from kafka_spec.model_check.check import ENGINES, Expectation, Outcome, need
from kafka_spec.model_check.counterexample import Replay
from kafka_spec.model_check.exploration import Budget, Distribution, Exploration, Finding, Progress
from kafka_spec.model_check.manifest import NamedCheck, named_bounds, read_manifest
from kafka_spec.model_check.oracle import World
from kafka_spec.model_check.progress import Display
from kafka_spec.model_check.report.ci import Draw, github_text, junit_text, markdown_text
from kafka_spec.model_check.report.plain import SCHEMA_VERSION, check_plain, model_plain, result_plain
from kafka_spec.model_check.report.text import check_line, model_text, result_text, states_text, story_text, trace_text
from kafka_spec.spec.table import DEADLOCK, TYPE_INVARIANT, Spec, SpecError

MANIFEST = Path("pyproject.toml")
MOST_THREADS = 64
Loaded = TypeVar("Loaded")
AS_EXPECTED, VIOLATED, MISUSE, INCONCLUSIVE, INTERNAL = range(5)
CHECK_FORMATS = ("text", "json", "junit", "github", "markdown")
Output = tuple[str, Path | None]
"""A format, and the file it goes to; None is stdout."""


class Models:
    """Finds specs by name: those of the catalogue, and `module:NAME` for people's own."""

    def __init__(self, catalogue: Mapping[str, Spec]) -> None:
        self.catalogue = catalogue

    def find(self, name: str) -> Spec:
        """Return the spec of a name, or raise SpecError."""
        if ":" in name:
            return self.load(*name.split(":", 1))
        if name not in self.catalogue:
            near = difflib.get_close_matches(name, self.catalogue, n=3)
            perhaps = f"perhaps {' or '.join(near)}; " if near else ""
            raise SpecError(f"model {name!r} is unknown; {perhaps}`kafka-spec models` lists them, module:NAME is one of your own")
        return self.catalogue[name]

    @staticmethod
    def load(module: str, name: str) -> Spec:
        """Return a spec out of a module that can be imported, the current folder included."""
        return load_object(module, name, Spec)


def load_object(module: str, name: str, kind: type[Loaded]) -> Loaded:
    """Return an object of this kind out of a module that can be imported, the current folder included."""
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), name)
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
    if not isinstance(found, kind):
        raise SpecError(f"{module}:{name} is {type(found).__name__}, and a {kind.__name__} is needed")
    return found


def add_commands(commands: Any, catalogue: Mapping[str, Spec], charts: Mapping[str, Draw]) -> None:
    """Add the subcommands to an argument parser's subparsers; `charts` draw traces, by the name of their format."""
    models = Models(catalogue)
    parser = commands.add_parser("check", help="check models, or the manifest of the project")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a model, a named check, or module:SPEC; none: the manifest")
    _add_check_options(parser)
    add_output_options(parser, CHECK_FORMATS)
    parser.set_defaults(run=lambda options: run_check(options, models, charts))
    parser = commands.add_parser("trace", help="show how a property is violated or a goal is reached, step by step")
    parser.add_argument("models", nargs=1, metavar="MODEL", help="a model, a named check, or module:SPEC")
    _add_check_options(parser)
    add_output_options(parser, ("text", "json", *charts))
    for form in charts:
        parser.add_argument(f"--{form}", type=Path, metavar="FILE", help=f"the same as --output {form}:FILE")
    parser.set_defaults(run=lambda options: run_trace(options, models, charts))
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
    add_output_options(parser, ("text", "json"))
    parser.set_defaults(run=lambda options: run_states(options, models))
    parser = commands.add_parser("models", help="what there is: models, bounds, rules, properties, abstractions")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="show these in full")
    add_output_options(parser, ("text", "json"))
    parser.set_defaults(run=lambda options: run_models(options, models))


def _add_check_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add_bound_options(parser)
    add("--property", action="append", dest="properties", metavar="NAME", help="judge only this; may be repeated")
    add("--without", action="append", default=[], metavar="NAME", help="judge all properties but this; may be repeated")
    add(
        "--engine",
        choices=ENGINES,
        help="embedded (compiled, the default), oracle (plain Python), both, which must agree, or spark",
    )
    add("--master", metavar="URL", help="for spark: local[N], spark://HOST:PORT and the like (default: local[*])")
    add("--state-dir", metavar="DIR", help="for spark: keep the levels there, as Parquet")
    add("--resume", action="store_true", help="for spark: go on with the search in --state-dir")
    add("--handover", type=_positive, metavar="N", help="for spark: the states of a level at which Spark takes over")
    add("--threads", type=_threads, default=cores(), metavar="N", help="threads (default: one a core)")
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
    add("-v", "--verbose", action="store_true", help="for the manifest: every result in full")


def add_bound_options(parser: argparse.ArgumentParser) -> None:
    """Add --bound and --bounds; `asked_bounds` tells what they come to."""
    parser.add_argument("--bound", action="append", default=[], metavar="NAME=N", help="set one bound; may be repeated")
    parser.add_argument("--bounds", metavar="SET", help="take a named set of bounds; --bound changes single ones")


def add_output_options(parser: argparse.ArgumentParser, formats: Sequence[str]) -> None:
    """Add --format, --output and -q; `outputs` tells what they come to."""
    parser.add_argument("--format", choices=formats, default=formats[0], help="what is written to stdout, or to --output FILE")
    parser.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="[FORMAT:]FILE",
        help="write there instead of to stdout; with FORMAT: write that as well; may be repeated",
    )
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")
    parser.set_defaults(formats=tuple(formats))


def outputs(options: argparse.Namespace) -> list[Output]:
    """Return what to write and where. Files without a format take that of --format, and then nothing goes to stdout."""
    found: list[Output] = []
    plain: list[Output] = []
    for text in options.output:
        form, colon, file = text.partition(":")
        if colon and form in options.formats:
            if not file:
                raise SpecError(f"--output {text}: it names no file; write {form}:FILE")
            found.append((form, Path(file)))
        else:
            plain.append((options.format, Path(text)))
    return [*found, *(plain or [(options.format, None)])]


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


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


# ---------------------------------------------------------------------------------------------------------------------
# check


def run_check(options: argparse.Namespace, models: Models, charts: Mapping[str, Draw]) -> int:
    """Check models or the manifest, write the results, return the exit code."""
    named = _named_checks(options, models)
    wanted = outputs(options)
    if options.models:
        checks = [named[name] if name in named else _unnamed(options, models.find(name)) for name in options.models]
    else:
        checks = list(named.values())
    alone = len(options.models) == 1 and options.models[0] not in named
    report = Report(options, checks, alone, charts)
    for check in checks:
        report.add(Outcome(check.name, _run(options, check), check.expected))
        if ("text", None) in wanted and not alone:
            print(report.last_text(), flush=True)
        if report.outcomes[-1].result.stopped == "interrupted":
            break
    for form, file in wanted:
        write(report.closing() if (form, file, alone) == ("text", None, False) else report.text(form), file)
    if "github" in [form for form, _ in wanted]:
        report.summarise()
    return report.code()


class Report:
    """The outcomes of one run, in every form."""

    def __init__(self, options: argparse.Namespace, checks: Sequence[NamedCheck], alone: bool, charts: Mapping[str, Draw]) -> None:
        self.options, self.checks, self.alone, self.charts = options, checks, alone, charts
        self.outcomes: list[Outcome] = []

    def add(self, outcome: Outcome) -> None:
        """Add what came of the next check."""
        self.outcomes.append(outcome)

    def text(self, form: str) -> str:
        """Return all outcomes in a format."""
        forms: Mapping[str, Callable[[], str]] = {
            "text": self.plain_text,
            "json": self.json,
            "junit": self.junit,
            "github": lambda: github_text(self.outcomes, self.options.manifest),
            "markdown": lambda: markdown_text(self.outcomes, self.charts.get("mermaid")),
        }
        return forms[form]()

    def junit(self) -> str:
        """Return JUnit XML; checks that an interrupt left out are told as such."""
        return junit_text(self.outcomes, [(left.name, left.spec.name) for left in self.checks[len(self.outcomes) :]])

    def json(self) -> str:
        """Return JSON: one result, or the named checks."""
        if self.alone:
            return json.dumps(result_plain(self.outcomes[0].result, self.outcomes[0].traces), indent=1)
        plain = [check_plain(o.name, o.result, o.traces, o.expected) for o in self.outcomes]
        return json.dumps({"schema_version": SCHEMA_VERSION, "checks": plain}, indent=1)

    def plain_text(self) -> str:
        """Return what people read: one result in full, or a line for each check."""
        if self.alone:
            (outcome,) = self.outcomes
            _warn_of_dead_rules(outcome.result)
            return result_text(outcome.result, outcome.violations, self.options.full)
        return "\n".join([*(self._text_of(outcome) for outcome in self.outcomes), self.closing()])

    def last_text(self) -> str:
        """Return what people read of the newest outcome."""
        return self._text_of(self.outcomes[-1])

    def _text_of(self, outcome: Outcome) -> str:
        lines = [check_line(outcome.name, outcome.result, outcome.expected)]
        if self.options.verbose:
            return "\n".join([*lines, result_text(outcome.result, outcome.violations, self.options.full)])
        surprise = outcome.unmet and outcome.expected.verdict != "violated"
        for trace in outcome.violations.values() if self.options.traces or surprise else ():
            lines.append(
                trace_text(trace, outcome.result.spec, self.options.full) if surprise else story_text(trace, outcome.result.spec)
            )
        return "\n".join(lines)

    def closing(self) -> str:
        """Return the last line."""
        return f"{sum(not outcome.unmet for outcome in self.outcomes)} of {len(self.checks)} checks as expected"

    def summarise(self) -> None:
        """Add the summary in Markdown to GitHub's job summary, where there is one."""
        if file := os.environ.get("GITHUB_STEP_SUMMARY"):
            try:
                with Path(file).open("a", encoding="utf-8") as summary:
                    summary.write(self.text("markdown") + "\n")
            except OSError as error:
                raise SpecError(f"GITHUB_STEP_SUMMARY={file}: {error.strerror}; unset it, or name a file") from None

    def code(self) -> int:
        """Return the exit code."""
        if self.alone:
            (outcome,) = self.outcomes
            if self.options.all_rules_fire and outcome.result.dead_rules and outcome.result.verdict == "holds":
                return VIOLATED
            return {"holds": AS_EXPECTED, "violated": VIOLATED, "inconclusive": INCONCLUSIVE}[outcome.result.verdict]
        codes = [INCONCLUSIVE if o.result.verdict == "inconclusive" else VIOLATED for o in self.outcomes if o.unmet]
        return max(codes, default=AS_EXPECTED)


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
        "--without": options.without,
        "--all-rules-fire": options.all_rules_fire,
    }
    given = [option for option, value in own.items() if value]
    if given and (not options.models or named.keys() & set(options.models)):
        raise SpecError(f"{given[0]}: a named check has its own; change it in {options.manifest}, or name a model")
    return named


def _unnamed(options: argparse.Namespace, spec: Spec) -> NamedCheck:
    """Return the check that the options ask for."""
    expected = Expectation(all_rules_fire=options.all_rules_fire)
    properties = tuple(options.properties) if options.properties else None
    if options.without:
        if properties:
            raise SpecError("--property says what to judge, --without what not to; take one of them")
        left_out = [spec.property(name) for name in options.without]
        properties = tuple(claim.name for claim in spec.properties if claim not in left_out)
    values = asked_bounds(options, spec)
    return NamedCheck(spec.name, spec, values, expected, properties, "embedded", False, False, None, None)


def asked_bounds(options: argparse.Namespace, spec: Spec) -> dict[str, int]:
    """Return the bounds that --bounds and --bound ask for."""
    bounds = dict(named_bounds(spec, options.bounds)) if options.bounds else {}
    bounds.update(_bound(text) for text in options.bound)
    return spec.bound_values(bounds)


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
        return named.run(
            engine=options.engine,
            threads=options.threads,
            everything=options.all,
            deadlock=options.deadlock,
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
    if "handover" in given:
        given["latest"] = given["handover"]
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


def _warn_of_dead_rules(result: Exploration) -> None:
    if result.complete and result.dead_rules:
        print(f"warning: rules that never fire within these bounds: {', '.join(result.dead_rules)}", file=sys.stderr)


def write(text: str | bytes, file: Path | None) -> None:
    """Write a result to a file, or to stdout; a text ends with one line break."""
    data = text if isinstance(text, bytes) else (text.rstrip("\n") + "\n").encode()
    try:
        if file is not None:
            file.write_bytes(data)
        elif isinstance(text, bytes):
            sys.stdout.buffer.write(data)
        else:
            sys.stdout.write(data.decode())
    except BrokenPipeError:
        raise
    except OSError as error:
        if file is None:
            raise
        raise SpecError(f"--output {file}: {error.strerror}; name a file that can be written") from None


# ---------------------------------------------------------------------------------------------------------------------
# trace and models


def run_trace(options: argparse.Namespace, models: Models, charts: Mapping[str, Draw]) -> int:
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
    found = Outcome(chosen.name, result, chosen.expected).traces
    traces = [found[claim] for claim in (wanted or result.violated) if claim in found]
    files = [(form, getattr(options, form)) for form in charts if getattr(options, form)]
    if options.output or not files:
        files += outputs(options)
    for form, file in files if traces else ():
        if form == "json":
            write(json.dumps([trace.to_plain() for trace in traces], indent=1), file)
        elif form == "text":
            write("\n\n".join(trace_text(trace, chosen.spec, options.full) for trace in traces), file)
        else:
            if others := ", ".join(trace.shows for trace in traces[1:]):
                print(f"{form} shows {traces[0].shows}; --property shows another: {others}", file=sys.stderr)
            write(charts[form](traces[0], chosen.spec), file)
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
        _tell(options, columns, "\n".join(columns))
        return AS_EXPECTED
    total, rows = need("distributed").query(options.state_dir, options.where, options.limit, options.master)
    _tell(options, {"states": total, "shown": rows}, states_text(total, rows))
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
    _tell(options, trace.to_plain(), trace_text(trace, spec, options.full, reached=True))
    return AS_EXPECTED


def _tell(options: argparse.Namespace, plain: Any, text: str) -> None:
    """Write what was found as JSON or as text, wherever the options want it."""
    for form, file in outputs(options):
        write(json.dumps(plain, indent=1) if form == "json" else text, file)


def run_models(options: argparse.Namespace, models: Models) -> int:
    """List the models, or show some in full."""
    specs = [models.find(name) for name in options.models] if options.models else list(models.catalogue.values())
    for form, file in outputs(options):
        if form == "json":
            write(json.dumps([model_plain(spec) for spec in specs], indent=1), file)
        elif options.models:
            write("\n\n".join(model_text(spec) for spec in specs), file)
        else:
            width = max(len(spec.name) for spec in specs)
            rows = [f"{spec.name:<{width}}  {spec.says}" for spec in specs]
            write("\n".join([*rows, "", "kafka-spec models MODEL shows one in full"]), file)
    return AS_EXPECTED


def show_warnings() -> None:
    """Write warnings as one line each on stderr."""

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        print(f"warning: {message}", file=sys.stderr)

    warnings.showwarning = show
