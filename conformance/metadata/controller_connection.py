"""A connection to one controller of a running quorum, on Kafka's wire protocol.

Source: KIP-595, KIP-630; Kafka 4.4 FetchRequest.json, FetchSnapshotRequest.json, DescribeQuorumRequest.json.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from typing import Any

from kafka_spec.conformance.metadata.client_security import PLAINTEXT, AuthenticationFailed, ClientSecurity
from kafka_spec.impl.kafka_wire import entities
from kafka_spec.impl.kafka_wire.apis import API_VERSIONS, LENGTH
from kafka_spec.impl.kafka_wire.entities import NotAMessage

FETCH, DESCRIBE_QUORUM, FETCH_SNAPSHOT = 1, 55, 59
NEWEST = {FETCH: 17, DESCRIBE_QUORUM: 2, FETCH_SNAPSHOT: 1}
"""The newest versions that are sent."""
PATIENCE = 10.0
"""The longest wait for an answer, in seconds."""
LARGEST_ANSWER = 100 << 20
CURE = "name a controller's listener, and give --command-config if it has TLS or SASL"


class ControllerLost(Exception):  # noqa: N818 - says what happened
    """The controller cannot be read, or no longer."""


class ControllerConnection:
    """A connection to one node of the quorum; it asks one question at a time."""

    def __init__(self, host: str, port: int, security: ClientSecurity = PLAINTEXT) -> None:
        """Connect, authenticate, and ask for the versions that the node serves.

        Raises:
            OSError: nobody listens there, it does not answer, or its certificate is not trusted.
            ControllerLost: it does not accept the credentials, or does not serve FetchSnapshot.
        """
        self._socket = socket.create_connection((host, port), PATIENCE)
        self._correlation = 0
        try:
            self._socket = security.secured(self._socket, host)
            security.authenticate(self.ask)
            served = {one.api_key: one.max_version for one in self.ask(API_VERSIONS, {}, 0).api_keys}
            if not served.keys() >= NEWEST.keys():
                raise ControllerLost(f"{host}:{port} is not a controller: it serves no FetchSnapshot; name a controller's listener")
        except AuthenticationFailed as error:
            self.close()
            raise ControllerLost(f"{host}:{port} refuses the authentication: {error}") from None
        except (OSError, ControllerLost):
            self.close()
            raise
        self._versions = {key: min(newest, served[key]) for key, newest in NEWEST.items()}

    def ask(self, key: int, fields: Mapping[str, Any], version: int | None = None) -> Any:
        """Send a request, and return the entity of its answer.

        Raises:
            OSError: the connection broke, or no answer came in time.
            ControllerLost: the answer is not one of Kafka's.
        """
        asked = self._versions[key] if version is None else version
        self._correlation += 1
        data = entities.write_request(key, asked, self._correlation, "kafka-spec", fields)
        self._socket.sendall(LENGTH.pack(len(data)) + data)
        (length,) = LENGTH.unpack(self._read(LENGTH.size))
        try:
            if not 0 <= length <= LARGEST_ANSWER:
                raise NotAMessage(f"an answer of {length} bytes")
            return entities.read_answer(key, asked, self._read(length))[1]
        except NotAMessage as error:
            raise ControllerLost(f"what answers is not Kafka: {error}; {CURE}") from None

    def _read(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise ConnectionResetError("the connection was closed")
            parts += part
        return bytes(parts)

    def close(self) -> None:
        """Close it."""
        self._socket.close()
