"""`check MODEL --inductive NAME`: are invariants inductive, at these bounds?"""

from __future__ import annotations

import argparse

from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import EXIT_CODES, chosen_model, outputs, write
from kafka_spec.model_check.command.simulate import refuse_search_options, refuse_without_simulate
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.within import reading
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import SpecError

FORMATS = ("text", "json")
NOT_OF_IT = (
    "simulate", "cover", "engine", "master", "memory", "all", "deadlock", "without", "all_properties_tested", "traces", "full",
    "accept", "verbose", "jobs",
)  # fmt: skip
"""The options of a check that an inductive one does not have, besides those that random walks do not have either."""


def add_inductive_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names what is to be inductive."""
    what = "try all states, reachable or not: does each step keep this invariant (or all: lemmas, invariants)? may be repeated; "
    what += "--property must follow"
    parser.add_argument("--inductive", action="append", default=[], metavar="NAME", help=what)


def run_inductive(options: argparse.Namespace, models: Models) -> int:
    """Check one model, write the result, and return the exit code: 0, 1 or 3."""
    refuse_without_simulate(options)
    refuse_search_options(options, "--inductive", *NOT_OF_IT)
    if len(options.models) != 1:
        raise SpecError("--inductive is of one model; name it")
    wanted = outputs(options)
    if strange := [form for form, _ in wanted if form not in FORMATS]:
        raise SpecError(f"--inductive prints {' or '.join(FORMATS)}, not {strange[0]}")
    with needing("check"):
        from kafka_spec.model_check.inductive import check_inductive
        from kafka_spec.model_check.progress import Display
        from kafka_spec.model_check.report.inductive import inductive_text, json_text
    with reading(options.seconds):
        (options.model,) = options.models
        spec, bounds = chosen_model(options, models, searches=False)
    budget = Budget(options.seconds)
    with Display(enabled=not options.quiet) as display, interruptible(budget):
        result = check_inductive(
            spec,
            options.inductive,
            bounds,
            implied=options.properties or (),
            threads=options.threads,
            budget=budget,
            progress=display.show_tried,
        )
    for form, file in wanted:
        write(json_text(result) if form == "json" else plain(inductive_text(result)), file)
    return EXIT_CODES[result.verdict]
