"""Reassignment of partitions to other brokers: requests, notifications, and the steps that the table names.

A request comes through the API (KIP-455) or in /admin/reassign_partitions. The state of the table REASSIGNMENT says which step is
next; each is a task, so that a controller can die between any two, and the next one resumes.

Source: Kafka 2.8 KafkaController.scala (processApiPartitionReassignment, processZkPartitionReassignment,
processPartitionReassignmentIsrChange, onPartitionReassignment); Kafka 0.10 for znodes that only enlarge assignments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.state_change_log import LogLevel
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.deletion import reassignment_ended
from kafka_spec.impl.zookeeper.controller.reassignment_rows import (
    ReassignmentInputs,
    existing_replicas,
    left_in_znode,
    reassignment_is_complete,
    replicas_outside_assignment,
)
from kafka_spec.impl.zookeeper.controller.state_changes import change_replicas, ends_the_event
from kafka_spec.impl.zookeeper.controller.zk_client import StateZnodeChanged
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError
from kafka_spec.spec.decisions.reassignment import PartitionAssignment
from kafka_spec.spec.decisions.variants import Reassignment
from kafka_spec.spec.machines.reassignment import ReassignmentState

Codes: TypeAlias = Mapping[TopicPartition, ErrorCode]

TRIGGERS: Mapping[int, str] = {
    ReassignmentState.SUPPLANTING: "supplant",
    ReassignmentState.RECORDING: "record",
    ReassignmentState.DROPPING: "drop",
    ReassignmentState.EXTENDING: "extend",
    ReassignmentState.MOVING_LEADER: "move_leader",
    ReassignmentState.SHRINKING: "shrink",
    ReassignmentState.FINISHING: "finish",
    ReassignmentState.CLEARING: "clear",
}
"""The trigger of the next step in each state that is not one of waiting."""
REMOVING = (ReassignmentState.DROPPING, ReassignmentState.SHRINKING)
"""The states in which replicas are taken offline before the step that deletes them."""


# ---------------------------------------------------------------------------------------------------------------------
# Requests


@dataclass(frozen=True)
class AlterPartitionReassignments(ControllerEvent):
    """Reassign partitions to these targets; None cancels what runs. `reply` receives a code for each partition (KIP-455)."""

    targets: Mapping[TopicPartition, tuple[int, ...] | None]
    reply: Callable[[Codes], object]

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Check the targets, and begin those that are valid, in place of what runs, however that was requested."""
        codes = {partition: self._check(core, partition, target) for partition, target in self.targets.items()}
        tasks: list[ControllerTask] = []
        for partition, target in self.targets.items():
            if codes[partition] == ErrorCode.NONE:
                wanted = core.context.assignment(partition).origin if target is None else target
                tasks.append(BeginReassignment(partition, wanted, "reassign_by_api"))
        return [*tasks, AnswerReassignments(self, codes)]

    def _check(self, core: ControllerCore, partition: TopicPartition, target: tuple[int, ...] | None) -> ErrorCode:
        context = core.context
        if core.k.reassignment != Reassignment.KIP_455:
            return ErrorCode.UNSUPPORTED_VERSION
        if target is not None and (not target or len(set(target)) < len(target) or min(target) < 0):
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT
        ends = context.is_queued_for_deletion(partition.topic) or (target is not None and context.is_to_be_deleted(partition.topic))
        if partition not in context.leadership or ends:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if target is None:
            return ErrorCode.NONE if partition in context.targets else ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
        added = context.assignment(partition).reassigned_to(target).adding
        live = all(broker in context.live and broker not in context.stopping for broker in added)
        return ErrorCode.NONE if live else ErrorCode.INVALID_REPLICA_ASSIGNMENT

    def refuse(self) -> None:
        self.reply(dict.fromkeys(self.targets, ErrorCode.NOT_CONTROLLER))


@dataclass(frozen=True)
class AnswerReassignments(ControllerTask):
    """Answer which reassignments have begun."""

    event: AlterPartitionReassignments
    codes: Codes

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        self.event.reply(self.codes)
        return []

    def refuse(self) -> None:
        self.event.refuse()


@dataclass(frozen=True)
class ListPartitionReassignments(ControllerEvent):
    """Answer the assignments of those partitions, or of all, that are being reassigned."""

    partitions: tuple[TopicPartition, ...] | None
    reply: Callable[[ErrorCode, Mapping[TopicPartition, PartitionAssignment]], object]

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        running = core.context.targets
        asked = list(running) if self.partitions is None else [p for p in self.partitions if p in running]
        self.reply(ErrorCode.NONE, {p: core.context.assignment(p) for p in asked})
        return []

    def refuse(self) -> None:
        self.reply(ErrorCode.NOT_CONTROLLER, {})


@dataclass(frozen=True)
class ReassignmentZnodeChange(ControllerEvent):
    """/admin/reassign_partitions may exist: begin what it asks for and was not read yet; what cannot be begun is taken out."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        return reassignments_of_znode(core)


def reassignments_of_znode(core: ControllerCore) -> list[ControllerTask]:
    """Return the tasks that begin what /admin/reassign_partitions asks for, since it was last read.

    Since 2.4 a target that runs already begins again, under another leader epoch; up to 2.3 a partition that is reassigned goes
    on. All targets are known before the first begins (KAFKA-6193).
    """
    context, asked = core.context, core.zk.read_reassignments()
    if asked is None:
        context.planned.clear()
        return []
    is_planned = core.k.reassignment == Reassignment.KIP_455
    tasks: list[ControllerTask] = []
    failed = []
    for partition, target in asked.items():
        if not target or partition not in context.leadership or context.is_queued_for_deletion(partition.topic):
            failed.append(partition)
        elif partition not in context.planned if is_planned else _is_idle(core, partition):
            tasks.append(BeginReassignment(partition, target, "reassign"))
    begun = {task.partition: task.target for task in tasks if isinstance(task, BeginReassignment)}
    context.targets |= begun
    context.planned |= begun.keys() if is_planned else set()
    return [*([RefuseReassignments(tuple(failed))] if failed or not asked else []), *tasks]


def _is_idle(core: ControllerCore, partition: TopicPartition) -> bool:
    """Whether no step has been taken yet, so that a fail-over has to begin."""
    return core.reassignments.state_of(partition) == ReassignmentState.NONE


def _begun(core: ControllerCore, asked: Iterable[TopicPartition]) -> list[TopicPartition]:
    return [partition for partition in asked if not _is_idle(core, partition)]


@dataclass(frozen=True)
class RefuseReassignments(ControllerTask):
    """Take partitions that cannot be reassigned out of /admin/reassign_partitions."""

    partitions: tuple[TopicPartition, ...]

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        named = ",".join(map(str, self.partitions))
        core.note(LogLevel.WARN, f"Failed reassignment through zk with the following errors: {named}: UNKNOWN_TOPIC_OR_PARTITION")
        asked = core.zk.read_reassignments() or {}
        core.zk.write_reassignments(left_in_znode(asked, self.partitions, _begun(core, asked), core.k))
        return []


# ---------------------------------------------------------------------------------------------------------------------
# Notifications


@dataclass(frozen=True)
class PartitionIsrChange(ControllerEvent):
    """The state znode of a partition that is reassigned may have changed: end the reassignment if its target is in the ISR."""

    partition: TopicPartition

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """End the reassignment, or keep waiting; one that keeps waiting has the znode watched."""
        if core.reassignments.state_of(self.partition) != ReassignmentState.WAITING:
            return []
        core.session.exists(znodes.state(self.partition), watch=True)
        held = core.zk.read_state(self.partition)
        is_complete = reassignment_is_complete(core.context, self.partition, held, core.k)
        return [Reassign(self.partition, "complete")] if is_complete else []


@dataclass(frozen=True)
class ResumeReassignments(ControllerTask):
    """Resume at a fail-over what ZooKeeper names; a partition in /admin/reassign_partitions has the target named there."""

    partitions: tuple[TopicPartition, ...]

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        tasks = reassignments_of_znode(core)
        covered = {task.partition for task in tasks if isinstance(task, BeginReassignment)}
        targets = core.context.targets
        rest = [partition for partition in self.partitions if partition in targets and partition not in covered]
        return [*tasks, *(BeginReassignment(partition, targets[partition], "reassign") for partition in rest)]


def resume_for_started(core: ControllerCore, started: Iterable[int]) -> list[ControllerTask]:
    """Return the tasks that resume the reassignments with one of these brokers in their target."""
    targets = [(p, target) for p, target in core.context.targets.items() if p in core.context.assignments]
    return [BeginReassignment(p, target, "reassign") for p, target in targets if not set(target).isdisjoint(started)]


# ---------------------------------------------------------------------------------------------------------------------
# Steps


@dataclass(frozen=True)
class BeginReassignment(ControllerTask):
    """Begin, replace or resume the reassignment of a partition (onPartitionReassignment); its topic is not deleted meanwhile."""

    partition: TopicPartition
    target: tuple[int, ...]
    trigger: str

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        core.context.targets[self.partition] = self.target
        return [Reassign(self.partition, self.trigger)]


@dataclass
class Reassign(ControllerTask):
    """Take one step of a reassignment, with one write at most, and continue with the one that the table names then."""

    partition: TopicPartition
    trigger: str
    begun: bool = False

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Take one step. An error of ZooKeeper for this partition leaves it to the next controller, and stops no other."""
        partition = self.partition
        if not self.begun:
            core.batch.begin()
            self.begun = True
        try:
            fired = self._fire(core)
        except CoordinationError as error:
            if ends_the_event(core, error):
                raise
            core.note(LogLevel.ERROR, f"Error completing reassignment of partition {partition}: {error!r}")
            core.batch.send()
            return []
        core.batch.send()
        if not fired:
            return []
        state = core.reassignments.state_of(partition)
        if state == ReassignmentState.NONE:
            return self._end(core)
        if state == ReassignmentState.WAITING:
            core.events.append(PartitionIsrChange(partition))
            return []
        leaving = self._leaving(core) if state in REMOVING else []
        removals = change_replicas("offline_replica", [(partition, broker) for broker in leaving])
        return [*removals, Reassign(partition, TRIGGERS[state])]

    def _leaving(self, core: ControllerCore) -> list[int]:
        """Return the brokers whose replicas go offline now: at the end those outside the target, before it the unassigned ones."""
        if core.reassignments.state_of(self.partition) == ReassignmentState.DROPPING:
            return replicas_outside_assignment(self.partition, core.context, core.replicas)
        target = core.context.targets[self.partition]
        return [broker for broker in existing_replicas(self.partition, core.replicas) if broker not in target]

    def _fire(self, core: ControllerCore) -> bool:
        """Read what the guards ask for, and fire; return whether a row fired. Repeat if the state znode was written in between."""
        while True:
            read, asked = core.zk.read_state(self.partition), core.zk.read_reassignments() or {}
            try:
                inputs = ReassignmentInputs(read, asked, _begun(core, asked))
                fired = core.reassignments.fire(self.trigger, self.partition, inputs=inputs)
            except StateZnodeChanged:
                continue
            return fired

    def _end(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Tell all brokers the new assignment, and let the topic's deletion continue (step B8)."""
        core.context.targets.pop(self.partition, None)
        core.send_metadata(core.context.live, [self.partition])
        if self.trigger == "clear":
            core.events.append(ReassignmentZnodeChange())
        reassignment_ended(core, self.partition.topic)
        return []
