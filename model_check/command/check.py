"""The subcommand `check`: run the requested checks and write the outcomes in each requested format."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.check import Expectation, Outcome
from kafka_spec.model_check.command.accept import accept, refuse_to_accept
from kafka_spec.model_check.command.asked import Asked
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.grow import add_growth_options, run_grow
from kafka_spec.model_check.command.inductive import add_inductive_option, run_inductive
from kafka_spec.model_check.command.options import (
    AS_EXPECTED,
    EXIT_CODES,
    INCONCLUSIVE,
    MANIFEST,
    VIOLATED,
    add_bound_options,
    add_output_options,
    asked_bounds,
    check_names,
    cores,
    duration,
    outputs,
    positive,
    threads,
    warn,
    write,
)
from kafka_spec.model_check.command.side_by_side import cheapest_first, outcomes
from kafka_spec.model_check.command.simulate import add_simulate_options, refuse_without_simulate, run_simulate
from kafka_spec.model_check.engines import ENGINES
from kafka_spec.model_check.exploration import Distribution, Exploration
from kafka_spec.model_check.manifest import judged_without, manifest_of
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.report.ci import Draw, github_text, junit_text, markdown_text
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.report.plain import SCHEMA_VERSION, check_plain, result_plain
from kafka_spec.model_check.report.tested import tested_text
from kafka_spec.model_check.report.text import check_line, result_text
from kafka_spec.model_check.report.traces import story_text, trace_text
from kafka_spec.model_check.within import reading
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Spec, SpecError

VERIFIED = ("seed", "normal_form")
"""What --verify compares."""

CHECK_FORMATS = ("text", "json", "junit", "github", "markdown", "tested")


def add_check(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec], charts: Mapping[str, Draw]) -> None:
    """Add the options of `check`; `charts` draw traces, by the name of their format."""
    models = Models(catalogue)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="a model, a named check, or module:SPEC; none: the manifest")
    parser.add_argument("--no-traces", action="store_true", help="counts and verdicts only, in less memory")
    jobs = "checks that run side by side (default: as many as threads)"
    parser.add_argument("--jobs", type=threads, metavar="N", help=jobs)
    add_check_options(parser, nargs="?", const=VERIFIED[0], metavar="|".join(VERIFIED))
    parser.add_argument("--accept", action="store_true", help="write the counts of this run to the manifest's file of counts")
    add_inductive_option(parser)
    add_simulate_options(parser)
    add_output_options(parser, CHECK_FORMATS)
    parser.set_defaults(run=lambda options: _run(options, models, charts))


def add_check_options(parser: argparse.ArgumentParser, **verify: Any) -> None:
    """Add the options that say what is checked, by which engine and how far; `verify` says what --verify takes."""
    add = parser.add_argument
    add_bound_options(parser)
    add("--property", action="append", dest="properties", metavar="NAME", help="judge only this; may be repeated")
    add(
        "--without",
        action="append",
        default=[],
        metavar="NAME",
        help="judge all properties except this, or those of this kind; may be repeated",
    )
    add(
        "--engine",
        choices=ENGINES,
        help="embedded (compiled, the default), oracle (plain Python), both, which must agree, or spark",
    )
    add("--master", metavar="URL", help="for spark: local[N], spark://HOST:PORT and the like (default: local[*])")
    add("--state-dir", metavar="DIR", help="keep each level in files there, as a checkpoint; for spark as Parquet")
    add("--resume", action="store_true", help="continue the search in --state-dir")
    add("--handover", type=positive, metavar="N", help="for spark: the states of a level at which Spark takes over")
    add("--threads", type=threads, default=cores(), metavar="N", help="threads (default: one per core)")
    add("--all", action="store_true", help="continue to the end after a violation")
    add(
        "--deadlock",
        action=argparse.BooleanOptionalAction,
        help="check for deadlocks, states without any step that are not final (default: unless the model may rest anywhere)",
    )
    add("--all-rules-fire", action="store_true", help="a rule that never fires is a failure")
    add("--all-properties-tested", action="store_true", help="a property whose antecedent is never met is a failure")
    add("--verify", **verify, help="search again, and compare: with another hash seed (the default), or without the normal_form")
    add("--normal-form", action="store_true", help="search the normal forms of states, where the model has one")
    add_growth_options(add)
    add("--seconds", type=duration, metavar="S", help="stop after this time, inconclusive")
    add("--memory", type=positive, metavar="MIB", help="stop before using more memory, inconclusive")
    add("--max-states", type=positive, metavar="N", help="stop after the level that reaches so many states, inconclusive")
    add("--manifest", type=Path, default=MANIFEST, metavar="FILE", help="the file with the named checks")
    add("--traces", action="store_true", help="for the manifest: print the counterexample of each violated property")
    add("--full", action="store_true", help="show whole states in traces, not only what changed")
    add("-v", "--verbose", action="store_true", help="for the manifest: every result in full")


def _run(options: argparse.Namespace, models: Models, charts: Mapping[str, Draw]) -> int:
    """Do what the options ask for, and return the exit code."""
    _read_verify(options)
    if options.inductive:
        return run_inductive(options, models)
    if (options.grow or options.cover) and not options.simulate:
        return run_grow(options, models)
    return run_check(options, models, charts)


def run_check(options: argparse.Namespace, models: Models, charts: Mapping[str, Draw]) -> int:
    """Check models or the manifest, write the results, and return the exit code."""
    with reading(options.seconds):
        named = named_checks(options, models)
        asked_for = [check_of(name, named, options, models) for name in options.models]
    if options.simulate:
        return run_simulate(options, asked_for)
    refuse_without_simulate(options)
    wanted = outputs(options)
    if options.accept:
        refuse_to_accept(options, named)
    checks = asked_for or cheapest_first(list(named.values()))
    alone = len(options.models) == 1 and options.models[0] not in named
    asked = Asked(checks)
    report = Report(options, asked, alone, charts)
    processes = options.jobs or (1 if "spark" in (options.engine, *(check.engine for check in checks)) else options.threads)
    processes = min(processes, len(checks))
    if processes > 1:
        options.threads = max(1, options.threads // processes)
    as_it_comes = ("text", None) in wanted and not alone
    with needing("check"):
        from kafka_spec.model_check.progress import ManifestDisplay
    display = ManifestDisplay(len(checks), enabled=processes > 1 and not options.quiet)
    options.quiet = options.quiet or processes > 1  # of the searches themselves
    for outcome in outcomes(checks, lambda check: run_one(options, check), processes):
        asked.add(outcome)
        display.clear()
        if alone or not outcome.expected.all_properties_tested:
            _warn_of_untested(outcome)
        if as_it_comes:
            _show(report, outcome)
        display.show()
    for outcome in asked.outcomes[asked.added :] if as_it_comes else ():
        _show(report, outcome)
    for form, file in wanted:
        write(plain(report.closing()) if (form, file, alone) == ("text", None, False) else report.text(form), file)
    if "github" in [form for form, _ in wanted]:
        report.summarise()
    if options.accept:
        accept(manifest_of(options.manifest), report.outcomes)
    return report.code()


def _show(report: Report, outcome: Outcome) -> None:
    """Print one of several outcomes, at once also where the output is a file."""
    write(plain(report.text_of(outcome)), None)
    sys.stdout.flush()


def _read_verify(options: argparse.Namespace) -> None:
    """Take what follows --verify as a model unless it says what to verify."""
    if options.verify not in (None, *VERIFIED):
        options.models.insert(0, options.verify)
        options.verify = VERIFIED[0]


class Report:
    """The outcomes of one run, in all formats, and its exit code."""

    def __init__(self, options: argparse.Namespace, asked: Asked, alone: bool, charts: Mapping[str, Draw]) -> None:
        self.options, self.asked, self.alone, self.charts = options, asked, alone, charts

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """The outcomes of all checks that were asked for."""
        return self.asked.outcomes

    def text(self, form: str) -> str:
        """Return all outcomes in a format."""
        forms: Mapping[str, Callable[[], str]] = {
            "text": lambda: plain(self.plain_text()),
            "json": self.json,
            "junit": lambda: junit_text(self.outcomes),
            "github": lambda: github_text(self.outcomes, self.options.manifest),
            "markdown": lambda: markdown_text(self.outcomes, self.charts.get("mermaid")),
            "tested": lambda: plain(tested_text(self.outcomes)),
        }
        return forms[form]()

    def json(self) -> str:
        """Return JSON: a single result, or the list of named checks."""
        if self.alone:
            return json.dumps(result_plain(self.outcomes[0].result, self.outcomes[0].traces), indent=1)
        checks = [check_plain(o.name, o.result, o.traces, o.expected) for o in self.outcomes]
        return json.dumps({"schema_version": SCHEMA_VERSION, "checks": checks}, indent=1)

    def plain_text(self) -> str:
        """Return plain text: a single result in full, or one line for each check."""
        if self.alone:
            (outcome,) = self.outcomes
            _warn_of_dead_rules(outcome.result)
            return result_text(outcome.result, outcome.violations, self.options.full)
        return "\n".join([*(self.text_of(outcome) for outcome in self.outcomes), self.closing()])

    def text_of(self, outcome: Outcome) -> str:
        """Return one of several outcomes as plain text."""
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
        """Return the last line of the output."""
        return f"{sum(not outcome.unmet for outcome in self.outcomes)} of {len(self.outcomes)} checks as expected"

    def summarise(self) -> None:
        """Append a summary in Markdown to GitHub's job summary, if there is one."""
        if file := os.environ.get("GITHUB_STEP_SUMMARY"):
            try:
                with Path(file).open("a", encoding="utf-8") as summary:
                    summary.write(self.text("markdown") + "\n")
            except OSError as error:
                raise SpecError(f"GITHUB_STEP_SUMMARY={file}: {error.strerror}; unset it, or name a file") from None

    def code(self) -> int:
        """Return the exit code; of several checks a violation counts for more than a search that did not end."""
        if self.alone:
            (outcome,) = self.outcomes
            return VIOLATED if outcome.unmet and outcome.result.verdict == "holds" else EXIT_CODES[outcome.result.verdict]
        codes = [INCONCLUSIVE if o.result.verdict == "inconclusive" else VIOLATED for o in self.outcomes if o.unmet]
        return min(codes, default=AS_EXPECTED)


def named_checks(options: argparse.Namespace, models: Models) -> dict[str, NamedCheck]:
    """Return the checks of the manifest by name; empty if models are named and no manifest exists."""
    if options.models and all(":" in name or name in models.catalogue for name in options.models):
        return {}
    if options.models and options.manifest == MANIFEST and not options.manifest.exists():
        return {}
    found = manifest_of(options.manifest).checks(models.find, options.models or None, accepts=getattr(options, "accept", False))
    named = {check.name: check for check in found}
    own = {
        "--bound": options.bound,
        "--bounds": options.bounds,
        "--property": options.properties,
        "--without": options.without,
        "--all-rules-fire": options.all_rules_fire,
        "--all-properties-tested": options.all_properties_tested,
    }
    given = [option for option, value in own.items() if value]
    if given and (not options.models or named.keys() & set(options.models)):
        raise SpecError(f"{given[0]}: a named check has its own; change it in {options.manifest}, or name a model")
    return named


def check_of(name: str, named: Mapping[str, NamedCheck], options: argparse.Namespace, models: Models) -> NamedCheck:
    """Return the named check with this name, or else the check of this model."""
    if name in named:
        return named[name]
    return _unnamed(options, models.find(name, partial(check_names, options.manifest)))


def _unnamed(options: argparse.Namespace, spec: Spec) -> NamedCheck:
    """Return the check of a model that the options describe."""
    expected = Expectation(all_rules_fire=options.all_rules_fire, all_properties_tested=options.all_properties_tested)
    properties = tuple(options.properties) if options.properties else None
    if options.without:
        if properties:
            raise SpecError("--property says what to judge, --without what not to; take one of them")
        properties = judged_without(spec, options.without)
    values = asked_bounds(options, spec)
    return NamedCheck(spec.name, spec, values, expected, properties, "embedded", False, None, None, None)


def run_one(options: argparse.Namespace, named: NamedCheck) -> Exploration:
    """Run one check within the options' budget; show progress, and stop on Ctrl-C."""
    with needing("check"):
        # imported before the time of the budget starts
        from kafka_spec.model_check.progress import Display
        from kafka_spec.model_check.search import embedded  # noqa: F401
    seconds = options.seconds if options.seconds is not None else named.seconds
    memory = options.memory if options.memory is not None else named.memory_mib
    budget = Budget(seconds, memory << 20 if memory is not None else None, options.max_states)
    distribution = _distribution(options, named)
    with Display(enabled=not options.quiet) as display, interruptible(budget):
        return named.run(
            engine=options.engine,
            threads=options.threads,
            everything=options.all,
            deadlock=options.deadlock,
            verify=options.verify == "seed",
            normal_form=options.normal_form,
            verify_normal_form=options.verify == "normal_form",
            budget=budget,
            progress=display.show,
            distribution=distribution,
            traces=not getattr(options, "no_traces", False),
        )


def _distribution(options: argparse.Namespace, named: NamedCheck) -> Distribution | None:
    """Return the options of the Spark engine, or None for the other engines."""
    given = {name: getattr(options, name) for name in ("master", "state_dir", "resume", "handover") if getattr(options, name)}
    spark = (options.engine or named.engine) == "spark"
    if not spark:
        if strange := [name for name in given if name in ("master", "handover")]:
            raise SpecError(f"--{strange[0]} is for --engine spark")
        if not given:
            return None
    if "state_dir" not in given:
        why = "--engine spark keeps the states it finds" if spark else "--resume continues a search that was kept"
        raise SpecError(f"{why}; name a folder for them with --state-dir" if spark else f"{why}; name its folder with --state-dir")
    if len(options.models) != 1:
        # each of several checks has a folder of its own
        given["state_dir"] = f"{given['state_dir']}/{named.name.replace('/', '-')}"
    if "handover" in given:
        given["latest"] = given["handover"]
    return Distribution(**given)


def _warn_of_dead_rules(result: Exploration) -> None:
    if result.complete and result.dead_rules:
        warn(f"warning: rules that never fire within these bounds: {', '.join(result.dead_rules)}")


def _warn_of_untested(outcome: Outcome) -> None:
    if outcome.result.complete and (untested := outcome.expected.untested(outcome.result)):
        warn(f"warning: {outcome.name}: properties that were never tested: {', '.join(untested)}")
