"""A world in real time: each broker listens on a port of its own on 127.0.0.1, on one event loop, with real files.

Two threads share the work. The event loop has sockets and clocks, and never waits for anything else. All that brokers, clients and
faults do happens in the other one, the cluster's thread, one thing after the other: there ZooKeeper is asked, and while it answers
no broker moves; on loopback that is a millisecond. So the event loop can see that nobody answers any more, and end the run.

A connection belongs to one caller and one receiver, and carries any number of requests at once. When it breaks,
whoever waits goes on without an answer, and the next call opens another.
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
"""Seconds between two looks at whether the coordination service is lost."""
Answer = TypeVar("Answer")


class ClusterThread:
    """A thread in which things happen one after the other, and the event loop that hands them over."""

    def __init__(self) -> None:
        """Belong to the loop that runs."""
        self._loop = asyncio.get_running_loop()
        self._executor = ThreadPoolExecutor(1, "cluster")

    async def do(self, act: Callable[[], Answer]) -> Answer:
        """Do something in the thread; return what it returns."""
        return await self._loop.run_in_executor(self._executor, act)

    def on_loop(self, act: Callable[..., object], *arguments: object) -> None:
        """Have something done on the event loop, soon; this can be asked from any thread."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(act, *arguments)

    def end(self) -> None:
        """Take nothing more."""
        self._executor.shutdown(wait=False)


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

    async def call(self, call: RemoteCall) -> Any:
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
    """Tasks that go on in the cluster's thread, with their connections, which are the event loop's."""

    def __init__(self, ports: dict[int, int], thread: ClusterThread, failed: Callable[[BaseException], object]) -> None:
        """`ports` has where brokers listen; `failed` is told, on the event loop, of an error that no task may have."""
        self._ports = ports
        self._thread = thread
        self._failed = failed
        self._alive = True
        self._tasks: set[asyncio.Task[None]] = set()
        self._connections: dict[int, Connection] = {}
        """The newest to each broker."""
        self._opened: set[Connection] = set()
        """Those whose reader has not ended: two calls at once may open one each."""

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
        """Cancel all tasks and break all connections, on the event loop; return what has not ended yet."""
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
        """Let a task go on, in the cluster's thread; return what it asks for, None at its end."""
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
    """Brokers in one thread, with an event loop. It must be begun and ended while that runs, and used in the thread."""

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
        """Has the first error that nobody may have."""
        self._began = time.monotonic()
        self._ports: dict[int, int] = {}
        self._every: list[LoopbackProcess] = []
        self._listening: list[asyncio.Task[None]] = []
        self._serving: dict[int, set[asyncio.Task[None]]] = {}
        """Connections to each broker's process."""
        self._unplugged: set[asyncio.Task[None]] = set()
        """Those of ended processes that have not ended yet."""
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
        """Return a new world on the event loop that runs; the parameters are those of `RunWorld`."""
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
        """Nothing is broken here."""

    def listen(self, number: int) -> Endpoint:
        """Listen on a free port; it stays the broker's, and while its process does not run connections are broken at once."""
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
        """Wait until nothing of an ended world runs any more."""
        mine = [*self._listening, *(task for serving in self._serving.values() for task in serving), *self._unplugged]
        for process in self._every:
            mine += process.stop()
        for task in mine:
            task.cancel()
        await asyncio.gather(*mine, return_exceptions=True)
        await asyncio.sleep(0)  # sockets close with the next turn
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
        """Take the requests of one connection to a process until it breaks, or says what is no request, or the process ends."""
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
        """Have a broker's process take a request, in the cluster's thread; return whether it is still there."""
        if node is None or self.nodes.get(number) is not node:
            return False
        node.broker.serve(request, reply)
        return True


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
) -> RunOutcome:
    """Run in real time, and return what came of it. The parameters are those of `simulate`; `service` may be real.

    Where the service is lost, the run ends with what was reached.
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
    """Return the outcome, unless something fails before."""
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
    """Have the run fail once the service is lost."""
    while not (why := service.lost()):
        await asyncio.sleep(LOOK)
    service.abandon()
    if not failure.done():
        failure.set_exception(ConnectionLost(why))
