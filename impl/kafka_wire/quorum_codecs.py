"""The requests of observers to the quorum's leader, as fields of Kafka's wire protocol: the metadata log is one partition.

Source: Kafka 4.4 FetchRequest.json, FetchSnapshotRequest.json, VoteRequest.json, DescribeQuorumRequest.json and their responses;
RaftUtil.java.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from kafka_spec.impl.kafka_wire.entities import milliseconds
from kafka_spec.impl.protocol.controller_requests import NO_EPOCH
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.quorum_requests import (
    TOPIC,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    FetchLogRequest,
    FetchLogResponse,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumLeader,
    SnapshotId,
    VoteRequest,
    VoteResponse,
)

Fields = Mapping[str, Any]
TOPIC_ID = uuid.UUID(int=1)
"""The id of the metadata log's topic (Uuid.METADATA_TOPIC_ID)."""
WHOLE_REQUEST = (ErrorCode.INCONSISTENT_CLUSTER_ID,)
"""The errors that an answer has as a whole, and not for its partition."""
CONTROLLER = "CONTROLLER"


def _the_partition(topics: Any) -> Any:
    """Return what a request says of the metadata log.

    Raises:
        ValueError: it speaks of something else, or of nothing.
    """
    if len(topics) != 1 or len(topics[0].partitions) != 1:
        raise ValueError("a request to the quorum names one partition, that of the metadata log")
    return topics[0].partitions[0]


def _topics(field: str, partitions: str, state: Fields) -> list[Fields]:
    return [{field: TOPIC.topic, "topic_id": TOPIC_ID, partitions: [state]}]


def _endpoint(leader: QuorumLeader) -> Fields:
    return {"node_id": leader.node, "host": leader.host, "port": leader.port, "rack": None}


def fetch_log_of(entity: Any) -> FetchLogRequest:
    """Return the Fetch request of an observer.

    Raises:
        ValueError: it fetches something else than the metadata log.
    """
    one = _the_partition(entity.topics)
    return FetchLogRequest(
        entity.replica_state.replica_id,
        one.current_leader_epoch,
        one.fetch_offset,
        one.last_fetched_epoch,
        one.partition_max_bytes or entity.max_bytes,
        milliseconds(entity.max_wait),
        entity.cluster_id,
    )


def fetched_log_fields(answer: FetchLogResponse, _: object) -> Fields:
    """Return the fields of the answer to an observer; each says who leads."""
    whole = answer.error in WHOLE_REQUEST
    state: dict[str, Any] = {
        "partition_index": TOPIC.partition,
        "error_code": int(ErrorCode.NONE if whole else answer.error),
        "high_watermark": answer.high_watermark,
        "last_stable_offset": -1,
        "log_start_offset": answer.start,
        "current_leader": _leader(answer.leader),
        "aborted_transactions": None,
        "preferred_read_replica": -1,
        "records": answer.records,
    }
    if answer.diverging is not None:
        state["diverging_epoch"] = {"epoch": answer.diverging.leader_epoch, "end_offset": answer.diverging.end_offset}
    if answer.snapshot is not None:
        state["snapshot_id"] = _snapshot(answer.snapshot)
    return {
        "throttle_time": 0,
        "error_code": int(answer.error if whole else ErrorCode.NONE),
        "session_id": 0,
        "responses": [] if whole else _topics("topic", "partitions", state),
        "node_endpoints": [_endpoint(answer.leader)],
    }


def fetch_snapshot_of(entity: Any) -> FetchSnapshotRequest:
    """Return the FetchSnapshot request of an observer.

    Raises:
        ValueError: it is about something else than the metadata log.
    """
    one = _the_partition(entity.topics)
    wanted = SnapshotId(one.snapshot_id.end_offset, one.snapshot_id.epoch)
    return FetchSnapshotRequest(one.current_leader_epoch, wanted, one.position, entity.max_bytes, entity.cluster_id)


def fetched_snapshot_fields(answer: FetchSnapshotResponse, _: object) -> Fields:
    """Return the fields of the answer to FetchSnapshot: a part that need not end where a batch ends."""
    whole = answer.error in WHOLE_REQUEST
    state = {
        "index": TOPIC.partition,
        "error_code": int(ErrorCode.NONE if whole else answer.error),
        "snapshot_id": _snapshot(answer.snapshot),
        "current_leader": _leader(answer.leader),
        "size": answer.size,
        "position": answer.position,
        "unaligned_records": answer.part,
    }
    return {
        "throttle_time": 0,
        "error_code": int(answer.error if whole else ErrorCode.NONE),
        "topics": [] if whole else _topics("name", "partitions", state),
        "node_endpoints": [_endpoint(answer.leader)],
    }


def _snapshot(snapshot: SnapshotId) -> Fields:
    return {"end_offset": snapshot.end, "epoch": snapshot.epoch}


def _leader(leader: QuorumLeader) -> Fields:
    return {"leader_id": leader.node, "leader_epoch": leader.epoch}


def vote_of(entity: Any) -> VoteRequest:
    """Return the Vote request of a candidate.

    Raises:
        ValueError: it is about something else than the metadata log.
    """
    one = _the_partition(entity.topics)
    return VoteRequest(getattr(one, "replica_epoch", getattr(one, "candidate_epoch", NO_EPOCH)), entity.cluster_id)


def voted_fields(answer: VoteResponse, _: object) -> Fields:
    """Return the fields of the answer to Vote: no vote, and who leads."""
    state = {
        "partition_index": TOPIC.partition,
        "error_code": 0,
        "leader_id": answer.leader.node,
        "leader_epoch": answer.leader.epoch,
        "vote_granted": False,
    }
    topics = [] if answer.error in WHOLE_REQUEST else _topics("topic_name", "partitions", state)
    return {"error_code": int(answer.error), "topics": topics, "node_endpoints": [_endpoint(answer.leader)]}


def describe_quorum_of(entity: Any) -> DescribeQuorumRequest:
    """Return the DescribeQuorum request.

    Raises:
        ValueError: it is about something else than the metadata log.
    """
    _the_partition(entity.topics)
    return DescribeQuorumRequest()


def described_quorum_fields(answer: DescribeQuorumResponse, _: object) -> Fields:
    """Return the fields of the answer to DescribeQuorum: the leader is the only voter."""
    leader = answer.leader
    state = {
        "partition_index": TOPIC.partition,
        "error_code": 0,
        "error_message": None,
        "leader_id": leader.node,
        "leader_epoch": leader.epoch,
        "high_watermark": answer.high_watermark,
        "current_voters": [_replica(leader.node, answer.high_watermark)],
        "observers": [_replica(node, end) for node, end in sorted(answer.observers.items())],
    }
    listeners = [{"name": CONTROLLER, "host": leader.host, "port": leader.port}]
    nodes = [{"node_id": leader.node, "listeners": listeners}]
    return {"error_code": 0, "error_message": None, "topics": _topics("topic_name", "partitions", state), "nodes": nodes}


def _replica(node: int, end: int) -> Fields:
    unknown = {"last_fetch_timestamp": -1, "last_caught_up_timestamp": -1}
    return {"replica_id": node, "replica_directory_id": None, "log_end_offset": end, **unknown}
