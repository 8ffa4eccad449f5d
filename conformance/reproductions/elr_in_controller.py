"""The finding elr-outside-replicas: on KRaft's controller of Kafka, a broker that was removed and came back is elected cleanly.

No broker runs: the controller's own classes get the requests, and the table shows what they record. That the broker has no log is
its own act, by the metadata log: it deletes the replica when the record arrives that does not name it any more.

    python -m kafka_spec.conformance.reproductions.elr_in_controller --kafka 4.4.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kafka_spec.conformance.kafka_classes.jars import checked_jars, folder_of
from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_classes.kraft_controller_classes import ControllerClasses
from kafka_spec.conformance.kafka_classes.kraft_kafkas import KafkasKRaft
from kafka_spec.conformance.kafka_classes.kraft_ours import VERSIONS, KRaftPartition
from kafka_spec.conformance.reproductions.script import run_script
from kafka_spec.spec.decisions.partition_change import RecoveryState

Shown = list[tuple[str, KRaftPartition]]
RETURNED = 2
"""The broker that is removed and comes back."""


class Telling:
    """A controller with the ELR whose every request is reported, with the partition after it."""

    def __init__(
        self, classes: ControllerClasses, brokers: int, replicas: int = 3, min_isr: int = 3, unclean: bool = False
    ) -> None:
        self._controller = KafkasKRaft(classes, brokers, min_isr, unclean=unclean, elr=True, replicas=replicas)
        self.shown: Shown = []
        self._tell(f"created, min.insync.replicas={min_isr}")

    def _tell(self, what: str) -> None:
        self.shown.append((what, self._controller.view().partition))

    def fence(self, broker: int) -> None:
        """Fence a broker."""
        self._controller.fence(broker)
        self._tell(f"broker {broker} is fenced")

    def unfence(self, broker: int) -> None:
        """Unfence a broker, which has applied the metadata log to its end."""
        self._controller.heartbeat(broker, self._controller.offset, stopping=False)
        self._tell(f"broker {broker} is unfenced")

    def reassign(self, *replicas: int) -> None:
        """Reassign the partition."""
        error = self._controller.reassign(replicas)
        self._tell(f"reassigned to {', '.join(map(str, replicas))}: {error}")

    def cancel(self) -> None:
        """Cancel the reassignment."""
        self._tell(f"cancelled: {self._controller.reassign(None)}")

    def join(self, broker: int) -> None:
        """The leader, broker 0, adds a broker to the ISR."""
        held = self.shown[-1][1]
        members = [(member, 0) for member in (*held.isr, broker)]
        error, *_ = self._controller.alter_partition(0, 0, held.leader_epoch, held.partition_epoch, members)
        self._tell(f"broker {broker} joins the ISR: {error}")


def fewer_replicas(classes: ControllerClasses) -> Shown:
    """Remove a fenced broker by a smaller replication factor, and add it again: every version with the ELR."""
    telling = Telling(classes, 3)
    telling.fence(RETURNED)
    telling.reassign(0, 1)
    telling.unfence(RETURNED)
    telling.fence(1)
    telling.reassign(0, 1, RETURNED)
    telling.fence(0)
    return telling.shown


def replaced_replica(classes: ControllerClasses) -> Shown:
    """Replace a fenced broker by another, and that by it again: since 4.3, where this completes below min.insync.replicas."""
    telling = Telling(classes, 4)
    telling.fence(1)
    telling.fence(RETURNED)
    telling.reassign(0, 1, 3)
    telling.join(3)
    telling.unfence(RETURNED)
    telling.reassign(0, 1, RETURNED)
    telling.fence(3)
    telling.fence(0)
    return telling.shown


def four_requests(classes: ControllerClasses) -> Shown:
    """Remove a broker that runs, and add it again: the removal itself puts it into the ELR."""
    telling = Telling(classes, 3)
    telling.reassign(0, 1)
    telling.fence(1)
    telling.reassign(0, RETURNED)
    telling.fence(0)
    return telling.shown


def is_shown(shown: Shown) -> bool:
    """Whether a broker that was not a replica stayed in the ELR, and was elected cleanly at the end."""
    removed = any(RETURNED not in held.replicas and RETURNED in held.elr for _, held in shown)
    last = shown[-1][1]
    return removed and last.leader == RETURNED and last.recovery == RecoveryState.RECOVERED


def main(arguments: Sequence[str]) -> int:
    """Show the finding; return 0 if it is seen in the first sequence."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka", choices=VERSIONS, default=VERSIONS[-1])
    parser.add_argument("--jars", type=Path)
    options = parser.parse_args(arguments)
    classes = ControllerClasses(Kafka(options.kafka, checked_jars(options.kafka, folder_of(options.kafka, options.jars))))
    results = [(sequence.__name__, sequence(classes)) for sequence in (fewer_replicas, four_requests, replaced_replica)]
    for name, shown in results:
        print(f"{options.kafka} {name}: {'shown' if is_shown(shown) else 'not shown'}")
        for what, held in shown:
            print(f"  {what:34} replicas {held.replicas!s:13} leader {held.leader:2} ISR {held.isr!s:10} ELR {held.elr}")
    return 0 if is_shown(results[0][1]) else 1


if __name__ == "__main__":
    run_script(lambda: main(sys.argv[1:]))
