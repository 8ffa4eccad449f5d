"""Topics are created, partitions are added, leaders change ISRs.

Source: Kafka 2.8 KafkaController.scala (processTopicChange, processPartitionModifications, onNewPartitionCreation,
processIsrChangeNotification).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_spec.impl.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.controller.state_changes import change_partitions, change_replicas
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.protocol.topic_partition import TopicPartition


@dataclass(frozen=True)
class TopicChange(ControllerEvent):
    """/brokers/topics may have changed: compare it with the known topics, and create the partitions of new ones."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """See the class."""
        context = core.context
        topics = set(core.session.children(znodes.TOPICS, watch=True))
        new = sorted(topics - context.topics)
        assignments = {p: replicas for topic in new for p, replicas in core.zk.read_topic(topic).items()}
        for topic in context.topics - topics:
            for partition in [p for p in context.assignments if p.topic == topic]:
                del context.assignments[partition]
                context.leadership.pop(partition, None)
        context.topics = topics
        return _create_partitions(core, assignments)


@dataclass(frozen=True)
class PartitionModifications(ControllerEvent):
    """A topic's znode may have changed: create the added partitions; changes to the others are ignored."""

    topic: str

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """See the class."""
        if self.topic not in core.context.topics:
            return []
        assignments = core.zk.read_topic(self.topic)
        return _create_partitions(core, {p: replicas for p, replicas in assignments.items() if p not in core.context.assignments})


def _create_partitions(core: ControllerCore, assignments: Mapping[TopicPartition, tuple[int, ...]]) -> Sequence[ControllerTask]:
    """Move partitions and replicas to the states New and Online (onNewPartitionCreation)."""
    core.context.assignments.update(assignments)
    replicas = [(p, broker) for p, assigned in assignments.items() for broker in assigned]
    return [
        *change_partitions("new_partition", list(assignments)),
        *change_replicas("new_replica", replicas),
        *change_partitions("online_partition", list(assignments)),
        *change_replicas("online_replica", replicas),
    ]


@dataclass(frozen=True)
class IsrChangeNotification(ControllerEvent):
    """Leaders may have changed ISRs: read the states that they name, send them to all brokers, delete the notifications."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """See the class."""
        context = core.context
        notifications = core.zk.read_notifications(znodes.ISR_CHANGE_NOTIFICATION, znodes.decode_partitions)
        named = dict.fromkeys(p for partitions in notifications.values() for p in partitions or ())
        states = {p: state for p in named if p in context.assignments and (state := core.zk.read_state(p)) is not None}
        if states:
            context.leadership.update(states)
            core.send_metadata(context.live, states)
        core.zk.delete_all(notifications)
        return []
