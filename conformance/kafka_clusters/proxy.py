"""A TCP proxy on loopback that passes bytes on, and at a word holds, delays or cuts them.

It stands between a broker and ZooKeeper, or between two brokers, and knows nothing of what passes: a trigger looks at the bytes
that a client sends. It runs on an event loop in a thread of its own; its words may be spoken from any thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from functools import partial
from types import TracebackType
from typing import Any

from kafka_spec.impl.kafka_wire.listener import close_server

HOST = "127.0.0.1"
PIECE = 1 << 16
"""The most bytes that are passed on at once."""


class Proxy:
    """Passes connections to its own port on to another; a context manager."""

    def __init__(self, target: int, delay: float = 0.0) -> None:
        """`target` is the port to which connections are passed on; `delay` is in seconds, for each piece and direction."""
        self.held_by: bytes | None = None
        """The piece at which the trigger held the proxy."""
        self.delay = delay
        self._target = target
        self._trigger: Callable[[bytes], bool] | None = None
        self._trigger_passes = False
        self._holds_answers = True
        self._refuses = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._tasks: set[asyncio.Task[None]] = set()
        self._has_ended = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._flows: asyncio.Event
        self._server: asyncio.Server
        self.port = self._do(self._listen())
        """The port to connect to."""

    # The words

    def hold(self, answers: bool = True) -> None:
        """Pass nothing on until it is released, in either direction or, without `answers`, from clients; connections stay open."""
        self._holds_answers = answers
        self._do(self._held(True))

    def hold_when(self, trigger: Callable[[bytes], bool], passes: bool = False) -> None:
        """Hold at the first piece from a client of which the trigger is true: nothing after it is passed on, in either direction.

        The piece itself is passed on if `passes` is true, and is held with the rest if not.
        """
        self._trigger, self._trigger_passes, self.held_by, self._holds_answers = trigger, passes, None, True

    def release(self) -> None:
        """Pass on what was held, and all that follows."""
        self._trigger = None
        self._do(self._held(False))

    def cut(self) -> None:
        """Break all connections, and refuse others until it is restored; what was held is lost."""
        self._refuses = True
        self._do(self._broken())

    def mend(self) -> None:
        """Accept connections again."""
        self._refuses = False

    def close(self) -> None:
        """End the proxy, and all its connections."""
        self._do(self._ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # On the event loop

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _listen(self) -> int:
        self._flows = asyncio.Event()
        self._flows.set()
        self._server = await asyncio.start_server(self._accept, HOST, 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def _held(self, held: bool) -> None:
        if held:
            self._flows.clear()
        else:
            self._flows.set()

    async def _broken(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def _ended(self) -> None:
        self._has_ended = True
        await close_server(self._server)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._broken()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin to pass on a connection, at once: if the proxy ends before the task runs, the connection is closed all the same."""
        if self._has_ended or self._refuses:
            writer.transport.abort()
            return
        opened = {writer}
        self._writers.add(writer)
        task = asyncio.create_task(self._pass_both_ways(reader, writer, opened))
        self._tasks.add(task)
        task.add_done_callback(partial(self._passed, opened))

    def _passed(self, opened: set[asyncio.StreamWriter], task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        for one in opened:
            self._writers.discard(one)
            one.transport.abort()

    async def _pass_both_ways(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, opened: set[asyncio.StreamWriter]
    ) -> None:
        """Connect to the target, and pass bytes on until a connection breaks: on one side it breaks as on the other."""
        connection = self._connection()
        with contextlib.suppress(OSError, ExceptionGroup):
            there, back = await asyncio.open_connection(HOST, self._target)
            opened.add(back)
            self._writers.add(back)
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pass_on(reader, back, True, connection))
                both.create_task(self._pass_on(there, writer, False, connection))

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, from_client: bool, connection: object
    ) -> None:
        """Pass bytes on until one side ends, which ends the other direction too."""
        async for piece in self._pieces(reader, from_client, connection):
            if from_client and self._trigger is not None and self._flows.is_set() and self._trigger(piece):
                self._flows.clear()
                self.held_by = piece
            if self.delay:
                await asyncio.sleep(self.delay)
            if (from_client or self._holds_answers) and not (self._trigger_passes and piece is self.held_by):
                await self._flows.wait()
            writer.write(piece)
            await writer.drain()
        raise ConnectionResetError

    def _connection(self) -> object:
        """Return what is to be remembered of a connection."""
        return None

    async def _pieces(self, reader: asyncio.StreamReader, from_client: bool, connection: object) -> AsyncIterator[bytes]:
        """Yield what arrives."""
        while piece := await reader.read(PIECE):
            yield piece
