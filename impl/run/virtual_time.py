"""What every simulated world has: virtual time from one scheduler, and one simulated network."""

from __future__ import annotations

from collections.abc import Callable

from kafka_spec.impl.run.scheduler import ScheduledTasks, Scheduler
from kafka_spec.impl.run.simulated_network import SimulatedNetwork

EPOCH = 1_600_000_000.0
"""The start of every simulation, in seconds since 1970."""


class VirtualTime:
    """The time and the network of a world; the subclass makes the network."""

    network: SimulatedNetwork

    def __init__(self) -> None:
        self.scheduler = Scheduler(EPOCH)

    @property
    def now(self) -> float:
        """The seconds since the run began."""
        return self.scheduler.now

    def clock(self) -> float:
        """Return the time in seconds since 1970."""
        return self.scheduler.clock()

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Schedule a call so many seconds from now."""
        self.scheduler.after(seconds, act)

    def process(self, name: str) -> ScheduledTasks:
        """Return a process without tasks."""
        return ScheduledTasks(name, self.scheduler, self.network.call)

    def disturb(self, faults: tuple[str, ...]) -> None:
        """Let the faults of messages among these happen."""
        self.network.faults = faults

    def calm(self) -> None:
        """End all faults of the network."""
        self.network.faults = ()
        self.network.cut.clear()
        self.network.slow.clear()
