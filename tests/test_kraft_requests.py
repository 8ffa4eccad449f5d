"""The controller of spec/kraft, request by request: what Kafka's own classes showed of it, and the promises that are judged there.

tests/test_conformance.py compares both sides where Kafka's jars are; nothing here needs them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_spec.conformance.classes.kraft_ours import KRaftPartition, KRaftView, OurKRaft
from kafka_spec.conformance.classes.kraft_promises import Setting, broken
from kafka_spec.spec.domain import NONE
from kafka_spec.spec.kraft.machines import BrokerState

OLD = "3.9.1"
"""A version in which a broker that registers anew stays in the ISR, without the ELR (KAFKA-18106)."""


def leader_that_registered_anew() -> OurKRaft:
    """Return a controller whose only ISR member leads, and is fenced: its process crashed and came back in time."""
    ours = OurKRaft(OLD, 2, 1, unclean=False, elr=False)
    assert ours.fire("FenceAlive", broker=1)
    assert ours.fire("Crash", broker=0) and ours.fire("StartBroker", broker=0)
    held = ours.view().partition
    assert (held.leader, held.isr, ours.states()[0]) == (0, (0,), BrokerState.FENCED)
    return ours


def test_a_preferred_election_removes_a_leader_that_is_not_active() -> None:
    """A preferred election of a partition whose leader is fenced leaves it without a leader, unless that is the preferred one."""
    assert not leader_that_registered_anew().fire("ElectPreferred"), "the preferred replica leads"
    ours = OurKRaft(OLD, 2, 1, unclean=False, elr=False)
    assert ours.fire("FenceAlive", broker=0)
    assert ours.fire("Crash", broker=1) and ours.fire("StartBroker", broker=1)
    assert ours.view().partition.leader == 1
    assert ours.fire("ElectPreferred")
    assert (ours.view().partition.leader, ours.view().partition.isr) == (NONE, (1,))


def test_a_fenced_member_of_the_isr_is_fenced_once_more_when_it_stops() -> None:
    """The answer that lets a fenced broker go takes its leadership, if it still has one."""
    ours = leader_that_registered_anew()
    assert ours.fire("ShutDown", broker=0) and ours.fire("Exit", broker=0)
    assert (ours.view().partition.leader, ours.view().partition.isr) == (NONE, (0,))


def test_a_proposal_is_answered() -> None:
    """A proposal of the leader with current epochs is accepted; with another epoch, sender or member it is refused by its error."""
    ours = OurKRaft("4.4.0", 3, 2, unclean=False, elr=True)
    assert ours.alter_partition(0, 0, 0, 0, [(0, 0), (1, 0)]) == ("NONE", 0, 1, (0, 1))
    assert ours.alter_partition(0, 0, 0, 0, [(0, 0)]) == ("INVALID_UPDATE_VERSION",)
    assert ours.alter_partition(0, 0, 1, 1, [(0, 0)]) == ("NOT_CONTROLLER",)
    assert ours.alter_partition(1, 0, 0, 1, [(0, 0), (1, 0)]) == ("INVALID_REQUEST",)
    assert ours.alter_partition(0, 3, 0, 1, [(0, 0)]) == ("STALE_BROKER_EPOCH",)
    assert ours.alter_partition(0, 0, 0, 1, [(0, 0), (1, 0), (2, 5)]) == ("INELIGIBLE_REPLICA",)
    assert ours.fire("FenceAlive", broker=2)
    assert ours.alter_partition(0, 0, 0, 1, [(0, 0), (1, 0), (2, NONE)]) == ("INELIGIBLE_REPLICA",)


GOOD = KRaftView(((BrokerState.UNFENCED, 0),) * 3, KRaftPartition((0, 1, 2), 0, (0,), (1,), leader_epoch=4, partition_epoch=7))
SETTING = Setting(3, 2, unclean=False, elr=True)


@pytest.mark.parametrize(
    ("changed", "promise"),
    [
        ({"leader": 2, "leader_epoch": 5}, "LeaderInIsr"),
        ({"isr": ()}, "LeaderInIsr"),
        ({"isr": (0, 1)}, "ElrBesideSmallIsr"),
        ({"elr": (0,)}, "ElrBesideSmallIsr"),
        ({"elr": (1, 5)}, "ReplicasListed"),
        ({"elr": (1, 1)}, "ReplicasListed"),
        ({"leader_epoch": 3}, "EpochsNeverGoBack"),
        ({"partition_epoch": 7, "elr": ()}, "ChangesHaveTheirEpochs"),
        ({"leader": NONE}, "ChangesHaveTheirEpochs"),
    ],
)
def test_promises_about_the_partition(changed: dict[str, object], promise: str) -> None:
    """Each promise is broken by a partition that breaks it, and by none that a step leaves as it was."""
    assert broken(SETTING, GOOD, GOOD) == []
    now = replace(GOOD, partition=replace(GOOD.partition, **{"partition_epoch": 8, **changed}))  # type: ignore[arg-type]
    assert promise in broken(SETTING, GOOD, now)


def test_promises_about_brokers() -> None:
    """A leader or an ISR member that is fenced breaks a promise; without the ELR the last member of the ISR may be."""
    fenced = replace(GOOD, registrations=((BrokerState.FENCED, 0), *GOOD.registrations[1:]))
    assert broken(SETTING, GOOD, fenced) == ["LeaderIsActive", "IsrIsActive"]
    last = replace(fenced, partition=replace(GOOD.partition, elr=()))
    assert "IsrIsActive" not in broken(replace(SETTING, elr=False), last, last)
