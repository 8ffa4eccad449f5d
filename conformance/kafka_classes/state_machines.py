"""Both state machines, every row: what Kafka's controller and ours make of the same scenario.

Compared are the states of partitions and replicas, state znodes with their versions, what the controller remembers, every request
in the order of each broker's channel. Each row of both tables must have fired in some scenario.
"""

from __future__ import annotations

import itertools
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes.comparison import Chosen, Comparison, Subject
from kafka_spec.conformance.kafka_classes.controller_kafkas import KafkasController
from kafka_spec.conformance.kafka_classes.controller_ours import run_ours
from kafka_spec.conformance.kafka_classes.controller_scenarios import Observation, Scenario, at_random, odd, small
from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_classes.zookeeper import KafkasZooKeeper
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.replica import REPLICA

LAST_REPLICA = Chosen(
    "the last replica of a topic that stays",
    "Kafka removes it from the assignment, fails with an exception, and keeps its state; no part of Kafka asks for that",
)
RECOVERING = Chosen("recovering leaders", "from 3.2 on the state znode marks a leader from outside the ISR", versions=("3.9.1",))
PARTS = ("raised", "states", "znodes", "caches", "assignments", "requests")
FEW = 500
"""Below so many random scenarios, only a part of the small ones is compared: a sample must be quick."""
PART = 20


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare the small scenarios, and random ones."""
    scenarios = list(small())
    if cases < FEW:
        scenarios = random.sample(scenarios, len(scenarios) // PART)
    scenarios += odd()
    with KafkasZooKeeper(kafka) as zookeeper:
        controller = KafkasController(kafka, zookeeper)
        for number, scenario in enumerate(itertools.chain(scenarios, (at_random(random) for _ in range(cases)))):
            ours, theirs = run_ours(scenario, f"t{number}"), controller.run(scenario, f"t{number}")
            comparison.seen.update(ours.rows)
            _compare(comparison, scenario, ours, theirs)
    if cases >= FEW:
        for machine in (PARTITION, REPLICA):
            for row, source in [(one, source) for one in machine.rows for source in one.sources]:
                if row.trigger != "shutdown":  # fires from any state, in the same way
                    name = f"{machine.name} {source.name}: {row.label}"
                    comparison.compare(f"the row {name} fired", comparison.seen[name] > 0, True)


def _compare(comparison: Comparison, scenario: Scenario, ours: Observation, theirs: Observation) -> None:
    for part in PARTS:
        mine, other = _differing(getattr(ours, part), getattr(theirs, part))
        comparison.compare(f"{part} after {scenario}", mine, other, _chosen(scenario, part, mine, other))


def _chosen(scenario: Scenario, part: str, ours: Any, theirs: Any) -> str | None:
    """Return the chosen difference that explains one of a scenario, if there is one."""
    if scenario.trigger == "non_existent_replica" and part == "states" and not scenario.queued_for_deletion:
        gone = {
            number for number, _ in scenario.replicas if set(scenario.partitions[number].replicas) <= _removed(scenario, number)
        }
        return LAST_REPLICA.name if {key[0] for key in ours} <= gone else None
    if scenario.trigger == "online_partition" and part == "znodes":
        plain = {p: (data.replace(b'"leader_recovery_state":1,', b""), version) for p, (data, version) in theirs.items()}
        return RECOVERING.name if plain == ours else None
    return None


def _removed(scenario: Scenario, number: int) -> set[int]:
    """Return the replicas of a partition that a scenario changes."""
    return {broker for one, broker in scenario.replicas if one == number}


def _differing(ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Return both, without what is equal in two maps."""
    if not isinstance(ours, dict):
        return ours, theirs
    keys = [key for key in {**ours, **theirs} if ours.get(key) != theirs.get(key)]
    return {key: ours.get(key) for key in keys}, {key: theirs.get(key) for key in keys}


SUBJECT = Subject(
    "state-machines",
    "every row of both machines: states, znodes, caches, requests",
    compare,
    (LAST_REPLICA, RECOVERING),
)
