"""The outcome of a run, as data: records produced, acknowledged, read and lost, and elections."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kafka_spec.impl.broker.partition import HostedPartition
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import ALL, History
from kafka_spec.impl.run.observer import WHY, Observer
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.verdict import Verdict
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.zookeeper.machines import Role

ACKS = {ALL: "all", 1: "1", 0: "0"}


@dataclass(frozen=True)
class PartitionOutcome:
    """A partition at the end of a run; leader -1 means none."""

    partition: TopicPartition
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    end_offset: int


@dataclass(frozen=True)
class RunOutcome:
    """The outcome of a run. Counts of records are by acks."""

    options: Options
    verdict: Verdict
    rested: bool
    """Whether the cluster became quiet in time."""
    resting: float
    """The seconds that it took, or had."""
    produced: Mapping[str, int]
    acknowledged: Mapping[str, int]
    stored: int
    twice: int
    """The number of additional copies among them."""
    read: int
    elections: Mapping[str, int]
    unclean: int
    controllers: int
    faults: Mapping[str, int]
    operations: Mapping[str, int]
    partitions: tuple[PartitionOutcome, ...]
    stopped: str = ""
    """Why the run was stopped before its end, else empty; then nothing is judged, and partitions are as brokers know them."""
    errors: tuple[str, ...] = ()
    """Unexpected errors after which controllers resigned: defects of the implementation."""

    @property
    def kept(self) -> bool:
        """Whether no property was violated, and every partition has a leader, as far as judged."""
        return not self.stopped and not self.verdict.broken and not self.verdict.leaderless


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
) -> RunOutcome:
    """Return the outcome of a run whose cluster still runs."""
    partitions = tuple(_partition(cluster, partition) for partition in options.partitions_of_topic())
    controllers = int(cluster.tools.get(znodes.CONTROLLER_EPOCH)[0])
    reported = Told(rested, resting, unclean, controllers)
    return _outcome(options, observer, history, verdict, reported, partitions)


def outcome_reached(
    options: Options, cluster: Cluster, observer: Observer, history: History, stopped: str, unclean: int
) -> RunOutcome:
    """Return the outcome of a run that was `stopped`, as brokers and clients know it."""
    believed = {partition: leader_of(cluster, partition) for partition in options.partitions_of_topic()}
    controllers = max((election.controller_epoch for election in observer.elections), default=0)
    ends = [0 if led is None or led.log is None else led.log.end_offset for _, led in believed.values()]
    partitions = tuple(
        PartitionOutcome(partition, number, -1 if led is None else led.leader_epoch, () if led is None else tuple(led.isr), end)
        for (partition, (number, led)), end in zip(believed.items(), ends, strict=True)
    )
    reported = Told(False, 0.0, unclean, controllers)
    return _outcome(options, observer, history, Verdict(stored=sum(ends)), reported, partitions, stopped)


@dataclass(frozen=True)
class Told:
    """The part of an outcome beside the records: see `RunOutcome`."""

    rested: bool
    resting: float
    unclean: int
    controllers: int


def _outcome(
    options: Options,
    observer: Observer,
    history: History,
    verdict: Verdict,
    reported: Told,
    partitions: tuple[PartitionOutcome, ...],
    stopped: str = "",
) -> RunOutcome:
    counts = {name: history.count(acks) for acks, name in ACKS.items()}
    why = Counter(election.why for election in observer.elections)
    return RunOutcome(
        options,
        verdict,
        reported.rested,
        reported.resting,
        {name: sent for name, (sent, _) in counts.items()},
        {name: acknowledged for name, (_, acknowledged) in counts.items()},
        verdict.stored,
        verdict.twice,
        sum(len(values) for values in history.read.values()),
        {one: why[one] for one in WHY.values()},
        reported.unclean,
        reported.controllers,
        {name: observer.faults[name] for name in options.faults if observer.faults[name]},
        dict(observer.operations),
        partitions,
        stopped,
        tuple(observer.errors),
    )


def leader_of(cluster: Cluster, partition: TopicPartition) -> tuple[int, HostedPartition | None]:
    """Return the leader of a partition under the largest leader epoch, and the partition there; -1 and None without a leader."""
    leading = [
        (broker.replicas.partitions[partition].leader_epoch, number)
        for number, broker in cluster.brokers.items()
        if broker.replicas.role_of(partition) == Role.LEADER
    ]
    if not leading:
        return -1, None
    _, number = max(leading)
    return number, cluster.brokers[number].replicas.partitions[partition]


def _partition(cluster: Cluster, partition: TopicPartition) -> PartitionOutcome:
    held = cluster.leadership(partition)
    if held is None:
        return PartitionOutcome(partition, -1, -1, (), 0)
    leader = cluster.brokers.get(held.leader)
    hosted = None if leader is None else leader.replicas.partitions.get(partition)
    end = 0 if hosted is None or hosted.log is None else hosted.log.end_offset
    return PartitionOutcome(partition, held.leader, held.leader_epoch, held.isr, end)
