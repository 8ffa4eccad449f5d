"""What operators want to keep, whatever they plan: the properties that a plan is judged by.

A record counts as soon as it is committed; that is what acks=all acknowledges.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.partition_change import count_of
from kafka_spec.spec.kraft.operators import is_registered
from kafka_spec.spec.kraft.properties.isr import a_candidate_stays, min_isr_changes_beside_candidates, the_partition_exists
from kafka_spec.spec.kraft.properties.records import a_replica_leads_newest, leaders_hold_what_is_committed
from kafka_spec.spec.kraft.settings import least_isr
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant, step_invariant


def a_leader_shows_what_is_left(before: KRaft, after: KRaft, k: Constants) -> bool:
    """A replica leads under the newest leader epoch, or records that were committed are given up."""
    return gives_records_up(before, after) or a_replica_leads_newest(after, k)


def gives_records_up(before: KRaft, after: KRaft) -> bool:
    """An unclean election elects a leader that lacks records that were committed."""
    return len(after.history.committed) < len(before.history.committed)


def no_record_is_lost(before: KRaft, after: KRaft, k: Constants) -> bool:
    """A replica that leads under the newest leader epoch holds all committed records, and no election gives one of them up."""
    return not gives_records_up(before, after) and leaders_hold_what_is_committed(after, k)


def a_broker_leads(s: KRaft) -> bool:
    """The partition has a leader."""
    return s.controller.partition.leader != NONE


def isr_is_large_enough(s: KRaft, k: Constants) -> bool:
    """The ISR has min.insync.replicas members."""
    partition = s.controller.partition
    least = least_isr(k, partition.min_isr_changed, len(partition.replicas))
    return count_of(partition.replicas, partition.isr) >= least


def plans_touch_candidates(before: KRaft, after: KRaft) -> bool:
    """The ISR or the ELR had a member, and min.insync.replicas changes, or a broker registers that was unregistered."""
    partition = before.controller.partition
    return min_isr_changes_beside_candidates(before, after) or (
        partition.isr | partition.elr != 0
        and any(not is_registered(before, broker) and is_registered(after, broker) for broker in range(len(before.brokers)))
    )


WANTED: tuple[Property, ...] = (
    step_invariant(
        "KeepsRecords",
        no_record_is_lost,
        "no leader lacks a record that was committed, also after an unclean election",
        "what acks=all acknowledges",
        when=a_leader_shows_what_is_left,
    ),
    invariant(
        "KeepsLeader",
        a_broker_leads,
        "the partition has a leader",
        "Kafka 3.9 PartitionRegistration.leader",
        when=the_partition_exists,
    ),
    step_invariant(
        "KeepsCandidates",
        a_candidate_stays,
        "a change of min.insync.replicas, or a broker that registers after it was unregistered, leaves a replica that may be "
        "elected cleanly, as soon as its broker is active",
        "Kafka 4.3 ReplicationControlManager.removeTopicElrs; Kafka 4.3 ClusterControlManager.registerBroker",
        when=plans_touch_candidates,
    ),
    invariant(
        "KeepsMinIsr",
        isr_is_large_enough,
        "the ISR has min.insync.replicas members, so that clients with acks=all can write",
        "Kafka 3.9 ReplicaManager: NOT_ENOUGH_REPLICAS",
        when=the_partition_exists,
    ),
)
"""The properties that a plan is judged by."""
