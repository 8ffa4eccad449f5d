"""The subcommand `prove`: does a property hold in every reachable state, whatever the bounds that are lifted?"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.check import check
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import (
    AS_EXPECTED,
    INCONCLUSIVE,
    VIOLATED,
    add_bound_options,
    add_output_options,
    asked_bounds,
    cores,
    duration,
    given_bounds,
    outputs,
    threads,
    write,
)
from kafka_spec.model_check.exploration import EngineError, Exploration
from kafka_spec.model_check.proof.statements import induction_about, invariants_of, lifted_bounds
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.room import refuse_open
from kafka_spec.model_check.within import reading
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Spec

if TYPE_CHECKING:
    from kafka_spec.model_check.proof.obligations import Induction
    from kafka_spec.model_check.proof.solving import Proof
    from kafka_spec.model_check.proof.suggestions.suggest import Suggestions

SECONDS, SUGGESTING, EACH = 60.0, 300.0, 20.0
"""The times of the search, of suggesting lemmas, and of the solver for one obligation, unless options name others."""


def add_prove(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec]) -> None:
    """Add the options of `prove`."""
    models = Models(catalogue)
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model, or module:SPEC")
    add("--property", action="append", dest="properties", metavar="NAME", help="prove only this, with all lemmas; may be repeated")
    add_bound_options(parser)
    add(
        "--unbounded",
        type=lambda text: text.split(","),
        default=[],
        metavar="BOUND,...",
        help="bounds to lift: for all their values",
    )
    add("--suggest", action="store_true", help="suggest lemmas, and prove with them what can be proved")
    add(
        "--seconds",
        type=duration,
        metavar="S",
        help=f"the time of the search before (default: {SECONDS:g}), and again that of --suggest (default: {SUGGESTING:g})",
    )
    add("--each", type=duration, default=EACH, metavar="S", help=f"the time for one obligation (default: {EACH:g})")
    add("--anyway", action="store_true", help="try the induction even if the search finds a violation: which rule keeps what")
    add("--smtlib", type=Path, metavar="FOLDER", help="also write each obligation there, for other solvers; unsat means proved")
    add("--threads", type=threads, default=cores(), metavar="N", help="processes (default: one per core)")
    add_output_options(parser, ("text", "json"))
    parser.set_defaults(run=lambda options: run_prove(options, models))


def run_prove(options: argparse.Namespace, models: Models) -> int:
    """Search, prove, write what was found, and return the exit code: 0, 1 or 3."""
    with needing("prove"):
        from kafka_spec.model_check.proof.solving import prove
    seconds = SECONDS if options.seconds is None else options.seconds
    with reading(seconds):
        spec = models.find(options.model)
    bounds = asked_bounds(options, spec)
    refuse_open(spec, {*given_bounds(options, spec), *options.unbounded}, ", or lift it, --unbounded {}")
    asked = invariants_of(spec, options.properties)
    lifted = lifted_bounds(spec, bounds, options.unbounded, "--unbounded ")
    induction = induction_about(spec, asked, bounds, lifted)
    induction.tasks  # noqa: B018 - what has no translation is refused before anything is searched
    if options.smtlib is not None:
        options.smtlib.mkdir(parents=True, exist_ok=True)
    judged = dataclasses.replace(spec, properties=(*asked, *spec.lemmas), lemmas=())
    with interruptible(Budget(seconds)) as budget:
        searched = check(judged, bounds, threads=options.threads, everything=True, deadlock=False, budget=budget)
    suggestions = None
    if options.suggest and not searched.violated:
        suggestions = suggested(induction_about(spec, asked, bounds), options.seconds or SUGGESTING)
        spec = dataclasses.replace(spec, lemmas=(*spec.lemmas, *(one.lemma for one in suggestions.lemmas)))
        induction = induction_about(spec, asked, bounds, lifted)
    tried = not searched.violated or options.anyway
    if suggestions is not None and not suggestions.suffice:
        tried = False
    proof = None
    if tried:
        proof = prove(induction, threads=options.threads, milliseconds=int(options.each * 1000), smtlib=options.smtlib)
    if searched.violated and proof is not None and proof.is_complete:
        raise EngineError(f"the search violates {', '.join(searched.violated)}, and the solver says that every rule keeps it")
    write_proof(options, searched, proof, suggestions)
    return VIOLATED if searched.violated else AS_EXPECTED if proof is not None and proof.is_complete else INCONCLUSIVE


def suggested(induction: Induction, seconds: float) -> Suggestions:
    """Return lemmas with which an induction may succeed, found in so many seconds."""
    from kafka_spec.model_check.proof.suggestions.suggest import suggest

    with interruptible(Budget(seconds)) as budget:
        return suggest(induction, budget)


def write_proof(options: argparse.Namespace, searched: Exploration, proof: Proof | None, suggestions: Suggestions | None) -> None:
    """Write the result in each format; there is no proof where the search found a violation, or the suggestions do not suffice."""
    from kafka_spec.model_check.report.proof import json_text, proof_text
    from kafka_spec.model_check.traces.counterexample import trace_of

    traces = {name: trace for name in searched.violated if (trace := trace_of(searched, name)) is not None}
    for form, file in outputs(options):
        written = json_text if form == "json" else proof_text
        text = written(searched, proof, traces, suggestions)
        write(text if form == "json" else plain(text), file)
