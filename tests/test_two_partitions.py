"""Two partitions of one topic in the control plane's model: what a controller does to one, and has not done to the other yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafka_spec.model_check import embedded, oracle
from kafka_spec.spec.control.bounds import NO_EPOCH
from kafka_spec.spec.control.controller.deletion_events import handle_answer
from kafka_spec.spec.control.controller.requested import ask_for_preferred_election
from kafka_spec.spec.control.controller.stages import end_election, go_on, start_brokers
from kafka_spec.spec.control.fixed import FIXED
from kafka_spec.spec.control.machines import Role
from kafka_spec.spec.control.messages import Answer
from kafka_spec.spec.control.state import ControllerStep, World
from kafka_spec.spec.domain import NONE, BrokerSet
from kafka_spec.spec.election import Strategy
from kafka_spec.spec.partition import PARTITION
from kafka_spec.spec.replica import REPLICA
from kafka_spec.spec.table import Constants, Property, Spec, fire, reachable


def bounds_of(name: str, **changes: int) -> dict[str, int]:
    """Return named bounds, changed."""
    return {**next(bounds.values for bounds in FIXED.bound_sets if bounds.name == name), **changes}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["first_look", "bounce"])
def test_both_engines_find_the_same(name: str) -> None:
    """With two partitions the oracle and the compiled search find the same states on the same levels, and the same verdicts."""
    bounds = bounds_of(name, partitions=2)
    one, other = oracle.explore(FIXED, bounds), embedded.explore(FIXED, bounds)

    assert (one.levels, one.fired, one.digest) == (other.levels, other.fired, other.digest)
    assert one.violated == other.violated == []


def test_the_partitions_share_nothing_else() -> None:
    """If nothing fails, two partitions are created, led and followed, and each has been written."""
    result = embedded.explore(FIXED, bounds_of("first_look", partitions=2))

    assert result.complete and result.fired["ElectLeader"] > 1 and result.fired["BecomeFollower"] > 1


def one_is_written_and_nobody_controls(s: World) -> bool:
    """The first partition has its new leader, the second does not, and there is no controller."""
    first, second = s.zookeeper.partitions[0].state, s.zookeeper.partitions[1].state
    return s.zookeeper.controller == NONE and first.leader_epoch > second.leader_epoch


def one_state_is_deleted_and_nobody_controls(s: World) -> bool:
    """The state znode of the first partition is deleted, that of the second is not, and there is no controller."""
    first, second = s.zookeeper.partitions[0].state, s.zookeeper.partitions[1].state
    return s.zookeeper.controller == NONE and first.leader_epoch < 0 <= second.leader_epoch


@pytest.mark.slow
@pytest.mark.parametrize(
    ("goal", "bounds"),
    [
        (one_is_written_and_nobody_controls, bounds_of("partitions_zombie", expiries=2, crashes=0)),
        (one_state_is_deleted_and_nobody_controls, bounds_of("partitions_deleted")),
    ],
    ids=lambda found: getattr(found, "__name__", ""),
)
def test_a_controller_dies_between_two_partitions(goal: Callable[[World], bool], bounds: dict[str, int]) -> None:
    """A controller that handles two partitions in one event can be gone after the first write and before the second."""
    wanted: Property = reachable("Between", goal, "one partition is done, the other is not", "a test")
    result = embedded.explore(replace(FIXED, properties=(wanted,)), bounds)

    assert result.violated == []


def first_is_applied_before_second_is_written(s: World, k: Constants) -> bool:
    """A broker leads the first partition, and the controller is about to create the second one in the same event."""
    for controller in range(k.brokers):
        own = s.controllers[controller]
        if own.step == ControllerStep.ELECT and own.context.turn == 1 and s.zookeeper.partitions[1].state.leader_epoch == NO_EPOCH:
            for broker in range(k.brokers):
                if s.brokers[broker].replicas[0].role == Role.LEADER:
                    return True
    return False


@pytest.mark.slow
def test_what_the_model_can_do_and_kafka_cannot() -> None:
    """The model can deliver the request of the first partition before the second is written; Kafka sends one at the end."""
    extra = reachable("Extra", first_is_applied_before_second_is_written, "the first is applied, the second not written", "a test")
    result = embedded.explore(replace(FIXED, properties=(extra,)), bounds_of("first_look", partitions=2))

    assert result.violated == []


def test_an_election_on_request_leaves_the_other_partition_alone() -> None:
    """A preferred election of one partition tries no other that is offline, as onReplicaElection of Kafka 2.8."""
    bounds = bounds_of("partitions_crash")
    k, (world, *_) = FIXED.constants(bounds), oracle.ExecutableSpec(FIXED, bounds).initial()
    own = world.controllers[0]
    fire(world, k, PARTITION, (0, 0), "offline_partition")
    ask_for_preferred_election(world, k, 0, 1)

    assert (own.step, own.context.turn) == (ControllerStep.ELECT, 1)
    end_election(world, k, 0)
    assert own.step == ControllerStep.REMOVE and own.context.turn == 0

    start_brokers(world, k, 0, BrokerSet.of([1]))
    assert (own.step, own.context.turn) == (ControllerStep.ELECT, 0)


# ---------------------------------------------------------------------------------------------------------------------
# What a mistake about the second partition breaks


def elect_the_first_alone(s: World, k: Constants, controller: int) -> None:
    """Bring the first partition online, and forget the other."""
    context = s.controllers[controller].context
    fire(s, k, PARTITION, (controller, context.turn), "online_partition")
    context.partitions[context.turn].strategy = Strategy.OFFLINE
    context.turn = 0
    s.controllers[controller].step = ControllerStep.REMOVE
    go_on(s, k, controller)


def take_one_answer_for_both(s: World, k: Constants, controller: int, broker: int, partition: int) -> None:
    """Enter the replicas of both partitions as deleted, though the broker has deleted one."""
    if s.controllers[controller].channels[broker].answers[partition] == Answer.DELETED:
        for other in range(k.partitions):
            fire(s, k, REPLICA, (controller, other, broker), "replica_deletion_successful")
    handle_answer(s, k, controller, broker, partition)


def with_effect(rule: str, effect: Callable[..., None]) -> Spec:
    """Return `fixed` with another effect of one rule."""
    return replace(FIXED, rules=tuple(replace(one, effects=(effect,)) if one.name == rule else one for one in FIXED.rules))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "effect", "name", "claim"),
    [
        ("ElectLeader", elect_the_first_alone, "partitions_crash", "QuietLeaderIsRegistered"),
        ("HandleStopReplicaAnswer", take_one_answer_for_both, "partitions_deleted", "DeletedIsGone"),
    ],
)
def test_a_mistake_about_the_second_partition_is_found(rule: str, effect: Callable[..., None], name: str, claim: str) -> None:
    """A controller that forgets the second partition breaks a promise; with one partition it breaks none."""
    broken = with_effect(rule, effect)
    judged = tuple(one for one in FIXED.properties if one.name == claim)

    assert embedded.explore(replace(broken, properties=judged), bounds_of(name)).violated == [claim]
    assert embedded.explore(replace(broken, properties=judged), bounds_of(name, partitions=1)).violated == []
