"""Brokers that start, fail, or bounce. An event begins with a read of ZooKeeper; once begun, it continues without a session.

Source: Kafka 2.8 KafkaController.processBrokerChange.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.fencing import has_bounced
from kafka_spec.spec.decisions.variants import LateAnswers
from kafka_spec.spec.language.domain import NO_BROKERS, BrokerSet, contains, including
from kafka_spec.spec.vocabulary.table import Constants, Rule
from kafka_spec.spec.zookeeper.controller.knowledge import ANY_CONTROLLER, KAFKA, is_handling_no_event
from kafka_spec.spec.zookeeper.controller.stages import go_on, start_brokers
from kafka_spec.spec.zookeeper.network import discard_answers, discard_channels
from kafka_spec.spec.zookeeper.state import ControllerStep, World
from kafka_spec.spec.zookeeper.znodes import zookeeper_can_be_reached


def zookeeper_can_be_read(s: World, k: Constants, controller: int) -> bool:
    """The controller's read of ZooKeeper is answered."""
    return zookeeper_can_be_reached(s, k, controller)


def brokers_have_changed(s: World, k: Constants, controller: int) -> bool:
    """The registered brokers differ from those that the controller knows, or one of them has registered again."""
    context = s.controllers[controller].context
    return s.zookeeper.registered != context.live or bounced_brokers(s, k, controller) != 0


def bounced_brokers(s: World, k: Constants, controller: int) -> BrokerSet:
    """Return the brokers that the controller considers live and that have registered again since, if the era detects this."""
    context = s.controllers[controller].context
    bounced = NO_BROKERS
    for broker in range(k.brokers):
        if contains(s.zookeeper.registered & context.live, broker) == 1:
            if has_bounced(s.zookeeper.broker_epochs[broker], context.broker_epochs[broker], k.bounces_noticed):
                bounced = including(bounced, broker)
    return bounced


def notice_broker_change(s: World, k: Constants, controller: int) -> None:
    """Compare registered with known brokers; open and close channels; start new brokers, then fail and restart others."""
    live = s.controllers[controller].context.live
    bounced = bounced_brokers(s, k, controller)
    dead = live & ~s.zookeeper.registered
    new = s.zookeeper.registered & ~live
    discard_channels(s, k, controller, bounced | dead)
    if k.late_answers == LateAnswers.DROPPED:
        discard_answers(s, k, controller, bounced | dead)
    for broker in range(k.brokers):
        if contains(new | bounced, broker) == 1:
            s.controllers[controller].context.broker_epochs[broker] = s.zookeeper.broker_epochs[broker]
        if contains(dead, broker) == 1:
            s.controllers[controller].context.broker_epochs[broker] = 0
    s.controllers[controller].context.bounced = bounced
    s.controllers[controller].context.failed = dead
    if new != 0:
        start_brokers(s, k, controller, new)
    else:
        s.controllers[controller].step = ControllerStep.REMOVE
    go_on(s, k, controller)


NOTICE_BROKER_CHANGE = Rule(
    "NoticeBrokerChange",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, zookeeper_can_be_read, brokers_have_changed),
    effects=(notice_broker_change,),
    summary="the controller on {controller} reads /brokers/ids and handles brokers that started, failed, or bounced",
    reference=f"{KAFKA}.processBrokerChange, onBrokerStartup, onBrokerFailure",
)
