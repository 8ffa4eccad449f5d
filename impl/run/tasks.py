"""What a node or a client does over time, as a generator: it asks for time to pass, or for another to answer, and goes on.

Who runs a task decides what time is and how messages travel: the simulation with a clock of its own, asyncio with sockets. So both
run the same tasks.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Sleep:
    """Go on after so many seconds."""

    seconds: float


@dataclass(frozen=True)
class RemoteCall:
    """Send a message to a broker, and go on with its answer, or with None: within `timeout` seconds there was none.

    What came of the message is then unknown. One that is not `answered` goes on at once, with None.
    """

    receiver: int
    message: object
    timeout: float
    answered: bool = True


Task: TypeAlias = Generator[Sleep | RemoteCall, Any, None]
