"""The controller alone: its writes to ZooKeeper, requests and log lines; the results of crashes and fencing."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from test_log import MEMORY

from kafka_spec.impl.protocol.controller_requests import (
    NO_EPOCH,
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Leadership,
    Request,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.state_change_log import LogLevel, StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper import cluster as impl_cluster
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.impl.zookeeper.controller.broker_changes import BrokerChange, LeaderAndIsrResponseReceived
from kafka_spec.impl.zookeeper.controller.channels import Channels
from kafka_spec.impl.zookeeper.controller.context import ControllerContext
from kafka_spec.impl.zookeeper.controller.controlled_shutdown import ControlledShutdown
from kafka_spec.impl.zookeeper.controller.controller_election import ControllerChange
from kafka_spec.impl.zookeeper.controller.preferred_election import PreferredElection
from kafka_spec.impl.zookeeper.controller.request_batch import RequestBatch
from kafka_spec.impl.zookeeper.controller.state_changes import ChangeReplicas
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerZkClient
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.interface import NotEmpty
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble, Loss, MemorySession
from kafka_spec.impl.zookeeper.coordination.server import ZooKeeperServer
from kafka_spec.impl.zookeeper.coordination.zookeeper import Servers
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.replica import ReplicaState
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import ControllerState

P = TopicPartition("orders", 0)
Q = TopicPartition("orders", 1)


class SteppedCluster(impl_cluster.Cluster):
    """Brokers on one ensemble, whose controllers are stepped by hand; no request is delivered."""

    def __init__(self, count: int, era: Spec = FIXED, unclean: bool = False) -> None:
        folder = tempfile.mkdtemp(dir=MEMORY)
        weakref.finalize(self, shutil.rmtree, folder)
        self.ensemble = Ensemble()
        self.lines: list[str] = []
        super().__init__(
            Path(folder), self.ensemble, era, self.lines.append, settings=Settings(unclean_leader_election_enable=unclean)
        )
        self.admin = Admin(self.tools, Random(7), lambda _: None)
        for number in range(count):
            self.start(number)

    def settle(self) -> SteppedCluster:
        """Step all controllers until none has work."""
        for _ in range(10_000):
            if sum(b.controller.step() for b in self.brokers.values()) == 0:
                return self
        raise AssertionError("the controllers never become idle")

    def create(self, *assignment: tuple[int, ...]) -> SteppedCluster:
        """Create the topic, and let it settle."""
        self.admin.create_topic_with_assignment("orders", dict(enumerate(assignment)))
        return self.settle()

    def kill(self, number: int) -> SteppedCluster:
        """End a broker's session from the server's side, and let it notice."""
        self.expire(number)
        self.brokers[number].step()
        return self

    def revive(self, number: int) -> SteppedCluster:
        """Open another session for a broker."""
        self.reopen(number)
        return self

    def state(self, partition: TopicPartition = P) -> tuple[int, int, tuple[int, ...], int]:
        """Return leader, leader epoch, ISR and controller epoch of the state znode."""
        held = self.leadership(partition)
        assert held is not None
        return held.leader, held.leader_epoch, held.isr, held.controller_epoch

    def sent(self, number: int) -> list[Request]:
        """Return what the active controller has sent to a broker since the last call."""
        queue = self.active.channels.queues.get(number, [])
        requests = list(queue)
        if queue:
            queue.clear()  # type: ignore[union-attr]
        return requests

    def forget(self) -> SteppedCluster:
        """Empty all channels."""
        for number in self.brokers:
            self.sent(number)
        return self


def reported(request: Request, partition: TopicPartition = P) -> Any:
    """Return the part of a request for a partition, abbreviated."""
    state = request.partitions.get(partition)
    if isinstance(request, LeaderAndIsrRequest):
        assert isinstance(state, LeaderAndIsrState)
        return "lead", state.leadership.leader, state.leadership.leader_epoch, state.leadership.isr, state.is_new
    if isinstance(request, UpdateMetadataRequest):
        return "know", tuple(broker.number for broker in request.live_brokers), len(request.partitions)
    assert isinstance(state, StopReplicaState)
    return "stop", state.leader_epoch, state.delete


def all_told(requests: list[Request]) -> list[Any]:
    """Return what some requests say of the first partition."""
    return [reported(request) for request in requests]


@pytest.mark.parametrize("era", [FIXED, ERA_2_8, ERA_0_10], ids=lambda era: era.name)
def test_one_is_elected(era: Spec) -> None:
    """The first candidate is the controller, under epoch 1, and sends all brokers the live brokers; the others are on standby."""
    cluster = SteppedCluster(3, era).settle()

    assert [b.controller.life for b in cluster.brokers.values()] == [ControllerState.ACTIVE] + [ControllerState.STANDBY] * 2
    assert cluster.tools.get(znodes.CONTROLLER)[0] == b'{"version":1,"brokerid":0,"timestamp":"0"}'
    assert cluster.tools.get(znodes.CONTROLLER_EPOCH)[0] == b"1"
    assert [all_told(cluster.sent(n)) for n in range(3)] == [[("know", (0, 1, 2), 0)]] * 3


def test_requests_carry_epochs() -> None:
    """Every request names the controller, its epoch, and the epoch of the registration that it is meant for."""
    cluster = SteppedCluster(2).settle()
    (request,) = cluster.sent(1)
    stat = cluster.tools.exists(znodes.broker(1))

    assert stat is not None
    assert (request.controller, request.controller_epoch, request.broker_epoch) == (0, 1, stat.czxid)


def test_a_topic_comes_online() -> None:
    """A new topic's first live replica leads; the live ones are the ISR and receive LeaderAndIsr; all brokers get the metadata."""
    cluster = SteppedCluster(3).settle()
    cluster.kill(2).settle().forget()
    del cluster.lines[:]
    cluster.create((2, 1, 0))

    assert cluster.tools.get(znodes.state(P))[0] == b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":0,"isr":[1,0]}'
    assert [all_told(cluster.sent(n)) for n in range(2)] == [[("lead", 1, 0, (1, 0), True), ("know", (0, 1), 1)]] * 2
    assert cluster.active.partitions.state_of(P) == PartitionState.ONLINE
    assert [cluster.active.replicas.state_of(P, n) for n in range(3)] == [ReplicaState.ONLINE] * 3
    frame = "[1970-01-01 00:00:00,000] INFO [Controller id=0 epoch=1] {} (state.change.logger)\n"
    assert cluster.lines == [
        frame.format("Changed partition orders-0 state from NonExistentPartition to NewPartition with assigned replicas 2,1,0"),
        frame.format(
            "Changed partition orders-0 from NewPartition to OnlinePartition with state "
            "LeaderAndIsr(leader=1, leaderEpoch=0, isr=List(1, 0), zkVersion=0)"
        ),
        frame.format("Sending LeaderAndIsr request to broker 0 with 0 become-leader and 1 become-follower partitions"),
        frame.format("Sending LeaderAndIsr request to broker 1 with 1 become-leader and 0 become-follower partitions"),
        frame.format("Sending UpdateMetadata request to brokers Set(0, 1) for 1 partitions"),
    ]


def test_a_topic_without_live_replicas_waits() -> None:
    """Without a live replica the partition stays new, and comes online when a broker that holds it comes."""
    cluster = SteppedCluster(2).settle()
    cluster.kill(1).settle().create((1,))
    assert cluster.active.partitions.state_of(P) == PartitionState.NEW
    assert cluster.leadership(P) is None
    cluster.revive(1).settle()

    assert (cluster.active.partitions.state_of(P), cluster.state()) == (PartitionState.ONLINE, (1, 0, (1,), 1))


def test_partitions_are_added() -> None:
    """A partition that is added to a topic is created; the others stay as they are."""
    cluster = SteppedCluster(2).settle().create((0, 1))
    cluster.admin.add_partitions("orders", 2, {1: (1, 0)})
    cluster.settle()

    assert (cluster.state(P), cluster.state(Q)) == ((0, 0, (0, 1), 1), (1, 0, (1, 0), 1))


def test_a_leader_dies() -> None:
    """The next live member of the ISR leads under the next epoch; the dead one has left already, so there is only one new epoch."""
    cluster = SteppedCluster(3).settle().create((1, 2, 0)).forget()
    cluster.kill(1).settle()

    assert cluster.state() == (2, 1, (2, 0), 1)
    assert all_told(cluster.sent(2)) == [
        ("know", (0, 2), 0),
        ("lead", 2, 1, (2, 0), False),
        ("know", (0, 2), 1),
        ("lead", 2, 1, (2, 0), False),
        ("know", (0, 2), 1),
    ]
    assert cluster.active.replicas.state_of(P, 1) == ReplicaState.OFFLINE


def test_a_follower_dies() -> None:
    """A dead follower leaves the ISR under the next epoch; the leader stays, and receives LeaderAndIsr."""
    cluster = SteppedCluster(3).settle().create((1, 2, 0)).forget()
    cluster.kill(2).settle()

    assert cluster.state() == (1, 1, (1, 0), 1)
    assert all_told(cluster.sent(1)) == [("know", (0, 1), 0), ("lead", 1, 1, (1, 0), False), ("know", (0, 1), 1)]


def test_the_last_replica_dies() -> None:
    """The last member of the ISR stays in it when it fails, without a leader, and leads again after its restart."""
    cluster = SteppedCluster(2).settle().create((1,))
    cluster.kill(1).settle()
    assert (cluster.state(), cluster.active.partitions.state_of(P)) == ((-1, 1, (1,), 1), PartitionState.OFFLINE)
    cluster.revive(1).forget().settle()

    assert (cluster.state(), cluster.active.partitions.state_of(P)) == ((1, 2, (1,), 1), PartitionState.ONLINE)
    assert all_told(cluster.sent(1)) == [
        ("know", (0, 1), 1),
        ("lead", -1, 1, (1,), False),
        ("know", (0, 1), 1),
        ("lead", 1, 2, (1,), False),
        ("know", (0, 1), 1),
    ]


@pytest.mark.parametrize(("configured", "default"), [("true", False), (None, True), ("false", True), (None, False)])
def test_unclean_elections(configured: str | None, default: bool) -> None:
    """A replica outside the ISR leads only where the topic, or else the broker, permits it; then it is the whole ISR."""
    cluster = SteppedCluster(3, unclean=default).settle()
    config = {} if configured is None else {"unclean.leader.election.enable": configured}
    cluster.admin.create_topic_with_assignment("orders", {0: (1, 2)}, config)
    cluster.settle().kill(2).settle().kill(1).settle()
    cluster.revive(2).settle()

    permitted = configured == "true" or (configured is None and default)
    assert cluster.state()[0::2] == ((2, (2,)) if permitted else (-1, (1,)))


@pytest.mark.parametrize(("era", "noticed"), [(FIXED, True), (ERA_0_10, False)], ids=["fixed", "era_0_10"])
def test_a_bounce(era: Spec, noticed: bool) -> None:
    """A broker that is back before it was missed is failed and started anew, under its new epoch; 0.10 sees nothing."""
    cluster = SteppedCluster(3, era).settle().create((1, 2)).forget()
    cluster.kill(1).revive(1).settle()
    stat = cluster.tools.exists(znodes.broker(1))

    assert stat is not None
    assert (cluster.state()[0] == 2) == noticed
    assert (cluster.active.context.broker_epochs[1] == stat.czxid) == noticed
    assert bool(cluster.sent(1)) == noticed


def test_fail_over() -> None:
    """The next controller reads everything, sends the live brokers and state, then takes dead ones offline and elects."""
    cluster = SteppedCluster(3).settle().create((0, 1, 2))
    cluster.kill(0).settle()

    assert (cluster.active.controller_id, cluster.tools.get(znodes.CONTROLLER_EPOCH)[0]) == (1, b"2")
    assert cluster.state() == (1, 2, (1, 2), 2)
    assert all_told(cluster.sent(2)) == [
        ("know", (1, 2), 0),
        ("lead", 0, 0, (0, 1, 2), False),
        ("know", (1, 2), 1),
        ("lead", -1, 1, (1, 2), False),
        ("know", (1, 2), 1),
        ("lead", 1, 2, (1, 2), False),
        ("know", (1, 2), 1),
    ]
    old = cluster.brokers[0].controller
    assert (old.life, old.partitions.entities(), old.deletions.entities(), old.channels.queues) == (
        ControllerState.STANDBY,
        (),
        (),
        {},
    )
    assert old.context == ControllerContext(deletions=old.deletions)


@pytest.mark.parametrize(
    ("era", "fenced"), [(FIXED, True), (ERA_2_8, True), (ERA_0_10, False)], ids=["fixed", "era_2_8", "era_0_10"]
)
def test_fencing(era: Spec, fenced: bool) -> None:
    """A controller that was replaced without its knowledge is refused at its first write, and resigns; in 0.10 it writes."""
    cluster = SteppedCluster(4, era).settle().create((1, 2, 3))
    old = cluster.active
    cluster.tools.delete(znodes.CONTROLLER)
    cluster.brokers[1].controller.events.append(ControllerChange())
    while cluster.brokers[1].controller.step():
        pass
    assert cluster.tools.get(znodes.CONTROLLER_EPOCH)[0] == b"2"
    before = cluster.state()
    old.session.events()  # the old one hears nothing of it
    cluster.kill(3)
    old.handle(BrokerChange())
    for _ in range(6):
        old.step()

    assert (cluster.state() == before) == fenced
    assert (old.life == ControllerState.STANDBY) == fenced


def test_a_newer_controllers_state_is_left_alone() -> None:
    """A newer controller's write is neither overwritten nor cached; StopReplica is sent all the same."""
    cluster = SteppedCluster(3, ERA_0_10).settle().create((1, 2)).forget()
    state = znodes.State(1, 5, (1, 2), 9)
    cluster.tools.set(znodes.state(P), state.encode())
    cluster.active.handle(ControlledShutdown(2, 1 << 60, lambda *_: None))
    cluster.settle()

    assert cluster.state() == (1, 5, (1, 2), 9)
    assert [reported(request)[0] for request in cluster.sent(2)] == ["stop", "stop"]
    assert cluster.active.replicas.state_of(P, 2) == ReplicaState.ONLINE
    assert any("StateChangeFailedException: no_newer_controller_wrote" in line for line in cluster.lines)


def test_an_error_in_the_fail_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller whose operation fails in fail-over gives up; when the cause is repaired, a controller is elected."""
    cluster = SteppedCluster(2).settle().create((0, 1))
    mend = refuse_brokers(monkeypatch)
    cluster.kill(0)
    for _ in range(50):
        cluster.brokers[1].controller.step()
    assert any("Error processing event: NotEmpty" in line for line in cluster.lines)
    assert cluster.brokers[1].controller.life != ControllerState.ACTIVE
    mend()

    assert cluster.settle().active.controller_id == 1
    assert cluster.state()[0] == 1


def refuse_brokers(monkeypatch: pytest.MonkeyPatch) -> Callable[[], object]:
    """Have controllers be refused to read the brokers; return what ends that."""
    read = ControllerZkClient.read_brokers

    def refused(self: ControllerZkClient) -> Any:
        raise NotEmpty(znodes.BROKER_IDS)

    monkeypatch.setattr(ControllerZkClient, "read_brokers", refused)
    return lambda: monkeypatch.setattr(ControllerZkClient, "read_brokers", read)


@pytest.mark.parametrize("loss", list(Loss))
def test_a_loss_while_giving_up(loss: Loss, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that breaks while a controller gives up, wherever, changes nothing: later a controller is elected."""
    for number in range(20):
        cluster = SteppedCluster(2).settle().create((0, 1))
        mend = refuse_brokers(monkeypatch)
        session = cluster.brokers[1].session
        assert isinstance(session, MemorySession)
        session.lose(loss, after=number)
        cluster.kill(0)
        for _ in range(40):
            cluster.brokers[1].controller.step()
        assert not session.will_lose
        mend()
        assert cluster.settle().state()[0] == 1


def test_an_error_in_an_event_ends_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """A refused operation is logged; the controller continues with the next event."""
    cluster = SteppedCluster(2).settle()
    mend = refuse_brokers(monkeypatch)
    cluster.active.handle(BrokerChange())
    cluster.settle()
    assert any("Error processing event: NotEmpty('/brokers/ids" in line for line in cluster.lines)
    mend()

    assert cluster.create((0, 1)).state() == (0, 0, (0, 1), 1)


def test_preferred_elections() -> None:
    """The first replica is elected where it does not lead, if it is live and in sync; every partition is answered for."""
    cluster = SteppedCluster(3).settle().create((1, 2), (2, 1), (0, 1))
    cluster.kill(1).settle().revive(1).settle()
    isr = znodes.State(2, 1, (2, 1), 1)
    cluster.tools.set(znodes.state(P), isr.encode())
    path = cluster.tools.create(znodes.isr_change(), znodes.encode_partitions([P]), sequential=True)[0]
    cluster.settle()
    assert cluster.tools.exists(path) is None
    answers: list[Any] = []
    unknown = TopicPartition("other", 0)
    cluster.active.handle(PreferredElection((P, Q, unknown), answers.append))
    cluster.settle()

    assert answers == [{unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Q: ErrorCode.ELECTION_NOT_NEEDED, P: ErrorCode.NONE}]
    assert cluster.state()[:3] == (1, 2, (2, 1))
    cluster.kill(2).settle()
    cluster.active.handle(PreferredElection(None, answers.append))
    cluster.settle()
    assert answers[1] == {
        P: ErrorCode.ELECTION_NOT_NEEDED,
        Q: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        TopicPartition("orders", 2): ErrorCode.ELECTION_NOT_NEEDED,
    }


def test_preferred_elections_asked_by_a_znode() -> None:
    """/admin/preferred_replica_election is executed and deleted; unknown partitions in it are ignored."""
    cluster = SteppedCluster(3).settle().create((1, 2))
    cluster.kill(1).settle().revive(1).settle()
    cluster.tools.set(znodes.state(P), znodes.State(2, 1, (2, 1), 1).encode())
    cluster.tools.create(znodes.PREFERRED_REPLICA_ELECTION, znodes.encode_partitions([P, TopicPartition("other", 0)]))
    cluster.settle()

    assert cluster.state()[:3] == (1, 2, (2, 1))
    assert cluster.tools.exists(znodes.PREFERRED_REPLICA_ELECTION) is None


def test_a_broker_shuts_down() -> None:
    """Its leadership moves, it leaves all ISRs, and the answer has what it still leads: partitions without another live replica."""
    cluster = SteppedCluster(3).settle().create((1, 2), (2, 1), (1, 0)).forget()
    R = TopicPartition("orders", 2)  # noqa: N806 - a partition, like the others
    cluster.tools.set(znodes.state(R), znodes.State(1, 0, (1,), 1).encode())
    answers: list[Any] = []
    epoch = cluster.active.context.broker_epochs[1]
    cluster.active.handle(ControlledShutdown(1, epoch, lambda *answer: answers.append(answer)))
    cluster.settle()

    assert (cluster.state(P)[:3], cluster.state(Q)[:3], cluster.state(R)[:3]) == ((2, 1, (2,)), (2, 1, (2,)), (1, 0, (1,)))
    assert answers == [(ErrorCode.NONE, (R,))]
    requests = cluster.sent(1)
    assert [reported(r, P) for r in requests if isinstance(r, LeaderAndIsrRequest)] == [("lead", 2, 1, (2,), False)]
    assert [reported(r, Q) for r in requests if isinstance(r, StopReplicaRequest)] == [("stop", 0, False)] * 2


def test_shutdowns_that_are_refused() -> None:
    """Requests of an older registration, of an unknown broker, or to a broker that is not the controller are refused."""
    cluster = SteppedCluster(3).settle()
    answers: list[Any] = []
    for event in (
        ControlledShutdown(1, 0, lambda *answer: answers.append(answer)),
        ControlledShutdown(9, 0, lambda *answer: answers.append(answer)),
    ):
        cluster.active.handle(event)
    cluster.brokers[1].controller.handle(ControlledShutdown(1, 0, lambda *answer: answers.append(answer)))
    cluster.brokers[1].controller.handle(PreferredElection((P,), answers.append))
    cluster.settle()

    assert answers == [
        (ErrorCode.STALE_BROKER_EPOCH, ()),
        (ErrorCode.STALE_CONTROLLER_EPOCH, ()),
        (ErrorCode.BROKER_NOT_AVAILABLE, ()),
        {P: ErrorCode.NOT_CONTROLLER},
    ]


def test_who_asked_a_controller_that_ends_hears_it() -> None:
    """When a controller ends, waiting callers, in its queue or on its agenda, are answered that it is no longer the controller."""
    cluster = SteppedCluster(3).settle().create((1, 2), (2, 1))
    answers: list[Any] = []
    controller = cluster.active
    for _ in range(2):
        controller.handle(ControlledShutdown(1, controller.context.broker_epochs[1], lambda *answer: answers.append(answer)))
    controller.handle(PreferredElection((P,), answers.append))
    controller.step()
    controller.step()
    cluster.kill(0)

    assert answers == [
        (ErrorCode.STALE_CONTROLLER_EPOCH, ()),
        (ErrorCode.STALE_CONTROLLER_EPOCH, ()),
        {P: ErrorCode.NOT_CONTROLLER},
    ]


def test_a_lost_log_directory() -> None:
    """A replica whose broker answers with a storage error leaves as if its broker had died; one without an error is back."""
    cluster = SteppedCluster(3).settle().create((1, 2), (2, 1)).forget()
    cluster.active.handle(LeaderAndIsrResponseReceived(1, ErrorCode.STALE_CONTROLLER_EPOCH, {P: ErrorCode.KAFKA_STORAGE_ERROR}))
    cluster.settle()
    assert cluster.state()[:3] == (1, 0, (1, 2))
    assert "Received error STALE_CONTROLLER_EPOCH in LeaderAndIsr response from broker 1" in cluster.lines[-1]
    cluster.active.handle(LeaderAndIsrResponseReceived(1, ErrorCode.NONE, {P: ErrorCode.KAFKA_STORAGE_ERROR, Q: ErrorCode.NONE}))
    cluster.settle()
    assert (cluster.state(P)[:3], cluster.state(Q)[:3]) == ((2, 1, (2,)), (2, 0, (2, 1)))
    cluster.active.handle(LeaderAndIsrResponseReceived(1, ErrorCode.NONE, {P: ErrorCode.NONE}))
    cluster.settle()
    assert cluster.active.context.is_online(1, P)


def test_isr_that_grew_between_election_and_removal() -> None:
    """A leader that adds a live replica to the ISR after the election for it failed, and before it leaves: fixed elects again."""
    outcomes = []
    for era in (FIXED, ERA_2_8):
        cluster = SteppedCluster(3, era).settle().create((1, 2))
        cluster.kill(2).settle().revive(2).settle()
        assert cluster.state()[:3] == (1, 1, (1,))
        cluster.kill(1)
        while cluster.active.partitions.state_of(P) != PartitionState.OFFLINE or not isinstance(
            cluster.active.agenda[0], ChangeReplicas
        ):
            cluster.active.step()
        cluster.tools.set(znodes.state(P), znodes.State(1, 1, (1, 2), 1).encode())
        outcomes.append(cluster.settle().state()[0])

    assert outcomes == [2, -1]


# Crashes and losses at every place


def scenario(cluster: SteppedCluster, disturb: Callable[[], None]) -> None:
    """Create a topic, lose a broker, have it back, with a disturbance before every step of the active controller."""

    def settle() -> None:
        for _ in range(3000):
            disturb()
            if sum(broker.controller.step() for broker in cluster.brokers.values()) == 0:
                return
        raise AssertionError("the controllers never become idle")

    settle()
    cluster.admin.create_topic_with_assignment("orders", {0: (1, 2, 3), 1: (2, 3, 1)})
    settle()
    cluster.kill(3)
    settle()
    cluster.revive(3)
    settle()


def test_a_crash_at_every_step() -> None:
    """Wherever in its work a controller's session ends, the next one leaves every partition with a live leader of the ISR."""
    for number in itertools.count():
        cluster = SteppedCluster(4)
        steps = itertools.count()

        def crash(cluster: SteppedCluster = cluster, steps: Iterator[int] = steps, number: int = number) -> None:
            if next(steps) == number:
                for broker in (0, 1):
                    if cluster.brokers[broker].controller.life != ControllerState.STANDBY:
                        cluster.kill(broker)
                        return

        scenario(cluster, crash)
        for partition in (P, Q):
            leader, _, isr, _ = cluster.state(partition)
            assert leader in isr
            assert leader in cluster.active.context.live
            assert cluster.active.context.leadership[partition].leader == leader
            assert cluster.active.partitions.state_of(partition) == PartitionState.ONLINE
        if next(steps) <= number:
            assert number > 15
            return


@pytest.mark.parametrize("loss", list(Loss))
def test_a_loss_at_every_operation(loss: Loss) -> None:
    """Wherever the connection breaks, the work is done all the same, also after a state znode was created without an answer."""
    for number in itertools.count():
        cluster = SteppedCluster(4)
        session = cluster.brokers[0].session
        assert isinstance(session, MemorySession)
        session.lose(loss, after=number)
        scenario(cluster, lambda: None)
        for partition in (P, Q):
            leader, _, isr, _ = cluster.state(partition)
            assert leader in isr
            assert cluster.active.partitions.state_of(partition) == PartitionState.ONLINE
        assert cluster.active.context.broker_epochs.keys() == {0, 1, 2, 3}
        if session.will_lose:
            assert number > 40
            return


class ControllersUnderChange(RuleBasedStateMachine):
    """Brokers come and go, controllers are stepped in any order, topics and wishes come in between."""

    @initialize(era=st.sampled_from([FIXED, ERA_2_8]))
    def begin(self, era: Spec) -> None:
        self.cluster = SteppedCluster(3, era)
        self.seen: dict[TopicPartition, tuple[int, int]] = {}
        self.epoch = 0
        self.topics = 0

    @rule(number=st.integers(0, 2), count=st.integers(1, 8))
    def work(self, number: int, count: int) -> None:
        for _ in range(count):
            self.cluster.brokers[number].controller.step()

    @rule(number=st.integers(0, 2))
    def bounce(self, number: int) -> None:
        self.cluster.expire(number)
        self.cluster.revive(number)

    @rule(number=st.integers(0, 2))
    def expire(self, number: int) -> None:
        self.cluster.expire(number)

    @rule(number=st.integers(0, 2))
    def come_back(self, number: int) -> None:
        if self.cluster.tools.exists(znodes.broker(number)) is None:
            self.cluster.revive(number)

    @rule(replicas=st.permutations([0, 1, 2]), count=st.integers(1, 3))
    def create(self, replicas: list[int], count: int) -> None:
        self.topics += 1
        self.cluster.admin.create_topic_with_assignment(f"topic{self.topics}", {0: tuple(replicas[:count])})

    @rule(number=st.integers(0, 2))
    def prefer(self, number: int) -> None:
        self.cluster.brokers[number].controller.handle(PreferredElection(None, lambda _: None))

    @rule()
    def come_to_rest(self) -> None:
        """When all brokers run and no work is left, there is one controller, whose memory equals ZooKeeper's content."""
        for number in range(3):
            self.come_back(number)
        cluster = self.cluster.settle()
        context = cluster.active.context
        assert sorted(context.live) == [0, 1, 2]
        for number, epoch in context.broker_epochs.items():
            stat = cluster.tools.exists(znodes.broker(number))
            assert stat is not None
            assert stat.czxid == epoch
        assert sorted({p.topic for p in context.assignments}) == sorted(cluster.tools.children(znodes.TOPICS))
        for partition in context.assignments:
            leader, epoch, isr, _ = cluster.state(partition)
            held = context.leadership[partition]
            assert (leader, epoch, isr) == (held.leader, held.leader_epoch, held.isr)
            assert leader in isr
            assert cluster.active.partitions.state_of(partition) == PartitionState.ONLINE

    @invariant()
    def epochs_grow(self) -> None:
        if not hasattr(self, "cluster"):
            return
        tools = self.cluster.tools
        epoch = int(tools.get(znodes.CONTROLLER_EPOCH)[0]) if tools.exists(znodes.CONTROLLER_EPOCH) else 0
        assert epoch >= self.epoch
        self.epoch = epoch
        for topic in tools.children(znodes.TOPICS):
            partition = TopicPartition(topic, 0)
            if tools.exists(znodes.state(partition)) is None:
                assert partition not in self.seen
                continue
            leader, leader_epoch, isr, controller_epoch = self.cluster.state(partition)
            before = self.seen.get(partition, (-1, 0))
            assert (leader_epoch, controller_epoch) >= before
            assert controller_epoch >= before[1]
            self.seen[partition] = leader_epoch, controller_epoch
            assert leader == -1 or leader in isr
            assert isr


ControllersUnderChange.TestCase.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
TestLife = ControllersUnderChange.TestCase

# Requests


def batch(live: tuple[int, ...] = (1, 2, 3)) -> tuple[ControllerContext, Channels, RequestBatch]:
    """Return an empty batch of controller 5 in epoch 7, with channels to the live brokers."""
    brokers = {number: BrokerRegistration(number, ()) for number in live}
    context = ControllerContext(epoch=7, live=brokers, broker_epochs={number: 100 + number for number in live})
    context.assignments = {P: (1, 2), Q: (2, 3)}
    context.leadership = {P: Leadership(1, 4, (1, 2), 9, 7)}
    channels = Channels()
    for number in live:
        channels.open(number)
    return context, channels, RequestBatch(5, context, channels, StateChangeLog(lambda _: None, lambda: 0.0, LogLevel.ERROR))


def test_requests_are_merged() -> None:
    """The last state of a partition wins, but new stays new and deletion stays deletion; metadata is as cached when added."""
    context, channels, requests = batch()
    requests.begin()
    requests.add_leader_and_isr([1, 2], P, is_new=True)
    requests.add_stop_replica(3, P, delete=True)
    requests.add_stop_replica(3, Q)
    context.leadership[P] = Leadership(2, 5, (2,), 10, 7)
    requests.add_leader_and_isr([2], P, is_new=False)
    requests.add_stop_replica(3, P)
    context.leadership[P] = Leadership(2, 6, (2,), 11, 7)
    requests.send()

    lead, know, *more = channels.queues[2]
    assert not more
    assert isinstance(lead, LeaderAndIsrRequest)
    assert lead.partitions == {P: LeaderAndIsrState(Leadership(2, 5, (2,), 10, 7), (1, 2), True)}
    assert [broker.number for broker in lead.live_leaders] == [2]
    assert isinstance(know, UpdateMetadataRequest)
    assert know.partitions[P].leadership.leader_epoch == 5
    assert [broker.number for broker in know.live_brokers] == [1, 2, 3]
    know, stop = channels.queues[3]
    assert isinstance(stop, StopReplicaRequest)
    assert stop.partitions == {P: StopReplicaState(5, True), Q: StopReplicaState(NO_EPOCH, False)}
    assert stop.broker_epoch == 103


def test_requests_go_to_the_registered() -> None:
    """A broker that is not registered gets nothing; a batch that was not sent keeps its requests, and no other can begin."""
    _, channels, requests = batch(live=(1,))
    requests.begin()
    requests.add_leader_and_isr([1, 2], P, is_new=False)
    with pytest.raises(RuntimeError, match="never sent"):
        requests.begin()
    requests.send()
    requests.begin()

    assert [type(request) for request in channels.queues[1]] == [LeaderAndIsrRequest, UpdateMetadataRequest]
    assert list(channels.queues) == [1]
    assert isinstance(channels.answered(1), LeaderAndIsrRequest)
    channels.close(1)
    assert channels.queues == {}


# Real ZooKeeper


def test_fail_over_with_real_zookeeper(tmp_path: Path) -> None:
    """A hundred partitions on three brokers: the controller's session ends, and the next leaves none without a leader."""
    with ZooKeeperServer(tmp_path / "zookeeper") as server, Servers(server.hosts) as servers:
        cluster = impl_cluster.Cluster(tmp_path, servers)
        for number in range(3):
            cluster.start(number)

        def leaders() -> list[int]:
            """Return the leaders of the partitions that have a state znode."""
            held = [cluster.leadership(TopicPartition("orders", n)) for n in range(100)]
            return [one.leader for one in held if one is not None]

        def settle(who: list[BrokerProcess], done: Callable[[], bool]) -> None:
            deadline = time.monotonic() + 60
            while sum(broker.step() for broker in who) > 0 or not done():
                assert time.monotonic() < deadline, "the controllers never become idle"

        def active(who: list[BrokerProcess]) -> list[BrokerProcess]:
            return [broker for broker in who if broker.controller.life == ControllerState.ACTIVE]

        brokers = list(cluster.brokers.values())
        settle(brokers, lambda: len(active(brokers)) == 1)
        (first,) = active(brokers)
        Admin(cluster.tools, Random(1), print).create_topic("orders", 100, 3)
        settle(brokers, lambda: len(leaders()) == 100)
        assert sorted(set(leaders())) == [0, 1, 2]

        cluster.expire(first.number)
        others = [broker for broker in brokers if broker is not first]
        settle(others, lambda: len(active(others)) == 1 and first.number not in leaders())
        assert -1 not in leaders()
        assert active(others)[0].controller.context.epoch == 2
        first.controller.handle(BrokerChange())
        while first.step():
            pass
        assert first.controller.life == ControllerState.STANDBY

        cluster.reopen(first.number)
        settle(brokers, lambda: len(active(brokers)[0].controller.context.live) == 3)
        assert len(active(brokers)) == 1
        assert cluster.tools.get(znodes.CONTROLLER_EPOCH)[0] == b"2"
