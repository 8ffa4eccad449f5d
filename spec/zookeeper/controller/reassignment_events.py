"""Reassignments: the requests of operators, the notifications, and the steps that write to ZooKeeper.

Source: Kafka 2.8 KafkaController.processAlterPartitionReassignments, processZkPartitionReassignment,
processPartitionReassignmentIsrChange; Kafka 0.10 PartitionsReassignedListener, ReassignedPartitionsIsrChangeListener.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker, BrokerOrNone, PartitionIndex
from kafka_spec.spec.language.domain import NONE, Flag, append, contains, singleton, truncate
from kafka_spec.spec.machines.reassignment import REASSIGNMENT, ReassignmentState
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire
from kafka_spec.spec.zookeeper.bounds import BROKERS, PARTITIONS, REASSIGNMENTS
from kafka_spec.spec.zookeeper.controller.broker_changes import zookeeper_can_be_read
from kafka_spec.spec.zookeeper.controller.knowledge import (
    ANY_CONTROLLED_PARTITION,
    ANY_CONTROLLER,
    KAFKA,
    assigned_replicas,
    is_handling_no_event,
    leadership_is_known,
    live_brokers,
    topic_is_queued_for_deletion,
)
from kafka_spec.spec.zookeeper.controller.reassignment_rows import (
    admin_znode_exists,
    completion_may_go_on,
    delete_admin_reassignment,
    enter_reassignment_step,
    origin_replicas,
    reassignment_is_refused,
    set_target_by_admin_znode,
    target_is_reached,
    topic_znode_records_reassignments,
)
from kafka_spec.spec.zookeeper.controller.stages import go_on
from kafka_spec.spec.zookeeper.controller.steps import controller_is_not_fenced
from kafka_spec.spec.zookeeper.state import ControllerStep, World
from kafka_spec.spec.zookeeper.znodes import fence_holds


class SecondOfTarget(BrokerOrNone):
    """The second broker of a target, or none."""

    def show(self, value: int) -> str:
        """Print a value."""
        return "nobody else" if value == NONE else super().show(value)


class OthersMove(Flag):
    """Whether the other partitions of a plan move to the same target."""

    def show(self, value: int) -> str:
        """Print a value."""
        return "move there too" if value else "stay where they are"


A_TARGET = {"first": Broker(BROKERS), "second": SecondOfTarget(BROKERS)}
"""A target of one or two brokers; the first is preferred."""

# ---------------------------------------------------------------------------------------------------------------------
# Operators


def target_has_no_duplicate(first: int, second: int) -> bool:
    """The two brokers of the target differ."""
    return first != second


def topic_has_a_leader_epoch(s: World, partition: int) -> bool:
    """The partition was created and has had a leader."""
    return s.zookeeper.partitions[partition].state.leader_epoch >= 0


def no_reassignment_is_in_admin_znode(s: World, k: Constants) -> bool:
    """The znode /admin/reassign_partitions does not exist: otherwise the tool refuses."""
    for partition in range(k.partitions):
        if admin_znode_exists(s, partition):
            return False
    return True


def write_admin_reassignment(s: World, first: int, second: int, partition: int) -> None:
    """Create /admin/reassign_partitions with the target."""
    target = s.zookeeper.partitions[partition].reassignment
    append(target, first)
    if second != NONE:
        append(target, second)


WRITE_REASSIGNMENT = Rule(
    "WriteReassignment",
    actor="operator",
    kind="operator",
    params={"partition": PartitionIndex(PARTITIONS), **A_TARGET},
    guards=(no_reassignment_is_in_admin_znode, topic_has_a_leader_epoch, target_has_no_duplicate),
    at_most=REASSIGNMENTS,
    effects=(write_admin_reassignment,),
    summary="an operator writes a reassignment to {first} and {second} to /admin/reassign_partitions",
    reference="Kafka 0.10 and 2.8 ReassignPartitionsCommand with --zookeeper",
)


def all_have_a_leader_epoch(s: World, k: Constants) -> bool:
    """There are several partitions, and each was created and has had a leader."""
    for partition in range(k.partitions):
        if not topic_has_a_leader_epoch(s, partition):
            return False
    return k.partitions > 1


def one_plan_for_all(partition: int, others_move: int) -> bool:
    """The others stay where they are; or all go to one target, which is one plan whichever partition it begins with."""
    return others_move == 0 or partition == 0


def write_admin_reassignments(s: World, k: Constants, first: int, second: int, partition: int, others_move: int) -> None:
    """Create /admin/reassign_partitions with a target for each partition; those that stay are named with their replicas."""
    for other in range(k.partitions):
        if other == partition or others_move == 1:
            write_admin_reassignment(s, first, second, other)
        else:
            znodes = s.zookeeper.partitions[other]
            for place in range(len(znodes.assignment.replicas)):
                append(znodes.reassignment, znodes.assignment.replicas[place])


WRITE_REASSIGNMENTS = Rule(
    "WriteReassignments",
    actor="operator",
    kind="operator",
    params={"partition": PartitionIndex(PARTITIONS), **A_TARGET, "others_move": OthersMove()},
    guards=(no_reassignment_is_in_admin_znode, all_have_a_leader_epoch, target_has_no_duplicate, one_plan_for_all),
    at_most=REASSIGNMENTS,
    effects=(write_admin_reassignments,),
    summary="an operator writes a plan for all partitions to /admin/reassign_partitions: partition {partition} moves to {first} "
    "and {second}, the others {others_move}",
    reference="Kafka 0.10 and 2.8 ReassignPartitionsCommand with --zookeeper: a plan names all partitions of its topics",
)


def era_has_reassignment_api(k: Constants) -> bool:
    """Controllers answer AlterPartitionReassignments (2.4)."""
    return topic_znode_records_reassignments(k)


def partition_can_be_reassigned(s: World, controller: int, partition: int) -> bool:
    """The controller is idle and knows the partition, and its topic is not queued for deletion."""
    if not is_handling_no_event(s, controller) or topic_is_queued_for_deletion(s, controller):
        return False
    return leadership_is_known(s, controller, partition)


def added_brokers_are_live(s: World, controller: int, first: int, second: int, partition: int) -> bool:
    """The brokers of the target that are not replicas yet are live: otherwise the request is refused."""
    wanted = singleton(first)
    if second != NONE:
        wanted = wanted | singleton(second)
    return wanted & ~assigned_replicas(s, controller, partition) & ~live_brokers(s, controller) == 0


def begin_reassignment(s: World, k: Constants, controller: int, partition: int) -> None:
    """Begin the reassignment that the API asks for, in place of one that runs."""
    fire(s, k, REASSIGNMENT, (controller, partition), "reassign_by_api")
    enter_reassignment_step(s, k, controller, partition)
    go_on(s, k, controller)


def set_target(s: World, controller: int, first: int, second: int, partition: int) -> None:
    """Set the target of the request."""
    target = s.controllers[controller].context.partitions[partition].target
    truncate(target, 0)
    append(target, first)
    if second != NONE:
        append(target, second)


REASSIGN = Rule(
    "Reassign",
    actor="operator",
    kind="operator",
    params={**ANY_CONTROLLED_PARTITION, **A_TARGET},
    guards=(era_has_reassignment_api, partition_can_be_reassigned, target_has_no_duplicate, added_brokers_are_live),
    at_most=REASSIGNMENTS,
    effects=(set_target, begin_reassignment),
    summary="an operator asks the controller on {controller} to reassign the partition to {first} and {second}",
    reference=f"{KAFKA}.processAlterPartitionReassignments (KIP-455)",
)


def a_reassignment_runs(s: World, controller: int, partition: int) -> bool:
    """The partition is being reassigned."""
    return s.controllers[controller].partitions[partition].reassignment == ReassignmentState.WAITING


def set_target_to_origin(s: World, controller: int, partition: int) -> None:
    """Make the replicas from before the reassignment its target."""
    known = s.controllers[controller].context.partitions[partition]
    origin = origin_replicas(s, controller, partition)
    truncate(known.target, 0)
    for place in range(len(known.assignment.replicas)):
        if contains(origin, known.assignment.replicas[place]) == 1:
            append(known.target, known.assignment.replicas[place])


CANCEL_REASSIGNMENT = Rule(
    "CancelReassignment",
    actor="operator",
    kind="operator",
    params=ANY_CONTROLLED_PARTITION,
    guards=(era_has_reassignment_api, partition_can_be_reassigned, a_reassignment_runs),
    at_most=REASSIGNMENTS,
    effects=(set_target_to_origin, begin_reassignment),
    summary="an operator asks the controller on {controller} to cancel the reassignment",
    reference=f"{KAFKA}.processAlterPartitionReassignments: no target (KIP-455)",
)

# ---------------------------------------------------------------------------------------------------------------------
# Notifications


def admin_znode_is_news(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The znode /admin/reassign_partitions names the partition, unread by this controller; up to 2.3, one that runs stays."""
    if not admin_znode_exists(s, partition):
        return False
    if topic_znode_records_reassignments(k):
        return s.controllers[controller].context.partitions[partition].planned == 0
    return s.controllers[controller].partitions[partition].reassignment == ReassignmentState.NONE


def is_to_be_begun(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The znode /admin/reassign_partitions has news for this controller, and the partition can be reassigned."""
    return admin_znode_is_news(s, k, controller, partition) and partition_can_be_reassigned(s, controller, partition)


def one_is_to_be_begun(s: World, k: Constants, controller: int) -> bool:
    """The znode /admin/reassign_partitions has news about a partition that can be reassigned."""
    for partition in range(k.partitions):
        if is_to_be_begun(s, k, controller, partition):
            return True
    return False


def begin_reassignments_of_znode(s: World, k: Constants, controller: int) -> None:
    """Begin the reassignments that the znode names, one after the other; since 2.4 also what runs: in its place, or again."""
    for partition in range(k.partitions):
        if is_to_be_begun(s, k, controller, partition):
            set_target_by_admin_znode(s, k, controller, partition)
            s.controllers[controller].context.partitions[partition].reassignment_resumes = 1
    s.controllers[controller].step = ControllerStep.REMOVE
    go_on(s, k, controller)


NOTICE_REASSIGNMENT = Rule(
    "NoticeReassignment",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(zookeeper_can_be_read, one_is_to_be_begun),
    effects=(begin_reassignments_of_znode,),
    summary="the controller on {controller} reads /admin/reassign_partitions, and begins what it names",
    reference=f"{KAFKA}.processZkPartitionReassignment",
)


def admin_znode_is_refused(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The znode /admin/reassign_partitions names a partition that this controller does not reassign, and may delete it."""
    if not admin_znode_exists(s, partition) or not fence_holds(s, k, controller):
        return False
    return reassignment_is_refused(s, controller, partition)


REFUSE_REASSIGNMENT = Rule(
    "RefuseReassignment",
    actor="controller on {controller}",
    params=ANY_CONTROLLED_PARTITION,
    guards=(is_handling_no_event, zookeeper_can_be_read, admin_znode_is_refused),
    effects=(delete_admin_reassignment,),
    summary="the controller on {controller} refuses a reassignment of a partition that it does not know or that is to be deleted: "
    "it deletes /admin/reassign_partitions",
    reference=f"{KAFKA}.processZkPartitionReassignment: UNKNOWN_TOPIC_OR_PARTITION; 0.10: PartitionsReassignedListener",
)


def begin_completion(s: World, k: Constants, controller: int, partition: int) -> None:
    """Begin the end of the reassignment."""
    fire(s, k, REASSIGNMENT, (controller, partition), "complete")
    enter_reassignment_step(s, k, controller, partition)
    go_on(s, k, controller)


NOTICE_CAUGHT_UP = Rule(
    "NoticeCaughtUp",
    actor="controller on {controller}",
    params=ANY_CONTROLLED_PARTITION,
    guards=(is_handling_no_event, zookeeper_can_be_read, a_reassignment_runs, target_is_reached, completion_may_go_on),
    effects=(begin_completion,),
    summary="the controller on {controller} is notified that the ISR has changed, and finds that it holds the target",
    reference=f"{KAFKA}.processPartitionReassignmentIsrChange",
)

# ---------------------------------------------------------------------------------------------------------------------
# Steps


def step_is(s: World, controller: int, state: int) -> bool:
    """The controller's next step is this one of the reassignment."""
    own = s.controllers[controller]
    return own.step == ControllerStep.REASSIGN and own.partitions[own.context.turn].reassignment == state


def step_is_to_supplant(s: World, controller: int) -> bool:
    """The next step deletes the znode whose reassignment is replaced."""
    return step_is(s, controller, ReassignmentState.SUPPLANTING)


def step_is_to_record(s: World, controller: int) -> bool:
    """The next step writes all replicas to the topic znode."""
    return step_is(s, controller, ReassignmentState.RECORDING)


def step_is_to_extend(s: World, controller: int) -> bool:
    """The next step writes the leader epoch under which all replicas are known."""
    return step_is(s, controller, ReassignmentState.EXTENDING)


def step_is_to_move_leader(s: World, controller: int) -> bool:
    """The next step writes the leader epoch under which the target is all replicas."""
    return step_is(s, controller, ReassignmentState.MOVING_LEADER)


def step_is_to_finish(s: World, controller: int) -> bool:
    """The next step writes the target to the topic znode."""
    return step_is(s, controller, ReassignmentState.FINISHING)


def step_is_to_clear(s: World, controller: int) -> bool:
    """The next step deletes /admin/reassign_partitions."""
    return step_is(s, controller, ReassignmentState.CLEARING)


def supplant(s: World, k: Constants, controller: int) -> None:
    """Fire the step."""
    fire(s, k, REASSIGNMENT, (controller, s.controllers[controller].context.turn), "supplant")


def record(s: World, k: Constants, controller: int) -> None:
    """Fire the step."""
    fire(s, k, REASSIGNMENT, (controller, s.controllers[controller].context.turn), "record")


def extend(s: World, k: Constants, controller: int) -> None:
    """Fire the step."""
    fire(s, k, REASSIGNMENT, (controller, s.controllers[controller].context.turn), "extend")


def move_leader(s: World, k: Constants, controller: int) -> None:
    """Fire the step."""
    fire(s, k, REASSIGNMENT, (controller, s.controllers[controller].context.turn), "move_leader")


def finish(s: World, k: Constants, controller: int) -> None:
    """Fire the step."""
    fire(s, k, REASSIGNMENT, (controller, s.controllers[controller].context.turn), "finish")


def clear(s: World, k: Constants, controller: int) -> None:
    """Fire the step."""
    fire(s, k, REASSIGNMENT, (controller, s.controllers[controller].context.turn), "clear")


def continue_event(s: World, k: Constants, controller: int) -> None:
    """Continue with the step that the table names, or with the rest of the event."""
    enter_reassignment_step(s, k, controller, s.controllers[controller].context.turn)
    go_on(s, k, controller)


SUPPLANT_REASSIGNMENT = Rule(
    "SupplantReassignment",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_to_supplant, controller_is_not_fenced),
    effects=(supplant, continue_event),
    summary="the controller on {controller} deletes /admin/reassign_partitions, since the API asks for another target",
    reference=f"{KAFKA}.maybeRemoveFromZkReassignment",
)

RECORD_REASSIGNMENT = Rule(
    "RecordReassignment",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_to_record, controller_is_not_fenced),
    effects=(record, continue_event),
    summary="the controller on {controller} writes the replicas of origin and target to the topic znode",
    reference=f"{KAFKA}.updateCurrentReassignment; 0.10: updateAssignedReplicasForPartition",
)

EXTEND_REPLICAS = Rule(
    "ExtendReplicas",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_to_extend, controller_is_not_fenced),
    effects=(extend, continue_event),
    summary="the controller on {controller} writes the next leader epoch, and sends it to the old and the new replicas",
    reference=f"{KAFKA}.updateLeaderEpochAndSendRequest, startNewReplicasForReassignedPartition",
)

MOVE_LEADER = Rule(
    "MoveLeader",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_to_move_leader, controller_is_not_fenced),
    effects=(move_leader, continue_event),
    summary="the controller on {controller} writes a leader epoch under which the target leads, and sends the target as all "
    "replicas",
    reference=f"{KAFKA}.moveReassignedPartitionLeaderIfRequired",
)

FINISH_REASSIGNMENT = Rule(
    "FinishReassignment",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_to_finish, controller_is_not_fenced),
    effects=(finish, continue_event),
    summary="the controller on {controller} writes the target to the topic znode",
    reference=f"{KAFKA}.onPartitionReassignment: step B6; 0.10: step 10",
)

CLEAR_REASSIGNMENT = Rule(
    "ClearReassignment",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(step_is_to_clear, controller_is_not_fenced),
    effects=(clear, continue_event),
    summary="the controller on {controller} deletes /admin/reassign_partitions",
    reference=f"{KAFKA}.removePartitionFromReassigningPartitions; 0.10: step 11",
)

RULES = (
    WRITE_REASSIGNMENT,
    WRITE_REASSIGNMENTS,
    REASSIGN,
    CANCEL_REASSIGNMENT,
    NOTICE_REASSIGNMENT,
    NOTICE_CAUGHT_UP,
    REFUSE_REASSIGNMENT,
    SUPPLANT_REASSIGNMENT,
    RECORD_REASSIGNMENT,
    EXTEND_REPLICAS,
    MOVE_LEADER,
    FINISH_REASSIGNMENT,
    CLEAR_REASSIGNMENT,
)
"""The rules of reassignment."""
