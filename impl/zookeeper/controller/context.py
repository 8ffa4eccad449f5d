"""A controller's memory.

Source: Kafka 2.8 ControllerContext.scala.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from kafka_spec.impl.machine import Running
from kafka_spec.impl.protocol.controller_requests import Leadership
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.decisions.election import members
from kafka_spec.spec.decisions.reassignment import PartitionAssignment
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet
from kafka_spec.spec.machines.topic_deletion import DeletionState


@dataclass
class ControllerContext:
    """The controller's memory: brokers, assignments, leadership; empty while the broker is not the controller.

    `live` has the registered brokers, `broker_epochs` their epochs; brokers that shut down are in both, and in `stopping`.
    `epoch_version` is the data version of /controller_epoch, which fences writes. `assignments` has the replicas of each partition,
    `adding` and `removing` those of them that a reassignment adds and removes, `targets` what partitions are being reassigned to
    (partitionsBeingReassigned); what /admin/reassign_partitions names of `planned` was read. `deletions` has the state of each
    topic's deletion; topics `deleted_after_reassignment` are not queued yet. `deletion_awake` says that the thread that deletes
    topics has work to do, in eras that have one. `topic_ids` has the ids of topics by name, if controllers use them.
    """

    epoch: int = 0
    epoch_version: int = 0
    live: dict[int, BrokerRegistration] = field(default_factory=dict)
    broker_epochs: dict[int, int] = field(default_factory=dict)
    stopping: BrokerSet = NO_BROKERS
    topics: set[str] = field(default_factory=set)
    topic_ids: dict[str, str] = field(default_factory=dict)
    assignments: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    adding: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    removing: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    leadership: dict[TopicPartition, Leadership] = field(default_factory=dict)
    targets: dict[TopicPartition, tuple[int, ...]] = field(default_factory=dict)
    planned: set[TopicPartition] = field(default_factory=set)
    deletions: Running[None] | None = None
    deletion_awake: bool = False
    deleted_after_reassignment: set[str] = field(default_factory=set)
    offline_dirs: dict[int, set[TopicPartition]] = field(default_factory=dict)

    def reset(self) -> None:
        """Clear the memory when the broker stops being the controller (resetContext)."""
        vars(self).update(vars(ControllerContext(deletions=self.deletions)))

    def is_online(self, broker: int, partition: TopicPartition) -> bool:
        """Whether a replica can lead: its broker is live and not shutting down, and its log directory is not lost."""
        return broker in self.live and broker not in self.stopping and partition not in self.offline_dirs.get(broker, ())

    def online(self, partition: TopicPartition) -> BrokerSet:
        """Return the brokers whose replicas can lead, assigned or not: an ISR may name a broker that is no longer assigned."""
        return BrokerSet.of(broker for broker in self.live if self.is_online(broker, partition))

    def assigned_online(self, partition: TopicPartition) -> BrokerSet:
        """Return the assigned brokers whose replicas can lead."""
        return self.online(partition) & members(self.assignments[partition])

    def assignment(self, partition: TopicPartition) -> PartitionAssignment:
        """Return the replicas of a partition, and which of them are being added and removed."""
        replicas = self.assignments.get(partition, ())
        return PartitionAssignment(replicas, self.adding.get(partition, ()), self.removing.get(partition, ()))

    def assign(self, partition: TopicPartition, assignment: PartitionAssignment) -> None:
        """Remember another assignment of a partition."""
        self.assignments[partition] = assignment.replicas
        for held, brokers in ((self.adding, assignment.adding), (self.removing, assignment.removing)):
            held.pop(partition, None)
            if brokers:
                held[partition] = brokers

    def partitions_of(self, topics: Iterable[str]) -> dict[str, list[TopicPartition]]:
        """Return the partitions of each of these topics, topics by name."""
        found: dict[str, list[TopicPartition]] = {topic: [] for topic in sorted(topics)}
        for partition in self.assignments:
            if partition.topic in found:
                found[partition.topic].append(partition)
        return found

    def is_to_be_deleted(self, topic: str) -> bool:
        """Whether a topic is queued for deletion, or will be when its reassignment has ended."""
        return self.is_queued_for_deletion(topic) or topic in self.deleted_after_reassignment

    def deletion_of(self, topic: str) -> DeletionState:
        """Return the controller's step in a topic's deletion."""
        return DeletionState.NOT_QUEUED if self.deletions is None else DeletionState(self.deletions.state_of(topic))

    def is_queued_for_deletion(self, topic: str) -> bool:
        """Whether a topic is queued for deletion (topicsToBeDeleted)."""
        return self.deletion_of(topic) not in (DeletionState.NOT_QUEUED, DeletionState.NAME_KEPT)

    def deletion_has_begun(self, topic: str) -> bool:
        """Whether a topic's deletion has begun (topicsWithDeletionStarted)."""
        return self.deletion_of(topic) in (DeletionState.STARTED, DeletionState.HALTED)

    def deletion_is_halted(self, topic: str) -> bool:
        """Whether a queued topic is ineligible for deletion now (topicsIneligibleForDeletion)."""
        return self.deletion_of(topic) in (DeletionState.INELIGIBLE, DeletionState.HALTED)

    @property
    def queued_for_deletion(self) -> list[str]:
        """The topics that are queued for deletion, by name."""
        known = () if self.deletions is None else self.deletions.entities()
        return sorted(str(topic) for (topic,) in known if self.is_queued_for_deletion(str(topic)))

    def forget_topic(self, topic: str) -> None:
        """Forget a topic's partitions, so that another one of that name begins without them (removeTopic).

        Kafka up to 3.9 does not forget its lost log directories.
        """
        for partition in self.partitions_of([topic])[topic]:
            self.assignments.pop(partition, None)
            self.leadership.pop(partition, None)
            for brokers in (self.adding, self.removing):
                brokers.pop(partition, None)
            for lost in self.offline_dirs.values():
                lost.discard(partition)
        for named in (self.topics, self.deleted_after_reassignment):
            named.discard(topic)
        self.topic_ids.pop(topic, None)

    def replicas_on(self, brokers: Iterable[int]) -> list[tuple[TopicPartition, int]]:
        """Return the replicas on some brokers, broker after broker."""
        return [(p, broker) for broker in sorted(brokers) for p, replicas in self.assignments.items() if broker in replicas]


def written(state: znodes.State, version: int) -> Leadership:
    """Return the leadership that a state znode of this version holds."""
    return Leadership(state.leader, state.leader_epoch, state.isr, version, state.controller_epoch)


def following(held: Leadership, leader: int, isr: tuple[int, ...]) -> Leadership:
    """Return the leadership under the next leader epoch."""
    return replace(held, leader=leader, isr=isr, leader_epoch=held.leader_epoch + 1)
