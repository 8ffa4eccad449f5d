"""The guards and effects of the reassignment table, on the model's state; and how a reassignment continues within an event.

Source: Kafka 2.8 and 0.10 KafkaController.scala, onPartitionReassignment; Kafka 2.8 ReplicaAssignment.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import Strategy, elect_reassigned, members
from kafka_spec.spec.decisions.reassignment import (
    brokers_to_clean,
    changes_nothing,
    leader_has_to_move,
    other_leaves_plan,
    plan_ends,
    plan_is_withdrawn,
    reassignment_may_end,
    remembered_after_bump,
    replicas_at_end,
    replicas_under_way,
    target_is_in_isr,
)
from kafka_spec.spec.decisions.variants import Reassignment
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, append, assign, contains, including, pop_first, truncate
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.reassignment import REASSIGNMENT, ReassignmentState
from kafka_spec.spec.machines.replica import REPLICA, ReplicaState
from kafka_spec.spec.vocabulary.table import Constants, fire
from kafka_spec.spec.zookeeper.controller.knowledge import (
    assigned_replicas,
    leadership_is_known,
    live_brokers,
    topic_is_queued_for_deletion,
)
from kafka_spec.spec.zookeeper.controller.partition_rows import no_newer_controller_wrote
from kafka_spec.spec.zookeeper.machines import LOADING
from kafka_spec.spec.zookeeper.network import send_leader_and_isr_to_all, send_stop_replica_to_unassigned
from kafka_spec.spec.zookeeper.state import ControllerStep, World
from kafka_spec.spec.zookeeper.znodes import write_state

# ---------------------------------------------------------------------------------------------------------------------
# What a controller knows


def target_replicas(s: World, controller: int, partition: int) -> BrokerSet:
    """Return the target of the reassignment."""
    return members(s.controllers[controller].context.partitions[partition].target)


def existing_replicas(s: World, k: Constants, controller: int, partition: int) -> BrokerSet:
    """Return the brokers whose replicas exist in the controller's machine, whether assigned or not."""
    existing = NO_BROKERS
    for replica in range(k.brokers):
        if s.controllers[controller].partitions[partition].replicas[replica] != ReplicaState.NON_EXISTENT:
            existing = including(existing, replica)
    return existing


def replicas_outside_assignment(s: World, k: Constants, controller: int, partition: int) -> BrokerSet:
    """Return the replicas that exist and are not assigned any more: they are to be stopped and deleted."""
    return existing_replicas(s, k, controller, partition) & ~assigned_replicas(s, controller, partition)


def origin_replicas(s: World, controller: int, partition: int) -> BrokerSet:
    """Return the replicas before the reassignment."""
    return assigned_replicas(s, controller, partition) & ~s.controllers[controller].context.partitions[partition].assignment.adding


def wanted_replicas(s: World, k: Constants, controller: int, partition: int) -> BrokerSet:
    """Return all replicas while the reassignment to the target runs."""
    adding = s.controllers[controller].context.partitions[partition].assignment.adding
    return replicas_under_way(
        origin_replicas(s, controller, partition), adding, target_replicas(s, controller, partition), k.replaced_reassignment
    )


# ---------------------------------------------------------------------------------------------------------------------
# Guards


def topic_znode_records_reassignments(k: Constants) -> bool:
    """The topic znode says which replicas are added and removed (2.4, KIP-455)."""
    return k.reassignment == Reassignment.KIP_455


def admin_znode_exists(s: World, partition: int) -> bool:
    """The znode /admin/reassign_partitions names the partition."""
    return len(s.zookeeper.partitions[partition].reassignment) > 0


def admin_znode_names_target(s: World, controller: int, partition: int) -> bool:
    """The znode /admin/reassign_partitions holds the target of the reassignment."""
    znodes = s.zookeeper.partitions[partition]
    target = s.controllers[controller].context.partitions[partition].target
    if len(target) != len(znodes.reassignment):
        return False
    for place in range(len(target)):
        if target[place] != znodes.reassignment[place]:
            return False
    return True


def plan_gives_way(s: World, k: Constants, partition: int) -> bool:
    """The znode /admin/reassign_partitions names the partition, and is changed before the API's request begins."""
    return plan_is_withdrawn(1 if admin_znode_exists(s, partition) else 0, k.older_plans)


def plan_ends_with_reassignment(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The znode /admin/reassign_partitions holds the target of the reassignment that ends, or one that is older."""
    names_target = 1 if admin_znode_names_target(s, controller, partition) else 0
    return plan_ends(1 if admin_znode_exists(s, partition) else 0, names_target, k.older_plans)


def assignment_begins_with_target(s: World, controller: int, partition: int) -> bool:
    """The first replicas of the controller's assignment are those of the target, in its order."""
    known = s.controllers[controller].context.partitions[partition]
    if len(known.assignment.replicas) < len(known.target):
        return False
    for place in range(len(known.target)):
        if known.assignment.replicas[place] != known.target[place]:
            return False
    return True


def assignment_is_target(s: World, controller: int, partition: int) -> bool:
    """The controller's assignment is the target."""
    known = s.controllers[controller].context.partitions[partition]
    return len(known.assignment.replicas) == len(known.target) and assignment_begins_with_target(s, controller, partition)


def assignment_is_under_way(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The controller's assignment is that of a reassignment from its origin to this target."""
    assignment = s.controllers[controller].context.partitions[partition].assignment
    target, wanted = target_replicas(s, controller, partition), wanted_replicas(s, k, controller, partition)
    if members(assignment.replicas) != wanted or assignment.adding != wanted & ~origin_replicas(s, controller, partition):
        return False
    return assignment.removing == wanted & ~target and assignment_begins_with_target(s, controller, partition)


def no_replica_changes(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The reassignment adds and removes no replica, so that it ends at once (since 2.4)."""
    adding = s.controllers[controller].context.partitions[partition].assignment.adding
    target = target_replicas(s, controller, partition)
    return changes_nothing(assigned_replicas(s, controller, partition), adding, target, k.reassignment)


def target_is_reached(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The state znode's ISR holds all of the target; since 2.4 also if no replica is added or removed."""
    isr = s.zookeeper.partitions[partition].state.isr
    return target_is_in_isr(target_replicas(s, controller, partition), isr) or no_replica_changes(s, k, controller, partition)


def completion_may_go_on(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The target is still in the state znode's ISR and can lead, or no replica leaves, or the era does not check this again."""
    isr = s.zookeeper.partitions[partition].state.isr
    if no_replica_changes(s, k, controller, partition):
        return True
    return reassignment_may_end(target_replicas(s, controller, partition), isr, live_brokers(s, controller), k.lost_target)


def end_is_announced(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The target is all replicas before the others leave, and a leader that stays is informed (0.8.1, KAFKA-1097)."""
    target = target_replicas(s, controller, partition)
    return replicas_at_end(assigned_replicas(s, controller, partition), target, k.end_of_reassignment) == target


def leader_has_to_move_to_target(s: World, controller: int, partition: int) -> bool:
    """The cached leader is not of the target, or not live."""
    leader = s.controllers[controller].context.partitions[partition].leadership.leader
    return leader_has_to_move(leader, target_replicas(s, controller, partition), live_brokers(s, controller))


def leader_of_target_exists(s: World, controller: int, partition: int) -> bool:
    """A live broker of the target is in the state znode's ISR."""
    target = s.controllers[controller].context.partitions[partition].target
    leader, _, _ = elect_reassigned(target, live_brokers(s, controller), s.zookeeper.partitions[partition].state.isr)
    return leader != NONE


def reassignment_write_is_due(s: World, k: Constants, controller: int) -> bool:
    """The next step of the reassignment writes, unless the state znode's content refuses it."""
    partition = s.controllers[controller].context.turn
    state = s.controllers[controller].partitions[partition].reassignment
    if state == ReassignmentState.EXTENDING:
        return no_newer_controller_wrote(s, controller, partition)
    if state != ReassignmentState.MOVING_LEADER:
        return True
    if not completion_may_go_on(s, k, controller, partition) or not no_newer_controller_wrote(s, controller, partition):
        return False
    if leader_has_to_move_to_target(s, controller, partition):
        return leader_of_target_exists(s, controller, partition)
    return end_is_announced(s, k, controller, partition)


# ---------------------------------------------------------------------------------------------------------------------
# Effects


def extend_assignment(s: World, k: Constants, controller: int, partition: int) -> None:
    """Put the target in front of the other replicas, which keep their order (ReplicaAssignment.reassignTo)."""
    known = s.controllers[controller].context.partitions[partition]
    origin, target = origin_replicas(s, controller, partition), target_replicas(s, controller, partition)
    wanted = wanted_replicas(s, k, controller, partition)
    replicas = known.assignment.replicas
    for _ in range(len(replicas)):
        replica = replicas[0]
        pop_first(replicas)
        if contains(wanted & ~target, replica) == 1:
            append(replicas, replica)
    others = len(replicas)
    for place in range(len(known.target)):
        append(replicas, known.target[place])
    for _ in range(others):
        replica = replicas[0]
        pop_first(replicas)
        append(replicas, replica)
    known.assignment.adding = wanted & ~origin
    known.assignment.removing = wanted & ~target


def write_assignment_under_way(s: World, k: Constants, controller: int, partition: int) -> None:
    """Write all replicas, and which of them are added and removed, to the topic znode; the origin stays what it was."""
    extend_assignment(s, k, controller, partition)
    assign(s.zookeeper.partitions[partition].assignment, s.controllers[controller].context.partitions[partition].assignment)


def write_enlarged_assignment(s: World, k: Constants, controller: int, partition: int) -> None:
    """Write all replicas to the topic znode, which does not say which of them are new."""
    known = s.controllers[controller].context.partitions[partition]
    znodes = s.zookeeper.partitions[partition]
    extend_assignment(s, k, controller, partition)
    known.assignment.removing = NO_BROKERS
    assign(znodes.assignment, known.assignment)
    znodes.assignment.adding = NO_BROKERS


def write_next_leader_epoch(s: World, controller: int, partition: int) -> None:
    """Write the next leader epoch with leader and ISR as they are (updateLeaderEpoch)."""
    state = s.zookeeper.partitions[partition].state
    write_state(s, controller, state.leader, state.isr, partition)


def forget_bumped_epoch(s: World, k: Constants, controller: int, partition: int) -> None:
    """Go back to the leader epoch and the version from before the write, in eras that do not cache what they wrote."""
    cached = s.controllers[controller].context.partitions[partition].leadership
    cached.leader_epoch = remembered_after_bump(cached.leader_epoch, k.bumped_epoch)
    cached.version = remembered_after_bump(cached.version, k.bumped_epoch)


def send_leader_and_isr_to_assigned_replicas(s: World, k: Constants, controller: int, partition: int) -> None:
    """Send LeaderAndIsr to all replicas, those of the origin and those that are added."""
    send_leader_and_isr_to_all(s, k, controller, assigned_replicas(s, controller, partition), partition)
    forget_bumped_epoch(s, k, controller, partition)


def create_new_replicas(s: World, k: Constants, controller: int, partition: int) -> None:
    """Create the added replicas in the replica machine; one that exists already is refused, which Kafka logs."""
    known = s.controllers[controller].context.partitions[partition]
    adding = known.assignment.adding
    for replica in range(k.brokers):
        if contains(adding, replica) == 1:
            fire(s, k, REPLICA, (controller, partition, replica), "new_replica")
    if k.reassignment == Reassignment.ENLARGED_ASSIGNMENT:
        known.assignment.adding = NO_BROKERS


def put_new_replicas_online(s: World, k: Constants, controller: int, partition: int) -> None:
    """Put the added replicas online; up to 2.3 all of the target, since nobody knows which were added."""
    replicas = s.controllers[controller].context.partitions[partition].assignment.adding & target_replicas(s, controller, partition)
    if k.reassignment == Reassignment.ENLARGED_ASSIGNMENT:
        replicas = target_replicas(s, controller, partition)
    for replica in range(k.brokers):
        if contains(replicas, replica) == 1:
            fire(s, k, REPLICA, (controller, partition, replica), "online_replica")


def adopt_target(s: World, controller: int, partition: int) -> None:
    """Make the target the controller's assignment, in memory only: a leader that learns it adds no other replica to the ISR."""
    known = s.controllers[controller].context.partitions[partition]
    truncate(known.assignment.replicas, 0)
    for place in range(len(known.target)):
        append(known.assignment.replicas, known.target[place])
    known.assignment.adding = NO_BROKERS
    known.assignment.removing = NO_BROKERS


def announce_target(s: World, k: Constants, controller: int, partition: int) -> None:
    """Make the target the controller's assignment before the other replicas leave, if the era does."""
    if end_is_announced(s, k, controller, partition):
        adopt_target(s, controller, partition)


def elect_leader_of_target(s: World, k: Constants, controller: int, partition: int) -> None:
    """Elect a leader of the target; if none can be elected, the partition keeps the leader that it has."""
    known = s.controllers[controller].context.partitions[partition]
    known.strategy = Strategy.REASSIGNMENT
    fire(s, k, PARTITION, (controller, partition), "online_partition")
    known.strategy = Strategy.OFFLINE


def send_leader_and_isr_of_completion(s: World, k: Constants, controller: int, partition: int) -> None:
    """Send LeaderAndIsr with the target as all replicas to the target; up to 2.3 to the replicas that leave too."""
    recipients = assigned_replicas(s, controller, partition)
    if k.reassignment == Reassignment.ENLARGED_ASSIGNMENT:
        recipients = existing_replicas(s, k, controller, partition)
    send_leader_and_isr_to_all(s, k, controller, recipients, partition)
    forget_bumped_epoch(s, k, controller, partition)


def delete_replicas_outside_assignment(s: World, k: Constants, controller: int, partition: int) -> None:
    """Delete the replicas that are not assigned any more, without waiting for the answers of their brokers."""
    replicas = replicas_outside_assignment(s, k, controller, partition)
    for replica in range(k.brokers):
        if contains(replicas, replica) == 1:
            fire(s, k, REPLICA, (controller, partition, replica), "replica_deletion_started")
            fire(s, k, REPLICA, (controller, partition, replica), "replica_deletion_successful")
            fire(s, k, REPLICA, (controller, partition, replica), "non_existent_replica")


def write_target_assignment(s: World, controller: int, partition: int) -> None:
    """Write the target to the topic znode as its only replicas."""
    assign(s.zookeeper.partitions[partition].assignment, s.controllers[controller].context.partitions[partition].assignment)


def delete_admin_reassignment(s: World, k: Constants, controller: int, partition: int) -> None:
    """Take the partition out of /admin/reassign_partitions, which is deleted if it names no other."""
    for other in range(k.partitions):
        is_begun = 0 if s.controllers[controller].partitions[other].reassignment == ReassignmentState.NONE else 1
        if other == partition or other_leaves_plan(is_begun, k.removed_from_znode):
            truncate(s.zookeeper.partitions[other].reassignment, 0)
            s.controllers[controller].context.partitions[other].planned = 0


def forget_target(s: World, controller: int, partition: int) -> None:
    """Take the partition from those that are being reassigned."""
    truncate(s.controllers[controller].context.partitions[partition].target, 0)


# ---------------------------------------------------------------------------------------------------------------------
# Within an event


def reassignment_is_refused(s: World, controller: int, partition: int) -> bool:
    """The controller knows no such partition, or its topic is queued for deletion."""
    return assigned_replicas(s, controller, partition) == 0 or topic_is_queued_for_deletion(s, controller)


def set_target_by_admin_znode(s: World, k: Constants, controller: int, partition: int) -> None:
    """Take the target from /admin/reassign_partitions."""
    znodes = s.zookeeper.partitions[partition]
    known = s.controllers[controller].context.partitions[partition]
    truncate(known.target, 0)
    for place in range(len(znodes.reassignment)):
        append(known.target, znodes.reassignment[place])
    known.planned = 1 if topic_znode_records_reassignments(k) else 0


def read_reassignment(s: World, k: Constants, controller: int, partition: int) -> None:
    """Read at a fail-over what runs: the topic znode's target (KIP-455), and whether the admin znode exists."""
    known = s.controllers[controller].context.partitions[partition]
    if known.assignment.adding | known.assignment.removing != 0:
        for place in range(len(known.assignment.replicas)):
            if contains(known.assignment.removing, known.assignment.replicas[place]) == 0:
                append(known.target, known.assignment.replicas[place])
    if len(known.target) > 0 or admin_znode_exists(s, partition):
        known.reassignment_resumes = 1


def stop_unassigned_brokers(s: World, k: Constants, controller: int, brokers: BrokerSet, partition: int) -> None:
    """Have those of the brokers that are not assigned delete the replica, which a former controller may have left with them.

    So it is also if the topic is queued for deletion: a deletion asks only the brokers that are assigned.
    """
    strangers = brokers_to_clean(brokers, assigned_replicas(s, controller, partition), k.unassigned_brokers)
    for broker in range(k.brokers):
        if leadership_is_known(s, controller, partition) and contains(strangers, broker) == 1:
            send_stop_replica_to_unassigned(s, controller, broker, partition)


def resume_if_target_starts(s: World, controller: int, brokers: BrokerSet, partition: int) -> None:
    """Resume a reassignment later in this event, if a broker of its target starts."""
    if (
        s.controllers[controller].partitions[partition].reassignment == ReassignmentState.WAITING
        and target_replicas(s, controller, partition) & brokers != 0
    ):
        s.controllers[controller].context.partitions[partition].reassignment_resumes = 1


def reassignment_is_due(s: World, controller: int, partition: int) -> bool:
    """The event has to resume the reassignment, or has taken offline the replicas that the next step deletes."""
    own = s.controllers[controller]
    machines = own.partitions[partition]
    if machines.reassignment == ReassignmentState.DROPPING or machines.reassignment == ReassignmentState.SHRINKING:
        return True
    return own.context.partitions[partition].reassignment_resumes == 1


def set_targets_at_failover(s: World, k: Constants, controller: int) -> None:
    """Take the targets of all partitions that are to be resumed from /admin/reassign_partitions, where it names them."""
    for partition in range(k.partitions):
        if s.controllers[controller].context.partitions[partition].reassignment_resumes == 1:
            if admin_znode_exists(s, partition) and not reassignment_is_refused(s, controller, partition):
                set_target_by_admin_znode(s, k, controller, partition)


def continue_reassignment(s: World, k: Constants, controller: int, partition: int) -> None:
    """Do a part of the reassignment that writes nothing to ZooKeeper: delete replicas, or resume."""
    own = s.controllers[controller]
    known = own.context.partitions[partition]
    machines = own.partitions[partition]
    if machines.reassignment == ReassignmentState.DROPPING:
        fire(s, k, REASSIGNMENT, (controller, partition), "drop")
    elif machines.reassignment == ReassignmentState.SHRINKING:
        fire(s, k, REASSIGNMENT, (controller, partition), "shrink")
    else:
        if own.life == LOADING:
            set_targets_at_failover(s, k, controller)
        known.reassignment_resumes = 0
        if len(known.target) > 0 and leadership_is_known(s, controller, partition):
            fire(s, k, REASSIGNMENT, (controller, partition), "reassign")
    enter_reassignment_step(s, k, controller, partition)


def enter_reassignment_step(s: World, k: Constants, controller: int, partition: int) -> None:
    """Set the event's next step: the replicas to be taken offline, a write of the reassignment, or the rest of the event."""
    own = s.controllers[controller]
    known = own.context.partitions[partition]
    machines = own.partitions[partition]
    own.step = ControllerStep.REASSIGN
    own.context.turn = partition
    if machines.reassignment == ReassignmentState.DROPPING:
        known.leaving = replicas_outside_assignment(s, k, controller, partition)
        own.step = ControllerStep.REMOVE
    elif machines.reassignment == ReassignmentState.SHRINKING:
        known.leaving = existing_replicas(s, k, controller, partition) & ~target_replicas(s, controller, partition)
        own.step = ControllerStep.REMOVE
    elif machines.reassignment == ReassignmentState.NONE or machines.reassignment == ReassignmentState.WAITING:
        own.step = ControllerStep.REMOVE
    if own.step == ControllerStep.REMOVE:
        own.context.turn = 0
