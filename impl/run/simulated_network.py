"""A simulated network: messages take time, and the run's faults break connections.

There is one connection for each caller and receiver. A caller whose connection breaks, or whose receiver has ended, gets None.
When a controller gives a request up, the message on its way is lost with the connection, and a request sent twice is processed
twice in a row. So a controller's requests are never reordered, as in the model. A fetch or a record can arrive late.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from kafka_spec.impl.kraft.metadata_requests import FetchMetadataRequest
from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kafka_spec.impl.protocol.kraft_requests import BrokerHeartbeatRequest, BrokerRegistrationRequest, ProposalRequest
from kafka_spec.impl.run.faults import LATE, chance
from kafka_spec.impl.run.scheduler import ScheduledTasks, Scheduler
from kafka_spec.impl.run.tasks import RemoteCall

CONTROLLERS = (
    LeaderAndIsrRequest,
    UpdateMetadataRequest,
    StopReplicaRequest,
    BrokerRegistrationRequest,
    BrokerHeartbeatRequest,
    ProposalRequest,
    FetchMetadataRequest,
)
"""The requests of and to controllers."""
LATENCY = (0.0002, 0.002)
"""The shortest and the longest latency of a message, in seconds."""


class _Exchange:
    """One call, until it is answered or given up."""

    def __init__(self, hand_over: Callable[[Any], object]) -> None:
        self.over = False
        self._hand_over = hand_over

    def end(self, answer: Any) -> None:
        """Deliver the first answer; ignore later ones."""
        if not self.over:
            self.over = True
            self._hand_over(answer)


class SimulatedNetwork:
    """Connections between processes, by name; `serve` delivers a message to a broker, if it runs."""

    def __init__(
        self,
        scheduler: Scheduler,
        random: Random,
        serve: Callable[[int, Any, Callable[[Any], object]], bool],
        happened: Callable[[str], object],
    ) -> None:
        """`happened` is called with the names of faults."""
        self.faults: Sequence[str] = ()
        """The currently possible faults of messages."""
        self.cut: set[frozenset[str]] = set()
        """Pairs of processes that cannot reach each other."""
        self.slow: set[str] = set()
        """Slow processes."""
        self._scheduler = scheduler
        self._random = random
        self._serve = serve
        self._happened = happened
        self._open: dict[int, dict[_Exchange, None]] = {}
        """The unanswered calls to each broker, in order."""

    def call(self, caller: ScheduledTasks, call: RemoteCall, hand_over: Callable[[Any], object]) -> None:
        """Deliver a message to a broker, and its answer back."""
        exchange, receiver = _Exchange(hand_over), f"broker {call.receiver}"
        if not call.answered:
            exchange.over = True
            self._scheduler.after(0.0, lambda: hand_over(None))
        else:
            self._scheduler.after(call.timeout, lambda: exchange.end(None))
        if frozenset((caller.name, receiver)) in self.cut:
            return
        if self._strikes("lost-request"):
            self._break(exchange)
            return
        delay = self._delay(receiver)
        self._scheduler.after(delay, lambda: self._arrive(caller, call, exchange))
        if self._strikes("duplicate"):
            in_order = isinstance(call.message, CONTROLLERS)
            late = 0.0 if in_order else self._random.uniform(*LATE)
            self._scheduler.after(delay + late, lambda: self._arrive(caller, call, exchange))

    def ended(self, broker: int) -> None:
        """Close the connections of a broker whose process has ended."""
        for exchange in self._open.pop(broker, {}):
            self._break(exchange)

    def _arrive(self, caller: ScheduledTasks, call: RemoteCall, exchange: _Exchange) -> None:
        if exchange.over and isinstance(call.message, CONTROLLERS):
            return
        waiting = self._open.setdefault(call.receiver, {})
        if call.answered:
            waiting[exchange] = None

        def reply(answer: Any) -> None:
            waiting.pop(exchange, None)
            cut = frozenset((caller.name, f"broker {call.receiver}")) in self.cut
            if not cut and self._strikes("lost-reply"):
                self._break(exchange)
            elif not cut:
                self._scheduler.after(self._delay(caller.name), lambda: exchange.end(answer))

        if not self._serve(call.receiver, call.message, reply):
            self._break(exchange)

    def _break(self, exchange: _Exchange) -> None:
        """Let the caller notice that its connection is broken."""
        self._scheduler.after(self._random.uniform(*LATENCY), lambda: exchange.end(None))

    def _delay(self, receiver: str) -> float:
        delay = self._random.uniform(*LATENCY)
        if self._strikes("delay"):
            delay += self._random.uniform(*LATE)
        return delay + (self._random.uniform(*LATE) / 10 if receiver in self.slow else 0.0)

    def _strikes(self, name: str) -> bool:
        likely = chance(self.faults, name)
        if likely == 0.0 or self._random.random() >= likely:
            return False
        self._happened(name)
        return True
