"""The subcommand `refines`: does a model implement the specs that it says it refines?"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import (
    EXIT_CODES,
    add_bound_options,
    add_output_options,
    asked_bounds,
    cores,
    duration,
    outputs,
    positive,
    threads,
    write,
)
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.within import reading
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Refinement, Spec, SpecError


def add_refines(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec]) -> None:
    """Add the options of `refines`."""
    models = Models(catalogue)
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model, or module:SPEC, whose Spec(refines=...) names what it implements")
    add("--of", metavar="NAME", help="judge only whether it implements this spec")
    add_bound_options(parser)
    add("--seconds", type=duration, metavar="S", help="stop after this time, inconclusive")
    add("--max-states", type=positive, metavar="N", help="stop after this many states, inconclusive")
    add("--threads", type=threads, default=cores(), metavar="N", help="threads of the search (default: one per core)")
    add_output_options(parser, ("text", "json"))
    parser.set_defaults(run=lambda options: run_refines(options, models))


def run_refines(options: argparse.Namespace, models: Models) -> int:
    """Judge the refinements of a model, write the results, and return the exit code of the worst: 0, 1 or 3."""
    with needing("check"):
        from kafka_spec.model_check.refinement import judge_refinement
        from kafka_spec.model_check.report.refinement import json_text, refinement_text
    with reading(options.seconds):
        spec = models.find(options.model)
        bounds = asked_bounds(options, spec)
    budget = Budget(options.seconds, max_states=options.max_states)
    with interruptible(budget):
        results = [
            judge_refinement(spec, one, bounds, threads=options.threads, budget=budget) for one in asked_for(spec, options.of)
        ]
    for form, file in outputs(options):
        if form == "json":
            write(json_text(results), file)
        else:
            write(plain("\n\n".join(map(refinement_text, results))), file)
    verdicts = {result.verdict for result in results}
    return next(code for verdict, code in EXIT_CODES.items() if verdict in verdicts)


def asked_for(spec: Spec, name: str | None) -> tuple[Refinement[Spec], ...]:
    """Return the refinements of a spec, or that of one abstract spec.

    Raises:
        SpecError: there is none.
    """
    if not spec.refines:
        raise SpecError(f"{spec.name} says of no spec that it implements it; declare one in Spec(refines=(Refinement(...),))")
    found = tuple(one for one in spec.refines if name in (None, one.of.name))
    if not found:
        raise SpecError(f"--of {name}: {spec.name} refines {', '.join(one.of.name for one in spec.refines)}")
    return found
