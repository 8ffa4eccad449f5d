"""Maps the model's controller to a controller: its memory, remaining work and channels, field by field.

The epoch of a broker whose start is not handled yet is on the agenda; the model has it in the context at once. A request sent to
the broker before that has its former epoch and will be refused; the model does not send it. `channel_mapping` says what else the
model represents differently.
"""

from __future__ import annotations

from kafka_spec.conformance.replay import agenda
from kafka_spec.conformance.replay.agenda import PartitionWork, RemainingWork
from kafka_spec.conformance.replay.channel_mapping import ChannelsView
from kafka_spec.conformance.replay.field_mapping import FieldMapping, RecordMapping, attribute
from kafka_spec.conformance.replay.modeled_cluster import ModeledCluster
from kafka_spec.conformance.replay.partition_mapping import KNOWN, MACHINES, PartitionView
from kafka_spec.conformance.replay.request_mapping import PARTITIONS, TOPIC, registration
from kafka_spec.impl.zookeeper.controller.context import ControllerContext
from kafka_spec.impl.zookeeper.controller.controller import KafkaController
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.decisions.variants import DeletionThread
from kafka_spec.spec.language.domain import BrokerSet, contains
from kafka_spec.spec.machines.partition import PartitionState
from kafka_spec.spec.machines.reassignment import ReassignmentState
from kafka_spec.spec.machines.topic_deletion import DeletionState
from kafka_spec.spec.zookeeper import state
from kafka_spec.spec.zookeeper.machines import ControllerState
from kafka_spec.spec.zookeeper.state import Resuming


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

    def _partitions(self) -> list[PartitionView]:
        return [
            PartitionView(self.controller, number, self.modeled.brokers, work) for number, work in enumerate(self.rest.partitions)
        ]

    @property
    def known(self) -> list[state.PartitionContext]:
        """What it knows of each partition, and the rest of its event about it."""
        return [KNOWN.read(view) for view in self._partitions()]

    @known.setter
    def known(self, records: list[state.PartitionContext]) -> None:
        self.context.topics = {TOPIC} if records[0].assignment.replicas else set()
        for view, record in zip(self._partitions(), records, strict=True):
            KNOWN.put(view, record)

    @property
    def machines(self) -> list[state.PartitionMachines]:
        """Its machines for each partition."""
        return [MACHINES.read(view) for view in self._partitions()]

    @machines.setter
    def machines(self, records: list[state.PartitionMachines]) -> None:
        for view, record in zip(self._partitions(), records, strict=True):
            MACHINES.put(view, record)

    # The topic's deletion

    @property
    def deletion(self) -> int:
        """The controller's step in the topic's deletion."""
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

    # Channels

    @property
    def channels(self) -> ChannelsView:
        """The channels to the brokers."""
        return ChannelsView(self.modeled, self.number, self.controller, self.broker_epochs)


def is_seeded(record: state.Controller) -> bool:
    """Whether a controller in its fail-over has started the partition machine, or has no partition to start it for."""
    has_partition = any(one.state != PartitionState.NON_EXISTENT for one in record.partitions)
    is_gone = record.deletion in (DeletionState.STARTED, DeletionState.HALTED)
    return has_partition or is_gone or not any(one.assignment.replicas for one in record.context.partitions)


def _nothing(view: ControllerView, record: object) -> None:
    """Do nothing: `put_agenda` sets the field together with the step."""


def _of_rest(field: str) -> FieldMapping:
    """Map a field to the remaining work on the agenda."""
    return FieldMapping(field, lambda view: getattr(view.rest, field), _nothing)


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
    FieldMapping("channels", lambda view: view.channels.read(), lambda view, record: view.channels.put(record)),
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
