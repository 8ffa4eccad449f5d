"""The report of a run, as text and as JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Mapping
from typing import Any

from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.verdict import Broken, Lost
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Spec

SHOWN = 3
"""The number of findings listed for one property."""
SHOWN_PARTITIONS = 12
SUMMARY: Mapping[str, str] = {
    "ReassignmentEnds": "a reassignment whose target is up ends",
    "DeletionEnds": "a deletion ends once all replicas of the topic are up",
    "AssignmentsAgree": "in quiet states controller and leader have the assignment that the topic znode names",
    "NoStrayReplica": "in quiet states no broker keeps a replica that it is not assigned, unless the topic moved and is gone",
    "IsrAssigned": "while no reassignment runs, the ISR holds assigned replicas only",
    "OldRecordsStayGone": "a topic holds no record of an earlier topic of its name that was never reassigned",
}
"""The properties in words."""


def text_of(outcome: RunOutcome) -> str:
    """Return the summary of a run."""
    options, verdict, stopped = outcome.options, outcome.verdict, outcome.stopped
    kind = "real" if options.real else "virtual"
    lines = [
        f"{options.era.name}{f' on {options.quorum_name}' if options.quorum_name else ''}, seed {options.seed}: "
        f"{options.brokers} brokers, {f'{options.controllers} controllers, ' if options.controllers > 1 else ''}"
        f"{options.partitions} partitions, replication factor {options.replication_factor}, {options.seconds:g} {kind} seconds"
        + (", stopped before the end" if stopped else f", and {outcome.resting:.1f} more until quiet"),
        _line("faults", _counted(outcome.faults) or "none"),
        *([_line("operations", _counted(outcome.operations) or "none")] if options.operates else []),
        _line("produced", f"{sum(outcome.produced.values()):,} records: {_by_acks(outcome.produced)}"),
        _line("acknowledged", f"{_by_acks({k: n for k, n in outcome.acknowledged.items() if k != '0'})} (acks=0 has no answer)"),
        _line("stored", f"{outcome.stored:,} records, {outcome.twice} of them duplicates by a retry"),
        _line("read", f"{outcome.read:,} records by a consumer"),
        _line("lost", "not judged" if stopped else _lost(verdict.lost)),
        _line("elected", f"{sum(outcome.elections.values())} leaders: {_counted(outcome.elections)}; {outcome.unclean} unclean"),
        _line("", f"{outcome.controllers} controller{'' if outcome.controllers == 1 else 's'}{_snapshots(outcome)}"),
    ]
    lines += [
        _line(
            str(one.partition),
            f"{'no leader' if one.leader < 0 else f'broker {one.leader} leads'}, leader epoch {one.leader_epoch}, "
            f"ISR {','.join(map(str, one.isr))}, {one.end_offset} records",
        )
        for one in outcome.partitions[:SHOWN_PARTITIONS]
    ]
    if len(outcome.partitions) > SHOWN_PARTITIONS:
        lines.append(_line("", f"and {len(outcome.partitions) - SHOWN_PARTITIONS} more partitions"))
    lines += [_line("error", error) for error in outcome.errors]
    if stopped:
        believed = "leaders and ISRs are as brokers know them"
        return "\n".join([*lines, _line("verdict", f"INCONCLUSIVE: {stopped}; {believed}")]) + "\n"
    names = list(dict.fromkeys(broken.promise for broken in verdict.broken))
    leaderless = f"; no leader: {', '.join(map(str, verdict.leaderless))}" if verdict.leaderless else ""
    lines.append(_line("verdict", (f"BROKEN: {', '.join(names)}" if names else "every property was satisfied") + leaderless))
    return "\n".join([*lines, *(line for name in names for line in _promise(options.era, name, verdict.broken))]) + "\n"


def _line(name: str, text: str) -> str:
    return f"  {name:<13} {text}"


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _by_acks(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} with acks={acks}" for acks, count in counts.items())


def _lost(lost: Iterable[Lost]) -> str:
    """Return the number of lost acknowledged records, and the possible causes."""
    lost = list(lost)
    by_design = sum(one.acks == 1 for one in lost)
    if not lost:
        return "none of those acknowledged"
    reported = [f"{len(lost) - by_design} with acks=all"]
    if by_design:
        reported.append(
            f"{by_design} with acks=1, by design: acknowledged by a leader alone, and the next leader had not fetched them"
        )
    return ", ".join(reported)


def _promise(era: Spec, name: str, broken: Iterable[Broken]) -> list[str]:
    """Return the findings of one violated property, and the possible causes."""
    mine = [one for one in broken if one.promise == name]
    world, _, short = name.rpartition("/")
    stated = {one.name: one.summary for one in (MODELS[f"{world}/fixed"] if world else era).properties}
    lines = [f"{name}: {stated[short] if short in stated else SUMMARY[name]}", *(f"  {one.found}" for one in mine[:SHOWN])]
    if len(mine) > SHOWN:
        lines.append(f"  and {len(mine) - SHOWN} more")
    for suspect in dict.fromkeys(suspect for one in mine for suspect in one.suspects):
        model = f"{world or era.name.partition('/')[0]}/{suspect}"
        if model in MODELS:
            lines.append(f"  may be {suspect}: {MODELS[model].summary}; see `kafka-spec check {model}`")
        else:
            lines.append(f"  may be an {suspect}: the elected leader lacked committed records")
    if not any(one.suspects for one in mine):
        lines.append("  no known bug of this version explains it: it is new, or a mistake of the implementation")
    return lines


def json_of(outcome: RunOutcome) -> str:
    """Return the outcome as JSON (schema_version 1)."""
    options = outcome.options
    summary = {
        "schema_version": 1,
        "era": options.era.name,
        "seed": options.seed,
        "brokers": options.brokers,
        "partitions": options.partitions,
        "quorum": {"controllers": options.controllers, "version": options.quorum_name or options.era.name}
        if options.quorum is not None
        else None,
        "replication_factor": options.replication_factor,
        "seconds": options.seconds,
        "faults": list(options.faults),
        "kept": outcome.kept,
        "stopped": outcome.stopped,
        "errors": list(outcome.errors),
        "rested": outcome.rested,
        "happened": dict(outcome.faults),
        "operations": list(options.operations),
        "operated": dict(outcome.operations),
        **_results(outcome),
    }
    return json.dumps(summary, indent=2) + "\n"


def _snapshots(outcome: RunOutcome) -> str:
    """Return in words what became of snapshots of the metadata log, after something else."""
    return f"; snapshots of the metadata log: {_counted(outcome.snapshots)}" if outcome.snapshots else ""


def _results(outcome: RunOutcome) -> dict[str, Any]:
    """Return what became of records, leaders and properties."""
    return {
        "produced": dict(outcome.produced),
        "acknowledged": dict(outcome.acknowledged),
        "stored": outcome.stored,
        "stored_twice": outcome.twice,
        "read": outcome.read,
        "lost": [{**dataclasses.asdict(one), "partition": str(one.partition)} for one in outcome.verdict.lost],
        "elections": dict(outcome.elections),
        "unclean_elections": outcome.unclean,
        "controllers": outcome.controllers,
        "snapshots": dict(outcome.snapshots),
        "broken": [dataclasses.asdict(one) for one in outcome.verdict.broken],
        "leaderless": [str(partition) for partition in outcome.verdict.leaderless],
        "partitions_at_the_end": [{**dataclasses.asdict(one), "partition": str(one.partition)} for one in outcome.partitions],
    }
