"""What the controller's own log calls the operations that wrote records, and whether the explanations agree with it.

At DEBUG the active controller logs each operation with the offset of its last record.

Source: Kafka 3.9 and 4.1 QuorumController.java (ControllerWriteEvent).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from kafka_spec.conformance.metadata.sources import open_text

OPERATION = re.compile(r"Read-write operation (.+?)\(-?\d+\) will be completed when the log reaches offset (\d+)")
EVENTS: Mapping[str, tuple[str, ...]] = {
    "alterPartition": ("proposal",),
    "registerBroker": ("register",),
    "processBrokerHeartbeat": ("unfence", "controlled shutdown", "fence", "directories of a broker", "directory fails"),
    "processExpiredBrokerHeartbeat": ("fence",),
    "maybeFenceStaleBroker": ("fence",),
    "maybeFenceReplicas": ("fence",),
    "unregisterBroker": ("unregister",),
    "alterPartitionReassignments": ("reassign", "cancel a reassignment"),
    "electLeaders": ("preferred election", "unclean election"),
    "electPreferred": ("preferred election",),
    "electUnclean": ("unclean election",),
    "maybeBalancePartitionLeaders": ("preferred election",),
    "createTopics": ("create a topic",),
    "createPartitions": ("add partitions",),
    "deleteTopics": ("delete a topic",),
    "assignReplicasToDirs": ("assign directories",),
    "writeNoOpRecord": ("no-op",),
}
"""The events of the model that an operation may be, by the beginnings of their names."""


def operations_in(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield the operations that lines name, with the offsets of their last records."""
    for line in lines:
        match = OPERATION.search(line)
        if match is not None:
            yield int(match[2]), match[1]


def causes_of(files: Iterable[tuple[int, Path]]) -> dict[int, str]:
    """Return the operations that the logs of controllers name, by the offsets of their last records."""
    found: dict[int, str] = {}
    for _, path in files:
        with open_text(path) as lines:
            found.update(operations_in(lines))
    return found


def agrees(operation: str, event: str) -> bool:
    """Whether an event may be what an operation wrote; operations without an entry are not compared."""
    return operation not in EVENTS or event.startswith(EVENTS[operation])
