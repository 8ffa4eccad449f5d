"""Partitions are reassigned: through the API and the znode, cancelled, replaced, resumed by the next controller from every step."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from test_log import MEMORY, batch

from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.operations import record_of
from kafka_spec.impl.run.zookeeper.assignment_verdict import broken_assignments
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.controller.reassignment import (
    AlterPartitionReassignments,
    ListPartitionReassignments,
    ReassignmentZnodeChange,
)
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble, Loss, MemorySession
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import Role

P = TopicPartition("orders", 0)
Q = TopicPartition("orders", 1)
ERAS = pytest.mark.parametrize("era", [FIXED, ERA_2_8, ERA_0_10], ids=lambda era: era.name)


class Moving(Cluster):
    """Brokers on one ensemble, with the topic `orders` of two partitions on brokers 1 and 2, one record each."""

    def __init__(self, count: int = 5, era: Spec = FIXED) -> None:
        folder = tempfile.mkdtemp(dir=MEMORY)
        weakref.finalize(self, shutil.rmtree, folder)
        self.ensemble = Ensemble()
        self.lines: list[str] = []
        self.now = 1_600_000_000.0
        super().__init__(Path(folder), self.ensemble, era, self.lines.append, clock=lambda: self.now)
        self.admin = Admin(self.tools, Random(7), lambda _: None, topic_version=1 if era is ERA_0_10 else 3)
        for number in range(count):
            self.start(number)
        self.admin.create_topic_with_assignment(P.topic, {0: (1, 2), 1: (2, 1)})
        self.work()
        for partition in (P, Q):
            held = self.leadership(partition)
            assert held is not None
            self.brokers[held.leader].data.append_as_leader(partition, batch(b"a"), 1)
        self.work()

    def work(self, rounds: int = 30) -> Moving:
        """Let controllers, channels and fetchers work until nothing is left, and time pass."""
        for _ in range(rounds):
            self.rest()
            self.now += 1.0
            for broker in self.brokers.values():
                self.fetch(broker)
                broker.data.tick(broker.now)
        self.rest()
        return self

    def fetch(self, broker: Any) -> None:
        """Let a broker fetch once from each leader that it follows."""
        fetchers = broker.data.fetchers
        for leader in fetchers.leaders():
            request = fetchers.next_request(leader, broker.now)
            if request is None:
                continue
            if leader not in self.brokers:
                fetchers.lost(leader, broker.now)
                continue
            answers: list[Any] = []
            self.brokers[leader].serve(request, answers.append)
            self.brokers[leader].data.fetches.expire(self.brokers[leader].now + 10**6)
            fetchers.take(leader, answers[0].partitions, broker.now)

    def alter(self, targets: Mapping[TopicPartition, tuple[int, ...] | None]) -> dict[TopicPartition, ErrorCode]:
        """Ask for reassignments; return the answers, which come with the first steps."""
        answers: list[Any] = []
        self.active.handle(AlterPartitionReassignments(dict(targets), answers.append))
        controller = self.active
        while not answers:
            assert controller.step()
        return dict(answers[0])

    def topic(self) -> znodes.Topic:
        """Return the content of the topic's znode."""
        return znodes.Topic.decode(P.topic, self.tools.get(znodes.topic(P.topic))[0])

    def hosts(self, partition: TopicPartition) -> dict[int, Role]:
        """Return the role of each broker that hosts the partition, or still has its log."""
        return {
            number: broker.replicas.role_of(partition)
            for number, broker in self.brokers.items()
            if partition in broker.replicas.partitions or (self.folder / str(number) / str(partition)).exists()
        }

    def moved(self, partition: TopicPartition, target: tuple[int, ...]) -> None:
        """Check that a partition is on its target and nowhere else, as ZooKeeper, controller and brokers agree."""
        held, topic, context = self.leadership(partition), self.topic(), self.active.context
        assert held is not None
        assert (topic.partitions[partition.partition], topic.adding, topic.removing) == (target, {}, {})
        assert context.assignments[partition] == target
        assert (partition in context.targets, context.adding, context.removing) == (False, {}, {})
        assert held.leader in target
        assert sorted(held.isr) == sorted(target)
        assert self.hosts(partition) == {b: Role.LEADER if b == held.leader else Role.FOLLOWER for b in target}
        for number in target:
            hosted = self.brokers[number].replicas.partitions[partition]
            assert (hosted.leader_epoch, hosted.opened.end_offset) == (held.leader_epoch, 1)
            assert sorted(hosted.replicas) == sorted(target)
        assert {p.topic for p in self.active.replicas.entities_of(partition) for p in [p[0]]} == {partition.topic}
        assert sorted(b for _, b in self.active.replicas.entities_of(partition)) == sorted(target)
        assert self.tools.exists(znodes.REASSIGN_PARTITIONS) is None


def ask(cluster: Moving, targets: dict[TopicPartition, tuple[int, ...]]) -> None:
    """Ask for reassignments as the era has it."""
    if cluster.era is ERA_0_10:
        cluster.tools.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment(targets))
    else:
        assert set(cluster.alter(targets).values()) == {ErrorCode.NONE}


@ERAS
@pytest.mark.parametrize("target", [(3, 4), (1, 3), (3,), (2, 1), (1,), (1, 2, 3, 4), (1, 2)], ids=str)
def test_a_partition_moves(era: Spec, target: tuple[int, ...]) -> None:
    """Whatever the target, the partition ends there with its record; the other one is untouched."""
    cluster = Moving(era=era)
    other = cluster.leadership(Q)
    ask(cluster, {P: target})
    cluster.work().moved(P, target)
    assert cluster.leadership(Q) == other
    assert not [line for line in cluster.lines if "Unexpected error" in line]


@ERAS
def test_the_znode_moves_many(era: Spec) -> None:
    """/admin/reassign_partitions, also of tools of that time, moves all partitions that it names, and is gone in the end."""
    cluster = Moving(era=era)
    cluster.tools.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({P: (3, 4), Q: (4, 3)}))
    cluster.work()
    cluster.moved(P, (3, 4))
    cluster.moved(Q, (4, 3))


def test_what_the_topic_znode_says_meanwhile() -> None:
    """While it runs, the znode names all replicas with those that come and go, in Kafka's text, and keeps its topic id."""
    cluster = Moving()
    before = cluster.topic()
    cluster.alter({P: (3, 2)})
    cluster.rest()
    data = cluster.tools.get(znodes.topic(P.topic))[0].decode()
    assert data == (
        f'{{"partitions":{{"0":[3,2,1],"1":[2,1]}},"topic_id":"{before.topic_id}",'
        '"adding_replicas":{"0":[3]},"removing_replicas":{"0":[1]},"version":3}'
    )
    answers: list[Any] = []
    cluster.active.handle(ListPartitionReassignments(None, lambda *answer: answers.append(answer)))
    cluster.rest()
    ((code, running),) = answers
    assert code == ErrorCode.NONE
    assert {p: (one.replicas, one.adding, one.removing) for p, one in running.items()} == {P: ((3, 2, 1), (3,), (1,))}
    hosted = cluster.brokers[1].replicas.partitions[P]
    assert (hosted.replicas, hosted.adding, hosted.removing) == ((3, 2, 1), (3,), (1,))
    cluster.work().moved(P, (3, 2))


def test_leader_epochs_of_a_move() -> None:
    """A move of one replica from 1 to 3 takes three leader epochs: to extend, to move the leader, to shrink the ISR."""
    cluster = Moving()
    cluster.alter({P: (1,)})
    cluster.work()
    before = cluster.leadership(P)
    cluster.alter({P: (3,)})
    cluster.work().moved(P, (3,))
    after = cluster.leadership(P)
    assert before is not None
    assert after is not None
    assert after.leader_epoch == before.leader_epoch + 3


def test_cancel_and_replace() -> None:
    """A reassignment that waits for a dead broker is cancelled, or replaced by another; nothing of it is left in the end."""
    for second in (None, (2, 4), (4,)):
        cluster = Moving()
        cluster.alter({P: (3, 4)})
        cluster.rest()
        assert cluster.topic().adding == {0: (3, 4)}
        assert cluster.alter({P: second}) == {P: ErrorCode.NONE}
        cluster.work()
        target = cluster.topic().partitions[0] if second is None else second
        assert set(target) == ({1, 2} if second is None else set(second))
        cluster.moved(P, target)


def test_the_api_and_the_znode_replace_each_other() -> None:
    """The newest request wins, however it is made, and the znode does not outlive it."""
    cluster = Moving()
    cluster.tools.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({P: (3, 4), Q: (3, 4)}))
    cluster.rest()
    cluster.alter({P: (4, 0)})
    cluster.work()
    cluster.moved(P, (4, 0))
    cluster.moved(Q, (3, 4))

    cluster = Moving()
    cluster.alter({P: (3, 4)})
    cluster.rest()
    cluster.tools.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({P: (4, 0)}))
    cluster.work().moved(P, (4, 0))


@pytest.mark.parametrize(("era", "again"), [(FIXED, True), (ERA_2_8, True), (ERA_0_10, False)])
def test_a_request_that_runs_already(era: Spec, again: bool) -> None:
    """The znode may name what runs: since 2.4 it begins again, once, under the next leader epoch; in 0.10 it goes on."""
    cluster = Moving(era=era)
    controller = cluster.active
    plan = znodes.encode_reassignment({P: (3, 4)})
    cluster.tools.create(znodes.REASSIGN_PARTITIONS, plan)
    cluster.rest()
    if again:
        cluster.alter({P: (3, 4)})
        cluster.rest()
        cluster.tools.create(znodes.REASSIGN_PARTITIONS, plan)
    before = cluster.leadership(P)
    controller.handle(ReassignmentZnodeChange())
    cluster.rest()
    controller.handle(ReassignmentZnodeChange())
    cluster.rest()
    after = cluster.leadership(P)
    assert before is not None and after is not None
    assert after.leader_epoch - before.leader_epoch == int(again)
    cluster.work().moved(P, (3, 4))
    assert cluster.tools.exists(znodes.REASSIGN_PARTITIONS) is None


@pytest.mark.parametrize(
    ("era", "target"), [(FIXED, (4, 0)), (MODELS["zookeeper/KAFKA-9089"], (3, 4))], ids=["fixed", "KAFKA-9089"]
)
def test_the_next_controller_follows_the_newest_request(era: Spec, target: tuple[int, ...]) -> None:
    """A controller dies after the API has overridden the znode: the next one goes on; with the switch, back to the znode."""
    cluster = Moving(6, era=era)
    cluster.tools.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({P: (3, 4)}))
    cluster.rest()
    cluster.alter({P: (4, 0)})
    cluster.crash(cluster.active.controller_id)
    cluster.work()
    cluster.start(0)
    cluster.work()
    assert cluster.topic().partitions[0] == target


def test_what_is_refused() -> None:
    """Invalid targets, unknown partitions, dead new brokers, and cancelling nothing are refused; nothing changes."""
    cluster = Moving(4)
    cluster.crash(3)
    cluster.rest()
    unknown = TopicPartition("nowhere", 0)
    before = cluster.topic()
    assert cluster.alter({P: (), Q: (1, 1), unknown: (1,)}) == {
        P: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        Q: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert cluster.alter({P: (3, 1), Q: None}) == {
        P: ErrorCode.INVALID_REPLICA_ASSIGNMENT,
        Q: ErrorCode.NO_REASSIGNMENT_IN_PROGRESS,
    }
    cluster.tools.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({unknown: (1,)}))
    cluster.work()
    assert cluster.topic() == before
    assert cluster.tools.exists(znodes.REASSIGN_PARTITIONS) is None


@ERAS
@pytest.mark.parametrize("resumes", ["another", "the same"])
def test_the_controller_dies_at_every_step(era: Spec, resumes: str) -> None:
    """Wherever the controller dies, the next one ends the reassignment."""
    for steps in range(100):
        cluster = Moving(era=era)
        dying = cluster.active.controller_id
        if era is ERA_0_10:
            cluster.tools.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({P: (3, 4)}))
        else:
            cluster.active.handle(AlterPartitionReassignments({P: (3, 4)}, lambda _: None))
        taken = 0
        for _ in range(12):
            while taken < steps and cluster.brokers[dying].step():
                taken += 1
                for number in cluster.brokers:
                    cluster.deliver(dying, number)
            for _ in range(3):
                cluster.now += 1.0
                for broker in cluster.brokers.values():
                    cluster.fetch(broker)
                    broker.data.tick(broker.now)
        (cluster.crash if resumes == "another" else cluster.expire)(dying)
        if resumes == "the same":
            cluster.reopen(dying)
        cluster.work()
        if dying not in cluster.brokers:
            cluster.start(dying)
            cluster.work()
        if era is not ERA_0_10 and cluster.topic().partitions[0] != (3, 4):
            assert steps < 6
            assert cluster.topic().adding == {}
            continue
        cluster.moved(P, (3, 4))
        if taken < steps:
            assert steps > 10
            return


@pytest.mark.parametrize("loss", list(Loss))
def test_a_loss_at_every_operation(loss: Loss) -> None:
    """Wherever the connection to ZooKeeper breaks, the reassignment ends."""
    for number in range(200):
        cluster = Moving()
        session = cluster.active.session
        assert isinstance(session, MemorySession)
        session.lose(loss, after=number)
        cluster.active.handle(AlterPartitionReassignments({P: (3, 4)}, lambda _: None))
        cluster.work().moved(P, (3, 4))
        if session.will_lose:
            assert number > 10
            return


def test_a_broker_of_the_target_dies_and_comes_back() -> None:
    """A reassignment waits for a broker of its target, and is resumed when it starts; the origin leads meanwhile."""
    cluster = Moving()
    cluster.alter({P: (3, 4)})
    cluster.rest()
    cluster.crash(3)
    cluster.work()
    held = cluster.leadership(P)
    assert held is not None
    assert set(held.isr) == {1, 2, 4}
    assert cluster.topic().adding == {0: (3, 4)}
    cluster.start(3)
    cluster.work().moved(P, (3, 4))


def test_a_topic_in_the_middle_of_a_reassignment_is_deleted_after_it() -> None:
    """A deletion waits until the reassignment has ended; then nothing of the topic is left."""
    cluster = Moving()
    cluster.crash(4)
    cluster.rest()
    cluster.start(4)
    cluster.rest()
    cluster.alter({P: (3, 4)})
    cluster.rest()
    cluster.admin.delete_topic(P.topic)
    cluster.rest()
    assert cluster.active.context.deleted_after_reassignment == {P.topic}
    assert cluster.alter({Q: (3, 4)}) == {Q: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    cluster.work()
    assert cluster.tools.children(znodes.TOPICS) == cluster.tools.children(znodes.DELETE_TOPICS) == []
    assert cluster.hosts(P) == cluster.hosts(Q) == {}
    assert cluster.active.context.targets == {}


@pytest.mark.parametrize("dies", [False, True])
def test_a_plan_is_carried_out_before_its_topic_is_deleted(dies: bool) -> None:
    """While a deletion waits for a plan, no controller takes the plan out of ZooKeeper; another controller neither."""
    cluster = Moving()
    cluster.crash(4)
    cluster.rest()
    cluster.start(4)
    cluster.tools.create(znodes.REASSIGN_PARTITIONS, znodes.encode_reassignment({P: (3, 4)}))
    cluster.rest()
    cluster.admin.delete_topic(P.topic)
    cluster.rest()
    assert cluster.active.context.deleted_after_reassignment == {P.topic}
    if dies:
        cluster.crash(cluster.active.controller_id)
        cluster.rest()
        assert cluster.active.context.deleted_after_reassignment == {P.topic}
    assert cluster.active.zk.read_reassignments() == {P: (3, 4)}
    assert cluster.active.context.targets == {P: (3, 4)}
    cluster.work()
    assert cluster.tools.children(znodes.TOPICS) == cluster.tools.children(znodes.DELETE_TOPICS) == []
    assert cluster.tools.exists(znodes.REASSIGN_PARTITIONS) is None


@pytest.mark.parametrize("fails", [False, True])
def test_a_replica_that_was_moved_away_is_deleted_with_its_topic(fails: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that never got its StopReplica, and is back while the topic waits to be deleted, deletes what it keeps.

    The deletion does not wait for it: it ends also if this broker cannot delete its replica.
    """
    cluster = Moving()
    cluster.alter({P: (2,), Q: (2,)})
    cluster.expire(1)
    cluster.work()
    assert cluster.topic().partitions == {0: (2,), 1: (2,)}
    assert cluster.hosts(P).keys() == {1, 2}
    cluster.crash(2)
    cluster.work()
    cluster.admin.delete_topic(P.topic)
    cluster.work()
    if fails:
        monkeypatch.setattr(cluster.brokers[1].replicas, "_stop", lambda *_: ErrorCode.KAFKA_STORAGE_ERROR)
    cluster.reopen(1)
    cluster.work()
    assert cluster.hosts(P).keys() == ({1} if fails else set())
    cluster.start(2)
    cluster.work()
    assert cluster.tools.children(znodes.TOPICS) == cluster.tools.children(znodes.DELETE_TOPICS) == []
    assert cluster.hosts(P).keys() == ({1} if fails else set())


@pytest.mark.parametrize("era", [FIXED, ERA_2_8], ids=lambda era: era.name)
def test_a_topic_that_is_deleted_while_a_former_replica_is_away(era: Spec) -> None:
    """Nobody tells a broker that comes back after its former topic is gone (FINDINGS.md); a run knows these topics."""
    cluster = Moving(era=era)
    cluster.alter({P: (2,), Q: (2,)})
    cluster.expire(1)
    cluster.work()
    cluster.admin.delete_topic(P.topic)
    cluster.work()
    assert cluster.tools.children(znodes.TOPICS) == cluster.tools.children(znodes.DELETE_TOPICS) == []
    cluster.reopen(1)
    cluster.work()
    assert cluster.hosts(P).keys() == cluster.hosts(Q).keys() == {1}
    found = [("NoStrayReplica", f"broker 1 keeps {p}, which it is not assigned") for p in (P, Q)]
    assert list(broken_assignments(cluster, {})) == found
    assert list(broken_assignments(cluster, {}, {(P.topic, 0)})) == []


def test_records_of_an_earlier_topic_are_told_unless_that_was_reassigned() -> None:
    """A topic created again holds a record of the first: a finding, but where the first was reassigned, which may leave a log."""
    cluster, again = Moving(), TopicPartition("extra", 0)
    cluster.admin.create_topic_with_assignment(again.topic, {0: (1, 2)})
    cluster.work()
    cluster.brokers[1].data.append_as_leader(again, batch(record_of(again.topic, 1, 0).encode()), 1)
    cluster.work()
    found = [("OldRecordsStayGone", f"broker {broker} holds extra/1/0 in extra-0, created 2 times") for broker in (1, 2)]
    assert list(broken_assignments(cluster, {again.topic: 1})) == []
    assert list(broken_assignments(cluster, {again.topic: 2})) == found
    assert list(broken_assignments(cluster, {again.topic: 2}, {(again.topic, 2)})) == found
    assert list(broken_assignments(cluster, {again.topic: 2}, {(again.topic, 1)})) == []
