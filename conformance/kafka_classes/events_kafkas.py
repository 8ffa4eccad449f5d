"""A course of events on Kafka's whole controller: KafkaController with its TopicDeletionManager and both state machines.

The controller is not started: it has no threads. Its events are processed here, one after the other; ZooKeeper and its client are
real, the channels only note what is sent.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from kafka_spec.conformance.kafka_classes.controller_kafkas import CONTROLLER, KafkasController
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
    Targets,
    assigned_in,
    isr_of_leader,
)
from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_classes.zookeeper import KafkasZooKeeper
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.coordination import znodes

EVENTS = "kafka.controller"
BATCH = "controllerChannelManager"


class KafkasWholeController(KafkasController):
    """KafkaController, made again for each course."""

    def __init__(self, kafka: Kafka, zookeeper: KafkasZooKeeper) -> None:
        super().__init__(kafka, zookeeper)
        self._errors = kafka.named("org.apache.kafka.common.protocol.Errors")
        self._topic = ""
        self._cluster: Scenario
        self._controller: Any = None
        self._answers: dict[int, int] = {}

    def begin(self, course: EventCourse, topic: str) -> None:
        """Make another controller, which is elected and knows the cluster of a course."""
        kafka = self._kafka
        self._topic, self._cluster = topic, course.cluster
        self._zookeeper.delete(znodes.REASSIGN_PARTITIONS)
        self._fill(course.cluster, topic)
        make = kafka.named("kafka.server.BrokerFeatures").createDefault
        features = make(True) if self._records.is_newer else make()
        info = kafka.named("kafka.zk.BrokerInfo")(self._records.broker(CONTROLLER), 5, -1)
        time, metrics = (
            kafka.named("org.apache.kafka.common.utils.Time").SYSTEM,
            kafka.named("org.apache.kafka.common.metrics.Metrics"),
        )
        self._controller = controller = kafka.named(f"{EVENTS}.KafkaController")(
            self._config, self._zookeeper.client, time, metrics(), info, kafka.long(1), None, features, None, kafka.none
        )
        controller.controllerChannelManager().shutdown()
        getattr(controller, f"{BATCH}_$eq")(self._channels)
        machines = controller.replicaStateMachine(), controller.partitionStateMachine()
        for batch in (
            kafka.held(controller, "brokerRequestBatch"),
            *(kafka.held(one, "controllerBrokerRequestBatch") for one in machines),
        ):
            kafka.put(batch, BATCH, self._channels)
        kafka.call(controller, "activeControllerId_$eq", kafka.boxed(CONTROLLER))
        self._know(controller.controllerContext(), course.cluster, topic)

    def step(self, step: ControllerStep) -> Seen:
        """Let a step happen, and the controller process what it notices; return what is seen."""
        self._answers = {}
        self._mockito.clearInvocations(self._channels)
        event = self._happens(step)
        if event is not None:
            self._controller.process(event)
        return self._seen()

    def _happens(self, step: ControllerStep) -> Any:
        """Do what the world does in a step; return the controller's event, None if the step is a call."""
        kafka, zookeeper, context = self._kafka, self._zookeeper, self._controller.controllerContext()
        match step:
            case DeletionAsked():
                if zookeeper.read(znodes.delete_topic(self._topic)) is None:
                    zookeeper.create(znodes.delete_topic(self._topic))
                return kafka.singleton(f"{EVENTS}.TopicDeletion")
            case DeletionAnswered(broker, error, codes):
                errors = {self._partition(number): self._errors.forCode(code) for number, code in codes.items()}
                kind = kafka.named(f"{EVENTS}.TopicDeletionStopReplicaResponseReceived")
                return kind(broker, self._errors.forCode(error), kafka.mapping(errors))
            case BrokerFails(broker):
                context.removeLiveBrokers(kafka.set([broker]))
                kafka.call(self._controller, "onBrokerFailure", kafka.sequence([broker]))
            case BrokerStarts(broker):
                context.addLiveBrokers(kafka.mapping({self._records.broker(broker): kafka.long(BROKER_EPOCH + broker)}))
                kafka.call(self._controller, "onBrokerStartup", kafka.sequence([broker]))
            case ReassignmentAsked(targets):
                return kafka.named(f"{EVENTS}.ApiPartitionReassignment")(self._targets(targets), self._callback())
            case ReassignmentInZnode(targets):
                content = znodes.encode_reassignment({self._ours(n): target or () for n, target in targets.items()})
                if zookeeper.read(znodes.REASSIGN_PARTITIONS) is not None:
                    return None
                zookeeper.create(znodes.REASSIGN_PARTITIONS, content)
                return kafka.singleton(f"{EVENTS}.ZkPartitionReassignment")
            case IsrWritten(number, isr):
                path = znodes.state(self._ours(number))
                if (held := zookeeper.read(path)) is not None:
                    written = isr_of_leader(znodes.State.decode(self._ours(number), held[0]), isr)
                    if written is not None:
                        zookeeper.write(path, written.encode())
                return kafka.named(f"{EVENTS}.PartitionReassignmentIsrChange")(self._partition(number))
        return None

    def _partition(self, number: int) -> Any:
        return self._kafka.partition(self._topic, number)

    def _ours(self, number: int) -> TopicPartition:
        return TopicPartition(self._topic, number)

    def _targets(self, targets: Targets) -> Any:
        kafka = self._kafka
        wanted = {n: None if target is None else kafka.sequence(target) for n, target in targets.items()}
        return kafka.mapping({self._partition(n): kafka.option(target) for n, target in wanted.items()})

    def _callback(self) -> Any:
        """Return a function that notes the codes of an answer."""

        def answered(answer: Any) -> None:
            codes = self._kafka.items(answer.left().get())
            self._answers = {int(partition.partition()): int(error.error().code()) for partition, error in codes}

        return self._kafka.implementing("scala.Function1", {"apply": answered})

    def _seen(self) -> Seen:
        kafka, context, topic = self._kafka, self._controller.controllerContext(), self._topic
        basic = self._observed(context, self._cluster, topic, "")
        named: dict[int, tuple[int, ...]] = {}
        if (asked := self._zookeeper.read(znodes.REASSIGN_PARTITIONS)) is not None:
            named = {partition.partition: target for partition, target in znodes.decode_reassignment(asked[0]).items()}
        content = self._zookeeper.read(znodes.topic(topic))
        sets = (context.topicsToBeDeleted(), context.topicsIneligibleForDeletion(), context.topicsWithDeletionStarted())
        queued, ineligible, started = (topic in [str(name) for name in kafka.listed(names)] for names in sets)
        moving = kafka.listed(context.partitionsBeingReassigned())
        return Seen(
            **{one.name: getattr(basic, one.name) for one in fields(Observation)},
            deletion=(queued, ineligible, started),
            moving=tuple(sorted(int(partition.partition()) for partition in moving)),
            topic=None if content is None else assigned_in(znodes.Topic.decode(topic, content[0])),
            asked=(self._zookeeper.read(znodes.delete_topic(topic)) is not None, named),
            answers=self._answers,
        )
