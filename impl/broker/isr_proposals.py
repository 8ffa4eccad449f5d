"""A leader's ISR where the controller writes it (KIP-497, inter.broker.protocol 2.7 and later).

A change is *pending* from its proposal until the controller has answered: the members of both ISRs count. Sans-IO: `next_request`
returns the request to send, `take` receives its answer, `lost` reports that there is none. One request is on its way at a time, and
has all proposals that wait. A refused change stays pending until the next LeaderAndIsr, or is rolled back, or is proposed again:
the error decides (spec/alter_partition.py).

Source: Kafka 3.9 AlterPartitionManager.scala, Partition.handleAlterPartitionUpdate, handleAlterPartitionError.
"""

from __future__ import annotations

from kafka_spec.impl.broker.isr import IsrKeeper, IsrWrite
from kafka_spec.impl.broker.replica_manager import ReplicaManager
from kafka_spec.impl.coordination.interface import Session
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.data_requests import AlterIsrRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.responses import AlterIsrResponse
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.alter_partition import Reaction, reaction
from kafka_spec.spec.control.machines import Role

BACKOFF_MS = 50
"""Milliseconds after which a request that failed as a whole is repeated."""


class ProposedIsrs(IsrKeeper):
    """Proposes the ISRs of the partitions that a broker leads; it writes none and reports none."""

    def __init__(self, replicas: ReplicaManager, session: Session | None = None) -> None:
        super().__init__(replicas, session)
        self.waiting: dict[TopicPartition, Leadership] = {}
        """The proposals without an answer, in a request or not."""
        self._sent: AlterIsrRequest | None = None
        self._not_before = 0

    def retry(self, partition: TopicPartition, now: int) -> IsrWrite:
        """Propose a pending change, unless a proposal for the partition waits already."""
        hosted = self._replicas.partitions[partition]
        if hosted.pending_isr is None or hosted.isr_write_refused or partition in self.waiting:
            return IsrWrite.NOT_NEEDED
        number, epoch = self._replicas.number, hosted.leader_epoch
        self.waiting[partition] = Leadership(number, epoch, hosted.pending_isr, hosted.version, hosted.controller_epoch)
        return IsrWrite.UNANSWERED

    def next_request(self, now: int) -> AlterIsrRequest | None:
        """Return the request to send, None if nothing waits, or one is on its way."""
        if self._sent is not None or not self.waiting or now < self._not_before:
            return None
        replicas = self._replicas
        ids = {p.topic: topic_id for p in self.waiting if (topic_id := replicas.topic_ids.get(p.topic)) is not None}
        self._sent = AlterIsrRequest(replicas.number, replicas.broker_epoch, dict(self.waiting), ids)
        return self._sent

    def lost(self, now: int) -> None:
        """Let the proposals of the request on its way wait again: it has failed as a whole, or has no answer."""
        self._sent, self._not_before = None, now + BACKOFF_MS

    def take(self, answer: AlterIsrResponse, now: int) -> None:
        """Handle the answer to the request on its way."""
        if answer.error != ErrorCode.NONE:
            self.lost(now)
            return
        sent, self._sent = self._sent, None
        for partition in () if sent is None else sent.partitions:
            proposed = self.waiting.pop(partition)
            if self._is_pending(partition, proposed) and partition in answer.partitions:
                self._react(partition, answer.partitions[partition], now)

    def _is_pending(self, partition: TopicPartition, proposed: Leadership) -> bool:
        """Whether the broker still waits for this change: a controller's request may have ended that."""
        hosted = self._replicas.partitions.get(partition)
        return (
            hosted is not None
            and self._replicas.role_of(partition) == Role.LEADER
            and (hosted.leader_epoch, hosted.pending_isr) == (proposed.leader_epoch, proposed.isr)
        )

    def _react(self, partition: TopicPartition, answer: ErrorCode | Leadership, now: int) -> None:
        hosted = self._replicas.partitions[partition]
        if isinstance(answer, Leadership):
            wanted = reaction(ErrorCode.NONE, answer.leader_epoch, hosted.leader_epoch, answer.version, hosted.version)
        else:
            wanted = reaction(answer, hosted.leader_epoch, hosted.leader_epoch, hosted.version, hosted.version)
        if wanted == Reaction.RETRY:
            self._not_before = now + BACKOFF_MS
            self.retry(partition, now)
            return
        if wanted == Reaction.WAIT:
            hosted.isr_write_refused = True
            return
        hosted.pending_isr = None
        if isinstance(answer, Leadership):
            hosted.isr, hosted.version = answer.isr, answer.version
        self._replicas.advance_high_watermark(partition, now)
