"""A table of choices as Markdown and as Graphviz DOT: which choices each kind tries, in which order.

The orders are found by asking the function, so a picture cannot differ from it.
"""

from __future__ import annotations

import html
import textwrap

from kafka_spec.diagrams.dot import FONT, INK, LANES, WIDTH
from kafka_spec.diagrams.markdown import table
from kafka_spec.spec.vocabulary.table import ChoiceTable
from kafka_spec.spec.vocabulary.table_json import member_docs

COLOURS = (LANES["path"], LANES["none"], LANES["failure"], LANES["deletion"])


def choices_markdown(choices: ChoiceTable) -> str:
    """Return the table: a row for each choice, a column for each kind with the place of the choice in its order."""
    summary = member_docs(choices.choices)
    orders = {kind: choices.order(kind) for kind in choices.kinds}
    rows = []
    for choice in choices.choices:
        places = [str(order.index(choice) + 1) if choice in order else "" for order in orders.values()]
        rows.append((choice.name, summary.get(choice.name, ""), *places))
    kinds = [f"{kind.name}: {text}" if (text := member_docs(choices.kinds).get(kind.name)) else kind.name for kind in orders]
    return "\n".join(
        [
            f"## {choices.name}",
            "",
            f"The first that is possible, in the order of each kind. Source: {choices.reference}.",
            "",
            *(f"* {kind}" for kind in kinds),
            "",
            *table(("choice", "meaning", *(kind.name for kind in orders)), rows),
            "",
        ]
    )


def choices_dot(choices: ChoiceTable) -> str:
    """Return the orders as chains of questions: an arrow leads from each choice to what is tried if it is not possible."""
    summary = member_docs(choices.choices)
    lines = [
        f'digraph "{choices.name}" {{',
        f'  graph [rankdir=TB nodesep=0.35 ranksep=0.3 bgcolor=white fontname="{FONT}"]',
        f'  node [shape=box style="rounded,filled" fontname="{FONT}" fontsize=11 fontcolor="{INK}"]',
        f'  edge [fontname="{FONT}" fontsize=10 color="{INK}" arrowsize=0.7]',
    ]
    for kind in choices.kinds:
        fill, border = COLOURS[kind % len(COLOURS)]
        lines.append(f'  k{kind:d} [label="{kind.name}" shape=plaintext style="" fontsize=13]')
        before = f"k{kind:d}"
        for choice in choices.order(kind):
            text = textwrap.wrap(summary.get(choice.name, ""), WIDTH)
            label = "<br/>".join([f"<b>{choice.name}</b>", *map(html.escape, text)])
            node = f"k{kind:d}c{choice:d}"
            name = f"{choices.name}-{kind.name}-{choice.name}"
            lines.append(f'  {node} [label=<{label}> fillcolor="{fill}" color="{border}" id="{name}"]')
            lines.append(f"  {before} -> {node}" + (' [label="if not possible"]' if "c" in before else ""))
            before = node
    return "\n".join([*lines, "}", ""])
