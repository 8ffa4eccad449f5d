"""The exhaustive comparison of KRaft's controller, without Java: our rules on both sides, alike or with another decision."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_spec.conformance.kafka_classes.comparison import Comparison
from kafka_spec.conformance.kafka_classes.kraft_ours import KRaftPartition, KRaftView
from kafka_spec.conformance.kafka_classes.kraft_promises import Setting
from kafka_spec.conformance.kafka_classes.kraft_state_search import (
    FAILED,
    OurState,
    StateRequest,
    StateSearch,
    requests,
    settings,
    with_first_epochs,
)
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.language.domain import NONE

UNFENCED, FENCED = (BrokerState.UNFENCED, 0), (BrokerState.FENCED, 0)


def state(version: str, setting: Setting) -> OurState:
    """Return a side with the decisions of a version of Kafka."""
    return OurState(version, setting.brokers, setting.min_isr, setting.unclean, setting.elr, setting.spares)


def search(one: str, other: str, setting: Setting, most: int = 100_000) -> Comparison:
    """Return the comparison of two versions."""
    comparison = Comparison()
    StateSearch(state(one, setting), state(other, setting), comparison, setting).run(most)
    return comparison


@pytest.mark.parametrize("setting", [Setting(2, 2, unclean=False, elr=True), Setting(2, 1, unclean=True, elr=True)], ids=str)
def test_equal_sides_agree_in_every_state(setting: Setting) -> None:
    """Loading a state and taking a request is a function: the same on both sides, in all states of two brokers."""
    comparison = search("4.3.1", "4.3.1", setting)

    assert comparison.different == 0
    assert comparison.seen[next(name for name in comparison.seen if "all" in name)] == comparison.cases > 5_000
    assert {name.partition(":")[0] for name in comparison.seen if ": changes" in name} == {
        "fence", "unfence", "shut down", "start after a crash", "start in order",
        "alter", "elect preferred", "elect uncleanly", "cancel", "reassign",
    }  # fmt: skip


def test_another_decision_is_a_difference() -> None:
    """Two versions that complete reassignments otherwise differ, and the difference names the state and the request."""
    comparison = search("4.1.2", "4.3.1", Setting(3, 2, unclean=False, elr=True), most=6_000)

    assert comparison.different > 0
    assert any("reassign" in one.case for one in comparison.differences)


def test_a_loaded_state_is_what_was_asked_for() -> None:
    """Every field of a view is loaded, also one that no initial state has."""
    partition = KRaftPartition((1, 0, 2), NONE, (), (0, 2), 1, 1, 5, 7, (2,), (0,))
    view = KRaftView(((BrokerState.CONTROLLED_SHUTDOWN, 0), FENCED, UNFENCED), partition, 0)
    ours = state("4.3.1", Setting(3, 2, unclean=False, elr=True))
    ours.load(view)

    assert ours.view() == view
    assert ours.images() == 1


def test_a_request_is_taken_from_the_loaded_state_alone() -> None:
    """What one request changed is gone when the next state is loaded."""
    ours = state("4.3.1", Setting(2, 2, unclean=False, elr=True))
    first = with_first_epochs(ours.view())
    for request in requests(first):
        ours.load(first)
        assert ours.view() == first
        ours.take(request)
    ours.load(first)
    ours.take(StateRequest("fence", 1))

    assert ours.view().partition == replace(first.partition, isr=(0,), elr=(1,), partition_epoch=6)


def test_a_leader_that_is_not_a_replica_fails() -> None:
    """Kafka asks for the directory of an active broker that it elects; a last known leader that was removed has none."""
    removed = KRaftPartition((0,), NONE, (0,), (), 1, 1, 5, 5)
    ours = state("4.3.1", Setting(2, 1, unclean=True, elr=True))
    ours.load(KRaftView((FENCED, UNFENCED), removed, 0))
    before = ours.view()

    assert ours.take(StateRequest("start after a crash", 0)) == FAILED
    assert ours.view() == before


def test_every_setting_is_searched_once() -> None:
    """Two brokers come first; each min.insync.replicas, with and without unclean elections and the ELR."""
    found = list(settings())

    assert len(found) == len(set(found)) == 8 + 12
    assert [setting.brokers for setting in found] == sorted(setting.brokers for setting in found)
