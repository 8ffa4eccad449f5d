"""The subcommand `what-if`: is a change of a model safe? Searches it with and without the change, and shows the shortest harm."""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import (
    AS_EXPECTED,
    INCONCLUSIVE,
    VIOLATED,
    Output,
    add_bound_options,
    add_output_options,
    asked_bounds,
    cores,
    duration,
    outputs,
    positive,
    threads,
    warn,
    write,
)
from kafka_spec.model_check.loading import module_of
from kafka_spec.model_check.report.ci import Draw
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.within import reading
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.change import patched, replacements, with_decision, without_guard
from kafka_spec.spec.vocabulary.table import Spec, SpecError

if TYPE_CHECKING:
    from kafka_spec.model_check.what_if import ChangeComparison, Compared, WhatIf

SECONDS = 300.0
"""The time for all searches, unless --seconds names another."""
CODES = {"harm": VIOLATED, "no harm": AS_EXPECTED, "no difference": INCONCLUSIVE, "inconclusive": INCONCLUSIVE}


def add_what_if(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec], charts: Mapping[str, Draw]) -> None:
    """Add the options of `what-if`; `charts` draw traces, by the name of their format."""
    models = Models(catalogue)
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model, or module:SPEC")
    add("--decision", action="append", default=[], metavar="NAME=VALUE", help="decide otherwise; may be repeated")
    add("--without", action="append", default=[], metavar="GUARD", help="leave a guard out, or RULE:GUARD; may be repeated")
    add("--patch", type=Path, metavar="FILE.py", help="functions that replace those of the same names")
    add_bound_options(parser)
    add("--cover", type=positive, metavar="N", help="search all bounds that exceed those given by N in sum")
    add("--all", action="store_true", help="continue after harm with bounds of more states")
    add("--traces", action="store_true", help="show a trace of each violated property, not only the shortest")
    add("--property", action="append", dest="properties", metavar="NAME", help="judge only this; may be repeated")
    add("--seconds", type=duration, default=SECONDS, metavar="S", help=f"the time for all searches (default: {SECONDS:g})")
    add("--memory", type=positive, metavar="MIB", help="the most memory")
    add("--threads", type=threads, default=cores(), metavar="N", help="threads (default: one per core)")
    add_output_options(parser, ("text", "json", "markdown", *(form for form in charts if form != "mermaid")))
    parser.set_defaults(run=lambda options: run_what_if(options, models, charts))


def run_what_if(options: argparse.Namespace, models: Models, charts: Mapping[str, Draw]) -> int:
    """Compare the model with and without the change, write what was found, and return the exit code: 0, 1 or 3."""
    with needing("check"):
        from kafka_spec.model_check.report.what_if import head_text, line_text
        from kafka_spec.model_check.what_if import WhatIf
    with reading(options.seconds):
        spec = models.find(options.model)
        changed, changes = _changed(options, spec)
    wanted = outputs(options)
    budget = Budget(options.seconds, options.memory << 20 if options.memory else None)
    compared = WhatIf(spec, changed, budget, options.threads, options.properties, options.all)
    shown = ("text", None) in wanted
    if shown:
        write(plain("\n".join([f"{spec.name}, with a change:", *(f"  {change}" for change in changes), head_text()])), None)
    with interruptible(budget):
        for one in _searches(options, spec, compared):
            if shown:
                write(plain(line_text(one)), None)
                sys.stdout.flush()
    _write(options, wanted, compared.comparison, changes, charts)
    return CODES[compared.comparison.verdict]


def _searches(options: argparse.Namespace, spec: Spec, compared: WhatIf) -> Iterator[Compared]:
    """Return the comparisons that are asked for: at all bound sets, at one, or at all bounds that exceed one."""
    if not (options.bounds or options.bound):
        if options.cover:
            raise SpecError("--cover N begins at bounds; name them with --bounds SET")
        return compared.at_sets({one.name: spec.bound_values(one.values) for one in spec.bound_sets})
    base = asked_bounds(options, spec)
    if options.cover:
        return compared.cover(base, options.cover)
    return compared.at_sets({options.bounds if not options.bound else "these bounds": base})


def _write(
    options: argparse.Namespace,
    wanted: Sequence[Output],
    comparison: ChangeComparison,
    changes: Sequence[str],
    charts: Mapping[str, Draw],
) -> None:
    """Write the comparison in each format; what was printed line by line is not repeated."""
    from kafka_spec.model_check.report.what_if import conclusions, head_text, headline, json_text, line_text, markdown_text
    from kafka_spec.model_check.traces.counterexample import trace_of

    traces = {name: trace for name, one in comparison.harm.items() if (trace := trace_of(one.after, name)) is not None}
    for form, file in wanted:
        if form == "text":
            lines = [] if file is None else [head_text(), *map(line_text, comparison.done)]
            lines += conclusions(comparison, list(traces.values())[: None if options.traces else 1])
            write(plain("\n".join(lines)), file)
        elif form == "json":
            write(json_text(comparison, changes, traces), file)
        elif form == "markdown":
            write(markdown_text(comparison, changes, traces, charts.get("mermaid")), file)
        elif traces:
            write(charts[form](next(iter(traces.values())), comparison.changed), file)
        else:
            warn(f"nothing to draw: {headline(comparison)}")


def _changed(options: argparse.Namespace, spec: Spec) -> tuple[Spec, list[str]]:
    """Return the changed model, and the changes in words.

    Raises:
        SpecError: no change is asked for, or one of them is of nothing that the model has.
    """
    changed, changes = spec, []
    for text in options.decision:
        name, separator, value = text.partition("=")
        if not separator:
            raise SpecError(f"--decision {text}: write NAME=VALUE; `kafka-spec models {options.model}` lists the decisions")
        changed = with_decision(changed, name.strip(), value.strip())
        changes.append(f"decision {name.strip()} is {value.strip().upper()}")
    for guard in options.without:
        changed = without_guard(changed, guard)
        changes.append(f"without the guard {guard}")
    if options.patch is not None:
        replaced = replacements(changed, module_of(options.patch, f"--patch {options.patch}"))
        changed = patched(changed, replaced)
        digest = hashlib.sha256(options.patch.read_bytes()).hexdigest()
        names = ", ".join(dict.fromkeys(old.__name__ for old in replaced))
        changes.append(f"{names} as in {options.patch}, SHA-256 {digest[:16]}")
    if not changes:
        raise SpecError("what-if needs a change: --decision NAME=VALUE, --without GUARD or --patch FILE.py")
    return changed, changes
