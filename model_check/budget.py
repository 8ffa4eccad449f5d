"""The limits of a check, Ctrl-C among them, and the memory of this process."""

from __future__ import annotations

import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

INTERRUPTED = "interrupted"
"""The reason of a search that Ctrl-C has stopped."""


class Stopped(Exception):  # noqa: N818 - says what happened
    """The budget was spent before some work was done; the text is the reason."""


@dataclass
class Budget:
    """The limits of a check; None: no limit. An engine that reaches one stops and keeps the finished levels."""

    seconds: float | None = None
    memory_bytes: int | None = None
    max_states: int | None = None
    interrupted: bool = False
    """Set by a signal handler; the engine stops at its next check of the budget."""
    interruptible: bool = False
    """Whether a signal handler may set it."""
    began: float = field(default_factory=time.perf_counter)

    def exhausted(self, distinct: int = 0, planned_bytes: int = 0) -> str:
        """Return the reason to stop, or "". `planned_bytes` is the memory that the engine is about to allocate."""
        if self.interrupted:
            return INTERRUPTED
        if self.seconds is not None and time.perf_counter() - self.began > self.seconds:
            return f"the time budget of {self.seconds:g} s is spent"
        if self.max_states is not None and distinct >= self.max_states:
            return f"the budget of {self.max_states:,} states is spent"
        if self.memory_bytes is not None and resident_bytes() + planned_bytes > self.memory_bytes:
            return f"the memory budget of {self.memory_bytes / 2**20:,.0f} MiB is spent"
        return ""


@contextmanager
def interruptible(budget: Budget | None = None) -> Iterator[Budget]:
    """Let Ctrl-C stop the search, so that the result so far is returned. A second Ctrl-C ends the program.

    with interruptible() as budget:
        result = check(SPEC, budget=budget)
    """
    budget = budget or Budget()

    def interrupt(number: int, frame: object) -> None:
        if budget.interrupted:
            raise KeyboardInterrupt
        budget.interrupted = True

    before = signal.signal(signal.SIGINT, interrupt)
    budget.interruptible = True
    try:
        yield budget
    finally:
        signal.signal(signal.SIGINT, before)


def resident_bytes() -> int:
    """Return the bytes of memory that this process holds (the peak, if the system does not report the current value)."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    except OSError:
        return peak_bytes()


def peak_bytes() -> int:
    """Return the peak memory of this process in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
