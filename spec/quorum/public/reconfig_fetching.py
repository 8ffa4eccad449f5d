"""Fetches of the public model KRaftWithReconfig: a voter or an observer fetches, and the leader answers.

An answer has an entry, a divergence or an error. A follower uses a configuration as soon as it is in its log.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/KRaftWithReconfig.tla (commit 69ad9d6).
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import NO_MEMBERS, NONE, append, assign, contains, has, including, remove, reset, truncate
from kafka_spec.spec.quorum.public.kraft_fetching import end_of_epoch
from kafka_spec.spec.quorum.public.kraft_state import FetchResult
from kafka_spec.spec.quorum.public.reconfig_elections import has_majority, hear, is_handled, is_started, send, track_all
from kafka_spec.spec.quorum.public.reconfig_state import (
    Command,
    PublicReconfig,
    ReconfigError,
    ReconfigFetch,
    ReconfigKind,
    ReconfigMessage,
)
from kafka_spec.spec.quorum.public.servers import A_MESSAGE, A_PLACE, A_SERVER, REFERENCE, PublicRole, epoch_at, last_epoch
from kafka_spec.spec.vocabulary.table import Constants, Rule

# ---------------------------------------------------------------------------------------------------------------------
# The follower asks


def may_fetch(s: PublicReconfig, server: int, leader: int) -> bool:
    """It waits for no fetch, and follows this leader; or it is an observer without a leader, and this is a member."""
    mine = s.servers[server]
    if server == leader or not is_started(s, server) or not is_started(s, leader) or mine.fetch.leader != NONE:
        return False
    follows = mine.role == PublicRole.FOLLOWER and mine.leader == leader
    return follows or (mine.is_observer == 1 and mine.role == PublicRole.UNATTACHED and contains(mine.members, leader) == 1)


def fetch(s: PublicReconfig, server: int, leader: int) -> None:
    """Ask for what is after the end of the log, and wait for the answer."""
    mine = s.servers[server]
    ask(s, server, leader, len(mine.log), last_epoch(s, server))


def ask(s: PublicReconfig, server: int, leader: int, end: int, last: int) -> None:
    """Send a fetch at this end of a log, and wait for the answer."""
    mine = s.servers[server]
    epoch, observer = mine.epoch, mine.is_observer
    assign(mine.fetch, ReconfigFetch(leader, epoch, end, last, observer))
    send(s, ReconfigMessage(ReconfigKind.FETCH, server, leader, epoch, offset=end, last_epoch=last, observer=observer))


# ---------------------------------------------------------------------------------------------------------------------
# The leader answers


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
        if mine.log[offset].command == Command.REMOVE_SERVER and contains(mine.log[offset].members, m.receiver) == 0:
            return True
    return False


def answer_to_fetch(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> ReconfigMessage:
    """Return the answer to a fetch: an error, where the logs diverge, or an entry if there is one."""
    mine = s.servers[m.receiver]
    error, leader, end, end_epoch = error_of(s, m), mine.leader, 0, 0
    result, has_entry, high_watermark = FetchResult.OK, 0, mine.high_watermark
    command: int = Command.APPEND
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


# ---------------------------------------------------------------------------------------------------------------------
# The follower hears


def use_newest(s: PublicReconfig, server: int, high_watermark: int) -> None:
    """Use the newest configuration in the log; it is committed if it is below a high watermark."""
    mine = s.servers[server]
    for offset in range(len(mine.log)):
        if mine.log[offset].command != Command.APPEND:
            mine.config = mine.log[offset].config
            mine.members = mine.log[offset].members
            mine.is_committed = 1 if high_watermark > offset else 0


def switch(s: PublicReconfig, server: int, high_watermark: int) -> None:
    """Use the newest configuration: a voter that it does not have is an observer, an observer that it has is a voter."""
    mine = s.servers[server]
    use_newest(s, server, high_watermark)
    is_observer = 1 - contains(mine.members, server)
    if is_observer != mine.is_observer:
        mine.is_observer = is_observer
        mine.role = PublicRole.FOLLOWER
    for other in range(s.started):
        mine.ends[other] = max(mine.ends[other], 0)


def is_awaited(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """The answer is to the fetch that its receiver waits for."""
    asked = ReconfigFetch(m.sender, m.fetch_epoch, m.offset, m.last_epoch, m.observer)
    return m.kind == ReconfigKind.FETCHED and asked == s.servers[m.receiver].fetch


def brings_result(s: PublicReconfig, m: ReconfigMessage, result: int) -> bool:
    """The awaited answer has this result, and says nothing that has to be handled first."""
    return is_awaited(s, m) and not is_handled(s, m) and m.result == result


def brings_entry(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """The awaited answer has an entry, or says that there is none."""
    return brings_result(s, m, FetchResult.OK)


def append_entry(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Append the entry, if there is one, take over the high watermark, and use the newest configuration."""
    mine = s.servers[m.receiver]
    hear(s, m)
    if m.has_entry == 1:
        append(
            mine.log, command=m.command, epoch=m.value_epoch, value=m.value, config=m.config, changed=m.changed, members=m.members
        )
    mine.high_watermark = m.high_watermark
    switch(s, m.receiver, m.high_watermark)
    reset(mine.fetch)
    remove(s.in_flight, m)


def brings_divergence(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """The awaited answer says where the logs diverge."""
    return brings_result(s, m, FetchResult.DIVERGING)


def truncate_log(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Truncate to the last entry that is not after the end of that epoch, and use the newest configuration that is left."""
    mine = s.servers[m.receiver]
    hear(s, m)
    kept = 0
    for offset in range(1, len(mine.log) + 1):
        epoch = mine.log[offset - 1].epoch
        if epoch < m.end_epoch or (epoch == m.end_epoch and offset <= m.end):
            kept = offset
    truncate(mine.log, kept)
    switch(s, m.receiver, m.high_watermark)
    reset(mine.fetch)
    remove(s.in_flight, m)


def brings_news(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """The awaited answer says another epoch, an error, or a leader to a server that knows none."""
    return is_awaited(s, m) and is_handled(s, m)


def hear_news(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Take over epoch and leader."""
    hear(s, m)
    reset(s.servers[m.receiver].fetch)
    remove(s.in_flight, m)


RULES = (
    Rule(
        "SendFetchRequest",
        actor="{server}",
        params={**A_PLACE, "leader": A_SERVER},
        guards=(may_fetch,),
        effects=(fetch,),
        summary="{server} fetches from {leader}",
        reference=REFERENCE,
    ),
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
        "HandleNonSuccessFetchResponse",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(brings_news,),
        effects=(hear_news,),
        summary="{m.receiver} hears of another epoch, an error or a leader",
        reference=REFERENCE,
    ),
)
