"""Quiet states, in which no message, notification or step of the protocol is left; and what must be true in them."""

from __future__ import annotations

from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.language.domain import NONE, contains
from kafka_spec.spec.vocabulary.table import Constants
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.controller.broker_changes import brokers_have_changed
from kafka_spec.spec.zookeeper.controller.deletion_events import a_deletion_is_asked_for, deletion_thread_is_awake
from kafka_spec.spec.zookeeper.controller.knowledge import leadership_is_known
from kafka_spec.spec.zookeeper.controller.reassignment_events import (
    a_reassignment_runs,
    admin_znode_is_news,
    admin_znode_is_refused,
)
from kafka_spec.spec.zookeeper.controller.reassignment_rows import completion_may_go_on, target_is_reached
from kafka_spec.spec.zookeeper.controller.topics import (
    a_partition_is_added,
    a_topic_is_new,
    added_partitions_are_taken,
    isr_has_changed,
    partitions_are_refused,
)
from kafka_spec.spec.zookeeper.machines import ACTIVE, STANDBY, Role
from kafka_spec.spec.zookeeper.messages import Answer
from kafka_spec.spec.zookeeper.state import ControllerStep, Life, World


def a_reassignment_is_due(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The controller has a reassignment to begin or to end."""
    if admin_znode_is_news(s, k, controller, partition) and leadership_is_known(s, controller, partition):
        return True
    if admin_znode_is_refused(s, k, controller, partition):
        return True
    if not a_reassignment_runs(s, controller, partition) or not target_is_reached(s, k, controller, partition):
        return False
    return completion_may_go_on(s, k, controller, partition)


def nothing_waits(s: World, k: Constants) -> bool:
    """No request waits in any channel, and no answer."""
    for controller in range(k.brokers):
        for broker in range(k.brokers):
            channel = s.controllers[controller].channels[broker]
            if len(channel.requests) > 0:
                return False
            for partition in range(k.partitions):
                if channel.answers[partition] != Answer.NONE:
                    return False
    return True


def only_the_holder_controls(s: World, k: Constants) -> bool:
    """Only the holder of /controller acts as a controller, and every running broker has a session."""
    for broker in range(k.brokers):
        if s.controllers[broker].life != STANDBY and s.zookeeper.controller != broker:
            return False
        if s.brokers[broker].life != Life.DOWN and s.brokers[broker].has_session == 0:
            return False
    return True


def is_quiet(s: World, k: Constants) -> bool:
    """The controller is idle with no event pending, no request is on its way, and no other broker acts as a controller."""
    holder = s.zookeeper.controller
    if holder == NONE or s.controllers[holder].life != ACTIVE or s.controllers[holder].step != ControllerStep.IDLE:
        return False
    if brokers_have_changed(s, k, holder) or a_topic_is_new(s, holder):
        return False
    if a_deletion_is_asked_for(s, k, holder) or deletion_thread_is_awake(s, k, holder):
        return False
    if a_partition_is_added(s, k, holder) and (added_partitions_are_taken(s, holder) or partitions_are_refused(s, k, holder)):
        return False
    for partition in range(k.partitions):
        if isr_has_changed(s, holder, partition) or a_reassignment_is_due(s, k, holder, partition):
            return False
    return only_the_holder_controls(s, k) and nothing_waits(s, k)


def settled_members(s: World, k: Constants, partition: int) -> int:
    """Return the assigned brokers that are registered and not shutting down."""
    brokers = 0
    registered = s.zookeeper.registered & members(s.zookeeper.partitions[partition].assignment.replicas)
    for broker in range(k.brokers):
        if s.brokers[broker].life == Life.UP and contains(registered, broker) == 1:
            brokers = brokers | (1 << broker)
    return brokers


def all_replicas_are_up(s: World, k: Constants) -> bool:
    """Each assigned broker of each partition is registered and not shutting down."""
    for partition in range(k.partitions):
        if settled_members(s, k, partition) != members(s.zookeeper.partitions[partition].assignment.replicas):
            return False
    return True


def leader_is_registered_or_none_can_be(s: World, k: Constants, partition: int) -> bool:
    """The leader in ZooKeeper is registered; or there is no leader, and no member of the ISR is up."""
    state = s.zookeeper.partitions[partition].state
    if state.leader_epoch == NO_EPOCH:
        return settled_members(s, k, partition) == 0
    if state.leader == NONE:
        return state.isr & settled_members(s, k, partition) == 0
    return contains(s.zookeeper.registered, state.leader) == 1


def replicas_know_the_epoch(s: World, k: Constants, partition: int) -> bool:
    """Every assigned replica that is up has applied the leader epoch, and follows the leader or leads."""
    state = s.zookeeper.partitions[partition].state
    for broker in range(k.brokers):
        if contains(settled_members(s, k, partition), broker) == 1:
            replica = s.brokers[broker].replicas[partition]
            if replica.leader_epoch != state.leader_epoch or replica.leader != state.leader:
                return False
            if (replica.role == Role.LEADER) != (state.leader == broker) or (broker != state.leader and replica.fetching == 0):
                return False
    return True


def nobody_leads_at_an_older_epoch(s: World, k: Constants, partition: int) -> bool:
    """No running broker believes that it leads under an older leader epoch."""
    for broker in range(k.brokers):
        if s.brokers[broker].replicas[partition].role == Role.LEADER:
            if s.brokers[broker].replicas[partition].leader_epoch < s.zookeeper.partitions[partition].state.leader_epoch:
                return False
    return True


def there_is_an_isr(s: World, partition: int) -> bool:
    """The state znode of the partition was written."""
    return s.zookeeper.partitions[partition].state.leader_epoch != NO_EPOCH


def leader_is_up(s: World, partition: int) -> bool:
    """There is a leader, and it is up."""
    leader = s.zookeeper.partitions[partition].state.leader
    return leader != NONE and s.brokers[leader].life == Life.UP


def there_is_a_leader(s: World, partition: int) -> bool:
    """There is a leader in ZooKeeper."""
    return s.zookeeper.partitions[partition].state.leader != NONE


def topic_exists(s: World) -> bool:
    """The topic was created."""
    return len(s.zookeeper.partitions[0].assignment.replicas) > 0


def topic_stays(s: World) -> bool:
    """The topic exists, and nobody wants it deleted."""
    return topic_exists(s) and s.zookeeper.delete_topic == 0


def a_topic_is_quiet(s: World, k: Constants) -> bool:
    """The topic exists and stays, and the state is quiet."""
    return topic_stays(s) and is_quiet(s, k)


def a_leader_is_quiet(s: World, k: Constants, partition: int) -> bool:
    """There is a leader of a topic that stays, and the state is quiet."""
    return there_is_a_leader(s, partition) and topic_stays(s) and is_quiet(s, k)


def a_deletion_waits(s: World) -> bool:
    """The topic is to be deleted, or was not deleted completely."""
    return s.zookeeper.delete_topic == 1


def replicas_are_gone(s: World, k: Constants) -> bool:
    """No broker that runs hosts the partition or lists the topic, and no broker holds a record of it."""
    for broker in range(k.brokers):
        node = s.brokers[broker]
        if node.lists_topic == 1:
            return False
        for partition in range(k.partitions):
            if node.replicas[partition].role != Role.NONE or len(node.replicas[partition].log) > 0:
                return False
    return True


def nobody_runs(s: World, k: Constants) -> bool:
    """No broker runs, so no protocol step is possible."""
    for broker in range(k.brokers):
        if s.brokers[broker].life != Life.DOWN:
            return False
    return True
