"""A broker's gates for controllers' requests: Kafka's ReplicaManager beside ours, request by request, and KafkaApis' broker epochs.

Compared are the code of a whole request, the code of each partition, the controller epoch that is remembered, and each hosted
partition: its leader epoch, whether it leads, and whether it has a log. Fetchers do nothing, and no broker of the cluster is real.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.conformance.classes.comparison import Chosen, Comparison, Subject
from kafka_spec.conformance.classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.classes.scratch import scratch
from kafka_spec.impl.broker.partition import HostedPartition
from kafka_spec.impl.broker.replica_manager import ReplicaManager
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
from kafka_spec.spec.control.eras import ERA_2_8
from kafka_spec.spec.control.machines import Role
from kafka_spec.spec.decisions import Checked
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.gates import answer_to_request

BROKER, CONTROLLER, BROKER_EPOCH = 0, 9, 5
LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA = 4, 3, 6
"""The versions of the requests at inter.broker.protocol 2.6."""
CLIENTS = "org.apache.kafka.common"
REFUSED = Chosen(
    "a refused partition without a log",
    "2.8 takes a new partition offline that a LeaderAndIsr names and the broker refuses, since it has no log; ours keeps its state",
    versions=("2.8.2",),
)


@dataclass(frozen=True)
class Hosted:
    """A hosted partition after a request; a broker that has lost its log, or believes so, calls it offline."""

    leader_epoch: int = -1
    leads: bool = False
    has_log: bool = False
    is_offline: bool = False


@dataclass(frozen=True)
class Answered:
    """What is seen after a request."""

    error: int
    codes: Mapping[int, int]
    controller_epoch: int
    hosted: Mapping[int, Hosted]


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
    replicas = random.choice(((0, 1), (1, 0), (0,), (0, 1, 2), (1, 2)))
    leader = random.choice((*replicas, -1))
    held = Leadership(leader, random.randint(0, 3), replicas, random.randint(0, 3), controller_epoch)
    return LeaderAndIsrState(held, replicas, is_new=random.random() < 0.3)


def _registered(brokers: Sequence[int]) -> tuple[BrokerRegistration, ...]:
    return tuple(BrokerRegistration(one, (Endpoint("127.0.0.1", 9000 + one),)) for one in brokers)


class _Ours:
    """Our broker's replicas, in a folder."""

    def __init__(self, folder: Path) -> None:
        self._manager = ReplicaManager(BROKER, ERA_2_8, folder, StateChangeLog(lambda _: None, lambda: 0.0))
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


class _Kafkas:
    """Kafka's ReplicaManager; it stays, with a topic of its own for each case."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        self._kafka = kafka
        self._mockito = kafka.named("org.mockito.Mockito")
        settings = kafka.named("java.util.Properties")()
        for name, value in (("zookeeper.connect", "127.0.0.1:1"), ("broker.id", str(BROKER)), ("log.dirs", str(folder))):
            settings.put(name, value)
        config = kafka.named("kafka.server.KafkaConfig").fromProps(settings)
        metrics, time = kafka.named(f"{CLIENTS}.metrics.Metrics")(), kafka.named(f"{CLIENTS}.utils.Time").SYSTEM
        topics, failures = kafka.named("kafka.server.BrokerTopicStats")(), kafka.named("kafka.server.LogDirFailureChannel")(1)
        configs = kafka.named("kafka.server.metadata.CachedConfigRepository")()
        scheduler = self._mock("kafka.utils.KafkaScheduler")
        logs = kafka.singleton("kafka.log.LogManager").apply(
            config, kafka.sequence([]), configs, scheduler, time, topics, failures, False
        )
        self._metadata = kafka.singleton("kafka.server.MetadataCache").zkMetadataCache(BROKER)
        self._quotas = kafka.singleton("kafka.server.QuotaFactory").instantiate(config, metrics, time, "")
        stopping = kafka.named("java.util.concurrent.atomic.AtomicBoolean")(False)
        isrs = self._mock("kafka.server.AlterIsrManager")
        self._manager = kafka.named("kafka.server.ReplicaManager")(
            *(
                config,
                metrics,
                time,
                kafka.none,
                scheduler,
                logs,
                stopping,
                self._quotas,
                topics,
                self._metadata,
                failures,
                isrs,
                configs,
            ),
            kafka.none,
        )
        self._manager.replicaFetcherManager().shutdown()
        kafka.put(self._manager, "replicaFetcherManager", self._mock("kafka.server.ReplicaFetcherManager"))

    def _mock(self, name: str) -> Any:
        return self._mockito.mock(self._kafka.named(name).class_, self._mockito.RETURNS_MOCKS)

    def close(self) -> None:
        """End the threads, for which the process would wait."""
        self._manager.shutdown(False)
        self._quotas.shutdown()

    def begin(self) -> None:
        """Forget controllers and live brokers, as a process that starts."""
        getattr(self._manager, "controllerEpoch_$eq")(0)
        self._metadata.updateMetadata(0, self._built(UpdateMetadataRequest(CONTROLLER, 0, BROKER_EPOCH, {}, ())))

    def handle(self, request: Request, topic: str) -> Answered:
        kafka, manager, error = self._kafka, self._manager, 0
        codes: dict[int, int] = {}
        if isinstance(request, StopReplicaRequest):
            states = {self._partition(p): self._stopped(p, state) for p, state in request.partitions.items()}
            head = (0, request.controller, request.controller_epoch, kafka.long(request.broker_epoch))
            answer = manager.stopReplicas(*head, kafka.mapping(states))
            error = int(answer._2().code())
            codes = {int(partition.partition()): int(code.code()) for partition, code in kafka.items(answer._1())}
        elif isinstance(request, LeaderAndIsrRequest):
            changed = kafka.implementing("scala.Function2", {"apply": lambda *_: None})
            answer = manager.becomeLeaderOrFollower(0, self._built(request), changed).data()
            error = int(answer.errorCode())
            codes = {int(one.partitionIndex()): int(one.errorCode()) for one in answer.partitionErrors()} if error == 0 else {}
        else:
            try:
                manager.maybeUpdateMetadataCache(0, self._built(request))
            except EXCEPTION as raised:
                if not isinstance(raised, kafka.named(f"{CLIENTS}.errors.ControllerMovedException")):
                    raise
                error = int(ErrorCode.STALE_CONTROLLER_EPOCH)
        return Answered(error, codes, int(manager.controllerEpoch()), self._hosted(topic))

    def _hosted(self, topic: str) -> dict[int, Hosted]:
        found = {}
        for number in (0, 1):
            one = self._manager.allPartitions().get(self._kafka.partition(topic, number))
            if one is not None and str(one.getClass().getSimpleName()) == "Online":
                partition = one.partition()
                found[number] = Hosted(int(partition.getLeaderEpoch()), bool(partition.isLeader()), not partition.log().isEmpty())
            elif one is not None:
                found[number] = Hosted(is_offline=True)
        return found

    def _partition(self, partition: TopicPartition) -> Any:
        return self._kafka.partition(partition.topic, partition.partition)

    def _stopped(self, partition: TopicPartition, state: StopReplicaState) -> Any:
        made = self._kafka.named(f"{CLIENTS}.message.StopReplicaRequestData$StopReplicaPartitionState")()
        return made.setPartitionIndex(partition.partition).setLeaderEpoch(state.leader_epoch).setDeletePartition(state.delete)

    def _built(self, request: LeaderAndIsrRequest | UpdateMetadataRequest) -> Any:
        """Return a request of Kafka's."""
        kafka, head = self._kafka, (request.controller, request.controller_epoch, kafka_long(self._kafka, request.broker_epoch))
        ids, list_of = kafka.named("java.util.HashMap")(), kafka.java_list
        if isinstance(request, LeaderAndIsrRequest):
            states = list_of(self._state(partition, state) for partition, state in request.partitions.items())
            nodes = [kafka.named(f"{CLIENTS}.Node")(one.number, "127.0.0.1", 9000 + one.number) for one in request.live_leaders]
            kind = kafka.named(f"{CLIENTS}.requests.LeaderAndIsrRequest$Builder")
            return kind(LEADER_AND_ISR, *head, states, ids, list_of(nodes)).build()
        brokers = list_of(self._live(one.number) for one in request.live_brokers)
        kind = kafka.named(f"{CLIENTS}.requests.UpdateMetadataRequest$Builder")
        return kind(UPDATE_METADATA, *head, list_of(()), brokers, ids).build()

    def _live(self, number: int) -> Any:
        kinds = f"{CLIENTS}.message.UpdateMetadataRequestData$UpdateMetadata"
        endpoint = self._kafka.named(f"{kinds}Endpoint")().setPort(9000 + number).setHost("127.0.0.1")
        endpoint.setListener("PLAINTEXT").setSecurityProtocol(0)
        return self._kafka.named(f"{kinds}Broker")().setId(number).setEndpoints(self._kafka.java_list([endpoint]))

    def _state(self, partition: TopicPartition, state: LeaderAndIsrState) -> Any:
        kafka, held = self._kafka, state.leadership
        made = kafka.named(f"{CLIENTS}.message.LeaderAndIsrRequestData$LeaderAndIsrPartitionState")()
        made.setTopicName(partition.topic).setPartitionIndex(partition.partition).setControllerEpoch(held.controller_epoch)
        made.setLeader(held.leader).setLeaderEpoch(held.leader_epoch).setIsr(kafka.java_list(held.isr)).setZkVersion(held.version)
        return made.setReplicas(kafka.java_list(state.replicas)).setIsNew(state.is_new)


def kafka_long(kafka: Kafka, value: int) -> Any:
    """Return a long for a parameter of Java."""
    return kafka.long(value).longValue()


def _compare_broker_epochs(kafka: Kafka, comparison: Comparison) -> None:
    """Compare KafkaApis.isBrokerEpochStale for all small broker epochs, the unknown one too."""
    mockito = kafka.named("org.mockito.Mockito")
    kind = kafka.named("kafka.server.KafkaApis").class_
    apis = mockito.mock(kind, mockito.CALLS_REAL_METHODS)
    (stale,) = (method for method in kind.getDeclaredMethods() if str(method.getName()) == "isBrokerEpochStale")
    stale.setAccessible(True)
    for own in range(4):
        controller = mockito.mock(kafka.named("kafka.controller.KafkaController").class_, mockito.CALLS_REAL_METHODS)
        kafka.put(controller, "_brokerEpoch", kafka.long(own))
        support = kafka.named("kafka.server.ZkSupport")(None, controller, None, None, None)
        for asked in range(-1, 5):
            code = answer_to_request(0, 0, Checked.YES, asked, own, Checked.YES)
            refused = bool(stale.invoke(apis, [support, kafka.long(asked)]))
            comparison.compare(f"broker epoch {asked} at {own}", code == ErrorCode.STALE_BROKER_EPOCH, refused)


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare the broker epochs, the small sequences of requests, and random ones."""
    _compare_broker_epochs(kafka, comparison)
    with scratch() as folder:
        theirs = _Kafkas(kafka, Path(folder) / "kafka")
        small = len(small_requests(""))
        cases = cases // 4
        chosen = sorted(random.sample(range(small), min(small, cases)))
        for number in (*chosen, *range(small, small + cases)):
            topic = f"t{number}"
            requests = small_requests(topic)[number] if number < small else random_requests(random, topic)
            ours = _Ours(Path(folder) / "ours" / topic)
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


def _compare_requests(comparison: Comparison, ours: _Ours, theirs: _Kafkas, requests: Sequence[Request], topic: str) -> None:
    """Compare what is seen after each request, until something differs."""
    for done, request in enumerate(requests, 1):
        mine, other = ours.handle(request), theirs.handle(request, topic)
        refused = {number: Hosted() if held.is_offline else held for number, held in other.hosted.items()}
        chosen = REFUSED.name if isinstance(request, LeaderAndIsrRequest) and mine == replace(other, hosted=refused) else None
        comparison.compare([_told(one) for one in requests[:done]], mine, other, chosen)
        if mine != other:
            return


SUBJECT = Subject(
    "gates", "the gates of ReplicaManager and KafkaApis: epochs of controllers, leaders, brokers", compare, (REFUSED,), ("2.8.2",)
)
