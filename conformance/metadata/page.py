"""The page of an outcome: the known bugs that act, how brokers were fenced, and how each partition was led."""

from __future__ import annotations

from collections.abc import Iterator

from kafka_spec.conformance.metadata.bugs import MEANINGS, nearest_bugs, pages, summary
from kafka_spec.conformance.metadata.explaining import MOST_SUBJECTS, Acting
from kafka_spec.conformance.metadata.judge import time_of
from kafka_spec.conformance.metadata.kinds import KINDS
from kafka_spec.conformance.metadata.report import headline, text_of
from kafka_spec.conformance.metadata.timelines import Lane, Span, Timelines
from kafka_spec.conformance.metadata.validation import MetadataOutcome
from kafka_spec.conformance.outcome.page import Bar, PageLane, escaped, lanes_html, page, table, violations_html
from kafka_spec.conformance.outcome.report import MOST_SHOWN

MINUTE = 60_000
HEAD = ("offset", "time", "event", "leader", "leader epoch", "ISR")


def page_of(outcome: MetadataOutcome, timelines: Timelines) -> str:
    """Return the outcome as a page."""
    return page(outcome, headline(outcome), _body(outcome, timelines), text_of(outcome))


def _body(outcome: MetadataOutcome, timelines: Timelines) -> Iterator[str]:
    judge = outcome.judge
    first, last = judge.first_time, max(judge.last_time, judge.first_time + 1)
    yield f"<p>From {time_of(judge.first_time)} to {time_of(judge.last_time)} UTC.</p>"
    yield from _bugs(outcome.explaining.acting if outcome.explaining is not None else [])
    yield from violations_html(outcome, KINDS, nearest_bugs)
    yield "<h2>Fencing</h2>"
    yield "<p>A fence follows a request if the broker was shutting down, or the controller's log names its request.</p>"
    brokers = sorted({broker for broker, _ in timelines.fences})
    fences = [[str(timelines.fences[broker, why]) for why in ("time-out", "request")] for broker in brokers]
    rows = ([str(broker), *counts] for broker, counts in zip(brokers, fences, strict=True))
    yield f'<div id="fences">{table(("broker", "by time-out", "by request"), rows)}</div>'
    yield "<h2>Partitions</h2>"
    yield "<p>The colour of a lane is the leader, the number in it the leader epoch; dashed: nobody leads; "
    yield "underlined in red: fewer are in sync than min.insync.replicas.</p>"
    lanes = timelines.finish()
    worst = sorted(lanes, key=lambda lane: (-lane.times(judge.last_time)[0], -len(lane.spans), lane.name))
    yield from lanes_html([_lane(lane, first, last) for lane in worst])


def _bugs(acting: list[Acting]) -> Iterator[str]:
    """Yield the bugs that act, with where to read about each."""
    for bug in sorted({one.bug for one in acting}):
        found = [one for one in acting if one.bug == bug]
        yield f'<section class="wrong bug"><h3>{escaped(bug)} acts: {len(found):,}</h3><p>{escaped(summary(bug))}.'
        yield f"<br>What to do: {escaped(MEANINGS[bug].cure)}." if bug in MEANINGS else ""
        yield f"<br>More: {', '.join(map(_link, pages(bug)))}</p><ul>" if pages(bug) else "</p><ul>"
        for one in found[:MOST_SHOWN]:
            subjects = ", ".join(one.subjects[:MOST_SUBJECTS])
            yield f"<li>offset {one.offset:,}, {time_of(one.when)}: {escaped(one.event)}: {escaped(subjects)}</li>"
        yield "</ul></section>"


def _link(target: str) -> str:
    shown = escaped(target)
    return f'<a href="{shown}">{shown}</a>' if target.startswith("https:") else f"<code>{shown}</code>"


def _lane(lane: Lane, first: int, last: int) -> PageLane:
    leaderless, below = lane.times(last)
    facts = f"offline {leaderless / MINUTE:.1f} min, below its minimum {below / MINUTE:.1f} min, fail-overs {lane.fail_overs}"
    ends = [*(one.since for one in lane.spans[1:]), last]
    bars = [_bar(span, first, end, last) for span, end in zip(lane.spans, ends, strict=True) if span.exists]
    return PageLane(lane.name, bars, facts, (), HEAD, [_row(span) for span in lane.spans])


def _bar(span: Span, first: int, end: int, last: int) -> Bar:
    isr = ",".join(map(str, span.isr))
    title = f"{time_of(span.since)}: {span.event}; {_leader(span)}, ISR {isr}"
    start, until = ((time - first) / (last - first) for time in (span.since, end))
    return Bar(start, until, span.leader, f"{span.leader_epoch}: ISR {isr}", title, span.below_minimum)


def _leader(span: Span) -> str:
    return f"leader {span.leader}" if span.leader >= 0 else "no leader"


def _row(span: Span) -> list[str]:
    state = [_leader(span), str(span.leader_epoch), ", ".join(map(str, span.isr))] if span.exists else ["deleted", "", ""]
    return [f"{span.offset:,}", time_of(span.since), span.event, *state]
