"""Ids of idempotent producers: blocks of a thousand from one znode, so that none is given twice.

Up to 2.8 each broker takes its blocks itself; since 3.0 it asks the controller (AllocateProducerIds, KIP-730), which takes them
from the same znode. Our brokers take them themselves, and our controller serves both.

Source: Kafka 2.8 ProducerIdManager.scala; Kafka 3.9 ZkProducerIdManager.scala, ProducerIdsBlock.java.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass

from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.interface import BadVersion, NodeExists, Session

BLOCK = 1000
"""The number of ids in a block."""


def encode(broker: int, start: int) -> bytes:
    """Return the content of the znode after a broker has taken the block that begins at `start`."""
    block = {"version": 1, "broker": broker, "block_start": str(start), "block_end": str(start + BLOCK - 1)}
    return json.dumps(block, separators=(",", ":")).encode()


def allocate(session: Session, broker: int) -> int:
    """Take the next block for a broker, and return its first id.

    Raises:
        ConnectionLost: the block may be taken, and is lost then.
        SessionExpired: the session is over.
        ValueError: the znode's content is not what Kafka writes.
    """
    while True:
        if session.exists(znodes.LATEST_PRODUCER_ID_BLOCK) is None:
            with suppress(NodeExists):
                session.create(znodes.LATEST_PRODUCER_ID_BLOCK)
        data, stat = session.get(znodes.LATEST_PRODUCER_ID_BLOCK)
        start = int(json.loads(data)["block_end"]) + 1 if data else 0
        with suppress(BadVersion):
            session.set(znodes.LATEST_PRODUCER_ID_BLOCK, encode(broker, start), stat.version)
            return start


@dataclass
class ProducerIds:
    """The ids that one broker gives to producers."""

    broker: int
    _next: int = 0
    _end: int = 0

    def give(self, session: Session) -> int:
        """Return an id that nobody has; raises the errors of `allocate`."""
        if self._next == self._end:
            self._next = allocate(session, self.broker)
            self._end = self._next + BLOCK
        self._next += 1
        return self._next - 1
