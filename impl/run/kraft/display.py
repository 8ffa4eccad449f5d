"""The parts of the progress display that show a cluster of KRaft."""

from __future__ import annotations

from rich.table import Table
from rich.text import Text

from kafka_spec.impl.run.display import PARTITIONS
from kafka_spec.impl.run.kraft.world import KRaftWorld
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.language.domain import NONE

STYLES = {BrokerState.UNFENCED: "green", BrokerState.CONTROLLED_SHUTDOWN: "yellow"}


def brokers_line(world: KRaftWorld) -> Text:
    """Return a line of the brokers: the state that the controller has, and whether the process runs."""
    line = Text("brokers")
    for number in world.numbers:
        state = world.cluster.controller.tables.state_of(number)
        if number not in world.nodes:
            line.append(f"   {number} down, {state.name.lower()}", style="red")
        else:
            line.append(f"   {number} {state.name.lower().replace('_', ' ')}", style=STYLES.get(state, "red"))
    return line


def partitions_table(world: KRaftWorld) -> Table:
    """Return a row for each partition, as the controller has it, with its leader's log."""
    table = Table("partition", "leader", "epochs", "ISR", "ELR", "high watermark", "log end")
    partitions = world.cluster.controller.image.partitions
    for name, held in list(partitions.items())[:PARTITIONS]:
        process = world.cluster.brokers.get(held.leader)
        hosted = None if process is None else process.replicas.partitions.get(name)
        ends = ("", "") if hosted is None or hosted.log is None else (str(hosted.high_watermark), str(hosted.log.end_offset))
        leader = "none" if held.leader == NONE else str(held.leader)
        style = "red" if held.leader == NONE else "" if len(held.isr) == len(held.replicas) else "yellow"
        isr, elr = (" ".join(map(str, one)) for one in (held.isr, held.elr))
        table.add_row(str(name), leader, f"{held.leader_epoch}, {held.partition_epoch}", isr, elr, *ends, style=style)
    if len(partitions) > PARTITIONS:
        table.add_row(f"and {len(partitions) - PARTITIONS} more", *[""] * 6)
    return table
