"""What came of a run, as data: produced, acknowledged, read, lost, elected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_spec.impl.cluster import Cluster
from kafka_spec.impl.coordination import znodes
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import ALL, History
from kafka_spec.impl.run.observer import WHY, Observer
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.verdict import Verdict

ACKS = {ALL: "all", 1: "1", 0: "0"}


@dataclass(frozen=True)
class PartitionOutcome:
    """A partition as it was at the end; a leader of -1 is none."""

    partition: TopicPartition
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    end_offset: int


@dataclass(frozen=True)
class Outcome:
    """What came of a run. Counts of records are by acks."""

    options: Options
    verdict: Verdict
    rested: bool
    """Whether the cluster came to rest in time."""
    resting: float
    """How many seconds it took, or was given."""
    produced: Mapping[str, int]
    acknowledged: Mapping[str, int]
    stored: int
    twice: int
    """How many of them are stored once more."""
    read: int
    elections: Mapping[str, int]
    unclean: int
    controllers: int
    faults: Mapping[str, int]
    partitions: tuple[PartitionOutcome, ...]

    @property
    def kept(self) -> bool:
        """Whether no promise was broken, and every partition has a leader."""
        return not self.verdict.broken and not self.verdict.leaderless


def outcome_of(
    options: Options,
    cluster: Cluster,
    observer: Observer,
    history: History,
    verdict: Verdict,
    *,
    rested: bool,
    resting: float,
    unclean: int,
) -> Outcome:
    """Return what came of a run on a cluster that is still there."""
    counts = {name: history.count(acks) for acks, name in ACKS.items()}
    why = Counter(election.why for election in observer.elections)
    partitions = tuple(_partition(cluster, partition) for partition in options.partitions_of_topic())
    return Outcome(
        options,
        verdict,
        rested,
        resting,
        {name: sent for name, (sent, _) in counts.items()},
        {name: acknowledged for name, (_, acknowledged) in counts.items()},
        verdict.stored,
        verdict.twice,
        sum(len(values) for values in history.read.values()),
        {one: why[one] for one in WHY.values()},
        unclean,
        int(cluster.tools.get(znodes.CONTROLLER_EPOCH)[0]),
        {name: observer.faults[name] for name in options.faults if observer.faults[name]},
        partitions,
    )


def _partition(cluster: Cluster, partition: TopicPartition) -> PartitionOutcome:
    held = cluster.leadership(partition)
    if held is None:
        return PartitionOutcome(partition, -1, -1, (), 0)
    leader = cluster.brokers.get(held.leader)
    hosted = None if leader is None else leader.replicas.partitions.get(partition)
    end = 0 if hosted is None or hosted.log is None else hosted.log.end_offset
    return PartitionOutcome(partition, held.leader, held.leader_epoch, held.isr, end)
