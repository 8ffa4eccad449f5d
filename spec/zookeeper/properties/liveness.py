"""What must happen after the last fault: a leader is elected, every replica learns the newest state, the ISR grows back.

Leads-to properties, under weak fairness of each protocol rule. Each antecedent is met in the states that must not
last, the predicate in all others.
"""

from __future__ import annotations

from kafka_spec.spec.vocabulary.table import Constants, Property, leads_to
from kafka_spec.spec.zookeeper.bounds import PARTITION
from kafka_spec.spec.zookeeper.properties.quiescence import (
    leader_is_registered_or_none_can_be,
    leader_is_up,
    replicas_know_the_epoch,
    settled_members,
    there_is_a_leader,
    topic_stays,
)
from kafka_spec.spec.zookeeper.state import World


def a_leader_is_missing(s: World, k: Constants, partition: int) -> bool:
    """The topic stays, its leader is not registered, and a replica that could lead is up."""
    return topic_stays(s) and settled_members(s, k, partition) != 0 and not leader_is_registered_or_none_can_be(s, k, partition)


def no_leader_is_missing(s: World, k: Constants, partition: int) -> bool:
    """The leader is registered, or no replica that could lead is up."""
    return not a_leader_is_missing(s, k, partition)


def a_replica_does_not_know_the_epoch(s: World, k: Constants, partition: int) -> bool:
    """A topic that stays has a leader, and a replica that is up has not applied the newest leader epoch, or does not fetch."""
    return there_is_a_leader(s, partition) and topic_stays(s) and not replicas_know_the_epoch(s, k, partition)


def all_replicas_know_the_epoch(s: World, k: Constants, partition: int) -> bool:
    """Every replica that is up has applied the newest leader epoch, and fetches or leads; or there is no leader."""
    return not a_replica_does_not_know_the_epoch(s, k, partition)


def a_replica_is_outside_the_isr(s: World, k: Constants, partition: int) -> bool:
    """The leader is up, its topic stays, and a replica that is up is not in the ISR."""
    return (
        leader_is_up(s, partition)
        and topic_stays(s)
        and settled_members(s, k, partition) & ~s.zookeeper.partitions[partition].state.isr != 0
    )


def no_replica_is_outside_the_isr(s: World, k: Constants, partition: int) -> bool:
    """Every replica that is up is in the ISR; or the leader is not up."""
    return not a_replica_is_outside_the_isr(s, k, partition)


PROGRESS: tuple[Property, ...] = (
    leads_to(
        "LeaderIsElected",
        a_leader_is_missing,
        no_leader_is_missing,
        "when the leader has failed and a replica that could lead is up, a leader is elected, unless that replica fails too",
        "KAFKA-3143; KAFKA-7235",
        each=PARTITION,
    ),
    leads_to(
        "ReplicasLearn",
        a_replica_does_not_know_the_epoch,
        all_replicas_know_the_epoch,
        "when there is a leader, every replica that is up comes to apply the newest leader epoch, and its fetcher runs",
        "KAFKA-1188; KAFKA-7235",
        each=PARTITION,
    ),
    leads_to(
        "IsrGrowsBack",
        a_replica_is_outside_the_isr,
        no_replica_is_outside_the_isr,
        "when the leader is up, every replica that is up comes back into the ISR",
        "KAFKA-1382; KAFKA-1188",
        each=PARTITION,
    ),
)
"""What fair protocol steps lead to once operators and faults have stopped."""
