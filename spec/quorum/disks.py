"""An operator formats the disk of a controller again, which stays the voter that it was: it has forgotten its votes and its log.

So it is where voters are configured (kraft.version 0). Where they are records of the log, a disk that is formatted has another
directory id, and its controller is an observer, unless it is given the directory id that it had. Kafka checks nothing.

Source: Kafka 4.3 StorageTool.runFormatCommand, QuorumState.initialize.
"""

from __future__ import annotations

from kafka_spec.spec.decisions.quorum import FormatAwaits
from kafka_spec.spec.language.domain import NONE, contains, truncate
from kafka_spec.spec.quorum.crashes import start_again
from kafka_spec.spec.quorum.epochs import NODE, leads
from kafka_spec.spec.quorum.logs import NO_NODES, begin_at_snapshot, voters_of
from kafka_spec.spec.quorum.state import FORMATS, MetadataQuorum
from kafka_spec.spec.vocabulary.table import Constants, Rule


def is_used(s: MetadataQuorum, node: int) -> bool:
    """It has an epoch or a batch to lose."""
    return s.nodes[node].epoch > 0 or len(s.nodes[node].log) > 0


def reports_no_lag(s: MetadataQuorum, leader: int, voter: int) -> bool:
    """A leader knows that a voter has its whole log: it has fetched at its end, or is the leader itself, which has flushed it."""
    mine = s.nodes[leader]
    return (mine.flushed if voter == leader else mine.ends[voter]) == len(mine.log)


def follows_at_end(s: MetadataQuorum, leader: int, voter: int) -> bool:
    """A voter follows a leader in its epoch, and has its whole log on disk; or it is the leader."""
    mine, theirs = s.nodes[leader], s.nodes[voter]
    return theirs.epoch == mine.epoch and theirs.leader == leader and theirs.flushed == len(mine.log)


def others_are_at_end(s: MetadataQuorum, k: Constants, node: int, leader: int) -> bool:
    """Every voter but one node has all that the leader has, as far as an operator looks."""
    for voter in range(k.nodes):
        if voter != node and contains(voters_of(s, leader), voter) == 1:
            if not reports_no_lag(s, leader, voter):
                return False
            if k.format_awaits == FormatAwaits.FOLLOWERS_AT_END and not follows_at_end(s, leader, voter):
                return False
    return True


def may_be_formatted(s: MetadataQuorum, k: Constants, node: int) -> bool:
    """The operator does not wait, or another node leads, and all others have what it has."""
    if k.format_awaits == FormatAwaits.NOTHING:
        return True
    return any(leader != node and leads(s, leader) and others_are_at_end(s, k, node, leader) for leader in range(k.nodes))


def lose_disk(s: MetadataQuorum, node: int) -> None:
    """Lose epoch, vote, log and snapshots."""
    mine = s.nodes[node]
    mine.epoch = 0
    mine.leader = NONE
    mine.voted = NONE
    truncate(mine.log, 0)
    mine.snapshot = 0
    mine.snapshot_voters = NO_NODES
    begin_at_snapshot(s, node)


FORMAT_AGAIN = Rule(
    "FormatAgain",
    actor="{node}",
    kind="operator",
    params=NODE,
    guards=(is_used, may_be_formatted),
    at_most=FORMATS,
    effects=(lose_disk, start_again),
    summary="an operator formats the disk of {node}, and starts it again as the voter that it was",
    reference="Kafka 4.3 StorageTool.runFormatCommand",
)

RULES = (FORMAT_AGAIN,)
