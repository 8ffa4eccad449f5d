"""Changes of the voters: a leader adds or removes one at a time, and leaves its epoch once its own removal is committed (KIP-853).

A request and its checks are one step at the leader. That a request times out changes nothing: its record stays.

Source: Kafka 4.3 AddVoterHandler.java, RemoveVoterHandler.java.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.quorum import change_is_allowed
from kafka_spec.spec.language.domain import contains, excluding, including, singleton
from kafka_spec.spec.quorum.epochs import NODE, leads, resign
from kafka_spec.spec.quorum.logs import append_batch, last_change, raise_high_watermark, voters_of
from kafka_spec.spec.quorum.state import A_NODE, ADDITIONS, REMOVALS, UNKNOWN, MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Rule

CHANGE = {"node": A_NODE, "voter": A_NODE}


def may_change_voters(s: MetadataQuorum, k: Constants, node: int) -> bool:
    """No other change is uncommitted, and a batch of its own epoch is committed; a log has the voters to change."""
    change = last_change(s, node)
    if change < 0:
        return False
    mine = s.nodes[node]
    return change_is_allowed(change, mine.high_watermark, mine.epoch_start, k.change_awaits_own_epoch, k.change_awaits_change)


def change_voters(s: MetadataQuorum, k: Constants, node: int, voters: int) -> None:
    """Append the voters, which are in force at once."""
    append_batch(s, k, node, s.nodes[node].epoch, voters, s.spent.lossy_crashes)
    raise_high_watermark(s, k, node)


def is_caught_up_observer(s: MetadataQuorum, node: int, voter: int) -> bool:
    """It is an observer, and has fetched from this leader."""
    return contains(voters_of(s, node), voter) == 0 and s.nodes[node].ends[voter] != UNKNOWN


def add_voter(s: MetadataQuorum, k: Constants, node: int, voter: int) -> None:
    """Append the voters with one more."""
    change_voters(s, k, node, including(voters_of(s, node), voter))


ADD = Rule(
    "AddVoter",
    actor="{node}",
    kind="operator",
    params=CHANGE,
    guards=(leads, may_change_voters, is_caught_up_observer),
    at_most=ADDITIONS,
    effects=(add_voter,),
    summary="{node} appends the voters with {voter} added",
    reference="Kafka 4.3 AddVoterHandler.handleApiVersionsResponse",
)


def is_removable(s: MetadataQuorum, node: int, voter: int) -> bool:
    """It is a voter, and not the last."""
    voters = voters_of(s, node)
    return contains(voters, voter) == 1 and voters != singleton(voter)


def remove_voter(s: MetadataQuorum, k: Constants, node: int, voter: int) -> None:
    """Append the voters without one."""
    change_voters(s, k, node, excluding(voters_of(s, node), voter))


REMOVE = Rule(
    "RemoveVoter",
    actor="{node}",
    kind="operator",
    params=CHANGE,
    guards=(leads, may_change_voters, is_removable),
    at_most=REMOVALS,
    effects=(remove_voter,),
    summary="{node} appends the voters without {voter}",
    reference="Kafka 4.3 RemoveVoterHandler.handleRemoveVoterRequest",
)


def its_removal_is_committed(s: MetadataQuorum, node: int) -> bool:
    """It is not a voter any more, and the batch that says so is committed."""
    return contains(voters_of(s, node), node) == 0 and last_change(s, node) < s.nodes[node].high_watermark


LEAVE = Rule(
    "LeaveAsRemoved",
    actor="{node}",
    params=NODE,
    guards=(leads, its_removal_is_committed),
    effects=(resign,),
    summary="{node}, whose removal is committed, resigns",
    reference="Kafka 4.3 RemoveVoterHandler.highWatermarkUpdated",
)

RULES = (ADD, REMOVE, LEAVE)
