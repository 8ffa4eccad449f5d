"""The immediate operations on partitions that a broker leads: gates, appending, reading, offsets.

Delayed operations and time are the subject of data_plane.py.

Source: Kafka 2.8 Partition.scala, ReplicaManager.scala, KafkaApis.scala.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

from kafka_spec.impl.broker.partition import HostedPartition
from kafka_spec.impl.log.batches import Corrupt
from kafka_spec.impl.log.log import PartitionLog
from kafka_spec.impl.log.producers import OldProducerEpoch, OutOfOrderSequence
from kafka_spec.impl.log.reader import OffsetOutOfRange
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH
from kafka_spec.impl.protocol.data_requests import (
    CONSUMER,
    EARLIEST,
    LATEST,
    UNKNOWN_OFFSET,
    EpochEnd,
    EpochPosition,
    Fetched,
    FetchPosition,
    ListedOffset,
    ListOffsetsRequest,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_ids import id_of_nameless
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.spec.decisions.fencing import answer_to_fetch_epoch
from kafka_spec.spec.decisions.log import end_shows_divergence
from kafka_spec.spec.zookeeper.machines import Role

ACKS_ALL = -1


class Hosting(Protocol):
    """The replicas that a broker hosts, whoever asks it to lead or to follow."""

    changed: Callable[[TopicPartition], object]
    """Called with a partition whenever its role or its high watermark changes."""

    @property
    def settings(self) -> Settings:
        """The settings of the broker."""

    @property
    def k(self) -> Any:
        """The decisions of its era."""

    @property
    def partitions(self) -> Mapping[TopicPartition, HostedPartition]:
        """The partitions that it hosts."""

    @property
    def metadata(self) -> Container[TopicPartition]:
        """The partitions in its metadata cache."""

    def is_of_topic(self, partition: TopicPartition, topic_id: str | None) -> bool:
        """Whether a hosted partition may be of the topic with this id."""

    def role_of(self, partition: TopicPartition) -> enum.IntEnum:
        """Return the role of the broker's replica, as a number of `Role`."""

    def min_insync_replicas(self, partition: TopicPartition) -> int:
        """Return how many members the ISR must have for a write with acks -1: the topic's setting, or else the broker's."""

    def storage(self, partition: TopicPartition) -> AbstractContextManager[HostedPartition]:
        """Access a partition's log; an OSError becomes a KafkaError."""


class LedPartitions:
    """The partitions that one broker leads."""

    def __init__(self, replicas: Hosting) -> None:
        """`replicas` are all that the broker hosts."""
        self.replicas = replicas

    def led(self, partition: TopicPartition, epoch: int = NO_EPOCH) -> HostedPartition:
        """Return a partition that this broker leads; `epoch` is the sender's leader epoch.

        Raises:
            KafkaError: KAFKA_STORAGE_ERROR, UNKNOWN_TOPIC_OR_PARTITION, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
                NOT_LEADER_OR_FOLLOWER, in this order.
        """
        role, hosted = self.replicas.role_of(partition), self.replicas.partitions.get(partition)
        if role == Role.OFFLINE:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"the log directory of {partition} has failed")
        if hosted is None:
            known = partition in self.replicas.metadata
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER if known else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            raise KafkaError(code, f"{partition} is not hosted")
        code = ErrorCode(answer_to_fetch_epoch(epoch, hosted.leader_epoch, int(self.replicas.k.fetches_fenced)))
        if code != ErrorCode.NONE:
            raise KafkaError(code, f"{partition} is in leader epoch {hosted.leader_epoch}, not {epoch}")
        if role != Role.LEADER:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{partition} is led by broker {hosted.leader}")
        return hosted

    def check_named(self, partition: TopicPartition) -> None:
        """Refuse a request for a partition that is not in the metadata cache (KafkaApis).

        Raises:
            KafkaError: UNKNOWN_TOPIC_OR_PARTITION; UNKNOWN_TOPIC_ID if only the id of the topic is known.
        """
        if id_of_nameless(partition.topic) is not None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"no topic in the metadata cache has the id of {partition}")
        if partition not in self.replicas.metadata:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{partition} is not in the metadata cache")

    # Records

    def append_as_leader(self, partition: TopicPartition, records: bytes, acks: int) -> tuple[int, int]:
        """Append to a partition that this broker leads; return the offsets of the first and the last record.

        Raises:
            KafkaError: see `led`; NOT_ENOUGH_REPLICAS if acks is -1 and the ISR too small; CORRUPT_MESSAGE,
                INVALID_RECORD; OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_PRODUCER_EPOCH; KAFKA_STORAGE_ERROR.
        """
        hosted = self.led(partition)
        if acks == ACKS_ALL and len(hosted.isr) < self.replicas.min_insync_replicas(partition):
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, f"the ISR of {partition} is {hosted.isr}")
        try:
            with self.replicas.storage(partition):
                return hosted.opened.append_as_leader(records, hosted.leader_epoch)
        except Corrupt as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from error
        except OutOfOrderSequence as error:
            raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, str(error)) from error
        except OldProducerEpoch as error:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, str(error)) from error
        except ValueError as error:
            raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from error

    def read(self, partition: TopicPartition, position: FetchPosition, replica: int, topic_id: str | None = None) -> Fetched:
        """Return what a replica, or CONSUMER, may read from a position, or an error; the broker does not change.

        With a `topic_id` the topic must be the one that the fetcher means.
        """
        try:
            self.check_named(partition)
            if partition in self.replicas.partitions and not self.replicas.is_of_topic(partition, topic_id):
                raise KafkaError(ErrorCode.INCONSISTENT_TOPIC_ID, f"{partition} is not of the topic {topic_id}")
            hosted = self.led(partition, position.leader_epoch)
            if replica != CONSUMER and replica not in hosted.followers:
                return Fetched(ErrorCode.NONE, hosted.high_watermark, hosted.opened.start_offset)
            end = hosted.high_watermark if replica == CONSUMER else None
            return self._read(partition, hosted, position, end)
        except KafkaError as error:
            return Fetched(error.code)

    def _read(self, partition: TopicPartition, hosted: HostedPartition, position: FetchPosition, end: int | None) -> Fetched:
        try:
            with self.replicas.storage(partition):
                diverging = _divergence(hosted.opened, position)
                records = b"" if diverging else hosted.opened.read(position.offset, position.max_bytes, end)
        except OffsetOutOfRange as error:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, str(error)) from error
        return Fetched(ErrorCode.NONE, hosted.high_watermark, hosted.opened.start_offset, records, diverging)

    # Offsets

    def handle_offsets_for_leader_epoch(self, request: OffsetsForLeaderEpochRequest) -> dict[TopicPartition, EpochEnd]:
        """Return the end offsets of leader epochs in the logs that this broker leads."""
        return {p: self._epoch_end(p, position) for p, position in request.partitions.items()}

    def _epoch_end(self, partition: TopicPartition, position: EpochPosition) -> EpochEnd:
        try:
            hosted = self.led(partition, position.current_epoch)
        except KafkaError as error:
            return EpochEnd(error.code)
        return EpochEnd(ErrorCode.NONE, *hosted.opened.end_offset_for_epoch(position.leader_epoch))

    def handle_list_offsets(self, request: ListOffsetsRequest) -> dict[TopicPartition, ListedOffset]:
        """Return offsets of the logs that this broker leads.

        A new leader whose high watermark has not reached its epoch yet knows no latest offset for consumers, and finds a timestamp
        only below the high watermark (KIP-207).
        """
        return {p: self._offset(p, query, request.replica) for p, query in request.partitions.items()}

    def _offset(self, partition: TopicPartition, query: OffsetQuery, replica: int) -> ListedOffset:
        try:
            hosted = self.led(partition, query.current_epoch)
            log = hosted.opened
            if query.timestamp < EARLIEST:  # the largest timestamp, or offsets of tiered storage
                raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"an offset of kind {query.timestamp} is not served")
            if query.timestamp == EARLIEST:
                return ListedOffset(ErrorCode.NONE, log.start_offset, log.epoch_of(log.start_offset))
            end = hosted.high_watermark if replica == CONSUMER else log.end_offset
            lags = end < hosted.epoch_start
            if query.timestamp == LATEST:
                not_yet = ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE)
                return not_yet if lags else ListedOffset(ErrorCode.NONE, end, hosted.leader_epoch)
            with self.replicas.storage(partition):
                found = log.offset_for_timestamp(query.timestamp)
        except KafkaError as error:
            return ListedOffset(error.code)
        if found is not None and found < end:
            return ListedOffset(ErrorCode.NONE, found, log.epoch_of(found))
        return ListedOffset(ErrorCode.OFFSET_NOT_AVAILABLE if lags else ErrorCode.NONE)


def _divergence(log: PartitionLog, position: FetchPosition) -> EpochEnd | None:
    """Return where the last fetched epoch ends in this log, if that shows that the fetcher's log is another one (KIP-595).

    Raises:
        OffsetOutOfRange: this log begins after the offset, or knows no leader epochs.
    """
    last = position.last_fetched_epoch
    if last == NO_EPOCH:
        return None
    if position.offset < log.start_offset:
        raise OffsetOutOfRange(f"the log begins at {log.start_offset}, after {position.offset}")
    epoch, end = log.end_offset_for_epoch(last)
    if end == UNKNOWN_OFFSET:
        raise OffsetOutOfRange(f"the end of leader epoch {last} is not known")
    return EpochEnd(ErrorCode.NONE, epoch, end) if end_shows_divergence(epoch, end, last, position.offset) else None
