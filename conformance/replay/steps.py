"""Which function has the implementation do the step of which rule of the model, and what all of them need.

None of them looks at what the model makes of it. Where the model says that somebody notices something, what it notices is put
before the controller as an event; where it says that something arrives, it is handed over; the rest is the implementation's.
"""

from __future__ import annotations

from collections.abc import Callable

from kafka_spec.conformance.replay.projection import Projection
from kafka_spec.impl.broker.broker_process import BrokerProcess
from kafka_spec.impl.controller.controller import KafkaController


class Steps(dict[str, Callable[..., None]]):
    """Functions by the names of the rules that they do the step of."""

    def of(self, *rules: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Say which rules a function does the step of."""

        def register(function: Callable[..., None]) -> Callable[..., None]:
            self.update(dict.fromkeys(rules, function))
            return function

        return register


LONG = 1_000_000
"""More milliseconds than any timeout: a step begins when what happened before is long ago."""


class NotEnabled(Exception):  # noqa: N818 - says what happened
    """There is nothing to do of that kind, as the implementation sees it."""


def running(projection: Projection, number: int) -> BrokerProcess:
    """Return a broker that runs."""
    if number not in projection.cluster.brokers:
        raise NotEnabled(f"broker {number} does not run")
    return projection.cluster.brokers[number]


def controller_on(projection: Projection, number: int) -> KafkaController:
    """Return the controller of a broker."""
    return running(projection, number).controller
