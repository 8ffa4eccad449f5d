"""Violations of each kind, as lines of the logs of a synthetic cluster: each in a partition of its own, so that none hides another.

A story is written between two events of the cluster (log_cluster.py), and returns the log and the line where the
violation is reported.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks.log_cluster import Cluster, Partition

Story = Callable[[Cluster, Partition], tuple[int, int]]
"""Writes a violation in a partition without history, of leader 0 in leader epoch 5; returns log and line."""


def _elected(c: Cluster, p: Partition) -> tuple[int, int]:
    c.online(p, "OnlinePartition")
    return 0, c.lines[0]


def _replica(c: Cluster, p: Partition, source: str, target: str) -> tuple[int, int]:
    c.control("TRACE", f"Changed state of replica 1 for partition {p.name} from {source} to {target}")
    return 0, c.lines[0]


def illegal_transition(c: Cluster, p: Partition) -> tuple[int, int]:
    return _replica(c, p, "OnlineReplica", "ReplicaDeletionSuccessful")


def discontinuity(c: Cluster, p: Partition) -> tuple[int, int]:
    _replica(c, p, "OnlineReplica", "OfflineReplica")
    return _replica(c, p, "OnlineReplica", "OfflineReplica")


def impossible_seed(c: Cluster, p: Partition) -> tuple[int, int]:
    return _replica(c, p, "ReplicaDeletionSuccessful", "NonExistentReplica")


def leader_outside_isr(c: Cluster, p: Partition) -> tuple[int, int]:
    return _elected(c, replace(p, leader=9))


def empty_isr(c: Cluster, p: Partition) -> tuple[int, int]:
    return _elected(c, replace(p, isr=[]))


def wrong_creation(c: Cluster, p: Partition) -> tuple[int, int]:
    c.new(p)
    c.online(replace(p, leader=1, epoch=0, version=0), "NewPartition")
    return 0, c.lines[0]


def leader_epoch_back(c: Cluster, p: Partition) -> tuple[int, int]:
    _elected(c, p)
    return _elected(c, replace(p, epoch=4, version=6))


def version_back(c: Cluster, p: Partition) -> tuple[int, int]:
    _elected(c, p)
    return _elected(c, replace(p, epoch=6, version=4))


def wrong_removal(c: Cluster, p: Partition) -> tuple[int, int]:
    c.without(p, 2)
    return 0, c.lines[0]


def two_leaders(c: Cluster, p: Partition) -> tuple[int, int]:
    line = c.metadata(1, p)
    c.metadata(2, replace(p, leader=1, version=6))
    return 1, line


def two_contents(c: Cluster, p: Partition) -> tuple[int, int]:
    line = c.metadata(1, p)
    c.metadata(2, replace(p, isr=[0, 1]))
    return 1, line


def isr_outside_replicas(c: Cluster, p: Partition) -> tuple[int, int]:
    line = 0
    for now in (p, replace(p, epoch=6, version=6, isr=[0, 1, 2, 7])):
        c.online(now, "OnlinePartition")
        line = c.lines[0] + 1
        c.flush([now], [0, 1, 2])
    return 0, line


def two_controllers(c: Cluster, p: Partition) -> tuple[int, int]:
    c.line(1, "INFO", "[Controller id=1 epoch=1] Sending UpdateMetadata request to brokers HashSet() for 0 partitions")
    return 1, c.lines[1]


def missing_request(c: Cluster, p: Partition) -> tuple[int, int]:
    found = _elected(c, p)
    c.flush([p], [])
    return found


def request_without_row(c: Cluster, p: Partition) -> tuple[int, int]:
    c.tell(2, p, False)
    line = c.lines[0]
    c.announce(2, [p])
    c.flush([p], [])
    c.receive(2, [p], False)
    return 0, line


def request_lost(c: Cluster, p: Partition) -> tuple[int, int]:
    line = 0
    for epoch in (5, 6, 7):
        now = replace(p, epoch=epoch, version=epoch)
        c.online(now, "OnlinePartition")
        for b in (0, 1, 2):
            c.tell(b, now, False)
            if (epoch, b) == (6, 1):
                line = c.lines[0]
            c.announce(b, [now])
        c.flush([now], [])
        for b in (0, 1, 2):
            if (epoch, b) != (6, 1):
                c.receive(b, [now], False)
    return 0, line


def request_never_sent(c: Cluster, p: Partition) -> tuple[int, int]:
    line = c.lines[1] + 2
    c.receive(1, [p], False)
    return 1, line


def stale_controller_accepted(c: Cluster, p: Partition) -> tuple[int, int]:
    return 2, c.metadata(2, p, epoch=0)


def stale_leader_epoch_accepted(c: Cluster, p: Partition) -> tuple[int, int]:
    c.starts(1, p, previous=7)
    return 1, c.lines[1]


def stale_stop_accepted(c: Cluster, p: Partition) -> tuple[int, int]:
    c.starts(1, p, previous=-1)
    stop = f"StopReplica request StopReplicaPartitionState(partitionIndex={p.number}, leaderEpoch=4, deletePartition=false)"
    c.control("TRACE", f"Sending {stop} to broker 1 for partition {p.name}")
    c.control("INFO", "Sending StopReplica request for 1 replicas to broker 1")
    c.correlations[1] += 1
    handling = f"Handling StopReplica request correlationId {c.correlations[1]} from controller 0 for 1 partitions"
    c.line(1, "INFO", f"[Broker id=1] {handling}")
    whence = f"correlation id {c.correlations[1]} from controller 0 epoch 1"
    c.line(1, "TRACE", f"[Broker id=1] Received {stop} {whence} for partition {p.name}")
    return 1, c.lines[1]


def _told(c: Cluster, p: Partition, **how: Any) -> tuple[int, int]:
    """An election of which broker 1 does something else; return the line of that."""
    c.online(p, "OnlinePartition")
    for b in (0, 1, 2):
        c.tell(b, p, False)
        c.announce(b, [p])
    c.flush([p], [])
    line = c.lines[1]
    for b in (0, 1, 2):
        c.receive(b, [p], False, **(how if b == 1 else {}))
    return 1, line


def told_otherwise(c: Cluster, p: Partition) -> tuple[int, int]:
    log, line = _told(c, p, begun=replace(p, epoch=6))
    return log, line + 4


def wrong_refusal(c: Cluster, p: Partition) -> tuple[int, int]:
    log, line = _told(c, p, current=3)
    return log, line + 3


def metadata_back(c: Cluster, p: Partition) -> tuple[int, int]:
    c.metadata(1, p)
    return 1, c.metadata(1, replace(p, epoch=4, version=4))


def snapshot_differs(c: Cluster, p: Partition) -> tuple[int, int]:
    _elected(c, p)
    return c.started_in(p, "NewPartition")


STORIES: dict[str, Story] = {
    "illegal-transition": illegal_transition,
    "discontinuity": discontinuity,
    "impossible-seed": impossible_seed,
    "snapshot-differs": snapshot_differs,
    "leader-outside-isr": leader_outside_isr,
    "empty-isr": empty_isr,
    "wrong-creation": wrong_creation,
    "leader-epoch-back": leader_epoch_back,
    "version-back": version_back,
    "wrong-removal": wrong_removal,
    "two-leaders": two_leaders,
    "two-contents": two_contents,
    "isr-outside-replicas": isr_outside_replicas,
    "told-otherwise": told_otherwise,
    "missing-request": missing_request,
    "request-without-row": request_without_row,
    "request-lost": request_lost,
    "request-never-sent": request_never_sent,
    "stale-controller-accepted": stale_controller_accepted,
    "stale-leader-epoch-accepted": stale_leader_epoch_accepted,
    "stale-stop-accepted": stale_stop_accepted,
    "wrong-refusal": wrong_refusal,
    "metadata-back": metadata_back,
    "two-controllers": two_controllers,
}
"""The stories by the kind of violation; two controllers of one epoch are one violation, however often they act."""


def violate(cluster: Cluster, number: int) -> tuple[str, str]:
    """Write a violation, of each kind in turn; return its kind, and FILE:LINE."""
    kinds = list(STORIES) if number < len(STORIES) else list(STORIES)[:-1]
    kind = kinds[number % len(kinds)]
    log, line = STORIES[kind](cluster, Partition(f"wrong-{number}", 0, 0, 5, 5))
    cluster.flush([], [])
    return kind, f"{cluster.path(log)}:{line}"
