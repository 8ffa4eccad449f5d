"""A listener for Kafka's wire protocol, of a broker or of a controller.

On each connection it serves one request after the other, as Kafka does. A request that is not served, or bytes that are not a
request, close their connection and no other. Requests have a longest size, all that are being read together take a limited memory,
and there is a largest number of connections.

Source: Kafka 2.8 SocketServer.scala, KafkaApis.scala (handleApiVersionsRequest).
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from kafka_spec.impl.kafka_wire import apis
from kafka_spec.impl.kafka_wire.entities import NotAMessage
from kafka_spec.impl.kafka_wire.request_memory import MOST_BYTES, NoMemory, RequestMemory
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
        self,
        serve: Serve,
        on_loop: Callable[..., object],
        *,
        apis_served: apis.ServedApis = apis.BROKER_ON_ZOOKEEPER,
        most: int = MOST_CONNECTIONS,
        largest: int = LARGEST_REQUEST,
        memory: int = MOST_BYTES,
    ) -> None:
        """`on_loop` schedules a call on the event loop, from any thread.

        `largest` is the longest request, `memory` what all requests may take that are being read, both in bytes.
        """
        self.memory = RequestMemory(memory)
        self.refused = 0
        """The connections that were closed at once, for there were `most`."""
        self._apis = apis_served
        self._serve = serve
        self._on_loop = on_loop
        self._most = most
        self._largest = largest
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()
        self._ended = False

    async def begin(self, listening: socket.socket) -> None:
        """Accept connections."""
        self._server = await asyncio.start_server(self._accept, sock=listening)

    async def end(self) -> None:
        """Close the socket and all connections."""
        self._ended = True
        if self._server is not None:
            await close_server(self._server)
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin to serve a connection, at once: if the listener ends before the task runs, the connection is closed, too."""
        if self._ended or len(self._connections) >= self._most:
            self.refused += 1
            writer.transport.abort()
            return
        task = asyncio.create_task(self._answer_all(reader, writer))
        self._connections.add(task)
        task.add_done_callback(partial(self._served, writer))

    def _served(self, writer: asyncio.StreamWriter, task: asyncio.Task[None]) -> None:
        self._connections.discard(task)
        writer.transport.abort()

    async def _answer_all(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection until it breaks, a request is not served, or the broker or the listener ends."""
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, NotAMessage, NoMemory, apis.Unserved):
            while await self._answer(reader, writer):
                pass

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve one request; return whether the broker still runs."""
        (length,) = apis.LENGTH.unpack(await reader.readexactly(apis.LENGTH.size))
        if not 0 <= length <= self._largest:
            raise NotAMessage(f"a request of {length} bytes; the largest has {self._largest}")
        with self.memory.reading() as request:
            received = self._apis.decode_request(await request.read(reader, length))
            return await self._serve_one(received, writer)

    async def _serve_one(self, received: apis.Received, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; return whether the broker still runs."""
        message = received.message
        if message is None:
            writer.write(self._apis.answer_itself(received))
        else:
            answer: asyncio.Future[object] = asyncio.get_running_loop().create_future()
            if not await self._serve(message, partial(self._on_loop, _settle, answer)):
                return False
            if not (isinstance(message, ProduceRequest) and message.acks == 0):
                writer.write(self._apis.encode_answer(received, await answer))
        await writer.drain()
        return True


async def close_server(server: asyncio.Server) -> None:
    """Close a server's sockets once what it has accepted is connected; who is connected then has to be closed by the caller.

    Python 3.11 loses a connection that a server has accepted and not connected when it is closed: it stays open, and nobody has it.
    """
    for listening in server.sockets:
        asyncio.get_running_loop().remove_reader(listening)
    await asyncio.sleep(0)
    server.close()


def _settle(future: asyncio.Future[object], answer: object) -> None:
    """Deliver an answer, the first one."""
    if not future.done():
        future.set_result(answer)
