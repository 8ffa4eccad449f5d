"""Fail-over: what a newly elected controller does before it is active.

Source: Kafka 2.8 KafkaController.scala (onControllerFailover, initializeControllerContext).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.deletion import ResumeDeletions, TopicDeletion, mark_ineligible, queue_for_deletion
from kafka_spec.impl.zookeeper.controller.preferred_election import PreferredElectionZnodeChange
from kafka_spec.impl.zookeeper.controller.reassignment import ResumeReassignments
from kafka_spec.impl.zookeeper.controller.state_changes import ElectOfflinePartitions, change_replicas
from kafka_spec.impl.zookeeper.controller.unassigned import StopUnassigned
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.decisions.election import replicas_lost_at_fail_over
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.machines.replica import ReplicaState


@dataclass(frozen=True)
class DeleteNotifications(ControllerTask):
    """Delete notifications older than this controller: it reads everything anyway, and sends requests to all brokers."""

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        for folder in (znodes.LOG_DIR_EVENT_NOTIFICATION, znodes.ISR_CHANGE_NOTIFICATION):
            core.zk.delete_all(f"{folder}/{name}" for name in core.session.children(folder, watch=True))
        return []


@dataclass(frozen=True)
class ReadEverything(ControllerTask):
    """Read brokers, topics and leadership; open channels; send all brokers the live brokers.

    A reassignment that is requested later than this is an event of its own, after the fail-over.
    """

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context, zk = core.context, core.zk
        brokers = zk.read_brokers()
        topics = zk.session.children(znodes.TOPICS, watch=True)
        assignments = {p: one for topic in topics for p, one in zk.read_topic(topic).items()}
        deletions = zk.read_deletions()
        leadership = {p: state for p in assignments if (state := zk.read_state(p)) is not None}
        context.live = {number: broker for number, (broker, _) in brokers.items()}
        context.broker_epochs = {number: epoch for number, (_, epoch) in brokers.items()}
        context.topics, context.leadership = set(topics), leadership
        for partition, assignment in assignments.items():
            context.assign(partition, assignment)
            if assignment.is_being_reassigned:
                context.targets[partition] = assignment.target
        if core.deletes_topics:
            queue_for_deletion(core, deletions)
        mark_ineligible(core, {p.topic for p, one in assignments.items() for b in one.replicas if not context.is_online(b, p)})
        for number in brokers:
            core.channels.open(number)
        core.send_metadata(context.live, [])
        asked = zk.read_reassignments()
        reassigned = tuple(dict.fromkeys((*context.targets, *(asked or {}))))
        return [
            StartReplicaMachine(),
            StartPartitionMachine(),
            *([ResumeReassignments(reassigned)] if reassigned or asked is not None else []),
            *([ResumeDeletions()] if context.queued_for_deletion else []),
            EndFailover(),
        ]


@dataclass(frozen=True)
class StartReplicaMachine(ControllerTask):
    """Seed the replica machine; live replicas go online, dead ones offline (ReplicaStateMachine.startup)."""

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        seeded = [(p, broker) for p, replicas in core.context.assignments.items() for broker in replicas]
        for partition, replica in seeded:
            core.replicas.fire("startup", partition, replica)
        live = [one for one in seeded if core.replicas.state_of(*one) == ReplicaState.ONLINE]
        lost = {
            p: replicas_lost_at_fail_over(BrokerSet.of(replicas), core.context.online(p), core.k.dead_replicas)
            for p, replicas in core.context.assignments.items()
        }
        leaving = [(p, broker) for p, brokers in lost.items() for broker in brokers]
        return [
            *change_replicas("online_replica", live),
            StopUnassigned(BrokerSet.of(core.context.live)),
            *change_replicas("offline_replica", leaving),
        ]


@dataclass(frozen=True)
class StartPartitionMachine(ControllerTask):
    """Seed the partition machine, and elect where there is no live leader (PartitionStateMachine.startup)."""

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        for partition in core.context.assignments:
            core.partitions.fire("startup", partition)
        return [ElectOfflinePartitions()]


@dataclass(frozen=True)
class EndFailover(ControllerTask):
    """Become active, and handle what was requested meanwhile."""

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        core.lives.fire("failover", core.controller_id)
        core.events.append(PreferredElectionZnodeChange())
        if not core.deletes_topics:
            core.events.append(TopicDeletion())
        return []


FAIL_OVER: tuple[ControllerTask, ...] = (DeleteNotifications(), ReadEverything())
"""The first tasks of a newly elected controller, in Kafka's order; what it reads adds the others."""


@dataclass(frozen=True)
class StartMachines(ControllerEvent):
    """Run the start-up of both state machines on what the controller knows (ReplicaStateMachine and PartitionStateMachine.startup).

    A fail-over does it by itself; this is for callers that have put brokers, assignments and leadership into the context.
    """

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        for machine in (core.replicas, core.partitions):
            for entity in machine.entities():
                machine.fire("shutdown", *entity)
        return [StartReplicaMachine(), StartPartitionMachine()]
