"""A run in virtual time: everything that chance decides is drawn from one seed, so the same options are the same run.

It has three parts. The cluster starts and a topic is created; clients work while faults happen; then no more faults come, everybody
who is down is started again, and the cluster has some time to come to rest. Then it is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from impl.admin import Admin
from impl.run.chaos import Chaos
from impl.run.client import Consumer, Producer, producers
from impl.run.history import History
from impl.run.options import TOPIC, Options
from impl.run.outcome import Outcome, outcome_of
from impl.run.rest import unrest
from impl.run.verdict import Judge
from impl.run.world import World

BEGINNING = 1.0
"""When the topic is created and clients begin, in seconds."""
REST = 45.0
"""How long the cluster may take to come to rest."""
LOOK = 0.25
"""How often whoever watches is shown the cluster, in seconds."""


class Simulation:
    """One run. `world` can be looked at whenever `watch` is called."""

    def __init__(
        self,
        options: Options,
        folder: Path,
        write: Callable[[str], object] = lambda _: None,
        news: Callable[[str], object] = lambda _: None,
        watch: Callable[[Simulation], object] = lambda _: None,
    ) -> None:
        """`folder` is empty; `write` takes the lines of the state-change log, `news` what happens, for people."""
        random = Random(options.seed)
        self.options = options
        self.world = World(options, folder, write, news, random)
        self.history = History()
        self._watch = watch
        self._random = random
        self._chaos = Chaos(self.world, random, options.faults)
        arguments = (random, self.world.scheduler.clock, self.world.numbers, options.partitions_of_topic(), self.history)
        self._producers = producers(options.producers, lambda name, acks: Producer(name, acks, options.rate, *arguments))
        self._consumer = Consumer(*arguments)
        self._working = 0

    def run(self) -> Outcome:
        """Run, and return what came of it."""
        partitions = self.options.partitions_of_topic()
        with self._ended():
            self._begin()
            self._go_on_until(self.options.seconds)
            self._calm_down()
            limit = self.world.scheduler.now + REST
            while (left := self._unrest()) and self.world.scheduler.now < limit:
                self._go_on_until(self.world.scheduler.now + LOOK)
            self._go_on_until(self.world.scheduler.now + 2.0)  # the consumer reads to the end
            unclean = self.world.unclean_elections()
            judge = Judge(self.world.cluster, self.history, self.options.era, unclean, left, self.world.observer.faults)
            verdict = judge.judge(partitions)
            seconds = self.world.scheduler.now
            return outcome_of(
                self.options,
                self.world.cluster,
                self.world.observer,
                self.history,
                verdict,
                rested=not left,
                seconds=seconds,
                unclean=unclean,
            )

    def _unrest(self) -> list[str]:
        """Return what is not at rest yet."""
        busy = [f"{self._working} producers are busy"] if self._working else []
        return busy + unrest(self.world.cluster, self.world.numbers, self.options.partitions_of_topic())

    def _begin(self) -> None:
        """Start the brokers, create the topic, and let clients and faults begin."""
        for number in self.world.numbers:
            self.world.start(number)
        self._go_on_until(BEGINNING)
        admin = Admin(self.world.cluster.tools, self._random, lambda _: None)
        admin.create_topic(TOPIC, self.options.partitions, self.options.replication_factor)
        self._go_on_until(2 * BEGINNING)
        for producer in self._producers:
            self._working += 1
            self.world.client(producer.name).spawn(producer.run(), self._finished)
        self.world.client("consumer").spawn(self._consumer.run())
        self.world.network.faults = self.options.faults
        for task in self._chaos.tasks():
            self.world.operate(task)

    def _finished(self) -> None:
        self._working -= 1

    def _calm_down(self) -> None:
        """Let no more faults come, and producers end with what they are about."""
        self._chaos.stopped = True
        self.world.network.faults = ()
        self.world.network.cut.clear()
        self.world.network.slow.clear()
        for producer in self._producers:
            producer.stopping = True

    def _go_on_until(self, when: float) -> None:
        scheduler = self.world.scheduler
        while scheduler.now < when:
            scheduler.run_until(min(when, scheduler.now + LOOK))
            self._watch(self)

    @contextmanager
    def _ended(self) -> Iterator[None]:
        try:
            yield
        finally:
            self.world.end()
