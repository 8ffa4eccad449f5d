"""The comparison with Kafka's classes: what counts as a failure, and what of it runs without Java.

`make kafka` makes the comparison itself. Where its jars are, the last tests here run a sample of it.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from conftest import ROOT

from kafka_spec.conformance.kafka_classes import jars, report
from kafka_spec.conformance.kafka_classes.comparison import Chosen, Comparison, Subject, SubjectResult, run_subject, shortened
from kafka_spec.conformance.kafka_classes.controller_ours import run_ours
from kafka_spec.conformance.kafka_classes.controller_scenarios import EPOCH, PartitionSetup, Scenario
from kafka_spec.conformance.kafka_classes.event_scenarios import (
    BrokerFails,
    DeletionAsked,
    EventCourse,
    ReassignmentAsked,
    cluster,
    late_answer,
)
from kafka_spec.conformance.kafka_classes.events_ours import OurCourse
from kafka_spec.conformance.kafka_classes.jars import BROKERS, VERSIONS, checked_jars
from kafka_spec.conformance.reproductions.script import run_script
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.zookeeper.coordination.znodes import State
from kafka_spec.spec.decisions.election import Strategy
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.replica import ReplicaState
from kafka_spec.spec.vocabulary.table import SpecError

WANTED = Chosen("wanted", "since we want it")
KAFKA = SimpleNamespace(version="2.8.2")
HAS_BROKERS = all((ROOT / jars.FOLDER / folder).is_dir() for folder in BROKERS)
HAS_JARS = all((ROOT / jars.FOLDER / version).is_dir() for version in VERSIONS)


def result_of(*cases: tuple[Any, ...], chosen: tuple[Chosen, ...] = ()) -> SubjectResult:
    """Return the result of a subject that compares these (case, ours, Kafka's, name of a chosen difference)."""

    def compare(_: Any, comparison: Comparison, __: Random, ___: int) -> None:
        for case in cases:
            comparison.compare(*case)

    return run_subject(Subject("toy", "a toy", compare, chosen), KAFKA, 1, 1, lambda: 0.0)


def test_differences_are_failures() -> None:
    """Agreement is no failure; a difference is one, and so is a subject without a case."""
    assert result_of(("a", 1, 1)).failures == []
    assert result_of(("a", 1, 1), ("b", 1, 2)).failures == ["1 differences"]
    assert result_of().failures == ["no case was compared"]


def test_chosen_differences_must_be_listed_and_met() -> None:
    """A chosen difference is no failure while it is listed and met; an unmet or unlisted one is."""
    assert result_of(("a", 1, 2, "wanted"), chosen=(WANTED,)).failures == []
    assert len(result_of(("a", 1, 1, "wanted"), chosen=(WANTED,)).failures) == 1
    assert len(result_of(("a", 1, 2, "another"), chosen=(WANTED,)).failures) == 2
    other = Chosen("wanted", "since we want it", versions=("3.9.1",))
    assert len(result_of(("a", 1, 2, "wanted"), chosen=(other,)).failures) == 1


def test_a_subject_has_its_own_random_inputs() -> None:
    """Equal seeds give a subject equal inputs, whatever other subjects ran; two subjects get different ones."""
    drawn: list[float] = []
    subjects = [Subject(name, "", lambda _, __, random, ___: drawn.append(random.random())) for name in ("a", "b")]
    for subject in (*subjects, *reversed(subjects)):
        run_subject(subject, KAFKA, 7, 1, lambda: 0.0)
    assert drawn[:2] == drawn[:1:-1]
    assert drawn[0] != drawn[1]


def test_a_sequence_is_shortened() -> None:
    """What is left shows a difference, and no step of it can be left out but those that are kept."""

    def shows(steps: Sequence[int]) -> int:
        """A 3 behind two even numbers shows one."""
        return next(
            (place for place, step in enumerate(steps, 1) if step == 3 and sum(one % 2 == 0 for one in steps[:place]) > 1), 0
        )

    assert shortened([1, 2, 3, 4, 6, 5, 3, 8, 3], shows) == [2, 4, 3]
    assert shortened([1, 2, 3, 4, 6, 5, 3, 8, 3], shows, kept=1) == [1, 2, 4, 3]
    assert shortened([1, 2, 3], shows) == []


def test_reports_tell_every_failure() -> None:
    """Text, JSON and JUnit name the failed subject, the case, and both results."""
    good, bad = result_of(("a", 1, 1)), result_of(("case 17", "x < y", "z"))
    text = report.as_text([good, bad])
    assert "1 of 2 comparisons FAILED" in text and "case 17" in text and "x < y" in text
    assert "all agree" in report.as_text([good])
    found = json.loads(report.as_json([good, bad]))["subjects"]
    assert [one["failures"] for one in found] == [[], ["1 differences"]]
    assert 'failures="1"' in report.as_junit([good, bad]) and "x &lt; y" in report.as_junit([good, bad])


def test_jars_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing jar, a changed one and an additional one are refused, each by its name."""
    (tmp_path / "kafka-9.sha256").write_text(f"{hashlib.sha256(b'x').hexdigest()}  one.jar\n")
    monkeypatch.setattr(jars, "HERE", tmp_path)
    folder = tmp_path / "9"
    folder.mkdir()
    with pytest.raises(SpecError, match=r"lacks one\.jar of Kafka 9; fetch them with `make kafka`"):
        checked_jars("9", folder)
    (folder / "one.jar").write_bytes(b"y")
    with pytest.raises(SpecError, match="not the published jar"):
        checked_jars("9", folder)
    (folder / "one.jar").write_bytes(b"x")
    assert checked_jars("9", folder) == [folder / "one.jar"]
    (folder / "two.jar").write_bytes(b"x")
    with pytest.raises(SpecError, match=r"two\.jar is not a jar of Kafka 9"):
        checked_jars("9", folder)


def test_every_version_is_pinned() -> None:
    """Each version has its artifacts with Maven, and a checksum for Kafka's own jar among others."""
    for version in VERSIONS:
        assert f"<version>{version}</version>" in (jars.HERE / f"kafka-{version}.xml").read_text(encoding="utf-8")
        checksums = (jars.HERE / f"kafka-{version}.sha256").read_text(encoding="utf-8")
        own = "kafka_2.13" if version in BROKERS or version < "4" else "kafka-metadata"
        assert f"  {own}-{version}.jar\n" in checksums and len(checksums.splitlines()) > 10


def online(*, brokers: tuple[str, ...], isr: tuple[int, ...], **others: Any) -> Scenario:
    """Return an election for a partition on brokers 1 and 0."""
    led = State(1, 7, isr, EPOCH)
    states = dict.fromkeys(range(3), ReplicaState.ONLINE)
    setup = PartitionSetup((1, 0), PartitionState.ONLINE, states, led, Leadership(1, 7, isr, 2, EPOCH))
    return Scenario(brokers, (setup,), "online_partition", **others)


def test_isr_members_that_are_not_assigned() -> None:
    """An election keeps a live member of the ISR that is not assigned (any more), and is then not unclean, as in Kafka."""
    seen = run_ours(online(brokers=("live", "dead", "live"), isr=(1, 2, 0), strategy=Strategy.OFFLINE), "t")
    assert (seen.caches[0].leader, seen.caches[0].isr) == (0, (2, 0))
    seen = run_ours(online(brokers=("live", "dead", "live"), isr=(1, 2), strategy=Strategy.OFFLINE, unclean=True), "t")
    assert seen.caches[0].leader_epoch == 7, "no broker is elected"


def test_a_stopping_replica_without_its_directory() -> None:
    """A broker that shuts down is told of its successor, but not for a replica whose log directory is lost, as in Kafka."""
    for failed, reported in ((), ["LeaderAndIsr", "UpdateMetadata"]), (((1, 0),), ["UpdateMetadata"]):
        stop = online(brokers=("live", "stopping"), isr=(1, 0), strategy=Strategy.CONTROLLED_SHUTDOWN, failed_dirs=failed)
        assert [request[0] for request in run_ours(stop, "t").requests[1]] == reported


def test_an_election_for_a_reassignment() -> None:
    """A replica that a reassignment removes is neither elected nor told, as in Kafka."""
    scenario = online(brokers=("live", "live"), isr=(1, 0), strategy=Strategy.REASSIGNMENT)
    moving = replace(scenario, partitions=(replace(scenario.partitions[0], removing=(1,)),))
    seen = run_ours(moving, "t")
    assert seen.caches[0].leader == 0
    assert [request[0] for request in seen.requests[1]] == ["UpdateMetadata"]


FOUR = ("live",) * 4


def test_a_late_answer_halts_a_deletion() -> None:
    """All replicas of late-deletion-answer are deleted, and the topic stays ineligible; Kafka's controller is compared on this."""
    course = late_answer()
    ours = OurCourse(course, "t")
    seen = [ours.step(step) for step in course.steps][-1]
    assert seen.deletion == (True, True, True)
    assert seen.states[0, 0] == "DELETION_SUCCESSFUL" and seen.states[0, 1] == "OFFLINE"


def test_a_reassignment_to_two_brokers() -> None:
    """Each new replica is told to all brokers in a batch of its own; a broker that is added and dead is refused, as in Kafka."""
    ours = OurCourse(EventCourse(cluster([(0, 1)], [(0, 1)], FOUR), ()), "t")
    seen = ours.step(ReassignmentAsked({0: (2, 3)}))
    assert [request[0] for request in seen.requests[0]] == ["LeaderAndIsr", *["UpdateMetadata"] * 3]
    ours.step(BrokerFails(2))
    refused = ours.step(ReassignmentAsked({0: (2, 1)}))
    assert refused.answers == {0: ErrorCode.INVALID_REPLICA_ASSIGNMENT}


def test_a_deletion_takes_replicas_by_broker() -> None:
    """The replicas of a deleted topic go offline in the order of their brokers, as in Kafka: the last one stays in the ISR."""
    seen = OurCourse(EventCourse(cluster([(1, 0)], [(1, 0)], FOUR), ()), "t").step(DeletionAsked())
    assert seen.caches[0].isr == (1,)


def conformance(*arguments: str, mutation: str = "") -> subprocess.CompletedProcess[str]:
    """Run `kafka-spec conformance`, after a mutation of our side."""
    code = f"import sys\n{mutation}\nfrom kafka_spec.__main__ import main\nsys.exit(main({['conformance', '-q', *arguments]!r}))"
    environment = {**os.environ, jars.VARIABLE: str(ROOT / jars.FOLDER)}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
@pytest.mark.parametrize("version", VERSIONS)
def test_kafka_agrees(version: str) -> None:
    """A sample of every subject agrees with Kafka's classes."""
    done = conformance("--kafka", version, "--cases", "200")
    assert done.returncode == 0, done.stdout + done.stderr


FINDINGS = {
    "stopping_leader_not_told": "lost 3 of 3",
    "tail_lost_in_isr": "lost 3 of 10 that were acknowledged with acks=all",
    "old_leader_without_successor": "lost 3 of 3 that were acknowledged with acks=1",
    "re_elected_leader_remembers": "lost 1 of 6 that were acknowledged with acks=all",
    "no_election_after_removal": "for 20 s nobody leads; the ISR is [2], and brokers 0, 2 are alive",
    "late_deletion_answer": "for 20 s the topic stays, and all brokers are alive; broker 1 has no replica of it",
    "stop_replica_of_former_topic": "lost 10 of 10 that were acknowledged with acks=all",
    "unanswered_expansion_forgotten": "lost 3 of 3 that were acknowledged with acks=all",
}
"""What each script of a finding tells at its end."""


@pytest.mark.long
@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
@pytest.mark.parametrize("finding", FINDINGS)
def test_findings_on_real_brokers(finding: str) -> None:
    """Real brokers of Kafka 2.8.2, once 2.7.2, show the finding, and the script tells what clients lost."""
    environment = {**os.environ, jars.VARIABLE: str(ROOT / jars.FOLDER)}
    script = [sys.executable, "-m", f"kafka_spec.conformance.reproductions.{finding}"]
    done = subprocess.run(script, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert FINDINGS[finding] in done.stdout


KRAFT_FINDINGS = {
    ("elr_outside_replicas", "--kafka", "4.1.2"): "records that were acknowledged with acks=all",
    ("elr_outside_replicas", "--kafka", "4.4.0", "--removal", "replaced"): "records that were acknowledged with acks=all",
    ("high_watermark_waits_after_rollback", "--kafka", "4.4.0"): "another record is written; the producer is acknowledged",
    ("proposal_dropped_at_known_epoch", "--kafka", "4.4.0"): "lost 1 of 6 that were acknowledged with acks=all",
    ("re_elected_leader_in_kraft", "--kafka", "3.9.1"): "lost 1 of 6 that were acknowledged with acks=all",
    ("re_elected_leader_in_kraft", "--kafka", "4.4.0"): "lost 1 of 6 that were acknowledged with acks=all",
    ("voters_dropped_by_snapshot", "--kafka", "4.4.0"): "and nobody has led for",
    ("voters_of_lost_log_stay", "--kafka", "4.4.0"): "is committed twice: epoch",
    ("voters_skipped_after_truncation", "--kafka", "4.4.0"): "is committed twice: epoch 2 at controller",
    ("voters_skipped_after_truncation", "--kafka", "4.1.2"): "is committed twice: epoch 2 at controller",
    ("lagging_future_log_promoted", "--kafka", "3.9.1"): "lost 39 of 45 records that were acknowledged with acks=all",
    ("lagging_future_log_promoted", "--kafka", "4.4.0"): "lost 39 of 45 records that were acknowledged with acks=all",
    ("removed_voter_ends_leader", "--kafka", "4.4.0"): "Unexpected acknowledgement from non-voter 3",
    ("voter_formatted_again", "--kafka", "4.4.0"): "leads, and has message.max.bytes=None",
    ("voters_configured_from_one_to_three", "--kafka", "4.4.0"): "which is inconsistent with current leader",
    ("reassignments_on_cluster", "--finding", "stale-reassignment-lists"): "lost 10 of 10 records that were acknowledged",
    ("reassignments_on_cluster", "--finding", "cancellation-elects-cleanly"): "lost 5 of 10 records that were acknowledged",
    ("reassignments_on_cluster", "--finding", "cancellation-below-min-isr"): "records that were acknowledged with acks=all",
    ("reassignments_on_cluster", "--finding", "KAFKA-19975"): "fewer in-sync replicas than required",
    ("reassignments_on_cluster", "--finding", "reassignment-waits-after-election"): "the second request has completed it",
    ("reassignments_on_cluster", "--finding", "last-known-leader-outside-replicas"): "the controller's log: ",
}


@pytest.mark.long
@pytest.mark.skipif(not HAS_BROKERS, reason="`make kafka` fetches Kafka's jars")
@pytest.mark.parametrize("script", KRAFT_FINDINGS)
def test_findings_on_a_kraft_cluster(script: tuple[str, ...]) -> None:
    """A KRaft cluster of real brokers shows the finding, and the script tells what clients lost."""
    environment = {**os.environ, jars.VARIABLE: str(ROOT / jars.FOLDER)}
    command = [sys.executable, "-m", f"kafka_spec.conformance.reproductions.{script[0]}", *script[1:]]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert KRAFT_FINDINGS[script] in done.stdout


@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
@pytest.mark.parametrize(("version", "replaced"), [("4.1.2", "not shown"), ("4.4.0", "shown")])
def test_elr_outside_replicas_on_kafkas_controller(version: str, replaced: str) -> None:
    """Kafka's controller elects a broker that was removed in between, cleanly; since 4.3 also without fewer replicas."""
    environment = {**os.environ, jars.VARIABLE: str(ROOT / jars.FOLDER)}
    script = [sys.executable, "-m", "kafka_spec.conformance.reproductions.elr_in_controller", "--kafka", version]
    done = subprocess.run(script, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{version} fewer_replicas: shown" in done.stdout
    assert f"{version} four_requests: shown" in done.stdout
    assert f"{version} replaced_replica: {replaced}" in done.stdout


@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
@pytest.mark.parametrize(("version", "given_up"), [("4.1.2", "not shown"), ("4.4.0", "shown")])
def test_reassignments_on_kafkas_controller(version: str, given_up: str) -> None:
    """Kafka's controller removes who was asked for again, and cancels in two wrong ways; 4.3 completes too late and too soon."""
    environment = {**os.environ, jars.VARIABLE: str(ROOT / jars.FOLDER)}
    script = [sys.executable, "-m", "kafka_spec.conformance.reproductions.reassignments_in_controller", "--kafka", version]
    done = subprocess.run(script, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{version} given_up: {given_up}" in done.stdout
    assert f"{version} completed_below_minimum: {given_up}" in done.stdout
    assert f"{version} cancelled_below_minimum: shown" in done.stdout


DECIDED = (
    "from kafka_spec.conformance.kafka_classes import kraft_ours as ours\nfrom kafka_spec.spec.decisions.variants import *\n"
    "from kafka_spec.spec.decisions.kraft_variants import *\n"
    "ours.DECISIONS = {'4.4.0': {**ours.DECISIONS['4.4.0'], "
)
"""The beginning of a mistake that decides something otherwise than Kafka 4.4.0 does."""
OF_QUORUM = "from kafka_spec.conformance.kafka_classes import raft_walks as ours\nours.ERAS = dict.fromkeys(ours.ERAS"
"""The beginning of a mistake that compares another model of the quorum."""
MUTATIONS = {
    "predecessors": "from kafka_spec.spec.vocabulary.table import Machine\nMachine.legal_pairs = frozenset()",
    "elections": "from kafka_spec.spec.decisions import election\nelection.elect_preferred = election.elect_reassigned",
    "assignments": "from kafka_spec.spec.decisions import assignment\n"
    "assignment._follower_index = lambda f, s, p, n: (f + 1 + p) % n",
    "deletion": "from kafka_spec.impl.zookeeper.controller import deletion as ours\nours.failure_halts_deletion = lambda *_: False",
    "gates": "from kafka_spec.impl.zookeeper.broker import replica_manager as ours\nours.answer_to_stop_replica = lambda *_: 74",
    "reassignment": "from kafka_spec.impl.zookeeper.controller import reassignment_rows as ours\n"
    "ours.leader_has_to_move = lambda *_: False",
    "kraft-changes": f"{DECIDED}'last_known_acceptable': Checked.NO}}}}",
    "kraft-partition": "from kafka_spec.impl.kraft import data_plane as ours\nours.fetch_is_stale = lambda *_: False",
    "kraft-proposals": "from kafka_spec.impl.kraft import proposals as ours\nours.is_eligible = lambda *_: True",
    "kraft-records": "from dataclasses import replace\nfrom kafka_spec.impl.kraft.record_schemas import SCHEMAS\n"
    "SCHEMAS[2] = replace(SCHEMAS[2], fields=SCHEMAS[2].fields[::-1])",
    "kraft-requests": f"{DECIDED}'bar_ineligible': Checked.NO}}}}",
    "kraft-states": f"{DECIDED}'reassignment_lists': ReassignmentLists.ACCUMULATED}}}}",
    "kraft-requests reassign": f"{DECIDED}'reassignment_lists': ReassignmentLists.ACCUMULATED}}}}",
    "kraft-requests cancel": f"{DECIDED}'emptied_isr': EmptiedIsr.REFUSED}}}}",
    "kraft-requests completion": f"{DECIDED}'reassignment_completion': ReassignmentCompletion.ALL_IN_ISR}}}}",
    "kraft-requests create_topic": f"{DECIDED}'new_isr_active': Checked.NO}}}}",
    "quorum": f"{OF_QUORUM}, 'quorum/KAFKA-10527')",
    "quorum voters": f"{OF_QUORUM}, 'quorum/fixed')",
    "kraft-requests delete_topic": "from kafka_spec.conformance.kafka_classes.kraft_ours import OurKRaft as ours\n"
    "ours.delete_topic = lambda _: 'NONE'",
}
"""For some subjects mistakes of ours, in Python; the name begins with the subject."""


@pytest.mark.parametrize("mistake", MUTATIONS)
def test_a_mistake_replaces_what_there_is(mistake: str) -> None:
    """With or without jars: each mistake imports what exists, and replaces an attribute that exists, not a former name."""
    tree = ast.parse(MUTATIONS[mistake])
    imports = [one for one in tree.body if isinstance(one, ast.ImportFrom)]
    names: dict[str, Any] = {}
    exec(compile(ast.Module([*imports], []), mistake, "exec"), names)
    replaced = [target for one in tree.body if isinstance(one, ast.Assign) for target in one.targets]

    assert replaced
    for target in replaced:
        eval(compile(ast.Expression(ast.parse(ast.unparse(target), mode="eval").body), mistake, "eval"), names)


@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
@pytest.mark.parametrize("mistake", MUTATIONS)
def test_kafka_disagrees_with_mistakes(mistake: str) -> None:
    """A mistake on our side is a difference, and the exit code is 1."""
    from kafka_spec.conformance.kafka_classes.subjects import SUBJECTS

    subject = mistake.split()[0]
    version = SUBJECTS[subject].versions[-1]
    done = conformance(subject, "--kafka", version, "--cases", "100", mutation=MUTATIONS[mistake])
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED" in done.stdout


def test_a_script_without_jars_says_how_to_fetch_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A reproduction that lacks Kafka's jars prints one line that names them and the cure, and exits with 2."""
    with pytest.raises(SystemExit) as ended:
        run_script(lambda: len(checked_jars("4.4.0", tmp_path)))
    assert ended.value.code == 2
    printed = capsys.readouterr().err
    assert printed.count("\n") == 1 and f"fetch them with `make kafka`, or set {jars.VARIABLE} to the folder" in printed
