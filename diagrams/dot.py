"""A machine as Graphviz DOT, and DOT as SVG or PNG through the `graphviz` library.

Depends on arrows and positions only. A label is a separate box between the sources and the target: the trigger on top, then
[guards] and / effects of each choice, so rows that share them are drawn once. A box with several targets numbers its choices, and
the lines to the targets carry the numbers. States and labels carry ids, which the page of a
trace uses to highlight them.
"""

from __future__ import annotations

import enum
import html
import re
import textwrap
from collections.abc import Sequence

from kafka_spec.diagrams.arrows import Arrow, Box, Choice, arrows, boxes
from kafka_spec.diagrams.positions import Places, places_of
from kafka_spec.spec.vocabulary.table import Machine, SpecError

FONT = "Helvetica,Arial,sans-serif"
LANES = {  # (fill, border)
    "path": ("#dcefe3", "#2f7d4f"),
    "failure": ("#fbe3dc", "#b4472b"),
    "deletion": ("#e6e4f0", "#655c93"),
    "completion": ("#f6ecd2", "#8a6414"),
    "none": ("#e3ebf4", "#42658c"),
}
INITIALISATION = "#3b7ea1"
STATUSES = {"added": "#1a7f37", "removed": "#b42318", "changed": "#9a6700"}
FADED = "#8c959f"
INK = "#24292f"
WIDTH = 40
"""Maximum characters in a line of guards or effects."""


def machine_dot(machine: Machine, several: Sequence[Arrow] | None = None, title: str | None = None) -> str:
    """Return a machine as DOT; `several` replaces the arrows to draw, for example with those of two compared eras.

    Without a `title` it has its name and its era; "" is none.
    """
    drawn = arrows(machine) if several is None else several
    comparing = several is not None
    together = boxes(drawn)
    places = _room(places_of(machine), together)
    lines = [f"digraph {_quoted(machine.name)} {{", *_frame(places, titled(machine) if title is None else title)]
    lines += [_state(machine, state, places) for state in machine.states]
    lines.append(
        f'  start [shape=circle width=0.14 label="" style=filled fillcolor="{INK}" color="{INK}"{_start(machine, places)}]'
    )
    lines.append(f'  start -> {machine.initial.name} [color="{INK}"]')
    if any(arrow.from_anywhere for arrow in drawn):
        lines.append(
            f'  anywhere [shape=plaintext label="any state" fontcolor="{INITIALISATION}"{_at(places.points.get("any state"))}]'
        )
    for number, box in enumerate(together):
        lines += _box(machine.name, number, box, places, comparing)
    lines += _legend(places, together, comparing)
    return "\n".join([*lines, "}", ""])


def _room(places: Places, drawn: Sequence[Box]) -> Places:
    """Return a layout, without its positions if two boxes would share one, as in a comparison of eras that differ much."""
    points = [places.of_box(box) for box in drawn]
    return places if len({*points}) == len(points) else Places({}, places.lanes, places.back)


def titled(machine: Machine) -> str:
    """Return the name of a machine, with the version of Kafka whose table it is."""
    return machine.name + (f", Kafka {machine.era}" if machine.era else "")


def render(dot: str, form: str) -> bytes:
    """Return DOT as `svg` or `png`.

    Raises:
        SpecError: the library or Graphviz itself is not installed, or Graphviz rejects the text.
    """
    try:
        import graphviz
    except ModuleNotFoundError:
        raise SpecError(
            f"{form} needs the library graphviz; it comes with: pip install 'kafka-spec[draw]'; --format mermaid needs nothing"
        ) from None
    try:
        picture: bytes = graphviz.Source(dot).pipe(format=form, quiet=True)
    except graphviz.ExecutableNotFound:
        raise SpecError(
            f"{form} needs Graphviz, whose program `dot` is not on the PATH; install it (Debian: apt-get install graphviz), "
            "or take --format mermaid, dot or markdown, which need nothing"
        ) from None
    except graphviz.CalledProcessError as error:
        raise SpecError(f"Graphviz refuses the picture: {error.stderr!r}") from None
    return _plain_svg(picture) if form == "svg" else picture


def _plain_svg(picture: bytes) -> bytes:
    """Return an SVG without Graphviz's version comments and without the tooltips that repeat ids."""
    text = re.sub(r"<!--.*?-->\n?", "", picture.decode(), flags=re.DOTALL)
    text = re.sub(r"<!DOCTYPE.*?>\n?", "", text, flags=re.DOTALL)
    return re.sub(r"<title>.*?</title>\n?", "", text, flags=re.DOTALL).encode()


def _frame(places: Places, title: str) -> list[str]:
    layout = "layout=neato inputscale=72 splines=true" if places.points else "rankdir=LR ranksep=0.35 nodesep=0.3"
    head = f' label={_quoted(title)} labelloc=t fontsize=18 fontcolor="{INK}"' if title else ""
    return [
        f'  graph [{layout} fontname="{FONT}" pad=0.2 bgcolor=white{head}]',
        f'  node [fontname="{FONT}" fontsize=14 fontcolor="{INK}" penwidth=1.4]',
        f'  edge [fontname="{FONT}" arrowsize=0.75 penwidth=1.3]',
    ]


def _legend(places: Places, drawn: Sequence[Box], comparing: bool) -> list[str]:
    """Explain the colours, if the machine's layout has room for a legend."""
    if "legend" not in places.points:
        return []
    if comparing:
        entries = [("in both", FADED), ("added", STATUSES["added"]), ("removed", STATUSES["removed"])]
    else:
        named = [lane for lane in places.lanes if lane != "none"]
        entries = [(f"to {lane}" if lane != "path" else "the usual way", LANES[lane][1]) for lane in named]
        entries.append(("start-up and shutdown, bypassing the legal pairs", INITIALISATION))
    if any(len(box.choices) > 1 for box in drawn):
        entries.append(("1. 2.: the cases of one trigger, [if] / then", INK))
    if any(_returns(box, arrow) for box in drawn for arrow in box.arrows):
        entries.append(("a line from ○: also from the state it leads to", INK))
    cells = "".join(f'<td><font color="{color}">● {text}</font></td>' for text, color in entries)
    table = f'<<table border="0" cellborder="0" cellspacing="6"><tr>{cells}</tr></table>>'
    return [f"  legend [shape=plaintext fontsize=11 label={table}{_at(places.points['legend'])}]"]


def _state(machine: Machine, state: enum.IntEnum, places: Places) -> str:
    fill, border = LANES[places.lane(state)]
    label = state.name.replace("_", "\\n", 1) if len(state.name) > 12 else state.name
    return (
        f'  {state.name} [id="state-{machine.name}-{state.name}" class="state" shape=box style="rounded,filled" '
        f'width=1.5 height=0.6 label="{label}" fillcolor="{fill}" color="{border}"{_at(places.points.get(state.name))}]'
    )


def _start(machine: Machine, places: Places) -> str:
    point = places.points.get(machine.initial.name)
    return _at((point[0], point[1] - 60)) if point else ""


def _box(machine: str, number: int, box: Box, places: Places, comparing: bool) -> list[str]:
    """Draw a box, a line to it from each source, and one to each target with the numbers of its cases.

    A source that is a target too has one line, which begins with a small circle.
    """
    first = box.first
    looks = [_look(arrow, places, comparing) for arrow in box.arrows]
    color, style = looks[0] if len({*looks}) == 1 else (INK, looks[0][1])
    name = f"arrow{number}"
    label = _label(box, color if comparing and first.status == "same" else INK)
    lines = [
        f'  {name} [id="arrow-{machine}-{number}" class="arrow {first.status}" shape=box style="rounded,filled" fillcolor="white" '
        f'color="{color}" penwidth=1 margin="0.1,0.04" label={label}{_at(places.of_box(box))}]'
    ]
    targets = [arrow.target for arrow in box.arrows]
    ways = ["anywhere"] if first.from_anywhere else [source.name for source in first.sources if source not in targets]
    lines += [f'  {way} -> {name} [arrowhead=none color="{color}"{style}]' for way in ways]
    for case, (arrow, (line_color, line_style)) in enumerate(zip(box.arrows, looks, strict=True)):
        marks = " dir=both arrowtail=odot" if _returns(box, arrow) else ""
        if len(box.arrows) > 1:
            cases = ", ".join(f"{number}." for number in box.numbers(arrow))
            shown = f'<<table border="0" cellpadding="0" bgcolor="white"><tr><td>{cases}</td></tr></table>>'
            marks += f' id="way-{machine}-{number}-{case}" class="way" label={shown} fontsize=11 fontcolor="{line_color}"'
        lines.append(f'  {name} -> {arrow.target.name} [color="{line_color}"{line_style}{marks}]')
    return lines


def _returns(box: Box, arrow: Arrow) -> bool:
    return not arrow.from_anywhere and arrow.target in box.first.sources


def _look(arrow: Arrow, places: Places, comparing: bool) -> tuple[str, str]:
    style = " style=dashed" if arrow.kind == "initialisation" else ""
    if comparing:
        if arrow.status == "same":
            return FADED, style
        return STATUSES[arrow.status], style + " penwidth=2.4"
    if arrow.kind == "initialisation":
        return INITIALISATION, style
    return LANES[places.lane_of_arrow(arrow)][1], style


def _label(box: Box, ink: str) -> str:
    sign = {"added": "+ ", "removed": "\u2212 "}.get(box.first.status, "")
    rows = [f'<tr><td align="left"><b>{sign}{html.escape(box.first.trigger)}</b></td></tr>']
    for number, choice in enumerate(box.choices, 1):
        lines = [html.escape(line, quote=False) for line in choice_lines(choice)]
        if len(box.choices) > 1:
            lines[:1] = [f"{number}. {lines[0] if lines else 'otherwise'}"]
        if lines:
            text = '<br align="left"/>'.join(lines) + '<br align="left"/>'
            rows.append(f'<tr><td align="left" balign="left"><font point-size="10.5">{text}</font></td></tr>')
    border = 'border="0" cellborder="0" cellspacing="0" cellpadding="1"'
    return f'<<font color="{ink}" point-size="12"><table {border}>{"".join(rows)}</table></font>>'


def choice_lines(choice: Choice) -> list[str]:
    """Return `[guards]` and `/ effects` of a choice as lines of limited length."""
    guards, effects = choice
    lines = []
    if guards:
        whole = [guard.replace("not ", "not\u00a0") for guard in guards]
        lines += textwrap.wrap(f"[{' and '.join(whole)}]", WIDTH, subsequent_indent="  ", break_long_words=False)
    if effects:
        lines += textwrap.wrap(f"/ {', '.join(effects)}", WIDTH, subsequent_indent="   ", break_long_words=False)
    return [line.replace("  ", "\u00a0\u00a0") for line in lines]


def _at(point: tuple[int, int] | None) -> str:
    return f' pos="{point[0]},{-point[1]}!"' if point else ""


def _quoted(text: str) -> str:
    text = "".join(character for character in text if character.isprintable())
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
