"""The state of the public model KRaft: servers, and the messages that were ever sent.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/KRaft.tla (commit 69ad9d6).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kafka_spec.spec.language.domain import (
    ArrayOf,
    BagOf,
    Counters,
    Flag,
    MemberSet,
    OneOf,
    Range,
    SequenceOf,
    SetOf,
    Spent,
    field,
    tagged,
)
from kafka_spec.spec.quorum.public.servers import (
    A_SERVER,
    EPOCH,
    IN_FLIGHT,
    OFFSET,
    SENT,
    SERVER_OR_NONE,
    SERVERS,
    VALUES,
    PublicEntry,
    PublicRole,
)


class RaftKind(enum.IntEnum):
    """The kinds of messages."""

    VOTE = 0
    VOTED = 1
    BEGIN = 2
    BEGUN = 3
    FETCH = 4
    FETCHED = 5


class RaftError(enum.IntEnum):
    """The errors of answers."""

    NOTHING = 0
    FENCED_LEADER_EPOCH = 1
    NOT_LEADER = 2
    UNKNOWN_LEADER = 3


class FetchResult(enum.IntEnum):
    """How a fetch is answered."""

    OK = 0
    NOT_OK = 1
    DIVERGING = 2


@dataclass
class RaftFetch:
    """The fetch that a follower waits for; fetches from NONE if there is none."""

    leader: int = field(SERVER_OR_NONE)
    epoch: int = field(EPOCH)
    offset: int = field(OFFSET)
    last_epoch: int = field(EPOCH)


ADDRESS = ("sender", "receiver", "epoch")
POSITION = ("offset", "last_epoch")


@tagged(
    "kind",
    {
        RaftKind.VOTE: (*ADDRESS, *POSITION),
        RaftKind.VOTED: (*ADDRESS, "leader", "error", "granted"),
        RaftKind.BEGIN: ADDRESS,
        RaftKind.BEGUN: (*ADDRESS, "error"),
        RaftKind.FETCH: (*ADDRESS, *POSITION),
        RaftKind.FETCHED: (
            *(*ADDRESS, *POSITION, "fetch_epoch", "leader", "error", "result"),
            *("end", "end_epoch", "has_entry", "value", "value_epoch", "high_watermark"),
        ),
    },
)
@dataclass
class RaftMessage:
    """A message; an answer to a fetch holds the fetch too."""

    kind: int = field(OneOf(RaftKind))
    sender: int = field(A_SERVER)
    receiver: int = field(A_SERVER)
    epoch: int = field(EPOCH)
    leader: int = field(SERVER_OR_NONE)
    """In an answer: the leader that the sender knows."""
    error: int = field(OneOf(RaftError))
    granted: int = field(Flag())
    offset: int = field(OFFSET)
    """In a request, and in the answer to a fetch: the end of the log of the server that asks."""
    last_epoch: int = field(EPOCH)
    """The epoch of its last entry."""
    fetch_epoch: int = field(EPOCH)
    """In an answer to a fetch: the epoch of the fetch."""
    result: int = field(OneOf(FetchResult))
    end: int = field(OFFSET)
    """Where the logs diverge: the end of the epoch in the leader's log."""
    end_epoch: int = field(EPOCH)
    has_entry: int = field(Flag())
    value: int = field(Range(0, VALUES - 1))
    value_epoch: int = field(EPOCH)
    high_watermark: int = field(OFFSET)


@dataclass
class RaftServer:
    """A server."""

    role: int = field(OneOf(PublicRole))
    epoch: int = field(EPOCH)
    leader: int = field(SERVER_OR_NONE)
    voted: int = field(SERVER_OR_NONE)
    fetch: RaftFetch = field(RaftFetch)
    log: list[PublicEntry] = field(SequenceOf(PublicEntry, VALUES, "offset"))
    high_watermark: int = field(OFFSET)
    granted: MemberSet = field(SetOf(SERVERS))
    ends: list[int] = field(ArrayOf(OFFSET, SERVERS, "server"))
    """What a leader knows of the others' logs (endOffset)."""


@dataclass
class PublicRaft:
    """The whole state. Requests of elections and answers to fetches are sent once, so what was sent is remembered."""

    servers: list[RaftServer] = field(ArrayOf(RaftServer, SERVERS, "server"))
    in_flight: list[RaftMessage] = field(BagOf(RaftMessage, IN_FLIGHT))
    sent: list[RaftMessage] = field(SetOf(RaftMessage, SENT))
    written: MemberSet = field(SetOf(VALUES))
    acknowledged: MemberSet = field(SetOf(VALUES))
    spent: Spent = field(Counters())
