"""Kafka's own clients, in this process's Java."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kafka_spec.conformance.kafka_classes.java import Kafka

ADMIN = "org.apache.kafka.clients.admin"
COMMON = "org.apache.kafka.common"
SERIALIZATION = "org.apache.kafka.common.serialization"


class Described(NamedTuple):
    """A partition as brokers describe it; nobody leads it if `leader` is -1."""

    leader: int
    replicas: list[int]
    isr: list[int]
    elr: list[int]

    def __str__(self) -> str:
        leader = "no leader" if self.leader < 0 else f"leader {self.leader}"
        return f"replicas {self.replicas}, {leader}, ISR {self.isr}, ELR {self.elr}"


class MetadataRecord(NamedTuple):
    """A record of the metadata log: the name of its class, and its fields as JSON."""

    name: str
    json: str


class QuorumSeen(NamedTuple):
    """The quorum as its leader describes it."""

    leader: int
    epoch: int
    high_watermark: int
    ends: dict[int, int]
    """The log ends of the voters."""
    observers: dict[int, int]
    """The log ends of the others."""

    def __str__(self) -> str:
        return (
            f"leader {self.leader} of epoch {self.epoch}, high watermark {self.high_watermark}, voters {sorted(self.ends)}, "
            f"log ends {dict(sorted({**self.ends, **self.observers}.items()))}"
        )


class Clients:
    """Kafka's admin client, producer and consumer."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka

    def create_topic(self, addresses: str, topic: str, replicas: Mapping[int, Sequence[int]]) -> None:
        """Create a topic with the given replicas."""
        admin = self.admin(addresses)
        admin.create_topic(topic, replicas)
        admin.close()

    def admin(self, addresses: str) -> AdminClient:
        """Return an admin client."""
        return AdminClient(
            self._kafka, self._kafka.named(f"{ADMIN}.Admin").create(settings_of(self._kafka, {"bootstrap.servers": addresses}))
        )

    def admin_of_controller(self, address: str) -> AdminClient:
        """Return an admin client that asks a controller."""
        settings = {"bootstrap.controllers": address, "request.timeout.ms": "5000", "default.api.timeout.ms": "8000"}
        return AdminClient(self._kafka, self._kafka.named(f"{ADMIN}.Admin").create(settings_of(self._kafka, settings)))

    def metadata(self, log: Path) -> list[MetadataRecord]:
        """Return the records of a segment of the metadata log."""
        kafka, found = self._kafka, []
        opened = kafka.first_of(f"{COMMON}.record.internal.FileRecords", f"{COMMON}.record.FileRecords").open(
            kafka.named("java.io.File")(str(log)), False
        )
        for batch in kafka.listed(opened.batches()):
            for record in [] if batch.isControlBatch() else kafka.listed(batch):
                content = kafka.named(f"{COMMON}.protocol.ByteBufferAccessor")(record.value())
                read = kafka.named("org.apache.kafka.metadata.MetadataRecordSerde").INSTANCE.read(content, record.valueSize())
                name = str(read.message().getClass().getSimpleName())
                converter = kafka.named(f"{COMMON}.metadata.{name}JsonConverter")
                found.append(MetadataRecord(name, str(converter.write(read.message(), read.version()).toString())))
        opened.channel().close()  # its own `close` of 3.9 truncates the file, which is open for reading
        return found

    def producer(self, addresses: str, acks: str, patience_ms: int = 60_000, retries: int = 2**31 - 1) -> Any:
        """Return a producer that keeps the metadata it has; it gives up after `patience_ms`, or after so many retries."""
        name = f"{SERIALIZATION}.StringSerializer"
        settings = {"bootstrap.servers": addresses, "acks": acks, "key.serializer": name, "value.serializer": name}
        patient = {"metadata.max.age.ms": "600000", "connections.max.idle.ms": "600000"}
        patient["max.block.ms"] = patient["delivery.timeout.ms"] = str(patience_ms)
        patient["request.timeout.ms"] = str(patience_ms // 2)
        patient["retries"] = str(retries)
        return self._kafka.named("org.apache.kafka.clients.producer.KafkaProducer")(
            settings_of(self._kafka, {**settings, **patient})
        )

    def produce(self, producer: Any, topic: str, value: str) -> int:
        """Produce one record to partition 0, and return the offset that the broker acknowledges."""
        return int(self.send(producer, topic, value).get().offset())

    def send(self, producer: Any, topic: str, value: str) -> Any:
        """Begin to produce one record to partition 0; return the future that has the answer."""
        record = self._kafka.named("org.apache.kafka.clients.producer.ProducerRecord")(topic, self._kafka.boxed(0), None, value)
        return producer.send(record)

    def read_all(self, addresses: str, topic: str, seconds: float = 8) -> list[str]:
        """Return the values of partition 0, as far as they come within some seconds."""
        kafka, name = self._kafka, f"{SERIALIZATION}.StringDeserializer"
        settings = {"bootstrap.servers": addresses, "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
        consumer = kafka.named("org.apache.kafka.clients.consumer.KafkaConsumer")(
            settings_of(self._kafka, {**settings, "key.deserializer": name, "value.deserializer": name})
        )
        consumer.assign(kafka.java_list([kafka.partition(topic, 0)]))
        found: list[str] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            polled = consumer.poll(kafka.named("java.time.Duration").ofMillis(300))
            found += [str(record.value()) for record in kafka.listed(polled)]
        consumer.close()
        return found


class AdminClient:
    """Kafka's admin client."""

    def __init__(self, kafka: Kafka, client: Any) -> None:
        self._kafka = kafka
        self._client = client

    def create_topic(self, topic: str, replicas: Mapping[int, Sequence[int]], settings: Mapping[str, str] | None = None) -> None:
        """Create a topic with the given replicas and settings."""
        kafka = self._kafka
        assignment = kafka.named("java.util.HashMap")()
        for partition, brokers in replicas.items():
            assignment.put(kafka.boxed(partition), kafka.java_list(brokers))
        new = kafka.named(f"{ADMIN}.NewTopic")(topic, assignment).configs(settings_of(kafka, settings or {}))
        self._client.createTopics(kafka.java_list([new])).all().get()

    def delete_topics(self, topics: Sequence[str]) -> None:
        """Delete topics."""
        self._client.deleteTopics(self._kafka.java_list(topics)).all().get()

    def add_partitions(self, topic: str, total: int, new: Sequence[Sequence[int]]) -> None:
        """Add partitions to a topic, so that it has `total`; `new` are the replicas of each new one."""
        kafka = self._kafka
        replicas = kafka.java_list([kafka.java_list(one) for one in new])
        asked = kafka.named("java.util.HashMap")()
        asked.put(topic, kafka.named(f"{ADMIN}.NewPartitions").increaseTo(total, replicas))
        self._client.createPartitions(asked).all().get()

    def partition(self, topic: str) -> Described:
        """Return what the brokers tell of partition 0."""
        one = self._client.describeTopics(self._kafka.java_list([topic])).allTopicNames().get().get(topic).partitions().get(0)
        replicas, isr, elr = (self._nodes(nodes) for nodes in (one.replicas(), one.isr(), one.elr()))
        return Described(-1 if one.leader() is None else int(one.leader().id()), replicas, isr, elr)

    def brokers(self) -> list[int]:
        """Return the brokers that are alive."""
        return sorted(int(node.id()) for node in self._kafka.listed(self._client.describeCluster().nodes().get()))

    def reassign(self, topic: str, replicas: Sequence[int], partition: int = 0) -> None:
        """Reassign a partition."""
        kafka = self._kafka
        new = kafka.named(f"{ADMIN}.NewPartitionReassignment")(kafka.java_list(replicas))
        self._ask_for(topic, partition, kafka.named("java.util.Optional").of(new))

    def cancel(self, topic: str, partition: int = 0) -> None:
        """Cancel the reassignment of a partition."""
        self._ask_for(topic, partition, self._kafka.named("java.util.Optional").empty())

    def elect_unclean(self, topic: str, partition: int = 0) -> None:
        """Elect a leader of a partition uncleanly."""
        self._elect("UNCLEAN", [(topic, partition)]).all().get()

    def elect(self, kind: str, partitions: Sequence[tuple[str, int]]) -> None:
        """Elect leaders, PREFERRED or UNCLEAN; a partition that needs none, or has no replica for it, stays as it is."""
        self._elect(kind, partitions).partitions().get()

    def _elect(self, kind: str, partitions: Sequence[tuple[str, int]]) -> Any:
        asked = self._kafka.named("java.util.HashSet")()
        for topic, number in partitions:
            asked.add(self._kafka.partition(topic, number))
        return self._client.electLeaders(getattr(self._kafka.named(f"{COMMON}.ElectionType"), kind), asked)

    def unregister(self, broker: int) -> None:
        """Unregister a broker, which should be down for good."""
        self._client.unregisterBroker(broker).all().get()

    def _ask_for(self, topic: str, partition: int, reassignment: Any) -> None:
        asked = self._kafka.named("java.util.HashMap")()
        asked.put(self._kafka.partition(topic, partition), reassignment)
        self._client.alterPartitionReassignments(asked).all().get()

    def move(self, topic: str, broker: int, directory: str) -> None:
        """Have a broker move its replica of partition 0 to another of its log directories, as kafka-reassign-partitions does."""
        replica = self._kafka.named(f"{COMMON}.TopicPartitionReplica")(topic, 0, broker)
        asked = self._kafka.named("java.util.HashMap")()
        asked.put(replica, directory)
        self._client.alterReplicaLogDirs(asked).all().get()

    def quorum(self) -> QuorumSeen:
        """Return the quorum as the leader describes it that the client finds."""
        found = self._client.describeMetadataQuorum().quorumInfo().get()
        ends = [
            {int(one.replicaId()): int(one.logEndOffset()) for one in self._kafka.listed(states)}
            for states in (found.voters(), found.observers())
        ]
        return QuorumSeen(int(found.leaderId()), int(found.leaderEpoch()), int(found.highWatermark()), *ends)

    def remove_voter(self, voter: int, directory: str) -> None:
        """Remove a voter of the quorum, as kafka-metadata-quorum remove-controller does."""
        self._client.removeRaftVoter(voter, self._kafka.named(f"{COMMON}.Uuid").fromString(directory)).all().get()

    def settings_of_brokers(self) -> dict[str, str]:
        """Return the settings of all brokers that are in the metadata."""
        kafka = self._kafka
        config = kafka.named("org.apache.kafka.common.config.ConfigResource")
        every = config(kafka.named("org.apache.kafka.common.config.ConfigResource$Type").BROKER, "")
        found = self._client.describeConfigs(kafka.java_list([every])).all().get().get(every)
        return {str(one.name()): str(one.value()) for one in kafka.listed(found.entries())}

    def configure(self, kind: str, name: str, settings: Mapping[str, str]) -> None:
        """Set settings of a broker or a topic; `kind` is BROKER or TOPIC."""
        kafka = self._kafka
        resource = kafka.named("org.apache.kafka.common.config.ConfigResource")(
            getattr(kafka.named("org.apache.kafka.common.config.ConfigResource$Type"), kind), name
        )
        kind_of_change = kafka.named(f"{ADMIN}.AlterConfigOp$OpType").SET
        changes = [
            kafka.named(f"{ADMIN}.AlterConfigOp")(kafka.named(f"{ADMIN}.ConfigEntry")(*one), kind_of_change)
            for one in settings.items()
        ]
        asked = kafka.named("java.util.HashMap")()
        asked.put(resource, kafka.java_list(changes))
        self._client.incrementalAlterConfigs(asked).all().get()

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def _nodes(self, nodes: Any) -> list[int]:
        return [] if nodes is None else [int(node.id()) for node in self._kafka.listed(nodes)]


def settings_of(kafka: Kafka, settings: Mapping[str, str]) -> Any:
    """Return settings as clients take them."""
    found = kafka.named("java.util.Properties")()
    for name, value in settings.items():
        found.put(name, value)
    return found
