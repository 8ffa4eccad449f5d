"""Findings as tests in Kafka's idiom: written from traces, judged by the assertion that names them, fixed by diffs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st

from kafka_spec.command import run
from kafka_spec.conformance.java_tests import controller_test
from kafka_spec.conformance.java_tests.controller_requests import REQUESTS
from kafka_spec.conformance.kafka_classes import jars
from kafka_spec.conformance.kafka_classes.jars import folder_of
from kafka_spec.conformance.kafka_tests import candidate_fixes, findings, fixed_cluster, release, versions
from kafka_spec.conformance.kafka_tests.release import JUnitOutcome, KafkaRelease
from kafka_spec.conformance.kafka_tests.versions import JudgedRelease, Sighting
from kafka_spec.model_check.check import check
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.vocabulary.table import SpecError
from kafka_spec.spec.vocabulary.trace import Trace

ELR = next(test for test in findings.TESTS if test.finding == "elr-outside-replicas")
REPORT = """<testsuite><testcase name="passes()"/>
<testcase name="asserts()"><failure type="org.opentest4j.AssertionFailedError" message="a ==&gt; 1&#10;2"/></testcase>
<testcase name="throws(int)[1]"><error type="java.lang.NoSuchMethodError" message="gone"/></testcase>
<testcase name="left()"><skipped/></testcase></testsuite>"""


def trace(model: str, bounds: str, claim: str) -> Trace:
    """Return the shortest trace of a model that violates a property."""
    spec = MODELS[model]
    values: Mapping[str, int] = next(one.values for one in spec.bound_sets if one.name == bounds)
    found = trace_of(check(spec, values, properties=[claim]), claim)
    assert found is not None
    return found


# ---------------------------------------------------------------------------------------------------------------------
# From a trace to a test


def test_the_decision_that_differs_is_asserted_as_fixed_has_it() -> None:
    """Each request is sent; what follows is asserted; the last assertion has the value of `fixed` and names the bug."""
    text = controller_test.controller_test(
        trace("kraft/elr-outside-replicas", "reassign_and_fence", "CandidatesHoldCommitted"), MODELS["kraft/elr-outside-replicas"]
    )

    assert 'createTestTopic("foo", new int[][] {new int[] {0, 1}})' in text
    assert text.count("alterPartitionReassignments(") == 1
    assert text.endswith('    assertEquals(Set.of(), Replicas.toSet(partition.elr), "elr-outside-replicas");\n}\n')
    assert "// today: [1]\n" in text


def test_requests_before_the_difference_are_followed_by_what_they_change() -> None:
    """The first of two reassignments is decided as in `fixed`: its assertions have no name, and all fields that it changes."""
    model = "kraft/stale-reassignment-lists"
    text = controller_test.controller_test(trace(model, "three_reassign", "ReassignmentEndsAtTarget"), MODELS[model])
    first, second = text.split("setReplicas(List.of(2))")

    assert "stale-reassignment-lists" not in first.partition("@Test")[2]
    assert "assertArrayEquals(new int[] {2, 0, 1}, partition.replicas);" in second
    assert "ctx.unfenceBrokers(0, 1);" in first and "ctx.unfenceBrokers(2);" in first


def test_a_refused_request_changes_nothing_in_fixed() -> None:
    """Where `fixed` refuses, the test asserts that every field that Kafka changes is as it was."""
    model = "kraft/cancellation-elects-cleanly"
    text = controller_test.controller_test(trace(model, "cancel", "IsrIsActive"), MODELS[model])

    assert "// refused: nothing changes" in text
    deciding = text.partition("// refused")[2]
    assert re.findall(r"partition\.(\w+)\)?, \"", deciding) == [
        "replicas", "isr", "elr", "addingReplicas", "removingReplicas", "leaderEpoch", "partitionEpoch",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "bounds", "claim", "said"),
    [
        ("kraft/proposal-dropped-at-known-epoch", "proposal_dropped", "Committed", "happens at a broker"),
        ("kraft/KAFKA-13083", "delete_and_fence", "LeaderIsActive", "the step DeleteTopic cannot be written"),
        ("replication/kip_279", "three_replicas", "StrongIsr", "cannot be written as a test of Kafka's ReplicationControlManager"),
    ],
)
def test_what_cannot_be_a_test_of_the_controller_is_refused(model: str, bounds: str, claim: str, said: str) -> None:
    """A trace whose wrong decision is a broker's, that needs another request, or of another world says why there is no test."""
    spec = MODELS[model]

    with pytest.raises(SpecError, match=said):
        controller_test.controller_test(trace(model, bounds, claim), spec)


def test_every_rule_that_is_sent_is_a_rule_of_the_model() -> None:
    """A rule of KRaft that is renamed is noticed here."""
    assert set(REQUESTS) <= {rule.name for rule in FIXED.rules}


def test_what_if_writes_the_test_of_a_change(capsys: pytest.CaptureFixture[str]) -> None:
    """For a change of `fixed` the test is named after the property that it violates."""
    code = run(
        [
            "what-if",
            "kraft/fixed",
            "--decision",
            "elr_within_replicas=NO",
            "--bounds",
            "reassign_and_fence",
            "--format",
            "java",
            "-q",
        ]
    )
    text = capsys.readouterr().out

    assert code == 1
    assert text.count("@Test") == 1 and "public void testElrBesideSmallIsr() throws Exception {" in text


def test_a_model_of_another_world_exits_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    """The command says which models can be written."""
    assert run(["trace", "replication/kip_279-three-replicas", "--format", "java", "-q"]) == 2
    assert "kraft/fixed can, and its cases and eras" in capsys.readouterr().err


# ---------------------------------------------------------------------------------------------------------------------
# What an outcome says


def test_a_report_is_read_without_skipped_tests() -> None:
    """Each test has the type and the first line of its failure; parameters are left out of the name."""
    assert list(release.outcomes(REPORT)) == [
        JUnitOutcome("passes"),
        JUnitOutcome("asserts", "AssertionFailedError: a ==> 1"),
        JUnitOutcome("throws", "NoSuchMethodError: gone"),
    ]


@pytest.mark.parametrize(
    ("failure", "seen"),
    [
        ("", Sighting.NOT_SEEN),
        ("AssertionFailedError: elr-outside-replicas ==> expected: <[]> but was: <[1]>", Sighting.SEEN),
        ("AssertionFailedError: CandidatesHoldCommitted ==> expected: <[]> but was: <[1]>", Sighting.SEEN),
        ("AssertionFailedError: expected: <[0, 1]> but was: <[0]>", Sighting.OPEN),
        ("AssertionFailedError: elr-outside-replicas-2 ==> expected: 1", Sighting.OPEN),
        ("NoSuchMethodError: elr-outside-replicas ==> gone", Sighting.OPEN),
        ("NullPointerException: ", Sighting.OPEN),
    ],
)
def test_only_the_assertion_that_names_the_finding_shows_it(failure: str, seen: Sighting) -> None:
    """A failure anywhere else, or of another kind, says nothing about the release."""
    assert versions.ending(ELR, [JUnitOutcome("test", failure)])[0] == seen


@pytest.mark.parametrize("count", [0, 2])
def test_a_test_that_did_not_run_says_nothing(count: int) -> None:
    """JUnit reports exactly the one test that was selected, or the release is not judged."""
    assert versions.ending(ELR, [JUnitOutcome("test")] * count)[0] == Sighting.OPEN


def test_a_test_that_fails_with_its_fix_ends_with_1() -> None:
    """Only a test that passes with its fix is right; a fix that does not apply leaves that open."""
    assert JudgedRelease(ELR, "4.3.1", Sighting.SEEN, "", passes_with_fix=False, why_fix="expected").is_wrong
    assert not JudgedRelease(ELR, "4.3.1", Sighting.SEEN, "", passes_with_fix=True).is_wrong
    assert "open (it does not apply)" in JudgedRelease(ELR, "3.5.2", Sighting.SEEN, "", None, "it does not apply").line()


@pytest.mark.parametrize("options", ["--kafka 4.3.1 --own-tests", "--kafka all", "--kafka all --own-tests --finding KAFKA-15665"])
def test_a_page_is_not_replaced_by_a_part(options: str, tmp_path: Path) -> None:
    """--write with fewer releases or findings, or without Kafka's own tests, is refused before anything runs."""
    page = tmp_path / "page.md"
    page.write_text("| all |\n", encoding="utf-8")

    with pytest.raises(SpecError, match="--write replaces the tables"):
        versions.main([*options.split(), "--write", str(page)])
    assert page.read_text(encoding="utf-8") == "| all |\n"


def test_tables_are_replaced_in_their_order() -> None:
    """A page keeps its text; a page with another number of tables is refused."""
    page = "a\n\n| old |\n|---|\n\nb\n\n| old |\n\nc\n"

    assert (
        versions.with_tables(page, [iter(["| one |"]), iter(["| two |", "|---|"])]) == "a\n\n| one |\n\nb\n\n| two |\n|---|\n\nc\n"
    )
    with pytest.raises(SpecError, match="the page has 2 tables, and not 1"):
        versions.with_tables(page, [iter(["| one |"])])


# ---------------------------------------------------------------------------------------------------------------------
# Findings and fixes


def test_every_finding_of_kraft_has_a_test() -> None:
    """FINDINGS.md lists a finding of KRaft; its page shows its test, and the table of releases has it."""
    text = (ROOT / "FINDINGS.md").read_text(encoding="utf-8").partition("## In Kafka with ZooKeeper")[0]
    listed = re.findall(r"^\| \[([\w-]+)\]", text, re.MULTILINE)
    table = (ROOT / "docs" / "kafka" / "versions.md").read_text(encoding="utf-8")

    assert {*listed, "re-elected-leader-remembers"} == {test.finding for test in findings.TESTS}
    for test in findings.TESTS:
        assert "## Failing test\n" in (ROOT / "docs" / "findings" / f"{test.finding}.md").read_text(encoding="utf-8")
        assert f"| [{test.finding}](../findings/{test.finding}.md) |" in table


def test_every_file_belongs_to_a_finding() -> None:
    """No test and no fix is left over; each deciding assertion of a test by hand names its finding."""
    by_hand = {file for test in findings.TESTS for file in test.files}

    assert {path.name.partition(".")[0] for path in findings.JAVA.glob("*.java")} == by_hand
    assert {path.stem for path in candidate_fixes.FOLDER.glob("*.diff")} <= {test.finding for test in findings.TESTS}
    for test in findings.TESTS:
        if not test.command:
            assert test.text(test.files[-1]).count(f'"{test.finding}"') == 1


@pytest.mark.parametrize("test", [test for test in findings.TESTS if test.fix], ids=lambda test: test.finding)
def test_a_fix_changes_something_of_one_part_of_kafka(test: findings.KafkaTest) -> None:
    """Each hunk of a fix replaces text by other text, in files of a known part of Kafka."""
    assert test.fix is not None
    found = list(candidate_fixes.hunks(test.fix.diff))

    assert found and all(hunk.old and hunk.old != hunk.new for hunk in found)
    assert len({hunk.module for hunk in found}) == 1 and test.fix.own_tests
    assert len(re.findall("^@@ ", test.fix.text(), re.MULTILINE)) == len(found)


LINES = st.lists(st.sampled_from(["a", "b", "    c", ""]), max_size=12)


@given(before=LINES, new=LINES, old=st.lists(st.sampled_from(["x", "y"]), min_size=1, max_size=3), after=LINES)
def test_a_hunk_replaces_its_text_and_nothing_else(before: list[str], old: list[str], new: list[str], after: list[str]) -> None:
    """For any file that has the old text once: what is before and after it stays."""
    diff = "said\n\n--- a/core/src/main/scala/p/F.scala\n+++ b/core/src/main/scala/p/F.scala\n@@ -1 +1 @@\n"
    diff += "".join(f"-{line}\n" for line in old) + "".join(f"+{line}\n" for line in new)
    (hunk,) = candidate_fixes.hunks(diff)
    joined = ["".join(f"{line}\n" for line in lines) for lines in (before, old, new, after)]

    assert (hunk.module, hunk.file) == ("kafka_2.13", "p/F.scala")
    assert hunk.applied(joined[0] + joined[1] + joined[3]) == joined[0] + joined[2] + joined[3]


@pytest.mark.parametrize("source", ["", "x\nx\n"])
def test_a_fix_that_does_not_apply_is_refused(source: str) -> None:
    """The text must be there exactly once."""
    with pytest.raises(SpecError, match=r"the fix does not apply to this release: F has [02] times 'x'"):
        candidate_fixes.Hunk("kafka-raft", "F", "x\n", "y\n").applied(source)


def test_missing_imports_are_added_and_an_unknown_elr_is_left_out() -> None:
    """A release whose test class imports less, or whose context knows no ELR, gets the method all the same."""
    holder = "/* licence */\npackage p;\n\nimport java.util.List;\n\nclass T {\n}\n"
    method = "@Test\nvoid t() { new Builder().setIsElrEnabled(true).build(); List<Set<Integer>> s; }\n"
    written = findings.with_method(holder, method)

    assert written.startswith("/* licence */\npackage p;\nimport java.util.Set;\n\nimport java.util.List;\n")
    assert "setIsElrEnabled" not in written and written.endswith(
        "    void t() { new Builder().build(); List<Set<Integer>> s; }\n}\n"
    )
    assert "setIsElrEnabled(true)" in findings.with_method(holder.replace("class", "void setIsElrEnabled() {}\nclass"), method)


@pytest.mark.parametrize(
    ("version", "names"),
    [
        ("4.0.2", "raft.OffsetAndEpoch common.record.MemoryRecords common.utils.LogContext"),
        ("4.1.0", "server.common.OffsetAndEpoch common.record.MemoryRecords common.utils.LogContext"),
        ("4.3.1", "server.common.OffsetAndEpoch common.record.internal.MemoryRecords common.utils.LogContext"),
        ("4.4.0", "server.common.OffsetAndEpoch common.record.internal.MemoryRecords common.utils.internals.LogContext"),
    ],
)
def test_classes_have_the_names_of_the_release(version: str, names: str) -> None:
    """Tests are written for 4.3; before and after it some classes have other names."""
    written = "server.common.OffsetAndEpoch common.record.internal.MemoryRecords common.utils.LogContext"
    adapted = KafkaRelease(version, Path()).adapted(
        written.replace(" ", " org.apache.kafka.").replace("server", "org.apache.kafka.server")
    )

    assert adapted.replace("org.apache.kafka.", "") == names


def test_maven_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without Maven or a JDK there is one line with the cure."""
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(SpecError, match="mvn is not installed; on Debian: apt-get install"):
        KafkaRelease("4.3.1", tmp_path).fetch()


@pytest.mark.long
def test_findings_that_are_tried_on_clusters_have_a_script_and_a_fix() -> None:
    """Each has a fix and a script of its own; the others with a fix share a script, or have none."""
    fixed = {test.finding for test in findings.TESTS if test.fix is not None}
    assert set(fixed_cluster.REACHED) <= fixed
    for finding in fixed:
        script = ROOT / "conformance" / "reproductions" / f"{fixed_cluster.script_of(finding)}.py"
        own = script.exists() and script.stem != "reassignments_on_cluster"
        assert own == (finding in fixed_cluster.REACHED), finding


def test_a_script_that_did_not_come_so_far_decides_nothing() -> None:
    """Only a script that has reached what leads to the finding shows that the fix prevents it; a finding that is seen is seen."""
    finding, reached = "offline-directory-joins-isr", "22.6 s  the controller knows\n"
    assert fixed_cluster.verdict(finding, 1, reached) == (0, "not seen with the fix")
    assert fixed_cluster.verdict(finding, 0, reached)[0] == 1
    assert fixed_cluster.verdict(finding, 1, "the brokers answer\n")[0] == 3
    assert fixed_cluster.verdict(finding, 2, reached)[0] == 2


@pytest.mark.long
@pytest.mark.skipif(not (shutil.which("mvn") and shutil.which("javac")), reason="`make kafka-tests` installs a JDK and Maven")
@pytest.mark.skipif(not (ROOT / jars.FOLDER / "4.1.2").is_dir(), reason="`make kafka` fetches Kafka's jars")
@pytest.mark.parametrize("finding", ["lagging-future-log-promoted", "removed-voter-ends-leader"])
def test_servers_with_a_fix_do_not_show_its_finding(finding: str) -> None:
    """Real servers of 4.1.2 with the fix come to where the finding happens without it, and it does not."""
    environment = {**os.environ, jars.VARIABLE: str(ROOT / jars.FOLDER)}
    command = [sys.executable, "-m", "kafka_spec.conformance.kafka_tests.fixed_cluster", finding]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_fix_that_was_tried_on_a_cluster_is_on_the_page() -> None:
    """The page has a row for each finding that the command knows."""
    page = (ROOT / "docs" / "kafka" / "versions.md").read_text(encoding="utf-8")
    tried = page.partition("## Fixes on running clusters")[2].partition("## Run it")[0]
    assert re.findall(r"^\* \[([\w-]+)\]", tried, re.MULTILINE) == list(fixed_cluster.REACHED)


@pytest.mark.skipif(not (shutil.which("mvn") and shutil.which("javac")), reason="`make kafka-tests` installs a JDK and Maven")
@pytest.mark.parametrize("finding", ["elr-outside-replicas", "removed-voter-ends-leader"])
def test_a_finding_is_seen_on_released_kafka_and_its_fix_ends_it(finding: str) -> None:
    """On 4.3.1 the assertion that decides fails, and passes with the fix compiled over the jar."""
    (test,) = (test for test in findings.TESTS if test.finding == finding)
    release = KafkaRelease("4.3.1", ROOT / folder_of("tests"))
    release.fetch()
    result = versions.judged(test, release)

    assert (result.seen, result.passes_with_fix) == (Sighting.SEEN, True), result.line()
