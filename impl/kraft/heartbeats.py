"""What the controller keeps of brokers outside the metadata log: their last contact, how far they are, what they wait for.

A controller that takes over has none of it. Times are milliseconds.

Source: Kafka 3.9 BrokerHeartbeatManager.java.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kafka_spec.impl.protocol.kraft_requests import BrokerHeartbeatRequest
from kafka_spec.spec.kraft.machines import CONTROLLED_SHUTDOWN, FENCED, UNFENCED, BrokerState

SESSION_TIMEOUT_MS = 9_000
"""broker.session.timeout.ms."""
NEVER = -(1 << 62)
NO_OFFSET = -1


@dataclass
class BrokerContact:
    """A broker's last contact, the end of what it has applied, and the end of the batch that began its controlled shutdown."""

    contact: int = NEVER
    metadata_end: int = NO_OFFSET
    controlled_shutdown_end: int = NO_OFFSET


class Heartbeats:
    """The contacts of all brokers."""

    def __init__(self, timeout_ms: int = SESSION_TIMEOUT_MS) -> None:
        self.timeout_ms = timeout_ms
        self.brokers: dict[int, BrokerContact] = {}

    def of(self, broker: int) -> BrokerContact:
        """Return a broker's contact."""
        return self.brokers.setdefault(broker, BrokerContact())

    def touch(self, broker: int, metadata_end: int, now: int) -> None:
        """Note a heartbeat."""
        known = self.of(broker)
        known.contact, known.metadata_end = now, metadata_end

    def forget(self, broker: int) -> None:
        """Forget a broker that is not registered any more."""
        self.brokers.pop(broker, None)

    def has_session(self, broker: int, now: int) -> bool:
        """Whether the broker was in contact recently enough."""
        return broker in self.brokers and now - self.brokers[broker].contact <= self.timeout_ms

    def everybody_has(self, end: int, active: Iterable[int]) -> bool:
        """Whether all these brokers have applied the metadata log up to an offset."""
        return all(self.of(broker).metadata_end >= end for broker in active)


@dataclass(frozen=True)
class HeartbeatView:
    """What decides the next state of a broker: its state now, whether it leads, whether the others are far enough."""

    state: BrokerState
    is_caught_up: bool
    leads: bool
    others_are_caught_up: bool


def next_state(view: HeartbeatView, heartbeat: BrokerHeartbeatRequest) -> BrokerState | None:
    """Return the state of a broker after its heartbeat, None if it may end its process (calculateNextBrokerState)."""
    if view.state == CONTROLLED_SHUTDOWN:
        return CONTROLLED_SHUTDOWN if view.leads or not view.others_are_caught_up else None
    if view.state == FENCED:
        if heartbeat.want_shut_down:
            return None
        return UNFENCED if view.is_caught_up and not heartbeat.want_fence else FENCED
    if heartbeat.want_fence:
        return None if heartbeat.want_shut_down else FENCED
    if heartbeat.want_shut_down:
        return CONTROLLED_SHUTDOWN if view.leads else None
    return UNFENCED
