"""A broker and what keeps it going, as tasks: its controller, a sender for each receiver, a fetcher for each leader, its clock.

Source: Kafka 2.8 ControllerEventManager.scala, RequestSendThread of ControllerChannelManager.scala, AbstractFetcherThread.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka_spec.impl.broker.broker_process import BrokerProcess
from kafka_spec.impl.coordination.interface import ConnectionLost, NodeExists, Session, SessionExpired
from kafka_spec.impl.protocol.data_requests import ControlledShutdownRequest, ControlledShutdownResponse
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task

STEP = 0.001
"""How long a piece of a controller's work takes, in seconds: about one operation of ZooKeeper."""
IDLE = 0.01
"""How long who has nothing to do waits before it looks again."""
RETRY = 0.1
"""How long a controller waits before it sends a request again (RequestSendThread)."""
ANSWER = 5.0
"""How long an answer is waited for."""
SHUTDOWN_RETRIES = 3
SHUTDOWN_BACKOFF = 1.0
"""controlled.shutdown.max.retries and controlled.shutdown.retry.backoff.ms; the backoff here is shorter."""


class RunningBroker:
    """A broker's process with its tasks. Once it has ended, its tasks must not be run any further."""

    def __init__(self, broker: BrokerProcess, peers: Iterable[int], connect: Callable[[], Session], burst: int = 1) -> None:
        """`peers` are the numbers that brokers may have; `connect` opens a session.

        `burst` is how many pieces of work the controller does before others have their turn.
        """
        self.broker = broker
        self.deaf_until = 0
        """Until when it does not notice that its session is over, in milliseconds since 1970."""
        self._peers = sorted(peers)
        self._connect = connect
        self._burst = burst

    def tasks(self) -> list[Task]:
        """Return all that goes on in the process."""
        return [
            self.work(),
            self.tick(),
            *(self.send(peer) for peer in self._peers),
            *(self.fetch(peer) for peer in self._peers if peer != self.broker.number),
        ]

    def work(self) -> Task:
        """Do the controller's work; open another session when the last one is over."""
        broker = self.broker
        while True:
            if broker.now < self.deaf_until:
                yield Sleep(IDLE)
            elif self._step():
                yield Sleep(STEP)
            else:
                yield Sleep(IDLE if broker.has_session or self._reopen() else RETRY)

    def _step(self) -> bool:
        """Do some pieces of the controller's work; return whether there was any."""
        for number in range(self._burst):
            if not self.broker.step():
                return number > 0
        return True

    def _reopen(self) -> bool:
        """Try to go on under a new session; return whether that was done."""
        session = None
        try:
            session = self._connect()
            self.broker.reopen(session)
        except (NodeExists, ConnectionLost, SessionExpired):
            if session is not None:
                session.close()
            return False
        return True

    def tick(self) -> Task:
        """Do what is due."""
        broker = self.broker
        while True:
            broker.data.tick(broker.now)
            yield Sleep(min(max((broker.data.next_tick(broker.now) - broker.now) / 1000, STEP), 5 * IDLE))

    def send(self, receiver: int) -> Task:
        """Send what the controller has for one broker, the same request until it is answered."""
        broker = self.broker
        while True:
            request = broker.in_flight(receiver)
            if request is None:
                yield Sleep(IDLE)
                continue
            answer = yield RemoteCall(receiver, request, ANSWER)
            if answer is None:
                yield Sleep(RETRY)
            else:
                broker.answered(receiver, request, answer)

    def fetch(self, leader: int) -> Task:
        """Ask one leader for what the broker's replicas lack."""
        broker, fetchers = self.broker, self.broker.data.fetchers
        while True:
            request = fetchers.next_request(leader, broker.now)
            if request is None:
                yield Sleep(IDLE)
                continue
            answer = yield RemoteCall(leader, request, ANSWER)
            if answer is None:
                fetchers.lost(leader, broker.now)
            else:
                fetchers.take(leader, answer.partitions, broker.now)

    def shut_down(self) -> Task:
        """Ask the controller to move all leadership away, some times, until nothing is left; the process can end then."""
        broker = self.broker
        broker.is_stopping = True
        for _ in range(SHUTDOWN_RETRIES):
            controller = broker.metadata.controller
            if controller >= 0:
                answer = yield RemoteCall(controller, ControlledShutdownRequest(broker.number, broker.epoch), ANSWER)
                if isinstance(answer, ControlledShutdownResponse) and answer.error == ErrorCode.NONE and not answer.remaining:
                    return
            yield Sleep(SHUTDOWN_BACKOFF)
