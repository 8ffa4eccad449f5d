"""Elections of the public model KRaftWithReconfig: votes, leaders that begin, restarts, and what a server makes of what it hears.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/KRaftWithReconfig.tla (commit 69ad9d6).
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import NO_MEMBERS, NONE, add, contains, has, including, remove, reset, singleton, size
from kafka_spec.spec.quorum.public.reconfig_state import PublicReconfig, ReconfigError, ReconfigKind, ReconfigMessage
from kafka_spec.spec.quorum.public.servers import A_MESSAGE, A_PLACE, ELECTIONS, REFERENCE, RESTARTS, PublicRole, last_epoch
from kafka_spec.spec.vocabulary.table import Constants, Rule


def is_started(s: PublicReconfig, server: int) -> bool:
    """The server was started."""
    return server < s.started


def send(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Send a message, and remember it."""
    add(s.in_flight, m)
    add(s.sent, m)


# ---------------------------------------------------------------------------------------------------------------------
# What a server hears


def agrees(s: PublicReconfig, server: int, leader: int, epoch: int) -> bool:
    """The server does not contradict that this is the leader of the epoch (HasConsistentLeader)."""
    mine = s.servers[server]
    if leader == server:
        has_resigned = epoch == mine.epoch and (mine.is_observer == 1 or mine.role == PublicRole.RESIGNED)
        return has_resigned or mine.role == PublicRole.LEADER
    return epoch != mine.epoch or NONE in (leader, mine.leader) or mine.leader == leader


def become(s: PublicReconfig, server: int, role: int, epoch: int, leader: int) -> None:
    """Change role, epoch and leader."""
    mine = s.servers[server]
    mine.role = role
    mine.epoch = epoch
    mine.leader = leader


def move(s: PublicReconfig, server: int, leader: int, epoch: int) -> None:
    """Hear of this leader, or NONE, in this epoch (MaybeTransition): a later epoch, or a leader where none was known.

    What contradicts, and a leader for a server that leads or follows in the epoch, is illegal.
    """
    mine = s.servers[server]
    if not agrees(s, server, leader, epoch):
        become(s, server, PublicRole.ILLEGAL, 0, NONE)
    elif epoch > mine.epoch and leader == NONE:
        become(s, server, PublicRole.UNATTACHED, epoch, NONE)
    elif epoch > mine.epoch or (leader not in (NONE, server) and mine.leader == NONE):
        if mine.epoch == epoch and mine.role in (PublicRole.FOLLOWER, PublicRole.LEADER):
            become(s, server, PublicRole.ILLEGAL, 0, NONE)
        else:
            become(s, server, PublicRole.FOLLOWER, epoch, leader)


def moves(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """The answer is of a later epoch, or an error that names a leader."""
    is_error = m.error in (ReconfigError.FENCED_LEADER_EPOCH, ReconfigError.NOT_LEADER)
    return m.epoch > s.servers[m.receiver].epoch or (m.epoch == s.servers[m.receiver].epoch and is_error)


def is_handled(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """The epoch, the error or the leader of the answer is all that its receiver takes from it (MaybeHandleCommonResponse)."""
    mine = s.servers[m.receiver]
    if m.epoch < mine.epoch or moves(s, m):
        return True
    return m.leader != NONE and mine.leader == NONE and m.error != ReconfigError.NOTHING


def hear(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Take over what an answer says of the epoch and its leader; one of an earlier epoch says nothing."""
    mine = s.servers[m.receiver]
    if moves(s, m):
        move(s, m.receiver, m.leader, m.epoch)
    elif m.epoch == mine.epoch and m.leader != NONE and mine.leader == NONE:
        mine.role = PublicRole.FOLLOWER
        mine.leader = m.leader


# ---------------------------------------------------------------------------------------------------------------------
# Votes


def restart(s: PublicReconfig, server: int) -> None:
    """Keep the epoch, the vote and the log; a leader resigns, or is unattached if it is an observer."""
    mine = s.servers[server]
    if mine.role == PublicRole.LEADER:
        mine.role = PublicRole.UNATTACHED if mine.is_observer == 1 else PublicRole.RESIGNED
        mine.leader = NONE
    mine.granted = NO_MEMBERS
    mine.high_watermark = 0
    reset(mine.fetch)
    track_all(s, server)


def track_all(s: PublicReconfig, server: int) -> None:
    """Know nothing of the logs of all servers."""
    for other in range(s.started):
        s.servers[server].ends[other] = 0


def may_become_candidate(s: PublicReconfig, k: Constants, server: int) -> bool:
    """The server is a voter and does not lead, and has not asked for these votes before."""
    mine = s.servers[server]
    if mine.is_observer == 1 or contains(mine.members, server) == 0:
        return False
    if mine.role not in (PublicRole.FOLLOWER, PublicRole.CANDIDATE, PublicRole.UNATTACHED):
        return False
    end, last = len(mine.log), last_epoch(s, server)
    for other in range(k.servers):
        request = ReconfigMessage(ReconfigKind.VOTE, server, other, mine.epoch + 1, offset=end, last_epoch=last)
        if other != server and contains(mine.members, other) == 1 and has(s.sent, request):
            return False
    return True


def become_candidate(s: PublicReconfig, k: Constants, server: int) -> None:
    """Become a candidate in the next epoch, vote for itself, and ask the other members."""
    mine = s.servers[server]
    become(s, server, PublicRole.CANDIDATE, mine.epoch + 1, NONE)
    mine.voted = server
    mine.granted = singleton(server)
    reset(mine.fetch)
    end, epoch, last = len(mine.log), mine.epoch, last_epoch(s, server)
    for other in range(k.servers):
        if other != server and contains(mine.members, other) == 1:
            send(s, ReconfigMessage(ReconfigKind.VOTE, server, other, epoch, offset=end, last_epoch=last))


def is_request_for_vote(m: ReconfigMessage) -> bool:
    """A candidate asks for a vote."""
    return m.kind == ReconfigKind.VOTE


def answer_candidate(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Detach in a later epoch; vote if unattached, or if it voted so, for a log that is not shorter; and answer."""
    mine = s.servers[m.receiver]
    if m.epoch < mine.epoch:
        error = ReconfigError.FENCED_LEADER_EPOCH
        send(s, ReconfigMessage(ReconfigKind.VOTED, m.receiver, m.sender, mine.epoch, mine.leader, error))
    else:
        former = mine.role
        if m.epoch > mine.epoch:
            become(s, m.receiver, PublicRole.UNATTACHED, m.epoch, NONE)
        last = last_epoch(s, m.receiver)
        is_long = m.last_epoch > last or (m.last_epoch == last and m.offset >= len(mine.log))
        is_free = mine.role == PublicRole.UNATTACHED or (mine.role == PublicRole.VOTED and mine.voted == m.sender)
        if is_long and is_free:
            if mine.role == PublicRole.UNATTACHED:
                mine.leader = NONE
            mine.role = PublicRole.VOTED
            mine.voted = m.sender
        if mine.role != former:
            reset(mine.fetch)
        granted = 1 if is_long and is_free else 0
        send(s, ReconfigMessage(ReconfigKind.VOTED, m.receiver, m.sender, m.epoch, mine.leader, granted=granted))
    remove(s.in_flight, m)


def is_vote(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """A vote arrives at a candidate, or at a voter that takes only the epoch or the leader from it."""
    mine = s.servers[m.receiver]
    return m.kind == ReconfigKind.VOTED and mine.is_observer == 0 and (is_handled(s, m) or mine.role == PublicRole.CANDIDATE)


def count_vote(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Count the vote for the candidate."""
    if is_handled(s, m):
        hear(s, m)
    elif m.granted == 1:
        s.servers[m.receiver].granted = including(s.servers[m.receiver].granted, m.sender)
    remove(s.in_flight, m)


# ---------------------------------------------------------------------------------------------------------------------
# Leaders


def has_majority(members: int, some: int) -> bool:
    """They are members, and a majority of them."""
    return some & members == some and 2 * size(some) > size(members)


def has_votes(s: PublicReconfig, k: Constants, server: int) -> bool:
    """A majority votes for the candidate, which has not begun this epoch before."""
    mine = s.servers[server]
    if mine.role != PublicRole.CANDIDATE or not has_majority(mine.members, mine.granted):
        return False
    for other in range(k.servers):
        notice = ReconfigMessage(ReconfigKind.BEGIN, server, other, mine.epoch)
        if other != server and contains(mine.members, other) == 1 and has(s.sent, notice):
            return False
    return True


def lead(s: PublicReconfig, k: Constants, server: int) -> None:
    """Lead, and notify the other members."""
    mine = s.servers[server]
    mine.role = PublicRole.LEADER
    mine.leader = server
    track_all(s, server)
    for other in range(k.servers):
        if other != server and contains(mine.members, other) == 1:
            send(s, ReconfigMessage(ReconfigKind.BEGIN, server, other, mine.epoch))


def is_begin(s: PublicReconfig, m: ReconfigMessage) -> bool:
    """A leader announces its epoch (BeginQuorumEpoch) to a voter, whose epoch is not later."""
    mine = s.servers[m.receiver]
    return m.kind == ReconfigKind.BEGIN and mine.is_observer == 0 and m.epoch >= mine.epoch


def begin_epoch(s: PublicReconfig, m: ReconfigMessage) -> None:
    """Follow the leader."""
    move(s, m.receiver, m.sender, m.epoch)
    reset(s.servers[m.receiver].fetch)
    remove(s.in_flight, m)


RULES = (
    Rule(
        "RestartWithState",
        actor="{server}",
        kind="fault",
        params=A_PLACE,
        guards=(is_started,),
        at_most=RESTARTS,
        effects=(restart,),
        summary="{server} restarts: it keeps its epoch, its vote and its log",
        reference=REFERENCE,
    ),
    Rule(
        "RequestVote",
        actor="{server}",
        params=A_PLACE,
        guards=(is_started, may_become_candidate),
        at_most=ELECTIONS,
        effects=(become_candidate,),
        summary="{server} starts an election in the next epoch",
        reference=REFERENCE,
    ),
    Rule(
        "HandleRequestVoteRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_request_for_vote,),
        effects=(answer_candidate,),
        summary="{m.receiver} answers {m.sender}, which asks for its vote",
        reference=REFERENCE,
    ),
    Rule(
        "HandleRequestVoteResponse",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_vote,),
        effects=(count_vote,),
        summary="{m.receiver} hears how {m.sender} votes",
        reference=REFERENCE,
    ),
    Rule(
        "BecomeLeader",
        actor="{server}",
        params=A_PLACE,
        guards=(has_votes,),
        effects=(lead,),
        summary="{server} leads",
        reference=REFERENCE,
    ),
    Rule(
        "AcceptBeginQuorumRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_begin,),
        effects=(begin_epoch,),
        summary="{m.receiver} hears that {m.sender} leads",
        reference=REFERENCE,
    ),
)
