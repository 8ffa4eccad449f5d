"""Kafka's side of the gates: its ReplicaManager with the requests of controllers, and its check of broker epochs.

The classes moved and their constructors grew between 2.8.2 and 3.9.1; `_parts_of_2_8` and `_parts_of_3_9` know how each is made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.impl.protocol.controller_requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrState,
    Request,
    StopReplicaRequest,
    StopReplicaState,
    UpdateMetadataRequest,
)
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.error_codes import ErrorCode

BROKER, CONTROLLER, BROKER_EPOCH = 0, 9, 5
LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA = 4, 3, 6
"""The versions of the requests at inter.broker.protocol 2.6."""
CLIENTS = "org.apache.kafka.common"
OLDER = "2.8.2"


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


@dataclass(frozen=True)
class _Parts:
    """What a comparison touches of Kafka's broker."""

    manager: Any
    metadata: Any
    quotas: Any


class KafkasReplicas:
    """Kafka's ReplicaManager; it stays, with a topic of its own for each case."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        """Start it with its logs in a folder, of a broker without a cluster."""
        self._kafka = kafka
        settings = kafka.named("java.util.Properties")()
        for name, value in (("zookeeper.connect", "127.0.0.1:1"), ("broker.id", str(BROKER)), ("log.dirs", str(folder))):
            settings.put(name, value)
        config = kafka.named("kafka.server.KafkaConfig").fromProps(settings)
        parts = (_parts_of_2_8 if kafka.version == OLDER else _parts_of_3_9)(kafka, config)
        self._manager, self._metadata, self._quotas = parts.manager, parts.metadata, parts.quotas
        self._manager.replicaFetcherManager().shutdown()
        kafka.put(self._manager, "replicaFetcherManager", _mock(kafka, "kafka.server.ReplicaFetcherManager"))

    def close(self) -> None:
        """End the threads, for which the process would wait."""
        self._manager.shutdown(False)
        self._quotas.shutdown()

    def begin(self) -> None:
        """Forget controllers and live brokers, as a process that starts."""
        getattr(self._manager, "controllerEpoch_$eq")(0)
        self._metadata.updateMetadata(0, self._built(UpdateMetadataRequest(CONTROLLER, 0, BROKER_EPOCH, {}, ())))

    def handle(self, request: Request, topic: str) -> Answered:
        """Handle a request about a topic; return what is seen after it."""
        kafka, manager, error = self._kafka, self._manager, 0
        codes: dict[int, int] = {}
        if isinstance(request, StopReplicaRequest):
            states = {self._partition(p): self._stopped(p, state) for p, state in request.partitions.items()}
            head = (0, request.controller, request.controller_epoch)
            reported = () if kafka.version != OLDER else (kafka.long(request.broker_epoch),)
            answer = manager.stopReplicas(*head, *reported, kafka.mapping(states))
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
        made.setLeader(held.leader).setLeaderEpoch(held.leader_epoch).setIsr(kafka.java_list(held.isr))
        (made.setZkVersion if kafka.version == OLDER else made.setPartitionEpoch)(held.version)
        return made.setReplicas(kafka.java_list(state.replicas)).setIsNew(state.is_new)


def kafka_long(kafka: Kafka, value: int) -> Any:
    """Return a long for a parameter of Java."""
    return kafka.long(value).longValue()


def _mock(kafka: Kafka, name: str) -> Any:
    mockito = kafka.named("org.mockito.Mockito")
    return mockito.mock(kafka.named(name).class_, mockito.RETURNS_MOCKS)


def _parts_of_2_8(kafka: Kafka, config: Any) -> _Parts:
    metrics, time = kafka.named(f"{CLIENTS}.metrics.Metrics")(), kafka.named(f"{CLIENTS}.utils.Time").SYSTEM
    topics, failures = kafka.named("kafka.server.BrokerTopicStats")(), kafka.named("kafka.server.LogDirFailureChannel")(1)
    configs, scheduler = kafka.named("kafka.server.metadata.CachedConfigRepository")(), _mock(kafka, "kafka.utils.KafkaScheduler")
    logs = kafka.singleton("kafka.log.LogManager").apply(
        config, kafka.sequence([]), configs, scheduler, time, topics, failures, False
    )
    metadata = kafka.singleton("kafka.server.MetadataCache").zkMetadataCache(BROKER)
    quotas = kafka.singleton("kafka.server.QuotaFactory").instantiate(config, metrics, time, "")
    stopping = kafka.named("java.util.concurrent.atomic.AtomicBoolean")(False)
    isrs = _mock(kafka, "kafka.server.AlterIsrManager")
    parts = (config, metrics, time, kafka.none, scheduler, logs, stopping, quotas, topics, metadata, failures, isrs, configs)
    return _Parts(kafka.named("kafka.server.ReplicaManager")(*parts, kafka.none), metadata, quotas)


def _parts_of_3_9(kafka: Kafka, config: Any) -> _Parts:
    metrics, time = kafka.named(f"{CLIENTS}.metrics.Metrics")(), kafka.named(f"{CLIENTS}.utils.Time").SYSTEM
    topics = kafka.named("kafka.server.BrokerTopicStats")(False)
    failures = kafka.named("org.apache.kafka.storage.internals.log.LogDirFailureChannel")(1)
    empty = dict.fromkeys(("config", "topicConfig", "brokerConfig"), lambda *_: kafka.named("java.util.Properties")())
    configs = kafka.implementing("kafka.server.metadata.ConfigRepository", empty)
    scheduler = _mock(kafka, "org.apache.kafka.server.util.KafkaScheduler")
    logs = kafka.singleton("kafka.log.LogManager").apply(
        config, kafka.sequence([]), configs, scheduler, time, topics, failures, False
    )
    protocol = kafka.named("org.apache.kafka.server.common.MetadataVersion").latestProduction()
    features = kafka.singleton("kafka.server.BrokerFeatures").createEmpty()
    metadata = kafka.singleton("kafka.server.MetadataCache").zkMetadataCache(BROKER, protocol, features, False)
    quotas = kafka.singleton("kafka.server.QuotaFactory").instantiate(config, metrics, time, "")
    isrs, default = _mock(kafka, "kafka.server.AlterPartitionManager"), kafka.singleton("kafka.server.ReplicaManager")
    parts = (config, metrics, time, scheduler, logs, kafka.none, quotas, metadata, failures, isrs, topics)
    rest = [getattr(default, f"$lessinit$greater$default${number}")() for number in range(12, 23)]
    return _Parts(kafka.named("kafka.server.ReplicaManager")(*parts, *rest), metadata, quotas)


def is_stale(kafka: Kafka, own: int) -> Callable[[int], bool]:
    """Return Kafka's check of the broker epoch in a request, for a broker whose own is this."""
    mockito = kafka.named("org.mockito.Mockito")
    controller = mockito.mock(kafka.named("kafka.controller.KafkaController").class_, mockito.CALLS_REAL_METHODS)
    kafka.put(controller, "_brokerEpoch", kafka.long(own))
    if kafka.version != OLDER:
        manager = kafka.named("kafka.server.ZkBrokerEpochManager")(None, controller, kafka.none)
        return lambda asked: bool(manager.isBrokerEpochStale(asked, False))
    kind = kafka.named("kafka.server.KafkaApis").class_
    apis, support = (
        mockito.mock(kind, mockito.CALLS_REAL_METHODS),
        kafka.named("kafka.server.ZkSupport")(None, controller, None, None, None),
    )
    (stale,) = (method for method in kind.getDeclaredMethods() if str(method.getName()) == "isBrokerEpochStale")
    stale.setAccessible(True)
    return lambda asked: bool(stale.invoke(apis, [support, kafka.long(asked)]))
