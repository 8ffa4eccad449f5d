"""A leader's ISR where a controller on ZooKeeper writes it (KIP-497, inter.broker.protocol 2.7 and later).

A refused change stays pending until the next LeaderAndIsr; a request that failed as a whole is repeated after a while.
"""

from __future__ import annotations

from kafka_spec.impl.broker.alter_partition import AlterPartitionManager
from kafka_spec.impl.broker.isr_manager import IsrWrite
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.data_requests import AlterIsrRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.responses import AlteredPartition, AlterIsrResponse
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.isr import ZkIsrManager
from kafka_spec.impl.zookeeper.broker.replica_manager import ReplicaManager
from kafka_spec.impl.zookeeper.coordination.interface import Session
from kafka_spec.spec.decisions.alter_partition import Reaction
from kafka_spec.spec.zookeeper.machines import Role

BACKOFF_MS = 50
"""Milliseconds after which a request that failed as a whole is repeated."""


class AlterIsrManager(AlterPartitionManager[Leadership, AlterIsrRequest], ZkIsrManager):
    """Proposes the ISRs of the partitions that a broker leads, in place of writing and reporting them."""

    def __init__(self, replicas: ReplicaManager, session: Session | None = None) -> None:
        super().__init__(replicas)
        self.session = session
        self._not_before = 0

    def retry(self, partition: TopicPartition, now: int) -> IsrWrite:
        """Propose a pending change, unless a proposal for the partition waits already."""
        hosted = self._replicas.partitions[partition]
        if hosted.pending_isr is None or hosted.isr_write_refused or partition in self.waiting:
            return IsrWrite.NOT_NEEDED
        number, epoch = self._replicas.number, hosted.leader_epoch
        self.waiting[partition] = Leadership(number, epoch, hosted.pending_isr, hosted.partition_epoch, hosted.controller_epoch)
        return IsrWrite.UNANSWERED

    def next_request(self, now: int) -> AlterIsrRequest | None:
        """Return the request to send, None if nothing waits, or one is on its way."""
        return None if self.in_flight is not None or now < self._not_before else super().next_request(now)

    def lost(self, now: int) -> None:
        """Let the proposals of the request on its way wait again: it has failed as a whole, or has no answer."""
        self.in_flight, self._not_before = None, now + BACKOFF_MS

    def take(self, answer: AlterIsrResponse, now: int) -> None:
        """Handle the answer to the request on its way."""
        if answer.error != ErrorCode.NONE:
            self.lost(now)
        else:
            self._take({partition: altered(one) for partition, one in answer.partitions.items()}, now)

    def _request(self, proposals: dict[TopicPartition, Leadership]) -> AlterIsrRequest:
        replicas = self._replicas
        ids = {p.topic: topic_id for p in proposals if (topic_id := replicas.topic_ids.get(p.topic)) is not None}
        return AlterIsrRequest(replicas.number, replicas.broker_epoch, proposals, ids)

    def _is_pending(self, partition: TopicPartition, proposed: Leadership) -> bool:
        hosted = self._replicas.partitions.get(partition)
        return (
            hosted is not None
            and self._replicas.role_of(partition) == Role.LEADER
            and (hosted.leader_epoch, hosted.pending_isr) == (proposed.leader_epoch, proposed.isr)
        )

    def _repeats(self, now: int) -> bool:
        self._not_before = now + BACKOFF_MS
        return True

    def _settled(self, partition: TopicPartition, by: Reaction, now: int) -> None:
        if by == Reaction.WAIT:
            self._replicas.partitions[partition].isr_write_refused = True
        else:
            self._replicas.advance_high_watermark(partition, now)


def altered(answer: ErrorCode | Leadership) -> AlteredPartition:
    """Return the answer to one proposal in the form of AlterPartition."""
    if isinstance(answer, Leadership):
        return AlteredPartition(ErrorCode.NONE, answer.leader_epoch, answer.version, answer.isr)
    return AlteredPartition(answer)
