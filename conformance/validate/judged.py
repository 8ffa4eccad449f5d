"""The verdict on the logs of a ZooKeeper-era cluster in one call, and which of its violations a known bug does not account for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kafka_spec.conformance.outcome.violations import Violation
from kafka_spec.conformance.validate.embedded import run
from kafka_spec.conformance.validate.files import find_sources
from kafka_spec.conformance.validate.findings import KINDS
from kafka_spec.conformance.validate.outcome import Outcome, put_together


def judged(paths: Sequence[Path]) -> Outcome:
    """Return the outcome of the logs in some paths.

    Raises:
        SpecError: there is no log of this kind, or a path cannot be read.
    """
    sources, files = find_sources(paths)
    return put_together(run(sources, None, False, lambda _: None), files, None, "auto")


def lines_of(outcome: Outcome, left: Sequence[Violation]) -> list[str]:
    """Return an outcome in few lines; `left` are the violations that are worth one each."""
    return [
        f"state-change and controller logs: {outcome.lines:,} lines, {outcome.transitions:,} transitions of "
        f"{len(outcome.partitions):,} partitions, {outcome.followed:,} requests followed, {len(outcome.violations):,} violations",
        *(f"not accounted for: {outcome.at(one.place)}: {one.kind}, {one.subject}: {one.summary}" for one in left),
    ]


def unaccounted(outcome: Outcome, bug: str) -> list[Violation]:
    """Return the violations of kinds that do not show a known bug."""
    return [one for one in outcome.violations if bug not in KINDS[one.kind].bugs]
