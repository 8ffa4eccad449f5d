"""JUnit XML for `check` and `validate`, within the schema of Jenkins' xunit plugin (junit-10.xsd).

Knows neither checks nor logs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree


@dataclass(frozen=True)
class Problem:
    """What is wrong with a case: "failure" is a wrong result, "error" is a missing result; `type` says of which sort it is."""

    kind: Literal["failure", "error"]
    type: str
    message: str
    text: str = ""


@dataclass(frozen=True)
class ReportedCase:
    """One test case, with the seconds it took and what it reports though nothing is wrong."""

    classname: str
    name: str
    seconds: float = 0.0
    problem: Problem | None = None
    output: str = ""


def junit_xml(name: str, cases: Sequence[ReportedCase]) -> str:
    """Return the cases as one suite; `skipped` is an attribute of the suite alone, as Jenkins' schema has it."""
    kinds = [case.problem.kind for case in cases if case.problem]
    counts = {
        "tests": str(len(cases)),
        "failures": str(kinds.count("failure")),
        "errors": str(kinds.count("error")),
        "time": f"{sum(case.seconds for case in cases):.3f}",
    }
    root = ElementTree.Element("testsuites", {"name": name, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **counts, "skipped": "0"})
    for case in cases:
        known = {"classname": _printable(case.classname), "name": _printable(case.name), "time": f"{case.seconds:.3f}"}
        element = ElementTree.SubElement(suite, "testcase", known)
        if case.problem:
            attributes = {"message": _printable(case.problem.message), "type": _printable(case.problem.type)}
            ElementTree.SubElement(element, case.problem.kind, attributes).text = _printable(case.problem.text)
        if case.output:
            ElementTree.SubElement(element, "system-out").text = _printable(case.output)
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


def _printable(text: str) -> str:
    """Return a text without the characters that XML forbids."""
    return re.sub(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
