"""A world in virtual time: one scheduler, one simulated network, a coordination service in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.impl.coordination.memory import Ensemble
from kafka_spec.impl.run import scheduler
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.simulated_network import SimulatedNetwork
from kafka_spec.impl.run.world import RunWorld

EPOCH = 1_600_000_000.0
"""The start of every simulation, in seconds since 1970."""


class SimulatedWorld(RunWorld):
    """A world whose only source of randomness is `random`."""

    def __init__(
        self, options: Options, folder: Path, write: Callable[[str], object], news: Callable[[str], object], random: Random
    ) -> None:
        """See `RunWorld`."""
        self.scheduler = scheduler.Scheduler(EPOCH)
        super().__init__(options, folder, Ensemble(self.scheduler.clock), write, news, random)
        self.network = SimulatedNetwork(self.scheduler, random, self._serve, self.observer.fault)

    @property
    def now(self) -> float:
        """See `RunWorld.now`."""
        return self.scheduler.now

    def clock(self) -> float:
        """See `RunWorld.clock`."""
        return self.scheduler.clock()

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """See `RunWorld.after`."""
        self.scheduler.after(seconds, act)

    def process(self, name: str) -> scheduler.ScheduledTasks:
        """See `RunWorld.process`."""
        return scheduler.ScheduledTasks(name, self.scheduler, self.network.call)

    def listen(self, number: int) -> None:
        """See `RunWorld.listen`."""

    def unplug(self, number: int) -> None:
        """See `RunWorld.unplug`."""
        self.network.ended(number)

    def calm(self) -> None:
        """See `RunWorld.calm`."""
        self.network.faults = ()
        self.network.cut.clear()
        self.network.slow.clear()

    def _serve(self, number: int, message: Any, reply: Callable[[Any], object]) -> bool:
        """Deliver a message to a broker; return whether the broker runs."""
        if number not in self.nodes:
            return False
        self.nodes[number].broker.serve(message, reply)
        return True
