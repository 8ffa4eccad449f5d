"""The state of PullRaft: servers, and the messages that were ever sent.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/PullRaft.tla (commit 69ad9d6).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kafka_spec.spec.language.domain import (
    ArrayOf,
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


class PullRaftKind(enum.IntEnum):
    """The kinds of messages."""

    VOTE = 0
    VOTED = 1
    NOTIFY = 2
    PULL = 3
    PULLED = 4
    DIVERGED = 5
    """A PullEntriesResponse without success."""


ADDRESS = ("sender", "receiver", "epoch")
POSITION = ("offset", "offset_epoch")


@tagged(
    "kind",
    {
        PullRaftKind.VOTE: (*ADDRESS, *POSITION),
        PullRaftKind.VOTED: (*ADDRESS, "granted"),
        PullRaftKind.NOTIFY: ADDRESS,
        PullRaftKind.PULL: (*ADDRESS, *POSITION),
        PullRaftKind.PULLED: (*ADDRESS, "value", "value_epoch", "high_watermark"),
        PullRaftKind.DIVERGED: (*ADDRESS, *POSITION),
    },
)
@dataclass
class PullRaftMessage:
    """A message."""

    kind: int = field(OneOf(PullRaftKind))
    sender: int = field(A_SERVER)
    receiver: int = field(A_SERVER)
    epoch: int = field(EPOCH)
    offset: int = field(OFFSET)
    """In a request: the end of the sender's log. In DIVERGED: the last entry that both logs have."""
    offset_epoch: int = field(EPOCH)
    """The epoch of the entry at the offset."""
    granted: int = field(Flag())
    value: int = field(Range(0, VALUES - 1))
    value_epoch: int = field(EPOCH)
    high_watermark: int = field(OFFSET)


@dataclass
class PullRaftServer:
    """A server."""

    role: int = field(OneOf(PublicRole))
    epoch: int = field(EPOCH)
    leader: int = field(SERVER_OR_NONE)
    """Whom it voted for, or heard that it leads."""
    log: list[PublicEntry] = field(SequenceOf(PublicEntry, VALUES, "offset"))
    high_watermark: int = field(OFFSET)
    granted: MemberSet = field(SetOf(SERVERS))
    ends: list[int] = field(ArrayOf(OFFSET, SERVERS, "server"))
    """What a leader knows of the others' logs (matchIndex)."""


@dataclass
class PullRaft:
    """The whole state. No message is sent twice, so those that were sent are remembered."""

    servers: list[PullRaftServer] = field(ArrayOf(PullRaftServer, SERVERS, "server"))
    in_flight: list[PullRaftMessage] = field(SetOf(PullRaftMessage, IN_FLIGHT))
    sent: list[PullRaftMessage] = field(SetOf(PullRaftMessage, SENT))
    written: MemberSet = field(SetOf(VALUES))
    acknowledged: MemberSet = field(SetOf(VALUES))
    spent: Spent = field(Counters())
