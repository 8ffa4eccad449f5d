"""What a change does to a model, as text, as JSON, and as a comment on a pull request."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from kafka_spec.model_check.report.ci import Draw, counterexample, markdown_cell
from kafka_spec.model_check.report.traces import story_text
from kafka_spec.model_check.what_if import ChangeComparison, Compared
from kafka_spec.spec.vocabulary.trace import Trace

SCHEMA_VERSION = 1
HEADINGS = {
    "harm": "HARM: with the change {harmed}",
    "no harm": "NO HARM: the change violates no property at these bounds",
    "no difference": "NOT TESTED: the change makes no difference at any of these bounds, so nothing was learned about it",
    "inconclusive": "INCONCLUSIVE: no harm was found, and not everything was searched",
}


def head_text() -> str:
    """Return the head of the table of comparisons."""
    return f"{'states without':>14} {'with it':>12}  {'the change':<11} bounds"


def line_text(one: Compared) -> str:
    """Return a comparison as a line of the table."""
    acts = "acts" if one.differs else "no effect" if one.complete else "?"
    parts = [one.name]
    for words, names in (("VIOLATES", one.harmed), ("violates, perhaps without the change too:", one.undecided)):
        if names:
            parts.append(f"{words} {', '.join(f'{name} ({_length(one, name)})' for name in names)}")
    if one.fixed:
        parts.append(f"fixes {', '.join(one.fixed)}")
    if stopped := one.after.stopped or one.before.stopped:
        parts.append(f"not searched to the end: {stopped}")
    if one.cut:
        parts.append(f"with the change a bound prevents steps of {', '.join(one.cut)}")
    return f"{one.before.distinct:>14,} {one.after.distinct:>12,}  {acts:<11} {'; '.join(parts)}"


def headline(found: ChangeComparison) -> str:
    """Return the verdict as a line."""
    several = len(found.harm) > 1
    harmed = f"{', '.join(found.harm)} {'are' if several else 'is'} violated, and without it {'hold' if several else 'holds'}"
    return HEADINGS[found.verdict].format(harmed=harmed)


def conclusions(found: ChangeComparison, traces: Iterable[Trace]) -> Iterator[str]:
    """Yield what follows from the comparisons: the verdict, each harm, the traces, and what was not searched."""
    yield headline(found)
    for name, one in found.harm.items():
        yield f"  {name}: {_length(one, name)} at {_where(one)}"
    for trace in traces:
        yield story_text(trace, found.changed)
    for name, several in found.fixed.items():
        yield f"fixed: {name}, at {', '.join(one.name for one in several)}"
    for name, one in found.undecided.items():
        yield f"open: {name} is violated at {_where(one)}; the search without the change did not end"
    if found.hidden:
        yield f"open: with the change nothing tests {', '.join(found.hidden)}"
    if cut := dict.fromkeys(name for one in found.done for name in one.cut):
        yield f"open: with the change bounds prevent steps of {', '.join(cut)}; larger ones, or --bound, let them happen"
    if found.idle:
        yield f"with the change these rules never fire: {', '.join(found.idle)}"
    ended, asked = sum(one.complete for one in found.done), len(found.done) + len(found.unfinished)
    yield f"{ended} of {asked} bounds were searched to the end; the change acts in {len(found.acts)} of them"
    if found.unfinished:
        yield f"not searched: {', '.join(found.unfinished)}; {'--all searches them too' if found.harm else 'give more --seconds'}"


def json_text(found: ChangeComparison, changes: Sequence[str], traces: Mapping[str, Trace]) -> str:
    """Return the comparison as JSON."""
    reported = {
        "schema_version": SCHEMA_VERSION,
        "model": found.spec.name,
        "changes": list(changes),
        "verdict": found.verdict,
        "harm": [_harm(name, one, traces) for name, one in found.harm.items()],
        "open": [_harm(name, one, {}) for name, one in found.undecided.items()],
        "fixed": {name: [one.name for one in several] for name, several in found.fixed.items()},
        "no_longer_tested": found.hidden,
        "no_longer_fired": found.idle,
        "searched": [_searched(one) for one in found.done],
        "not_searched": found.unfinished,
    }
    return json.dumps(reported, indent=1)


def markdown_text(found: ChangeComparison, changes: Sequence[str], traces: Mapping[str, Trace], draw: Draw | None = None) -> str:
    """Return the comparison as a comment on a pull request; `draw` returns a trace as Mermaid."""
    lines = [f"## {markdown_cell(headline(found))}", "", f"Model `{found.spec.name}`; the change:", ""]
    lines += [f"* {markdown_cell(change)}" for change in changes]
    for trace in list(traces.values())[:1]:
        lines += counterexample(trace, found.changed, draw)
    lines += ["", "| bounds | states without | with it | acts | violates | fixes |", "|---|--:|--:|---|---|---|"]
    for one in found.done:
        violated = ", ".join(f"{name} ({_length(one, name)})" for name in (*one.harmed, *one.undecided))
        acts = "yes" if one.differs else "no"
        cells = (one.name, f"{one.before.distinct:,}", f"{one.after.distinct:,}", acts, violated, ", ".join(one.fixed))
        lines.append(f"| {' | '.join(map(markdown_cell, cells))} |")
    lines += [f"\nOpen: with the change nothing tests {markdown_cell(', '.join(found.hidden))}."] if found.hidden else []
    lines += [f"\nWith the change these rules never fire: {markdown_cell(', '.join(found.idle))}."] if found.idle else []
    if left := [*found.unfinished, *(one.name for one in found.done if not one.complete)]:
        lines += ["", f"Not searched to the end: {markdown_cell(', '.join(left))}."]
    return "\n".join(lines)


def _where(one: Compared) -> str:
    named = [known.name for known in one.after.spec.bound_sets if dict(known.values) == dict(one.bounds)]
    return f"--bounds {named[0]}" if named else " ".join(f"--bound {name}={value}" for name, value in one.bounds.items())


def _length(one: Compared, name: str) -> str:
    length = one.length(name)
    return "no longer reached" if length is None else f"{length} state{'' if length == 1 else 's'}"


def _harm(name: str, one: Compared, traces: Mapping[str, Trace]) -> dict[str, Any]:
    trace = traces[name].to_plain() if name in traces else None
    return {"property": name, "at": one.name, "bounds": dict(one.bounds), "states": one.length(name), "trace": trace}


def _searched(one: Compared) -> dict[str, Any]:
    return {
        "at": one.name,
        "bounds": dict(one.bounds),
        "states_without": one.before.distinct,
        "states_with": one.after.distinct,
        "complete": one.complete,
        "acts": one.differs,
        "prevented_by_bounds": list(one.cut),
        "violated_without": one.before.violated,
        "violated_with": one.after.violated,
    }
