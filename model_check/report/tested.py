"""A table in Markdown of how often each check has met the antecedent of each property: what its *holds* is worth."""

from __future__ import annotations

from collections.abc import Sequence

from kafka_spec.model_check.check import Outcome


def tested_text(outcomes: Sequence[Outcome]) -> str:
    """Return a table with a row for each check: its states and verdict, and how often each property was tested.

    A dash stands for a property that the check does not judge. Below it are the reasons for what is not tested.
    """
    counts = [{name: outcome.result.tested_of(name) for name in judged(outcome)} for outcome in outcomes]
    names = list(dict.fromkeys(name for row in counts for name in row))
    head = ["check", "states", "verdict", *names]
    lines = [cells(head), cells(["---", "---:", "---", *("---:" for _ in names)])]
    for outcome, row in zip(outcomes, counts, strict=True):
        numbers = ("-" if (count := row.get(name)) is None else f"{count:,}" for name in names)
        lines.append(cells([f"`{outcome.name}`", f"{outcome.result.distinct:,}", outcome.result.verdict, *numbers]))
    reasons = [f"* `{o.name}`: {reason}: {', '.join(which)}" for o in outcomes for reason, which in by_reason(o).items()]
    return "\n".join([*lines, *(["", "Not tested:", "", *reasons] if reasons else [])])


def judged(outcome: Outcome) -> list[str]:
    """Return the names of the properties that the check has judged and that have an antecedent."""
    stated = dict.fromkeys(claim.stated for claim in outcome.result.properties)
    return [name for name in stated if outcome.result.tested_of(name) is not None]


def by_reason(outcome: Outcome) -> dict[str, list[str]]:
    """Return the properties that the check is expected not to test, by the reason."""
    found: dict[str, list[str]] = {}
    for name, reason in outcome.expected.not_tested.items():
        found.setdefault(reason, []).append(name)
    return found


def cells(texts: Sequence[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(texts)} |"
