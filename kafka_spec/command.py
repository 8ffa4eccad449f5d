"""The command `kafka-spec`: registers the subcommands of the packages, and contains no logic.

A subcommand is imported when the command line names it, and its libraries when it runs; `--help` imports none.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from kafka_spec.model_check.coverage import Coverage
    from kafka_spec.spec.vocabulary.table import Spec
    from kafka_spec.spec.vocabulary.trace import Trace


@dataclass(frozen=True)
class Command:
    """A subcommand: its purpose, the function that adds its options, and the extra that it requires."""

    summary: str
    add_options: Callable[[argparse.ArgumentParser], None]
    extra: str | None = None


def _check(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.diagrams.charts import CHARTS
    from kafka_spec.model_check.command.check import add_check
    from kafka_spec.spec.catalogue.models import MODELS

    add_check(parser, MODELS, CHARTS)


def _trace(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.diagrams.charts import CHARTS
    from kafka_spec.model_check.command.trace import add_trace
    from kafka_spec.spec.catalogue.models import MODELS

    add_trace(parser, MODELS, {**CHARTS, "java": _kafka_test})


def _what_if(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.diagrams.charts import CHARTS
    from kafka_spec.model_check.command.what_if import add_what_if
    from kafka_spec.spec.catalogue.models import MODELS

    add_what_if(parser, MODELS, {**CHARTS, "java": _kafka_test})


def _kafka_test(trace: Trace, spec: Spec) -> str:
    from kafka_spec.conformance.java_tests.controller_test import controller_test

    return controller_test(trace, spec)


def _coverage(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.model_check.command.coverage import add_coverage
    from kafka_spec.spec.catalogue.models import MODELS

    add_coverage(parser, MODELS, {"html": _coverage_page})


def _coverage_page(found: Coverage) -> str:
    from kafka_spec.diagrams.coverage import coverage_html

    return coverage_html(found)


def _prove(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.model_check.command.prove import add_prove
    from kafka_spec.spec.catalogue.models import MODELS

    add_prove(parser, MODELS)


def _refines(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.model_check.command.refines import add_refines
    from kafka_spec.spec.catalogue.models import MODELS

    add_refines(parser, MODELS)


def _states(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.model_check.command.states import add_states
    from kafka_spec.spec.catalogue.models import MODELS

    add_states(parser, MODELS)


def _models(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.model_check.command.models import add_models
    from kafka_spec.spec.catalogue.models import MODELS

    add_models(parser, MODELS, {"html": _reference})


def _reference(specs: Sequence[Spec]) -> str:
    from kafka_spec.diagrams.reference import reference_html

    return reference_html(specs)


def _checks(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.model_check.command.checks import add_checks
    from kafka_spec.spec.catalogue.models import MODELS

    add_checks(parser, MODELS)


def _explain(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.diagrams.charts import CHARTS
    from kafka_spec.model_check.command.explain import add_explain
    from kafka_spec.spec.catalogue.models import MODELS

    add_explain(parser, MODELS, CHARTS)


def _paths(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.model_check.command.paths import add_paths
    from kafka_spec.spec.catalogue.models import MODELS

    add_paths(parser, MODELS)


def _draw(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.diagrams.command import add_draw
    from kafka_spec.spec.catalogue.machines import CHOICES, MACHINES
    from kafka_spec.spec.catalogue.models import MODELS

    add_draw(parser, MODELS, MACHINES, CHOICES)


def _explore(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.diagrams.explore.command import add_explore
    from kafka_spec.spec.catalogue.models import MODELS

    add_explore(parser, MODELS)


def _export(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.diagrams.command import add_export
    from kafka_spec.spec.catalogue.machines import MACHINES
    from kafka_spec.spec.catalogue.models import MODELS

    add_export(parser, MODELS, MACHINES)


def _run(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.conformance.kafka_clusters.command import add_kafka
    from kafka_spec.impl.command import add_run, run

    add_run(parser)
    add_kafka(parser, run)


def _admin(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.impl.admin_command import add_admin

    add_admin(parser)


def _validate(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.conformance.validate.command import add_validate

    add_validate(parser)


def _advise(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.conformance.advise.command import add_advise

    add_advise(parser)


def _init(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.model_check.command.init import add_init

    add_init(parser)


def _conformance(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.conformance.kafka_classes.command import add_conformance

    add_conformance(parser)


def _completion(parser: argparse.ArgumentParser) -> None:
    from kafka_spec.model_check.command.completion import add_completion
    from kafka_spec.spec.catalogue.models import MODELS

    add_completion(parser, lambda: parser_of(*COMMANDS), MODELS)


COMMANDS = {
    "init": Command("begin a specification of your own: a spec, its test, its check, a workflow", _init),
    "check": Command("check models, or the manifest of the project", _check, "check"),
    "trace": Command("show how a property is violated or a goal is reached, step by step", _trace, "check"),
    "what-if": Command(
        "say whether a change of a model is safe: the shortest harm, or what was searched without any", _what_if, "check"
    ),
    "prove": Command(
        "prove invariants for all reachable states: each rule keeps each lemma, also with bounds lifted", _prove, "check"
    ),
    "refines": Command(
        "say whether a model implements another: each step is one of the other's, under a mapping, or changes nothing there",
        _refines,
        "check",
    ),
    "coverage": Command("show which rules, rows, guards, antecedents and lines a search of a model runs", _coverage, "check"),
    "states": Command("query the states that a Spark search stored", _states, "spark"),
    "models": Command("list models, bounds, rules, properties, abstractions", _models),
    "checks": Command("list the named checks; say why one is there, what it alone tests, and how to run it", _checks),
    "explore": Command("walk through a model by hand, step by step, on a page or in the terminal", _explore, "check"),
    "explain": Command(
        "say whether a log of an implementation is a behaviour of a model, and which line is not", _explain, "check"
    ),
    "paths": Command("write paths that take every step of a model, to test an implementation with", _paths, "check"),
    "draw": Command("draw a machine, the differences of two eras, or the state graph of a small model", _draw, "draw"),
    "export": Command("export tables: JSON, a configuration of `transitions`, TLA+; a whole model as TLA+", _export),
    "run": Command(
        "run a cluster: controllers and brokers that execute the tables, in a simulation with faults or on real ZooKeeper",
        _run,
        "impl",
    ),
    "admin": Command("create, describe, move and delete topics of a running cluster", _admin, "impl"),
    "validate": Command("check the state-change and controller logs of a real Kafka cluster against the tables", _validate),
    "advise": Command(
        "say whether a planned action is safe on a real KRaft cluster, by its metadata: may I do this?", _advise, "check"
    ),
    "conformance": Command("compare the tables and the implementation with Kafka's own classes", _conformance, "kafka"),
    "completion": Command("print a script that completes commands, options and models in a shell", _completion, "check"),
}


class _Version(argparse.Action):
    """Prints the version; looks it up only on use."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from importlib.metadata import version

        print(f"kafka-spec {version('kafka-spec')}")
        parser.exit()


def parser_of(*chosen: str) -> argparse.ArgumentParser:
    """Return the parser of the command line, with the options of the chosen subcommands only."""
    parser = argparse.ArgumentParser(
        prog="kafka-spec", description="Kafka's protocol, stated once: check it, trace it, look at it."
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        options = commands.add_parser(name, help=command.summary)
        if name in chosen:
            command.add_options(options)
    return parser


def run(arguments: Sequence[str]) -> int:
    """Run the command line; return its exit code."""
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()  # closed ones are None
    chosen = next((argument for argument in arguments if not argument.startswith("-")), None)
    try:
        options = parser_of(*([chosen] if chosen else [])).parse_args(arguments)
        warnings.showwarning = _show_warning
        return _run_command(COMMANDS[str(chosen)], options)
    except Exception as error:
        from kafka_spec.interrupts import is_interrupt

        if is_interrupt(error):
            raise KeyboardInterrupt from error
        return _told(error)


def _nowhere() -> TextIO:
    """Return a stream whose text nobody reads."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _run_command(command: Command, options: argparse.Namespace) -> int:
    from kafka_spec.spec.optional_dependencies import needing

    with needing(command.extra) if command.extra else nullcontext():
        code: int = options.run(options)
    return code


def _told(error: Exception) -> int:
    """Report an error, and return its exit code."""
    from kafka_spec.model_check.budget import Stopped
    from kafka_spec.model_check.command.options import INCONCLUSIVE, INTERNAL, MISUSE, warn
    from kafka_spec.model_check.exploration import EngineError
    from kafka_spec.spec.vocabulary.table import SpecError

    if isinstance(error, BrokenPipeError):
        sys.stderr.close()
        return INCONCLUSIVE
    if isinstance(error, Stopped):
        warn(f"kafka-spec: stopped before there was a result: {error}")
        return INCONCLUSIVE
    if isinstance(error, SpecError):
        warn(f"kafka-spec: {error}")
        return MISUSE
    if isinstance(error, EngineError):
        warn(f"kafka-spec: internal error: {error}")
        return INTERNAL
    if isinstance(error, OSError):
        warn(f"kafka-spec: the result cannot be written: {error}")
        return MISUSE
    warn("".join(traceback.format_exception(error)) + "kafka-spec: internal error; please report it with the lines above")
    return INTERNAL


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Write a warning as one line on stderr."""
    from kafka_spec.model_check.command.options import warn

    warn(f"warning: {message}")
