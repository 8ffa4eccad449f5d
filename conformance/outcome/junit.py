"""An outcome as JUnit XML: one case for each kind of violation, so that CI names what broke. Independent of log lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol
from xml.etree import ElementTree

from kafka_spec.conformance.outcome.violations import Kind, Unfinished, Violation

MOST_SHOWN = 20
"""Maximum number of violations of one kind in a failure."""


class Reported(Protocol):
    """An outcome of logs of either world."""

    @property
    def violations(self) -> Sequence[Violation]:
        """What the logs must not show."""

    @property
    def open_reasons(self) -> Sequence[str]:
        """Why the verdict is inconclusive."""

    @property
    def unseen(self) -> Sequence[str]:
        """What could not be checked."""

    @property
    def unfinished(self) -> Sequence[Unfinished]:
        """What has not ended where the logs end."""

    def at(self, place: int) -> str:
        """Return a place as text."""


def junit_of(outcome: Reported, kinds: Mapping[str, Kind]) -> str:
    """Return the outcome as JUnit XML; an inconclusive verdict is an error."""
    by_kind = {kind: [one for one in outcome.violations if one.kind == kind] for kind in kinds}
    open_reasons = outcome.open_reasons
    counts = {
        "tests": str(len(kinds) + 1),
        "failures": str(sum(bool(found) for found in by_kind.values())),
        "errors": str(int(bool(open_reasons))),
        "time": "0",
    }
    root = ElementTree.Element("testsuites", {"name": "kafka-spec validate", **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": "kafka-spec validate", **counts, "skipped": "0"})
    for kind, found in by_kind.items():
        case = ElementTree.SubElement(suite, "testcase", {"classname": "validate", "name": kind, "time": "0"})
        if found:
            lines = [f"{outcome.at(one.place)}: {one.subject}, {one.actor}: {one.summary}" for one in found[:MOST_SHOWN]]
            failure = {"message": f"{len(found)} times: {kinds[kind].holds}", "type": "violated"}
            ElementTree.SubElement(case, "failure", failure).text = _printable("\n".join(lines))
    case = ElementTree.SubElement(suite, "testcase", {"classname": "validate", "name": "all is seen and finished", "time": "0"})
    if open_reasons:
        ElementTree.SubElement(case, "error", {"message": "; ".join(open_reasons), "type": "inconclusive"}).text = _printable(
            "\n".join([*outcome.unseen, *(f"{one.subject}: {one.summary}" for one in outcome.unfinished)])
        )
    ElementTree.indent(root, " ")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _printable(text: str) -> str:
    """Return a text without characters that XML forbids."""
    return "".join(sign if sign in "\n\t" or sign.isprintable() else "\ufffd" for sign in text)
