"""Elections of the public model KRaft: votes, leaders that begin, and what a server makes of the epoch and leader that it hears of.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/KRaft.tla (commit 69ad9d6).
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import NO_MEMBERS, NONE, add, has, including, remove, reset, singleton, size
from kafka_spec.spec.quorum.public.kraft_state import PublicRaft, RaftError, RaftKind, RaftMessage
from kafka_spec.spec.quorum.public.servers import (
    A_MESSAGE,
    A_PLACE,
    ELECTIONS,
    REFERENCE,
    RESTARTS,
    PublicRole,
    is_majority,
    last_epoch,
)
from kafka_spec.spec.vocabulary.table import Constants, Rule

# ---------------------------------------------------------------------------------------------------------------------
# What a server hears


def agrees(s: PublicRaft, server: int, leader: int, epoch: int) -> bool:
    """The server does not contradict that this is the leader of the epoch (HasConsistentLeader)."""
    mine = s.servers[server]
    if leader == server:
        return mine.role == PublicRole.LEADER
    return epoch != mine.epoch or NONE in (leader, mine.leader) or mine.leader == leader


def become(s: PublicRaft, server: int, role: int, epoch: int, leader: int) -> None:
    """Change role, epoch and leader."""
    mine = s.servers[server]
    mine.role = role
    mine.epoch = epoch
    mine.leader = leader


def move(s: PublicRaft, server: int, leader: int, epoch: int) -> None:
    """Hear of this leader, or NONE, in this epoch (MaybeTransition): a later epoch, or a leader where none was known.

    What contradicts, and a leader for a server that leads or follows in the epoch, is illegal.
    """
    mine = s.servers[server]
    if not agrees(s, server, leader, epoch):
        become(s, server, PublicRole.ILLEGAL, 0, NONE)
    elif epoch > mine.epoch and leader == NONE:
        become(s, server, PublicRole.UNATTACHED, epoch, NONE)
    elif epoch > mine.epoch or (leader != NONE and mine.leader == NONE):
        if mine.epoch == epoch and mine.role in (PublicRole.FOLLOWER, PublicRole.LEADER):
            become(s, server, PublicRole.ILLEGAL, 0, NONE)
        else:
            become(s, server, PublicRole.FOLLOWER, epoch, leader)


def is_handled(s: PublicRaft, m: RaftMessage) -> bool:
    """The epoch, the error or the leader of the answer is all that its receiver takes from it (MaybeHandleCommonResponse)."""
    mine = s.servers[m.receiver]
    return m.epoch != mine.epoch or m.error != RaftError.NOTHING or (m.leader != NONE and mine.leader == NONE)


def hear(s: PublicRaft, m: RaftMessage) -> None:
    """Take over what such an answer says; one of an earlier epoch says nothing."""
    mine = s.servers[m.receiver]
    if m.epoch > mine.epoch or (m.epoch == mine.epoch and m.error != RaftError.NOTHING):
        move(s, m.receiver, m.leader, m.epoch)
    elif m.epoch == mine.epoch:
        mine.role = PublicRole.FOLLOWER
        mine.leader = m.leader


# ---------------------------------------------------------------------------------------------------------------------
# Votes


def restart(s: PublicRaft, k: Constants, server: int) -> None:
    """Keep the epoch, the vote and the log. Then it follows, but no leader: NoIllegalState is violated when it hears of one."""
    mine = s.servers[server]
    mine.role = PublicRole.FOLLOWER
    mine.leader = NONE
    mine.granted = NO_MEMBERS
    mine.high_watermark = 0
    reset(mine.fetch)
    for other in range(k.servers):
        mine.ends[other] = 0


def may_become_candidate(s: PublicRaft, k: Constants, server: int) -> bool:
    """The server is a follower, a candidate or unattached, and has not asked for these votes before."""
    mine = s.servers[server]
    if mine.role not in (PublicRole.FOLLOWER, PublicRole.CANDIDATE, PublicRole.UNATTACHED):
        return False
    end, last = len(mine.log), last_epoch(s, server)
    for other in range(k.servers):
        request = RaftMessage(RaftKind.VOTE, server, other, mine.epoch + 1, offset=end, last_epoch=last)
        if other != server and has(s.sent, request):
            return False
    return True


def become_candidate(s: PublicRaft, k: Constants, server: int) -> None:
    """Become a candidate in the next epoch, vote for itself, and ask the others."""
    mine = s.servers[server]
    mine.role = PublicRole.CANDIDATE
    mine.epoch += 1
    mine.leader = NONE
    mine.voted = server
    mine.granted = singleton(server)
    reset(mine.fetch)
    end, epoch, last = len(mine.log), mine.epoch, last_epoch(s, server)
    for other in range(k.servers):
        if other != server:
            send(s, RaftMessage(RaftKind.VOTE, server, other, epoch, offset=end, last_epoch=last))


def send(s: PublicRaft, m: RaftMessage) -> None:
    """Send a message, and remember it."""
    add(s.in_flight, m)
    add(s.sent, m)


def is_request_for_vote(m: RaftMessage) -> bool:
    """A candidate asks for a vote."""
    return m.kind == RaftKind.VOTE


def answer_candidate(s: PublicRaft, m: RaftMessage) -> None:
    """Detach in a later epoch; vote if unattached, or if it voted so, for a log that is not shorter; and answer."""
    mine = s.servers[m.receiver]
    if m.epoch < mine.epoch:
        send(s, RaftMessage(RaftKind.VOTED, m.receiver, m.sender, mine.epoch, mine.leader, RaftError.FENCED_LEADER_EPOCH))
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
        send(s, RaftMessage(RaftKind.VOTED, m.receiver, m.sender, m.epoch, mine.leader, granted=granted))
    remove(s.in_flight, m)


def is_vote(s: PublicRaft, m: RaftMessage) -> bool:
    """A vote arrives at a candidate, or at a server that takes only the epoch or the leader from it."""
    return m.kind == RaftKind.VOTED and (is_handled(s, m) or s.servers[m.receiver].role == PublicRole.CANDIDATE)


def count_vote(s: PublicRaft, m: RaftMessage) -> None:
    """Count the vote for the candidate."""
    if is_handled(s, m):
        hear(s, m)
    elif m.granted == 1:
        s.servers[m.receiver].granted = including(s.servers[m.receiver].granted, m.sender)
    remove(s.in_flight, m)


# ---------------------------------------------------------------------------------------------------------------------
# Leaders


def has_votes(s: PublicRaft, k: Constants, server: int) -> bool:
    """A majority votes for the candidate, which has not begun this epoch before."""
    mine = s.servers[server]
    if mine.role != PublicRole.CANDIDATE or not is_majority(k, size(mine.granted)):
        return False
    for other in range(k.servers):
        notice = RaftMessage(RaftKind.BEGIN, server, other, mine.epoch)
        if other != server and has(s.sent, notice):
            return False
    return True


def lead(s: PublicRaft, k: Constants, server: int) -> None:
    """Lead, and notify the others."""
    mine = s.servers[server]
    mine.role = PublicRole.LEADER
    mine.leader = server
    for other in range(k.servers):
        mine.ends[other] = 0
        if other != server:
            send(s, RaftMessage(RaftKind.BEGIN, server, other, mine.epoch))


def is_begin(m: RaftMessage) -> bool:
    """A leader announces its epoch (BeginQuorumEpoch)."""
    return m.kind == RaftKind.BEGIN


def begin_epoch(s: PublicRaft, m: RaftMessage) -> None:
    """Follow the leader, unless its epoch is over, and answer."""
    mine = s.servers[m.receiver]
    if m.epoch < mine.epoch:
        send(s, RaftMessage(RaftKind.BEGUN, m.receiver, m.sender, mine.epoch, error=RaftError.FENCED_LEADER_EPOCH))
    else:
        move(s, m.receiver, m.sender, m.epoch)
        reset(mine.fetch)
        send(s, RaftMessage(RaftKind.BEGUN, m.receiver, m.sender, m.epoch))
    remove(s.in_flight, m)


RULES = (
    Rule(
        "Restart",
        actor="{server}",
        kind="fault",
        params=A_PLACE,
        at_most=RESTARTS,
        effects=(restart,),
        summary="{server} restarts: it keeps its epoch, its vote and its log",
        reference=REFERENCE,
    ),
    Rule(
        "RequestVote",
        actor="{server}",
        params=A_PLACE,
        guards=(may_become_candidate,),
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
        "HandleBeginQuorumRequest",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_begin,),
        effects=(begin_epoch,),
        summary="{m.receiver} hears that {m.sender} leads",
        reference=REFERENCE,
    ),
)
