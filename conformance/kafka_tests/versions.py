"""Runs the tests of findings on releases of Kafka, with and without the candidate fix: which release has which finding.

A finding is seen only if the assertion fails that decides: it names the finding. A test that fails elsewhere, or does not compile, says
nothing about its release.

    python -m kafka_spec.conformance.kafka_tests.versions --kafka 4.3.1 4.4.0
"""

from __future__ import annotations

import argparse
import enum
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

from kafka_spec.conformance.kafka_classes.jars import folder_of
from kafka_spec.conformance.kafka_tests.findings import TESTS, KafkaTest
from kafka_spec.conformance.kafka_tests.release import Outcome, Release
from kafka_spec.conformance.reproductions.script import run_script
from kafka_spec.spec.vocabulary.table import SpecError

VERSIONS = (
    "3.3.2", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.1", "4.0.0", "4.0.2", "4.1.0", "4.1.2", "4.2.0", "4.2.1", "4.3.0", "4.3.1", "4.4.0",
)  # fmt: skip
"""The releases whose test classes Maven has; of 4.4.0 only the classes, which are tested with the test classes of 4.3.1."""
NEWEST_WITH_TESTS = "4.3.1"
SHOWN = 120
"""The most characters of a failure that are shown."""


class Seen(enum.Enum):
    """What a test says about a release."""

    YES = "seen"
    NO = "not seen"
    OPEN = "open"


@dataclass(frozen=True)
class Judged:
    """What the test of a finding says about a release, and how it ends with the fix: True if it passes, None if that is open."""

    test: KafkaTest
    version: str
    seen: Seen
    why: str
    passes_with_fix: bool | None = None
    why_fix: str = ""

    @property
    def is_wrong(self) -> bool:
        """The fix applies, and the test does not pass with it."""
        return self.passes_with_fix is False

    def line(self) -> str:
        """Return the judgement as a line."""
        fixed = {None: f"; with the fix: open ({self.why_fix})" if self.why_fix else "", True: "; passes with the fix", False: f"; WITH THE FIX: {self.why_fix}"}
        shown = self.seen == Seen.YES
        return f"{self.version:6} {self.test.finding:36} {self.seen.value:8} {self.why}{fixed[self.passes_with_fix] if shown else ''}"


def judged(test: KafkaTest, release: Release) -> Judged:
    """Run the test of a finding on a release, and with its fix if the finding is seen."""
    try:
        sources, chosen = test.sources(release)
        seen, why = ending(test, release.run(dict(sources), [chosen]))
    except (SpecError, KeyError) as error:
        return Judged(test, release.version, Seen.OPEN, str(error))
    if seen != Seen.YES or test.fix is None:
        return Judged(test, release.version, seen, why)
    try:
        after, why_fix = ending(test, release.run(dict(sources), [chosen], test.fix))
    except SpecError as error:
        return Judged(test, release.version, seen, why, None, str(error))
    return Judged(test, release.version, seen, why, after == Seen.NO, why_fix)


def ending(test: KafkaTest, outcomes: Sequence[Outcome]) -> tuple[Seen, str]:
    """Return what the outcome of a test says, and why: only a failure of the assertion that names the finding shows it."""
    if len(outcomes) != 1:
        return Seen.OPEN, f"{len(outcomes)} tests ran"
    failure = outcomes[0].failure
    if not failure:
        return Seen.NO, "passes"
    for label in test.labels:
        if failure.startswith(f"AssertionFailedError: {label} ==> "):
            return Seen.YES, shorten(failure.partition(" ==> ")[2], SHOWN)
    return Seen.OPEN, shorten(f"fails before the assertion that decides: {failure}", SHOWN)


def own_tests(test: KafkaTest, release: Release) -> tuple[int, list[str]]:
    """Return how many of Kafka's own tests of what a fix changes ran, and those that fail with the fix and pass without."""
    if test.fix is None:
        return 0, []
    before = {one.test for one in release.run({}, test.fix.tests) if not one.failure}
    after = [one for one in release.run({}, test.fix.tests, test.fix) if one.failure and one.test in before]
    return len(before), sorted({one.test for one in after})


def page(results: Sequence[Judged], own: Sequence[tuple[KafkaTest, int, list[str]]]) -> Iterator[str]:
    """Yield the lines of the page: findings by releases, then the fixes."""
    versions = list(dict.fromkeys(one.version for one in results))
    cells = {(one.test.finding, one.version): one for one in results}
    yield from TOP
    yield f"| finding | {' | '.join(versions)} |"
    yield f"|---|{'---|' * len(versions)}"
    for test in dict.fromkeys(one.test for one in results):
        row = [{Seen.YES: "seen", Seen.NO: "no", Seen.OPEN: ""}[cells[test.finding, version].seen] for version in versions]
        yield f"| [{test.finding}]({test.finding}.md) | {' | '.join(row)} |"
    yield from FIX_TOP
    for test, ran, broken in own:
        passing = [one.version for one in results if one.test == test and one.passes_with_fix]
        kept = f"all {ran} pass" if not broken else f"{len(broken)} of {ran} fail: {', '.join(broken)}"
        yield f"| {test.finding} | {', '.join(passing)} | {kept} |"


TOP = (
    "# Which release has which finding",
    "",
    "Each finding of KRaft is a test in Kafka's own idiom, which was compiled against the published jars and run. *seen*: the assertion that",
    "decides fails. *no*: the test passes. An empty cell: the test does not compile with that release's test classes, or needs a feature that",
    "it lacks, so that the release was not judged this way; each finding's page says what was seen on running clusters. The tests set the",
    "features they need: eligible leader replicas are a preview before 4.0, and off for new clusters before 4.1.",
    "",
    "`make kafka-versions` runs everything again and writes this page; `make kafka-tests` takes three releases.",
    "",
)  # fmt: skip
FIX_TOP = (
    "",
    "## Candidate fixes",
    "",
    "Each fix is a small edit of Kafka's source, compiled over the released jar. *passes*: the releases on which the test of the finding passes",
    f"with it. The last column has Kafka's own tests of the changed classes, of {NEWEST_WITH_TESTS}, that pass without the fix.",
    "",
    "| finding | passes with the fix | Kafka's own tests with the fix |",
    "|---|---|---|",
)


def main(arguments: Sequence[str]) -> int:
    """Judge findings on releases; return 1 if a test does not pass with a fix that applies."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", nargs="+", default=[NEWEST_WITH_TESTS], choices=[*VERSIONS, "all"], help="the releases, or all")
    names = [test.finding for test in TESTS]
    parser.add_argument("--finding", nargs="+", default=names, choices=names, help="the findings (default: all that have a test)")
    parser.add_argument("--own-tests", action="store_true", help=f"also run Kafka's own tests of {NEWEST_WITH_TESTS} with each fix")
    parser.add_argument("--jars", type=Path, help="the folder with Kafka's jars (default: .kafka)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page")
    options = parser.parse_args(arguments)
    versions = VERSIONS if "all" in options.kafka else options.kafka
    tests = [test for test in TESTS if test.finding in options.finding]
    folder = folder_of("tests", options.jars)
    results = []
    for version in versions:
        release = Release(version, folder)
        release.fetch()
        for test in tests:
            results.append(judged(test, release))
            print(results[-1].line(), flush=True)
    own = []
    if options.own_tests:
        release = Release(NEWEST_WITH_TESTS, folder)
        release.fetch()
        for test in tests:
            own.append((test, *own_tests(test, release)))
            print(f"{test.finding}: {own[-1][1]} of Kafka's own tests, of which {len(own[-1][2])} fail with the fix: {own[-1][2]}", flush=True)
    if options.write:
        options.write.write_text("\n".join(page(results, own)) + "\n", encoding="utf-8")
    return 1 if any(one.is_wrong for one in results) or any(broken for _, _, broken in own) else 0


if __name__ == "__main__":
    run_script(lambda: main(sys.argv[1:]))
