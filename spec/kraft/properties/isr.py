"""The properties of KRaft about who may lead: the leader, the ISR and the ELR, as the metadata log has them.

The sources' names in capitals are those of properties.py.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.partition_change import count_of
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.kraft.machines import IN_ELR, IN_ISR, BrokerState
from kafka_spec.spec.kraft.properties.epochs import topic_stays
from kafka_spec.spec.kraft.settings import least_isr
from kafka_spec.spec.kraft.state import UNKNOWN, FutureLog, KRaft
from kafka_spec.spec.language.domain import NONE, contains, singleton
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant, step_invariant


def there_is_a_leader(s: KRaft) -> bool:
    """The partition has a leader."""
    return s.controller.partition.leader != NONE


def leader_is_in_isr(s: KRaft) -> bool:
    """The leader is in the ISR."""
    return contains(s.controller.partition.isr, s.controller.partition.leader) == 1


def the_partition_exists(s: KRaft) -> bool:
    """There is a topic."""
    return s.controller.partition.topic_id != UNKNOWN


def isr_has_a_member_or_the_elr_may(s: KRaft, k: Constants) -> bool:
    """The ISR has a member; with eligible leader replicas it may be empty."""
    return k.elr == Checked.YES or s.controller.partition.isr != 0


def the_elr_has_a_member(s: KRaft) -> bool:
    """The ELR has a member."""
    return s.controller.partition.elr != 0


def elr_is_beside_a_small_isr(s: KRaft, k: Constants) -> bool:
    """The ELR is outside the ISR, which is below min.insync.replicas."""
    partition = s.controller.partition
    if partition.isr & partition.elr != 0 or (partition.isr | partition.elr) & ~members(partition.replicas) != 0:
        return False
    least = least_isr(k, partition.min_isr_changed, len(partition.replicas))
    return count_of(partition.replicas, partition.isr) < least


def replicas_stand_where_the_lists_say(s: KRaft, k: Constants) -> bool:
    """Each replica's state is that of the ISR and the ELR: the table of memberships has refused nothing."""
    partition = s.controller.partition
    for broker in range(k.brokers):
        state = s.controller.memberships[broker]
        if (state == IN_ISR) != (contains(partition.isr, broker) == 1) or (state == IN_ELR) != (
            contains(partition.elr, broker) == 1
        ):
            return False
    return True


def leader_is_active(s: KRaft) -> bool:
    """The leader is registered, not fenced, and not shutting down."""
    return s.controller.registrations[s.controller.partition.leader].state == BrokerState.UNFENCED


def leader_has_its_directory(s: KRaft) -> bool:
    """The log directory of the leader's replica is online."""
    return s.controller.registrations[s.controller.partition.leader].directory_offline == 0


def somebody_is_not_active(s: KRaft, k: Constants) -> bool:
    """Some broker is fenced or shutting down."""
    for broker in range(k.brokers):
        if s.controller.registrations[broker].state != BrokerState.UNFENCED:
            return True
    return False


def isr_is_active(s: KRaft, k: Constants) -> bool:
    """Every ISR member is active; without eligible leader replicas the last member stays."""
    isr = s.controller.partition.isr
    for broker in range(k.brokers):
        if contains(isr, broker) == 1 and s.controller.registrations[broker].state != BrokerState.UNFENCED:
            if k.elr == Checked.YES or isr != singleton(broker):
                return False
    return True


def the_isr_grows_by_its_leader(before: KRaft, after: KRaft) -> bool:
    """The ISR grows within a leader epoch: its leader proposed that."""
    old, new = before.controller.partition, after.controller.partition
    return topic_stays(before, after) and old.leader_epoch == new.leader_epoch and new.isr & ~old.isr != 0


def who_joins_fetched_in_this_process(before: KRaft, after: KRaft, k: Constants) -> bool:
    """The proposal names each broker that joins with the broker epoch that is registered now."""
    joined = after.controller.partition.isr & ~before.controller.partition.isr
    leader = before.controller.partition.leader
    for broker in range(k.brokers):
        if contains(joined, broker) == 1:
            if before.brokers[leader].requests[0].epochs[broker] != before.controller.registrations[broker].epoch:
                return False
    return True


def an_election_was_unclean(s: KRaft) -> bool:
    """A leader was elected that may lack committed records."""
    return s.history.unclean_epoch != UNKNOWN


def unclean_elections_have_a_cause(s: KRaft, k: Constants) -> bool:
    """The topic allowed unclean elections, an operator requested one, or a process ended without order or lost its directory."""
    lost = s.spent.crashes + s.spent.lossy_crashes + s.spent.removed_directories + s.spent.failed_directories
    return k.unclean == 1 or s.spent.unclean_elections + s.spent.unclean_changes + lost > 0


def min_isr_changes_beside_candidates(before: KRaft, after: KRaft) -> bool:
    """min.insync.replicas of the topic changes, and the ISR or the ELR had a member."""
    old, new = before.controller.partition, after.controller.partition
    changed = topic_stays(before, after) and new.min_isr_changed != old.min_isr_changed
    return changed and old.isr | old.elr != 0


def directory_is_assigned_beside_candidates(before: KRaft, after: KRaft) -> bool:
    """The controller notes the directory of a future log, and the ISR or the ELR had a member."""
    old = before.controller.partition
    return old.isr | old.elr != 0 and any(
        before.brokers[broker].copy == FutureLog.COPIED and after.brokers[broker].copy == FutureLog.ASSIGNED
        for broker in range(len(before.brokers))
    )


def a_candidate_stays(before: KRaft, after: KRaft) -> bool:
    """The ISR or the ELR has a member that was in one of them."""
    old, new = before.controller.partition, after.controller.partition
    return (new.isr | new.elr) & (old.isr | old.elr) != 0


def a_directory_is_offline(s: KRaft, k: Constants) -> bool:
    """There is a leader, and the controller knows an offline log directory of some replica."""
    return s.controller.partition.leader != NONE and any(
        s.controller.registrations[broker].directory_offline == 1 for broker in range(k.brokers)
    )


CANDIDATES: tuple[Property, ...] = (
    invariant(
        "LeaderInIsr",
        leader_is_in_isr,
        "the leader is in the ISR, or there is no leader",
        "Kafka 3.9 PartitionChangeBuilder.tryElection",
        when=there_is_a_leader,
    ),
    invariant(
        "IsrNeverEmpty",
        isr_has_a_member_or_the_elr_may,
        "the ISR has a member, unless eligible leader replicas are enabled",
        "KIP-966; Kafka 3.9 PartitionChangeBuilder.build",
        when=the_partition_exists,
    ),
    invariant(
        "ElrBesideSmallIsr",
        elr_is_beside_a_small_isr,
        "the ELR has members only while the ISR is below min.insync.replicas; they are replicas outside the ISR",
        "KIP-966; Kafka 3.9 PartitionChangeBuilder.populateTargetElr",
        when=the_elr_has_a_member,
    ),
    invariant(
        "MembershipsFollowTheirTable",
        replicas_stand_where_the_lists_say,
        "replicas enter and leave ISR and ELR by the rows of the machine Membership alone: none comes from outside into the ELR",
        "KIP-966",
        when=the_partition_exists,
    ),
    invariant(
        "LeaderIsActive",
        leader_is_active,
        "the leader is registered, and neither fenced nor in controlled shutdown",
        "Kafka 3.9 PartitionChangeBuilder.isValidNewLeader; KAFKA-19522",
        when=there_is_a_leader,
    ),
    invariant(
        "IsrIsActive",
        isr_is_active,
        "the ISR names no broker that is fenced or in controlled shutdown; without the ELR its last member stays",
        "KIP-841; KAFKA-18106",
        when=somebody_is_not_active,
    ),
    step_invariant(
        "JoinsInItsProcess",
        who_joins_fetched_in_this_process,
        "who joins the ISR was caught up in the process that is registered now",
        "KIP-903",
        when=the_isr_grows_by_its_leader,
    ),
    invariant(
        "UncleanElectionHasCause",
        unclean_elections_have_a_cause,
        "no leader is elected uncleanly, unless the topic allows it, an operator requested it, or a process ended without order or "
        "lost its directory",
        "KIP-966; KAFKA-18635",
        when=an_election_was_unclean,
    ),
    step_invariant(
        "SettingsKeepCandidates",
        a_candidate_stays,
        "a change of min.insync.replicas leaves a partition a replica that may lead, if it had one",
        "KIP-966; Kafka 4.3 ReplicationControlManager.removeTopicElrs",
        when=min_isr_changes_beside_candidates,
    ),
    step_invariant(
        "MovesKeepCandidates",
        a_candidate_stays,
        "an assignment of a replica to a directory leaves a partition a replica that may lead, if it had one",
        "KIP-858; KIP-966; Kafka 4.3 ReplicationControlManager.handleAssignReplicasToDirs",
        when=directory_is_assigned_beside_candidates,
    ),
    invariant(
        "LeaderHasItsDirectory",
        leader_has_its_directory,
        "the controller does not know that the log directory of the leader's replica is offline",
        "KIP-858; Kafka 3.9 LeaderAcceptor",
        when=a_directory_is_offline,
    ),
)
"""The properties of leader, ISR and ELR."""
