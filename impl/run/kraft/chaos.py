"""Random faults in a cluster of KRaft: of processes, of sessions with the controller, of connections."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kafka_spec.impl.log.manager import lose_unflushed
from kafka_spec.impl.protocol.data_requests import ElectLeadersRequest
from kafka_spec.impl.run.kraft.faults import KRAFT_FAULTS
from kafka_spec.impl.run.kraft.process import ANSWER, CONTROLLER
from kafka_spec.impl.run.kraft.world import SESSION_TIMEOUT_MS, KRaftWorld
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task

DOWN = 6.0
"""The longest time, in seconds, for which a crashed broker is down."""
SPELL = 5.0
"""The longest time, in seconds, of a fault that lasts."""


class KRaftChaos:
    """Injects faults until it is stopped."""

    def __init__(self, world: KRaftWorld, random: Random, faults: tuple[str, ...]) -> None:
        """`faults` are the names of the possible faults."""
        self.stopped = False
        self._world = world
        self._random = random
        self._faults = faults
        self._operator = world.process("operator")
        self._strike: dict[str, Callable[[int], object]] = {
            "crash": self.crash,
            "bounce": self.bounce,
            "power": self.power,
            "fence": self.fence,
            "shutdown": self.shutdown,
            "election": self.election,
            "lag": self.lag,
            "isolation": self.isolation,
            "slow": self.slow,
        }

    def begin(self) -> None:
        """Start the faults."""
        self._world.network.faults = self._faults
        for name in self._faults:
            if KRAFT_FAULTS[name].every > 0:
                self._operator.spawn(self._again_and_again(name, KRAFT_FAULTS[name].every))

    def _again_and_again(self, name: str, every: float) -> Task:
        while True:
            yield Sleep(self._random.uniform(0.5, 1.5) * every)
            if self.stopped:
                return
            if running := self._world.running():
                self._strike[name](self._random.choice(running))

    def _note(self, name: str, text: str) -> None:
        self._world.observer.fault(name, text)

    def _again(self, number: int, seconds: float) -> None:
        self._world.after(seconds, lambda: self._world.start(number))

    def crash(self, number: int) -> None:
        """End a process, and start it again some time later."""
        self._note("crash", f"broker {number} crashes")
        self._world.crash(number)
        self._again(number, self._random.uniform(0.1, DOWN))

    def bounce(self, number: int) -> None:
        """End a process, and start it again at once."""
        self._note("bounce", f"broker {number} bounces")
        self._world.crash(number)
        self._world.start(number)

    def power(self, number: int) -> None:
        """End a process, and lose its unflushed records."""
        self._world.crash(number)
        lost = lose_unflushed(self._world.cluster.folder_of(number), self._world.random)
        self._note("power", f"broker {number} loses power, and {lost:,} records")
        self._again(number, self._random.uniform(0.1, DOWN))

    def fence(self, number: int) -> None:
        """Keep a broker from reaching the controller, until its session has ended."""
        seconds = SESSION_TIMEOUT_MS / 1000 + self._random.uniform(0.1, SPELL)
        self._note("fence", f"broker {number} and the controller cannot reach each other for {seconds:.1f} s")
        self._cut(f"broker {number}", f"broker {CONTROLLER}", seconds)

    def shutdown(self, number: int) -> None:
        """Shut a broker down; it is started again."""
        self._note("shutdown", f"broker {number} is shut down")
        self._world.shut_down(number)

    def election(self, _: int) -> None:
        """Request preferred leader elections."""
        self._note("election", "an operator requests preferred leader elections")
        self._operator.spawn(self._ask())

    def _ask(self) -> Task:
        yield RemoteCall(CONTROLLER, ElectLeadersRequest(), ANSWER)

    def lag(self, number: int) -> None:
        """Let a broker not apply the metadata log for some time."""
        seconds = self._random.uniform(0.5, SPELL)
        self._note("lag", f"broker {number} does not apply the metadata log for {seconds:.1f} s")
        self._world.nodes[number].lags_until = self._world.milliseconds + seconds * 1000

    def isolation(self, number: int) -> None:
        """Keep two brokers from reaching each other for some time."""
        others = [other for other in self._world.numbers if other != number]
        if others:
            other, seconds = self._random.choice(others), self._random.uniform(0.5, SPELL)
            self._note("isolation", f"brokers {number} and {other} cannot reach each other for {seconds:.1f} s")
            self._cut(f"broker {number}", f"broker {other}", seconds)

    def _cut(self, one: str, other: str, seconds: float) -> None:
        pair = frozenset((one, other))
        self._world.network.cut.add(pair)
        self._world.after(seconds, lambda: self._world.network.cut.discard(pair))

    def slow(self, number: int) -> None:
        """Let a broker be slow for some time."""
        seconds = self._random.uniform(0.5, SPELL)
        self._note("slow", f"broker {number} is slow for {seconds:.1f} s")
        self._world.network.slow.add(f"broker {number}")
        self._world.after(seconds, lambda: self._world.network.slow.discard(f"broker {number}"))
