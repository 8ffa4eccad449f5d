"""The most that a partial-order reduction could save: states that remain if everything about independence were known.

    python -m benchmarks.partial_order                  the TLA+ examples and this project's small families
    python -m benchmarks.partial_order MODEL BOUNDS     one of them

A static analysis knows less about a model than its state graph does. So the graph is explored first, and the relations of stubborn
sets (Valmari, 1991) are read off it: two actions are independent if they commute wherever both are enabled and neither ever
disables the other; an action can be enabled only by those that ever did. Then states are visited again, with the smallest stubborn
set in each. Such a set keeps every deadlock. That a property is seen too (visible actions, cycles) costs more states and is not
counted, so no reduction that keeps verdicts leaves fewer states. The graph is made in plain Python: models are small.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from examples.tlaplus import MODELS as EXAMPLES
from kafka_spec import MODELS
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.state_graph import StateGraph, graph_of
from kafka_spec.spec.language.domain.types import type_of
from kafka_spec.spec.vocabulary.table import ElementOf, Rule, Spec
from kafka_spec.spec.vocabulary.table.parameters import elements_of

MOST_STATES = 60_000
"""The states of a graph that is explored; a larger model is left out."""
OWN = (
    ("replication/kip_320", "small"),
    ("zookeeper/fixed", "deletion"),
    ("zookeeper/fixed", "lost_reply"),
    ("kraft/fixed", "fence"),
    ("kraft/fixed", "lossy"),
    ("kraft/fixed", "shrink"),
    ("quorum/fixed", "one"),
    ("quorum/fixed", "three"),
)
Action: TypeAlias = tuple[Any, ...]
"""A rule and its parameters: numbers, and the contents of elements of sets."""


def actions_of(world: Interpreter, graph: StateGraph) -> list[dict[Action, int]]:
    """Return the actions that are enabled in each state, each with the state to which it leads."""
    return [
        {action_of(world, graph.states[step.source], step.rule, step.binding): step.target for step in out} for out in graph.steps
    ]


def action_of(world: Interpreter, state: Any, rule: Rule, binding: tuple[int, ...]) -> Action:
    """Return an action whose name does not depend on the state: an element of a set is named by its contents."""
    numbers = dict(zip(rule.params, binding, strict=False))
    return rule.name, *(
        number
        if not isinstance(parameter := rule.params[name], ElementOf)
        else (element := list.__getitem__(elements_of(parameter, state, numbers), number)) and type_of(element).freeze(element)
        for name, number in numbers.items()
    )


class Relations:
    """What the state graph says about its actions."""

    def __init__(self, enabled: list[dict[Action, int]]) -> None:
        self.dependent: dict[Action, set[Action]] = {}
        self.enablers: dict[Action, set[Action]] = {}
        for here in enabled:
            self.note(here, enabled)

    def note(self, here: Mapping[Action, int], enabled: list[dict[Action, int]]) -> None:
        """Note what the steps out of a state show."""
        for action, target in here.items():
            after = enabled[target]
            for new in after.keys() - here.keys():
                self.enablers.setdefault(new, set()).add(action)
            for other in here:
                if other == action:
                    continue
                commutes = other in after and after[other] == enabled[here[other]].get(action)
                if not commutes:
                    self.dependent.setdefault(action, set()).add(other)
                    self.dependent.setdefault(other, set()).add(action)

    def stubborn(self, seed: Action, here: Mapping[Action, int]) -> set[Action]:
        """Return the enabled actions of the stubborn set that an enabled action leads to."""
        chosen, open_ = {seed}, [seed]
        while open_:
            action = open_.pop()
            more = self.dependent.get(action, set()) if action in here else self.enablers.get(action, set())
            open_ += more - chosen
            chosen |= more
        return {action for action in chosen if action in here}


def reduced(starts: Iterable[int], enabled: list[dict[Action, int]]) -> int:
    """Return how many states remain."""
    relations = Relations(enabled)
    seen = set(starts)
    open_ = list(seen)
    while open_:
        here = enabled[open_.pop()]
        chosen = min((relations.stubborn(seed, here) for seed in here), key=len, default=set())
        for action in chosen:
            if here[action] not in seen:
                seen.add(here[action])
                open_.append(here[action])
    return len(seen)


def measure(spec: Spec, bounds: Mapping[str, int]) -> str:
    """Return a line of the table."""
    world = Interpreter(spec, spec.bound_values(bounds))
    graph = graph_of(world, MOST_STATES)
    if not graph.complete:
        return f"more than {MOST_STATES:,} states"
    left = reduced(graph.starts, actions_of(world, graph))
    return f"{len(graph.states):>7,} {left:>7,} {len(graph.states) / left:>6.2f}"


def main(arguments: list[str]) -> None:
    """Print the table."""
    print(f"{'model':<44} states    left  ratio")
    asked = [(model, bounds) for model, bounds in OWN if not arguments or [model, bounds] == arguments] or [tuple(arguments)]
    if not arguments:
        for example in EXAMPLES:
            print(f"{example.spec.name:<44} {measure(example.spec, {})}", flush=True)
    for model, bounds in asked:
        (values,) = (one.values for one in MODELS[model].bound_sets if one.name == bounds)
        print(f"{f'{model}, {bounds}':<44} {measure(MODELS[model], values)}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
