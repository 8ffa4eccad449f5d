"""An outcome as text and as JSON: the logs read, the rows seen, violations, and what could not be checked.

Depends on outcomes, not on log lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kafka_spec.conformance.outcome.report import MOST_SHOWN, and_more, plain_violation, violations_text
from kafka_spec.conformance.validate.findings import KINDS
from kafka_spec.conformance.validate.outcome import Outcome
from kafka_spec.conformance.validate.partition_record import RowCounts
from kafka_spec.conformance.validate.partitions import PartitionResult
from kafka_spec.conformance.validate.states import Known
from kafka_spec.model_check.report.escape import one_line, plain

MOST_REASONS = 3
"""Maximum number of reasons in the first line of a text."""


def text_of(outcome: Outcome) -> str:
    """Return the outcome as text."""
    return plain("\n".join(_text(outcome)) + "\n")


def _text(outcome: Outcome) -> Iterator[str]:
    yield headline(outcome)
    size = f"{outcome.size / 1e6:,.1f} MB"
    yield f"  read: {outcome.lines:,} lines, {size}, from {len(outcome.files)} files of {outcome.sources} logs"
    yield f"  lines that could not be read: {outcome.broken:,}{_where(outcome)}; of stack traces: {outcome.continued:,}"
    for place, line, differs in outcome.examples[:MOST_SHOWN]:
        yield f"    {outcome.at(place)}: {one_line(line)}"
        yield f"      {differs}"
    for layout in outcome.layouts:
        yield f"  lines are laid out as {layout}"
    for copy, of in outcome.copies:
        yield f"  left out: {copy} is a copy of {of}"
    for file in outcome.broke_off:
        yield f"  {outcome.files[file]} is damaged, and was read up to there"
    for epoch in outcome.epochs:
        who = " and ".join(f"controller {number}" for number in epoch.controllers)
        level = "its log is not here" if not epoch.seen else f"from {epoch.began}, at {'TRACE' if epoch.trace else 'INFO'}"
        yield f"  controller epoch {epoch.epoch}: {who}, {level}"
    yield f"  requests followed from controller to broker: {outcome.followed:,}; not seen to arrive: {outcome.unfollowed:,}"
    for known in (outcome.tables.partition, outcome.tables.replica):
        yield ""
        yield from _rows(known, outcome.rows)
    yield from _refusals(outcome)
    yield from _partitions(outcome)
    yield from violations_text(outcome, KINDS, nearest_bugs)
    yield from _not_judged(outcome)


def headline(outcome: Outcome) -> str:
    """Return the verdict as one line."""
    what = f"{outcome.transitions:,} transitions of {len(outcome.partitions):,} partitions"
    if outcome.verdict == "violated":
        return f"VIOLATED: {what}, {len(outcome.violations):,} violations"
    if outcome.verdict == "holds":
        return f"HOLDS: {what}, each a row of its table, and nothing else is wrong"
    open_ones = sum(one.state == "not judged" for one in outcome.judged)
    more = f", and {len(outcome.open_reasons) - MOST_REASONS} more" if len(outcome.open_reasons) > MOST_REASONS else ""
    reasons = "; ".join(outcome.open_reasons[:MOST_REASONS]) + more
    return f"INCONCLUSIVE: {what}, no violation; {open_ones} of {len(outcome.judged)} properties could not be judged: {reasons}"


def _not_judged(outcome: Outcome) -> Iterator[str]:
    """Yield each reason with the properties that could not be judged for it, and the properties that nobody asked for."""
    reasons: dict[str, list[str]] = {}
    for one in outcome.judged:
        for why in one.why:
            reasons.setdefault(why, []).append(one.kind)
    if reasons:
        yield "\nnot judged, or not in full"
    for why, kinds in list(reasons.items())[:MOST_SHOWN]:
        yield f"  {why}"
        yield f"      {'all properties' if len(kinds) == len(outcome.judged) else ', '.join(kinds)}"
    yield from and_more(len(reasons))
    if not_asked := [one.kind for one in outcome.judged if one.state == "not asked"]:
        yield f"\nnot asked for: {', '.join(not_asked)}"


def _where(outcome: Outcome) -> str:
    return f" (the first at {outcome.at(outcome.broken_at[0])})" if outcome.broken_at else ""


def row_counts(known: Known, rows: RowCounts) -> list[tuple[int, int]]:
    """Return for each transition row how often it was certainly seen, and how often it was possibly seen."""
    found = []
    for number, row in enumerate(known.machine.rows):
        if row.kind == "transition":
            mine = [(key[1], count) for key, count in rows.items() if key[0] == known.machine.name and number in key[1]]
            sure = sum(count for numbers, count in mine if len(numbers) == 1)
            found.append((sure, sum(count for numbers, count in mine if len(numbers) > 1)))
        else:
            found.append((0, 0))
    return found


def _rows(known: Known, rows: RowCounts) -> Iterator[str]:
    counts = row_counts(known, rows)
    pairs = known.machine.legal_pairs
    yield f"rows of {known.machine.name}, the table of {known.machine.era} ({len(pairs)} legal pairs)"
    for (sure, perhaps), row in zip(counts, known.machine.rows, strict=True):
        if row.kind == "transition":
            names = " or ".join(known.names[int(state)] for state in row.sources)
            seen = f"{sure:,}" if not perhaps else f"{sure:,} to {sure + perhaps:,}"
            yield f"  {seen if sure or perhaps else 'never':>8}  {names} to {known.names[int(row.target)]}"
            conditions = f" if {' and '.join(row.conditions)}" if row.conditions else ""
            yield f"            {row.trigger}{conditions}"
    if any(perhaps for _, perhaps in counts):
        yield "  (a range: the log does not tell in each case which of several rows it was)"


def _refusals(outcome: Outcome) -> Iterator[str]:
    if outcome.refusals:
        yield "\nattempts that the controller refused or gave up"
    for refusal, count in sorted(outcome.refusals.items()):
        known = outcome.tables.partition if refusal.machine == "Partition" else outcome.tables.replica
        rows = [row for _, row in known.rows.get((refusal.source, refusal.target), ())]
        guards = list(dict.fromkeys(name for row in rows for name in row.conditions))
        why = f"one of {', '.join(guards)} did not hold" if guards else "a guard did not hold" if rows else "no row allows it"
        yield f"  {count:>8,}  {known.names[refusal.source]} to {known.names[refusal.target]}: {why}"
        those = [(one.name, one.refusals[refusal], one.refused_at[refusal]) for one in outcome.partitions if one.refusals[refusal]]
        for name, times, place in those[:MOST_REASONS]:
            yield f"            {name}: {times:,}, first at {outcome.at(place)}"
        if len(those) > MOST_REASONS:
            yield f"            and {len(those) - MOST_REASONS:,} partitions more, see --format json"


def _partitions(outcome: Outcome) -> Iterator[str]:
    shown = outcome.partitions[:MOST_SHOWN]
    width = max((len(partition.name) for partition in shown), default=0)
    yield f"\n{'partitions':{width + 2}}  transitions  controller epochs  requests arrived  at the end"
    for partition in shown:
        arrived = sum(one.fates.arrived for one in partition.followed)
        last = str(partition.last or "").replace("leader -1", "no leader")
        counts = f"{sum(partition.rows.values()):>11,}  {partition.epochs:>17,}  {arrived:>16,}"
        yield f"  {partition.name:{width}}  {counts}  {last}".rstrip()
    yield from and_more(len(outcome.partitions))


def nearest_bugs(kind: str) -> list[str]:
    """Return the known bugs with symptoms like this kind of violation, most similar first, with their descriptions."""
    from kafka_spec.spec.zookeeper.cases import CASE  # imports the models, so singleton after a violation

    return [f"{name}, {CASE[name].summary}" for name in KINDS[kind].bugs]


# ---------------------------------------------------------------------------------------------------------------------
# JSON


def plain_of(outcome: Outcome) -> dict[str, Any]:
    """Return the outcome as plain dictionaries and lists."""
    return {
        "verdict": outcome.verdict,
        "open": outcome.open_reasons,
        "files": outcome.files,
        "lines": {
            "read": outcome.lines,
            "bytes": outcome.size,
            "of_stack_traces": outcome.continued,
            "broken": outcome.broken,
            "broken_at": [outcome.at(place) for place in outcome.broken_at],
            "examples": [{"at": outcome.at(place), "line": line, "differs": why} for place, line, why in outcome.examples],
            "layouts": outcome.layouts,
            "copies": [{"left_out": copy, "read": of} for copy, of in outcome.copies],
        },
        "epochs": [
            {
                "epoch": one.epoch,
                "controllers": list(one.controllers),
                "level": ("TRACE" if one.trace else "INFO") if one.seen else None,
                "begins_in_log": one.begun if one.seen else None,
            }
            for one in outcome.epochs
        ],
        "transitions": outcome.transitions,
        "rows": [*_plain_rows(outcome.tables.partition, outcome.rows), *_plain_rows(outcome.tables.replica, outcome.rows)],
        "refused": [
            {
                "machine": refusal.machine,
                "source": known.names[refusal.source],
                "target": known.names[refusal.target],
                "legal": refusal.legal,
                "count": count,
            }
            for refusal, count in sorted(outcome.refusals.items())
            for known in [outcome.tables.partition if refusal.machine == "Partition" else outcome.tables.replica]
        ],
        "requests": {"arrived": outcome.followed, "not_seen_to_arrive": outcome.unfollowed},
        "partitions": {one.name: _plain_partition(one, outcome) for one in outcome.partitions},
        "violations": [plain_violation(one, outcome, KINDS) for one in outcome.violations],
        "properties": [
            {"property": one.kind, "state": one.state, "violations": one.violations, "why": list(one.why)} for one in outcome.judged
        ],
        "unfinished": [{"subject": one.subject, "summary": one.summary} for one in outcome.unfinished],
        "not_checked": outcome.unseen,
    }


def _plain_rows(known: Known, rows: RowCounts) -> list[dict[str, Any]]:
    return [
        {
            "machine": known.machine.name,
            "row": row.label,
            "sources": [known.names[int(state)] for state in row.sources],
            "target": known.names[int(row.target)],
            "seen": sure,
            "perhaps": perhaps,
        }
        for (sure, perhaps), row in zip(row_counts(known, rows), known.machine.rows, strict=True)
        if row.kind == "transition"
    ]


def _plain_partition(partition: PartitionResult, outcome: Outcome) -> dict[str, Any]:
    return {
        "transitions": sum(partition.rows.values()),
        "rows": [row for known in (outcome.tables.partition, outcome.tables.replica) for row in _seen(known, partition.rows)],
        "arrived": sum(one.fates.arrived for one in partition.followed),
        "violations": sum(one.subject == partition.name for one in outcome.violations),
        "refused": [
            {
                "machine": refusal.machine,
                "source": known.names[refusal.source],
                "target": known.names[refusal.target],
                "count": count,
                "first_at": outcome.at(partition.refused_at[refusal]),
            }
            for refusal, count in sorted(partition.refusals.items())
            for known in [outcome.tables.partition if refusal.machine == "Partition" else outcome.tables.replica]
        ],
    }


def _seen(known: Known, rows: RowCounts) -> list[dict[str, Any]]:
    return [row for row in _plain_rows(known, rows) if row["seen"] or row["perhaps"]]
