"""Coverage of a model as one HTML page: what was never run on top, then the sources, coloured line by line."""

from __future__ import annotations

import html
import linecache
import re
from collections.abc import Iterable, Mapping
from importlib.resources import files

from kafka_spec.diagrams.chart import bounds_told
from kafka_spec.model_check.coverage import Condition, Coverage, CoveredRow, CoveredRule
from kafka_spec.model_check.report.coverage import shown

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
STYLES = (("kafka_spec.diagrams.page", "page.css"), ("kafka_spec.diagrams.reference", "reference.css"), (__name__, "coverage.css"))
COLOURS: Mapping[str, str] = {
    "ran": "run; beside it how often",
    "partly": "a guard that never refuses, or never holds; beside it how often it refused",
    "never": "never run, or never asked",
}
"""The colours of the page, by the class of a line."""


def coverage_html(found: Coverage) -> str:
    """Return the page."""
    css = "\n".join((files(package) / name).read_text(encoding="utf-8") for package, name in STYLES)
    bounds = bounds_told(found.bounds) or "no bounds"
    ran = f"{found.verdict}, {found.distinct:,} states" + (f"; not complete: {found.stopped}" if found.stopped else "")
    legend = "".join(f'<span class="{name}">{summary}</span>' for name, summary in COLOURS.items())
    pages = [_file(found, file) for file in sorted(_files(found))]
    links = "".join(f'<li><a href="#{_anchor(file)}">{_text(shown(file))}</a></li>' for file in sorted(_files(found)))
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            f"<title>coverage of {_text(found.model)}</title>",
            f"<style>\n{css}</style></head><body>",
            f'<header><h1>coverage of {_text(found.model)}</h1><p class="subtitle">{_text(ran)}</p>'
            f'<p class="reference">{_text(bounds)}</p><p class="legend">{legend}</p></header>',
            "<section><h2>Rules</h2>" + _table(("rule", "fired", "new states", "guards"), _rules(found)) + "</section>",
            "<section><h2>Rows</h2>" + _table(("row", "chosen", "conditions"), _rows(found)) + "</section>" if found.rows else "",
            "<section><h2>Properties</h2>" + _table(("property", "tested", "where"), _properties(found)) + "</section>",
            "<section><h2>Containers</h2>"
            + _table(("sequence, set, bag or queue", "fullest", "capacity", "bytes an item"), _containers(found))
            + "</section>"
            if found.containers
            else "",
            f"<section><h2>Sources</h2><ul>{links}</ul></section>",
            *pages,
            "</body></html>",
            "",
        ]
    )


def _files(found: Coverage) -> set[str]:
    """Return the files that have something to colour."""
    return {*found.lines, *(part.file for part in found.parts if part.lines != (0, 0))}


def _rules(found: Coverage) -> Iterable[tuple[str, list[str]]]:
    for rule in found.rules:
        link = _link(rule.name, rule.file, rule.lines[0])
        if rule.unreachable:
            link += " <small>unreachable in this version</small>"
        yield _taken(rule), [link, f"{rule.fired:,}", f"{rule.new:,}", "".join(map(_condition, rule.conditions))]


def _rows(found: Coverage) -> Iterable[tuple[str, list[str]]]:
    for row in found.rows:
        link = _link(f"{row.machine} {row.change}", row.file, row.lines[0])
        yield _taken(row), [link, f"{row.fired:,}", "".join(map(_condition, row.conditions))]


def _properties(found: Coverage) -> Iterable[tuple[str, list[str]]]:
    for claim in found.properties:
        often = "a goal" if claim.tested is None else f"{claim.tested:,}"
        name = f"{_text(claim.name)} <small>{_text(claim.kind)}, {_text(claim.verdict)}</small>"
        yield "never" if claim.tested == 0 else "ran", [name, often, _text(claim.antecedent or "everywhere")]


def _containers(found: Coverage) -> Iterable[tuple[str, list[str]]]:
    for one in found.containers:
        capacity = f"{one.capacity:,}" + (f" <small>{_text(one.bound)}</small>" if one.bound else "")
        yield "ran" if one.fullest else "never", [_text(one.path), f"{one.fullest:,}", capacity, f"{one.item_bytes}"]


def _taken(part: CoveredRule | CoveredRow) -> str:
    return "ran" if part.fired else "" if part.unreachable else "never"


def _judged(condition: Condition) -> str:
    return {"both": "ran", "never asked": "never"}.get(condition.judged, "partly")


def _condition(condition: Condition) -> str:
    note = "" if condition.judged == "both" else f", {condition.judged}"
    counts = f"asked {condition.asked:,}, refused {condition.refused:,}{note}"
    name = f'<div class="{_judged(condition)}" title="{_text(condition.summary)}"><code>{_text(condition.name)}</code>'
    return f"{name} <small>{counts}</small></div>"


def _table(head: Iterable[str], rows: Iterable[tuple[str, list[str]]]) -> str:
    """Return a table; the first cell of each row has the colour of its class."""
    lines = [
        f'<tr><td class="{style}">{cells[0]}</td>{"".join(f"<td>{cell}</td>" for cell in cells[1:])}</tr>' for style, cells in rows
    ]
    return f'<div class="wide"><table><tr>{"".join(f"<th>{cell}</th>" for cell in head)}</tr>{"".join(lines)}</table></div>'


def _file(found: Coverage, file: str) -> str:
    """Return a source in colours: statements by how often they were run, rules and rows by how often they were taken."""
    marks: dict[int, tuple[str, str]] = {}
    for part in found.parts:
        if part.file == file and part.lines != (0, 0):
            for line in range(part.lines[0], part.lines[1] + 1):
                marks[line] = _taken(part), f"{part.fired:,}" if line == part.lines[0] else ""
                words = set(re.findall(r"\w+", linecache.getline(file, line)))
                named = [c for c in part.conditions if c.name.removeprefix("not ") in words]
                if named and line > part.lines[0]:
                    worst = max(map(_judged, named), key=list(COLOURS).index)
                    marks[line] = worst, f"{named[0].refused:,} of {named[0].asked:,}" if len(named) == 1 else ""
    for line, often in found.lines.get(file, {}).items():
        marks[line] = "ran" if often else "never", f"{often:,}"
    lines = []
    for number, text in enumerate(linecache.getlines(file), 1):
        style, count = marks.get(number, ("", ""))
        place = f'id="{_anchor(file, number)}" class="{style}"' if style else ""
        lines.append(f"<span {place}><i>{count}</i><b>{number}</b>{_text(text.rstrip()) or ' '}</span>")
    counted = found.lines.get(file, {}).values()
    share = f"{sum(map(bool, counted))} of {len(counted)} lines run" if counted else ""
    head = f'<section id="{_anchor(file)}"><h2>{_text(shown(file))}</h2><p class="reference">{share}</p>'
    return f'{head}<pre class="source">{"".join(lines)}</pre></section>'


def _link(name: str, file: str, line: int) -> str:
    return f'<a href="#{_anchor(file, line)}">{_text(name)}</a>' if line else _text(name)


def _anchor(file: str, line: int = 0) -> str:
    return _text(shown(file).replace(" ", "-")) + (f":{line}" if line else "")


def _text(text: str) -> str:
    return html.escape(text)
