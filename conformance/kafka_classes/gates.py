"""A broker's gates for controllers' requests: Kafka's ReplicaManager beside ours, request by request, and KafkaApis' broker epochs.

Compared are the code of a whole request, the code of each partition, the controller epoch that is remembered, and each hosted
partition: its leader epoch, whether it leads, and whether it has a log. Fetchers do nothing, and no broker of the cluster is real.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

from kafka_spec.conformance.kafka_classes.comparison import Chosen, Comparison, Subject
from kafka_spec.conformance.kafka_classes.gates_kafkas import (
    BROKER,
    BROKER_EPOCH,
    CONTROLLER,
    Answered,
    Hosted,
    KafkasReplicas,
    is_stale,
)
from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_classes.scratch import scratch
from kafka_spec.impl.broker.partition import HostedPartition
from kafka_spec.impl.protocol.controller_requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Leadership,
    Request,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
)
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.state_change_log import StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.spec.decisions.fencing import answer_to_request
from kafka_spec.spec.decisions.variants import Checked, StopReplicaEpoch
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.eras import ERA_2_8
from kafka_spec.spec.zookeeper.machines import Role

ERAS = {
    "2.8.2": ERA_2_8,
    "3.9.1": ERA_2_8.replacing("era_3_9", "Kafka 3.9.1 as compared", decisions={"stop_replica_epoch": StopReplicaEpoch.AT_LEAST}),
}
"""The decisions of each version. From 3.5 on a StopReplica of the current leader epoch is taken (KAFKA-13972)."""
REFUSED = Chosen(
    "a refused partition without a log",
    "2.8 takes a new partition offline that a LeaderAndIsr names and the broker refuses, since it has no log; ours keeps its state",
    versions=("2.8.2",),
)


def random_requests(random: Random, topic: str) -> list[Request]:
    """Return some requests of controllers to broker 0 for two partitions of a topic; epochs go up, down, and stay."""
    found: list[Request] = []
    for _ in range(random.randint(2, 6)):
        head = (CONTROLLER, random.choice((1, 2, 2, 3)), BROKER_EPOCH)
        partitions = [TopicPartition(topic, number) for number in random.choice(((0,), (1,), (0, 1)))]
        kind = random.choice(("lead", "lead", "stop", "live"))
        if kind == "lead":
            states = {partition: _led(random, head[1]) for partition in partitions}
            found.append(LeaderAndIsrRequest(*head, states, _registered((0, 1, 2))))
        elif kind == "stop":
            stopped = {p: StopReplicaState(random.choice((-2, -1, 0, 1, 2, 3)), random.random() < 0.5) for p in partitions}
            found.append(StopReplicaRequest(*head, stopped))
        else:
            live = tuple(sorted({0, *random.sample((1, 2), random.randint(0, 2))}))
            found.append(UpdateMetadataRequest(*head, {}, _registered(live)))
    return found


def small_requests(topic: str) -> list[list[Request]]:
    """Return every LeaderAndIsr or StopReplica, new or old, after each of a few first requests."""
    partition, live = TopicPartition(topic, 0), UpdateMetadataRequest(CONTROLLER, 2, BROKER_EPOCH, {}, _registered((0, 1, 2)))

    def lead(controller_epoch: int, leader: int, leader_epoch: int, replicas: tuple[int, ...] = (0, 1)) -> Request:
        state = LeaderAndIsrState(Leadership(leader, leader_epoch, replicas, 0, controller_epoch), replicas, is_new=False)
        return LeaderAndIsrRequest(CONTROLLER, controller_epoch, BROKER_EPOCH, {partition: state}, _registered((0, 1, 2)))

    def stop(controller_epoch: int, leader_epoch: int, delete: bool) -> Request:
        return StopReplicaRequest(CONTROLLER, controller_epoch, BROKER_EPOCH, {partition: StopReplicaState(leader_epoch, delete)})

    first: list[list[Request]] = [[live], [live, lead(2, 0, 2)], [live, lead(2, 1, 2)]]
    epochs = itertools.product((1, 2, 3), (1, 2, 3))
    then = [lead(c, leader, epoch, replicas) for c, epoch in epochs for leader in (-1, 0, 1) for replicas in ((0, 1), (1, 2))]
    then += [stop(c, epoch, delete) for c in (1, 2, 3) for epoch in (-2, -1, 1, 2, 3) for delete in (False, True)]
    return [[*begin, one, lead(3, 0, 3)] for begin in first for one in then]


def _led(random: Random, controller_epoch: int) -> LeaderAndIsrState:
    """Return what a LeaderAndIsr says of a partition: under a newer leader epoch the state znode has a newer version.

    3.9 would ignore an older version under a newer leader epoch, which no controller can write.
    """
    replicas = random.choice(((0, 1), (1, 0), (0,), (0, 1, 2), (1, 2)))
    leader = random.choice((*replicas, -1))
    epoch = random.randint(0, 3)
    held = Leadership(leader, epoch, replicas, 2 * epoch + random.randint(0, 1), controller_epoch)
    return LeaderAndIsrState(held, replicas, is_new=random.random() < 0.3)


def _registered(brokers: Sequence[int]) -> tuple[BrokerRegistration, ...]:
    return tuple(BrokerRegistration(one, (Endpoint("127.0.0.1", 9000 + one),)) for one in brokers)


class _Ours:
    """Our broker's replicas, in a folder."""

    def __init__(self, era: Spec, folder: Path) -> None:
        self._manager = ReplicaManager(BROKER, era, folder, StateChangeLog(lambda _: None, lambda: 0.0))
        self._manager.broker_epoch = BROKER_EPOCH

    def handle(self, request: Request) -> Answered:
        answer = self._manager.handle(request, 0)
        hosted = {
            partition.partition: self._hosted(held, self._manager.role_of(partition))
            for partition, held in self._manager.partitions.items()
        }
        codes = {partition.partition: int(code) for partition, code in answer.partitions.items()}
        return Answered(int(answer.error), codes, self._manager.controller_epoch, hosted)

    def _hosted(self, held: HostedPartition, role: Role) -> Hosted:
        return Hosted(held.leader_epoch, role == Role.LEADER, held.log is not None, role == Role.OFFLINE)

    def close(self) -> None:
        self._manager.crash()


def _compare_broker_epochs(kafka: Kafka, comparison: Comparison) -> None:
    """Compare Kafka's check of broker epochs for all small ones, the unknown one too."""
    for own in range(4):
        stale = is_stale(kafka, own)
        for asked in range(-1, 5):
            code = answer_to_request(0, 0, Checked.YES, asked, own, Checked.YES)
            comparison.compare(f"broker epoch {asked} at {own}", code == ErrorCode.STALE_BROKER_EPOCH, stale(asked))


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare the broker epochs, the small sequences of requests, and random ones."""
    _compare_broker_epochs(kafka, comparison)
    with scratch() as folder:
        theirs = KafkasReplicas(kafka, Path(folder) / "kafka")
        small = len(small_requests(""))
        cases = cases // 4
        chosen = sorted(random.sample(range(small), min(small, cases)))
        for number in (*chosen, *range(small, small + cases)):
            topic = f"t{number}"
            requests = small_requests(topic)[number] if number < small else random_requests(random, topic)
            ours = _Ours(ERAS[kafka.version], Path(folder) / "ours" / topic)
            theirs.begin()
            _compare_requests(comparison, ours, theirs, requests, topic)
            ours.close()
        theirs.close()


def _told(request: Request) -> str:
    """Return a request in short."""
    if isinstance(request, UpdateMetadataRequest):
        return f"UpdateMetadata(epoch {request.controller_epoch}, live {[one.number for one in request.live_brokers]})"
    parts = {partition.partition: state for partition, state in request.partitions.items()}
    return f"{type(request).__name__}(epoch {request.controller_epoch}, {parts})"


def _compare_requests(comparison: Comparison, ours: _Ours, theirs: KafkasReplicas, requests: Sequence[Request], topic: str) -> None:
    """Compare what is seen after each request, until something differs."""
    for done, request in enumerate(requests, 1):
        mine, other = ours.handle(request), theirs.handle(request, topic)
        refused = {number: Hosted() if held.is_offline else held for number, held in other.hosted.items()}
        chosen = REFUSED.name if isinstance(request, LeaderAndIsrRequest) and mine == replace(other, hosted=refused) else None
        comparison.compare([_told(one) for one in requests[:done]], mine, other, chosen)
        if mine != other:
            return


SUBJECT = Subject(
    "gates", "the gates of ReplicaManager and KafkaApis: epochs of controllers, leaders, brokers", compare, (REFUSED,)
)
