"""Raft's election with its messages as a set, as a list, and as a matrix for each term: lines, states and seconds of each.

    .venv/bin/python benchmarks/raft_messages.py

The set is examples/raft_election.py. The other two are what one writes where there are no sets of records. All three are one
protocol: they reach the same states of the servers. Lines are those of the state and of the functions of the rules, without
docstrings; seconds are those of the search on one thread, the best of five.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import sys
import textwrap
from dataclasses import dataclass
from typing import Any

from examples import raft_election as raft
from examples.raft_election import ANY_SERVER, RAFT, REFERENCE, SENT, SERVER, SERVERS, TERMS, Kind, Message, Role, Server
from kafka_spec import (
    NONE,
    ArrayOf,
    Constants,
    ItemOf,
    Queue,
    Range,
    Rule,
    SetOf,
    Spec,
    append,
    check,
    contains,
    field,
    including,
    singleton,
)
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.spec.language.domain import OutOfBound

# ---------------------------------------------------------------------------------------------------------------------
# A list, to which a rule appends what is not in it


@dataclass
class WithList:
    """The servers, and a list of the messages that were ever sent."""

    servers: list[Server] = field(ArrayOf(Server, SERVERS, "server"))
    messages: list[Message] = field(Queue(Message, SENT))


def was_sent(s: WithList, kind: int, term: int, source: int, target: int) -> bool:
    """The message is in the list."""
    for m in s.messages:
        if m.kind == kind and m.term == term and m.source == source and m.target == target:
            return True
    return False


def stand_in_list(s: WithList, k: Constants, i: int) -> None:
    """Enter the next term, vote for itself and ask all others."""
    me = s.servers[i]
    me.term += 1
    me.role = Role.CANDIDATE
    me.voted_for = i
    me.votes = singleton(i)
    for other in range(k.servers):
        if other != i:
            append(s.messages, kind=Kind.ASK, term=s.servers[i].term, source=i, target=other)


def is_newer_in_list(s: WithList, m: int) -> bool:
    """The message is of a later term."""
    return s.messages[m].term > s.servers[s.messages[m].target].term


def follow_in_list(s: WithList, m: int) -> None:
    """Enter the term of the message as a follower that has not voted."""
    me = s.servers[s.messages[m].target]
    me.term = s.messages[m].term
    me.role = Role.FOLLOWER
    me.voted_for = NONE
    me.votes = 0


def asks_in_list(s: WithList, m: int) -> bool:
    """It asks for a vote in the receiver's term."""
    return s.messages[m].kind == Kind.ASK and s.messages[m].term == s.servers[s.messages[m].target].term


def may_vote_in_list(s: WithList, m: int) -> bool:
    """The receiver has not voted for another in this term."""
    return s.servers[s.messages[m].target].voted_for in (NONE, s.messages[m].source)


def vote_in_list(s: WithList, m: int) -> None:
    """Vote, and say so if that was not said before."""
    term, source, target = s.messages[m].term, s.messages[m].source, s.messages[m].target
    s.servers[target].voted_for = source
    if not was_sent(s, Kind.VOTE, term, target, source):
        append(s.messages, kind=Kind.VOTE, term=term, source=target, target=source)


def is_vote_in_list(s: WithList, m: int) -> bool:
    """It is a vote in the term in which the receiver is a candidate."""
    me = s.servers[s.messages[m].target]
    return s.messages[m].kind == Kind.VOTE and s.messages[m].term == me.term and me.role == Role.CANDIDATE


def count_in_list(s: WithList, m: int) -> None:
    """Count the vote."""
    me = s.servers[s.messages[m].target]
    me.votes = including(me.votes, s.messages[m].source)


AT = {"m": ItemOf("messages", receives=False)}
LIST = Spec(
    "raft_with_list",
    "the messages are a list",
    WithList,
    (
        Rule("Stand", "{i}", "{i} stands", REFERENCE, (stand_in_list,), SERVER, (raft.does_not_lead,)),
        Rule(
            "Follow",
            "server",
            "a server reads message {m} and enters its term",
            REFERENCE,
            (follow_in_list,),
            AT,
            (is_newer_in_list,),
        ),
        Rule(
            "Vote", "server", "a server votes as message {m} asks", REFERENCE, (vote_in_list,), AT, (asks_in_list, may_vote_in_list)
        ),
        Rule("Count", "server", "a server counts the vote in message {m}", REFERENCE, (count_in_list,), AT, (is_vote_in_list,)),
        raft.LEAD,
    ),
    RAFT.properties,
    bound_sets=RAFT.bound_sets,
)

# ---------------------------------------------------------------------------------------------------------------------
# A matrix for each term


@dataclass
class Sent:
    """What was sent in a term: who asked all others, and whom each server sent its vote."""

    asked: int = field(SetOf(ANY_SERVER))
    voted: list[int] = field(ArrayOf(SetOf(ANY_SERVER), SERVERS, "server"))


@dataclass
class WithMatrices:
    """The servers, and what was sent in each term."""

    servers: list[Server] = field(ArrayOf(Server, SERVERS, "server"))
    sent: list[Sent] = field(ArrayOf(Sent, TERMS + 1, "term"))


def stand_in_matrix(s: WithMatrices, i: int) -> None:
    """Enter the next term, vote for itself and ask all others."""
    me = s.servers[i]
    me.term += 1
    me.role = Role.CANDIDATE
    me.voted_for = i
    me.votes = singleton(i)
    s.sent[me.term].asked = including(s.sent[me.term].asked, i)


def asked(s: WithMatrices, term: int, source: int, target: int) -> bool:
    """The source asked the target for its vote in this term."""
    return source != target and contains(s.sent[term].asked, source)


def sent_vote(s: WithMatrices, term: int, source: int, target: int) -> bool:
    """The source sent the target its vote in this term."""
    return contains(s.sent[term].voted[source], target)


def is_newer_than(s: WithMatrices, term: int, target: int) -> bool:
    """The term is later than the target's."""
    return term > s.servers[target].term


def follow_term(s: WithMatrices, term: int, target: int) -> None:
    """Enter the term as a follower that has not voted."""
    me = s.servers[target]
    me.term = term
    me.role = Role.FOLLOWER
    me.voted_for = NONE
    me.votes = 0


def is_in_term(s: WithMatrices, term: int, target: int) -> bool:
    """The target is in this term."""
    return term == s.servers[target].term


def may_vote_in_matrix(s: WithMatrices, source: int, target: int) -> bool:
    """The target has not voted for another in its term."""
    return s.servers[target].voted_for in (NONE, source)


def vote_in_matrix(s: WithMatrices, term: int, source: int, target: int) -> None:
    """Vote, and say so."""
    s.servers[target].voted_for = source
    s.sent[term].voted[target] = including(s.sent[term].voted[target], source)


def is_candidate_in_matrix(s: WithMatrices, target: int) -> bool:
    """The target is a candidate."""
    return s.servers[target].role == Role.CANDIDATE


def count_in_matrix(s: WithMatrices, source: int, target: int) -> None:
    """Count the vote."""
    s.servers[target].votes = including(s.servers[target].votes, source)


SENT_IN = {"term": Range(0, TERMS), "source": ANY_SERVER, "target": ANY_SERVER}
REQUEST, ANSWER = "{target} reads that {source} asks in term {term}", "{target} reads the vote of {source} in term {term}"
MATRICES = Spec(
    "raft_with_matrices",
    "the messages are a matrix for each term",
    WithMatrices,
    (
        Rule("Stand", "{i}", "{i} stands", REFERENCE, (stand_in_matrix,), SERVER, (raft.does_not_lead,)),
        Rule("FollowRequest", "{target}", REQUEST, REFERENCE, (follow_term,), SENT_IN, (asked, is_newer_than)),
        Rule("FollowVote", "{target}", ANSWER, REFERENCE, (follow_term,), SENT_IN, (sent_vote, is_newer_than)),
        Rule("Vote", "{target}", REQUEST, REFERENCE, (vote_in_matrix,), SENT_IN, (asked, is_in_term, may_vote_in_matrix)),
        Rule("Count", "{target}", ANSWER, REFERENCE, (count_in_matrix,), SENT_IN, (sent_vote, is_in_term, is_candidate_in_matrix)),
        raft.LEAD,
    ),
    RAFT.properties,
    bound_sets=RAFT.bound_sets,
    more_bounds=(SENT,),
)

FORMS: tuple[tuple[str, Spec, tuple[Any, ...]], ...] = (
    ("a set: `SetOf(Message, SENT)`", RAFT, (Message, Kind)),
    ("a list: `Queue(Message, SENT)`", LIST, (Message, Kind, was_sent)),
    ("a matrix for each term", MATRICES, (Sent,)),
)
"""Each form in words, its spec, and what it defines besides its state and the functions of its rules."""

# ---------------------------------------------------------------------------------------------------------------------
# The table


def lines_of(spec: Spec, others: tuple[Any, ...]) -> int:
    """Return the lines of code, without docstrings, of the state, its records and the functions of all rules."""
    functions = [f for rule in spec.rules for f in (*rule.guards, *rule.effects)]
    return sum(map(code_lines, dict.fromkeys([spec.state, Server, *others, *functions])))


def code_lines(part: Any) -> int:
    """Return how many lines of code a function or a class has, without docstrings."""
    source = textwrap.dedent(inspect.getsource(part))
    said: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            said.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return sum(bool(line.strip()) and number not in said for number, line in enumerate(source.splitlines(), 1))


def servers_reached(spec: Spec, bounds: dict[str, int]) -> set[str]:
    """Return the states of the servers that a spec reaches, whatever was sent, by a search of its own."""
    run = Interpreter(spec, bounds)
    found = {run.key(state): state for state in run.initial()}
    frontier = list(found.values())
    while frontier:
        reached = {}
        for state in frontier:
            for rule in spec.rules:
                for binding in run.enabled(rule, state):
                    with contextlib.suppress(OutOfBound):
                        after = run.apply(rule, state, binding)
                        reached[run.key(after)] = after
        frontier = [state for key, state in reached.items() if key not in found]
        found.update(reached)
    return {repr(state.servers) for state in found.values()}


def main() -> int:
    """Print the table; the exit code is 1 if a form does not hold, or if the forms are not one protocol."""
    bounds = {"servers": 3, "terms": 2, "sent": 24}
    one_term = {**bounds, "terms": 1}
    print("| messages | lines | rules | parameters | states | seconds |\n|---|---|---|---|---|---|")
    for reported, spec, others in FORMS:
        found = min((check(spec, bounds, threads=1) for _ in range(5)), key=lambda result: result.search_seconds)
        if found.verdict != "holds":
            sys.exit(f"{spec.name}: {found.verdict}")
        parameters = sum(len(rule.params) for rule in spec.rules)
        row = (reported, lines_of(spec, others), len(spec.rules), parameters, f"{found.distinct:,}", f"{found.search_seconds:.3f}")
        print(f"| {' | '.join(map(str, row))} |", flush=True)
    if len({frozenset(servers_reached(spec, one_term)) for _, spec, _ in FORMS}) > 1:
        sys.exit("the forms do not reach the same states of the servers")
    return 0


if __name__ == "__main__":
    sys.exit(main())
