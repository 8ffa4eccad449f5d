"""The controller of spec/kraft, request by request: what Kafka's own classes showed of it, and the promises that are judged there.

tests/test_conformance.py compares both sides where Kafka's jars are; nothing here needs them.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafka_spec.conformance.kafka_classes.kraft_ours import NO_PARTITION, KRaftPartition, KRaftView, OurKRaft
from kafka_spec.conformance.kafka_classes.kraft_promises import Setting, broken, within_replicas
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.language.domain import NONE

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


def test_a_preferred_election_completes_a_reassignment() -> None:
    """A reassignment that an election made complete ends with the next preferred election, although the leader stays."""
    ours = OurKRaft("4.4.0", 2, 2, unclean=False, elr=True)
    assert ours.alter_partition(0, 0, 0, 0, [(0, 0)])[0] == "NONE"
    assert ours.reassign([1]) == ours.reassign([0, 1]) == "NONE"
    assert ours.fire("FenceAlive", broker=0)
    held = ours.view().partition
    assert (held.replicas, held.leader, held.isr, held.removing) == ((0, 1), 1, (1,), (0,))
    assert ours.fire("ElectPreferred")
    assert ours.view().partition.replicas == (1,)
    assert not ours.fire("ElectPreferred"), "the preferred replica leads"


def test_a_reassignment_that_an_election_makes_complete_waits() -> None:
    """The reassignment goes on after the election of its target, until an operator asks for the same again."""
    ours = OurKRaft("4.4.0", 2, 2, unclean=False, elr=True)
    assert ours.alter_partition(0, 0, 0, 0, [(0, 0)])[0] == "NONE" and ours.reassign([1]) == "NONE"
    assert ours.fire("FenceAlive", broker=0) and not ours.fire("ElectPreferred")
    held = ours.view().partition
    assert (held.replicas, held.leader, held.isr, held.removing) == ((1, 0), 1, (1,), (0,))
    assert ours.reassign([1]) == "NONE" and ours.view().partition.replicas == (1,)


@pytest.mark.parametrize(("version", "leader"), [(OLD, 0), ("4.4.0", NONE)])
def test_an_unclean_election_where_nobody_is_active(version: str, leader: int) -> None:
    """An unclean election on request elects a last known leader that is fenced; since 4.1 it elects nobody (KAFKA-19522)."""
    ours = OurKRaft(version, 2, 1, unclean=False, elr=True, spares=1)
    assert ours.fire("FenceAlive", broker=1)
    assert ours.fire("Crash", broker=0) and ours.fire("StartBroker", broker=0)
    assert ours.view().partition.last_known_leader == 0
    assert ours.fire("ElectUnclean") == (leader == 0)
    assert ours.view().partition.leader == leader


def test_a_member_of_the_elr_that_is_no_replica_is_added_if_it_is_fenced() -> None:
    """Without a leader a reassignment fails if it adds an active member of the ELR; one that is fenced it adds."""
    ours = OurKRaft("4.4.0", 3, 3, unclean=False, elr=True)
    assert ours.fire("FenceAlive", broker=1) and ours.reassign([0]) == "NONE" and ours.fire("FenceAlive", broker=0)
    assert ours.view().partition.elr == (0, 1, 2)
    assert ours.reassign([0, 2]) == "UNKNOWN_SERVER_ERROR"
    assert ours.reassign([0, 1]) == "NONE"
    assert (ours.view().partition.replicas, ours.view().partition.adding) == ((0, 1), (1,))


def test_operators_are_answered() -> None:
    """Reassignments, cancellations, deletions and creations are done, or refused by their error."""
    ours = OurKRaft("4.4.0", 3, 1, unclean=False, elr=False, spares=2)
    assert (ours.cancel(), ours.reassign([]), ours.create_topic()) == (
        "NO_REASSIGNMENT_IN_PROGRESS",
        "INVALID_REPLICA_ASSIGNMENT",
        "TOPIC_ALREADY_EXISTS",
    )
    assert ours.reassign([1]) == "NONE"
    assert ours.alter_partition(0, 0, 0, 1, [(0, 0), (1, 0)]) == ("NEW_LEADER_ELECTED",)
    assert (ours.view().partition.replicas, ours.view().partition.leader) == ((1,), 1)
    assert ours.reassign([1, 2]) == "NONE" and ours.view().partition.adding == (2,)
    assert ours.cancel() == "NONE" and ours.view().partition.replicas == (1,)
    assert ours.delete_topic() == "NONE" and (ours.view().partition, ours.view().topic) == (NO_PARTITION, NONE)
    assert ours.delete_topic() == "UNKNOWN_TOPIC_ID" and ours.cancel() == ours.reassign([1]) == "UNKNOWN_TOPIC_OR_PARTITION"
    assert ours.alter_partition(1, 0, 0, 0, [(1, 0)]) == ("UNKNOWN_TOPIC_ID",)
    assert ours.fire("FenceAlive", broker=0) and ours.create_topic() == "INVALID_REPLICA_ASSIGNMENT"
    assert ours.fire("Unfence", broker=0) and ours.create_topic() == "NONE" and ours.view().topic == 1


GOOD = KRaftView(((BrokerState.UNFENCED, 0),) * 3, KRaftPartition((0, 1, 2), 0, (0,), (1,), leader_epoch=4, partition_epoch=7))
SETTING = Setting(3, 2, unclean=False, elr=True)


@pytest.mark.parametrize(
    ("changed", "promise"),
    [
        ({"leader": 2, "leader_epoch": 5}, "LeaderInIsr"),
        ({"isr": ()}, "LeaderInIsr"),
        ({"isr": (0, 1)}, "ElrBesideSmallIsr"),
        ({"elr": (0,)}, "ElrBesideSmallIsr"),
        ({"elr": (1, 5)}, "ListsNameReplicas"),
        ({"elr": (1, 1)}, "ListsNameReplicas"),
        ({"adding": (3,)}, "ListsNameReplicas"),
        ({"removing": (3,)}, "ListsNameReplicas"),
        ({"replicas": (0, 1)}, "ChangesHaveTheirEpochs"),
        ({"partition_epoch": 7, "adding": (2,)}, "ChangesHaveTheirEpochs"),
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


def test_promises_about_topics() -> None:
    """Another topic begins with its own epochs; no topic breaks no promise."""
    first = replace(GOOD, partition=replace(GOOD.partition, leader_epoch=0, partition_epoch=0), topic=1)
    gone = replace(GOOD, partition=NO_PARTITION, topic=NONE)
    setting = replace(SETTING, elr=False)
    assert broken(SETTING, GOOD, first) == [] and broken(setting, GOOD, gone) == []
    assert "EpochsNeverGoBack" in broken(SETTING, GOOD, replace(first, topic=0))


def test_only_the_elr_may_name_others() -> None:
    """What is known of elr-outside-replicas hides no other list that names a broker that is no replica."""
    held = replace(GOOD.partition, isr=(0, 3), elr=(1, 4), adding=(5,))
    assert within_replicas(held) == replace(held, elr=(1,))
