"""The memory of requests that a broker is reading, over all of its connections.

Source: Kafka 2.8 SocketServer.scala (queued.max.request.bytes, a SimpleMemoryPool). Kafka stops reading from its connections until
there is memory again; here the connection whose request finds none is closed, so that slow senders cannot hold up the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

MOST_BYTES = 256 << 20
"""The most bytes of requests that are being read at a time."""
PIECE = 1 << 16
"""Bytes that are read at a time."""


class NoMemory(Exception):  # noqa: N818 - says what happened
    """The requests that are being read take all the memory that they may."""


class RequestMemory:
    """Counts the bytes that have arrived of the requests that are in hand; a length that is only announced takes none."""

    def __init__(self, most: int = MOST_BYTES) -> None:
        self.most, self.used, self.refused = most, 0, 0

    @contextmanager
    def reading(self) -> Iterator[IncomingRequest]:
        """Give back what a request has taken, at the end."""
        request = IncomingRequest(self)
        try:
            yield request
        finally:
            self.used -= request.taken


class IncomingRequest:
    """One request that is being read."""

    def __init__(self, memory: RequestMemory) -> None:
        self._memory, self.taken = memory, 0

    async def read(self, reader: asyncio.StreamReader, length: int) -> bytes:
        """Return so many bytes of a stream.

        Raises:
            NoMemory: all requests together take too much.
            asyncio.IncompleteReadError: the stream has ended.
        """
        parts = bytearray()
        while len(parts) < length:
            if not (part := await reader.read(min(PIECE, length - len(parts)))):
                raise asyncio.IncompleteReadError(bytes(parts), length)
            if self._memory.used + len(part) > self._memory.most:
                self._memory.refused += 1
                raise NoMemory(f"requests take {self._memory.used:,} bytes; {self._memory.most:,} at most")
            self._memory.used += len(part)
            self.taken += len(part)
            parts += part
        return bytes(parts)
