"""A counterexample followed in a model, and on the implementation beside it; no state is loaded between two steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from edges import AnyStage, broken, plain, stage, steps

from kafka_spec.conformance.replay.core import difference
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.traces.counterexample import REPLAYED_WAYS
from kafka_spec.spec.vocabulary.table import Property, Spec

Action = tuple[str, tuple[int, ...]]
"""The name of a rule, and its parameters."""


class LedCluster:
    """Follows actions in a model, and on the implementation beside it."""

    def __init__(self, spec: Spec, bounds: Mapping[str, int], start: int, on: AnyStage) -> None:
        self.model = Interpreter(spec, bounds)
        self.state = self.model.initial()[start]
        self._root = Layout(self.model.space).root
        self._steps = steps(spec)
        self._stage: Any = on
        self._stage.load(self.plain())
        self.path = [self.plain()]
        """The implementation's states; each equals the model's."""

    def plain(self) -> Any:
        """Return the model's state as bare dataclasses."""
        return plain(self._root, self.state)

    def follow(self, name: str, binding: tuple[int, ...]) -> bool:
        """Take a step on both sides; return False, and do nothing, if the model has no such rule or does not allow the step."""
        rule = next((rule for rule in self.model.spec.rules if rule.name == name), None)
        if rule is None or binding not in self.model.enabled(rule, self.state) or not self.model.within(rule, self.state, binding):
            return False
        self.state = self.model.apply(rule, self.state, binding)
        wanted = self.plain()
        self._steps.do(self._stage, name, dict(zip(rule.params, binding, strict=True)))
        found = self._stage.project(wanted)
        assert found == wanted, f"{name}{binding}: {difference(wanted, found)}"
        self.path.append(found)
        return True

    def broken(self, *properties: Property) -> list[str]:
        """Return the names of the properties that the implementation's last state, or the last step, violates."""
        return list(broken(self.model, properties, self.path[-2:][0], self.path[-1]))


@contextmanager
def led(spec: Spec, bounds: Mapping[str, int], start: int = 0) -> Iterator[LedCluster]:
    """Yield a cluster that follows a model from one of its initial states."""
    with stage(spec, bounds) as on:
        yield LedCluster(spec, bounds, start, on)


def fails_in_the_same_way(
    spec: Spec, bounds: Mapping[str, int], claim: str, start: int, actions: Sequence[Action], met: int = -1, back: int = -1
) -> None:
    """Check that actions lead the implementation where they lead the model, and that they violate the property there.

    Of a leads-to property they go on to a cycle and once around it: after `met` actions its antecedent is met, after `back`
    actions the cycle begins.
    """
    with led(spec, bounds, start) as cluster:
        for action in actions:
            assert cluster.follow(*action), f"{action} does not replay"
    stated = cluster.model.claim(claim)
    if stated.kind == "leads-to":
        goes_on = cluster.path[met:]
        assert cluster.path[back] == cluster.path[-1], "the cycle does not close"
        assert cluster.model.tests(stated, s=goes_on[0])
        assert not any(cluster.model.meets(stated, state) for state in goes_on)
    elif stated.kind == "recoverable":
        assert not cluster.model.recovers(stated, cluster.state, REPLAYED_WAYS)
    else:
        assert {one.partition("[")[0] for one in cluster.broken(stated)} == {claim}


def survives(spec: Spec, bounds: Mapping[str, int], start: int, actions: Sequence[Action]) -> LedCluster:
    """Check that actions violate no property; one that is not enabled is skipped. Return the cluster where they have led it."""
    with led(spec, bounds, start) as cluster:
        for action in actions:
            if cluster.follow(*action):
                assert cluster.broken(*spec.properties) == []
    assert len(cluster.path) > 1
    return cluster
