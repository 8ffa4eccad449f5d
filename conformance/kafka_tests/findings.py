"""Which findings have a test in Kafka's idiom: one that a command writes from a trace, or one by hand; and the fix of each."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kafka_spec.conformance.kafka_tests.candidate_fixes import FOLDER as FIXES
from kafka_spec.conformance.kafka_tests.candidate_fixes import Fix
from kafka_spec.conformance.kafka_tests.release import KafkaRelease
from kafka_spec.spec.case import release_numbers
from kafka_spec.spec.vocabulary.table import SpecError

JAVA = Path(__file__).parent / "java"
MANAGER_TEST = "org.apache.kafka.controller.ReplicationControlManagerTest"
MANAGER_FILE = f"{MANAGER_TEST.replace('.', '/')}.java"


@dataclass(frozen=True)
class KafkaTest:
    """The test of a finding.

    `command` is the command line of kafka-spec that writes a method of ReplicationControlManagerTest; without one, `files` are in
    java/: the classes of a test, of which the last is run, or a method, whose file has no class.
    """

    finding: str
    command: str = ""
    files: tuple[str, ...] = ()

    @property
    def fix(self) -> Fix | None:
        """The candidate fix, if there is one."""
        file = FIXES / f"{self.finding}.diff"
        return Fix(file.read_text(encoding="utf-8")) if file.exists() else None

    @property
    def labels(self) -> tuple[str, ...]:
        """What the deciding assertion names: the finding, or the property that its command asks for."""
        return (self.finding, *re.findall(r"--property (\w+)", self.command))

    @property
    def is_method(self) -> bool:
        """Whether the test is a method of ReplicationControlManagerTest."""
        return bool(self.command) or "class " not in self.text(self.files[-1])

    @staticmethod
    def text(file: str, version: str = "") -> str:
        """Return a file of java/: for a release before V that of FILE.before-V.java, if there is one."""
        for former in JAVA.glob(f"{file}.before-*.java"):
            if version and release_numbers(version) < release_numbers(former.stem.partition(".before-")[2]):
                return former.read_text(encoding="utf-8")
        return (JAVA / f"{file}.java").read_text(encoding="utf-8")

    @functools.cache  # noqa: B019 - one for each test of a process
    def method(self) -> str:
        """Return the method.

        Raises:
            SpecError: the command does not write it.
        """
        if not self.command:
            return self.text(self.files[-1])
        done = subprocess.run(
            [sys.executable, "-m", "kafka_spec", *self.command.split(), "-q"], capture_output=True, text=True, check=False
        )
        if "@Test" not in done.stdout:
            raise SpecError(f"kafka-spec {self.command}: {done.stderr.strip()}")
        return done.stdout

    def shown(self) -> str:
        """Return what a reader has to see of the test: the method, or the class without its imports."""
        if self.is_method:
            return self.method()
        return re.sub(r"\A.*?(?=^/\*\*)", "", self.text(self.files[-1]), flags=re.DOTALL | re.MULTILINE)

    def sources(self, release: KafkaRelease) -> tuple[Mapping[str, str], str]:
        """Return the sources to compile on a release, and the test to run, as JUnit selects it."""
        if not self.is_method:
            (package,) = re.findall(r"^package ([\w.]+);", self.text(self.files[-1]), re.MULTILINE)
            return {
                f"{file}.java": release.adapted(self.text(file, release.version)) for file in self.files
            }, f"{package}.{self.files[-1]}"
        method = self.method()
        (name,) = re.findall(r"public void (\w+)\(", method)
        return {
            MANAGER_FILE: with_method(release.source("kafka-metadata", MANAGER_FILE, "test-sources"), method)
        }, f"{MANAGER_TEST}#{name}"


def with_method(holder: str, method: str) -> str:
    """Return Kafka's test class with a method at its end, and with the imports that the method needs.

    A release whose test context knows no ELR has none.
    """
    if "setIsElrEnabled" not in holder:
        method = method.replace(".setIsElrEnabled(true)", "")
    missing = [f"import {name};\n" for name in NEEDED if f"import {name};" not in holder and name.rpartition(".")[2] in method]
    package, semicolon, rest = holder.rstrip().removesuffix("}").partition(";\n")
    return f"{package}{semicolon}{''.join(missing)}{rest}\n{textwrap.indent(method, '    ')}}}\n"


NEEDED = (
    "java.util.Arrays",
    "java.util.List",
    "java.util.Set",
    "org.apache.kafka.common.ElectionType",
    "org.apache.kafka.common.config.TopicConfig",
    "org.apache.kafka.common.message.ElectLeadersRequestData",
    "org.apache.kafka.metadata.LeaderRecoveryState",
    "org.apache.kafka.metadata.PartitionRegistration",
    "org.apache.kafka.metadata.Replicas",
)
"""The classes that a method uses and a release's test class may not import."""
PARTITION = ("AppliedImages", "LeadingPartition")
"""What the tests of Partition have in common."""

TESTS = (
    KafkaTest("proposal-dropped-at-known-epoch", files=(*PARTITION, "PendingProposalTest")),
    KafkaTest("high-watermark-waits-after-rollback", files=(*PARTITION, "RolledBackProposalTest")),
    KafkaTest("re-elected-leader-remembers", files=(*PARTITION, "ReElectedLeaderTest")),
    KafkaTest(
        "elr-outside-replicas",
        "trace kraft/elr-outside-replicas-reassign-and-fence --property CandidatesHoldCommitted --format java",
    ),
    KafkaTest(
        "stale-reassignment-lists",
        "trace kraft/stale-reassignment-lists-three-reassign --property ReassignmentEndsAtTarget --format java",
    ),
    KafkaTest("cancellation-elects-cleanly", "trace kraft/cancellation-elects-cleanly-cancel --property IsrIsActive --format java"),
    # two brokers are added, since from 4.3 on the reassignment of one completes before it can be cancelled (KAFKA-19975)
    KafkaTest(
        "cancellation-below-min-isr",
        "what-if kraft/fixed --decision cancellation_keeps_min_isr=NO --decision reassignment_completion=ADDED_IF_MANY"
        " --bounds cancel_below_min_isr --bound brokers=4 --bound spares=2 --property ReassignmentKeepsCandidates --format java",
    ),
    KafkaTest("last-known-leader-outside-replicas", files=("RemovedLastKnownLeader",)),
    KafkaTest("raised-min-isr-learned-late", files=(*PARTITION, "LateMinIsrTest")),
    KafkaTest("removed-directory-counts-as-clean", files=("ReplicaOfRemovedDirectory",)),
    KafkaTest("elected-on-failed-directory", files=("ElectedOnFailedDirectory",)),
    KafkaTest("offline-directory-joins-isr", files=("OfflineDirectoryJoinsIsr",)),
    KafkaTest("lagging-future-log-promoted", files=(*PARTITION, "LaggingFutureLogTest")),
    KafkaTest("elr-cleared-while-offline", files=("ElrClearedWhileOffline",)),
    KafkaTest("high-watermark-waits-after-lowering", files=(*PARTITION, "LoweredMinIsrTest")),
    KafkaTest("cleared-elr-stays-listed", files=("ClearedElrOfDeletedTopic",)),
    KafkaTest("deleted-topic-stays-in-directory", files=("DirectoryOfDeletedTopic",)),
    KafkaTest(
        "reassignment-waits-after-election",
        "trace kraft/reassignment-waits-after-election-reassign-to-eligible --property ReassignmentEnds --format java",
    ),
    KafkaTest("KAFKA-19975", "trace kraft/KAFKA-19975-four-reassign --property ReassignmentKeepsCandidates --format java"),
    KafkaTest("voters-skipped-after-truncation", files=("VotersBelowOldEndTest",)),
    KafkaTest("voters-dropped-by-snapshot", files=("VotersBeforeSnapshotTest",)),
    KafkaTest("voters-of-lost-log-stay", files=("VotersOfLostLogTest",)),
    KafkaTest("removed-voter-ends-leader", files=("LateAnswerOfRemovedVoterTest",)),
    KafkaTest("removed-voter-does-not-campaign", files=("RemovedVoterCampaignsTest",)),
)
"""The tests of findings, in the order of FINDINGS.md."""

KNOWN_BUGS = (
    KafkaTest("KAFKA-15665", "trace kraft/KAFKA-15665-three-behind --property ReassignmentKeepsCandidates --format java"),
    KafkaTest("KAFKA-19522", "trace kraft/KAFKA-19522-two-crashes --property LeaderIsActive --format java"),
)
"""Tests of bugs that Kafka has fixed: they fail exactly on the releases that the cases name, which checks the method."""
