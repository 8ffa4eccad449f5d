"""Controlled shutdown: before a broker stops, its leadership moves to other brokers.

Source: Kafka 2.8 KafkaController.scala (doControlledShutdown).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.state_changes import change_partitions, change_replicas
from kafka_spec.spec.decisions.election import ShutdownPart, Strategy, part_in_shutdown
from kafka_spec.spec.decisions.fencing import shutdown_is_of_registration
from kafka_spec.spec.language.domain import singleton


@dataclass(frozen=True)
class ControlledShutdown(ControllerEvent):
    """A broker requests its shutdown; `reply` receives an error, or the partitions that it still leads."""

    broker: int
    broker_epoch: int
    reply: Callable[[ErrorCode, tuple[TopicPartition, ...]], object]

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Move the broker's leadership, and take its other replicas offline."""
        context, broker = core.context, self.broker
        known_epoch = context.broker_epochs.get(broker, self.broker_epoch)
        if not shutdown_is_of_registration(self.broker_epoch, known_epoch, core.k.broker_epoch_checked):
            self.reply(ErrorCode.STALE_BROKER_EPOCH, ())
            return []
        if broker not in context.live:
            self.reply(ErrorCode.BROKER_NOT_AVAILABLE, ())
            return []
        context.stopping |= singleton(broker)
        kept = [(p, replicas) for p, replicas in context.assignments.items() if not context.is_queued_for_deletion(p.topic)]
        known = [(p, replicas) for p, replicas in kept if p in context.leadership]
        parts = {p: part_in_shutdown(replicas, context.leadership[p].leader, broker) for p, replicas in known}
        led = [p for p, part in parts.items() if part == ShutdownPart.LEADERSHIP_MOVES]
        followed = [(p, broker) for p, part in parts.items() if part == ShutdownPart.STOPS]
        tasks = change_partitions("online_partition", led, Strategy.CONTROLLED_SHUTDOWN)
        if followed:
            tasks += [StopFollowers(tuple(followed)), *change_replicas("offline_replica", followed)]
        return [*tasks, AnswerShutdown(self)]

    def refuse(self) -> None:
        """Answer that the controller has moved, which Kafka encodes as STALE_CONTROLLER_EPOCH."""
        self.reply(ErrorCode.STALE_CONTROLLER_EPOCH, ())


@dataclass(frozen=True)
class StopFollowers(ControllerTask):
    """Send a broker that shuts down StopReplica for the replicas that follow, before the ISRs shrink."""

    replicas: tuple[tuple[TopicPartition, int], ...]

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        core.batch.begin()
        for partition, replica in self.replicas:
            core.batch.add_stop_replica(replica, partition)
        core.batch.send()
        return []


@dataclass(frozen=True)
class AnswerShutdown(ControllerTask):
    """Answer the partitions that the broker still leads, of those with other replicas."""

    event: ControlledShutdown

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context, broker = core.context, self.event.broker
        kept = [(p, held) for p, held in context.leadership.items() if not context.is_queued_for_deletion(p.topic)]
        led = (p for p, held in kept if held.leader == broker and len(context.assignments[p]) > 1)
        self.event.reply(ErrorCode.NONE, tuple(led))
        return []

    def refuse(self) -> None:
        self.event.refuse()
