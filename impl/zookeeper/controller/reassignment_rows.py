"""The row functions of REASSIGNMENT: its guards and effects on a controller.

The table, spec/machines/reassignment.py, chooses the row; each row writes to ZooKeeper once at most.

Source: Kafka 2.8 KafkaController.scala (onPartitionReassignment, KIP-455); Kafka 0.10 for assignments that are only enlarged.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from kafka_spec.impl.machine import Running
from kafka_spec.impl.protocol.controller_requests import NO_LEADER, Leadership
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.row_functions import effect, guard
from kafka_spec.impl.zookeeper.controller.context import ControllerContext
from kafka_spec.impl.zookeeper.controller.elections import ElectionInputs, StateZnode
from kafka_spec.impl.zookeeper.controller.leadership_guards import WriterGuards
from kafka_spec.impl.zookeeper.controller.request_batch import RequestBatch
from kafka_spec.impl.zookeeper.controller.zk_client import ControllerZkClient
from kafka_spec.spec.decisions.election import Strategy
from kafka_spec.spec.decisions.reassignment import (
    PartitionAssignment,
    changes_nothing,
    leader_has_to_move,
    other_leaves_plan,
    plan_ends,
    plan_is_withdrawn,
    reassignment_may_end,
    remembered_after_bump,
    replicas_at_end,
    target_is_in_isr,
)
from kafka_spec.spec.decisions.variants import Reassignment
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.vocabulary.table import Constants

Targets: TypeAlias = Mapping[TopicPartition, tuple[int, ...]]


@dataclass(frozen=True)
class ReassignmentInputs(StateZnode):
    """A partition's state znode, and the targets in /admin/reassign_partitions, as the step read them before it fires a row.

    `begun` are the partitions whose reassignment this controller has begun.
    """

    asked: Targets
    begun: Collection[TopicPartition]


class ReassignmentRows(WriterGuards):
    """Guards and effects on one controller's context, ZooKeeper, batch, and its other two machines."""

    def __init__(
        self,
        context: ControllerContext,
        zk: ControllerZkClient,
        batch: RequestBatch,
        k: Constants,
        partitions: Running[ElectionInputs],
        replicas: Running[StateZnode],
    ) -> None:
        super().__init__(context)
        self._zk = zk
        self._batch = batch
        self._k = k
        self._partitions = partitions
        self._replicas = replicas

    def _target(self, partition: TopicPartition) -> BrokerSet:
        return BrokerSet.of(self._context.targets[partition])

    def _is_enlarged(self) -> bool:
        return bool(self._k.reassignment == Reassignment.ENLARGED_ASSIGNMENT)

    # Guards

    @guard
    def topic_znode_records_reassignments(self) -> bool:
        """The topic znode says which replicas are added and removed (2.4, KIP-455)."""
        return not self._is_enlarged()

    @guard
    def plan_gives_way(self, partition: TopicPartition, inputs: ReassignmentInputs) -> bool:
        """/admin/reassign_partitions names the partition, and is changed before the API's request begins."""
        return plan_is_withdrawn(int(partition in inputs.asked), self._k.older_plans)

    @guard
    def plan_ends_with_reassignment(self, partition: TopicPartition, inputs: ReassignmentInputs) -> bool:
        """/admin/reassign_partitions names the partition with the target of the reassignment that ends, or an older one."""
        names_target = inputs.asked.get(partition) == self._context.targets[partition]
        return plan_ends(int(partition in inputs.asked), int(names_target), self._k.older_plans)

    @guard
    def assignment_is_target(self, partition: TopicPartition) -> bool:
        """The controller's assignment is the target."""
        return self._context.assignments[partition] == self._context.targets[partition]

    @guard
    def assignment_is_under_way(self, partition: TopicPartition) -> bool:
        """The controller's assignment is that of a reassignment from its origin to this target."""
        return self._context.assignment(partition) == self._under_way(partition)

    def _under_way(self, partition: TopicPartition) -> PartitionAssignment:
        return self._context.assignment(partition).reassigned_to(self._context.targets[partition], self._k.replaced_reassignment)

    @guard
    def target_is_reached(self, partition: TopicPartition, inputs: ReassignmentInputs) -> bool:
        """The state znode's ISR holds all of the target; since 2.4 also if no replica is added or removed."""
        return reassignment_is_complete(self._context, partition, inputs.read, self._k)

    @guard
    def completion_may_go_on(self, partition: TopicPartition, inputs: ReassignmentInputs) -> bool:
        """The target is still in the state znode's ISR and can lead, or no replica leaves, or the era does not check this again."""
        if no_replica_changes(self._context, partition, self._k):
            return True
        isr = BrokerSet() if inputs.read is None else inputs.read.members
        live = BrokerSet.of(broker for broker in self._context.targets[partition] if self._context.is_online(broker, partition))
        return reassignment_may_end(self._target(partition), isr, live, self._k.lost_target)

    @guard
    def end_is_announced(self, partition: TopicPartition) -> bool:
        """The target is all replicas before the others leave, and a leader that stays is informed (0.8.1, KAFKA-1097)."""
        assigned, target = BrokerSet.of(self._context.assignments[partition]), self._target(partition)
        return replicas_at_end(assigned, target, self._k.end_of_reassignment) == target

    @guard
    def leader_has_to_move_to_target(self, partition: TopicPartition) -> bool:
        """The cached leader is not of the target, or cannot lead."""
        held = self._context.leadership.get(partition)
        leader = NO_LEADER if held is None else held.leader
        live = BrokerSet.of(broker for broker in self._context.targets[partition] if self._context.is_online(broker, partition))
        return leader_has_to_move(leader, self._target(partition), live)

    # Effects: the assignment

    @effect
    def write_assignment_under_way(self, partition: TopicPartition) -> None:
        """Write all replicas, and which of them are added and removed, to the topic znode; the origin stays what it was."""
        self._write(partition, self._under_way(partition))

    @effect
    def write_enlarged_assignment(self, partition: TopicPartition) -> None:
        """Write all replicas to the topic znode, which does not say which of them are new."""
        held = self._context.assignment(partition)
        wider = held.reassigned_to(self._context.targets[partition], self._k.replaced_reassignment)
        self._write(partition, PartitionAssignment(wider.replicas))
        self._context.assign(partition, replace(wider, removing=()))

    @effect
    def announce_target(self, partition: TopicPartition) -> None:
        """Make the target the controller's assignment before the other replicas leave, if the era does."""
        if self.end_is_announced(partition):
            self.adopt_target(partition)

    @effect
    def adopt_target(self, partition: TopicPartition) -> None:
        """Make the target the controller's assignment, in memory only: a leader that learns it adds no other replica to the ISR."""
        self._context.assign(partition, PartitionAssignment(self._context.targets[partition]))

    @effect
    def write_target_assignment(self, partition: TopicPartition) -> None:
        """Write the target to the topic znode as its only replicas."""
        self._write(partition, self._context.assignment(partition))

    def _write(self, partition: TopicPartition, assignment: PartitionAssignment) -> None:
        self._zk.write_assignments(partition.topic, {partition.partition: assignment})
        self._context.assign(partition, assignment)

    @effect
    def delete_admin_reassignment(self, partition: TopicPartition, inputs: ReassignmentInputs) -> None:
        """Take the partition out of /admin/reassign_partitions, and delete the znode if it names no other."""
        self._zk.write_reassignments(left_in_znode(inputs.asked, (partition,), inputs.begun, self._k))

    @effect
    def forget_target(self, partition: TopicPartition) -> None:
        """Take the partition from those that are being reassigned."""
        self._context.targets.pop(partition, None)

    # Effects: leaders and replicas

    @effect
    def write_next_leader_epoch(self, partition: TopicPartition, inputs: ReassignmentInputs) -> None:
        """Write the next leader epoch with leader and ISR as they are (updateLeaderEpoch)."""
        self._zk.write_state(partition, inputs.held, inputs.held.leader, inputs.held.isr)

    @effect
    def elect_leader_of_target(self, partition: TopicPartition, inputs: ReassignmentInputs) -> None:
        """Elect a leader of the target; if none can be elected, the partition keeps the leader that it has."""
        self._partitions.fire(
            "online_partition", partition, inputs=ElectionInputs(inputs.read, Strategy.REASSIGNMENT, unclean=False)
        )

    @effect
    def send_leader_and_isr_to_assigned_replicas(self, partition: TopicPartition) -> None:
        """Send LeaderAndIsr to all replicas, those of the origin and those that are added."""
        held = self._context.assignment(partition)
        self._batch.add_leader_and_isr(held.origin, partition, is_new=False)
        self._batch.add_leader_and_isr(held.adding, partition, is_new=True)
        self._batch.note_reassignment(partition)
        self._forget_bumped_epoch(partition)

    @effect
    def send_leader_and_isr_of_completion(self, partition: TopicPartition) -> None:
        """Send LeaderAndIsr with the target as all replicas to the target; up to 2.3 to the replicas that leave too."""
        recipients = self._context.assignments[partition]
        if self._is_enlarged():
            recipients = tuple(existing_replicas(partition, self._replicas))
        self._batch.add_leader_and_isr(recipients, partition, is_new=False)
        self._batch.note_reassignment(partition)
        self._forget_bumped_epoch(partition)

    def _forget_bumped_epoch(self, partition: TopicPartition) -> None:
        """Go back to the leader epoch and the version from before the write, in eras that do not cache what they wrote."""
        held, bumped = self._context.leadership[partition], self._k.bumped_epoch
        self._context.leadership[partition] = replace(
            held,
            leader_epoch=remembered_after_bump(held.leader_epoch, bumped),
            version=remembered_after_bump(held.version, bumped),
        )

    @effect
    def create_new_replicas(self, partition: TopicPartition) -> None:
        """Create the added replicas in the replica machine; one that exists already is refused, which Kafka logs."""
        held = self._context.assignment(partition)
        for broker in held.adding:
            self._fire_all("new_replica", partition, [broker])
        if self._is_enlarged():
            self._context.assign(partition, replace(held, adding=()))

    @effect
    def put_new_replicas_online(self, partition: TopicPartition) -> None:
        """Put the added replicas online; up to 2.3 all of the target, since nobody knows which were added."""
        target = self._context.targets[partition]
        adding = self._context.adding.get(partition, ())
        self._fire_all("online_replica", partition, [b for b in target if b in adding or self._is_enlarged()])

    @effect
    def delete_replicas_outside_assignment(self, partition: TopicPartition) -> None:
        """Delete the replicas that are not assigned any more, without waiting for the answers of their brokers."""
        outside = replicas_outside_assignment(partition, self._context, self._replicas)
        for trigger in ("replica_deletion_started", "replica_deletion_successful", "non_existent_replica"):
            self._fire_all(trigger, partition, outside)

    def _fire_all(self, trigger: str, partition: TopicPartition, brokers: Iterable[int]) -> None:
        """Fire for replicas, in a batch of their own: in Kafka this is a call of handleStateChanges."""
        self._batch.send()
        for broker in brokers:
            self._replicas.fire(trigger, partition, broker)
        self._batch.send()


def left_in_znode(asked: Targets, removed: Collection[TopicPartition], begun: Collection[TopicPartition], k: Constants) -> Targets:
    """Return what /admin/reassign_partitions names when these partitions leave it: all others, or those begun (KAFKA-6193)."""
    leaving = {partition for partition in asked if other_leaves_plan(int(partition in begun), k.removed_from_znode)}
    return {partition: target for partition, target in asked.items() if partition not in removed and partition not in leaving}


def no_replica_changes(context: ControllerContext, partition: TopicPartition, k: Constants) -> bool:
    """Whether a reassignment adds and removes no replica, so that it ends at once (since 2.4)."""
    held, target = context.assignment(partition), context.targets[partition]
    return changes_nothing(BrokerSet.of(held.replicas), BrokerSet.of(held.adding), BrokerSet.of(target), k.reassignment)


def reassignment_is_complete(context: ControllerContext, partition: TopicPartition, read: Leadership | None, k: Constants) -> bool:
    """Whether the ISR that was read in the state znode holds all of the target; since 2.4 also if no replica changes."""
    if read is None:
        return False
    target = BrokerSet.of(context.targets[partition])
    return target_is_in_isr(target, read.members) or no_replica_changes(context, partition, k)


def existing_replicas(partition: TopicPartition, replicas: Running[StateZnode]) -> list[int]:
    """Return the brokers whose replicas exist in the controller's machine, in ascending order, assigned or not."""
    return sorted(broker for _, broker in replicas.entities_of(partition) if isinstance(broker, int))


def replicas_outside_assignment(partition: TopicPartition, context: ControllerContext, replicas: Running[StateZnode]) -> list[int]:
    """Return the brokers whose replicas exist and are not assigned any more: they are to be stopped and deleted."""
    assigned = context.assignments.get(partition, ())
    return [broker for broker in existing_replicas(partition, replicas) if broker not in assigned]
