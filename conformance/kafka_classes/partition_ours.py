"""Our side of the comparison with Kafka's Partition: one partition on a broker of the implementation, its log on disk.

What the controller would be sent is kept, and answered by the caller.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from uuid import UUID

from kafka_spec.conformance.kafka_classes.partition_states import LAG, START, Cached, LeaderView, Registered, SentProposal
from kafka_spec.impl.broker.isr_manager import IsrManager
from kafka_spec.impl.kraft.data_plane import KRaftDataPlane
from kafka_spec.impl.kraft.image import ClusterImage, RegisteredBroker, RegisteredPartition
from kafka_spec.impl.kraft.replicas import KRaftReplicas
from kafka_spec.impl.log import batches
from kafka_spec.impl.protocol.data_requests import Fetched, FetchPosition, FetchRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.kraft_requests import ProposalAnswer
from kafka_spec.impl.protocol.responses import AlteredPartition
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.eras import find_era
from kafka_spec.spec.kraft.machines import LEADER, SETTLED

ERA = "kraft_4_3"
"""The era of Kafka 4.4.0."""
THE_PARTITION = TopicPartition("t", 0)
TOPIC_ID = UUID(int=7)


class OurPartition:
    """The partition of our broker."""

    def __init__(self, folder: Path, min_isr: int) -> None:
        self.replicas = KRaftReplicas(0, find_era(ERA), folder, settings=Settings(replica_lag_time_max_ms=LAG))
        self.replicas.broker_epoch = 0
        self.plane = KRaftDataPlane(self.replicas)
        self.now = START
        self.configs = MappingProxyType({("t", "min.insync.replicas"): str(min_isr)})

    def learn(self, cache: Mapping[int, Cached], reported: Registered) -> None:
        """Take what the metadata cache has."""
        brokers = {
            broker: RegisteredBroker(broker, one.epoch, UUID(int=broker), not one.is_unfenced, one.is_stopping)
            for broker, one in cache.items()
        }
        self.replicas.image = ClusterImage(
            brokers=brokers, topics={TOPIC_ID: "t"}, partitions={THE_PARTITION: _registered(reported)}, configs=self.configs
        )

    def apply(self, reported: Registered) -> None:
        """Lead or follow as a registration says."""
        self.replicas.begun = True
        self.replicas.to_apply = {THE_PARTITION: _registered(reported)}
        self.replicas.apply_image(self.now)

    def append(self) -> None:
        """Append a record as the leader."""
        self.plane.append_as_leader(THE_PARTITION, bytes(batches.build([(self.now, None, b"v")])), 1)
        self.plane.advance_high_watermark(THE_PARTITION, self.now)

    def fetch(self, broker: int, offset: int, leader_epoch: int, broker_epoch: int) -> str:
        """Take the fetch of a follower; return the name of the error."""
        request = FetchRequest(broker, broker_epoch, {THE_PARTITION: FetchPosition(offset, leader_epoch)}, max_wait_ms=0)
        answers: list[Fetched] = []
        self.plane.handle_fetch(request, self.now, lambda fetched: answers.append(fetched[THE_PARTITION]))
        return ErrorCode(answers[0].error).name

    def shrink(self) -> None:
        """Take out of the ISR who lags."""
        isr: IsrManager = self.plane.isr
        isr.shrink_all(self.now)

    def answer(self, error: str, leader_epoch: int, partition_epoch: int, isr: Sequence[int]) -> None:
        """Answer the proposal that is on the way."""
        self.plane.isr.next_request(self.now)
        altered = AlteredPartition(ErrorCode[error], leader_epoch, partition_epoch, tuple(isr))
        self.plane.isr.take(ProposalAnswer(ErrorCode.NONE, {THE_PARTITION: altered}), self.now)

    def view(self) -> LeaderView:
        """Return what is seen of the partition."""
        hosted = self.replicas.partitions[THE_PARTITION]
        leads = self.replicas.role_of(THE_PARTITION) == LEADER
        waiting = self.plane.isr.waiting.get(THE_PARTITION)
        sent = () if waiting is None else (_sent(waiting.leader_epoch, waiting.partition_epoch, waiting.members),)
        return LeaderView(
            leads,
            hosted.leader_epoch,
            hosted.partition_epoch,
            tuple(sorted(hosted.isr)) if leads else (),
            tuple(sorted(hosted.maximal_isr)) if leads else (),
            self.replicas.proposal_of(THE_PARTITION) != SETTLED,
            hosted.opened.end_offset,
            hosted.high_watermark,
            tuple(sorted((broker, follower.end) for broker, follower in hosted.followers.items())),
            sent,
        )


def _registered(reported: Registered) -> RegisteredPartition:
    return RegisteredPartition(
        TOPIC_ID, reported.replicas, reported.isr, reported.leader, reported.leader_epoch, reported.partition_epoch
    )


def _sent(leader_epoch: int, partition_epoch: int, members: Sequence[tuple[int, int]]) -> SentProposal:
    return SentProposal(leader_epoch, partition_epoch, tuple(sorted(members)))
