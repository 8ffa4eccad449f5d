"""Maps the model's broker to a broker's process and its disk, field by field.

ISR, version and controller epoch are meaningful in a leader only; a follower of the implementation keeps its last ones. The end
of a log that is unknown to the leader is 0 in the model: with either the high watermark cannot advance.
"""

from __future__ import annotations

from typing import Any

from kafka_spec.conformance.replay.disk import Disk, entries_on, put_disk
from kafka_spec.conformance.replay.field_mapping import FieldMapping, RecordMapping, attribute
from kafka_spec.conformance.replay.modeled_cluster import ModeledCluster
from kafka_spec.conformance.replay.request_mapping import PARTITIONS
from kafka_spec.impl.broker.partition import UNKNOWN_END, FetchState, Follower, HostedPartition, Phase
from kafka_spec.impl.protocol.controller_requests import Leadership, UpdateMetadataState
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.spec.decisions.log import first_truncation
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet
from kafka_spec.spec.zookeeper import state
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.state import Life

NOBODY = Leadership(NONE, NO_EPOCH, (), 0, 0)
"""The partition in the metadata cache of a loaded broker: it exists, without a leader."""


class BrokerView:
    """A broker as the mapping reads and writes it; `broker` is None while its process does not run."""

    def __init__(self, modeled: ModeledCluster, number: int, broker: BrokerProcess | None) -> None:
        self.modeled = modeled
        self.number = number
        self.broker = broker

    @property
    def life(self) -> int:
        """Whether the process runs."""
        if self.broker is None:
            return int(Life.DOWN)
        return int(Life.STOPPING if self.broker.is_stopping else Life.UP)

    def put_life(self, record: state.BrokerNode) -> None:
        """Set whether the process is stopping; the caller has started or ended it."""
        if self.broker is not None:
            self.broker.is_stopping = record.life == Life.STOPPING

    @property
    def has_session(self) -> int:
        """Whether its session lives, even if it has not noticed the end."""
        return int(self.broker is not None and not self.modeled.ensemble.is_over(self.broker.session.id))

    def put_session(self, record: state.BrokerNode) -> None:
        """Revive or end its session."""
        if self.broker is None:
            return
        if record.has_session:
            self.modeled.ensemble.revive(self.broker.session)
        else:
            self.modeled.ensemble.end(self.broker.session.id)

    @property
    def broker_epoch(self) -> int:
        """The number of its registration, as it knows it."""
        return 0 if self.broker is None else self.modeled.epoch_of(self.number, self.broker.replicas.broker_epoch)

    def put_broker_epoch(self, record: state.BrokerNode) -> None:
        """Set the creation id of its registration."""
        if self.broker is not None:
            self.broker.replicas.broker_epoch = self.modeled.creation_of(self.number, record.broker_epoch)

    @property
    def controller_epoch(self) -> int:
        """The newest controller epoch that it has received."""
        return 0 if self.broker is None else self.broker.replicas.controller_epoch

    @controller_epoch.setter
    def controller_epoch(self, epoch: int) -> None:
        if self.broker is not None:
            self.broker.replicas.controller_epoch = epoch

    @property
    def alive(self) -> int:
        """The live brokers in its metadata cache."""
        return NO_BROKERS if self.broker is None else self.broker.replicas.alive

    @alive.setter
    def alive(self, brokers: int) -> None:
        if self.broker is not None:
            self.broker.replicas.alive = BrokerSet(brokers)

    @property
    def lists_topic(self) -> int:
        """Whether its metadata cache lists the topic, and it has led or followed since it started."""
        broker = self.broker
        listed = broker is not None and any(partition in broker.replicas.metadata for partition in PARTITIONS)
        return int(listed and self.modeled.has_learned(self.number))

    @lists_topic.setter
    def lists_topic(self, lists: int) -> None:
        if self.broker is not None:
            self.broker.replicas.metadata = dict.fromkeys(
                self.modeled.partitions, UpdateMetadataState(NOBODY, self.modeled.assignment, ())
            )
            self.modeled.note_learned(self.number, bool(lists))

    # The replica

    @property
    def replicas(self) -> list[state.Replica]:
        """The broker's replica of each partition."""
        return [REPLICA.read(ReplicaView(self, number)) for number in range(len(self.modeled.partitions))]

    def put_replicas(self, record: state.BrokerNode) -> None:
        """Set the replicas; nothing is fetched but what they say."""
        if self.broker is not None:
            self.broker.replicas.fetchers.clear()
            self.broker.data.fetchers.in_flight.clear()
        for number, replica in enumerate(record.replicas):
            self.put_replica(number, replica)

    def put_replica(self, number: int, record: state.Replica) -> None:
        """Set a replica, its log first: a log is on disk even if no process hosts it."""
        wanted = Disk.of(record, record.role == Role.LEADER)
        folder, partition = self.modeled.folders[self.number][number], PARTITIONS[number]
        if self.broker is None:
            put_disk(folder, wanted)
            return
        replicas = self.broker.replicas
        replicas.roles.load((partition,), Role(record.role))
        if record.role == Role.NONE:
            replicas.logs.abandon(partition)
            replicas.partitions.pop(partition, None)
            put_disk(folder, wanted)
            return
        log = replicas.logs.logs.get(partition) or replicas.logs.open(partition)[0]
        wanted.write(log)
        assigned = tuple(BrokerSet(record.replicas)) or self.modeled.assignment
        followers = {broker: Follower() for broker in assigned if broker != self.number}
        replicas.partitions[partition] = HostedPartition(replicas=assigned, log=log, followers=followers)
        REPLICA.put(ReplicaView(self, number), record)

    @property
    def stale(self) -> int:
        """The first request of an old generation that took effect, as recorded at delivery."""
        return self.modeled.stale[self.number]

    @stale.setter
    def stale(self, noted: int) -> None:
        self.modeled.stale[self.number] = noted


class ReplicaView:
    """A broker's replica as the mapping reads and writes it; an empty partition if none is hosted."""

    def __init__(self, process: BrokerView, number: int) -> None:
        self.process = process
        self.folder = process.modeled.folders[process.number][number]
        self.name = PARTITIONS[number]
        broker = process.broker
        self.manager: Any = None if broker is None else broker.replicas
        self.partition = HostedPartition() if broker is None else broker.replicas.partitions.get(self.name) or HostedPartition()
        self.leads = broker is not None and broker.replicas.role_of(self.name) == Role.LEADER

    @property
    def role(self) -> int:
        """The role of the replica."""
        return int(Role.NONE if self.manager is None else self.manager.role_of(self.name))

    @property
    def isr(self) -> int:
        """The ISR that a leader counts, with a change that was refused and still counts."""
        return BrokerSet.of(self.partition.maximal_isr if self.partition.isr_write_refused else self.partition.isr)

    @isr.setter
    def isr(self, isr: int) -> None:
        self.partition.isr = tuple(BrokerSet(isr))

    @property
    def written(self) -> int:
        """The ISR of a leader's write that was not answered."""
        return BrokerSet.of(() if self.partition.isr_write_refused else self.partition.pending_isr or ())

    @written.setter
    def written(self, isr: int) -> None:
        self.partition.pending_isr = tuple(BrokerSet(isr)) or None

    @property
    def ends(self) -> list[int]:
        """Where a leader believes that its followers' logs end; an unknown end counts as 0."""
        known = self.partition.followers if self.leads else {}
        return [max(0, known[broker].end) if broker in known else 0 for broker in range(self.process.modeled.brokers)]

    def put_ends(self, record: state.Replica) -> None:
        """Set where a leader believes that its followers' logs end."""
        for broker, follower in self.partition.followers.items():
            follower.end = record.ends[broker] or UNKNOWN_END

    @property
    def fetching(self) -> int:
        """Whether the fetcher runs."""
        return int(self.manager is not None and self.name in self.manager.fetchers)

    def put_fetching(self, record: state.Replica) -> None:
        """Start the fetcher; in eras that ask the leader for the offset, it truncates first."""
        if record.fetching:
            _, asks = first_truncation(len(record.log), record.high_watermark, self.manager.k.truncation)
            phase = Phase.TRUNCATING if asks else Phase.FETCHING
            self.manager.fetchers[self.name] = FetchState(record.leader, record.leader_epoch, len(record.log), phase)

    @property
    def log(self) -> list[state.LogEntry]:
        """The entries on disk."""
        return [state.LogEntry(record, epoch) for record, epoch in entries_on(self.folder)]


def of_hosted(field: str, name: str) -> FieldMapping:
    """Map a field to an attribute of the hosted partition."""

    def put(replica: ReplicaView, record: state.Replica) -> None:
        setattr(replica.partition, name, getattr(record, field))

    return FieldMapping(field, lambda replica: getattr(replica.partition, name), put)


def of_leader(field: str, name: str) -> FieldMapping:
    """Map a field to an attribute of the hosted partition that is meaningful only in a leader, and otherwise 0."""
    hosted = of_hosted(field, name)
    return FieldMapping(field, lambda replica: hosted.read(replica) if replica.leads else 0, hosted.put)


def _nothing(replica: ReplicaView, record: state.Replica) -> None:
    """Do nothing: role, replicas and log are set already."""


REPLICA = RecordMapping(
    state.Replica,
    FieldMapping("role", lambda replica: replica.role, _nothing),
    of_hosted("leader_epoch", "leader_epoch"),
    of_hosted("leader", "leader"),
    FieldMapping(
        "isr", lambda replica: replica.isr if replica.leads else 0, lambda replica, record: setattr(replica, "isr", record.isr)
    ),
    FieldMapping("replicas", lambda replica: BrokerSet.of(replica.partition.replicas) if replica.leads else 0, _nothing),
    of_leader("version", "partition_epoch"),
    of_leader("state_epoch", "controller_epoch"),
    of_leader("epoch_start", "epoch_start"),
    FieldMapping("ends", lambda replica: replica.ends, ReplicaView.put_ends),
    attribute("written"),
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
    attribute("lists_topic"),
    FieldMapping("replicas", lambda process: process.replicas, BrokerView.put_replicas),
    attribute("stale"),
)


def read_process(process: BrokerView) -> state.BrokerNode:
    """Return the model's record of a broker."""
    found: state.BrokerNode = PROCESS.read(process)
    return found


def put_process(process: BrokerView, record: state.BrokerNode) -> None:
    """Put a broker into a state of the model."""
    PROCESS.put(process, record)
