"""A world in real time: each broker listens on its own port of 127.0.0.1, on one event loop, with real files.

loopback_process.py describes the two threads.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.impl.kafka_wire.listener import MOST_CONNECTIONS
from kafka_spec.impl.kafka_wire.request_memory import NoMemory, RequestMemory
from kafka_spec.impl.protocol.registration import Endpoint
from kafka_spec.impl.run import wire
from kafka_spec.impl.run.loopback_process import HOST, ClusterThread, LoopbackProcess
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.tasks import Sleep, Task
from kafka_spec.impl.run.zookeeper.running_broker import RunningBroker
from kafka_spec.impl.run.zookeeper.world import RunWorld
from kafka_spec.impl.zookeeper.coordination.interface import Service


class LoopbackWorld(RunWorld):
    """Brokers in one thread, with an event loop. Begin and end it while the loop runs; use it in the thread."""

    burst = 16

    def __init__(
        self,
        thread: ClusterThread,
        failure: asyncio.Future[None],
        options: Options,
        folder: Path,
        service: Service,
        write: Callable[[str], object],
        news: Callable[[str], object],
        random: Random,
    ) -> None:
        self.thread = thread
        self.failure = failure
        """Receives the first unexpected error."""
        self._began = time.monotonic()
        self._ports: dict[int, int] = {}
        self._every: list[LoopbackProcess] = []
        self._listening: list[asyncio.Task[None]] = []
        self._serving: dict[int, set[asyncio.Task[None]]] = {}
        """The tasks of connections to each broker's process."""
        self.memory = RequestMemory()
        """What the requests take that the brokers are reading."""
        self._unplugged: set[asyncio.Task[None]] = set()
        """The tasks of ended processes that have not ended yet."""
        super().__init__(options, folder, service, write, news, random)

    @classmethod
    async def begin(
        cls,
        options: Options,
        folder: Path,
        service: Service,
        write: Callable[[str], object],
        news: Callable[[str], object],
        random: Random,
    ) -> LoopbackWorld:
        """Return a new world on the running event loop; the parameters are those of `RunWorld`."""
        thread, failure = ClusterThread(), asyncio.get_running_loop().create_future()
        try:
            return await thread.do(partial(cls, thread, failure, options, folder, service, write, news, random))
        except BaseException:
            thread.end()
            raise

    @property
    def now(self) -> float:
        """The seconds since the run began."""
        return time.monotonic() - self._began

    def clock(self) -> float:
        """Return the time in seconds since 1970."""
        return time.time()

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Schedule a call so many seconds from now."""

        def wait() -> Task:
            yield Sleep(seconds)
            act()

        self.process("operator").spawn(wait())

    def process(self, name: str) -> LoopbackProcess:
        """Return a process without tasks."""
        self._every.append(LoopbackProcess(self._ports, self.thread, self._fail))
        return self._every[-1]

    def disturb(self, faults: tuple[str, ...]) -> None:
        """Do nothing: no message is lost here."""

    def calm(self) -> None:
        """Do nothing: no connection is broken here."""

    def listen(self, number: int) -> Endpoint:
        """Listen on a free port, which stays the broker's; while its process does not run, connections are closed at once."""
        if number not in self._ports:
            listening = socket.create_server((HOST, 0))
            listening.setblocking(False)
            self._ports[number] = listening.getsockname()[1]
            self.thread.on_loop(self._listen, number, listening)
        return Endpoint(HOST, self._ports[number])

    def unplug(self, number: int) -> None:
        """Break all connections of a broker whose process has ended."""
        self.thread.on_loop(self._unplug, number)

    async def ended(self) -> None:
        """Wait until all tasks of an ended world have ended."""
        mine = [*self._listening, *(task for serving in self._serving.values() for task in serving), *self._unplugged]
        for process in self._every:
            mine += process.stop()
        for task in mine:
            task.cancel()
        await asyncio.gather(*mine, return_exceptions=True)
        await asyncio.sleep(0)  # sockets close in the next iteration
        self.failure.cancel()
        self.thread.end()

    def _fail(self, error: BaseException) -> None:
        if not self.failure.done():
            self.failure.set_exception(error)

    def _listen(self, number: int, listening: socket.socket) -> None:
        self._listening.append(asyncio.create_task(self._accept(number, listening)))

    def _unplug(self, number: int) -> None:
        for task in self._serving.pop(number, set()):
            task.cancel()
            self._unplugged.add(task)
            task.add_done_callback(self._unplugged.discard)

    async def _accept(self, number: int, listening: socket.socket) -> None:
        with listening:
            while True:
                connected, _ = await asyncio.get_running_loop().sock_accept(listening)
                try:
                    reader, writer = await asyncio.open_connection(sock=connected)
                except asyncio.CancelledError:
                    connected.close()
                    raise
                serving = self._serving.setdefault(number, set())
                if len(serving) >= MOST_CONNECTIONS:
                    writer.transport.abort()
                    continue
                answering = self._answer(number, self.nodes.get(number), reader, writer)
                task = asyncio.create_task(answering)
                serving.add(task)
                task.add_done_callback(partial(self._answered, serving, writer))

    def _answered(self, serving: set[asyncio.Task[None]], writer: asyncio.StreamWriter, task: asyncio.Task[None]) -> None:
        writer.close()
        serving.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    async def _answer(
        self, number: int, node: RunningBroker | None, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one connection to a process until it breaks, a malformed request arrives, or the process ends."""
        while True:
            try:
                frame = await wire.read(reader, self.memory)
            except (OSError, asyncio.IncompleteReadError, NoMemory, wire.Malformed):
                return
            if not isinstance(frame.message, wire.REQUESTS):
                return
            reply = partial(self.thread.on_loop, _reply, writer, frame.correlation)
            if not await self.thread.do(partial(self._serve, number, node, frame.message, reply)):
                return

    def _serve(self, number: int, node: RunningBroker | None, request: Any, reply: Callable[[object], object]) -> bool:
        """Let a broker's process serve a request, in the cluster's thread; return whether the process still runs."""
        if node is None or self.nodes.get(number) is not node:
            return False
        node.broker.serve(request, reply)
        return True


def _reply(writer: asyncio.StreamWriter, correlation: int, answer: object) -> None:
    """Send an answer, if the connection is open."""
    if not writer.is_closing():
        writer.write(wire.encode(wire.Frame(correlation, answer)))
