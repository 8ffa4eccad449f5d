"""A world in real time: each broker listens on a port of its own on 127.0.0.1, on one event loop, with real files.

The coordination service is asked on the event loop, so while ZooKeeper answers nobody else moves; on loopback that is a
millisecond. A connection belongs to one caller and one receiver, and carries any number of requests at once. When it breaks,
whoever waits goes on without an answer, and the next call opens another.
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

from kafka_spec.impl.coordination.interface import Service
from kafka_spec.impl.protocol.registration import Endpoint
from kafka_spec.impl.run import wire
from kafka_spec.impl.run.chaos import Chaos
from kafka_spec.impl.run.conductor import Conductor
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import Outcome
from kafka_spec.impl.run.tasks import Call, Sleep, Task
from kafka_spec.impl.run.world import World

HOST = "127.0.0.1"


class Connection:
    """From one caller to one broker."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._count = 0
        self.reading = asyncio.create_task(self._read())
        """Takes answers until the connection breaks; the loop forgets a task that nobody else holds."""

    @property
    def is_open(self) -> bool:
        """Whether it can carry another request."""
        return not self._writer.is_closing()

    async def call(self, call: Call) -> Any:
        """Send a message; return its answer, None if there is none in time, or if the connection breaks."""
        self._count += 1
        self._writer.write(wire.encode(wire.Frame(self._count, call.message)))
        if not call.answered:
            return None
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._count] = answer
        try:
            async with asyncio.timeout(call.timeout):
                return await answer
        except TimeoutError:
            return None

    async def _read(self) -> None:
        """Hand out answers until the connection breaks; then nobody waits any longer."""
        try:
            while True:
                frame = await wire.read(self._reader)
                answer = self._waiting.pop(frame.correlation, None)
                if answer is not None and not answer.done():
                    answer.set_result(frame.message)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.close()
            for answer in self._waiting.values():
                if not answer.done():
                    answer.set_result(None)

    def close(self) -> None:
        """Break the connection: its reader meets the end of the stream."""
        self._writer.transport.abort()


class LoopbackProcess:
    """Tasks on the event loop, with their connections."""

    def __init__(self, ports: dict[int, int], failed: Callable[[BaseException], object]) -> None:
        """`ports` has where brokers listen; `failed` is told of an error that no task may have."""
        self._ports = ports
        self._failed = failed
        self._alive = True
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: dict[int, Connection] = {}
        """The newest to each broker."""
        self._opened: set[Connection] = set()
        """Those whose reader has not ended: two calls at once may open one each."""

    def spawn(self, task: Task, then: Callable[[], object] = lambda: None) -> None:
        """See `Process.spawn`."""
        running = asyncio.create_task(self._drive(task, then))
        self._tasks.add(running)
        running.add_done_callback(self._ended)

    def end(self) -> None:
        """See `Process.end`."""
        self._alive = False
        for task in self._tasks - {asyncio.current_task()}:
            task.cancel()
        for connection in self._opened:
            connection.close()
        self._connections.clear()

    async def _drive(self, task: Task, then: Callable[[], object]) -> None:
        answer = None
        while self._alive:
            try:
                wanted = task.send(answer)
            except StopIteration:
                then()
                return
            if isinstance(wanted, Sleep):
                await asyncio.sleep(wanted.seconds)
                answer = None
            else:
                answer = await self._call(wanted)

    async def _call(self, call: Call) -> Any:
        try:
            connection = self._connections.get(call.receiver)
            if connection is None or not connection.is_open:
                port = self._ports.get(call.receiver)
                if port is None:
                    return None
                connection = Connection(*await asyncio.open_connection(HOST, port))
                self._connections[call.receiver] = connection
                self._opened.add(connection)
                connection.reading.add_done_callback(partial(self._closed, connection))
                if not self._alive:
                    connection.close()
                    return None
            return await connection.call(call)
        except OSError:
            return None

    def _closed(self, connection: Connection, _: asyncio.Task[None]) -> None:
        self._opened.discard(connection)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)


class LoopbackWorld(World):
    """Brokers on one event loop. It must be made, used and ended while that runs."""

    burst = 16

    def __init__(
        self,
        options: Options,
        folder: Path,
        service: Service,
        write: Callable[[str], object],
        news: Callable[[str], object],
        random: Random,
    ) -> None:
        """See `World`."""
        self._loop = asyncio.get_running_loop()
        self.failure: asyncio.Future[None] = self._loop.create_future()
        """Has the first error that nobody may have."""
        self._began = time.monotonic()
        self._ports: dict[int, int] = {}
        self._every: list[LoopbackProcess] = []
        self._listening: list[asyncio.Task[None]] = []
        self._serving: dict[int, set[asyncio.Task[None]]] = {}
        """Connections to each broker's process."""
        super().__init__(options, folder, service, write, news, random)

    @property
    def now(self) -> float:
        """See `World.now`."""
        return time.monotonic() - self._began

    def clock(self) -> float:
        """See `World.clock`."""
        return time.time()

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """See `World.after`."""

        def wait() -> Task:
            yield Sleep(seconds)
            act()

        self.process("operator").spawn(wait())

    def process(self, name: str) -> LoopbackProcess:
        """See `World.process`."""
        self._every.append(LoopbackProcess(self._ports, self._fail))
        return self._every[-1]

    def calm(self) -> None:
        """Nothing is broken here."""

    def listen(self, number: int) -> Endpoint:
        """Listen on a free port; it stays the broker's, and while its process does not run connections are broken at once."""
        if number not in self._ports:
            listening = socket.create_server((HOST, 0))
            listening.setblocking(False)
            self._ports[number] = listening.getsockname()[1]
            self._listening.append(asyncio.create_task(self._accept(number, listening)))
        return Endpoint(HOST, self._ports[number])

    def unplug(self, number: int) -> None:
        """See `World.unplug`."""
        for task in self._serving.pop(number, set()):
            task.cancel()

    async def ended(self) -> None:
        """Wait until nothing of an ended world runs any more."""
        for process in self._every:
            process.end()
        for task in self._listening:
            task.cancel()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)
        await asyncio.sleep(0)  # sockets close with the next turn
        self.failure.cancel()

    def _fail(self, error: BaseException) -> None:
        if not self.failure.done():
            self.failure.set_exception(error)

    async def _accept(self, number: int, listening: socket.socket) -> None:
        with listening:
            while True:
                connected, _ = await self._loop.sock_accept(listening)
                try:
                    reader, writer = await asyncio.open_connection(sock=connected)
                except asyncio.CancelledError:
                    connected.close()
                    raise
                serving, task = self._serving.setdefault(number, set()), asyncio.create_task(self._answer(number, reader, writer))
                serving.add(task)
                task.add_done_callback(partial(self._answered, serving, writer))

    def _answered(self, serving: set[asyncio.Task[None]], writer: asyncio.StreamWriter, task: asyncio.Task[None]) -> None:
        writer.close()
        serving.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    async def _answer(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take the requests of one connection until it breaks, or says what is no request."""
        while True:
            try:
                frame = await wire.read(reader)
            except (OSError, asyncio.IncompleteReadError, wire.Malformed):
                return
            if not isinstance(frame.message, wire.REQUESTS) or number not in self.nodes:
                return
            request: Any = frame.message
            self.nodes[number].broker.serve(request, partial(_reply, writer, frame.correlation))


def _reply(writer: asyncio.StreamWriter, correlation: int, answer: object) -> None:
    """Send an answer, if the connection still stands."""
    if not writer.is_closing():
        writer.write(wire.encode(wire.Frame(correlation, answer)))


async def run_on_loopback(
    options: Options,
    folder: Path,
    service: Service,
    write: Callable[[str], object] = lambda _: None,
    news: Callable[[str], object] = lambda _: None,
    watch: Callable[[Conductor], object] = lambda _: None,
) -> Outcome:
    """Run in real time, and return what came of it. The parameters are those of `simulate`; `service` may be real."""
    random = Random(options.seed)
    world = LoopbackWorld(options, folder, service, write, news, random)
    course = Conductor(options, world, Chaos(world, random, options.faults), watch).conduct()
    try:
        while True:
            try:
                wait = next(course)
            except StopIteration as ended:
                outcome: Outcome = ended.value
                return outcome
            await asyncio.wait([world.failure], timeout=wait.seconds)
            if world.failure.done():
                world.failure.result()
    finally:
        world.end()
        await world.ended()
