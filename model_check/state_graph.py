"""The state graph of a small model, explored in plain Python: its states and the steps between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from kafka_spec.model_check.interpreter.interpreter import Binding, Interpreter
from kafka_spec.model_check.within import look
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary.table import Rule


@dataclass(frozen=True)
class GraphStep:
    """A step of the graph, by the numbers of the states that it leads from and to; `place` counts the steps out of its source."""

    source: int
    place: int
    rule: Rule
    binding: Binding
    target: int


@dataclass
class StateGraph:
    """The states up to some number, and the steps out of each that has been explored."""

    states: list[Any] = field(default_factory=list)
    starts: dict[int, Binding] = field(default_factory=dict)
    """The initial states, each with the binding of the rule that starts."""
    steps: list[list[GraphStep]] = field(default_factory=list)
    first: dict[int, GraphStep] = field(default_factory=dict)
    """For each state that is not initial, the step that reached it first."""
    bounded: Counter[str] = field(default_factory=Counter)
    """The steps that a bound prevented, by the name of the bound."""
    outside: list[str] = field(default_factory=list)
    """The steps that leave the domain of a field, each as its rule and why; the graph leaves them out."""
    complete: bool = True

    def to(self, state: int) -> list[GraphStep]:
        """Return the steps of a shortest path from an initial state."""
        found = []
        while state not in self.starts:
            found.append(self.first[state])
            state = found[-1].source
        return found[::-1]

    def out_of(self, state: int) -> Sequence[GraphStep]:
        """Return the steps out of a state, none if it has not been explored."""
        return self.steps[state] if state < len(self.steps) else ()


def graph_of(world: Interpreter, most: int, identity: Callable[[Any], Any] = lambda state: state) -> StateGraph:
    """Explore the states of a model breadth-first, `most` at most; states with equal `identity` are one."""
    graph, known = StateGraph(), dict[Any, int]()

    def number_of(state: Any) -> int:
        key = world.key(identity(state))
        if key not in known:
            known[key] = len(graph.states)
            graph.states.append(state)
        return known[key]

    for binding, state in world.beginnings():
        graph.starts.setdefault(number_of(state), binding)
    rules = [rule for rule in world.spec.rules if rule.name not in world.off]
    for source, state in enumerate(graph.states):  # the list grows meanwhile
        if len(graph.states) > most:
            graph.complete = False
            break
        look()
        out: list[GraphStep] = []
        for rule in rules:
            for binding, after in steps_out_of(world, rule, state, graph):
                target = number_of(after)
                out.append(GraphStep(source, len(out), rule, binding, target))
                if target not in graph.starts:
                    graph.first.setdefault(target, out[-1])
        graph.steps.append(out)
    return graph


def steps_out_of(world: Interpreter, rule: Rule, state: Any, graph: StateGraph) -> Iterator[tuple[Binding, Any]]:
    """Yield the steps of a rule out of a state, as binding and target; note in the graph what a bound or a domain prevents."""
    for binding in world.enabled(rule, state):
        try:
            if name := world.forbidden_by(rule, state, binding):
                raise OutOfBound(name)
            after = world.apply(rule, state, binding)
        except OutOfBound as error:
            graph.bounded[str(error)] += 1
        except OutOfDomain as error:
            graph.outside.append(f"{rule.name}: {error}")
        else:
            yield binding, after
