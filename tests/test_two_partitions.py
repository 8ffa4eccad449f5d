"""Two partitions of one topic in the control plane's model: what a controller does to one, and has not done to the other yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.decisions.election import Strategy
from kafka_spec.spec.language.domain import NONE, BrokerSet, pop_first
from kafka_spec.spec.machines.partition import PARTITION
from kafka_spec.spec.machines.replica import REPLICA
from kafka_spec.spec.vocabulary.table import Constants, Property, Spec, fire, invariant, reachable
from kafka_spec.spec.zookeeper.bounds import NO_EPOCH
from kafka_spec.spec.zookeeper.broker.requests import a_request_arrives
from kafka_spec.spec.zookeeper.controller.broker_changes import notice_broker_change
from kafka_spec.spec.zookeeper.controller.deletion_events import handle_answer
from kafka_spec.spec.zookeeper.controller.requested import ask_for_preferred_election, shut_broker_down
from kafka_spec.spec.zookeeper.controller.resignation import resign
from kafka_spec.spec.zookeeper.controller.stages import end_election, go_on, start_brokers
from kafka_spec.spec.zookeeper.controller.steps import bring_partition_online, take_replica_offline
from kafka_spec.spec.zookeeper.environment import end_process
from kafka_spec.spec.zookeeper.fixed import FIXED
from kafka_spec.spec.zookeeper.machines import Role
from kafka_spec.spec.zookeeper.messages import Answer, Kind
from kafka_spec.spec.zookeeper.network import a_batch_is_collected, send_batch, send_leader_and_isr
from kafka_spec.spec.zookeeper.state import ControllerStep, World
from kafka_spec.spec.zookeeper.znodes import end_session


def bounds_of(name: str, **changes: int) -> dict[str, int]:
    """Return named bounds, changed."""
    return {**next(bounds.values for bounds in FIXED.bound_sets if bounds.name == name), **changes}


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


def first_is_written_and_told_to_nobody(s: World, k: Constants) -> bool:
    """The first partition is written, its request waits in a batch, and the controller is about to create the second one."""
    for controller in range(k.brokers):
        own = s.controllers[controller]
        if own.step == ControllerStep.ELECT and own.context.turn == 1 and own.channels[0].unsent == 1:
            return True
    return False


def test_nothing_of_a_batch_arrives_before_its_end() -> None:
    """No broker acts on the first partition before the second is written: Kafka sends both at the end of the change of states."""
    early = reachable("Early", first_is_applied_before_second_is_written, "the first is applied, the second not written", "a test")
    between = reachable("Between", first_is_written_and_told_to_nobody, "the first is written, and waits", "a test")
    result = embedded.explore(replace(FIXED, properties=(early, between)), bounds_of("first_look", partitions=2))

    assert result.complete and result.violated == ["Early"]


def three_brokers(**changes: int) -> tuple[Constants, World]:
    """Return a settled cluster of three brokers, of which broker 0 is the controller and the leader."""
    bounds = bounds_of("first_look", brokers=3, replicas=3, settled=1, **changes)
    return FIXED.constants(bounds), next(w for w in oracle.Interpreter(FIXED, bounds).initial() if w.zookeeper.controller == 0)


def test_the_second_removal_of_a_batch_replaces_the_first() -> None:
    """Two followers die at once: the leader is told of the ISR without both, and never of the one without the first alone."""
    k, world = three_brokers()
    for broker in (1, 2):
        end_process(world, k, broker)
        end_session(world, broker)
    notice_broker_change(world, k, 0)
    channel = world.controllers[0].channels[0]
    (list_of_brokers,) = channel.requests

    take_replica_offline(world, k, 0)
    assert list_of_brokers.kind == Kind.UPDATE_METADATA and channel.unsent == 1
    assert [(one.leader_epoch, one.isr) for one in list(channel.requests)[1:]] == [(1, BrokerSet.of([0, 2]))]

    take_replica_offline(world, k, 0)
    assert world.zookeeper.partitions[0].state.leader_epoch == 2 and channel.unsent == 0
    assert [(one.leader_epoch, one.isr) for one in list(channel.requests)[1:]] == [(2, BrokerSet.of([0]))]


def test_a_batch_is_lost_with_its_controller() -> None:
    """A controller that resigns after the first of two removals has told nobody of it."""
    k, world = three_brokers(partitions=2)
    for known in world.controllers[0].context.partitions:
        known.leaving = BrokerSet.of([2])
    world.controllers[0].step = ControllerStep.REMOVE
    take_replica_offline(world, k, 0)
    channel = world.controllers[0].channels[1]
    assert (len(channel.requests), channel.unsent) == (1, 1) and not a_request_arrives(world, 0, 1)

    resign(world, k, 0)
    assert (len(channel.requests), channel.unsent) == (0, 0)


def every_batch_ends(s: World, k: Constants) -> bool:
    """Only a controller in the middle of a change of states has requests that it has not sent."""
    for controller in range(k.brokers):
        for broker in range(k.brokers):
            if s.controllers[controller].channels[broker].unsent > 0 and not a_batch_is_collected(s, controller):
                return False
    return True


@pytest.mark.parametrize("name", ["partitions_crash", "partitions_deleted"])
def test_every_batch_ends(name: str) -> None:
    """No change of states forgets to send what it collected, which would look like a cluster that is never quiet."""
    claim = invariant("EveryBatchEnds", every_batch_ends, "a batch ends with its change of states", "a test")
    assert embedded.explore(replace(FIXED, properties=(claim,)), bounds_of(name)).violated == []


def test_a_batch_is_sent_in_kafkas_order() -> None:
    """In a batch each LeaderAndIsr comes before each StopReplica, whatever was added first."""
    k, world = three_brokers(partitions=2)
    for known in world.controllers[0].context.partitions:
        known.leaving = BrokerSet.of([1, 2])
    world.controllers[0].step = ControllerStep.REMOVE
    for partition in range(2):
        take_replica_offline(world, k, 0)
        assert world.controllers[0].context.partitions[0].leaving == BrokerSet.of([2] if partition == 0 else [])
    take_replica_offline(world, k, 0)
    take_replica_offline(world, k, 0)

    reported = [(one.kind, one.partition) for one in world.controllers[0].channels[1].requests]
    assert reported == [(kind, partition) for kind in (Kind.LEADER_AND_ISR, Kind.STOP_REPLICA) for partition in range(2)]


@pytest.mark.parametrize(("preferred", "waiting"), [(0, 1), (1, 0)])
def test_a_rebalance_sends_for_each_preferred_broker(preferred: int, waiting: int) -> None:
    """The elections of a rebalance are one change of states if they prefer the same broker, and two if they do not."""
    k, world = three_brokers(partitions=2)
    context = world.controllers[0].context
    for known in context.partitions:
        known.strategy = Strategy.PREFERRED
    if preferred == 1:
        pop_first(context.partitions[1].assignment.replicas)
    world.controllers[0].step = ControllerStep.ELECT
    send_leader_and_isr(world, 0, 1, 0)
    end_election(world, k, 0)

    assert context.turn == 1 and world.controllers[0].channels[1].unsent == waiting


def test_a_broker_that_shuts_down_stops_following_after_the_elections() -> None:
    """A broker that leads one partition and follows in the other is told to stop when the first has another leader."""
    k, world = three_brokers(partitions=2)
    world.controllers[0].context.partitions[1].leadership.leader = world.zookeeper.partitions[1].state.leader = 1
    channel = world.controllers[0].channels[0]
    shut_broker_down(world, k, 0, 0)
    assert list(channel.requests) == []

    bring_partition_online(world, k, 0)
    reported = [(one.kind, one.partition) for one in channel.requests]
    assert reported == [(Kind.LEADER_AND_ISR, 0), (Kind.STOP_REPLICA, 1)] and channel.unsent == 0


def test_an_election_on_request_leaves_the_other_partition_alone() -> None:
    """A preferred election of one partition tries no other that is offline, as onReplicaElection of Kafka 2.8."""
    bounds = bounds_of("partitions_crash")
    k, (world, *_) = FIXED.constants(bounds), oracle.Interpreter(FIXED, bounds).initial()
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
    send_batch(s, k, controller)
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

    assert embedded.explore(replace(broken, properties=judged), bounds_of(name)).violated == [f"{claim}[partition=1]"]
    assert embedded.explore(replace(broken, properties=judged), bounds_of(name, partitions=1)).violated == []
