"""Leader election in a ring: some nodes send their number around, and the smallest comes back (chang_roberts/ChangRoberts.tla)."""

import enum
from dataclasses import dataclass

from kafka_spec import (
    ArrayOf,
    Bound,
    BoundSet,
    Constants,
    Flag,
    Member,
    OneOf,
    Rule,
    SetOf,
    Spec,
    anywhere,
    contains,
    excluding,
    field,
    including,
    invariant,
    leads_to,
)

NODES = Bound("nodes", 1, 6, "nodes in a ring")
NODE = {"node": Member(NODES, "node")}


class State(enum.IntEnum):
    """What a node is."""

    LOST = 0
    CANDIDATE = 1
    WON = 2


@dataclass
class Ring:
    """The nodes, and the numbers that are on their way to each."""

    initiates: list[int] = field(ArrayOf(Flag(), NODES, "node"))
    has_begun: list[int] = field(ArrayOf(Flag(), NODES, "node"))
    states: list[int] = field(ArrayOf(OneOf(State), NODES, "node"))
    messages: list[int] = field(ArrayOf(SetOf(NODES), NODES, "node"))


def choose(s: Ring, initiators: int, k: Constants) -> None:
    """Some nodes, or none, want to lead."""
    for node in range(k.nodes):
        if contains(initiators, node):
            s.initiates[node] = 1
            s.states[node] = State.CANDIDATE


def has_not_begun(s: Ring, node: int) -> bool:
    """It has not begun."""
    return s.has_begun[node] == 0


def begin(s: Ring, node: int, k: Constants) -> None:
    """Send its own number, if it wants to lead."""
    s.has_begun[node] = 1
    if s.initiates[node] == 1:
        pass_on(s, node, node, k)


def pass_on(s: Ring, node: int, number: int, k: Constants) -> None:
    """Send a number to the next node."""
    following = (node + 1) % k.nodes
    s.messages[following] = including(s.messages[following], number)


def has_message(s: Ring, node: int, number: int) -> bool:
    """It has begun, and there is such a message."""
    return s.has_begun[node] == 1 and contains(s.messages[node], number)


def receive(s: Ring, node: int, number: int, k: Constants) -> None:
    """Pass smaller numbers on; its own says that it has won."""
    s.messages[node] = excluding(s.messages[node], number)
    if s.states[node] == State.LOST:
        pass_on(s, node, number, k)
    elif number < node:
        s.states[node] = State.LOST
        pass_on(s, node, number, k)
    elif number == node:
        s.states[node] = State.WON


def winner_is_first(s: Ring, k: Constants) -> bool:
    """Who has won wanted to, all others have lost, and those that wanted to lead have larger numbers."""
    return all(
        s.states[node] != State.WON
        or (
            s.initiates[node] == 1
            and all(
                other == node or (s.states[other] == State.LOST and (s.initiates[other] == 0 or other > node))
                for other in range(k.nodes)
            )
        )
        for node in range(k.nodes)
    )


def is_candidate(s: Ring) -> bool:
    """A node wants to lead."""
    return any(state == State.CANDIDATE for state in s.states)


def somebody_won(s: Ring) -> bool:
    """A node has won."""
    return any(state == State.WON for state in s.states)


CHANG_ROBERTS = Spec(
    "chang_roberts",
    "nodes in a ring elect a leader",
    Ring,
    (
        Rule("Begin", "{node}", "{node} begins", "", (begin,), NODE, (has_not_begun,), fairness="weak each"),
        Rule(
            "Receive",
            "{node}",
            "{node} receives {number}",
            "",
            (receive,),
            {**NODE, "number": Member(NODES, "number")},
            (has_message,),
            fairness="weak each",
        ),
    ),
    (
        invariant("WinnerIsFirst", winner_is_first, "the node with the smallest number wins"),
        leads_to("SomebodyWins", is_candidate, somebody_won, "if a node wants to lead, one does in the end"),
    ),
    start=Rule("Choose", "ring", "{initiators} want to lead", "", (choose,), {"initiators": SetOf(NODES)}),
    final=anywhere,
    bound_sets=(BoundSet("tlc", {"nodes": 3}, "the bounds of the original"),),
)
