"""Raft's election: servers that vote once in a term, so that a term has at most one leader.

    kafka-spec check examples.raft_election:RAFT                  holds, 2,805 states: 3 servers, 2 terms
    kafka-spec check examples.raft_election:FORGETFUL             violated: OneLeaderInEachTerm

The protocol of D. Ongaro and J. Ousterhout, "In search of an understandable consensus algorithm" (USENIX ATC 2014), section 5.2,
without the log. The messages are a set, as in the TLA+ module of Ongaro's thesis: they are never lost for good, may arrive in any
order, and may be read many times or never. A list in place of the set (`Queue(Message, SENT)`, to which a rule appends what is not
in it, and a rule's parameter is a position in it) has 18,346 states at `two_terms` instead of 2,805, since it tells orders apart
that mean the same. `--bounds three_terms --threads 1` has 65,917 states, found in 0.1 seconds, and 0.1 more to compile at first.
"""

from dataclasses import dataclass
from enum import IntEnum

from kafka_spec import (
    NONE,
    ArrayOf,
    Bound,
    BoundSet,
    Constants,
    ElementOf,
    Member,
    MemberOrNone,
    OneOf,
    Range,
    Rule,
    SetOf,
    Spec,
    add,
    field,
    including,
    invariant,
    message,
    reachable,
    singleton,
    size,
)

REFERENCE = "Ongaro and Ousterhout 2014, section 5.2"
SERVERS = Bound("servers", 1, 5, "servers")
TERMS = Bound("terms", 1, 3, "terms in which somebody stands for election")
SENT = Bound("sent", 0, 40, "different messages that are sent")
ANY_SERVER = Member(SERVERS, "server")


class Role(IntEnum):
    """What a server takes itself for."""

    FOLLOWER = 0
    CANDIDATE = 1
    LEADER = 2


class Kind(IntEnum):
    """What a message says."""

    ASK = 0
    VOTE = 1


@message
@dataclass
class Message:
    """A candidate asks for a vote in its term, or a server grants it."""

    kind: Kind = field(OneOf(Kind))
    term: int = field(Range(0, TERMS))
    source: int = field(ANY_SERVER)
    target: int = field(ANY_SERVER)


@dataclass
class Server:
    """A server: its term, its role, its vote in that term, and who voted for it."""

    term: int = field(Range(0, TERMS))
    role: Role = field(OneOf(Role))
    voted_for: int = field(MemberOrNone(SERVERS, "server"))
    votes: int = field(SetOf(ANY_SERVER))


@dataclass
class Election:
    """The servers, and the messages that were ever sent."""

    servers: list[Server] = field(ArrayOf(Server, SERVERS, "server"))
    messages: list[Message] = field(SetOf(Message, SENT))


def does_not_lead(s: Election, i: int) -> bool:
    """It does not lead."""
    return s.servers[i].role != Role.LEADER


def stand(s: Election, k: Constants, i: int) -> None:
    """Enter the next term, vote for itself and ask all others."""
    me = s.servers[i]
    me.term += 1
    me.role = Role.CANDIDATE
    me.voted_for = i
    me.votes = singleton(i)
    for other in range(k.servers):
        if other != i:
            add(s.messages, kind=Kind.ASK, term=s.servers[i].term, source=i, target=other)


def is_newer(s: Election, m: Message) -> bool:
    """The message is of a later term."""
    return m.term > s.servers[m.target].term


def follow(s: Election, m: Message) -> None:
    """Enter the term of the message as a follower that has not voted."""
    me = s.servers[m.target]
    me.term = m.term
    me.role = Role.FOLLOWER
    me.voted_for = NONE
    me.votes = 0


def asks_in_my_term(s: Election, m: Message) -> bool:
    """It asks for a vote in the receiver's term."""
    return m.kind == Kind.ASK and m.term == s.servers[m.target].term


def may_vote_for(s: Election, m: Message) -> bool:
    """The receiver has not voted for another in this term."""
    return s.servers[m.target].voted_for in (NONE, m.source)


def vote(s: Election, m: Message) -> None:
    """Vote, and say so."""
    s.servers[m.target].voted_for = m.source
    add(s.messages, kind=Kind.VOTE, term=m.term, source=m.target, target=m.source)


def is_vote_for_candidate(s: Election, m: Message) -> bool:
    """It is a vote in the term in which the receiver is a candidate."""
    me = s.servers[m.target]
    return m.kind == Kind.VOTE and m.term == me.term and me.role == Role.CANDIDATE


def count_vote(s: Election, m: Message) -> None:
    """Count the vote."""
    me = s.servers[m.target]
    me.votes = including(me.votes, m.source)


def is_candidate(s: Election, i: int) -> bool:
    """It is a candidate."""
    return s.servers[i].role == Role.CANDIDATE


def has_majority(s: Election, i: int, k: Constants) -> bool:
    """More than half of the servers voted for it."""
    return 2 * size(s.servers[i].votes) > k.servers


def lead(s: Election, i: int) -> None:
    """Lead."""
    s.servers[i].role = Role.LEADER


def one_leader_in_each_term(s: Election, k: Constants) -> bool:
    """No two servers lead in the same term."""
    return not any(
        s.servers[i].role == s.servers[j].role == Role.LEADER and s.servers[i].term == s.servers[j].term
        for i in range(k.servers)
        for j in range(i)
    )


def somebody_leads(s: Election) -> bool:
    """A server leads."""
    return any(server.role == Role.LEADER for server in s.servers)


# ---------------------------------------------------------------------------------------------------------------------
# The protocol

SERVER = {"i": ANY_SERVER}
MESSAGE = {"m": ElementOf("messages")}
STAND = Rule(
    "Stand",
    actor="{i}",
    summary="{i} stands for election in the next term",
    reference=REFERENCE,
    params=SERVER,
    guards=(does_not_lead,),
    effects=(stand,),
)
FOLLOW = Rule(
    "Follow",
    actor="{m.target}",
    summary="{m.target} reads of term {m.term} and enters it",
    reference=REFERENCE,
    params=MESSAGE,
    guards=(is_newer,),
    effects=(follow,),
)
VOTE = Rule(
    "Vote",
    actor="{m.target}",
    summary="{m.target} votes for {m.source} in term {m.term}",
    reference=REFERENCE,
    params=MESSAGE,
    guards=(asks_in_my_term, may_vote_for),
    effects=(vote,),
)
COUNT = Rule(
    "Count",
    actor="{m.target}",
    summary="{m.target} counts the vote of {m.source} in term {m.term}",
    reference=REFERENCE,
    params=MESSAGE,
    guards=(is_vote_for_candidate,),
    effects=(count_vote,),
)
LEAD = Rule(
    "Lead",
    actor="{i}",
    summary="{i} has a majority and leads",
    reference=REFERENCE,
    params=SERVER,
    guards=(is_candidate, has_majority),
    effects=(lead,),
)

RAFT = Spec(
    "raft_election",
    "servers elect a leader for each term",
    Election,
    (STAND, FOLLOW, VOTE, COUNT, LEAD),
    (
        invariant("OneLeaderInEachTerm", one_leader_in_each_term, "no two servers lead in the same term", REFERENCE),
        reachable("SomebodyLeads", somebody_leads, "a server can be elected", REFERENCE),
    ),
    bound_sets=(
        BoundSet("two_terms", {"servers": 3, "terms": 2, "sent": 24}, "2,805 states; no more than 24 messages exist"),
        BoundSet("three_terms", {"servers": 3, "terms": 3, "sent": 36}, "a larger one"),
    ),
)

FORGETFUL = RAFT.replacing(
    "forgetful_raft_election",
    "servers that forget whom they voted for",
    rules=(VOTE.without_guard("may_vote_for"),),
)
