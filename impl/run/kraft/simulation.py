"""A run of KRaft in virtual time: one seed is the source of all randomness, so equal options give equal runs.

Its invariants are judged all the time, and at the end what clients saw.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from random import Random

from kafka_spec.impl.kraft.image import InconsistentLog
from kafka_spec.impl.run.course import RunCourse
from kafka_spec.impl.run.kraft.nemesis import kraft_nemesis
from kafka_spec.impl.run.kraft.operations import KRaftOperators
from kafka_spec.impl.run.kraft.verdict import KRaftJudge
from kafka_spec.impl.run.kraft.watcher import UNCLEAN, WHY
from kafka_spec.impl.run.kraft.world import KRaftWorld
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import PartitionOutcome, RunOutcome, outcome_of_run
from kafka_spec.impl.run.tasks import Sleep
from kafka_spec.impl.run.verdict import Verdict
from kafka_spec.spec.vocabulary.table import SpecError

LOOKS_APART = 4
"""How many times the display is updated between two looks of the judge."""


class KRaftRun(RunCourse[KRaftWorld]):
    """One run. `world` may be read whenever `watch` is called."""

    def __init__(self, options: Options, world: KRaftWorld, watch: Callable[[KRaftWorld], object]) -> None:
        given = world.cluster, world.watcher, options.era, world.numbers, options.unclean
        self._judge = KRaftJudge(*given, world.other_min_isr)
        super().__init__(options, world, kraft_nemesis(world, options.faults), KRaftOperators)
        self._watch = watch
        self._looks = 0

    def conduct(self) -> Generator[Sleep, None, RunOutcome]:
        """Run, and return the outcome; a batch or a change that no table allows is a defect of the implementation."""
        try:
            return (yield from super().conduct())
        except (SpecError, InconsistentLog) as error:
            return self._outcome_of(Verdict(), (f"{type(error).__name__}: {error}",))

    def _look(self) -> None:
        self._looks += 1
        if self._looks % LOOKS_APART == 0:
            self._judge.look()
            if self.world.quorum is not None:
                self.world.quorum.look()
        self._watch(self.world)

    def _unrest(self) -> list[str]:
        """Return the brokers that do not run; if all do, what is not at rest in the metadata."""
        down = [f"broker {n} does not run" for n in self.world.numbers if n not in self.world.running()]
        down += self.world.controllers.unrest()
        down += self.world.moves()
        return down or ([] if self._working else self._judge.unrest())

    def _outcome(self) -> RunOutcome:
        verdict = self._judge.verdict(self.history, list(self.left))
        if self.world.quorum is not None:
            self.world.quorum.rested()
            verdict.broken += self.world.quorum.judge.findings.values()
        return self._outcome_of(verdict)

    def _outcome_of(self, verdict: Verdict, errors: tuple[str, ...] = ()) -> RunOutcome:
        world, elections = self.world, self.world.watcher.elections
        return outcome_of_run(
            self.options,
            world.observer,
            self.history,
            verdict,
            self._partition_outcomes(),
            rested=not self.left,
            resting=self.resting,
            elections={why: elections[why] for why in WHY},
            unclean=elections[UNCLEAN],
            controllers=1 if world.quorum is None else len(world.quorum.judge.leaders),
            snapshots={} if world.quorum is None else world.quorum.snapshots,
            operations={name: world.observer.operations[name] for name in self.options.operations},
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
    """Run, and return the outcome.

    `folder` is empty; `news` receives the events to display; `watch` is called a few times a virtual second.
    """
    world = KRaftWorld(options, folder, news, Random(options.seed))
    try:
        return world.run(KRaftRun(options, world, watch).conduct())
    finally:
        world.end()
