"""The decisions of a reassignment: origin and target, when it is complete, when the leader moves, what is imbalanced."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafka_spec.spec.decisions.fencing import EPOCH_DURING_DELETE, answer_to_stop_replica, leader_epoch_in_stop_replica
from kafka_spec.spec.decisions.reassignment import (
    PartitionAssignment,
    changes_nothing,
    leader_has_to_move,
    leader_is_imbalanced,
    target_is_in_isr,
)
from kafka_spec.spec.decisions.variants import Reassignment, StopReplicaEpoch
from kafka_spec.spec.language.domain import NONE, BrokerSet

BROKERS = st.lists(st.integers(0, 5), min_size=1, max_size=4, unique=True).map(tuple)


def test_a_move_and_its_override() -> None:
    """A reassignment lists its target first; another one keeps the origin; back to the origin nothing is added or removed."""
    moving = PartitionAssignment((1, 2)).reassigned_to((2, 3))
    assert moving == PartitionAssignment((2, 3, 1), (3,), (1,))
    assert (moving.origin, moving.target, moving.is_being_reassigned) == ((2, 1), (2, 3), True)
    assert moving.reassigned_to((4,)) == PartitionAssignment((4, 2, 1), (4,), (2, 1))
    cancelled = moving.reassigned_to(moving.origin)
    assert cancelled == PartitionAssignment((2, 1))
    assert not cancelled.is_being_reassigned
    assert moving.without(3) == PartitionAssignment((2, 1), (), (1,))


@given(BROKERS, st.lists(BROKERS, min_size=1, max_size=4))
def test_any_chain_of_reassignments(origin: tuple[int, ...], targets: list[tuple[int, ...]]) -> None:
    """Whatever is asked for, one after the other: the last target is the target in its order, the origin stays as a set."""
    held = PartitionAssignment(origin)
    for target in targets:
        held = held.reassigned_to(target)
        assert held.target == target
        assert set(held.origin) == set(origin)
        assert set(held.replicas) == set(origin) | set(target)
        assert set(held.adding) == set(target) - set(origin)
        assert set(held.removing) == set(origin) - set(target)
        assert len(set(held.replicas)) == len(held.replicas)


@given(BROKERS, BROKERS, BROKERS, BROKERS, st.integers(-1, 5))
def test_complete_and_led(
    assigned: tuple[int, ...], target: tuple[int, ...], isr: tuple[int, ...], live: tuple[int, ...], leader: int
) -> None:
    """It is complete when the target is in the ISR, or since 2.4 if no replica changes; a leader of the target that lives stays."""
    wanted, held = BrokerSet.of(target), BrokerSet.of(assigned)
    assert target_is_in_isr(wanted, BrokerSet.of(isr)) == (set(target) <= set(isr))
    assert changes_nothing(held, BrokerSet(), wanted, Reassignment.KIP_455) == (set(target) == set(assigned))
    assert not changes_nothing(held, BrokerSet.of(assigned[:1]), wanted, Reassignment.KIP_455)
    assert not changes_nothing(held, BrokerSet(), held, Reassignment.ENLARGED_ASSIGNMENT)
    stays = leader != NONE and leader in target and leader in live
    assert leader_has_to_move(leader, wanted, BrokerSet.of(live)) == (not stays)


def test_imbalance() -> None:
    """More than the percentage of the partitions that prefer a broker have to be led elsewhere: ten of a hundred are not enough."""
    assert not leader_is_imbalanced(100, 10, 10)
    assert leader_is_imbalanced(100, 11, 10)
    assert leader_is_imbalanced(1, 1, 10)
    assert not leader_is_imbalanced(0, 0, 0)


def test_the_epoch_of_a_deletion_passes_every_gate() -> None:
    """A StopReplica of a queued topic carries a mark that brokers of every era accept, whatever epoch they know."""
    assert leader_epoch_in_stop_replica(7, 0) == 7
    assert leader_epoch_in_stop_replica(7, 1) == EPOCH_DURING_DELETE
    assert {answer_to_stop_replica(EPOCH_DURING_DELETE, 9, era) for era in StopReplicaEpoch} == {0}
