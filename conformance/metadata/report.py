"""An outcome of a metadata log as text and as JSON: what was read, what was violated, what could not be seen.

Depends on outcomes, not on bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka_spec.conformance.metadata.judge import LogJudge, time_of
from kafka_spec.conformance.metadata.kinds import KINDS
from kafka_spec.conformance.metadata.validation import MetadataOutcome
from kafka_spec.conformance.validate.findings import Violation
from kafka_spec.impl.kraft.record_schemas import SCHEMAS

MOST_SHOWN = 20
"""Maximum number of violations of one kind, and of reigns, in a text; JSON contains all."""


def text_of(outcome: MetadataOutcome) -> str:
    """Return the outcome as text."""
    return "\n".join(_text(outcome)) + "\n"


def headline(outcome: MetadataOutcome) -> str:
    """Return the verdict as one line."""
    judge = outcome.judge
    what = f"{judge.records:,} records, {judge.changes:,} changes of partitions"
    if outcome.verdict == "violated":
        return f"VIOLATED: {what}, {len(outcome.violations):,} violations"
    if outcome.verdict == "holds":
        return f"HOLDS: {what}, and nothing is wrong"
    return f"INCONCLUSIVE: {what}, no violation; " + "; ".join(outcome.open_reasons)


def _text(outcome: MetadataOutcome) -> Iterator[str]:
    judge = outcome.judge
    yield headline(outcome)
    yield f"  read: {outcome.size / 1e6:,.1f} MB of {len(outcome.files)} files, {judge.batches:,} batches"
    if judge.first_time:
        yield f"  from {time_of(judge.first_time)} to {time_of(judge.last_time)} UTC"
    if outcome.started_with:
        yield f"  begins with the snapshot {outcome.started_with}, of offset {outcome.started_at:,}"
    for node in outcome.nodes:
        if node.first is not None:
            yield f"  {node.name}: offsets {node.first:,} to {node.end - 1:,}, epochs to {node.epoch}, {node.batches:,} batches"
    if outcome.compared:
        yield f"  snapshots compared with the image: {len(outcome.compared)}"
    yield from (f"  {note}" for note in outcome.notes)
    yield from _reigns(judge)
    yield from _image(judge)
    yield from _properties(judge)
    yield from _violations(outcome)
    if outcome.unseen:
        yield "\nnot seen, and not checked"
        yield from (f"  {text}" for text in outcome.unseen)


def _reigns(judge: LogJudge) -> Iterator[str]:
    yield f"\nepochs of the quorum: {len(judge.reigns):,}"
    for reign in judge.reigns[-MOST_SHOWN:]:
        who = f"controller {reign.controller}" if reign.controller >= 0 else "a controller that the log does not name"
        yield f"  {reign.epoch:>8,}  {who}, from offset {reign.first:,} at {time_of(reign.began)}"
    if len(judge.reigns) > MOST_SHOWN:
        yield f"  ... and {len(judge.reigns) - MOST_SHOWN:,} before, see --format json"


def _image(judge: LogJudge) -> Iterator[str]:
    image = judge.image
    yield "\nat the end"
    active = sorted(image.active)
    away = sorted(set(image.brokers) - set(active))
    yield f"  brokers: {_listed(active)} active, {_listed(away)} fenced or shutting down"
    yield f"  topics: {len(image.ids):,}, partitions: {image.partitions:,}, without a leader: {len(image.leaderless):,}"
    levels = ", ".join(f"{name} {level}" for name, level in sorted(image.features.items()))
    yield f"  features: {levels or 'none'}"


def _listed(brokers: list[int]) -> str:
    return ", ".join(map(str, brokers)) or "none"


def _properties(judge: LogJudge) -> Iterator[str]:
    yield "\nproperties, and how often each was tested"
    yield from (f"  {count:>10,}  {name}: {KINDS[name].holds}" for name, count in sorted(judge.claims.count().items()))


def _violations(outcome: MetadataOutcome) -> Iterator[str]:
    by_kind: dict[str, list[Violation]] = {}
    for one in outcome.violations:
        by_kind.setdefault(one.kind, []).append(one)
    for kind, about in KINDS.items():
        found = by_kind.get(kind, [])
        if found:
            yield f"\n{kind}: {len(found):,}. {about.holds[:1].upper()}{about.holds[1:]} ({about.breaks})."
        for one in found[:MOST_SHOWN]:
            yield f"  {outcome.at(one.place)}: {one.when[11:]} {one.subject}, {one.actor}: {one.says}"
        if len(found) > MOST_SHOWN:
            yield f"  ... and {len(found) - MOST_SHOWN:,} more, see --format json"


# ---------------------------------------------------------------------------------------------------------------------
# JSON


def plain_of(outcome: MetadataOutcome) -> dict[str, Any]:
    """Return the outcome as plain dictionaries and lists."""
    judge = outcome.judge
    return {
        "verdict": outcome.verdict,
        "open": outcome.open_reasons,
        "files": outcome.files,
        "records": judge.records,
        "changes": judge.changes,
        "batches": judge.batches,
        "kinds": {SCHEMAS[key].name: count for key, count in sorted(judge.kinds.items())},
        "begins_at": outcome.started_at,
        "nodes": [
            {"name": one.name, "first": one.first, "end": one.end, "epoch": one.epoch, "batches": one.batches}
            for one in outcome.nodes
        ],
        "snapshots_compared": outcome.compared,
        "epochs": [{"epoch": one.epoch, "controller": one.controller, "offset": one.first} for one in judge.reigns],
        "tested": dict(sorted(judge.claims.count().items())),
        "violations": [plain_violation(one, outcome) for one in outcome.violations],
        "notes": outcome.notes,
        "not_checked": outcome.unseen,
    }


def plain_violation(one: Violation, outcome: MetadataOutcome) -> dict[str, Any]:
    """Return a violation as a plain dictionary."""
    return {
        "kind": one.kind,
        "at": outcome.at(one.place),
        "when": one.when,
        "subject": one.subject,
        "actor": one.actor,
        "says": one.says,
        "breaks": KINDS[one.kind].breaks,
        "bugs": list(KINDS[one.kind].bugs),
    }
