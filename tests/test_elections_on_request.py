"""Elections that somebody asks for: unclean ones by an operator, preferred ones by the controller's own timer."""

from __future__ import annotations

from typing import Any

import pytest
from test_reassignment import Moving, P, Q
from test_topic_deletion import KEPT, Rested

from kafka_spec.impl.protocol.data_requests import ElectLeadersRequest
from kafka_spec.impl.protocol.errors import ErrorCode
from kafka_spec.impl.protocol.settings import Settings
from kafka_spec.impl.protocol.topic_partition import TopicPartition


def elect(cluster: Any, unclean: bool, *partitions: TopicPartition) -> dict[TopicPartition, ErrorCode]:
    """Ask the controller for elections; return the answers."""
    answers: list[Any] = []
    cluster.brokers[cluster.active.controller_id].serve(ElectLeadersRequest(partitions, unclean), answers.append)
    cluster.rest()
    return dict(answers[0].partitions)


def test_an_unclean_election_is_asked_for() -> None:
    """A partition whose ISR is dead gets a leader from outside the ISR only when an operator asks, whatever the configuration."""
    cluster = Rested()
    cluster.crash(2)
    cluster.rest()
    cluster.crash(1)
    cluster.start(2)
    cluster.rest()
    held = cluster.leadership(P)
    assert held is not None
    assert (held.leader, held.isr) == (-1, (1,))
    unknown = TopicPartition("nowhere", 0)

    assert elect(cluster, False, P) == {P: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE}
    assert elect(cluster, True, P, KEPT, unknown) == {
        P: ErrorCode.NONE,
        KEPT: ErrorCode.ELECTION_NOT_NEEDED,
        unknown: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    held = cluster.leadership(P)
    assert held is not None
    assert (held.leader, held.isr) == (2, (2,))
    assert cluster.active.unclean_elections == [P]


def test_nobody_is_left_for_an_unclean_election() -> None:
    """If all replicas are dead, even an unclean election finds nobody."""
    cluster = Rested()
    for number in (1, 2):
        cluster.crash(number)
        cluster.rest()
    assert elect(cluster, True, P) == {P: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE}


def test_a_live_member_of_the_isr_comes_first() -> None:
    """Asked for an unclean election while a member of the ISR is live, the controller elects that member."""
    cluster = Rested()
    cluster.crash(1)
    cluster.rest()
    assert elect(cluster, True, P) == {P: ErrorCode.ELECTION_NOT_NEEDED}
    held = cluster.leadership(P)
    assert held is not None
    assert (held.leader, held.isr) == (2, (2,))


class Balanced(Moving):
    """A cluster whose controllers rebalance leaders."""

    def __init__(self, **settings: Any) -> None:
        self.wanted = Settings(auto_leader_rebalance_enable=True, **settings)
        super().__init__()

    def process(self, *arguments: Any) -> Any:
        self._settings = self.wanted
        return super().process(*arguments)

    def leaders(self) -> tuple[int, ...]:
        """Return the leaders of both partitions."""
        found = [self.leadership(partition) for partition in (P, Q)]
        return tuple(held.leader for held in found if held is not None)

    def let_pass(self, seconds: float) -> None:
        """Let time pass on every broker."""
        self.now += seconds
        for broker in self.brokers.values():
            broker.tick()
        self.work(3)


def test_leaders_are_rebalanced() -> None:
    """When a broker is back in the ISRs, the timer gives it the partitions that prefer it, and not before the interval."""
    cluster = Balanced()
    cluster.crash(1)
    cluster.work()
    assert cluster.leaders() == (2, 2)
    cluster.start(1)
    cluster.work()
    cluster.let_pass(0.0)
    cluster.let_pass(1.0)
    assert cluster.leaders() == (2, 2)
    cluster.let_pass(1.0)
    assert cluster.leaders() == (1, 2)
    cluster.crash(1)
    cluster.work()
    cluster.start(1)
    cluster.work()
    cluster.let_pass(200.0)
    assert cluster.leaders() == (2, 2)
    cluster.let_pass(100.0)
    assert cluster.leaders() == (1, 2)


@pytest.mark.parametrize("hindered", ["percentage", "reassignment", "ISR", "disabled"])
def test_what_hinders_a_rebalance(hindered: str) -> None:
    """Nothing is elected below the percentage, during a reassignment, for a broker outside the ISR, or where it is disabled."""
    percentage = 100 if hindered == "percentage" else 10
    cluster = Balanced(leader_imbalance_per_broker_percentage=percentage)
    if hindered == "disabled":
        cluster.wanted = Settings()
        dying = cluster.active.controller_id
        cluster.crash(dying)
        cluster.rest()
        for number in list(cluster.brokers):
            cluster.bounce(number)
        cluster.start(dying)
        cluster.work()
    cluster.crash(1)
    cluster.work()
    cluster.start(1)
    if hindered == "ISR":
        cluster.rest()
    else:
        cluster.work()
    if hindered == "reassignment":
        cluster.alter({Q: (3, 4)})
        cluster.crash(3)
        cluster.work()
    before = cluster.leaders()
    assert before[0] == 2
    for _ in range(3):
        cluster.now += 301.0
        for broker in cluster.brokers.values():
            broker.controller.tick()
        cluster.rest()
    assert cluster.leaders()[0] == 2
