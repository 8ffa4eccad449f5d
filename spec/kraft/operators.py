"""What operators and clients do: they write, request elections, raise the metadata version, and unregister brokers.

Source: Kafka 3.9 Partition.scala, ReplicationControlManager.electLeaders; 3.7 BrokerRegistrationTracker.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.partition_change import ElectionKind, elect_by_choice, last_known_is_electable
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.controller import (
    a_request_writes,
    active_brokers,
    change_partition,
    commit,
    election_kind,
    move_replicas,
    there_is_a_topic,
)
from kafka_spec.spec.kraft.fetching import A_LEADER, leads
from kafka_spec.spec.kraft.machines import REGISTRATION, BrokerState
from kafka_spec.spec.kraft.registrations import unregister
from kafka_spec.spec.kraft.replica import ANY_BROKER, broker_is_up, raise_high_watermark
from kafka_spec.spec.kraft.state import (
    MIN_ISR_CHANGES,
    PREFERRED_ELECTIONS,
    RE_REGISTRATIONS,
    RECORDS,
    UNCLEAN_CHANGES,
    UNCLEAN_ELECTIONS,
    UNREGISTRATIONS,
    KRaft,
)
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, append
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire


def append_record(s: KRaft, k: Constants, leader: int) -> None:
    """Append the next record in the leader's epoch."""
    mine = s.brokers[leader].replica
    append(s.brokers[leader].replica.log, record=s.spent.records, epoch=mine.leader_epoch, topic_id=mine.topic_id)
    raise_high_watermark(s, k, leader)


WRITE = Rule(
    "Write",
    actor="client",
    kind="operator",
    params=A_LEADER,
    guards=(leads,),
    at_most=RECORDS,
    effects=(append_record,),
    summary="a client writes a record to {leader}",
    reference="Kafka 3.9 Partition.appendRecordsToLeader",
)


def preferred_election_changes_something(s: KRaft, k: Constants) -> bool:
    """The first assigned replica does not lead, and a preferred election changes the leader, or writes something besides."""
    partition = s.controller.partition
    if not there_is_a_topic(s) or partition.leader == partition.replicas[0]:
        return False
    elected, _ = elect_by_choice(
        ElectionKind.PREFERRED,
        partition.replicas,
        partition.leader,
        partition.isr,
        partition.elr,
        partition.last_known_leader,
        active_brokers(s, k),
        k.elr,
        k.last_known_acceptable,
    )
    return elected != partition.leader or a_request_writes(s, k)


def elect_preferred(s: KRaft, k: Constants) -> None:
    """Elect the first assigned replica."""
    partition = s.controller.partition
    change_partition(s, k, partition.isr, active_brokers(s, k), NO_BROKERS, ElectionKind.PREFERRED, partition.recovery)
    commit(s, k)


ELECT_PREFERRED = Rule(
    "ElectPreferred",
    actor="controller",
    kind="operator",
    guards=(preferred_election_changes_something,),
    at_most=PREFERRED_ELECTIONS,
    effects=(elect_preferred,),
    summary="the controller elects the preferred replica",
    reference="Kafka 3.9 ReplicationControlManager.electLeaders, maybeBalancePartitionLeaders",
)


def unclean_election_changes_something(s: KRaft, k: Constants) -> bool:
    """The partition has no leader, and some replica is active, or the request writes something besides.

    Up to 4.0 a last known leader need not be active (KAFKA-19522).
    """
    partition = s.controller.partition
    if not there_is_a_topic(s) or partition.leader != NONE:
        return False
    active = active_brokers(s, k)
    if active & members(partition.replicas) != 0 or a_request_writes(s, k):
        return True
    return last_known_is_electable(
        partition.isr, partition.elr, partition.last_known_leader, active, k.elr, k.last_known_acceptable
    )


def elect_unclean(s: KRaft, k: Constants) -> None:
    """Elect whoever may lead."""
    partition = s.controller.partition
    change_partition(s, k, partition.isr, active_brokers(s, k), NO_BROKERS, ElectionKind.UNCLEAN, partition.recovery)
    commit(s, k)


ELECT_UNCLEAN = Rule(
    "ElectUnclean",
    actor="operator",
    kind="operator",
    guards=(unclean_election_changes_something,),
    at_most=UNCLEAN_ELECTIONS,
    effects=(elect_unclean,),
    summary="an operator requests an unclean election",
    reference="Kafka 3.9 ReplicationControlManager.electLeaders",
)


def ordinary_elections_are_unclean(s: KRaft, k: Constants) -> bool:
    """The topic allows unclean elections, and the version asks."""
    return election_kind(s, k) == ElectionKind.UNCLEAN


ELECT_WHERE_ALLOWED = Rule(
    "ElectWhereAllowed",
    actor="controller",
    guards=(ordinary_elections_are_unclean, unclean_election_changes_something),
    effects=(elect_unclean,),
    summary="the controller elects uncleanly, since the topic allows it and has no leader",
    reference="Kafka 3.9 ReplicationControlManager.maybeElectUncleanLeaders",
)


def clear_elr(s: KRaft, k: Constants) -> None:
    """Empty the ELR, and forget the last known leader. Kafka 4.3: ReplicationControlManager.removeTopicElrs, by ClearElrRecord."""
    partition = s.controller.partition
    if partition.elr != 0 or partition.last_known_leader != NONE:
        partition.elr = NO_BROKERS
        partition.last_known_leader = NONE
        partition.partition_epoch += 1
        move_replicas(s, k, s.controller.partition.isr, NO_BROKERS)


def change_min_isr(s: KRaft, k: Constants) -> None:
    """Change min.insync.replicas; with eligible leader replicas that empties the ELR (KAFKA-16540), in `fixed` beside an ISR."""
    s.controller.partition.min_isr_changed = 1 - s.controller.partition.min_isr_changed
    if k.elr == Checked.YES and (s.controller.partition.isr != 0 or k.elr_kept_without_isr == Checked.NO):
        clear_elr(s, k)
    commit(s, k)


CHANGE_MIN_ISR = Rule(
    "ChangeMinIsr",
    actor="operator",
    kind="operator",
    guards=(there_is_a_topic,),
    at_most=MIN_ISR_CHANGES,
    effects=(change_min_isr,),
    summary="an operator changes min.insync.replicas of the topic",
    reference="Kafka 4.3 ConfigurationControlManager.incrementalAlterConfigs, createClearElrRecordsAsNeeded",
)


def change_unclean(s: KRaft, k: Constants) -> None:
    """Allow unclean elections, or no longer; nobody is elected by that."""
    s.controller.unclean_changed = 1 - s.controller.unclean_changed
    commit(s, k)


CHANGE_UNCLEAN = Rule(
    "ChangeUnclean",
    actor="operator",
    kind="operator",
    guards=(there_is_a_topic,),
    at_most=UNCLEAN_CHANGES,
    effects=(change_unclean,),
    summary="an operator changes unclean.leader.election.enable of the topic",
    reference="Kafka 3.9 ConfigurationControlManager.incrementalAlterConfigs",
)


def register_again(s: KRaft, k: Constants, broker: int) -> None:
    """Register the same process again: nothing changes; before 3.9 it is fenced under a new broker epoch (KAFKA-16952)."""
    if k.same_incarnation_keeps_epoch == Checked.NO:
        fire(s, k, REGISTRATION, (broker,), "register")
        s.controller.registrations[broker].epoch += 1
        s.brokers[broker].epoch = s.controller.registrations[broker].epoch
        commit(s, k)


def is_registered(s: KRaft, broker: int) -> bool:
    """The controller knows the broker."""
    return s.controller.registrations[broker].state != BrokerState.UNREGISTERED


UNREGISTER = Rule(
    "Unregister",
    actor="operator",
    kind="operator",
    params=ANY_BROKER,
    guards=(is_registered,),
    at_most=UNREGISTRATIONS,
    effects=(unregister,),
    summary="an operator unregisters {broker}",
    reference="Kafka 3.9 ReplicationControlManager.unregisterBroker",
)

REGISTER_AGAIN = Rule(
    "RegisterAgain",
    actor="{broker}",
    kind="operator",
    params=ANY_BROKER,
    guards=(broker_is_up, is_registered),
    at_most=RE_REGISTRATIONS,
    effects=(register_again,),
    summary="the process of {broker} registers again, since the metadata version has changed",
    reference="Kafka 3.7 BrokerRegistrationTracker (KIP-858)",
)
