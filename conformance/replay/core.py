"""What every replay has in common: a stage, the steps of rules on it, and the comparison of an edge.

To compare an edge, load its source state, do its step, and read the state back: it must be the edge's target. What a stage and its
steps are in the world with ZooKeeper is in the files beside this one, what they are in KRaft in conformance/kraft_replay.

No step uses the model's result. Where a rule says that somebody notices something, the step gives it the event; where a rule says
that a message arrives, the step delivers it. The implementation decides the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from kafka_spec.spec.language.domain import SpecError, show_path
from kafka_spec.spec.vocabulary.table import Rule

State = TypeVar("State")
LONG = 1_000_000
"""Milliseconds between two steps: longer than any timeout."""


class NotEnabled(Exception):  # noqa: N818 - the name is the message
    """The implementation cannot do this step in its state."""


@dataclass(frozen=True)
class Edge(Generic[State]):
    """A step of the model."""

    source: State
    rule: Rule
    binding: Mapping[str, int]
    target: State

    def __str__(self) -> str:
        return f"{self.rule.name}({', '.join(f'{name}={value}' for name, value in self.binding.items())})"


class Stage(Protocol[State]):
    """A cluster that can be put into any state of a model, and read as one."""

    def load(self, wanted: State) -> None:
        """Put the cluster into a state of the model."""

    def project(self, after: State) -> State:
        """Return the cluster's state as one of the model, with the bookkeeping of `after`: the spent bounds and the history.

        The bookkeeping of the model is not part of the implementation.
        """

    def forget(self, edge: Edge[State], found: State | None) -> None:
        """Mark as unknown what the step of an edge may have changed; `found` is the state after it, None if it broke off."""

    def refuses(self, edge: Edge[State]) -> bool:
        """Whether the implementation, where it is stricter than the model, refuses the step from the loaded source."""

    def pass_time(self) -> None:
        """Let `LONG` pass, before each step."""


class Steps(dict[str, Callable[..., None]]):
    """The functions of steps, by the names of rules; each takes the stage and the rule's parameters."""

    def __init__(self, replay: str = "", where: str = "", parts: Iterable[Mapping[str, Callable[..., None]]] = ()) -> None:
        """`replay` names the replay in the message about a missing step, and `where` the files for it; `parts` are joined."""
        super().__init__({rule: step for part in parts for rule, step in part.items()})
        self._replay = replay
        self._where = where

    def of(self, *rules: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Register a function as the step of these rules."""

        def register(function: Callable[..., None]) -> Callable[..., None]:
            self.update(dict.fromkeys(rules, function))
            return function

        return register

    def step_of(self, rule: str) -> Callable[..., None]:
        """Return the function that does the step of a rule, or raise SpecError, which says where to add one."""
        if rule not in self:
            raise SpecError(
                f"rule {rule} has no step in {self._replay}, so model and implementation cannot be compared on it; write a "
                f'function that has the implementation do it, and put it under @STEPS.of("{rule}") into {self._where}'
            )
        return self[rule]

    def do(self, stage: Stage[Any], rule: str, binding: Mapping[str, int]) -> None:
        """Let the implementation do the step of a rule.

        Raises:
            NotEnabled: the implementation cannot do it.
            SpecError: the rule has no step.
        """
        step = self.step_of(rule)
        stage.pass_time()
        step(stage, **binding)


def expect(done: bool, what: str) -> None:
    """Raise `NotEnabled` unless the implementation has done something."""
    if not done:
        raise NotEnabled(what)


@dataclass
class Replayed:
    """The result of a replay."""

    states: int = 0
    """Source states that were loaded, and read back."""
    edges: Counter[str] = field(default_factory=Counter)
    """How many of each rule."""
    refused: int = 0
    """How many of them the implementation refuses, as `Stage.refuses` says, and changes nothing."""
    failures: list[str] = field(default_factory=list)


def replay(stage: Stage[State], steps: Steps, edges: Iterable[Edge[State]], most_failures: int = 1) -> Replayed:
    """Replay steps of a model on the implementation; stop after this number of failures."""
    result = Replayed()
    source: State | None = None
    for edge in edges:
        failures = []
        if edge.source is not source:
            source = edge.source
            result.states += 1
            failures.append(load_and_project(stage, source))
        result.edges[edge.rule.name] += 1
        failures.append(replayed(stage, steps, edge, result))
        result.failures += filter(None, failures)
        if len(result.failures) >= most_failures:
            break
    return result


def load_and_project(stage: Stage[State], state: State) -> str:
    """Load a state, and read it back; return the differences, or ""."""
    stage.load(state)
    found = stage.project(state)
    return "" if found == state else f"load and project: {difference(state, found)}"


def replayed(stage: Stage[State], steps: Steps, edge: Edge[State], result: Replayed) -> str:
    """Replay one step from its loaded source; return the difference found, or ""."""
    stage.load(edge.source)
    refused = stage.refuses(edge)
    target = edge.source if refused else edge.target
    try:
        steps.do(stage, edge.rule.name, edge.binding)
    except NotEnabled as error:
        if not refused:
            stage.forget(edge, None)
            return f"{edge}: the implementation does not do it: {error}"
        result.refused += 1
    found = stage.project(target)
    stage.forget(edge, found)
    return "" if found == target else f"{edge}: {difference(target, found)}"


def difference(wanted: object, found: object) -> str:
    """Return where two states differ, field by field."""
    differences = _differences(wanted, found)
    return "; ".join(f"{show_path(path)}: the model has {one}, the implementation {other}" for path, one, other in differences)


def _differences(one: Any, other: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    if one == other:
        return
    if hasattr(one, "__dataclass_fields__") and type(one) is type(other):
        for name in one.__dataclass_fields__:
            yield from _differences(getattr(one, name), getattr(other, name), (*path, name))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from _differences(mine, theirs, (*path, place))
    else:
        yield path, one, other
