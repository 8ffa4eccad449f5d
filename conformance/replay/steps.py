"""What the steps of several actors share."""

from __future__ import annotations

from kafka_spec.conformance.replay.core import NotEnabled
from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.impl.zookeeper.broker.broker_process import BrokerProcess
from kafka_spec.impl.zookeeper.controller.controller import KafkaController
from kafka_spec.spec.language.domain import NONE


def running(projection: Projection, number: int) -> BrokerProcess:
    """Return a running broker, or raise `NotEnabled`."""
    if number not in projection.cluster.brokers:
        raise NotEnabled(f"broker {number} does not run")
    return projection.cluster.brokers[number]


def controller_on(projection: Projection, number: int) -> KafkaController:
    """Return the controller of a running broker, or raise `NotEnabled`."""
    return running(projection, number).controller


def target_of(first: int, second: int) -> tuple[int, ...]:
    """Return the target of a reassignment in a rule's parameters: one broker or two."""
    return (first,) if second == NONE else (first, second)
