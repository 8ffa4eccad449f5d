"""The initial state: all brokers run and are active, broker 0 leads, and everybody has applied that."""

from __future__ import annotations

from kafka_spec.spec.domain import NO_BROKERS, NONE, append, first_brokers
from kafka_spec.spec.kraft.controller import commit, move_replicas
from kafka_spec.spec.kraft.machines import REGISTRATION
from kafka_spec.spec.kraft.replica import apply_image
from kafka_spec.spec.kraft.state import UNKNOWN, KRaft
from kafka_spec.spec.table import Constants, Rule, fire


def isr_is_of_brokers(k: Constants) -> bool:
    """The first ISR has at most as many members as there are brokers."""
    return k.isr_size <= k.brokers


def begin(s: KRaft, k: Constants) -> None:
    """Register and unfence all brokers, create the partition, and let all brokers apply it."""
    for broker in range(k.brokers):
        fire(s, k, REGISTRATION, (broker,), "register")
        fire(s, k, REGISTRATION, (broker,), "unfence")
        s.controller.registrations[broker].epoch = 0
        s.brokers[broker].epoch = 0
        s.brokers[broker].clean_epoch = UNKNOWN
        append(s.controller.partition.replicas, broker)
    s.controller.partition.leader = 0
    s.controller.partition.leader_epoch = 0
    s.controller.partition.partition_epoch = 0
    s.controller.partition.isr = first_brokers(k.isr_size)
    s.controller.partition.last_known_leader = NONE
    move_replicas(s, k, first_brokers(k.isr_size), NO_BROKERS)
    commit(s, k)
    for broker in range(k.brokers):
        apply_image(s, k, broker)


START = Rule(
    "Start",
    actor="world",
    guards=(isr_is_of_brokers,),
    effects=(begin,),
    says="all brokers are active, and broker 0 leads",
    cites="",
)
