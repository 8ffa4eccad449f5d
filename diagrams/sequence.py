"""A chart as SVG: text on the left, lifelines on the right, one band for each step.

Depends on charts only. A table of usual widths gives the width of text, since fonts cannot be measured here; boxes are wide enough
for wide fonts. Colours are CSS variables with defaults, so that a page can show the same chart in dark mode.
"""

from __future__ import annotations

import html
import re

from kafka_spec.diagrams.chart import Chart, ChartEvent

STORY = 330
"""Width of the column of text."""
COLUMN = 244
"""Distance between two lifelines."""
MARGIN, HEAD, LINE, SIZE = 16, 96, 15.0, 11.5

KINDS = ("fault", "operator")
"""Kinds of steps that are highlighted."""
NO_XML = r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
NAMESPACE = 'xmlns="http://www.w3.org/2000/svg"'
STYLE = """
.sequence text { font-family: Helvetica, Arial, "DejaVu Sans", sans-serif; fill: var(--ink, #24292f) }
.sequence .title { font-size: 15px; font-weight: 600 }
.sequence .number { fill: var(--faint, #6e7781); font-size: 12px }
.sequence .bounds { fill: var(--faint, #6e7781); font-size: 12px }
.sequence .summary { font-size: 12px }
.sequence .who { font-size: 13px; font-weight: 600; text-anchor: middle }
.sequence .rule { font-size: 11.5px; font-weight: 600; text-anchor: middle }
.sequence .note { font-size: 11.5px; text-anchor: middle }
.sequence .label { font-size: 11.5px; text-anchor: middle; paint-order: stroke; stroke: var(--paper, #ffffff); stroke-width: 4px }
.sequence .paper { fill: var(--paper, #ffffff) }
.sequence .band { fill: transparent }
.sequence .band.odd { fill: var(--band, #f6f8fa) }
.sequence .life { stroke: var(--line, #afb8c1); stroke-width: 1; stroke-dasharray: 4 4 }
.sequence .head { fill: var(--head, #e3ebf4); stroke: #42658c }
.sequence .box { fill: var(--box, #ffffff); stroke: #57606a }
.sequence .box.fault { fill: var(--fault, #fbe3dc); stroke: #b4472b }
.sequence .box.operator { fill: var(--operator, #fdf3d8); stroke: #8a6100 }
.sequence .message { stroke: #0b62c1; stroke-width: 1.5; fill: none }
.sequence .messagehead { fill: #0b62c1 }
.sequence .write { stroke: #2f7d4f; stroke-width: 1.5; fill: none }
.sequence .writehead { fill: #2f7d4f }
.sequence .ending { fill: var(--good, #dcefe3); stroke: #2f7d4f }
.sequence .ending.broken { fill: var(--fault, #fbe3dc); stroke: #b4472b }
"""
STYLE = re.sub(r"([a-z]+): (var\(--[a-z]+, (#[0-9a-f]{6})\))", r"\1: \3; \1: \2", STYLE)
"""Each variable follows its plain value, for programs without CSS variables (librsvg)."""

NARROW, SLIM, WIDE, WIDEST = set("iIjl.,:;'|!"), set('ftr()[]{}/ "'), set("mwMW"), set("@%→✉✗")


def width_of(text: str, size: float = SIZE) -> float:
    """Return the approximate width of a text, rounded up."""
    units = 0.0
    for letter in text:
        if letter in NARROW:
            units += 0.34
        elif letter in SLIM:
            units += 0.42
        elif letter in WIDE or letter in WIDEST:
            units += 0.99
        else:
            units += 0.72 if letter.isupper() else 0.63
    return units * size


def wrapped(text: str, width: float, size: float = SIZE) -> list[str]:
    """Return a text in lines of at most this width; a wider word is broken."""
    lines: list[str] = []
    for piece in (piece for word in text.split() for piece in _pieces(word, width, size)):
        if lines and width_of(f"{lines[-1]} {piece}", size) <= width:
            lines[-1] += f" {piece}"
        else:
            lines.append(piece)
    return lines


def _pieces(word: str, width: float, size: float) -> list[str]:
    """Break a word that is too wide, after a dot if it has one."""
    pieces = [""]
    for letter in word:
        if pieces[-1] and width_of(pieces[-1] + letter, size) > width:
            head, dot, tail = pieces[-1].rpartition(".")
            pieces[-1:] = [head + dot, tail] if head and tail else [pieces[-1], ""]
        pieces[-1] += letter
    return pieces


def chart_svg(chart: Chart) -> str:
    """Return a chart as SVG text."""
    return _Drawing(chart).text()


class _Drawing:
    """Draws from top to bottom; `y` is the current height."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.x = {name: MARGIN + STORY + COLUMN * (0.5 + column) for column, name in enumerate(chart.participants)}
        self.width = MARGIN * 2 + STORY + COLUMN * len(chart.participants)
        self.y = max(float(HEAD), 58 + LINE * len(wrapped(chart.bounds, STORY - 10, 12)))
        self.parts: list[str] = []

    def text(self) -> str:
        for event in self.chart.events:
            self.event(event)
        ending = self.ending()
        height = self.y + MARGIN
        lives = [f'<line class="life" x1="{x:g}" x2="{x:g}" y1="84" y2="{ending:g}"/>' for x in self.x.values()]
        bands = [part for part in self.parts if part.startswith('<rect class="band')]
        others = [part for part in self.parts if not part.startswith('<rect class="band')]
        size = f'width="{self.width:g}" height="{height:g}" viewBox="0 0 {self.width:g} {height:g}"'
        return "\n".join(
            [
                f'<svg {NAMESPACE} class="sequence" {size} role="img" aria-label="{_escaped(self.chart.title)}">',
                f"<style>{STYLE}</style>",
                f'<rect class="paper" width="{self.width:g}" height="{height:g}"/>',
                *bands,
                *lives,
                *self.head(),
                *others,
                "</svg>",
                "",
            ]
        )

    def head(self) -> list[str]:
        parts = [f'<text class="title" x="{MARGIN}" y="28">{_escaped(self.chart.title)}</text>']
        for line, text in enumerate(wrapped(self.chart.bounds, STORY - 10, 12)):
            parts.append(f'<text class="bounds" x="{MARGIN}" y="{52 + line * LINE:g}">{_escaped(text)}</text>')
        for name, x in self.x.items():
            half = (COLUMN - 40) / 2
            parts.append(f'<rect class="head" x="{x - half:g}" y="48" width="{2 * half:g}" height="32" rx="6"/>')
            parts.append(f'<text class="who" x="{x:g}" y="69">{_escaped(name)}</text>')
        return parts

    def event(self, event: ChartEvent) -> None:
        for mark in event.marks:
            self.mark(mark)
        top = self.y
        story = wrapped(event.summary, STORY - 60, 12)
        for line, text in enumerate(story):
            self.parts.append(f'<text class="summary" x="{MARGIN + 32}" y="{top + 24 + line * LINE:g}">{_escaped(text)}</text>')
        self.parts.append(f'<text class="number" x="{MARGIN + 24}" y="{top + 24:g}" text-anchor="end">{event.number}.</text>')
        self.y += 12
        here = self.x[event.actor]
        for message in event.received:
            self.arrow(self.x.get(message.sender, here - COLUMN / 2), here, f"✉{message.number} {message.shown}", "message")
        if event.asks:
            self.arrow(here, self.x[event.asks], "asks, and is answered", "message", back=True)
        self.box(event)
        for keeper, text in event.written:
            self.arrow(here, self.x[keeper], text, "write")
        self.y = max(self.y + 10, top + 24 + len(story) * LINE)
        odd = " odd" if event.number % 2 else ""
        self.parts.append(
            f'<rect class="band{odd}" id="step-{event.number}" x="0" y="{top:g}" width="{self.width:g}" height="{self.y - top:g}"/>'
        )

    def mark(self, text: str) -> None:
        """Draw the notes about a state, below a horizontal line."""
        across = f'x1="{MARGIN}" x2="{self.width - MARGIN:g}" y1="{self.y + 4:g}" y2="{self.y + 4:g}"'
        self.parts.append(f'<line class="life" {across}/>')
        self.parts.append(f'<text class="bounds" x="{MARGIN + 8}" y="{self.y + 18:g}">{_escaped(text)}</text>')
        self.y += LINE + 8

    def box(self, event: ChartEvent) -> None:
        """Draw what the actor did: the rule, messages sent, triggers fired, fields changed."""
        room = COLUMN - 26
        rule = ("✗ " if event.kind == "fault" else "") + event.action.partition("(")[0]
        lines = [("rule", line) for line in wrapped(rule, room)]
        notes = [*(f"sends ✉{m.number} {m.shown}" for m in event.sent), *event.fired, *event.changed]
        lines += [("note", line) for note in notes for line in wrapped(note, room)]
        x, height = self.x[event.actor], len(lines) * LINE + 10
        self.parts.append(
            _rect(f"box {event.kind}" if event.kind in KINDS else "box", x - COLUMN / 2 + 8, self.y, COLUMN - 16, height)
        )
        for number, (style, text) in enumerate(lines, 1):
            self.parts.append(f'<text class="{style}" x="{x:g}" y="{self.y + number * LINE + 2:g}">{_escaped(text)}</text>')
        self.y += height + 4

    def arrow(self, start: float, end: float, label: str, style: str, back: bool = False) -> None:
        """Draw an arrow with its label above it; with `back`, one that leads there and back."""
        lines = wrapped(label, max(abs(end - start), COLUMN) - 26)
        middle = (start + end) / 2
        for number, text in enumerate(lines, 1):
            self.parts.append(f'<text class="label" x="{middle:g}" y="{self.y + number * LINE:g}">{_escaped(text)}</text>')
        self.y += len(lines) * LINE + 8
        if start == end:
            self.y += 4
            return
        tip = 8 if end > start else -8
        ends = [(end, tip), (start, -tip)] if back else [(end, tip)]
        begin = start + tip if back else start
        self.parts.append(f'<line class="{style}" x1="{begin:g}" y1="{self.y:g}" x2="{end - tip:g}" y2="{self.y:g}"/>')
        for x, length in ends:
            corners = f"{x:g},{self.y:g} {x - length:g},{self.y - 4.5:g} {x - length:g},{self.y + 4.5:g}"
            self.parts.append(f'<polygon class="{style}head" points="{corners}"/>')
        self.y += 10

    def ending(self) -> float:
        """Draw what the last state shows, over all lifelines; return where the lifelines end."""
        room = self.width - STORY - 3 * MARGIN
        lines = wrapped(self.chart.ending, room - 24)
        self.y += 8
        top, left = self.y, MARGIN + STORY + MARGIN / 2
        height = len(lines) * LINE + 12
        self.parts.append(_rect("ending broken" if self.chart.broken else "ending", left, top, room, height))
        for number, text in enumerate(lines, 1):
            self.parts.append(f'<text class="note" x="{left + room / 2:g}" y="{top + number * LINE + 2:g}">{_escaped(text)}</text>')
        self.y += height
        return top


def _rect(style: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{style}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="4"/>'


def _escaped(text: str) -> str:
    """Return a text escaped for XML; characters that XML forbids become the replacement character."""
    return html.escape(re.sub(NO_XML, "\ufffd", text), quote=True)
