"""Topics are deleted: by controllers that die at every step, with dead replicas, and beside everything else that may happen."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from random import Random

import pytest
from test_log import MEMORY

from kafka_spec.impl.protocol.controller_requests import StopReplicaRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.controller.broker_changes import BrokerChange
from kafka_spec.impl.zookeeper.controller.controlled_shutdown import ControlledShutdown
from kafka_spec.impl.zookeeper.controller.deletion import ReplicasDeleted
from kafka_spec.impl.zookeeper.controller.preferred_election import PreferredElection
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble, Loss, MemorySession
from kafka_spec.spec.decisions.deletion import answer_is_dropped, replica_goes_offline
from kafka_spec.spec.decisions.variants import LateAnswers, LeaderlessReplicas
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import Role

P = TopicPartition("orders", 0)
Q = TopicPartition("orders", 1)
KEPT = TopicPartition("kept", 0)
ERAS = pytest.mark.parametrize("era", [FIXED, ERA_2_8, ERA_0_10], ids=lambda era: era.name)


class Rested(Cluster):
    """Brokers on one ensemble, with the topic `orders` of two partitions and the topic `kept`."""

    def __init__(self, count: int = 3, era: Spec = FIXED, settings: Settings | None = None) -> None:
        folder = tempfile.mkdtemp(dir=MEMORY)
        weakref.finalize(self, shutil.rmtree, folder)
        self.ensemble = Ensemble()
        self.lines: list[str] = []
        super().__init__(Path(folder), self.ensemble, era, self.lines.append, settings=settings)
        self.admin = Admin(self.tools, Random(7), lambda _: None)
        for number in range(count):
            self.start(number)
        self.admin.create_topic_with_assignment(KEPT.topic, {0: (0, 1)})
        self.create()

    def create(self) -> Rested:
        """Create the topic, and let the cluster rest."""
        self.admin.create_topic_with_assignment(P.topic, {0: (1, 2), 1: (2, 1)}, {"segment.ms": "5"})
        self.rest()
        return self

    @property
    def is_gone(self) -> bool:
        """Whether nothing of the topic is left: in ZooKeeper, in the controller, on disk, in the brokers' caches."""
        paths = (znodes.topic(P.topic), znodes.topic_config(P.topic), znodes.delete_topic(P.topic))
        context = self.active.context
        known = (context.topics, context.queued_for_deletion)
        return (
            all(self.tools.exists(path) is None for path in paths)
            and not any(P.topic in names for names in known)
            and not {P, Q} & context.assignments.keys()
            and not any({P, Q} & broker.replicas.partitions.keys() for broker in self.brokers.values())
            and not any({P, Q} & broker.replicas.metadata.keys() for broker in self.brokers.values())
            and not any((self.folder / str(number) / str(p)).exists() for number in self.brokers for p in (P, Q))
        )

    @property
    def is_whole(self) -> bool:
        """Whether both topics are led, and known to all their replicas."""
        for partition in (P, Q, KEPT):
            held = self.leadership(partition)
            if held is None or held.leader not in self.brokers:
                return False
            if self.brokers[held.leader].replicas.role_of(partition) != Role.LEADER:
                return False
        return True


@ERAS
def test_a_topic_is_deleted_and_created_again(era: Spec) -> None:
    """Nothing is left of a deleted topic, another topic is untouched, and one of the same name begins anew."""
    cluster = Rested(era=era)
    before = cluster.leadership(KEPT)
    for _ in range(3):
        assert cluster.is_whole
        cluster.admin.delete_topic(P.topic)
        cluster.rest()
        assert cluster.is_gone
        assert cluster.leadership(KEPT) == before
        cluster.create()
        held = cluster.leadership(P)
        assert held is not None
        assert (held.leader, held.leader_epoch, held.isr) == (1, 0, (1, 2))
    assert not [line for line in cluster.lines if "ERROR" in line]


def test_each_step_writes_once() -> None:
    """No step of the controller makes more than one write to ZooKeeper, and the request is deleted last."""
    cluster = Rested()
    cluster.admin.delete_topic(P.topic)
    written: list[list[str]] = []
    session = cluster.active.session
    assert isinstance(session, MemorySession)
    usual = session.multi
    session.multi = lambda operations: (written[-1].append(operations[-1].path), usual(operations))[1]  # type: ignore[method-assign]
    while not cluster.is_gone:
        for number in cluster.brokers:
            written.append([])
            cluster.brokers[number].step()
            cluster.deliver(cluster.active.controller_id, number)
    paths = [path for step in written for path in step]
    assert max(map(len, written)) == 1
    assert paths[-2:] == [znodes.topic_config(P.topic), znodes.delete_topic(P.topic)]
    assert paths.index(znodes.state(P)) < paths.index(znodes.topic(P.topic))


@pytest.mark.parametrize("steps", range(0, 60, 3))
def test_the_controller_dies_at_every_step(steps: int) -> None:
    """Wherever the controller dies, the next one finishes the deletion."""
    cluster = Rested()
    cluster.admin.delete_topic(P.topic)
    (dying,) = [n for n, broker in cluster.brokers.items() if broker.controller is cluster.active]
    for _ in range(steps):
        cluster.brokers[dying].step()
        for number in cluster.brokers:
            cluster.deliver(dying, number)
    cluster.crash(dying)
    cluster.rest()
    if any(dying in replicas for replicas in ((1, 2),)):
        cluster.start(dying)
        cluster.rest()
    assert cluster.tools.exists(znodes.delete_topic(P.topic)) is None
    assert cluster.tools.exists(znodes.topic(P.topic)) is None
    cluster.start(dying) if dying not in cluster.brokers else None
    cluster.rest()
    assert cluster.is_gone


@pytest.mark.parametrize("loss", list(Loss))
def test_a_loss_at_every_operation(loss: Loss) -> None:
    """Wherever the connection to ZooKeeper breaks, the deletion is finished."""
    for number in range(200):
        cluster = Rested()
        session = cluster.active.session
        assert isinstance(session, MemorySession)
        session.lose(loss, after=number)
        cluster.admin.delete_topic(P.topic)
        cluster.rest()
        assert cluster.is_gone
        if session.will_lose:
            assert number > 10
            return


@ERAS
def test_a_dead_replica_delays_it(era: Spec) -> None:
    """A topic with a dead replica is not deleted; others' replicas are; when the broker is back, all of it goes."""
    cluster = Rested(era=era)
    cluster.crash(2)
    cluster.rest()
    cluster.admin.delete_topic(P.topic)
    cluster.rest()
    context = cluster.active.context
    assert context.deletion_is_halted(P.topic)
    assert cluster.tools.exists(znodes.delete_topic(P.topic)) is not None
    assert P not in cluster.brokers[1].replicas.partitions
    assert (cluster.folder / "2" / str(P)).exists()
    cluster.start(2)
    cluster.rest()
    assert cluster.is_gone
    assert cluster.create().is_whole


def test_a_replica_dies_while_it_is_deleted() -> None:
    """A broker that dies before it answers makes the topic ineligible; when it is back, the deletion is completed."""
    cluster = Rested()
    cluster.admin.delete_topic(P.topic)
    while not cluster.active.context.deletion_has_begun(P.topic):
        cluster.active.step()
    cluster.active.step()
    cluster.crash(2)
    cluster.rest()
    assert cluster.active.context.deletion_is_halted(P.topic)
    cluster.start(2)
    cluster.rest()
    assert cluster.is_gone


def test_a_replica_that_cannot_be_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that answers an error makes the topic ineligible in Kafka 2.8, until one of its brokers starts again."""
    cluster = Rested(era=ERA_2_8)
    refused = cluster.brokers[2].replicas
    monkeypatch.setattr(refused, "_stop_all", lambda states: dict.fromkeys(states, ErrorCode.KAFKA_STORAGE_ERROR))
    cluster.admin.delete_topic(P.topic)
    cluster.rest()
    assert cluster.active.context.deletion_is_halted(P.topic)
    cluster.bounce(2)
    cluster.rest()
    assert cluster.is_gone


@pytest.mark.parametrize("again", [False, True])
def test_late_and_repeated_answers(again: bool) -> None:
    """A StopReplica that is delivered twice, whose first answer is lost, is answered and counted once."""
    cluster = Rested()
    cluster.admin.delete_topic(P.topic)
    controller = cluster.active.controller_id
    for _ in range(100):
        for number in cluster.brokers:
            cluster.brokers[number].step()
            if again:
                cluster.deliver(controller, number, answered=False)
            cluster.deliver(controller, number)
    assert cluster.is_gone


def test_deletion_is_disabled() -> None:
    """Where delete.topic.enable is false, requests are dropped, and the topic stays; so it is at a fail-over."""
    cluster = Rested(settings=Settings(delete_topic_enable=False))
    cluster.admin.delete_topic(P.topic)
    cluster.rest()
    assert cluster.tools.exists(znodes.delete_topic(P.topic)) is None
    assert cluster.is_whole
    dying = cluster.active.controller_id
    cluster.expire(dying)
    cluster.admin.delete_topic(P.topic)
    cluster.reopen(dying)
    cluster.rest()
    assert cluster.tools.exists(znodes.delete_topic(P.topic)) is None
    assert cluster.is_whole


def test_requests_for_unknown_topics_are_dropped() -> None:
    """A topic that does not exist is refused by the tool; its request, written by hand, is deleted by the controller."""
    cluster = Rested()
    with pytest.raises(Exception, match="does not exist"):
        cluster.admin.delete_topic("nowhere")
    cluster.tools.create(znodes.delete_topic("nowhere"))
    cluster.rest()
    assert cluster.tools.children(znodes.DELETE_TOPICS) == []


def test_partitions_are_not_added_to_a_topic_that_is_deleted() -> None:
    """Added partitions of a topic queued for deletion are refused: the znode gets its former content back."""
    cluster = Rested()
    cluster.crash(2)
    cluster.rest()
    cluster.admin.delete_topic(P.topic)
    cluster.rest()
    data, _ = cluster.tools.get(znodes.topic(P.topic))
    cluster.admin.add_partitions(P.topic, 4)
    cluster.rest()
    assert cluster.tools.get(znodes.topic(P.topic))[0] == data
    assert len(cluster.active.context.partitions_of([P.topic])[P.topic]) == 2
    cluster.start(2)
    cluster.rest()
    assert cluster.is_gone


def test_what_else_leaves_queued_topics_alone() -> None:
    """Elections and shutdowns skip a topic that is queued for deletion; a request for its election is refused."""
    cluster = Rested()
    cluster.crash(2)
    cluster.rest()
    cluster.admin.delete_topic(P.topic)
    cluster.rest()
    answers: list[object] = []
    cluster.active.handle(PreferredElection((P,), answers.append))
    broker = cluster.brokers[1]
    cluster.active.handle(ControlledShutdown(1, broker.epoch, lambda *answer: answers.append(answer)))
    cluster.rest()
    assert answers == [{P: ErrorCode.INVALID_TOPIC_EXCEPTION}, (ErrorCode.NONE, ())]


@pytest.mark.parametrize("era", [FIXED, ERA_2_8], ids=lambda era: era.name)
def test_a_request_that_is_refused_as_a_whole_is_no_answer(era: Spec) -> None:
    """The answer STALE_BROKER_EPOCH names no partition: the controller makes no event of it, and asks again after the restart."""
    cluster = Rested(era=era)
    controller = cluster.active
    sender = controller.controller_id
    receiver = next(number for number in (1, 2) if number != sender)
    channel = cluster.brokers[sender]
    cluster.admin.delete_topic(P.topic)
    while not any(isinstance(request, StopReplicaRequest) for request in channel.channels.queues[receiver]):
        controller.step()
    cluster.bounce(receiver)
    waiting = list(channel.channels.queues[receiver])
    while channel.in_flight(receiver) is not None:
        cluster.deliver(sender, receiver)
    assert {answer.error for answer in map(cluster.brokers[receiver].take, waiting)} == {ErrorCode.STALE_BROKER_EPOCH}
    assert not any(isinstance(event, ReplicasDeleted) and event.broker == receiver for event in controller.events)
    cluster.rest()
    assert cluster.is_gone


@pytest.mark.parametrize(("era", "counts"), [(FIXED, False), (ERA_2_8, True)])
def test_the_answer_of_a_former_process(era: Spec, counts: bool) -> None:
    """An answer that waits in the queue while its broker bounces is dropped; up to 3.9 it counts for the new process."""
    cluster = Rested(era=era)
    cluster.admin.delete_topic(P.topic)
    controller = cluster.active
    sender = controller.controller_id
    while not any(isinstance(event, ReplicasDeleted) for event in controller.events):
        controller.step()
        for number in cluster.brokers:
            cluster.deliver(sender, number)
    (answer,) = [event for event in controller.events if isinstance(event, ReplicasDeleted)][:1]
    if answer.broker == sender:
        return
    cluster.bounce(answer.broker)
    controller.events.appendleft(BrokerChange())
    controller.step()
    assert any(isinstance(event, ReplicasDeleted) and event is answer for event in controller.events) == counts
    if not counts:
        cluster.rest()
        assert cluster.is_gone


def test_decisions_of_deletions() -> None:
    """Only eras up to 1.1 leave replicas of unknown leadership as they are; only answers of removed brokers are dropped."""
    every = [(known, era) for known in (0, 1) for era in LeaderlessReplicas]
    assert [one for one in every if not replica_goes_offline(*one)] == [(0, LeaderlessReplicas.STUCK)]
    assert [(r, era) for r in (0, 1) for era in LateAnswers if answer_is_dropped(r, era)] == [(1, LateAnswers.DROPPED)]
