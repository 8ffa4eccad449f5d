"""Replication of the public model PullRaft: followers pull, an entry at a time.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/PullRaft.tla (commit 69ad9d6).
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import (
    NONE,
    append,
    has,
    remove,
    truncate,
)
from kafka_spec.spec.quorum.public.pull_raft_elections import send
from kafka_spec.spec.quorum.public.pull_raft_state import PullRaft, PullRaftKind, PullRaftMessage
from kafka_spec.spec.quorum.public.servers import (
    A_MESSAGE,
    A_PLACE,
    REFERENCE,
    WRITE,
    PublicRole,
    commit,
    committed,
    epoch_at,
    last_epoch,
)
from kafka_spec.spec.vocabulary.table import Constants, Rule


def next_pull(s: PullRaft, server: int) -> PullRaftMessage:
    """Return the request for the entry after the last one."""
    mine = s.servers[server]
    return PullRaftMessage(PullRaftKind.PULL, server, mine.leader, mine.epoch, len(mine.log), last_epoch(s, server))


def may_pull(s: PullRaft, server: int) -> bool:
    """The follower knows a leader, and has not asked it from this end of its log in this epoch."""
    mine = s.servers[server]
    if mine.role != PublicRole.FOLLOWER or mine.leader in (NONE, server):
        return False
    return not has(s.sent, next_pull(s, server))


def pull(s: PullRaft, server: int) -> None:
    """Ask for the entry after the last one."""
    send(s, next_pull(s, server))


def is_pull(s: PullRaft, m: PullRaftMessage) -> bool:
    """A follower asks a leader, in its epoch."""
    mine = s.servers[m.receiver]
    return m.kind == PullRaftKind.PULL and m.epoch == mine.epoch and mine.role == PublicRole.LEADER


def is_valid(s: PullRaft, m: PullRaftMessage) -> bool:
    """The leader has the follower's last entry."""
    log = s.servers[m.receiver].log
    return m.offset == 0 or (m.offset <= len(log) and m.offset_epoch == log[m.offset - 1].epoch)


def last_common(s: PullRaft, m: PullRaftMessage) -> int:
    """Return the last entry of the leader that is not after the follower's last, by epoch and then by offset; 0 without one."""
    log = s.servers[m.receiver].log
    found = 0
    for offset in range(1, len(log) + 1):
        epoch = log[offset - 1].epoch
        if epoch < m.offset_epoch or (epoch == m.offset_epoch and offset <= m.offset):
            found = offset
    return found


def divergence(s: PullRaft, m: PullRaftMessage) -> PullRaftMessage:
    """Return the answer with the last common entry."""
    common = last_common(s, m)
    return PullRaftMessage(PullRaftKind.DIVERGED, m.receiver, m.sender, m.epoch, common, epoch_at(s, m.receiver, common))


def diverges(s: PullRaft, m: PullRaftMessage) -> bool:
    """The leader does not have the follower's last entry, and the answer is new."""
    if not is_pull(s, m) or is_valid(s, m):
        return False
    return not has(s.sent, divergence(s, m))


def reject(s: PullRaft, m: PullRaftMessage) -> None:
    """Answer with the last common entry."""
    send(s, divergence(s, m))
    remove(s.in_flight, m)


def next_entry(s: PullRaft, k: Constants, m: PullRaftMessage) -> PullRaftMessage:
    """Return the answer with the entry behind the follower's last, and the high watermark as far as it then goes."""
    entry = s.servers[m.receiver].log[m.offset]
    high_watermark = min(committed(s, k, m.receiver, m.sender, m.offset), m.offset + 1)
    return PullRaftMessage(
        PullRaftKind.PULLED, m.receiver, m.sender, m.epoch,
        value=entry.value, value_epoch=entry.epoch, high_watermark=high_watermark,
    )  # fmt: skip


def has_entry(s: PullRaft, k: Constants, m: PullRaftMessage) -> bool:
    """The leader has the follower's last entry and one after it, and the answer is new."""
    if not is_pull(s, m) or not is_valid(s, m) or m.offset >= len(s.servers[m.receiver].log):
        return False
    return not has(s.sent, next_entry(s, k, m))


def accept(s: PullRaft, k: Constants, m: PullRaftMessage) -> None:
    """Answer with an entry, raise the high watermark, and acknowledge what it passes."""
    send(s, next_entry(s, k, m))
    commit(s, k, m.receiver, m.sender, m.offset)
    remove(s.in_flight, m)


def is_entry(s: PullRaft, m: PullRaftMessage) -> bool:
    """An entry arrives, in its epoch."""
    return m.kind == PullRaftKind.PULLED and m.epoch == s.servers[m.receiver].epoch


def append_entry(s: PullRaft, m: PullRaftMessage) -> None:
    """Append the entry, and take over the high watermark."""
    append(s.servers[m.receiver].log, epoch=m.value_epoch, value=m.value)
    s.servers[m.receiver].high_watermark = m.high_watermark
    remove(s.in_flight, m)


def is_divergence(s: PullRaft, m: PullRaftMessage) -> bool:
    """The answer has the last common entry, and arrives in its epoch."""
    return m.kind == PullRaftKind.DIVERGED and m.epoch == s.servers[m.receiver].epoch


def truncate_log(s: PullRaft, m: PullRaftMessage) -> None:
    """Truncate the log to the last common entry."""
    truncate(s.servers[m.receiver].log, m.offset)
    remove(s.in_flight, m)


RULES = (
    WRITE,
    Rule(
        "RejectPullEntriesRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(diverges,),
        effects=(reject,),
        summary="{m.receiver} answers {m.sender} with the last entry that both logs have",
        reference=REFERENCE,
    ),
    Rule(
        "AcceptPullEntriesRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(has_entry,),
        effects=(accept,),
        summary="{m.receiver} sends an entry to {m.sender}",
        reference=REFERENCE,
    ),
    Rule(
        "SendPullEntriesRequest",
        actor="{server}",
        params=A_PLACE,
        guards=(may_pull,),
        effects=(pull,),
        summary="{server} asks its leader for an entry",
        reference=REFERENCE,
    ),
    Rule(
        "HandleSuccessPullEntriesResponse",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_entry,),
        effects=(append_entry,),
        summary="{m.receiver} appends an entry",
        reference=REFERENCE,
    ),
    Rule(
        "HandleFailPullEntriesResponse",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_divergence,),
        effects=(truncate_log,),
        summary="{m.receiver} truncates its log",
        reference=REFERENCE,
    ),
)
