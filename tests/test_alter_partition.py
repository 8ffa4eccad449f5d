"""AlterPartition: each row of the table of answers, and of what the leader does with them; where fetches truncate."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_spec.conformance.kafka_classes.partition_ours import OurPartition
from kafka_spec.conformance.kafka_classes.partition_states import Cached, Registered
from kafka_spec.impl.protocol.kraft_requests import ProposalAnswer
from kafka_spec.spec.decisions.alter_partition import (
    Reaction,
    answer_to_epochs,
    answer_to_isr,
    answer_to_sender,
    is_candidate,
    is_eligible,
    reaction,
)
from kafka_spec.spec.decisions.log import end_of_epoch, fetch_diverges, truncation_after_answer
from kafka_spec.spec.decisions.partition_change import RecoveryState
from kafka_spec.spec.decisions.variants import Checked
from kafka_spec.spec.error_codes import ErrorCode
from kafka_spec.spec.language.domain import BrokerSet

YES, NO = Checked.YES, Checked.NO


@pytest.mark.parametrize(
    ("leader_epoch", "partition_epoch", "leads", "since_3_3", "before"),
    [
        (5, 7, 1, ErrorCode.NONE, ErrorCode.NONE),
        (6, 7, 1, ErrorCode.NOT_CONTROLLER, ErrorCode.FENCED_LEADER_EPOCH),
        (5, 8, 1, ErrorCode.NOT_CONTROLLER, ErrorCode.INVALID_UPDATE_VERSION),
        (4, 7, 1, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH),
        (4, 8, 1, ErrorCode.NOT_CONTROLLER, ErrorCode.FENCED_LEADER_EPOCH),
        (5, 7, 0, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        (5, 6, 0, ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST),
        (5, 6, 1, ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_epochs_of_a_proposal(leader_epoch: int, partition_epoch: int, leads: int, since_3_3: ErrorCode, before: ErrorCode) -> None:
    """A proposal with other epochs than the partition's 5 and 7 is refused, in the order of Kafka's checks (KAFKA-14154)."""
    assert answer_to_epochs(leader_epoch, 5, partition_epoch, 7, leads, YES) == since_3_3
    assert answer_to_epochs(leader_epoch, 5, partition_epoch, 7, leads, NO) == before


def test_the_sender_is_of_the_current_registration() -> None:
    """A request of another broker epoch is refused as a whole, and one of a broker that is not registered."""
    assert answer_to_sender(3, 3) == ErrorCode.NONE
    assert {answer_to_sender(2, 3), answer_to_sender(3, 2), answer_to_sender(-1, -1)} == {ErrorCode.STALE_BROKER_EPOCH}


def test_the_proposed_isr() -> None:
    """It holds the leader, and replicas only; a leader that recovers is alone, and recovery does not begin with a proposal."""
    replicas, two, one = BrokerSet.of({0, 1}), BrokerSet.of({0, 1}), BrokerSet.of({0})
    recovered, recovering = RecoveryState
    assert answer_to_isr(two, replicas, 0, 2, recovered, recovered) == ErrorCode.NONE
    assert answer_to_isr(BrokerSet.of({0, 2}), replicas, 0, 2, recovered, recovered) == ErrorCode.INVALID_REQUEST
    assert answer_to_isr(BrokerSet.of({1}), replicas, 0, 1, recovered, recovered) == ErrorCode.INVALID_REQUEST
    assert answer_to_isr(BrokerSet(), replicas, 0, 0, recovered, recovered) == ErrorCode.INVALID_REQUEST
    assert answer_to_isr(two, replicas, 0, 2, recovering, recovering) == ErrorCode.INVALID_REQUEST
    assert answer_to_isr(one, replicas, 0, 1, recovering, recovering) == ErrorCode.NONE
    assert answer_to_isr(one, replicas, 0, 1, recovering, recovered) == ErrorCode.INVALID_REQUEST
    assert answer_to_isr(two, replicas, 0, 2, recovered, recovering) == ErrorCode.NONE


def test_who_may_be_in_the_isr() -> None:
    """The controller bars who is not active (KIP-841) and who restarted since its fetch (KIP-903); so does the leader's cache."""
    assert is_eligible(1, 4, 4, YES, YES) and is_eligible(1, -1, 4, YES, YES)
    assert not is_eligible(0, 4, 4, YES, YES) and is_eligible(0, 4, 4, NO, YES)
    assert not is_eligible(1, 3, 4, YES, YES) and is_eligible(1, 3, 4, YES, NO)
    assert is_candidate(1, 4, 4, YES, YES)
    assert not is_candidate(0, 4, 4, YES, YES) and is_candidate(0, 4, 4, NO, YES)
    assert not is_candidate(1, 3, 4, YES, YES) and is_candidate(1, 3, 4, YES, NO)
    assert is_candidate(1, -1, 4, YES, YES)


@pytest.mark.parametrize(
    ("error", "wanted"),
    [
        (ErrorCode.NONE, Reaction.ADOPT),
        (ErrorCode.INELIGIBLE_REPLICA, Reaction.ROLL_BACK),
        (ErrorCode.OPERATION_NOT_ATTEMPTED, Reaction.ROLL_BACK),
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, Reaction.WAIT),
        (ErrorCode.FENCED_LEADER_EPOCH, Reaction.WAIT),
        (ErrorCode.INVALID_UPDATE_VERSION, Reaction.WAIT),
        (ErrorCode.INVALID_REQUEST, Reaction.WAIT),
        (ErrorCode.NEW_LEADER_ELECTED, Reaction.WAIT),
        (ErrorCode.NOT_CONTROLLER, Reaction.RETRY),
        (ErrorCode.STALE_BROKER_EPOCH, Reaction.RETRY),
        (ErrorCode.UNKNOWN_SERVER_ERROR, Reaction.RETRY),
    ],
)
def test_what_the_leader_does_with_an_answer(error: ErrorCode, wanted: Reaction) -> None:
    """Each answer has one reaction; a success of another leader epoch, or of an older partition epoch, waits for metadata."""
    assert reaction(error, 5, 5, 8, 7) == wanted
    if error == ErrorCode.NONE:
        assert reaction(error, 5, 5, 7, 7) == Reaction.ADOPT
        assert reaction(error, 5, 5, 6, 7) == Reaction.WAIT
        assert reaction(error, 6, 5, 8, 7) == Reaction.WAIT


# ---------------------------------------------------------------------------------------------------------------------
# Fetches that diverge


@dataclass(frozen=True)
class Written:
    """A record of a log."""

    record: int
    epoch: int


@st.composite
def two_logs(draw: st.DrawFn) -> tuple[list[Written], list[Written]]:
    """Draw the logs of a leader and a follower: equal up to a point, then written by different leaders."""
    common = sorted(draw(st.lists(st.integers(0, 3), max_size=3)))
    last = common[-1] if common else 0
    tails = []
    for parity in (0, 1):
        epochs = draw(st.lists(st.integers(last + 1, last + 6).filter(lambda e, p=parity: e % 2 == p), max_size=3))
        tails.append(sorted(epochs))
    logs = [[*common, *tail] for tail in tails]
    return tuple([Written(offset * 10 + epoch, epoch) for offset, epoch in enumerate(log)] for log in logs)  # type: ignore[return-value]


@given(two_logs())
def test_fetches_truncate_to_the_common_prefix(logs: tuple[list[Written], list[Written]]) -> None:
    """Answers with the largest epoch of the leader up to the follower's last lead the follower to a prefix of the leader's log."""
    leader, follower = logs
    common = 0
    while common < min(len(leader), len(follower)) and leader[common] == follower[common]:
        common += 1
    rounds = 0
    while follower and fetch_diverges(leader, follower[-1].epoch, len(follower)):
        answered, answered_end = end_of_epoch(leader, follower[-1].epoch)
        own, own_end = end_of_epoch(follower, answered)
        offset, _ = truncation_after_answer(answered, answered_end, own, own_end, len(follower), 0)
        assert offset < len(follower)
        follower = follower[:offset]
        rounds += 1
    assert follower == leader[: len(follower)] and len(follower) == common
    assert rounds <= 7


def a_leader_that_proposes(folder: Path) -> OurPartition:
    """Return a leader whose follower 2 has caught up, so that it proposes it for the ISR."""
    leader, registered = OurPartition(folder, 1), Registered((0, 1, 2), 0, (0, 1), 0, 0)
    leader.learn({broker: Cached() for broker in range(3)}, registered)
    leader.apply(registered)
    assert leader.fetch(2, 0, 0, 0) == "NONE"
    assert leader.view().maximal_isr == (0, 1, 2)
    return leader


def test_a_proposal_that_an_answer_lacks_is_sent_again(tmp_path: Path) -> None:
    """An answer without the partition answers nothing; the proposal stays, and goes with the next request."""
    leader = a_leader_that_proposes(tmp_path)
    isr = leader.plane.isr
    first = isr.next_request(leader.now)
    isr.take(ProposalAnswer(ErrorCode.NONE), leader.now)

    assert isr.in_flight is None
    assert isr.next_request(leader.now) == first
    leader.replicas.close()


@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.STALE_BROKER_EPOCH, ErrorCode.NOT_CONTROLLER])
def test_a_request_that_is_refused_as_a_whole_is_made_again(error: ErrorCode, tmp_path: Path) -> None:
    """An error of the whole request says nothing about the proposal: it is made again, under the same epochs."""
    leader = a_leader_that_proposes(tmp_path)
    isr = leader.plane.isr
    first = isr.next_request(leader.now)
    isr.take(ProposalAnswer(error), leader.now)

    assert isr.next_request(leader.now) == first
    leader.replicas.close()
