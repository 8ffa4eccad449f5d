"""Which known bugs may have violated a property in a run: those whose cards say so, and those that did so in a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_spec.spec.case import Suite


def suspects(suite: Suite, cases: Collection[str], name: str, in_runs: Mapping[str, Collection[str]]) -> list[str]:
    """Return those of some cases that violate a property.

    Args:
        suite: the cases of a world; a card says which properties the model violates with it.
        cases: the names of the cases that a run has.
        name: the name of the property.
        in_runs: for some properties further cases, which violate them in runs or tests but not in a check of the manifest.
    """
    shown = {case.name for case in suite.expressed if any(name in shown.violates for shown in case.shows)}
    return [case for case in cases if case in shown or case in in_runs.get(name, ())]
