"""A broker deletes replicas: which requests it takes, what is left on disk, and what a crash in between leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from test_log import batch
from test_replica_manager import P, Q, Start, folder, lead, lines, start, stop

from kafka_spec.impl.log import checkpoint
from kafka_spec.impl.log.manager import DELETED, LogManager
from kafka_spec.impl.protocol.controller_requests import (
    NO_EPOCH,
    Leadership,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
    UpdateMetadataState,
)
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.spec.decisions.fencing import EPOCH_DURING_DELETE, LEADER_DURING_DELETE
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import Role

__all__ = ["folder", "lines", "start"]
LONG_AGO = 10**9


def holding(start: Start, era: Spec = FIXED, epoch: int = 3) -> ReplicaManager:
    """Return a broker that leads the partition with one committed record, as its checkpoint says."""
    manager = start(era)
    manager.handle(lead(epoch, isr=(1,), replicas=(1,)), 0)
    manager.partitions[P].opened.append_as_leader(batch(b"old"), epoch)
    manager.advance_high_watermark(P, 0)
    manager.checkpoint_high_watermarks()
    return manager


def folders(manager: ReplicaManager, base: Path) -> tuple[bool, int]:
    """Return whether the partition's log exists, and the number of renamed folders."""
    return (base / str(P)).exists(), sum(path.name.endswith(DELETED) for path in base.iterdir())


@pytest.mark.parametrize(
    ("era", "epoch", "code"),
    [
        *((era, EPOCH_DURING_DELETE, ErrorCode.NONE) for era in (FIXED, ERA_2_8, ERA_0_10)),
        *((era, NO_EPOCH, ErrorCode.NONE) for era in (FIXED, ERA_2_8, ERA_0_10)),
        *((era, 4, ErrorCode.NONE) for era in (FIXED, ERA_2_8, ERA_0_10)),
        (FIXED, 3, ErrorCode.NONE),
        (ERA_2_8, 3, ErrorCode.FENCED_LEADER_EPOCH),
        (ERA_0_10, 3, ErrorCode.NONE),
        (FIXED, 2, ErrorCode.FENCED_LEADER_EPOCH),
        (ERA_2_8, 2, ErrorCode.FENCED_LEADER_EPOCH),
        (ERA_0_10, 2, ErrorCode.NONE),
    ],
)
def test_what_is_deleted(start: Start, folder: Path, era: Spec, epoch: int, code: ErrorCode) -> None:
    """A deletion is answered with a code; one that an epoch refuses deletes nothing; one that passes forgets epoch and records."""
    manager = holding(start, era)
    assert manager.handle(stop(epoch, delete=True), 0).partitions == {P: code}
    if code != ErrorCode.NONE:
        assert (manager.role_of(P), manager.partitions[P].leader_epoch) == (Role.LEADER, 3)
        assert folders(manager, folder) == (True, 0)
        return
    assert (manager.role_of(P), P in manager.partitions) == (Role.NONE, False)
    assert folders(manager, folder) == (False, 1)
    assert checkpoint.read_offsets(folder / checkpoint.REPLICATION_OFFSETS) == {}
    assert manager.handle(stop(epoch, delete=True), 0).partitions == {P: ErrorCode.NONE}

    assert manager.handle(lead(0, isr=(1,), replicas=(1,)), 0).partitions == {P: ErrorCode.NONE}
    again = manager.partitions[P]
    assert (again.leader_epoch, again.opened.end_offset, again.high_watermark, again.opened.epochs) == (0, 0, 0, ((0, 0),))


@pytest.mark.parametrize("role", [Role.NONE, Role.FOLLOWER, Role.OFFLINE])
def test_every_role_answers(start: Start, folder: Path, role: Role) -> None:
    """A replica that follows, one that waits for its leader and one whose log failed all answer; none raises."""
    manager = start()
    if role == Role.NONE:
        manager.alive &= 0
    manager.handle(lead(0, leader=2), 0)
    if role == Role.OFFLINE:
        manager._fail(P, OSError("the disk is gone"))
    assert manager.role_of(P) == role
    refused = role == Role.OFFLINE
    answer = manager.handle(stop(EPOCH_DURING_DELETE, delete=True), 0).partitions

    assert answer == {P: ErrorCode.KAFKA_STORAGE_ERROR if refused else ErrorCode.NONE}
    assert (P in manager.partitions, P in manager.fetchers) == (refused, False)
    assert folders(manager, folder) == (refused, 0 if refused else 1)


def test_many_are_answered_apart(start: Start) -> None:
    """Each partition of a request has its own code, whatever those of the others."""
    manager = holding(start)
    request = StopReplicaRequest(5, 7, 50, {P: StopReplicaState(2, True), Q: StopReplicaState(NO_EPOCH, True)})
    assert manager.handle(request, 0).partitions == {P: ErrorCode.FENCED_LEADER_EPOCH, Q: ErrorCode.NONE}


def test_a_log_that_nobody_hosts_is_deleted(start: Start, folder: Path) -> None:
    """After a restart, before any LeaderAndIsr, a deletion removes the log that the former process left."""
    holding(start).crash()
    manager = start()
    assert manager.handle(stop(EPOCH_DURING_DELETE, delete=True), 0).partitions == {P: ErrorCode.NONE}
    assert folders(manager, folder) == (False, 1)


def test_files_go_later(start: Start, folder: Path) -> None:
    """Renamed folders stay for the delay, counted from when they are first seen, also by the next process."""
    manager = holding(start)
    manager.handle(stop(EPOCH_DURING_DELETE, delete=True), 0)
    manager.logs.remove_deleted(1000, 60_000)
    manager.logs.remove_deleted(60_999, 60_000)
    assert folders(manager, folder) == (False, 1)
    manager.crash()
    manager = start()
    manager.logs.remove_deleted(LONG_AGO, 60_000)
    assert folders(manager, folder) == (False, 1)
    manager.logs.remove_deleted(LONG_AGO + 60_000, 60_000)
    assert (folders(manager, folder), manager.logs.deleted) == ((False, 0), {})


@pytest.mark.parametrize("after", range(5))
def test_a_crash_in_between(start: Start, folder: Path, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a deletion is cut off, the replica is whole or gone after a restart, and a new log of that name begins empty."""
    manager = holding(start)
    steps = 0

    def step(usual: Any) -> Any:
        def counted(*arguments: Any) -> Any:
            nonlocal steps
            if steps == after:
                raise SystemExit
            steps += 1
            return usual(*arguments)

        return counted

    for owner, name in ((Path, "rename"), (checkpoint, "sync_folder"), (Path, "replace")):
        monkeypatch.setattr(owner, name, step(getattr(owner, name)))
    try:
        manager.handle(stop(EPOCH_DURING_DELETE, delete=True), 0)
    except SystemExit:
        pass
    else:
        assert after == steps == 4
    monkeypatch.undo()
    manager.crash()
    manager = start()
    exists, _ = folders(manager, folder)
    assert exists == (after == 0)
    manager.handle(lead(0, isr=(1,), replicas=(1,)), 0)
    hosted = manager.partitions[P]
    kept = 1 if exists else 0
    assert (hosted.opened.end_offset, hosted.high_watermark) == (kept, kept)
    hosted.opened.append_as_leader(batch(b"new"), 0)
    manager.crash()
    manager = start()
    manager.handle(lead(1, isr=(1, 2)), 0)
    assert manager.partitions[P].high_watermark == kept


def test_a_disk_that_refuses(start: Start, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replica whose folder cannot be renamed answers a storage error and is offline; the log is still there."""
    manager = holding(start)

    def refused(*_: object) -> None:
        raise OSError("read-only file system")

    monkeypatch.setattr(Path, "rename", refused)
    assert manager.handle(stop(EPOCH_DURING_DELETE, delete=True), 0).partitions == {P: ErrorCode.KAFKA_STORAGE_ERROR}
    assert manager.role_of(P) == Role.OFFLINE
    assert manager.handle(stop(EPOCH_DURING_DELETE, delete=True), 0).partitions == {P: ErrorCode.KAFKA_STORAGE_ERROR}
    assert folders(manager, folder) == (True, 0)


def test_the_cache_forgets_what_is_deleted(start: Start) -> None:
    """An UpdateMetadata with the mark of deletion takes the partition out of the cache, and no other."""
    manager = start()
    states = {p: UpdateMetadataState(Leadership(1, 0, (1,), 0, 7), (1,), ()) for p in (P, Q)}
    manager.handle(UpdateMetadataRequest(5, 7, 50, states, ()), 0)
    mark = UpdateMetadataState(Leadership(LEADER_DURING_DELETE, 0, (1,), 0, 7), (1,), ())
    manager.handle(UpdateMetadataRequest(5, 7, 50, {P: mark}, ()), 0)
    assert set(manager.metadata) == {Q}


def test_a_long_name(tmp_path: Path) -> None:
    """The longest topic name leaves a renamed folder with a name that the file system accepts."""
    partition = TopicPartition("t" * 249, 0)
    manager = LogManager(tmp_path)
    manager.open(partition)
    assert manager.delete([partition]) == {}
    (renamed,) = manager.deleted
    assert (len(renamed.name), renamed.name.endswith(DELETED)) == (255, True)
