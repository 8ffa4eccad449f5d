"""Versions of requests and answers that are newer than kio, as kio would describe them.

kio reads the types of fields as they are, so annotations must not be texts here; fields without a tag are read in their order.

Source: Kafka 4.4 BrokerHeartbeatRequest.json (KIP-1066: cordoned log directories), AlterPartitionReassignmentsRequest.json
(KIP-860: a replication factor that may not change) and their responses.
"""

import datetime
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kio.index import load_request_schema, load_response_schema
from kio.schema.alter_partition_reassignments.v0.request import AlterPartitionReassignmentsRequest, ReassignableTopic
from kio.schema.alter_partition_reassignments.v0.response import AlterPartitionReassignmentsResponse, ReassignableTopicResponse
from kio.schema.broker_heartbeat.v1.request import BrokerHeartbeatRequest
from kio.schema.broker_heartbeat.v1.response import BrokerHeartbeatResponse
from kio.schema.errors import ErrorCode
from kio.static.primitive import i16, i32Timedelta

TIME = {"kafka_type": "timedelta_i32"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequestV2(BrokerHeartbeatRequest):
    """A heartbeat with the log directories that are cordoned; null before the broker knows."""

    __version__: ClassVar[i16] = i16(2)
    cordoned_log_dirs: tuple[uuid.UUID | None, ...] | None = field(metadata={"kafka_type": "uuid", "tag": 1}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatResponseV2(BrokerHeartbeatResponse):
    """The answer to a heartbeat, with the same fields as before."""

    __version__: ClassVar[i16] = i16(2)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionReassignmentsRequestV1:
    """Reassignments that may be refused if they change the replication factor."""

    __type__: ClassVar = AlterPartitionReassignmentsRequest.__type__
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = AlterPartitionReassignmentsRequest.__api_key__
    __header_schema__: ClassVar = AlterPartitionReassignmentsRequest.__header_schema__
    timeout: i32Timedelta = field(metadata=TIME, default=i32Timedelta.parse(datetime.timedelta(minutes=1)))
    allow_replication_factor_change: bool = field(metadata={"kafka_type": "bool"}, default=True)
    topics: tuple[ReassignableTopic, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterPartitionReassignmentsResponseV1:
    """Their results."""

    __type__: ClassVar = AlterPartitionReassignmentsResponse.__type__
    __version__: ClassVar[i16] = i16(1)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = AlterPartitionReassignmentsResponse.__api_key__
    __header_schema__: ClassVar = AlterPartitionReassignmentsResponse.__header_schema__
    throttle_time: i32Timedelta = field(metadata=TIME)
    allow_replication_factor_change: bool = field(metadata={"kafka_type": "bool"}, default=True)
    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})
    error_message: str | None = field(metadata={"kafka_type": "string"})
    responses: tuple[ReassignableTopicResponse, ...]


REQUESTS: Mapping[tuple[int, int], Any] = {(45, 1): AlterPartitionReassignmentsRequestV1, (63, 2): BrokerHeartbeatRequestV2}
RESPONSES: Mapping[tuple[int, int], Any] = {(45, 1): AlterPartitionReassignmentsResponseV1, (63, 2): BrokerHeartbeatResponseV2}
"""The schemas by API key and version."""


def request_schema(key: int, version: int) -> Any:
    """Return the schema of a request."""
    return REQUESTS.get((key, version)) or load_request_schema(key, version)


def response_schema(key: int, version: int) -> Any:
    """Return the schema of an answer."""
    return RESPONSES.get((key, version)) or load_response_schema(key, version)
