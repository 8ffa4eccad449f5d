"""Whether a cluster is quiet: no work is left, and all replicas are in sync."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.spec.zookeeper.machines import ControllerState

FEW = 3
"""The number of partitions listed."""


def unrest(cluster: Cluster, numbers: Iterable[int], partitions: Iterable[TopicPartition], *, written: bool = False) -> list[str]:
    """Return what is not quiet yet, in words: brokers that are down or busy; otherwise the first partitions not in sync.

    Partitions are compared with ZooKeeper only if no broker is busy. While they are `written`, not all records can be committed.
    """
    found = [f"broker {number} does not run" for number in numbers if number not in cluster.brokers]
    controllers = 0
    for number in sorted(cluster.brokers):
        broker = cluster.brokers[number]
        controllers += broker.controller.life == ControllerState.ACTIVE
        if broker.is_stopping or not broker.has_session:
            found.append(f"broker {number} {'shuts down' if broker.is_stopping else 'has no session'}")
        if broker.controller.events or broker.controller.agenda:
            found.append(f"the controller on broker {number} is busy")
        if waiting := [str(receiver) for receiver, queue in sorted(broker.channels.queues.items()) if queue]:
            found.append(f"broker {number} has requests for {', '.join(waiting)}")
    if controllers != 1:
        found.append(f"{controllers} brokers are active as controllers")
    if found:
        return found
    return list(islice((text for partition in partitions if (text := _out_of_sync(cluster, partition, written))), FEW))


def _out_of_sync(cluster: Cluster, partition: TopicPartition, written: bool) -> str:
    """Return why a partition's replicas are not in sync; empty if all are in the ISR with one log, all of it committed."""
    held = cluster.leadership(partition)
    if held is None or held.leader not in cluster.brokers:
        return f"no broker leads {partition}"
    led = cluster.brokers[held.leader].replicas.partitions.get(partition)
    if led is None or led.leader_epoch != held.leader_epoch:
        return f"broker {held.leader} does not know that it leads {partition}"
    if sorted(held.isr) != sorted(led.replicas):
        return f"the ISR of {partition} is {list(held.isr)}, and its replicas are {list(led.replicas)}"
    for number in led.replicas:
        broker = cluster.brokers.get(number)
        hosted = None if broker is None else broker.replicas.partitions.get(partition)
        if hosted is None or hosted.log is None or hosted.leader_epoch != held.leader_epoch:
            return f"broker {number} does not know leader epoch {held.leader_epoch} of {partition}"
        if not written and not hosted.high_watermark == hosted.log.end_offset == led.opened.end_offset:
            return f"broker {number} has not committed all of {partition}"
    return ""
