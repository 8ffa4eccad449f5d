"""The content of a chart of a trace: the participants, and their actions and messages, step by step.

Independent of formats and protocols. Participants are the actors of the steps and the keepers of written fields. A received
message is matched by its channel and content with the step that sent it.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_spec.model_check.report.traces import ending_note, marks
from kafka_spec.spec.vocabulary.table import Property, Spec
from kafka_spec.spec.vocabulary.trace import FieldChange, MessageItem, Step, Trace

FIELDS = 7
"""Changed fields that a chart shows in one step; the page of a trace shows all."""
LONG = 12
"""Steps above which a chart is folded."""
UNFOLDED = 8
"""The last steps of a folded chart, which show everything; those before show who does what, messages and writes."""


@dataclass(frozen=True)
class ChartMessage:
    """A message of the chart: its number, its text, and its sender, or "" if the trace does not show the sender."""

    number: int
    shown: str
    sender: str = ""


@dataclass(frozen=True)
class ChartEvent:
    """One step of the chart; `number` counts states, so the first step is 2."""

    number: int
    actor: str
    kind: str
    summary: str
    action: str
    sent: tuple[ChartMessage, ...]
    received: tuple[ChartMessage, ...]
    asks: str
    """The participant that the actor asks, and that answers within the step; "" if there is none."""
    written: tuple[tuple[str, str], ...]
    """(keeper, text of what was written to it)."""
    fired: tuple[str, ...]
    marks: tuple[str, ...]
    """Notes about the state before the step."""
    changed: tuple[str, ...]
    """Columns that were asked for; then changed fields, without those shown as writes to a keeper, as messages or as firings; of
    these at most FIELDS lines."""
    shown: int
    """How many of `changed` are columns."""


@dataclass(frozen=True)
class Chart:
    """A trace to be drawn; `ending` says what it shows, `broken` whether that is a violation rather than a reached goal."""

    title: str
    bounds: str
    participants: tuple[str, ...]
    events: tuple[ChartEvent, ...]
    ending: str
    broken: bool
    cycle: int
    """How many of the last events form the cycle of a lasso; 0 if there is none."""


BEHAVIOUR = "a behaviour of the model"
"""What a trace shows that is about no property."""


def chart_of(trace: Trace, claim: Property | None = None, shown_by: str = "`--html` shows") -> Chart:
    """Return the chart of a trace for this property, None for a built-in one; if it is folded, `shown_by` says what shows all."""
    reached = not trace.shows or (claim is not None and claim.kind == "reachable")
    ending = f"{trace.shows} is {'reached' if reached else 'violated'}{f': {claim.summary}' if claim else ''}"
    if not trace.shows:
        ending = BEHAVIOUR
    if note := ending_note(trace, claim):
        ending += f". {note}"
    actors = [name for step in trace.steps for name in ((step.actor, step.asks) if step.asks else (step.actor,))]
    keepers = [change.kept_by for step in trace.steps for change in step.written]
    post = _Post()
    events = [_event(number, step, post, marks(trace, number - 2, claim)) for number, step in enumerate(trace.steps, 2)]
    return Chart(
        title=f"{trace.spec}: {trace.shows or BEHAVIOUR}",
        bounds=bounds_told(dict(trace.bounds)),
        participants=ordered(actors or [trace.start.actor], keepers),
        events=folded(events, shown_by),
        ending=ending,
        broken=not reached,
        cycle=trace.cycle,
    )


def bounds_told(bounds: Mapping[str, int]) -> str:
    """Return bounds as a line; where many are 0, these together."""
    several = sum(value == 0 for value in bounds.values()) > 5
    reported = [f"{name} {value}" for name, value in bounds.items() if value or not several]
    return ", ".join([*reported, *(["all others 0"] if several else [])])


def folded(events: Sequence[ChartEvent], shown_by: str) -> tuple[ChartEvent, ...]:
    """Return the events of a chart; of a long one without the fields and the machines of the first, which a note says."""
    if len(events) <= LONG:
        return tuple(events)
    early, late = events[:-UNFOLDED], events[-UNFOLDED:]
    note = f"states 2 to {early[-1].number} are folded: without fields and machines, which {shown_by}"
    short = [dataclasses.replace(e, sent=tuple(map(_named, e.sent)), fired=(), changed=e.changed[: e.shown]) for e in early]
    return dataclasses.replace(short[0], marks=(note, *short[0].marks)), *short[1:], *late


def _named(message: ChartMessage) -> ChartMessage:
    """Return a message without its fields, which are shown where it is received."""
    return dataclasses.replace(message, shown=message.shown.partition("(")[0])


def claim_of(trace: Trace, spec: Spec) -> Property | None:
    """Return the property that a trace violates or reaches, or None for a built-in one."""
    return spec.property_named(trace.shows)


def ordered(actors: Sequence[str], keepers: Sequence[str]) -> tuple[str, ...]:
    """Return the participants from left to right: clients and operators, controllers, keepers such as ZooKeeper, the others."""
    others = sorted(set(actors) - set(keepers), key=_natural)
    left = [name for name in others if not any(letter.isdigit() for letter in name) and not name.startswith("controller")]
    controllers = [name for name in others if name.startswith("controller")]
    return tuple(dict.fromkeys([*left, *controllers, *dict.fromkeys(keepers), *others]))


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


class _Post:
    """The messages in flight: numbers each when it is sent, and finds it when it is received."""

    def __init__(self) -> None:
        self.sent: list[tuple[MessageItem, ChartMessage]] = []

    def send(self, item: MessageItem, sender: str) -> ChartMessage:
        message = ChartMessage(len(self.sent) + 1, item.shown, sender)
        self.sent.append((item, message))
        return message

    def receive(self, item: MessageItem) -> ChartMessage:
        for same_channel in (True, False):
            for sent, message in reversed(self.sent):
                if sent.content == item.content and sent.shown == item.shown and (sent.channel == item.channel or not same_channel):
                    return message
        return ChartMessage(0, item.shown)


def _event(number: int, step: Step, post: _Post, before: Sequence[str]) -> ChartEvent:
    received = tuple(post.receive(item) for item in step.received)
    sent = tuple(post.send(item, step.actor) for item in step.sent)
    written = [change for change in step.written if change.kept_by != step.actor]
    reported = {item.channel for item in (*step.sent, *step.received)} | {change.path for change in written}
    changed = [f"{c.path}: {c.shown[0]} → {c.shown[1]}" for c in _without_fired(step) if c.path not in reported]
    if len(changed) > FIELDS:
        changed[FIELDS - 1 :] = [f"and {len(changed) - FIELDS + 1} more fields"]
    return ChartEvent(
        number=number,
        actor=step.actor,
        kind=step.kind,
        summary=step.summary,
        action=str(step.action),
        sent=sent,
        received=received,
        asks=step.asks if step.asks != step.actor else "",
        written=tuple((change.kept_by, _assigned(change)) for change in written),
        fired=tuple(
            f"{f.machine}{list(f.entity) if f.entity else ''} {f.trigger}: {f.source} → {f.target or 'refused'}" for f in step.fired
        ),
        marks=tuple(before),
        changed=(*(f"{name} is {value}" for name, value in step.shows), *changed),
        shown=len(step.shows),
    )


def _without_fired(step: Step) -> list[FieldChange]:
    """Return the changed fields; for each firing, omit one that changed from its source to its target."""
    moves = Counter((firing.source, firing.target) for firing in step.fired)
    left = []
    for change in step.changed:
        if moves[change.shown] > 0:
            moves[change.shown] -= 1
        else:
            left.append(change)
    return left


def _assigned(change: FieldChange) -> str:
    return f"{change.path} := {change.shown[1]}"
