"""The remaining work of a controller's event: tasks on the agenda of the implementation, a step and sets of brokers in the model.

`written` and `read` are inverse to each other on agendas between two steps of the model. Pending answers to callers
(`AnswerShutdown`, `AnswerElection`) have no counterpart in the model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from kafka_spec.conformance.replay.request_mapping import PARTITIONS
from kafka_spec.conformance.replay.request_mapping import TOPIC as NAME
from kafka_spec.impl.protocol.registration import BrokerRegistration
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.broker_changes import FailBrokers, StartBrokers
from kafka_spec.impl.zookeeper.controller.controlled_shutdown import AnswerShutdown, StopFollowers
from kafka_spec.impl.zookeeper.controller.controller_election import IncrementEpoch
from kafka_spec.impl.zookeeper.controller.core import ControllerTask
from kafka_spec.impl.zookeeper.controller.deletion import DeletePaths, ForgetTopic, ResumeDeletions, StartDeletions, delete_paths
from kafka_spec.impl.zookeeper.controller.failover import FAIL_OVER, DeleteNotifications, EndFailover, StartPartitionMachine
from kafka_spec.impl.zookeeper.controller.preferred_election import AnswerElection, EndPreferredElection
from kafka_spec.impl.zookeeper.controller.reassignment import (
    REMOVING,
    TRIGGERS,
    AnswerReassignments,
    BeginReassignment,
    Reassign,
    ResumeReassignments,
)
from kafka_spec.impl.zookeeper.controller.state_changes import ChangePartitions, ChangeReplicas, ElectAgain
from kafka_spec.impl.zookeeper.controller.topic_changes import RestoreAssignment
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.decisions.election import Strategy, election_is_due
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, including
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.reassignment import ReassignmentState
from kafka_spec.spec.zookeeper.event_stages import Stage
from kafka_spec.spec.zookeeper.machines import ControllerState
from kafka_spec.spec.zookeeper.state import ControllerStep, Resuming

WITHOUT_MEANING = (
    ElectAgain,
    StopFollowers,
    StartPartitionMachine,
    EndFailover,
    AnswerShutdown,
    AnswerElection,
    AnswerReassignments,
    EndPreferredElection,
    ForgetTopic,
)
"""Tasks without a counterpart in the model: they follow from the other tasks, or answer a caller."""
WRITING = ("supplant", "record", "extend", "move_leader", "finish", "clear")
"""The triggers of the steps of a reassignment that use ZooKeeper."""
STEPS: Mapping[type, ControllerStep] = {
    ChangePartitions: ControllerStep.ELECT,
    ChangeReplicas: ControllerStep.REMOVE,
    Reassign: ControllerStep.REASSIGN,
    RestoreAssignment: ControllerStep.RESTORE,
}
"""The step of the model that begins with a task of this class."""
TOPIC, CONFIG, MARK = znodes.topic(NAME), znodes.topic_config(NAME), znodes.delete_topic(NAME)
ZNODES: Mapping[str, ControllerStep] = {
    **dict.fromkeys(map(znodes.state, PARTITIONS), ControllerStep.DELETE_STATE),
    TOPIC: ControllerStep.DELETE_TOPIC,
    CONFIG: ControllerStep.DELETE_CONFIG,
    MARK: ControllerStep.DELETE_MARK,
}
"""The step of the model that deletes a znode, in the order of the steps; the parents of a state znode belong to its step."""


@dataclass
class PartitionWork:
    """What remains to be done about one partition, in fields of spec.control.state.PartitionContext."""

    strategy: int = Strategy.OFFLINE
    creating: int = 0
    leaving: BrokerSet = NO_BROKERS
    deleting: BrokerSet = NO_BROKERS
    reassignment_resumes: int = 0


@dataclass
class RemainingWork:
    """The remaining work in fields of the model: of spec.control.state.Controller and Context.

    `registrations` holds the started brokers that are not handled yet, with the registrations and epochs that were read.
    """

    partitions: Sequence[PartitionWork]
    step: int = ControllerStep.IDLE
    turn: int = 0
    bounced: BrokerSet = NO_BROKERS
    rejoining: BrokerSet = NO_BROKERS
    failed: BrokerSet = NO_BROKERS
    resuming: int = Resuming.NOTHING
    registrations: dict[int, tuple[BrokerRegistration, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class KnownPartition:
    """What a controller knows of a partition that its remaining work is about."""

    replicas: Sequence[int]
    state: PartitionState
    reassignment: ReassignmentState
    target: Sequence[int]
    has_state_znode: bool


def is_due(task: ControllerTask) -> bool:
    """Whether a step of the model begins with this task: it reads and possibly writes a znode of the topic."""
    if isinstance(task, ChangePartitions):
        return task.trigger == "online_partition"
    if isinstance(task, Reassign):
        return task.trigger in WRITING
    if isinstance(task, DeletePaths):
        return task.todo[0] in ZNODES
    return isinstance(task, RestoreAssignment) or (isinstance(task, ChangeReplicas) and task.trigger == "offline_replica")


def written(
    rest: RemainingWork,
    known: Sequence[KnownPartition],
    *,
    life: ControllerState,
    seeded: bool,
    leaves_alive: bool,
    is_queued: bool,
) -> list[ControllerTask]:
    """Return the tasks of remaining work, for a controller in this state, in the order of spec/zookeeper/event_stages.py.

    `known` says what the controller knows of each partition; `seeded`, during fail-over, that the partition machine was started;
    `leaves_alive` that the leaving brokers are in a controlled shutdown; `is_queued` that the topic is queued for deletion.
    """
    if life == ControllerState.ELECTING:
        return [IncrementEpoch()]
    if rest.step == ControllerStep.READ:
        return list(FAIL_OVER)
    if rest.step == ControllerStep.RESTORE:
        return [RestoreAssignment(NAME)]
    removes = any(one.reassignment in REMOVING for one in known)
    elects_again = life == ControllerState.ACTIVE and not leaves_alive and not removes and not is_queued
    left = {
        Stage.ELECT: _election(rest, known, is_queued=is_queued),
        Stage.REMOVE: _removals(rest, elects_again=elects_again),
        Stage.REASSIGN: _reassignments(rest, known, life),
        Stage.FAIL_BOUNCED: _fail(rest.bounced),
        Stage.START_BOUNCED: _start(rest, rest.bounced | rest.rejoining),
        Stage.FAIL_DEAD: _fail(rest.failed),
    }
    stopped = _replicas([work.deleting for work in rest.partitions])
    if stopped:
        left[Stage.ASK_TO_DELETE] = [ChangeReplicas("replica_deletion_started", stopped)]
    left[Stage.CONSIDER_DELETION] = _deletion(rest, known, is_queued=is_queued)
    if life == ControllerState.LOADING:
        left[Stage.START_PARTITION_MACHINE] = [] if seeded else [StartPartitionMachine()]
        left[Stage.BE_ACTIVE] = [EndFailover()]
    return [task for stage in Stage for task in left.get(stage, ())]


def _election(rest: RemainingWork, known: Sequence[KnownPartition], *, is_queued: bool) -> list[ControllerTask]:
    """Return the elections that are asked for, from the partition on whose turn it is, and the end of a creation."""
    tasks: list[ControllerTask] = []
    if rest.step == ControllerStep.ELECT:
        due = [n for n in range(rest.turn, len(known)) if n == rest.turn or _is_due(rest, known, n, is_queued=is_queued)]
        for (strategy, _), numbers in groupby(due, lambda n: _batch(rest, known, n)):
            tasks.append(_elects(strategy, [PARTITIONS[n] for n in numbers]))
    created = _replicas(
        [BrokerSet.of(one.replicas) if work.creating else NO_BROKERS for work, one in zip(rest.partitions, known, strict=True)]
    )
    return [*tasks, *([ChangeReplicas("online_replica", created)] if created else [])]


def _is_due(rest: RemainingWork, known: Sequence[KnownPartition], number: int, *, is_queued: bool) -> bool:
    asked_for = [work.strategy != Strategy.OFFLINE or bool(work.creating) for work in rest.partitions]
    if any(asked_for) and not asked_for[number]:
        return False
    return not is_queued and election_is_due(known[number].state, rest.partitions[number].strategy)


def _batch(rest: RemainingWork, known: Sequence[KnownPartition], number: int) -> tuple[int, int]:
    """Return what distinguishes an election's change of states from others: the strategy, and of preferred leaders the leader."""
    strategy = rest.partitions[number].strategy
    return strategy, known[number].replicas[0] if strategy == Strategy.PREFERRED else 0


def _elects(strategy: int, partitions: Sequence[TopicPartition]) -> ControllerTask:
    if strategy == Strategy.UNCLEAN:
        return ChangePartitions("online_partition", deque(partitions), Strategy.OFFLINE, unclean=True)
    return ChangePartitions("online_partition", deque(partitions), Strategy(strategy))


def _replicas(brokers: Sequence[BrokerSet]) -> deque[tuple[TopicPartition, int]]:
    """Return the replicas on these brokers of each partition."""
    return deque((PARTITIONS[number], broker) for number, of_one in enumerate(brokers) for broker in BrokerSet(of_one))


def _removals(rest: RemainingWork, *, elects_again: bool) -> list[ControllerTask]:
    leaving = _replicas([work.leaving for work in rest.partitions])
    if not leaving:
        return []
    removals: list[ControllerTask] = [ChangeReplicas("offline_replica", leaving)]
    if any(work.strategy == Strategy.CONTROLLED_SHUTDOWN for work in rest.partitions):
        removals = [StopFollowers(tuple(leaving)), *removals]
    return [*removals, ElectAgain()] if elects_again else removals


def _reassignments(rest: RemainingWork, known: Sequence[KnownPartition], life: ControllerState) -> list[ControllerTask]:
    """Return the steps of the reassignments that this event continues, and those that it resumes.

    A fail-over that has begun with one has read the targets of all.
    """
    tasks: list[ControllerTask] = []
    if life == ControllerState.LOADING and all(one.reassignment == ReassignmentState.NONE for one in known):
        resumed = tuple(PARTITIONS[number] for number, work in enumerate(rest.partitions) if work.reassignment_resumes)
        return [ResumeReassignments(resumed)] if resumed else []
    for number, (work, one) in enumerate(zip(rest.partitions, known, strict=True)):
        if (rest.step == ControllerStep.REASSIGN and rest.turn == number) or one.reassignment in REMOVING:
            tasks.append(Reassign(PARTITIONS[number], TRIGGERS[one.reassignment]))
        elif work.reassignment_resumes:
            tasks.append(BeginReassignment(PARTITIONS[number], tuple(one.target), "reassign"))
    return tasks


def _deletion(rest: RemainingWork, known: Sequence[KnownPartition], *, is_queued: bool) -> list[ControllerTask]:
    """Return the tasks of the topic's deletion; without a queued topic, only a request for it can be left to delete."""
    if rest.resuming:
        return [ResumeDeletions() if rest.resuming == Resuming.CONSIDER else StartDeletions((NAME,))]
    if not ControllerStep.DELETE_STATE <= rest.step <= ControllerStep.DELETE_MARK:
        return []
    left: list[str] = []
    if rest.step == ControllerStep.DELETE_STATE:
        there = [PARTITIONS[number] for number, one in enumerate(known) if one.has_state_znode]
        for partition in there:
            left += [znodes.state(partition), znodes.partition_parents(partition)[1]]
        left += [znodes.partition_parents(PARTITIONS[0])[0]]
    left += [path for path, step in ZNODES.items() if step >= rest.step and step != ControllerStep.DELETE_STATE]
    return [*delete_paths(left), *([ForgetTopic(NAME)] if is_queued else [])]


def _fail(brokers: BrokerSet) -> list[ControllerTask]:
    return [FailBrokers(tuple(BrokerSet(brokers)))] if brokers else []


def _start(rest: RemainingWork, brokers: BrokerSet) -> list[ControllerTask]:
    return [StartBrokers({broker: rest.registrations[broker] for broker in BrokerSet(brokers)})] if brokers else []


def read(agenda: Iterable[ControllerTask], partitions: int) -> RemainingWork:
    """Return the remaining work of the tasks on an agenda, with this number of partitions.

    Raises:
        ValueError: a step of the model has begun and not ended.
    """
    rest = RemainingWork([PartitionWork() for _ in range(partitions)])
    tasks = list(agenda)
    if not tasks:
        return rest
    if isinstance(tasks[0], DeleteNotifications):
        rest.step = ControllerStep.READ
        return rest
    if isinstance(tasks[0], IncrementEpoch):
        return rest
    if not is_due(tasks[0]):
        raise ValueError(f"the next task is {tasks[0]}, which is in the middle of a step of the model")
    first = tasks[0]
    rest.step = ZNODES[first.todo[0]] if isinstance(first, DeletePaths) else STEPS[type(first)]
    if isinstance(first, ChangePartitions):
        rest.turn = first.todo[0].partition
    elif isinstance(first, Reassign):
        rest.turn = first.partition.partition
    for task, following in zip(tasks, [*tasks[1:], None], strict=True):
        _note(rest, task, following)
    return rest


def _note(rest: RemainingWork, task: ControllerTask, following: ControllerTask | None) -> None:
    """Note in the remaining work what one task of an agenda says, and the task after it."""
    match task:
        case ChangePartitions():
            for partition in task.todo:
                rest.partitions[partition.partition].strategy = Strategy.UNCLEAN if task.unclean else task.strategy
        case ChangeReplicas():
            _note_replicas(rest, task)
        case ResumeDeletions():
            rest.resuming = Resuming.CONSIDER
        case StartDeletions():
            rest.resuming = Resuming.START
        case FailBrokers() if isinstance(following, StartBrokers):
            rest.bounced = BrokerSet.of(task.brokers)
        case FailBrokers():
            rest.failed = BrokerSet.of(task.brokers)
        case StartBrokers():
            rest.registrations = dict(task.registrations)
            rest.rejoining = BrokerSet.of(task.registrations) & ~rest.bounced
        case BeginReassignment():
            rest.partitions[task.partition.partition].reassignment_resumes = 1
        case ResumeReassignments():
            for partition in task.partitions:
                rest.partitions[partition.partition].reassignment_resumes = 1
        case _ if not isinstance(task, (Reassign, DeletePaths, RestoreAssignment, *WITHOUT_MEANING)):
            raise ValueError(f"{task} remains, which begins no step of the model")


def _note_replicas(rest: RemainingWork, task: ChangeReplicas) -> None:
    """Note a change of replicas: some are created, some are about to be deleted, the others leave."""
    for partition, broker in task.todo:
        work = rest.partitions[partition.partition]
        if task.trigger == "online_replica":
            work.creating = 1
        elif task.trigger == "replica_deletion_started":
            work.deleting = including(work.deleting, broker)
        else:
            work.leaving = including(work.leaving, broker)
