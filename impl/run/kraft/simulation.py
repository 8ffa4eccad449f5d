"""A run of KRaft in virtual time: one seed is the source of all randomness, so equal options give equal runs.

The cluster starts and a topic is created; clients work while faults happen; then faults stop, and the cluster has some time to come
to rest. Its invariants are judged all the time, and at the end what clients were told.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from kafka_spec.impl.kraft.image import InconsistentLog
from kafka_spec.impl.run.client import Consumer, Producer, producers
from kafka_spec.impl.run.conductor import BEGINNING, LOOK, READING, REST
from kafka_spec.impl.run.history import History
from kafka_spec.impl.run.kraft.faults import KRAFT_FAULTS
from kafka_spec.impl.run.kraft.nemesis import kraft_nemesis
from kafka_spec.impl.run.kraft.operations import KRaftOperators
from kafka_spec.impl.run.kraft.verdict import KRaftJudge
from kafka_spec.impl.run.kraft.watcher import UNCLEAN, WHY
from kafka_spec.impl.run.kraft.world import KRaftWorld
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import ACKS, PartitionOutcome, RunOutcome
from kafka_spec.impl.run.verdict import Verdict
from kafka_spec.spec.vocabulary.table import SpecError

LOOKS_APART = 4
"""How many times the display is updated between two looks of the judge."""


class KRaftRun:
    """One run. `world` may be read whenever `watch` is called."""

    def __init__(
        self, options: Options, folder: Path, news: Callable[[str], object], watch: Callable[[KRaftWorld], object]
    ) -> None:
        """`folder` is empty; `news` receives the events to display; `watch` is called a few times a virtual second."""
        random = Random(options.seed)
        self.options = options
        self.world = KRaftWorld(options, folder, news, random)
        self.history = History()
        self.partitions = options.partitions_of_topic()
        self._judge = KRaftJudge(self.world.cluster, self.world.watcher, options.era, self.world.numbers, options.unclean)
        self._nemesis = kraft_nemesis(self.world, options.faults)
        operators = Random(random.getrandbits(32)) if options.operates else random
        self._operators = KRaftOperators(self.world, options, operators)
        self._watch = watch
        self._looks = 0
        arguments = (random, self.world.scheduler.clock, self.world.numbers, self.partitions, self.history)
        self._producers = producers(options.producers, lambda name, acks: Producer(name, acks, options.rate, *arguments))
        self._consumer = Consumer(*arguments)
        self._working = 0

    def conduct(self) -> RunOutcome:
        """Run, and return the outcome."""
        world, options = self.world, self.options
        left: list[str] = []
        resting, errors = 0.0, []
        try:
            self._begin()
            self._go_on_until(world.now + options.seconds)
            since = self._calm_down()
            while (left := self._unrest()) and world.now < since + REST:
                self._go_on_until(world.now + LOOK)
            resting = world.now - since
            self._go_on_until(world.now + READING)
            verdict = self._judge.verdict(self.history, left)
        except (SpecError, InconsistentLog) as error:  # a batch or a change that no table allows: a defect of the implementation
            verdict, errors = Verdict(), [f"{type(error).__name__}: {error}"]
        return self._outcome(verdict, left, resting, tuple(errors))

    def _begin(self) -> None:
        for number in self.world.numbers:
            self.world.start(number)
        self._go_on_until(self.world.now + BEGINNING)
        self.world.create_clients_topic(self.options)
        self._go_on_until(self.world.now + BEGINNING)
        for producer in self._producers:
            self._working += 1
            self.world.process(producer.name).spawn(producer.run(), self._finished)
        self.world.process("consumer").spawn(self._consumer.run())
        self._nemesis.begin()
        self._operators.begin()

    def _finished(self) -> None:
        self._working -= 1

    def _calm_down(self) -> float:
        """Stop the faults, let producers finish their records; return the time."""
        self._nemesis.stopped = self._operators.stopped = True
        self.world.calm()
        for producer in self._producers:
            producer.stopping = True
        return self.world.now

    def _go_on_until(self, when: float) -> None:
        while (left := when - self.world.now) > 1e-9:
            self.world.scheduler.run_until(self.world.now + min(left, LOOK))
            self._looks += 1
            if self._looks % LOOKS_APART == 0:
                self._judge.look()
            self._watch(self.world)

    def _unrest(self) -> list[str]:
        """Return what is not at rest yet."""
        busy = [f"{self._working} producers are busy"] if self._working else []
        down = [f"broker {n} does not run" for n in self.world.numbers if n not in self.world.running()]
        return [*busy, *down] or self._judge.unrest()

    def _outcome(self, verdict: Verdict, left: list[str], resting: float, errors: tuple[str, ...]) -> RunOutcome:
        counts = {name: self.history.count(acks) for acks, name in ACKS.items()}
        world, elections = self.world, self.world.watcher.elections
        return RunOutcome(
            options=self.options,
            verdict=verdict,
            rested=not left,
            resting=resting,
            produced={name: sent for name, (sent, _) in counts.items()},
            acknowledged={name: acknowledged for name, (_, acknowledged) in counts.items()},
            stored=verdict.stored,
            twice=verdict.twice,
            read=sum(len(values) for values in self.history.read.values()),
            elections={why: elections[why] for why in WHY},
            unclean=elections[UNCLEAN],
            controllers=1,
            faults={name: world.observer.faults[name] for name in KRAFT_FAULTS if world.observer.faults[name]},
            operations={name: world.observer.operations[name] for name in self.options.operations},
            partitions=tuple(self._partition_outcomes()),
            errors=errors,
        )

    def _partition_outcomes(self) -> list[PartitionOutcome]:
        image, brokers = self.world.cluster.controller.image, self.world.cluster.brokers
        found = []
        for partition in self.world.watcher.partitions():
            held = image.partitions.get(partition)
            if held is not None:
                hosted = brokers[held.leader].replicas.partitions.get(partition) if held.leader in brokers else None
                end = 0 if hosted is None or hosted.log is None else hosted.log.end_offset
                found.append(PartitionOutcome(partition, held.leader, held.leader_epoch, held.isr, end))
        return found


def simulate_kraft(
    options: Options,
    folder: Path,
    news: Callable[[str], object] = lambda _: None,
    watch: Callable[[KRaftWorld], object] = lambda _: None,
) -> RunOutcome:
    """Run, and return the outcome; see `KRaftRun`."""
    run = KRaftRun(options, folder, news, watch)
    try:
        return run.conduct()
    finally:
        run.world.end()
