"""Epochs and controllers in the control plane's safety properties: the predicates, over states and steps.

The module `properties` makes properties of them.
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.vocabulary.table import Constants
from kafka_spec.spec.zookeeper.broker.requests import a_request_arrives, what_is_over
from kafka_spec.spec.zookeeper.machines import ELECTING, STANDBY, Role
from kafka_spec.spec.zookeeper.properties.quiescence import there_is_an_isr
from kafka_spec.spec.zookeeper.state import Stale, World

# ---------------------------------------------------------------------------------------------------------------------
# Epochs


def two_believe_to_lead(s: World, k: Constants, partition: int) -> bool:
    """Two replicas lead at once."""
    leaders = 0
    for broker in range(k.brokers):
        if s.brokers[broker].replicas[partition].role == Role.LEADER:
            leaders += 1
    return leaders > 1


def one_leader_in_each_epoch(s: World, k: Constants, partition: int) -> bool:
    """No two brokers lead under the same leader epoch."""
    for one in range(k.brokers):
        for other in range(one):
            if s.brokers[one].replicas[partition].role == Role.LEADER and s.brokers[other].replicas[partition].role == Role.LEADER:
                if s.brokers[one].replicas[partition].leader_epoch == s.brokers[other].replicas[partition].leader_epoch:
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


def the_leader_changes(before: World, after: World, partition: int) -> bool:
    """The leader in ZooKeeper changes, or is removed; the state znode is not deleted."""
    return before.zookeeper.partitions[partition].state.leader != after.zookeeper.partitions[
        partition
    ].state.leader and there_is_an_isr(after, partition)


def the_leader_epoch_grows(before: World, after: World, partition: int) -> bool:
    """The leader epoch in ZooKeeper grows."""
    return before.zookeeper.partitions[partition].state.leader_epoch < after.zookeeper.partitions[partition].state.leader_epoch


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


def writer_is_the_newest_controller(before: World, after: World, partition: int) -> bool:
    """The partition state is written under the newest controller epoch."""
    return after.zookeeper.partitions[partition].state.controller_epoch == before.zookeeper.controller_epoch


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
