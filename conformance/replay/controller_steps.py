"""Steps of controllers. A step ends before the controller next reads the state znode, or with the event."""

from __future__ import annotations

from kafka_spec.conformance.replay.agenda import is_due
from kafka_spec.conformance.replay.core import NotEnabled, Steps
from kafka_spec.conformance.replay.ensemble import ModelSession
from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.conformance.replay.request_mapping import PARTITION, PARTITIONS
from kafka_spec.conformance.replay.steps import controller_on, running, target_of
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.broker_changes import BrokerChange
from kafka_spec.impl.zookeeper.controller.controlled_shutdown import ControlledShutdown
from kafka_spec.impl.zookeeper.controller.controller import KafkaController
from kafka_spec.impl.zookeeper.controller.controller_election import ControllerChange, ControllerEpochChange
from kafka_spec.impl.zookeeper.controller.core import ControllerEvent
from kafka_spec.impl.zookeeper.controller.deletion import ReplicasDeleted, RunDeletionThread, TopicDeletion
from kafka_spec.impl.zookeeper.controller.preferred_election import AutoRebalance, PreferredElection, UncleanElection
from kafka_spec.impl.zookeeper.controller.reassignment import (
    AlterPartitionReassignments,
    PartitionIsrChange,
    ReassignmentZnodeChange,
)
from kafka_spec.impl.zookeeper.controller.topic_changes import IsrChangeNotification, PartitionModifications, TopicChange
from kafka_spec.impl.zookeeper.coordination import znodes

STEPS = Steps()


def go_on(controller: KafkaController) -> None:
    """Step a controller until it is about to read the state znode, or the event ends."""
    while controller.agenda and not is_due(controller.agenda[0]):
        controller.step()


def hear(controller: KafkaController, event: ControllerEvent) -> None:
    """Put an event first in a controller's queue, and begin it."""
    if event in controller.events:
        controller.events.remove(event)
    controller.events.appendleft(event)
    controller.step()


def handle(controller: KafkaController, event: ControllerEvent) -> None:
    """Let a controller handle an event, until it is about to read the state znode."""
    if controller.agenda:
        raise NotEnabled(f"controller {controller.controller_id} is handling another event")
    hear(controller, event)
    go_on(controller)


@STEPS.of("ElectController", "CreateControllerZnode")
def stand_for_election(projection: Projection, controller: int) -> None:
    """Notice that there is no controller."""
    hear(controller_on(projection, controller), ControllerChange())


@STEPS.of("IncrementControllerEpoch")
def take_one_task(projection: Projection, controller: int) -> None:
    """Do one task."""
    controller_on(projection, controller).step()


@STEPS.of("TakeOver")
def take_over(projection: Projection, controller: int) -> None:
    """Do the part of fail-over before the state znode is first read."""
    go_on(controller_on(projection, controller))


@STEPS.of(
    "ElectLeader",
    "TakeReplicaOffline",
    "SupplantReassignment",
    "RecordReassignment",
    "ExtendReplicas",
    "MoveLeader",
    "FinishReassignment",
    "ClearReassignment",
    "DeleteState",
    "DeleteConfig",
    "DeleteMark",
    "RestoreAssignment",
    "ControllerMoved",
)
def change_state(projection: Projection, controller: int) -> None:
    """Do the step at the znode; if the write is refused, the controller notices by itself."""
    acting = controller_on(projection, controller)
    if not acting.agenda:
        raise NotEnabled(f"controller {controller} has nothing to do")
    acting.step()
    go_on(acting)


@STEPS.of("NoticeBrokerChange")
def notice_brokers(projection: Projection, controller: int) -> None:
    """Read /brokers/ids."""
    handle(controller_on(projection, controller), BrokerChange())


@STEPS.of("NoticeTopic")
def notice_topics(projection: Projection, controller: int) -> None:
    """Read /brokers/topics."""
    handle(controller_on(projection, controller), TopicChange())


@STEPS.of("NoticeDeletion", "RefuseDeletion")
def notice_deletions(projection: Projection, controller: int) -> None:
    """Read /admin/delete_topics."""
    handle(controller_on(projection, controller), TopicDeletion())


@STEPS.of("RunDeletionThread")
def run_deletion_thread(projection: Projection, controller: int) -> None:
    """Let the thread that deletes topics run."""
    handle(controller_on(projection, controller), RunDeletionThread())


def is_answer(event: ControllerEvent, broker: int, partition: int) -> bool:
    """Whether an event is the answer of a broker that was asked to delete its replica of a partition."""
    return isinstance(event, ReplicasDeleted) and event.broker == broker and PARTITIONS[partition] in event.partitions


@STEPS.of("HandleStopReplicaAnswer")
def handle_answer(projection: Projection, partition: int, controller: int, broker: int) -> None:
    """Handle the answer of a broker that was asked to delete its replica."""
    acting = controller_on(projection, controller)
    waiting = [event for event in acting.events if is_answer(event, broker, partition)]
    if not waiting:
        raise NotEnabled(f"no answer of broker {broker} waits")
    handle(acting, waiting[-1])


@STEPS.of("DeleteTopicZnode")
def delete_topic_znode(projection: Projection, controller: int) -> None:
    """Delete the topic's znode; what is still on its way is for a former topic then."""
    change_state(projection, controller)
    projection.note_deleted_topic()


@STEPS.of("NoticeIsrChange")
def notice_isr_change(projection: Projection, partition: int, controller: int) -> None:
    """Write the notification of the leader that changed the ISR, and let the controller read it."""
    projection.cluster.tools.create(znodes.isr_change(), znodes.encode_partitions([PARTITIONS[partition]]), sequential=True)
    handle(controller_on(projection, controller), IsrChangeNotification())


@STEPS.of("PreferredElection")
def ask_for_preferred_election(projection: Projection, partition: int, controller: int) -> None:
    """Request a preferred replica election."""
    handle(controller_on(projection, controller), PreferredElection((PARTITIONS[partition],), lambda _: None))


@STEPS.of("UncleanElection")
def ask_for_unclean_election(projection: Projection, partition: int, controller: int) -> None:
    """Request an unclean election."""
    handle(controller_on(projection, controller), UncleanElection((PARTITIONS[partition],), lambda _: None))


@STEPS.of("Rebalance")
def rebalance(projection: Projection, controller: int) -> None:
    """Let the controller's timer for automatic rebalance fire."""
    handle(controller_on(projection, controller), AutoRebalance())


@STEPS.of("NoticePartition", "RefusePartition")
def notice_partitions(projection: Projection, controller: int) -> None:
    """Read the topic's znode."""
    handle(controller_on(projection, controller), PartitionModifications(PARTITION.topic))


@STEPS.of("Reassign")
def ask_for_reassignment(projection: Projection, partition: int, controller: int, first: int, second: int) -> None:
    """Request a reassignment through the API."""
    alter_reassignment(projection, partition, controller, target_of(first, second))


@STEPS.of("CancelReassignment")
def cancel_reassignment(projection: Projection, partition: int, controller: int) -> None:
    """Request through the API that a reassignment is cancelled."""
    alter_reassignment(projection, partition, controller, None)


def alter_reassignment(projection: Projection, partition: int, controller: int, target: tuple[int, ...] | None) -> None:
    """Request a target; None is a cancellation."""
    codes: dict[TopicPartition, ErrorCode] = {}
    handle(controller_on(projection, controller), AlterPartitionReassignments({PARTITIONS[partition]: target}, codes.update))
    if (code := codes.get(PARTITIONS[partition], ErrorCode.NONE)) != ErrorCode.NONE:
        raise NotEnabled(code.name)


@STEPS.of("NoticeReassignment", "RefuseReassignment")
def notice_reassignment(projection: Projection, controller: int, partition: int = 0) -> None:
    """Read /admin/reassign_partitions."""
    handle(controller_on(projection, controller), ReassignmentZnodeChange())


@STEPS.of("NoticeCaughtUp")
def notice_caught_up(projection: Projection, partition: int, controller: int) -> None:
    """Read the state znode of the partition that is reassigned."""
    handle(controller_on(projection, controller), PartitionIsrChange(PARTITIONS[partition]))


@STEPS.of("ControlledShutdown", "ControlledShutdownAgain")
def hear_of_shutdown(projection: Projection, controller: int, broker: int) -> None:
    """Handle a broker's request to shut down."""
    node = running(projection, broker)
    handle(controller_on(projection, controller), ControlledShutdown(broker, node.epoch, lambda *_: None))


@STEPS.of("Resign")
def notice_controller(projection: Projection, controller: int) -> None:
    """Notice that another broker is the controller, or none."""
    acting = controller_on(projection, controller)
    if acting.agenda:
        raise NotEnabled(f"controller {controller} is handling another event")
    hear(acting, ControllerChange())


@STEPS.of("AdoptEpoch")
def notice_epoch(projection: Projection, controller: int) -> None:
    """Read /controller_epoch."""
    acting = controller_on(projection, controller)
    waiting = acting.agenda.copy()
    acting.agenda.clear()
    hear(acting, ControllerEpochChange())
    acting.agenda.extendleft(reversed(waiting))


@STEPS.of("GiveUp")
def fail_in_failover(projection: Projection, controller: int) -> None:
    """Let the next operation on ZooKeeper fail, so that the controller resigns."""
    acting = controller_on(projection, controller)
    session = projection.cluster.brokers[controller].session
    assert isinstance(session, ModelSession)
    session.fails = True
    acting.step()
    while acting.agenda:
        acting.step()


@STEPS.of("NoticeExpiry")
def open_another_session(projection: Projection, controller: int) -> None:
    """Notice that the session has expired, and open another."""
    running(projection, controller)
    projection.cluster.reopen(controller)
