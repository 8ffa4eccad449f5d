"""What *leads to* means on a graph of numbered states: where a behaviour can stay forever and be fair, and a way into it.

Plain Python; knows no protocol, no record and no search. The oracle decides by it, and both engines make the counterexample with
it. A step here changes the state: a firing that leaves it as it was is none.

Theory of operation. A behaviour that goes on forever comes to stay in a set of states between which it goes to and fro: a
strongly connected part of the graph of protocol steps, or one state, in which it may rest. Weak fairness of an action rules out
a part in all of whose states the action is enabled, and within which it is never taken; every smaller part is then ruled out
as well. Strong fairness rules out the states of a part in which the action is enabled, if it is never taken within; what is
left may have smaller parts, which are looked at in turn. This is the emptiness check of Streett automata.

References: Lichtenstein, Pnueli: Checking that finite state concurrent programs satisfy their linear specification (1985).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TypeAlias

from kafka_spec.spec.table import Fairness

Step: TypeAlias = tuple[int, int]
"""The number of an action, and that of the state it leads to."""
Steps: TypeAlias = Callable[[int], Sequence[Step]]
"""Gives the steps out of a state, in the order of their actions."""


def components(nodes: Collection[int], steps: Steps) -> list[set[int]]:
    """Return the strongly connected parts of a graph, single states included (Kosaraju)."""
    inside = set(nodes)
    forward = {node: [to for _, to in steps(node) if to in inside] for node in nodes}
    backward: dict[int, list[int]] = {node: [] for node in nodes}
    for node, targets in forward.items():
        for to in targets:
            backward[to].append(node)
    finished: list[int] = []
    known: set[int] = set()
    for root in nodes:
        finished += _visited(root, forward, known)
    known, parts = set(), []
    for root in reversed(finished):
        if part := _visited(root, backward, known):
            parts.append(set(part))
    return parts


def _visited(root: int, edges: dict[int, list[int]], known: set[int]) -> list[int]:
    """Return the states that a depth-first visit newly comes to, in the order in which it leaves them."""
    if root in known:
        return []
    known.add(root)
    left, path = [], [(root, iter(edges[root]))]
    while path:
        node, rest = path[-1]
        to = next((to for to in rest if to not in known), None)
        if to is None:
            left.append(node)
            path.pop()
        else:
            known.add(to)
            path.append((to, iter(edges[to])))
    return left


def fair_parts(nodes: Collection[int], steps: Steps, fairness: Sequence[Fairness]) -> list[set[int]]:
    """Return the largest parts of a graph in which a behaviour can stay forever and be fair; `fairness` is that of each action.

    `steps` are those of the protocol; one that leads out of the nodes makes its action enabled, and is none within.
    """
    found, left = [], components(nodes, steps)
    while left:
        part = left.pop()
        enabled = Counter(action for node in part for action, _ in steps(node) if fairness[action] != "none")
        owed = enabled.keys() - {action for node in part for action, to in steps(node) if to in part}
        if any(fairness[action] == "weak" and enabled[action] == len(part) for action in owed):
            continue
        strong = {action for action in owed if fairness[action] == "strong"}
        if strong:
            left += components([node for node in part if not any(action in strong for action, _ in steps(node))], steps)
        else:
            found.append(part)
    return found


def way(start: int, steps: Steps, inside: Callable[[int], bool], ends: Callable[[int, int], bool]) -> list[Step]:
    """Return a shortest way within some states whose last step, an action with its target, is one that `ends` says yes to.

    Of several the first in the order of a breadth-first search. There must be one.
    """
    came: dict[int, tuple[int, int]] = {start: (-1, -1)}
    left = deque([start])
    while left:
        node = left.popleft()
        for action, to in steps(node):
            if not inside(to):
                continue
            if ends(action, to):
                found = [(action, to)]
                while node != start:
                    node, before = came[node][0], (came[node][1], node)
                    found.append(before)
                return found[::-1]
            if to not in came:
                came[to] = (node, action)
                left.append(to)
    raise AssertionError("there is no such way")


def circle(start: int, steps: Steps, inside: Callable[[int], bool], fairness: Sequence[Fairness]) -> list[Step]:
    """Return a way from a state of a fair part back to it that is fair when it is gone forever; empty where it may rest there.

    `steps` are those of the protocol, `inside` tells the states of the part.
    """

    def enabled(node: int) -> set[int]:
        return {action for action, _ in steps(node) if fairness[action] != "none"}

    owed = enabled(start)
    if "strong" in fairness:
        owed |= {action for node in _reached(start, steps, inside) for action in enabled(node) if fairness[action] == "strong"}
    walked: list[Step] = []
    here = start
    while owed:

        def paid(action: int, to: int) -> set[int]:
            """Return what is owed no more after a step: its action, and weakly fair ones that are not enabled then."""
            return {one for one in owed if one == action or (fairness[one] == "weak" and one not in enabled(to))}  # noqa: B023

        more = way(here, steps, inside, lambda action, to: bool(paid(action, to)))
        for step in more:
            owed -= paid(*step)
        walked += more
        here = more[-1][1]
    return walked if here == start else walked + way(here, steps, inside, lambda _, to: to == start)


def _reached(start: int, steps: Steps, inside: Callable[[int], bool]) -> Iterable[int]:
    """Return the states of a part."""
    known, left = {start}, [start]
    for node in left:
        fresh = {to for _, to in steps(node) if inside(to)} - known
        known |= fresh
        left += sorted(fresh)
    return left


def lasso(
    start: int,
    steps: Steps,
    protocol: Sequence[bool],
    fairness: Sequence[Fairness],
    open_: Callable[[int], bool],
    part: Callable[[int], int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the actions of a way from a state to a fair part, and those of a circle in it, or none where it may rest.

    `open_` tells the states in which the predicate is not met, `part` the number of the fair part that a state is in, or 0.
    """
    lead = [] if part(start) else way(start, steps, open_, lambda _, to: part(to) != 0)
    entry = lead[-1][1] if lead else start

    def of_protocol(node: int) -> list[Step]:
        return [(action, to) for action, to in steps(node) if protocol[action]]

    goes_on = circle(entry, of_protocol, lambda node: part(node) == part(entry), fairness)
    return tuple(action for action, _ in lead), tuple(action for action, _ in goes_on)
