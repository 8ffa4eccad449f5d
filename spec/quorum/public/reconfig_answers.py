"""How a leader answers fetches in the public model KRaftWithReconfig: with an entry, a divergence or an error.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/KRaftWithReconfig.tla (commit 69ad9d6).
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import NO_MEMBERS, NONE, contains, has, including, remove
from kafka_spec.spec.quorum.public.kraft_fetching import end_of_epoch
from kafka_spec.spec.quorum.public.kraft_state import FetchResult
from kafka_spec.spec.quorum.public.reconfig_elections import has_majority, send, track_all
from kafka_spec.spec.quorum.public.reconfig_state import EntryCommand, PublicReconfig, ReconfigError, ReconfigKind, ReconfigMessage
from kafka_spec.spec.quorum.public.servers import A_MESSAGE, REFERENCE, PublicRole, epoch_at
from kafka_spec.spec.vocabulary.table import Constants, Rule


def error_of(s: PublicReconfig, m: ReconfigMessage) -> int:
    """Return the error of a fetch, or NOTHING if its receiver leads in its epoch."""
    mine = s.servers[m.receiver]
    if mine.role != PublicRole.LEADER:
        return ReconfigError.NOT_LEADER
    if m.epoch < mine.epoch:
        return ReconfigError.FENCED_LEADER_EPOCH
    return ReconfigError.UNKNOWN_LEADER if m.epoch > mine.epoch else ReconfigError.NOTHING


def is_valid(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """The leader's log has the follower's as its beginning, as far as the last epoch says."""
    if m.offset == 0 and m.last_epoch == 0:
        return True
    end = end_of_epoch(s, m.receiver, m.last_epoch)
    return m.offset <= end and m.last_epoch == epoch_at(s, m.receiver, end)


def end_known(s: PublicReconfig, m: ReconfigMessage, leader: int, member: int) -> int:
    """Return the end of a member's log, as the leader knows it once it has seen the fetch; one that it does not track stays so."""
    known = s.servers[leader].ends[member]
    return m.offset if member == m.sender and known != NONE else known


def committed(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> int:
    """Return the high watermark after a voter's fetch: what a majority of the members has, if it is of the leader's epoch.

    A leader that is not a member does not count itself.
    """
    leader = m.receiver
    mine = s.servers[leader]
    agreed = 0
    for offset in range(1, len(mine.log) + 1):
        holders = NO_MEMBERS
        for member in range(k.servers):
            if contains(mine.members, member) == 1 and (member == leader or end_known(s, m, leader, member) >= offset):
                holders = including(holders, member)
        if has_majority(mine.members, holders):
            agreed = offset
    return agreed if agreed > 0 and mine.log[agreed - 1].epoch == mine.epoch else mine.high_watermark


def is_removed(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> bool:
    """The fetch commits the removal of the leader."""
    mine = s.servers[m.receiver]
    for offset in range(mine.high_watermark, committed(s, k, m)):
        if mine.log[offset].command == EntryCommand.REMOVE_SERVER and contains(mine.log[offset].members, m.receiver) == 0:
            return True
    return False


def answer_to_fetch(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> ReconfigMessage:
    """Return the answer to a fetch: an error, where the logs diverge, or an entry if there is one."""
    mine = s.servers[m.receiver]
    error, leader, end, end_epoch = error_of(s, m), mine.leader, 0, 0
    result, has_entry, high_watermark = FetchResult.OK, 0, mine.high_watermark
    command: int = EntryCommand.APPEND
    epoch, value, config, changed, members = 0, NONE, 0, NONE, NO_MEMBERS
    if error != ReconfigError.NOTHING:
        result = FetchResult.NOT_OK
    elif not is_valid(s, m):
        result = FetchResult.DIVERGING
        end = end_of_epoch(s, m.receiver, m.last_epoch)
        end_epoch = epoch_at(s, m.receiver, end)
    else:
        if m.observer == 0:
            high_watermark = committed(s, k, m)
            leader = NONE if is_removed(s, k, m) else mine.leader
        high_watermark = min(high_watermark, m.offset + 1)
        if m.offset < len(mine.log):
            has_entry = 1
            command, epoch, value = mine.log[m.offset].command, mine.log[m.offset].epoch, mine.log[m.offset].value
            config, changed, members = mine.log[m.offset].config, mine.log[m.offset].changed, mine.log[m.offset].members
    return ReconfigMessage(
        ReconfigKind.FETCHED, m.receiver, m.sender, mine.epoch, leader, error, 0, m.offset, m.last_epoch, m.observer, m.epoch,
        result, end, end_epoch, has_entry, command, epoch, value, config, changed, members, high_watermark,
    )  # fmt: skip


def is_new(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> bool:
    """The answer to the fetch was not sent before."""
    return not has(s.sent, answer_to_fetch(s, k, m))


def is_refused(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> bool:
    """A fetch is in error."""
    return m.kind == ReconfigKind.FETCH and error_of(s, m) != ReconfigError.NOTHING and is_new(s, k, m)


def diverges(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> bool:
    """A fetch is from where the logs differ."""
    return m.kind == ReconfigKind.FETCH and error_of(s, m) == ReconfigError.NOTHING and not is_valid(s, m) and is_new(s, k, m)


def is_accepted(s: PublicReconfig, k: Constants, m: ReconfigMessage, observer: int) -> bool:
    """A fetch of a voter, or of an observer, is from where the logs are equal."""
    if m.kind != ReconfigKind.FETCH or m.observer != observer:
        return False
    return error_of(s, m) == ReconfigError.NOTHING and is_valid(s, m) and is_new(s, k, m)


def is_voters(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> bool:
    """A voter fetches from where the logs are equal."""
    return is_accepted(s, k, m, 0)


def is_observers(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> bool:
    """An observer fetches from where the logs are equal."""
    return is_accepted(s, k, m, 1)


def use_newest(s: PublicReconfig, server: int, high_watermark: int) -> None:
    """Use the newest configuration in the log; it is committed if it is below a high watermark."""
    mine = s.servers[server]
    for offset in range(len(mine.log)):
        if mine.log[offset].command != EntryCommand.APPEND:
            mine.config = mine.log[offset].config
            mine.members = mine.log[offset].members
            mine.is_committed = 1 if high_watermark > offset else 0


def answer(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> None:
    """Answer with an entry or none, with the error, or with the point where the logs diverge."""
    send(s, answer_to_fetch(s, k, m))
    remove(s.in_flight, m)


def accept(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> None:
    """Answer a voter, raise the high watermark, and acknowledge what it passes; a leader whose removal is committed resigns."""
    leader = m.receiver
    mine = s.servers[leader]
    raised, leaves, end = committed(s, k, m), is_removed(s, k, m), end_known(s, m, leader, m.sender)
    send(s, answer_to_fetch(s, k, m))
    mine.ends[m.sender] = end
    if raised > mine.high_watermark:
        for offset in range(mine.high_watermark, raised):
            if mine.log[offset].value != NONE:
                s.acknowledged = including(s.acknowledged, mine.log[offset].value)
        mine.high_watermark = raised
        use_newest(s, leader, raised)
        if leaves:
            mine.is_observer = 1
            mine.role = PublicRole.UNATTACHED
            mine.leader = NONE
            mine.granted = NO_MEMBERS
            mine.high_watermark = 0
            track_all(s, leader)
    remove(s.in_flight, m)


RULES = (
    Rule(
        "RejectFetchRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_refused,),
        effects=(answer,),
        summary="{m.receiver} answers the fetch of {m.sender} with an error",
        reference=REFERENCE,
    ),
    Rule(
        "DivergingFetchRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(diverges,),
        effects=(answer,),
        summary="{m.receiver} answers {m.sender} with the point where their logs diverge",
        reference=REFERENCE,
    ),
    Rule(
        "AcceptFetchRequestFromVoter",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_voters,),
        effects=(accept,),
        summary="{m.receiver} answers the fetch of the voter {m.sender}",
        reference=REFERENCE,
    ),
    Rule(
        "AcceptFetchRequestFromObserver",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_observers,),
        effects=(answer,),
        summary="{m.receiver} answers the fetch of the observer {m.sender}",
        reference=REFERENCE,
    ),
)
