"""The controllers of a run, as brokers and operators see them; here is the one that is a quorum by itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeVar

from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.protocol.data_requests import ElectLeadersRequest
from kafka_spec.impl.protocol.kraft_requests import (
    AssignReplicasToDirsRequest,
    BrokerHeartbeatRequest,
    BrokerRegistrationRequest,
    ProposalRequest,
)
from kafka_spec.impl.protocol.responses import ElectLeadersResponse
from kafka_spec.spec.decisions.partition_change import ElectionKind

Done = TypeVar("Done")
FIRST_CONTROLLER = 3_000
"""The node id of the first controller; the others follow."""
SESSION_TIMEOUT_MS = 3_000
"""broker.session.timeout.ms; shorter than Kafka's, so that a run has more events."""


class Controllers(Protocol):
    """The controllers of a run."""

    @property
    def numbers(self) -> Sequence[int]:
        """Their node ids."""

    def act(self, do: Callable[[KRaftController], Done], then: Callable[[], object] = lambda: None) -> Done:
        """Let the active controller do what an operator or its own timer asks; call `then` once that is committed.

        Raises:
            KafkaError: no controller is active (NOT_CONTROLLER); or it refuses.
        """

    def serve(self, number: int, message: Any, reply: Callable[[Any], object]) -> bool:
        """Deliver a message to a controller; return whether its process runs."""

    def unrest(self) -> list[str]:
        """Return what is not at rest."""

    def end(self) -> None:
        """End all processes, and close all files."""


def answer_of(controller: KRaftController, message: Any, now: int) -> Any:
    """Return the answer of an active controller to a broker or to an operator; `now` is in milliseconds since 1970."""
    match message:
        case BrokerRegistrationRequest():
            return controller.register(message, now)
        case BrokerHeartbeatRequest():
            return controller.heartbeat(message, now)
        case ProposalRequest():
            return controller.alter_partition(message)
        case AssignReplicasToDirsRequest():
            return controller.assign_directories(message)
        case ElectLeadersRequest(partitions, unclean):
            kind = ElectionKind.UNCLEAN if unclean else ElectionKind.PREFERRED
            return ElectLeadersResponse(controller.elect_leaders(partitions, kind))
    raise TypeError(f"the controller does not serve {type(message).__name__}")
