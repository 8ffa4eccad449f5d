"""An outcome as JUnit XML: one case for each kind of violation, so that CI names what broke. Independent of log lines."""

from __future__ import annotations

from collections.abc import Mapping

from kafka_spec.conformance.outcome.violations import Kind, Reported
from kafka_spec.model_check.report.junit import Problem, ReportedCase, junit_xml

MOST_SHOWN = 20
"""Maximum number of violations of one kind in a failure."""


def junit_of(outcome: Reported, kinds: Mapping[str, Kind]) -> str:
    """Return the outcome as JUnit XML; an inconclusive verdict is an error."""
    cases = [ReportedCase("validate", kind, problem=_violated(outcome, kind, holds.holds)) for kind, holds in kinds.items()]
    return junit_xml("kafka-spec validate", [*cases, ReportedCase("validate", "all is seen and finished", problem=_open(outcome))])


def _violated(outcome: Reported, kind: str, holds: str) -> Problem | None:
    found = [one for one in outcome.violations if one.kind == kind]
    lines = [f"{outcome.at(one.place)}: {one.subject}, {one.actor}: {one.summary}" for one in found[:MOST_SHOWN]]
    return Problem("failure", "violated", f"{len(found)} times: {holds}", "\n".join(lines)) if found else None


def _open(outcome: Reported) -> Problem | None:
    if not (reasons := outcome.open_reasons):
        return None
    lines = [*outcome.unseen, *(f"{one.subject}: {one.summary}" for one in outcome.unfinished)]
    return Problem("error", "inconclusive", "; ".join(reasons), "\n".join(lines))
