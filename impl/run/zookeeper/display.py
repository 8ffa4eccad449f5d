"""The parts of the progress display that show a cluster with ZooKeeper."""

from __future__ import annotations

from collections.abc import Iterable

from rich.table import Table
from rich.text import Text

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.display import PARTITIONS
from kafka_spec.impl.run.zookeeper.outcome import leader_of
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.spec.zookeeper.machines import ControllerState


def brokers_line(cluster: Cluster, numbers: Iterable[int]) -> Text:
    """Return a line of the running brokers and the controller."""
    line = Text("brokers")
    for number in numbers:
        broker = cluster.brokers.get(number)
        if broker is None:
            line.append(f"   {number} down", style="red")
        elif broker.controller.life != ControllerState.STANDBY:
            line.append(f"   {number} controller, epoch {broker.controller.controller_epoch}", style="bold green")
        elif broker.is_stopping or not broker.has_session:
            line.append(f"   {number} {'stopping' if broker.is_stopping else 'without a session'}", style="yellow")
        else:
            line.append(f"   {number} up", style="green")
    return line


def partitions_table(cluster: Cluster, partitions: list[TopicPartition]) -> Table:
    """Return a row for each partition, as known to its leader under the largest leader epoch."""
    table = Table("partition", "leader", "epoch", "ISR", "high watermark", "log end")
    for partition in partitions[:PARTITIONS]:
        number, led = leader_of(cluster, partition)
        if led is None or led.log is None:
            table.add_row(str(partition), "none", "", "", "", "", style="red")
        else:
            isr = " ".join(map(str, led.isr))
            style = "" if sorted(led.isr) == sorted(led.replicas) else "yellow"
            ends = str(led.high_watermark), str(led.log.end_offset)
            table.add_row(str(partition), str(number), str(led.leader_epoch), isr, *ends, style=style)
    if len(partitions) > PARTITIONS:
        table.add_row(f"and {len(partitions) - PARTITIONS} more", "", "", "", "", "")
    return table
