"""Runs the tests of findings on releases of Kafka, with and without the candidate fix: which release has which finding.

A finding is seen only if the assertion fails that decides: it names the finding. A test that fails elsewhere, or does not compile,
says nothing about its release.

    python -m kafka_spec.conformance.kafka_tests.versions --kafka 4.3.1 4.4.0
"""

from __future__ import annotations

import argparse
import enum
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten

from kafka_spec.conformance.kafka_classes.jars import folder_of
from kafka_spec.conformance.kafka_tests.candidate_fixes import Fix
from kafka_spec.conformance.kafka_tests.findings import KNOWN_BUGS, TESTS, KafkaTest
from kafka_spec.conformance.kafka_tests.release import JUnitOutcome, KafkaRelease
from kafka_spec.conformance.reproductions.script import run_script
from kafka_spec.spec.case import has
from kafka_spec.spec.kraft.cases import CASES
from kafka_spec.spec.vocabulary.table import SpecError

VERSIONS = (
    *("3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.1"),
    *("4.0.0", "4.0.2", "4.1.0", "4.1.2", "4.2.0", "4.2.1", "4.3.0", "4.3.1", "4.4.0"),
)
"""The releases whose test classes Maven has; of 4.4.0 only the classes, which are tested with the test classes of 4.3.1."""
NEWEST_WITH_TESTS = "4.3.1"
SHOWN = 120
"""The most characters of a failure that are shown."""


class Sighting(enum.Enum):
    """What a test says about a release."""

    SEEN = "seen"
    NOT_SEEN = "not seen"
    OPEN = "open"


@dataclass(frozen=True)
class JudgedRelease:
    """What the test of a finding says about a release, and how it ends with the fix: True if it passes, None if that is open."""

    test: KafkaTest
    version: str
    seen: Sighting
    why: str
    passes_with_fix: bool | None = None
    why_fix: str = ""

    @property
    def is_wrong(self) -> bool:
        """The fix applies and the test does not pass with it; or a known bug is seen elsewhere than its case says."""
        return self.passes_with_fix is False or self.contradicts

    @property
    def contradicts(self) -> bool:
        """A known bug is seen on a release that its case does not name, or not seen on one that it names."""
        if self.test not in KNOWN_BUGS or self.seen == Sighting.OPEN:
            return False
        (case,) = (case for case in CASES if case.name == self.test.finding)
        return has(case.releases, self.version) != (self.seen == Sighting.SEEN)

    def line(self) -> str:
        """Return the judgement as a line."""
        return f"{self.version:6} {self.test.finding:36} {self.seen.value:8} {self.why}{self.with_fix()}"

    def with_fix(self) -> str:
        """Return how the test ends with the fix, in words; nothing if there is none to try."""
        if self.contradicts:
            return "; THE CASE SAYS OTHERWISE"
        if self.passes_with_fix is None:
            return f"; with the fix: open ({self.why_fix})" if self.why_fix else ""
        return "; passes with the fix" if self.passes_with_fix else f"; FAILS WITH THE FIX: {self.why_fix}"


def judged(test: KafkaTest, release: KafkaRelease) -> JudgedRelease:
    """Run the test of a finding on a release, and with its fix if the finding is seen."""
    try:
        sources, chosen = test.sources(release)
        seen, why = ending(test, release.run(dict(sources), [chosen]))
    except (SpecError, KeyError) as error:
        return JudgedRelease(test, release.version, Sighting.OPEN, str(error))
    if seen != Sighting.SEEN or test.fix is None:
        return JudgedRelease(test, release.version, seen, why)
    try:
        after, why_with = ending(test, release.run(dict(sources), [chosen], test.fix))
    except SpecError as error:
        return JudgedRelease(test, release.version, seen, why, None, str(error))
    return JudgedRelease(test, release.version, seen, why, after == Sighting.NOT_SEEN, why_with)


def ending(test: KafkaTest, outcomes: Sequence[JUnitOutcome]) -> tuple[Sighting, str]:
    """Return what the outcome of a test says, and why: only a failure of the assertion that names the finding shows it."""
    if len(outcomes) != 1:
        return Sighting.OPEN, f"{len(outcomes)} tests ran"
    failure = outcomes[0].failure
    if not failure:
        return Sighting.NOT_SEEN, "passes"
    for label in test.labels:
        if failure.startswith(f"AssertionFailedError: {label} ==> "):
            return Sighting.SEEN, shorten(failure.partition(" ==> ")[2], SHOWN)
    return Sighting.OPEN, shorten(f"fails before the assertion that decides: {failure}", SHOWN)


@dataclass(frozen=True)
class OwnTests:
    """Kafka's own tests of what a fix changes: how many pass without the fix, and which do not end as they should with it.

    `opposed` demand what the fix ends, and have to fail; the others have to pass.
    """

    test: KafkaTest
    ran: int
    broken: tuple[str, ...]
    opposed: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.broken:
            return f"{len(self.broken)} of {self.ran} do not end as they should: {', '.join(self.broken)}"
        if self.opposed:
            return f"{self.ran - len(self.opposed)} of {self.ran} pass; {', '.join(self.opposed)} demand the opposite"
        return f"all {self.ran} pass"


def own_tests(test: KafkaTest, fix: Fix, release: KafkaRelease) -> OwnTests:
    """Run Kafka's own tests without the fix and with it."""
    before = [one.test for one in release.run({}, fix.own_tests) if not one.failure]
    passing = {one.test for one in release.run({}, fix.own_tests, fix) if not one.failure}
    wrong = (set(before) - passing) ^ set(fix.opposed)
    return OwnTests(test, len(before), tuple(sorted(wrong)), fix.opposed)


def table_of_releases(what: str, results: Sequence[JudgedRelease], link: str) -> Iterator[str]:
    """Yield the lines of a table of findings, or of known bugs, by releases; `link` has a place for the name."""
    versions = list(dict.fromkeys(one.version for one in results))
    cells = {(one.test.finding, one.version): IN_TABLE[one.seen] for one in results}
    yield f"| {what} | {' | '.join(versions)} |"
    yield f"|---|{'---|' * len(versions)}"
    for test in dict.fromkeys(one.test for one in results):
        row = " | ".join(cells[test.finding, version] for version in versions)
        yield f"| [{test.finding}]({link.format(test.finding)}) | {row} |"


IN_TABLE = {Sighting.SEEN: "seen", Sighting.NOT_SEEN: "no", Sighting.OPEN: ""}


def table_of_fixes(results: Sequence[JudgedRelease], own: Sequence[OwnTests]) -> Iterator[str]:
    """Yield the lines of the table of fixes."""
    yield "| fix of | passes with the fix | Kafka's own tests with the fix |"
    yield "|---|---|---|"
    for one in own:
        passing = ", ".join(result.version for result in results if result.test == one.test and result.passes_with_fix)
        yield f"| [{one.test.finding}](../findings/{one.test.finding}.md#fix) | {passing} | {one} |"


def with_tables(page: str, tables: Sequence[Iterator[str]]) -> str:
    """Return a page with other tables in place of its own, in their order.

    Raises:
        SpecError: it has another number of tables.
    """
    pieces = re.split(r"^(?:\|.*\n)+", page, flags=re.MULTILINE)
    if len(pieces) != len(tables) + 1:
        raise SpecError(f"the page has {len(pieces) - 1} tables, and not {len(tables)}")
    return pieces[0] + "".join("\n".join(table) + "\n" + piece for table, piece in zip(tables, pieces[1:], strict=True))


def main(arguments: Sequence[str]) -> int:
    """Judge findings on releases; return 1 if a fix does not end its finding, or a known bug is seen elsewhere than it should."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", nargs="+", default=[NEWEST_WITH_TESTS], choices=[*VERSIONS, "all"], help="the releases, or all")
    every = (*TESTS, *KNOWN_BUGS)
    names = [test.finding for test in every]
    parser.add_argument(
        "--finding", nargs="+", default=names, choices=names, help="findings and known bugs (default: all that have a test)"
    )
    parser.add_argument("--own-tests", action="store_true", help=f"also run Kafka's own tests of {NEWEST_WITH_TESTS} with each fix")
    parser.add_argument("--jars", type=Path, help="the folder of the jars, with a folder for each release (default: .kafka/tests)")
    parser.add_argument("--write", type=Path, metavar="FILE", help="replace the tables of this page")
    options = parser.parse_args(arguments)
    versions = VERSIONS if "all" in options.kafka else options.kafka
    tests = [test for test in every if test.finding in options.finding]
    if options.write and (versions != VERSIONS or len(tests) < len(every) or not options.own_tests):
        raise SpecError("--write replaces the tables: it takes --kafka all, every finding, and --own-tests")
    page = page_to_replace(options.write) if options.write else ""
    folder = options.jars or folder_of("tests")
    results = list(judged_on(versions, tests, folder))
    own = list(own_tests_of(tests, folder)) if options.own_tests else []
    if options.write:
        findings, known = ([one for one in results if (one.test in KNOWN_BUGS) == known] for known in (False, True))
        tables = [
            table_of_releases("finding", findings, "../findings/{}.md"),
            table_of_releases("known bug", known, "https://issues.apache.org/jira/browse/{}"),
            table_of_fixes(results, own),
        ]
        options.write.write_text(with_tables(page, tables), encoding="utf-8")
    return 1 if any(one.is_wrong for one in results) or any(one.broken for one in own) else 0


def page_to_replace(path: Path) -> str:
    """Return the text of the page whose tables are replaced; read before the tests run, which take half an hour."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SpecError(f"--write replaces the tables of a page, and {path} cannot be read: {error}") from None


def judged_on(versions: Sequence[str], tests: Sequence[KafkaTest], folder: Path) -> Iterator[JudgedRelease]:
    """Judge each finding on each release, and print what comes out."""
    for version in versions:
        release = KafkaRelease(version, folder)
        release.fetch()
        for test in tests:
            result = judged(test, release)
            print(result.line(), flush=True)
            yield result


def own_tests_of(tests: Sequence[KafkaTest], folder: Path) -> Iterator[OwnTests]:
    """Run Kafka's own tests with each fix, and print what comes out."""
    release = KafkaRelease(NEWEST_WITH_TESTS, folder)
    release.fetch()
    for test in tests:
        if test.fix is not None:
            result = own_tests(test, test.fix, release)
            print(f"{NEWEST_WITH_TESTS:6} {test.finding:36} Kafka's own tests with the fix: {result}", flush=True)
            yield result


if __name__ == "__main__":
    run_script(lambda: main(sys.argv[1:]))
