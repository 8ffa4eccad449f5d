"""Topics are created, partitions are added, leaders change ISRs, operators permit unclean elections.

Source: Kafka 2.8 KafkaController.scala (processTopicChange, processPartitionModifications, onNewPartitionCreation,
processIsrChangeNotification, processTopicUncleanLeaderElectionEnable).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from kafka_spec.impl.protocol.state_change_log import LogLevel
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.deletion import forget_topic
from kafka_spec.impl.zookeeper.controller.reassignment import PartitionIsrChange
from kafka_spec.impl.zookeeper.controller.state_changes import ElectOfflinePartitions, change_partitions, change_replicas
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import NoNode
from kafka_spec.spec.decisions.deletion import added_partitions_are_refused
from kafka_spec.spec.decisions.reassignment import PartitionAssignment


@dataclass(frozen=True)
class TopicChange(ControllerEvent):
    """/brokers/topics may have changed: compare it with the known topics, and create the partitions of new ones."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context = core.context
        topics = set(core.session.children(znodes.TOPICS, watch=True))
        new = sorted(topics - context.topics)
        assignments = {p: one for topic in new for p, one in core.zk.read_topic(topic).items()}
        for topic in sorted(context.topics - topics):
            forget_topic(core, topic)
        context.topics = topics
        return _create_partitions(core, assignments)


@dataclass(frozen=True)
class PartitionModifications(ControllerEvent):
    """A topic's znode may have changed: create the added partitions; changes to the others are ignored.

    Partitions added to a topic that is queued for deletion are refused: the znode gets its former content back, or up to 1.1
    they stay there unknown (KAFKA-6612).
    """

    topic: str

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context = core.context
        if self.topic not in context.topics:
            return []
        added = {p: one for p, one in core.zk.read_topic(self.topic).items() if p not in context.assignments}
        if not context.is_queued_for_deletion(self.topic):
            return _create_partitions(core, added)
        is_refused = added_partitions_are_refused(1, core.k.added_during_deletion)
        return [RestoreAssignment(self.topic)] if added and is_refused else []


@dataclass(frozen=True)
class RestoreAssignment(ControllerTask):
    """Write the assignment that the controller knows into a topic's znode, if it still exists."""

    topic: str

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context = core.context
        known = {p.partition: context.assignment(p) for p in context.partitions_of([self.topic])[self.topic]}
        core.note(LogLevel.WARN, f"Restoring the partition replica assignment of topic {self.topic}, which is being deleted")
        with suppress(NoNode):
            core.zk.write_assignments(self.topic, known, others=False)
        return []


def _create_partitions(core: ControllerCore, assignments: Mapping[TopicPartition, PartitionAssignment]) -> Sequence[ControllerTask]:
    """Move partitions and replicas to the states New and Online (onNewPartitionCreation)."""
    for partition, assignment in assignments.items():
        core.context.assign(partition, assignment)
    replicas = [(p, broker) for p, assigned in assignments.items() for broker in assigned.replicas]
    return [
        *change_partitions("new_partition", list(assignments)),
        *change_replicas("new_replica", replicas),
        *change_partitions("online_partition", list(assignments)),
        *change_replicas("online_replica", replicas),
    ]


@dataclass(frozen=True)
class TopicUncleanElectionEnabled(ControllerEvent):
    """A topic's configuration permits leaders from outside the ISR now: elect where there is none."""

    topic: str

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        return [ElectOfflinePartitions(self.topic)]


@dataclass(frozen=True)
class IsrChangeNotification(ControllerEvent):
    """Leaders may have changed ISRs: read the states that they name, send them to all brokers, delete the notifications.

    Reassignments that wait for this are looked at next.
    """

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context = core.context
        notifications = core.zk.read_notifications(znodes.ISR_CHANGE_NOTIFICATION, znodes.decode_partitions)
        named = dict.fromkeys(p for partitions in notifications.values() for p in partitions or ())
        states = {p: state for p in named if p in context.assignments and (state := core.zk.read_state(p)) is not None}
        if states:
            context.leadership.update(states)
            core.send_metadata(context.live, states)
        core.zk.delete_all(notifications)
        core.events.extend(PartitionIsrChange(p) for p in states if p in context.targets)
        return []
