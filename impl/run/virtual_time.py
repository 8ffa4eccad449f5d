"""What every simulated world has: virtual time from one scheduler, and one simulated network."""

from __future__ import annotations

from collections.abc import Callable, Generator

from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.scheduler import ScheduledTasks, Scheduler
from kafka_spec.impl.run.simulated_network import SimulatedNetwork
from kafka_spec.impl.run.tasks import Sleep

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

    def run(self, course: Generator[Sleep, None, RunOutcome]) -> RunOutcome:
        """Run a course to its end, and return the outcome."""
        while True:
            try:
                wait = next(course)
            except StopIteration as ended:
                outcome: RunOutcome = ended.value
                return outcome
            self.scheduler.run_until(self.now + wait.seconds)
