"""The subcommand `explain`: is a log of an implementation a behaviour of a spec? If not, the first line that nothing explains."""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafka_spec.model_check.budget import Budget, Stopped, interruptible
from kafka_spec.model_check.command.find import Models
from kafka_spec.model_check.command.options import (
    AS_EXPECTED,
    INCONCLUSIVE,
    VIOLATED,
    add_bound_options,
    add_output_options,
    asked_bounds,
    duration,
    outputs,
    positive,
    write,
)
from kafka_spec.model_check.report.ci import Draw
from kafka_spec.model_check.report.escape import plain
from kafka_spec.model_check.room import with_room
from kafka_spec.model_check.within import limited, reading
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from kafka_spec.spec.vocabulary.trace import Trace

if TYPE_CHECKING:
    from kafka_spec.model_check.traces.behaviour import Candidate, ExplainedLog

UNSEEN, CANDIDATES = 3, 100_000
ITF = ".itf.json"
"""The end of the names of traces in Apalache's format."""
REASONS = 3
"""The most reasons that are printed."""


def add_explain(parser: argparse.ArgumentParser, catalogue: Mapping[str, Spec], charts: Mapping[str, Draw]) -> None:
    """Add the options of `explain`; `charts` draw the behaviour, by the name of their format."""
    models = Models(catalogue)
    add = parser.add_argument
    add("model", metavar="MODEL", help="a model, or module:SPEC")
    add(
        "log",
        type=Path,
        metavar="LOG.ndjson",
        help='lines such as {"event": "Grant", "client": 1}; a trace of Apalache ends in .itf.json',
    )
    add_bound_options(parser)
    add("--unseen", type=positive, default=UNSEEN, metavar="N", help=f"the most unseen steps between two lines ({UNSEEN})")
    add("--ignore", action="append", default=[], metavar="KEY", help="a key of the lines that says nothing; may be repeated")
    add(
        "--most-candidates",
        type=positive,
        default=CANDIDATES,
        metavar="N",
        help=f"the most states kept for a line ({CANDIDATES:,})",
    )
    add("--seconds", type=duration, metavar="S", help="stop after this time, inconclusive")
    add_output_options(parser, ("text", "json", *charts))
    parser.set_defaults(run=lambda options: run_explain(options, models, charts))


def run_explain(options: argparse.Namespace, models: Models, charts: Mapping[str, Draw]) -> int:
    """Explain the log, write what was found, and return the exit code: 0 explained, 1 not, 3 not decided."""
    with needing("check"):
        from kafka_spec.model_check.interpreter.interpreter import Interpreter
        from kafka_spec.model_check.traces.behaviour import LogSearch
        from kafka_spec.model_check.traces.itf import states_of_itf
        from kafka_spec.model_check.traces.observed import observations, observed_states
    budget = Budget(options.seconds)
    with reading(options.seconds):
        spec = models.find(options.model)
        world = Interpreter(spec, with_room(spec, asked_bounds(options, spec)))
        text, name = _text(options.log), str(options.log)
        if name.endswith(ITF):
            lines = observed_states(states_of_itf(text, name, world.space.root))
        else:
            lines = observations(text.splitlines(), name, world, options.ignore)
    explaining = LogSearch(world, lines, options.unseen, options.most_candidates)
    found = explaining.result
    with limited(budget), interruptible(budget):
        try:
            explaining.run()
        except Stopped as reason:
            if not found.candidates:
                raise
            found.cuts[str(reason)] = None
    trace = _trace(spec, world.bounds, found)
    for form, file in outputs(options):
        if form == "text":
            write(plain("\n".join(_report(spec, found, trace))), file)
        elif form == "json":
            write(json.dumps(_plain(spec, found, trace), indent=1), file)
        else:
            write(charts[form](trace, spec), file)
    if found.failed is None and not found.violated:
        return AS_EXPECTED
    return INCONCLUSIVE if found.cuts else VIOLATED


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise SpecError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SpecError(f"{file}: this is not UTF-8 text; a log has one JSON object a line") from None


def _trace(spec: Spec, bounds: Mapping[str, int], found: ExplainedLog) -> Trace:
    """Return a behaviour that explains the log up to its last explained line."""
    from kafka_spec.model_check.traces.walk import Walk

    path = _chosen(found).path
    walk = Walk(spec, bounds)
    walk.restart([binding for binding, _ in walk.beginnings].index(path[0].start))
    for one in path[1:]:
        assert one.rule is not None
        walk.act(one.rule.name, *one.binding)
    return dataclasses.replace(walk.trace(), shows=next(iter(found.violated), ""))


def _chosen(found: ExplainedLog) -> Candidate:
    """Return the candidate whose behaviour is shown: one right after the last explained line."""
    last = found.lines[found.explained - 1].line if found.explained else 0
    return next((one for one in found.candidates if one.line == last), found.candidates[0])


def _report(spec: Spec, found: ExplainedLog, trace: Trace) -> Iterator[str]:
    """Yield the report as lines of text."""
    path, failed = _chosen(found).path[1:], found.failed
    last = found.lines[found.explained - 1].line if found.explained else 0
    if found.explained:
        lines = f"lines 1 to {last}" if failed or found.violated else f"all {len(found.lines)} lines"
        unseen = sum(1 for one in path if not one.line)
        steps = f"{len(path)} steps, {unseen} of them unseen"
        yield f"{spec.name} explains {lines}: {steps}; at most {found.most:,} states are possible after a line"
    if failed is None and not found.violated:
        return
    if found.violated:
        yield f"{'NOT DECIDED' if found.cuts else 'VIOLATED'}: line {last} leads to states that violate {', '.join(found.violated)}"
    elif failed is not None:
        yield f"{'NOT DECIDED' if found.cuts else 'NOT EXPLAINED'}: line {failed.line}: {failed.text}"
        reasons = found.refusals.most_common()
        yield from (f"  in {count} of {len(found.candidates)} possible states: {reason}" for reason, count in reasons[:REASONS])
        if len(reasons) > REASONS:
            yield f"  and {len(reasons) - REASONS} more reasons"
    yield from (f"  open: {cut}" for cut in found.cuts)
    yield "the behaviour up to there, as one of those possible:"
    yield f"         {trace.start.summary}"
    for one, step in zip(path, trace.steps, strict=True):
        yield f"  {f'line {one.line}' if one.line else 'unseen':>8}  {step.summary}"


def _plain(spec: Spec, found: ExplainedLog, trace: Trace) -> dict[str, Any]:
    failed = found.failed
    return {
        "schema_version": 1,
        "model": spec.name,
        "lines": len(found.lines),
        "explained": found.explained,
        "not_explained": None if failed is None else {"line": failed.line, "text": failed.text, "reasons": dict(found.refusals)},
        "open": [*found.cuts],
        "violated": list(found.violated),
        "candidates": len(found.candidates),
        "behaviour": trace.to_plain(),
    }
