"""The full run to a lost record because a re-elected leader remembers, in the model and on the implementation.

The checker's own trace (zookeeper/re-elected-leader-remembers) ends where a member of the ISR lacks a committed record. Here that
member is elected.
"""

from __future__ import annotations

import pytest
from led import led

from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.fixed import FIXED

BOUNDS = {**next(bounds.values for bounds in FIXED.bound_sets if bounds.name == "re_elected_leader"), "crashes": 2}
REMEMBERS = MODELS["zookeeper/re-elected-leader-remembers"]
COMMITTED = FIXED.property("Committed")
MISSED = (
    "Write 0 1", "Fetch 0 1 2", "PreferredElection 0 0", "ElectLeader 0", "BecomeLeader 0 0", "BecomeFollower 0 2",
    "TruncateToLeader 0 0 2",
)  # fmt: skip
"""Broker 1 leads, and follower 2 has its record; broker 0, which has not, is elected, and broker 1 is not told."""
ELECTED_AGAIN = (
    "Crash 0", "ElectController 2", "TakeOver 2", "TakeReplicaOffline 2", "UpdateMetadata 2 1", "LeaderIsUnavailable 2 1",
    "ElectLeader 2",
    "LeaderIsUnavailable 2 1", "BecomeLeader 2 1",
)  # fmt: skip
"""The new leader crashes with its controller; broker 1 is elected again, and has missed that it was not the leader."""
LOST = (
    "AdvanceHighWatermark 0 1", "Crash 1", "NoticeBrokerChange 2", "ElectLeader 2", "UpdateMetadata 2 2", "IgnoreLeaderAndIsr 2 2",
    "LeaderIsUnavailable 2 2", "BecomeFollower 2 2", "UpdateMetadata 2 2", "BecomeLeader 2 2",
)  # fmt: skip
"""It commits by the remembered log end of follower 2, and crashes; follower 2 leads."""


def way(*parts: tuple[str, ...]) -> list[tuple[str, tuple[int, ...]]]:
    """Return steps as pairs of a name and parameters."""
    return [(step.split()[0], tuple(map(int, step.split()[1:]))) for part in parts for step in part]


@pytest.mark.parametrize("spec", [REMEMBERS, ERA_2_8], ids=lambda spec: spec.name)
def test_a_committed_record_is_lost(spec: Spec) -> None:
    """After each step the implementation has the model's state; the last step violates Committed, and no earlier one does."""
    with led(spec, BOUNDS) as cluster:
        for action in way(MISSED, ELECTED_AGAIN, LOST):
            assert cluster.broken(COMMITTED) == []
            assert cluster.follow(*action), action
        assert cluster.broken(COMMITTED) == ["Committed"]


def test_who_forgets_commits_nothing() -> None:
    """In `fixed` the leader that is elected again cannot advance its high watermark before follower 2 has fetched from it."""
    with led(FIXED, BOUNDS) as cluster:
        for action in way(MISSED, ELECTED_AGAIN):
            assert cluster.follow(*action), action
        assert cluster.state.brokers[1].replicas[0].ends[2] == 0
        assert not cluster.follow("AdvanceHighWatermark", (0, 1))


def test_both_eras_remember() -> None:
    """2.8.2 and 0.10.2.2 reset a leader's data about its followers only if it was not the leader before."""
    for era in (ERA_2_8, ERA_0_10):
        assert {decision.name: decision.value for decision in era.decisions}["follower_ends"] == 1
