"""The requests that are sent and served, by API key: their versions and codecs, and frames as bytes.

The versions that are sent depend on the inter.broker.protocol.version (protocols.py). What is not served is answered as Kafka
answers: an unknown version of ApiVersions with UNSUPPORTED_VERSION and the list of what is served, and anything else by closing the
connection.

Source: Kafka 2.8 ApiKeys.java, ApiVersionsRequest.java, RequestContext.java, ReplicaFetcherThread.scala,
ControllerChannelManager.scala.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kafka_spec.impl.kafka_wire import controller_codecs as control
from kafka_spec.impl.kafka_wire import data_codecs as data
from kafka_spec.impl.kafka_wire import entities
from kafka_spec.impl.kafka_wire.entities import NotAMessage, RequestHead
from kafka_spec.impl.kafka_wire.protocols import OLDEST, InterBrokerProtocol
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH, LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kafka_spec.impl.protocol.data_requests import (
    AllocateProducerIdsRequest,
    AlterIsrRequest,
    ControlledShutdownRequest,
    FetchRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    MetadataRequest,
    OffsetsForLeaderEpochRequest,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode

LENGTH = struct.Struct(">i")
CLIENT = "kafka-spec"
"""The client id of our requests."""
API_VERSIONS = 18
ENVELOPE = 58
API_VERSIONS_SERVED = (0, 3)
LAST_WITH_NAMES = {FetchRequest: 12, AlterIsrRequest: 1}
"""The last version of a request that names topics; that of Fetch is also the first that has last fetched epochs."""


@dataclass(frozen=True)
class Api:
    """One kind of request: its key, the versions served, and its codecs.

    `fields` and `message` turn a request into fields and back; `answer_fields` and `answer` do so for its answer, given the
    request. What is never sent has no `fields` and no `answer`.
    """

    key: int
    kind: type
    least: int
    most: int
    message: Callable[[Any], Any]
    answer_fields: Callable[[Any, Any], Mapping[str, Any]]
    fields: Callable[[Any], Mapping[str, Any]] | None = None
    answer: Callable[[Any, Any], Any] | None = None
    lane: str = "control"
    """Requests of one lane share a connection, on which a broker serves one after the other."""


APIS = (
    Api(0, ProduceRequest, 3, 8, data.produce_of, data.produced_fields, data.produce_fields, data.produced_of, "clients"),
    Api(1, FetchRequest, 4, 17, data.fetch_of, data.fetched_fields, data.fetch_fields, data.fetched_of, "fetches"),
    Api(
        2, ListOffsetsRequest, 1, 9, data.list_offsets_of, data.listed_offset_fields,
        data.list_offsets_fields, data.listed_offset_of, "fetches",
    ),
    Api(3, MetadataRequest, 0, 12, data.metadata_of, data.metadata_fields),
    Api(
        4, LeaderAndIsrRequest, 3, 7, control.leader_and_isr_of, control.partition_errors,
        control.leader_and_isr_fields, control.partition_errors_of,
    ),
    Api(
        5, StopReplicaRequest, 3, 4, control.stop_replica_of, control.partition_errors,
        control.stop_replica_fields, control.partition_errors_of,
    ),
    Api(
        6, UpdateMetadataRequest, 6, 8, control.update_metadata_of, control.error_fields,
        control.update_metadata_fields, control.error_of,
    ),
    Api(
        7, ControlledShutdownRequest, 2, 3, control.controlled_shutdown_of, control.remaining_fields,
        control.controlled_shutdown_fields, control.remaining_of,
    ),
    Api(
        23, OffsetsForLeaderEpochRequest, 0, 4, data.epoch_ends_of, data.ended_epoch_fields,
        data.epoch_ends_fields, data.ended_epoch_of, "fetches",
    ),
    Api(
        56, AlterIsrRequest, 0, 3, control.alter_isr_of, control.altered_isr_fields,
        control.alter_isr_fields, control.altered_isr_of,
    ),
    Api(22, InitProducerIdRequest, 0, 4, data.init_producer_of, data.producer_fields),
    Api(67, AllocateProducerIdsRequest, 0, 0, control.allocate_producer_ids_of, control.producer_ids_fields),
)  # fmt: skip
"""What a broker of a cluster with ZooKeeper serves."""
BY_KIND = {api.kind: api for api in APIS}


class Unserved(ValueError):  # noqa: N818 - the name is the message
    """A request that is not served: Kafka closes the connection."""


@dataclass(frozen=True)
class Received:
    """A request as received; `message` is None for what the listener answers itself: ApiVersions, and what cannot be forwarded.

    `envelope` is the header of the request that it was forwarded in, None if it came by itself.
    """

    head: RequestHead
    message: Any | None
    envelope: RequestHead | None = None


def framed(data: bytes) -> bytes:
    """Return a message with its length before it."""
    return LENGTH.pack(len(data)) + data


def version_sent(message: object, protocol: InterBrokerProtocol) -> int:
    """Return the version in which a request is sent: an earlier one for a topic whose id is not known.

    Raises:
        ValueError: a fetch has a last fetched epoch, which that version has no field for: nobody would look for divergence.
    """
    version = protocol.versions[type(message)]
    if not isinstance(message, FetchRequest | AlterIsrRequest):
        return version
    with_names = LAST_WITH_NAMES[type(message)]
    if any(partition.topic not in message.topic_ids for partition in message.partitions):
        version = min(version, with_names)
    if isinstance(message, AlterIsrRequest):
        return version
    if version < with_names and any(one.last_fetched_epoch != NO_EPOCH for one in message.partitions.values()):
        raise ValueError(f"Fetch of version {version} has no last fetched epoch; turn truncation_on_fetch off")
    return version


def encode_request(message: object, correlation: int, protocol: InterBrokerProtocol = OLDEST) -> bytes:
    """Return a request as a frame.

    Raises:
        TypeError: it is of a kind that is never sent.
        ValueError: see `version_sent`.
    """
    api = BY_KIND.get(type(message))
    if api is None or api.fields is None:
        raise TypeError(f"{type(message).__name__} is not sent over Kafka's wire")
    return framed(entities.write_request(api.key, version_sent(message, protocol), correlation, CLIENT, api.fields(message)))


def decode_answer(message: object, data: bytes, protocol: InterBrokerProtocol = OLDEST) -> tuple[int, Any]:
    """Return the correlation id and the answer to a request that was sent.

    Raises:
        NotAMessage: the bytes are not that answer.
    """
    api = BY_KIND[type(message)]
    assert api.answer is not None
    correlation, entity = entities.read_answer(api.key, version_sent(message, protocol), data)
    return correlation, api.answer(entity, message)


class ServedApis:
    """The requests that a listener serves, beside ApiVersions."""

    def __init__(self, apis: Iterable[Api], *, forwarded: bool = False) -> None:
        """With `forwarded`, requests may come in an Envelope, in which brokers forward those of their clients (KIP-590)."""
        self._apis = {api.key: api for api in apis}
        self._forwarded = forwarded

    def decode_request(self, data: bytes) -> Received:
        """Return a request that was received.

        Raises:
            Unserved: no such request, or not in this version.
            NotAMessage: the bytes are not that request.
        """
        key, version = entities.peek(data)
        if key == API_VERSIONS:
            least, most = API_VERSIONS_SERVED
            if not least <= version <= most:
                return Received(RequestHead(key, version, entities.correlation_of(data), None), None)
            head, _ = entities.read_request(data)
            return Received(head, None)
        if key == ENVELOPE and self._forwarded:
            head, envelope = entities.read_request(data)
            try:
                return replace(self._decode_served(envelope.request_data), envelope=head)
            except Unserved:
                return Received(head, None, head)
        return self._decode_served(data)

    def _decode_served(self, data: bytes) -> Received:
        key, version = entities.peek(data)
        api = self._apis.get(key)
        if api is None or not api.least <= version <= api.most:
            raise Unserved(f"API key {key} in version {version} is not served")
        head, entity = entities.read_request(data)
        try:
            return Received(head, api.message(entity))
        except ValueError as error:
            raise NotAMessage(str(error)) from None

    def encode_answer(self, received: Received, answer: Any) -> bytes:
        """Return the answer to a request as a frame."""
        head, envelope = received.head, received.envelope
        fields = self._apis[head.key].answer_fields(answer, received.message)
        written = entities.write_answer(head.key, head.version, head.correlation, fields)
        if envelope is not None:
            inside = {"response_data": written, "error_code": int(ErrorCode.NONE)}
            written = entities.write_answer(ENVELOPE, envelope.version, envelope.correlation, inside)
        return framed(written)

    def answer_itself(self, received: Received) -> bytes:
        """Return the answer to what no broker or controller has to answer, as a frame."""
        head = received.head
        if received.envelope is None:
            return self.api_versions(head)
        refused = {"response_data": None, "error_code": int(ErrorCode.UNSUPPORTED_VERSION)}
        return framed(entities.write_answer(ENVELOPE, head.version, head.correlation, refused))

    def api_versions(self, head: RequestHead) -> bytes:
        """Return the answer to ApiVersions as a frame; to an unknown version it is one of version 0, with an error."""
        least, most = API_VERSIONS_SERVED
        known = least <= head.version <= most
        served = [(api.key, api.least, api.most) for api in self._apis.values()] + [(API_VERSIONS, least, most)]
        served += [(ENVELOPE, 0, 0)] if self._forwarded else []
        keys = [{"api_key": key, "min_version": first, "max_version": last} for key, first, last in sorted(served)]
        error = ErrorCode.NONE if known else ErrorCode.UNSUPPORTED_VERSION
        fields = {"error_code": int(error), "api_keys": keys, "throttle_time": 0}
        return framed(entities.write_answer(API_VERSIONS, head.version if known else 0, head.correlation, fields))


BROKER_ON_ZOOKEEPER = ServedApis(APIS)
