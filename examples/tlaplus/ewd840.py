"""Termination detection in a ring, after Dijkstra's EWD 840 (ewd840/EWD840.tla)."""

from dataclasses import dataclass

from kafka_spec import (
    Bound,
    BoundSet,
    Constants,
    Flag,
    Member,
    Range,
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
    lemma,
)

NODES = Bound("nodes", 2, 8, "nodes in a ring")
NODE = {"node": Member(NODES, "node")}
TOKEN = {"token": Member(NODES, "node")}


@dataclass
class Ring:
    """Which nodes are active and which are black, and where the token is."""

    active: int = field(SetOf(NODES))
    black: int = field(SetOf(NODES))
    token: int = field(Member(NODES, "node"))
    token_is_black: int = field(Flag())


def begin(s: Ring, active: int, black: int, token: int) -> None:
    """Any nodes are active, any are black, and the token is anywhere."""
    s.active = active
    s.black = black
    s.token = token
    s.token_is_black = 1


def round_failed(s: Ring) -> bool:
    """The token is back, and proves nothing."""
    return s.token == 0 and (s.token_is_black == 1 or contains(s.black, 0))


def start_round(s: Ring, k: Constants) -> None:
    """Send the token around again."""
    s.token = k.nodes - 1
    s.token_is_black = 0
    s.black = excluding(s.black, 0)


def may_pass(s: Ring, node: int) -> bool:
    """The node has the token, and is passive, or the round has failed already."""
    return s.token == node and (not contains(s.active, node) or contains(s.black, node) or s.token_is_black == 1)


def pass_token(s: Ring, node: int) -> None:
    """Pass the token on; that of a black node is black."""
    s.token = node - 1
    if contains(s.black, node):
        s.token_is_black = 1
    s.black = excluding(s.black, node)


def sends(s: Ring, node: int, to: int) -> bool:
    """An active node sends to another."""
    return contains(s.active, node) and node != to


def send(s: Ring, node: int, to: int) -> None:
    """The receiver becomes active; who sends to a node of a larger number becomes black."""
    s.active = including(s.active, to)
    if to > node:
        s.black = including(s.black, node)


def is_active(s: Ring, node: int) -> bool:
    """The node is active."""
    return contains(s.active, node)


def become_passive(s: Ring, node: int) -> None:
    """Become passive."""
    s.active = excluding(s.active, node)


def is_over(s: Ring) -> bool:
    """All nodes are passive."""
    return s.active == 0


def is_detected(s: Ring) -> bool:
    """The token is back and white, and so is the first node, which is passive."""
    return s.token == 0 and s.token_is_black == 0 and not contains(s.black, 0) and not contains(s.active, 0)


def detection_is_right(s: Ring) -> bool:
    """What is detected is so."""
    return not is_detected(s) or is_over(s)


def token_tells(s: Ring, k: Constants) -> bool:
    """The nodes that the token has passed are passive, or the token is black, or will be: some node before it is black."""
    passed = all(node <= s.token or not contains(s.active, node) for node in range(k.nodes))
    return passed or s.token_is_black == 1 or any(node <= s.token and contains(s.black, node) for node in range(k.nodes))


EWD840 = Spec(
    "ewd840",
    "a token detects that all nodes are passive",
    Ring,
    (
        Rule("StartRound", "node 0", "the token goes around", "", (start_round,), {}, (round_failed,)),
        Rule("PassToken", "{node}", "{node} passes the token", "", (pass_token,), {"node": Range(1, NODES - 1)}, (may_pass,)),
        Rule(
            "Send", "{node}", "{node} sends to {to}", "", (send,), {**NODE, "to": Member(NODES, "node")}, (sends,), fairness="none"
        ),
        Rule("BecomePassive", "{node}", "{node} becomes passive", "", (become_passive,), NODE, (is_active,), fairness="none"),
    ),
    (
        invariant("DetectionIsRight", detection_is_right, "what is detected is so"),
        leads_to("IsDetected", is_over, is_detected, "termination is detected"),
    ),
    lemmas=(lemma("TokenTells", token_tells, "Dijkstra, EWD 840"),),
    start=Rule("Begin", "ring", "the ring begins", "", (begin,), {"active": SetOf(NODES), "black": SetOf(NODES), **TOKEN}),
    final=anywhere,
    bound_sets=(BoundSet("tlc", {"nodes": 3}, "the bounds of the original"),),
)
