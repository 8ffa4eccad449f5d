"""Dijkstra's ring that stabilizes itself: from any counters, one token remains (EWD 426; ewd426/TokenRing.tla)."""

from dataclasses import dataclass

from kafka_spec import ArrayOf, Bound, BoundSet, Constants, Range, Rule, Spec, anywhere, assign, eventually_always, field

NODES = Bound("nodes", 2, 7, "nodes in a ring")
VALUES = Bound("values", 2, 8, "values of a counter")
COUNTERS = ArrayOf(Range(0, VALUES - 1), NODES, "node")


@dataclass
class Ring:
    """A counter for each node; a node that differs from the one before it has a token, the first one if it does not."""

    counters: list[int] = field(COUNTERS)


def begin(s: Ring, counters: list[int]) -> None:
    """Begin with any counters."""
    assign(s.counters, counters)


def equals_the_last(s: Ring, k: Constants) -> bool:
    """The first node has a token."""
    return s.counters[0] == s.counters[k.nodes - 1]


def create_token(s: Ring, k: Constants) -> None:
    """Count, and so pass the token on."""
    s.counters[0] = (s.counters[k.nodes - 1] + 1) % k.values


def differs(s: Ring, node: int) -> bool:
    """The node has a token."""
    return s.counters[node] != s.counters[node - 1]


def pass_token(s: Ring, node: int) -> None:
    """Take the counter of the node before it, and so pass the token on."""
    s.counters[node] = s.counters[node - 1]


def there_is_one_token(s: Ring, k: Constants) -> bool:
    """Up to some node all counters are those of the first one, and from there on one less."""
    return any(
        all(s.counters[node] == (s.counters[0] - (1 if node >= end else 0)) % k.values for node in range(k.nodes))
        for end in range(k.nodes + 1)
    )


TOKEN_RING = Spec(
    "token ring",
    "a ring stabilizes itself",
    Ring,
    (
        Rule("CreateToken", "node 0", "the first node counts", "", (create_token,), {}, (equals_the_last,)),
        Rule("PassToken", "node {node}", "node {node} follows", "", (pass_token,), {"node": Range(1, NODES - 1)}, (differs,)),
    ),
    (eventually_always("OneToken", there_is_one_token, "in the end there is one token, and remains"),),
    start=Rule("Begin", "ring", "the counters are {counters}", "", (begin,), {"counters": COUNTERS}),
    final=anywhere,
    bound_sets=(BoundSet("tlc", {"nodes": 6, "values": 6}, "the bounds of the original"),),
)
