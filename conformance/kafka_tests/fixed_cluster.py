"""Runs the script of a finding on servers that have its candidate fix: what the script shows on the release must not happen.

It exits with 0 if the finding is not seen although everything has happened that leads to it, with 1 if it is seen, and with 3 if
the script did not get that far.

    python -m kafka_spec.conformance.kafka_tests.fixed_cluster lagging-future-log-promoted --kafka 4.3.1
"""

from __future__ import annotations

import argparse
import contextlib
import io
import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TextIO

from kafka_spec.conformance.kafka_classes.jars import folder_of
from kafka_spec.conformance.kafka_tests.findings import TESTS
from kafka_spec.conformance.kafka_tests.release import KafkaRelease
from kafka_spec.conformance.kafka_tests.versions import VERSIONS
from kafka_spec.conformance.reproductions.real_cluster import ServersOnLoopback
from kafka_spec.conformance.reproductions.script import run_script
from kafka_spec.spec.kraft.cases import CASES
from kafka_spec.spec.quorum.cases import CASES as QUORUM_CASES

INCONCLUSIVE = 3
USUAL = "4.1.2"
"""The release that nearly all scripts know, and that has its sources on Maven: those of 4.4.0 are missing."""

REACHED: Mapping[str, str] = {
    "proposal-dropped-at-known-epoch": "the second answer has gone on",
    "high-watermark-waits-after-rollback": "broker 0 receives INELIGIBLE_REPLICA",
    "re-elected-leader-remembers": "the metadata log brings broker 1 both elections at once",
    "elr-outside-replicas": "it is out of the ISR, and leads nothing",
    "raised-min-isr-learned-late": "broker 1 has removed follower 2 from the ISR",
    "removed-directory-counts-as-clean": "broker 0 has ended",
    "elected-on-failed-directory": "a log directory of broker 1 has failed",
    "offline-directory-joins-isr": "the controller knows",
    "lagging-future-log-promoted": "lost 0 of 45 records",
    "elr-cleared-while-offline": "nobody leads, and two replicas are in the ELR",
    "high-watermark-waits-after-lowering": "broker 1 has min.insync.replicas=1",
    "cleared-elr-stays-listed": "the controller failed 0 times",
    "deleted-topic-stays-in-directory": "the directory of q-0 on broker 0 is gone",
    "voters-skipped-after-truncation": "controller 2, alone, acknowledges",
    "voters-dropped-by-snapshot": "controller 1 truncates the voters",
    "voters-of-lost-log-stay": "alone, acknowledges",
    "removed-voter-ends-leader": "the answer arrives",
    "removed-voter-does-not-campaign": "controller 1 has crashed, and starts again",
}
"""By finding, what its script says when everything has happened that leads to the finding: without that, nothing is decided."""


def script_of(finding: str) -> str:
    """Return the name of the script that shows a finding."""
    seen = {case.name: Path(case.seen).stem for case in (*CASES, *QUORUM_CASES)}
    return seen.get(finding) or finding.replace("-", "_")


class Tee(io.TextIOBase):
    """A stream that passes text on, and keeps it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.text = ""

    def write(self, text: str) -> int:
        """Write and keep a text."""
        self.text += text
        return self._stream.write(text)

    def flush(self) -> None:
        """Pass on what is buffered."""
        self._stream.flush()


def run_with_fix(finding: str, version: str, jars: Path) -> tuple[int, str]:
    """Compile the fix of a finding over a release, and run its script there; return what that exits with, and prints.

    Raises:
        SpecError: the fix does not apply to the release, or something is missing.
    """
    release = KafkaRelease(version, jars)
    release.fetch()
    (fix,) = (test.fix for test in TESTS if test.finding == finding)
    assert fix is not None, "these findings have a fix"
    script, printed = script_of(finding), Tee(sys.stdout)
    with TemporaryDirectory() as folder, contextlib.redirect_stdout(printed):
        ServersOnLoopback.patches.append(release.patched(fix, Path(folder)))
        sys.argv = [script, "--kafka", version]
        try:
            runpy.run_module(f"kafka_spec.conformance.reproductions.{script}", run_name="__main__")
        except SystemExit as end:
            return int(end.code or 0), printed.text
    return 0, printed.text


def verdict(finding: str, code: int, printed: str) -> tuple[int, str]:
    """Return what this program exits with and says, after a script that exited with a code."""
    if code not in (0, 1):
        return code, "the script did not run"
    if code == 0:
        return 1, "seen in spite of the fix"
    if REACHED[finding] not in printed:
        return INCONCLUSIVE, f"nothing is decided: the script did not reach {REACHED[finding]!r}; try again"
    return 0, "not seen with the fix"


def main(arguments: Sequence[str]) -> int:
    """Run one script with the fix of its finding; return 0 if the finding is not seen, 1 if it is, 3 if that is open."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("finding", choices=REACHED, metavar="FINDING", help=", ".join(REACHED))
    parser.add_argument(
        "--kafka", default=USUAL, choices=VERSIONS, metavar="VERSION", help=f"a release that the script knows (default: {USUAL})"
    )
    parser.add_argument("--jars", type=Path, help="the folder of the jars that it is compiled with (default: .kafka/tests)")
    options = parser.parse_args(arguments)
    code, says = verdict(options.finding, *run_with_fix(options.finding, options.kafka, options.jars or folder_of("tests")))
    print(says)
    return code


if __name__ == "__main__":
    run_script(lambda: main(sys.argv[1:]))
