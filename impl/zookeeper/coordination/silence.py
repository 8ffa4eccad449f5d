"""How long the servers have answered no caller: one measure, shared by all sessions of a service."""

from __future__ import annotations

import time
from collections.abc import Callable

LOOK = 0.1
"""Seconds between two checks, while waiting for an answer, whether the wait was abandoned."""
STRANGE = 1.0
"""Seconds without an answer after which the wait is reported."""


class Silence:
    """The time during which some caller waits for the servers, or has lost its connection, and they have answered no caller."""

    def __init__(self) -> None:
        self.since: float | None = None
        self.abandoned = False
        """Whether waiting was abandoned."""

    def begins(self) -> None:
        """Note that a caller waits for the servers; an earlier beginning stays."""
        if self.since is None:
            self.since = time.monotonic()

    def ends(self) -> None:
        """Note that the servers have answered."""
        self.since = None

    @property
    def seconds(self) -> float:
        """Return how long the silence has lasted, 0 if there is none."""
        since = self.since
        return 0.0 if since is None else time.monotonic() - since

    def wait(self, done: Callable[[float], object], patience: float) -> bool:
        """Wait up to `patience` seconds, or until waiting is abandoned, for `done`, which waits for the seconds it is given."""
        self.begins()
        deadline = time.monotonic() + patience
        while not self.abandoned and (left := deadline - time.monotonic()) > 0:
            if done(min(left, LOOK)):
                return True
        return False
