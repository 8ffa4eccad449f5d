"""The data plane of a broker of KRaft: what a leader learns from fetches.

Sans-IO, like impl/zookeeper/broker/data_plane.py, whose requests, logs and delayed operations it shares.

Source: Kafka 3.9 ReplicaManager.scala, Partition.updateFollowerFetchState.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_spec.impl.broker.fetcher import Fetchers
from kafka_spec.impl.broker.periodic_work import PeriodicWork
from kafka_spec.impl.broker.record_requests import Produces
from kafka_spec.impl.kraft.isr import KRaftAlterPartitionManager
from kafka_spec.impl.kraft.replicas import KRaftReplicas
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH
from kafka_spec.impl.protocol.data_requests import CONSUMER, Fetched, FetchPosition, FetchRequest, Produced, ProduceRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.fencing import fetch_is_stale
from kafka_spec.spec.kraft.machines import LEADER


class KRaftDataPlane(PeriodicWork):
    """The data plane of one broker."""

    def __init__(self, replicas: KRaftReplicas) -> None:
        """`replicas` are the broker's."""
        super().__init__(replicas)
        self.replicas: KRaftReplicas = replicas
        self.fetchers = Fetchers(replicas, truncation_on_fetch=True)
        self.isr: KRaftAlterPartitionManager = KRaftAlterPartitionManager(replicas)

    def advance_high_watermark(self, partition: TopicPartition, now: int, at_most: int | None = None) -> bool:
        """Advance a leader's high watermark, as the era decides; return whether it rose."""
        return self.replicas.advance_high_watermark(partition, now)

    # Produce

    def handle_produce(self, request: ProduceRequest, now: int, reply: Callable[[Produces], object]) -> None:
        """Append batches; a request that names another topic id than that of a log is refused as a whole (KIP-516)."""
        for partition in request.partitions:
            hosted, named = self.replicas.partitions.get(partition), request.topic_ids.get(partition.topic)
            if hosted is not None and named is not None and named != hosted.topic_id:
                reply({refused: Produced(ErrorCode.UNKNOWN_TOPIC_ID) for refused in request.partitions})
                return
        super().handle_produce(request, now, reply)

    # Fetches

    def read(self, partition: TopicPartition, position: FetchPosition, replica: int, topic_id: str | None = None) -> Fetched:
        """Read records for a fetch; a follower must be a replica that the leader knows (Partition.followerReplicaOrThrow)."""
        hosted = self.replicas.partitions.get(partition)
        fetched = super().read(partition, position, replica, topic_id)
        if fetched.error == ErrorCode.NONE and replica != CONSUMER and hosted is not None and replica not in hosted.followers:
            has_none = position.leader_epoch == NO_EPOCH
            return Fetched(ErrorCode.NOT_LEADER_OR_FOLLOWER if has_none else ErrorCode.UNKNOWN_LEADER_EPOCH)
        return fetched

    def read_all(self, request: FetchRequest) -> dict[TopicPartition, Fetched]:
        """Read what a fetch requests; one of an earlier process of a follower is refused."""
        fetched = super().read_all(request)
        if request.replica == CONSUMER or not self._is_stale(request.replica, request.broker_epoch):
            return dict(fetched)
        stale = Fetched(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return {partition: stale if one.error == ErrorCode.NONE else one for partition, one in fetched.items()}

    def _follower_fetched(self, partition: TopicPartition, position: FetchPosition, request: FetchRequest, now: int) -> None:
        """Update a leader's knowledge after a fetch, unless the logs diverge (Partition.fetchRecords)."""
        hosted = self.replicas.partitions[partition]
        if self.replicas.role_of(partition) == LEADER and request.replica in hosted.followers:
            self.learn(partition, request.replica, position.offset, request.broker_epoch, now)

    def learn(self, partition: TopicPartition, follower: int, offset: int, broker_epoch: int, now: int) -> None:
        """Note a follower's log end and broker epoch; propose it for the ISR if it may join; raise the high watermark if it moved.

        A fetch of an earlier process of the follower is ignored if the era compares broker epochs (KIP-903).
        """
        hosted = self.replicas.partitions[partition]
        if not self._is_stale(follower, broker_epoch):
            moved = hosted.note_fetch(follower, offset, broker_epoch, now)
            self.isr.try_expand(partition, follower, now)
            if moved:
                self.advance_high_watermark(partition, now)

    def _is_stale(self, follower: int, broker_epoch: int) -> bool:
        """Whether the metadata cache has a later process of a follower."""
        image = self.replicas.image
        is_unfenced = int(follower in image.brokers and not image.brokers[follower].fenced)
        return fetch_is_stale(broker_epoch, image.epoch_of(follower), is_unfenced, self.replicas.k.fetch_epochs_compared)
