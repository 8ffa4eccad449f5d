"""The tasks of a broker's process: registration, heartbeats, the metadata log, proposals, fetches, periodic work.

Source: Kafka 3.9 BrokerLifecycleManager.scala, AlterPartitionManager.scala, AbstractFetcherThread.scala.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from random import Random
from typing import Any

from kafka_spec.impl.kraft.broker import KRaftProcess
from kafka_spec.impl.kraft.metadata_requests import FetchMetadataResponse
from kafka_spec.impl.protocol.kraft_requests import (
    AssignReplicasToDirsResponse,
    BrokerHeartbeatResponse,
    BrokerRegistrationResponse,
    ProposalAnswer,
)
from kafka_spec.impl.protocol.quorum_requests import QuorumAnswer
from kafka_spec.impl.run.fetching import IDLE, fetch
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task
from kafka_spec.spec.kraft.machines import NO_ROLE
from kafka_spec.spec.language.domain import NONE

RETRY = 0.1
HEARTBEAT = 0.5
"""The seconds between two heartbeats (broker.heartbeat.interval.ms; shorter here)."""
SHUTDOWN = 20.0
"""The longest wait, in seconds, for the controller to let a broker go (BrokerServer.shutdown: 5 minutes; shorter here)."""
ANSWER = 2.0
"""The longest wait for an answer, in seconds."""
COPIED_BYTES = 2_000
"""How many bytes of a log are copied at once to another directory: a few records, as under a throttle."""
COPIES = (0.01, 0.2)
"""How many seconds pass between two copies."""
BEHIND = (0.0, 0.05)
"""How many seconds the replicas follow after the metadata cache."""


class RunningKRaftBroker:
    """A broker's process with its tasks. Once it has ended, its tasks must not be resumed."""

    def __init__(self, broker: KRaftProcess, peers: Iterable[int], controllers: Sequence[int], random: Random) -> None:
        """`peers` are the possible broker ids, `controllers` those of the controllers."""
        self.broker = broker
        self.controller = controllers[0]
        """The controller that it takes for the active one."""
        self._controllers = controllers
        self.lags_until = 0.0
        """The time, in milliseconds since 1970, until which it does not fetch the metadata log."""
        self.is_registered = False
        self._peers = sorted(peers)
        self._random = random

    def _ask(self, request: object) -> Generator[RemoteCall, Any, Any]:
        """Ask the active controller; without an answer, or if another is active, turn to that (NodeToControllerRequestThread)."""
        asked = self.controller
        answer = yield RemoteCall(asked, request, ANSWER)
        if self.controller == asked and (answer is None or isinstance(answer, QuorumAnswer)):
            known = NONE if answer is None else answer.leader.node
            following = self._controllers.index(asked) + 1
            self.controller = known if known not in (NONE, asked) else self._controllers[following % len(self._controllers)]
        return answer

    def live(self, started: Callable[[], object], ended: Callable[[], object]) -> Task:
        """Register, and send heartbeats until the controller lets the broker go, or it waits no longer; then call `ended`."""
        broker = self.broker
        while not self.is_registered:
            answer = yield from self._ask(broker.registration())
            self.is_registered = isinstance(answer, BrokerRegistrationResponse) and broker.registered(answer)
            if not self.is_registered:
                yield Sleep(RETRY)
        started()
        waits_until = 0.0
        while True:
            answer = yield from self._ask(broker.heartbeat())
            if broker.is_stopping and not waits_until:
                waits_until = broker.now + SHUTDOWN * 1000
            goes = isinstance(answer, BrokerHeartbeatResponse) and answer.should_shut_down
            if goes or (waits_until and broker.now >= waits_until):
                ended()
                return
            yield Sleep(HEARTBEAT if broker.metadata_end > broker.epoch and not broker.is_stopping else RETRY)

    def tasks(self) -> list[Task]:
        """Return the tasks of a process that has registered."""
        peers = [peer for peer in self._peers if peer != self.broker.number]
        return [
            self.apply(),
            self.propose(),
            self.assign(),
            self.move(),
            self.tick(),
            *(fetch(self.broker, peer, ANSWER) for peer in peers),
        ]

    def apply(self) -> Task:
        """Apply the metadata log: the metadata cache first, the replicas at once or a little later."""
        broker = self.broker
        while True:
            if broker.now >= self.lags_until:
                answer = yield from self._ask(broker.next_metadata())
                if isinstance(answer, FetchMetadataResponse) and (answer.batches or answer.snapshot):
                    broker.learn(answer)
                    yield Sleep(self._random.uniform(*BEHIND))
                    broker.follow()
            yield Sleep(IDLE)

    def propose(self) -> Task:
        """Send the leaders' proposals, each request until it is answered."""
        isr = self.broker.data.isr
        while True:
            request = isr.next_request(self.broker.now)
            if request is None:
                yield Sleep(IDLE)
                continue
            answer = yield from self._ask(request)
            if isinstance(answer, ProposalAnswer):
                isr.take(answer, self.broker.now)
            else:
                yield Sleep(RETRY)

    def assign(self) -> Task:
        """Say in which log directories the replicas lie, if brokers name them (AssignmentsManager)."""
        while self.broker.log_dirs:
            request = self.broker.assignment()
            if request is not None:
                answer = yield from self._ask(request)
                if isinstance(answer, AssignReplicasToDirsResponse):
                    self.broker.assigned(answer)
            yield Sleep(HEARTBEAT)

    def move(self) -> Task:
        """Copy the logs that are moved to another directory, and let the copies replace them (ReplicaAlterLogDirsThread)."""
        replicas = self.broker.replicas
        while self.broker.log_dirs:
            moved = list(replicas.future_logs)
            for partition in moved:
                if replicas.role_of(partition) != NO_ROLE and not replicas.future_logs.copy(partition, COPIED_BYTES):
                    replicas.promote(partition)
            yield Sleep(self._random.uniform(*COPIES) if moved else HEARTBEAT)

    def tick(self) -> Task:
        """Do the periodic work when it is due."""
        broker = self.broker
        while True:
            broker.data.tick(broker.now)
            yield Sleep(min(max((broker.data.next_tick(broker.now) - broker.now) / 1000, 0.001), 5 * IDLE))
