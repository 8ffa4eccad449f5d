"""The broker's side of the controller's requests, alone, and with controllers over channels that repeat and delay."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_controller import P, Q, SteppedCluster
from test_log import MEMORY, batch

from kafka_spec.impl.broker.partition import UNKNOWN_END, FetchState, HostedPartition, Phase
from kafka_spec.impl.log import checkpoint
from kafka_spec.impl.protocol.controller_requests import (
    NO_EPOCH,
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Leadership,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.state_change_log import StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import ControllerState, Role


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder for logs."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


@pytest.fixture
def lines() -> list[str]:
    """Return where the state-change log of a test goes."""
    return []


@pytest.fixture
def start(folder: Path, lines: list[str]) -> Callable[..., ReplicaManager]:
    """Return a function that starts broker 1 on the folder, which takes brokers 1, 2 and 3 for alive."""

    def made(era: Spec = FIXED) -> ReplicaManager:
        manager = ReplicaManager(1, era, folder, StateChangeLog(lines.append, lambda: 0.0))
        manager.broker_epoch = 50
        manager.alive = BrokerSet.of((1, 2, 3))
        return manager

    return made


Start = Callable[..., ReplicaManager]


def lead(epoch: int, leader: int = 1, isr: tuple[int, ...] = (1, 2), replicas: tuple[int, ...] = (1, 2), **header: int) -> Any:
    """Return a LeaderAndIsr of the first partition."""
    state = LeaderAndIsrState(Leadership(leader, epoch, isr, epoch, 7), replicas, False)
    return LeaderAndIsrRequest(5, header.get("controller_epoch", 7), header.get("broker_epoch", 50), {P: state}, ())


def stop(epoch: int, delete: bool = False) -> StopReplicaRequest:
    """Return a StopReplica of the first partition."""
    return StopReplicaRequest(5, 7, 50, {P: StopReplicaState(epoch, delete)})


def ends(partition: HostedPartition) -> dict[int, int]:
    """Return where a leader takes its followers' logs to end."""
    return {broker: follower.end for broker, follower in partition.followers.items()}


def ignored(lines: list[str]) -> str:
    """Return the last line without its frame."""
    return lines[-1].removeprefix("[1970-01-01 00:00:00,000] ").removesuffix(" (state.change.logger)\n")


def test_gates_of_requests(start: Start, lines: list[str]) -> None:
    """Older controllers and requests for an earlier registration are refused as a whole; a larger broker epoch passes."""
    manager = start()
    assert manager.handle(lead(0), 0).error == ErrorCode.NONE
    assert manager.handle(lead(1, broker_epoch=49), 0).error == ErrorCode.STALE_BROKER_EPOCH
    assert manager.handle(lead(1, controller_epoch=6), 0, 12).error == ErrorCode.STALE_CONTROLLER_EPOCH
    assert ignored(lines) == (
        "WARN [Broker id=1] Ignoring LeaderAndIsr request from controller 5 with correlation id 12 "
        "since its controller epoch 6 is old. Latest known controller epoch is 7"
    )
    assert manager.handle(UpdateMetadataRequest(4, 6, 50, {}, ()), 0, 14).error == ErrorCode.STALE_CONTROLLER_EPOCH
    assert ignored(lines) == (
        "WARN [Broker id=1] Received update metadata request with correlation id 14 from an old controller 4 with epoch 6. "
        "Latest known controller epoch is 7"
    )
    assert list(manager.alive) == [1, 2, 3]
    assert manager.partitions[P].leader_epoch == 0
    assert manager.handle(lead(1, broker_epoch=51, controller_epoch=8), 0).error == ErrorCode.NONE
    assert (manager.partitions[P].leader_epoch, manager.controller_epoch) == (1, 8)


def test_eras_check_less(start: Start) -> None:
    """0.10 does not compare broker epochs; without KAFKA-532's fix brokers do not compare controller epochs."""
    assert start(ERA_0_10).handle(lead(0, broker_epoch=1), 0).error == ErrorCode.NONE
    manager = start(MODELS["zookeeper/KAFKA-532"])
    manager.handle(lead(0), 0)
    assert manager.handle(lead(1, controller_epoch=1), 0).error == ErrorCode.NONE


def test_gates_of_partitions(start: Start, lines: list[str]) -> None:
    """Only a larger leader epoch is accepted, and only by an assigned broker; each refusal is logged in Kafka's words."""
    manager = start()
    assert manager.handle(lead(3), 0).partitions == {P: ErrorCode.NONE}
    assert manager.handle(lead(3), 0, 12).partitions == {P: ErrorCode.STALE_CONTROLLER_EPOCH}
    about = "[Broker id=1] Ignoring LeaderAndIsr request from controller 5 with correlation id 12 epoch 7 for partition orders-0"
    assert ignored(lines) == f"INFO {about} since its associated leader epoch 3 matches the current leader epoch"
    assert manager.handle(lead(2), 0, 12).partitions == {P: ErrorCode.STALE_CONTROLLER_EPOCH}
    assert ignored(lines) == f"WARN {about} since its associated leader epoch 2 is smaller than the current leader epoch 3"
    assert manager.handle(lead(4, replicas=(2, 3)), 0, 12).partitions == {P: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert ignored(lines) == f"WARN {about} as itself is not in assigned replica list 2,3"
    assert manager.partitions[P].leader_epoch == 3


def test_a_leader_starts(start: Start, lines: list[str]) -> None:
    """A leader's epoch begins at its log's end; followers are unknown and hold the high watermark; alone it commits all it has."""
    manager = start()
    manager.handle(lead(0, isr=(1,)), 0)
    partition = manager.partitions[P]
    assert partition.log is not None
    partition.log.append_as_leader(batch(b"a", b"b"), 0)
    manager.handle(lead(4, isr=(1, 2)), 0)

    assert (manager.role_of(P), partition.epoch_start, partition.high_watermark) == (Role.LEADER, 2, 0)
    assert (ends(partition), partition.log.epochs) == ({2: UNKNOWN_END}, ((0, 0), (4, 2)))
    assert ignored(lines[:-1]) == (
        "INFO [Broker id=1] Leader orders-0 starts at leader epoch 4 from offset 2 with high watermark 0 ISR [1,2] "
        "addingReplicas [] removingReplicas []. Previous leader epoch was 0."
    )
    assert ignored(lines) == (
        "INFO [Broker id=1] Skipped the become-leader state change after marking its partition as leader with correlation id 0 "
        "from controller 5 epoch 7 for partition orders-0 (last update controller epoch 7) since it is already the leader for "
        "the partition."
    )


@pytest.mark.parametrize(("era", "known"), [(FIXED, UNKNOWN_END), (ERA_2_8, 1)])
def test_a_leader_that_is_elected_again(start: Start, era: Spec, known: int) -> None:
    """A leader that led before keeps what it knows of its followers in Kafka, and forgets it with the fix."""
    manager = start(era)
    manager.handle(lead(0, isr=(1,)), 0)
    partition = manager.partitions[P]
    assert partition.log is not None
    partition.log.append_as_leader(batch(b"a", b"b"), 0)
    manager.handle(lead(4, isr=(1, 2)), 0)

    partition.followers[2].end = 1
    manager.handle(lead(5, isr=(1, 2)), 0)
    assert (ends(partition), partition.high_watermark) == ({2: known}, max(known, 0))
    manager.handle(lead(6, isr=(1,)), 0)
    assert partition.high_watermark == 2
    manager.handle(lead(7, leader=2), 0)
    manager.handle(lead(8, isr=(1, 2)), 0)
    assert ends(partition) == {2: UNKNOWN_END}


def test_a_follower_starts(start: Start, lines: list[str]) -> None:
    """A follower fetches from the named leader, starting at its high watermark; if the leader is not alive, nothing changes."""
    manager = start()
    manager.handle(lead(0, isr=(1,)), 0)
    partition = manager.partitions[P]
    assert partition.log is not None
    partition.log.append_as_leader(batch(b"a"), 0)
    manager.handle(lead(1, leader=2), 0)
    assert (manager.role_of(P), partition.isr) == (Role.FOLLOWER, ())
    assert manager.fetchers[P] == FetchState(2, 1, 0, Phase.TRUNCATING)
    assert ignored(lines) == (
        "INFO [Broker id=1] Follower orders-0 starts at leader epoch 1 from offset 1 with high watermark 0. "
        "Previous leader epoch was 0."
    )
    for nobody in (9, -1):
        assert manager.handle(lead(2, leader=nobody), 0, 12).partitions == {P: ErrorCode.NONE}
        assert ignored(lines) == (
            "ERROR [Broker id=1] Received LeaderAndIsrRequest with correlation id 12 from controller 5 epoch 7 for partition "
            f"orders-0 (last update controller epoch 7) but cannot become follower since the new leader {nobody} is unavailable."
        )
    assert (partition.leader_epoch, manager.fetchers[P].leader) == (1, 2)
    manager.handle(lead(2), 0)
    assert P not in manager.fetchers


@pytest.mark.parametrize(("era", "end"), [(FIXED, 2), (ERA_0_10, 0)], ids=["fixed", "era_0_10"])
def test_truncation_by_high_watermark(start: Start, era: Spec, end: int) -> None:
    """In 0.10 a follower of another leader cuts its log at its high watermark at once, and one of the same leader does not."""
    manager = start(era)
    manager.handle(lead(0), 0)
    partition = manager.partitions[P]
    assert partition.log is not None
    partition.log.append_as_leader(batch(b"a"), 0)
    partition.log.append_as_leader(batch(b"b"), 0)
    manager.handle(lead(1, leader=2), 0)
    assert partition.log.end_offset == end
    partition.log.append_as_leader(batch(b"c"), 1)
    manager.handle(lead(2, leader=2), 0)

    assert (partition.log.end_offset, partition.leader_epoch) == (end + 1, 2)


@pytest.mark.parametrize(
    ("era", "allowed"),
    [(FIXED, (NO_EPOCH, 3, 4)), (ERA_2_8, (NO_EPOCH, 4)), (ERA_0_10, (NO_EPOCH, 2, 3, 4))],
    ids=["fixed", "era_2_8", "era_0_10"],
)
def test_stops(start: Start, lines: list[str], era: Spec, allowed: tuple[int, ...]) -> None:
    """StopReplica stops fetching where the leader epoch passes as the era reckons; leadership stays; unknown replicas are fine."""
    manager = start(era)
    assert manager.handle(stop(0), 0).partitions == {P: ErrorCode.NONE}
    for epoch in (NO_EPOCH, 2, 3, 4):
        manager = start(era)
        manager.handle(lead(3, leader=2), 0)
        answer = manager.handle(stop(epoch), 0, 13).partitions[P]
        assert answer == (ErrorCode.NONE if epoch in allowed else ErrorCode.FENCED_LEADER_EPOCH)
        assert (P in manager.fetchers) == (epoch not in allowed)
        assert (manager.role_of(P), manager.partitions[P].leader_epoch) == (Role.FOLLOWER, 3)
        if epoch == 2 and epoch not in allowed:
            assert ignored(lines) == (
                "WARN [Broker id=1] Ignoring StopReplica request (delete=false) from controller 5 with correlation id 13 epoch 7 "
                "for partition orders-0 since its associated leader epoch 2 is smaller than the current leader epoch 3"
            )
        manager.crash()


def test_metadata(start: Start) -> None:
    """Live brokers are replaced, partitions are merged."""
    manager = start()
    brokers = tuple(BrokerRegistration(number, ()) for number in (1, 2))
    for partition, live in ((P, brokers), (Q, brokers[1:])):
        state = UpdateMetadataState(Leadership(2, 0, (2,), 0, 7), (2, 1), (1,))
        assert manager.handle(UpdateMetadataRequest(5, 7, 50, {partition: state}, live), 0).error == ErrorCode.NONE

    assert list(manager.alive) == [2]
    assert sorted(manager.metadata) == [P, Q]


def test_high_watermarks_survive(start: Start, folder: Path) -> None:
    """A high watermark comes back from its checkpoint, within the log; partitions that were not opened keep their entry."""
    checkpoint.write_offsets(folder / checkpoint.REPLICATION_OFFSETS, {P: 99, Q: 5})
    for partition in (P, Q):
        (folder / str(partition)).mkdir()
    manager = start()
    manager.handle(lead(0, isr=(1,)), 0)
    partition = manager.partitions[P]
    assert partition.log is not None
    assert partition.high_watermark == 0
    partition.log.append_as_leader(batch(b"a", b"b", b"c"), 0)
    partition.high_watermark = 2
    manager.checkpoint_high_watermarks()
    assert checkpoint.read_offsets(folder / checkpoint.REPLICATION_OFFSETS) == {P: 2, Q: 5}
    manager.crash()
    manager = start()
    manager.handle(lead(1), 0)

    assert (manager.partitions[P].high_watermark, manager.role_of(P)) == (2, Role.LEADER)


def test_recovery_points_hold_once(start: Start, folder: Path) -> None:
    """A clean end writes recovery points, which the next start takes and removes: they hold only while nothing is written."""
    manager = start()
    manager.handle(lead(0, isr=(1,)), 0)
    log = manager.partitions[P].log
    assert log is not None
    log.append_as_leader(batch(b"a"), 0)
    manager.close()
    assert checkpoint.read_offsets(folder / checkpoint.RECOVERY_POINTS) == {P: 1}
    manager = start()
    assert not (folder / checkpoint.RECOVERY_POINTS).exists()
    manager.close()
    assert checkpoint.read_offsets(folder / checkpoint.RECOVERY_POINTS) == {P: 1}


# With controllers


class Replicas(SteppedCluster):
    """Brokers with controllers and replicas; requests take their time, and may come twice."""

    def __init__(self, count: int, seed: int = 0, era: Spec = FIXED, unclean: bool = False) -> None:
        super().__init__(count, era, unclean)
        self.random = Random(seed)

    @property
    def managers(self) -> dict[int, ReplicaManager]:
        """The replicas of the running brokers."""
        return {number: broker.replicas for number, broker in self.brokers.items()}

    def act(self) -> None:
        """Do something, anywhere."""
        sender, receiver = self.random.choice(list(self.brokers)), self.random.choice(list(self.brokers))
        if self.random.random() < 0.5:
            self.brokers[sender].controller.step()
        else:
            self.deliver(sender, receiver, answered=self.random.random() < 0.8)

    def topic(self, *replicas: int) -> Replicas:
        """Create a topic of one partition, and wait until no work is left."""
        self.admin.create_topic_with_assignment("orders", {0: replicas})
        self.rest()
        return self


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.sampled_from(["bounce", "create", "work", "work"]), max_size=12))
def test_replicas_learn_what_is_true(seed: int, plan: list[str]) -> None:
    """Whatever is late, doubled or lost, finally live replicas have the znode's leader epoch, their role, and the live brokers."""
    with Replicas(3, seed) as cluster:
        for number, word in enumerate(plan):
            if word == "bounce":
                cluster.bounce(cluster.random.randrange(3))
            elif word == "create":
                replicas = cluster.random.sample(range(3), cluster.random.randint(1, 3))
                cluster.admin.create_topic_with_assignment(f"topic{number}", {0: tuple(replicas)})
            for _ in range(30):
                cluster.act()
        cluster.rest()
        for topic in cluster.tools.children(znodes.TOPICS):
            partition = TopicPartition(topic, 0)
            leader, epoch, isr, _ = cluster.state(partition)
            for number in cluster.active.context.assignments[partition]:
                manager = cluster.managers[number]
                hosted = manager.partitions[partition]
                assert (hosted.leader_epoch, hosted.leader) == (epoch, leader)
                assert manager.role_of(partition) == (Role.LEADER if number == leader else Role.FOLLOWER)
                assert (partition in manager.fetchers) == (number != leader)
            assert cluster.managers[leader].partitions[partition].isr == isr
        for manager in cluster.managers.values():
            assert list(manager.alive) == [0, 1, 2]
        assert [b.controller.life for b in cluster.brokers.values()].count(ControllerState.ACTIVE) == 1
