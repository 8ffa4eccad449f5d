"""Metadata of brokers and topics for clients, and automatic topic creation.

The cache holds what controllers have sent. Only a metadata request creates a topic; a produce to an unknown topic is refused.

Source: Kafka 2.7 KafkaApis.scala (getTopicMetadata, createTopic, handleTopicMetadataRequest), MetadataCache.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka_spec.impl.protocol.controller_requests import NO_LEADER, UpdateMetadataRequest
from kafka_spec.impl.protocol.data_requests import Metadata, MetadataRequest, PartitionMetadata
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.topic_ids import id_of_nameless
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError


class MetadataCache:
    """The metadata cache of one broker; the replica manager holds that of partitions."""

    def __init__(self, replicas: ReplicaManager, create: Callable[[str], object]) -> None:
        """`create` creates a topic, or raises KafkaError or CoordinationError."""
        self._replicas = replicas
        self._create = create
        self._brokers: tuple[BrokerRegistration, ...] = ()
        self.controller = NO_LEADER
        """The controller's broker id, as last received."""

    def learn(self, request: UpdateMetadataRequest) -> None:
        """Cache the live brokers and the sender of a request that was not refused."""
        self._brokers, self.controller = request.live_brokers, request.controller

    def answer(self, request: MetadataRequest) -> Metadata:
        """Return the metadata of topics; missing ones are created if the broker and the request permit it."""
        known, ids = self._replicas.metadata, self._replicas.topic_ids
        topics = dict.fromkeys(p.topic for p in known) if request.topics is None else self._named(request.topics)
        partitions = {p: self._partition(p) for p in sorted(known) if p.topic in topics}
        found = {p.topic for p in partitions}
        missing = [topic for topic in topics if topic not in found and id_of_nameless(topic) is None]
        may_create = self._replicas.settings.auto_create_topics_enable and request.allow_auto_topic_creation
        errors = {topic: self._created(topic) if may_create else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for topic in missing}
        errors.update({topic: ErrorCode.UNKNOWN_TOPIC_ID for topic in topics if id_of_nameless(topic) is not None})
        return Metadata(self._brokers, self.controller, partitions, errors, {topic: ids[topic] for topic in found if topic in ids})

    def _named(self, topics: Iterable[str]) -> dict[str, None]:
        """Return the names of topics, in order; some may be asked for by their ids."""
        names = {topic_id: name for name, topic_id in self._replicas.topic_ids.items()}
        return dict.fromkeys(names.get(id_of_nameless(topic) or "", topic) for topic in topics)

    def _partition(self, partition: TopicPartition) -> PartitionMetadata:
        held = self._replicas.metadata[partition]
        available = held.leadership.leader in self._replicas.alive
        error = ErrorCode.NONE if available else ErrorCode.LEADER_NOT_AVAILABLE
        return PartitionMetadata(error, held.leadership, held.replicas, held.offline_replicas)

    def _created(self, topic: str) -> ErrorCode:
        """Create a topic; return LEADER_NOT_AVAILABLE, since it has no leader yet, or the error of its creation."""
        try:
            self._create(topic)
        except KafkaError as error:
            return ErrorCode.LEADER_NOT_AVAILABLE if error.code == ErrorCode.TOPIC_ALREADY_EXISTS else error.code
        except CoordinationError:
            return ErrorCode.UNKNOWN_SERVER_ERROR
        return ErrorCode.LEADER_NOT_AVAILABLE
