"""A broker's listener for Kafka's wire protocol.

On each connection it serves one request after the other, as Kafka does. A request that is not served, or bytes that are no request,
close their connection and no other. Requests have a longest size, and there is a largest number of connections.

Source: Kafka 2.8 SocketServer.scala, KafkaApis.scala (handleApiVersionsRequest).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from kafka_spec.impl.kafka_wire import apis
from kafka_spec.impl.kafka_wire.entities import NotAMessage
from kafka_spec.impl.protocol.data_requests import ProduceRequest

LARGEST_REQUEST = 100 << 20
"""The longest request in bytes (socket.request.max.bytes)."""
MOST_CONNECTIONS = 1000
"""The largest number of connections (max.connections)."""

Serve = Callable[[Any, Callable[[object], object]], Awaitable[bool]]
"""Serves a message; the callback receives its answer, on any thread. False: the broker has ended."""


class KafkaListener:
    """Listens on a socket while the event loop runs; `begin` starts it, `end` closes all connections."""

    def __init__(
        self, serve: Serve, on_loop: Callable[..., object], *, most: int = MOST_CONNECTIONS, largest: int = LARGEST_REQUEST
    ) -> None:
        """`on_loop` schedules a call on the event loop, from any thread; `largest` is in bytes."""
        self._serve = serve
        self._on_loop = on_loop
        self._most = most
        self._largest = largest
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def begin(self, listening: socket.socket) -> None:
        """Accept connections."""
        self._server = await asyncio.start_server(self._accept, sock=listening)

    async def end(self) -> None:
        """Close the socket and all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._connections) < self._most:
                self._connections.add(task)
                await self._answer_all(reader, writer)
        except (OSError, asyncio.IncompleteReadError, NotAMessage, apis.Unserved):
            pass
        except asyncio.CancelledError:
            pass  # the listener ends
        finally:
            self._connections.discard(task)
            writer.transport.abort()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection until it breaks, the broker ends, or an error is raised."""
        while True:
            (length,) = apis.LENGTH.unpack(await reader.readexactly(apis.LENGTH.size))
            if not 0 <= length <= self._largest:
                raise NotAMessage(f"a request of {length} bytes; the largest has {self._largest}")
            received = apis.decode_request(await reader.readexactly(length))
            message = received.message
            if message is None:
                writer.write(apis.api_versions(received.head))
            else:
                answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
                if not await self._serve(message, partial(self._on_loop, _settle, answer)):
                    return
                if not (isinstance(message, ProduceRequest) and message.acks == 0):
                    writer.write(apis.encode_answer(received, await answer))
            await writer.drain()


def _settle(future: asyncio.Future[object], answer: object) -> None:
    """Deliver an answer, the first one."""
    if not future.done():
        future.set_result(answer)
