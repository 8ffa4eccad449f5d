"""The cases of Kafka with ZooKeeper: bugs, earlier designs and faults of hardware, each on one card, by subject.

To add a case, add its card to the file of its subject: `fixed` takes the decision from it, and eras, models and checks follow.
"""

from __future__ import annotations

from kafka_spec.spec.case import Case
from kafka_spec.spec.zookeeper.cases import deletion, epochs, fetching, isr, reassignment

CASES: tuple[Case, ...] = (*epochs.CASES, *isr.CASES, *fetching.CASES, *reassignment.CASES, *deletion.CASES)

CASE = {case.name: case for case in CASES}
