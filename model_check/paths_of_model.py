"""Paths of a model that take each step of its state graph, or each pair of rules, at least once: tests of an implementation.

The graph is explored in plain Python, up to some states. A path begins in an initial state and continues over what no path has
taken yet. It ends where nothing is left to take, or where it is long enough.

A. J. J. Davis et al., "eXtreme Modelling in Practice" (VLDB 2020).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from kafka_spec.model_check.interpreter.interpreter import Binding, Interpreter
from kafka_spec.model_check.within import look
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain
from kafka_spec.spec.vocabulary.table import Rule, SpecError

Covering: TypeAlias = Literal["steps", "pairs"]
Covered: TypeAlias = tuple[Any, Any]
"""What a path is to cover: a step by its source and its place there, or two rules, one after the other."""


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
    complete: bool = True

    def to(self, state: int) -> list[GraphStep]:
        """Return the steps of a shortest path from an initial state."""
        found = []
        while state not in self.starts:
            found.append(self.first[state])
            state = found[-1].source
        return found[::-1]


def graph_of(world: Interpreter, most: int) -> StateGraph:
    """Explore the states of a model, `most` at most.

    Raises:
        SpecError: a step leaves the domain of a field.
    """
    graph, known = StateGraph(), dict[Any, int]()

    def number_of(state: Any) -> int:
        key = world.key(state)
        if key not in known:
            known[key] = len(graph.states)
            graph.states.append(state)
        return known[key]

    for binding, state in world.beginnings():
        graph.starts.setdefault(number_of(state), binding)
    rules = [rule for rule in world.spec.rules if rule.name not in world.off]
    for source in _growing(graph.states):
        if len(graph.states) > most:
            graph.complete = False
            break
        look()
        out: list[GraphStep] = []
        for rule in rules:
            for binding, after in _successors(world, rule, graph.states[source], graph.bounded):
                target = number_of(after)
                out.append(GraphStep(source, len(out), rule, binding, target))
                if target not in graph.starts:
                    graph.first.setdefault(target, out[-1])
        graph.steps.append(out)
    return graph


def _growing(states: Sequence[Any]) -> Iterator[int]:
    """Yield the places of a list that grows meanwhile."""
    place = 0
    while place < len(states):
        yield place
        place += 1


def _successors(world: Interpreter, rule: Rule, state: Any, bounded: Counter[str]) -> Iterator[tuple[Binding, Any]]:
    for binding in world.enabled(rule, state):
        try:
            if name := world.forbidden_by(rule, state, binding):
                raise OutOfBound(name)
            after = world.apply(rule, state, binding)
        except OutOfBound as error:
            bounded[str(error)] += 1
            continue
        except OutOfDomain as error:
            raise SpecError(f"{world.spec.name}: {rule.name}: {error}; check the model first") from None
        yield binding, after


def covering_paths(graph: StateGraph, covering: Covering, longest: int) -> Iterator[list[GraphStep]]:
    """Yield paths that together take each explored step, or each two rules that follow each other somewhere.

    A path has at most `longest` steps, unless the shortest path to what it is for is longer.
    """
    left = dict.fromkeys(_wanted(graph, covering))
    for wanted, beginning in _begun(graph, covering):
        if wanted not in left:
            continue
        path = list(beginning)
        while len(path) < longest and (further := _further(graph, covering, path, left)) is not None:
            path.append(further)
        for place, step in enumerate(path):
            left.pop(_covered(covering, path[place - 1] if place else None, step), None)
        yield path


def _covered(covering: Covering, before: GraphStep | None, step: GraphStep) -> Covered:
    """Return what a step covers, after the one before it."""
    if covering == "steps":
        return step.source, step.place
    return None if before is None else before.rule.name, step.rule.name


def _begun(graph: StateGraph, covering: Covering) -> Iterator[tuple[Covered, list[GraphStep]]]:
    """Yield what is to be covered, each with a path that ends there, the shortest first."""
    for out in graph.steps:
        for step in out:
            path = [*graph.to(step.source), step]
            if covering == "steps":
                yield (step.source, step.place), path
                continue
            yield _covered(covering, path[-2] if len(path) > 1 else None, step), path
            for following in _out_of(graph, step.target):
                yield (step.rule.name, following.rule.name), [*path, following]


def _wanted(graph: StateGraph, covering: Covering) -> Iterable[Covered]:
    """Yield what there is to cover."""
    for out in graph.steps:
        for step in out:
            if covering == "steps":
                yield step.source, step.place
            else:
                if step.source in graph.starts:
                    yield None, step.rule.name
                yield from ((step.rule.name, following.rule.name) for following in _out_of(graph, step.target))


def _further(graph: StateGraph, covering: Covering, path: Sequence[GraphStep], left: dict[Covered, None]) -> GraphStep | None:
    """Return a step that continues a path and covers something; None if there is none."""
    own = {_covered(covering, before, step) for before, step in zip([None, *path], path, strict=False)}
    for step in _out_of(graph, path[-1].target):
        covers = _covered(covering, path[-1], step)
        if covers in left and covers not in own:
            return step
    return None


def _out_of(graph: StateGraph, state: int) -> Sequence[GraphStep]:
    return graph.steps[state] if state < len(graph.steps) else ()
