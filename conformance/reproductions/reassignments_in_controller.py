"""The findings stale-reassignment-lists, cancellation-elects-cleanly and cancellation-below-min-isr, on Kafka's own classes.

python -m kafka_spec.conformance.reproductions.reassignments_in_controller --kafka 4.4.0
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from kafka_spec.conformance.kafka_classes.jars import checked_jars, folder_of
from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_classes.kraft_controller_classes import ControllerClasses
from kafka_spec.conformance.kafka_classes.kraft_ours import VERSIONS
from kafka_spec.conformance.reproductions.elr_in_controller import Shown, Telling
from kafka_spec.conformance.reproductions.script import run_script
from kafka_spec.spec.decisions.partition_change import RecoveryState
from kafka_spec.spec.language.domain import NONE


def asked_for_again(classes: ControllerClasses) -> tuple[Shown, bool]:
    """Reassign 0 and 1 to 2, then to 0, 1 and 2: when 2 has joined, the two that were asked for again are gone."""
    telling = Telling(classes, 3, replicas=2, min_isr=2)
    telling.reassign(2)
    telling.reassign(0, 1, 2)
    telling.join(2)
    return telling.shown, telling.shown[-1][1].replicas == (2,)


def given_up(classes: ControllerClasses) -> tuple[Shown, bool]:
    """Reassign 0 and 1 to 0, 1 and 2, then to 0 alone, which is in the ISR: up to 4.2 it completes, from 4.3 on it never does."""
    telling = Telling(classes, 3, replicas=2, min_isr=2)
    telling.reassign(0, 1, 2)
    telling.reassign(0)
    return telling.shown, telling.shown[-1][1].replicas == (0, 1, 2)


def cancelled(classes: ControllerClasses) -> tuple[Shown, bool]:
    """Cancel when only added replicas are in the ISR: the fenced first replica is the ISR, and becomes leader as if it had all."""
    telling = Telling(classes, 3, replicas=1, min_isr=1, unclean=True)
    telling.reassign(1, 2)
    telling.join(1)
    telling.fence(0)
    telling.cancel()
    fenced = telling.shown[-1][1]
    telling.unfence(0)
    last = telling.shown[-1][1]
    names_fenced = fenced.isr == (0,) and fenced.leader == NONE
    return telling.shown, names_fenced and last.leader == 0 and last.recovery == RecoveryState.RECOVERED


def cancelled_below_minimum(classes: ControllerClasses) -> tuple[Shown, bool]:
    """Cancel when an added replica is one of two in the ISR: the other is left alone, where min.insync.replicas=2.

    Two are added, since from 4.3 on the reassignment of one would be complete.
    """
    telling = Telling(classes, 4, replicas=2, min_isr=2)
    telling.reassign(0, 1, 2, 3)
    telling.fence(1)
    telling.join(2)
    before = telling.shown[-1][1]
    telling.cancel()
    after = telling.shown[-1][1]
    candidates = {broker for broker in (*after.isr, *after.elr) if broker in after.replicas}
    return telling.shown, before.isr == (0, 2) and after.replicas == (0, 1) and candidates == {0}


def completed_below_minimum(classes: ControllerClasses) -> tuple[Shown, bool]:
    """Move to 2 and 3, then keep 0 too: from 4.3 on it is complete at once, and two are in the ISR, where min.insync.replicas=3."""
    telling = Telling(classes, 4, replicas=3, min_isr=3)
    telling.fence(2)
    telling.reassign(2, 3)
    telling.join(3)
    before = telling.shown[-1][1]
    telling.reassign(0, 2, 3)
    after = telling.shown[-1][1]
    candidates = {broker for broker in (*after.isr, *after.elr) if broker in after.replicas}
    return telling.shown, len(before.isr) == 3 and not after.removing and len(candidates) < 3


def main(arguments: Sequence[str]) -> int:
    """Show the findings; return 0 if those are seen that every version has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka", choices=VERSIONS, default=VERSIONS[-1])
    parser.add_argument("--jars", type=Path)
    options = parser.parse_args(arguments)
    classes = ControllerClasses(Kafka(options.kafka, checked_jars(options.kafka, folder_of(options.kafka, options.jars))))
    seen = {}
    for sequence in (asked_for_again, given_up, cancelled, cancelled_below_minimum, completed_below_minimum):
        shown, seen[sequence.__name__] = sequence(classes)
        print(f"{options.kafka} {sequence.__name__}: {'shown' if seen[sequence.__name__] else 'not shown'}")
        for what, held in shown:
            sets = f"ISR {held.isr!s:10} ELR {held.elr!s:7}"
            print(f"  {what:34} replicas {held.replicas!s:13} leader {held.leader:2} {sets} recovery {held.recovery}")
    del seen["given_up"], seen["completed_below_minimum"]  # from 4.3 on
    return 0 if all(seen.values()) else 1


if __name__ == "__main__":
    run_script(lambda: main(sys.argv[1:]))
