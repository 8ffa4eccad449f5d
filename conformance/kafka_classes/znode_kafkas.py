"""Kafka's encoders and decoders of znodes, with our values as arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_classes.records import LeaderAndIsrRecords
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes


class KafkasZnodes:
    """Kafka's encoders and decoders, with our values as arguments and results."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._records = LeaderAndIsrRecords(kafka)

    def _znode(self, name: str) -> Any:
        return self._kafka.singleton(f"kafka.zk.{name}ZNode")

    # /controller

    def encode_controller(self, value: znodes.ControllerRegistration) -> Any:
        if self._records.is_newer:
            return self._znode("Controller").encode(value.broker, value.timestamp, -1)
        return self._znode("Controller").encode(value.broker, value.timestamp)

    def decode_controller(self, data: bytes) -> int:
        return int(self._kafka.optional(self._znode("Controller").decode(self._kafka.bytes(data))))

    # /brokers/ids/N

    def encode_broker(self, value: BrokerRegistration) -> Any:
        kafka = self._kafka
        listeners = [self._endpoint(one) for one in value.endpoints]
        broker = kafka.named("kafka.cluster.Broker")(
            value.number, kafka.sequence(listeners), kafka.option(value.rack), self._features(value)
        )
        return self._znode("BrokerId").encode(kafka.named("kafka.zk.BrokerInfo")(broker, value.version, value.jmx_port))

    def _endpoint(self, value: Endpoint) -> Any:
        kafka = self._kafka
        protocol = kafka.named("org.apache.kafka.common.security.auth.SecurityProtocol").forName(value.protocol)
        listener = kafka.named("org.apache.kafka.common.network.ListenerName")(value.listener)
        return kafka.named("kafka.cluster.EndPoint")(value.host, value.port, listener, protocol)

    def _features(self, value: BrokerRegistration) -> Any:
        kafka, features = self._kafka, self._kafka.named("java.util.HashMap")()
        short = kafka.named("java.lang.Short")
        for name, levels in value.features.items():
            kind = kafka.named("org.apache.kafka.common.feature.SupportedVersionRange")
            features.put(name, kind(short(levels["min_version"]), short(levels["max_version"])))
        return kafka.named("org.apache.kafka.common.feature.Features").supportedFeatures(features)

    def decode_broker(self, number: int, data: bytes) -> BrokerRegistration:
        kafka, info = self._kafka, self._znode("BrokerId").decode(number, self._kafka.bytes(data))
        broker = info.broker()
        endpoints = tuple(
            Endpoint(str(e.host() or ""), int(e.port()), str(e.listenerName().value()), str(e.securityProtocol().name))
            for e in kafka.listed(broker.endPoints())
        )
        features = {
            str(name): {"min_version": int(levels.min()), "max_version": int(levels.max())}
            for name, levels in kafka.items(broker.features().features())
        }
        rack = kafka.optional(broker.rack())
        return BrokerRegistration(
            number, endpoints, None if rack is None else str(rack), int(info.jmxPort()), 0, features, int(info.version())
        )

    # /brokers/topics/T

    def encode_topic(self, name: str, value: znodes.Topic) -> Any:
        kafka = self._kafka
        kind = kafka.named("kafka.controller.ReplicaAssignment")
        partitions = {
            kafka.partition(name, number): kind(
                kafka.sequence(replicas),
                kafka.sequence(value.adding.get(number, ())),
                kafka.sequence(value.removing.get(number, ())),
            )
            for number, replicas in value.partitions.items()
        }
        uuid = None if value.topic_id is None else kafka.named("org.apache.kafka.common.Uuid").fromString(value.topic_id)
        return self._znode("Topic").encode(kafka.option(uuid), kafka.mapping(partitions))

    def decode_topic(self, name: str, data: bytes) -> znodes.Topic:
        kafka, found = self._kafka, self._znode("Topic").decode(name, self._kafka.bytes(data))
        uuid, states = kafka.optional(found.topicId()), kafka.items(found.assignment())
        replicas, adding, removing = (
            {int(p.partition()): kafka.numbers(getattr(state, part)()) for p, state in states}
            for part in ("replicas", "addingReplicas", "removingReplicas")
        )
        return znodes.Topic(replicas, filled(adding), filled(removing), None if uuid is None else str(uuid))

    # /brokers/topics/T/partitions/P/state

    def encode_state(self, value: znodes.State) -> Any:
        held = self._records.leader_and_isr(value.leader, value.leader_epoch, value.isr, 3)
        kind = self._kafka.named("kafka.controller.LeaderIsrAndControllerEpoch")
        return self._znode("TopicPartitionState").encode(kind(held, value.controller_epoch))

    def decode_state(self, data: bytes) -> znodes.State:
        stat = self._kafka.named("org.apache.zookeeper.data.Stat")()
        found = self._records.leadership(
            self._kafka.optional(self._znode("TopicPartitionState").decode(self._kafka.bytes(data), stat))
        )
        return znodes.State(found.leader, found.leader_epoch, found.isr, found.controller_epoch)

    # The others

    def encode_config(self, value: dict[str, str]) -> Any:
        properties = self._kafka.named("java.util.Properties")()
        for name, setting in value.items():
            properties.put(name, setting)
        return self._znode("ConfigEntity").encode(properties)

    def decode_config(self, data: bytes) -> dict[str, str]:
        return {str(k): str(v) for k, v in self._kafka.items(self._znode("ConfigEntity").decode(self._kafka.bytes(data)))}

    def encode_partitions(self, name: str, value: Sequence[TopicPartition]) -> Any:
        return self._znode(name).encode(self._kafka.set(self._kafka.partition(*p) for p in value))

    def decode_partitions(self, name: str, data: bytes) -> set[TopicPartition]:
        found = self._kafka.listed(self._znode(name).decode(self._kafka.bytes(data)))
        return {TopicPartition(str(p.topic()), int(p.partition())) for p in found}

    def encode_log_dir_event(self, value: int) -> Any:
        return self._znode("LogDirEventNotificationSequence").encode(value)

    def decode_log_dir_event(self, data: bytes) -> int:
        return int(self._kafka.optional(self._znode("LogDirEventNotificationSequence").decode(self._kafka.bytes(data))))

    def encode_reassignment(self, value: dict[TopicPartition, tuple[int, ...]]) -> Any:
        kafka = self._kafka
        return self._znode("ReassignPartitions").encode(
            kafka.mapping({kafka.partition(*p): kafka.sequence(replicas) for p, replicas in value.items()})
        )

    def decode_reassignment(self, data: bytes) -> dict[TopicPartition, tuple[int, ...]]:
        found = self._znode("ReassignPartitions").decode(self._kafka.bytes(data)).toOption().get()
        return {
            TopicPartition(str(p.topic()), int(p.partition())): self._kafka.numbers(replicas)
            for p, replicas in self._kafka.items(found)
        }


def filled(replicas: dict[int, tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """Return the entries that are not empty."""
    return {number: some for number, some in replicas.items() if some}
