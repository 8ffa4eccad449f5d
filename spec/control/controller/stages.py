"""How an event continues from one ZooKeeper operation to the next, and how it ends.

The rest of an event is data: `step` and the sets in `context`. Other actors can act between two steps.

Source: Kafka 2.8 KafkaController.scala.
"""

from __future__ import annotations

from kafka_spec.spec.control.controller.deletion import (
    ask_to_delete,
    consider_deletion,
    deletion_has_begun,
    fail_deletion,
    resume_deletion,
)
from kafka_spec.spec.control.controller.knowledge import (
    assigned_replicas,
    cached_leader_is_lost,
    leadership_is_known,
    topic_is_queued_for_deletion,
)
from kafka_spec.spec.control.controller.reassignment import (
    continue_reassignment,
    reassignment_is_due,
    resume_if_target_starts,
    stop_unassigned_brokers,
)
from kafka_spec.spec.control.network import send_deletion_mark, send_update_metadata
from kafka_spec.spec.control.order import Stage
from kafka_spec.spec.control.state import CONTROLLER, LOADING, ControllerStep, Resuming, World
from kafka_spec.spec.decisions import DeletionThread
from kafka_spec.spec.domain import NO_BROKERS, BrokerSet, contains
from kafka_spec.spec.election import Strategy, election_is_due
from kafka_spec.spec.partition import PARTITION, PartitionState
from kafka_spec.spec.replica import REPLICA
from kafka_spec.spec.table import Constants, fire


def an_election_is_due(s: World, controller: int) -> bool:
    """The partition is new or offline, or an election was requested; and the topic is not to be deleted."""
    own = s.controllers[controller]
    return not topic_is_queued_for_deletion(s, controller) and election_is_due(own.partition, own.context.strategy)


def go_on(s: World, k: Constants, controller: int) -> None:
    """Continue to the event's next ZooKeeper operation, passing stages that need none, or end the event.

    A bounced broker is first failed and then started, and dead brokers are failed after that. Each of these stages has an election
    and removals, which may have nothing to do; a reassignment may be resumed after a start, or continue after removals; the
    deletion of the topic is considered after each.
    """
    for _ in range(12):
        if s.controllers[controller].step == ControllerStep.ELECT and not an_election_is_due(s, controller):
            end_election(s, k, controller)
        if s.controllers[controller].step == ControllerStep.REMOVE and s.controllers[controller].context.leaving == 0:
            begin_next_stage(s, k, controller)


def end_election(s: World, k: Constants, controller: int) -> None:
    """Continue after an election; the replicas of a partition that was just created go online."""
    s.controllers[controller].context.strategy = Strategy.OFFLINE
    s.controllers[controller].step = ControllerStep.REMOVE
    if s.controllers[controller].context.creating == 1:
        s.controllers[controller].context.creating = 0
        put_replicas_online(s, k, controller, assigned_replicas(s, controller))


def stage_is_left(s: World, k: Constants, controller: int, stage: int) -> bool:
    """A stage is due that does not begin with an access to ZooKeeper."""
    own = s.controllers[controller]
    if stage == Stage.START_PARTITION_MACHINE:
        if own.life != LOADING or own.partition != PartitionState.NON_EXISTENT or deletion_has_begun(s, controller):
            return False
        return len(own.context.assignment.replicas) > 0
    if stage == Stage.REASSIGN:
        return reassignment_is_due(s, controller)
    if stage == Stage.ASK_TO_DELETE:
        return own.context.deleting != 0
    if stage == Stage.CONSIDER_DELETION:
        return own.context.resuming == Resuming.START or (
            own.context.resuming == Resuming.CONSIDER and k.deletion_thread == DeletionThread.NONE
        )
    if stage == Stage.BE_ACTIVE:
        return own.life == LOADING
    if stage == Stage.FAIL_BOUNCED:
        return own.context.bounced != 0
    if stage == Stage.START_BOUNCED:
        return own.context.rejoining != 0
    return stage == Stage.FAIL_DEAD and own.context.failed != 0


def first_stage_left(s: World, k: Constants, controller: int) -> int:
    """Return the first remaining stage, or IDLE at the end of the event."""
    for stage in range(Stage.START_PARTITION_MACHINE, Stage.FAIL_DEAD + 1):
        if stage_is_left(s, k, controller, stage):
            return stage
    return ControllerStep.IDLE


def begin_next_stage(s: World, k: Constants, controller: int) -> None:
    """Begin the first remaining stage, or end the event."""
    own = s.controllers[controller]
    stage = first_stage_left(s, k, controller)
    if stage == Stage.START_PARTITION_MACHINE:
        fire(s, k, PARTITION, (controller,), "startup")
        own.step = ControllerStep.ELECT
    elif stage == Stage.REASSIGN:
        continue_reassignment(s, k, controller)
    elif stage == Stage.ASK_TO_DELETE:
        ask_to_delete(s, k, controller)
    elif stage == Stage.CONSIDER_DELETION:
        consider_deletion(s, k, controller)
    elif stage == Stage.BE_ACTIVE:
        fire(s, k, CONTROLLER, (controller,), "failover")
        own.step = ControllerStep.IDLE
    elif stage == Stage.FAIL_BOUNCED:
        own.context.rejoining = own.context.bounced
        own.context.bounced = NO_BROKERS
        fail_brokers(s, k, controller, own.context.rejoining)
    elif stage == Stage.START_BOUNCED:
        rejoining = own.context.rejoining
        own.context.rejoining = NO_BROKERS
        start_brokers(s, k, controller, rejoining)
    elif stage == Stage.FAIL_DEAD:
        failed = own.context.failed
        own.context.failed = NO_BROKERS
        fail_brokers(s, k, controller, failed)
    else:
        own.step = ControllerStep.IDLE


def put_replicas_online(s: World, k: Constants, controller: int, replicas: BrokerSet) -> None:
    """Fire the transition to online for each replica; a LeaderAndIsr of a topic to be deleted goes with the mark to all brokers."""
    told = 0
    for replica in range(k.brokers):
        if contains(replicas, replica) == 1:
            if fire(s, k, REPLICA, (controller, replica), "online_replica"):
                told = 1
    if told == 1 and topic_is_queued_for_deletion(s, controller):
        send_deletion_mark(s, k, controller, s.controllers[controller].context.live)


def start_brokers(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Process brokers as started: send UpdateMetadata to all, put their replicas online, then try to elect (onBrokerStartup)."""
    context = s.controllers[controller].context
    context.live = context.live | brokers
    if topic_is_queued_for_deletion(s, controller) and leadership_is_known(s, controller):
        send_update_metadata(s, k, controller, context.live & ~brokers)
        send_deletion_mark(s, k, controller, brokers)
    else:
        send_update_metadata(s, k, controller, context.live)
    put_replicas_online(s, k, controller, brokers & assigned_replicas(s, controller))
    stop_unassigned_brokers(s, k, controller, brokers)
    resume_if_target_starts(s, controller, brokers)
    resume_deletion(s, k, controller, brokers)
    s.controllers[controller].step = ControllerStep.ELECT


def fail_brokers(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Process brokers as failed: their partition goes offline, try to elect, their replicas go offline (onBrokerFailure)."""
    context = s.controllers[controller].context
    context.live = context.live & ~brokers
    context.stopping = context.stopping & ~brokers
    send_update_metadata(s, k, controller, context.live)
    lost = brokers & assigned_replicas(s, controller)
    if topic_is_queued_for_deletion(s, controller):
        fail_deletion(s, k, controller, lost)
        lost = NO_BROKERS
    elif leadership_is_known(s, controller) and cached_leader_is_lost(s, k, controller):
        fire(s, k, PARTITION, (controller,), "offline_partition")
    s.controllers[controller].context.leaving = lost
    s.controllers[controller].step = ControllerStep.ELECT
