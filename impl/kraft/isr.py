"""A leader's ISR in KRaft, where the controller writes it on the leader's proposal.

A request is sent until it is answered. A proposal that is retried is made again, under the same epochs.

Source: Kafka 3.9 Partition.prepareIsrExpand, prepareIsrShrink, handleAlterPartitionUpdate, handleAlterPartitionError.
"""

from __future__ import annotations

from kafka_spec.impl.broker.alter_partition import AlterPartitionManager
from kafka_spec.impl.broker.isr_manager import IsrWrite
from kafka_spec.impl.kraft.replicas import KRaftReplicas
from kafka_spec.impl.protocol.kraft_requests import ProposalAnswer, ProposalRequest, ProposedIsr
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.alter_partition import Reaction
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.machines import SENT, SETTLED


class KRaftAlterPartitionManager(AlterPartitionManager[ProposedIsr, ProposalRequest]):
    """Proposes the ISRs of the partitions that a broker leads; what becomes of a proposal is a machine of the model."""

    def __init__(self, replicas: KRaftReplicas) -> None:
        super().__init__(replicas)
        self._replicas = replicas
        self._k = replicas.k

    def _may_join(self, partition: TopicPartition, follower: int) -> bool:
        return self._replicas.may_join(partition, follower)

    def _change(self, partition: TopicPartition, isr: tuple[int, ...], now: int) -> IsrWrite:
        if self._replicas.proposal_of(partition) != SETTLED or partition in self.waiting:
            return IsrWrite.NOT_NEEDED
        self.propose(partition, isr)
        return IsrWrite.UNANSWERED

    def propose(self, partition: TopicPartition, isr: tuple[int, ...]) -> None:
        """Propose an ISR, with the broker epochs of the members' last fetches; the leader's own is its own."""
        replicas, hosted = self._replicas, self._replicas.partitions[partition]
        replicas.proposals.fire("propose", partition)
        hosted.pending_isr = isr
        epochs = {broker: follower.broker_epoch for broker, follower in hosted.followers.items()}
        epochs[replicas.number] = replicas.broker_epoch
        members = tuple((broker, epochs[broker]) for broker in isr)
        self.waiting[partition] = ProposedIsr(
            hosted.leader_epoch, hosted.partition_epoch, members, hosted.topic_id, min_isr=replicas.min_insync_replicas(partition)
        )

    def take(self, answer: ProposalAnswer, now: int) -> None:
        """Handle the answer to the request on its way."""
        asked = () if self.in_flight is None else self.in_flight.partitions
        self._take({partition: one for partition in asked if (one := answer.answer_for(partition)) is not None}, now)

    def _request(self, proposals: dict[TopicPartition, ProposedIsr]) -> ProposalRequest:
        return ProposalRequest(self._replicas.number, self._replicas.broker_epoch, proposals)

    def _is_pending(self, partition: TopicPartition, proposed: ProposedIsr) -> bool:
        """Whether no image has settled the proposal."""
        return self._replicas.proposal_of(partition) == SENT

    def _repeats(self, now: int) -> bool:
        return self._k.cleared_before_retry == Checked.YES

    def _settled(self, partition: TopicPartition, by: Reaction, now: int) -> None:
        trigger, advances = {
            Reaction.ADOPT: ("adopt", self._k.high_watermark_after_alter),
            Reaction.ROLL_BACK: ("roll_back", self._k.high_watermark_after_rollback),
        }.get(by, ("strand", Checked.NO))
        self._replicas.proposals.fire(trigger, partition)
        if advances == Checked.YES:
            self._replicas.advance_high_watermark(partition, now)
