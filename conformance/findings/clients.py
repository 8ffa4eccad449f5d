"""Kafka's own clients, in this process's Java."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from kafka_spec.conformance.classes.java import Kafka

SERIALIZATION = "org.apache.kafka.common.serialization"


class Clients:
    """Kafka's admin client, producer and consumer."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka

    def create_topic(self, addresses: str, topic: str, replicas: Mapping[int, Sequence[int]]) -> None:
        """Create a topic with the given replicas."""
        kafka = self._kafka
        assignment = kafka.named("java.util.HashMap")()
        for partition, brokers in replicas.items():
            assignment.put(kafka.boxed(partition), kafka.java_list(brokers))
        admin = kafka.named("org.apache.kafka.clients.admin.Admin").create(self._settings({"bootstrap.servers": addresses}))
        new = kafka.named("org.apache.kafka.clients.admin.NewTopic")(topic, assignment)
        admin.createTopics(kafka.java_list([new])).all().get()
        admin.close()

    def producer(self, addresses: str, acks: str, patience_ms: int = 60_000) -> Any:
        """Return a producer that keeps the metadata it has; it gives up after `patience_ms`."""
        name = f"{SERIALIZATION}.StringSerializer"
        settings = {"bootstrap.servers": addresses, "acks": acks, "key.serializer": name, "value.serializer": name}
        patient = {"metadata.max.age.ms": "600000", "connections.max.idle.ms": "600000"}
        patient["max.block.ms"] = patient["delivery.timeout.ms"] = str(patience_ms)
        patient["request.timeout.ms"] = str(patience_ms // 2)
        return self._kafka.named("org.apache.kafka.clients.producer.KafkaProducer")(self._settings({**settings, **patient}))

    def produce(self, producer: Any, topic: str, value: str) -> int:
        """Produce one record to partition 0, and return the offset that the broker acknowledges."""
        record = self._kafka.named("org.apache.kafka.clients.producer.ProducerRecord")(topic, self._kafka.boxed(0), None, value)
        return int(producer.send(record).get().offset())

    def read_all(self, addresses: str, topic: str, seconds: float = 8) -> list[str]:
        """Return the values of partition 0, as far as they come within some seconds."""
        kafka, name = self._kafka, f"{SERIALIZATION}.StringDeserializer"
        settings = {"bootstrap.servers": addresses, "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
        consumer = kafka.named("org.apache.kafka.clients.consumer.KafkaConsumer")(
            self._settings({**settings, "key.deserializer": name, "value.deserializer": name})
        )
        consumer.assign(kafka.java_list([kafka.partition(topic, 0)]))
        found: list[str] = []
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            polled = consumer.poll(kafka.named("java.time.Duration").ofMillis(300))
            found += [str(record.value()) for record in kafka.listed(polled)]
        consumer.close()
        return found

    def _settings(self, settings: Mapping[str, str]) -> Any:
        found = self._kafka.named("java.util.Properties")()
        for name, value in settings.items():
            found.put(name, value)
        return found
