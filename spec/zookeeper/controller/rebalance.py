"""Automatic rebalance: a controller gives brokers back the leadership of partitions that prefer them.

Source: Kafka 2.8 KafkaController.checkAndTriggerAutoLeaderRebalance.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.election import Strategy
from kafka_spec.spec.decisions.reassignment import leader_is_imbalanced
from kafka_spec.spec.language.domain import contains
from kafka_spec.spec.vocabulary.table import Constants, Rule
from kafka_spec.spec.zookeeper.bounds import REBALANCES
from kafka_spec.spec.zookeeper.controller.knowledge import (
    ANY_CONTROLLER,
    KAFKA,
    is_handling_no_event,
    live_brokers,
    topic_is_queued_for_deletion,
)
from kafka_spec.spec.zookeeper.controller.requested import another_leads
from kafka_spec.spec.zookeeper.controller.stages import go_on
from kafka_spec.spec.zookeeper.state import ControllerStep, World


def prefers(s: World, controller: int, broker: int, partition: int) -> bool:
    """The controller knows the partition, and the broker is its first replica."""
    replicas = s.controllers[controller].context.partitions[partition].assignment.replicas
    return len(replicas) > 0 and replicas[0] == broker


def broker_leads_too_few(s: World, k: Constants, controller: int, broker: int) -> bool:
    """Too many of the partitions that prefer the broker are led by others."""
    preferring, elsewhere = 0, 0
    for partition in range(k.partitions):
        if prefers(s, controller, broker, partition):
            preferring += 1
            if another_leads(s, controller, partition):
                elsewhere += 1
    return leader_is_imbalanced(preferring, elsewhere, k.imbalance)


def no_reassignment_hinders(s: World, k: Constants, controller: int) -> bool:
    """No partition is being reassigned, as far as the controller knows: otherwise nothing is rebalanced at all."""
    for partition in range(k.partitions):
        if len(s.controllers[controller].context.partitions[partition].target) > 0:
            return False
    return True


def partition_is_rebalanced(s: World, k: Constants, controller: int, partition: int) -> bool:
    """The partition prefers a broker that leads too few and could lead it: it is live, and in the ISR (2.6, KAFKA-9866)."""
    known = s.controllers[controller].context.partitions[partition]
    if len(known.assignment.replicas) == 0 or not another_leads(s, controller, partition):
        return False
    preferred = known.assignment.replicas[0]
    can_lead = contains(live_brokers(s, controller) & known.leadership.isr, preferred) == 1
    return can_lead and broker_leads_too_few(s, k, controller, preferred)


def some_broker_leads_too_few(s: World, k: Constants, controller: int) -> bool:
    """A partition can be given back; no topic is queued for deletion, and no reassignment runs."""
    if topic_is_queued_for_deletion(s, controller) or not no_reassignment_hinders(s, k, controller):
        return False
    for partition in range(k.partitions):
        if partition_is_rebalanced(s, k, controller, partition):
            return True
    return False


def rebalance(s: World, k: Constants, controller: int) -> None:
    """Begin the election of the preferred leaders of all such partitions; what is counted does not change meanwhile."""
    for partition in range(k.partitions):
        if partition_is_rebalanced(s, k, controller, partition):
            s.controllers[controller].context.partitions[partition].strategy = Strategy.PREFERRED
    s.controllers[controller].step = ControllerStep.ELECT
    go_on(s, k, controller)


REBALANCE = Rule(
    "Rebalance",
    actor="controller on {controller}",
    kind="operator",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, some_broker_leads_too_few),
    at_most=REBALANCES,
    effects=(rebalance,),
    summary="the controller on {controller} finds that a broker leads too few of the partitions that prefer it, and elects it",
    reference=f"{KAFKA}.checkAndTriggerAutoLeaderRebalance",
)
