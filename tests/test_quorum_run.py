"""Runs with several controllers: `fixed` keeps its properties under faults, a case is found, and answers wait for the quorum."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Any

import pytest
from conftest import Command

from kafka_spec.impl.kraft.control_records import start_of_epoch, voters_change
from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.kraft.metadata_log import read_batch, read_batches
from kafka_spec.impl.kraft.quorum.election_state import ElectionState, ElectionStateError, read_election_state, write_election_state
from kafka_spec.impl.kraft.records import LeaderChange, QuorumVersion, VotersChange
from kafka_spec.impl.kraft.snapshots import read_snapshot, snapshots_in
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.quorum_requests import TOPIC
from kafka_spec.impl.run.faults import parse_faults
from kafka_spec.impl.run.kraft.controllers import FIRST_CONTROLLER
from kafka_spec.impl.run.kraft.faults import QUORUM_FAULTS
from kafka_spec.impl.run.kraft.quorum_era import quorum_of
from kafka_spec.impl.run.kraft.simulation import simulate_kraft
from kafka_spec.impl.run.kraft.world import KRaftWorld
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.report import text_of
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.kraft.fixed import FIXED

LOGS = Path(__file__).parent / "logs" / "kraft"


def options(era: str = "kraft/fixed", faults: str = "usual,voters", controllers: int = 3, **more: Any) -> Options:
    """Return the options of a run; an era of spec/quorum runs beside the fixed brokers."""
    asked = MODELS[era]
    return Options(
        era=asked if asked.state is FIXED.state else FIXED,
        faults=parse_faults(faults, QUORUM_FAULTS),
        controllers=controllers,
        quorum=quorum_of(asked),
        quorum_name="" if asked.state is FIXED.state else era,
        **more,
    )


def run(folder: Path, **more: Any) -> RunOutcome:
    """Run a cluster."""
    return simulate_kraft(options(**more), folder)


@pytest.mark.parametrize(("seed", "controllers"), [(3, 3), (4, 5)])
def test_fixed_keeps_its_properties(tmp_path: Path, seed: int, controllers: int) -> None:
    """Controllers crash, lose power, cannot reach each other, resign, are removed and added: every property is satisfied."""
    outcome = run(tmp_path, seed=seed, controllers=controllers, seconds=10, partitions=2)
    assert (outcome.kept, outcome.rested, outcome.errors) == (True, True, ()), text_of(outcome)
    assert outcome.controllers > 1 and outcome.acknowledged["all"]
    assert any(name.startswith("controller-") for name in outcome.faults)


@pytest.mark.long
@pytest.mark.parametrize("era", ["kraft/fixed", "kraft/era_3_3", "kraft/era_3_9", "kraft/era_4_3"])
@pytest.mark.parametrize("seed", range(200, 208))
def test_violations_are_explained(tmp_path: Path, era: str, seed: int) -> None:
    """The same for more seeds and time; what the quorums of released Kafka violate has a known bug that explains it."""
    faults = "usual,power" + ("" if era == "kraft/era_3_3" else ",voters")
    outcome = run(tmp_path, era=era, faults=faults, seed=seed, controllers=3 + seed % 3)
    found = [one for one in outcome.verdict.broken if one.promise.startswith("quorum/")]
    assert all(one.suspects for one in found), text_of(outcome)
    assert outcome.kept or era != "kraft/fixed", text_of(outcome)


def test_snapshots_hold_the_image(tmp_path: Path) -> None:
    """Each snapshot that a controller writes or loads is the image of the log up to its end."""
    outcome = run(tmp_path, seed=4, seconds=20)
    assert outcome.snapshots["written"] and outcome.snapshots["loaded"], text_of(outcome)
    logs = [(folder, PartitionLog(folder)) for folder in tmp_path.rglob(str(TOPIC)) if folder.is_dir()]
    whole = max((log for _, log in logs if log.start_offset == 0), key=lambda log: log.end_offset)
    images = {image.end: image for image in accumulate(read_batches(whole, 0), ClusterImage.after, initial=ClusterImage())}
    found = [(folder, one) for folder, _ in logs for one in snapshots_in(folder) if one.end]
    assert found and all(read_snapshot(folder, one) == images[one.end] for folder, one in found)
    for _, log in logs:
        log.close()


def test_equal_options_give_equal_runs(tmp_path: Path) -> None:
    """One seed is the source of all randomness."""
    one, other = (run(tmp_path / name, seed=5, seconds=5, partitions=1) for name in ("one", "other"))
    assert text_of(one) == text_of(other)


@pytest.mark.parametrize(
    ("case", "seed", "name"),
    [
        ("only-voter-commits-before-flush", 0, "CommittedIsFlushed"),
        ("KAFKA-10527", 10, "HighWatermarkGrows"),
    ],
)
def test_a_case_is_found_and_named(tmp_path: Path, case: str, seed: int, name: str) -> None:
    """A run with a bug of the quorum violates what its card says, and the report names the bug."""
    faults = "usual,voters" if name == "CommittedIsFlushed" else "usual"
    outcome = run(tmp_path, era=f"quorum/{case}", seed=seed, faults=faults, seconds=15 if faults == "usual" else 30)
    (found,) = [one for one in outcome.verdict.broken if one.promise == f"quorum/{name}"]
    assert found.suspects == (case,)
    assert f"see `kafka-spec check quorum/{case}`" in text_of(outcome)


# ---------------------------------------------------------------------------------------------------------------------
# The active controller


def world_of(folder: Path) -> KRaftWorld:
    """Return a cluster without faults, after two seconds."""
    asked = options(faults="none", seed=1)
    world = KRaftWorld(asked, folder, lambda _: None, Random(1))
    for number in world.numbers:
        world.start(number)
    world.scheduler.run_until(2.0)
    return world


def test_answers_wait_for_the_quorum(tmp_path: Path) -> None:
    """What the active controller writes while no majority is up is not committed, and brokers get no answer; later they do."""
    world = world_of(tmp_path)
    quorum = world.quorum
    assert quorum is not None and quorum.active is not None
    leader = quorum.active.node.node
    others = [number for number in quorum.numbers if number != leader]
    for number in others:
        quorum.kill(number)
    end, answers = world.cluster.log.end, list[object]()
    world.create_topic("slow", {0: (0,)})
    quorum.serve(leader, world.nodes[0].broker.registration(), answers.append)
    world.scheduler.run_until(world.now + 0.3)
    assert quorum.active is not None and quorum.active.metadata.end > end
    assert world.cluster.log.end == end and answers == []

    for number in others:
        quorum.start(number)
    world.scheduler.run_until(world.now + 3.0)
    assert "slow" in world.cluster.controller.image.topics.values()
    assert len(answers) == 1
    world.end()


def test_a_change_of_voters_has_its_offset(tmp_path: Path) -> None:
    """What the active controller writes after a change of the voters, which is not committed yet, has the offset of the log."""
    world = world_of(tmp_path)
    quorum = world.quorum
    assert quorum is not None and quorum.active is not None
    active = quorum.active
    other = next(number for number in quorum.numbers if number != active.node.node)
    assert active.change_voters(other)
    world.create_topic("late", {0: (0,)})
    assert active.metadata.end == active.node.log.end > active.node.high_watermark
    world.scheduler.run_until(world.now + 1.0)
    assert world.cluster.controller.image == active.metadata.newest
    world.end()


def test_a_leader_that_is_the_only_voter_commits_at_once(tmp_path: Path) -> None:
    """In released Kafka the only voter commits while it appends: the batch is in its metadata once."""
    asked = options(era="kraft/era_4_3", faults="none", seed=1)
    world = KRaftWorld(asked, tmp_path, lambda _: None, Random(1))
    world.start(0)
    world.scheduler.run_until(2.0)
    quorum = world.quorum
    assert quorum is not None and quorum.active is not None
    active = quorum.active
    for other in [number for number in quorum.numbers if number != active.node.node]:
        assert active.change_voters(other)
        world.scheduler.run_until(world.now + 1.0)
    world.create_topic("alone", {0: (0,)})
    assert active.metadata.end == active.node.log.end == active.node.high_watermark
    world.delete_topic("alone")
    assert world.cluster.controller.image == active.metadata.newest
    world.end()


def test_a_controller_that_resigns_sends_brokers_on(tmp_path: Path) -> None:
    """It forgets what is not committed, and whoever waits is told that it is not the controller; another becomes active."""
    world = world_of(tmp_path)
    quorum = world.quorum
    assert quorum is not None and quorum.active is not None
    former = quorum.active
    former.resign()
    assert former.active is None and former.metadata.end == former.metadata.committed
    with pytest.raises(KafkaError) as refused:
        world.create_topic("none", {0: (0,)})
    assert refused.value.code == ErrorCode.NOT_CONTROLLER
    world.scheduler.run_until(world.now + 3.0)
    assert quorum.active is not None and {node.controller for node in world.nodes.values()} == {quorum.active.node.node}
    world.end()


def test_a_run_keeps_the_files_of_each_controller(tmp_path: Path) -> None:
    """Each has a metadata log and a quorum-state in Kafka's format; the logs agree."""
    run(tmp_path, faults="none", seconds=2, partitions=1)
    logs = {
        (tmp_path / str(FIRST_CONTROLLER + node) / "__cluster_metadata-0" / f"{0:020}.log").read_bytes()[:5000] for node in range(3)
    }
    assert len(logs) == 1
    said = json.loads((tmp_path / str(FIRST_CONTROLLER) / "quorum-state").read_text(encoding="utf-8"))
    assert list(said) == ["leaderId", "leaderEpoch", "votedId", "votedDirectoryId", "data_version"]


# ---------------------------------------------------------------------------------------------------------------------
# Files


def test_quorum_state_is_kafkas(tmp_path: Path) -> None:
    """What Kafka has written is read, and written again byte by byte; a node without the file is new."""
    kafkas = LOGS / "f440-removed-directory" / "node-100" / "quorum-state"
    state = read_election_state(kafkas)
    assert state == ElectionState(1, 100, -1)
    write_election_state(tmp_path / "quorum-state", state, (100,))
    assert (tmp_path / "quorum-state").read_bytes() == kafkas.read_bytes()
    assert read_election_state(tmp_path / "none") == ElectionState()


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"leaderEpoch": "x", "leaderId": 1, "votedId": 1}'])
def test_a_broken_quorum_state_is_refused(tmp_path: Path, text: str) -> None:
    """A file that says something else is named, with the cure: a node that forgot its vote could vote twice."""
    file = tmp_path / "quorum-state"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ElectionStateError, match=r"quorum-state: this is not a quorum-state; restore the file, or format"):
        read_election_state(file)


def test_control_records_are_read_as_written() -> None:
    """The first batch of an epoch, with and without the voters, and a change of them."""
    change = LeaderChange(2)
    assert read_batch(bytes(start_of_epoch(7, 2, (3, 1, 2), (2, 3), names_voters=False))) == (change,)
    first = (change, QuorumVersion(1), VotersChange((1, 2, 3)))
    assert read_batch(bytes(start_of_epoch(7, 2, (3, 1, 2), (2, 3), names_voters=True))) == first
    assert read_batch(bytes(voters_change(7, {9, 4}))) == (VotersChange((4, 9)),)


# ---------------------------------------------------------------------------------------------------------------------
# The command


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--controllers", "3"], "--controllers is for KRaft"),
        (["--era", "kraft_fixed", "--faults", "controller-crash"], "needs several controllers; add --controllers 3"),
        (["--era", "quorum/KAFKA-10527", "--controllers", "1"], "needs several controllers; add --controllers 3"),
        (["--era", "kraft_3_3", "--controllers", "3", "--faults", "voters"], "use an era from kraft_3_9 on"),
        (["--era", "quorum/none"], "unknown; of the quorum known are quorum/fixed"),
        (["--era", "quorum/public_kraft"], "unknown; of the quorum known are quorum/fixed"),
        (["--era", "kraft_fixed", "--controllers", "6"], "must be a number from 1 to 5"),
    ],
)
def test_wrong_options_are_refused(inside: Command, arguments: list[str], message: str) -> None:
    """Each message names the mistake and the cure."""
    done = inside("run", "-q", *arguments)
    assert (done.returncode, done.stdout) == (2, "") and message in done.stderr, done.stderr
