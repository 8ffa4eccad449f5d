"""Model and implementation agree: every edge of completely explored bounds, replayed from its loaded source.

Each source state is put on the implementation and read back; then the implementation does what the rule names, and is read again.
What was put on the model's account alone, `spent` and `notes`, is carried over from the model's target. How many edges of each era
were replayed is printed at the end of a test run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from edges import Replayed, edges, replay

import impl.controller
import impl.partition
from impl.controller import Controller
from impl.controller_context import RequestBatch
from impl.isr import IsrKeeper
from impl.replay.rules import STEPS
from impl.replica_manager import ReplicaManager
from impl.requests import Leadership
from spec.bounds import HAPPENINGS
from spec.control.eras import BUG, ERA_0_10, ERA_2_8, FIXED
from spec.table import Spec


def bounds(brokers: int = 2, replicas: int = 2, settled: int = 1, unclean: int = 0, **happens: int) -> dict[str, int]:
    """Return bounds of the control plane; what is not named does not happen."""
    values = {"brokers": brokers, "replicas": replicas, "channel_depth": 12, "settled": settled, "unclean": unclean}
    return {**values, **dict.fromkeys(HAPPENINGS, 0), **happens}


THREE = {"brokers": 3, "replicas": 3}
FAMILIES: dict[str, Mapping[str, int]] = {
    "nothing_fails": bounds(settled=0),
    "bounce_at_the_beginning": bounds(settled=0, bounces=1),
    "shutdown": bounds(controlled_shutdowns=1),
    "shutdown_at_the_beginning": bounds(settled=0, controlled_shutdowns=1),
    "preferred": bounds(preferred_elections=1, controlled_shutdowns=1),
    "failed_failover": bounds(settled=0, failed_failovers=1),
    "late_fetch": bounds(late_fetches=1, isr_shrinks=1, records=1),
    "lossy": bounds(lossy_crashes=1, isr_shrinks=1, records=1),
    "lost_reply": bounds(lost_replies=1, isr_shrinks=1, records=1),
    "lone_replica": bounds(replicas=1, unclean=1, crashes=1),
    "unclean": bounds(unclean=1, crashes=1, isr_shrinks=1),
    "repeats": bounds(bounces=1, repeats=1),
    "expiry_and_repeat": bounds(expiries=1, repeats=1),
    "three_bounce": bounds(**THREE, bounces=1),
    "spare_broker": bounds(brokers=3, replicas=2, crashes=1),
}
"""Bounds that are explored and replayed in each run; together they let each rule of each era fire, but for those in LATER."""
LARGER: dict[str, Mapping[str, int]] = {
    "expiry_at_the_beginning": bounds(settled=0, expiries=1),
    "records": bounds(crashes=1, isr_shrinks=1, records=1),
    "unclean_records": bounds(unclean=1, crashes=1, records=1),
    "three_crash": bounds(**THREE, crashes=1),
}
"""Bounds for the first run only: more edges, and the rules in LATER."""
LATER = ("ControllerMoved", "TruncateToLeader", "StopReplica")
"""Rules that need the larger bounds in some era."""
ERAS = {"fixed": FIXED, "era_2_8": ERA_2_8, "era_0_10": ERA_0_10}


@pytest.fixture(scope="module")
def replayed() -> Callable[[str, str], Replayed]:
    """Return a function that replays a family in an era, once in a run."""
    known: dict[tuple[str, str], Replayed] = {}

    def result(era: str, family: str) -> Replayed:
        if (era, family) not in known:
            known[era, family] = replay(ERAS[era], {**FAMILIES, **LARGER}[family])
        return known[era, family]

    return result


def check(era: str, families: Mapping[str, Any], replayed: Callable[[str, str], Replayed], record: Callable[[str, object], None]) -> Counter[str]:
    """Check that every edge of some families agrees; return how many of each rule, and record it for the end of the run."""
    total: Counter[str] = Counter()
    for family in families:
        result = replayed(era, family)
        assert result.failures == [], family
        total += result.edges
        record("replayed edges", (era, sum(result.edges.values()), result.states, result.refused))
    return total


@pytest.mark.parametrize("era", ERAS)
def test_every_edge_agrees(era: str, replayed: Callable[[str, str], Replayed], record_property: Callable[[str, object], None]) -> None:
    """Each state of each family can be put on and read back, each edge leads the implementation where it leads the model."""
    fired = check(era, FAMILIES, replayed, record_property)
    spec = ERAS[era]
    never = {rule.name for rule in spec.rules} - set(fired) - set(spec.unreachable_rules) - set(LATER)
    assert never <= {"IgnoreStopReplica"}, f"rules that were never replayed: {sorted(never)}"
'''
