"""Paths of a model that take each step of its state graph, or each pair of rules, at least once: tests of an implementation.

A path begins in an initial state and continues over what no path has taken yet. It ends where nothing is left to take, or where it
is long enough.

A. J. J. Davis et al., "eXtreme Modelling in Practice" (VLDB 2020).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from kafka_spec.model_check.state_graph import GraphStep, StateGraph

Covering: TypeAlias = Literal["steps", "pairs"]
Covered: TypeAlias = tuple[Any, Any]
"""What a path is to cover: a step by its source and its place there, or two rules, one after the other."""


def covering_paths(graph: StateGraph, covering: Covering, longest: int) -> Iterator[list[GraphStep]]:
    """Yield paths that together take each explored step, or each two rules that follow each other somewhere.

    A path has at most `longest` steps, unless the shortest path to what it is for is longer.
    """
    wanted = _pieces(graph, covering)
    left = set(wanted)
    for covered, piece in wanted.items():
        if covered not in left:
            continue
        path = [*graph.to(piece[0].source), *piece]
        left -= {_covered(covering, before, step) for before, step in zip([None, *path], path, strict=False)}
        while len(path) < longest and (further := _further(graph, covering, path[-1], left)) is not None:
            left.discard(_covered(covering, path[-1], further))
            path.append(further)
        yield path


def _pieces(graph: StateGraph, covering: Covering) -> dict[Covered, list[GraphStep]]:
    """Return what is to be covered, each with the first steps that cover it."""
    found: dict[Covered, list[GraphStep]] = {}
    for out in graph.steps:
        for step in out:
            if covering == "steps" or step.source in graph.starts:
                found.setdefault(_covered(covering, None, step), [step])
            if covering == "pairs":
                for following in graph.out_of(step.target):
                    found.setdefault(_covered(covering, step, following), [step, following])
    return found


def _covered(covering: Covering, before: GraphStep | None, step: GraphStep) -> Covered:
    """Return what a step covers, after the one before it."""
    if covering == "steps":
        return step.source, step.place
    return None if before is None else before.rule.name, step.rule.name


def _further(graph: StateGraph, covering: Covering, last: GraphStep, left: set[Covered]) -> GraphStep | None:
    """Return a step after the last one that covers something; None if there is none."""
    return next((step for step in graph.out_of(last.target) if _covered(covering, last, step) in left), None)
