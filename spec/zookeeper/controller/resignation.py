"""The end of a controller: it is fenced or replaced, it gets an error, or its session expires.

Source: Kafka 2.8 KafkaController.onControllerResignation, triggerControllerMove.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.fencing import epoch_after_change
from kafka_spec.spec.decisions.variants import GivingUp
from kafka_spec.spec.language.domain import NONE, first_brokers, reset
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.reassignment import REASSIGNMENT
from kafka_spec.spec.machines.replica import REPLICA
from kafka_spec.spec.machines.topic_deletion import TOPIC_DELETION
from kafka_spec.spec.vocabulary.table import Constants, Rule, fire
from kafka_spec.spec.zookeeper.bounds import FAILED_FAILOVERS
from kafka_spec.spec.zookeeper.controller.knowledge import ANY_CONTROLLER, KAFKA, is_handling_no_event
from kafka_spec.spec.zookeeper.controller.steps import controller_is_fenced
from kafka_spec.spec.zookeeper.machines import ACTIVE, CONTROLLER, ELECTING, LOADING, STANDBY
from kafka_spec.spec.zookeeper.network import discard_answers, discard_channels
from kafka_spec.spec.zookeeper.state import ControllerStep, Life, World
from kafka_spec.spec.zookeeper.znodes import register


def resign(s: World, k: Constants, controller: int) -> None:
    """Resign: clear all state and close all channels (onControllerResignation)."""
    fire(s, k, CONTROLLER, (controller,), "resign")
    forget_controller(s, k, controller)


def forget_controller(s: World, k: Constants, controller: int) -> None:
    """Shut the machines down, clear the context, and drop the requests in the channels."""
    fire(s, k, TOPIC_DELETION, (controller,), "shutdown")
    for partition in range(k.partitions):
        fire(s, k, PARTITION, (controller, partition), "shutdown")
        for replica in range(k.brokers):
            fire(s, k, REPLICA, (controller, partition, replica), "shutdown")
        fire(s, k, REASSIGNMENT, (controller, partition), "resign")
    s.controllers[controller].epoch = 0
    s.controllers[controller].step = ControllerStep.IDLE
    reset(s.controllers[controller].context)
    discard_channels(s, k, controller, first_brokers(k.brokers))
    discard_answers(s, k, controller, first_brokers(k.brokers))


CONTROLLER_MOVED = Rule(
    "ControllerMoved",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(controller_is_fenced,),
    effects=(resign,),
    summary="the controller on {controller} gets a write refused, since /controller_epoch has changed, and resigns",
    reference=f"{KAFKA}.maybeResign, ControllerMovedException",
)


def another_is_controller(s: World, controller: int) -> bool:
    """/controller names another broker, or does not exist."""
    return s.zookeeper.controller != controller


RESIGN = Rule(
    "Resign",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(is_handling_no_event, another_is_controller),
    effects=(resign,),
    summary="the controller on {controller} reads that it does not own /controller, and resigns",
    reference=f"{KAFKA}.processControllerChange, maybeResign",
)


def controller_is_loading(s: World, controller: int) -> bool:
    """The controller is in its fail-over."""
    return s.controllers[controller].life == LOADING


def give_up(s: World, k: Constants, controller: int) -> None:
    """Resign and delete /controller, so that another controller is elected (triggerControllerMove)."""
    if k.giving_up == GivingUp.UNCONDITIONAL or s.zookeeper.controller_epoch == s.controllers[controller].epoch:
        s.zookeeper.controller = NONE
    resign(s, k, controller)


GIVE_UP = Rule(
    "GiveUp",
    actor="controller on {controller}",
    kind="fault",
    params=ANY_CONTROLLER,
    guards=(controller_is_loading,),
    at_most=FAILED_FAILOVERS,
    effects=(give_up,),
    summary="the controller on {controller} gets an error in its fail-over, resigns, and deletes /controller",
    reference=f"{KAFKA}.triggerControllerMove",
)


def era_adopts_epochs(s: World, k: Constants, controller: int) -> bool:
    """The era copies a changed /controller_epoch into the controller's context."""
    return next_epoch(s, k, controller) != s.controllers[controller].epoch


def next_epoch(s: World, k: Constants, controller: int) -> int:
    """Return the epoch of the controller after it has read /controller_epoch."""
    return epoch_after_change(s.controllers[controller].epoch, s.zookeeper.controller_epoch, k.epoch_watch)


def controller_epoch_has_moved(s: World, controller: int) -> bool:
    """The controller is active under an outdated epoch."""
    return s.controllers[controller].life == ACTIVE and s.controllers[controller].epoch < s.zookeeper.controller_epoch


def adopt_epoch(s: World, k: Constants, controller: int) -> None:
    """Adopt the newest epoch."""
    s.controllers[controller].epoch = next_epoch(s, k, controller)


ADOPT_EPOCH = Rule(
    "AdoptEpoch",
    actor="controller on {controller}",
    params=ANY_CONTROLLER,
    guards=(era_adopts_epochs, controller_epoch_has_moved),
    effects=(adopt_epoch,),
    summary="the old controller on {controller} sees /controller_epoch change, and adopts the new epoch",
    reference="Kafka 0.8.1 ControllerEpochListener (KAFKA-1096)",
)


def session_is_over(s: World, controller: int) -> bool:
    """The broker runs, and its session has expired."""
    return s.brokers[controller].life != Life.DOWN and s.brokers[controller].has_session == 0


def no_event_is_being_handled(s: World, controller: int) -> bool:
    """No event is being handled on the broker: it is not a controller, or an idle one."""
    return s.controllers[controller].step == ControllerStep.IDLE and s.controllers[controller].life != ELECTING


def open_new_session(s: World, k: Constants, controller: int) -> None:
    """Resign if this was the controller, open a new session, and register again."""
    if s.controllers[controller].life != STANDBY:
        resign(s, k, controller)
    register(s, k, controller)


NOTICE_EXPIRY = Rule(
    "NoticeExpiry",
    actor="{controller}",
    params=ANY_CONTROLLER,
    guards=(session_is_over, no_event_is_being_handled),
    effects=(open_new_session,),
    summary="{controller} notices that its session has expired, opens a new one, and registers again",
    reference=f"{KAFKA}: Expire, RegisterBrokerAndReelect",
)
