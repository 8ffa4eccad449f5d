"""A replica whose log cannot be read or written, and its report to the controller; calls of the group coordinator."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_data_plane import DataPlanes, P, Start, brokers
from test_log import batch
from test_replica_manager import Replicas

from kafka_spec.impl.log import checkpoint
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, StopReplicaRequest, StopReplicaState
from kafka_spec.impl.protocol.data_requests import (
    EpochPosition,
    Fetched,
    FetchRequest,
    ListOffsetsRequest,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
    Produced,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.broker_changes import LogDirEventNotification
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.memory import Loss
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.machines.replica import ReplicaState
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import Role

__all__ = ["brokers"]


def fail(monkeypatch: pytest.MonkeyPatch, broker: Path, name: str) -> None:
    """Have the disk of one broker fail: a system call on a file in its folder is an error."""
    real: Callable[..., Any] = getattr(os, name)

    def failing(handle: int, *rest: Any) -> Any:
        path = Path(f"/proc/self/fd/{handle}").readlink()
        if path.is_relative_to(broker):
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
        return real(handle, *rest)

    monkeypatch.setattr(os, name, failing)


def is_offline(cluster: DataPlanes, number: int) -> bool:
    """Whether a broker's replica is offline: without a log, fetching nothing, and refusing everybody with KAFKA_STORAGE_ERROR."""
    plane, manager = cluster.planes[number], cluster.planes[number].replicas
    if manager.role_of(P) != Role.OFFLINE:
        return False
    assert manager.partitions[P].log is None
    assert P not in manager.fetchers
    assert manager.failures[P].errno in (errno.EIO, None)
    refused = ErrorCode.KAFKA_STORAGE_ERROR
    assert cluster.produce(number, b"more") == [Produced(refused)]
    assert cluster.consume(number) == [Fetched(refused)]
    assert plane.handle_offsets_for_leader_epoch(OffsetsForLeaderEpochRequest(9, {P: EpochPosition(0, 0)}))[P].error == refused
    assert plane.handle_list_offsets(ListOffsetsRequest(9, {P: OffsetQuery(0)}))[P].error == refused
    assert manager.handle(StopReplicaRequest(5, 7, -1, {P: StopReplicaState(-1, False)}), 0, 13).partitions == {P: refused}
    assert cluster.lines[-1].endswith(
        "WARN [Broker id=1] Ignoring StopReplica request (delete=false) from controller 5 with correlation id 13 epoch 7 for "
        "partition orders-0 as the local replica for the partition is in an offline log directory (state.change.logger)\n".replace(
            "id=1", f"id={number}"
        )
    )
    assert cluster.elect(number, reported=(number,))[number].partitions == {P: refused}
    assert cluster.lines[-1].endswith(
        f"WARN [Broker id={number}] Ignoring LeaderAndIsr request from controller 5 with correlation id 12 epoch 7 for partition "
        "orders-0 as the local replica for the partition is in an offline log directory (state.change.logger)\n"
    )
    return True


def test_an_append_fails(brokers: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that cannot write answers with an error, also to waiting requests, and goes offline; other replicas do not."""
    cluster = brokers()
    cluster.elect(1)
    waiting = cluster.produce(1, b"a", acks=-1)
    reading = cluster.consume(1, max_wait_ms=100_000)
    with monkeypatch.context() as patch:
        fail(patch, cluster.folder / "1", "write")
        assert cluster.produce(1, b"b") == [Produced(ErrorCode.KAFKA_STORAGE_ERROR)]
    assert waiting == [Produced(ErrorCode.KAFKA_STORAGE_ERROR)]
    assert reading == [Fetched(ErrorCode.KAFKA_STORAGE_ERROR)]
    assert is_offline(cluster, 1)
    assert cluster.planes[2].replicas.role_of(P) == Role.FOLLOWER


def test_a_read_fails(brokers: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A leader that cannot read is offline; its follower waits, and takes the next leader's records."""
    cluster = brokers()
    cluster.elect(1)
    cluster.produce(1, b"a")
    cluster.sync(3)
    with monkeypatch.context() as patch:
        fail(patch, cluster.folder / "1", "pread")
        cluster.ask(2)
    assert cluster.planes[2].replicas.fetchers[P].delayed_until > cluster.now
    assert is_offline(cluster, 1)
    cluster.elect(3, isr=(2, 3))
    cluster.sync(2)
    assert cluster.log(2) == [b"a"]


@pytest.mark.parametrize(("era", "call"), [(FIXED, "write"), (FIXED, "ftruncate"), (MODELS["zookeeper/KIP-101"], "ftruncate")])
def test_a_follower_fails(brokers: Start, monkeypatch: pytest.MonkeyPatch, era: Spec, call: str) -> None:
    """A follower that cannot append or truncate, at the LeaderAndIsr or later, goes offline and stops fetching."""
    cluster = brokers(era)
    cluster.elect(2, isr=(2,))
    cluster.produce(2, b"a")
    cluster.sync(1)
    cluster.produce(2, b"old")
    cluster.partition(2).high_watermark = 1
    cluster.elect(1, isr=(1,), reported=(1,))
    cluster.produce(1, b"b")
    cluster.produce(1, b"c")
    with monkeypatch.context() as patch:
        fail(patch, cluster.folder / "2", call)
        answers = cluster.elect(1, isr=(1,))
        for _ in range(3):
            cluster.ask(2)
    at_once = era is not FIXED
    assert answers[2].partitions == {P: ErrorCode.KAFKA_STORAGE_ERROR if at_once else ErrorCode.NONE}
    assert is_offline(cluster, 2)
    assert cluster.planes[2].fetchers.leaders() == ()


@pytest.mark.parametrize("leader", [1, 2])
def test_a_broken_checkpoint(brokers: Start, leader: int) -> None:
    """A replica whose leader-epoch-checkpoint cannot be read is offline, whether it should lead or follow; other ones are not."""
    cluster = brokers()
    folder = cluster.folder / "1" / str(P)
    folder.mkdir(parents=True)
    (folder / checkpoint.LEADER_EPOCHS).write_text("7\n")
    answers = cluster.elect(leader)
    assert answers[1].partitions == {P: ErrorCode.KAFKA_STORAGE_ERROR}
    assert is_offline(cluster, 1)
    other = TopicPartition("orders", 1)
    state = next(iter(cluster.requests[-1].partitions.values()))
    manager = cluster.planes[1].replicas
    assert manager.handle(LeaderAndIsrRequest(5, 7, -1, {other: state}, ()), 0).partitions == {other: ErrorCode.NONE}


def test_high_watermarks_cannot_be_written(brokers: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where replication-offset-checkpoint cannot be written, the data folder has failed, and all its replicas are offline."""
    cluster = brokers()
    cluster.elect(1)
    with monkeypatch.context() as patch:
        fail(patch, cluster.folder / "1", "fsync")
        cluster.planes[1].tick(cluster.now)
    assert is_offline(cluster, 1)


def test_the_controller_is_told(brokers: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A failed log directory is reported in ZooKeeper, once for all failures so far, and again if the answer is lost."""
    cluster = brokers()
    cluster.elect(1)
    with monkeypatch.context() as patch:
        fail(patch, cluster.folder / "1", "write")
        cluster.produce(1, b"b")
    reported = znodes.LOG_DIR_EVENT_NOTIFICATION
    cluster.sessions[1].lose(Loss.REQUEST)
    for step, names in ((0, []), (2_499, []), (2_500, ["log_dir_event_0000000000"]), (9_000, ["log_dir_event_0000000000"])):
        cluster.planes[1].tick(cluster.now + step)
        assert cluster.tools.children(reported) == names
    path = f"{reported}/{names[0]}"
    assert znodes.decode_log_dir_event(path, cluster.tools.get(path)[0]) == 1


def test_a_log_without_epochs_cannot_be_cut(brokers: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A follower that has to cut its log at the high watermark before it can ask, and cannot, asks nothing and is offline."""
    cluster = brokers()
    cluster.elect(1)
    log = cluster.partition(2).opened
    for value in (b"a", b"b"):
        log.append_as_leader(batch(value), 3)
    cluster.partition(2).high_watermark = 1
    log._epochs.clear()
    with monkeypatch.context() as patch:
        fail(patch, cluster.folder / "2", "ftruncate")
        assert cluster.planes[2].fetchers.next_request(1, cluster.now) is None
    assert is_offline(cluster, 2)


@pytest.mark.parametrize("failed", [1, 2])
def test_the_controller_acts(monkeypatch: pytest.MonkeyPatch, failed: int) -> None:
    """The controller sends the broker all its replicas, learns which are lost, and elects other leaders for those alone."""
    with Replicas(3) as cluster:
        cluster.rest()
        cluster.topic(1, 2)
        cluster.admin.create_topic_with_assignment("others", {0: (failed, 0)})
        cluster.rest()
        with monkeypatch.context() as patch:
            fail(patch, cluster.folder / str(failed) / str(P), "write")
            leader, follower = cluster.brokers[1].data, cluster.brokers[2].data.fetchers
            leader.handle_produce(ProduceRequest(1, {P: batch(b"a")}), 0, lambda _: None)
            request = follower.next_request(1, 0)
            assert isinstance(request, FetchRequest)
            leader.handle_fetch(request, 0, lambda answer: follower.take(1, answer, 0))
        for broker in cluster.brokers.values():
            broker.data.tick(0)
        cluster.rest()
        assert cluster.state()[0::2] == (3 - failed, (3 - failed,))
        assert cluster.managers[3 - failed].role_of(P) == Role.LEADER
        others = TopicPartition("others", 0)
        assert cluster.state(others)[0::2] == (failed, (failed, 0))
        assert cluster.managers[failed].role_of(others) == Role.LEADER
        assert cluster.tools.children(znodes.LOG_DIR_EVENT_NOTIFICATION) == []
        cluster.brokers[0].controller.handle(LogDirEventNotification())
        cluster.rest()
        assert cluster.active.replicas.state_of(P, failed) == ReplicaState.OFFLINE


def test_a_restart_forgets_the_failure(brokers: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that restarts on a repaired disk has the records from before the failure."""
    cluster = brokers()
    cluster.elect(1)
    cluster.produce(1, b"a")
    with monkeypatch.context() as patch:
        fail(patch, cluster.folder / "1", "write")
        cluster.produce(1, b"b")
    cluster.crash(1)
    cluster.start(1)
    cluster.elect(1)
    assert cluster.log(1) == [b"a"]


# The coordinator of groups


class Heard:
    """A group coordinator that records its calls."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int]] = []

    def on_election(self, partition: int, leader_epoch: int) -> None:
        self.calls.append(("elected", partition, leader_epoch))

    def on_resignation(self, partition: int, leader_epoch: int) -> None:
        self.calls.append(("resigned", partition, leader_epoch))


@pytest.mark.parametrize(("era", "again"), [(FIXED, True), (MODELS["zookeeper/KAFKA-7164"], False)], ids=["fixed", "KAFKA-7164"])
def test_group_coordinator(brokers: Start, era: Spec, again: bool) -> None:
    """Called for __consumer_offsets only: for elections if the broker did not lead before, for following if that is a change."""
    cluster = brokers(era)
    cluster.elect(1)
    manager, heard = cluster.planes[1].replicas, Heard()
    manager.coordinator = heard
    reported = next(iter(cluster.requests[-1].partitions.values()))
    offsets = TopicPartition("__consumer_offsets", 7)

    def tell(epoch: int, leader: int, replicas: tuple[int, ...] = (1, 2)) -> list[tuple[str, int, int]]:
        heard.calls.clear()
        leadership = reported.leadership.__class__(leader, epoch, (1, 2), epoch, 7)
        states = {p: reported.__class__(leadership, replicas, False) for p in (TopicPartition("orders", 9), offsets)}
        manager.handle(LeaderAndIsrRequest(5, 7, -1, states, ()), 0)
        return heard.calls

    assert tell(3, 1) == [("elected", 7, 3)]
    assert tell(4, 1) == []
    assert tell(4, 2) == []
    assert tell(5, 2) == [("resigned", 7, 5)]
    assert tell(6, 2) == ([("resigned", 7, 6)] if again else [])
    assert tell(7, -1) == tell(7, 1, (2, 3)) == []
    assert tell(8, 1) == [("elected", 7, 8)]
