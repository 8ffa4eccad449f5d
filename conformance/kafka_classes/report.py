"""The results of a comparison as text, JSON and JUnit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from xml.etree import ElementTree

from kafka_spec.conformance.kafka_classes.comparison import SubjectResult

LONGEST = 1500
"""The characters of a value that a text shows."""


def as_text(results: Sequence[SubjectResult]) -> str:
    """Return a table of subjects, cases and differences, and the differences below it."""
    rows = [("subject", "Kafka", "cases", "differences", "chosen", "seconds")]
    rows += [
        (
            result.subject.name,
            result.version,
            f"{result.comparison.cases:,}",
            f"{result.comparison.different:,}",
            f"{sum(result.comparison.chosen.values()):,}",
            f"{result.seconds:.1f}",
        )
        for result in results
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        padded = [word.rjust(width) for word, width in zip(row, widths, strict=True)]
        padded[:2] = [word.ljust(width) for word, width in zip(row[:2], widths, strict=False)]
        lines.append("  ".join(padded))
    for result in results:
        lines += _chosen(result) + _failures(result)
    failed = sum(bool(result.failures) for result in results)
    cases = sum(result.comparison.cases for result in results)
    verdict = f"{failed} of {len(results)} comparisons FAILED" if failed else "all agree, but for the chosen differences"
    return "\n".join([*lines, "", f"{cases:,} cases: {verdict}"])


def _chosen(result: SubjectResult) -> list[str]:
    """Return a line for each chosen difference that was met."""
    met = result.comparison.chosen
    return [
        f"{result.subject.name} {result.version}: chosen, {met[one.name]:,} times: {one.name}: {one.reason}"
        for one in result.subject.chosen
        if met[one.name]
    ]


def _failures(result: SubjectResult) -> list[str]:
    if not result.failures:
        return []
    lines = ["", f"{result.subject.name} {result.version}: {'; '.join(result.failures)}"]
    for difference in result.comparison.differences:
        lines += [
            f"  {_short(difference.case)}",
            f"    ours    {_short(difference.ours)}",
            f"    Kafka's {_short(difference.kafkas)}",
        ]
    return lines


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."


def plain_of(results: Sequence[SubjectResult]) -> list[dict[str, Any]]:
    """Return the results as JSON knows them."""
    return [
        {
            "subject": result.subject.name,
            "kafka": result.version,
            "summary": result.subject.summary,
            "cases": result.comparison.cases,
            "different": result.comparison.different,
            "chosen": [
                {"name": one.name, "reason": one.reason, "times": result.comparison.chosen[one.name]}
                for one in result.subject.chosen
            ],
            "seen": dict(sorted(result.comparison.seen.items())),
            "failures": result.failures,
            "differences": [{"case": d.case, "ours": d.ours, "kafkas": d.kafkas} for d in result.comparison.differences],
            "seconds": round(result.seconds, 3),
        }
        for result in results
    ]


def as_json(results: Sequence[SubjectResult]) -> str:
    """Return the results as JSON (schema_version 1)."""
    return json.dumps({"schema_version": 1, "subjects": plain_of(results)}, indent=1)


def as_junit(results: Sequence[SubjectResult]) -> str:
    """Return the results as JUnit: one test case for each subject and version."""
    failed = sum(bool(result.failures) for result in results)
    suite = ElementTree.Element("testsuite", name="kafka-spec conformance", tests=str(len(results)), failures=str(failed))
    for result in results:
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"kafka.{result.version}", name=result.subject.name, time=f"{result.seconds:.3f}"
        )
        if result.failures:
            failure = ElementTree.SubElement(case, "failure", message="; ".join(result.failures))
            failure.text = "\n".join(_failures(result))
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)
