"""A cluster of KRaft that can be put into any state of the model, and read as one.

The metadata log begins with the oldest image of the state, as after a snapshot; each further image becomes a batch. Broker epochs
of a loaded state are the model's numbers; later ones are offsets of the log, which begins beyond them. So in a loaded state every
process has applied its registration, for which the model does not wait either.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from uuid import UUID

from kafka_spec.conformance.kraft_replay.values import (
    BEGINNING,
    PARTITION,
    answer_of,
    incarnation,
    log_of,
    replica_directory,
    request_of,
    topic_of,
)
from kafka_spec.conformance.replay.core import LONG, Edge
from kafka_spec.conformance.replay.disk import Disk, entries_on, put_disk
from kafka_spec.impl.broker.partition import FetchState, Follower
from kafka_spec.impl.kraft.broker import KRaftProcess
from kafka_spec.impl.kraft.clean_shutdown import delete_clean_shutdown, read_clean_shutdown, write_clean_shutdown
from kafka_spec.impl.kraft.cluster import KRaftNodes
from kafka_spec.impl.kraft.directories import two_directories
from kafka_spec.impl.kraft.future_logs import DIRECTORY, directory_in, future_folder
from kafka_spec.impl.kraft.heartbeats import NO_OFFSET, BrokerContact
from kafka_spec.impl.kraft.metadata_log import MetadataLog
from kafka_spec.impl.kraft.partition import HostedKRaftPartition
from kafka_spec.impl.kraft.projection import KRaftNetwork, KRaftProjection, ReplicaDisk
from kafka_spec.impl.kraft.records import RegisterBrokerRecord
from kafka_spec.impl.log import checkpoint
from kafka_spec.impl.log.checkpoint import read_topic_id, write_text, write_topic_id
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.protocol.data_requests import FetchPosition, FetchRequest
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.kraft import state
from kafka_spec.spec.kraft.machines import LEADER, UNREGISTERED, ProposalState, ReplicaRole
from kafka_spec.spec.kraft.state import UNKNOWN, FutureLog, ProcessLife
from kafka_spec.spec.language.domain import BrokerSet
from kafka_spec.spec.vocabulary.table import Spec


class KRaftStage:
    """A cluster within the bounds of a model."""

    def __init__(self, folder: Path, era: Spec, bounds: Mapping[str, int]) -> None:
        """`folder` is for the brokers' logs; `bounds` are those of the model. A fetch brings one record."""
        settings = Settings(
            unclean_leader_election_enable=bounds["unclean"] == 1,
            min_insync_replicas=bounds["min_isr"],
            replica_fetch_max_bytes=1,
        )
        self.clock = 0
        """The time in milliseconds, which advances with each step."""
        self.numbers = range(bounds["brokers"])
        self.cache_ahead = bounds["cache_ahead"] == 1
        self.values_of_min_isr = bounds["min_isr"], bounds["other_min_isr"]
        """min.insync.replicas, and what operators change it to."""
        self.other_unclean = "false" if settings.unclean_leader_election_enable else "true"
        """What operators change unclean.leader.election.enable to."""
        self.cluster = KRaftNodes(folder, era, MetadataLog(), lambda: self.clock / 1000, settings=settings)
        self.network = KRaftNetwork()
        self.written: list[int] = []
        """For each of them the topic for which it was written."""
        self.created = 0
        """The number of topics that were created after the first."""
        self.first_replicas = tuple(range(bounds["brokers"] - bounds["spares"]))
        """The replicas of a topic that is created."""
        self.moves = bounds["moves"] > 0
        self.names_directories = bounds["failed_directories"] > 0 or self.moves
        """Whether brokers register their log directories, so that one can fail, or a replica can move to another."""
        self.failed: set[int] = set()
        """The brokers whose directory has failed, until their next process."""
        self._loaded_epochs = [0] * len(self.numbers)
        numbering = topic_of, self.number_of, replica_directory if self.names_directories else None
        self._projection = KRaftProjection(
            self.cluster, PARTITION, self.numbers, self._disk, *numbering, last_number_of=self.last_number_of
        )

    # Broker epochs

    def number_of(self, broker: int, epoch: int) -> int:
        """Return the model's number of a broker epoch: registrations after the loaded one are counted."""
        if epoch < BEGINNING:
            return epoch
        return self._loaded_epochs[broker] + 1 + self._later_epochs(broker).index(epoch)

    def last_number_of(self, broker: int) -> int:
        """Return the model's number of the broker epoch of a broker's last registration."""
        return self._loaded_epochs[broker] + len(self._later_epochs(broker))

    def _later_epochs(self, broker: int) -> list[int]:
        """Return the broker epochs of registrations after the loaded one."""
        return [
            record.broker_epoch
            for batch in self.cluster.log.batches
            for record in batch
            if isinstance(record, RegisterBrokerRecord) and record.broker_id == broker and record.broker_epoch >= BEGINNING
        ]

    # Reading

    def project(self, after: state.KRaft) -> state.KRaft:
        """Return the cluster's state as one of the model, with the bookkeeping of `after`."""
        for number, process in self.cluster.brokers.items():
            request = process.data.isr.next_request(self.clock)
            if request is None:
                self.network.forget(number)
            else:
                self.network.requests[number] = request
        for number in self.numbers:
            if number not in self.network.requests:
                self.network.forget(number)
        return self._projection.project(self.network, after.spent, after.history)

    def _log_folder(self, number: int) -> Path:
        return self.cluster.folder_of(number) / str(PARTITION)

    def _disk(self, number: int) -> ReplicaDisk:
        entries = [
            state.StoredRecord(record, epoch, self.written[record]) for record, epoch in entries_on(str(self._log_folder(number)))
        ]
        folder = self.cluster.folder_of(number)
        clean = self.number_of(number, read_clean_shutdown(folder))
        offsets = checkpoint.read_offsets(folder / checkpoint.REPLICATION_OFFSETS)
        failed = int(number in self.failed)
        future, copied = future_folder(folder, PARTITION), 0
        for offset, entry in enumerate(entries_on(str(future))):
            if offset == copied < len(entries) and entry == (entries[copied].record, entries[copied].epoch):
                copied += 1
        topic_id = read_topic_id(self._log_folder(number))
        return ReplicaDisk(topic_id, entries, offsets.get(PARTITION, 0), clean, failed, directory_in(future), copied)

    # Loading

    def load(self, wanted: state.KRaft) -> None:
        """Put the cluster into a state of the model."""
        controller = self.cluster.controller
        self._loaded_epochs = [one.epoch for one in wanted.controller.registrations]
        named = self.names_directories
        self.failed = {number for number, node in enumerate(wanted.brokers) if node.directory_failed}
        moved = frozenset(number for number, node in enumerate(wanted.brokers) if node.copy == FutureLog.ASSIGNED)
        unclean = self.other_unclean if wanted.controller.unclean_changed else None
        controller.log = log_of(wanted.metadata, self.values_of_min_isr[1], unclean, named, moved)
        controller.tables.load(controller.image)
        self.written = [UNKNOWN] * wanted.spent.records
        self.created = wanted.spent.recreations
        for entry in (entry for node in wanted.brokers for entry in node.replica.log):
            self.written[entry.record] = entry.topic_id
        self._load_network(wanted)
        for number, node in enumerate(wanted.brokers):
            self._load_broker(number, node)
            if self.moves:
                self._put_future_log(number, node)
        for number, registration in enumerate(wanted.controller.registrations):
            waits = NO_OFFSET
            if registration.shutdown_image > 0:
                waits = controller.log.images[registration.shutdown_image].end
            controller.heartbeats.brokers[number] = BrokerContact(self.clock, self.applied_by(number), waits)
            if registration.state == UNREGISTERED:
                controller.heartbeats.forget(number)

    def applied_by(self, number: int) -> int:
        """Return how far a broker's heartbeats say that it is; one that has ended keeps nobody waiting."""
        process = self.cluster.brokers.get(number)
        return self.cluster.log.end if process is None else process.metadata_end

    def _load_network(self, wanted: state.KRaft) -> None:
        self.network = KRaftNetwork()
        for number, node in enumerate(wanted.brokers):
            for request in node.requests:
                self.network.requests[number] = request_of(number, request, self.values_of_min_isr[request.min_isr_changed])
            for answer in node.answers:
                self.network.answers[number] = answer_of(answer)
            if node.handled:
                self.network.handled.add(number)
        for fetch in wanted.fetches:
            position = FetchPosition(fetch.end, fetch.leader_epoch, 1, fetch.last_epoch)
            ids = {PARTITION.topic: text_of(UUID(int=fetch.topic_id + 1))}
            self.network.fetches.append(FetchRequest(fetch.follower, fetch.broker_epoch, {PARTITION: position}, topic_ids=ids))

    def _load_broker(self, number: int, node: state.KRaftBroker) -> None:
        folder = self.cluster.folder_of(number)
        if node.life == ProcessLife.DOWN:
            if number in self.cluster.brokers:
                self.cluster.crash(number)
            folder.mkdir(parents=True, exist_ok=True)
            self._put_log(number, node.replica)
            self._checkpoint(folder, {} if node.replica.topic_id == UNKNOWN else {PARTITION: node.replica.high_watermark})
            if node.clean_epoch == UNKNOWN:
                delete_clean_shutdown(folder)
            else:
                write_clean_shutdown(folder, node.clean_epoch)
            return
        if self._checkpoint(folder, {}) and number in self.cluster.brokers:
            self.cluster.crash(number)  # it has read the former checkpoint
        delete_clean_shutdown(folder)
        self._load_process(self.cluster.brokers.get(number) or self.started(number), node)

    def started(self, number: int) -> KRaftProcess:
        """Start a process, whose log directories have names, or not."""
        process = self.cluster.start(number)
        process.log_dirs = two_directories(number) if self.names_directories else ()
        return process

    def _put_log(self, number: int, replica: state.PartitionReplica) -> None:
        """Write the log of a broker that does not run, or remove it."""
        folder = self._log_folder(number)
        if replica.topic_id == UNKNOWN:
            rmtree(folder, ignore_errors=True)
            return
        put_disk(str(folder), Disk.of(replica, replica.role == LEADER))
        self._name_topic(folder, replica.topic_id)

    def _put_future_log(self, number: int, node: state.KRaftBroker) -> None:
        """Put a broker's log into its first directory, and write its future log, or remove it."""
        folder = self.cluster.folder_of(number)
        (self._log_folder(number) / DIRECTORY).unlink(missing_ok=True)
        if number in self.cluster.brokers:
            self.cluster.brokers[number].replicas.future_logs.delete(PARTITION)
        future = future_folder(folder, PARTITION)
        rmtree(future, ignore_errors=True)
        if node.copy != FutureLog.NONE:
            copied = Disk.of(node.replica, leads=False).entries[: node.copied]
            begin: dict[int, int] = {}
            for offset, (_, epoch) in enumerate(copied):
                begin.setdefault(epoch, offset)
            put_disk(str(future), Disk(copied, tuple(begin.items())))
            future.mkdir(parents=True, exist_ok=True)
            write_text(future / DIRECTORY, str(two_directories(number)[1]))
            self._name_topic(future, node.replica.topic_id)
        if number in self.cluster.brokers and node.copy == FutureLog.ASSIGNED:
            self.cluster.brokers[number].replicas.future_logs.assigned.add(PARTITION)

    def _name_topic(self, folder: Path, number: int) -> None:
        topic_id = text_of(UUID(int=number + 1))
        if read_topic_id(folder) != topic_id:
            folder.mkdir(parents=True, exist_ok=True)
            write_topic_id(folder, topic_id)

    def _checkpoint(self, folder: Path, high_watermarks: Mapping[TopicPartition, int]) -> bool:
        """Write a broker's checkpoint, which names its logs after an orderly stop; return whether another was there."""
        path = folder / checkpoint.REPLICATION_OFFSETS
        if checkpoint.read_offsets(path) == high_watermarks:
            return False
        checkpoint.write_offsets(path, high_watermarks)
        return True

    def _load_process(self, process: KRaftProcess, node: state.KRaftBroker) -> None:
        replicas, replica = process.replicas, node.replica
        process.incarnation = incarnation(process.number, node.epoch)
        process.previous_epoch = UNKNOWN
        replicas.broker_epoch = node.epoch
        replicas.is_stopping = node.life == ProcessLife.STOPPING
        replicas.directory_failed = node.directory_failed == 1
        replicas.image = self.cluster.log.images[node.image]
        replicas.to_apply = {PARTITION: replicas.image.partitions.get(PARTITION)} if node.applying else {}
        process.data.fetchers.in_flight.clear()
        replicas.fetchers.clear()
        replicas.begun = True
        request = self.network.requests.get(process.number)
        process.data.isr.in_flight = request
        process.data.isr.waiting = {} if request is None else dict(request.partitions)
        replicas.roles.load((PARTITION,), ReplicaRole(replica.role))
        replicas.proposals.load((PARTITION,), ProposalState(replica.proposal))
        if replica.topic_id == UNKNOWN:
            replicas.partitions.pop(PARTITION, None)
            replicas.logs.delete([PARTITION])
            replicas.logs.remove_deleted(self.clock, 0)
            return
        log = replicas.logs.logs.get(PARTITION) or replicas.logs.open(PARTITION)[0]
        self._load_replica(process, replica, log)
        if replicas.directory_failed:
            del replicas.partitions[PARTITION]
        if replica.fetching:
            replicas.fetchers[PARTITION] = FetchState(replica.leader, replica.leader_epoch, log.end_offset)

    def _load_replica(self, process: KRaftProcess, replica: state.PartitionReplica, log: PartitionLog) -> None:
        Disk.of(replica, replica.role == LEADER).write(log)
        self._name_topic(log.folder, replica.topic_id)
        assigned = tuple(BrokerSet(replica.assigned))
        known = [number for number in assigned if number != process.number]
        followers = {n: Follower(replica.ends[n], broker_epoch=replica.fetch_epochs[n]) for n in known}
        process.replicas.partitions[PARTITION] = HostedKRaftPartition(
            leader_epoch=replica.leader_epoch,
            leader=replica.leader,
            replicas=assigned,
            isr=tuple(BrokerSet(replica.isr)),
            pending_isr=tuple(BrokerSet(replica.proposed)) or None,
            log=log,
            high_watermark=replica.high_watermark,
            epoch_start=replica.epoch_start,
            followers=followers if replica.role == LEADER else {},
            partition_epoch=replica.partition_epoch,
            topic_id=text_of(UUID(int=replica.topic_id + 1)),
            min_isr=self.values_of_min_isr[1] if replica.min_isr_changed else None,
        )

    # Steps

    def forget(self, edge: Edge[state.KRaft], found: state.KRaft | None) -> None:
        """Do nothing: `load` puts everything."""

    def refuses(self, edge: Edge[state.KRaft]) -> bool:
        """Return False: the implementation refuses nothing that the model does."""
        return False

    def pass_time(self) -> None:
        """Let `LONG` pass, in which every broker has sent heartbeats."""
        self.clock += LONG
        for number, contact in self.cluster.controller.heartbeats.brokers.items():
            contact.contact, contact.metadata_end = self.clock, self.applied_by(number)

    def end(self) -> None:
        """End all processes."""
        self.cluster.end()
