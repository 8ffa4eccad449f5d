"""The outcome of a run with ZooKeeper."""

from __future__ import annotations

from collections import Counter

from kafka_spec.impl.broker.partition import HostedPartition
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import History
from kafka_spec.impl.run.observer import WHY, Observer
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import PartitionOutcome, RunOutcome, outcome_of_run
from kafka_spec.impl.run.verdict import Verdict
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.spec.zookeeper.machines import Role


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
    return outcome_of_run(
        options,
        observer,
        history,
        verdict,
        [_partition(cluster, partition) for partition in options.partitions_of_topic()],
        rested=rested,
        resting=resting,
        elections=_elections(observer),
        unclean=unclean,
        controllers=int(cluster.tools.get(znodes.CONTROLLER_EPOCH)[0]),
        operations=dict(observer.operations),
        errors=observer.errors,
    )


def outcome_reached(
    options: Options, cluster: Cluster, observer: Observer, history: History, stopped: str, unclean: int
) -> RunOutcome:
    """Return the outcome of a run that was `stopped`, as brokers and clients know it."""
    believed = {partition: leader_of(cluster, partition) for partition in options.partitions_of_topic()}
    ends = [0 if led is None or led.log is None else led.log.end_offset for _, led in believed.values()]
    partitions = [
        PartitionOutcome(partition, number, -1 if led is None else led.leader_epoch, () if led is None else tuple(led.isr), end)
        for (partition, (number, led)), end in zip(believed.items(), ends, strict=True)
    ]
    return outcome_of_run(
        options,
        observer,
        history,
        Verdict(stored=sum(ends)),
        partitions,
        rested=False,
        resting=0.0,
        elections=_elections(observer),
        unclean=unclean,
        controllers=max((election.controller_epoch for election in observer.elections), default=0),
        operations=dict(observer.operations),
        stopped=stopped,
        errors=observer.errors,
    )


def _elections(observer: Observer) -> dict[str, int]:
    why = Counter(election.why for election in observer.elections)
    return {one: why[one] for one in WHY.values()}


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
