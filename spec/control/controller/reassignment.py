"""The guards and effects of the reassignment table, on the model's state; and how a reassignment continues within an event.

Source: Kafka 2.8 and 0.10 KafkaController.scala, onPartitionReassignment; Kafka 2.8 ReplicaAssignment.
"""

from __future__ import annotations

from kafka_spec.spec.control.controller.knowledge import (
    assigned_replicas,
    leadership_is_known,
    live_brokers,
)
from kafka_spec.spec.control.controller.partition_rows import no_newer_controller_wrote
from kafka_spec.spec.control.network import send_leader_and_isr_to_all, send_stop_replica_to_unassigned
from kafka_spec.spec.control.state import LOADING, ControllerStep, World
from kafka_spec.spec.control.zookeeper import write_state
from kafka_spec.spec.decisions import Reassignment
from kafka_spec.spec.domain import NO_BROKERS, NONE, BrokerSet, append, assign, contains, including, pop_first, truncate
from kafka_spec.spec.election import Strategy, elect_reassigned, members
from kafka_spec.spec.partition import PARTITION
from kafka_spec.spec.reassignment import (
    brokers_to_clean,
    leader_has_to_move,
    reassignment_is_complete,
    reassignment_may_end,
    remembered_after_bump,
    replicas_at_end,
    replicas_under_way,
)
from kafka_spec.spec.reassignment_steps import REASSIGNMENT, ReassignmentState
from kafka_spec.spec.replica import REPLICA, ReplicaState
from kafka_spec.spec.table import Constants, fire

# ---------------------------------------------------------------------------------------------------------------------
# What a controller knows


def target_replicas(s: World, controller: int) -> BrokerSet:
    """Return the target of the reassignment."""
    return members(s.controllers[controller].context.target)


def existing_replicas(s: World, k: Constants, controller: int) -> BrokerSet:
    """Return the brokers whose replicas exist in the controller's machine, whether assigned or not."""
    existing = NO_BROKERS
    for replica in range(k.brokers):
        if s.controllers[controller].replicas[replica] != ReplicaState.NON_EXISTENT:
            existing = including(existing, replica)
    return existing


def replicas_outside_assignment(s: World, k: Constants, controller: int) -> BrokerSet:
    """Return the replicas that exist and are not assigned any more: they are to be stopped and deleted."""
    return existing_replicas(s, k, controller) & ~assigned_replicas(s, controller)


def origin_replicas(s: World, controller: int) -> BrokerSet:
    """Return the replicas before the reassignment."""
    return assigned_replicas(s, controller) & ~s.controllers[controller].context.assignment.adding


def wanted_replicas(s: World, k: Constants, controller: int) -> BrokerSet:
    """Return all replicas while the reassignment to the target runs."""
    adding = s.controllers[controller].context.assignment.adding
    return replicas_under_way(origin_replicas(s, controller), adding, target_replicas(s, controller), k.replaced_reassignment)


# ---------------------------------------------------------------------------------------------------------------------
# Guards


def topic_znode_records_reassignments(k: Constants) -> bool:
    """The topic znode says which replicas are added and removed (2.4, KIP-455)."""
    return k.reassignment == Reassignment.KIP_455


def admin_znode_exists(s: World) -> bool:
    """The znode /admin/reassign_partitions exists."""
    return len(s.zookeeper.reassignment) > 0


def admin_znode_names_target(s: World, controller: int) -> bool:
    """The znode /admin/reassign_partitions holds the target of the reassignment that ends."""
    target = s.controllers[controller].context.target
    if len(target) != len(s.zookeeper.reassignment):
        return False
    for place in range(len(target)):
        if target[place] != s.zookeeper.reassignment[place]:
            return False
    return True


def assignment_begins_with_target(s: World, controller: int) -> bool:
    """The first replicas of the controller's assignment are those of the target, in its order."""
    context = s.controllers[controller].context
    if len(context.assignment.replicas) < len(context.target):
        return False
    for place in range(len(context.target)):
        if context.assignment.replicas[place] != context.target[place]:
            return False
    return True


def assignment_is_target(s: World, controller: int) -> bool:
    """The controller's assignment is the target."""
    context = s.controllers[controller].context
    return len(context.assignment.replicas) == len(context.target) and assignment_begins_with_target(s, controller)


def assignment_is_under_way(s: World, k: Constants, controller: int) -> bool:
    """The controller's assignment is that of a reassignment from its origin to this target."""
    assignment = s.controllers[controller].context.assignment
    target, wanted = target_replicas(s, controller), wanted_replicas(s, k, controller)
    if members(assignment.replicas) != wanted or assignment.adding != wanted & ~origin_replicas(s, controller):
        return False
    return assignment.removing == wanted & ~target and assignment_begins_with_target(s, controller)


def target_is_in_isr(s: World, controller: int) -> bool:
    """The state znode's ISR holds all of the target."""
    return reassignment_is_complete(target_replicas(s, controller), s.zookeeper.partition.isr)


def completion_may_go_on(s: World, k: Constants, controller: int) -> bool:
    """The target is still in the state znode's ISR and can lead, or the era does not check this again."""
    isr = s.zookeeper.partition.isr
    return reassignment_may_end(target_replicas(s, controller), isr, live_brokers(s, controller), k.lost_target)


def end_is_announced(s: World, k: Constants, controller: int) -> bool:
    """The target is all replicas before the others leave, and a leader that stays is told (0.8.1, KAFKA-1097)."""
    target = target_replicas(s, controller)
    return replicas_at_end(assigned_replicas(s, controller), target, k.end_of_reassignment) == target


def leader_has_to_move_to_target(s: World, controller: int) -> bool:
    """The cached leader is not of the target, or not live."""
    leader = s.controllers[controller].context.leadership.leader
    return leader_has_to_move(leader, target_replicas(s, controller), live_brokers(s, controller))


def leader_of_target_exists(s: World, controller: int) -> bool:
    """A live broker of the target is in the state znode's ISR."""
    target = s.controllers[controller].context.target
    leader, _, _ = elect_reassigned(target, live_brokers(s, controller), s.zookeeper.partition.isr)
    return leader != NONE


def reassignment_write_is_due(s: World, k: Constants, controller: int) -> bool:
    """The next step of the reassignment writes, unless the state znode's content refuses it."""
    state = s.controllers[controller].reassignment
    if state == ReassignmentState.EXTENDING:
        return no_newer_controller_wrote(s, controller)
    if state != ReassignmentState.MOVING_LEADER:
        return True
    if not completion_may_go_on(s, k, controller) or not no_newer_controller_wrote(s, controller):
        return False
    if leader_has_to_move_to_target(s, controller):
        return leader_of_target_exists(s, controller)
    return end_is_announced(s, k, controller)


# ---------------------------------------------------------------------------------------------------------------------
# Effects


def extend_assignment(s: World, k: Constants, controller: int) -> None:
    """Put the target in front of the other replicas, which keep their order (ReplicaAssignment.reassignTo)."""
    context = s.controllers[controller].context
    origin, target = origin_replicas(s, controller), target_replicas(s, controller)
    wanted = wanted_replicas(s, k, controller)
    replicas = context.assignment.replicas
    for _ in range(len(replicas)):
        replica = replicas[0]
        pop_first(replicas)
        if contains(wanted & ~target, replica) == 1:
            append(replicas, replica)
    others = len(replicas)
    for place in range(len(context.target)):
        append(replicas, context.target[place])
    for _ in range(others):
        replica = replicas[0]
        pop_first(replicas)
        append(replicas, replica)
    context.assignment.adding = wanted & ~origin
    context.assignment.removing = wanted & ~target


def write_assignment_under_way(s: World, k: Constants, controller: int) -> None:
    """Write all replicas, and which of them are added and removed, to the topic znode; the origin stays what it was."""
    extend_assignment(s, k, controller)
    assign(s.zookeeper.assignment, s.controllers[controller].context.assignment)


def write_enlarged_assignment(s: World, k: Constants, controller: int) -> None:
    """Write all replicas to the topic znode, which does not say which of them are new."""
    extend_assignment(s, k, controller)
    s.controllers[controller].context.assignment.removing = NO_BROKERS
    assign(s.zookeeper.assignment, s.controllers[controller].context.assignment)
    s.zookeeper.assignment.adding = NO_BROKERS


def write_next_leader_epoch(s: World, controller: int) -> None:
    """Write the next leader epoch with leader and ISR as they are (updateLeaderEpoch)."""
    write_state(s, controller, s.zookeeper.partition.leader, s.zookeeper.partition.isr)


def forget_bumped_epoch(s: World, k: Constants, controller: int) -> None:
    """Go back to the leader epoch and the version from before the write, in eras that do not cache what they wrote."""
    cached = s.controllers[controller].context.leadership
    cached.leader_epoch = remembered_after_bump(cached.leader_epoch, k.bumped_epoch)
    cached.version = remembered_after_bump(cached.version, k.bumped_epoch)


def send_leader_and_isr_to_assigned_replicas(s: World, k: Constants, controller: int) -> None:
    """Send LeaderAndIsr to all replicas, those of the origin and those that are added."""
    send_leader_and_isr_to_all(s, k, controller, assigned_replicas(s, controller))
    forget_bumped_epoch(s, k, controller)


def create_new_replicas(s: World, k: Constants, controller: int) -> None:
    """Create the added replicas in the replica machine; one that exists already is refused, which Kafka logs."""
    adding = s.controllers[controller].context.assignment.adding
    for replica in range(k.brokers):
        if contains(adding, replica) == 1:
            fire(s, k, REPLICA, (controller, replica), "new_replica")
    if k.reassignment == Reassignment.ENLARGED_ASSIGNMENT:
        s.controllers[controller].context.assignment.adding = NO_BROKERS


def put_new_replicas_online(s: World, k: Constants, controller: int) -> None:
    """Put the added replicas online; up to 2.3 all of the target, since nobody knows which were added."""
    replicas = s.controllers[controller].context.assignment.adding & target_replicas(s, controller)
    if k.reassignment == Reassignment.ENLARGED_ASSIGNMENT:
        replicas = target_replicas(s, controller)
    for replica in range(k.brokers):
        if contains(replicas, replica) == 1:
            fire(s, k, REPLICA, (controller, replica), "online_replica")


def adopt_target(s: World, controller: int) -> None:
    """Make the target the controller's assignment, in memory only: a leader that learns it adds no other replica to the ISR."""
    context = s.controllers[controller].context
    truncate(context.assignment.replicas, 0)
    for place in range(len(context.target)):
        append(context.assignment.replicas, context.target[place])
    context.assignment.adding = NO_BROKERS
    context.assignment.removing = NO_BROKERS


def announce_target(s: World, k: Constants, controller: int) -> None:
    """Make the target the controller's assignment before the other replicas leave, if the era does."""
    if end_is_announced(s, k, controller):
        adopt_target(s, controller)


def elect_leader_of_target(s: World, k: Constants, controller: int) -> None:
    """Elect a leader of the target; if none can be elected, the partition keeps the leader that it has."""
    s.controllers[controller].context.strategy = Strategy.REASSIGNMENT
    fire(s, k, PARTITION, (controller,), "online_partition")
    s.controllers[controller].context.strategy = Strategy.OFFLINE


def send_leader_and_isr_of_completion(s: World, k: Constants, controller: int) -> None:
    """Send LeaderAndIsr with the target as all replicas to the target; up to 2.3 to the replicas that leave too."""
    recipients = assigned_replicas(s, controller)
    if k.reassignment == Reassignment.ENLARGED_ASSIGNMENT:
        recipients = existing_replicas(s, k, controller)
    send_leader_and_isr_to_all(s, k, controller, recipients)
    forget_bumped_epoch(s, k, controller)


def delete_replicas_outside_assignment(s: World, k: Constants, controller: int) -> None:
    """Delete the replicas that are not assigned any more, without waiting for the answers of their brokers."""
    replicas = replicas_outside_assignment(s, k, controller)
    for replica in range(k.brokers):
        if contains(replicas, replica) == 1:
            fire(s, k, REPLICA, (controller, replica), "replica_deletion_started")
            fire(s, k, REPLICA, (controller, replica), "replica_deletion_successful")
            fire(s, k, REPLICA, (controller, replica), "non_existent_replica")


def write_target_assignment(s: World, controller: int) -> None:
    """Write the target to the topic znode as its only replicas."""
    assign(s.zookeeper.assignment, s.controllers[controller].context.assignment)


def delete_admin_reassignment(s: World) -> None:
    """Delete /admin/reassign_partitions, which names no other partition."""
    truncate(s.zookeeper.reassignment, 0)


def forget_target(s: World, controller: int) -> None:
    """Take the partition from those that are being reassigned."""
    truncate(s.controllers[controller].context.target, 0)


# ---------------------------------------------------------------------------------------------------------------------
# Within an event


def set_target_by_admin_znode(s: World, controller: int) -> None:
    """Take the target from /admin/reassign_partitions."""
    context = s.controllers[controller].context
    truncate(context.target, 0)
    for place in range(len(s.zookeeper.reassignment)):
        append(context.target, s.zookeeper.reassignment[place])


def read_reassignment(s: World, k: Constants, controller: int) -> None:
    """Read at a fail-over what runs: the topic znode's target (KIP-455), and whether the admin znode exists."""
    context = s.controllers[controller].context
    if context.assignment.adding | context.assignment.removing != 0:
        for place in range(len(context.assignment.replicas)):
            if contains(context.assignment.removing, context.assignment.replicas[place]) == 0:
                append(context.target, context.assignment.replicas[place])
    if len(context.target) > 0 or admin_znode_exists(s):
        context.reassignment_resumes = 1


def stop_unassigned_brokers(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Have those of the brokers that are not assigned delete the replica, which a former controller may have left with them.

    So it is also if the topic is queued for deletion: a deletion asks only the brokers that are assigned.
    """
    strangers = brokers_to_clean(brokers, assigned_replicas(s, controller), k.unassigned_brokers)
    for broker in range(k.brokers):
        if leadership_is_known(s, controller) and contains(strangers, broker) == 1:
            send_stop_replica_to_unassigned(s, controller, broker)


def resume_if_target_starts(s: World, controller: int, brokers: BrokerSet) -> None:
    """Resume a reassignment later in this event, if a broker of its target starts."""
    if s.controllers[controller].reassignment == ReassignmentState.WAITING and target_replicas(s, controller) & brokers != 0:
        s.controllers[controller].context.reassignment_resumes = 1


def reassignment_is_due(s: World, controller: int) -> bool:
    """The event has to resume the reassignment, or has taken offline the replicas that the next step deletes."""
    own = s.controllers[controller]
    if own.reassignment == ReassignmentState.DROPPING or own.reassignment == ReassignmentState.SHRINKING:
        return True
    return own.context.reassignment_resumes == 1


def continue_reassignment(s: World, k: Constants, controller: int) -> None:
    """Do a part of the reassignment that writes nothing to ZooKeeper: delete replicas, or resume."""
    own = s.controllers[controller]
    if own.reassignment == ReassignmentState.DROPPING:
        fire(s, k, REASSIGNMENT, (controller,), "drop")
    elif own.reassignment == ReassignmentState.SHRINKING:
        fire(s, k, REASSIGNMENT, (controller,), "shrink")
    else:
        own.context.reassignment_resumes = 0
        if own.life == LOADING and admin_znode_exists(s):
            set_target_by_admin_znode(s, controller)
        if len(own.context.target) > 0 and leadership_is_known(s, controller):
            fire(s, k, REASSIGNMENT, (controller,), "reassign")
    enter_reassignment_step(s, k, controller)


def enter_reassignment_step(s: World, k: Constants, controller: int) -> None:
    """Set the event's next step: the replicas to be taken offline, a write of the reassignment, or the rest of the event."""
    own = s.controllers[controller]
    own.step = ControllerStep.REASSIGN
    if own.reassignment == ReassignmentState.DROPPING:
        own.context.leaving = replicas_outside_assignment(s, k, controller)
        own.step = ControllerStep.REMOVE
    elif own.reassignment == ReassignmentState.SHRINKING:
        own.context.leaving = existing_replicas(s, k, controller) & ~target_replicas(s, controller)
        own.step = ControllerStep.REMOVE
    elif own.reassignment == ReassignmentState.NONE or own.reassignment == ReassignmentState.WAITING:
        own.step = ControllerStep.REMOVE
