"""The public model's proposals of an ISR: who joins, who timed out, and the answer.

Source: Vanlightly/kafka-tlaplus, kafka_data_replication/kraft/v3.5: kafka_replication_v3_5.tla, v3_5_functions.tla.
"""

from __future__ import annotations

from kafka_spec.spec.kraft.public.brokers import forget_proposal
from kafka_spec.spec.kraft.public.controller import (
    A_MESSAGE,
    REFERENCE,
    answer_to,
    discard,
)
from kafka_spec.spec.kraft.public.records import A_BROKER, apply_isr
from kafka_spec.spec.kraft.public.state import (
    SHRINKS,
    BrokerStatus,
    MessageKind,
    PublicError,
    PublicKRaft,
    PublicMessage,
    ReplicaStatus,
)
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, Range, add, contains, has, including, singleton
from kafka_spec.spec.vocabulary.table import Constants, Rule


def may_propose(s: PublicKRaft, broker: int) -> bool:
    """The broker runs and leads, and nothing is pending."""
    node = s.brokers[broker]
    return (
        node.status == BrokerStatus.RUNNING and node.replica == ReplicaStatus.LEADS and node.pending_epoch <= node.partition_epoch
    )


def proposed_isr(s: PublicKRaft, k: Constants, broker: int, timed_out: int) -> BrokerSet:
    """Return the ISR that is proposed: the leader, members that did not time out, followers that are caught up."""
    node = s.brokers[broker]
    isr = singleton(broker)
    for other in range(k.brokers):
        end = node.peers[other].end
        if contains(node.isr, other) == 1 and contains(timed_out, other) == 0:
            isr = including(isr, other)
        if contains(node.isr, other) == 0 and end != 0 and end >= node.high_watermark and end >= node.epoch_start:
            isr = including(isr, other)
    return isr


def epochs_of(s: PublicKRaft, k: Constants, broker: int, isr: BrokerSet) -> int:
    """Return the broker epochs of a proposal: the leader's own, those of the last fetches of who joins, 0 of the others."""
    epochs = 0
    for member in range(k.brokers):
        if contains(isr, member) == 1:
            if member == broker:
                epochs = epochs | (s.brokers[broker].epoch << (4 * member))
            elif contains(s.brokers[broker].isr, member) == 0:
                epochs = epochs | (s.brokers[broker].peers[member].epoch << (4 * member))
    return epochs


def proposal_is_new(s: PublicKRaft, k: Constants, broker: int, isr: BrokerSet) -> bool:
    """The proposal differs from the ISR, and was not sent before, or would be accepted."""
    node = s.brokers[broker]
    if isr == node.isr:
        return False
    epochs = epochs_of(s, k, broker, isr)
    if answer_to(s, k, broker, node.epoch, node.partition_epoch, isr, epochs) == PublicError.NOTHING:
        return True
    sent = has(
        s.messages,
        kind=MessageKind.ALTER,
        broker=broker,
        isr=isr,
        epochs=epochs,
        leader_epoch=node.leader_epoch,
        partition_epoch=node.partition_epoch,
        broker_epoch=node.epoch,
    )
    before = has(
        s.processed,
        kind=MessageKind.ALTER,
        broker=broker,
        isr=isr,
        epochs=epochs,
        leader_epoch=node.leader_epoch,
        partition_epoch=node.partition_epoch,
        broker_epoch=node.epoch,
    )
    return not sent and not before


def expands(s: PublicKRaft, k: Constants, broker: int) -> bool:
    """A follower may join."""
    return proposal_is_new(s, k, broker, proposed_isr(s, k, broker, NO_BROKERS))


def send_proposal(s: PublicKRaft, broker: int, isr: BrokerSet, epochs: int) -> None:
    """Send the proposal; the maximal ISR has both."""
    node = s.brokers[broker]
    node.maximal_isr = isr | node.isr
    node.pending_epoch = node.partition_epoch + 1
    node.pending.kind = MessageKind.ALTER
    node.pending.broker = broker
    node.pending.isr = isr
    node.pending.epochs = epochs
    node.pending.leader_epoch = node.leader_epoch
    node.pending.partition_epoch = node.partition_epoch
    node.pending.broker_epoch = node.epoch
    add(s.messages, node.pending)


def expand(s: PublicKRaft, k: Constants, broker: int) -> None:
    """Propose the ISR with the brokers that are caught up."""
    isr = proposed_isr(s, k, broker, NO_BROKERS)
    send_proposal(s, broker, isr, epochs_of(s, k, broker, isr))


EXPAND = Rule(
    "SendAlterPartitionRequest",
    actor="{broker}",
    params=A_BROKER,
    guards=(may_propose, expands),
    effects=(expand,),
    summary="{broker} proposes an ISR with the brokers that are caught up",
    reference=REFERENCE,
)


def members_time_out(s: PublicKRaft, k: Constants, broker: int, timed_out: int) -> bool:
    """These members of the ISR time out, and the proposal without them is new."""
    if timed_out == 0 or contains(timed_out, broker) == 1 or timed_out & ~s.brokers[broker].isr != 0:
        return False
    return proposal_is_new(s, k, broker, proposed_isr(s, k, broker, timed_out))


def shrink(s: PublicKRaft, k: Constants, broker: int, timed_out: int) -> None:
    """Propose the ISR without who timed out."""
    isr = proposed_isr(s, k, broker, NO_BROKERS | timed_out)
    send_proposal(s, broker, isr, epochs_of(s, k, broker, isr))


SHRINK_ISR = Rule(
    "SendAlterPartitionRequestWithout",
    actor="{broker}",
    kind="fault",
    params={**A_BROKER, "timed_out": Range(1, 7)},
    guards=(may_propose, members_time_out),
    at_most=SHRINKS,
    effects=(shrink,),
    summary="{broker} proposes an ISR without who timed out",
    reference=REFERENCE,
)


def answers_my_proposal(s: PublicKRaft, m: PublicMessage) -> bool:
    """It answers the pending proposal of a leader that runs."""
    node = s.brokers[m.broker]
    if m.kind != MessageKind.ALTERED or node.status != BrokerStatus.RUNNING or node.replica != ReplicaStatus.LEADS:
        return False
    mine = node.pending
    if node.pending_epoch <= node.partition_epoch or m.isr != mine.isr or m.epochs != mine.epochs:
        return False
    if m.leader_epoch != mine.leader_epoch or m.partition_epoch != mine.partition_epoch or m.broker_epoch != mine.broker_epoch:
        return False
    return m.accepted == 0 or (m.partition_epoch + 1 > node.partition_epoch and m.leader_epoch == node.leader_epoch)


def take_answer(s: PublicKRaft, k: Constants, m: PublicMessage) -> None:
    """Adopt the proposed ISR, or go back to the committed one."""
    if m.accepted == 1:
        s.brokers[m.broker].isr = m.isr
        s.brokers[m.broker].partition_epoch = m.partition_epoch + 1
    s.brokers[m.broker].maximal_isr = s.brokers[m.broker].isr
    apply_isr(s, k, m.broker, s.brokers[m.broker].maximal_isr)
    forget_proposal(s, m.broker)
    discard(s, m)


TAKE_ANSWER = Rule(
    "ReceiveAlterPartitionResponse",
    actor="{m.broker}",
    params=A_MESSAGE,
    guards=(answers_my_proposal,),
    effects=(take_answer,),
    summary="{m.broker} receives the answer to its proposal",
    reference=REFERENCE,
)

RULES = (EXPAND, SHRINK_ISR, TAKE_ANSWER)
