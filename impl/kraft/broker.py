"""One process of a broker of KRaft, from its registration to its end.

Sans-IO: the caller carries requests to the controller and back, brings the committed batches of the metadata log, and delivers
requests of clients and followers. What is not on disk is lost with the process.

Source: Kafka 3.9 BrokerServer.scala, BrokerLifecycleManager.scala, MetadataLoader.java.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from kafka_spec.impl.kraft.clean_shutdown import delete_clean_shutdown, read_clean_shutdown, write_clean_shutdown
from kafka_spec.impl.kraft.data_plane import KRaftDataPlane
from kafka_spec.impl.kraft.metadata_requests import FetchMetadataRequest, FetchMetadataResponse
from kafka_spec.impl.kraft.replicas import KRaftReplicas
from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH, Leadership
from kafka_spec.impl.protocol.data_requests import (
    DataRequest,
    FetchRequest,
    ListOffsetsRequest,
    Metadata,
    MetadataRequest,
    PartitionMetadata,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.kraft_requests import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.responses import FetchResponse, ListOffsetsResponse, ProduceResponse, Response
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.language.domain import NONE
from kafka_spec.spec.vocabulary.table import Spec


class KRaftProcess:
    """A broker's process. The controller does not know it before it has registered."""

    def __init__(
        self,
        number: int,
        era: Spec,
        folder: Path,
        incarnation: UUID,
        clock: Callable[[], float],
        settings: Settings | None = None,
        config: LogConfig | None = None,
    ) -> None:
        """`folder` is the broker's data folder; `clock` returns seconds since 1970. The file of an orderly stop is deleted.

        In `fixed` it does not count if a log is missing that the process before had.

        Raises:
            CheckpointError: a checkpoint in the folder is unreadable.
        """
        self.number = number
        self.incarnation = incarnation
        self.replicas = KRaftReplicas(number, era, folder, config, settings)
        self.data = KRaftDataPlane(self.replicas)
        self.previous_epoch = read_clean_shutdown(folder)
        if self.replicas.k.removed_directory_leaves_elr == Checked.YES and self.replicas.logs.missing:
            self.previous_epoch = NO_EPOCH
        delete_clean_shutdown(folder)
        self.log_dirs: tuple[UUID, ...] = ()
        """The ids of its log directories, first that of its replicas; none if it does not say."""
        self._folder = folder
        self._clock = clock

    @property
    def now(self) -> int:
        """The time in milliseconds since 1970."""
        return int(self._clock() * 1000)

    @property
    def epoch(self) -> int:
        """The broker epoch, -1 before the registration."""
        return self.replicas.broker_epoch

    @property
    def is_stopping(self) -> bool:
        """Whether it asks for a controlled shutdown."""
        return self.replicas.is_stopping

    @property
    def metadata_end(self) -> int:
        """The offset up to which it has applied the metadata log."""
        return self.replicas.image.end

    # The controller

    def registration(self) -> BrokerRegistrationRequest:
        """Return the request that registers this process."""
        return BrokerRegistrationRequest(self.number, self.incarnation, self.previous_epoch, log_dirs=self.log_dirs)

    def registered(self, answer: BrokerRegistrationResponse) -> bool:
        """Take the answer to the registration; return whether it succeeded."""
        if answer.error == ErrorCode.NONE:
            self.replicas.broker_epoch = answer.broker_epoch
        return answer.error == ErrorCode.NONE

    def fail_directory(self) -> bool:
        """Let the log directory of its replicas fail: they go offline, and the next heartbeat says so.

        Not if some replica lies in the other directory, or is moved there; return whether it fails.
        """
        logs, first = self.replicas.future_logs, (None, *self.log_dirs[:1])
        if all(partition not in logs and logs.directory_of(partition) in first for partition in self.replicas.partitions):
            self.replicas.fail_directory()
        return self.replicas.directory_failed

    def move(self, partition: TopicPartition) -> bool:
        """Begin to move a replica to the other log directory, if there are two; return whether it can be, now."""
        lies = self.replicas.future_logs.directory_of(partition) or next(iter(self.log_dirs), None)
        others = [directory for directory in self.log_dirs if directory != lies]
        return bool(others) and self.replicas.move(partition, others[0])

    def assignment(self) -> AssignReplicasToDirsRequest | None:
        """Return the request that says where its replicas lie, of those that the metadata cache has elsewhere; None without any."""
        if not self.log_dirs or self.replicas.directory_failed:
            return None
        image, mine = self.replicas.image, {}
        for partition in self.replicas.partitions:
            held = image.partitions.get(partition)
            named = None if held is None else held.directory_of(self.number)
            if held is not None and named is not None:
                wanted = self.replicas.future_logs.wanted_directory(partition, named) or self.log_dirs[0]
                if named != wanted:
                    mine[held.topic_id, partition.partition] = wanted
        return AssignReplicasToDirsRequest(self.number, self.epoch, mine) if mine else None

    def assigned(self, answer: AssignReplicasToDirsResponse) -> None:
        """Take the answer to an assignment: a future log whose directory is assigned may replace its log."""
        for partition in self.replicas.future_logs:
            held = self.replicas.image.partitions.get(partition)
            if held is not None and answer.replicas.get((held.topic_id, partition.partition)) == ErrorCode.NONE:
                self.replicas.future_logs.assigned.add(partition)

    def shut_down(self) -> None:
        """Begin to ask for a controlled shutdown with each heartbeat."""
        self.replicas.is_stopping = True

    def heartbeat(self) -> BrokerHeartbeatRequest:
        """Return the next heartbeat; it wants to be fenced until its registration is applied."""
        wants_fence = self.metadata_end <= self.epoch
        offline = self.log_dirs[:1] if self.replicas.directory_failed else ()
        return BrokerHeartbeatRequest(self.number, self.epoch, self.metadata_end, wants_fence, self.is_stopping, offline)

    def next_metadata(self) -> FetchMetadataRequest:
        """Return the fetch of what it does not have of the metadata log."""
        return FetchMetadataRequest(self.number, self.metadata_end)

    def learn(self, answer: FetchMetadataResponse) -> None:
        """Take committed batches into the metadata cache; the replicas follow with `follow`."""
        image = answer.snapshot or self.replicas.image
        for end, records in answer.batches:
            if end > image.end:
                image = image.after(records)
        if image is not self.replicas.image:
            self.replicas.take_image(image)

    def follow(self) -> None:
        """Let the replicas, and then the settings of their logs, follow the metadata cache."""
        self.replicas.apply_image(self.now)
        self.replicas.apply_settings(self.now)

    # Requests of followers and clients

    def serve(self, message: DataRequest, reply: Callable[[Response], object]) -> None:
        """Handle a request; `reply` receives its answer, at once or later. A produce with acks=0 has no answer."""
        match message:
            case ProduceRequest():
                self.data.handle_produce(message, self.now, lambda done: reply(ProduceResponse(done)))
            case FetchRequest():
                self.data.handle_fetch(message, self.now, lambda fetched: reply(FetchResponse(fetched)))
            case ListOffsetsRequest():
                reply(ListOffsetsResponse(self.data.handle_list_offsets(message)))
            case MetadataRequest():
                reply(self.metadata(message))

    def metadata(self, request: MetadataRequest) -> Metadata:
        """Return brokers and partitions of the metadata cache; a leader that is not active is not available."""
        image = self.replicas.image
        known = tuple(BrokerRegistration(one, (Endpoint("127.0.0.1", 9092 + one),)) for one in image.active)
        partitions = {}
        for name, reported in image.partitions.items():
            if request.topics is None or name.topic in request.topics:
                error = ErrorCode.LEADER_NOT_AVAILABLE if reported.leader == NONE else ErrorCode.NONE
                held = Leadership(reported.leader, reported.leader_epoch, reported.isr, 0, reported.partition_epoch)
                offline = tuple(one for one in reported.replicas if one not in image.active)
                partitions[name] = PartitionMetadata(error, held, reported.replicas, offline)
        missing = [] if request.topics is None else [t for t in request.topics if t not in image.topics.values()]
        return Metadata(known, NO_EPOCH, partitions, dict.fromkeys(missing, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))

    # The end

    def close(self) -> None:
        """End in order: flush and close the logs, and leave the file that says so."""
        self.replicas.close()
        write_clean_shutdown(self._folder, self.epoch)

    def crash(self) -> None:
        """Crash: nothing more is written."""
        self.replicas.crash()
