"""What the writers of one log file share: whose listeners hear them, where the reader stands, and what is kept of all of them."""

from __future__ import annotations

from typing import Protocol

from kafka_spec.conformance.validate.claims import Claims
from kafka_spec.conformance.validate.events import Cursor
from kafka_spec.conformance.validate.listeners import Views


class LineSource(Protocol):
    """The source that a controller or a broker writes to; `Actors` is one."""

    views: Views
    cursor: Cursor
    claims: Claims
    trace: bool

    def misses(self, summary: str, at_trace: bool = False) -> None:
        """Other lines show that one is missing about here."""

    def name(self, controller: int, epoch: int, who: str) -> None:
        """A line names a controller and its epoch."""
