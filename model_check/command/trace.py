"""The subcommand `trace`: the traces of violated or of named properties, or samples of what a model does."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

from kafka_spec.model_check.check import judged_by_spec
from kafka_spec.model_check.command.check import VERIFIED, add_check_options, check_of, named_checks, run_one
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import (
    AS_EXPECTED,
    INCONCLUSIVE,
    VIOLATED,
    add_output_options,
    outputs,
    positive,
    warn,
    write,
)
from kafka_spec.model_check.command.simulate import FORMATS, refuse_search_options
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.report.ci import Draw
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.report.traces import trace_text
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Spec, SpecError

OF_ONE_TRACE = ("engine", "master", "all", "deadlock", "all_properties_tested", "seconds", "memory", "as_test")
"""More options that samples do not have; nor have they charts."""
STEPS = 20
"""The most steps of a sample, unless --steps says otherwise."""


def add_trace(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec], charts: Mapping[str, Draw]) -> None:
    """Add the options of `trace`; `charts` draw traces, by the name of their format."""
    models = Models(catalogue)
    parser.add_argument("models", nargs=1, metavar="MODEL", help="a model, a named check, or module:SPEC")
    add_check_options(parser, action="store_const", const=VERIFIED[0])
    add_output_options(parser, ("text", "json", *charts))
    for form in charts:
        parser.add_argument(f"--{form}", type=Path, metavar="FILE", help=f"the same as --output {form}:FILE")
    parser.add_argument(
        "--show",
        action="append",
        default=[],
        metavar="NAME=EXPRESSION",
        help="add a column to each step, as in 'leader = s.zookeeper.partition.leader'; may be repeated",
    )
    parser.add_argument("--as-test", type=Path, metavar="FILE", help="write the trace as a test for pytest")
    parser.add_argument("--samples", type=positive, metavar="N", help="N varied behaviours instead, each a random walk")
    parser.add_argument("--steps", type=positive, metavar="N", help="for --samples: the most steps of each (20)")
    parser.add_argument("--seed", type=int, metavar="N", help="for --samples: equal seeds give equal behaviours (1)")
    parser.set_defaults(run=lambda options: run_trace(options, models, charts))


def run_trace(options: argparse.Namespace, models: Models, charts: Mapping[str, Draw]) -> int:
    """Show the traces of the violated or of the named properties; return 0 if there is at least one trace."""
    wanted = options.properties
    chosen = _chosen(options, models, wanted)
    with needing("check"):
        from kafka_spec.model_check.interpreter.expression import expression
        from kafka_spec.model_check.report.as_test import test_text
        from kafka_spec.model_check.traces.counterexample import trace_of
    for text in options.show:
        expression(text)
    if options.samples is not None:
        refuse_search_options(options, "--samples", *OF_ONE_TRACE, *charts)
        if wanted or options.without:
            raise SpecError("--property and --without say what a search judges, and --samples makes none; leave them out")
        return _run_samples(options, chosen)
    if given := [name for name in ("steps", "seed") if getattr(options, name) is not None]:
        raise SpecError(f"--{given[0]} is for --samples")
    result = run_one(options, chosen)
    asked = [one for name in wanted or result.violated for one in result.claims_named(name) if one in result.findings]
    traces = [trace for claim in asked if (trace := trace_of(result, claim, options.show)) is not None]
    files = [(form, getattr(options, form)) for form in charts if getattr(options, form)]
    if options.as_test and traces:
        start = result.findings[traces[0].shows].start
        write(test_text(traces[0], chosen.spec, models.name_of(chosen.spec), start), options.as_test)
    if options.output or not (files or options.as_test):
        files += outputs(options)
    for form, file in files if traces else ():
        if form == "json":
            write(json.dumps([trace.to_plain() for trace in traces], indent=1), file)
        elif form == "text":
            write(plain("\n\n".join(trace_text(trace, chosen.spec, options.full) for trace in traces)), file)
        else:
            if others := ", ".join(trace.shows for trace in traces[1:]):
                warn(f"{form} shows {traces[0].shows}; --property shows another: {others}")
            write(charts[form](traces[0], chosen.spec), file)
    if not traces:
        what = ", ".join(wanted) if wanted else "a property"
        warn(f"{chosen.name}: no trace: {what} is not shown within these bounds ({result.verdict})")
        return INCONCLUSIVE if result.verdict == "inconclusive" else VIOLATED
    return AS_EXPECTED


def _chosen(options: argparse.Namespace, models: Models, wanted: list[str] | None) -> NamedCheck:
    """Return the check that is asked for; only the named properties are judged, so that no other violation ends the search."""
    options.properties = None
    chosen = check_of(options.models[0], named_checks(options, models), options, models)
    if not wanted:
        return chosen
    for claim in judged_by_spec(wanted):
        chosen.spec.property(claim)
    return dataclasses.replace(chosen, properties=tuple(wanted), deadlock=None)


def _run_samples(options: argparse.Namespace, chosen: NamedCheck) -> int:
    """Write varied behaviours; return whether one of them violates an invariant."""
    with needing("check"):
        from kafka_spec.model_check.report.samples import sample_text
        from kafka_spec.model_check.traces.samples import samples_of
    wanted = outputs(options)
    if strange := [form for form, _ in wanted if form not in FORMATS]:
        raise SpecError(f"--samples prints {' or '.join(FORMATS)}, not {strange[0]}")
    seed, steps = 1 if options.seed is None else options.seed, options.steps or STEPS
    samples = samples_of(chosen.spec, chosen.bounds, options.samples, steps, seed, options.show)
    for form, file in wanted:
        if form == "json":
            write(json.dumps([sample.trace.to_plain() for sample in samples], indent=1), file)
        else:
            texts = [sample_text(number, len(samples), sample, options.full) for number, sample in enumerate(samples, 1)]
            write(plain("\n\n".join(texts)), file)
    return VIOLATED if any(sample.violated for sample in samples) else AS_EXPECTED
