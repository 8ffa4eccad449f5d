"""A world in virtual time: one scheduler, one simulated network, a coordination service in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.impl.coordination.memory import Ensemble
from kafka_spec.impl.run import scheduler
from kafka_spec.impl.run.network import Network
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.world import World

EPOCH = 1_600_000_000.0
"""When every simulation begins, in seconds since 1970."""


class SimulatedWorld(World):
    """Everything that chance decides is drawn from `random`."""

    def __init__(
        self, options: Options, folder: Path, write: Callable[[str], object], news: Callable[[str], object], random: Random
    ) -> None:
        """See `World`."""
        self.scheduler = scheduler.Scheduler(EPOCH)
        super().__init__(options, folder, Ensemble(), write, news, random)
        self.network = Network(self.scheduler, random, self._serve, self.observer.fault)

    @property
    def now(self) -> float:
        """See `World.now`."""
        return self.scheduler.now

    def clock(self) -> float:
        """See `World.clock`."""
        return self.scheduler.clock()

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """See `World.after`."""
        self.scheduler.after(seconds, act)

    def process(self, name: str) -> scheduler.Process:
        """See `World.process`."""
        return scheduler.Process(name, self.scheduler, self.network.call)

    def listen(self, number: int) -> None:
        """See `World.listen`."""

    def unplug(self, number: int) -> None:
        """See `World.unplug`."""
        self.network.ended(number)

    def calm(self) -> None:
        """See `World.calm`."""
        self.network.faults = ()
        self.network.cut.clear()
        self.network.slow.clear()

    def _serve(self, number: int, message: Any, reply: Callable[[Any], object]) -> bool:
        """Hand a message to a broker; return whether there is one."""
        if number not in self.nodes:
            return False
        self.nodes[number].broker.serve(message, reply)
        return True
