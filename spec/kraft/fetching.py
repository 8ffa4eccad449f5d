"""Fetching: a follower's fetch reports its log end to the leader, and brings records, or where the logs diverge.

A fetch, its answer and the append are one step of leader and follower, in the same leader epoch. What the leader learns from it
may complete the maximal ISR's log ends, so that its high watermark rises, and may make the follower a candidate for the ISR.

Source: Kafka 3.9 Partition.fetchRecords, updateFollowerFetchState, maybeExpandIsr; AbstractFetcherThread.scala.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.decisions.alter_partition import is_candidate
from kafka_spec.spec.decisions.fencing import fetch_is_stale
from kafka_spec.spec.decisions.log import (
    end_of_epoch,
    fetch_diverges,
    follower_high_watermark,
    may_join_isr,
    truncation_after_answer,
)
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.machines import FOLLOWER, LEADER, PROPOSAL, SETTLED, BrokerState
from kafka_spec.spec.kraft.replica import raise_high_watermark
from kafka_spec.spec.kraft.state import BROKERS, DELAYED_FETCHES, UNKNOWN, KRaft, ProcessLife
from kafka_spec.spec.language.domain import BrokerSet, append, contains, including, pop_first, truncate
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire

A_LEADER = {"leader": Broker(BROKERS)}
LEADER_AND_FOLLOWER = {**A_LEADER, "follower": Broker(BROKERS)}


def leads(s: KRaft, leader: int) -> bool:
    """The broker runs, and its replica leads."""
    return s.brokers[leader].life != ProcessLife.DOWN and s.brokers[leader].replica.role == LEADER


def topics_agree(s: KRaft, k: Constants, leader: int, topic_id: int) -> bool:
    """The leader has the topic of a fetch (Fetch v13 has its id: 3.1, KIP-516)."""
    return k.fetch_topic_ids == Checked.NO or topic_id == s.brokers[leader].replica.topic_id


def fetches_from(s: KRaft, k: Constants, leader: int, follower: int) -> bool:
    """The follower's fetcher runs, towards this leader, of whose replicas it is one, and both have the same leader epoch."""
    following = s.brokers[follower].replica
    if contains(s.brokers[leader].replica.assigned, follower) == 0 or not topics_agree(s, k, leader, following.topic_id):
        return False
    if s.brokers[follower].life == ProcessLife.DOWN or following.role != FOLLOWER or following.fetching == 0:
        return False
    return following.leader == leader and following.leader_epoch == s.brokers[leader].replica.leader_epoch


def last_epoch(s: KRaft, broker: int) -> int:
    """Return the leader epoch of the last record of a broker's log, -1 if it has none."""
    end = len(s.brokers[broker].replica.log)
    return s.brokers[broker].replica.log[end - 1].epoch if end > 0 else -1


def logs_diverge(s: KRaft, leader: int, follower: int) -> bool:
    """The leader answers the follower's fetch with where the logs diverge."""
    end = len(s.brokers[follower].replica.log)
    return fetch_diverges(s.brokers[leader].replica.log, last_epoch(s, follower), end)


def logs_agree(s: KRaft, leader: int, follower: int) -> bool:
    """The leader answers the follower's fetch with records, or with none."""
    return not logs_diverge(s, leader, follower)


# ---------------------------------------------------------------------------------------------------------------------
# Truncation


def truncate_to_leader(s: KRaft, leader: int, follower: int) -> None:
    """Truncate by the leader's answer: the end of the largest epoch that it has up to the follower's last.

    It may take several fetches, each at least one epoch further back. Kafka 3.9: AbstractFetcherThread.getOffsetTruncationState.
    """
    mine = s.brokers[follower].replica
    answered, answered_end = end_of_epoch(s.brokers[leader].replica.log, last_epoch(s, follower))
    own, own_end = end_of_epoch(s.brokers[follower].replica.log, answered)
    offset, _ = truncation_after_answer(answered, answered_end, own, own_end, len(mine.log), mine.high_watermark)
    mine.high_watermark = min(mine.high_watermark, offset)
    truncate(s.brokers[follower].replica.log, offset)
    s.brokers[follower].copied = min(s.brokers[follower].copied, offset)


TRUNCATE = Rule(
    "Truncate",
    actor="{follower}",
    asks="{leader}",
    params=LEADER_AND_FOLLOWER,
    guards=(leads, fetches_from, logs_diverge),
    effects=(truncate_to_leader,),
    summary="{follower} fetches from {leader}, whose answer is where their logs diverge, and truncates there",
    reference="Kafka 3.9 Partition.readRecords, AbstractFetcherThread.truncateOnFetchResponse (KIP-595)",
)

# ---------------------------------------------------------------------------------------------------------------------
# What a leader learns from a fetch, and what it does then


def follower_is_candidate(s: KRaft, k: Constants, leader: int, follower: int, epoch: int) -> bool:
    """The leader's metadata cache lets the follower into the ISR, under the broker epoch of its fetch."""
    known = s.metadata[s.brokers[leader].image].brokers[follower]
    active = 1 if known.state == BrokerState.UNFENCED else 0
    return is_candidate(active, epoch, known.epoch, k.leader_checks_eligibility, k.fetch_epochs_compared)


def may_propose(s: KRaft, leader: int) -> bool:
    """The leader has no pending proposal, and no request on the way."""
    return s.brokers[leader].replica.proposal == SETTLED and len(s.brokers[leader].requests) == 0


def propose(s: KRaft, k: Constants, leader: int, isr: BrokerSet) -> None:
    """Propose an ISR: send AlterPartition with the broker epochs of the members' last fetches; the leader's own is its own.

    Kafka 3.9: Partition.submitAlterPartition, addBrokerEpochToIsr.
    """
    fire(s, k, PROPOSAL, (leader,), "propose")
    s.brokers[leader].replica.proposed = isr
    node = s.brokers[leader]
    mine = s.brokers[leader].replica
    append(
        s.brokers[leader].requests,
        broker_epoch=node.epoch,
        topic_id=mine.topic_id,
        leader_epoch=mine.leader_epoch,
        partition_epoch=mine.partition_epoch,
        min_isr_changed=mine.min_isr_changed,
        isr=mine.proposed,
    )
    for member in range(k.brokers):
        s.brokers[leader].requests[0].epochs[member] = UNKNOWN
        if contains(mine.proposed, member) == 1:
            s.brokers[leader].requests[0].epochs[member] = node.epoch if member == leader else mine.fetch_epochs[member]


def learn_from_fetch(s: KRaft, k: Constants, leader: int, follower: int, end: int, epoch: int) -> None:
    """Note the follower's log end and broker epoch; propose it for the ISR if it may join; raise the high watermark if it moved.

    Kafka 3.9: Partition.updateFollowerFetchState.
    """
    leading = s.brokers[leader].replica
    known = s.metadata[s.brokers[leader].image].brokers[follower]
    is_unfenced = 0 if known.state == BrokerState.FENCED or known.state == BrokerState.UNREGISTERED else 1
    if not fetch_is_stale(epoch, known.epoch, is_unfenced, k.fetch_epochs_compared):
        moved = leading.ends[follower] != end
        leading.ends[follower] = end
        leading.fetch_epochs[follower] = epoch
        if contains(leading.isr, follower) == 0 and may_propose(s, leader):
            if may_join_isr(end, leading.high_watermark, leading.epoch_start, k.join_needs_epoch_start):
                if follower_is_candidate(s, k, leader, follower, epoch):
                    propose(s, k, leader, including(leading.isr, follower))
        if moved:
            raise_high_watermark(s, k, leader)


def would_be_proposed(s: KRaft, k: Constants, leader: int, follower: int) -> bool:
    """A fetch of the follower now would make the leader propose it for the ISR."""
    leading = s.brokers[leader].replica
    if contains(leading.isr, follower) == 1 or not may_propose(s, leader):
        return False
    end = len(s.brokers[follower].replica.log)
    if not may_join_isr(end, leading.high_watermark, leading.epoch_start, k.join_needs_epoch_start):
        return False
    return follower_is_candidate(s, k, leader, follower, s.brokers[follower].epoch)


def a_fetch_changes_something(s: KRaft, k: Constants, leader: int, follower: int) -> bool:
    """The leader has more records, a larger high watermark, or something to learn; other fetches change nothing."""
    leading = s.brokers[leader].replica
    following = s.brokers[follower].replica
    end = len(following.log)
    if leading.ends[follower] != end or leading.fetch_epochs[follower] != s.brokers[follower].epoch:
        return True
    if end < len(leading.log) or following.high_watermark < min(leading.high_watermark, end):
        return True
    return would_be_proposed(s, k, leader, follower)


def fetch(s: KRaft, k: Constants, leader: int, follower: int) -> None:
    """Report the log end; append the next record, if there is one; adopt the leader's high watermark up to the log end.

    The answer has the high watermark of before: the leader reads its log first, and learns from the fetch then
    (Kafka 3.9 Partition.fetchRecords). A fetch that waits for records gets a newer one; here that is another fetch.
    """
    leading = s.brokers[leader].replica
    answered = leading.high_watermark
    learn_from_fetch(s, k, leader, follower, len(s.brokers[follower].replica.log), s.brokers[follower].epoch)
    following = s.brokers[follower].replica
    end = len(following.log)
    if end < len(leading.log):
        next_one = leading.log[end]
        append(s.brokers[follower].replica.log, record=next_one.record, epoch=next_one.epoch, topic_id=next_one.topic_id)
    reached = follower_high_watermark(answered, len(following.log))
    following.high_watermark = max(following.high_watermark, reached)


FETCH = Rule(
    "Fetch",
    actor="{follower}",
    asks="{leader}",
    params=LEADER_AND_FOLLOWER,
    guards=(leads, fetches_from, logs_agree, a_fetch_changes_something),
    effects=(fetch,),
    summary="{follower} fetches from {leader}",
    reference="Kafka 3.9 Partition.fetchRecords, updateFollowerFetchState; ReplicaFetcherThread.processPartitionData",
)

# ---------------------------------------------------------------------------------------------------------------------
# A fetch that is late


def delay_fetch(s: KRaft, leader: int, follower: int) -> None:
    """Send a fetch that will be processed later, perhaps after its sender's process has ended."""
    append(
        s.fetches,
        follower=follower,
        topic_id=s.brokers[follower].replica.topic_id,
        end=len(s.brokers[follower].replica.log),
        last_epoch=last_epoch(s, follower),
        leader_epoch=s.brokers[leader].replica.leader_epoch,
        broker_epoch=s.brokers[follower].epoch,
    )


DELAY_FETCH = Rule(
    "DelayFetch",
    actor="{follower}",
    kind="fault",
    params=LEADER_AND_FOLLOWER,
    guards=(leads, fetches_from, logs_agree),
    at_most=DELAYED_FETCHES,
    effects=(delay_fetch,),
    summary="{follower} sends {leader} a fetch that is delayed on the network",
    reference="KIP-903",
)


def a_fetch_is_delayed(s: KRaft) -> bool:
    """A delayed fetch is on the network."""
    return len(s.fetches) > 0


def fetch_is_of_leaders_epoch(s: KRaft, k: Constants, leader: int) -> bool:
    """The broker leads in the topic and leader epoch of the fetch, and its sender is one of the replicas that it knows."""
    late = s.fetches[0]
    if not leads(s, leader) or s.brokers[leader].replica.leader_epoch != late.leader_epoch:
        return False
    return contains(s.brokers[leader].replica.assigned, late.follower) == 1 and topics_agree(s, k, leader, late.topic_id)


def receive_delayed_fetch(s: KRaft, k: Constants, leader: int) -> None:
    """Process the fetch; where the logs diverge the leader notes nothing. The answer is lost with its connection."""
    if not fetch_diverges(s.brokers[leader].replica.log, s.fetches[0].last_epoch, s.fetches[0].end):
        learn_from_fetch(s, k, leader, s.fetches[0].follower, s.fetches[0].end, s.fetches[0].broker_epoch)
    pop_first(s.fetches)


RECEIVE_DELAYED_FETCH = Rule(
    "ReceiveDelayedFetch",
    actor="{leader}",
    params=A_LEADER,
    guards=(a_fetch_is_delayed, fetch_is_of_leaders_epoch),
    effects=(receive_delayed_fetch,),
    summary="{leader} receives the delayed fetch",
    reference="Kafka 3.9 Replica.updateFetchStateOrThrow",
    receives="fetches",
)


def nobody_leads_in_its_epoch(s: KRaft, k: Constants) -> bool:
    """No broker leads in the leader epoch of the delayed fetch."""
    for leader in range(k.brokers):
        if fetch_is_of_leaders_epoch(s, k, leader):
            return False
    return True


def lose_delayed_fetch(s: KRaft) -> None:
    """Drop the fetch: its receiver refuses it."""
    pop_first(s.fetches)


REFUSE_DELAYED_FETCH = Rule(
    "RefuseDelayedFetch",
    actor="network",
    guards=(a_fetch_is_delayed, nobody_leads_in_its_epoch),
    effects=(lose_delayed_fetch,),
    summary="the delayed fetch is refused: nobody leads in its leader epoch",
    reference="Kafka 3.9 Partition.checkCurrentLeaderEpoch",
    receives="fetches",
)

RULES = (TRUNCATE, FETCH, DELAY_FETCH, RECEIVE_DELAYED_FETCH, REFUSE_DELAYED_FETCH)
