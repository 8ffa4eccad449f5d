"""The change of a partition's registration in KRaft: who leads, the ISR, the eligible leader replicas, the epochs.

One function makes every such decision of the controller. Pure functions of the language of spec/language; the decisions of an era
are arguments. `acceptable` are the brokers that can lead: registered, not fenced, not in controlled shutdown. The order of the
ISR, a list in Kafka, has no effect on elections and is left out.

Source: Kafka 3.9 PartitionChangeBuilder.java; KIP-966.
"""

from __future__ import annotations

import enum

from kafka_spec.spec.decisions.election import Brokers, first_of, members
from kafka_spec.spec.decisions.kraft_variants import BumpOnShrink, LastKnownLeader, ReassignmentCompletion, ReassignmentLists
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, contains, excluding, singleton
from kafka_spec.spec.vocabulary.table import ChoiceTable


class ElectionKind(enum.IntEnum):
    """The kinds of elections of KRaft's controller."""

    ONLINE = 0
    """A healthy leader stays."""
    PREFERRED = 1
    """The first assigned replica, if it can lead; requested by operators, and by the controller every five minutes."""
    UNCLEAN = 2
    """As ONLINE; and a replica from outside the ISR, if there is no other way."""


class RecoveryState(enum.IntEnum):
    """Whether the leader has to recover from an unclean election (KIP-704)."""

    RECOVERED = 0
    RECOVERING = 1


class LeaderChoice(enum.IntEnum):
    """How a leader is chosen: the first of these that is possible."""

    PREFERRED = 0
    """The first assigned replica, if it is valid: active, and in the ISR, or in the ELR while the ISR is empty."""
    CURRENT = 1
    """The current leader, if it is valid."""
    FIRST_VALID = 2
    """The first assigned replica that is valid."""
    LAST_KNOWN = 3
    """The last known leader, uncleanly, if ISR and ELR are empty."""
    OUTSIDE = 4
    """The first assigned replica that is active, uncleanly."""
    NOBODY = 5
    """No leader."""


def count_of(replicas: Brokers, brokers: BrokerSet) -> int:
    """Return how many of the replicas are in the set."""
    found = 0
    for place in range(len(replicas)):
        if contains(brokers, replicas[place]) == 1:
            found += 1
    return found


def effective_min_isr(min_isr: int, replicas: int) -> int:
    """Return the min.insync.replicas that counts: at most the number of replicas.

    The leader takes the partition's own replicas; the controller takes those of the topic's partition 0, whichever partition it is.
    Kafka 3.9: ReplicationControlManager.getTopicEffectiveMinIsr; on the leader Partition.effectiveMinIsr (3.7).
    """
    return min(min_isr, replicas)


# ---------------------------------------------------------------------------------------------------------------------
# Elections


def ordinary_election(allowed: bool, setting_honoured: int) -> int:
    """Return the kind of election of ordinary changes: unclean where the topic allows it, and the version asks (KAFKA-12670)."""
    return ElectionKind.UNCLEAN if allowed and setting_honoured == Checked.YES else ElectionKind.ONLINE


def valid_leaders(isr: BrokerSet, elr: BrokerSet, acceptable: BrokerSet) -> BrokerSet:
    """Return who can be elected cleanly: ISR members, or eligible leader replicas if the ISR is empty.

    Kafka 3.9: PartitionChangeBuilder.isValidNewLeader.
    """
    return (elr if isr == 0 else isr) & acceptable


def last_known_is_electable(
    isr: BrokerSet, elr: BrokerSet, last_known: int, acceptable: BrokerSet, elr_enabled: int, last_known_acceptable: int
) -> bool:
    """Whether the last known leader may be elected: ISR and ELR are empty, and it is acceptable (4.1, KAFKA-19522).

    Kafka 3.9: PartitionChangeBuilder.canElectLastKnownLeader.
    """
    if elr_enabled == Checked.NO or isr != 0 or elr != 0 or last_known == NONE:
        return False
    return last_known_acceptable == Checked.NO or contains(acceptable, last_known) == 1


def choose(
    election: int, preferred_is_valid: int, leader_is_valid: int, some_is_valid: int, last_known: int, some_is_up: int
) -> int:
    """Return how the leader is chosen (`LeaderChoice`); the arguments are 1 where that choice is possible. The decision table.

    Kafka 3.9: PartitionChangeBuilder.electLeader.
    """
    if election == ElectionKind.PREFERRED and preferred_is_valid == 1:
        return LeaderChoice.PREFERRED
    if leader_is_valid == 1:
        return LeaderChoice.CURRENT
    if some_is_valid == 1:
        return LeaderChoice.FIRST_VALID
    if last_known == 1:
        return LeaderChoice.LAST_KNOWN
    if election == ElectionKind.UNCLEAN and some_is_up == 1:
        return LeaderChoice.OUTSIDE
    return LeaderChoice.NOBODY


ELECTIONS = ChoiceTable("Elections", choose, ElectionKind, LeaderChoice, "Kafka 3.9 PartitionChangeBuilder.electLeader; KIP-966")
"""The decision table of elections, as pictures show it."""


def elect_by_choice(
    election: int,
    replicas: Brokers,
    leader: int,
    isr: BrokerSet,
    elr: BrokerSet,
    last_known: int,
    acceptable: BrokerSet,
    elr_enabled: int,
    last_known_acceptable: int,
) -> tuple[int, int]:
    """Return the leader, NONE if there is none, and how it was chosen. `isr` and `elr` are those after the change."""
    valid = valid_leaders(isr, elr, acceptable)
    first = first_of(replicas, valid)
    up = first_of(replicas, acceptable)
    choice = choose(
        election,
        1 if len(replicas) > 0 and contains(valid, replicas[0]) == 1 else 0,
        1 if leader != NONE and contains(valid, max(leader, 0)) == 1 else 0,
        1 if first != NONE else 0,
        1 if last_known_is_electable(isr, elr, last_known, acceptable, elr_enabled, last_known_acceptable) else 0,
        1 if up != NONE else 0,
    )
    elected = NONE
    if choice == LeaderChoice.PREFERRED:
        elected = replicas[0]
    if choice == LeaderChoice.CURRENT:
        elected = leader
    if choice == LeaderChoice.FIRST_VALID:
        elected = first
    if choice == LeaderChoice.LAST_KNOWN:
        elected = last_known
    if choice == LeaderChoice.OUTSIDE:
        elected = up
    return elected, choice


def is_unclean(choice: int) -> bool:
    """Whether a leader that is chosen so may lack committed records."""
    return choice == LeaderChoice.LAST_KNOWN or choice == LeaderChoice.OUTSIDE


# ---------------------------------------------------------------------------------------------------------------------
# The eligible leader replicas and the last known leader


def target_elr(
    replicas: Brokers,
    old_isr: BrokerSet,
    old_elr: BrokerSet,
    isr: BrokerSet,
    unclean_replicas: BrokerSet,
    min_isr: int,
    elr_enabled: int,
) -> BrokerSet:
    """Return the ELR after a change of the ISR, before an election: who has left the ISR since it fell below min.insync.replicas.

    It is empty while the ISR has that many members. A replica whose broker lost records leaves it. `min_isr` is the effective one.
    Kafka 3.9: PartitionChangeBuilder.populateTargetElr.
    """
    if elr_enabled == Checked.NO or count_of(replicas, isr) >= min_isr:
        return NO_BROKERS
    return (old_elr | old_isr) & ~isr & ~unclean_replicas


def elr_of_replicas(elr: BrokerSet, replicas: Brokers, elr_within_replicas: int) -> BrokerSet:
    """Return those members of the ELR that are replicas: others delete their logs. No version does it (elr-outside-replicas)."""
    return elr & members(replicas) if elr_within_replicas == Checked.YES else elr


def elr_beside(isr: BrokerSet, elr: BrokerSet, replicas: Brokers, min_isr: int, elr_within_replicas: int, kept: int) -> BrokerSet:
    """Return the ELR that is written beside an ISR.

    If a smaller min.insync.replicas has `kept` it, an election may lead to an ISR that commits without it: then it is empty. No
    version keeps it (elr-cleared-while-offline).
    """
    if kept == Checked.YES and count_of(replicas, isr) >= min_isr:
        return NO_BROKERS
    return elr_of_replicas(elr, replicas, elr_within_replicas)


def last_known_after(
    rule: int, last_known: int, old_leader: int, leader: int, leader_written: int, old_isr: BrokerSet, isr: BrokerSet
) -> int:
    """Return the last known leader after a change, NONE if there is none; `leader_written` is 1 if the leader epoch grows.

    Kafka 3.9 and 4.2: PartitionChangeBuilder.maybeUpdateLastKnownLeader.
    """
    if rule == LastKnownLeader.WHEN_NO_LEADER:
        if leader_written == 0:
            return last_known
        if leader != NONE:
            return NONE
        return old_leader if last_known == NONE else last_known
    if isr == 0 and old_isr != 0 and last_known != old_leader:
        return old_leader
    return NONE if leader != NONE else last_known


# ---------------------------------------------------------------------------------------------------------------------
# Reassignment


def added_replicas(rule: int, before: BrokerSet, adding: BrokerSet, target: BrokerSet) -> BrokerSet:
    """Return the list of added replicas after a request for a target; `before` are the replicas, `adding` is the list until now.

    Kafka 3.9: PartitionReassignmentReplicas; ReplicationControlManager.changePartitionReassignment.
    """
    added = target & ~before
    if rule == ReassignmentLists.ACCUMULATED:
        return adding | added
    return adding if added == 0 else added


def removed_replicas(rule: int, before: BrokerSet, removing: BrokerSet, target: BrokerSet) -> BrokerSet:
    """Return the list of removed replicas after a request for a target; `removing` is the list until now."""
    removed = before & ~target
    return removing if removed == 0 and rule == ReassignmentLists.KEPT_IF_EMPTY else removed


def awaited_replicas(rule: int, adding: BrokerSet, removing: BrokerSet) -> BrokerSet:
    """Return the added replicas that a completion has to wait for: those that a later target has not given up."""
    return adding & ~removing if rule == ReassignmentLists.ACCUMULATED else adding


def replicas_leave(before: BrokerSet, after: BrokerSet) -> bool:
    """Whether a change takes a replica away, so that the leader epoch grows.

    Kafka 3.9: PartitionChangeBuilder.triggerLeaderEpochBumpForReplicaReassignmentIfNeeded.
    """
    return before & ~after != 0


def reassignment_completes(rule: int, replicas: Brokers, adding: BrokerSet, removing: BrokerSet, isr: BrokerSet) -> bool:
    """Whether a change that leads to this ISR completes the reassignment; `replicas` has those that are added and removed too.

    Then ISR and replicas lose those that are removed. min.insync.replicas is not asked for (elr-outside-replicas).
    Kafka 3.7, 3.9, 4.3: PartitionReassignmentReplicas.maybeCompleteReassignment.
    """
    if adding | removing == 0:
        return False
    left = isr & ~removing
    target = members(replicas) & ~removing
    if removing != 0 and (left == 0 or target == 0):
        return False
    all_in_sync = target & ~left == 0
    if rule == ReassignmentCompletion.ALL_IN_ISR:
        return all_in_sync
    added_in_sync = adding & ~left == 0
    if rule == ReassignmentCompletion.ADDED_IN_ISR:
        return added_in_sync
    return added_in_sync and (all_in_sync or count_of(replicas, adding) >= count_of(replicas, removing))


# ---------------------------------------------------------------------------------------------------------------------
# The change as a whole


def isr_after(
    choice: int, leader: int, elected: int, old_isr: BrokerSet, isr: BrokerSet, elr: BrokerSet, elr_enabled: int
) -> BrokerSet:
    """Return the ISR that is written: a leader from the ELR or from outside the ISR is alone in it.

    Without the ELR, an empty ISR is never written: its last member stays. Kafka 3.9: PartitionChangeBuilder.tryElection, build.
    """
    if elected != leader and elected != NONE:
        if is_unclean(choice) or contains(elr, elected) == 1:
            return singleton(elected)
    if isr == 0 and elr_enabled == Checked.NO:
        return old_isr
    return isr


def elr_after(choice: int, leader: int, elected: int, elr: BrokerSet) -> BrokerSet:
    """Return the ELR that is written: its member that is elected leaves it; an unclean election empties it."""
    if elected != leader and elected != NONE:
        return NO_BROKERS if is_unclean(choice) else excluding(elr, elected)
    return elr


def recovery_after(choice: int, leader: int, elected: int, old_recovery: int, recovery: int) -> int:
    """Return the recovery state after a change and its election (KIP-704, 3.2): a leader's request to change it comes last.

    Kafka 3.9: PartitionChangeBuilder.tryElection, build.
    """
    if recovery == old_recovery and elected != leader and is_unclean(choice):
        return RecoveryState.RECOVERING
    return recovery


def leader_epoch_grows(rule: int, old_leader: int, leader: int, old_isr: BrokerSet, wanted: BrokerSet, written: BrokerSet) -> bool:
    """Whether the leader epoch grows: the leader changes, or in some eras a member leaves the ISR.

    Without the ELR, the last member stays in the ISR that is `written`, even if the event wants an ISR without it.

    Kafka 3.7: PartitionChangeBuilder.triggerLeaderEpochBumpIfNeeded; 3.9: triggerLeaderEpochBumpForIsrShrinkIfNeeded.
    """
    if old_leader != leader:
        return True
    if rule == BumpOnShrink.NONE:
        return False
    return old_isr & ~(wanted if rule == BumpOnShrink.WANTED else written) != 0
