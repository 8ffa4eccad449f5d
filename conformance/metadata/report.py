"""An outcome of a metadata log as text and as JSON: what was read, what was violated, what could not be seen.

Depends on outcomes, not on bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka_spec.conformance.metadata.bugs import MEANINGS, at_risk, is_wrong, nearest_bugs, pages, summary
from kafka_spec.conformance.metadata.elections import LoggedElections
from kafka_spec.conformance.metadata.explaining import MOST_SUBJECTS, Acting, Explaining
from kafka_spec.conformance.metadata.judge import LogJudge, time_of
from kafka_spec.conformance.metadata.kinds import KINDS
from kafka_spec.conformance.metadata.validation import MetadataOutcome
from kafka_spec.conformance.outcome.report import MOST_SHOWN, and_more, plain_violation, violations_text
from kafka_spec.impl.kraft.record_schemas import SCHEMAS
from kafka_spec.model_check.report.escape import plain
from kafka_spec.spec.language.domain import NONE


def text_of(outcome: MetadataOutcome) -> str:
    """Return the outcome as text."""
    return plain("\n".join(_text(outcome)) + "\n")


def headline(outcome: MetadataOutcome) -> str:
    """Return the verdict as one line."""
    judge = outcome.judge
    what = f"{judge.records:,} records, {judge.changes:,} changes of partitions"
    if outcome.verdict == "violated":
        return f"VIOLATED: {what}, {len(outcome.violations):,} violations"
    if outcome.verdict == "holds":
        known = ", each an event of the model" if outcome.explaining is not None else ""
        return f"HOLDS: {what}{known}, and nothing is wrong"
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
    if outcome.elections is not None:
        yield from _elections(outcome.elections, outcome.elections_compared)
    if outcome.explaining is not None:
        yield from _events(outcome.explaining, judge)
        yield from _bugs(outcome.explaining, judge)
    yield from _image(judge)
    yield from _properties(judge)
    yield from violations_text(outcome, KINDS, nearest_bugs)
    if outcome.unseen:
        yield "\nnot seen, and not checked"
        yield from (f"  {text}" for text in outcome.unseen)


def _reigns(judge: LogJudge) -> Iterator[str]:
    yield f"\nepochs of the quorum: {len(judge.reigns):,}"
    for reign in judge.reigns[-MOST_SHOWN:]:
        who = f"controller {reign.controller}" if reign.controller >= 0 else "a controller that the log does not name"
        yield f"  {reign.epoch:>8,}  {who}, from offset {reign.first:,} at {time_of(reign.began)}"
    yield from and_more(len(judge.reigns), "before")


def _elections(elections: LoggedElections, compared: int) -> Iterator[str]:
    nodes = ", ".join(map(str, sorted(elections.nodes)))
    role_changes = f"{elections.count:,} change{'s' if elections.count != 1 else ''} of role that nodes {nodes} log"
    yield f"\nelections, by {role_changes}; leaders compared with the log: {compared:,}"
    shown = [elections.epochs[epoch] for epoch in sorted(elections.epochs) if epoch > 0]
    yield from (f"  {one.epoch:>8,}  {one}" for one in shown[-MOST_SHOWN:])
    yield from and_more(len(shown), "before")
    if unheard := ", ".join(map(str, sorted(elections.unheard))):
        yield f"  not compared with what nodes {unheard} log, which these lines name: their logs are not here"


def _events(explaining: Explaining, judge: LogJudge) -> Iterator[str]:
    releases = "; ".join(f"{name} from offset {offset:,}" for offset, name in explaining.releases) or "unknown"
    yield f"\nexplained by the decisions of Kafka {releases}"
    settings = judge.settings
    reported = f"min.insync.replicas={settings.min_isr}, unclean.leader.election.enable={str(settings.unclean).lower()}"
    yield f"  where the log sets nothing: {reported} (--setting)"
    yield f"  changes of partitions explained: {explaining.changes_explained:,} of {judge.changes:,}"
    if explaining.compared_causes:
        yield f"  compared with the operations in the controller's log: {explaining.compared_causes:,}"
    yield from (f"  {count:>10,}  {name}" for name, count in sorted(explaining.events.items()))


def _bugs(explaining: Explaining, judge: LogJudge) -> Iterator[str]:
    """Yield the known bugs that act: where, what that means now, and what to do."""
    by_bug: dict[str, list[Acting]] = {}
    for one in explaining.acting:
        by_bug.setdefault(one.bug, []).append(one)
    for bug, found in sorted(by_bug.items()):
        events = "1 event" if len(found) == 1 else f"{len(found):,} events"
        yield f"\n{bug} acts at {events}{'' if is_wrong(bug) else ', an earlier design'}: {summary(bug)}"
        for one in found[:MOST_SHOWN]:
            yield f"  offset {one.offset:,}, {time_of(one.when)}: {one.event}: {', '.join(one.subjects[:MOST_SUBJECTS])}"
        yield from and_more(len(found))
        if is_wrong(bug):
            met = frozenset(subject for one in found for subject in one.subjects)
            risky = at_risk(bug, judge.image, met)
            if MEANINGS[bug].does != summary(bug):
                yield f"  what it does: {MEANINGS[bug].does}"
            yield f"  at risk now: {', '.join(risky[:MOST_SHOWN]) or 'no partition'}"
            yield f"  what to do: {MEANINGS[bug].cure}"
        if more := pages(bug):
            yield f"  more: {', '.join(more)}"


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
        **_plain_elections(outcome),
        **_plain_events(outcome),
        "tested": dict(sorted(judge.claims.count().items())),
        "violations": [plain_violation(one, outcome, KINDS) for one in outcome.violations],
        "notes": outcome.notes,
        "not_checked": outcome.unseen,
    }


def _plain_elections(outcome: MetadataOutcome) -> dict[str, Any]:
    if (elections := outcome.elections) is None:
        return {}
    plain_elections = [
        {
            "epoch": one.epoch,
            "leader": None if one.leader == NONE else one.leader,
            "elected": one.elected or None,
            "stood": sorted(one.stood),
            "votes": {str(node): other for node, other in sorted(one.votes.items())},
        }
        for _, one in sorted(elections.epochs.items())
    ]
    counts = {"role_changes": elections.count, "leaders_compared": outcome.elections_compared}
    return {**counts, "elections_by": sorted(elections.nodes), "not_heard": sorted(elections.unheard), "elections": plain_elections}


def _plain_events(outcome: MetadataOutcome) -> dict[str, Any]:
    explaining = outcome.explaining
    if explaining is None:
        return {}
    return {
        "releases": [{"offset": offset, "release": name} for offset, name in explaining.releases],
        "changes_explained": explaining.changes_explained,
        "events": dict(sorted(explaining.events.items())),
        "operations_compared": explaining.compared_causes,
        "bugs": [
            {
                "bug": one.bug,
                "is_wrong": is_wrong(one.bug),
                "pages": pages(one.bug),
                "offset": one.offset,
                "when": time_of(one.when),
                "event": one.event,
                "subjects": list(one.subjects),
            }
            for one in explaining.acting
        ],
    }
