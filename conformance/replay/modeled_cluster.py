"""A cluster together with the meaning of the model's numbers in it: registrations, fetches on the network, channels.

The mappings read and write it field by field; `Projection` puts it into whole states of the model.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kafka_spec.conformance.replay.disk import entry_in, stamped
from kafka_spec.conformance.replay.ensemble import ModelEnsemble
from kafka_spec.conformance.replay.request_mapping import PARTITION, PARTITIONS, kind_of
from kafka_spec.impl.broker.fetcher import InFlight
from kafka_spec.impl.broker.partition import FetchState
from kafka_spec.impl.protocol.controller_requests import Request, StopReplicaRequest, StopReplicaState
from kafka_spec.impl.protocol.data_requests import Fetched, FetchPosition, FetchRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.decisions.fencing import leader_epoch_in_fetch
from kafka_spec.spec.zookeeper import messages


@dataclass(frozen=True)
class DelayedAnswer:
    """An answer on its way from a leader to a follower, with the fetch that the follower waits for."""

    leader: int
    follower: int
    asked: InFlight
    fetched: Fetched


@dataclass(frozen=True)
class DelayedStop:
    """The first copy of a StopReplica that was sent twice; it waits at a broker."""

    broker: int
    request: StopReplicaRequest
    is_of_former_topic: bool = False


class ModeledCluster:
    """A cluster on a `ModelEnsemble` within the bounds of a model."""

    def __init__(self, cluster: Cluster, bounds: Mapping[str, int]) -> None:
        """`bounds` are those of the model.

        Raises:
            TypeError: the cluster uses another coordination service.
        """
        if not isinstance(cluster.service, ModelEnsemble):
            raise TypeError("a replay needs a cluster on a ModelEnsemble; pass one as its service")
        self.cluster = cluster
        self.ensemble = cluster.service
        self.bounds = dict(bounds)
        self.brokers = bounds["brokers"]
        self.assignment = tuple(range(bounds["replicas"]))
        self.partitions = PARTITIONS[: bounds["partitions"]]
        self.folders = [
            [str(cluster.folder / str(n) / str(partition)) for partition in self.partitions] for n in range(self.brokers)
        ]
        """For each broker the folders of its replicas' logs."""
        self.k = cluster.era.constants(bounds)
        self.registrations: list[list[int]] = [[] for _ in range(self.brokers)]
        """For each broker the transactions that created its registrations. The model counts registrations."""
        self._lost: dict[tuple[int, int], deque[Request]] = {}
        """The channels (controller, broker) whose connection will break before the next answer."""
        self.fetches: list[tuple[FetchRequest, int]] = []
        """The delayed fetches on the network, each with the leader epoch in which it was sent."""
        self.answers: list[DelayedAnswer] = []
        """The delayed answers to fetches on the network."""
        self.late_stops: list[DelayedStop] = []
        """The first copies of StopReplicas that were sent twice."""
        self.stale = [0] * self.brokers
        """For each broker the first request of an old generation that took effect (spec.control.state.Stale)."""
        self._learned: dict[int, BrokerProcess] = {}
        """The processes that have led or followed the partition since they started."""
        self.records = 0
        """The number of records that clients have written."""
        self.clock = 0
        """The time in milliseconds, which advances with each step."""
        self._announced: dict[tuple[int, int], tuple[deque[Request], int | None]] = {}

    # Registrations and sessions

    def note_registration(self, broker: int, czxid: int) -> None:
        """Record the registration of a broker."""
        if czxid not in self.registrations[broker]:
            self.registrations[broker].append(czxid)

    def epoch_of(self, broker: int, czxid: int) -> int:
        """Return the number of the registration that a transaction created, counted from 1; 0 if there is none.

        Raises:
            ValueError: the transaction created no recorded registration of the broker.
        """
        return self.registrations[broker].index(czxid) + 1 if czxid > 0 else 0

    def creation_of(self, broker: int, epoch: int) -> int:
        """Return the transaction that created a registration, in a loaded state: there it is the model's number."""
        return epoch

    def session_of(self, broker: int) -> int:
        """Return the session of a running broker, which owns its ephemeral nodes."""
        return self.cluster.brokers[broker].session.id

    def ensemble_partitions(self) -> Mapping[int, tuple[int, ...]]:
        """Return the partitions that the topic znode names, with their replicas; none if there is no topic."""
        found = self.ensemble.find(znodes.topic(PARTITION.topic))
        return {} if found is None else znodes.Topic.decode(PARTITION.topic, found.data).partitions

    # Metadata caches

    def note_learned(self, broker: int, learned: bool) -> None:
        """Record whether a running broker has led or followed the partition."""
        self._learned.pop(broker, None)
        if learned:
            self._learned[broker] = self.cluster.brokers[broker]

    def has_learned(self, broker: int) -> bool:
        """Whether this process of a broker has led or followed the partition."""
        return self._learned.get(broker) is self.cluster.brokers[broker]

    # Channels

    def note_announced(self, controller: int, broker: int, live: int | None) -> None:
        """Record the live brokers last sent over a channel, before all that waits in it; None if none were."""
        self._announced[controller, broker] = (self.cluster.brokers[controller].channels.queues[broker], live)

    def last_announced(self, controller: int, broker: int) -> int | None:
        """Return the live brokers last sent over a channel, None if none were since it was opened."""
        queue, live = self._announced.get((controller, broker), (None, None))
        return live if queue is self.cluster.brokers[controller].channels.queues[broker] else None

    def lose_next_answer(self, controller: int, broker: int) -> None:
        """Break the connection of a channel before the next answer: the request in flight will be sent again."""
        self._lost[controller, broker] = self.cluster.brokers[controller].channels.queues[broker]

    def repeats(self, controller: int, broker: int) -> bool:
        """Whether the request in flight will be sent again; a channel opened since then does not repeat."""
        lost = self._lost.get((controller, broker))
        return lost is not None and lost is self.cluster.brokers[controller].channels.queues.get(broker)

    def repeated(self, controller: int, broker: int) -> None:
        """Restore the connection."""
        self._lost.pop((controller, broker), None)

    # Fetches on the network

    def late_fetch(self, fetch: messages.LateFetch) -> FetchRequest:
        """Return the request of a delayed fetch of the model."""
        epoch = leader_epoch_in_fetch(fetch.leader_epoch, self.k.fetches_fenced)
        positions = {PARTITIONS[fetch.partition]: FetchPosition(fetch.end, epoch)}
        return FetchRequest(fetch.follower, self.creation_of(fetch.follower, fetch.broker_epoch), positions)

    def model_fetch(self, request: FetchRequest, leader_epoch: int) -> messages.LateFetch:
        """Return the model's record of a delayed fetch; `leader_epoch` is recorded apart, since a request may carry none."""
        broker_epoch = self.epoch_of(request.replica, request.broker_epoch)
        ((partition, position),) = request.partitions.items()
        return messages.LateFetch(partition.partition, request.replica, position.offset, leader_epoch, broker_epoch)

    # StopReplicas that wait at a broker

    def note_deleted_topic(self) -> None:
        """Record that the late StopReplicas are for a topic that does not exist any more, if its znode is deleted."""
        if self.ensemble.find(znodes.topic(PARTITION.topic)) is None:
            self.late_stops = [replace(late, is_of_former_topic=True) for late in self.late_stops]

    def late_stop(self, stop: messages.LateStop) -> DelayedStop:
        """Return a late StopReplica of the model."""
        header = 0, stop.controller_epoch, self.creation_of(stop.follower, stop.broker_epoch)
        states = {
            PARTITIONS[stop.partition]: StopReplicaState(stop.leader_epoch, stop.kind == messages.Kind.STOP_REPLICA_AND_DELETE)
        }
        return DelayedStop(stop.follower, StopReplicaRequest(*header, states), bool(stop.is_of_former_topic))

    def model_late_stop(self, late: DelayedStop) -> messages.LateStop:
        """Return the model's record of a late StopReplica."""
        request = late.request
        broker_epoch = self.epoch_of(late.broker, request.broker_epoch)
        ((partition, reported),) = request.partitions.items()
        kind, former = int(kind_of(request, partition)), int(late.is_of_former_topic)
        return messages.LateStop(
            partition.partition, late.broker, kind, request.controller_epoch, broker_epoch, reported.leader_epoch, former
        )

    # Answers on the network

    def late_answer(self, answer: messages.LateAnswer) -> DelayedAnswer:
        """Return the answer of a delayed answer of the model."""
        asked = FetchState(answer.leader, answer.leader_epoch, answer.offset)
        position = FetchPosition(answer.offset, leader_epoch_in_fetch(answer.leader_epoch, self.k.fetches_fenced))
        partition = PARTITIONS[answer.partition]
        request = FetchRequest(answer.follower, 0, {partition: position})
        records = stamped(answer.record, answer.offset, answer.epoch)
        fetched = Fetched(ErrorCode.NONE, answer.high_watermark, 0, records)
        return DelayedAnswer(answer.leader, answer.follower, InFlight(request, {partition: asked}), fetched)

    def model_answer(self, delayed: DelayedAnswer) -> messages.LateAnswer:
        """Return the model's record of a delayed answer."""
        ((partition, asked),) = delayed.asked.asked.items()
        record, epoch = entry_in(delayed.fetched.records)
        reached = delayed.fetched.high_watermark
        sides = delayed.leader, delayed.follower
        return messages.LateAnswer(partition.partition, *sides, asked.offset, asked.leader_epoch, record, epoch, reached)

    def lose_answers(self, broker: int) -> None:
        """Lose the delayed answers from or to a broker whose process ends."""
        self.answers = [delayed for delayed in self.answers if broker not in (delayed.leader, delayed.follower)]
