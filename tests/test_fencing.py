"""The gates of a broker, as tables of cases: which request it refuses, with which of Kafka's error codes."""

from __future__ import annotations

import pytest

from kafka_spec.spec.decisions.fencing import (
    answer_to_fetch_epoch,
    answer_to_leader_and_isr,
    answer_to_request,
    answer_to_stop_replica,
    epoch_after_change,
    fetch_is_of_registration,
    fetch_is_outdated,
    fetch_is_stale,
    has_bounced,
    isr_write_took_effect,
    leader_epoch_in_fetch,
    leader_is_available,
    state_may_be_replaced,
)
from kafka_spec.spec.decisions.variants import BadVersionHandling, Checked, EpochWatch, StopReplicaEpoch
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import BrokerSet


def test_error_codes() -> None:
    """The codes are Kafka's."""
    codes = {code.name: int(code) for code in ErrorCode}

    assert codes == codes | {
        "NONE": 0,
        "UNKNOWN_TOPIC_OR_PARTITION": 3,
        "STALE_CONTROLLER_EPOCH": 11,
        "FENCED_LEADER_EPOCH": 74,
        "UNKNOWN_LEADER_EPOCH": 75,
        "STALE_BROKER_EPOCH": 77,
    }


REQUESTS = [
    # controller epoch of request, seen; broker epoch of request, own -> answer
    (5, 5, 3, 3, 0),  # the same controller, the same registration
    (5, 5, -1, 3, 0),  # a controller that sends no broker epoch
    (6, 5, 3, 3, 0),  # a newer controller
    (4, 5, 3, 3, 11),  # an older controller
    (1, 0, 3, 3, 0),  # a broker that has just started takes the first epoch it sees
    (5, 5, 2, 3, 77),  # meant for an earlier registration
    (5, 5, 4, 3, 0),  # the broker has not learned its new registration yet: a larger epoch passes
    (4, 5, 2, 3, 77),  # both are stale: the broker epoch is looked at first
    (4, 5, 4, 3, 11),
    (6, 5, 2, 3, 77),
]


@pytest.mark.parametrize(("epoch", "seen", "broker_epoch", "own", "answer"), REQUESTS)
def test_whole_requests(epoch: int, seen: int, broker_epoch: int, own: int, answer: int) -> None:
    """LeaderAndIsr, UpdateMetadata and StopReplica pass the same two gates: broker epoch, then controller epoch."""
    assert answer_to_request(epoch, seen, Checked.YES, broker_epoch, own, Checked.YES) == answer


@pytest.mark.parametrize(("epoch", "seen", "broker_epoch", "own", "answer"), REQUESTS)
def test_eras_without_a_gate(epoch: int, seen: int, broker_epoch: int, own: int, answer: int) -> None:
    """Before 2.2 no broker epoch is compared, before 0.8 no controller epoch; the other gate is unchanged."""
    without_generation = answer_to_request(epoch, seen, Checked.YES, broker_epoch, own, Checked.NO)
    without_controller = answer_to_request(epoch, seen, Checked.NO, broker_epoch, own, Checked.YES)

    assert without_generation == (11 if epoch < seen else 0)
    assert without_controller == (77 if answer == 77 else 0)
    assert answer_to_request(epoch, seen, Checked.NO, broker_epoch, own, Checked.NO) == 0


@pytest.mark.parametrize(
    ("leader_epoch", "current", "assigned", "answer"),
    [
        (0, -1, 1, 0),  # a replica that has received no epoch: created now
        (5, 4, 1, 0),
        (9, 4, 1, 0),
        (5, 4, 0, 3),  # a newer epoch, but the broker is not a replica
        (0, -1, 0, 3),
        (4, 4, 1, 11),  # already known
        (3, 4, 1, 11),  # older
        (4, 4, 0, 11),  # the epoch is looked at before the assignment
        (3, 4, 0, 11),
    ],
)
def test_leader_and_isr(leader_epoch: int, current: int, assigned: int, answer: int) -> None:
    """A partition of a LeaderAndIsr is accepted only under a larger leader epoch, by an assigned broker."""
    assert answer_to_leader_and_isr(leader_epoch, current, assigned) == answer


@pytest.mark.parametrize(
    ("leader_epoch", "current", "from_3_5", "from_2_6", "before_2_6"),
    [
        (-1, 4, 0, 0, 0),  # no epoch supplied
        (-2, 4, 0, 0, 0),  # the topic is being deleted
        (-1, -1, 0, 0, 0),
        (5, 4, 0, 0, 0),
        (4, 4, 0, 74, 0),  # equal: refused from 2.6 to 3.4 (KAFKA-13972)
        (3, 4, 74, 74, 0),
        (0, -1, 0, 0, 0),
    ],
)
def test_stop_replica(leader_epoch: int, current: int, from_3_5: int, from_2_6: int, before_2_6: int) -> None:
    """A hosted replica is stopped unless the request's leader epoch is older, as the era reckons."""
    assert answer_to_stop_replica(leader_epoch, current, StopReplicaEpoch.AT_LEAST) == from_3_5
    assert answer_to_stop_replica(leader_epoch, current, StopReplicaEpoch.LARGER) == from_2_6
    assert answer_to_stop_replica(leader_epoch, current, StopReplicaEpoch.NONE) == before_2_6


@pytest.mark.parametrize(("epoch", "answer"), [(5, 0), (4, 74), (6, 75), (-1, 0)])
def test_fetches(epoch: int, answer: int) -> None:
    """A leader in epoch 5 fences an older epoch, rejects a newer one, and accepts its own and none; an old era accepts all."""
    assert answer_to_fetch_epoch(epoch, 5, Checked.YES) == answer
    assert answer_to_fetch_epoch(epoch, 5, Checked.NO) == ErrorCode.NONE


def test_what_a_fetch_carries() -> None:
    """A fetch carries its sender's leader epoch in eras whose leaders compare it, and none before."""
    assert leader_epoch_in_fetch(5, Checked.YES) == 5
    assert leader_epoch_in_fetch(5, Checked.NO) == -1


@pytest.mark.parametrize(
    ("broker_epoch", "registered", "passes"),
    [(7, 7, True), (6, 7, False), (8, 7, False), (7, -1, False), (-1, -1, False)],
)
def test_generations_of_fetches(broker_epoch: int, registered: int, passes: bool) -> None:
    """A fetch is of the registered process under exactly its broker epoch; old eras pass all."""
    assert fetch_is_of_registration(broker_epoch, registered, Checked.YES) == passes
    assert fetch_is_of_registration(broker_epoch, registered, Checked.NO)


@pytest.mark.parametrize(("broker_epoch", "latest", "outdated"), [(6, 7, True), (7, 7, False), (8, 7, False)])
def test_outdated_fetches(broker_epoch: int, latest: int, outdated: bool) -> None:
    """A fetch with a smaller broker epoch than an earlier one is outdated, if the era compares broker epochs."""
    assert fetch_is_outdated(broker_epoch, latest, Checked.YES) == outdated
    assert not fetch_is_outdated(broker_epoch, latest, Checked.NO)


@pytest.mark.parametrize(
    ("broker_epoch", "cached", "is_unfenced", "stale"),
    [(6, 7, 1, True), (6, 7, 0, False), (7, 7, 1, False), (8, 7, 1, False), (-1, 7, 1, False)],
)
def test_stale_fetches(broker_epoch: int, cached: int, is_unfenced: int, stale: bool) -> None:
    """A fetch of an earlier process than the one that the cache has unfenced is stale, if the era compares broker epochs."""
    assert fetch_is_stale(broker_epoch, cached, is_unfenced, Checked.YES) == stale
    assert not fetch_is_stale(broker_epoch, cached, is_unfenced, Checked.NO)


def test_leaders_to_follow() -> None:
    """A follower can follow a leader among the live brokers; a missing leader is not among them."""
    alive = BrokerSet.of((0, 2))
    assert [leader_is_available(leader, alive) for leader in (-1, 0, 1, 2)] == [False, True, False, True]


def test_what_is_found_in_zookeeper() -> None:
    """A larger broker epoch is a bounce; a controller writes over its own epoch and older ones; 0.8.1 adopts a newer epoch."""
    assert [has_bounced(epoch, 5, Checked.YES) for epoch in (4, 5, 6)] == [False, False, True]
    assert not any(has_bounced(epoch, 5, Checked.NO) for epoch in (4, 5, 6))
    assert [state_may_be_replaced(epoch, 5) for epoch in (4, 5, 6)] == [True, True, False]
    assert [epoch_after_change(5, newest, EpochWatch.ADOPTED) for newest in (4, 5, 6)] == [5, 5, 6]
    assert [epoch_after_change(5, newest, EpochWatch.IGNORED) for newest in (4, 5, 6)] == [5, 5, 5]


def test_isr_writes_that_met_another_version() -> None:
    """Such a write succeeds if the znode is read back and has the written content."""
    assert isr_write_took_effect(1, BadVersionHandling.READ_BACK)
    assert not isr_write_took_effect(0, BadVersionHandling.READ_BACK)
    assert not isr_write_took_effect(1, BadVersionHandling.SKIPPED)
