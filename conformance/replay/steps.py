"""The registry of steps, one function for each rule of the model, and their common helpers.

No step uses the model's result. Where a rule says that a controller notices something, the step gives it the event; where a rule
says that a request arrives, the step delivers it. The implementation decides the rest.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.impl.broker.broker_process import BrokerProcess
from kafka_spec.impl.controller.controller import KafkaController
from kafka_spec.spec.domain import NONE


class Steps(dict[str, Callable[..., None]]):
    """The functions of steps, by the names of rules."""

    def of(self, *rules: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Register a function as the step of these rules."""

        def register(function: Callable[..., None]) -> Callable[..., None]:
            self.update(dict.fromkeys(rules, function))
            return function

        return register


LONG = 1_000_000
"""Milliseconds between two steps: longer than any timeout."""


class NotEnabled(Exception):  # noqa: N818 - the name is the message
    """The implementation cannot do this step in its state."""


def running(projection: Projection, number: int) -> BrokerProcess:
    """Return a running broker, or raise `NotEnabled`."""
    if number not in projection.cluster.brokers:
        raise NotEnabled(f"broker {number} does not run")
    return projection.cluster.brokers[number]


def controller_on(projection: Projection, number: int) -> KafkaController:
    """Return the controller of a running broker, or raise `NotEnabled`."""
    return running(projection, number).controller


def target_of(first: int, second: int) -> tuple[int, ...]:
    """Return the target of a reassignment in a rule's parameters: one broker or two."""
    return (first,) if second == NONE else (first, second)
