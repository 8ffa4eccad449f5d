"""What the public models of the quorum have in common: bounds, roles, entries, what is committed, and the invariants.

The modules say term and commit index, or epoch and high watermark; here both have Kafka's words. The first epoch is 1, and offsets
are lengths: the entry at offset n is the n-th.

Source: Vanlightly/raft-tlaplus specifications/pull-raft (commit 69ad9d6): PullRaft.tla, KRaft.tla.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol

from kafka_spec.spec.language.domain import (
    NONE,
    Bound,
    Member,
    MemberOrNone,
    MemberSet,
    Range,
    append,
    contains,
    field,
    including,
)
from kafka_spec.spec.vocabulary.table import Constants, ElementOf, Rule, invariant

SERVERS = Bound("servers", 1, 5, "servers (Server)")
VALUES = Bound("values", 1, 3, "values that clients write, each at most once (Value)")
ELECTIONS = Bound("elections", 0, 5, "elections that begin (MaxElections)")
RESTARTS = Bound("restarts", 0, 3, "servers that restart (MaxRestarts)")
IN_FLIGHT = Bound("in_flight", 1, 40, "messages in flight")
SENT = Bound("sent", 1, 80, "different messages that were ever sent")

A_SERVER = Member(SERVERS, "server")
A_PLACE = {"server": A_SERVER}
A_MESSAGE = {"m": ElementOf("in_flight")}
SERVER_OR_NONE = MemberOrNone(SERVERS, "server")
EPOCH = Range(0, ELECTIONS + 1)
OFFSET = Range(0, VALUES)


REFERENCE = "Vanlightly/raft-tlaplus specifications/pull-raft"


class PublicRole(enum.IntEnum):
    """The state of a server; PullRaft has the first three, KRaft all but the last."""

    FOLLOWER = 0
    CANDIDATE = 1
    LEADER = 2
    UNATTACHED = 3
    VOTED = 4
    ILLEGAL = 5
    RESIGNED = 6


@dataclass
class PublicEntry:
    """An entry of a log."""

    epoch: int = field(EPOCH)
    value: int = field(Range(0, VALUES - 1))


class EntryFields(Protocol):
    """What all models have of an entry."""

    epoch: int
    value: int


class PublicLog(Protocol):
    """The log of a server, indexed by offset."""

    def __len__(self) -> int: ...
    def __getitem__(self, offset: int, /) -> EntryFields: ...


class ServerFields(Protocol):
    """What all models have of a server."""

    role: int
    epoch: int
    leader: int
    high_watermark: int
    ends: list[int]

    @property
    def log(self) -> PublicLog:
        """The log."""


class ServerSequence(Protocol):
    """The servers of a model."""

    def __getitem__(self, server: int, /) -> ServerFields: ...


class QuorumFields(Protocol):
    """What all models have of a state."""

    written: MemberSet
    acknowledged: MemberSet

    @property
    def servers(self) -> ServerSequence:
        """The servers."""


def last_epoch(s: QuorumFields, server: int) -> int:
    """Return the epoch of the last entry, 0 if there is none."""
    log = s.servers[server].log
    return log[len(log) - 1].epoch if len(log) > 0 else 0


def is_majority(k: Constants, count: int) -> bool:
    """So many servers are a majority."""
    return 2 * count > k.servers


def epoch_at(s: QuorumFields, server: int, end: int) -> int:
    """Return the epoch of the entry before an end, 0 at the beginning."""
    return s.servers[server].log[end - 1].epoch if end > 0 else 0


def leads(s: QuorumFields, server: int) -> bool:
    """The server leads."""
    return s.servers[server].role == PublicRole.LEADER


def is_not_written(s: QuorumFields, value: int) -> bool:
    """The value was not written yet."""
    return contains(s.written, value) == 0


def write(s: QuorumFields, server: int, value: int) -> None:
    """Append the value."""
    append(s.servers[server].log, epoch=s.servers[server].epoch, value=value)
    s.written = including(s.written, value)


WRITE = Rule(
    "ClientRequest",
    actor="client",
    params={**A_PLACE, "value": Range(0, VALUES - 1)},
    guards=(leads, is_not_written),
    effects=(write,),
    summary="a client writes value {value} to {server}",
    reference=REFERENCE,
)


def committed(s: QuorumFields, k: Constants, leader: int, follower: int, end: int) -> int:
    """Return the leader's high watermark once it knows the end of a follower: what a majority has, if it is of its epoch."""
    mine = s.servers[leader]
    agreed = 0
    for offset in range(1, len(mine.log) + 1):
        holders = 0
        for other in range(k.servers):
            known = end if other == follower else mine.ends[other]
            holders += 1 if other == leader or known >= offset else 0
        if is_majority(k, holders):
            agreed = offset
    return agreed if agreed > 0 and mine.log[agreed - 1].epoch == mine.epoch else mine.high_watermark


def commit(s: QuorumFields, k: Constants, leader: int, follower: int, end: int) -> None:
    """Learn the end of a follower, raise the high watermark, and acknowledge what it passes."""
    mine = s.servers[leader]
    raised = committed(s, k, leader, follower, end)
    for offset in range(mine.high_watermark, raised):
        s.acknowledged = including(s.acknowledged, mine.log[offset].value)
    mine.ends[follower] = end
    mine.high_watermark = raised


# ---------------------------------------------------------------------------------------------------------------------
# Properties


def has_value(s: QuorumFields, server: int, value: int) -> bool:
    """The log of a server has a value."""
    return any(s.servers[server].log[offset].value == value for offset in range(len(s.servers[server].log)))


def is_newest_leader(s: QuorumFields, k: Constants, server: int) -> bool:
    """The server leads, and no other has a larger epoch."""
    mine = s.servers[server]
    if mine.role != PublicRole.LEADER:
        return False
    return not any(s.servers[other].epoch > mine.epoch for other in range(k.servers))


def a_value_is_acknowledged(s: QuorumFields, k: Constants) -> bool:
    """A value is acknowledged, and a newest leader is there."""
    return s.acknowledged != 0 and any(is_newest_leader(s, k, server) for server in range(k.servers))


def leader_has_acknowledged_values(s: QuorumFields, k: Constants) -> bool:
    """A leader of the newest epoch has every acknowledged value."""
    for server in range(k.servers):
        if is_newest_leader(s, k, server):
            for value in range(k.values):
                if contains(s.acknowledged, value) == 1 and not has_value(s, server, value):
                    return False
    return True


def two_servers_have_committed(s: QuorumFields, k: Constants) -> bool:
    """Two servers have a high watermark above 0."""
    return sum(s.servers[server].high_watermark > 0 for server in range(k.servers)) > 1


def logs_agree(s: QuorumFields, k: Constants) -> bool:
    """Two logs are equal up to the smaller of their high watermarks."""
    for one in range(k.servers):
        for other in range(one):
            for offset in range(min(s.servers[one].high_watermark, s.servers[other].high_watermark)):
                if s.servers[one].log[offset] != s.servers[other].log[offset]:
                    return False
    return True


def two_servers_know_a_leader(s: QuorumFields, k: Constants) -> bool:
    """Two servers of the same epoch know a leader."""
    for one in range(k.servers):
        for other in range(one):
            if NONE not in (s.servers[one].leader, s.servers[other].leader) and s.servers[one].epoch == s.servers[other].epoch:
                return True
    return False


def one_leader_in_an_epoch(s: QuorumFields, k: Constants) -> bool:
    """Two servers of the same epoch do not know different leaders."""
    for one in range(k.servers):
        for other in range(one):
            mine, theirs = s.servers[one], s.servers[other]
            if NONE not in (mine.leader, theirs.leader) and mine.leader != theirs.leader and mine.epoch == theirs.epoch:
                return False
    return True


def a_server_is_attached(s: QuorumFields, k: Constants) -> bool:
    """A server is no longer unattached."""
    return any(s.servers[server].role != PublicRole.UNATTACHED for server in range(k.servers))


def roles_are_legal(s: QuorumFields, k: Constants) -> bool:
    """No server is in the illegal state."""
    return not any(s.servers[server].role == PublicRole.ILLEGAL for server in range(k.servers))


LEADER_HAS_ACKNOWLEDGED = invariant(
    "LeaderHasAllAckedValues",
    leader_has_acknowledged_values,
    "a leader whose epoch is the largest has every value that was acknowledged",
    REFERENCE,
    when=a_value_is_acknowledged,
)
NO_LOG_DIVERGENCE = invariant(
    "NoLogDivergence",
    logs_agree,
    "two logs are equal up to the smaller of their high watermarks",
    REFERENCE,
    when=two_servers_have_committed,
)
ONE_LEADER = invariant(
    "NeverTwoLeadersInSameEpoch",
    one_leader_in_an_epoch,
    "two servers of an epoch do not know different leaders",
    REFERENCE,
    when=two_servers_know_a_leader,
)
NO_ILLEGAL_STATE = invariant(
    "NoIllegalState", roles_are_legal, "no server is in the illegal state", REFERENCE, when=a_server_is_attached
)
