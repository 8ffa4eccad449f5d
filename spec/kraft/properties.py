"""The safety properties of KRaft, as predicates over states and steps.

The same properties are checked for every era. The sources' names in capitals: COMMITTED, CANDIDATE, SUPERSET, LOGMATCH, HWMONO,
ISRLIVE, ISRNE, EPOCHS, BEPOCH; the names of the public TLA+ models of KIP-966 are beside them.
"""

from __future__ import annotations

from kafka_spec.spec.decisions import Checked
from kafka_spec.spec.domain import NONE, contains, only
from kafka_spec.spec.election import members
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.kraft.machines import IN_ELR, IN_ISR, LEADER, NO_ROLE, BrokerState
from kafka_spec.spec.kraft.state import UNKNOWN, KRaft, ProcessLife
from kafka_spec.spec.log import holds_same_prefix, same_entry
from kafka_spec.spec.partition_change import count_of, effective_min_isr
from kafka_spec.spec.table import Constants, Property, invariant, step_invariant

# ---------------------------------------------------------------------------------------------------------------------
# Epochs


def two_believe_to_lead(s: KRaft, k: Constants) -> bool:
    """Two replicas lead at once."""
    leaders = 0
    for broker in range(k.brokers):
        if s.brokers[broker].replica.role == LEADER:
            leaders += 1
    return leaders > 1


def one_leader_in_each_epoch(s: KRaft, k: Constants) -> bool:
    """No two brokers lead under the same leader epoch."""
    for one in range(k.brokers):
        for other in range(one):
            mine, theirs = s.brokers[one].replica, s.brokers[other].replica
            if mine.role == LEADER and theirs.role == LEADER and mine.topic_id == theirs.topic_id:
                if mine.leader_epoch == theirs.leader_epoch:
                    return False
    return True


def topic_stays(before: KRaft, after: KRaft) -> bool:
    """The same topic exists before the step and after it."""
    topic_id = before.controller.partition.topic_id
    return topic_id != UNKNOWN and topic_id == after.controller.partition.topic_id


def replica_stays(before: KRaft, after: KRaft, broker: int) -> bool:
    """The broker's process goes on, and so does its replica of the same topic."""
    old, new = before.brokers[broker], after.brokers[broker]
    if old.epoch != new.epoch or old.replica.topic_id != new.replica.topic_id:
        return False
    return old.replica.role != NO_ROLE and new.replica.role != NO_ROLE


def an_epoch_changes(before: KRaft, after: KRaft, k: Constants) -> bool:
    """A leader epoch or a partition epoch changes, at the controller or on a replica that goes on."""
    if topic_stays(before, after):
        if before.controller.partition.partition_epoch != after.controller.partition.partition_epoch:
            return True
    for broker in range(k.brokers):
        if replica_stays(before, after, broker):
            old, new = before.brokers[broker].replica, after.brokers[broker].replica
            if old.leader_epoch != new.leader_epoch or old.partition_epoch != new.partition_epoch:
                return True
    return False


def epochs_never_go_back(before: KRaft, after: KRaft, k: Constants) -> bool:
    """Leader epoch and partition epoch never decrease, at the controller and on a replica that goes on."""
    old_partition, new_partition = before.controller.partition, after.controller.partition
    if topic_stays(before, after):
        if new_partition.leader_epoch < old_partition.leader_epoch or new_partition.partition_epoch < old_partition.partition_epoch:
            return False
    for broker in range(k.brokers):
        if replica_stays(before, after, broker):
            old, new = before.brokers[broker].replica, after.brokers[broker].replica
            if new.leader_epoch < old.leader_epoch or new.partition_epoch < old.partition_epoch:
                return False
    return True


def the_partition_changes(before: KRaft, after: KRaft) -> bool:
    """Leader, leader epoch, ISR, ELR, last known leader, recovery state or replicas change in the metadata; the topic stays."""
    if not topic_stays(before, after):
        return False
    old, new = before.controller.partition, after.controller.partition
    if old.adding != new.adding or old.removing != new.removing or members(old.replicas) != members(new.replicas):
        return True
    if old.leader != new.leader or old.leader_epoch != new.leader_epoch or old.isr != new.isr or old.elr != new.elr:
        return True
    return old.last_known_leader != new.last_known_leader or old.recovery != new.recovery


def partition_epoch_grows(before: KRaft, after: KRaft) -> bool:
    """The partition epoch grows; and with a change of the leader, or if a replica leaves, the leader epoch."""
    old, new = before.controller.partition, after.controller.partition
    if new.partition_epoch <= old.partition_epoch:
        return False
    if old.leader == new.leader and members(old.replicas) & ~members(new.replicas) == 0:
        return True
    return new.leader_epoch > old.leader_epoch


def a_registration_changes(before: KRaft, after: KRaft, k: Constants) -> bool:
    """The broker epoch of a registration changes."""
    for broker in range(k.brokers):
        if before.controller.registrations[broker].epoch != after.controller.registrations[broker].epoch:
            return True
    return False


def only_another_process_gets_another_epoch(before: KRaft, after: KRaft, k: Constants) -> bool:
    """A broker epoch changes only with the process: it was down before."""
    for broker in range(k.brokers):
        if before.controller.registrations[broker].epoch != after.controller.registrations[broker].epoch:
            if before.brokers[broker].life != ProcessLife.DOWN:
                return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# The ISR and the ELR


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
    return count_of(partition.replicas, partition.isr) < effective_min_isr(k.min_isr, len(partition.replicas))


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
            if k.elr == Checked.YES or isr != only(broker):
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
    """The topic allows unclean elections, an operator requested one, or a process ended without order."""
    return k.unclean == 1 or s.spent.unclean_elections + s.spent.crashes + s.spent.lossy_crashes > 0


# ---------------------------------------------------------------------------------------------------------------------
# Records


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
            enough = count_of(partition.replicas, mine.isr) >= effective_min_isr(k.min_isr, len(partition.replicas))
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


# ---------------------------------------------------------------------------------------------------------------------
# Reassignment and topics


def isr_and_elr_are_replicas(s: KRaft) -> bool:
    """The members of the ISR and of the ELR are replicas, and so are those that a reassignment adds or removes."""
    partition = s.controller.partition
    named = partition.isr | partition.elr | partition.adding | partition.removing
    return named & ~members(partition.replicas) == 0


def a_reassignment_was_requested(s: KRaft) -> bool:
    """An operator has asked for a reassignment of the topic that exists, and none runs."""
    partition = s.controller.partition
    return s.history.origin != 0 and partition.adding | partition.removing == 0


def replicas_are_the_target(s: KRaft) -> bool:
    """The replicas are those that operators asked for last."""
    return members(s.controller.partition.replicas) == s.history.target


def a_replica_leaves(before: KRaft, after: KRaft) -> bool:
    """A replica leaves the assignment."""
    left = members(before.controller.partition.replicas) & ~members(after.controller.partition.replicas)
    return topic_stays(before, after) and left != 0


def number_of_candidates(s: KRaft) -> int:
    """Return how many replicas are in the ISR or the ELR."""
    partition = s.controller.partition
    return count_of(partition.replicas, partition.isr | partition.elr)


def enough_candidates_stay(before: KRaft, after: KRaft, k: Constants) -> bool:
    """If the ISR and the ELR had min.insync.replicas members among the replicas before, they have so afterwards."""
    old, new = before.controller.partition, after.controller.partition
    if number_of_candidates(before) < effective_min_isr(k.min_isr, len(old.replicas)):
        return True
    return number_of_candidates(after) >= effective_min_isr(k.min_isr, len(new.replicas))


def an_answer_refuses(s: KRaft, k: Constants) -> bool:
    """An answer to a proposal is on its way, and it is an error."""
    for broker in range(k.brokers):
        for place in range(len(s.brokers[broker].answers)):
            if s.brokers[broker].answers[place].error != ErrorCode.NONE:
                return True
    return False


def no_proposal_is_invalid(s: KRaft, k: Constants) -> bool:
    """No answer on its way says that the proposal made no sense."""
    for broker in range(k.brokers):
        for place in range(len(s.brokers[broker].answers)):
            if s.brokers[broker].answers[place].error == ErrorCode.INVALID_REQUEST:
                return False
    return True


def a_later_topic_has_records(s: KRaft, k: Constants) -> bool:
    """A replica of a topic that was created after a deletion has a record."""
    for broker in range(k.brokers):
        if s.brokers[broker].replica.topic_id > 0 and len(s.brokers[broker].replica.log) > 0:
            return True
    return False


def logs_hold_records_of_their_topic(s: KRaft, k: Constants) -> bool:
    """Every record in a log was written for the topic of the log."""
    for broker in range(k.brokers):
        mine = s.brokers[broker].replica
        for offset in range(len(mine.log)):
            if mine.log[offset].topic_id != mine.topic_id:
                return False
    return True


SAFETY: tuple[Property, ...] = (
    invariant(
        "OneLeaderInEachEpoch",
        one_leader_in_each_epoch,
        "at most one replica leads the partition under one leader epoch",
        "EPOCHS",
        when=two_believe_to_lead,
    ),
    step_invariant(
        "EpochsNeverGoBack",
        epochs_never_go_back,
        "leader epoch and partition epoch never decrease, in the metadata and on a running broker",
        "EPOCHS; Kafka 3.9 PartitionRegistration.merge",
        when=an_epoch_changes,
    ),
    step_invariant(
        "ChangesHaveTheirEpochs",
        partition_epoch_grows,
        "each change of the partition comes with a larger partition epoch, a change of the leader with a larger leader epoch too",
        "EPOCHS; Kafka 3.9 PartitionRegistration.merge",
        when=the_partition_changes,
    ),
    step_invariant(
        "OneEpochForEachProcess",
        only_another_process_gets_another_epoch,
        "a broker epoch belongs to one process, and a process keeps it",
        "BEPOCH: KAFKA-16952",
        when=a_registration_changes,
    ),
    invariant(
        "LeaderInIsr",
        leader_is_in_isr,
        "the leader is in the ISR, or there is no leader",
        "ISRNE",
        when=there_is_a_leader,
    ),
    invariant(
        "IsrNeverEmpty",
        isr_has_a_member_or_the_elr_may,
        "the ISR has a member, unless eligible leader replicas are enabled",
        "ISRNE: KIP-966",
        when=the_partition_exists,
    ),
    invariant(
        "ElrBesideSmallIsr",
        elr_is_beside_a_small_isr,
        "the ELR has members only while the ISR is below min.insync.replicas; they are replicas outside the ISR",
        "ISRNE: KIP-966",
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
        "ISRLIVE: KAFKA-19522",
        when=there_is_a_leader,
    ),
    invariant(
        "IsrIsActive",
        isr_is_active,
        "the ISR names no broker that is fenced or in controlled shutdown; without the ELR its last member stays",
        "ISRLIVE: KIP-841, KAFKA-18106",
        when=somebody_is_not_active,
    ),
    step_invariant(
        "JoinsInItsProcess",
        who_joins_fetched_in_this_process,
        "who joins the ISR was caught up in the process that is registered now",
        "BEPOCH: KIP-903",
        when=the_isr_grows_by_its_leader,
    ),
    invariant(
        "UncleanElectionHasCause",
        unclean_elections_have_a_cause,
        "no leader is elected uncleanly, unless the topic allows it, an operator requested it, or a process ended without order",
        "KIP-966: KAFKA-18635",
        when=an_election_was_unclean,
    ),
    invariant(
        "LeaderCountsCandidates",
        leader_counts_the_candidates,
        "the newest leader waits for the ISR before it commits, and for the ELR too while its ISR is large enough to commit",
        "SUPERSET (ReplicationQuorumSuperset)",
        when=a_replica_leads_newest,
    ),
    invariant(
        "CandidatesHoldCommitted",
        candidates_hold_what_is_committed,
        "every member of the ISR or the ELR that runs holds all committed records: each of them could lead",
        "CANDIDATE (LeaderCandidateCompleteness)",
        when=a_record_is_committed,
    ),
    invariant(
        "Committed",
        leaders_hold_what_is_committed,
        "the replica that leads under the newest leader epoch holds all committed records, as far as elections were clean",
        "COMMITTED (LeaderCompleteness)",
        when=a_leader_has_to_hold_records,
    ),
    invariant(
        "LogMatch",
        logs_agree_below_high_watermarks,
        "two logs never hold different records at an offset below both high watermarks, unless an election was unclean",
        "LOGMATCH",
        when=two_high_watermarks_are_above_zero,
    ),
    step_invariant(
        "HighWatermarkGrows",
        high_watermarks_of_leaders_grow,
        "a leader's high watermark never decreases within its leader epoch, and never exceeds the end of its log",
        "HWMONO",
        when=a_high_watermark_is_above_zero,
    ),
    invariant(
        "ListsNameReplicas",
        isr_and_elr_are_replicas,
        "ISR, ELR, added and removed replicas are replicas",
        "ISRNE: elr-outside-replicas",
        when=the_partition_exists,
    ),
    invariant(
        "ReassignmentEndsAtTarget",
        replicas_are_the_target,
        "when no reassignment runs any more, the replicas are those that operators asked for last",
        "ReplicationControlManager.changePartitionReassignment: retargeted-removal-stays",
        when=a_reassignment_was_requested,
    ),
    step_invariant(
        "ReassignmentKeepsCandidates",
        enough_candidates_stay,
        "when replicas leave, ISR and ELR together keep min.insync.replicas members, if they had them",
        "KIP-966; KAFKA-15665; PartitionReassignmentRevert: cancellation-below-min-isr",
        when=a_replica_leaves,
    ),
    invariant(
        "ProposalsAreValid",
        no_proposal_is_invalid,
        "no proposal of a leader is answered with INVALID_REQUEST: it names replicas and itself, and comes from the leader",
        "ReplicationControlManager.validateAlterPartitionData",
        when=an_answer_refuses,
    ),
    invariant(
        "DeletedRecordsStayGone",
        logs_hold_records_of_their_topic,
        "the records of a deleted topic never come back in another of the same name",
        "KIP-516",
        when=a_later_topic_has_records,
    ),
)
"""The invariants and step invariants."""
