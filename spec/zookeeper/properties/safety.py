"""The safety properties of the control plane, as predicates over states and steps.

The same properties are checked for every era.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.log import holds_same_prefix, same_entry
from kafka_spec.spec.language.domain import contains
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant, recoverable, step_invariant
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH, PARTITION
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.properties.assignment import is_recovered
from kafka_spec.spec.zookeeper.properties.epochs import (
    a_controller_writes,
    a_request_is_stale,
    an_epoch_changes,
    epochs_never_go_back,
    holder_has_an_epoch,
    holder_has_newest_epoch,
    holder_is_gone_or_gives_up,
    holder_loses_its_znode,
    no_stale_request_takes_effect,
    one_controller_in_each_epoch,
    one_leader_in_each_epoch,
    the_leader_changes,
    the_leader_epoch_grows,
    two_believe_to_lead,
    two_have_controller_epochs,
    writer_is_the_newest_controller,
    writer_knows_what_it_wrote,
)
from kafka_spec.spec.zookeeper.properties.quiescence import (
    a_leader_is_quiet,
    a_topic_is_quiet,
    is_quiet,
    leader_is_registered_or_none_can_be,
    nobody_leads_at_an_older_epoch,
    replicas_know_the_epoch,
    there_is_a_leader,
    there_is_an_isr,
)
from kafka_spec.spec.zookeeper.state import World

# ---------------------------------------------------------------------------------------------------------------------
# The ISR


def leader_is_in_isr(s: World, partition: int) -> bool:
    """ZooKeeper's leader is in ZooKeeper's ISR."""
    state = s.zookeeper.partitions[partition].state
    return contains(state.isr, state.leader) == 1


def isr_is_not_empty(s: World, partition: int) -> bool:
    """ZooKeeper's ISR has a member."""
    return s.zookeeper.partitions[partition].state.isr != 0


def somebody_was_removed(s: World, partition: int) -> bool:
    """Some broker was removed from the ISR as dead, and has not registered since."""
    return s.history.partitions[partition].removed != 0


def the_dead_stay_out_of_the_isr(s: World, partition: int) -> bool:
    """A broker that was removed from the ISR as dead is not in it again unless it has registered."""
    return s.zookeeper.partitions[partition].state.isr & s.history.partitions[partition].removed == 0


# ---------------------------------------------------------------------------------------------------------------------
# Logs


def a_leader_has_to_hold_records(s: World, k: Constants, partition: int) -> bool:
    """A record is committed, and a replica leads under the newest leader epoch."""
    for broker in range(k.brokers):
        replica = s.brokers[broker].replicas[partition]
        if replica.role == Role.LEADER and replica.leader_epoch == s.zookeeper.partitions[partition].state.leader_epoch:
            return len(s.history.partitions[partition].committed) > 0
    return False


def leaders_hold_what_is_committed(s: World, k: Constants, partition: int) -> bool:
    """A replica that leads under the newest leader epoch holds all committed records."""
    history = s.history.partitions[partition]
    for broker in range(k.brokers):
        replica = s.brokers[broker].replicas[partition]
        if replica.role == Role.LEADER and replica.leader_epoch == s.zookeeper.partitions[partition].state.leader_epoch:
            if not holds_same_prefix(replica.log, history.committed, len(history.committed)):
                return False
    return True


def two_high_watermarks_are_above_zero(s: World, k: Constants, partition: int) -> bool:
    """Two logs have records below their high watermarks, and no election was unclean."""
    logs = 0
    for broker in range(k.brokers):
        replica = s.brokers[broker].replicas[partition]
        if replica.high_watermark > 0 and len(replica.log) > 0:
            logs += 1
    return logs > 1 and s.history.partitions[partition].unclean_epoch == NO_EPOCH


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


def a_high_watermark_is_above_zero(before: World, after: World, k: Constants, partition: int) -> bool:
    """Some high watermark is above 0, before the step or after it."""
    for broker in range(k.brokers):
        if (
            before.brokers[broker].replicas[partition].high_watermark > 0
            or after.brokers[broker].replicas[partition].high_watermark > 0
        ):
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


def no_partition_is_led_at_an_older_epoch(s: World, k: Constants) -> bool:
    """No running broker believes that it leads a partition under an older leader epoch."""
    for partition in range(k.partitions):
        if not nobody_leads_at_an_older_epoch(s, k, partition):
            return False
    return True


SAFETY: tuple[Property, ...] = (
    invariant(
        "OneLeaderInEachEpoch",
        one_leader_in_each_epoch,
        "at most one replica leads the partition under one leader epoch",
        "KAFKA-532",
        when=two_believe_to_lead,
        each=PARTITION,
    ),
    step_invariant(
        "EpochsNeverGoBack",
        epochs_never_go_back,
        "leader epoch and controller epoch never decrease, in ZooKeeper and on a broker within one registration; only a replica "
        "that is deleted forgets its leader epoch",
        "Kafka 2.8 ReplicaManager.becomeLeaderOrFollower",
        when=an_epoch_changes,
        each=PARTITION,
    ),
    step_invariant(
        "LeaderChangesWithItsEpoch",
        the_leader_epoch_grows,
        "a change of the leader in ZooKeeper comes with a larger leader epoch",
        "Kafka 2.8 LeaderAndIsr.newLeader",
        when=the_leader_changes,
        each=PARTITION,
    ),
    invariant(
        "NoStaleRequest",
        no_stale_request_takes_effect,
        "no request takes effect after its receiver, in this registration, has seen a newer controller epoch or leader epoch, "
        "and none that was meant for an earlier registration, or for an earlier topic of the same name",
        "KIP-380; KIP-570; KAFKA-532; KAFKA-7235",
        when=a_request_is_stale,
    ),
    step_invariant(
        "OneWriter",
        writer_is_the_newest_controller,
        "a controller's write of the partition state takes effect only while its epoch is the newest",
        "KAFKA-6082",
        when=a_controller_writes,
        each=PARTITION,
    ),
    invariant(
        "HolderHasNewestEpoch",
        holder_has_newest_epoch,
        "the holder of /controller has the newest controller epoch",
        "KAFKA-6082",
        when=holder_has_an_epoch,
    ),
    invariant(
        "OneControllerInEachEpoch",
        one_controller_in_each_epoch,
        "no two controllers have the same controller epoch",
        "KAFKA-1096",
        when=two_have_controller_epochs,
    ),
    step_invariant(
        "ControllerKeepsItsZnode",
        holder_is_gone_or_gives_up,
        "/controller is deleted only with its holder's session, or by its holder",
        "KAFKA-6082",
        when=holder_loses_its_znode,
    ),
    step_invariant(
        "WriterKnowsWhatItWrote",
        writer_knows_what_it_wrote,
        "after a controller's own write its cache equals ZooKeeper",
        "Kafka 2.8 KafkaZkClient.updateLeaderAndIsr; Kafka 2.8 ControllerContext.putPartitionLeadershipInfo",
        when=a_controller_writes,
        each=PARTITION,
    ),
    invariant(
        "LeaderInIsr",
        leader_is_in_isr,
        "the leader is in the ISR, or there is no leader",
        "KAFKA-708",
        when=there_is_a_leader,
        each=PARTITION,
    ),
    invariant(
        "IsrNeverEmpty",
        isr_is_not_empty,
        "the ISR has a member",
        "KAFKA-708; KAFKA-5083",
        when=there_is_an_isr,
        each=PARTITION,
    ),
    invariant(
        "DeadStayOutOfIsr",
        the_dead_stay_out_of_the_isr,
        "a broker that a controller removed from the ISR as dead is not in it again unless it has registered again",
        "KAFKA-14140; KIP-841",
        when=somebody_was_removed,
        each=PARTITION,
    ),
    invariant(
        "Committed",
        leaders_hold_what_is_committed,
        "the replica that leads under the newest leader epoch holds all committed records",
        "KIP-101; KAFKA-14617",
        when=a_leader_has_to_hold_records,
        each=PARTITION,
    ),
    invariant(
        "LogMatch",
        logs_agree_below_high_watermarks,
        "two logs never hold different records at an offset below both high watermarks, unless an election was unclean",
        "KIP-101; KIP-279",
        when=two_high_watermarks_are_above_zero,
        each=PARTITION,
    ),
    step_invariant(
        "HighWatermarkGrows",
        high_watermarks_of_leaders_grow,
        "a leader's high watermark never decreases within its leader epoch, and never exceeds the end of its log",
        "Kafka 2.8 Partition.maybeIncrementLeaderHW",
        when=a_high_watermark_is_above_zero,
        each=PARTITION,
    ),
    invariant(
        "QuietLeaderIsRegistered",
        leader_is_registered_or_none_can_be,
        "in quiet states the leader is registered; or there is no leader, and no member of the ISR is up",
        "KAFKA-3143; KAFKA-7235",
        when=a_topic_is_quiet,
        each=PARTITION,
    ),
    invariant(
        "QuietReplicasKnowTheEpoch",
        replicas_know_the_epoch,
        "in quiet states every assigned replica that is up has applied the newest leader epoch, and its fetcher runs",
        "KAFKA-1188; KAFKA-7235",
        when=a_leader_is_quiet,
        each=PARTITION,
    ),
    invariant(
        "QuietLeadersAreOfNewestEpoch",
        nobody_leads_at_an_older_epoch,
        "in quiet states with a leader, no replica leads under an older leader epoch: a demoted leader was informed, also in "
        "a controlled shutdown",
        "KAFKA-7482",
        when=a_leader_is_quiet,
        each=PARTITION,
    ),
)
"""The invariants and step invariants."""

OLD_LEADERS_STOP = invariant(
    "OldLeadersStop",
    no_partition_is_led_at_an_older_epoch,
    "in quiet states no replica leads under an older leader epoch, not even while the partition has no leader",
    "Kafka 2.8 ReplicaManager.makeFollowers",
    when=is_quiet,
)
"""Stricter than Kafka up to 3.9, where a LeaderAndIsr without a leader changes nothing on a broker; not a property of `fixed`."""

RECOVERS = recoverable(
    "Recovers",
    is_recovered,
    "protocol steps alone can reach recovery: the leader is registered, or no replica can lead; every replica that is up has "
    "applied the newest leader epoch and fetches; the ISR is all of them; no replica leads under an older epoch; no reassignment "
    "runs whose target is up, and no broker that is up keeps a replica that it is not assigned",
    "KAFKA-3143; KAFKA-1188; KAFKA-1382; KAFKA-13972",
)
"""Goals that protocol steps must be able to reach from every state."""
