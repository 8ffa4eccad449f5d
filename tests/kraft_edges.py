"""The edges of the KRaft model, from the checker's compiled code, and their replay on the implementation."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from edges import difference, plain
from test_log import MEMORY

from kafka_spec.conformance.kraft_replay.stage import KRaftStage
from kafka_spec.conformance.kraft_replay.steps import NotPossible, do
from kafka_spec.model_check.embedded import Search
from kafka_spec.model_check.exploration import Budget, Exploration
from kafka_spec.model_check.layout import get
from kafka_spec.model_check.oracle import ExecutableSpec
from kafka_spec.spec.kraft.state import KRaft
from kafka_spec.spec.table import Rule, Spec


@dataclass(frozen=True)
class KRaftEdge:
    """A step of the model."""

    source: KRaft
    rule: Rule
    binding: Mapping[str, int]
    target: KRaft

    def __str__(self) -> str:
        return f"{self.rule.name}({', '.join(f'{name}={value}' for name, value in self.binding.items())})"


def kraft_edges(spec: Spec, bounds: Mapping[str, int], rules: Container[str] | None = None, parts: int = 1) -> Iterator[KRaftEdge]:
    """Yield every step of a model at bounds, or those of some rules, or those from every n-th state of each level."""
    model = ExecutableSpec(spec, bounds)
    search = Search(model, Exploration(spec, dict(bounds), "embedded", 1, ()), None, Budget())
    root = search.layout.root
    search.begin()
    (some,) = search.slices
    while search.width:
        search.start_level()
        for begin in range(0, search.width, search.chunk):
            some.start_level()
            states, marks = search.frontier.read(begin, min(search.width, begin + search.chunk))
            some.expand(states, marks, begin)
            search.raise_fault(some)
            parents = np.array(some.parents[: some.count])
            sources: dict[int, KRaft] = {}
            for place in np.flatnonzero(parents % parts == 0):
                rule, binding = model.actions.decode(int(some.actions[place]))
                parent = int(parents[place])
                if rules is None or rule.name in rules:
                    if parent not in sources:
                        sources[parent] = plain(root, get(root, states[parent - begin].tobytes(), 0))
                    target = plain(root, get(root, some.states[place].tobytes(), 0))
                    yield KRaftEdge(sources[parent], rule, dict(zip(rule.params, binding, strict=True)), target)
            search.take([some])
        search.end_level()


@contextmanager
def kraft_stage(spec: Spec, bounds: Mapping[str, int]) -> Iterator[KRaftStage]:
    """Yield a cluster that can be put into the states of a model."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        stage = KRaftStage(Path(name), spec, bounds)
        try:
            yield stage
        finally:
            stage.end()


@dataclass
class KRaftReplayed:
    """The result of a replay: source states, edges by rule, failures."""

    states: int = 0
    edges: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def replay_kraft(
    spec: Spec, bounds: Mapping[str, int], rules: Container[str] | None = None, parts: int = 1, most_failures: int = 1
) -> KRaftReplayed:
    """Replay all or some steps of a model on the implementation; stop after this number of failures."""
    result = KRaftReplayed()
    with kraft_stage(spec, bounds) as stage:
        source: KRaft | None = None
        for edge in kraft_edges(spec, bounds, rules, parts):
            if edge.source is not source:
                source = edge.source
                result.states += 1
                stage.load(source)
                found = stage.project(source.spent, source.history)
                if found != source:
                    result.failures.append(f"load and project: {difference(source, found)}")
            result.edges[edge.rule.name] += 1
            if failure := replayed_edge(stage, edge):
                result.failures.append(failure)
            if len(result.failures) >= most_failures:
                break
    return result


def replayed_edge(stage: KRaftStage, edge: KRaftEdge) -> str:
    """Replay one step from its loaded source; return the difference found, or ""."""
    stage.load(edge.source)
    try:
        do(stage, edge.rule.name, edge.binding)
    except NotPossible as error:
        return f"{edge}: the implementation does not do it: {error}"
    found = stage.project(edge.target.spent, edge.target.history)
    return "" if found == edge.target else f"{edge}: {difference(edge.target, found)}"
