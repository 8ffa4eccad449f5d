"""A course of events on our controller: one step after the other, with ZooKeeper and channels in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields

from kafka_spec.conformance.kafka_classes.controller_ours import observed, prepared
from kafka_spec.conformance.kafka_classes.controller_scenarios import BROKER_EPOCH, Observation, Scenario
from kafka_spec.conformance.kafka_classes.event_scenarios import (
    BrokerFails,
    BrokerStarts,
    ControllerStep,
    DeletionAnswered,
    DeletionAsked,
    EventCourse,
    IsrWritten,
    ReassignmentAsked,
    ReassignmentInZnode,
    Seen,
    assigned_in,
    isr_of_leader,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.controller.broker_changes import FailBrokers, StartBrokers
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerEvent, ControllerTask
from kafka_spec.impl.zookeeper.controller.deletion import ReplicasDeleted, TopicDeletion
from kafka_spec.impl.zookeeper.controller.reassignment import (
    AlterPartitionReassignments,
    PartitionIsrChange,
    ReassignmentZnodeChange,
)
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError
from kafka_spec.impl.zookeeper.coordination.memory import MemorySession
from kafka_spec.spec.machines.topic_deletion import DeletionState


class OurCourse:
    """Our controller in a course of events."""

    def __init__(self, course: EventCourse, topic: str) -> None:
        self._topic = topic
        self._cluster: Scenario = course.cluster
        self._session: MemorySession
        self._core: ControllerCore
        self._session, self._core = prepared(course.cluster, topic)
        self._answers: dict[int, int] = {}

    def step(self, step: ControllerStep) -> Seen:
        """Let a step happen, and the controller do all its work; return what is seen."""
        self._answers = {}
        for queue in self._core.channels.queues.values():
            queue.clear()
        raised = ""
        try:
            work = self._happens(step)
            tasks = [task for one in work for task in (one.handle(self._core) if isinstance(one, ControllerEvent) else (one,))]
            self._work(tasks)
        except CoordinationError as error:
            raised = type(error).__name__
        return self._seen(raised)

    def _work(self, tasks: Sequence[ControllerTask]) -> None:
        """Do tasks, and then the events that the controller has for itself, until nothing is left."""
        core = self._core
        core.agenda.extend(tasks)
        while core.agenda or core.events:
            if not core.agenda:
                core.agenda.extend(core.events.popleft().handle(core))
            else:
                left = core.agenda.popleft().run(core)
                core.agenda.extendleft(reversed(left))

    def _happens(self, step: ControllerStep) -> Sequence[ControllerEvent | ControllerTask]:
        """Do what the world does in a step; return what the controller notices."""
        core, session = self._core, self._session
        match step:
            case DeletionAsked():
                if session.exists(znodes.delete_topic(self._topic)) is None:
                    session.create(znodes.delete_topic(self._topic))
                return [TopicDeletion()]
            case DeletionAnswered(broker, error, codes):
                return [ReplicasDeleted(broker, error, {self._partition(number): code for number, code in codes.items()})]
            case BrokerFails(broker):
                core.channels.close(broker)
                return [FailBrokers((broker,))]
            case BrokerStarts(broker):
                core.channels.open(broker)
                registration = BrokerRegistration(broker, (Endpoint("127.0.0.1", 9000 + broker),))
                return [StartBrokers({broker: (registration, BROKER_EPOCH + broker)})]
            case ReassignmentAsked(targets):
                return [AlterPartitionReassignments({self._partition(n): target for n, target in targets.items()}, self._answered)]
            case ReassignmentInZnode(targets):
                content = znodes.encode_reassignment({self._partition(n): target or () for n, target in targets.items()})
                if session.exists(znodes.REASSIGN_PARTITIONS) is not None:
                    return []
                session.create(znodes.REASSIGN_PARTITIONS, content)
                return [ReassignmentZnodeChange()]
            case IsrWritten(number, isr):
                path = znodes.state(self._partition(number))
                if session.exists(path) is not None:
                    written = isr_of_leader(znodes.State.decode(self._partition(number), session.get(path)[0]), isr)
                    if written is not None:
                        session.set(path, written.encode())
                return [PartitionIsrChange(self._partition(number))]

    def _partition(self, number: int) -> TopicPartition:
        return TopicPartition(self._topic, number)

    def _answered(self, codes: Mapping[TopicPartition, ErrorCode]) -> None:
        self._answers = {partition.partition: int(code) for partition, code in codes.items()}

    def _seen(self, raised: str) -> Seen:
        core, session, topic = self._core, self._session, self._topic
        basic = observed(core, session, self._cluster, topic, raised, [])
        context, path = core.context, znodes.topic(topic)
        is_ineligible = context.deletion_is_halted(topic) or context.deletion_of(topic) == DeletionState.NAME_KEPT
        named: dict[int, tuple[int, ...]] = {}
        if session.exists(znodes.REASSIGN_PARTITIONS) is not None:
            asked = znodes.decode_reassignment(session.get(znodes.REASSIGN_PARTITIONS)[0])
            named = {partition.partition: target for partition, target in asked.items()}
        return Seen(
            **{one.name: getattr(basic, one.name) for one in fields(Observation)},
            deletion=(context.is_queued_for_deletion(topic), is_ineligible, context.deletion_has_begun(topic)),
            moving=tuple(sorted(partition.partition for partition in context.targets)),
            topic=None if session.exists(path) is None else assigned_in(znodes.Topic.decode(topic, session.get(path)[0])),
            asked=(session.exists(znodes.delete_topic(topic)) is not None, named),
            answers=self._answers,
        )
