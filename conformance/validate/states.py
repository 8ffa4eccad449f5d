"""The tables in the terms of a log: Kafka's names of states, the rows of a pair, the states that a start-up seeds.

Everything here is derived from a Machine of spec/; no pair and no row is stated again. Independent of log lines.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.replica import REPLICA, REPLICA_0_10
from kafka_spec.spec.vocabulary.table import Machine, Row

HIDDEN_AT_INFO = {"Partition": ("OFFLINE", "NON_EXISTENT"), "Replica": ()}
"""Targets whose transitions are logged at TRACE only (PartitionStateMachine.doHandleStateChanges); all those of replicas are."""


def kafka_name(machine: Machine, state: enum.IntEnum) -> str:
    """Return Kafka's name of a state, such as OfflinePartition or ReplicaDeletionStarted."""
    words = "".join(word.capitalize() for word in state.name.split("_"))
    return machine.name + words if words.startswith("Deletion") else words + machine.name


@dataclass(frozen=True)
class Known:
    """One machine, indexed by numbers of states."""

    machine: Machine

    @cached_property
    def numbers(self) -> Mapping[bytes, int]:
        """The states by Kafka's names."""
        return {kafka_name(self.machine, state).encode(): int(state) for state in self.machine.states}

    @cached_property
    def names(self) -> Mapping[int, str]:
        """Kafka's names of the states."""
        return {int(state): kafka_name(self.machine, state) for state in self.machine.states}

    @cached_property
    def rows(self) -> Mapping[tuple[int, int], tuple[tuple[int, Row], ...]]:
        """The transition rows of each legal pair, each with its number in the table."""
        found: dict[tuple[int, int], list[tuple[int, Row]]] = {}
        for number, row in enumerate(self.machine.rows):
            if row.kind == "transition":
                for source in row.sources:
                    found.setdefault((int(source), int(row.target)), []).append((number, row))
        return {pair: tuple(rows) for pair, rows in found.items()}

    @cached_property
    def seeds(self) -> frozenset[int]:
        """Possible states of an entity that a controller has not moved yet: unknown to it, or seeded when it started."""
        rows = (row for row in self.machine.rows if row.kind == "initialisation" and self.machine.initial in row.sources)
        return frozenset({int(self.machine.initial), *(int(row.target) for row in rows)})

    @cached_property
    def unseen(self) -> Mapping[int, frozenset[int]]:
        """For each state, the states that an entity can reach without a line at INFO."""
        hidden = {state for state in self.machine.states if state.name in HIDDEN_AT_INFO[self.machine.name]}
        found: dict[int, frozenset[int]] = {}
        for state in self.machine.states:
            reached = {state}
            for _ in self.machine.states:
                reached |= {target for source, target in self.machine.legal_pairs if source in reached and target in hidden}
            found[int(state)] = frozenset(map(int, reached))
        return found

    def predecessors(self, target: int) -> str:
        """Return the names of the states from which a target may be entered."""
        return ", ".join(self.names[source] for source, entered in self.rows if entered == target)


@dataclass(frozen=True)
class Tables:
    """The two machines of an era."""

    era: str
    partition: Known
    replica: Known


TABLES = {
    "0.10": Tables("0.10", Known(PARTITION), Known(REPLICA_0_10)),
    "2.8": Tables("2.8", Known(PARTITION), Known(REPLICA)),
}
"""The tables by era; 3.9 has those of 2.8."""
PARTITION_NUMBERS = TABLES["2.8"].partition.numbers
REPLICA_NUMBERS = TABLES["2.8"].replica.numbers
