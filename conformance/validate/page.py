"""An outcome as one HTML page that needs no network: a timeline of each partition, the controllers, and the violations.

Depends on outcomes, not on log lines. The page has no script: lanes are SVG, and the moments of a partition are a table that opens.
"""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from datetime import datetime
from importlib.resources import files
from itertools import zip_longest

from kafka_spec.conformance.outcome.violations import Violation
from kafka_spec.conformance.validate.findings import KINDS
from kafka_spec.conformance.validate.outcome import Outcome
from kafka_spec.conformance.validate.partitions import Moment, PartitionResult
from kafka_spec.conformance.validate.report import headline, nearest_bugs, text_of
from kafka_spec.conformance.validate.states import kafka_name
from kafka_spec.spec.machines.partition import PARTITION, PartitionState

COLOURS = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e45756", "#72b7b2", "#9d755d", "#eeca3b")
NOBODY = "#d0d0d0"
WIDTH, LANE = 1000, 22
GONE = kafka_name(PARTITION, PartitionState.NON_EXISTENT)
CREATED = kafka_name(PARTITION, PartitionState.NEW)
MOST_PARTITIONS = 200
"""Maximum number of partitions on a page: those with violations, then those with the most transitions."""


def page_of(outcome: Outcome) -> str:
    """Return the outcome as a page."""
    css = (files(__package__) / "page.css").read_text(encoding="utf-8")
    body = "\n".join(_body(outcome))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>kafka-spec validate</title>'
        f"<style>{css}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _body(outcome: Outcome) -> Iterator[str]:
    yield f'<h1 class="{outcome.verdict}">{_text(headline(outcome))}</h1>'
    yield from (f"<p>Not seen: {_text(text)}</p>" for text in outcome.unseen)
    yield from _violations(outcome)
    scale = Scale(outcome)
    yield "<h2>Who was controller</h2>"
    yield _controllers(outcome, scale)
    yield "<h2>Partitions</h2>"
    yield "<p>The colour of a lane is the leader, the number in it the leader epoch; grey: nobody leads. Red marks a violation.</p>"
    yield _legend(outcome)
    shown = sorted(outcome.partitions, key=lambda one: (-len(_of(outcome, one.name)), -sum(one.rows.values()), one.name))
    for partition in sorted(shown[:MOST_PARTITIONS], key=lambda one: one.name):
        yield _partition(partition, outcome, scale)
    if len(shown) > MOST_PARTITIONS:
        yield f"<p>{len(shown) - MOST_PARTITIONS:,} partitions are left out; --format json has all.</p>"
    yield f"<h2>Summary</h2>\n<pre>{_text(text_of(outcome))}</pre>"


def _violations(outcome: Outcome) -> Iterator[str]:
    for kind, about in KINDS.items():
        found = [one for one in outcome.violations if one.kind == kind]
        if not found:
            continue
        bugs = "".join(f"<br>Known bug that shows like this: {_text(bug)}" for bug in nearest_bugs(kind)[:1])
        yield f'<section class="violation"><h3>{kind}: {len(found):,}</h3>'
        yield f"<p>{_text(about.holds)} ({_text(about.breaks)}){bugs}</p><ul>"
        for one in found[:20]:
            yield f"<li><code>{_text(outcome.at(one.place))}</code> {_text(f'{one.subject}, {one.actor}: {one.summary}')}</li>"
        yield "</ul></section>"


def _of(outcome: Outcome, subject: str) -> list[Violation]:
    return [one for one in outcome.violations if one.subject == subject]


class Scale:
    """Maps times to positions on a lane; unreadable times map to the beginning."""

    def __init__(self, outcome: Outcome) -> None:
        moments = [moment.when for partition in outcome.partitions for moment in partition.moments]
        times = [_seconds(when) for when in (*moments, *(one.began for one in outcome.epochs if one.seen)) if when]
        self.first = min(times, default=0.0)
        self.last = max(max(times, default=1.0), self.first + 1.0)

    def at(self, when: str) -> float:
        """Return the position of a time."""
        share = (_seconds(when) - self.first) / (self.last - self.first) if when else 0.0
        return round(min(max(share, 0.0), 1.0) * WIDTH, 1)


def _seconds(when: str) -> float:
    try:
        return datetime.strptime(when, "%Y-%m-%d %H:%M:%S,%f").timestamp()
    except ValueError:
        return 0.0


def _colour(broker: int) -> str:
    return COLOURS[broker % len(COLOURS)] if broker >= 0 else NOBODY


def _controllers(outcome: Outcome, scale: Scale) -> str:
    seen = [one for one in outcome.epochs if one.seen]
    parts = []
    for one, following in zip_longest(seen, seen[1:]):
        start, end = scale.at(one.began), scale.at(following.began) if following else WIDTH
        who = "/".join(map(str, one.controllers))
        parts.append(
            _bar(
                start,
                end,
                _colour(one.controllers[0]),
                f"broker {who}, epoch {one.epoch}",
                f"broker {who}, epoch {one.epoch}, since {one.began}",
            )
        )
    return f'<p class="lane"><b>controller</b>{_svg(parts)}</p>'


def _legend(outcome: Outcome) -> str:
    leaders = {moment.now.leader for partition in outcome.partitions for moment in partition.moments if moment.now is not None}
    brokers = sorted(broker for broker in leaders if broker >= 0)
    keys = (f'<span style="background:{_colour(broker)}">broker {broker}</span>' for broker in brokers)
    return f'<p class="legend">{" ".join(keys)}</p>'


def _partition(partition: PartitionResult, outcome: Outcome, scale: Scale) -> str:
    written = _written(partition.moments)
    parts = []
    for moment, following in zip_longest(written, written[1:]):
        if moment.now is None:
            continue
        start, end = scale.at(moment.when), scale.at(following.when) if following else WIDTH
        isr = ",".join(map(str, moment.now.isr))
        reported = f"{moment.when}: {moment.now}; controller {moment.controller}, epoch {moment.epoch}; {moment.summary}"
        parts.append(_bar(start, end, _colour(moment.now.leader), f"{moment.now.epoch}: ISR {isr}", reported))
    for one in _of(outcome, partition.name):
        place = scale.at(one.when)
        reported = f"<title>{_text(f'{one.kind}: {one.summary}')}</title>"
        parts.append(f'<path class="wrong" d="M{place} 0v{LANE}">{reported}</path>')
    rows = "".join(_row(moment, outcome) for moment in partition.moments)
    more = f"<p>{partition.moments_left_out:,} later moments are left out</p>" if partition.moments_left_out else ""
    head = "<tr><th>time<th>line<th>controller<th>what<th>leader<th>leader epoch<th>ISR<th>version</tr>"
    return (
        f'<details class="partition"><summary><b>{_text(partition.name)}</b>{_svg(parts)}</summary>'
        f"<table>{head}{rows}</table>{more}</details>"
    )


def _written(moments: Sequence[Moment]) -> list[Moment]:
    """Return the moments at which a lane changes: new leadership, and the deletion, after which there is none."""
    found: list[Moment] = []
    exists = True
    for moment in moments:
        if moment.summary == GONE:
            found.append(moment)
        exists = moment.summary != GONE and (exists or moment.summary == CREATED)
        if exists and moment.now is not None:
            found.append(moment)
    return found


def _row(moment: Moment, outcome: Outcome) -> str:
    now = moment.now
    cells = [moment.when, outcome.at(moment.place), f"{moment.controller}, epoch {moment.epoch}", moment.summary]
    cells += ["", "", "", ""] if now is None else [str(now.leader), str(now.epoch), ",".join(map(str, now.isr)), str(now.version)]
    return f"<tr>{''.join(f'<td>{_text(cell)}' for cell in cells)}</tr>"


def _bar(start: float, end: float, colour: str, label: str, reported: str) -> str:
    width = max(round(end - start, 1), 0.5)
    shown = label[: int(width / 7)] if width > 20 else ""
    return (
        f'<g><title>{_text(reported)}</title><rect x="{start}" y="1" width="{width}" height="{LANE - 2}" fill="{colour}"/>'
        f'<text x="{start + 3}" y="15">{_text(shown)}</text></g>'
    )


def _svg(parts: list[str]) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {LANE}" width="{WIDTH}" height="{LANE}" role="img">{"".join(parts)}</svg>'


def _text(text: str) -> str:
    return html.escape(text)
