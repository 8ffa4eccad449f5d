"""The goals that an exploration must reach; otherwise its verdicts say little."""

from __future__ import annotations

from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.replica import ReplicaState
from kafka_spec.spec.vocabulary.table import Constants, Property, reachable
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH, PARTITION
from kafka_spec.spec.zookeeper.controller.steps import controller_is_fenced
from kafka_spec.spec.zookeeper.machines import ACTIVE, LOADING, Role
from kafka_spec.spec.zookeeper.properties.epochs import two_believe_to_lead
from kafka_spec.spec.zookeeper.properties.quiescence import is_quiet, topic_exists
from kafka_spec.spec.zookeeper.state import World


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


def a_partition_is_online(s: World, k: Constants, partition: int) -> bool:
    """Some controller has the partition as online."""
    return a_partition_is(s, k, PartitionState.ONLINE, partition)


def a_partition_is_offline(s: World, k: Constants, partition: int) -> bool:
    """Some controller has the partition as offline."""
    return a_partition_is(s, k, PartitionState.OFFLINE, partition)


def a_replica_is_new(s: World, k: Constants, partition: int) -> bool:
    """Some controller has a replica as new."""
    return a_replica_is(s, k, ReplicaState.NEW, partition)


def a_replica_is_online(s: World, k: Constants, partition: int) -> bool:
    """Some controller has a replica as online."""
    return a_replica_is(s, k, ReplicaState.ONLINE, partition)


def a_replica_is_offline(s: World, k: Constants, partition: int) -> bool:
    """Some controller has a replica as offline."""
    return a_replica_is(s, k, ReplicaState.OFFLINE, partition)


def a_dead_replica_is_seeded(s: World, k: Constants, partition: int) -> bool:
    """Some controller has seeded a dead replica as ineligible for deletion."""
    return a_replica_is(s, k, ReplicaState.DELETION_INELIGIBLE, partition)


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


def a_replica_follows(s: World, k: Constants, partition: int) -> bool:
    """Some broker's replica follows."""
    return a_role_is(s, k, Role.FOLLOWER, partition)


def a_second_leader_was_elected(s: World, partition: int) -> bool:
    """A leader was elected cleanly after the first."""
    state = s.zookeeper.partitions[partition].state
    return state.leader_epoch > 0 and state.leader != NONE and s.history.partitions[partition].unclean_epoch == NO_EPOCH


def an_election_was_unclean(s: World, partition: int) -> bool:
    """A leader was elected from outside the ISR."""
    return s.history.partitions[partition].unclean_epoch != NO_EPOCH


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
    reachable("PartitionNew", a_partition_is_new, "a partition is new", "goal", each=PARTITION),
    reachable("PartitionOnline", a_partition_is_online, "a partition is online", "goal", each=PARTITION),
    reachable("PartitionOffline", a_partition_is_offline, "a partition is offline", "goal", each=PARTITION),
    reachable("ReplicaNew", a_replica_is_new, "a replica is new", "goal", each=PARTITION),
    reachable("ReplicaOnline", a_replica_is_online, "a replica is online", "goal", each=PARTITION),
    reachable("ReplicaOffline", a_replica_is_offline, "a replica is offline", "goal", each=PARTITION),
    reachable("DeadReplicaSeeded", a_dead_replica_is_seeded, "a fail-over seeds a dead replica", "goal", each=PARTITION),
    reachable("ControllerLoading", a_controller_is_loading, "a controller is in its fail-over", "goal"),
    reachable("ControllerActive", a_controller_is_active, "a controller handles events", "goal"),
    reachable("ReplicaLeads", a_replica_leads, "a replica leads", "goal", each=PARTITION),
    reachable("ReplicaFollows", a_replica_follows, "a replica follows", "goal", each=PARTITION),
    reachable("CleanElection", a_second_leader_was_elected, "a second leader is elected from the ISR", "goal", each=PARTITION),
    reachable("UncleanElection", an_election_was_unclean, "a leader is elected from outside the ISR", "goal", each=PARTITION),
    reachable("ZombieFenced", a_zombie_is_fenced, "a controller with an outdated epoch is about to write, and is refused", "goal"),
    reachable("BounceNoticed", a_bounce_is_noticed, "a controller handles a bounce", "goal"),
    reachable("QuietAgain", all_is_quiet_after_a_fail_over, "the state is quiet again under another controller", "goal"),
    reachable("TwoControllers", two_believe_to_control, "two brokers believe that they are the controller", "goal"),
    reachable(
        "TwoLeaders", two_believe_to_lead, "two replicas believe that they lead, under different epochs", "goal", each=PARTITION
    ),
)
"""Goals that an exploration must reach; otherwise its verdicts say little."""
