"""Elections of leaders, removals from the ISR, their recipients, and when an election is due.

Pure functions of the language of spec/language, for every model and for the implementation; the decisions of an era are arguments.
An *assignment* is the ordered sequence of the brokers that hold a partition, the preferred one first. `live` are the brokers that
can lead: registered, and not shutting down; `stopping` are those that shut down. Each strategy returns (leader, ISR, recipients);
the leader is `NONE` if no broker can be elected, and then the rest has no meaning. The order of the ISR, a list in Kafka, has no
effect and is left out.

Source: Kafka 2.8 Election.scala and PartitionLeaderElectionAlgorithms (PartitionStateMachine.scala:522-547).
"""

from __future__ import annotations

import enum
from typing import Protocol

from kafka_spec.spec.decisions.variants import (
    Checked,
    DeadReplicas,
    LastIsrMember,
    OfflineLeaders,
    OfflineRecipients,
    RefusedIsrWrite,
    ShrinkRecipients,
    ShutdownRecipients,
)
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, contains, including, singleton
from kafka_spec.spec.machines.partition import PartitionState


class Strategy(enum.IntEnum):
    """The election strategies of Kafka's partition state machine."""

    OFFLINE = 0
    PREFERRED = 1
    CONTROLLED_SHUTDOWN = 2
    REASSIGNMENT = 3
    UNCLEAN = 4
    """As for dead leaders, and an operator permits leaders from outside the ISR (KIP-460)."""


class Brokers(Protocol):
    """An ordered sequence of broker numbers."""

    def __len__(self) -> int: ...
    def __getitem__(self, place: int, /) -> int: ...


def first_of(assignment: Brokers, candidates: BrokerSet) -> int:
    """Return the first assigned broker among the candidates, or NONE."""
    for place in range(len(assignment)):
        if contains(candidates, assignment[place]) == 1:
            return assignment[place]
    return NONE


def members(assignment: Brokers) -> BrokerSet:
    """Return the assigned brokers as a set."""
    brokers = NO_BROKERS
    for place in range(len(assignment)):
        brokers = including(brokers, assignment[place])
    return brokers


# ---------------------------------------------------------------------------------------------------------------------
# Elections


def elect(
    strategy: int,
    assignment: Brokers,
    live: BrokerSet,
    stopping: BrokerSet,
    isr: BrokerSet,
    unclean: int,
    offline_recipients: int,
    shutdown_recipients: int,
) -> tuple[int, BrokerSet, BrokerSet]:
    """Elect by a strategy of the partition state machine; `unclean` is 1 if the topic allows leaders from outside the ISR.

    For a reassignment the assignment is its target: the controller's memory has no other any more.

    Kafka 2.8: PartitionStateMachine.doElectLeaderForPartitions.
    """
    if strategy == Strategy.PREFERRED:
        leader, left, recipients = elect_preferred(assignment, live, isr)
    elif strategy == Strategy.CONTROLLED_SHUTDOWN:
        leader, left, recipients = elect_controlled_shutdown(assignment, live, stopping, isr, shutdown_recipients)
    elif strategy == Strategy.REASSIGNMENT:
        leader, left, recipients = elect_reassigned(assignment, live, isr)
    else:
        asked = 1 if strategy == Strategy.UNCLEAN else 0
        permitted = unclean_election_is_permitted(isr, live, asked, unclean)
        leader, left, recipients = elect_offline(assignment, live, stopping, isr, permitted, offline_recipients)
    return leader, left, recipients


def unclean_election_is_permitted(isr: BrokerSet, live: BrokerSet, asked: int, configured: int) -> int:
    """1 if a broker outside the ISR may lead: never while some member of the ISR is live.

    Otherwise if an operator requested it, or the topic's unclean.leader.election.enable allows it.
    Kafka 2.8: PartitionStateMachine.collectUncleanLeaderElectionState.
    """
    if isr & live != 0:
        return 0
    return asked | configured


def elect_offline(
    assignment: Brokers, live: BrokerSet, stopping: BrokerSet, isr: BrokerSet, unclean: int, offline_recipients: int
) -> tuple[int, BrokerSet, BrokerSet]:
    """Elect for a partition whose leader is dead: the first assigned broker that is live and in the ISR.

    If there is none and `unclean` permits, the first that is live, which then is the whole ISR. The recipients are the live
    replicas and, in eras that inform a leader that shuts down, those that shut down.
    Kafka 2.8: Election.leaderForOffline.
    """
    recipients = members(assignment) & live
    if offline_recipients == OfflineRecipients.LIVE_OR_STOPPING:
        recipients = members(assignment) & (live | stopping)
    leader = first_of(assignment, live & isr)
    if leader != NONE:
        return leader, isr & live, recipients
    if unclean == 1:
        leader = first_of(assignment, live)
        if leader != NONE:
            return leader, singleton(leader), recipients
    return NONE, isr, NO_BROKERS


def elect_reassigned(target: Brokers, live: BrokerSet, isr: BrokerSet) -> tuple[int, BrokerSet, BrokerSet]:
    """Elect for a partition that moves to the target brokers: the first of them that is live and in the ISR.

    Kafka 2.8: Election.leaderForReassign.
    """
    return first_of(target, live & isr), isr, members(target)


def elect_preferred(assignment: Brokers, live: BrokerSet, isr: BrokerSet) -> tuple[int, BrokerSet, BrokerSet]:
    """Elect the first assigned broker, if it is live and in the ISR; no other broker is elected.

    Kafka 2.8: Election.leaderForPreferredReplica.
    """
    if len(assignment) > 0 and contains(live & isr, assignment[0]) == 1:
        return assignment[0], isr, members(assignment)
    return NONE, isr, NO_BROKERS


def elect_controlled_shutdown(
    assignment: Brokers, live: BrokerSet, stopping: BrokerSet, isr: BrokerSet, shutdown_recipients: int
) -> tuple[int, BrokerSet, BrokerSet]:
    """Elect in place of brokers that are shutting down: the first assigned that is live, in the ISR, and stays.

    Those that shut down leave the ISR. They are recipients in eras that inform the former leader of its successor (KAFKA-7482).
    Kafka 2.8: Election.leaderForControlledShutdown.
    """
    recipients = members(assignment) & (live | stopping)
    if shutdown_recipients == ShutdownRecipients.LIVE:
        recipients = recipients & ~stopping
    return first_of(assignment, live & isr & ~stopping), isr & ~stopping, recipients


def first_leader_and_isr(assignment: Brokers, live: BrokerSet) -> tuple[int, BrokerSet, BrokerSet]:
    """Choose for a new partition: the first assigned broker that is live leads, and all that are live are the ISR.

    Only the ISR is a recipient. Kafka 2.8: PartitionStateMachine.initializeLeaderAndIsrForPartitions.
    """
    isr = members(assignment) & live
    return first_of(assignment, live), isr, isr


# ---------------------------------------------------------------------------------------------------------------------
# When an election is due


def election_is_due(partition: int, strategy: int) -> bool:
    """Whether a leader is elected: the partition is new or offline, or a strategy other than that for dead leaders was requested.

    Kafka 2.8: PartitionStateMachine.triggerOnlineStateChangeForPartitions.
    """
    return strategy != Strategy.OFFLINE or partition == PartitionState.NEW or partition == PartitionState.OFFLINE


def leader_is_lost(leader: int, live: BrokerSet, stopping: BrokerSet, offline_leaders: int) -> bool:
    """Whether a partition goes offline when a broker fails: it has no leader, or its leader is dead or, since 1.0, shuts down.

    Kafka 2.8: ControllerContext.partitionsWithOfflineLeader; 0.10: KafkaController.onBrokerFailure.
    """
    if offline_leaders == OfflineLeaders.DEAD:
        return leader == NONE or contains(live | stopping, leader) == 0
    return leader == NONE or contains(live, leader) == 0


def election_is_due_after_removal(partition: int, isr: BrokerSet, live: BrokerSet, election_after_removal: int) -> bool:
    """Whether an election is tried once more after replicas have left: there is no leader, and the ISR has a live member now.

    This happens if a replica joined the ISR between the election and the removal. No version up to 3.9 does it.
    """
    return election_after_removal == Checked.YES and partition == PartitionState.OFFLINE and isr & live != 0


def preferred_leader_leads(assignment: Brokers, leader: int) -> bool:
    """Whether the first assigned broker leads: a preferred election is not needed.

    Kafka 2.8: KafkaController.processReplicaLeaderElection.
    """
    return leader == assignment[0]


class ShutdownPart(enum.IntEnum):
    """What happens to a replica whose broker does a controlled shutdown."""

    NOTHING = 0
    """It goes down with its broker: it is the only one, or nothing is known of its partition."""
    LEADERSHIP_MOVES = 1
    STOPS = 2
    """It follows: it is stopped, and leaves the ISR."""


def part_in_shutdown(assignment: Brokers, leader: int, broker: int) -> int:
    """Return what happens to a partition's replica on a broker that shuts down (`ShutdownPart`); its leadership is known.

    Kafka 2.8: KafkaController.doControlledShutdown.
    """
    if len(assignment) < 2 or contains(members(assignment), broker) == 0:
        return ShutdownPart.NOTHING
    return ShutdownPart.LEADERSHIP_MOVES if leader == broker else ShutdownPart.STOPS


# ---------------------------------------------------------------------------------------------------------------------
# Who leaves the ISR, who may join it, and the recipients


def replicas_lost_at_fail_over(replicas: BrokerSet, live: BrokerSet, dead_replicas: int) -> BrokerSet:
    """Return the replicas that a new controller takes offline: those that are not live, if the era does this (KAFKA-3143).

    Kafka 2.8: ReplicaStateMachine.startup.
    """
    return replicas & ~live if dead_replicas == DeadReplicas.TAKEN_OFFLINE else NO_BROKERS


def leader_and_isr_without(leader: int, isr: BrokerSet, broker: int, last_isr_member: int, unclean: int) -> tuple[int, BrokerSet]:
    """Return leader and ISR after the removal of a broker: no leader if it was the leader; a last member may have to stay.

    `unclean` is 1 if the topic allows leaders from outside the ISR. Kafka 2.8: ReplicaStateMachine.doRemoveReplicasFromIsr.
    """
    left = isr & ~singleton(broker)
    if left == 0 and last_isr_member == LastIsrMember.KEPT:
        left = isr
    if left == 0 and last_isr_member == LastIsrMember.DROPPED_IF_UNCLEAN and unclean == 0:
        left = isr
    if left == 0 and last_isr_member == LastIsrMember.DROPPED:
        return broker, left
    return NONE if leader == broker else leader, left


def isr_after_failed_write(isr: BrokerSet, written: BrokerSet, refused_isr_write: int) -> BrokerSet:
    """Return the ISR that a leader counts after a write of which it cannot know whether it took effect.

    Another controller's write may have replaced it since, and may have elected one of its members.
    Kafka 2.8: Partition.handleAlterIsrResponse leaves the change in flight; 2.7: Partition.expandIsrWithZk drops it.
    """
    return isr | written if refused_isr_write == RefusedIsrWrite.KEPT_PENDING else isr


def recipients_of_removal(assignment: Brokers, leader: int, broker: int, shrink_recipients: int) -> BrokerSet:
    """Return the recipients after a broker's removal from the ISR: the other replicas, or only the leader (KAFKA-1188).

    Kafka 2.8: ReplicaStateMachine.doHandleStateChanges, case OfflineReplica.
    """
    others = members(assignment) & ~singleton(broker)
    if shrink_recipients == ShrinkRecipients.ALL_REPLICAS:
        return others
    return others & singleton(leader) if leader != NONE else NO_BROKERS


def is_isr_candidate(broker: int, alive: BrokerSet, isr_candidates_alive: int) -> bool:
    """Whether a leader may add a broker to the ISR: its metadata cache lists the broker as alive, or the era does not check this.

    Kafka 3.3: Partition.isReplicaIsrEligible.
    """
    return isr_candidates_alive == Checked.NO or contains(alive, broker) == 1
