"""The verdict on metadata logs in one call, and which of its violations no known bug accounts for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from kafka_spec.conformance.metadata.causes import causes_of
from kafka_spec.conformance.metadata.explaining import Explaining
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.kinds import BUG_ACTS, SNAPSHOT_DIFFERS, UNEXPLAINED, VOTERS_DIFFER
from kafka_spec.conformance.metadata.rulings import Release
from kafka_spec.conformance.metadata.settings import StaticSettings
from kafka_spec.conformance.metadata.sources import find_sources
from kafka_spec.conformance.metadata.validation import MetadataOutcome, Validation
from kafka_spec.conformance.outcome.violations import Violation, file_and_line


def judged(
    paths: Sequence[Path], settings: StaticSettings | None = None, release: Release | None = None, explains: bool = True
) -> MetadataOutcome:
    """Return the outcome of the metadata logs in some paths; it is explained by `release`, or by the one that the log names.

    Raises:
        SpecError: there is no metadata log, or a path cannot be read.
    """
    judge = LogJudge(settings or StaticSettings())
    with find_sources(paths) as sources:
        if explains:
            Explaining(judge, release, causes=causes_of(sources.controllers))
        return Validation(sources, judge).run()


def lines_of(outcome: MetadataOutcome, left: Sequence[Violation]) -> list[str]:
    """Return an outcome in few lines; `left` are the violations that are worth one each."""
    explaining, judge = outcome.explaining, outcome.judge
    assert explaining is not None
    acting = Counter(one.bug for one in explaining.acting)
    releases = ", ".join(name for _, name in explaining.releases)
    return [
        f"metadata logs of {len(outcome.nodes)} nodes: {judge.records:,} records, {judge.changes:,} changes of partitions, "
        f"{explaining.changes_explained:,} explained by the decisions of Kafka {releases}",
        f"{len(judge.reigns)} epochs of the quorum, {len(outcome.compared)} snapshots compared, "
        f"{explaining.compared_causes:,} events compared with the operations that controllers log",
        f"events: {', '.join(f'{count} {name}' for name, count in sorted(explaining.events.items()))}",
        f"known bugs that act: {', '.join(f'{bug} {count} times' for bug, count in sorted(acting.items())) or 'none'}",
        *(f"not seen: {reason}" for reason in outcome.open_reasons),
        *(f"not accounted for: {outcome.at(one.place)}: {one.kind}, {one.subject}: {one.summary}" for one in left),
    ]


def unaccounted(outcome: MetadataOutcome) -> list[Violation]:
    """Return the violations that no known bug accounts for: of a partition on which none has acted so far.

    What no event explains is never accounted for; a configuration that a snapshot has too many is removed-configuration-stays, and
    other voters in a snapshot have one of three bugs.
    """
    acted: dict[str, int] = {}
    for one in outcome.explaining.acting if outcome.explaining is not None else ():
        for subject in one.subjects:
            acted[subject] = min(one.offset, acted.get(subject, one.offset))

    def is_known(one: Violation) -> bool:
        _, offset = file_and_line(one.place)
        if one.kind == SNAPSHOT_DIFFERS and one.subject.startswith("configuration "):
            return True
        return one.kind in (BUG_ACTS, VOTERS_DIFFER) or (one.kind != UNEXPLAINED and acted.get(one.subject, offset + 1) <= offset)

    return [one for one in outcome.violations if not is_known(one)]
