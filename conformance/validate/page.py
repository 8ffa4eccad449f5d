"""The page of an outcome: who was controller, and how each partition was led, over the time of the logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import zip_longest

from kafka_spec.conformance.outcome.page import Bar, PageLane, lanes_html, page, violations_html
from kafka_spec.conformance.validate.findings import KINDS
from kafka_spec.conformance.validate.outcome import Outcome
from kafka_spec.conformance.validate.partitions import Moment, PartitionResult
from kafka_spec.conformance.validate.report import headline, nearest_bugs, text_of
from kafka_spec.conformance.validate.states import kafka_name
from kafka_spec.spec.machines.partition import PARTITION, PartitionState

GONE = kafka_name(PARTITION, PartitionState.NON_EXISTENT)
CREATED = kafka_name(PARTITION, PartitionState.NEW)
HEAD = ("time", "line", "controller", "what", "leader", "leader epoch", "ISR", "version")


def page_of(outcome: Outcome) -> str:
    """Return the outcome as a page."""
    return page(outcome, headline(outcome), _body(outcome), text_of(outcome))


def _body(outcome: Outcome) -> Iterator[str]:
    yield from violations_html(outcome, KINDS, nearest_bugs)
    scale = Scale(outcome)
    yield "<h2>Who was controller</h2>"
    yield _controllers(outcome, scale).html()
    yield "<h2>Partitions</h2>"
    yield "<p>The colour of a lane is the leader, the number in it the leader epoch; dashed: nobody leads. Red: a violation.</p>"
    wrong: dict[str, list[tuple[float, str]]] = {}
    for one in outcome.violations:
        wrong.setdefault(one.subject, []).append((scale.at(one.when), f"{one.kind}: {one.summary}"))
    worst = sorted(outcome.partitions, key=lambda one: (-len(wrong.get(one.name, ())), -sum(one.rows.values()), one.name))
    yield from lanes_html([_lane(one, wrong.get(one.name, ()), outcome, scale) for one in worst])


class Scale:
    """Maps times to shares of a lane; unreadable times map to its beginning."""

    def __init__(self, outcome: Outcome) -> None:
        moments = [moment.when for partition in outcome.partitions for moment in partition.moments]
        times = [_seconds(when) for when in (*moments, *(one.began for one in outcome.epochs if one.seen)) if when]
        self.first = min(times, default=0.0)
        self.last = max(max(times, default=1.0), self.first + 1.0)

    def at(self, when: str) -> float:
        """Return the share of a time, of 0 to 1."""
        share = (_seconds(when) - self.first) / (self.last - self.first) if when else 0.0
        return min(max(share, 0.0), 1.0)


def _seconds(when: str) -> float:
    try:
        return datetime.strptime(when, "%Y-%m-%d %H:%M:%S,%f").timestamp()
    except ValueError:
        return 0.0


def _controllers(outcome: Outcome, scale: Scale) -> PageLane:
    seen = [one for one in outcome.epochs if one.seen]
    bars = []
    for one, following in zip_longest(seen, seen[1:]):
        end = scale.at(following.began) if following else 1.0
        label = f"broker {'/'.join(map(str, one.controllers))}, epoch {one.epoch}"
        bars.append(Bar(scale.at(one.began), end, one.controllers[0], label, f"{label}, since {one.began}"))
    return PageLane("controller", bars)


def _lane(partition: PartitionResult, marks: Sequence[tuple[float, str]], outcome: Outcome, scale: Scale) -> PageLane:
    written = _written(partition.moments)
    bars = []
    for moment, following in zip_longest(written, written[1:]):
        if moment.now is not None:
            end = scale.at(following.when) if following else 1.0
            label = f"{moment.now.epoch}: ISR {','.join(map(str, moment.now.isr))}"
            title = f"{moment.when}: {moment.now}; controller {moment.controller}, epoch {moment.epoch}; {moment.summary}"
            bars.append(Bar(scale.at(moment.when), end, moment.now.leader, label, title))
    rows = [_row(moment, outcome) for moment in partition.moments]
    facts = f"{partition.moments_left_out:,} later moments are left out" if partition.moments_left_out else ""
    return PageLane(partition.name, bars, facts, marks, HEAD, rows)


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


def _row(moment: Moment, outcome: Outcome) -> list[str]:
    now = moment.now
    cells = [moment.when, outcome.at(moment.place), f"{moment.controller}, epoch {moment.epoch}", moment.summary]
    if now is None:
        return [*cells, "", "", "", ""]
    return [*cells, str(now.leader), str(now.epoch), ",".join(map(str, now.isr)), str(now.version)]
