"""One change of many partitions and replicas: what an illegal or a failed one of them does to the others, and to the brokers."""

from __future__ import annotations

from collections import deque
from typing import Any

import pytest
from test_controller import P, Q, SteppedCluster, reported

from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, StopReplicaRequest
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.failover import StartMachines
from kafka_spec.impl.zookeeper.controller.state_changes import ChangePartitions, ChangeReplicas, PartitionChange, ReplicaChange
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerZkClient
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.replica import ReplicaState


def run(cluster: SteppedCluster, change: ChangePartitions | ChangeReplicas) -> None:
    """Let the active controller do one change of states."""
    cluster.active.agenda.append(change)
    cluster.settle()


@pytest.mark.parametrize("state", list(ReplicaState))
def test_an_illegal_change_to_offline_sends_nothing(state: ReplicaState) -> None:
    """StopReplica is sent exactly where the table has a row to Offline: no row is an error line, and no request."""
    cluster = SteppedCluster(3).settle().create((1, 2)).forget()
    controller = cluster.active
    controller.replicas.load((P, 2), state)
    legal = (state, ReplicaState.OFFLINE) in controller.replicas.machine.legal_pairs
    run(cluster, ChangeReplicas("offline_replica", deque([(P, 2)])))

    assert controller.replicas.state_of(P, 2) == (ReplicaState.OFFLINE if legal else state)
    stops = [reported(request) for request in cluster.sent(2) if isinstance(request, StopReplicaRequest)]
    assert stops == ([("stop", 0, False)] if legal else [])
    assert any("of replica 2 for partition orders-0" in line and "failed" in line for line in cluster.lines) == (not legal)


def refuse(monkeypatch: pytest.MonkeyPatch, method: str, refused: TopicPartition) -> None:
    """Let one operation of controllers fail for one partition, as ZooKeeper does for reasons of its own."""
    usual = getattr(ControllerZkClient, method)

    def refusing(self: ControllerZkClient, partition: TopicPartition, *rest: Any) -> Any:
        if partition == refused:
            raise CoordinationError("the operation failed")
        return usual(self, partition, *rest)

    monkeypatch.setattr(ControllerZkClient, method, refusing)


@pytest.mark.parametrize("refused", [P, Q])
def test_a_partition_that_cannot_be_created_loses_nothing_of_the_others(
    refused: TopicPartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If ZooKeeper refuses the state znode of one partition, it stays new; the other comes online, and its replicas hear of it."""
    cluster = SteppedCluster(3).settle()
    refuse(monkeypatch, "create_state", refused)
    cluster.create((1, 2), (2, 1))
    (other,) = {P, Q} - {refused}

    assert cluster.active.partitions.state_of(refused) == PartitionState.NEW
    assert cluster.active.partitions.state_of(other) == PartitionState.ONLINE
    for number in (1, 2):
        requests = [request for request in cluster.sent(number) if isinstance(request, LeaderAndIsrRequest)]
        assert [list(request.partitions) for request in requests] == [[other]]
    assert any(f"online_partition of partition {refused} failed: CoordinationError" in line for line in cluster.lines)
    monkeypatch.undo()
    cluster.bounce(1)
    assert cluster.settle().active.partitions.state_of(refused) == PartitionState.ONLINE


def test_a_replica_that_cannot_be_read_is_stopped_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """If a state znode cannot be read, its replica keeps its state and is sent StopReplica; the other replica goes offline."""
    cluster = SteppedCluster(3).settle().create((1, 2), (1, 2)).forget()
    refuse(monkeypatch, "read_state", P)
    run(cluster, ChangeReplicas("offline_replica", deque([(P, 2), (Q, 2)])))

    assert cluster.active.replicas.state_of(P, 2) == ReplicaState.ONLINE
    assert cluster.active.replicas.state_of(Q, 2) == ReplicaState.OFFLINE
    (stop,) = [request for request in cluster.sent(2) if isinstance(request, StopReplicaRequest)]
    assert set(stop.partitions) == {P, Q}


def test_changes_asked_for_by_hand() -> None:
    """A caller may ask for any change of states; it is done by the table's rows, and the caller hears what was refused."""
    cluster = SteppedCluster(3).settle().create((1, 2), (2, 1)).forget()
    refused: list[Any] = []
    controller = cluster.active
    controller.handle(PartitionChange("offline_partition", (P, Q), refused.append))
    controller.handle(PartitionChange("new_partition", (P,), refused.append))
    controller.handle(ReplicaChange("offline_replica", ((P, 2),), lambda: refused.append("done")))
    controller.handle(PartitionChange("online_partition", (P,), refused.append))
    cluster.settle()

    assert refused == [[], [P], "done", []]
    assert cluster.state(P) == (1, 2, (1,), 1)
    assert controller.partitions.state_of(Q) == PartitionState.OFFLINE


def test_start_up_asked_for_by_hand() -> None:
    """Start-up seeds both machines from what the controller knows: live replicas are online, dead ones leave the ISR."""
    cluster = SteppedCluster(3).settle().create((1, 2)).forget()
    controller = cluster.active
    del controller.context.live[2]
    controller.handle(StartMachines())
    cluster.settle()

    states = {broker: controller.replicas.state_of(P, broker) for broker in (1, 2)}
    assert states == {1: ReplicaState.ONLINE, 2: ReplicaState.OFFLINE}
    assert controller.partitions.state_of(P) == PartitionState.ONLINE
    assert cluster.state(P)[2] == (1,)
