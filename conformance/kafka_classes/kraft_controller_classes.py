"""What all controllers of KRaft in this process share: Kafka's classes of requests, settings and partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kafka_spec.conformance.kafka_classes.kraft_ours import KRaftPartition
from kafka_spec.spec.language.domain import NONE

if TYPE_CHECKING:
    from kafka_spec.conformance.kafka_classes.java import Kafka

CONTROLLER = "org.apache.kafka.controller"
MESSAGE = "org.apache.kafka.common.message"
TOPIC = "t"


def read(kafka: Kafka, held: Any) -> KRaftPartition:
    """Return a PartitionRegistration as ours; a broker that is listed twice stays twice."""
    last = [int(broker) for broker in held.lastKnownElr]
    return KRaftPartition(
        tuple(int(broker) for broker in held.replicas),
        int(held.leader),
        tuple(sorted(int(broker) for broker in held.isr)),
        tuple(sorted(int(broker) for broker in held.elr)),
        last[0] if last else NONE,
        int(held.leaderRecoveryState.value()),
        int(held.leaderEpoch),
        int(held.partitionEpoch),
        tuple(sorted(int(broker) for broker in held.addingReplicas)),
        tuple(sorted(int(broker) for broker in held.removingReplicas)),
    )


class ControllerClasses:
    """What all controllers of a process share: requests, settings, and the differences between versions."""

    def __init__(self, kafka: Kafka) -> None:
        self.kafka = kafka
        self.is_3 = kafka.version.startswith("3.")
        self.time = kafka.implementing(
            "org.apache.kafka.common.utils.Time",
            {"milliseconds": lambda: self.now // 1_000_000, "nanoseconds": lambda: self.now, "hiResClockMs": lambda: 0},
        )
        self.now = 1_000_000_000
        self.schema = self._schema()
        header = kafka.named(f"{MESSAGE}.RequestHeaderData")().setRequestApiVersion(3)
        principal = kafka.named("org.apache.kafka.common.security.auth.KafkaPrincipal").ANONYMOUS
        self.context = kafka.named(f"{CONTROLLER}.ControllerRequestContext")(
            header, principal, kafka.named("java.util.OptionalLong").empty()
        )
        self.errors = kafka.named("org.apache.kafka.common.protocol.Errors")

    def _schema(self) -> Any:
        """Return the settings that the controller asks for: min.insync.replicas and unclean.leader.election.enable."""
        kafka = self.kafka
        definition = kafka.named("org.apache.kafka.common.config.ConfigDef")
        kinds = kafka.named("org.apache.kafka.common.config.ConfigDef$Type")
        importance = kafka.named("org.apache.kafka.common.config.ConfigDef$Importance").HIGH
        resources = kafka.named("org.apache.kafka.common.config.ConfigResource$Type")
        synonym = kafka.named("org.apache.kafka.server.config.ConfigSynonym")
        settings = definition()
        settings.define("min.insync.replicas", kinds.INT, kafka.boxed(1), importance, "")
        settings.define("unclean.leader.election.enable", kinds.BOOLEAN, kafka.named("java.lang.Boolean")(False), importance, "")
        definitions, synonyms = kafka.named("java.util.HashMap")(), kafka.named("java.util.HashMap")()
        for name in ("min.insync.replicas", "unclean.leader.election.enable"):
            synonyms.put(name, kafka.java_list([synonym(name)]))
        for resource in (resources.TOPIC, resources.BROKER):
            definitions.put(resource, settings)
        return kafka.named("org.apache.kafka.metadata.KafkaConfigSchema")(definitions, synonyms)

    def message(self, name: str) -> Any:
        """Return a new request or record."""
        kind = "org.apache.kafka.common.metadata" if name.endswith("Record") else MESSAGE
        return self.kafka.named(f"{kind}.{name}")()

    def registration(self, broker: int) -> Any:
        """Return a request that registers a broker, without what distinguishes its processes."""
        listener = self.kafka.named(f"{MESSAGE}.BrokerRegistrationRequestData$Listener")().setName("PLAINTEXT")
        listener.setHost("localhost").setPort(9092 + broker).setSecurityProtocol(0)
        request = self.message("BrokerRegistrationRequestData").setBrokerId(broker).setClusterId("c")
        request.listeners().add(listener)
        for name, low, high in (("metadata.version", 1, 99), ("eligible.leader.replicas.version", 0, 1)):
            feature = self.kafka.named(f"{MESSAGE}.BrokerRegistrationRequestData$Feature")().setName(name)
            request.features().add(feature.setMinSupportedVersion(low).setMaxSupportedVersion(high))
        return request

    def creation(self, replicas: Sequence[int], configs: Mapping[str, str]) -> Any:
        """Return a request that creates the topic, with one partition on these replicas."""
        kind = f"{MESSAGE}.CreateTopicsRequestData$"
        topic = self.kafka.named(f"{kind}CreatableTopic")().setName(TOPIC).setNumPartitions(-1).setReplicationFactor(-1)
        assignment = self.kafka.named(f"{kind}CreatableReplicaAssignment")().setPartitionIndex(0)
        topic.assignments().add(assignment.setBrokerIds(self.kafka.java_list(replicas)))
        for name, value in configs.items():
            topic.configs().add(self.kafka.named(f"{kind}CreatableTopicConfig")().setName(name).setValue(value))
        request = self.message("CreateTopicsRequestData")
        request.topics().add(topic)
        return request

    def error_of(self, code: int) -> str:
        """Return the name of an error code."""
        return str(self.errors.forCode(code).name())
