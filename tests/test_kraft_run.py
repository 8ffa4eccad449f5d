"""Runs of KRaft: `fixed` keeps its promises under random faults; what an era breaks is found; foreign options are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest
from conftest import Command

from kafka_spec.impl.kraft import controller, controller_memory, replicas
from kafka_spec.impl.kraft.image import RegisteredPartition
from kafka_spec.impl.kraft.metadata_log import MetadataLog
from kafka_spec.impl.log import batches
from kafka_spec.impl.log.checkpoint import write_topic_id
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol import topic_ids
from kafka_spec.impl.protocol.quorum_requests import TOPIC
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.faults import parse_faults
from kafka_spec.impl.run.kraft.faults import KRAFT_FAULTS
from kafka_spec.impl.run.kraft.simulation import simulate_kraft
from kafka_spec.impl.run.kraft.watcher import KRaftWatcher
from kafka_spec.impl.run.operations import KRAFT_OPERATIONS, MOVE, OPERATIONS, UNREGISTER
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.report import text_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.kraft.eras import ERAS


def run(folder: Path, era: str = "fixed", seed: int = 1, faults: str = "all", seconds: float = 20.0, **more: Any) -> RunOutcome:
    """Run a cluster."""
    options = Options(era=MODELS[f"kraft/{era}"], seed=seed, faults=parse_faults(faults, KRAFT_FAULTS), seconds=seconds, **more)
    return simulate_kraft(options, folder)


def broken(outcome: RunOutcome) -> set[str]:
    """Return the names of the broken promises."""
    return {one.promise for one in outcome.verdict.broken}


@pytest.mark.parametrize("seed", [7, 8])
def test_fixed_keeps_its_promises(tmp_path: Path, seed: int) -> None:
    """Under all faults, the loss of unflushed records included, every promise is kept, and the cluster comes to rest."""
    outcome = run(tmp_path, seed=seed, seconds=8, partitions=3)
    assert (outcome.kept, outcome.rested, outcome.errors) == (True, True, ())
    assert outcome.faults and outcome.stored and outcome.acknowledged["all"]


@pytest.mark.parametrize("seed", [7, 8])
def test_fixed_keeps_its_promises_while_topics_change(tmp_path: Path, seed: int) -> None:
    """The same while partitions are moved, and topics are created, grown, deleted and created again under the same names."""
    outcome = run(tmp_path, seed=seed, seconds=10, partitions=2, operations=tuple(OPERATIONS))
    assert (outcome.kept, outcome.rested, outcome.errors) == (True, True, ()), text_of(outcome)
    assert all(outcome.operations[name] for name in ("reassign", "create", "delete")), outcome.operations


@pytest.mark.parametrize("seed", [7, 8])
def test_fixed_keeps_its_promises_while_replicas_move(tmp_path: Path, seed: int) -> None:
    """The same while replicas move between the log directories of their brokers; every move ends."""
    outcome = run(tmp_path, seed=seed, seconds=15, partitions=3, operations=(MOVE,))
    assert (outcome.kept, outcome.rested, outcome.errors) == (True, True, ()), text_of(outcome)
    assert outcome.operations[MOVE] > 1


@pytest.mark.parametrize("seed", [7, 8])
def test_fixed_keeps_its_promises_while_brokers_are_unregistered(tmp_path: Path, seed: int) -> None:
    """`kraft_fixed` satisfies every property while brokers are unregistered, running or not, and registered again."""
    outcome = run(tmp_path, seed=seed, seconds=30, partitions=3, operations=(UNREGISTER,))
    assert (outcome.kept, outcome.rested, outcome.errors) == (True, True, ()), text_of(outcome)
    assert outcome.operations[UNREGISTER]


def test_a_lagging_copy_replaces_a_log_in_an_era(tmp_path: Path) -> None:
    """With the bug, a shutdown during a move loses a record that was acknowledged with acks=all, and `fixed` does not."""
    more = {"seed": 16, "faults": "shutdown,slow", "seconds": 80, "brokers": 1, "replication_factor": 1, "partitions": 8}
    outcome = run(tmp_path / "bug", "lagging-future-log-promoted", operations=(MOVE,), **more)
    assert "Committed" in broken(outcome) and "may be lagging-future-log-promoted" in text_of(outcome)
    assert run(tmp_path / "fixed", operations=(MOVE,), **more).kept


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 124))
def test_fixed_keeps_its_promises_while_topics_change_for_longer(tmp_path: Path, seed: int) -> None:
    """The same for more seeds, brokers and time, where topics permit unclean elections too."""
    more = {"unclean": seed % 3 == 0, "brokers": 3 + seed % 3, "replication_factor": 3, "partitions": 3}
    outcome = run(tmp_path, seed=seed, seconds=30, operations=tuple(KRAFT_OPERATIONS), **more)
    assert outcome.kept, text_of(outcome)


@pytest.mark.long
def test_a_replica_that_left_stays_eligible_in_an_era(tmp_path: Path) -> None:
    """In 4.1 a reassignment leaves a broker in the ELR that is no replica; the report names the finding."""
    outcome = run(tmp_path, "era_4_1", seed=7, faults="usual", seconds=30, partitions=6, operations=tuple(OPERATIONS))
    assert "ListsNameReplicas" in broken(outcome)
    assert "may be elr-outside-replicas" in text_of(outcome)


def keeps_strays(patch: pytest.MonkeyPatch) -> None:
    """A broker keeps the replicas that it is not assigned any more."""
    patch.setattr(replicas.KRaftReplicas, "_is_stray", lambda *_: False)


def forgets_the_target(patch: pytest.MonkeyPatch) -> None:
    """The controller ends each reassignment with one replica less."""
    without = controller.cancelled.__globals__["AssignedReplicas"].without
    patch.setattr(
        "kafka_spec.impl.kraft.partition_change.AssignedReplicas.without", lambda one, left: without(one, (*left, one.replicas[0]))
    )


@pytest.mark.long
@pytest.mark.parametrize("defect", [keeps_strays, forgets_the_target], ids=lambda defect: defect.__name__)
def test_a_defect_of_operations_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, defect: Any) -> None:
    """The judge finds a replica that stays, and a reassignment that ends elsewhere."""
    defect(monkeypatch)
    outcome = run(tmp_path, seed=2, faults="none", seconds=15, partitions=2, operations=tuple(OPERATIONS))
    assert not outcome.kept


@pytest.mark.long
@pytest.mark.parametrize("seed", range(100, 112))
def test_fixed_keeps_its_promises_for_longer(tmp_path: Path, seed: int) -> None:
    """The same for more seeds and more time, where the topic permits unclean elections too."""
    outcome = run(tmp_path, seed=seed, seconds=40, unclean=seed % 3 == 0, brokers=3 + seed % 2)
    assert outcome.kept, text_of(outcome)


@pytest.mark.parametrize("era", [era.name for era in ERAS])
def test_what_an_era_breaks_has_a_name(tmp_path: Path, era: str) -> None:
    """Under usual faults an era breaks only promises that one of its switches, or an unclean election, may break."""
    outcome = run(tmp_path, era, seed=3, faults="usual", seconds=10)
    assert outcome.rested and not outcome.errors
    assert all(one.suspects for one in outcome.verdict.broken), text_of(outcome)


def test_equal_seeds_give_equal_runs(tmp_path: Path) -> None:
    """One seed is the source of all randomness; another gives another run."""
    first, again, other = (run(tmp_path / str(n), seed=seed, seconds=3, partitions=2) for n, seed in enumerate((5, 5, 6)))
    assert text_of(first) == text_of(again)
    assert text_of(first) != text_of(other)


def test_a_lost_log_breaks_an_era_without_elr(tmp_path: Path) -> None:
    """In 3.9 the last replica in the ISR loses records and leads again; the report names the switches that may explain it."""
    outcome = run(tmp_path, "era_3_9", seed=3)
    assert broken(outcome) & {"Committed", "CandidatesHoldCommitted"}
    assert "may be last-replica-standing" in text_of(outcome)
    assert "kafka-spec check kraft/last-replica-standing" in text_of(outcome)


def test_a_log_that_is_not_open_yet_is_judged_by_what_is_on_disk(tmp_path: Path) -> None:
    """A broker that has not applied the metadata log yet holds what is in its files, as if it had opened them."""
    log = PartitionLog(tmp_path, LogConfig(segment_bytes=200))
    for number in range(9):
        log.append_as_leader(bytes(batches.build([(0, None, str(number).encode())])), number // 4)
    log.close()
    newest = max(tmp_path.glob("*.log"))
    newest.write_bytes(newest.read_bytes()[:-1])

    watcher = KRaftWatcher()
    found = watcher.entries_in(tmp_path)
    opened = PartitionLog(tmp_path)
    assert len(list(tmp_path.glob("*.log"))) > 2
    assert found == watcher.entries(opened) and len(found) == 8
    opened.close()


def test_an_unclean_leader_keeps_what_is_on_its_disk(tmp_path: Path) -> None:
    """What the new leader holds stays committed, although its log is not open yet; not if an image lets it delete the log."""
    partition, topic_id = TopicPartition("t", 0), UUID(int=1)
    folder = tmp_path / "0" / str(partition)
    log = PartitionLog(folder)
    log.append_as_leader(bytes(batches.build([(0, None, b"7")])), 0)
    log.close()
    write_topic_id(folder, topic_ids.text_of(topic_id))
    held = RegisteredPartition(topic_id, (0, 1), (0,), 0, 1, 1)

    def committed_after(*images: RegisteredPartition) -> int:
        metadata = [SimpleNamespace(end=place, partitions={partition: one}) for place, one in enumerate(images)]
        cluster: Any = SimpleNamespace(
            brokers={0: SimpleNamespace(metadata_end=0, replicas=SimpleNamespace(partitions={}))},
            folder_of=lambda number: tmp_path / str(number),
            log=SimpleNamespace(images=metadata),
        )
        watcher = KRaftWatcher()
        watcher.of(partition).committed += watcher.entries_of(cluster, 0, partition)
        watcher.forget_lost(cluster, partition, 0, 1)
        return len(watcher.of(partition).committed)

    assert committed_after(held) == 1
    assert committed_after(held, replace(held, replicas=(1,)), held) == 0


def commits_alone(patch: pytest.MonkeyPatch) -> None:
    """A leader does not wait for its followers."""
    patch.setattr(replicas.HostedKRaftPartition, "high_watermark_candidate", lambda hosted, *_: hosted.opened.end_offset)


def forgets_leader_epochs(patch: pytest.MonkeyPatch) -> None:
    """The controller elects without another leader epoch."""
    build = controller_memory.build_change

    def built(*arguments: Any) -> Any:
        found = build(*arguments)
        return found if found.record is None else replace(found, record=replace(found.record, leader=-2))

    patch.setattr(controller_memory, "build_change", built)


@pytest.mark.parametrize("defect", [commits_alone, forgets_leader_epochs], ids=lambda defect: defect.__name__)
def test_a_defect_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, defect: Any) -> None:
    """The judge finds a defect put into the implementation, or the cluster does not come to rest."""
    defect(monkeypatch)
    outcome = run(tmp_path, seed=2, faults="usual", seconds=15, partitions=2)
    assert not outcome.kept


def test_the_metadata_log_is_kept(inside: Command, tmp_path: Path) -> None:
    """`--data` keeps the metadata log of the run, which can be read again, and no state-change log."""
    folder = tmp_path / "data"
    done = inside(
        "run", "--era", "kraft_4_1", "--seconds", "1", "--faults", "none", "--data", str(folder), "-q", "--format", "json"
    )
    assert done.returncode == 0, done.stderr
    reported = json.loads(done.stdout)
    image = MetadataLog(folder).newest
    assert (reported["era"], reported["kept"]) == ("kraft/era_4_1", True)
    assert {str(name): list(held.isr) for name, held in image.partitions.items()} == {
        one["partition"]: one["isr"] for one in reported["partitions_at_the_end"]
    }
    assert sorted(path.name for path in folder.iterdir()) == ["0", "1", "2", str(TOPIC)]


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        (("--zookeeper", "start"), "--zookeeper is for clusters with ZooKeeper"),
        (("--script", "x"), "--script is for clusters with ZooKeeper"),
        (("--state-change-log", "x"), "--state-change-log is for clusters with ZooKeeper"),
        (("--faults", "expiry"), "fault 'expiry' needs ZooKeeper"),
        (("--faults", "rain"), "fault 'rain' is unknown"),
        (("--brokers", "5", "--replication-factor", "5"), "--replication-factor 5: the model of KRaft"),
    ],
)
def test_options_of_zookeeper_are_refused(inside: Command, options: tuple[str, ...], reported: str) -> None:
    """An option that makes no sense for KRaft is refused by its name."""
    done = inside("run", "--era", "kraft_3_3", "-q", *options)
    assert (done.returncode, reported in done.stderr) == (2, True), done.stderr


def test_eras_have_short_names(inside: Command) -> None:
    """An unknown era names those that there are; the public models cannot be run."""
    done = inside("run", "--era", "kraft_2_8")
    assert done.returncode == 2 and "kraft_fixed, kraft_3_3" in done.stderr
    assert inside("run", "--era", "kraft/public_v3_5").returncode == 2


@pytest.mark.parametrize("seed", [7, 8])
def test_fixed_keeps_its_promises_while_disks_fail_and_settings_change(tmp_path: Path, seed: int) -> None:
    """Log directories fail and come back, and min.insync.replicas changes, beside all other faults."""
    outcome = run(tmp_path, seed=seed, seconds=20, partitions=3)
    assert (outcome.kept, outcome.rested, outcome.errors) == (True, True, ()), text_of(outcome)
    assert outcome.faults["directory"] and outcome.faults["settings"]


def test_a_run_shows_what_a_changed_setting_breaks(tmp_path: Path) -> None:
    """In Kafka 4.3 a leader that does not know of a larger min.insync.replicas yet commits without an eligible replica."""
    outcome = run(tmp_path, "era_4_3", seed=12, faults="usual,settings,directory", seconds=60)
    assert broken(outcome) == {"LeaderCountsCandidates"}
    assert all("raised-min-isr-learned-late" in one.suspects for one in outcome.verdict.broken)
