"""A live cluster under random operations and faults, read as states of the model: the properties of spec/ hold after each step.

No state is loaded: the processes keep their own state. Each step is a rule of the model, so that the model can update the notes of
its properties; the result of the step is the implementation's, and the properties are evaluated on it.
A failing run prints the seed and the steps, and a line that repeats it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from edges import broken, plain, stage
from hypothesis import Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from kafka_spec.conformance.replay.core import NotEnabled
from kafka_spec.conformance.replay.rules import STEPS
from kafka_spec.model_check.interpreter.interpreter import Interpreter as Model
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.language.domain import OutOfBound
from kafka_spec.spec.vocabulary.table import Rule, Spec
from kafka_spec.spec.zookeeper.families import HAPPENINGS, NOTHING_HAPPENS
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.properties.quiescence import topic_exists
from kafka_spec.spec.zookeeper.state import World

BOUNDS = NOTHING_HAPPENS | {"brokers": 3, "replicas": 3, "channel_depth": 20} | dict.fromkeys(HAPPENINGS, 2)
BOUNDS |= {"late_fetches": 1, "late_fetch_answers": 1, "lost_replies": 1, "records": 3}
BOUNDS |= {"late_stops": 1, "additions": 0}
ONE_TOPIC = BOUNDS | dict.fromkeys(("reassignments", "deletions", "recreations", "deletion_errors", "late_stops"), 0)
"""The topic stays as it is, so that a run of a few steps has more of other operations and faults."""
SEEDS = st.integers(0, (1 << 32) - 1)


class Live(RuleBasedStateMachine):
    """Three brokers with a replica each, of an era."""

    era: Spec = FIXED
    bounds = BOUNDS
    reached: set[str]
    """Totals of all runs."""

    def __init__(self) -> None:
        super().__init__()
        self.ending = ExitStack()
        self.projection = self.ending.enter_context(stage(self.era, self.bounds))
        self.model = Model(self.era, self.bounds)
        self.layout = Layout(self.model.space)

    def teardown(self) -> None:
        self.ending.close()

    @initialize(settled=st.booleans(), seed=SEEDS)
    def begin(self, settled: bool, seed: int) -> None:
        """All brokers are up and registered; there is neither controller nor topic, or both, known to all brokers.

        Which step of a kind is taken is drawn from the seed.
        """
        self.random = Random(seed)
        start = self.model if settled else Model(self.era, {**self.bounds, "settled": 0})
        self.state: World = self.bare(start.initial()[0])
        self.projection.load(self.state)

    def bare(self, typed: Any) -> World:
        """Return a state of the model without domain checks."""
        found: World = plain(self.layout.root, typed)
        return found

    @rule(steps=st.integers(4, 12))
    def go_on(self, steps: int) -> None:
        """Brokers, controllers and messages take some steps, in any order."""
        for _ in range(steps):
            self.some("protocol")

    @rule()
    def fail(self) -> None:
        """Something fails."""
        self.some("fault")

    @rule()
    def operate(self) -> None:
        """An operator or a client does something."""
        self.some("operator")

    def some(self, kind: str) -> None:
        """Do one step of a kind, if there is any."""
        typed = self.model.space.root.copy(self.state)
        kinds = [one for one in self.era.rules if one.kind == kind]
        for one in self.random.sample(kinds, len(kinds)):
            possible = [b for b in self.model.enabled(one, typed) if self.model.within(one, typed, b)]
            if possible:
                self.step(one, typed, self.random.choice(possible))
                return

    def step(self, rule: Rule, typed: Any, binding: tuple[int, ...]) -> None:
        """Do a step, and check every promise, also if the implementation refuses the step half-way."""
        try:
            reported = self.bare(self.model.apply(rule, typed, binding))
        except OutOfBound:
            return
        before = self.state
        try:
            STEPS.do(self.projection, rule.name, dict(zip(rule.params, binding, strict=True)))
            self.reached.add(rule.name)
        except NotEnabled:
            reported = before
        self.state = self.projection.project(replace(reported, history=copy.deepcopy(reported.history)))
        self.remember(before)
        for claim in broken(self.model, self.era.properties, before, self.state):
            raise AssertionError(f"{claim} after {rule.name}{binding}")

    def remember(self, before: World) -> None:
        """Record what is committed: the model raises a high watermark record by record, the implementation at once."""
        history, former = self.state.history.partitions[0], before.history.partitions[0]
        is_forgotten = history.unclean_epoch != former.unclean_epoch or len(history.committed) < len(former.committed)
        history.committed = list(history.committed if is_forgotten else former.committed)
        zookeeper = self.state.zookeeper
        if zookeeper.delete_topic or not topic_exists(self.state):  # nothing is promised of a topic that is to be deleted
            return
        for broker in self.state.brokers:
            replica = broker.replicas[0]
            is_former = any(entry.record < self.state.history.first_record for entry in replica.log)
            if replica.role == Role.LEADER and replica.leader_epoch >= history.unclean_epoch and not is_former:
                history.committed += replica.log[len(history.committed) : replica.high_watermark]


def run(
    era: Spec, examples: int, steps: int, bounds: dict[str, int] = BOUNDS, phases: Iterable[Phase] = tuple(Phase), draws: int = 0
) -> set[str]:
    """Run live clusters of an era; return the rules whose steps were taken. Other `draws` are other runs."""
    reached: set[str] = set()
    machine = type(f"Live_{era.name.rpartition('/')[2]}", (Live,), {"era": era, "bounds": bounds, "reached": reached})
    how = settings(
        max_examples=examples,
        stateful_step_count=steps,
        phases=phases,
        deadline=None,
        database=None,
        print_blob=True,
    )
    run_state_machine_as_test(seed(draws)(machine), settings=how)  # type: ignore[no-untyped-call]
    return reached


USUAL = {
    "ElectController", "TakeOver", "ElectLeader", "TakeReplicaOffline", "NoticeBrokerChange", "NoticeExpiry", "Resign",
    "BecomeLeader", "BecomeFollower", "UpdateMetadata", "Fetch", "AdvanceHighWatermark", "ExpandIsr", "Write",
    "Crash", "LossyCrash", "Bounce", "Restart", "ExpireSession", "LoseConnection", "ShutDown", "ControlledShutdown", "Exit",
}  # fmt: skip
"""Rules that must fire, so that the runs are meaningful."""


@pytest.mark.parametrize("examples", [12, pytest.param(120, marks=pytest.mark.long)])
def test_fixed_keeps_its_promises(examples: int) -> None:
    """Three live brokers with the fix of every bug keep every promise under random steps and faults.

    The runs go on until each usual rule has fired: Hypothesis draws other numbers where other modules are imported.
    """
    reached: set[str] = set()
    for draws in range(6):
        reached |= run(FIXED, examples=examples, steps=50, draws=draws)
        if reached >= USUAL:
            return
    raise AssertionError(f"never taken: {sorted(USUAL - reached)}")


@pytest.mark.parametrize(
    ("bug", "claim"),
    [
        pytest.param("KAFKA-7235-unseen-bounce", "QuietReplicasKnowTheEpoch", marks=pytest.mark.long),
        ("KAFKA-1188", "QuietReplicasKnowTheEpoch"),
        pytest.param("KAFKA-3143", "QuietLeaderIsRegistered", marks=pytest.mark.long),
    ],
)
def test_a_bug_is_met(bug: str, claim: str) -> None:
    """With the switch of a bug, the runs show the violation of a property: the runs can fail."""
    with pytest.raises(AssertionError, match=f"^{claim} after "):
        run(MODELS[f"zookeeper/{bug}"], examples=300, steps=50, bounds=ONE_TOPIC, phases=[Phase.generate])
