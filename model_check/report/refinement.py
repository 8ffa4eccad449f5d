"""Whether a spec implements another, as text and JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from kafka_spec.model_check.refinement import Mismatch, RefinementResult
from kafka_spec.model_check.report.traces import trace_text

FORMAT, VERSION = "kafka-spec-refinement", 1
OFFERED = 12
"""The steps of the abstract spec that a text names at most."""
VERDICTS = {"holds": "implements", "violated": "DOES NOT implement", "inconclusive": "MAY OR MAY NOT implement"}


def refinement_text(result: RefinementResult) -> str:
    """Return the result as text."""
    return "\n".join(_lines(result))


def _lines(result: RefinementResult) -> Iterator[str]:
    searched, abstract = result.searched, result.refinement.of
    why = f": {result.undecided}" if result.undecided else ""
    yield f"{searched.spec.name} {VERDICTS[result.verdict]} {abstract.name}{why}"
    yield f"  searched    {searched.distinct:,} states, {searched.generated:,} steps, at {_values(searched.bounds)}"
    if cut := searched.bounded:
        yield f"  cut         {sum(cut.values()):,} steps by bounds: {', '.join(sorted({name for _, name in searched.cut_by}))}"
    yield f"  they are    {result.states:,} states of {abstract.name}, at {_values(result.bounds)}"
    if result.mismatch is None:
        yield f"  they take   {result.changes:,} of its steps"
        yield from (f"    {rule:<24} {result.taken[rule]:>8,}" for rule in sorted(result.taken))
        yield from (f"    {rule:<24}    never" for rule in result.never_taken)
    if found := result.mismatch or result.beyond:
        yield ""
        yield trace_text(found.trace, searched.spec)
        yield ""
        yield from _mismatch_lines(found, abstract.name)


def _mismatch_lines(found: Mismatch, abstract: str) -> Iterator[str]:
    """Return what the last step is for the abstract spec, and what that could do instead."""
    if not found.trace.steps:
        yield f"  {abstract} does not begin so; of its fresh state this differs:"
    else:
        yield f"  the last step changes the state of {abstract}, as no step of it does" + (
            " within its bounds:" * bool(found.cut_by)
        )
    yield from (f"    {path}: {before} -> {after}" for path, before, after in found.changed)
    if found.trace.steps:
        more = f", and {len(found.offered) - OFFERED} more" if len(found.offered) > OFFERED else ""
        yield f"  its steps there: {', '.join(found.offered[:OFFERED]) or 'none'}{more}"


def _values(bounds: dict[str, int] | Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in bounds.items()) or "no bounds"


def json_text(results: Sequence[RefinementResult]) -> str:
    """Return the results as JSON."""
    return (
        json.dumps({"format": FORMAT, "version": VERSION, "refinements": [_plain(result) for result in results]}, indent=2) + "\n"
    )


def _plain(result: RefinementResult) -> dict[str, Any]:
    searched = result.searched
    found: dict[str, Any] = {
        "model": searched.spec.name,
        "of": result.refinement.of.name,
        "verdict": result.verdict,
        "bounds": dict(searched.bounds),
        "abstract_bounds": dict(result.bounds),
        "states": searched.distinct,
        "abstract_states": result.states,
        "abstract_steps": result.changes,
        "taken": dict(result.taken),
        "never_taken": result.never_taken,
    }
    if result.undecided:
        found["undecided"] = result.undecided
    if shown := result.mismatch or result.beyond:
        found |= {
            "changed": [list(change) for change in shown.changed],
            "offered": list(shown.offered),
            "trace": shown.trace.to_plain(),
        }
    return found
