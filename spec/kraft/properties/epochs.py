"""The properties of KRaft about epochs: of leaders, of the partition, of processes.

The sources' names in capitals are those of properties.py.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.kraft.machines import LEADER, NO_ROLE
from kafka_spec.spec.kraft.state import UNKNOWN, KRaft, ProcessLife
from kafka_spec.spec.vocabulary.table import Constants, Property, invariant, step_invariant


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
    """The broker's process continues, and so does its replica of the same topic."""
    old, new = before.brokers[broker], after.brokers[broker]
    if old.epoch != new.epoch or old.replica.topic_id != new.replica.topic_id:
        return False
    return old.replica.role != NO_ROLE and new.replica.role != NO_ROLE


def an_epoch_changes(before: KRaft, after: KRaft, k: Constants) -> bool:
    """A leader epoch or a partition epoch changes, at the controller or on a replica that continues."""
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
    """Leader epoch and partition epoch never decrease, at the controller and on a replica that continues."""
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


EPOCHS: tuple[Property, ...] = (
    invariant(
        "OneLeaderInEachEpoch",
        one_leader_in_each_epoch,
        "at most one replica leads the partition under one leader epoch",
        "Kafka 3.9 PartitionRegistration.merge",
        when=two_believe_to_lead,
    ),
    step_invariant(
        "EpochsNeverGoBack",
        epochs_never_go_back,
        "leader epoch and partition epoch never decrease, in the metadata and on a running broker",
        "Kafka 3.9 PartitionRegistration.merge",
        when=an_epoch_changes,
    ),
    step_invariant(
        "ChangesHaveTheirEpochs",
        partition_epoch_grows,
        "each change of the partition comes with a larger partition epoch, a change of the leader with a larger leader epoch too",
        "Kafka 3.9 PartitionRegistration.merge",
        when=the_partition_changes,
    ),
    step_invariant(
        "OneEpochForEachProcess",
        only_another_process_gets_another_epoch,
        "a broker epoch belongs to one process, and a process keeps it",
        "Kafka 3.9 ClusterControlManager.registerBroker; KAFKA-16952",
        when=a_registration_changes,
    ),
)
"""The properties of epochs."""
