"""Elections of the public model PullRaft: a server that has voted takes its candidate for the leader.

Source: Vanlightly/raft-tlaplus specifications/pull-raft/PullRaft.tla (commit 69ad9d6).
"""

from __future__ import annotations

from kafka_spec.spec.language.domain import (
    NO_MEMBERS,
    NONE,
    add,
    contains,
    has,
    including,
    remove,
    singleton,
    size,
)
from kafka_spec.spec.quorum.public.pull_raft_state import PullRaft, PullRaftKind, PullRaftMessage
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


def restart(s: PullRaft, k: Constants, server: int) -> None:
    """Keep the epoch, the leader and the log."""
    mine = s.servers[server]
    mine.role = PublicRole.FOLLOWER
    mine.granted = NO_MEMBERS
    mine.high_watermark = 0
    for other in range(k.servers):
        mine.ends[other] = 0


def is_of_later_epoch(s: PullRaft, m: PullRaftMessage) -> bool:
    """The message has a larger epoch than its receiver."""
    return m.epoch > s.servers[m.receiver].epoch


def take_epoch(s: PullRaft, m: PullRaftMessage) -> None:
    """Follow nobody in the epoch of the message, which stays in flight."""
    mine = s.servers[m.receiver]
    mine.epoch = m.epoch
    mine.role = PublicRole.FOLLOWER
    mine.leader = NONE


def does_not_lead(s: PullRaft, server: int) -> bool:
    """The server does not lead."""
    return s.servers[server].role != PublicRole.LEADER


def request_votes(s: PullRaft, k: Constants, server: int) -> None:
    """Become a candidate in the next epoch, vote for itself, and ask the others."""
    mine = s.servers[server]
    mine.role = PublicRole.CANDIDATE
    mine.epoch += 1
    mine.leader = server
    mine.granted = singleton(server)
    end, epoch, last = len(mine.log), mine.epoch, last_epoch(s, server)
    for other in range(k.servers):
        if other != server:
            send(s, PullRaftMessage(PullRaftKind.VOTE, server, other, epoch, end, last))


def send(s: PullRaft, m: PullRaftMessage) -> None:
    """Send a message that was not sent before."""
    add(s.in_flight, m)
    add(s.sent, m)


def answer_to_candidate(s: PullRaft, m: PullRaftMessage) -> PullRaftMessage:
    """Return the answer to a candidate: a vote, if the receiver has no other candidate in this epoch, and no longer log."""
    mine = s.servers[m.receiver]
    last = last_epoch(s, m.receiver)
    is_long = m.offset_epoch > last or (m.offset_epoch == last and m.offset >= len(mine.log))
    granted = 1 if m.epoch == mine.epoch and is_long and mine.leader in (NONE, m.sender) else 0
    return PullRaftMessage(PullRaftKind.VOTED, m.receiver, m.sender, mine.epoch, granted=granted)


def is_request_for_vote(s: PullRaft, m: PullRaftMessage) -> bool:
    """A candidate asks, in an epoch that is not larger, and the answer is new."""
    if m.kind != PullRaftKind.VOTE or m.epoch > s.servers[m.receiver].epoch:
        return False
    return not has(s.sent, answer_to_candidate(s, m))


def answer_candidate(s: PullRaft, m: PullRaftMessage) -> None:
    """Vote for the candidate or not, and answer."""
    answer = answer_to_candidate(s, m)
    if answer.granted == 1:
        s.servers[m.receiver].leader = m.sender
    send(s, answer)
    remove(s.in_flight, m)


def is_vote(s: PullRaft, m: PullRaftMessage) -> bool:
    """A vote arrives in its epoch."""
    return m.kind == PullRaftKind.VOTED and m.epoch == s.servers[m.receiver].epoch


def count_vote(s: PullRaft, m: PullRaftMessage) -> None:
    """Count the vote, whatever the role of the receiver is."""
    if m.granted == 1:
        s.servers[m.receiver].granted = including(s.servers[m.receiver].granted, m.sender)
    remove(s.in_flight, m)


def has_votes(s: PullRaft, k: Constants, server: int) -> bool:
    """A majority votes for the candidate."""
    return s.servers[server].role == PublicRole.CANDIDATE and is_majority(k, size(s.servers[server].granted))


def lead(s: PullRaft, k: Constants, server: int) -> None:
    """Lead, and notify those that did not vote for it."""
    mine = s.servers[server]
    mine.role = PublicRole.LEADER
    for other in range(k.servers):
        mine.ends[other] = 0
        if contains(mine.granted, other) == 0:
            send(s, PullRaftMessage(PullRaftKind.NOTIFY, server, other, mine.epoch))


def is_notice(s: PullRaft, m: PullRaftMessage) -> bool:
    """A leader notifies, in its epoch."""
    return m.kind == PullRaftKind.NOTIFY and m.epoch == s.servers[m.receiver].epoch


def learn_of_leader(s: PullRaft, m: PullRaftMessage) -> None:
    """Take the sender for the leader."""
    s.servers[m.receiver].leader = m.sender
    remove(s.in_flight, m)


RULES = (
    Rule(
        "Restart",
        actor="{server}",
        kind="fault",
        params=A_PLACE,
        at_most=RESTARTS,
        effects=(restart,),
        summary="{server} restarts: it keeps its epoch, its leader and its log",
        reference=REFERENCE,
    ),
    Rule(
        "UpdateTerm",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_of_later_epoch,),
        effects=(take_epoch,),
        summary="{m.receiver} hears of epoch {m.epoch}",
        reference=REFERENCE,
    ),
    Rule(
        "RequestVote",
        actor="{server}",
        params=A_PLACE,
        guards=(does_not_lead,),
        at_most=ELECTIONS,
        effects=(request_votes,),
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
        "LearnOfLeader",
        actor="{m.receiver}",
        params=A_MESSAGE,
        guards=(is_notice,),
        effects=(learn_of_leader,),
        summary="{m.receiver} hears that {m.sender} leads",
        reference=REFERENCE,
    ),
)
