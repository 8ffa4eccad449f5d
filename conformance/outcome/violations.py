"""Violations of logs, their kinds, places in logs, and what is reported about an outcome. Independent of what is logged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

FILE_BITS = 40
"""A place is the number of a file, followed by the number of a line, or an offset, in this many bits."""


def place_of(file: int, line: int) -> int:
    """Return the place of a line."""
    return file << FILE_BITS | line


def file_and_line(place: int) -> tuple[int, int]:
    """Return the number of the file and the number of the line in it."""
    return place >> FILE_BITS, place & ((1 << FILE_BITS) - 1)


@dataclass(frozen=True)
class Kind:
    """A kind of violation: what must hold instead, the statement of spec/ that it breaks, and bugs of Kafka with this symptom."""

    holds: str
    breaks: str
    bugs: tuple[str, ...] = ()


class Violation(NamedTuple):
    """A violation: something that a log must not show."""

    place: int
    kind: str
    when: str
    subject: str
    """The partition, or the broker, or the controller epoch."""
    actor: str
    summary: str
    row: str = ""
    """The row that it breaks, if it breaks one."""
    epoch: int = 0
    """The controller epoch whose log must meet `needs`, of TRACE, BEGUN and UNTIL; UNTIL: the log continues until this time."""
    needs: tuple[str, ...] = ()


class Unfinished(NamedTuple):
    """Something that has not ended when the log ends."""

    subject: str
    summary: str
    place: int


class Reported(Protocol):
    """An outcome of logs of either world."""

    @property
    def verdict(self) -> str:
        """`holds`, `violated` or `inconclusive`."""

    @property
    def violations(self) -> Sequence[Violation]:
        """What the logs must not show."""

    @property
    def open_reasons(self) -> Sequence[str]:
        """Why the verdict is inconclusive."""

    @property
    def unseen(self) -> Sequence[str]:
        """What could not be checked."""

    @property
    def unfinished(self) -> Sequence[Unfinished]:
        """What has not ended where the logs end."""

    def at(self, place: int) -> str:
        """Return a place as text."""
