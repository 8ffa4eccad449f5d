"""The subcommand `models`: lists the models, with bounds, rules, properties and abstractions."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence

from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import AS_EXPECTED, add_output_options, outputs, write
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.report.plain import model_plain
from kafka_spec.model_check.report.text import model_text
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.vocabulary.unlisted_rules import refuse_unlisted

Page = Callable[[Sequence[Spec]], str]
"""Writes models as a page."""


def add_models(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec], pages: Mapping[str, Page]) -> None:
    """Add the options of `models`; `pages` write models by the name of their format."""
    models = Models(catalogue)
    parser.add_argument("models", nargs="*", metavar="MODEL", help="show these in full")
    add_output_options(parser, ("text", "json", *pages))
    parser.set_defaults(run=lambda options: run_models(options, models, pages))


def run_models(options: argparse.Namespace, models: Models, pages: Mapping[str, Page]) -> int:
    """List all models, or describe the named ones in full."""
    specs = [models.find(name) for name in options.models] if options.models else list(models.catalogue.values())
    for spec in specs:
        refuse_unlisted(spec)
    for form, file in outputs(options):
        if form == "json":
            write(json.dumps([model_plain(spec) for spec in specs], indent=1), file)
        elif form in pages:
            write(pages[form](specs), file)
        elif options.models:
            write(plain("\n\n".join(model_text(spec) for spec in specs)), file)
        else:
            width = max(len(spec.name) for spec in specs)
            rows = [f"{spec.name:<{width}}  {spec.summary}" for spec in specs]
            write(plain("\n".join([*rows, "", "kafka-spec models MODEL shows one in full"])), file)
    return AS_EXPECTED
