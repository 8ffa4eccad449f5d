"""The initial state: all brokers run and are active, broker 0 leads, and everybody has applied that."""

from __future__ import annotations

from kafka_spec.spec.kraft.controller import commit
from kafka_spec.spec.kraft.machines import REGISTRATION
from kafka_spec.spec.kraft.replica import apply_image
from kafka_spec.spec.kraft.state import UNKNOWN, KRaft
from kafka_spec.spec.kraft.topics import create_partition
from kafka_spec.spec.language.domain import first_brokers
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire


def isr_is_of_replicas(k: Constants) -> bool:
    """The first ISR has at most as many members as there are first replicas, and there is one."""
    return k.isr_size <= k.brokers - k.spares


def begin(s: KRaft, k: Constants) -> None:
    """Register and unfence all brokers, create the partition, and let all brokers apply it."""
    for broker in range(k.brokers):
        fire(s, k, REGISTRATION, (broker,), "register")
        fire(s, k, REGISTRATION, (broker,), "unfence")
        s.controller.registrations[broker].epoch = 0
        s.brokers[broker].epoch = 0
        s.brokers[broker].clean_epoch = UNKNOWN
    create_partition(s, k, 0, first_brokers(k.isr_size))
    commit(s, k)
    for broker in range(k.brokers):
        apply_image(s, k, broker)


START = Rule(
    "Start",
    actor="world",
    guards=(isr_is_of_replicas,),
    effects=(begin,),
    summary="all brokers are active, and broker 0 leads",
    reference="",
)
