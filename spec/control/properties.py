"""The safety properties of the control plane, as predicates over states and steps.

The same properties are checked for every era. The sources' names in capitals are those of the list of known bugs: NOSTALE,
ONEWRITER, ISRNE, ISRLIVE, COMMITTED, LOGMATCH, HWMONO, CONVERGE.
"""

from __future__ import annotations

from kafka_spec.spec.control.assignments import is_recovered
from kafka_spec.spec.control.broker.requests import a_request_arrives, what_is_over
from kafka_spec.spec.control.quiet import (
    a_leader_is_quiet,
    a_leader_is_quiet_somewhere,
    a_topic_is_quiet,
    is_quiet,
    leader_is_registered_or_none_can_be,
    nobody_leads_at_an_older_epoch,
    replicas_know_the_epoch,
    there_is_a_leader,
    there_is_a_leader_somewhere,
    there_is_an_isr,
    there_is_an_isr_somewhere,
)
from kafka_spec.spec.control.state import ELECTING, NO_EPOCH, STANDBY, Role, Stale, World
from kafka_spec.spec.domain import NONE, contains
from kafka_spec.spec.log import holds_same_prefix, same_entry
from kafka_spec.spec.table import Constants, Property, invariant, recoverable, step_invariant

# ---------------------------------------------------------------------------------------------------------------------
# Epochs


def two_believe_to_lead(s: World, k: Constants, partition: int) -> bool:
    """Two replicas lead at once."""
    leaders = 0
    for broker in range(k.brokers):
        if s.brokers[broker].replicas[partition].role == Role.LEADER:
            leaders += 1
    return leaders > 1


def two_believe_to_lead_somewhere(s: World, k: Constants) -> bool:
    """In some partition: two replicas lead at once."""
    for partition in range(k.partitions):
        if two_believe_to_lead(s, k, partition):
            return True
    return False


def one_leader_in_each_epoch(s: World, k: Constants, partition: int) -> bool:
    """No two brokers lead under the same leader epoch."""
    for one in range(k.brokers):
        for other in range(one):
            if s.brokers[one].replicas[partition].role == Role.LEADER and s.brokers[other].replicas[partition].role == Role.LEADER:
                if s.brokers[one].replicas[partition].leader_epoch == s.brokers[other].replicas[partition].leader_epoch:
                    return False
    return True


def one_leader_in_each_epoch_everywhere(s: World, k: Constants) -> bool:
    """In each partition: no two brokers lead under the same leader epoch."""
    for partition in range(k.partitions):
        if two_believe_to_lead(s, k, partition) and not one_leader_in_each_epoch(s, k, partition):
            return False
    return True


def an_epoch_changes(before: World, after: World, k: Constants, partition: int) -> bool:
    """A leader epoch or a controller epoch changes, in ZooKeeper or on a broker."""
    if after.zookeeper.controller_epoch != before.zookeeper.controller_epoch:
        return True
    if after.zookeeper.partitions[partition].state.leader_epoch != before.zookeeper.partitions[partition].state.leader_epoch:
        return True
    for broker in range(k.brokers):
        old = before.brokers[broker]
        new = after.brokers[broker]
        if (
            new.controller_epoch != old.controller_epoch
            or new.replicas[partition].leader_epoch != old.replicas[partition].leader_epoch
        ):
            return True
    return False


def an_epoch_changes_somewhere(before: World, after: World, k: Constants) -> bool:
    """In some partition: a leader epoch or a controller epoch changes, in ZooKeeper or on a broker."""
    for partition in range(k.partitions):
        if an_epoch_changes(before, after, k, partition):
            return True
    return False


def epochs_never_go_back(before: World, after: World, k: Constants, partition: int) -> bool:
    """Epochs decrease in ZooKeeper only with the znode, and on a broker, during one registration, only with its replica."""
    if after.zookeeper.controller_epoch < before.zookeeper.controller_epoch:
        return False
    if after.zookeeper.partitions[partition].state.leader_epoch < before.zookeeper.partitions[
        partition
    ].state.leader_epoch and there_is_an_isr(after, partition):
        return False
    for broker in range(k.brokers):
        old = before.brokers[broker]
        new = after.brokers[broker]
        if old.broker_epoch == new.broker_epoch:
            if new.controller_epoch < old.controller_epoch:
                return False
            if (
                new.replicas[partition].leader_epoch < old.replicas[partition].leader_epoch
                and new.replicas[partition].role != Role.NONE
            ):
                return False
    return True


def epochs_never_go_back_everywhere(before: World, after: World, k: Constants) -> bool:
    """In each partition: epochs decrease in ZooKeeper only with the znode, and on a broker in one registration with its replica."""
    for partition in range(k.partitions):
        if an_epoch_changes(before, after, k, partition) and not epochs_never_go_back(before, after, k, partition):
            return False
    return True


def the_leader_changes(before: World, after: World, partition: int) -> bool:
    """The leader in ZooKeeper changes, or is removed; the state znode is not deleted."""
    return before.zookeeper.partitions[partition].state.leader != after.zookeeper.partitions[
        partition
    ].state.leader and there_is_an_isr(after, partition)


def the_leader_changes_somewhere(before: World, after: World, k: Constants) -> bool:
    """In some partition: the leader in ZooKeeper changes, or is removed; the state znode is not deleted."""
    for partition in range(k.partitions):
        if the_leader_changes(before, after, partition):
            return True
    return False


def the_leader_epoch_grows(before: World, after: World, partition: int) -> bool:
    """The leader epoch in ZooKeeper grows."""
    return before.zookeeper.partitions[partition].state.leader_epoch < after.zookeeper.partitions[partition].state.leader_epoch


def the_leader_epoch_grows_everywhere(before: World, after: World, k: Constants) -> bool:
    """In each partition: the leader epoch in ZooKeeper grows."""
    for partition in range(k.partitions):
        if the_leader_changes(before, after, partition) and not the_leader_epoch_grows(before, after, partition):
            return False
    return True


def a_request_is_stale(s: World, k: Constants) -> bool:
    """An outdated request waits for a broker that runs, or has taken effect; or one waits whose topic was deleted."""
    for late in range(len(s.late_stops)):
        if s.late_stops[late].is_of_former_topic == 1:
            return True
    for broker in range(k.brokers):
        if s.brokers[broker].stale != Stale.NOTHING:
            return True
        for controller in range(k.brokers):
            if a_request_arrives(s, controller, broker) and what_is_over(s, controller, broker) != Stale.NOTHING:
                return True
    return False


def no_stale_request_takes_effect(s: World, k: Constants) -> bool:
    """No outdated request has taken effect on a broker."""
    for broker in range(k.brokers):
        if s.brokers[broker].stale != Stale.NOTHING:
            return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Controllers


def a_controller_writes(before: World, after: World, partition: int) -> bool:
    """A controller writes the partition state, and does not delete it: the leader epoch changes."""
    return before.zookeeper.partitions[partition].state.leader_epoch != after.zookeeper.partitions[
        partition
    ].state.leader_epoch and there_is_an_isr(after, partition)


def a_controller_writes_somewhere(before: World, after: World, k: Constants) -> bool:
    """In some partition: a controller writes the partition state, and does not delete it: the leader epoch changes."""
    for partition in range(k.partitions):
        if a_controller_writes(before, after, partition):
            return True
    return False


def writer_is_the_newest_controller(before: World, after: World, partition: int) -> bool:
    """The partition state is written under the newest controller epoch."""
    return after.zookeeper.partitions[partition].state.controller_epoch == before.zookeeper.controller_epoch


def writer_is_the_newest_controller_everywhere(before: World, after: World, k: Constants) -> bool:
    """In each partition: the partition state is written under the newest controller epoch."""
    for partition in range(k.partitions):
        if a_controller_writes(before, after, partition) and not writer_is_the_newest_controller(before, after, partition):
            return False
    return True


def holder_has_an_epoch(s: World) -> bool:
    """A broker holds /controller, and has an epoch."""
    holder = s.zookeeper.controller
    return holder != NONE and s.controllers[holder].life != STANDBY and s.controllers[holder].life != ELECTING


def holder_has_newest_epoch(s: World) -> bool:
    """The holder of /controller has the newest controller epoch."""
    return s.controllers[s.zookeeper.controller].epoch == s.zookeeper.controller_epoch


def two_have_controller_epochs(s: World, k: Constants) -> bool:
    """Two brokers act as controllers."""
    controllers = 0
    for controller in range(k.brokers):
        if s.controllers[controller].epoch != 0:
            controllers += 1
    return controllers > 1


def one_controller_in_each_epoch(s: World, k: Constants) -> bool:
    """No two controllers have the same controller epoch."""
    for one in range(k.brokers):
        for other in range(one):
            if s.controllers[one].epoch == s.controllers[other].epoch and s.controllers[one].epoch != 0:
                return False
    return True


def holder_loses_its_znode(before: World, after: World) -> bool:
    """The holder of /controller loses it."""
    return before.zookeeper.controller != NONE and after.zookeeper.controller != before.zookeeper.controller


def holder_is_gone_or_gives_up(before: World, after: World) -> bool:
    """The former holder's session has ended, or it has resigned."""
    holder = before.zookeeper.controller
    return (
        after.brokers[holder].has_session == 0 or after.controllers[holder].life == STANDBY or holder_bounced(before, after, holder)
    )


def holder_bounced(before: World, after: World, holder: int) -> bool:
    """The holder's process ended and was restarted."""
    return before.zookeeper.broker_epochs[holder] != after.zookeeper.broker_epochs[holder]


def writer_knows_what_it_wrote(after: World, k: Constants, partition: int) -> bool:
    """The cache of the controller that wrote equals ZooKeeper."""
    state = after.zookeeper.partitions[partition].state
    for controller in range(k.brokers):
        cached = after.controllers[controller].context.partitions[partition].leadership
        if after.controllers[controller].epoch == state.controller_epoch:
            if cached.leader == state.leader and cached.leader_epoch == state.leader_epoch:
                if cached.isr == state.isr and cached.version == state.version:
                    return True
    return False


def writer_knows_what_it_wrote_everywhere(before: World, after: World, k: Constants) -> bool:
    """In each partition: the cache of the controller that wrote equals ZooKeeper."""
    for partition in range(k.partitions):
        if a_controller_writes(before, after, partition) and not writer_knows_what_it_wrote(after, k, partition):
            return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# The ISR


def leader_is_in_isr(s: World, partition: int) -> bool:
    """ZooKeeper's leader is in ZooKeeper's ISR."""
    state = s.zookeeper.partitions[partition].state
    return contains(state.isr, state.leader) == 1


def leader_is_in_isr_everywhere(s: World, k: Constants) -> bool:
    """In each partition: zooKeeper's leader is in ZooKeeper's ISR."""
    for partition in range(k.partitions):
        if there_is_a_leader(s, partition) and not leader_is_in_isr(s, partition):
            return False
    return True


def isr_is_not_empty(s: World, partition: int) -> bool:
    """ZooKeeper's ISR has a member."""
    return s.zookeeper.partitions[partition].state.isr != 0


def isr_is_not_empty_everywhere(s: World, k: Constants) -> bool:
    """In each partition: zooKeeper's ISR has a member."""
    for partition in range(k.partitions):
        if there_is_an_isr(s, partition) and not isr_is_not_empty(s, partition):
            return False
    return True


def somebody_was_removed(s: World, partition: int) -> bool:
    """Some broker was removed from the ISR as dead, and has not registered since."""
    return s.notes.partitions[partition].removed != 0


def somebody_was_removed_somewhere(s: World, k: Constants) -> bool:
    """In some partition: some broker was removed from the ISR as dead, and has not registered since."""
    for partition in range(k.partitions):
        if somebody_was_removed(s, partition):
            return True
    return False


def the_dead_stay_out_of_the_isr(s: World, partition: int) -> bool:
    """A broker that was removed from the ISR as dead is not in it again unless it has registered."""
    return s.zookeeper.partitions[partition].state.isr & s.notes.partitions[partition].removed == 0


def the_dead_stay_out_of_the_isr_everywhere(s: World, k: Constants) -> bool:
    """In each partition: a broker that was removed from the ISR as dead is not in it again unless it has registered."""
    for partition in range(k.partitions):
        if somebody_was_removed(s, partition) and not the_dead_stay_out_of_the_isr(s, partition):
            return False
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Logs


def a_leader_has_to_hold_records(s: World, k: Constants, partition: int) -> bool:
    """A record is committed, and a replica leads under the newest leader epoch."""
    for broker in range(k.brokers):
        replica = s.brokers[broker].replicas[partition]
        if replica.role == Role.LEADER and replica.leader_epoch == s.zookeeper.partitions[partition].state.leader_epoch:
            return len(s.notes.partitions[partition].committed) > 0
    return False


def a_leader_has_to_hold_records_somewhere(s: World, k: Constants) -> bool:
    """In some partition: a record is committed, and a replica leads under the newest leader epoch."""
    for partition in range(k.partitions):
        if a_leader_has_to_hold_records(s, k, partition):
            return True
    return False


def leaders_hold_what_is_committed(s: World, k: Constants, partition: int) -> bool:
    """A replica that leads under the newest leader epoch holds all committed records."""
    notes = s.notes.partitions[partition]
    for broker in range(k.brokers):
        replica = s.brokers[broker].replicas[partition]
        if replica.role == Role.LEADER and replica.leader_epoch == s.zookeeper.partitions[partition].state.leader_epoch:
            if not holds_same_prefix(replica.log, notes.committed, len(notes.committed)):
                return False
    return True


def leaders_hold_what_is_committed_everywhere(s: World, k: Constants) -> bool:
    """In each partition: a replica that leads under the newest leader epoch holds all committed records."""
    for partition in range(k.partitions):
        if a_leader_has_to_hold_records(s, k, partition) and not leaders_hold_what_is_committed(s, k, partition):
            return False
    return True


def two_high_watermarks_are_above_zero(s: World, k: Constants, partition: int) -> bool:
    """Two logs have records below their high watermarks, and no election was unclean."""
    logs = 0
    for broker in range(k.brokers):
        replica = s.brokers[broker].replicas[partition]
        if replica.high_watermark > 0 and len(replica.log) > 0:
            logs += 1
    return logs > 1 and s.notes.partitions[partition].unclean_epoch == NO_EPOCH


def two_high_watermarks_are_above_zero_somewhere(s: World, k: Constants) -> bool:
    """In some partition: two logs have records below their high watermarks, and no election was unclean."""
    for partition in range(k.partitions):
        if two_high_watermarks_are_above_zero(s, k, partition):
            return True
    return False


def logs_agree_below_high_watermarks(s: World, k: Constants, partition: int) -> bool:
    """No two logs hold different entries at an offset below both high watermarks."""
    for one in range(k.brokers):
        for other in range(one):
            mine = s.brokers[one].replicas[partition]
            theirs = s.brokers[other].replicas[partition]
            for offset in range(min(min(mine.high_watermark, theirs.high_watermark), min(len(mine.log), len(theirs.log)))):
                if not same_entry(mine.log, theirs.log, offset):
                    return False
    return True


def logs_agree_below_high_watermarks_everywhere(s: World, k: Constants) -> bool:
    """In each partition: no two logs hold different entries at an offset below both high watermarks."""
    for partition in range(k.partitions):
        if two_high_watermarks_are_above_zero(s, k, partition) and not logs_agree_below_high_watermarks(s, k, partition):
            return False
    return True


def a_high_watermark_is_above_zero(before: World, after: World, k: Constants, partition: int) -> bool:
    """Some high watermark is above 0, before the step or after it."""
    for broker in range(k.brokers):
        if (
            before.brokers[broker].replicas[partition].high_watermark > 0
            or after.brokers[broker].replicas[partition].high_watermark > 0
        ):
            return True
    return False


def a_high_watermark_is_above_zero_somewhere(before: World, after: World, k: Constants) -> bool:
    """In some partition: some high watermark is above 0, before the step or after it."""
    for partition in range(k.partitions):
        if a_high_watermark_is_above_zero(before, after, k, partition):
            return True
    return False


def high_watermarks_of_leaders_grow(before: World, after: World, k: Constants, partition: int) -> bool:
    """A leader's high watermark never decreases within its leader epoch, and never exceeds the end of its log."""
    for broker in range(k.brokers):
        old = before.brokers[broker].replicas[partition]
        new = after.brokers[broker].replicas[partition]
        if new.high_watermark > len(new.log):
            return False
        if old.role == Role.LEADER and new.role == Role.LEADER and old.leader_epoch == new.leader_epoch:
            if new.high_watermark < old.high_watermark:
                return False
    return True


def high_watermarks_of_leaders_grow_everywhere(before: World, after: World, k: Constants) -> bool:
    """In each partition: a leader's high watermark never decreases in its leader epoch, and never exceeds the end of its log."""
    for partition in range(k.partitions):
        if a_high_watermark_is_above_zero(before, after, k, partition) and not high_watermarks_of_leaders_grow(
            before, after, k, partition
        ):
            return False
    return True


def leader_is_registered_or_none_can_be_everywhere(s: World, k: Constants) -> bool:
    """In each partition: the leader in ZooKeeper is registered; or there is no leader, and no member of the ISR is up."""
    for partition in range(k.partitions):
        if not leader_is_registered_or_none_can_be(s, k, partition):
            return False
    return True


def replicas_know_the_epoch_everywhere(s: World, k: Constants) -> bool:
    """In each partition: every assigned replica that is up has applied the leader epoch, and follows the leader or leads."""
    for partition in range(k.partitions):
        if a_leader_is_quiet(s, k, partition) and not replicas_know_the_epoch(s, k, partition):
            return False
    return True


def nobody_leads_at_an_older_epoch_everywhere(s: World, k: Constants) -> bool:
    """In each partition: no running broker believes that it leads under an older leader epoch."""
    for partition in range(k.partitions):
        if a_leader_is_quiet(s, k, partition) and not nobody_leads_at_an_older_epoch(s, k, partition):
            return False
    return True


def no_partition_is_led_at_an_older_epoch(s: World, k: Constants) -> bool:
    """No running broker believes that it leads a partition under an older leader epoch."""
    for partition in range(k.partitions):
        if not nobody_leads_at_an_older_epoch(s, k, partition):
            return False
    return True


SAFETY: tuple[Property, ...] = (
    invariant(
        "OneLeaderInEachEpoch",
        one_leader_in_each_epoch_everywhere,
        "at most one replica leads the partition under one leader epoch",
        "Kafka's replication protocol; two-leader scenario of KAFKA-532",
        when=two_believe_to_lead_somewhere,
    ),
    step_invariant(
        "EpochsNeverGoBack",
        epochs_never_go_back_everywhere,
        "leader epoch and controller epoch never decrease, in ZooKeeper and on a broker within one registration; only a replica "
        "that is deleted forgets its leader epoch",
        "ONEWRITER; Kafka 2.8 ReplicaManager.becomeLeaderOrFollower",
        when=an_epoch_changes_somewhere,
    ),
    step_invariant(
        "LeaderChangesWithItsEpoch",
        the_leader_epoch_grows_everywhere,
        "a change of the leader in ZooKeeper comes with a larger leader epoch",
        "Kafka 2.8 LeaderAndIsr.newLeader",
        when=the_leader_changes_somewhere,
    ),
    invariant(
        "NoStaleRequest",
        no_stale_request_takes_effect,
        "no request takes effect after its receiver, in this registration, has seen a newer controller epoch or leader epoch, "
        "and none that was meant for an earlier registration, or for an earlier topic of the same name",
        "NOSTALE: KAFKA-532, KAFKA-7235, KIP-380, KIP-570",
        when=a_request_is_stale,
    ),
    step_invariant(
        "OneWriter",
        writer_is_the_newest_controller_everywhere,
        "a controller's write of the partition state takes effect only while its epoch is the newest",
        "ONEWRITER: KAFKA-6082",
        when=a_controller_writes_somewhere,
    ),
    invariant(
        "HolderHasNewestEpoch",
        holder_has_newest_epoch,
        "the holder of /controller has the newest controller epoch",
        "ONEWRITER: KAFKA-6082, the two-step election",
        when=holder_has_an_epoch,
    ),
    invariant(
        "OneControllerInEachEpoch",
        one_controller_in_each_epoch,
        "no two controllers have the same controller epoch",
        "ONEWRITER: KAFKA-1096",
        when=two_have_controller_epochs,
    ),
    step_invariant(
        "ControllerKeepsItsZnode",
        holder_is_gone_or_gives_up,
        "/controller is deleted only with its holder's session, or by its holder",
        "ONEWRITER: KAFKA-6082, resignation",
        when=holder_loses_its_znode,
    ),
    step_invariant(
        "WriterKnowsWhatItWrote",
        writer_knows_what_it_wrote_everywhere,
        "after a controller's own write its cache equals ZooKeeper",
        "Kafka 2.8 KafkaZkClient.updateLeaderAndIsr and ControllerContext.putPartitionLeadershipInfo",
        when=a_controller_writes_somewhere,
    ),
    invariant(
        "LeaderInIsr",
        leader_is_in_isr_everywhere,
        "the leader is in the ISR, or there is no leader",
        "ISRNE: KAFKA-708",
        when=there_is_a_leader_somewhere,
    ),
    invariant(
        "IsrNeverEmpty",
        isr_is_not_empty_everywhere,
        "the ISR has a member",
        "ISRNE: KAFKA-708, KAFKA-5083",
        when=there_is_an_isr_somewhere,
    ),
    invariant(
        "DeadStayOutOfIsr",
        the_dead_stay_out_of_the_isr_everywhere,
        "a broker that a controller removed from the ISR as dead is not in it again unless it has registered again",
        "ISRLIVE",
        when=somebody_was_removed_somewhere,
    ),
    invariant(
        "Committed",
        leaders_hold_what_is_committed_everywhere,
        "the replica that leads under the newest leader epoch holds all committed records",
        "COMMITTED: KIP-101, KAFKA-14617",
        when=a_leader_has_to_hold_records_somewhere,
    ),
    invariant(
        "LogMatch",
        logs_agree_below_high_watermarks_everywhere,
        "two logs never hold different records at an offset below both high watermarks, unless an election was unclean",
        "LOGMATCH: KIP-101, KIP-279",
        when=two_high_watermarks_are_above_zero_somewhere,
    ),
    step_invariant(
        "HighWatermarkGrows",
        high_watermarks_of_leaders_grow_everywhere,
        "a leader's high watermark never decreases within its leader epoch, and never exceeds the end of its log",
        "HWMONO",
        when=a_high_watermark_is_above_zero_somewhere,
    ),
    invariant(
        "QuietLeaderIsRegistered",
        leader_is_registered_or_none_can_be_everywhere,
        "in quiet states the leader is registered; or there is no leader, and no member of the ISR is up",
        "CONVERGE: KAFKA-3143, KAFKA-7235",
        when=a_topic_is_quiet,
    ),
    invariant(
        "QuietReplicasKnowTheEpoch",
        replicas_know_the_epoch_everywhere,
        "in quiet states every assigned replica that is up has applied the newest leader epoch, and its fetcher runs",
        "CONVERGE: KAFKA-1188, KAFKA-7235",
        when=a_leader_is_quiet_somewhere,
    ),
    invariant(
        "QuietLeadersAreOfNewestEpoch",
        nobody_leads_at_an_older_epoch_everywhere,
        "in quiet states with a leader, no replica leads under an older leader epoch: a demoted leader was informed, also in "
        "a controlled shutdown",
        "CONVERGE: KAFKA-7482",
        when=a_leader_is_quiet_somewhere,
    ),
)
"""The invariants and step invariants."""

OLD_LEADERS_STOP = invariant(
    "OldLeadersStop",
    no_partition_is_led_at_an_older_epoch,
    "in quiet states no replica leads under an older leader epoch, not even while the partition has no leader",
    "a claim that no Kafka up to 3.9 keeps: a LeaderAndIsr without a leader changes nothing on a broker",
    when=is_quiet,
)
"""Stricter than Kafka; not a property of `fixed`."""

RECOVERS = recoverable(
    "Recovers",
    is_recovered,
    "protocol steps alone can reach recovery: the leader is registered, or no replica can lead; every replica that is up has "
    "applied the newest leader epoch and fetches; the ISR is all of them; no replica leads under an older epoch; no reassignment "
    "runs whose target is up, and no broker that is up keeps a replica that it is not assigned",
    "CONVERGE",
)
"""Goals that protocol steps must be able to reach from every state."""
