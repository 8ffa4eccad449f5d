"""How the world begins: before everything, or with a settled cluster, in a state to which the rules lead if nothing fails.

Knows the functions of the rules, with which it builds a settled cluster.
"""

from __future__ import annotations

from kafka_spec.spec.brokers import Broker
from kafka_spec.spec.language.domain import pop_first
from kafka_spec.spec.vocabulary.table import Constants, Rule
from kafka_spec.spec.zookeeper.bounds import BROKERS
from kafka_spec.spec.zookeeper.broker.isr import expand_isr
from kafka_spec.spec.zookeeper.broker.leader_and_isr import make_follower, make_leader
from kafka_spec.spec.zookeeper.broker.requests import replace_alive_brokers
from kafka_spec.spec.zookeeper.controller.broker_changes import notice_broker_change
from kafka_spec.spec.zookeeper.controller.failover import become_controller, take_over
from kafka_spec.spec.zookeeper.controller.resignation import open_new_session
from kafka_spec.spec.zookeeper.controller.steps import bring_partition_online
from kafka_spec.spec.zookeeper.controller.topics import create_partitions, learn_isr
from kafka_spec.spec.zookeeper.environment import create_topic, end_process, partitions_at_first, start_process
from kafka_spec.spec.zookeeper.messages import Kind
from kafka_spec.spec.zookeeper.state import World
from kafka_spec.spec.zookeeper.znodes import end_session, register


def there_are_enough_brokers(k: Constants) -> bool:
    """There is a broker for each replica; a second replica, if that is to lead; and a partition to create the topic with."""
    return k.replicas <= k.brokers and (k.settled < 2 or k.replicas > 1) and partitions_at_first(k) > 0


def a_controller_can_be_chosen(k: Constants, controller: int) -> bool:
    """A settled cluster may begin with any broker as the controller; otherwise the parameter is fixed to broker 0."""
    return k.settled != 0 or controller == 0


def begin(s: World, k: Constants) -> None:
    """All brokers are up and registered; there is no controller and no topic."""
    for broker in range(k.brokers):
        register(s, k, broker)


def settle(s: World, k: Constants, controller: int) -> None:
    """Build a settled cluster with this controller, by the functions of the rules."""
    if k.settled == 1:
        create_settled_topic(s, k, controller)
    if k.settled == 2:
        end_process(s, k, 0)
        create_settled_topic(s, k, 1)
        let_broker_0_join(s, k)
        if controller != 1:
            end_session(s, 1)
            open_new_session(s, k, 1)
            become_controller(s, k, controller)
            take_over(s, k, controller)
            deliver_all(s, k, controller)


def create_settled_topic(s: World, k: Constants, controller: int) -> None:
    """Elect this controller, create the topic, and deliver the controller's requests."""
    become_controller(s, k, controller)
    take_over(s, k, controller)
    create_topic(s, k)
    create_partitions(s, k, controller)
    for _ in range(partitions_at_first(k)):
        bring_partition_online(s, k, controller)
    deliver_all(s, k, controller)


def let_broker_0_join(s: World, k: Constants) -> None:
    """Start broker 0, which was down when broker 1 became controller and leader; it follows, and joins the ISR."""
    start_process(s, k, 0)
    notice_broker_change(s, k, 1)
    deliver_all(s, k, 1)
    for partition in range(partitions_at_first(k)):
        expand_isr(s, 1, 0, partition)
        learn_isr(s, k, 1, partition)


def deliver_all(s: World, k: Constants, controller: int) -> None:
    """Deliver the requests of a controller."""
    for broker in range(k.brokers):
        for _ in range(2 * k.partitions + 1):
            if len(s.controllers[controller].channels[broker].requests) > 0:
                deliver(s, k, controller, broker)


def deliver(s: World, k: Constants, controller: int, broker: int) -> None:
    """Process the first request of a channel as a broker does that accepts every request."""
    request = s.controllers[controller].channels[broker].requests[0]
    s.brokers[broker].controller_epoch = request.controller_epoch
    if request.kind == Kind.UPDATE_METADATA:
        replace_alive_brokers(s, controller, broker)
    elif request.leader == broker:
        make_leader(s, k, controller, broker)
    else:
        make_follower(s, k, controller, broker)
    pop_first(s.controllers[controller].channels[broker].requests)


START = Rule(
    "Start",
    actor="world",
    params={"controller": Broker(BROKERS)},
    guards=(there_are_enough_brokers, a_controller_can_be_chosen),
    effects=(begin, settle),
    summary="all brokers are up and registered",
    reference="",
)
