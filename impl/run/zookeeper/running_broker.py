"""A broker's tasks: its controller, a sender for each receiver, a fetcher for each leader, its periodic work.

Source: Kafka 2.8 ControllerEventManager.scala, RequestSendThread of ControllerChannelManager.scala, AbstractFetcherThread.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kafka_spec.impl.protocol.data_requests import ControlledShutdownRequest, ControlledShutdownResponse
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.responses import AlterIsrResponse
from kafka_spec.impl.run.fetching import IDLE, fetch
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.impl.zookeeper.broker.isr_proposals import AlterIsrManager
from kafka_spec.impl.zookeeper.coordination.interface import ConnectionLost, NodeExists, Session, SessionExpired

STEP = 0.001
"""The seconds that one step of a controller takes: about one operation on ZooKeeper."""
RETRY = 0.1
"""The seconds before a controller sends a request again (RequestSendThread)."""
ANSWER = 5.0
"""The longest wait for an answer, in seconds."""
SHUTDOWN_RETRIES = 3
SHUTDOWN_BACKOFF = 1.0
"""controlled.shutdown.max.retries and controlled.shutdown.retry.backoff.ms; the backoff here is shorter."""


class RunningBroker:
    """A broker's process with its tasks. Once it has ended, its tasks must not be resumed."""

    def __init__(
        self,
        broker: BrokerProcess,
        peers: Iterable[int],
        connect: Callable[[], Session],
        burst: int = 1,
        patience: float = ANSWER,
    ) -> None:
        """`peers` are the possible broker ids; `connect` opens a session.

        `burst` is the number of steps that the controller takes before other tasks run; `patience` the longest wait for an answer,
        in seconds.
        """
        self.broker = broker
        self.deaf_until = 0
        """The time, in milliseconds since 1970, until which it does not notice that its session has expired."""
        self._peers = sorted(peers)
        self._connect = connect
        self._burst = burst
        self._patience = patience

    def tasks(self) -> list[Task]:
        """Return the tasks of the process."""
        return [
            self.work(),
            self.tick(),
            *([self.propose(isr)] if isinstance(isr := self.broker.data.isr, AlterIsrManager) else []),
            *(self.send(peer) for peer in self._peers),
            *(fetch(self.broker, peer, self._patience) for peer in self._peers if peer != self.broker.number),
        ]

    def work(self) -> Task:
        """Step the controller; open another session when the last one has expired."""
        broker = self.broker
        while True:
            if broker.now < self.deaf_until:
                yield Sleep(IDLE)
            elif self._step():
                yield Sleep(STEP)
            else:
                yield Sleep(IDLE if broker.has_session or self._reopen() else RETRY)

    def _step(self) -> bool:
        """Take up to `burst` steps of the controller; return whether there was work."""
        for number in range(self._burst):
            if not self.broker.step():
                return number > 0
        return True

    def _reopen(self) -> bool:
        """Try to continue under a new session; return whether that succeeded."""
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
        """Do the periodic work when it is due."""
        broker = self.broker
        while True:
            broker.tick()
            yield Sleep(min(max((broker.data.next_tick(broker.now) - broker.now) / 1000, STEP), 5 * IDLE))

    def propose(self, isr: AlterIsrManager) -> Task:
        """Ask the controller for the ISRs that leaders propose."""
        broker = self.broker
        while True:
            controller = broker.metadata.controller
            request = None if controller < 0 else isr.next_request(broker.now)
            if request is None:
                yield Sleep(IDLE)
                continue
            answer = yield RemoteCall(controller, request, self._patience)
            if isinstance(answer, AlterIsrResponse):
                isr.take(answer, broker.now)
            else:
                isr.lost(broker.now)

    def send(self, receiver: int) -> Task:
        """Send the controller's requests for one broker, each until it is answered."""
        broker = self.broker
        while True:
            request = broker.in_flight(receiver)
            if request is None:
                yield Sleep(IDLE)
                continue
            answer = yield RemoteCall(receiver, request, self._patience)
            if answer is None:
                yield Sleep(RETRY)
            else:
                broker.answered(receiver, request, answer)

    def shut_down(self) -> Task:
        """Request a controlled shutdown, up to the limit of retries, until the broker leads nothing; then the process can end."""
        broker = self.broker
        broker.is_stopping = True
        for _ in range(SHUTDOWN_RETRIES):
            controller = broker.metadata.controller
            if controller >= 0:
                answer = yield RemoteCall(controller, ControlledShutdownRequest(broker.number, broker.epoch), self._patience)
                if isinstance(answer, ControlledShutdownResponse) and answer.error == ErrorCode.NONE and not answer.remaining:
                    return
            yield Sleep(SHUTDOWN_BACKOFF)
