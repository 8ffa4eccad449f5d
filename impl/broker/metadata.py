"""What a broker tells clients of brokers and topics, and the topics that come into being by being asked for.

The cache is what controllers have sent. Only a request for metadata creates a topic; records for an unknown one are refused.

Source: Kafka 2.7 KafkaApis.scala (getTopicMetadata, createTopic, handleTopicMetadataRequest), MetadataCache.scala.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_spec.impl.broker.replica_manager import ReplicaManager
from kafka_spec.impl.coordination.interface import CoordinationError
from kafka_spec.impl.protocol.controller_requests import NO_LEADER, UpdateMetadataRequest
from kafka_spec.impl.protocol.data_requests import Metadata, MetadataRequest, PartitionMetadata
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.topic_partition import TopicPartition


class MetadataCache:
    """The metadata of one broker; the partitions' are kept by its replica manager."""

    def __init__(self, replicas: ReplicaManager, create: Callable[[str], object]) -> None:
        """`create` creates a topic, or raises KafkaError or CoordinationError."""
        self._replicas = replicas
        self._create = create
        self._brokers: tuple[BrokerRegistration, ...] = ()
        self.controller = NO_LEADER
        """Who the controller is, as far as this broker was told."""

    def learn(self, request: UpdateMetadataRequest) -> None:
        """Take the live brokers of a request that was not refused, and its sender for the controller."""
        self._brokers, self.controller = request.live_brokers, request.controller

    def answer(self, request: MetadataRequest) -> Metadata:
        """Return what is known of the topics; those that are missing are created where the broker and the request allow it."""
        known = self._replicas.metadata
        topics = dict.fromkeys(p.topic for p in known) if request.topics is None else dict.fromkeys(request.topics)
        partitions = {p: self._partition(p) for p in sorted(known) if p.topic in topics}
        found = {p.topic for p in partitions}
        missing = [topic for topic in topics if topic not in found]
        may_create = self._replicas.settings.auto_create_topics_enable and request.allow_auto_topic_creation
        errors = {topic: self._created(topic) if may_create else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for topic in missing}
        return Metadata(self._brokers, self.controller, partitions, errors)

    def _partition(self, partition: TopicPartition) -> PartitionMetadata:
        held = self._replicas.metadata[partition]
        available = held.leadership.leader in self._replicas.alive
        error = ErrorCode.NONE if available else ErrorCode.LEADER_NOT_AVAILABLE
        return PartitionMetadata(error, held.leadership, held.replicas, held.offline_replicas)

    def _created(self, topic: str) -> ErrorCode:
        """Create a topic, and return what is said of it: that nobody leads it yet, or why it cannot be."""
        try:
            self._create(topic)
        except KafkaError as error:
            return ErrorCode.LEADER_NOT_AVAILABLE if error.code == ErrorCode.TOPIC_ALREADY_EXISTS else error.code
        except CoordinationError:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.LEADER_NOT_AVAILABLE
