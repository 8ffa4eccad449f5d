"""A world of ZooKeeper in virtual time: a coordination service in memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.simulated_network import SimulatedNetwork
from kafka_spec.impl.run.virtual_time import VirtualTime
from kafka_spec.impl.run.zookeeper.world import RunWorld
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble


class SimulatedWorld(VirtualTime, RunWorld):
    """A world whose only source of randomness is `random`."""

    def __init__(
        self, options: Options, folder: Path, write: Callable[[str], object], news: Callable[[str], object], random: Random
    ) -> None:
        VirtualTime.__init__(self)
        RunWorld.__init__(self, options, folder, Ensemble(self.scheduler.clock), write, news, random)
        self.network = SimulatedNetwork(self.scheduler, random, self._serve, self.observer.fault)

    def listen(self, number: int) -> None:
        """Return None: the network needs no address."""

    def unplug(self, number: int) -> None:
        """Break all connections of a broker whose process has ended."""
        self.network.ended(number)

    def _serve(self, number: int, message: Any, reply: Callable[[Any], object]) -> bool:
        """Deliver a message to a broker; return whether the broker runs."""
        if number not in self.nodes:
            return False
        self.nodes[number].broker.serve(message, reply)
        return True
