"""Fetches of the public model KRaftWithReconfig: a voter or an observer asks, and uses a configuration once it is in its log.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/KRaftWithReconfig.tla (commit 69ad9d6).
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import NONE, append, assign, contains, remove, reset, truncate
from kafka_spec.spec.quorum.public.kraft_state import FetchResult
from kafka_spec.spec.quorum.public.reconfig_answers import use_newest
from kafka_spec.spec.quorum.public.reconfig_elections import hear, is_handled, is_started, send
from kafka_spec.spec.quorum.public.reconfig_state import PublicReconfig, ReconfigFetch, ReconfigKind, ReconfigMessage
from kafka_spec.spec.quorum.public.servers import A_MESSAGE, A_PLACE, A_SERVER, REFERENCE, PublicRole, last_epoch
from kafka_spec.spec.vocabulary.table import Rule

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
# The follower hears


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
