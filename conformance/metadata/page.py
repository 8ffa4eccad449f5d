"""An outcome of a metadata log as one HTML page that needs no network and no script: a timeline of each partition, and the bugs."""

from __future__ import annotations

import html
from collections.abc import Iterator
from importlib.resources import files

from kafka_spec.conformance.metadata.bugs import MEANINGS, pages, summary
from kafka_spec.conformance.metadata.explaining import MOST_SUBJECTS, Acting
from kafka_spec.conformance.metadata.judge import time_of
from kafka_spec.conformance.metadata.report import headline, text_of
from kafka_spec.conformance.metadata.timelines import Lane, Span, Timelines
from kafka_spec.conformance.metadata.validation import MetadataOutcome

WIDTH, HEIGHT = 1000, 22
COLOURS = 8
"""The colours of leaders in page.css."""
MOST_LANES, MOST_SPANS = 200, 500
"""Maximum number of partitions, the longest without a leader first, and of spans of each."""
MINUTE = 60_000


def page_of(outcome: MetadataOutcome, timelines: Timelines) -> str:
    """Return the outcome as a page."""
    css = (files(__package__) / "page.css").read_text(encoding="utf-8")
    body = "\n".join(_body(outcome, timelines))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>kafka-spec validate</title><style>{css}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _body(outcome: MetadataOutcome, timelines: Timelines) -> Iterator[str]:
    judge = outcome.judge
    yield f'<h1 class="{outcome.verdict}">{_text(headline(outcome))}</h1>'
    yield f"<p>From {time_of(judge.first_time)} to {time_of(judge.last_time)} UTC.</p>"
    yield from _bugs(outcome.explaining.acting if outcome.explaining is not None else [])
    yield "<h2>Fencing</h2>"
    yield "<p>A fence follows a request if the broker was shutting down, or the controller's log names its request.</p>"
    yield '<table id="fences"><tr><th>broker<th>by time-out<th>by request</tr>'
    for broker in sorted({broker for broker, _ in timelines.fences}):
        yield f"<tr><td>{broker}<td>{timelines.fences[broker, 'time-out']}<td>{timelines.fences[broker, 'request']}</tr>"
    yield "</table>\n<h2>Partitions</h2>"
    yield "<p>The colour of a lane is the leader; dashed: nobody leads; "
    yield "underlined in red: fewer are in sync than min.insync.replicas.</p>"
    lanes = timelines.finish()
    yield _legend(lanes)
    worst = sorted(lanes, key=lambda lane: (-lane.times(judge.last_time)[0], -len(lane.spans), lane.name))[:MOST_LANES]
    for lane in sorted(worst, key=lambda lane: lane.name):
        yield _lane(lane, judge.first_time, max(judge.last_time, judge.first_time + 1))
    if len(lanes) > MOST_LANES:
        yield f"<p>{len(lanes) - MOST_LANES:,} partitions are left out.</p>"
    yield f"<h2>Report</h2>\n<pre>{_text(text_of(outcome))}</pre>"


def _bugs(acting: list[Acting]) -> Iterator[str]:
    """Yield the bugs that act, with where to read about each."""
    for bug in sorted({one.bug for one in acting}):
        found = [one for one in acting if one.bug == bug]
        yield f'<section class="bug"><h3>{_text(bug)} acts: {len(found):,}</h3><p>{_text(summary(bug))}.'
        yield f"<br>What to do: {_text(MEANINGS[bug].cure)}." if bug in MEANINGS else ""
        yield f"<br>More: {', '.join(map(_link, pages(bug)))}</p><ul>" if pages(bug) else "</p><ul>"
        for one in found[:20]:
            subjects = ", ".join(one.subjects[:MOST_SUBJECTS])
            yield f"<li>offset {one.offset:,}, {time_of(one.when)}: {_text(one.event)}: {_text(subjects)}</li>"
        yield "</ul></section>"


def _link(page: str) -> str:
    return f'<a href="{_text(page)}">{_text(page)}</a>' if page.startswith("https:") else f"<code>{_text(page)}</code>"


def _legend(lanes: list[Lane]) -> str:
    leaders = sorted({span.leader for lane in lanes for span in lane.spans if span.leader >= 0})
    square = '<svg class="key" viewBox="0 0 22 22"><rect class="leader{}" width="22" height="22"/></svg> broker {}'
    return f'<p class="legend">{" ".join(square.format(broker % COLOURS, broker) for broker in leaders)}</p>'


def _lane(lane: Lane, first: int, last: int) -> str:
    leaderless, below = lane.times(last)
    shown = lane.spans[:MOST_SPANS]
    ends = [*(one.since for one in lane.spans[1:]), last]
    scale = WIDTH / (last - first)
    pairs = zip(shown, ends, strict=False)
    bars = "".join(_bar(span, (span.since - first) * scale, (end - first) * scale) for span, end in pairs if span.exists)
    rows = "".join(_row(span) for span in shown)
    facts = f"offline {leaderless / MINUTE:.1f} min, below its minimum {below / MINUTE:.1f} min, fail-overs {lane.fail_overs}"
    more = f"<p>{len(lane.spans) - MOST_SPANS:,} later changes are left out.</p>" if len(lane.spans) > MOST_SPANS else ""
    head = "<tr><th>offset<th>time<th>event<th>leader<th>leader epoch<th>ISR</tr>"
    label = f'role="img" aria-label="{_text(lane.name)}: {facts}"'
    return (
        f'<details class="partition"><summary><b>{_text(lane.name)}</b>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" {label}>{bars}</svg>'
        f"<span>{facts}</span></summary><table>{head}{rows}</table>"
        f"{more}</details>"
    )


def _bar(span: Span, start: float, end: float) -> str:
    kind = f"leader{span.leader % COLOURS}" if span.leader >= 0 else "nobody"
    width = max(round(end - start, 1), 0.5)
    below = f'<rect class="below" x="{start:.1f}" y="{HEIGHT - 4}" width="{width}" height="4"/>' if span.below_minimum else ""
    title = f"{time_of(span.since)}: {span.event}; {_leader(span)}, ISR {list(span.isr)}"
    bar = f'<rect class="{kind}" x="{start:.1f}" y="1" width="{width}" height="{HEIGHT - 2}"/>'
    return f"<g><title>{_text(title)}</title>{bar}{below}</g>"


def _leader(span: Span) -> str:
    return f"leader {span.leader}" if span.leader >= 0 else "no leader"


def _row(span: Span) -> str:
    isr = ", ".join(map(str, span.isr))
    state = [_leader(span), str(span.leader_epoch), isr] if span.exists else ["deleted", "", ""]
    cells = [f"{span.offset:,}", time_of(span.since), span.event, *state]
    return f"<tr>{''.join(f'<td>{_text(cell)}' for cell in cells)}</tr>"


def _text(text: str) -> str:
    return html.escape(text)
