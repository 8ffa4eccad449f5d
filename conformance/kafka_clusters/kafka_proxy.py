"""A proxy that knows Kafka's frames: it holds requests of one kind, or their answers, and lets as many pass as it is asked to.

What is held waits on its own connection alone, with all that comes after it there. If its sender has closed the connection, a
network may drop it or deliver it later, and so does a gate.

Source: Kafka 2.8 to 4.4 RequestHeader.json: api key, version, correlation id, client id; an answer begins with the correlation id.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from kafka_spec.conformance.kafka_clusters.proxy import Proxy

FETCH, LEADER_AND_ISR, STOP_REPLICA, UPDATE_METADATA, BEGIN_QUORUM_EPOCH, ALTER_PARTITION, BROKER_HEARTBEAT = 1, 4, 5, 6, 53, 56, 63
ASSIGN_REPLICAS_TO_DIRS = 73
SIZE, HEADER = struct.Struct(">i"), struct.Struct(">hhih")
LOOK = 0.01
"""The seconds between two looks at a gate."""


@dataclass(frozen=True)
class SeenHeader:
    """What a request's header says."""

    key: int
    correlation: int
    client: str


@dataclass(eq=False)
class Gate:
    """Holds all requests of one kind by one client, or the answers to them."""

    key: int | None
    """The kind, None for all kinds."""
    client: str | None
    """The client id, None for all clients."""
    answers: bool
    most: float = float("inf")
    """How many it holds; those that come after them pass."""
    late: bool = False
    """Whether what is held is delivered although its sender has closed the connection."""
    arrived: int = 0
    """How many have come to the gate so far."""
    held: int = 0
    """How many it has held so far."""
    _may_pass: float = 0

    def let_pass(self, count: float = 1) -> None:
        """Let some more pass: those that are held, or those that come next."""
        self._may_pass += count

    def open(self) -> None:
        """Let all pass, from now on."""
        self.let_pass(float("inf"))

    def is_for(self, request: SeenHeader, answer: bool) -> bool:
        """Whether a request, or its answer, comes to this gate."""
        return answer == self.answers and self.key in (None, request.key) and self.client in (None, request.client)

    async def passed(self, reader: asyncio.StreamReader) -> None:
        """Wait for leave to pass.

        Raises:
            ConnectionResetError: the sender has closed the connection.
        """
        self.arrived += 1
        if self._may_pass < 1:
            if self.held >= self.most:
                return
            self.held += 1
        while self._may_pass < 1:
            if reader.at_eof() and not self.late:
                raise ConnectionResetError
            await asyncio.sleep(LOOK)
        self._may_pass -= 1


@dataclass
class AwaitedAnswers:
    """The requests of a connection that have no answer yet, by correlation id."""

    open_requests: dict[int, SeenHeader] = field(default_factory=dict)


class KafkaProxy(Proxy):
    """A proxy before one of Kafka's listeners, with gates."""

    def __init__(self, target: int) -> None:
        """`target` is the port to which connections are passed on."""
        self._gates: list[Gate] = []
        super().__init__(target)

    def gate(
        self, key: int | None, client: str | None = None, answers: bool = False, most: float = float("inf"), late: bool = False
    ) -> Gate:
        """Hold the requests of a kind from now on, or their answers; return the gate, which lets them pass."""
        gate = Gate(key, client, answers, most, late)
        self._gates.append(gate)
        return gate

    async def _pieces(self, reader: asyncio.StreamReader, from_client: bool, connection: object) -> AsyncIterator[bytes]:
        """Yield whole frames, each when its gates let it pass."""
        assert isinstance(connection, AwaitedAnswers)
        while head := await reader.read(1):
            head += await reader.readexactly(SIZE.size - 1)
            body = await reader.readexactly(*SIZE.unpack(head))
            request = _request(body) if from_client else connection.open_requests.pop(*SIZE.unpack_from(body))
            if from_client:
                connection.open_requests[request.correlation] = request
            for gate in [gate for gate in self._gates if gate.is_for(request, not from_client)]:
                await gate.passed(reader)
            yield head + body

    def _connection(self) -> object:
        return AwaitedAnswers()


def _request(body: bytes) -> SeenHeader:
    key, _, correlation, length = HEADER.unpack_from(body)
    client = body[HEADER.size : HEADER.size + max(length, 0)]
    return SeenHeader(key, correlation, client.decode(errors="replace"))
