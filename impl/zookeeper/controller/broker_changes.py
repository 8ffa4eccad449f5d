"""Brokers start, fail and bounce; log directories fail.

Source: Kafka 2.8 KafkaController.scala (processBrokerChange, onBrokerStartup, onBrokerFailure, onReplicasBecomeOffline,
processLogDirEventNotification, processLeaderAndIsrResponseReceived).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.state_change_log import LogLevel
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.deletion import drop_late_answers, fail_deletions, resume_deletions_of
from kafka_spec.impl.zookeeper.controller.reassignment import resume_for_started
from kafka_spec.impl.zookeeper.controller.state_changes import (
    ElectAgain,
    ElectOfflinePartitions,
    change_partitions,
    change_replicas,
)
from kafka_spec.impl.zookeeper.controller.unassigned import StopUnassigned
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.decisions.election import leader_is_lost
from kafka_spec.spec.decisions.fencing import has_bounced
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.machines.partition import PartitionState


@dataclass(frozen=True)
class BrokerChange(ControllerEvent):
    """/brokers/ids may have changed: compare it with the brokers known, for new, gone and bounced ones."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        brokers, context = core.zk.read_brokers(), core.context
        new = {n: b for n, b in brokers.items() if n not in context.live}
        known = context.broker_epochs
        bounced = {n: b for n, b in brokers.items() if n in context.live and has_bounced(b[1], known[n], core.k.bounces_noticed)}
        dead = sorted(set(context.live) - set(brokers))
        drop_late_answers(core, (*bounced, *dead))
        for number in (*new, *bounced):
            core.channels.open(number)
        for number in dead:
            core.channels.close(number)
        tasks: list[ControllerTask] = []
        if new:
            tasks.append(StartBrokers(new))
        if bounced:
            tasks += [FailBrokers(tuple(bounced)), StartBrokers(bounced)]
        if dead:
            tasks.append(FailBrokers(tuple(dead)))
        return tasks


@dataclass(frozen=True)
class StartBrokers(ControllerTask):
    """Handle started brokers: send UpdateMetadata to all, put their replicas online, then try to elect (onBrokerStartup).

    Reassignments to one of them are resumed, and deletions that waited for one are tried again.

    `registrations` maps a broker's number to its registration and epoch.
    """

    registrations: Mapping[int, tuple[BrokerRegistration, int]]

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context, before = core.context, list(core.context.live)
        for number, (broker, epoch) in self.registrations.items():
            context.live[number], context.broker_epochs[number] = broker, epoch
            context.offline_dirs.pop(number, None)
        core.send_metadata(before, [])
        core.send_metadata(self.registrations, context.leadership)
        replicas = context.replicas_on(self.registrations)
        return [
            *change_replicas("online_replica", replicas),
            StopUnassigned(BrokerSet.of(self.registrations)),
            ElectOfflinePartitions(),
            *resume_for_started(core, self.registrations),
            *resume_deletions_of(core, {partition.topic for partition, _ in replicas}),
        ]


@dataclass(frozen=True)
class FailBrokers(ControllerTask):
    """Handle failed brokers (onBrokerFailure)."""

    brokers: tuple[int, ...]

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        for number in self.brokers:
            core.context.live.pop(number, None)
            core.context.broker_epochs.pop(number, None)
            core.context.offline_dirs.pop(number, None)
        core.context.stopping &= ~BrokerSet.of(self.brokers)
        return _replicas_gone(core, core.context.replicas_on(self.brokers))


def _replicas_gone(core: ControllerCore, replicas: Sequence[tuple[TopicPartition, int]]) -> Sequence[ControllerTask]:
    """Partitions without a live leader go offline, an election is tried, then the replicas go offline (onReplicasBecomeOffline).

    All brokers first receive an UpdateMetadata with the live brokers, as in the model. Kafka sends it with the LeaderAndIsr
    requests that follow, and in a request of its own, at the end, only if there was no partition to elect for.
    """
    context, rule = core.context, core.k.offline_leaders
    led = [(p, held.leader) for p, held in context.leadership.items() if not context.is_queued_for_deletion(p.topic)]
    lost = [p for p, leader in led if leader_is_lost(leader, context.online(p), context.stopping, rule)]
    unled = [p for p in lost if core.partitions.state_of(p) != PartitionState.NON_EXISTENT]
    core.send_metadata(core.context.live, [])
    return [
        *change_partitions("offline_partition", unled),
        ElectOfflinePartitions(),
        *change_replicas("offline_replica", [one for one in replicas if not context.is_queued_for_deletion(one[0].topic)]),
        ElectAgain(),
        *fail_deletions(core, replicas),
    ]


@dataclass(frozen=True)
class LeaderAndIsrResponseReceived(ControllerEvent):
    """A broker has answered a LeaderAndIsr: with one error for all partitions, or one for each.

    Replicas with a storage error go offline. Those that answer without an error are online again.
    """

    broker: int
    error: ErrorCode
    partitions: Mapping[TopicPartition, ErrorCode]

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        if self.error != ErrorCode.NONE:
            core.note(LogLevel.ERROR, f"Received error {self.error.name} in LeaderAndIsr response from broker {self.broker}")
            return []
        known = core.context.offline_dirs.setdefault(self.broker, set())
        lost = [p for p, code in self.partitions.items() if code == ErrorCode.KAFKA_STORAGE_ERROR and p not in known]
        known.difference_update(p for p, code in self.partitions.items() if code == ErrorCode.NONE)
        known.update(lost)
        if not lost:
            return []
        core.note(LogLevel.INFO, f"Mark replicas {','.join(map(str, lost))} on broker {self.broker} as offline")
        return _replicas_gone(core, [(p, self.broker) for p in lost])


@dataclass(frozen=True)
class LogDirEventNotification(ControllerEvent):
    """Brokers may have lost log directories: send them LeaderAndIsr for all their replicas; the answer names the lost ones.

    Replicas known to be lost are skipped. Kafka would treat them as online until the broker answers again.
    """

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context = core.context
        notifications = core.zk.read_notifications(znodes.LOG_DIR_EVENT_NOTIFICATION, znodes.decode_log_dir_event)
        brokers = dict.fromkeys(broker for broker in notifications.values() if broker in context.live)
        replicas = [(p, b) for b in brokers for p, assigned in context.assignments.items() if b in assigned]
        core.zk.delete_all(notifications)
        return change_replicas("online_replica", [(p, b) for p, b in replicas if p not in context.offline_dirs.get(b, ())])
