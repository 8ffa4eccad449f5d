"""A world in real time: each broker listens on its own port of 127.0.0.1, on one event loop, with real files.

Two threads share the work. The event loop has sockets and clocks, and waits for nothing else. The other one, the cluster's thread,
runs the steps of brokers, clients and faults one after the other. It also waits for ZooKeeper: during such a wait, a millisecond
on loopback, no broker acts. So the event loop notices when ZooKeeper no longer answers, and ends the run.

A connection belongs to one caller and one receiver, and carries any number of concurrent requests. When it breaks, waiting calls
return None, and the next call opens another connection.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from kafka_spec.impl.coordination.interface import ConnectionLost, CoordinationError, Service
from kafka_spec.impl.protocol.registration import Endpoint
from kafka_spec.impl.run import wire
from kafka_spec.impl.run.chaos import Chaos
from kafka_spec.impl.run.conductor import Conductor
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.running_broker import RunningBroker
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task
from kafka_spec.impl.run.world import RunWorld

HOST = "127.0.0.1"
LOOK = 0.1
"""Seconds between two checks whether the coordination service is lost."""
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


class Connection:
    """A connection from one caller to one broker."""

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

    async def call(self, call: RemoteCall) -> Any:
        """Send a message; return its answer, None if none comes in time or the connection breaks."""
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
        """Deliver answers until the connection breaks; then end all waiting calls."""
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
        """Close the connection; its reader ends."""
        self._writer.transport.abort()


class LoopbackProcess:
    """Tasks whose steps run in the cluster's thread, with their connections on the event loop."""

    def __init__(self, ports: dict[int, int], thread: ClusterThread, failed: Callable[[BaseException], object]) -> None:
        """`ports` maps brokers to ports; `failed` is called on the event loop with an unexpected error of a task."""
        self._ports = ports
        self._thread = thread
        self._failed = failed
        self._alive = True
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: dict[int, Connection] = {}
        """The newest connection to each broker."""
        self._opened: set[Connection] = set()
        """The connections whose reader has not ended: two concurrent calls may open one each."""

    def spawn(self, task: Task, then: Callable[[], object] = lambda: None) -> None:
        """See `Process.spawn`."""
        self._thread.on_loop(self._begin, task, then)

    def end(self) -> None:
        """See `Process.end`."""
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
        """See `begin`."""
        self.thread = thread
        self.failure = failure
        """Receives the first unexpected error."""
        self._began = time.monotonic()
        self._ports: dict[int, int] = {}
        self._every: list[LoopbackProcess] = []
        self._listening: list[asyncio.Task[None]] = []
        self._serving: dict[int, set[asyncio.Task[None]]] = {}
        """The tasks of connections to each broker's process."""
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
        """See `RunWorld.now`."""
        return time.monotonic() - self._began

    def clock(self) -> float:
        """See `RunWorld.clock`."""
        return time.time()

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """See `RunWorld.after`."""

        def wait() -> Task:
            yield Sleep(seconds)
            act()

        self.process("operator").spawn(wait())

    def process(self, name: str) -> LoopbackProcess:
        """See `RunWorld.process`."""
        self._every.append(LoopbackProcess(self._ports, self.thread, self._fail))
        return self._every[-1]

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
        """See `RunWorld.unplug`."""
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
                answering = self._answer(number, self.nodes.get(number), reader, writer)
                serving, task = self._serving.setdefault(number, set()), asyncio.create_task(answering)
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
                frame = await wire.read(reader)
            except (OSError, asyncio.IncompleteReadError, wire.Malformed):
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


async def run_on_loopback(
    options: Options,
    folder: Path,
    service: Service,
    write: Callable[[str], object] = lambda _: None,
    news: Callable[[str], object] = lambda _: None,
    watch: Callable[[Conductor], object] = lambda _: None,
) -> RunOutcome:
    """Run in real time, and return the outcome. The parameters are those of `simulate`; `service` may be real.

    If the service is lost, the run ends with the outcome so far.
    """
    random = Random(options.seed)
    try:
        world = await LoopbackWorld.begin(options, folder, service, write, news, random)
    except CoordinationError:
        service.abandon()
        raise
    conductor = Conductor(options, world, Chaos(world, random, options.faults), watch)
    watching = asyncio.create_task(_watch(service, world.failure))
    try:
        return await _conducted(world, conductor)
    except CoordinationError as error:
        service.abandon()
        return await world.thread.do(partial(conductor.reached, f"ZooKeeper was lost: {error}"))
    finally:
        watching.cancel()
        if service.is_silent():
            service.abandon()
        await world.thread.do(world.end)
        await world.ended()


async def _conducted(world: LoopbackWorld, conductor: Conductor) -> RunOutcome:
    """Return the outcome, or raise the first unexpected error."""
    course = conductor.conduct()

    def next_wait() -> Sleep | RunOutcome:
        try:
            return next(course)
        except StopIteration as ended:
            outcome: RunOutcome = ended.value
            return outcome

    while True:
        step = asyncio.ensure_future(world.thread.do(next_wait))
        either: list[asyncio.Future[Any]] = [step, world.failure]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if world.failure.done():
            step.cancel()
            world.failure.result()
        wait = step.result()
        if isinstance(wait, RunOutcome):
            return wait
        await asyncio.wait([world.failure], timeout=wait.seconds)


async def _watch(service: Service, failure: asyncio.Future[None]) -> None:
    """Let the run fail once the service is lost."""
    while not (why := service.lost()):
        await asyncio.sleep(LOOK)
    service.abandon()
    if not failure.done():
        failure.set_exception(ConnectionLost(why))
