"""Machines, and the differences between two eras, as Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kafka_spec.diagrams.arrows import Choice, changes, choice_of
from kafka_spec.model_check.report.ci import markdown_cell
from kafka_spec.spec.vocabulary.table import Machine
from kafka_spec.spec.vocabulary.table_json import member_docs

SIGNS = {"added": "+ added", "removed": "\u2212 removed", "changed": "~ changed"}


def machine_markdown(machine: Machine) -> str:
    """Return a machine as Markdown: its states, then its rows in their order."""
    summary = member_docs(machine.states)
    era = f", Kafka {machine.era}" if machine.era else ""
    states = [(state.name, summary.get(state.name, ""), "initial" if state is machine.initial else "") for state in machine.states]
    rows = [
        (
            row.trigger,
            _listed(s.name for s in row.sources),
            row.target.name,
            *_choice(choice_of(row)),
            _kind(row.kind, row.waits_for),
            row.reference,
        )
        for row in machine.rows
    ]
    return "\n".join(
        [
            f"## {machine.name}{era}",
            "",
            f"{len(machine.legal_pairs)} legal pairs. Source: {markdown_cell(machine.reference or 'not given')}.",
            "",
            *table(("state", "meaning", ""), states),
            "",
            *table(("trigger", "from", "to", "guards", "effects", "kind", "source"), rows),
            "",
        ]
    )


def changes_markdown(older: Machine, newer: Machine) -> str:
    """Return the rows in which two eras differ; each (trigger, source, target) is one line."""
    found = [change for change in changes(older, newer) if change.status != "same"]
    head = [
        f"## {newer.name}: from {_era(older)} to {_era(newer)}",
        "",
        f"{len(older.legal_pairs)} legal pairs before, {len(newer.legal_pairs)} after.",
        "",
    ]
    if not found:
        return "\n".join([*head, "No row differs.", ""])
    rows = [(SIGNS[c.status], c.trigger, c.source.name, c.target.name, _choices(c.older), _choices(c.newer)) for c in found]
    before, after = f"in {_era(older)}", f"in {_era(newer)}"
    return "\n".join([*head, *table(("", "trigger", "from", "to", before, after), rows), ""])


def _era(machine: Machine) -> str:
    return machine.era or machine.name


def _choices(choices: Sequence[Choice]) -> str:
    if not choices:
        return "no row"
    return "; ".join(
        " / ".join(part for part in (f"[{' and '.join(g)}]" if g else "", ", ".join(e)) if part) or "always" for g, e in choices
    )


def _choice(choice: Choice) -> tuple[str, str]:
    return _listed(choice[0], " and "), _listed(choice[1])


def _kind(kind: str, waits_for: str) -> str:
    return f"{kind}; waits for {waits_for}" if waits_for else kind


def _listed(names: Iterable[str], between: str = ", ") -> str:
    return between.join(names)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    return [
        f"| {' | '.join(head)} |",
        f"|{'---|' * len(head)}",
        *(f"| {' | '.join(map(markdown_cell, row))} |" for row in rows),
    ]
