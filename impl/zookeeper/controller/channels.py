"""The controller's channels: one queue of requests for each broker that it is connected to.

Source: Kafka 2.8 ControllerChannelManager.scala.
"""

from __future__ import annotations

from collections import deque

from kafka_spec.impl.protocol.controller_requests import Request


class Channels:
    """One queue of requests for each broker that the controller is connected to, in order.

    The first request is in flight, and is sent again until it is answered. Closing a channel drops its requests.
    """

    def __init__(self) -> None:
        self.queues: dict[int, deque[Request]] = {}

    def open(self, broker: int) -> None:
        """Open a channel; an open one is closed first."""
        self.queues[broker] = deque()

    def close(self, broker: int) -> None:
        """Close a channel."""
        self.queues.pop(broker, None)

    def close_all(self) -> None:
        """Close all channels."""
        self.queues.clear()

    def send(self, broker: int, request: Request) -> None:
        """Put a request into the broker's queue, if there is a channel."""
        if broker in self.queues:
            self.queues[broker].append(request)

    def answered(self, broker: int) -> Request:
        """Remove and return the request in flight, which was answered."""
        return self.queues[broker].popleft()
