"""What a broker's process and its disk hold, field by field: in the model, and here.

A leader's ISR, version and controller epoch mean nothing in a follower, which keeps its last ones here. What a leader knows of its
followers' logs the model reads where they are: a leader that was loaded has heard of no fetch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafka_spec.conformance.replay.disk import Disk, entries_on, put_disk
from kafka_spec.conformance.replay.field_mapping import FieldMapping, RecordMapping, attribute
from kafka_spec.conformance.replay.request_mapping import PARTITION
from kafka_spec.impl.broker.broker_process import BrokerProcess
from kafka_spec.impl.broker.partition import FetchState, Follower, HostedPartition, Phase
from kafka_spec.impl.protocol.controller_requests import Leadership, UpdateMetadataState
from kafka_spec.spec.control import state
from kafka_spec.spec.control.state import NO_EPOCH, Life, Role
from kafka_spec.spec.domain import NO_BROKERS, NONE, BrokerSet
from kafka_spec.spec.log import first_truncation

if TYPE_CHECKING:
    from kafka_spec.conformance.replay.projection import Projection


NOBODY = Leadership(NONE, NO_EPOCH, (), 0, 0)
"""What the metadata cache of a loaded broker says of the partition: that it exists."""


class BrokerView:
    """A broker as its correspondence looks at it; `broker` is None while its process does not run."""

    def __init__(self, projection: Projection, number: int, broker: BrokerProcess | None) -> None:
        self.projection = projection
        self.number = number
        self.broker = broker

    @property
    def life(self) -> int:
        """Whether the process runs."""
        if self.broker is None:
            return int(Life.DOWN)
        return int(Life.STOPPING if self.broker.is_stopping else Life.UP)

    def put_life(self, record: state.BrokerNode) -> None:
        """Say that the process is stopping, or is not; whether it runs was seen to before."""
        if self.broker is not None:
            self.broker.is_stopping = record.life == Life.STOPPING

    @property
    def has_session(self) -> int:
        """Whether its session lives, whatever it thinks."""
        return int(self.broker is not None and not self.projection.ensemble.is_over(self.broker.session.id))

    def put_session(self, record: state.BrokerNode) -> None:
        """Let its session live, or be over."""
        if self.broker is None:
            return
        if record.has_session:
            self.projection.ensemble.revive(self.broker.session)
        else:
            self.projection.ensemble.end(self.broker.session.id)

    @property
    def broker_epoch(self) -> int:
        """The creation id of its registration, as it knows it."""
        return 0 if self.broker is None else self.projection.epoch_of(self.number, self.broker.replicas.broker_epoch)

    def put_broker_epoch(self, record: state.BrokerNode) -> None:
        """Tell it the creation id of its registration."""
        if self.broker is not None:
            self.broker.replicas.broker_epoch = self.projection.creation_of(self.number, record.broker_epoch)

    @property
    def controller_epoch(self) -> int:
        """The newest controller epoch it has seen."""
        return 0 if self.broker is None else self.broker.replicas.controller_epoch

    @controller_epoch.setter
    def controller_epoch(self, epoch: int) -> None:
        if self.broker is not None:
            self.broker.replicas.controller_epoch = epoch

    @property
    def alive(self) -> int:
        """Whom its metadata cache holds for alive."""
        return NO_BROKERS if self.broker is None else self.broker.replicas.alive

    @alive.setter
    def alive(self, brokers: int) -> None:
        if self.broker is not None:
            self.broker.replicas.alive = BrokerSet(brokers)

    # The replica

    @property
    def replica(self) -> ReplicaView:
        """The broker's replica of the partition."""
        return ReplicaView(self)

    def put_replica(self, record: state.Replica) -> None:
        """Put the replica, its log first: it is on disk even where nobody hosts it."""
        wanted = Disk.of(record)
        if self.broker is None:
            put_disk(self.folder, wanted)
            return
        replicas = self.broker.replicas
        replicas.roles.load((PARTITION,), Role(record.role))
        replicas.fetchers.clear()
        self.broker.data.fetchers.in_flight.clear()
        replicas.metadata = {PARTITION: UpdateMetadataState(NOBODY, self.projection.assignment, ())}
        if record.role == Role.NONE:
            replicas.logs.abandon(PARTITION)
            replicas.partitions.clear()
            put_disk(self.folder, wanted)
            return
        log = replicas.logs.logs.get(PARTITION) or replicas.logs.open(PARTITION)[0]
        wanted.write(log)
        followers = {broker: Follower() for broker in self.projection.assignment if broker != self.number}
        replicas.partitions[PARTITION] = HostedPartition(replicas=self.projection.assignment, log=log, followers=followers)
        REPLICA.put(self.replica, record)

    @property
    def folder(self) -> str:
        """Where the replica's log is."""
        return self.projection.folders[self.number]

    @property
    def stale(self) -> int:
        """The first request that took effect though its generation was over: noted by who delivers."""
        return self.projection.stale[self.number]

    @stale.setter
    def stale(self, noted: int) -> None:
        self.projection.stale[self.number] = noted


class ReplicaView:
    """A broker's replica as its correspondence looks at it: what is hosted, or nothing."""

    def __init__(self, process: BrokerView) -> None:
        self.process = process
        broker = process.broker
        self.manager: Any = None if broker is None else broker.replicas
        self.partition = HostedPartition() if broker is None else broker.replicas.partitions.get(PARTITION) or HostedPartition()
        self.leads = broker is not None and broker.replicas.role_of(PARTITION) == Role.LEADER

    @property
    def role(self) -> int:
        """What the replica is."""
        return int(Role.NONE if self.manager is None else self.manager.role_of(PARTITION))

    @property
    def isr(self) -> int:
        """The ISR as a leader knows it."""
        if self.partition.pending_isr is not None:
            raise ValueError(f"an ISR write of broker {self.process.number} is still to be answered")
        return BrokerSet.of(self.partition.isr)

    @isr.setter
    def isr(self, isr: int) -> None:
        self.partition.isr = tuple(BrokerSet(isr))

    @property
    def fetching(self) -> int:
        """Whether the fetcher runs."""
        return int(self.manager is not None and PARTITION in self.manager.fetchers)

    def put_fetching(self, record: state.Replica) -> None:
        """Let the fetcher run: it truncates first, where the era asks the leader where."""
        if record.fetching:
            _, asks = first_truncation(len(record.log), record.high_watermark, self.manager.k.truncation)
            phase = Phase.TRUNCATING if asks else Phase.FETCHING
            self.manager.fetchers[PARTITION] = FetchState(record.leader, record.leader_epoch, len(record.log), phase)

    @property
    def log(self) -> list[state.LogEntry]:
        """What is on disk."""
        return [state.LogEntry(record, epoch) for record, epoch in entries_on(self.process.folder)]


def of_hosted(field: str, name: str) -> FieldMapping:
    """Say that a field is an attribute of the hosted partition."""

    def put(replica: ReplicaView, record: state.Replica) -> None:
        setattr(replica.partition, name, getattr(record, field))

    return FieldMapping(field, lambda replica: getattr(replica.partition, name), put)


def of_leader(field: str, name: str) -> FieldMapping:
    """Say that a field is an attribute of the hosted partition, and means something where it leads."""
    hosted = of_hosted(field, name)
    return FieldMapping(field, lambda replica: hosted.read(replica) if replica.leads else 0, hosted.put)


def _nothing(replica: ReplicaView, record: state.Replica) -> None:
    """Put nothing: role and log were put before."""


REPLICA = RecordMapping(
    state.Replica,
    FieldMapping("role", lambda replica: replica.role, _nothing),
    of_hosted("leader_epoch", "leader_epoch"),
    of_hosted("leader", "leader"),
    FieldMapping(
        "isr", lambda replica: replica.isr if replica.leads else 0, lambda replica, record: setattr(replica, "isr", record.isr)
    ),
    of_leader("version", "version"),
    of_leader("state_epoch", "controller_epoch"),
    of_leader("epoch_start", "epoch_start"),
    FieldMapping("fetching", lambda replica: replica.fetching, ReplicaView.put_fetching),
    of_hosted("high_watermark", "high_watermark"),
    FieldMapping("log", lambda replica: replica.log, _nothing),
)


PROCESS = RecordMapping(
    state.BrokerNode,
    FieldMapping("life", lambda process: process.life, BrokerView.put_life),
    FieldMapping("has_session", lambda process: process.has_session, BrokerView.put_session),
    FieldMapping("broker_epoch", lambda process: process.broker_epoch, BrokerView.put_broker_epoch),
    attribute("controller_epoch"),
    attribute("alive"),
    FieldMapping(
        "replica", lambda process: REPLICA.read(process.replica), lambda process, record: process.put_replica(record.replica)
    ),
    attribute("stale"),
)


def read_process(process: BrokerView) -> state.BrokerNode:
    """Return a broker in the model's words."""
    found: state.BrokerNode = PROCESS.read(process)
    return found


def put_process(process: BrokerView, record: state.BrokerNode) -> None:
    """Put a broker into a state of the model."""
    PROCESS.put(process, record)
