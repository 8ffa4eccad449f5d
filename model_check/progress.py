"""Progress on stderr: a live line on a terminal, plain lines elsewhere. Does not depend on any engine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from kafka_spec.model_check.exploration import Exploration, resident_bytes

if TYPE_CHECKING:
    from rich.live import Live

    from kafka_spec.model_check.random_walks.simulation import Walked

PLAIN_INTERVAL = 2.0
"""Seconds between two lines if stderr is not a terminal."""


def line(result: Exploration, seconds: float) -> str:
    """Return the state of a search in one line."""
    rate = result.distinct / seconds if seconds else 0.0
    exchanged = f"  {result.exchanged_bytes / 2**20:>9,.0f} MiB exchanged" if result.engine == "spark" else ""
    return (
        f"{result.spec.name}  level {result.depth:>3}  frontier {result.levels[-1]:>11,}  distinct {result.distinct:>13,}  "
        f"{rate:>11,.0f} states/s  {resident_bytes() / 2**20:>7,.0f} MiB{exchanged}"
    )


def walks_line(walked: Walked) -> str:
    """Return how far random walks are, in one line."""
    rate = walked.steps / walked.seconds if walked.seconds else 0.0
    return (
        f"{walked.found.spec.name}  walks {walked.count:>11,}  steps {walked.steps:>13,}  different {walked.different:>13,}  "
        f"{rate:>11,.0f} steps/s  {resident_bytes() / 2**20:>7,.0f} MiB"
    )


class Display:
    """Shows the progress of a search, as a context manager; its `show` is a `Progress`."""

    def __init__(self, stream: TextIO | None = None, enabled: bool = True) -> None:
        self.stream = stream or sys.stderr
        self.enabled = enabled
        self.live = _live(self.stream) if self.stream.isatty() else None
        self.last = time.perf_counter()

    def __enter__(self) -> Display:
        if self.live is not None and self.enabled:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None and self.enabled:
            self.live.stop()

    def show(self, result: Exploration, seconds: float) -> None:
        """Show the state of a search, unless the last line is recent."""
        self._show(lambda: line(result, seconds))

    def show_walks(self, walked: Walked) -> None:
        """Show how far random walks are, unless the last line is recent."""
        self._show(lambda: walks_line(walked))

    def _show(self, text: Callable[[], str]) -> None:
        now = time.perf_counter()
        if not self.enabled or now - self.last < (0.1 if self.live else PLAIN_INTERVAL):
            return
        self.last = now
        if self.live is not None:
            from rich.text import Text

            self.live.update(Text(text(), overflow="ellipsis", no_wrap=True), refresh=True)
        else:
            try:
                print(text(), file=self.stream, flush=True)
            except OSError:  # nobody reads it
                self.enabled = False


def _live(terminal: TextIO) -> Live:
    """Return a line that changes in place; its library is imported only for a terminal."""
    from rich.console import Console
    from rich.live import Live

    return Live(console=Console(file=terminal), transient=True, auto_refresh=False)
