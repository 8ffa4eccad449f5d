"""A cluster of KRaft as a state of the model of spec/kraft, for one partition and the brokers that hold it.

What the implementation has and the model has not is left out: other partitions, timestamps, contents of records. What is on the
network is not part of a cluster, so the caller passes it in; so are the notes of the model's properties.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from kafka_spec.impl.broker.partition import UNKNOWN_END
from kafka_spec.impl.kraft.broker import KRaftProcess
from kafka_spec.impl.kraft.cluster import KRaftNodes
from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.heartbeats import NO_OFFSET
from kafka_spec.impl.kraft.image import ClusterImage
from kafka_spec.impl.kraft.partition import HostedKRaftPartition
from kafka_spec.impl.protocol.data_requests import FetchRequest
from kafka_spec.impl.protocol.kraft_requests import ProposalAnswer, ProposalRequest
from kafka_spec.impl.protocol.responses import AlteredPartition
from kafka_spec.impl.protocol.settings import MIN_ISR
from kafka_spec.impl.protocol.topic_ids import text_of
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.partition_change import RecoveryState
from kafka_spec.spec.kraft import state
from kafka_spec.spec.kraft.machines import LEADER, NO_ROLE, SETTLED, UNREGISTERED
from kafka_spec.spec.kraft.state import UNKNOWN, ProcessLife
from kafka_spec.spec.language.domain import NO_BROKERS, NONE, BrokerSet, Spent

NO_TOPIC = state.PartitionRegistration(
    UNKNOWN, [], NO_BROKERS, NO_BROKERS, NONE, UNKNOWN, UNKNOWN, NO_BROKERS, NO_BROKERS, NONE, RecoveryState.RECOVERED, 0
)
"""The partition while there is no topic."""


@dataclass
class KRaftNetwork:
    """What is between brokers and controller, and between brokers: at most one proposal of each broker and its answer."""

    requests: dict[int, ProposalRequest] = field(default_factory=dict)
    """The request that a broker has sent, and that has no answer which the broker has received."""
    handled: set[int] = field(default_factory=set)
    """The brokers whose request the controller has handled at least once."""
    answers: dict[int, ProposalAnswer] = field(default_factory=dict)
    fetches: list[FetchRequest] = field(default_factory=list)
    """Fetches that are delayed."""

    def forget(self, broker: int) -> None:
        """Forget a broker's request and its answer."""
        self.requests.pop(broker, None)
        self.answers.pop(broker, None)
        self.handled.discard(broker)

    def process_ends(self, broker: int) -> None:
        """Lose an answer to a process that ends; a request without one is still on its way."""
        if broker in self.answers:
            self.forget(broker)


@dataclass(frozen=True)
class ReplicaDisk:
    """What a replica has on disk: topic and entries, and after the end of its process high watermark and clean-shutdown file."""

    topic_id: str | None
    """The topic whose log it is, None if there is no log."""
    entries: list[state.StoredRecord]
    high_watermark: int = 0
    clean_epoch: int = UNKNOWN
    directory_failed: int = 0
    """1 from the failure of its log directory until the next process starts."""
    future_directory: UUID | None = None
    """The log directory of its future log, None if there is none."""
    copied: int = 0
    """How many entries of the log the future log begins with."""


class KRaftProjection:
    """Reads states of the model from a cluster."""

    def __init__(
        self,
        cluster: KRaftNodes,
        partition: TopicPartition,
        brokers: Sequence[int],
        disk: Callable[[int], ReplicaDisk],
        topic_of: Callable[[str], int],
        number_of: Callable[[int, int], int] = lambda _, epoch: epoch,
        directory_of: Callable[[int], UUID] | None = None,
        last_number_of: Callable[[int], int] = lambda _: UNKNOWN,
    ) -> None:
        """`brokers` are those of the model, in its order; `disk` reads a broker's disk; `topic_of` numbers topic ids.

        `number_of` returns the model's number of a broker epoch; the model counts registrations, and only compares the numbers of
        one broker. `directory_of` returns the log directory of a broker's replica, if registrations name it; `last_number_of` the
        model's number of the last epoch of a broker that is not registered.
        """
        self._last_number_of = last_number_of
        self._directory_of = directory_of
        self.cluster = cluster
        self.partition = partition
        self.brokers = list(brokers)
        self._places = {broker: place for place, broker in enumerate(brokers)}
        self._disk = disk
        self._topic_of = topic_of
        self._number_of = number_of

    def project(self, network: KRaftNetwork, spent: Spent, history: state.PastEvents) -> state.KRaft:
        """Return the state of the model."""
        images = self._images()
        ends = [image.end for image in images]
        return state.KRaft(
            controller=self._controller(ends),
            metadata=[self._image(image) for image in images],
            brokers=[self._broker(number, ends, network) for number in self.brokers],
            fetches=[self._fetch(request) for request in network.fetches],
            spent=spent,
            history=history,
        )

    def _process(self, number: int) -> KRaftProcess | None:
        """Return a broker's process; for the model it runs once it has applied the metadata log."""
        process = self.cluster.brokers.get(number)
        return None if process is None or process.metadata_end == 0 else process

    # The controller and the metadata log

    def _images(self) -> list[ClusterImage]:
        """Return the images that some running broker has not gone beyond, the newest last."""
        images = self.cluster.log.images
        running = [process.metadata_end for number in self.brokers if (process := self._process(number)) is not None]
        first = bisect_left(images, min(running, default=images[-1].end), key=lambda image: image.end)
        return images[first:]

    def _set(self, brokers: Iterable[int]) -> BrokerSet:
        return BrokerSet.of(self._places[broker] for broker in brokers if broker in self._places)

    def _topic(self, topic_id: str | None) -> int:
        return UNKNOWN if topic_id is None else self._topic_of(topic_id)

    def _place(self, broker: int) -> int:
        return self._places.get(broker, NONE)

    def _partition_of(self, image: ClusterImage) -> state.PartitionRegistration:
        held = image.partitions.get(self.partition)
        if held is None:
            return NO_TOPIC
        return state.PartitionRegistration(
            topic_id=self._topic(text_of(held.topic_id)),
            adding=self._set(held.adding),
            removing=self._set(held.removing),
            replicas=[self._places[broker] for broker in held.replicas if broker in self._places],
            leader=self._place(held.leader),
            leader_epoch=held.leader_epoch,
            partition_epoch=held.partition_epoch,
            isr=self._set(held.isr),
            elr=self._set(held.elr),
            last_known_leader=self._place(held.last_known),
            recovery=held.recovery,
            min_isr_changed=self._is_changed(image.configs.get((self.partition.topic, MIN_ISR))),
        )

    def _is_changed(self, configured: str | int | None) -> int:
        """Return whether min.insync.replicas is not the cluster's; None means that the topic has none of its own."""
        return int(configured is not None and int(configured) != self.cluster.settings.min_insync_replicas)

    def _image(self, image: ClusterImage) -> state.MetadataImage:
        return state.MetadataImage([self._known(image, number) for number in self.brokers], self._partition_of(image))

    def _known(self, image: ClusterImage, number: int) -> state.KnownBroker:
        if number not in image.brokers:
            return state.KnownBroker(UNREGISTERED, UNKNOWN, 0)
        epoch = self._number_of(number, image.epoch_of(number))
        return state.KnownBroker(image.brokers[number].state, epoch, self._directory_offline(image, number))

    def _directory_offline(self, image: ClusterImage, number: int) -> int:
        """Return 1 if an image has the log directory of a broker's replica as offline."""
        online = image.brokers[number].log_dirs if number in image.brokers else ()
        return int(self._directory_of is not None and bool(online) and self._directory_of(number) not in online)

    def _controller(self, ends: Sequence[int]) -> state.QuorumController:
        controller = self.cluster.controller
        registrations = []
        for number in self.brokers:
            waits = controller.heartbeats.of(number).controlled_shutdown_end
            place = 0 if waits == NO_OFFSET or waits < ends[0] else bisect_left(ends, waits)
            epoch = self._number_of(number, controller.image.epoch_of(number))
            if number not in controller.image.brokers:
                epoch = self._last_number_of(number)
            offline = self._directory_offline(controller.image, number)
            registrations.append(state.Registration(controller.tables.state_of(number), epoch, place, offline))
        memberships = [int(controller.tables.membership_of(self.partition, number)) for number in self.brokers]
        here = self._partition_of(controller.image)
        return state.QuorumController(registrations, memberships, here, self._unclean_changed(controller))

    def _unclean_changed(self, controller: KRaftController) -> int:
        """Return whether unclean.leader.election.enable of the topic is not the cluster's."""
        usual = self.cluster.settings.unclean_leader_election_enable
        return int(self.partition in controller.image.partitions and controller.allows_unclean(self.partition) != usual)

    # Brokers

    def _broker(self, number: int, ends: Sequence[int], network: KRaftNetwork) -> state.KRaftBroker:
        process, disk = self._process(number), self._disk(number)
        request, answer = network.requests.get(number), network.answers.get(number)
        requests = [] if request is None or self.partition not in request.partitions else [self._request(request)]
        answered = answer.answer_for(self.partition) if answer is not None and requests else None
        answers = [] if answered is None else [self._answer(answered)]
        handled = int(number in network.handled)
        if process is None:
            replica = self._ended(disk)
            failed = disk.directory_failed
            copy = self._copy_of(number, disk), disk.copied
            return state.KRaftBroker(
                ProcessLife.DOWN, UNKNOWN, disk.clean_epoch, 0, 0, failed, *copy, replica, requests, handled, answers
            )
        return state.KRaftBroker(
            life=ProcessLife.STOPPING if process.is_stopping else ProcessLife.UP,
            epoch=self._number_of(number, process.epoch),
            clean_epoch=disk.clean_epoch,
            image=bisect_left(ends, process.metadata_end),
            applying=int(self.partition in process.replicas.to_apply),
            directory_failed=int(process.replicas.directory_failed),
            copy=self._copy_of(number, disk),
            copied=disk.copied,
            replica=self._replica(process, disk),
            requests=requests,
            handled=handled,
            answers=answers,
        )

    def _copy_of(self, number: int, disk: ReplicaDisk) -> state.FutureLog:
        """Return whether a broker's log is being moved, and the metadata names the directory of its future log."""
        if disk.future_directory is None:
            return state.FutureLog.NONE
        held = self.cluster.controller.image.partitions.get(self.partition)
        named = held is not None and held.directory_of(number) == disk.future_directory
        return state.FutureLog.ASSIGNED if named else state.FutureLog.COPIED

    def _ended(self, disk: ReplicaDisk) -> state.PartitionReplica:
        """Return the replica of a process that has ended: what it has on disk."""
        nothing, unknown = NO_BROKERS, [UNKNOWN] * len(self.brokers)
        return state.PartitionReplica(
            self._topic(disk.topic_id),
            NO_ROLE,
            NONE,
            UNKNOWN,
            UNKNOWN,
            SETTLED,
            nothing,
            nothing,
            nothing,
            0,
            unknown,
            list(unknown),
            0,
            0,
            disk.high_watermark,
            disk.entries,
        )

    def _replica(self, process: KRaftProcess, disk: ReplicaDisk) -> state.PartitionReplica:
        replicas = process.replicas
        hosted = replicas.partitions.get(self.partition)
        if hosted is None:
            return self._ended(disk)
        role = replicas.role_of(self.partition)
        return state.PartitionReplica(
            topic_id=self._topic(hosted.topic_id),
            role=role,
            assigned=self._set(hosted.replicas) if role == LEADER else NO_BROKERS,
            leader=self._place(hosted.leader),
            leader_epoch=hosted.leader_epoch,
            partition_epoch=hosted.partition_epoch,
            proposal=replicas.proposal_of(self.partition),
            isr=self._set(hosted.isr),
            proposed=self._set(hosted.pending_isr or ()),
            epoch_start=hosted.epoch_start if role == LEADER else 0,
            ends=[self._end_of(hosted, number) for number in self.brokers],
            fetch_epochs=[self._fetch_epoch_of(hosted, number) for number in self.brokers],
            fetching=int(self.partition in replicas.fetchers),
            min_isr_changed=self._is_changed(hosted.min_isr),
            high_watermark=hosted.high_watermark,
            log=disk.entries,
        )

    def _end_of(self, hosted: HostedKRaftPartition, number: int) -> int:
        return hosted.followers[number].end if number in hosted.followers else UNKNOWN_END

    def _fetch_epoch_of(self, hosted: HostedKRaftPartition, number: int) -> int:
        epoch = hosted.followers[number].broker_epoch if number in hosted.followers else UNKNOWN
        return self._number_of(number, epoch)

    # The network

    def _request(self, request: ProposalRequest) -> state.AlterPartitionRequest:
        proposed = request.partitions[self.partition]
        epochs = dict(proposed.members)
        return state.AlterPartitionRequest(
            broker_epoch=self._number_of(request.broker, request.broker_epoch),
            topic_id=self._topic(proposed.topic_id),
            leader_epoch=proposed.leader_epoch,
            partition_epoch=proposed.partition_epoch,
            min_isr_changed=self._is_changed(proposed.min_isr),
            isr=self._set(proposed.isr),
            epochs=[self._number_of(number, epochs.get(number, UNKNOWN)) for number in self.brokers],
        )

    def _answer(self, answer: AlteredPartition) -> state.AlterPartitionAnswer:
        return state.AlterPartitionAnswer(answer.error, answer.leader_epoch, answer.partition_epoch, self._set(answer.isr))

    def _fetch(self, request: FetchRequest) -> state.FetchRequestInFlight:
        position = request.partitions[self.partition]
        return state.FetchRequestInFlight(
            follower=self._place(request.replica),
            topic_id=self._topic(request.topic_ids.get(self.partition.topic)),
            end=position.offset,
            last_epoch=position.last_fetched_epoch,
            leader_epoch=position.leader_epoch,
            broker_epoch=self._number_of(request.replica, request.broker_epoch),
        )
