"""The records of metadata logs of real clusters are explained as events of the model, and known bugs are named where they act."""

from __future__ import annotations

import json
import shutil
import tarfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.batches import LogBatch, MetadataEntry
from kafka_spec.conformance.metadata.bugs import ISSUES, MEANINGS, at_risk, is_wrong, pages, summary
from kafka_spec.conformance.metadata.causes import causes_of, operations_in
from kafka_spec.conformance.metadata.checkpoint import checkpoint_of
from kafka_spec.conformance.metadata.explaining import Explaining
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.judged import judged, lines_of, unaccounted
from kafka_spec.conformance.metadata.kinds import UNEXPLAINED
from kafka_spec.conformance.metadata.rulings import CONTROLLER_DECISIONS, RELEASES, candidates
from kafka_spec.conformance.metadata.snapshots import differences, image_of
from kafka_spec.conformance.metadata.sources import batches_in, batches_of_node, find_sources
from kafka_spec.conformance.metadata.validation import Validation
from kafka_spec.conformance.outcome.violations import file_and_line
from kafka_spec.impl.kraft.record_schemas import SCHEMAS
from kafka_spec.impl.log.batches import unpacked
from kafka_spec.spec.kraft.cases import CASE
from kafka_spec.spec.kraft.fixed import FIXED
from tests.conftest import ROOT, Command

LOGS = Path(__file__).parent / "logs" / "kraft"
FINDING = LOGS / "f440-elr-outside-replicas"
ELR, STALE, OWN = "elr-outside-replicas", "stale-reassignment-lists", "min-isr-of-partition-0"
CLEARED, LEFT = "cleared-elr-stays-listed", "deleted-topic-stays-in-directory"
OFFLINE = "elr-cleared-while-offline"
ACTS = {
    "f412-cancellation-below-min-isr": [(78, ELR), (78, "cancellation-below-min-isr"), (99, ELR), (111, ELR)],
    "f412-cancellation-elects-cleanly": [(78, "cancellation-elects-cleanly")],
    "f440-elr-cleared": [(63, CLEARED), (63, OFFLINE)],
    "f440-elr-outside-replicas": [
        (131, ELR),
        (184, ELR),
        (198, "reassignment-waits-after-election"),
        (257, "KAFKA-19975"),
    ],
    "f440-left-in-directory.tar.gz": [(76, LEFT)],
    "f440-removed-directory": [(62, "removed-directory-counts-as-clean")],
    "f440-stale-reassignment-lists": [(147, STALE), (195, ELR), (215, ELR), (251, ELR)],
    "s412-one-controller.tar.gz": [(328, ELR), (588, ELR), (589, CLEARED), (591, STALE), (1050, ELR)],
    "s431-cleared-elr.tar.gz": [
        (753, LEFT),
        (892, CLEARED),
        (892, OFFLINE),
        (1267, CLEARED),
        (1457, CLEARED),
        (1457, OFFLINE),
        (1513, OWN),
        (1534, OWN),
        (1567, CLEARED),
        (1567, OFFLINE),
    ],
    "s440-static-jbod.tar.gz": [
        (250, ELR),
        (331, ELR),
        (337, OWN),
        (365, "KAFKA-19975"),
        (459, OWN),
        (477, LEFT),
        (635, ELR),
        (792, ELR),
    ],
}
"""The offsets of events on which a known bug acts."""
CHANGES = {
    "f412-cancellation-below-min-isr": 8, "f412-cancellation-elects-cleanly": 6, "f440-elr-cleared": 6,
    "f440-elr-outside-replicas": 6,
    "f440-left-in-directory.tar.gz": 45, "f440-removed-directory": 5, "f440-stale-reassignment-lists": 6,
    "s412-one-controller.tar.gz": 94,
    "s431-cleared-elr.tar.gz": 174,
    "s440-static-jbod.tar.gz": 148,
}  # fmt: skip
"""The changes of partitions in each log."""


def test_a_broker_that_a_cleared_elr_names_registers_with_each_change_twice() -> None:
    """cleared-elr-stays-listed: a registration writes the same change twice; with another second change no event explains it."""
    with find_sources([LOGS / "s431-cleared-elr.tar.gz"]) as sources:
        batches = [batch for _, batch in batches_of_node(sources.nodes[0]) if isinstance(batch, LogBatch)]
    found = []
    for changed in (False, True):
        explaining = Explaining(LogJudge())
        for batch in batches:
            entries = list(batch.entries())
            if batch.base == 1267 and changed:
                entries[1] = entries[1]._replace(record=entries[1].record._replace(isr=(3,)))
            explaining.judge.feed(replace(batch, data=b"", given=tuple(entries)))
        found.append([file_and_line(one.place)[1] for one in explaining.judge.violations if one.kind == UNEXPLAINED])
    assert not found[0] and 1267 in found[1]


def test_a_heartbeat_that_stops_a_broker_and_reports_a_failed_directory() -> None:
    """The controller computes both on the state before them: what the directory holds is changed twice, and the log has that."""
    found = explained("f440-left-in-directory.tar.gz")
    assert found.events["controlled shutdown, and a directory fails"] == 1
    assert found.unexplained == 0


def test_a_deleted_topic_stays_at_risk_of_its_cleared_elr() -> None:
    """The brokers of a cleared ELR are at risk most of all once the topic is deleted: the report names it."""
    with find_sources([LOGS / "s431-cleared-elr.tar.gz"]) as sources:
        explaining = Explaining(LogJudge())
        Validation(sources, explaining.judge).run()
    image = explaining.judge.image
    met = frozenset(subject for one in explaining.acting if one.bug == CLEARED for subject in one.subjects)
    assert at_risk(CLEARED, image, met) == ["t1-0", "t4-1"]
    image.apply(keys.REMOVE_TOPIC, SCHEMAS[keys.REMOVE_TOPIC].plain(topic_id=image.ids["t4"]))
    assert at_risk(CLEARED, image, met) == ["t1-0", "t4-1 (deleted)"]


def test_a_bootstrap_with_scram_credentials_is_explained() -> None:
    """What enables the ELR sets min.insync.replicas in its batch, wherever: credentials may stand between (format --add-scram)."""
    judge = LogJudge()
    explaining = Explaining(judge)
    made = [
        (keys.FEATURE, {"name": keys.METADATA_VERSION, "feature_level": 27}),
        (keys.FEATURE, {"name": keys.ELR_FEATURE, "feature_level": 1}),
        (11, {"name": "alice", "mechanism": 1, "salt": b"s", "stored_key": b"k", "server_key": b"k", "iterations": 8192}),
        (keys.CONFIG, {"resource_type": 4, "resource_name": "", "name": "min.insync.replicas", "value": "1"}),
    ]
    entries = [MetadataEntry(at, key, SCHEMAS[key].plain(**fields)) for at, (key, fields) in enumerate(made)]
    judge.feed(LogBatch(0, 0, 3, 1, 1, False, given=tuple(entries)))
    assert not judge.violations
    assert explaining.events == {"feature": 2, "SCRAM credential": 1, "configure": 1}


@cache
def explained(name: str) -> Explaining:
    """Return the explanations of a log."""
    with find_sources([LOGS / name]) as sources:
        explaining = Explaining(LogJudge(), causes=causes_of(sources.controllers))
        Validation(sources, explaining.judge).run()
    return explaining


@pytest.mark.parametrize("name", ACTS)
def test_every_change_is_an_event_of_the_model(name: str) -> None:
    """All records of a log are explained, and what the controller's own log calls an operation agrees with each event."""
    found = explained(name)
    assert found.unexplained == 0
    assert found.changes_explained == found.judge.changes == CHANGES[name]
    has_log = name not in ("s431-cleared-elr.tar.gz", "f440-left-in-directory.tar.gz")
    assert (found.compared_causes > 30) is has_log
    assert not any(one.kind in ("unexplained", "cause-differs") for one in found.judge.violations)


@pytest.mark.parametrize("name", ACTS)
def test_known_bugs_are_named_where_they_act(name: str) -> None:
    """Each finding is named at the offset of the event that its bug decides, and nowhere else."""
    assert [(one.offset, one.bug) for one in explained(name).acting] == ACTS[name]


@pytest.mark.parametrize("name", ACTS)
def test_the_release_follows_from_the_log(name: str) -> None:
    """The active controller's registration names its release."""
    release = next(full for short, full in (("440", "4.4.0"), ("431", "4.3.1"), ("412", "4.1.2")) if short in name)
    assert [one for _, one in explained(name).releases] == [release]


def test_releases_are_found_by_their_metadata_version() -> None:
    """A controller that registers names its release; before 3.7 it may be the one of the level in force, or a later one."""
    assert [one.name for one in candidates(33, 20)] == ["4.4.0"]
    assert [one.name for one in candidates(27, 7)] == ["4.1.2", "4.1.0"]
    assert candidates(None, 21)[0].name == "3.9.1"
    assert candidates(None, 99) == RELEASES[-1:]
    assert set(CONTROLLER_DECISIONS) <= {decision.name for decision in FIXED.decisions}


def test_every_fault_has_a_meaning_for_whoever_runs_the_cluster() -> None:
    """Each case of the controller that breaks something has a text of what it does and what to do; each text is of a case.

    KAFKA-19975 has none: it acts wherever a broker is replaced, and harms only below min.insync.replicas (too-few-candidates).
    """
    own = {name for name, case in CASE.items() if set(case.decisions) & CONTROLLER_DECISIONS and not case.breaks_nothing}
    assert own - set(MEANINGS) == {"last-replica-standing", "KAFKA-19975"}, "the features of the log decide it"
    assert {bug for bug in MEANINGS if bug not in CASE} == {OWN, CLEARED, LEFT}
    assert not is_wrong("KAFKA-19975")
    assert summary("KAFKA-19975") == CASE["KAFKA-19975"].summary


def test_each_bug_that_acts_names_a_page_that_exists() -> None:
    """A finding has its page in docs/findings; what is no case of the model has a section of its own; the others have a chapter."""
    chapters = {
        f"bugs/kraft-{case.name}.md of the book (make docs)" for case in CASE.values() if case.shows and not case.breaks_nothing
    }
    acting = {bug for name in ACTS for _, bug in ACTS[name]}
    for bug in {*acting, *MEANINGS}:
        assert pages(bug)
        for page in pages(bug):
            file, _, section = page.partition("#")
            if section:
                assert f"### {section}" in (ROOT / file).read_text(encoding="utf-8").splitlines()
            else:
                assert (ROOT / file).exists() or file in chapters or file.startswith(f"{ISSUES}KAFKA-")


def test_operations_of_the_controllers_log() -> None:
    """A line at DEBUG names the operation and the offset of its last record; other lines name none."""
    lines = [
        "[2026-11-25 23:02:39,522] DEBUG [QuorumController id=100] Read-write operation completeActivation[1](2049297767) will be "
        "completed when the log reaches offset 7. (org.apache.kafka.controller.QuorumController)",
        "[2026-11-25 23:02:39,522] DEBUG [QuorumController id=100] Executing handleCommit[baseOffset=0].",
    ]
    assert list(operations_in(lines)) == [(7, "completeActivation[1]")]


def test_what_kafka_dump_log_prints_says_the_same(inside: Command) -> None:
    """The text that kafka-dump-log of 4.1.2 printed of a log is explained as the log is, with the same violations."""
    binary = LOGS / "f412-cancellation-elects-cleanly" / "node-100" / "00000000000000000000.log"
    text = LOGS / "dump-412-cancellation-elects-cleanly.txt.gz"
    one, other = (json.loads(inside("validate", str(path), "-q", "--format", "json").stdout) for path in (binary, text))
    for part in ("verdict", "records", "changes", "batches", "kinds", "epochs", "events", "releases", "tested", "bugs"):
        assert one[part] == other[part]
    assert [each["kind"] for each in one["violations"]] == [each["kind"] for each in other["violations"]]


# ---------------------------------------------------------------------------------------------------------------------
# Questions


def test_the_story_of_a_partition(inside: Command) -> None:
    """`--partition` tells each event of a partition: its offset, the operation in the controller's log, the bug, the state."""
    story = inside("validate", str(FINDING), "--partition", "p-0", "-q")
    assert story.returncode == 0
    lines = story.stdout.splitlines()
    assert [line.split()[0] for line in lines] == ["90", "125", "131", "184", "196", "199", "257"]
    assert "<elr-outside-replicas acts>  (alterPartitionReassignments)" in lines[2]
    plain = json.loads(inside("validate", str(FINDING), "--broker", "2", "-q", "--format", "json").stdout)
    assert {"broker 2", "p-0"} == {one["subject"] for one in plain}
    assert inside("validate", str(FINDING), "--partition", "q-0", "-q").returncode == 2


def test_the_image_at_an_offset_and_at_a_time(inside: Command) -> None:
    """`--at` shows the image after an offset, or at a time in UTC, as text and as JSON."""
    at = json.loads(inside("validate", str(FINDING), "--at", "131", "-q", "--format", "json").stdout)
    assert at["partitions"]["p-0"]["elr"] == [2]
    assert at["partitions"]["p-0"]["replicas"] == [0, 1]
    before = inside("validate", str(FINDING), "--at", "2026-11-25T22:48:19", "-q").stdout
    assert "p-0: leader 0, ISR [0, 1], replicas [0, 1, 2], ELR [2]" in before
    assert inside("validate", str(FINDING), "--at", "yesterday", "-q").returncode == 2


def test_why_a_partition_is_as_it_is(inside: Command) -> None:
    """`--why` names what refuses each broker, and what each event would make of the partition."""
    why = inside("validate", str(FINDING), "--why", "p-0", "-q").stdout
    assert "broker 1: not in the ISR; in the ELR; it is fenced; a proposal that names it is refused with INELIGIBLE_REPLICA" in why
    assert "a preferred election: leader 0" in why
    nobody = inside("validate", str(LOGS / "f412-cancellation-elects-cleanly"), "--at", "79", "--why", "p-0", "-q").stdout
    assert "it has no leader: only a member of the ISR" in nobody
    assert "unfencing broker 0: leader 0" in nobody


def test_a_snapshot_alone_answers_too(inside: Command, tmp_path: Path) -> None:
    """Of a snapshot without a log the image and the reasons are shown; its verdict is that not everything was seen."""
    with tarfile.open(LOGS / "s412-one-controller.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    (last,) = sorted((tmp_path / "s412-one-controller" / "node-100").glob("*.checkpoint"))[-1:]
    alone = tmp_path / "alone" / last.name
    alone.parent.mkdir()
    shutil.copy(last, alone)
    image = json.loads(inside("validate", str(alone), "--at", "99999", "-q", "--format", "json").stdout)
    (name, *_) = image["partitions"]
    assert inside("validate", str(alone), "--why", name, "-q").stdout.startswith(f"{name}: leader")
    assert "snapshots without a log" in inside("validate", str(alone), "-q").stdout


def test_the_report_does_not_depend_on_the_hash_seed(kafka_spec: Command) -> None:
    """The report of a log is the same text under two hash seeds."""
    log = str(LOGS / "f412-cancellation-below-min-isr")
    one, other = (kafka_spec("validate", log, "-q", "--format", "json", env={"PYTHONHASHSEED": seed}).stdout for seed in "12")
    assert one == other != ""


def test_another_release_does_not_explain(inside: Command) -> None:
    """With `--era` of a release that decides otherwise, the records of the difference are not explained."""
    other = json.loads(inside("validate", str(FINDING), "--era", "3.9", "-q", "--format", "json").stdout)
    assert any(one["kind"] == "unexplained" for one in other["violations"])
    assert inside("validate", str(FINDING), "--era", "2.8", "-q").returncode == 2


def test_an_image_is_written_as_a_snapshot_of_kafka(inside: Command, tmp_path: Path) -> None:
    """A checkpoint reads back as the image, and is written again as the same bytes."""
    assert inside("validate", str(FINDING), "--at", "200", "--output", f"checkpoint:{tmp_path}", "-q").returncode == 0
    (written,) = tmp_path.iterdir()
    assert written.name == "00000000000000000201-0000000001.checkpoint"
    with find_sources([FINDING]) as sources:
        judge = LogJudge()
        Validation(sources, judge).run(lambda batch: batch.base > 200)
    assert differences(judge.image, image_of(written)) == []
    assert image_of(written).quorum == judge.image.quorum
    assert checkpoint_of(image_of(written), 1, judge.last_time) == written.read_bytes()


def test_snapshots_of_kafka_are_written_again_record_by_record(tmp_path: Path) -> None:
    """Each record of Kafka's own snapshots is written as the same bytes, and so are the batches of control records around them."""
    with tarfile.open(LOGS / "s440-static-jbod.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    found = sorted(tmp_path.rglob("*.checkpoint"))
    assert found
    for file in found:
        theirs = [batch for batch in batches_in(file) if isinstance(batch, LogBatch)]
        again = tmp_path / "again.checkpoint"
        header, footer = theirs[0], theirs[-1]
        again.write_bytes(checkpoint_of(image_of(file), header.epoch, header.entries()[0].record.last_contained_log_timestamp))
        ours = [batch for batch in batches_in(again) if isinstance(batch, LogBatch)]
        assert values(ours) == values(theirs), file
        assert [(one.base, one.last, one.is_control) for one in (ours[0], ours[-1])] == [
            (one.base, one.last, one.is_control) for one in (header, footer)
        ]


def values(batches: list[LogBatch]) -> list[tuple[bytes, bytes]]:
    """Return the keys and values of all records, in one order."""
    return sorted((one.key or b"", one.value) for batch in batches for one in unpacked(batch.data))


# ---------------------------------------------------------------------------------------------------------------------
# What is new


@pytest.mark.parametrize("name", sorted(ACTS))
def test_known_bugs_account_for_what_is_wrong_in_a_log(name: str) -> None:
    """Each violation in the logs of real clusters is that of a known bug, or follows one on its partition."""
    outcome = judged([LOGS / name])
    assert outcome.violations and unaccounted(outcome) == []
    lines = lines_of(outcome, unaccounted(outcome))
    assert all(bug in lines[3] for _, bug in ACTS[name]) and len(lines) == 4


def test_a_violation_before_its_bug_is_new() -> None:
    """A known bug accounts for nothing on other partitions, nothing before it acts, and for no record without an event."""
    outcome = judged([FINDING])
    outcome.judge.violations = []
    for offset, subject, kind in (
        (130, "p-0", "LeaderInIsr"),
        (131, "p-0", "LeaderInIsr"),
        (140, "q-0", "LeaderInIsr"),
        (140, "p-0", UNEXPLAINED),
    ):
        outcome.judge.report_at(kind, 0, offset, subject, "made up")
    left = [(file_and_line(one.place)[1], one.subject, one.kind) for one in unaccounted(outcome)]
    assert left == [(130, "p-0", "LeaderInIsr"), (140, "q-0", "LeaderInIsr"), (140, "p-0", UNEXPLAINED)]
    assert lines_of(outcome, unaccounted(outcome))[-1].startswith("not accounted for: ")
