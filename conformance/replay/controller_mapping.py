"""Maps the model's controller to a controller: its memory, remaining work and channels, field by field.

The model represents three things differently, with the same meaning:

* Requests that a batch gathers, to send them when the change of states is complete, are the last requests of the model's
    channels, as many as are `unsent`. A request about two partitions is two requests there.
* An UpdateMetadata counts if its live brokers differ from those last sent over the channel. The others, with the partitions of each
    LeaderAndIsr, are not in the model.
* The epoch of a broker whose start is not handled yet is on the agenda; the model has it in the context at once. A request sent to
    the broker before that has its former epoch and will be refused; the model does not send it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kafka_spec.conformance.replay import agenda
from kafka_spec.conformance.replay.agenda import PartitionWork, RemainingWork
from kafka_spec.conformance.replay.field_mapping import FieldMapping, RecordMapping, attribute
from kafka_spec.conformance.replay.modeled_cluster import ModeledCluster
from kafka_spec.conformance.replay.request_mapping import (
    PARTITIONS,
    TOPIC,
    in_order,
    leadership,
    marks_topic,
    model_answer,
    model_leadership,
    model_requests,
    real_answer,
    real_request,
    registration,
)
from kafka_spec.impl.controller.context import ControllerContext
from kafka_spec.impl.controller.controller import KafkaController
from kafka_spec.impl.controller.deletion import ReplicasDeleted
from kafka_spec.impl.controller.state_changes import ChangePartitions, ChangeReplicas
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.protocol import controller_requests as requests
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kafka_spec.spec.control import messages, state
from kafka_spec.spec.control.machines import ControllerState
from kafka_spec.spec.control.state import Resuming
from kafka_spec.spec.decisions import DeletionThread
from kafka_spec.spec.deletion import DeletionState
from kafka_spec.spec.domain import BrokerSet, contains
from kafka_spec.spec.partition import PartitionState
from kafka_spec.spec.reassignment import PartitionAssignment
from kafka_spec.spec.reassignment_steps import ReassignmentState
from kafka_spec.spec.replica import ReplicaState


class ControllerView:
    """A controller as the mapping reads and writes it: the remaining work of its event, and the cluster that it belongs to."""

    def __init__(self, modeled: ModeledCluster, number: int, controller: KafkaController) -> None:
        self.modeled = modeled
        self.number = number
        self.controller = controller
        self.context: ControllerContext = controller.context
        self.rest = RemainingWork([PartitionWork() for _ in modeled.partitions])
        self.broker_epochs: list[int] = []

    # Life and machines

    @property
    def life(self) -> int:
        """The life of the controller."""
        return int(self.controller.life)

    @life.setter
    def life(self, life: int) -> None:
        self.controller.lives.load((self.number,), ControllerState(life))

    @property
    def epoch(self) -> int:
        """The controller epoch; the version that it checks moves with it."""
        if self.context.epoch_version != self.context.epoch:
            raise ValueError(f"controller {self.number} has epoch {self.context.epoch} at version {self.context.epoch_version}")
        return self.context.epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self.context.epoch = self.context.epoch_version = epoch

    # Memory

    @property
    def live(self) -> int:
        """The registered brokers, as last read."""
        return BrokerSet.of(self.context.live)

    @live.setter
    def live(self, live: int) -> None:
        self.context.live = {broker: registration(broker) for broker in BrokerSet(live)}

    def _known_epochs(self) -> list[int]:
        """Return the epoch of each broker as it was last read; 0 for one that was found missing."""
        epochs = {broker: epoch for broker, epoch in self.context.broker_epochs.items() if not contains(self.rest.failed, broker)}
        epochs.update({broker: epoch for broker, (_, epoch) in self.rest.registrations.items()})
        return [self.modeled.epoch_of(broker, epochs.get(broker, 0)) for broker in range(self.modeled.brokers)]

    def put_broker_epochs(self, context: state.Context) -> None:
        """Set the epochs; that of a broker whose start is not handled yet is on the agenda, and an older one here."""
        here = context.live & ~context.bounced
        self.context.broker_epochs = {
            broker: self.modeled.creation_of(broker, context.broker_epochs[broker]) for broker in BrokerSet(here)
        }
        self.context.broker_epochs.update(dict.fromkeys(BrokerSet(context.bounced), 0))

    @property
    def stopping(self) -> int:
        """The brokers that are shutting down."""
        return self.context.stopping

    @stopping.setter
    def stopping(self, brokers: int) -> None:
        self.context.stopping = BrokerSet(brokers)

    # Remaining work

    def read_agenda(self) -> None:
        """Read the remaining work from the agenda, and with it the known epochs of brokers."""
        self.rest = agenda.read(self.controller.agenda, len(self.modeled.partitions))
        self.broker_epochs = self._known_epochs()

    def put_agenda(self, record: state.Controller) -> None:
        """Put the remaining work on the agenda."""
        context = record.context
        starting = {
            broker: (registration(broker), self.modeled.creation_of(broker, context.broker_epochs[broker]))
            for broker in BrokerSet(context.bounced | context.rejoining)
        }
        works = [
            PartitionWork(one.strategy, one.creating, one.leaving, one.deleting, one.reassignment_resumes)
            for one in context.partitions
        ]
        resuming = Resuming.NOTHING if self.has_thread and context.resuming == Resuming.CONSIDER else context.resuming
        brokers = context.bounced, context.rejoining, context.failed
        rest = RemainingWork(works, record.step, context.turn, *brokers, int(resuming), starting)
        tasks = agenda.written(
            rest,
            [self._known(number, record) for number in range(len(context.partitions))],
            life=ControllerState(record.life),
            seeded=is_seeded(record),
            leaves_alive=any(one.leaving & context.live for one in context.partitions),
            is_queued=record.deletion not in (DeletionState.NOT_QUEUED, DeletionState.NAME_KEPT),
        )
        self.controller.agenda.clear()
        self.controller.agenda.extend(tasks)

    def _known(self, number: int, record: state.Controller) -> agenda.KnownPartition:
        machines, known = record.partitions[number], record.context.partitions[number]
        return agenda.KnownPartition(
            known.assignment.replicas,
            PartitionState(machines.state),
            ReassignmentState(machines.reassignment),
            known.target,
            self.modeled.ensemble.find(znodes.state(PARTITIONS[number])) is not None,
        )

    # The partitions

    @property
    def known(self) -> list[state.PartitionContext]:
        """What it knows of each partition, and the rest of its event about it."""
        return [KNOWN.read(PartitionView(self, number)) for number in range(len(self.modeled.partitions))]

    @known.setter
    def known(self, records: list[state.PartitionContext]) -> None:
        self.context.topics = {TOPIC} if records[0].assignment.replicas else set()
        for number, record in enumerate(records):
            KNOWN.put(PartitionView(self, number), record)

    @property
    def machines(self) -> list[state.PartitionMachines]:
        """Its machines for each partition."""
        return [MACHINES.read(PartitionView(self, number)) for number in range(len(self.modeled.partitions))]

    @machines.setter
    def machines(self, records: list[state.PartitionMachines]) -> None:
        for number, record in enumerate(records):
            MACHINES.put(PartitionView(self, number), record)

    # The topic's deletion

    @property
    def deletion(self) -> int:
        """Where the controller stands in the topic's deletion."""
        return int(self.controller.deletions.state_of(TOPIC))

    @deletion.setter
    def deletion(self, found: int) -> None:
        self.controller.deletions.load((TOPIC,), DeletionState(found))

    @property
    def has_thread(self) -> bool:
        """Whether a thread deletes topics in this era."""
        return bool(self.modeled.k.deletion_thread == DeletionThread.RUNS)

    @property
    def resuming(self) -> int:
        """What the event, or the thread, still does about the deletion."""
        return int(Resuming.CONSIDER if self.context.deletion_awake and not self.rest.resuming else self.rest.resuming)

    def put_resuming(self, record: state.Context) -> None:
        """Wake the thread; what the event does is put with the agenda."""
        self.context.deletion_awake = self.has_thread and record.resuming == Resuming.CONSIDER

    def answers(self, broker: int) -> list[int]:
        """Return, for each partition, the answer of a broker to a deletion that was not handled yet."""
        told = [event for event in self.controller.events if isinstance(event, ReplicasDeleted) and event.broker == broker]
        found = {partition: int(model_answer(event, partition)) for event in told for partition in event.partitions}
        return [found.get(partition, int(messages.Answer.NONE)) for partition in self.modeled.partitions]

    # Channels

    @property
    def channels(self) -> list[state.Channel]:
        """The requests to each broker."""
        repeats, brokers = self.modeled.repeats, range(self.modeled.brokers)
        found = []
        for broker in brokers:
            is_open = broker in self.controller.channels.queues
            sent, collected = (self._sent(broker), self._collected(broker)) if is_open else ([], [])
            lost = int(repeats(self.number, broker))
            found.append(state.Channel([*sent, *collected], len(collected), lost, self.answers(broker)))
        return found

    def _sent(self, broker: int) -> list[messages.Request]:
        """Return the requests that were sent, or wait behind the one in flight."""
        announced = self.modeled.last_announced(self.number, broker)
        found: list[messages.Request] = []
        for request in self.controller.channels.queues[broker]:
            if self.counts(broker, request, announced):
                found += model_requests(request, self.modeled.epoch_of(broker, request.broker_epoch))
                if isinstance(request, UpdateMetadataRequest):
                    announced = live_in(request)
        return found

    def _collected(self, broker: int) -> list[messages.Request]:
        """Return the requests of a batch that has not been sent yet."""
        found: list[messages.Request] = []
        for request in self.gathered(broker):
            found += model_requests(request, self.modeled.epoch_of(broker, request.broker_epoch))
        return found

    def counts(self, broker: int, request: requests.Request, announced: int | None) -> bool:
        """Whether the model has a request; `announced` are the live brokers last sent over the channel."""
        if self.modeled.epoch_of(broker, request.broker_epoch) < self.broker_epochs[broker]:
            return False
        return not isinstance(request, UpdateMetadataRequest) or marks_topic(request) or live_in(request) != announced

    def gather(self, broker: int, request: requests.Request) -> None:
        """Put a request into the batch of the change of states that the controller is about to continue."""
        batch = self.controller.batch
        if isinstance(request, LeaderAndIsrRequest):
            batch.leader_and_isr.setdefault(broker, {}).update(request.partitions)
        elif isinstance(request, StopReplicaRequest):
            batch.stop_replica.setdefault(broker, {}).update(request.partitions)
        change = self.controller.agenda[0]
        assert isinstance(change, ChangePartitions | ChangeReplicas)
        change.begun = True

    def gathered(self, broker: int) -> Iterable[requests.Request]:
        """Return the gathered requests to a broker, which will be sent with the rest of the batch."""
        batch, context = self.controller.batch, self.context
        header = self.number, context.epoch, context.broker_epochs.get(broker, 0)
        if broker in context.live and broker in batch.leader_and_isr:
            yield LeaderAndIsrRequest(*header, batch.leader_and_isr[broker], ())
        if broker in context.live and broker in batch.stop_replica:
            yield StopReplicaRequest(*header, batch.stop_replica[broker])

    def put_channels(self, record: state.Controller) -> None:
        """Open the channels, and fill their queues."""
        context = record.context
        channels = self.controller.channels
        channels.close_all()
        self.controller.batch.clear()
        for broker in BrokerSet((context.live | context.rejoining) & ~context.failed):
            channels.open(broker)
            known = record.channels[broker]
            for place, one in enumerate(known.requests):
                header = self.number, one.controller_epoch, self.modeled.creation_of(broker, one.broker_epoch)
                if place < len(known.requests) - known.unsent:
                    channels.send(broker, real_request(one, header))
                else:
                    self.gather(broker, real_request(one, header))
            kinds = {one.kind for one in known.requests}
            self.modeled.note_announced(self.number, broker, None if messages.Kind.UPDATE_METADATA in kinds else context.live)
            self.modeled.repeated(self.number, broker)
            if known.repeats:
                self.modeled.lose_next_answer(self.number, broker)
        for broker, channel in enumerate(record.channels):
            for number, answer in enumerate(channel.answers):
                if answer != messages.Answer.NONE:
                    self.controller.events.append(real_answer(broker, PARTITIONS[number], messages.Answer(answer)))


class PartitionView:
    """What a controller has of one partition, as the mapping reads and writes it."""

    def __init__(self, view: ControllerView, number: int) -> None:
        self.view = view
        self.number = number
        self.name = PARTITIONS[number]
        self.controller, self.context = view.controller, view.context

    @property
    def work(self) -> PartitionWork:
        """What remains to be done about it."""
        return self.view.rest.partitions[self.number]

    @property
    def partition_state(self) -> int:
        """The state of the partition in the controller's machine."""
        return int(self.controller.partitions.state_of(self.name))

    @partition_state.setter
    def partition_state(self, found: int) -> None:
        self.controller.partitions.load((self.name,), PartitionState(found))

    @property
    def replicas(self) -> list[int]:
        """The state of each broker's replica in the controller's machine."""
        return [int(self.controller.replicas.state_of(self.name, broker)) for broker in range(self.view.modeled.brokers)]

    @replicas.setter
    def replicas(self, found: list[int]) -> None:
        for broker, one in enumerate(found):
            self.controller.replicas.load((self.name, broker), ReplicaState(one))

    @property
    def reassignment(self) -> int:
        """Where the controller stands in the partition's reassignment."""
        return int(self.controller.reassignments.state_of(self.name))

    @reassignment.setter
    def reassignment(self, found: int) -> None:
        self.controller.reassignments.load((self.name,), ReassignmentState(found))

    @property
    def assignment(self) -> state.ReplicaAssignment:
        """The assignment of the partition; none before it knows the partition."""
        known = self.context.assignment(self.name)
        return state.ReplicaAssignment(list(known.replicas), BrokerSet.of(known.adding), BrokerSet.of(known.removing))

    @assignment.setter
    def assignment(self, known: state.ReplicaAssignment) -> None:
        for held in (self.context.assignments, self.context.adding, self.context.removing):
            held.pop(self.name, None)
        if known.replicas:
            adding, removing = in_order(known.adding, known.replicas), in_order(known.removing, known.replicas)
            self.context.assign(self.name, PartitionAssignment(tuple(known.replicas), adding, removing))

    @property
    def leadership(self) -> state.LeaderIsrAndControllerEpoch:
        """The cached state of the partition."""
        return model_leadership(self.context.leadership.get(self.name))

    @leadership.setter
    def leadership(self, cached: state.LeaderIsrAndControllerEpoch) -> None:
        held = leadership(cached)
        self.context.leadership.pop(self.name, None)
        if held is not None:  # the replicas of a partition that is being deleted may be gone
            self.context.leadership[self.name] = held
            self.context.assignments.setdefault(self.name, ())

    @property
    def target(self) -> list[int]:
        """The target of the partition's reassignment; none if it is not reassigned."""
        return list(self.context.targets.get(self.name, ()))

    @target.setter
    def target(self, brokers: list[int]) -> None:
        self.context.targets.pop(self.name, None)
        if brokers:
            self.context.targets[self.name] = tuple(brokers)

    @property
    def planned(self) -> int:
        """Whether the controller has read what /admin/reassign_partitions names for the partition."""
        return int(self.name in self.context.planned)

    @planned.setter
    def planned(self, is_planned: int) -> None:
        self.context.planned.discard(self.name)
        if is_planned:
            self.context.planned.add(self.name)


def is_seeded(record: state.Controller) -> bool:
    """Whether a controller in its fail-over has started the partition machine, or has no partition to start it for."""
    has_partition = any(one.state != PartitionState.NON_EXISTENT for one in record.partitions)
    is_gone = record.deletion in (DeletionState.STARTED, DeletionState.HALTED)
    return has_partition or is_gone or not any(one.assignment.replicas for one in record.context.partitions)


def live_in(request: UpdateMetadataRequest) -> int:
    """Return the live brokers that an UpdateMetadata names."""
    return BrokerSet.of(broker.number for broker in request.live_brokers)


def _nothing(view: ControllerView, record: object) -> None:
    """Do nothing: `put_agenda` sets the field together with the step."""


def _of_rest(field: str) -> FieldMapping:
    """Map a field to the remaining work on the agenda."""
    return FieldMapping(field, lambda view: getattr(view.rest, field), _nothing)


def _of_work(field: str) -> FieldMapping:
    """Map a field to the remaining work about a partition."""
    return FieldMapping(field, lambda view: getattr(view.work, field), _nothing)


KNOWN = RecordMapping(
    state.PartitionContext,
    attribute("assignment"),
    attribute("leadership"),
    _of_work("strategy"),
    _of_work("creating"),
    _of_work("leaving"),
    _of_work("deleting"),
    attribute("target"),
    _of_work("reassignment_resumes"),
    attribute("planned"),
)

MACHINES = RecordMapping(
    state.PartitionMachines, attribute("state", "partition_state"), attribute("replicas"), attribute("reassignment")
)

CONTEXT = RecordMapping(
    state.Context,
    attribute("live"),
    FieldMapping("broker_epochs", lambda view: view.broker_epochs, ControllerView.put_broker_epochs),
    attribute("stopping"),
    attribute("partitions", "known"),
    _of_rest("turn"),
    FieldMapping("resuming", lambda view: view.resuming, ControllerView.put_resuming),
    _of_rest("bounced"),
    _of_rest("rejoining"),
    _of_rest("failed"),
)

CONTROLLER = RecordMapping(
    state.Controller,
    attribute("life"),
    attribute("epoch"),
    FieldMapping("step", lambda view: view.rest.step, ControllerView.put_agenda),
    attribute("deletion"),
    attribute("partitions", "machines"),
    FieldMapping("context", CONTEXT.read, lambda view, record: CONTEXT.put(view, record.context)),
    FieldMapping("channels", lambda view: view.channels, ControllerView.put_channels),
)


def read_controller(modeled: ModeledCluster, number: int, controller: KafkaController) -> state.Controller:
    """Return the model's record of a controller."""
    view = ControllerView(modeled, number, controller)
    view.read_agenda()
    found: state.Controller = CONTROLLER.read(view)
    return found


def put_controller(modeled: ModeledCluster, number: int, controller: KafkaController, record: state.Controller) -> None:
    """Put a controller into a state of the model, with an empty queue of events."""
    controller.events.clear()
    CONTROLLER.put(ControllerView(modeled, number, controller), record)
