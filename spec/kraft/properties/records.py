"""The properties of KRaft about records: what is committed stays, logs agree, high watermarks grow.

The sources' names in capitals are those of properties.py.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.log import holds_same_prefix, same_entry
from kafka_spec.spec.decisions.partition_change import count_of
from kafka_spec.spec.kraft.machines import LEADER
from kafka_spec.spec.kraft.properties.isr import the_partition_exists
from kafka_spec.spec.kraft.settings import least_isr
from kafka_spec.spec.kraft.state import UNKNOWN, KRaft, ProcessLife
from kafka_spec.spec.language.domain import contains
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant, step_invariant


def has_current_topic(s: KRaft, broker: int) -> bool:
    """The broker has a replica of the topic that exists."""
    return the_partition_exists(s) and s.brokers[broker].replica.topic_id == s.controller.partition.topic_id


def holds_committed(s: KRaft, broker: int) -> bool:
    """The broker's log of the topic that exists holds all committed records."""
    if not has_current_topic(s, broker):
        return len(s.history.committed) == 0
    return holds_same_prefix(s.brokers[broker].replica.log, s.history.committed, len(s.history.committed))


def leads_newest(s: KRaft, broker: int) -> bool:
    """The broker's replica leads the topic that exists, under the newest leader epoch."""
    replica = s.brokers[broker].replica
    if replica.role != LEADER or not has_current_topic(s, broker):
        return False
    return replica.leader_epoch == s.controller.partition.leader_epoch


def a_replica_leads_newest(s: KRaft, k: Constants) -> bool:
    """A replica leads under the newest leader epoch."""
    for broker in range(k.brokers):
        if leads_newest(s, broker):
            return True
    return False


def a_record_is_committed(s: KRaft) -> bool:
    """A record is committed."""
    return len(s.history.committed) > 0


def a_leader_has_to_hold_records(s: KRaft, k: Constants) -> bool:
    """A record is committed, and a replica leads under the newest leader epoch."""
    return a_record_is_committed(s) and a_replica_leads_newest(s, k)


def leaders_hold_what_is_committed(s: KRaft, k: Constants) -> bool:
    """A replica that leads under the newest leader epoch holds all committed records."""
    for broker in range(k.brokers):
        if leads_newest(s, broker) and not holds_committed(s, broker):
            return False
    return True


def candidates_hold_what_is_committed(s: KRaft, k: Constants) -> bool:
    """Every member of the ISR or the ELR whose broker runs holds all committed records."""
    partition = s.controller.partition
    for broker in range(k.brokers):
        if contains(partition.isr | partition.elr, broker) == 1 and s.brokers[broker].life != ProcessLife.DOWN:
            if not holds_committed(s, broker):
                return False
    return True


def leader_counts_the_candidates(s: KRaft, k: Constants) -> bool:
    """The newest leader waits for the whole ISR before it commits, and for the ELR too while its ISR is large enough to commit."""
    partition = s.controller.partition
    for broker in range(k.brokers):
        if leads_newest(s, broker):
            mine = s.brokers[broker].replica
            counted = mine.isr | mine.proposed
            if partition.isr & ~counted != 0:
                return False
            least = least_isr(k, mine.min_isr_changed, len(partition.replicas))
            enough = count_of(partition.replicas, mine.isr) >= least
            if enough and (partition.isr | partition.elr) & ~counted != 0:
                return False
    return True


def two_high_watermarks_are_above_zero(s: KRaft, k: Constants) -> bool:
    """Two logs have records below their high watermarks, and no election was unclean."""
    logs = 0
    for broker in range(k.brokers):
        if s.brokers[broker].replica.high_watermark > 0:
            logs += 1
    return logs > 1 and s.history.unclean_epoch == UNKNOWN


def logs_agree_below_high_watermarks(s: KRaft, k: Constants) -> bool:
    """No two logs hold different entries at an offset below both high watermarks."""
    for one in range(k.brokers):
        for other in range(one):
            mine, theirs = s.brokers[one].replica, s.brokers[other].replica
            shared = 1 if mine.topic_id == theirs.topic_id else 0
            for offset in range(shared * min(min(mine.high_watermark, theirs.high_watermark), min(len(mine.log), len(theirs.log)))):
                if not same_entry(mine.log, theirs.log, offset):
                    return False
    return True


def a_high_watermark_is_above_zero(before: KRaft, after: KRaft, k: Constants) -> bool:
    """Some high watermark is above 0, before the step or after it."""
    for broker in range(k.brokers):
        if before.brokers[broker].replica.high_watermark > 0 or after.brokers[broker].replica.high_watermark > 0:
            return True
    return False


def high_watermarks_of_leaders_grow(before: KRaft, after: KRaft, k: Constants) -> bool:
    """A leader's high watermark never decreases within its leader epoch, and never exceeds the end of its log."""
    for broker in range(k.brokers):
        old, new = before.brokers[broker].replica, after.brokers[broker].replica
        if new.high_watermark > len(new.log):
            return False
        led_on = old.role == LEADER and new.role == LEADER and old.topic_id == new.topic_id
        if led_on and old.leader_epoch == new.leader_epoch:
            if new.high_watermark < old.high_watermark:
                return False
    return True


RECORDS: tuple[Property, ...] = (
    invariant(
        "LeaderCountsCandidates",
        leader_counts_the_candidates,
        "the newest leader waits for the ISR before it commits, and for the ELR too while its ISR is large enough to commit",
        "Vanlightly/kafka-tlaplus kraft/kip-966: ReplicationQuorumSuperset",
        when=a_replica_leads_newest,
    ),
    invariant(
        "CandidatesHoldCommitted",
        candidates_hold_what_is_committed,
        "every member of the ISR or the ELR that runs holds all committed records: each of them could lead",
        "Vanlightly/kafka-tlaplus kraft/kip-966: LeaderCandidateCompleteness",
        when=a_record_is_committed,
    ),
    invariant(
        "Committed",
        leaders_hold_what_is_committed,
        "the replica that leads under the newest leader epoch holds all committed records, as far as elections were clean",
        "Vanlightly/kafka-tlaplus kraft/kip-966: LeaderCompleteness",
        when=a_leader_has_to_hold_records,
    ),
    invariant(
        "LogMatch",
        logs_agree_below_high_watermarks,
        "two logs never hold different records at an offset below both high watermarks, unless an election was unclean",
        "Vanlightly/kafka-tlaplus kraft/kip-966: LogMatching",
        when=two_high_watermarks_are_above_zero,
    ),
    step_invariant(
        "HighWatermarkGrows",
        high_watermarks_of_leaders_grow,
        "a leader's high watermark never decreases within its leader epoch, and never exceeds the end of its log",
        "Kafka 3.9 Partition.maybeIncrementLeaderHW",
        when=a_high_watermark_is_above_zero,
    ),
)
"""The properties of records."""
