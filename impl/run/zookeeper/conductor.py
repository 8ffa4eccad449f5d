"""The course of a run with ZooKeeper, in any world."""

from __future__ import annotations

from collections.abc import Callable

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.course import RunCourse
from kafka_spec.impl.run.nemesis import Nemesis
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.zookeeper.assignment_verdict import assignments_of, broken_assignments, work_left
from kafka_spec.impl.run.zookeeper.operations import RunOperators
from kafka_spec.impl.run.zookeeper.outcome import outcome_of, outcome_reached
from kafka_spec.impl.run.zookeeper.quiescence import unrest
from kafka_spec.impl.run.zookeeper.verdict import Judge
from kafka_spec.impl.run.zookeeper.world import RunWorld


class Conductor(RunCourse[RunWorld]):
    """One run. `world` and `history` may be read whenever `watch` is called."""

    operators: RunOperators

    def __init__(
        self, options: Options, world: RunWorld, nemesis: Nemesis[RunWorld], watch: Callable[[Conductor], object] = lambda _: None
    ) -> None:
        super().__init__(options, world, nemesis, RunOperators)
        self._watch = watch

    def reached(self, stopped: str) -> RunOutcome:
        """Return the outcome of a run that was stopped, without a request to the coordination service."""
        return outcome_reached(
            self.options, self.world.cluster, self.world.observer, self.history, stopped, self.world.unclean_elections()
        )

    def _look(self) -> None:
        self._watch(self)

    def partitions(self) -> list[TopicPartition]:
        """Return the partitions to be judged: those of the clients, and of operators' topics."""
        known = self.options.partitions_of_topic()
        if not self.options.operates:
            return known
        return [*known, *(p for p in sorted(assignments_of(self.world.cluster.tools)) if p not in known)]

    def _unrest(self) -> list[str]:
        """Return what is not quiet, the reassignments and deletions that have not ended included."""
        going_on = [found for _, found in work_left(self.world.cluster.tools)] if self.options.operates else []
        return unrest(self.world.cluster, self.world.numbers, self.partitions()) + going_on

    def _outcome(self) -> RunOutcome:
        cluster, observer, unclean = self.world.cluster, self.world.observer, self.world.unclean_elections()
        judge = Judge(cluster, self.history, self.options.era, unclean, self.left, observer.faults)
        verdict = judge.judge(self.partitions())
        if self.options.operates:
            judge.judge_assignments(broken_assignments(cluster, self.operators.generations, self.operators.moved))
        return outcome_of(
            self.options,
            cluster,
            observer,
            self.history,
            verdict,
            rested=not self.left,
            resting=self.resting,
            unclean=unclean,
        )
