"""The state of the public model KRaftWithReconfig: servers that are started, join and leave, and the messages that were ever sent.

A server is a host and a disk id. Disk ids are counted, so a server is the number with which it was started, and has a host.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/KRaftWithReconfig.tla (commit 69ad9d6).
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kafka_spec.spec.language.domain import (
    NONE,
    ArrayOf,
    BagOf,
    Bound,
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
from kafka_spec.spec.quorum.public.kraft_state import ADDRESS, POSITION, FetchResult
from kafka_spec.spec.quorum.public.servers import (
    A_SERVER,
    ELECTIONS,
    EPOCH,
    IN_FLIGHT,
    SENT,
    SERVER_OR_NONE,
    SERVERS,
    VALUES,
    PublicRole,
)

HOSTS = Bound("hosts", 1, 5, "hosts (Hosts)")
FIRST_SERVERS = Bound("first_servers", 1, 5, "servers at first, the voters (InitClusterSize)")
LEAST_VOTERS = Bound("least_voters", 1, 5, "voters that stay (MinClusterSize)")
MOST_VOTERS = Bound("most_voters", 1, 5, "voters that there may be (MaxClusterSize)")
VALUES_IN_EPOCH = Bound("values_in_epoch", 0, 3, "values that are written in one epoch (MaxValuesPerEpoch)")
ADDITIONS = Bound("additions", 0, 1, "1 if observers ask to join (MaxAddReconfigs, of which nothing is counted)")
REMOVALS = Bound("removals", 0, 3, "servers that are removed (MaxRemoveReconfigs)")
LOG_SIZE = Bound("log_size", 1, 9, "entries that a log can hold")

OFFSET = Range(0, LOG_SIZE)
VALUE_OR_NONE = Range(NONE, VALUES - 1, initial=NONE)


class EntryCommand(enum.IntEnum):
    """The kinds of entries."""

    APPEND = 0
    INIT_CLUSTER = 1
    ADD_SERVER = 2
    REMOVE_SERVER = 3


class ReconfigKind(enum.IntEnum):
    """The kinds of messages."""

    VOTE = 0
    VOTED = 1
    BEGIN = 2
    FETCH = 3
    FETCHED = 4
    JOIN = 5
    JOINED = 6


class ReconfigError(enum.IntEnum):
    """The errors of answers."""

    NOTHING = 0
    FENCED_LEADER_EPOCH = 1
    NOT_LEADER = 2
    UNKNOWN_LEADER = 3
    ALREADY_MEMBER = 4


@dataclass
class ReconfigEntry:
    """An entry of a log: a value of a client, or a configuration."""

    command: int = field(OneOf(EntryCommand))
    epoch: int = field(EPOCH)
    value: int = field(VALUE_OR_NONE)
    config: int = field(OFFSET)
    """The number of the configuration; the first is 1."""
    changed: int = field(SERVER_OR_NONE)
    """The server that joins or leaves."""
    members: MemberSet = field(SetOf(SERVERS))


ENTRY = ("command", "value_epoch", "value", "config", "changed", "members")


@dataclass
class ReconfigFetch:
    """The fetch that a server waits for; fetches from NONE if there is none."""

    leader: int = field(SERVER_OR_NONE)
    epoch: int = field(EPOCH)
    offset: int = field(OFFSET)
    last_epoch: int = field(EPOCH)
    observer: int = field(Flag())


@tagged(
    "kind",
    {
        ReconfigKind.VOTE: (*ADDRESS, *POSITION),
        ReconfigKind.VOTED: (*ADDRESS, "leader", "error", "granted"),
        ReconfigKind.BEGIN: ADDRESS,
        ReconfigKind.FETCH: (*ADDRESS, *POSITION, "observer"),
        ReconfigKind.FETCHED: (
            *(*ADDRESS, *POSITION, "observer", "fetch_epoch", "leader", "error", "result"),
            *("end", "end_epoch", "has_entry", *ENTRY, "high_watermark"),
        ),
        ReconfigKind.JOIN: ADDRESS,
        ReconfigKind.JOINED: (*ADDRESS, "leader", "error"),
    },
)
@dataclass
class ReconfigMessage:
    """A message; an answer to a fetch holds the fetch too."""

    kind: int = field(OneOf(ReconfigKind))
    sender: int = field(A_SERVER)
    receiver: int = field(A_SERVER)
    epoch: int = field(EPOCH)
    leader: int = field(SERVER_OR_NONE)
    """In an answer: the leader that the sender knows."""
    error: int = field(OneOf(ReconfigError))
    granted: int = field(Flag())
    offset: int = field(OFFSET)
    """In a request, and in the answer to a fetch: the end of the log of the server that asks."""
    last_epoch: int = field(EPOCH)
    """The epoch of its last entry."""
    observer: int = field(Flag())
    """1 if the server that fetches is an observer."""
    fetch_epoch: int = field(EPOCH)
    """In an answer to a fetch: the epoch of the fetch."""
    result: int = field(OneOf(FetchResult))
    end: int = field(OFFSET)
    """Where the logs diverge: the end of the epoch in the leader's log."""
    end_epoch: int = field(EPOCH)
    has_entry: int = field(Flag())
    command: int = field(OneOf(EntryCommand))
    value_epoch: int = field(EPOCH)
    value: int = field(VALUE_OR_NONE)
    config: int = field(OFFSET)
    changed: int = field(SERVER_OR_NONE)
    members: MemberSet = field(SetOf(SERVERS))
    high_watermark: int = field(OFFSET)


@dataclass
class ReconfigServer:
    """A server; before it is started all its fields are empty."""

    host: int = field(Range(0, HOSTS - 1))
    role: int = field(OneOf(PublicRole))
    is_observer: int = field(Flag())
    epoch: int = field(EPOCH)
    leader: int = field(SERVER_OR_NONE)
    voted: int = field(SERVER_OR_NONE)
    fetch: ReconfigFetch = field(ReconfigFetch)
    config: int = field(OFFSET)
    """The number of the configuration that it uses, 0 if it knows none."""
    members: MemberSet = field(SetOf(SERVERS))
    """The members of that."""
    is_committed: int = field(Flag())
    """1 if it knows that as committed."""
    log: list[ReconfigEntry] = field(SequenceOf(ReconfigEntry, LOG_SIZE, "offset"))
    high_watermark: int = field(OFFSET)
    granted: MemberSet = field(SetOf(SERVERS))
    ends: list[int] = field(ArrayOf(Range(NONE, LOG_SIZE, initial=NONE), SERVERS, "server"))
    """What it knows of the others' logs (endOffset); NONE for a server that it does not track."""


@dataclass
class PublicReconfig:
    """The whole state. What was sent is remembered, since most messages are sent once."""

    started: int = field(Range(0, SERVERS))
    """The servers that were started: the first ones."""
    servers: list[ReconfigServer] = field(ArrayOf(ReconfigServer, SERVERS, "server"))
    in_flight: list[ReconfigMessage] = field(BagOf(ReconfigMessage, IN_FLIGHT))
    sent: list[ReconfigMessage] = field(SetOf(ReconfigMessage, SENT))
    written: MemberSet = field(SetOf(VALUES))
    acknowledged: MemberSet = field(SetOf(VALUES))
    written_in: list[int] = field(ArrayOf(Range(0, VALUES_IN_EPOCH), ELECTIONS + 2, "epoch"))
    """The values that were written in each epoch."""
    spent: Spent = field(Counters())
