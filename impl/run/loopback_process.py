"""The processes of a world in real time: tasks in the cluster's thread, connections on the event loop.

Two threads share the work. The event loop has sockets and clocks, and waits for nothing else. The other one, the cluster's thread,
runs the steps of brokers, clients and faults one after the other. It also waits for ZooKeeper: during such a wait, a millisecond
on loopback, no broker acts. So the event loop notices when ZooKeeper no longer answers, and ends the run.

A connection belongs to one caller and one receiver, and carries any number of concurrent requests. When it breaks, waiting calls
return None, and the next call opens another connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

from kafka_spec.impl.kafka_wire.request_memory import RequestMemory
from kafka_spec.impl.run import wire
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task

HOST = "127.0.0.1"
Answer = TypeVar("Answer")


class ClusterThread:
    """A thread that executes calls one after the other, for the event loop."""

    def __init__(self) -> None:
        """Use the running event loop."""
        self._loop = asyncio.get_running_loop()
        self._executor = ThreadPoolExecutor(1, "cluster")

    async def do(self, act: Callable[[], Answer]) -> Answer:
        """Call a function in the thread; return its result."""
        return await self._loop.run_in_executor(self._executor, act)

    def on_loop(self, act: Callable[..., object], *arguments: object) -> None:
        """Schedule a call on the event loop, from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act, *arguments)

    def end(self) -> None:
        """Accept no more calls."""
        self._executor.shutdown(wait=False)


class Connected(Protocol):
    """A connection from one caller to one broker: see `Connection`."""

    reading: asyncio.Task[None]

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""

    @staticmethod
    def lane(message: object) -> str:
        """Return which of several connections to a broker carries a message."""

    async def call(self, message: object, timeout: float, answered: bool = True) -> Any:
        """Send a message; return its answer, None if none comes in time or the connection breaks."""

    def close(self) -> None:
        """Close the connection; its reader ends."""


class ConnectionKind(Protocol):
    """The class of a connection."""

    def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Connected:
        """Return a connection that reads answers."""

    @staticmethod
    def lane(message: object) -> str:
        """Return the lane of a message: messages of one lane share a connection."""


class Connection:
    """A connection from one caller to one broker, with this project's wire protocol."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._count = 0
        self.reading = asyncio.create_task(self._read())
        """Reads answers until the connection breaks; kept here since the loop holds tasks only weakly."""

    @property
    def is_open(self) -> bool:
        """Whether another request can be sent."""
        return not self._writer.is_closing()

    @staticmethod
    def lane(message: object) -> str:
        """Return which of several connections to a broker carries a message: here there is one."""
        return ""

    async def call(self, message: object, timeout: float, answered: bool = True) -> Any:
        """Send a message; return its answer, None if none comes in time or the connection breaks."""
        self._count += 1
        self._writer.write(wire.encode(wire.Frame(self._count, message)))
        if not answered:
            return None
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[self._count] = answer
        try:
            async with asyncio.timeout(timeout):
                return await answer
        except TimeoutError:
            return None

    async def _read(self) -> None:
        """Deliver answers until the connection breaks; then end all waiting calls."""
        memory = RequestMemory(wire.LARGEST)
        try:
            while True:
                frame = await wire.read(self._reader, memory)
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
        """Close the connection; its reader ends."""
        self._writer.transport.abort()


class LoopbackProcess:
    """Tasks whose steps run in the cluster's thread, with their connections on the event loop."""

    def __init__(
        self,
        ports: Mapping[int, int],
        thread: ClusterThread,
        failed: Callable[[BaseException], object],
        connection: ConnectionKind = Connection,
    ) -> None:
        """`ports` maps brokers to ports; `failed` is called on the event loop with an unexpected error of a task.

        `connection` is the kind of connection: with this project's wire protocol, or Kafka's.
        """
        self._ports = ports
        self._thread = thread
        self._failed = failed
        self._connection = connection
        self._alive = True
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: dict[tuple[int, str], Connected] = {}
        """The newest connection to each broker, for each lane."""
        self._opened: set[Connected] = set()
        """The connections whose reader has not ended: two concurrent calls may open one each."""

    def spawn(self, task: Task, then: Callable[[], object] = lambda: None) -> None:
        """Begin a task; `then` is called when it has ended by itself."""
        self._thread.on_loop(self._begin, task, then)

    def end(self) -> None:
        """Stop all tasks where they are."""
        self._alive = False
        self._thread.on_loop(self.stop)

    def _begin(self, task: Task, then: Callable[[], object]) -> None:
        if self._alive:
            running = asyncio.create_task(self._drive(task, then))
            self._tasks.add(running)
            running.add_done_callback(self._ended)

    def stop(self) -> list[asyncio.Task[None]]:
        """Cancel all tasks and close all connections, on the event loop; return the tasks that have not ended yet."""
        self._alive = False
        for task in self._tasks:
            task.cancel()
        for connection in self._opened:
            connection.close()
        self._connections.clear()
        return [*self._tasks, *(connection.reading for connection in self._opened)]

    async def _drive(self, task: Task, then: Callable[[], object]) -> None:
        answer = None
        while (wanted := await self._thread.do(partial(self._advance, task, then, answer))) is not None:
            if isinstance(wanted, Sleep):
                await asyncio.sleep(wanted.seconds)
                answer = None
            else:
                answer = await self._call(wanted)

    def _advance(self, task: Task, then: Callable[[], object], answer: Any) -> Sleep | RemoteCall | None:
        """Resume a task, in the cluster's thread; return its next request, None at its end."""
        if not self._alive:
            return None
        try:
            return task.send(answer)
        except StopIteration:
            then()
            return None

    async def _call(self, call: RemoteCall) -> Any:
        try:
            place = call.receiver, self._connection.lane(call.message)
            connection = self._connections.get(place)
            if connection is None or not connection.is_open:
                port = self._ports.get(call.receiver)
                if port is None:
                    return None
                connection = self._connection(*await asyncio.open_connection(HOST, port))
                self._connections[place] = connection
                self._opened.add(connection)
                connection.reading.add_done_callback(partial(self._closed, connection))
                if not self._alive:
                    connection.close()
                    return None
            return await connection.call(call.message, call.timeout, call.answered)
        except OSError:
            return None

    def _closed(self, connection: Connected, _: asyncio.Task[None]) -> None:
        self._opened.discard(connection)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)
