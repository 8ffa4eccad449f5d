"""`check MODEL --simulate`: random walks within a budget, and what they found."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.check import simulate
from kafka_spec.model_check.command.options import INCONCLUSIVE, VIOLATED, outputs, positive, write
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.report.escape import plain
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import SpecError

SECONDS = 60.0
"""The budget, unless --seconds or --walks names another."""
FORMATS = ("text", "json")
OF_A_SEARCH = (
    "grow", "cover", "resume", "state_dir", "handover", "max_states", "verify", "normal_form", "all_rules_fire", "no_traces",
)  # fmt: skip
OF_WALKS = ("walks", "policy", "walk_steps", "seed")


def add_simulate_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of random walks."""
    add = parser.add_argument
    add(
        "--simulate",
        action="store_true",
        help="random walks instead of a search, for --seconds (60) or --walks; they never say *holds*",
    )
    add("--walks", type=positive, metavar="N", help="for --simulate: how many walks")
    add(
        "--policy",
        metavar="NAME",
        help="for --simulate: how a step is chosen: by rule, by successor, with operators and faults late, rare rules first "
        "(rule, successor, late, rare), or mixed: all in turn, the default",
    )
    add("--walk-steps", type=positive, metavar="N", help="for --simulate: the most steps of a walk (300)")
    add("--seed", type=int, metavar="N", help="for --simulate: equal seeds give equal walks (1)")


def refuse_without_simulate(options: argparse.Namespace) -> None:
    """Refuse options of random walks where none are asked for."""
    if given := [name for name in OF_WALKS if getattr(options, name, None) is not None]:
        raise SpecError(f"--{given[0].replace('_', '-')} is for --simulate")


def refuse_search_options(options: argparse.Namespace, instead: str, *others: str) -> None:
    """Refuse options of a search, and others, where an option asks for something else `instead`."""
    if given := [name for name in (*OF_A_SEARCH, *others) if getattr(options, name, None)]:
        raise SpecError(f"--{given[0].replace('_', '-')} is of a search, and {instead} makes none; take one of them")


def run_simulate(options: argparse.Namespace, asked_for: Sequence[NamedCheck]) -> int:
    """Walk the one model or named check that is asked for, within its time; return the exit code."""
    if len(asked_for) != 1:
        raise SpecError("--simulate is of one model or one named check; name it")
    (named,) = asked_for
    budget = Budget(options.seconds if options.seconds is not None else named.seconds)
    with interruptible(budget):
        return _walk(options, named, budget)


def _walk(options: argparse.Namespace, named: NamedCheck, budget: Budget) -> int:
    """Walk, write the result, and return the exit code: 1 after a violation, else 3, since walks are never complete."""
    refuse_search_options(options, "--simulate")
    if options.engine not in (None, "embedded", "spark"):
        raise SpecError(f"--engine {options.engine}: random walks are made by compiled code; take embedded or spark")
    wanted = outputs(options)
    if strange := [form for form, _ in wanted if form not in FORMATS]:
        raise SpecError(f"--simulate prints {' or '.join(FORMATS)}, not {strange[0]}")
    with needing("check"):
        from kafka_spec.model_check.progress import Display
        from kafka_spec.model_check.random_walks.batches import LENGTH, MIXED, Walks
        from kafka_spec.model_check.report.walks import walks_plain, walks_text
        from kafka_spec.model_check.traces.counterexample import trace_of
    seed = 1 if options.seed is None else options.seed
    if options.seconds is None and options.walks is None:
        budget.seconds = SECONDS
    with Display(enabled=not options.quiet) as display:
        walked = simulate(
            named.spec,
            named.bounds,
            Walks(options.policy or MIXED, seed, options.walk_steps or LENGTH, options.walks),
            properties=named.properties,
            threads=options.threads,
            everything=options.all or named.everything,
            deadlock=named.deadlock if options.deadlock is None else options.deadlock,
            budget=budget,
            progress=display.show_walks,
            master=(options.master or "local[*]") if options.engine == "spark" else "",
        )
    traces = {name: trace for name in walked.violated if (trace := trace_of(walked.found, name)) is not None}
    for form, file in wanted:
        if form == "json":
            write(json.dumps(walks_plain(walked, traces), indent=1), file)
        else:
            write(plain(walks_text(walked, traces, options.full)), file)
    return VIOLATED if walked.violated else INCONCLUSIVE
