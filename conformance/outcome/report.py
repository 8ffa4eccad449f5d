"""What the reports of both worlds have in common: violations by kind as text, and each of them as plain values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from kafka_spec.conformance.outcome.violations import Kind, Reported, Violation

MOST_SHOWN = 20
"""Maximum number of things of one sort in a text; JSON contains all."""


def violations_text(
    outcome: Reported, kinds: Mapping[str, Kind], bugs: Callable[[str], Sequence[str]] = lambda _: ()
) -> Iterator[str]:
    """Yield the violations, kind by kind; `bugs` names the known bugs with symptoms like a kind, the most similar one first."""
    for kind, found in by_kind(outcome, kinds):
        about = kinds[kind]
        yield f"\n{kind}: {len(found):,}. {about.holds[:1].upper()}{about.holds[1:]} ({about.breaks})."
        yield from (f"  known bug that shows like this: {bug}" for bug in bugs(kind)[:1])
        for one in found[:MOST_SHOWN]:
            yield f"  {outcome.at(one.place)}: {one.when[11:]} {one.subject}, {one.actor}: {one.summary}"
            if one.row:
                yield f"      breaks the row {one.row}"
        yield from and_more(len(found))


def by_kind(outcome: Reported, kinds: Mapping[str, Kind]) -> list[tuple[str, list[Violation]]]:
    """Return each kind that was violated with its violations, in the order of the kinds."""
    found: dict[str, list[Violation]] = {}
    for one in outcome.violations:
        found.setdefault(one.kind, []).append(one)
    return [(kind, found[kind]) for kind in kinds if kind in found]


def and_more(count: int, which: str = "more") -> Iterator[str]:
    """Yield how many of so many things are not shown, if some are not."""
    if count > MOST_SHOWN:
        yield f"  ... and {count - MOST_SHOWN:,} {which}, see --format json"


def plain_violation(one: Violation, outcome: Reported, kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return a violation as plain values."""
    return {
        "kind": one.kind,
        "at": outcome.at(one.place),
        "when": one.when,
        "subject": one.subject,
        "actor": one.actor,
        "summary": one.summary,
        "breaks": one.row or kinds[one.kind].breaks,
        "bugs": list(kinds[one.kind].bugs),
    }
