"""Legal transitions: both tables, and the valid previous states of PartitionState and ReplicaState."""

from __future__ import annotations

from random import Random

from kafka_spec.conformance.kafka_classes.comparison import Comparison, Subject
from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.replica import REPLICA
from kafka_spec.spec.vocabulary.table import Machine


def state_names(machine: Machine) -> dict[int, str]:
    """Return Kafka's name of each state, such as OnlineReplica: the trigger that requests it, in Kafka's case."""
    return {
        int(row.target): row.trigger.replace("_", " ").title().replace(" ", "") for row in machine.rows if row.kind == "transition"
    }


def compare(kafka: Kafka, comparison: Comparison, _: Random, __: int) -> None:
    """Compare every pair of states of both machines."""
    for machine in (PARTITION, REPLICA):
        names = state_names(machine)
        states = {kafka.singleton(f"kafka.controller.{name}"): state for state, name in names.items()}
        for target, state in states.items():
            valid = {states[source] for source in kafka.listed(target.validPreviousStates())}
            for source in machine.states:
                legal = (source, machine.states(state)) in machine.legal_pairs
                comparison.compare(f"{machine.name} {source.name} to {names[state]}", legal, int(source) in valid)


SUBJECT = Subject("predecessors", "the legal transitions of both machines", compare)
