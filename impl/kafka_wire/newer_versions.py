"""Versions of requests and answers that are newer than kio, as kio would describe them.

kio reads the types of fields as they are, so annotations must not be texts here.

Source: Kafka 4.4 BrokerHeartbeatRequest.json, BrokerHeartbeatResponse.json (KIP-1066: cordoned log directories).
"""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from kio.index import load_request_schema, load_response_schema
from kio.schema.broker_heartbeat.v1.request import BrokerHeartbeatRequest
from kio.schema.broker_heartbeat.v1.response import BrokerHeartbeatResponse
from kio.static.primitive import i16


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatRequestV2(BrokerHeartbeatRequest):
    """A heartbeat that tells which log directories are cordoned; null before the broker knows."""

    __version__: ClassVar[i16] = i16(2)
    cordoned_log_dirs: tuple[uuid.UUID | None, ...] | None = field(metadata={"kafka_type": "uuid", "tag": 1}, default=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerHeartbeatResponseV2(BrokerHeartbeatResponse):
    """The answer to a heartbeat, with the same fields as before."""

    __version__: ClassVar[i16] = i16(2)


REQUESTS: Mapping[tuple[int, int], Any] = {(63, 2): BrokerHeartbeatRequestV2}
RESPONSES: Mapping[tuple[int, int], Any] = {(63, 2): BrokerHeartbeatResponseV2}
"""The schemas by API key and version."""


def request_schema(key: int, version: int) -> Any:
    """Return the schema of a request."""
    return REQUESTS.get((key, version)) or load_request_schema(key, version)


def response_schema(key: int, version: int) -> Any:
    """Return the schema of an answer."""
    return RESPONSES.get((key, version)) or load_response_schema(key, version)
