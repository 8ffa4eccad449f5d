"""Known bugs of Kafka's control plane in the implementation: with the switch it fails as the model says, `fixed` survives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from test_controller import P, SteppedCluster
from test_replica_manager import Replicas

from kafka_spec.impl.zookeeper.controller.broker_changes import BrokerChange
from kafka_spec.impl.zookeeper.controller.controller import KafkaController
from kafka_spec.impl.zookeeper.controller.controller_election import ControllerChange
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import Spec
from kafka_spec.spec.zookeeper.cases import CASE
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import ControllerState, Role


@contextmanager
def replicas(era: Spec, unclean: bool = False) -> Iterator[Replicas]:
    """Run three brokers with replicas, the first of them the controller."""
    with Replicas(3, era=era, unclean=unclean) as cluster:
        cluster.rest()
        yield cluster


def unseen_bounce(era: Spec) -> bool:
    """A broker restarts between two reads of the controller: does it receive its partition?"""
    with replicas(era) as cluster:
        cluster.topic(1, 2)
        cluster.bounce(1)
        cluster.rest()
        return P in cluster.managers[1].partitions


def follower_is_behind(era: Spec) -> bool:
    """A follower dies: does the other one learn the new leader epoch?"""
    with replicas(era) as cluster:
        cluster.topic(1, 2, 0)
        cluster.crash(2)
        cluster.rest()
        return cluster.managers[0].partitions[P].leader_epoch == cluster.state()[1] == 1


def last_isr_member(era: Spec, unclean: bool = False) -> bool:
    """The lone replica dies: does the ISR keep it, without a leader?"""
    with replicas(era, unclean) as cluster:
        cluster.topic(1)
        cluster.crash(1)
        cluster.rest()
        return cluster.state()[0::2] == (-1, (1,))


def last_isr_member_where_unclean(era: Spec) -> bool:
    """The same, where an unclean election is permitted."""
    return last_isr_member(era, unclean=True)


def dead_replica_and_controller(era: Spec) -> bool:
    """A lone replica and the controller fail together: does the next controller notice that the leader is missing?"""
    with replicas(era) as cluster:
        cluster.topic(1)
        cluster.crash(1)
        cluster.crash(0)
        cluster.rest()
        return cluster.state()[0] == -1


def shutdown_is_told(era: Spec) -> bool:
    """A leader shuts down: does it receive that it no longer leads?"""
    with replicas(era) as cluster:
        cluster.topic(1, 2)
        cluster.shut_down(1, 0)
        cluster.rest()
        assert cluster.state()[0] == 2
        return cluster.managers[1].role_of(P) == Role.FOLLOWER


def former_incarnation(era: Spec) -> bool:
    """A request for a broker's process before arrives at the one after: is it refused?"""
    with replicas(era) as cluster:
        cluster.admin.create_topic_with_assignment("orders", {0: (1, 2)})
        work(cluster.active)
        cluster.bounce(1)
        while cluster.deliver(0, 1):
            pass
        return P not in cluster.managers[1].partitions


def follower_stops(era: Spec) -> bool:
    """A follower shuts down: does it stop fetching when it is asked to, under the leader epoch it has?"""
    with replicas(era) as cluster:
        cluster.topic(1, 2)
        cluster.shut_down(2, 0)
        cluster.rest()
        return P not in cluster.managers[2].fetchers


def work(controller: KafkaController) -> None:
    """Let one controller work until it rests."""
    while controller.step():
        pass


def unfenced_write(era: Spec) -> bool:
    """An old controller that does not know it is replaced sees a broker die: does it leave the partition alone?"""
    cluster = SteppedCluster(4, era).settle().create((1, 2, 3))
    old, new = cluster.active, cluster.brokers[1].controller
    cluster.tools.delete(znodes.CONTROLLER)
    new.handle(ControllerChange())
    work(new)
    old.session.events()  # what tells it of the new controller is late
    before = cluster.state()
    cluster.expire(3)
    old.session.events()
    old.handle(BrokerChange())
    while old.events or old.agenda:
        old.step()
    return cluster.state() == before


def two_step_election(era: Spec) -> bool:
    """A broker loses /controller right after it has created it: is the newest epoch that of the one who has it now?"""
    cluster = SteppedCluster(2, era)
    first, second = (broker.controller for broker in cluster.brokers.values())
    first.step()
    cluster.tools.delete(znodes.CONTROLLER)
    second.start()
    while second.life != ControllerState.ACTIVE:
        second.step()
    first.session.events()  # what tells it of the new controller is late
    for _ in range(2):
        first.step()
    return second.context.epoch == int(cluster.tools.get(znodes.CONTROLLER_EPOCH)[0])


def unconditional_delete(era: Spec) -> bool:
    """A controller fails in its fail-over after another has been elected: is /controller still the other's?"""
    cluster = SteppedCluster(2, era).settle().create((0, 1))
    cluster.kill(0)
    first = cluster.brokers[1].controller
    while first.life != ControllerState.LOADING:
        first.step()
    cluster.revive(0)
    cluster.tools.delete(znodes.CONTROLLER)
    second = cluster.brokers[0].controller
    while second.life != ControllerState.ACTIVE:
        second.step()
    mine = cluster.tools.exists(znodes.CONTROLLER)
    cluster.tools.delete(znodes.ISR_CHANGE_NOTIFICATION)  # which it is about to read
    first.session.events()
    while first.life == ControllerState.LOADING or first.agenda:
        first.step()
    return cluster.tools.exists(znodes.CONTROLLER) == mine


SHOWN: dict[str, Callable[[Spec], bool]] = {
    "KAFKA-7235-unseen-bounce": unseen_bounce,
    "KAFKA-7235-former-incarnation": former_incarnation,
    "KAFKA-13972": follower_stops,
    "KAFKA-1188": follower_is_behind,
    "KAFKA-708": last_isr_member,
    "KAFKA-5083": last_isr_member_where_unclean,
    "KAFKA-3143": dead_replica_and_controller,
    "KAFKA-7482": shutdown_is_told,
    "KAFKA-6082-unfenced-writes": unfenced_write,
    "KAFKA-6082-two-step-election": two_step_election,
    "KAFKA-6082-unconditional-delete": unconditional_delete,
}


@pytest.mark.parametrize("bug", list(SHOWN))
def test_the_switch_shows_the_bug(bug: str) -> None:
    """In one scenario, the bug's switch breaks its property, and `fixed` keeps it."""
    assert SHOWN[bug](FIXED)
    assert not SHOWN[bug](MODELS[f"zookeeper/{bug}"])


@pytest.mark.parametrize("name", ["KAFKA-9089", "late-deletion-answer"])
def test_fixed_keeps_what_a_switch_claims(name: str) -> None:
    """`fixed` keeps a claim that only its switch is checked for, at the same bounds, and meets its antecedent."""
    bug = CASE[name]
    spec = FIXED.replacing("zookeeper/claimed", "", properties=bug.claims)
    (bounds,) = [dict(one.values) for one in FIXED.bound_sets if one.name == bug.bounds]
    result = embedded.explore(spec, bounds, properties=bug.claims)

    assert result.complete and result.violated == []
    assert all(result.tested[claim.name] > 0 for claim in bug.claims)
