"""Leads-to on a graph of numbered states: the components in which a fair behaviour can stay forever, and paths into them.

Plain Python; does not depend on protocols, records or searches. The oracle decides leads-to properties with it, and both engines
construct their counterexamples with it. Every step here changes the state; a firing that does not is not a step.

Theory of operation. An infinite behaviour finally stays in a strongly connected component of the graph of protocol steps; the
component may be a single state in which it stutters. Weak fairness of an action rules out a component if the action is enabled in
all of its states and never taken within it; all smaller components are then ruled out as well. Strong fairness of an action that
is never taken within a component rules out those of its states in which the action is enabled. The remaining states may form
smaller components, which are examined in turn. This is the emptiness check of Streett automata.

References: Lichtenstein, Pnueli: Checking that finite state concurrent programs satisfy their linear specification (1985).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Step: TypeAlias = tuple[int, int]
"""The number of an action, and that of its target state."""
Steps: TypeAlias = Callable[[int], Sequence[Step]]
"""Returns the steps out of a state, in the order of their actions."""


@dataclass(frozen=True)
class Fair:
    """The fairness of actions: the group of each action, by its number, and the kind of fairness of each group."""

    groups: Sequence[int]
    kinds: Sequence[str]

    def of(self, action: int) -> str:
        """Return the fairness of the group of an action."""
        return self.kinds[self.groups[action]]

    def enabled(self, steps: Sequence[Step]) -> set[int]:
        """Return the groups to which something is owed where these steps lead on."""
        return {self.groups[action] for action, _ in steps if self.of(action) != "none"}


def components(nodes: Collection[int], steps: Steps) -> list[set[int]]:
    """Return the strongly connected components of a graph, including single states (Kosaraju)."""
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
    """Return the states that a depth-first search from the root newly finds, in postorder; add them to `known`."""
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


def fair_parts(nodes: Collection[int], steps: Steps, fairness: Fair) -> list[set[int]]:
    """Return the maximal components of a graph in which a fair behaviour can stay forever.

    `steps` are the protocol steps. A step out of `nodes` makes its action enabled, but does not belong to any component.
    """
    found, left = [], components(nodes, steps)
    while left:
        part = left.pop()
        enabled = Counter(group for node in part for group in fairness.enabled(steps(node)))
        owed = enabled.keys() - {fairness.groups[action] for node in part for action, to in steps(node) if to in part}
        if any(fairness.kinds[group] == "weak" and enabled[group] == len(part) for group in owed):
            continue
        strong = {group for group in owed if fairness.kinds[group] == "strong"}
        if strong:
            left += components([node for node in part if not fairness.enabled(steps(node)) & strong], steps)
        else:
            found.append(part)
    return found


def way(start: int, steps: Steps, inside: Callable[[int], bool], ends: Callable[[int, int], bool]) -> list[Step]:
    """Return a shortest path within some states whose last step, an action with its target, satisfies `ends`.

    Of several shortest paths, return the first in breadth-first order. At least one must exist.
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


def cycle(start: int, steps: Steps, inside: Callable[[int], bool], fairness: Fair) -> list[Step]:
    """Return a cycle from a state of a fair component whose infinite repetition is fair; empty if the behaviour may stutter there.

    `steps` are the protocol steps; `inside` is true of the states of the component.
    """

    def enabled(node: int) -> set[int]:
        return fairness.enabled(steps(node))

    owed = enabled(start)
    if "strong" in fairness.kinds:
        found = {group for node in _reached(start, steps, inside) for group in enabled(node)}
        owed |= {group for group in found if fairness.kinds[group] == "strong"}
    walked: list[Step] = []
    here = start
    while owed:

        def paid(action: int, to: int) -> set[int]:
            """Return the obligations that a step discharges: its group, and weakly fair groups not enabled after it."""
            mine, after = fairness.groups[action], enabled(to)
            return {one for one in owed if one == mine or (fairness.kinds[one] == "weak" and one not in after)}  # noqa: B023

        more = way(here, steps, inside, lambda action, to: bool(paid(action, to)))
        for step in more:
            owed -= paid(*step)
        walked += more
        here = more[-1][1]
    return walked if here == start else walked + way(here, steps, inside, lambda _, to: to == start)


def _reached(start: int, steps: Steps, inside: Callable[[int], bool]) -> Iterable[int]:
    """Return the states of a component, given one of them."""
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
    fairness: Fair,
    open_: Callable[[int], bool],
    part: Callable[[int], int],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the actions of a path from a state to a fair component, and those of a cycle in it (empty if it may stutter there).

    `open_` is true of the states that do not meet the predicate; `part` returns the number of a state's fair component, or 0.
    """
    lead = [] if part(start) else way(start, steps, open_, lambda _, to: part(to) != 0)
    entry = lead[-1][1] if lead else start

    def of_protocol(node: int) -> list[Step]:
        return [(action, to) for action, to in steps(node) if protocol[action]]

    goes_on = cycle(entry, of_protocol, lambda node: part(node) == part(entry), fairness)
    return tuple(action for action, _ in lead), tuple(action for action, _ in goes_on)
