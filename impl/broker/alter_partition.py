"""A leader's proposals of ISRs to the controller (KIP-497): the queue of one request, and what becomes of the answers.

A change is *pending* from its proposal until the controller has answered: the members of both ISRs count. Sans-IO: `next_request`
returns the request to send, `take` receives its answer. At most one request is on its way; it carries all proposals that wait. A
refused change stays pending, is rolled back, or is proposed again, by its error (spec/decisions/alter_partition.py). The form of a
proposal on the wire is the subclass's: AlterIsr for a controller on ZooKeeper, AlterPartition in KRaft.

Source: Kafka 3.9 AlterPartitionManager.scala, Partition.handleAlterPartitionUpdate, handleAlterPartitionError.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Generic, Protocol, TypeVar

from kafka_spec.impl.broker.isr_manager import IsrManager, Leading
from kafka_spec.impl.protocol.responses import AlteredPartition
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.alter_partition import Reaction, reaction

Proposal = TypeVar("Proposal")


class Proposals(Protocol):
    """A request with proposals."""

    @property
    def partitions(self) -> Mapping[TopicPartition, object]:
        """The proposals, at most one for each partition."""


Request = TypeVar("Request", bound=Proposals)


class AlterPartitionManager(IsrManager, Generic[Proposal, Request]):
    """Proposes the ISRs of the partitions that a broker leads."""

    def __init__(self, replicas: Leading) -> None:
        super().__init__(replicas)
        self.waiting: dict[TopicPartition, Proposal] = {}
        """The proposals without an answer, in a request or not."""
        self.in_flight: Request | None = None

    # What differs between the forms

    @abstractmethod
    def _request(self, proposals: dict[TopicPartition, Proposal]) -> Request:
        """Return a request that carries these proposals."""

    @abstractmethod
    def _is_pending(self, partition: TopicPartition, proposed: Proposal) -> bool:
        """Whether the leader still waits for this change: the controller may have ended that otherwise."""

    @abstractmethod
    def _repeats(self, now: int) -> bool:
        """Whether a proposal whose answer says so is proposed again."""

    @abstractmethod
    def _settled(self, partition: TopicPartition, by: Reaction, now: int) -> None:
        """Note that a change was adopted or rolled back, or else that it stays pending without being proposed again."""

    # The queue

    def next_request(self, now: int) -> Request | None:
        """Return the request to send, None if nothing waits: the one on its way, or another with all that wait."""
        if self.in_flight is None and self.waiting:
            self.in_flight = self._request(dict(self.waiting))
        return self.in_flight

    def _take(self, answers: Mapping[TopicPartition, AlteredPartition], now: int) -> None:
        """Handle the answers to the request on its way."""
        request, self.in_flight = self.in_flight, None
        for partition in () if request is None else request.partitions:
            if partition not in answers:
                continue  # it is sent again
            proposed = self.waiting.pop(partition)
            if self._is_pending(partition, proposed) and self._react(partition, answers[partition], now):
                self.waiting[partition] = proposed

    def _react(self, partition: TopicPartition, answer: AlteredPartition, now: int) -> bool:
        """React to the answer to a proposal; return whether it is proposed again."""
        hosted = self._leading.partitions[partition]
        wanted = Reaction(
            reaction(answer.error, answer.leader_epoch, hosted.leader_epoch, answer.partition_epoch, hosted.partition_epoch)
        )
        if wanted == Reaction.RETRY and self._repeats(now):
            return True
        if wanted == Reaction.ADOPT:
            hosted.isr, hosted.partition_epoch = answer.isr, answer.partition_epoch
        if wanted in (Reaction.ADOPT, Reaction.ROLL_BACK):
            hosted.pending_isr = None
        self._settled(partition, wanted, now)
        return False
