"""The progress display of a run on stderr: on a terminal a table that changes, elsewhere a line for each event."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from kafka_spec.impl.run.observer import Observer

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

    def show(self, parts: Callable[[], tuple[Text, Table]], observer: Observer) -> None:
        """Show a line of the brokers and a table of the partitions, if the last update was long enough ago."""
        now = time.perf_counter()
        if self._live is None or not self._enabled or now - self._shown < REFRESH:
            return
        self._shown = now
        newest = Text("\n".join(observer.newest), overflow="ellipsis", no_wrap=True)
        self._live.update(Group(*parts(), newest), refresh=True)
