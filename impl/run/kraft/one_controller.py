"""The controllers of a run if there is one: what it appends is committed at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafka_spec.impl.kraft.cluster import KRaftNodes
from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.metadata_requests import FetchMetadataRequest
from kafka_spec.impl.run.kraft.controllers import FIRST_CONTROLLER, SESSION_TIMEOUT_MS, Done, answer_of


class OneController:
    """The controller, whose process never ends."""

    def __init__(self, cluster: KRaftNodes, now: Callable[[], int], look: Callable[[], object]) -> None:
        """`now` returns milliseconds since 1970; `look` is called after each change."""
        self.numbers = (FIRST_CONTROLLER,)
        self._cluster = cluster
        self._now = now
        self._look = look
        cluster.controller.heartbeats.timeout_ms = SESSION_TIMEOUT_MS

    def act(self, do: Callable[[KRaftController], Done], then: Callable[[], object] = lambda: None) -> Done:
        """Let the controller do something."""
        done = do(self._cluster.controller)
        then()
        self._look()
        return done

    def serve(self, _: int, message: Any, reply: Callable[[Any], object]) -> bool:
        """Deliver a message to the controller."""
        if isinstance(message, FetchMetadataRequest):
            answer: Any = self._cluster.committed(message)
        else:
            answer = answer_of(self._cluster.controller, message, self._now())
        self._look()
        reply(answer)
        return True

    def unrest(self) -> list[str]:
        """Return nothing: it is always at rest."""
        return []

    def end(self) -> None:
        """Do nothing: the cluster closes its log."""
