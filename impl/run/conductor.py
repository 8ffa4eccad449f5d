"""The course of a run, in any world, as a task that waits for time to pass.

It has three phases. The cluster starts and a topic is created; clients work while faults happen; then faults stop, brokers that are
down are started again, and the cluster has some time to become quiet. Then it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from random import Random

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.assignment_verdict import assignments_of, broken_assignments, work_left
from kafka_spec.impl.run.client import Consumer, Producer, producers
from kafka_spec.impl.run.history import History
from kafka_spec.impl.run.nemesis import Nemesis
from kafka_spec.impl.run.operations import RunOperators
from kafka_spec.impl.run.options import TOPIC, Options
from kafka_spec.impl.run.outcome import RunOutcome, outcome_of, outcome_reached
from kafka_spec.impl.run.quiescence import unrest
from kafka_spec.impl.run.tasks import Sleep
from kafka_spec.impl.run.verdict import Broken, Judge
from kafka_spec.impl.run.world import RunWorld
from kafka_spec.impl.zookeeper.coordination.admin import Admin

BEGINNING = 1.0
"""The time in seconds at which the topic is created; clients begin after twice this time."""
REST = 45.0
"""The longest time in seconds until the cluster is quiet."""
READING = 2.0
"""The seconds that the consumer then has to read to the end."""
LOOK = 0.25
"""The seconds between two calls of `watch`."""

Course = Generator[Sleep, None, None]


class Conductor:
    """One run. `world` and `history` may be read whenever `watch` is called."""

    def __init__(
        self, options: Options, world: RunWorld, nemesis: Nemesis[RunWorld], watch: Callable[[Conductor], object] = lambda _: None
    ) -> None:
        self.options = options
        self.world = world
        self.history = History()
        self._nemesis = nemesis
        self._operators = RunOperators(world, options, Random(world.random.getrandbits(32)) if options.operates else world.random)
        self._watch = watch
        arguments = (world.random, world.clock, world.numbers, options.partitions_of_topic(), self.history)
        self._producers = producers(options.producers, lambda name, acks: Producer(name, acks, options.rate, *arguments))
        self._consumer = Consumer(*arguments)
        self._working = 0

    def conduct(self) -> Generator[Sleep, None, RunOutcome]:
        """Run, and return the outcome."""
        yield from self._begin()
        yield from self._go_on_until(self.world.now + self.options.seconds)
        self._calm_down()
        since = self.world.now
        while (left := self._unrest()) and self.world.now < since + REST:
            yield from self._go_on_until(self.world.now + LOOK)
        resting = self.world.now - since
        yield from self._go_on_until(self.world.now + READING)
        return self._outcome(left, resting)

    def reached(self, stopped: str) -> RunOutcome:
        """Return the outcome of a run that was stopped, without a request to the coordination service."""
        return outcome_reached(
            self.options, self.world.cluster, self.world.observer, self.history, stopped, self.world.unclean_elections()
        )

    def _begin(self) -> Course:
        """Start the brokers, create the topic, and start clients and faults."""
        for number in self.world.numbers:
            self.world.start(number)
        yield from self._go_on_until(self.world.now + BEGINNING)
        admin = Admin(self.world.cluster.tools, self.world.random, lambda _: None)
        admin.create_topic(TOPIC, self.options.partitions, self.options.replication_factor)
        yield from self._go_on_until(self.world.now + BEGINNING)
        for producer in self._producers:
            self._working += 1
            self.world.process(producer.name).spawn(producer.run(), self._finished)
        self.world.process("consumer").spawn(self._consumer.run())
        self._nemesis.begin()
        if self.options.operates:
            self._operators.begin()

    def _finished(self) -> None:
        self._working -= 1

    def _calm_down(self) -> None:
        """Stop the faults, and let producers finish their current records."""
        self._nemesis.stopped = self._operators.stopped = True
        self.world.calm()
        for producer in self._producers:
            producer.stopping = True

    def _go_on_until(self, when: float) -> Course:
        while (left := when - self.world.now) > 0:
            yield Sleep(min(left, LOOK))
            self._watch(self)

    def _unrest(self) -> list[str]:
        """Return what is not quiet yet."""
        busy = [f"{self._working} producers are busy"] if self._working else []
        return busy + unrest(self.world.cluster, self.world.numbers, self._partitions()) + self._work_left()

    def _partitions(self) -> list[TopicPartition]:
        """Return the partitions to be judged: those of the clients, and of operators' topics."""
        known = self.options.partitions_of_topic()
        if not self.options.operates:
            return known
        return [*known, *(p for p in sorted(assignments_of(self.world.cluster.tools)) if p not in known)]

    def _work_left(self) -> list[str]:
        """Return the reassignments and deletions that have not ended."""
        return [found for _, found in work_left(self.world.cluster.tools)] if self.options.operates else []

    def _outcome(self, left: list[str], resting: float) -> RunOutcome:
        cluster, observer, unclean = self.world.cluster, self.world.observer, self.world.unclean_elections()
        judge = Judge(cluster, self.history, self.options.era, unclean, left, observer.faults)
        verdict = judge.judge(self._partitions())
        if self.options.operates:
            found = broken_assignments(cluster, self._operators.generations, self._operators.moved)
            verdict.broken += [Broken(*one) for one in found]
        return outcome_of(self.options, cluster, observer, self.history, verdict, rested=not left, resting=resting, unclean=unclean)
