"""The course of a run, in any world, as a task that waits for time to pass.

It has three phases. The cluster starts and a topic is created; clients work while faults happen; then faults stop, brokers that are
down are started again, and the cluster has some time to become quiet. Then it is judged.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Sequence
from random import Random
from typing import Generic, Protocol, TypeAlias, TypeVar

from kafka_spec.impl.run import nemesis
from kafka_spec.impl.run.client import Consumer, Producer, producers
from kafka_spec.impl.run.history import History
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.tasks import Sleep

BEGINNING = 1.0
"""The time in seconds at which the topic is created; clients begin after twice this time."""
REST = 45.0
"""The longest time in seconds until the cluster is quiet."""
READING = 2.0
"""The seconds that the consumer then has to read to the end."""
LOOK = 0.25
"""The seconds between two looks at the run."""
INSTANT = 1e-9
"""What is left of a wait is over if it is shorter: sums of seconds are not exact."""

Course: TypeAlias = Generator[Sleep, None, None]


class World(nemesis.FaultyWorld, Protocol):
    """What a run needs of a world."""

    @property
    def now(self) -> float:
        """The seconds since the run began."""

    def clock(self) -> float:
        """Return the time in seconds since 1970."""

    def start(self, number: int) -> None:
        """Start a broker's process."""

    def create_clients_topic(self, options: Options) -> None:
        """Create the topic that clients use."""

    def calm(self) -> None:
        """End all faults of the network."""


AnyWorld = TypeVar("AnyWorld", bound=World)


class Operators(Protocol):
    """The operators of a run."""

    stopped: bool

    def begin(self) -> None:
        """Start the operations."""


class RunCourse(ABC, Generic[AnyWorld]):
    """One run. `world` and `history` may be read at every look."""

    def __init__(
        self,
        options: Options,
        world: AnyWorld,
        faults: nemesis.Nemesis[AnyWorld],
        operators: Callable[[AnyWorld, Options, Random], Operators],
    ) -> None:
        """`operators` makes those of the run, with a source of randomness of their own if they do anything."""
        self.options = options
        self.world = world
        self.history = History()
        self.nemesis = faults
        random = world.random
        self.operators = operators(world, options, Random(random.getrandbits(32)) if options.operates else random)
        arguments = (random, world.clock, world.numbers, options.partitions_of_topic(), self.history)
        self.left: Sequence[str] = ()
        """What was not quiet at the last look at it."""
        self.resting = 0.0
        """The seconds until the cluster was quiet."""
        self._producers = producers(options.producers, lambda name, acks: Producer(name, acks, options.rate, *arguments))
        self._consumer = Consumer(*arguments)
        self._working = 0

    def conduct(self) -> Generator[Sleep, None, RunOutcome]:
        """Run, and return the outcome."""
        world = self.world
        yield from self._begin()
        yield from self._go_on_until(world.now + self.options.seconds)
        self._calm_down()
        since = world.now
        while self._is_busy() and world.now < since + REST:
            yield from self._go_on_until(world.now + LOOK)
        self.resting = world.now - since
        yield from self._go_on_until(world.now + READING)
        return self._outcome()

    def _begin(self) -> Course:
        """Start the brokers, create the topic, and start clients and faults."""
        world = self.world
        for number in world.numbers:
            world.start(number)
        yield from self._go_on_until(world.now + BEGINNING)
        world.create_clients_topic(self.options)
        yield from self._go_on_until(world.now + BEGINNING)
        for producer in self._producers:
            self._working += 1
            world.process(producer.name).spawn(producer.run(), self._finished)
        world.process("consumer").spawn(self._consumer.run())
        self.nemesis.begin()
        if self.options.operates:
            self.operators.begin()

    def _finished(self) -> None:
        self._working -= 1

    def _calm_down(self) -> None:
        """Stop the faults, and let producers finish their current records."""
        self.nemesis.stopped = self.operators.stopped = True
        self.world.calm()
        for producer in self._producers:
            producer.stopping = True

    def _go_on_until(self, when: float) -> Course:
        while (left := when - self.world.now) > INSTANT:
            yield Sleep(min(left, LOOK))
            self._look()

    def _is_busy(self) -> bool:
        """Look what is not quiet yet; return whether there is anything."""
        busy = [f"{self._working} producers are busy"] if self._working else []
        self.left = [*busy, *self._unrest()]
        return bool(self.left)

    @abstractmethod
    def _look(self) -> None:
        """Look at the run."""

    @abstractmethod
    def _unrest(self) -> Sequence[str]:
        """Return what is not quiet in the cluster."""

    @abstractmethod
    def _outcome(self) -> RunOutcome:
        """Judge the run, and return its outcome."""
