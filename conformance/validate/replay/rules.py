"""The rules that may explain a log: those of an era, with faults as often as a log needs them, and without records.

The state keeps no counters for crashes and the like, since the search admits them only where the log shows their consequence
(search.py). Logs of clients are left out: a state-change log names no fetch and no record, so any follower that fetches may count
as caught up, and any as slow.
"""

from __future__ import annotations

import dataclasses

from kafka_spec.spec.vocabulary.table import Rule, Spec
from kafka_spec.spec.zookeeper.broker.isr import SHRINK_ISR, follower_lags
from kafka_spec.spec.zookeeper.controller.requested import CONTROLLED_SHUTDOWN_AGAIN, PREFERRED_ELECTION, UNCLEAN_ELECTION
from kafka_spec.spec.zookeeper.environment import CRASH, EXPIRE_SESSION, SHUT_DOWN
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.families import NOTHING_HAPPENS

LEFT_OUT = ("Bounce", "DropFromIsr", "Rebalance")
"""Rules that others stand for: a crash and a restart, the removal of a slow follower, a preferred election."""


def _unbounded(rule: Rule) -> Rule:
    return dataclasses.replace(rule, at_most=())


SLOW = dataclasses.replace(SHRINK_ISR, guards=tuple(g for g in SHRINK_ISR.guards if g is not follower_lags), at_most=())
UNBOUNDED = (CRASH, SHUT_DOWN, EXPIRE_SESSION, PREFERRED_ELECTION, UNCLEAN_ELECTION, CONTROLLED_SHUTDOWN_AGAIN)
"""Rules whose number a log decides."""


def _explaining(era: Spec) -> Spec:
    rules = (*map(_unbounded, UNBOUNDED), SLOW)
    return era.replacing(
        f"{era.name}/logs",
        f"{era.summary}: the rules that may explain a log",
        rules=rules,
        without=LEFT_OUT,
        normal_form=(),
        normal_form_without=(),
        unreachable_rules=(),
        properties=(),
        bound_sets=(),
    )


EXPLAINING = {"0.10": _explaining(ERA_0_10), "2.8": _explaining(ERA_2_8)}
"""By the era of the tables."""

CHANNEL_DEPTH = 20


def bounds_for(spec: Spec, brokers: int, replicas: int, deletions: int, unclean: int) -> dict[str, int]:
    """Return the bounds that a log needs: its brokers and replicas, and no happening that is counted."""
    sizes = {"brokers": brokers, "replicas": replicas, "channel_depth": CHANNEL_DEPTH, "settled": 0}
    values = {**NOTHING_HAPPENS, **sizes, "unclean": unclean, "deletions": deletions}
    return {name: values[name] for name in spec.bounds}
