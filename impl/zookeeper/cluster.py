"""Brokers on one coordination service, by number: the steps that a scheduler, a replay or a test combines.

Nothing happens by itself: controllers act, and requests and answers travel, only when the caller says so. There is no randomness,
and no time but the clock that is passed in.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.controller_requests import Leadership, Request
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.registration import Endpoint
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.state_change_log import StateChangeLog
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.impl.zookeeper.controller.controlled_shutdown import ControlledShutdown
from kafka_spec.impl.zookeeper.controller.controller import KafkaController
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import NoNode, Service, Session
from kafka_spec.impl.zookeeper.coordination.lasting import LastingSession
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import ControllerState


class Cluster:
    """Brokers; `brokers` holds those that run. Each has a folder of its own, which outlives its processes.

    As a context manager it crashes at the end the brokers that still run.
    """

    def __init__(
        self,
        folder: Path,
        service: Service,
        era: Spec = FIXED,
        write: Callable[[str], object] = lambda _: None,
        clock: Callable[[], float] = lambda: 0.0,
        seed: int = 0,
        settings: Settings | None = None,
        config: LogConfig | None = None,
    ) -> None:
        """`write` receives the lines of the state-change log; `clock` returns seconds since 1970.

        `seed` is the brokers' source of randomness; see `BrokerProcess` for the rest.
        """
        self.folder = folder
        self.service = service
        self.era = era
        self.log = StateChangeLog(write, clock)
        self.brokers: dict[int, BrokerProcess] = {}
        self.tools = LastingSession(service)
        """The session of Kafka's tools, and of callers that read znodes."""
        self._clock = clock
        self._random = Random(seed)
        self._settings = settings
        self._config = config

    # Processes and sessions

    def start(self, number: int, endpoint: Endpoint | None = None) -> BrokerProcess:
        """Start a broker's process on its folder: it opens a session and registers with the endpoint.

        Raises:
            ValueError: the broker runs already.
            NodeExists: the registration of an earlier session still exists.
        """
        if number in self.brokers:
            raise ValueError(f"broker {number} runs; crash or close it before it is started again")
        broker = self.process(number, endpoint)
        broker.register()
        self.brokers[number] = broker
        return broker

    def process(self, number: int, endpoint: Endpoint | None = None) -> BrokerProcess:
        """Return a broker's process on its folder, with a session of its own, not yet registered."""
        session, folder = self.service.connect(), self.folder / str(number)
        return BrokerProcess(
            number, self.era, session, folder, self.log, self._clock, self._random, self._settings, self._config, endpoint
        )

    def end_process(self, number: int) -> Session:
        """End a broker's process; return its session, which the servers have not expired yet."""
        broker = self.brokers.pop(number)
        broker.crash()
        return broker.session

    def crash(self, number: int) -> None:
        """End a broker's process; the servers end its session at once."""
        self.service.expire(self.end_process(number))

    def bounce(self, number: int) -> BrokerProcess:
        """Crash a broker and start it again, before anyone reads ZooKeeper."""
        self.crash(number)
        return self.start(number)

    def expire(self, number: int) -> None:
        """Expire a broker's session. The broker does not notice before its next step, or `reopen`."""
        self.service.expire(self.brokers[number].session)

    def reopen(self, number: int) -> None:
        """Let a broker notice that its session has expired, and open another."""
        self.brokers[number].reopen(self.service.connect())

    def close(self, number: int) -> None:
        """End a broker's process as after its controlled shutdown, whatever the result of that was."""
        self.brokers.pop(number).close()

    def end(self) -> None:
        """Crash all running brokers, so that no file stays open; for the end of a test or a run."""
        for number in list(self.brokers):
            self.crash(number)
        self.tools.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()

    # Messages between brokers

    def in_flight(self, sender: int, receiver: int) -> Request | None:
        """Return the request that a broker's controller is sending to another, if both run."""
        if sender not in self.brokers or receiver not in self.brokers:
            return None
        return self.brokers[sender].in_flight(receiver)

    def deliver(self, sender: int, receiver: int, answered: bool = True) -> bool:
        """Deliver the request in flight from a controller to a broker; return whether there was one.

        Unless `answered`, the answer is lost with the connection, and the same request will be sent again.
        """
        request = self.in_flight(sender, receiver)
        if request is None:
            return False
        answer = self.brokers[receiver].take(request)
        if answered:
            self.brokers[sender].answered(receiver, request, answer)
        return True

    def lose(self, sender: int, receiver: int) -> bool:
        """Lose the request in flight for good, with its connection, as up to 0.8 (KAFKA-1738); return whether there was one."""
        if self.in_flight(sender, receiver) is None:
            return False
        self.brokers[sender].channels.answered(receiver)
        return True

    def shut_down(
        self, number: int, controller: int, reply: Callable[[ErrorCode, tuple[TopicPartition, ...]], object] = lambda *_: None
    ) -> None:
        """Begin a broker's controlled shutdown: put the event with its `reply` into this controller's queue."""
        broker = self.brokers[number]
        broker.is_stopping = True
        self.brokers[controller].controller.handle(ControlledShutdown(number, broker.epoch, reply))

    def rest(self, steps: int = 1_000_000) -> None:
        """Step controllers and deliver requests until no controller has work and no request waits for a running broker.

        Raises:
            RuntimeError: this takes more rounds than `steps`.
        """
        for _ in range(steps):
            worked = sum(self.brokers[number].step() for number in sorted(self.brokers))
            delivered = sum(self.deliver(a, b) for a in sorted(self.brokers) for b in sorted(self.brokers))
            if worked + delivered == 0:
                return
        raise RuntimeError(f"the cluster does not come to rest within {steps} rounds")

    # Inspection

    @property
    def active(self) -> KafkaController:
        """The active controller.

        Raises:
            ValueError: there is none, or more than one.
        """
        (one,) = [b.controller for b in self.brokers.values() if b.controller.life == ControllerState.ACTIVE]
        return one

    def leadership(self, partition: TopicPartition) -> Leadership | None:
        """Return the content of a partition's state znode, None if it does not exist."""
        try:
            data, stat = self.tools.get(znodes.state(partition))
        except NoNode:
            return None
        state = znodes.State.decode(partition, data)
        return Leadership(state.leader, state.leader_epoch, state.isr, stat.version, state.controller_epoch)
