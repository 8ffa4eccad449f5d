"""Fetches of the public model KRaft: a follower fetches, and the leader answers with an entry, a divergence or an error.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/KRaft.tla (commit 69ad9d6).
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import NONE, append, assign, has, remove, reset, truncate
from kafka_spec.spec.quorum.public.kraft_elections import hear, is_handled, send
from kafka_spec.spec.quorum.public.kraft_state import FetchResult, PublicRaft, RaftError, RaftFetch, RaftKind, RaftMessage
from kafka_spec.spec.quorum.public.servers import (
    A_MESSAGE,
    A_PLACE,
    REFERENCE,
    WRITE,
    PublicRole,
    QuorumFields,
    commit,
    committed,
    epoch_at,
    last_epoch,
)
from kafka_spec.spec.vocabulary.table import Constants, Rule

# ---------------------------------------------------------------------------------------------------------------------
# The follower asks


def may_fetch(s: PublicRaft, server: int) -> bool:
    """The follower knows a leader, and waits for no fetch."""
    mine = s.servers[server]
    return mine.role == PublicRole.FOLLOWER and mine.leader not in (NONE, server) and mine.fetch.leader == NONE


def fetch(s: PublicRaft, server: int) -> None:
    """Ask for what is after the end of the log, and wait for the answer."""
    mine = s.servers[server]
    leader, epoch, end, last = mine.leader, mine.epoch, len(mine.log), last_epoch(s, server)
    assign(mine.fetch, RaftFetch(leader, epoch, end, last))
    send(s, RaftMessage(RaftKind.FETCH, server, leader, epoch, offset=end, last_epoch=last))


# ---------------------------------------------------------------------------------------------------------------------
# The leader answers


def error_of(s: PublicRaft, m: RaftMessage) -> int:
    """Return the error of a fetch, or NOTHING if its receiver leads in its epoch."""
    mine = s.servers[m.receiver]
    if mine.role != PublicRole.LEADER:
        return RaftError.NOT_LEADER
    if m.epoch < mine.epoch:
        return RaftError.FENCED_LEADER_EPOCH
    return RaftError.UNKNOWN_LEADER if m.epoch > mine.epoch else RaftError.NOTHING


def end_of_epoch(s: QuorumFields, server: int, epoch: int) -> int:
    """Return the end of what is of this epoch or of earlier ones in a log, 0 if nothing is."""
    end = 0
    for offset in range(len(s.servers[server].log)):
        if s.servers[server].log[offset].epoch <= epoch:
            end = offset + 1
    return end


def is_valid(s: PublicRaft, m: RaftMessage) -> bool:
    """The leader's log has the follower's as its beginning, as far as the last epoch says."""
    if m.offset == 0 and m.last_epoch == 0:
        return True
    end = end_of_epoch(s, m.receiver, m.last_epoch)
    return m.offset <= end and m.last_epoch == epoch_at(s, m.receiver, end)


def answer_to_fetch(s: PublicRaft, k: Constants, m: RaftMessage) -> RaftMessage:
    """Return the answer to a fetch: an error, where the logs diverge, or an entry if there is one."""
    mine = s.servers[m.receiver]
    error, end, end_epoch, entry_epoch, value = error_of(s, m), 0, 0, 0, 0
    result, has_entry, high_watermark = FetchResult.OK, 0, mine.high_watermark
    if error != RaftError.NOTHING:
        result = FetchResult.NOT_OK
    elif not is_valid(s, m):
        result = FetchResult.DIVERGING
        end = end_of_epoch(s, m.receiver, m.last_epoch)
        end_epoch = epoch_at(s, m.receiver, end)
    else:
        high_watermark = min(committed(s, k, m.receiver, m.sender, m.offset), m.offset + 1)
        if m.offset < len(mine.log):
            has_entry, value, entry_epoch = 1, mine.log[m.offset].value, mine.log[m.offset].epoch
    return RaftMessage(
        RaftKind.FETCHED, m.receiver, m.sender, mine.epoch, mine.leader, error, 0, m.offset, m.last_epoch, m.epoch, result,
        end, end_epoch, has_entry, value, entry_epoch, high_watermark,
    )  # fmt: skip


def is_new(s: PublicRaft, k: Constants, m: RaftMessage) -> bool:
    """The answer to the fetch was not sent before."""
    return not has(s.sent, answer_to_fetch(s, k, m))


def is_refused(s: PublicRaft, k: Constants, m: RaftMessage) -> bool:
    """A fetch is in error."""
    return m.kind == RaftKind.FETCH and error_of(s, m) != RaftError.NOTHING and is_new(s, k, m)


def diverges(s: PublicRaft, k: Constants, m: RaftMessage) -> bool:
    """A fetch is from where the logs differ."""
    return m.kind == RaftKind.FETCH and error_of(s, m) == RaftError.NOTHING and not is_valid(s, m) and is_new(s, k, m)


def is_accepted(s: PublicRaft, k: Constants, m: RaftMessage) -> bool:
    """A fetch is from where the logs are equal."""
    return m.kind == RaftKind.FETCH and error_of(s, m) == RaftError.NOTHING and is_valid(s, m) and is_new(s, k, m)


def refuse(s: PublicRaft, k: Constants, m: RaftMessage) -> None:
    """Answer with the error, or with the point where the logs diverge."""
    send(s, answer_to_fetch(s, k, m))
    remove(s.in_flight, m)


def accept(s: PublicRaft, k: Constants, m: RaftMessage) -> None:
    """Answer with an entry or none, raise the high watermark, and acknowledge what it passes."""
    send(s, answer_to_fetch(s, k, m))
    commit(s, k, m.receiver, m.sender, m.offset)
    remove(s.in_flight, m)


# ---------------------------------------------------------------------------------------------------------------------
# The follower hears


def is_awaited(s: PublicRaft, m: RaftMessage) -> bool:
    """The answer is to the fetch that its receiver waits for."""
    asked = RaftFetch(m.sender, m.fetch_epoch, m.offset, m.last_epoch)
    return m.kind == RaftKind.FETCHED and asked == s.servers[m.receiver].fetch


def brings_result(s: PublicRaft, m: RaftMessage, result: int) -> bool:
    """The awaited answer has this result, and its epoch and leader say nothing new."""
    return is_awaited(s, m) and not is_handled(s, m) and m.result == result


def brings_entry(s: PublicRaft, m: RaftMessage) -> bool:
    """The awaited answer has an entry, or says that there is none."""
    return brings_result(s, m, FetchResult.OK)


def append_entry(s: PublicRaft, m: RaftMessage) -> None:
    """Append the entry, if there is one, and take over the high watermark."""
    mine = s.servers[m.receiver]
    mine.high_watermark = m.high_watermark
    if m.has_entry == 1:
        append(mine.log, epoch=m.value_epoch, value=m.value)
    reset(mine.fetch)
    remove(s.in_flight, m)


def brings_divergence(s: PublicRaft, m: RaftMessage) -> bool:
    """The awaited answer says where the logs diverge."""
    return brings_result(s, m, FetchResult.DIVERGING)


def truncate_log(s: PublicRaft, m: RaftMessage) -> None:
    """Truncate to the last entry that is not after the end of that epoch, by epoch and then by offset."""
    mine = s.servers[m.receiver]
    kept = 0
    for offset in range(1, len(mine.log) + 1):
        epoch = mine.log[offset - 1].epoch
        if epoch < m.end_epoch or (epoch == m.end_epoch and offset <= m.end):
            kept = offset
    truncate(mine.log, kept)
    reset(mine.fetch)
    remove(s.in_flight, m)


def brings_news(s: PublicRaft, m: RaftMessage) -> bool:
    """The awaited answer says another epoch, an error, or a leader to a server that knows none."""
    return is_awaited(s, m) and is_handled(s, m)


def hear_news(s: PublicRaft, m: RaftMessage) -> None:
    """Take over epoch and leader."""
    hear(s, m)
    reset(s.servers[m.receiver].fetch)
    remove(s.in_flight, m)


RULES = (
    WRITE,
    Rule(
        "RejectFetchRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_refused,),
        effects=(refuse,),
        summary="{m.receiver} answers the fetch of {m.sender} with an error",
        reference=REFERENCE,
    ),
    Rule(
        "DivergingFetchRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(diverges,),
        effects=(refuse,),
        summary="{m.receiver} answers {m.sender} with the point where their logs diverge",
        reference=REFERENCE,
    ),
    Rule(
        "AcceptFetchRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_accepted,),
        effects=(accept,),
        summary="{m.receiver} answers the fetch of {m.sender}",
        reference=REFERENCE,
    ),
    Rule(
        "SendFetchRequest",
        actor="{server}",
        params=A_PLACE,
        guards=(may_fetch,),
        effects=(fetch,),
        summary="{server} fetches from its leader",
        reference=REFERENCE,
    ),
    Rule(
        "HandleSuccessFetchResponse",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(brings_entry,),
        effects=(append_entry,),
        summary="{m.receiver} receives what {m.sender} has after its last entry",
        reference=REFERENCE,
    ),
    Rule(
        "HandleDivergingFetchResponse",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(brings_divergence,),
        effects=(truncate_log,),
        summary="{m.receiver} truncates its log",
        reference=REFERENCE,
    ),
    Rule(
        "HandleErrorFetchResponse",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(brings_news,),
        effects=(hear_news,),
        summary="{m.receiver} hears of another epoch, an error or a leader",
        reference=REFERENCE,
    ),
)
