"""Changes of the members in the public model KRaftWithReconfig: servers that start, join and are removed; and client requests.

Two things of the module cannot happen, and are left out. RestartWithoutState asks whether a state is the role Voter. A join that
is rejected is not tried again, since its result is compared with errors.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/KRaftWithReconfig.tla (commit 69ad9d6).
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import NONE, Range, append, contains, excluding, has, including, remove, size
from kafka_spec.spec.quorum.public.reconfig_answers import use_newest
from kafka_spec.spec.quorum.public.reconfig_elections import is_started, send
from kafka_spec.spec.quorum.public.reconfig_fetching import ask
from kafka_spec.spec.quorum.public.reconfig_state import (
    HOSTS,
    REMOVALS,
    EntryCommand,
    PublicReconfig,
    ReconfigError,
    ReconfigKind,
    ReconfigMessage,
)
from kafka_spec.spec.quorum.public.servers import A_MESSAGE, A_PLACE, A_SERVER, REFERENCE, VALUES, PublicRole, is_not_written
from kafka_spec.spec.vocabulary.table import Constants, Rule

# ---------------------------------------------------------------------------------------------------------------------
# Client requests


def may_write(s: PublicReconfig, k: Constants, server: int, value: int) -> bool:
    """The server leads, the value was not written yet, and not too many were in the epoch."""
    mine = s.servers[server]
    return mine.role == PublicRole.LEADER and is_not_written(s, value) and s.written_in[mine.epoch] < k.values_in_epoch


def write(s: PublicReconfig, server: int, value: int) -> None:
    """Append the value."""
    mine = s.servers[server]
    append(mine.log, command=EntryCommand.APPEND, epoch=mine.epoch, value=value, changed=NONE)
    s.written = including(s.written, value)
    s.written_in[mine.epoch] += 1


# ---------------------------------------------------------------------------------------------------------------------
# Servers that join


def may_start(s: PublicReconfig, k: Constants, leader: int) -> bool:
    """There is a leader, which the next server fetches from at first."""
    return s.started < k.servers and s.servers[leader].role == PublicRole.LEADER


def start(s: PublicReconfig, leader: int, host: int) -> None:
    """Start a server without a log, in epoch 0, as an observer that fetches."""
    server = s.started
    for other in range(server):
        s.servers[server].ends[other] = 0
    s.started = server + 1
    s.servers[server].host = host
    s.servers[server].role = PublicRole.UNATTACHED
    s.servers[server].is_observer = 1
    ask(s, server, leader, 0, 0)


def may_ask_to_join(s: PublicReconfig, k: Constants, server: int) -> bool:
    """The server is an observer that knows another as the leader, and has not asked it before in this epoch."""
    mine = s.servers[server]
    if k.additions == 0 or not is_started(s, server) or mine.is_observer == 0 or contains(mine.members, server) == 1:
        return False
    if mine.leader in (NONE, server):
        return False
    return not has(s.sent, ReconfigMessage(ReconfigKind.JOIN, server, mine.leader, mine.epoch))


def ask_to_join(s: PublicReconfig, server: int) -> None:
    """Ask the leader."""
    leader, epoch = s.servers[server].leader, s.servers[server].epoch
    send(s, ReconfigMessage(ReconfigKind.JOIN, server, leader, epoch))


def may_change(s: PublicReconfig, server: int) -> bool:
    """Its newest configuration is committed, and so is an entry of its epoch."""
    mine = s.servers[server]
    if mine.is_committed == 0:
        return False
    return any(mine.log[offset].epoch == mine.epoch and mine.high_watermark > offset for offset in range(len(mine.log)))


def is_member(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """The server that asks is a member."""
    return contains(s.servers[m.receiver].members, m.sender) == 1


def may_join(s: PublicReconfig, k: Constants, m: ReconfigMessage) -> bool:
    """A server that is not a member asks the leader, which may change the members, and has room."""
    if m.kind != ReconfigKind.JOIN or s.servers[m.receiver].role != PublicRole.LEADER or is_member(s, m):
        return False
    return may_change(s, m.receiver) and size(s.servers[m.receiver].members) < k.most_voters


def join(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Append and use the members with one more, whose log is tracked, and answer."""
    leader = m.receiver
    mine = s.servers[leader]
    members = including(mine.members, m.sender)
    append(
        mine.log,
        command=EntryCommand.ADD_SERVER,
        epoch=mine.epoch,
        value=NONE,
        config=mine.config + 1,
        changed=m.sender,
        members=members,
    )
    use_newest(s, leader, mine.high_watermark)
    mine.ends[m.sender] = max(mine.ends[m.sender], 0)
    send(s, ReconfigMessage(ReconfigKind.JOINED, leader, m.sender, mine.epoch, mine.leader))
    remove(s.in_flight, m)


def may_not_join(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """A server asks one that does not lead, or is a member already."""
    return m.kind == ReconfigKind.JOIN and (s.servers[m.receiver].role != PublicRole.LEADER or is_member(s, m))


def reject_join(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Answer with the error."""
    mine = s.servers[m.receiver]
    error = ReconfigError.ALREADY_MEMBER if mine.role == PublicRole.LEADER else ReconfigError.NOT_LEADER
    send(s, ReconfigMessage(ReconfigKind.JOINED, m.receiver, m.sender, mine.epoch, mine.leader, error))
    remove(s.in_flight, m)


def is_rejected(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """An observer hears that it may not join."""
    return m.kind == ReconfigKind.JOINED and m.error != ReconfigError.NOTHING and s.servers[m.receiver].is_observer == 1


def forget(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Take nothing from the answer."""
    remove(s.in_flight, m)


# ---------------------------------------------------------------------------------------------------------------------
# Servers that are removed


def may_remove(s: PublicReconfig, k: Constants, server: int, removed: int) -> bool:
    """It leads and may change the members, of which enough are left."""
    mine = s.servers[server]
    if mine.role != PublicRole.LEADER or contains(mine.members, removed) == 0 or size(mine.members) <= k.least_voters:
        return False
    return may_change(s, server)


def remove_server(s: PublicReconfig, server: int, removed: int) -> None:
    """Append and use the members without one; a leader that removes itself leads on as an observer."""
    mine = s.servers[server]
    members = excluding(mine.members, removed)
    append(
        mine.log,
        command=EntryCommand.REMOVE_SERVER,
        epoch=mine.epoch,
        value=NONE,
        config=mine.config + 1,
        changed=removed,
        members=members,
    )
    use_newest(s, server, mine.high_watermark)
    if server == removed:
        mine.is_observer = 1


RULES = (
    Rule(
        "ClientRequest",
        actor="client",
        params={**A_PLACE, "value": Range(0, VALUES - 1)},
        guards=(may_write,),
        effects=(write,),
        summary="a client writes value {value} to {server}",
        reference=REFERENCE,
    ),
    Rule(
        "StartNewServer",
        actor="operator",
        params={"leader": A_SERVER, "host": Range(0, HOSTS - 1)},
        guards=(may_start,),
        effects=(start,),
        summary="a server is started on host {host}, and fetches from {leader}",
        reference=REFERENCE,
    ),
    Rule(
        "SendJoinRequest",
        actor="{server}",
        params=A_PLACE,
        guards=(may_ask_to_join,),
        effects=(ask_to_join,),
        summary="{server} asks its leader to become a voter",
        reference=REFERENCE,
    ),
    Rule(
        "AcceptJoinRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(may_join,),
        effects=(join,),
        summary="{m.receiver} appends the members with {m.sender} added",
        reference=REFERENCE,
    ),
    Rule(
        "RejectJoinRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(may_not_join,),
        effects=(reject_join,),
        summary="{m.receiver} rejects {m.sender}, which asks to become a voter",
        reference=REFERENCE,
    ),
    Rule(
        "HandleRejectJoinResponse",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_rejected,),
        effects=(forget,),
        summary="{m.receiver} hears that it does not become a voter",
        reference=REFERENCE,
    ),
    Rule(
        "HandleRemoveRequest",
        actor="{server}",
        kind="operator",
        params={**A_PLACE, "removed": A_SERVER},
        guards=(may_remove,),
        at_most=REMOVALS,
        effects=(remove_server,),
        summary="{server} appends the members without {removed}",
        reference=REFERENCE,
    ),
)
