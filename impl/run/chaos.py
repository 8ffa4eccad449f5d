"""Random faults: of processes and sessions in any world, of connections in a simulated one."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from kafka_spec.impl.coordination.memory import Loss, MemorySession
from kafka_spec.impl.log.manager import lose_unflushed
from kafka_spec.impl.protocol.data_requests import ElectLeadersRequest
from kafka_spec.impl.run.faults import mean_seconds
from kafka_spec.impl.run.simulated_world import SimulatedWorld
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task
from kafka_spec.impl.run.world import RunWorld

SESSION_TIMEOUT = 6.0
"""zookeeper.session.timeout.ms, in seconds: the longest time until the servers expire the session of an ended process."""
DEAF = 4.0
"""The longest time, in seconds, until a broker notices that its session has expired."""
DOWN = 3.0
SPELL = 5.0
"""The longest time, in seconds, for which two brokers cannot reach each other, or one is slow."""


class Chaos:
    """Injects faults into a world until it is stopped: those that are possible in any world."""

    def __init__(self, world: RunWorld, random: Random, faults: tuple[str, ...]) -> None:
        """`faults` are the names of the possible faults."""
        self.stopped = False
        self._world = world
        self._random = random
        self._faults = faults
        self._strike: dict[str, Callable[[], object]] = {
            "crash": self.crash,
            "bounce": self.bounce,
            "expiry": self.expiry,
            "shutdown": self.shutdown,
            "election": self.election,
            "power": self.power,
        }

    def begin(self) -> None:
        """Start the faults."""
        self._operator = self._world.process("operator")
        for name, every in mean_seconds(self._faults):
            self._operator.spawn(self._again_and_again(name, every))

    def _again_and_again(self, name: str, every: float) -> Task:
        while True:
            yield Sleep(self._random.uniform(0.5, 1.5) * every)
            if self.stopped:
                return
            if self._world.running():
                self._strike[name]()

    def _somebody(self) -> int:
        return self._random.choice(self._world.running())

    def _note(self, name: str, text: str) -> None:
        self._world.observer.fault(name, text)

    def crash(self) -> None:
        """Crash a process; its session expires later, and it is started again after that."""
        number = self._somebody()
        self._note("crash", f"broker {number} crashes")
        self._end(number)

    def power(self) -> None:
        """Crash a process and lose its unflushed records."""
        number = self._somebody()
        self._end(number)
        lost = lose_unflushed(self._world.cluster.folder / str(number), self._world.random)
        self._note("power", f"broker {number} loses power, and {lost:,} records")

    def _end(self, number: int) -> None:
        session = self._world.kill(number)
        missed = self._random.uniform(0.2, SESSION_TIMEOUT)
        self._world.after(missed, lambda: self._world.cluster.service.expire(session))
        self._world.after(missed + self._random.uniform(0.1, DOWN), lambda: self._world.start(number))

    def bounce(self) -> None:
        """Crash a process and start it again before anyone reads ZooKeeper."""
        number = self._somebody()
        self._note("bounce", f"broker {number} bounces")
        self._world.cluster.service.expire(self._world.kill(number))
        self._world.start(number)

    def expiry(self) -> None:
        """Let a session expire."""
        number, deaf = self._somebody(), self._random.uniform(0.0, DEAF)
        self._note("expiry", f"the session of broker {number} expires, which it notices after {deaf:.1f} s")
        self._world.expire(number, deaf)

    def shutdown(self) -> None:
        """Shut a broker down, and start it again."""
        number = self._somebody()
        self._note("shutdown", f"broker {number} is shut down")
        self._world.shut_down(number, self._random.uniform(0.1, DOWN))

    def election(self) -> None:
        """Request preferred leader elections from the controller that some broker knows."""
        controller = self._world.nodes[self._somebody()].broker.metadata.controller
        self._note("election", "an operator requests preferred leader elections")
        self._operator.spawn(self._ask(controller))

    def _ask(self, controller: int) -> Task:
        yield RemoteCall(controller, ElectLeadersRequest(), SESSION_TIMEOUT)


class Storm(Chaos):
    """The faults of a simulation, including those of connections."""

    def __init__(self, world: SimulatedWorld, random: Random, faults: tuple[str, ...]) -> None:
        """See `Chaos`."""
        super().__init__(world, random, faults)
        self._network = world.network
        self._strike |= {"zookeeper": self.zookeeper, "isolation": self.isolation, "slow": self.slow}

    def begin(self) -> None:
        """Start the faults, including those of messages."""
        self._network.faults = self._faults
        super().begin()

    def zookeeper(self) -> None:
        """Break a broker's connection to ZooKeeper during one of its next operations."""
        number, loss = self._somebody(), self._random.choice(list(Loss))
        session = self._world.nodes[number].broker.session
        assert isinstance(session, MemorySession)
        session.lose(loss, self._random.randrange(6))
        self._note("zookeeper", f"broker {number} is about to lose its connection to ZooKeeper: {loss.value}")

    def isolation(self) -> None:
        """Keep two brokers from reaching each other for some time."""
        numbers = self._world.numbers
        if len(numbers) < 2:
            return
        one, other = self._random.sample(numbers, 2)
        pair, spell = frozenset((f"broker {one}", f"broker {other}")), self._random.uniform(0.5, SPELL)
        self._note("isolation", f"brokers {one} and {other} cannot reach each other for {spell:.1f} s")
        self._network.cut.add(pair)
        self._world.after(spell, lambda: self._network.cut.discard(pair))

    def slow(self) -> None:
        """Let a broker be slow for some time."""
        number, spell = self._somebody(), self._random.uniform(0.5, SPELL)
        self._note("slow", f"broker {number} is slow for {spell:.1f} s")
        self._network.slow.add(f"broker {number}")
        self._world.after(spell, lambda: self._network.slow.discard(f"broker {number}"))
