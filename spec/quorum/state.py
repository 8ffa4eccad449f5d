"""The state of the quorum: nodes with their logs, and what was ever committed.

An entry of a log is a batch. The first of an epoch is its LeaderChange; one with voters is, or has, a VotersRecord. What is sent
needs no field: a request for votes says what its sender is while it asks, and a fetch what its follower has.

Source: Kafka 4.3 raft/src/main/java/org/apache/kafka/raft; KIP-595, KIP-853, KIP-996.
"""

from __future__ import annotations

from dataclasses import dataclass

from kafka_spec.spec.language.domain import (
    ArrayOf,
    Bound,
    Counters,
    Flag,
    Member,
    MemberOrNone,
    Queue,
    Range,
    SequenceOf,
    SetOf,
    Spent,
    StateOf,
    field,
    message,
)
from kafka_spec.spec.quorum.machines import QuorumRole

NODES = Bound("nodes", 1, 5, "controllers, voters or not")
FIRST_VOTERS = Bound("first_voters", 1, 5, "voters at first: the first nodes")
EPOCHS = Bound("epochs", 1, 5, "the largest epoch; the first is 1")
LOG_SIZE = Bound("log_size", 1, 9, "batches that a log can hold")
KRAFT_VERSION = Bound(
    "kraft_version", 0, 1, "1 if the voters are records of the log (KIP-853: 3.9), 0 if nodes are configured with them"
)
PRE_VOTES = Bound("pre_votes", 0, 1, "1 if a node asks for pre-votes before it stands (KIP-996: 4.0)")

RECORDS = Bound("records", 0, 6, "batches that leaders append for the controller")
ADDITIONS = Bound("additions", 0, 2, "AddVoter requests that a leader accepts")
REMOVALS = Bound("removals", 0, 2, "RemoveVoter requests that a leader accepts")
RESIGNATIONS = Bound("resignations", 0, 2, "leaders that resign: they shut down, or hear from no majority")
CRASHES = Bound("crashes", 0, 3, "processes that end and start again")
LOSSY_CRASHES = Bound("lossy_crashes", 0, 2, "machines that crash, lose what is not flushed, and start again")
FORMATS = Bound("formats", 0, 2, "controllers whose disk is formatted again, and that remain the voters they were")
LOST_ANSWERS = Bound("lost_answers", 0, 2, "answers to fetches that are lost")
SNAPSHOTS = Bound("snapshots", 0, 3, "snapshots that nodes write of what is committed")
DELAYED_FETCHES = Bound("delayed_fetches", 0, 1, "fetch requests that are delayed on the network")

A_NODE = Member(NODES, "node")
EPOCH = Range(0, EPOCHS)
OFFSET = Range(0, LOG_SIZE)
UNKNOWN = -1
"""The end of a log that a leader does not know."""
FORMATTED_AT = -1
"""Where the history has the voters with which a node was formatted, or is configured."""


@dataclass
class MetadataBatch:
    """A batch of the metadata log."""

    epoch: int = field(EPOCH)
    voters: int = field(SetOf(NODES))
    """The voters that it sets; empty if it sets none."""
    losses: int = field(Range(0, LOSSY_CRASHES))
    """The lossy crashes before it was written: it distinguishes batches that were written twice at one epoch and offset."""


@dataclass
class VotersAt:
    """An entry of the history of voters, which a node holds in memory (VoterSetHistory)."""

    offset: int = field(Range(FORMATTED_AT, LOG_SIZE))
    """The offset of the batch that sets them; of those in a snapshot, of its last batch."""
    voters: int = field(SetOf(NODES))


@dataclass
class QuorumNode:
    """A controller. Epoch, leader, vote and log are on disk; the rest is lost when its process ends."""

    role: int = field(StateOf(QuorumRole, "Quorum"))
    epoch: int = field(EPOCH)
    leader: int = field(MemberOrNone(NODES, "node"))
    voted: int = field(MemberOrNone(NODES, "node"))
    formatted: int = field(SetOf(NODES))
    """The voters with which it was formatted, or is configured: those in force until its log has others."""
    log: list[MetadataBatch] = field(SequenceOf(MetadataBatch, LOG_SIZE, "offset"))
    """Its batches; those below `segment_start` are only what a snapshot stands for."""
    flushed: int = field(OFFSET)
    """The end of what a lossy crash leaves; while there is none it is the end of the log."""
    segment_start: int = field(OFFSET)
    """Where its first segment begins: at the last snapshot that replaced its log."""
    log_start: int = field(OFFSET)
    """Where its log begins, for this process; the next one finds it at the start of the first segment."""
    earliest: int = field(OFFSET)
    """The end of its earliest snapshot; 0 while it has that of its formatting."""
    snapshot: int = field(OFFSET)
    """The end of its newest snapshot."""
    snapshot_voters: int = field(SetOf(NODES))
    """The voters in its newest snapshot; none if that is of its formatting."""
    changes: list[VotersAt] = field(SequenceOf(VotersAt, LOG_SIZE + 1, "entry"))
    """The voters that it has read, in order; the last are in force."""
    read_up_to: int = field(OFFSET)
    """Where the reader of control records continues (KRaftControlRecordStateMachine.nextOffset)."""
    high_watermark: int = field(OFFSET)
    """0 while it is not known."""
    granted: int = field(SetOf(NODES))
    """The nodes that vote for it, or would: while it is prospective or a candidate."""
    has_fetched: int = field(Flag())
    """On a follower: it has fetched from this leader; kept only where there are pre-votes."""
    epoch_start: int = field(OFFSET)
    """On a leader: the end of its log when it was elected."""
    ends: list[int] = field(ArrayOf(Range(UNKNOWN, LOG_SIZE, initial=UNKNOWN), NODES, "node"))
    """On a leader: the fetch offsets of the others; -1 before their first fetch."""


@message
@dataclass
class FetchUnderWay:
    """A fetch request that is delayed on the network, and may outlive what its sender was."""

    sender: int = field(A_NODE)
    leader: int = field(A_NODE)
    epoch: int = field(EPOCH)
    end: int = field(OFFSET)
    """The fetch offset: the end of the sender's log."""
    last_epoch: int = field(EPOCH)
    """The epoch of its last batch (lastFetchedEpoch)."""


@dataclass
class PastCommits:
    """What the properties need and no part of Kafka keeps."""

    committed: list[MetadataBatch] = field(SequenceOf(MetadataBatch, LOG_SIZE, "offset"))
    """Every batch that was below a high watermark, of whichever node first."""
    leaders: list[int] = field(ArrayOf(MemberOrNone(NODES, "node"), EPOCHS + 1, "epoch"))
    """The first leader of each epoch."""


@dataclass
class MetadataQuorum:
    """The whole state."""

    nodes: list[QuorumNode] = field(ArrayOf(QuorumNode, NODES, "node"))
    fetches: list[FetchUnderWay] = field(Queue(FetchUnderWay, 1))
    spent: Spent = field(Counters())
    history: PastCommits = field(PastCommits)
