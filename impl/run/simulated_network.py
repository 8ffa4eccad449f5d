"""A simulated network: messages take time, and connections break where the run's faults say so.

One connection for each caller and receiver: who waits for an answer and loses its connection hears of it, and so does who calls a
process that has ended. What is still on its way when a controller gives its request up is lost with the connection, and one that
is sent twice is processed twice in a row, so a controller's requests are never overtaken, as in the model. A fetch or a record can
come late.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from kafka_spec.impl.protocol.controller_requests import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from kafka_spec.impl.run.faults import LATE, chance
from kafka_spec.impl.run.scheduler import ScheduledTasks, Scheduler
from kafka_spec.impl.run.tasks import RemoteCall

CONTROLLERS = (LeaderAndIsrRequest, UpdateMetadataRequest, StopReplicaRequest)
LATENCY = (0.0002, 0.002)
"""How long a message is on its way, in seconds."""


class _Exchange:
    """One call, until it is answered or given up."""

    def __init__(self, hand_over: Callable[[Any], object]) -> None:
        self.over = False
        self._hand_over = hand_over

    def end(self, answer: Any) -> None:
        """Hand the answer over, the first that comes."""
        if not self.over:
            self.over = True
            self._hand_over(answer)


class SimulatedNetwork:
    """Connections between processes, by name; `serve` hands a message to a broker, which may not be there."""

    def __init__(
        self,
        scheduler: Scheduler,
        random: Random,
        serve: Callable[[int, Any, Callable[[Any], object]], bool],
        happened: Callable[[str], object],
    ) -> None:
        """`happened` is told the names of faults."""
        self.faults: Sequence[str] = ()
        """Those of messages that may come, for now."""
        self.cut: set[frozenset[str]] = set()
        """Pairs of processes that cannot reach each other."""
        self.slow: set[str] = set()
        """Processes that take their time."""
        self._scheduler = scheduler
        self._random = random
        self._serve = serve
        self._happened = happened
        self._open: dict[int, dict[_Exchange, None]] = {}
        """What brokers were asked and have not answered, in order."""

    def call(self, caller: ScheduledTasks, call: RemoteCall, hand_over: Callable[[Any], object]) -> None:
        """Bring a message to a broker, and its answer back."""
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
        """A broker's process has ended, and its connections with it."""
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
        """Let the caller notice that its connection is gone."""
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
