"""The requests of followers and clients to a broker, as fields of Kafka's wire protocol.

Fetch sessions are declined, as Kafka permits: every answer has session 0, so every fetch names all its partitions.

Source: Kafka 2.8 ProduceRequest.json, FetchRequest.json, ListOffsetsRequest.json, OffsetForLeaderEpochRequest.json,
MetadataRequest.json and their responses; FetchSession.scala.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafka_spec.impl.kafka_wire.entities import milliseconds
from kafka_spec.impl.kafka_wire.topics import by_topic, by_topic_and_id, code_of, id_on_wire, topic_of, whole_batches
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH
from kafka_spec.impl.protocol.data_requests import (
    UNKNOWN_OFFSET,
    EpochEnd,
    EpochPosition,
    Fetched,
    FetchPosition,
    FetchRequest,
    InitProducerIdRequest,
    ListedOffset,
    ListOffsetsRequest,
    Metadata,
    MetadataRequest,
    OffsetQuery,
    OffsetsForLeaderEpochRequest,
    Produced,
    ProduceRequest,
)
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.responses import (
    FetchResponse,
    InitProducerIdResponse,
    ListOffsetsResponse,
    OffsetsForLeaderEpochResponse,
    ProduceResponse,
)
from kafka_spec.impl.protocol.topic_ids import id_of_nameless, names_found
from kafka_spec.impl.protocol.topic_partition import TopicPartition

Fields = Mapping[str, Any]
NO_SESSION = {"session_id": 0, "session_epoch": -1}
"""A fetch that asks for no session (FetchMetadata.LEGACY)."""
MOST_BYTES = 50 << 20
"""The bytes of a whole answer to a fetch (fetch.max.bytes)."""
NOT_ASKED = -(2**31)
"""Authorized operations that were not asked for."""


def produce_fields(request: ProduceRequest) -> Fields:
    """Return the fields of a Produce request."""
    states = {p: {"index": p.partition, "records": bytes(records)} for p, records in request.partitions.items()}
    topics = [{"name": topic, "partition_data": of_topic} for topic, of_topic in by_topic(states)]
    return {"acks": request.acks, "timeout": request.timeout_ms, "topic_data": topics}


def produce_of(entity: Any) -> ProduceRequest:
    """Return the Produce request of an entity."""
    records = {
        TopicPartition(topic.name, one.index): bytes(one.records or b"")
        for topic in entity.topic_data
        for one in topic.partition_data
    }
    return ProduceRequest(entity.acks, records, milliseconds(entity.timeout))


def produced_fields(answer: ProduceResponse, _: object) -> Fields:
    """Return the fields of the answer to Produce."""
    states = {
        p: {"index": p.partition, "error_code": int(one.error), "base_offset": one.base_offset, "record_errors": ()}
        for p, one in answer.partitions.items()
    }
    return {"responses": [{"name": topic, "partition_responses": of_topic} for topic, of_topic in by_topic(states)]}


def produced_of(entity: Any, _: object) -> ProduceResponse:
    """Return the answer to Produce."""
    return ProduceResponse(
        {
            TopicPartition(topic.name, one.index): Produced(code_of(one.error_code), one.base_offset)
            for topic in entity.responses
            for one in topic.partition_responses
        }
    )


def fetch_fields(request: FetchRequest) -> Fields:
    """Return the fields of a Fetch request."""
    states = {
        p: {
            "partition": p.partition,
            "current_leader_epoch": position.leader_epoch,
            "fetch_offset": position.offset,
            "last_fetched_epoch": position.last_fetched_epoch,
            "partition_max_bytes": position.max_bytes,
        }
        for p, position in request.partitions.items()
    }
    return {
        "replica_id": request.replica,
        "replica_state": {"replica_id": request.replica, "replica_epoch": request.broker_epoch},
        "max_wait": request.max_wait_ms,
        "min_bytes": request.min_bytes,
        "max_bytes": MOST_BYTES,
        "topics": by_topic_and_id(states, request.topic_ids, "topic", "partitions"),
        "forgotten_topics_data": (),
        **NO_SESSION,
    }


def fetch_of(entity: Any) -> FetchRequest:
    """Return the Fetch request of an entity: with last fetched epochs from version 12 on, topics by their ids from 13 on."""
    positions = {
        TopicPartition(topic_of(topic, "topic"), one.partition): FetchPosition(
            one.fetch_offset,
            getattr(one, "current_leader_epoch", NO_EPOCH),
            one.partition_max_bytes,
            getattr(one, "last_fetched_epoch", NO_EPOCH),
        )
        for topic in entity.topics
        for one in topic.partitions
    }
    state = getattr(entity, "replica_state", None)
    replica, epoch = (entity.replica_id, NO_EPOCH) if state is None else (state.replica_id, state.replica_epoch)
    return FetchRequest(replica, epoch, positions, milliseconds(entity.max_wait), entity.min_bytes)


def fetched_fields(answer: FetchResponse, _: object) -> Fields:
    """Return the fields of the answer to Fetch; without transactions the last stable offset is the high watermark."""
    states = {
        p: {
            "partition_index": p.partition,
            "error_code": int(one.error),
            "high_watermark": one.high_watermark,
            "last_stable_offset": one.high_watermark,
            "log_start_offset": one.start_offset,
            "aborted_transactions": None,
            "records": one.records,
            **({} if one.diverging is None else {"diverging_epoch": _epoch_end(one.diverging)}),
        }
        for p, one in answer.partitions.items()
    }
    topics = by_topic_and_id(states, {}, "topic", "partitions")
    return {"throttle_time": 0, "error_code": 0, "session_id": 0, "responses": topics}


def _epoch_end(diverging: EpochEnd) -> Fields:
    return {"epoch": diverging.leader_epoch, "end_offset": diverging.end_offset}


def fetched_of(entity: Any, request: FetchRequest) -> FetchResponse:
    """Return the answer to Fetch."""
    reported = {
        TopicPartition(topic_of(topic, "topic"), one.partition_index): Fetched(
            code_of(one.error_code),
            one.high_watermark,
            one.log_start_offset,
            whole_batches(bytes(one.records or b"")),
            _diverging(getattr(one, "diverging_epoch", None)),
        )
        for topic in entity.responses
        for one in topic.partitions
    }
    names = names_found(reported, request.topic_ids)
    return FetchResponse({names[p]: one for p, one in reported.items()})


def _diverging(entity: Any) -> EpochEnd | None:
    """Return where logs diverge; the field is there, and says nothing, when they do not."""
    if entity is None or entity.end_offset == UNKNOWN_OFFSET:
        return None
    return EpochEnd(ErrorCode.NONE, entity.epoch, entity.end_offset)


def list_offsets_fields(request: ListOffsetsRequest) -> Fields:
    """Return the fields of a ListOffsets request."""
    states = {
        p: {"partition_index": p.partition, "current_leader_epoch": query.current_epoch, "timestamp": query.timestamp}
        for p, query in request.partitions.items()
    }
    topics = [{"name": topic, "partitions": of_topic} for topic, of_topic in by_topic(states)]
    return {"replica_id": request.replica, "isolation_level": 0, "topics": topics}


def list_offsets_of(entity: Any) -> ListOffsetsRequest:
    """Return the ListOffsets request of an entity."""
    queries = {
        TopicPartition(topic.name, one.partition_index): OffsetQuery(one.timestamp, getattr(one, "current_leader_epoch", NO_EPOCH))
        for topic in entity.topics
        for one in topic.partitions
    }
    return ListOffsetsRequest(entity.replica_id, queries)


def listed_offset_fields(answer: ListOffsetsResponse, _: object) -> Fields:
    """Return the fields of the answer to ListOffsets."""
    states = {
        p: {
            "partition_index": p.partition,
            "error_code": int(one.error),
            "offset": one.offset,
            "leader_epoch": one.leader_epoch,
        }
        for p, one in answer.partitions.items()
    }
    return {"throttle_time": 0, "topics": [{"name": topic, "partitions": of_topic} for topic, of_topic in by_topic(states)]}


def listed_offset_of(entity: Any, _: object) -> ListOffsetsResponse:
    """Return the answer to ListOffsets."""
    return ListOffsetsResponse(
        {
            TopicPartition(topic.name, one.partition_index): ListedOffset(code_of(one.error_code), one.offset, one.leader_epoch)
            for topic in entity.topics
            for one in topic.partitions
        }
    )


def epoch_ends_fields(request: OffsetsForLeaderEpochRequest) -> Fields:
    """Return the fields of an OffsetsForLeaderEpoch request."""
    states = {
        p: {"partition": p.partition, "current_leader_epoch": asked.current_epoch, "leader_epoch": asked.leader_epoch}
        for p, asked in request.partitions.items()
    }
    topics = [{"topic": topic, "partitions": of_topic} for topic, of_topic in by_topic(states)]
    return {"replica_id": request.replica, "topics": topics}


def epoch_ends_of(entity: Any) -> OffsetsForLeaderEpochRequest:
    """Return the OffsetsForLeaderEpoch request of an entity; up to version 2 it does not say who asks."""
    asked = {
        TopicPartition(topic.topic, one.partition): EpochPosition(getattr(one, "current_leader_epoch", NO_EPOCH), one.leader_epoch)
        for topic in entity.topics
        for one in topic.partitions
    }
    return OffsetsForLeaderEpochRequest(getattr(entity, "replica_id", -2), asked)


def ended_epoch_fields(answer: OffsetsForLeaderEpochResponse, _: object) -> Fields:
    """Return the fields of the answer to OffsetsForLeaderEpoch."""
    states = {
        p: {
            "partition": p.partition,
            "error_code": int(one.error),
            "leader_epoch": one.leader_epoch,
            "end_offset": one.end_offset,
        }
        for p, one in answer.partitions.items()
    }
    return {"throttle_time": 0, "topics": [{"topic": topic, "partitions": of_topic} for topic, of_topic in by_topic(states)]}


def ended_epoch_of(entity: Any, _: object) -> OffsetsForLeaderEpochResponse:
    """Return the answer to OffsetsForLeaderEpoch."""
    return OffsetsForLeaderEpochResponse(
        {
            TopicPartition(topic.topic, one.partition): EpochEnd(code_of(one.error_code), one.leader_epoch, one.end_offset)
            for topic in entity.topics
            for one in topic.partitions
        }
    )


def metadata_of(entity: Any) -> MetadataRequest:
    """Return the Metadata request of an entity; in version 0 an empty list asks for all topics, as null does since."""
    named = None if entity.topics is None else tuple(topic_of(topic, "name") for topic in entity.topics)
    if entity.__version__ == 0 and not named:
        named = None
    return MetadataRequest(named, getattr(entity, "allow_auto_topic_creation", True))


def metadata_fields(answer: Metadata, _: object) -> Fields:
    """Return the fields of the answer to Metadata."""
    states = {
        p: {
            "error_code": int(one.error),
            "partition_index": p.partition,
            "leader_id": one.leadership.leader,
            "leader_epoch": one.leadership.leader_epoch,
            "replica_nodes": one.replicas,
            "isr_nodes": one.leadership.isr,
            "offline_replicas": one.offline_replicas,
        }
        for p, one in answer.partitions.items()
    }
    found = [(topic, 0, of_topic) for topic, of_topic in by_topic(states)]
    missing: list[tuple[str, int, list[Any]]] = [(topic, int(code), []) for topic, code in answer.errors.items()]
    brokers = [
        {"node_id": one.number, "host": one.endpoints[0].host, "port": one.endpoints[0].port, "rack": one.rack}
        for one in answer.brokers
    ]
    topics = [
        {
            "error_code": code,
            "name": topic if id_of_nameless(topic) is None else None,
            "topic_id": id_on_wire(id_of_nameless(topic) or answer.topic_ids.get(topic)),
            "is_internal": False,
            "partitions": of_topic,
            "topic_authorized_operations": NOT_ASKED,
        }
        for topic, code, of_topic in (*found, *missing)
    ]
    return {"throttle_time": 0, "brokers": brokers, "controller_id": answer.controller, "topics": topics}


def init_producer_of(entity: Any) -> InitProducerIdRequest:
    """Return the InitProducerId request of an entity; what a producer has had before, from version 3 on, is not needed."""
    return InitProducerIdRequest(entity.transactional_id)


def producer_fields(answer: InitProducerIdResponse, _: object) -> Fields:
    """Return the fields of the answer to InitProducerId."""
    reported = {"producer_id": answer.producer, "producer_epoch": answer.epoch}
    return {"throttle_time": 0, "error_code": int(answer.error), **reported}
