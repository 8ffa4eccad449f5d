"""This project's brokers on Kafka's wire protocol: they register, stand for election as controller, host replicas, serve clients.

All run in this process, each with its own ZooKeeper session. To kill one is to stop its tasks where they are, to break its
connections, and to let the servers expire its session.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import ChainMap
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, TextIO

from kafka_spec.impl.kafka_wire.connection import connections_of
from kafka_spec.impl.kafka_wire.listener import KafkaListener
from kafka_spec.impl.kafka_wire.protocols import OLDEST, InterBrokerProtocol
from kafka_spec.impl.protocol.registration import Endpoint
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.state_change_log import LogLevel, StateChangeLog
from kafka_spec.impl.run.loopback_process import HOST, ClusterThread, LoopbackProcess
from kafka_spec.impl.run.zookeeper.running_broker import RunningBroker
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.impl.zookeeper.coordination.interface import Service
from kafka_spec.spec.vocabulary.table import Spec

PATIENCE = 30.0
"""The longest wait for an answer, in seconds (controller.socket.timeout.ms)."""
BURST = 16
"""The steps of a controller before other tasks run."""
SETTINGS = Settings(auto_create_topics_enable=False, replica_lag_time_max_ms=5_000, file_delete_delay_ms=1_000)


@dataclass
class OurBroker:
    """Our broker, while it runs."""

    node: RunningBroker
    process: LoopbackProcess
    listener: KafkaListener
    log: TextIO

    @property
    def broker(self) -> BrokerProcess:
        """The broker; use it in the cluster's thread."""
        return self.node.broker


class OurBrokers:
    """Our brokers by number; `running` holds those that run. Use it on the event loop."""

    def __init__(
        self,
        folder: Path,
        service: Service,
        era: Spec,
        ports: dict[int, int],
        seen_at: dict[int, int],
        peers: list[int],
        protocol: InterBrokerProtocol = OLDEST,
    ) -> None:
        """`ports` are those of all brokers, `peers` all numbers that a broker of the cluster may have.

        `seen_at` are the ports at which others find a broker, where that is not its own: those of proxies.
        """
        self.running: dict[int, OurBroker] = {}
        self.thread = ClusterThread()
        self.failure: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Receives the first unexpected error."""
        self._stands = True
        self._folder = folder
        self._service = service
        self._era = era
        self._ports = ports
        self._seen = ChainMap(seen_at, ports)
        self._peers = peers
        self._protocol = protocol

    def abstain(self) -> None:
        """Let brokers that are started from now on not stand for election as controller."""
        self._stands = False

    async def stand(self) -> None:
        """Let all brokers stand for election as controller."""
        self._stands = True
        for one in self.running.values():
            await self.thread.do(one.broker.controller.start)

    async def start(self, number: int) -> None:
        """Start a broker: it registers, and stands for election as controller unless it abstains."""
        listening = socket.create_server((HOST, self._ports.get(number, 0)))
        self._ports[number] = listening.getsockname()[1]
        logs = self._folder / f"logs-{number}"
        logs.mkdir(exist_ok=True)
        log = (logs / "state-change.log").open("a", encoding="utf-8", buffering=1)
        broker = await self.thread.do(partial(self._process, number, log.write))
        node = RunningBroker(broker, self._peers, self._service.connect, BURST, PATIENCE)
        process = LoopbackProcess(self._seen, self.thread, self._fail, connections_of(self._protocol))
        listener = KafkaListener(partial(self._serve, number, node), self.thread.on_loop)
        self.running[number] = OurBroker(node, process, listener, log)
        await listener.begin(listening)
        for task in node.tasks():
            process.spawn(task)

    async def kill(self, number: int) -> None:
        """End a broker where it is; its session expires."""
        ended = await self._stop(number)
        await self.thread.do(ended.broker.crash)
        ended.log.close()
        await self.thread.do(partial(self._service.expire, ended.broker.session))

    async def close(self, number: int) -> None:
        """End a broker in order: it closes its logs and its session."""
        ended = await self._stop(number)
        await self.thread.do(ended.broker.close)
        ended.log.close()

    async def ask_for_shutdown(self, number: int) -> None:
        """Let a broker ask the controller for its controlled shutdown, until it leads nothing or has no retries left."""
        stopping, answered = self.running[number], asyncio.Event()
        stopping.process.spawn(stopping.node.shut_down(), lambda: self.thread.on_loop(answered.set))
        await answered.wait()

    async def end(self) -> None:
        """Kill all brokers."""
        for number in list(self.running):
            await self.kill(number)
        self.failure.cancel()
        self.thread.end()

    def _process(self, number: int, write: Callable[[str], object]) -> BrokerProcess:
        state_changes = StateChangeLog(write, time.time, LogLevel.TRACE)
        session, folder = self._service.connect(), self._folder / f"data-{number}"
        endpoint = Endpoint(HOST, self._seen[number])
        settings = self._protocol.settings(SETTINGS)
        broker = BrokerProcess(
            number, self._era, session, folder, state_changes, time.time, Random(number), settings, endpoint=endpoint
        )
        broker.register(self._stands)
        return broker

    async def _stop(self, number: int) -> OurBroker:
        """Stop a broker's tasks and break its connections; a step that had begun may still write its log."""
        ended = self.running.pop(number)
        ended.process.end()
        await ended.listener.end()
        await asyncio.gather(*ended.process.stop(), return_exceptions=True)
        return ended

    async def _serve(self, number: int, node: RunningBroker, message: Any, reply: Callable[[object], object]) -> bool:
        def serve() -> bool:
            found = self.running.get(number)
            if found is None or found.node is not node:
                return False
            node.broker.serve(message, reply)
            return True

        return await self.thread.do(serve)

    def _fail(self, error: BaseException) -> None:
        if not self.failure.done():
            self.failure.set_exception(error)
