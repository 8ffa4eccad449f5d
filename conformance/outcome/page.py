"""An outcome of logs of either world as one HTML page without script or network: violations, and a lane of time for each subject.

Depends on outcomes, not on what is logged: a world gives its lanes, whose bars say who led and for which share of the time.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files

from kafka_spec.conformance.outcome.report import MOST_SHOWN, by_kind
from kafka_spec.conformance.outcome.violations import Kind, Reported

COLOURS = 8
"""The colours of leaders in page.css."""
MOST_LANES, MOST_ROWS = 200, 500
"""Maximum number of lanes on a page, and of bars and rows of a table in each."""


@dataclass(frozen=True)
class Bar:
    """A part of a lane from one share of its width to another, of 0 to 1; `leader` is -1 where nobody leads."""

    start: float
    end: float
    leader: int
    label: str
    title: str
    below_minimum: bool = False

    def html(self) -> str:
        """Return the bar as HTML."""
        kind = f"leader{self.leader % COLOURS}" if self.leader >= 0 else "nobody"
        place = f"left:{100 * self.start:.2f}%;width:{max(100 * (self.end - self.start), 0):.2f}%"
        below = " below" if self.below_minimum else ""
        return f'<i class="{kind}{below}" style="{place}" title="{escaped(self.title)}">{escaped(self.label)}</i>'


@dataclass(frozen=True)
class PageLane:
    """A line of a page: bars, marks of what was violated and where, and a table that opens if there is one."""

    name: str
    bars: Sequence[Bar]
    facts: str = ""
    marks: Sequence[tuple[float, str]] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()

    def html(self) -> str:
        """Return the lane as HTML."""
        bars = "".join(bar.html() for bar in self.bars[:MOST_ROWS])
        marks = "".join(f'<u style="left:{100 * at:.2f}%" title="{escaped(title)}"></u>' for at, title in self.marks)
        label = escaped(f"{self.name}: {self.facts}" if self.facts else self.name)
        lane = f'<div class="lane" role="img" aria-label="{label}">{bars}{marks}</div>'
        line = f"<b>{escaped(self.name)}</b>{lane}{f'<span>{escaped(self.facts)}</span>' if self.facts else ''}"
        if not self.head:
            return f'<div class="row">{line}</div>'
        more = len(self.rows) - MOST_ROWS
        rest = f"<p>{more:,} later rows are left out.</p>" if more > 0 else ""
        return (
            f'<details class="partition"><summary class="row">{line}</summary>'
            f"{table(self.head, self.rows[:MOST_ROWS])}{rest}</details>"
        )


def page(outcome: Reported, headline: str, body: Iterable[str], report: str) -> str:
    """Return a page: the headline, the body, and the report as text at its end."""
    css = (files(__package__) / "page.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>kafka-spec validate</title><style>{css}</style></head>\n<body>\n"
        f'<h1 class="{outcome.verdict}">{escaped(headline)}</h1>\n'
        + "\n".join([*(f"<p>Not seen: {escaped(text)}</p>" for text in outcome.unseen), *body])
        + f"\n<h2>Report</h2>\n<pre>{escaped(report)}</pre>\n</body></html>\n"
    )


def violations_html(
    outcome: Reported, kinds: Mapping[str, Kind], bugs: Callable[[str], Sequence[str]] = lambda _: ()
) -> Iterator[str]:
    """Yield the violations, kind by kind; `bugs` names the known bugs with symptoms like a kind, the most similar one first."""
    for kind, found in by_kind(outcome, kinds):
        about = kinds[kind]
        known = "".join(f"<br>Known bug that shows like this: {escaped(bug)}" for bug in bugs(kind)[:1])
        yield f'<section class="wrong"><h3>{kind}: {len(found):,}</h3>'
        yield f"<p>{escaped(about.holds)} ({escaped(about.breaks)}){known}</p><ul>"
        for one in found[:MOST_SHOWN]:
            what = escaped(f"{one.subject}, {one.actor}: {one.summary}")
            yield f"<li><code>{escaped(outcome.at(one.place))}</code> {what}</li>"
        yield "</ul></section>"


def lanes_html(lanes: Sequence[PageLane]) -> Iterator[str]:
    """Yield the most important lanes, which come first, by name, after a legend of their leaders."""
    shown = sorted(lanes[:MOST_LANES], key=lambda lane: lane.name)
    leaders = sorted({bar.leader for lane in shown for bar in lane.bars if bar.leader >= 0})
    yield '<p class="legend">'
    yield from (f'<span class="leader{broker % COLOURS}"></span> broker {broker}' for broker in leaders)
    yield "</p>"
    yield from (lane.html() for lane in shown)
    if len(lanes) > MOST_LANES:
        yield f"<p>{len(lanes) - MOST_LANES:,} partitions are left out.</p>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table."""
    heads = "".join(f"<th>{escaped(cell)}" for cell in head)
    return f"<table><tr>{heads}</tr>{''.join(f'<tr>{_cells(row)}</tr>' for row in rows)}</table>"


def _cells(row: Sequence[str]) -> str:
    return "".join(f"<td>{escaped(cell)}" for cell in row)


def escaped(text: str) -> str:
    """Return text as HTML shows it."""
    return html.escape(text)
