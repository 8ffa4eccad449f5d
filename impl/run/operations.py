"""The random operations of a run, by name: what operators do while clients work and faults happen.

Partitions of the clients' topic are moved; other topics, of a few names that are used again and again, are created, grown and
deleted. A few records are written to each of them, which name the generation of the topic, so that records of an earlier one show.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kafka_spec.spec.vocabulary.table import SpecError

NAMES = ("extra-0", "extra-1", "extra-2")
"""The topics that are created and deleted."""
LARGEST = 6
"""The largest number of partitions that such a topic grows to."""
RECORDS = 5
"""The number of records written to each of its first partitions."""
PATIENCE = 2.0


@dataclass(frozen=True)
class RunOperation:
    """An operation: on average one in `every` seconds; `says` describes it."""

    name: str
    summary: str
    every: float


OPERATIONS = {
    one.name: one
    for one in (
        RunOperation("reassign", "a partition is moved to other brokers", 4.0),
        RunOperation("cancel", "all reassignments are cancelled", 13.0),
        RunOperation("create", "a topic is created, often with the name of one that was deleted", 4.0),
        RunOperation("delete", "a topic is deleted", 6.0),
        RunOperation("grow", "partitions are added to a topic", 7.0),
    )
}
"""The operations of any run."""
MOVE, UNREGISTER = "move", "unregister"
KRAFT_OPERATIONS = {
    **OPERATIONS,
    MOVE: RunOperation(MOVE, "a replica is moved to the other log directory of its broker", 3.0),
    UNREGISTER: RunOperation(UNREGISTER, "a broker is unregistered; if it runs, it is restarted some time later", 12.0),
}
"""Those of a run of KRaft, whose metadata registers brokers and names log directories."""


def parse_operations(text: str, known: Mapping[str, RunOperation] = OPERATIONS) -> tuple[str, ...]:
    """Return the operations that a text such as `reassign,delete` names, in the order of those `known`; also `none` and `all`.

    Raises:
        SpecError: an operation is unknown.
    """
    groups = {"none": (), "all": tuple(known)}
    named: set[str] = set()
    for word in (part.strip() for part in text.split(",")):
        if word not in groups and word not in known:
            only_kraft = "only for KRaft" if word in KRAFT_OPERATIONS else "unknown"
            raise SpecError(f"operation {word!r} is {only_kraft}; known are {', '.join(known)}, and the groups none and all")
        named.update(groups.get(word, (word,)))
    return tuple(name for name in known if name in named)


def record_of(topic: str, generation: int, number: int) -> str:
    """Return the value of a record that was written to a generation of a topic."""
    return f"{topic}/{generation}/{number}"


def generation_of(value: str) -> int:
    """Return the generation that a record was written to."""
    return int(value.split("/")[1])
