"""Progress on stderr: a live line on a terminal, plain lines elsewhere. Does not depend on any engine."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TextIO

from kafka_spec.model_check.budget import resident_bytes
from kafka_spec.model_check.exploration import Exploration

if TYPE_CHECKING:
    from rich.live import Live

    from kafka_spec.model_check.inductive import InductiveResult
    from kafka_spec.model_check.random_walks.simulation import Walked

PLAIN_INTERVAL = 2.0
"""Seconds between two lines if stderr is not a terminal."""
MANIFEST_INTERVAL = 15.0
"""The same, of lines about a manifest, whose results come meanwhile."""


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


def tried_line(result: InductiveResult) -> str:
    """Return how far an inductive check is, in one line."""
    rate = result.tried / result.seconds if result.seconds else 0.0
    percent = 100 * result.tried / result.every
    return (
        f"{result.spec.name}  tried {result.tried:>13,} of {result.every:,} ({percent:.0f} %)  admitted {result.admitted:>13,}  "
        f"{rate:>11,.0f} states/s"
    )


def manifest_line(done: int, total: int, seconds: float) -> str:
    """Return how many checks of a manifest are done, and an estimate of the time left."""
    left = seconds / done * (total - done) if done else 0.0
    about = f"{left / 60:.0f} min" if left >= 90 else f"{left:.0f} s"
    return f"{done} of {total} checks, about {about} left"


class ManifestDisplay:
    """Shows on stderr how many checks of a manifest are done: on a terminal below the results, elsewhere in a line now and then."""

    def __init__(self, total: int, enabled: bool) -> None:
        self.total, self.done, self.enabled = total, 0, enabled
        self.terminal = sys.stderr.isatty()
        self.begun = self.last = time.perf_counter()

    def clear(self) -> None:
        """Make room for a result."""
        if self.enabled and self.terminal:
            self._write("\r\033[K")

    def show(self) -> None:
        """Count one more check, and show how many are left."""
        self.done += 1
        now = time.perf_counter()
        text = manifest_line(self.done, self.total, now - self.begun)
        if self.enabled and self.terminal and self.done < self.total:
            self._write(text)
        elif self.enabled and not self.terminal and now - self.last > MANIFEST_INTERVAL:
            self.last = now
            self._write(f"{text}\n")

    def _write(self, text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:  # nobody reads it
            self.enabled = False


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

    def show_tried(self, result: InductiveResult) -> None:
        """Show how far an inductive check is, unless the last line is recent."""
        self._show(lambda: tried_line(result))

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
