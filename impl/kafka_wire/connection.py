"""A connection to a broker over Kafka's wire protocol.

Requests are answered in the order in which they were sent. After an answer that is late, malformed or out of order the connection
is closed, as Kafka's clients do: nobody knows any more what the next answer belongs to.

Source: Kafka 2.8 NetworkClient.java.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

from kafka_spec.impl.kafka_wire import apis
from kafka_spec.impl.kafka_wire.entities import NotAMessage
from kafka_spec.impl.kafka_wire.protocols import OLDEST, InterBrokerProtocol

LARGEST_ANSWER = 100 << 20
"""The longest answer in bytes, Kafka's socket.request.max.bytes."""


class KafkaConnection:
    """A connection from one caller to one broker; it reads answers until it breaks."""

    protocol = OLDEST
    """Decides the versions of requests."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting: deque[tuple[int, object, asyncio.Future[Any]]] = deque()
        self._count = 0
        self.reading = asyncio.create_task(self._read())
        """Reads answers; kept here since the loop holds tasks only weakly."""

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return not self._writer.is_closing()

    @staticmethod
    def lane(message: object) -> str:
        """Return which of several connections to a broker carries a message: fetches wait, and must not hold up a controller."""
        api = apis.BY_KIND.get(type(message))
        return "" if api is None else api.lane

    async def call(self, message: object, timeout: float, answered: bool = True) -> Any:
        """Send a request; return its answer, None if none comes in time or the connection breaks."""
        self._count += 1
        self._writer.write(apis.encode_request(message, self._count, self.protocol))
        if not answered:
            return None
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((self._count, message, answer))
        try:
            async with asyncio.timeout(timeout):
                return await answer
        except TimeoutError:
            self.close()
            return None

    async def _read(self) -> None:
        """Deliver answers until the connection breaks; then end all waiting calls."""
        try:
            while True:
                (length,) = apis.LENGTH.unpack(await self._reader.readexactly(apis.LENGTH.size))
                if not 0 <= length <= LARGEST_ANSWER or not self._waiting:
                    raise NotAMessage(f"an answer of {length} bytes to {len(self._waiting)} requests")
                data = await self._reader.readexactly(length)
                asked, message, answer = self._waiting[0]
                correlation, decoded = apis.decode_answer(message, data, self.protocol)
                if correlation != asked:
                    raise NotAMessage(f"an answer to request {correlation}, not {asked}")
                self._waiting.popleft()
                if not answer.done():
                    answer.set_result(decoded)
        except (OSError, asyncio.IncompleteReadError, NotAMessage):
            pass
        finally:
            self.close()
            for _, _, answer in self._waiting:
                if not answer.done():
                    answer.set_result(None)

    def close(self) -> None:
        """Close the connection; its reader ends."""
        self._writer.transport.abort()


def connections_of(protocol: InterBrokerProtocol) -> type[KafkaConnection]:
    """Return the class of connections with requests in the versions of an inter.broker.protocol.version."""
    return type("KafkaConnection", (KafkaConnection,), {"protocol": protocol})
