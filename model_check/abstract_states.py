"""The states of an abstract spec, by numbers, and where its steps lead: the side of a refinement that the interpreter executes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kafka_spec.model_check.interpreter.interpreter import Interpreter, Key
from kafka_spec.model_check.state_graph import StateGraph, steps_out_of
from kafka_spec.model_check.within import look
from kafka_spec.spec.language.domain import show_change, show_path
from kafka_spec.spec.vocabulary.table import SpecError
from kafka_spec.spec.vocabulary.trace import Action

Tree: TypeAlias = dict[int, tuple[int, str]]
"""For each abstract state that is reached, the state before it on a shortest path, and the rule that leads from there."""


@dataclass
class AbstractWays:
    """What the abstract spec can do in a state."""

    targets: dict[int, str] = field(default_factory=dict)
    """The states to which its steps lead, each with the first rule that leads there."""
    offered: list[str] = field(default_factory=list)
    """Its steps, as rules with their bindings."""
    cut_by: set[str] = field(default_factory=set)
    """The bounds that prevent steps."""


class AbstractStates:
    """The states of an abstract spec that a search reaches, and those to which it leads itself."""

    def __init__(self, world: Interpreter) -> None:
        self.world = world
        self.numbers: dict[Key, int] = {}
        self.states: list[Any] = []
        self.ways: dict[int, AbstractWays] = {}
        """What the abstract spec can do in the states that were asked for."""

    def number(self, abstract: Any) -> int:
        """Return the number of an abstract state."""
        number = self.numbers.setdefault(self.world.key(abstract), len(self.states))
        if number == len(self.states):
            self.states.append(abstract)
        return number

    def ways_from(self, number: int) -> AbstractWays:
        """Return what the abstract spec can do in one of its states."""
        if number not in self.ways:
            look()
            ways, record = AbstractWays(), StateGraph()
            for rule in self.world.spec.rules:
                for binding, after in steps_out_of(self.world, rule, self.states[number], record):
                    ways.targets.setdefault(self.number(after), rule.name)
                    ways.offered.append(str(Action(rule.name, tuple(zip(rule.params, binding, strict=True)))))
            if record.outside:
                raise SpecError(f"{self.world.spec.name}: {record.outside[0]}; check that model first")
            ways.cut_by.update(record.bounded)
            self.ways[number] = ways
        return self.ways[number]

    def reached_from(self, number: int, steps: int, wanted: set[int]) -> tuple[Tree, set[str]]:
        """Return the states that the abstract spec reaches from one by at most so many steps, and what cuts it meanwhile.

        It stops when all those that are `wanted` are reached.
        """
        tree: Tree = {}
        cut, last = set[str](), [number]
        for _ in range(steps):
            if wanted <= tree.keys():
                break
            following: list[int] = []
            for state in last:
                ways = self.ways_from(state)
                cut |= ways.cut_by
                for target, rule in ways.targets.items():
                    if target not in tree:
                        tree[target] = state, rule
                        following.append(target)
            last = following
        tree.pop(number, None)  # a step that comes back to where it began
        return tree, cut

    def changed(self, before: Any, after: int) -> tuple[tuple[str, str, str], ...]:
        """Return what differs between a state and one of these, as a person reads it."""
        return tuple(
            (show_path(change.path), *show_change(change.type, change.before, change.after))
            for change in self.world.space.changes(before, self.states[after])
        )


def rules_on_path(tree: Tree, target: int) -> set[str]:
    """Return the rules on the shortest path to a state."""
    rules = set[str]()
    while target in tree:
        target, rule = tree[target]
        rules.add(rule)
    return rules
