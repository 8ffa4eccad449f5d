"""Tasks of nodes and clients, as generators: each yields a wait for time or for an answer, and is then resumed.

The code that runs a task supplies the clock and the network: the simulation has virtual ones, loopback.py uses asyncio and sockets.
So both run the same tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias


@dataclass(frozen=True)
class Sleep:
    """Resume the task after so many seconds."""

    seconds: float


@dataclass(frozen=True)
class RemoteCall:
    """Send a message to a broker; the task is resumed with its answer, or with None after `timeout` seconds.

    With None it is unknown whether the message took effect. After a call without `answered` the task is resumed at once, with None.
    """

    receiver: int
    message: object
    timeout: float
    answered: bool = True


Task: TypeAlias = Generator[Sleep | RemoteCall, Any, None]


class TaskGroup(Protocol):
    """Tasks that end together: those of a broker's process, or of one client."""

    def spawn(self, task: Task, then: Callable[[], object] = lambda: None) -> None:
        """Begin a task; `then` is called when it has ended by itself."""

    def end(self) -> None:
        """Stop all tasks where they are."""
