"""The subcommand `coverage`: searches a model, and shows which of its rules, rows, guards, antecedents and lines were run."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import (
    AS_EXPECTED,
    INCONCLUSIVE,
    MANIFEST,
    add_bound_options,
    add_output_options,
    chosen_model,
    duration,
    outputs,
    positive,
    write,
)
from kafka_spec.model_check.coverage import Coverage, coverage_of
from kafka_spec.model_check.report.coverage import coverage_plain, coverage_text
from kafka_spec.model_check.report.escape import plain
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.vocabulary.unlisted_rules import refuse_unlisted

Page = Callable[[Coverage], str]
"""Writes coverage as a page."""


def add_coverage(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec], pages: Mapping[str, Page]) -> None:
    """Add the options of `coverage`; `pages` write it by the name of their format."""
    models = Models(catalogue)
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model, a named check, or module:SPEC")
    add_bound_options(parser)
    add("--seconds", type=duration, metavar="S", help="stop after this time, with what was covered until then")
    add("--max-states", type=positive, metavar="N", help="stop after the level that reaches so many states")
    add("--manifest", type=Path, default=MANIFEST, metavar="FILE", help="the file with the named checks")
    add_output_options(parser, ("text", "json", *pages))
    parser.set_defaults(run=lambda options: run_coverage(options, models, pages))


def run_coverage(options: argparse.Namespace, models: Models, pages: Mapping[str, Page]) -> int:
    """Search a model to the end, violations or not, and write what the search has run."""
    spec, bounds = chosen_model(options, models)
    refuse_unlisted(spec)
    with needing("check"):
        from kafka_spec.model_check.progress import Display
        from kafka_spec.model_check.search.covering import covered
    budget = Budget(options.seconds, None, options.max_states)
    with Display(enabled=not options.quiet) as display, interruptible(budget):
        result = covered(spec, bounds, budget, display.show)
    found = coverage_of(result)
    for form, file in outputs(options):
        if form in pages:
            write(pages[form](found), file)
        else:
            write(json.dumps(coverage_plain(found), indent=1) if form == "json" else plain(coverage_text(found)), file)
    return AS_EXPECTED if result.complete else INCONCLUSIVE
