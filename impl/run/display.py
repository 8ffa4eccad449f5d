"""The progress display of a run on stderr: on a terminal a table that changes, elsewhere a line for each event."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.observer import Observer
from kafka_spec.impl.run.outcome import leader_of
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.spec.zookeeper.machines import ControllerState

REFRESH = 0.1
"""Real seconds between two updates of the table."""
PARTITIONS = 16
"""The number of partitions shown."""


class RunDisplay:
    """Shows a run; a context manager. `news` takes events, `show` the cluster. rich honours NO_COLOR."""

    def __init__(self, stream: TextIO, enabled: bool = True) -> None:
        self._stream = stream
        self._enabled = enabled
        self._console = Console(file=stream)
        self._live = Live(console=self._console, auto_refresh=False, transient=True) if self._console.is_terminal else None
        self._shown = 0.0

    def __enter__(self) -> RunDisplay:
        if self._live is not None and self._enabled:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None and self._enabled:
            self._live.stop()

    def news(self, event: str) -> None:
        """Show an event, on a terminal at the next update."""
        if self._enabled and self._live is None:
            print(event, file=self._stream, flush=True)

    def show(self, cluster: Cluster, numbers: Iterable[int], partitions: list[TopicPartition], observer: Observer) -> None:
        """Show the cluster, if the last update was long enough ago."""
        self.show_parts(lambda: (brokers_line(cluster, numbers), partitions_table(cluster, partitions)), observer)

    def show_parts(self, parts: Callable[[], tuple[Text, Table]], observer: Observer) -> None:
        """Show a line of the brokers and a table of the partitions, if the last update was long enough ago."""
        now = time.perf_counter()
        if self._live is None or not self._enabled or now - self._shown < REFRESH:
            return
        self._shown = now
        newest = Text("\n".join(observer.newest), overflow="ellipsis", no_wrap=True)
        self._live.update(Group(*parts(), newest), refresh=True)


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
