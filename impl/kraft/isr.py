"""A leader's proposals of ISRs: what is proposed, the one request that is on its way, and what becomes of the answers.

Sans-IO: `next_request` returns the request to send, `take` receives its answer, `lost` reports a lost connection. At most one
request is on its way; it carries all proposals that wait. A proposal that is retried is made again, under the same epochs.

Source: Kafka 3.9 AlterPartitionManager.scala, Partition.prepareIsrExpand, prepareIsrShrink, handleAlterPartitionUpdate,
handleAlterPartitionError.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_spec.impl.kraft.replicas import KRaftReplicas
from kafka_spec.impl.kraft.requests import AlteredPartition, ProposalAnswer, ProposalRequest, ProposedIsr
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.alter_partition import Reaction, reaction
from kafka_spec.spec.decisions import Checked
from kafka_spec.spec.kraft.machines import LEADER, SENT, SETTLED
from kafka_spec.spec.log import may_join_isr


class IsrProposals:
    """The proposals of one broker's leaders."""

    def __init__(self, replicas: KRaftReplicas) -> None:
        self.waiting: dict[TopicPartition, ProposedIsr] = {}
        """The proposals without an answer, in a request or not."""
        self.in_flight: ProposalRequest | None = None
        self._replicas = replicas
        self._k = replicas.k

    # Proposing

    def may_propose(self, partition: TopicPartition) -> bool:
        """Whether a leader has no pending proposal, and none without an answer."""
        return self._replicas.proposal_of(partition) == SETTLED and partition not in self.waiting

    def try_expand(self, partition: TopicPartition, follower: int) -> bool:
        """Propose a follower for the ISR, if it may join; return whether that was done (maybeExpandIsr)."""
        hosted = self._replicas.partitions[partition]
        if follower in hosted.isr or not self.may_propose(partition):
            return False
        end = hosted.followers[follower].end
        if not may_join_isr(end, hosted.high_watermark, hosted.epoch_start, self._k.join_needs_epoch_start):
            return False
        if not self._replicas.may_join(partition, follower):
            return False
        self.propose(partition, (*hosted.isr, follower))
        return True

    def try_shrink(self, partition: TopicPartition, followers: Iterable[int]) -> bool:
        """Propose the ISR without these followers, without a check of their lag; return whether that was done."""
        hosted, slow = self._replicas.partitions[partition], set(followers)
        left = tuple(broker for broker in hosted.isr if broker not in slow)
        if left == hosted.isr or not self.may_propose(partition):
            return False
        self.propose(partition, left)
        return True

    def shrink_all(self, now: int) -> None:
        """Propose the ISRs without followers that have lagged too long (maybeShrinkIsr)."""
        for partition, hosted in self._replicas.partitions.items():
            if self._replicas.role_of(partition) == LEADER:
                self.try_shrink(partition, hosted.out_of_sync(now, self._replicas.settings.replica_lag_time_max_ms))

    def propose(self, partition: TopicPartition, isr: tuple[int, ...]) -> None:
        """Propose an ISR, with the broker epochs of the members' last fetches; the leader's own is its own."""
        replicas, hosted = self._replicas, self._replicas.partitions[partition]
        replicas.proposals.fire("propose", partition)
        hosted.pending_isr = isr
        epochs = {broker: follower.broker_epoch for broker, follower in hosted.followers.items()}
        epochs[replicas.number] = replicas.broker_epoch
        members = tuple((broker, epochs[broker]) for broker in isr)
        self.waiting[partition] = ProposedIsr(hosted.leader_epoch, hosted.partition_epoch, members, hosted.topic_id)

    # Sending

    def next_request(self) -> ProposalRequest | None:
        """Return the request to send, None if nothing waits: the one whose answer was lost, or another with all that wait."""
        if self.in_flight is None and self.waiting:
            self.in_flight = ProposalRequest(self._replicas.number, self._replicas.broker_epoch, dict(self.waiting))
        return self.in_flight

    def take(self, answer: ProposalAnswer, now: int) -> None:
        """Handle the answer to the request on its way."""
        request, self.in_flight = self.in_flight, None
        for partition in () if request is None else request.partitions:
            proposed = self.waiting.pop(partition)
            if self._react(partition, answer.answer_for(partition), now):
                self.waiting[partition] = proposed

    def _react(self, partition: TopicPartition, answer: AlteredPartition, now: int) -> bool:
        """React to the answer to a proposal, unless an image has settled it before; return whether it is sent again."""
        replicas = self._replicas
        if replicas.proposal_of(partition) != SENT:
            return False
        hosted = replicas.partitions[partition]
        wanted = reaction(answer.error, answer.leader_epoch, hosted.leader_epoch, answer.partition_epoch, hosted.partition_epoch)
        if wanted == Reaction.ADOPT:
            hosted.pending_isr = None
            hosted.isr, hosted.partition_epoch = answer.isr, answer.partition_epoch
            replicas.proposals.fire("adopt", partition)
            if self._k.high_watermark_after_alter == Checked.YES:
                replicas.advance_high_watermark(partition, now)
        elif wanted == Reaction.ROLL_BACK:
            hosted.pending_isr = None
            replicas.proposals.fire("roll_back", partition)
            if self._k.high_watermark_after_rollback == Checked.YES:
                replicas.advance_high_watermark(partition, now)
        elif wanted == Reaction.RETRY and self._k.cleared_before_retry == Checked.YES:
            return True
        else:
            replicas.proposals.fire("strand", partition)
        return False
