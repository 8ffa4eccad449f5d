"""The report of a replay, as text and as plain data: what is explained, by which rules, what was filled in, what is not tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from kafka_spec.conformance.outcome.violations import file_and_line
from kafka_spec.conformance.validate.replay.explain import Replayed, ReplayedPartition
from kafka_spec.conformance.validate.replay.model_steps import Line
from kafka_spec.conformance.validate.replay.search import Node
from kafka_spec.conformance.validate.states import TABLES
from kafka_spec.model_check.report.escape import plain

BROKERS = ("controller", "broker", "leader", "follower", "first")
"""The parameters of rules that are brokers."""
MOST_POSSIBLE = 5
MOST_VIOLATIONS = 5
LAST_STEPS = 6
NAMES = TABLES["2.8"]


def text_of(found: Replayed) -> str:
    """Return the report as text."""
    lines = [_verdict(found), *_of_tables(found), *(line for one in found.partitions for line in ("", *_partition(found, one)))]
    return plain("\n".join(lines) + "\n")


def _of_tables(found: Replayed) -> Iterator[str]:
    """Yield what the tables find, and what they lack."""
    for one in found.violations[:MOST_VIOLATIONS]:
        yield f"  {one.kind}: {_at(found, one.place)}: {one.subject}, {one.actor}: {one.summary}"
    if len(found.violations) > MOST_VIOLATIONS:
        yield f"  ... and {len(found.violations) - MOST_VIOLATIONS:,} violations more, see validate without --replay"
    yield from (f"  {text}" for text in found.unread)


def _verdict(found: Replayed) -> str:
    counts = Counter(one.verdict for one in found.partitions)
    what = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "no partition is in the logs"
    parts = sum(one.verdict == "explained" and one.left_out != "" for one in found.partitions)
    more = f" ({parts} of them up to what is not tried)" if parts else ""
    word = {"holds": "EXPLAINED", "violated": "NOT EXPLAINED", "inconclusive": "INCONCLUSIVE"}[found.verdict]
    return f"{word}: partitions as runs of {found.model}: {what}{more}"


def _partition(found: Replayed, reported: ReplayedPartition) -> Iterator[str]:
    if reported.run is None:
        yield f"{reported.name}: not tried: {reported.why}"
        return
    explained = f"{reported.explained} of {reported.observations} observations"
    yield f"{reported.name}: {reported.verdict}: {explained}, {reported.states:,} states searched"
    if reported.left_out:
        yield f"  not tried: {reported.left_out}"
    steps = reported.run.steps()
    shown, filled = _counts(steps)
    yield f"  rules that the log shows: {_listed(shown)}"
    yield f"  filled in: {_listed(filled)}"
    for node in steps:
        if node.action is not None and not _shows(node) and node.action.rule.kind != "protocol":
            yield f"    before {_next_line(found, reported, node)}: {_summary(reported, node)}"
    if reported.at is not None:
        yield from _stop(found, reported, steps)


def _stop(found: Replayed, reported: ReplayedPartition, steps: list[Node]) -> Iterator[str]:
    assert reported.at is not None
    if reported.verdict == "gave up":
        yield f"  got as far as {_at(found, reported.at)}: {reported.why}"
        return
    yield f"  nothing explains {_at(found, reported.at)}: {_line_of(reported, reported.at)}"
    if reported.why:
        yield f"  ({reported.why})"
    yield "  the last steps before it:"
    for node in steps[-LAST_STEPS:]:
        yield f"    {_summary(reported, node)}"
    if reported.possible:
        yield "  the model could have gone on with:"
    for rule, lines in reported.possible[:MOST_POSSIBLE]:
        yield f"    {rule}: {'; '.join(_shown(reported, line) for line in lines)}"
    if len(reported.possible) > MOST_POSSIBLE:
        yield f"    and {len(reported.possible) - MOST_POSSIBLE} more"


def _counts(steps: list[Node]) -> tuple[Counter[str], Counter[str]]:
    shown, filled = Counter[str](), Counter[str]()
    for node in steps:
        if node.action is not None:
            (shown if _shows(node) else filled)[node.action.name] += 1
    return shown, filled


def _shows(node: Node) -> bool:
    """Whether a step explains an observation."""
    return node.parent is not None and node.progress > node.parent.progress


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{rule} {count}" for rule, count in sorted(counts.items(), key=lambda one: (-one[1], one[0]))) or "nothing"


def _summary(reported: ReplayedPartition, node: Node) -> str:
    """Return a step in Kafka's words, with Kafka's numbers of brokers."""
    assert node.action is not None
    values = {name: _broker(reported, value) if name in BROKERS else value for name, value in node.action.values.items()}
    return f"{node.action.name}: {node.action.rule.summary.format_map(values)}"


def _broker(reported: ReplayedPartition, place: int) -> str:
    return f"broker {reported.brokers[place]}" if 0 <= place < len(reported.brokers) else "nobody"


def _next_line(found: Replayed, reported: ReplayedPartition, node: Node) -> str:
    assert reported.run is not None
    lines = reported.run.script.log.lines
    return _at(found, lines[node.lines].place) if node.lines < len(lines) else "the end"


def _at(found: Replayed, place: int) -> str:
    file, line = file_and_line(place)
    return f"{found.files[file]}:{line}"


def _line_of(reported: ReplayedPartition, place: int) -> str:
    assert reported.run is not None
    for seen in reported.whole.lines:
        if seen.place == place:
            return _worded(seen.kind, seen.about, seen.source, seen.target, str(seen.now) if seen.now else "")
    return "a request that arrived"


def _shown(reported: ReplayedPartition, line: Line) -> str:
    now = ""
    if line.now is not None:
        isr = ",".join(str(broker) for place, broker in enumerate(reported.brokers) if line.now.isr >> place & 1)
        leader = reported.brokers[line.now.leader] if line.now.leader >= 0 else -1
        now = f"leader {leader}, epoch {line.now.epoch}, ISR {isr or 'empty'}, version {line.now.version}"
    about = reported.brokers[line.about] if line.about >= 0 else -1
    return _worded(line.kind, about, line.source, line.target, now)


def _worded(kind: str, about: int, source: int, target: int, now: str) -> str:
    if kind == "partition":
        return f"partition from {NAMES.partition.names[source]} to {NAMES.partition.names[target]}{f' with {now}' if now else ''}"
    if kind == "replica":
        return f"replica {about} from {NAMES.replica.names[source]} to {NAMES.replica.names[target]}"
    if kind == "removed":
        return f"without replica {about}: {now}"
    return f"LeaderAndIsr to broker {about} with {now}" if kind == "told" else f"StopReplica to broker {about}"


def plain_of(found: Replayed) -> dict[str, Any]:
    """Return the report as plain data; every step of each run is in it."""
    return {
        "verdict": found.verdict,
        "model": found.model,
        "violations": [{"kind": one.kind, "at": _at(found, one.place), "summary": one.summary} for one in found.violations],
        "unread": found.unread,
        "partitions": [_plain(found, one) for one in found.partitions],
    }


def _plain(found: Replayed, reported: ReplayedPartition) -> dict[str, Any]:
    steps = reported.run.steps() if reported.run is not None else []
    shown, filled = _counts(steps)
    return {
        "partition": reported.name,
        "verdict": reported.verdict,
        "why": reported.why,
        "not tried": reported.left_out,
        "observations": reported.observations,
        "explained": reported.explained,
        "states": reported.states,
        "brokers": list(reported.brokers),
        "shown": dict(shown),
        "filled in": dict(filled),
        "at": None if reported.at is None else _at(found, reported.at),
        "possible": [{"rule": rule, "lines": [_shown(reported, line) for line in lines]} for rule, lines in reported.possible],
        "steps": [_plain_step(found, reported, node) for node in steps],
    }


def _plain_step(found: Replayed, reported: ReplayedPartition, node: Node) -> dict[str, Any]:
    assert node.action is not None and node.parent is not None and reported.run is not None
    log = reported.run.script.log
    explained = [one.place for one in log.lines[node.parent.lines : node.lines]]
    explained += [one.place for one in reported.run.script.arrivals[node.parent.arrivals : node.arrivals]]
    return {"rule": node.action.name, "summary": _summary(reported, node), "explains": [_at(found, place) for place in explained]}
