"""Another component that lives by the table: it keeps the states of replicas, and refuses what Kafka would refuse.

Reads what `kafka-spec export replica` wrote, and needs nothing of this project but kafka_spec.load_table.
"""

from __future__ import annotations

import enum
from pathlib import Path

import kafka_spec


class Replicas:
    """The states of replicas by name; a move that no row of the table allows is refused and changes nothing."""

    def __init__(self, table: Path) -> None:
        self.machine = kafka_spec.load_table(table.read_text(encoding="utf-8"))
        self.states: dict[str, enum.IntEnum] = {}

    def move(self, replica: str, trigger: str) -> None:
        """Let a trigger move a replica."""
        state = self.states.get(replica, self.machine.initial)
        rows = [row for row in self.machine.rows_of(trigger) if state in row.sources and row.kind == "transition"]
        if not rows:
            raise ValueError(f"{replica}: {trigger} is illegal in {state.name}")
        self.states[replica] = rows[0].target
