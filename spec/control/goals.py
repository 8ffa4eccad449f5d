"""The goals that an exploration must reach; otherwise its verdicts say little."""

from __future__ import annotations

from kafka_spec.spec.control.bounds import NO_EPOCH
from kafka_spec.spec.control.controller.steps import controller_is_fenced
from kafka_spec.spec.control.epoch_properties import two_believe_to_lead_somewhere
from kafka_spec.spec.control.machines import ACTIVE, LOADING, Role
from kafka_spec.spec.control.quiet import is_quiet, topic_exists
from kafka_spec.spec.control.state import World
from kafka_spec.spec.domain import NONE
from kafka_spec.spec.partition import PartitionState
from kafka_spec.spec.replica import ReplicaState
from kafka_spec.spec.table import Constants, Property, reachable


def a_partition_is(s: World, k: Constants, state: int, partition: int) -> bool:
    """Some controller has the partition in this state."""
    for controller in range(k.brokers):
        if s.controllers[controller].partitions[partition].state == state:
            return True
    return False


def a_replica_is(s: World, k: Constants, state: int, partition: int) -> bool:
    """Some controller has some replica in this state."""
    for controller in range(k.brokers):
        for replica in range(k.brokers):
            if s.controllers[controller].partitions[partition].replicas[replica] == state:
                return True
    return False


def a_controller_is(s: World, k: Constants, state: int) -> bool:
    """Some broker's controller is in this state."""
    for controller in range(k.brokers):
        if s.controllers[controller].life == state:
            return True
    return False


def a_partition_is_new(s: World, k: Constants, partition: int) -> bool:
    """Some controller has the partition as new."""
    return a_partition_is(s, k, PartitionState.NEW, partition)


def a_partition_is_new_somewhere(s: World, k: Constants) -> bool:
    """In some partition: some controller has the partition as new."""
    for partition in range(k.partitions):
        if a_partition_is_new(s, k, partition):
            return True
    return False


def a_partition_is_online(s: World, k: Constants, partition: int) -> bool:
    """Some controller has the partition as online."""
    return a_partition_is(s, k, PartitionState.ONLINE, partition)


def a_partition_is_online_somewhere(s: World, k: Constants) -> bool:
    """In some partition: some controller has the partition as online."""
    for partition in range(k.partitions):
        if a_partition_is_online(s, k, partition):
            return True
    return False


def a_partition_is_offline(s: World, k: Constants, partition: int) -> bool:
    """Some controller has the partition as offline."""
    return a_partition_is(s, k, PartitionState.OFFLINE, partition)


def a_partition_is_offline_somewhere(s: World, k: Constants) -> bool:
    """In some partition: some controller has the partition as offline."""
    for partition in range(k.partitions):
        if a_partition_is_offline(s, k, partition):
            return True
    return False


def a_replica_is_new(s: World, k: Constants, partition: int) -> bool:
    """Some controller has a replica as new."""
    return a_replica_is(s, k, ReplicaState.NEW, partition)


def a_replica_is_new_somewhere(s: World, k: Constants) -> bool:
    """In some partition: some controller has a replica as new."""
    for partition in range(k.partitions):
        if a_replica_is_new(s, k, partition):
            return True
    return False


def a_replica_is_online(s: World, k: Constants, partition: int) -> bool:
    """Some controller has a replica as online."""
    return a_replica_is(s, k, ReplicaState.ONLINE, partition)


def a_replica_is_online_somewhere(s: World, k: Constants) -> bool:
    """In some partition: some controller has a replica as online."""
    for partition in range(k.partitions):
        if a_replica_is_online(s, k, partition):
            return True
    return False


def a_replica_is_offline(s: World, k: Constants, partition: int) -> bool:
    """Some controller has a replica as offline."""
    return a_replica_is(s, k, ReplicaState.OFFLINE, partition)


def a_replica_is_offline_somewhere(s: World, k: Constants) -> bool:
    """In some partition: some controller has a replica as offline."""
    for partition in range(k.partitions):
        if a_replica_is_offline(s, k, partition):
            return True
    return False


def a_dead_replica_is_seeded(s: World, k: Constants, partition: int) -> bool:
    """Some controller has seeded a dead replica as ineligible for deletion."""
    return a_replica_is(s, k, ReplicaState.DELETION_INELIGIBLE, partition)


def a_dead_replica_is_seeded_somewhere(s: World, k: Constants) -> bool:
    """In some partition: some controller has seeded a dead replica as ineligible for deletion."""
    for partition in range(k.partitions):
        if a_dead_replica_is_seeded(s, k, partition):
            return True
    return False


def a_controller_is_loading(s: World, k: Constants) -> bool:
    """Some controller is in its fail-over."""
    return a_controller_is(s, k, LOADING)


def a_controller_is_active(s: World, k: Constants) -> bool:
    """Some controller handles events."""
    return a_controller_is(s, k, ACTIVE)


def a_role_is(s: World, k: Constants, role: int, partition: int) -> bool:
    """Some broker's replica has this role."""
    for broker in range(k.brokers):
        if s.brokers[broker].replicas[partition].role == role:
            return True
    return False


def a_replica_leads(s: World, k: Constants, partition: int) -> bool:
    """Some broker's replica leads."""
    return a_role_is(s, k, Role.LEADER, partition)


def a_replica_leads_somewhere(s: World, k: Constants) -> bool:
    """In some partition: some broker's replica leads."""
    for partition in range(k.partitions):
        if a_replica_leads(s, k, partition):
            return True
    return False


def a_replica_follows(s: World, k: Constants, partition: int) -> bool:
    """Some broker's replica follows."""
    return a_role_is(s, k, Role.FOLLOWER, partition)


def a_replica_follows_somewhere(s: World, k: Constants) -> bool:
    """In some partition: some broker's replica follows."""
    for partition in range(k.partitions):
        if a_replica_follows(s, k, partition):
            return True
    return False


def a_second_leader_was_elected(s: World, partition: int) -> bool:
    """A leader was elected cleanly after the first."""
    state = s.zookeeper.partitions[partition].state
    return state.leader_epoch > 0 and state.leader != NONE and s.notes.partitions[partition].unclean_epoch == NO_EPOCH


def a_second_leader_was_elected_somewhere(s: World, k: Constants) -> bool:
    """In some partition: a leader was elected cleanly after the first."""
    for partition in range(k.partitions):
        if a_second_leader_was_elected(s, partition):
            return True
    return False


def an_election_was_unclean(s: World, partition: int) -> bool:
    """A leader was elected from outside the ISR."""
    return s.notes.partitions[partition].unclean_epoch != NO_EPOCH


def an_election_was_unclean_somewhere(s: World, k: Constants) -> bool:
    """In some partition: a leader was elected from outside the ISR."""
    for partition in range(k.partitions):
        if an_election_was_unclean(s, partition):
            return True
    return False


def a_zombie_is_fenced(s: World, k: Constants) -> bool:
    """Some controller is about to write under an outdated epoch."""
    for controller in range(k.brokers):
        if controller_is_fenced(s, k, controller):
            return True
    return False


def a_bounce_is_noticed(s: World, k: Constants) -> bool:
    """Some controller handles a bounced broker."""
    for controller in range(k.brokers):
        if s.controllers[controller].context.rejoining != 0:
            return True
    return False


def all_is_quiet_after_a_fail_over(s: World, k: Constants) -> bool:
    """The state is quiet again under a second controller."""
    return s.zookeeper.controller_epoch > 1 and topic_exists(s) and is_quiet(s, k)


def two_believe_to_control(s: World, k: Constants) -> bool:
    """Two controllers are active at once."""
    active = 0
    for controller in range(k.brokers):
        if s.controllers[controller].life == ACTIVE:
            active += 1
    return active > 1


GOALS: tuple[Property, ...] = (
    reachable("PartitionNew", a_partition_is_new_somewhere, "a partition is new", "goal"),
    reachable("PartitionOnline", a_partition_is_online_somewhere, "a partition is online", "goal"),
    reachable("PartitionOffline", a_partition_is_offline_somewhere, "a partition is offline", "goal"),
    reachable("ReplicaNew", a_replica_is_new_somewhere, "a replica is new", "goal"),
    reachable("ReplicaOnline", a_replica_is_online_somewhere, "a replica is online", "goal"),
    reachable("ReplicaOffline", a_replica_is_offline_somewhere, "a replica is offline", "goal"),
    reachable("DeadReplicaSeeded", a_dead_replica_is_seeded_somewhere, "a fail-over seeds a dead replica", "goal"),
    reachable("ControllerLoading", a_controller_is_loading, "a controller is in its fail-over", "goal"),
    reachable("ControllerActive", a_controller_is_active, "a controller handles events", "goal"),
    reachable("ReplicaLeads", a_replica_leads_somewhere, "a replica leads", "goal"),
    reachable("ReplicaFollows", a_replica_follows_somewhere, "a replica follows", "goal"),
    reachable("CleanElection", a_second_leader_was_elected_somewhere, "a second leader is elected from the ISR", "goal"),
    reachable("UncleanElection", an_election_was_unclean_somewhere, "a leader is elected from outside the ISR", "goal"),
    reachable("ZombieFenced", a_zombie_is_fenced, "a controller with an outdated epoch is about to write, and is refused", "goal"),
    reachable("BounceNoticed", a_bounce_is_noticed, "a controller handles a bounce", "goal"),
    reachable("QuietAgain", all_is_quiet_after_a_fail_over, "the state is quiet again under another controller", "goal"),
    reachable("TwoControllers", two_believe_to_control, "two brokers believe that they are the controller", "goal"),
    reachable("TwoLeaders", two_believe_to_lead_somewhere, "two replicas believe that they lead, under different epochs", "goal"),
)
"""Goals that an exploration must reach; otherwise its verdicts say little."""
