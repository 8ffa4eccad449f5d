"""Topic deletion: a controller ends a topic's partitions, has its replicas deleted, and then deletes its znodes.

Topics are named in /admin/delete_topics. One with a dead replica or a reassignment is ineligible until that ends. Nothing is lost
with the controller: the next one reads the same znodes, and begins again.

Source: Kafka 2.8 TopicDeletionManager.scala, KafkaController.scala (processTopicDeletion,
processTopicDeletionStopReplicaResponseReceived).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.state_changes import change_partitions, change_replicas
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import Delete, NoNode, NotEmpty
from kafka_spec.spec.decisions.deletion import (
    Resumption,
    answer_is_dropped,
    deletion_waits_for_reassignment,
    failure_halts_deletion,
    name_is_kept,
    resumed,
    started_by_deletion,
)
from kafka_spec.spec.decisions.variants import DeletionOfReassigned, DeletionThread
from kafka_spec.spec.language.domain import BrokerSet, first_brokers
from kafka_spec.spec.machines.replica import ReplicaState

# ---------------------------------------------------------------------------------------------------------------------
# Events


@dataclass(frozen=True)
class TopicDeletion(ControllerEvent):
    """/admin/delete_topics may have changed: queue the topics that it names; requests for unknown topics are dropped."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context = core.context
        named = core.zk.read_deletions()
        known = [topic for topic in named if topic in context.topics and core.deletes_topics]
        dropped = delete_paths(znodes.delete_topic(topic) for topic in named if topic not in known)
        queue_for_deletion(core, known)
        return [*dropped, *([ResumeDeletions()] if context.queued_for_deletion else [])]


@dataclass(frozen=True)
class ReplicasDeleted(ControllerEvent):
    """A broker has answered a StopReplica that deletes: with a code for each partition, all of which failed if `error` is set."""

    broker: int
    error: ErrorCode
    partitions: Mapping[TopicPartition, ErrorCode]
    ends_with_controller = True

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Take the answer; replicas that were not deleted make their topics ineligible, in some eras."""
        context, broker = core.context, self.broker
        answers = {p: code for p, code in self.partitions.items() if context.is_queued_for_deletion(p.topic)}
        failed = [p for p, code in answers.items() if (code if self.error == ErrorCode.NONE else self.error)]
        if not answers:
            return []
        hindered = [p for p in failed if failure_halts_deletion(int(context.is_online(broker, p)), core.k.failed_deletions)]
        mark_ineligible(core, {p.topic for p in hindered})
        return [
            *change_replicas("replica_deletion_ineligible", [(p, broker) for p in failed]),
            *change_replicas("replica_deletion_successful", [(p, broker) for p in answers if p not in failed]),
            ResumeDeletions(),
        ]


@dataclass(frozen=True)
class RunDeletionThread(ControllerEvent):
    """The thread that deletes topics runs, in eras that have one (DeleteTopicsThread)."""

    def handle(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Delete what can be deleted now; the thread then waits until it is woken."""
        if not core.context.deletion_awake:
            return []
        core.context.deletion_awake = False
        return consider_deletions(core)


# ---------------------------------------------------------------------------------------------------------------------
# What makes topics ineligible, and eligible again


def queue_for_deletion(core: ControllerCore, topics: Iterable[str]) -> None:
    """Queue topics for deletion; those with a reassignment under way are not queued before it ends (`reassignment_ended`).

    Kafka up to 3.9 means to queue them as ineligible. It marks before it queues, and only queued topics can be marked, so it
    deletes in the middle of a reassignment; so do its eras here. Were they marked, each could wait for the other: queued topics
    get no leader, and without a leader no reassignment ends.
    """
    context = core.context
    moving = {partition.topic for partition in context.targets}
    for topic in topics:
        if deletion_waits_for_reassignment(int(topic in moving), core.k.deletion_of_reassigned):
            context.deleted_after_reassignment.add(topic)
        elif not context.is_queued_for_deletion(topic):
            core.deletions.fire("queue_topic_deletion", topic)


def reassignment_ended(core: ControllerCore, topic: str) -> None:
    """Have the topics to be deleted read again, if one of them has waited for this reassignment."""
    if topic in core.context.deleted_after_reassignment:
        core.context.deleted_after_reassignment.discard(topic)
        core.events.append(TopicDeletion())


def mark_ineligible(core: ControllerCore, topics: Iterable[str]) -> None:
    """Mark those of the topics that are queued as ineligible for deletion (markTopicIneligibleForDeletion)."""
    for topic in sorted(topics):
        if core.context.is_queued_for_deletion(topic):
            core.deletions.fire("mark_topic_ineligible", topic)


def fail_deletions(core: ControllerCore, replicas: Iterable[tuple[TopicPartition, int]]) -> list[ControllerTask]:
    """Return the tasks after replicas of queued topics could not be deleted (failReplicaDeletion); the topics are ineligible."""
    failed = [(p, broker) for p, broker in replicas if core.context.is_queued_for_deletion(p.topic)]
    mark_ineligible(core, {partition.topic for partition, _ in failed})
    return [*change_replicas("replica_deletion_ineligible", failed), ResumeDeletions()] if failed else []


def drop_late_answers(core: ControllerCore, brokers: Iterable[int]) -> None:
    """Drop answers of brokers that were removed: another process of the broker may have to delete the replica again."""
    gone = set(brokers)
    for event in [event for event in core.events if isinstance(event, ReplicasDeleted)]:
        if answer_is_dropped(int(event.broker in gone), core.k.late_answers):
            core.events.remove(event)


def resume_deletions_of(core: ControllerCore, topics: Iterable[str]) -> list[ControllerTask]:
    """Return the task that tries again to delete those of the topics that are queued (resumeDeletionForTopics)."""
    queued = sorted(topic for topic in topics if core.context.is_queued_for_deletion(topic))
    for topic in queued:
        core.deletions.fire("resume_topic_deletion", topic)
    return [ResumeDeletions()] if queued else []


# ---------------------------------------------------------------------------------------------------------------------
# The work


class Replicas:
    """The replicas of some partitions, numbered by their places, so that sets of them are those of spec/decisions/deletion.py."""

    def __init__(self, core: ControllerCore, partitions: Iterable[TopicPartition]) -> None:
        context = core.context
        self.every = sorted(((p, broker) for p in partitions for broker in context.assignments[p]), key=lambda one: one[1])
        self.places = first_brokers(len(self.every))
        self.live = BrokerSet.of(place for place, (p, broker) in enumerate(self.every) if context.is_online(broker, p))
        self._states = [core.replicas.state_of(*one) for one in self.every]

    def of(self, state: ReplicaState) -> BrokerSet:
        """Return the set of the replicas in a state."""
        return BrokerSet.of(place for place, one in enumerate(self._states) if one == state)

    def named(self, places: int) -> list[tuple[TopicPartition, int]]:
        """Return the replicas of a set."""
        return [self.every[place] for place in BrokerSet(places)]


@dataclass(frozen=True)
class ResumeDeletions(ControllerTask):
    """Decide for each queued topic what comes next (resumeDeletions), or wake the thread that does, in eras that have one."""

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        if core.k.deletion_thread == DeletionThread.NONE:
            return consider_deletions(core)
        core.context.deletion_awake = True
        core.events.append(RunDeletionThread())
        return []


def consider_deletions(core: ControllerCore) -> list[ControllerTask]:
    """Return for each queued topic what comes next: its deletion is completed, starts, or waits."""
    context = core.context
    completed: list[ControllerTask] = []
    retried: list[tuple[TopicPartition, int]] = []
    starting: list[str] = []
    for topic, partitions in context.partitions_of(context.queued_for_deletion).items():
        replicas = Replicas(core, partitions)
        step, again = resumed(
            replicas.places,
            replicas.of(ReplicaState.DELETION_STARTED),
            replicas.of(ReplicaState.DELETION_SUCCESSFUL),
            replicas.of(ReplicaState.DELETION_INELIGIBLE),
            int(context.deletion_is_halted(topic)),
        )
        retried += replicas.named(again)
        if step == Resumption.COMPLETE:
            completed.append(CompleteDeletion(topic))
        elif step == Resumption.START:
            starting.append(topic)
    start: list[ControllerTask] = [StartDeletions(tuple(starting))] if starting else []
    return [*completed, *change_replicas("offline_replica", retried), *start]


@dataclass(frozen=True)
class StartDeletions(ControllerTask):
    """End the partitions of topics, and have their replicas deleted (onTopicDeletion)."""

    topics: tuple[str, ...]

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        context = core.context
        partitions = context.partitions_of(self.topics)
        ending = [p for topic in partitions if not context.deletion_has_begun(topic) for p in partitions[topic]]
        for topic in self.topics:
            core.deletions.fire("begin_topic_deletion", topic)
        return [
            *change_partitions("offline_partition", ending),
            *change_partitions("non_existent_partition", ending),
            DeleteReplicas(tuple(p for held in partitions.values() for p in held)),
        ]


@dataclass(frozen=True)
class DeleteReplicas(ControllerTask):
    """Take partitions out of the brokers' caches, and ask live brokers to delete the replicas (onPartitionDeletion).

    Replicas of dead brokers are ineligible, and so are their topics.
    """

    partitions: tuple[TopicPartition, ...]

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        core.send_metadata(core.context.live, self.partitions)
        replicas = Replicas(core, self.partitions)
        asked, dead = started_by_deletion(replicas.places, replicas.live, replicas.of(ReplicaState.DELETION_SUCCESSFUL))
        stopped, hindered = replicas.named(asked), replicas.named(dead)
        mark_ineligible(core, {partition.topic for partition, _ in hindered})
        return [
            *change_replicas("replica_deletion_ineligible", hindered),
            *change_replicas("offline_replica", stopped),
            *change_replicas("replica_deletion_started", stopped),
        ]


@dataclass(frozen=True)
class CompleteDeletion(ControllerTask):
    """End the replicas of a topic, delete its znodes one by one, its request last, and forget it (completeDeleteTopic)."""

    topic: str

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        replicas = Replicas(core, core.context.partitions_of([self.topic])[self.topic]).every
        return [
            *change_replicas("non_existent_replica", replicas),
            *delete_paths(core.zk.tree(znodes.topic(self.topic))),
            *delete_paths([znodes.topic_config(self.topic), znodes.delete_topic(self.topic)]),
            ForgetTopic(self.topic),
        ]


@dataclass
class DeletePaths(ControllerTask):
    """Delete znodes, one in each step; missing ones are skipped."""

    todo: deque[str] = field(default_factory=deque)

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        """Delete the next znode; one that has a child by now is left until its children are deleted."""
        path = self.todo[0]
        try:
            with suppress(NoNode):
                core.zk.write(Delete(path))
        except NotEmpty:
            self.todo.extendleft(reversed(core.zk.tree(path)[:-1]))
            return [self]
        self.todo.popleft()
        return [self] if self.todo else []


def delete_paths(paths: Iterable[str]) -> list[ControllerTask]:
    """Return the task that deletes znodes, in this order; none if there are none."""
    todo = deque(paths)
    return [DeletePaths(todo)] if todo else []


@dataclass(frozen=True)
class ForgetTopic(ControllerTask):
    """Forget a topic that is deleted (removeTopic)."""

    topic: str

    def run(self, core: ControllerCore) -> Sequence[ControllerTask]:
        forget_topic(core, self.topic)
        return []


def forget_topic(core: ControllerCore, topic: str) -> None:
    """Forget a topic that is gone (removeTopic).

    Some eras keep its name among those that are ineligible for deletion, and that its partitions are being reassigned.
    """
    forgets = core.k.deletion_of_reassigned == DeletionOfReassigned.AFTERWARDS
    for partition in core.context.partitions_of([topic])[topic]:
        if forgets:
            core.reassignments.fire("resign", partition)
            core.context.targets.pop(partition, None)
    if core.context.is_queued_for_deletion(topic):
        is_kept = name_is_kept(int(core.context.deletion_is_halted(topic)), core.k.ineligible_names)
        core.deletions.fire("keep_ineligible_name" if is_kept else "remove_topic", topic)
    core.context.forget_topic(topic)
