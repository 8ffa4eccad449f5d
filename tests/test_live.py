"""A live cluster under random operations and faults, seen as the model sees it: the promises of spec/ hold of it after each step.

Nothing is put on: what happens, happens to processes that keep what they have kept. Each step is one that the model knows, so that
it can say what its properties have to remember; what comes of it is the implementation's, and is what is judged.
A failing run prints the steps, and a line that repeats it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import ExitStack
from typing import Any

import pytest
from edges import plain, stage
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from impl.replay.rules import do
from impl.replay.steps import NotEnabled
from model_check.layout import Layout
from model_check.oracle import World as Model
from spec.bounds import HAPPENINGS
from spec.control.eras import BUG, FIXED
from spec.control.state import Role, World
from spec.domain import OutOfBound, OutOfDomain
from spec.table import Rule, Spec

BOUNDS = {"brokers": 3, "replicas": 3, "channel_depth": 20, "settled": 1, "unclean": 0, **dict.fromkeys(HAPPENINGS, 2)}
BOUNDS |= {"late_fetches": 1, "lost_replies": 1, "records": 3}
PICK = st.integers(0, 1 << 16)


class Live(RuleBasedStateMachine):
    """Three brokers with a replica each, of an era."""

    era: Spec = FIXED
    reached: set[str]
    """What all runs together have done."""

    def __init__(self) -> None:
        super().__init__()
        self.ending = ExitStack()
        self.projection = self.ending.enter_context(stage(self.era, BOUNDS))
        self.model = Model(self.era, BOUNDS)

    def teardown(self) -> None:
        self.ending.close()

    @initialize(settled=st.booleans())
    def begin(self, settled: bool) -> None:
        """All brokers are up and registered; there is no controller and no topic, or else both, and everybody knows."""
        start = self.model if settled else Model(self.era, {**BOUNDS, "settled": 0})
        self.state: World = self.bare(start.initial()[0])
        self.projection.load(self.state)

    def bare(self, typed: Any) -> World:
        """Return a state of the model without what watches its domain."""
        found: World = plain(Layout(self.model.space).root, typed)
        return found

    @rule(picks=st.lists(PICK, min_size=4, max_size=12))
    def go_on(self, picks: list[int]) -> None:
        """Brokers, controllers and messages go on for some steps, in any order."""
        for pick in picks:
            self.some("protocol", pick)

    @rule(pick=PICK)
    def fail(self, pick: int) -> None:
        """Something fails."""
        self.some("fault", pick)

    @rule(pick=PICK)
    def operate(self, pick: int) -> None:
        """An operator or a client does something."""
        self.some("operator", pick)

    def some(self, kind: str, pick: int) -> None:
        """Do one step of a kind, if there is any."""
        typed = self.model.space.root.copy(self.state)
        rules = [rule for rule in self.era.rules if rule.kind == kind]
        for number in range(len(rules)):
            rule = rules[(pick + number) % len(rules)]
            possible = [b for b in self.model.enabled(rule, typed) if self.model.holds(rule.within, rule, typed, b)]
            if possible and self.step(rule, typed, possible[pick // len(rules) % len(possible)]):
                return

    def step(self, rule: Rule, typed: Any, binding: tuple[int, ...]) -> bool:
        """Do a step, and see that every promise is kept; return whether there was one."""
        try:
            told = self.bare(self.model.apply(rule, typed, binding))
        except (OutOfBound, OutOfDomain):
            return False
        before = self.state
        try:
            do(self.projection, rule.name, dict(zip(rule.params, binding, strict=True)))
        except NotEnabled:
            return False
        self.state = self.projection.project(told.spent, told.notes)
        self.remember(before)
        self.reached.add(rule.name)
        for claim in self.era.properties:
            where = f"{claim.name} after {rule.name}{binding}"
            if claim.kind == "invariant":
                assert self.model.judge(claim, self.state), where
            elif claim.kind == "step invariant":
                assert self.model.judge_step(claim, before, self.state), where
        return True

    def remember(self, before: World) -> None:
        """Note what is committed: the model raises a high watermark record by record, and the implementation at once."""
        notes = self.state.notes
        notes.committed = (
            list(notes.committed) if notes.unclean_epoch != before.notes.unclean_epoch else list(before.notes.committed)
        )
        for broker in self.state.brokers:
            replica = broker.replica
            if replica.role == Role.LEADER and replica.leader_epoch >= notes.unclean_epoch:
                notes.committed += replica.log[len(notes.committed) : replica.high_watermark]


def run(era: Spec, examples: int, steps: int, phases: Iterable[Phase] = tuple(Phase)) -> set[str]:
    """Run live clusters of an era; return the rules whose steps were taken."""
    reached: set[str] = set()
    machine = type(f"Live_{era.name.rpartition('/')[2]}", (Live,), {"era": era, "reached": reached})
    how = settings(
        max_examples=examples,
        stateful_step_count=steps,
        phases=phases,
        deadline=None,
        derandomize=True,
        database=None,
        print_blob=True,
    )
    run_state_machine_as_test(machine, settings=how)  # type: ignore[no-untyped-call]
    return reached


USUAL = {
    "ElectController", "TakeOver", "ElectLeader", "TakeReplicaOffline", "NoticeBrokerChange", "NoticeExpiry", "Resign",
    "BecomeLeader", "BecomeFollower", "UpdateMetadata", "Fetch", "AdvanceHighWatermark", "ExpandIsr", "Write",
    "Crash", "LossyCrash", "Bounce", "Restart", "ExpireSession", "LoseConnection", "ShutDown", "ControlledShutdown", "Exit",
}  # fmt: skip
"""What happens in so many runs, or they show little."""


def test_fixed_keeps_its_promises() -> None:
    """Three live brokers with the fix of every bug keep every promise, whatever happens to them."""
    assert run(FIXED, examples=40, steps=50) >= USUAL


@pytest.mark.parametrize(
    ("bug", "claim"),
    [
        ("KAFKA-7235-unseen-bounce", "QuietReplicasKnowTheEpoch"),
        ("KAFKA-1188", "QuietReplicasKnowTheEpoch"),
        ("KAFKA-3143", "QuietLeaderIsRegistered"),
    ],
)
def test_a_bug_is_met(bug: str, claim: str) -> None:
    """With the switch of a bug, a promise that it breaks is seen broken: the runs can fail."""
    with pytest.raises(AssertionError, match=f"^{claim} after "):
        run(BUG[bug].on(FIXED), examples=40, steps=50, phases=[Phase.generate])
