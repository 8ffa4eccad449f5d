"""Machines and charts as Mermaid, which GitHub renders.

Mermaid computes the layout, so positions are not used.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence

from kafka_spec.diagrams.arrows import Arrow, arrows
from kafka_spec.diagrams.chart import Chart, ChartEvent
from kafka_spec.diagrams.dot import FADED, INITIALISATION, INK, LANES, STATUSES
from kafka_spec.diagrams.positions import places_of
from kafka_spec.spec.vocabulary.table import Machine

CLASSES = {
    **{lane: f"fill:{fill},stroke:{border},color:{INK}" for lane, (fill, border) in LANES.items()},
    "transition": f"fill:#ffffff,stroke:#57606a,color:{INK},text-align:left",
    "initialisation": f"fill:#ffffff,stroke:{INITIALISATION},color:{INK},text-align:left,stroke-dasharray:4 3",
    "same": f"fill:#ffffff,stroke:{FADED},color:{FADED},text-align:left",
    **{status: f"fill:#ffffff,stroke:{color},color:{color},stroke-width:3px,text-align:left" for status, color in STATUSES.items()},
}

MEANINGFUL = str.maketrans({"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", ";": "#59;", "\n": " "})
"""Characters with a meaning in Mermaid, and their entities."""


def escaped(text: str) -> str:
    """Return a text escaped, so that Mermaid shows it literally."""
    return text.translate(MEANINGFUL)


def machine_mermaid(machine: Machine, several: Sequence[Arrow] | None = None) -> str:
    """Return a machine as a flow chart; `several` replaces the arrows to draw, for example with those of two compared eras.

    The node of a state is called state_NAME, since Mermaid reads `end` and some other names as its own words.
    """
    drawn = arrows(machine) if several is None else several
    places = places_of(machine)
    lines = ["flowchart LR", "  start(( ))", f"  start --> {_node(machine.initial)}"]
    lines += [f'  {_node(state)}(["{state.name}"]):::{places.lane(state)}' for state in machine.states]
    styles = {places.lane(state) for state in machine.states}
    if any(arrow.from_anywhere for arrow in drawn):
        lines.append("  anywhere[any state]:::initialisation")
    for number, arrow in enumerate(drawn):
        style = arrow.kind if several is None else arrow.status
        styles.add(style)
        lines.append(f'  arrow{number}["{_label(arrow)}"]:::{style}')
        begin, end = ("-.-", "-.->") if arrow.kind == "initialisation" else ("---", "-->")
        for way in ["anywhere"] if arrow.from_anywhere else map(_node, arrow.sources):
            lines.append(f"  {way} {begin} arrow{number}")
        lines.append(f"  arrow{number} {end} {_node(arrow.target)}")
    styles |= {"initialisation"} if any(arrow.from_anywhere for arrow in drawn) else set()
    return "\n".join([*lines, *(f"  classDef {name} {look}" for name, look in CLASSES.items() if name in styles), ""])


def _node(state: enum.IntEnum) -> str:
    return f"state_{state.name}"


def _label(arrow: Arrow) -> str:
    sign = {"added": "+ ", "removed": "\u2212 "}.get(arrow.status, "")
    lines = [f"<b>{sign}{escaped(arrow.trigger)}</b>"]
    for guards, effects in arrow.choices:
        lines += [escaped(f"[{' and '.join(guards)}]")] if guards else []
        lines += [escaped(f"/ {', '.join(effects)}")] if effects else []
    return "<br/>".join(lines)


# ---------------------------------------------------------------------------------------------------------------------
# Charts


def chart_mermaid(chart: Chart) -> str:
    """Return a trace as a sequence diagram."""
    names = {participant: f"p{number}" for number, participant in enumerate(chart.participants)}
    lines = ["sequenceDiagram"]
    lines += [f"  participant {name} as {escaped(participant)}" for participant, name in names.items()]
    first, last = names[chart.participants[0]], names[chart.participants[-1]]
    over = first if first == last else f"{first},{last}"
    before = len(chart.events) - chart.cycle
    for number, event in enumerate(chart.events):
        lines += [f"  Note over {over}: {escaped(mark)}" for mark in event.marks]
        lines += ["  loop forever"] if chart.cycle and number == before else []
        lines += _event(event, names)
    lines += ["  end"] if chart.cycle else []
    lines.append(f"  Note over {over}: {escaped(chart.ending)}")
    return "\n".join([*lines, ""])


def _event(event: ChartEvent, names: dict[str, str]) -> list[str]:
    actor = names[event.actor]
    lines = [f"  {names[m.sender]}->>{actor}: ✉{m.number} {escaped(m.shown)}" for m in event.received if m.sender]
    notes = [f"{event.number}. {'✗ ' if event.kind == 'fault' else ''}{event.summary}"]
    if event.asks:
        lines += [f"  {actor}->>{names[event.asks]}: asks", f"  {names[event.asks]}-->>{actor}: is answered"]
    notes += [f"received {m.shown}" for m in event.received if not m.sender]
    notes += [f"sends ✉{m.number} {m.shown}" for m in event.sent]
    notes += [*event.fired, *event.changed]
    note = f"  Note over {actor}: {'<br/>'.join(map(escaped, notes))}"
    written = [f"  {actor}->>{names[keeper]}: {escaped(text)}" for keeper, text in event.written]
    lines += [note, *written]
    if event.kind == "fault":
        return ["  rect rgb(252, 235, 230)", *(f"  {line}" for line in lines), "  end"]
    return lines
