"""The invariants of the public model.

Source: Vanlightly/kafka-tlaplus, kafka_data_replication/kraft/v3.5: v3_5_properties.tla.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.public.controller import REFERENCE, last
from kafka_spec.spec.kraft.public.state import BrokerStatus, PublicKRaft, ReplicaStatus
from kafka_spec.spec.language.domain import NONE, contains, size
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant


def is_newest_leader(s: PublicKRaft, broker: int) -> bool:
    """The broker leads in the newest leader epoch."""
    node = s.brokers[broker]
    return node.replica == ReplicaStatus.LEADS and node.leader_epoch == s.metadata[last(s)].leader_epoch


def somebody_leads(s: PublicKRaft, k: Constants) -> bool:
    """A broker leads in the newest leader epoch."""
    for broker in range(k.brokers):
        if is_newest_leader(s, broker):
            return True
    return False


def quorum_is_a_superset(s: PublicKRaft, k: Constants) -> bool:
    """The newest leader's maximal ISR has the whole ISR, and is the ISR that it knows if nothing is pending.

    With KIP-966 it has the ELR too, and only while its ISR has MinISR members.
    """
    for broker in range(k.brokers):
        node = s.brokers[broker]
        if is_newest_leader(s, broker):
            if node.pending_epoch <= node.partition_epoch and node.maximal_isr != node.isr:
                return False
            commits = k.elr == Checked.NO or size(node.isr) >= k.min_isr
            if commits and (s.metadata[last(s)].isr | s.metadata[last(s)].elr) & ~node.maximal_isr != 0:
                return False
    return True


def something_is_committed(s: PublicKRaft) -> bool:
    """Some high watermark has passed a record."""
    return s.true_high_watermark > 1


def candidates_are_complete(s: PublicKRaft, k: Constants) -> bool:
    """Every member of the ISR or the ELR that runs has all that is committed."""
    candidates = s.metadata[last(s)].isr | s.metadata[last(s)].elr
    for broker in range(k.brokers):
        if contains(candidates, broker) == 1 and s.brokers[broker].status == BrokerStatus.RUNNING:
            if len(s.brokers[broker].log) + 1 < s.true_high_watermark:
                return False
    return True


def holds_value(s: PublicKRaft, broker: int, value: int) -> bool:
    """The broker's log has the value."""
    for offset in range(len(s.brokers[broker].log)):
        if s.brokers[broker].log[offset].value == value:
            return True
    return False


def leader_is_complete(s: PublicKRaft, k: Constants) -> bool:
    """The leader, if it runs, has all that is committed, and all that was acknowledged."""
    leader = s.metadata[last(s)].leader
    if leader == NONE:
        return True
    if s.brokers[max(leader, 0)].status != BrokerStatus.RUNNING:
        return True
    if len(s.brokers[leader].log) + 1 < s.true_high_watermark:
        return False
    for value in range(k.values):
        if contains(s.acknowledged, value) == 1 and not holds_value(s, leader, value):
            return False
    return True


def two_high_watermarks_are_raised(s: PublicKRaft, k: Constants) -> bool:
    """Two brokers have raised their high watermark."""
    raised = 0
    for broker in range(k.brokers):
        if s.brokers[broker].high_watermark > 1:
            raised += 1
    return raised > 1


def logs_match(s: PublicKRaft, k: Constants) -> bool:
    """No two logs differ below both high watermarks."""
    for one in range(k.brokers):
        for other in range(one):
            mine, theirs = s.brokers[one], s.brokers[other]
            end = min(min(len(mine.log), len(theirs.log)), min(mine.high_watermark, theirs.high_watermark) - 1)
            for offset in range(end):
                if mine.log[offset].value != theirs.log[offset].value:
                    return False
    return True


def something_was_read_and_somebody_leads(s: PublicKRaft, k: Constants) -> bool:
    """A record was read, and a broker leads in the newest leader epoch."""
    return len(s.consumed) > 0 and somebody_leads(s, k)


def reads_are_consistent(s: PublicKRaft, k: Constants) -> bool:
    """The newest leader has what was read, where it was read."""
    for broker in range(k.brokers):
        if is_newest_leader(s, broker):
            for offset in range(len(s.consumed)):
                if offset >= len(s.brokers[broker].log):
                    return False
                mine = s.brokers[broker].log[offset]
                if mine.value != s.consumed[offset].value or mine.epoch != s.consumed[offset].epoch:
                    return False
    return True


def nobody_is_eligible(s: PublicKRaft) -> bool:
    """ISR and ELR are empty."""
    return s.metadata[last(s)].isr | s.metadata[last(s)].elr == 0


def a_quorum_is_remembered(s: PublicKRaft, k: Constants) -> bool:
    """As many replicas as MinISR are remembered as the last known ELR."""
    return size(s.metadata[last(s)].last_known_elr) == k.min_isr


RECOVERY_QUORUM = invariant(
    "MinIsrRecoveryQuorum",
    a_quorum_is_remembered,
    "while ISR and ELR are empty, MinISR replicas are remembered, of which one has all that is committed unless all lost it",
    "Vanlightly/kafka-tlaplus kraft/kip-966: MinIsrRecoveryQuorum",
    when=nobody_is_eligible,
)

PROPERTIES: tuple[Property, ...] = (
    invariant(
        "LeaderCompleteness",
        leader_is_complete,
        "the leader, if it runs, has all that is committed and all that was acknowledged",
        REFERENCE,
        when=something_is_committed,
    ),
    invariant(
        "LeaderCandidateCompleteness",
        candidates_are_complete,
        "every member of the ISR or the ELR that runs has all that is committed",
        REFERENCE,
        when=something_is_committed,
    ),
    invariant(
        "ReplicationQuorumSuperset",
        quorum_is_a_superset,
        "the newest leader waits for the whole ISR before it commits",
        REFERENCE,
        when=somebody_leads,
    ),
    invariant(
        "LogMatching",
        logs_match,
        "no two logs differ below both high watermarks",
        REFERENCE,
        when=two_high_watermarks_are_raised,
    ),
    invariant(
        "ConsistentRead",
        reads_are_consistent,
        "what was read stays where it was read, at the newest leader",
        REFERENCE,
        when=something_was_read_and_somebody_leads,
    ),
)
"""The invariants. MetadataLogMatching is so by construction; NoCommittedRecordLostGlobally follows where the leader runs."""
