"""How an event continues from one ZooKeeper operation to the next, and how it ends.

The rest of an event is data: `step` and the sets in `context`. Other actors can act between two steps.

Source: Kafka 2.8 KafkaController.scala.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import Strategy, election_is_due
from kafka_spec.spec.decisions.variants import DeletionThread
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, contains
from kafka_spec.spec.machines.partition import PARTITION, PartitionState
from kafka_spec.spec.machines.replica import REPLICA
from kafka_spec.spec.vocabulary.table import Constants, fire
from kafka_spec.spec.zookeeper.controller.deletion import (
    ask_to_delete,
    consider_deletion,
    deletion_has_begun,
    fail_deletion,
    resume_deletion,
)
from kafka_spec.spec.zookeeper.controller.knowledge import (
    assigned_replicas,
    cached_leader_is_lost,
    leadership_is_known,
    topic_is_queued_for_deletion,
)
from kafka_spec.spec.zookeeper.controller.reassignment_rows import (
    continue_reassignment,
    reassignment_is_due,
    resume_if_target_starts,
    stop_unassigned_brokers,
)
from kafka_spec.spec.zookeeper.event_stages import Stage
from kafka_spec.spec.zookeeper.machines import CONTROLLER, LOADING
from kafka_spec.spec.zookeeper.network import (
    a_leadership_is_known,
    send_batch,
    send_deletion_mark,
    send_stop_replica_to,
    send_update_metadata,
)
from kafka_spec.spec.zookeeper.state import ControllerStep, Resuming, World


def election_is_of_partition(s: World, controller: int, partition: int) -> bool:
    """The event is about an election of this very partition: it was requested, or the partition is being created."""
    known = s.controllers[controller].context.partitions[partition]
    return known.strategy != Strategy.OFFLINE or known.creating == 1


def election_is_of_some(s: World, k: Constants, controller: int) -> bool:
    """The event is about an election of some partitions, and leaves others alone; else it tries all that are new or offline."""
    for partition in range(k.partitions):
        if election_is_of_partition(s, controller, partition):
            return True
    return False


def an_election_is_due(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The partition is new or offline, or an election was requested; and the topic is not to be deleted.

    A partition created by this event is elected even so (onNewPartitionCreation does not look): a topic of the same name
    whose deletion another controller has not ended.
    """
    own = s.controllers[controller]
    known = own.context.partitions[partition]
    if election_is_of_some(s, k, controller) and not election_is_of_partition(s, controller, partition):
        return False
    may_be_elected = known.creating == 1 or not topic_is_queued_for_deletion(s, controller)
    return may_be_elected and election_is_due(own.partitions[partition].state, known.strategy)


def go_on(s: World, k: Constants, controller: int) -> None:
    """Continue to the event's next ZooKeeper operation, passing stages that need none, or end the event.

    A bounced broker is first failed and then started, and dead brokers are failed after that. Each of these stages has an election
    and removals, which may have nothing to do; a reassignment may be resumed after a start, or continue after removals; the
    deletion of the topic is considered after each.
    """
    for _ in range(12 * k.partitions):
        own = s.controllers[controller]
        if own.step == ControllerStep.ELECT and not an_election_is_due(s, k, controller, own.context.turn):
            end_election(s, k, controller)
        if s.controllers[controller].step == ControllerStep.REMOVE and no_replica_leaves(s, k, controller):
            begin_next_stage(s, k, controller)


def no_replica_leaves(s: World, k: Constants, controller: int) -> bool:
    """No replica of any partition has to be taken offline."""
    for partition in range(k.partitions):
        if s.controllers[controller].context.partitions[partition].leaving != 0:
            return False
    return True


def end_election(s: World, k: Constants, controller: int) -> None:
    """Continue after an election: the next partition's turn; after the last, the replicas of those just created go online.

    The last is that of the topic, or of those that were asked for. Their requests are sent together, but a rebalance sends for each
    broker that is preferred.
    """
    partition = s.controllers[controller].context.turn
    is_asked_for = election_is_of_partition(s, controller, partition)
    strategy = s.controllers[controller].context.partitions[partition].strategy
    s.controllers[controller].context.partitions[partition].strategy = Strategy.OFFLINE
    if partition + 1 < k.partitions and (not is_asked_for or election_is_of_some(s, k, controller)):
        s.controllers[controller].context.turn = partition + 1
        if strategy == Strategy.PREFERRED and not same_broker_is_preferred(s, controller, partition, partition + 1):
            send_batch(s, k, controller)
    else:
        send_batch(s, k, controller)
        s.controllers[controller].context.turn = 0
        s.controllers[controller].step = ControllerStep.REMOVE
        if strategy == Strategy.CONTROLLED_SHUTDOWN:
            stop_followers(s, k, controller)
        put_created_replicas_online(s, k, controller)


def same_broker_is_preferred(s: World, controller: int, one: int, other: int) -> bool:
    """The two partitions prefer the same leader."""
    partitions = s.controllers[controller].context.partitions
    return partitions[one].assignment.replicas[0] == partitions[other].assignment.replicas[0]


def stop_followers(s: World, k: Constants, controller: int) -> None:
    """Stop the replicas of a broker that shuts down, before they leave the ISR, in a batch of its own."""
    for partition in range(k.partitions):
        leaving = s.controllers[controller].context.partitions[partition].leaving
        for broker in range(k.brokers):
            if contains(leaving, broker) == 1:
                send_stop_replica_to(s, controller, broker, partition)
    send_batch(s, k, controller)


def put_created_replicas_online(s: World, k: Constants, controller: int) -> None:
    """Put the replicas of partitions that were just created online."""
    reported = 0
    for partition in range(k.partitions):
        if s.controllers[controller].context.partitions[partition].creating == 1:
            s.controllers[controller].context.partitions[partition].creating = 0
            online = put_replicas_online(s, k, controller, assigned_replicas(s, controller, partition), partition)
            reported = reported | online
    send_deletion_mark_again(s, k, controller, reported)


def a_partition_has_to_start(s: World, k: Constants, controller: int) -> bool:
    """The controller knows a partition that its machine has not."""
    for partition in range(k.partitions):
        if len(s.controllers[controller].context.partitions[partition].assignment.replicas) > 0:
            if s.controllers[controller].partitions[partition].state == PartitionState.NON_EXISTENT:
                return True
    return False


def partition_to_reassign(s: World, k: Constants, controller: int) -> int:
    """Return the first partition whose reassignment is due in this event; the number of partitions if none is."""
    for partition in range(k.partitions):
        if reassignment_is_due(s, controller, partition):
            return partition
    return k.partitions


def replicas_wait_for_deletion(s: World, k: Constants, controller: int) -> bool:
    """Brokers have to be asked to delete replicas."""
    for partition in range(k.partitions):
        if s.controllers[controller].context.partitions[partition].deleting != 0:
            return True
    return False


def stage_is_left(s: World, k: Constants, controller: int, stage: int) -> bool:
    """A stage is due that does not begin with an access to ZooKeeper."""
    own = s.controllers[controller]
    if stage == Stage.START_PARTITION_MACHINE:
        return own.life == LOADING and not deletion_has_begun(s, controller) and a_partition_has_to_start(s, k, controller)
    if stage == Stage.REASSIGN:
        return partition_to_reassign(s, k, controller) < k.partitions
    if stage == Stage.ASK_TO_DELETE:
        return replicas_wait_for_deletion(s, k, controller)
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
        for partition in range(k.partitions):
            if assigned_replicas(s, controller, partition) != 0:
                fire(s, k, PARTITION, (controller, partition), "startup")
        own.step = ControllerStep.ELECT
    elif stage == Stage.REASSIGN:
        continue_reassignment(s, k, controller, partition_to_reassign(s, k, controller))
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


def put_brokers_online(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Put the replicas of all partitions online that are on these brokers."""
    reported = 0
    for partition in range(k.partitions):
        online = put_replicas_online(s, k, controller, brokers & assigned_replicas(s, controller, partition), partition)
        reported = reported | online
    send_deletion_mark_again(s, k, controller, reported)


def put_replicas_online(s: World, k: Constants, controller: int, replicas: BrokerSet, partition: int) -> int:
    """Fire the transition to online for each replica; return 1 if there was one."""
    reported = 0
    for replica in range(k.brokers):
        if contains(replicas, replica) == 1:
            if fire(s, k, REPLICA, (controller, partition, replica), "online_replica"):
                reported = 1
    return reported


def send_deletion_mark_again(s: World, k: Constants, controller: int, reported: int) -> None:
    """After the LeaderAndIsrs of a topic that is to be deleted, which make brokers list it, send the mark to all brokers."""
    if reported == 1 and topic_is_queued_for_deletion(s, controller):
        send_deletion_mark(s, k, controller, s.controllers[controller].context.live)


def start_brokers(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Process brokers as started: send UpdateMetadata to all, put their replicas online, then try to elect (onBrokerStartup)."""
    context = s.controllers[controller].context
    context.live = context.live | brokers
    if topic_is_queued_for_deletion(s, controller) and a_leadership_is_known(s, k, controller):
        send_update_metadata(s, k, controller, context.live & ~brokers)
        send_deletion_mark(s, k, controller, brokers)
    else:
        send_update_metadata(s, k, controller, context.live)
    put_brokers_online(s, k, controller, brokers)
    for partition in range(k.partitions):
        resume_if_target_starts(s, controller, brokers, partition)
    for partition in range(k.partitions):
        stop_unassigned_brokers(s, k, controller, brokers, partition)
    resume_deletion(s, k, controller, brokers)
    s.controllers[controller].step = ControllerStep.ELECT


def fail_brokers(s: World, k: Constants, controller: int, brokers: BrokerSet) -> None:
    """Process brokers as failed: their partitions go offline, try to elect, their replicas go offline (onBrokerFailure)."""
    context = s.controllers[controller].context
    context.live = context.live & ~brokers
    context.stopping = context.stopping & ~brokers
    send_update_metadata(s, k, controller, context.live)
    for partition in range(k.partitions):
        lost = brokers & assigned_replicas(s, controller, partition)
        if topic_is_queued_for_deletion(s, controller):
            fail_deletion(s, k, controller, lost, partition)
            lost = NO_BROKERS
        elif leadership_is_known(s, controller, partition) and cached_leader_is_lost(s, k, controller, partition):
            fire(s, k, PARTITION, (controller, partition), "offline_partition")
        s.controllers[controller].context.partitions[partition].leaving = lost
    s.controllers[controller].step = ControllerStep.ELECT
