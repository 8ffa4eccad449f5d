"""What a log knows of idempotent producers: the epoch of each, and its newest batches, which the next one must continue.

All of it comes from the headers of the log's batches, so every replica knows the same, and a new leader continues where the former
one ended. Unlike Kafka's it is not written to snapshots: a log that is opened, or has been truncated, is read again when the first
batch of such a producer arrives. Producers never expire.

Source: Kafka 2.8 and 3.9 ProducerStateManager, ProducerAppendInfo, ProducerStateEntry; KIP-98.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from kafka_spec.impl.log.batches import LARGEST, NO_PRODUCER, Batch

KEPT = 5
"""The newest batches of a producer that are known when they come again (max.in.flight.requests.per.connection is 5 at most)."""


class OutOfOrderSequence(ValueError):  # noqa: N818 - the name is the message
    """A batch does not continue its producer's last one: a batch between them is lost."""


class OldProducerEpoch(ValueError):  # noqa: N818
    """A batch of a producer whose id has been given to another process since."""


@dataclass
class KnownProducer:
    """One producer: its epoch, and its newest batches."""

    epoch: int
    newest: deque[Batch] = field(default_factory=lambda: deque(maxlen=KEPT))


class Producers:
    """The producers of one log, by id."""

    def __init__(self) -> None:
        self._known: dict[int, KnownProducer] = {}

    def add(self, batch: Batch) -> None:
        """Take note of a batch that is in the log."""
        if batch.producer == NO_PRODUCER:
            return
        known = self._known.get(batch.producer)
        if known is None or known.epoch != batch.producer_epoch:
            known = self._known[batch.producer] = KnownProducer(batch.producer_epoch)
        known.newest.append(batch)

    def duplicate_of(self, batch: Batch) -> Batch | None:
        """Return the batch of the log that a producer has sent once more, None if this one is new."""
        known = self._known.get(batch.producer)
        if known is None or known.epoch != batch.producer_epoch:
            return None
        sequences = (batch.sequence, batch.last_sequence)
        return next((one for one in known.newest if (one.sequence, one.last_sequence) == sequences), None)

    def check(self, batch: Batch) -> None:
        """Refuse a new batch that does not follow on its producer's last one.

        A producer that the log does not know may begin anywhere, for its older records may have been deleted; under a new epoch it
        begins at 0.

        Raises:
            OldProducerEpoch, OutOfOrderSequence: see there.
        """
        known = self._known.get(batch.producer)
        if known is None:
            return
        if batch.producer_epoch < known.epoch:
            raise OldProducerEpoch(f"producer {batch.producer} has epoch {known.epoch}, and the batch {batch.producer_epoch}")
        last = known.newest[-1].last_sequence if batch.producer_epoch == known.epoch else LARGEST
        if batch.sequence != (0 if last == LARGEST else last + 1):
            raise OutOfOrderSequence(f"producer {batch.producer} has sent up to {last}, and the batch begins at {batch.sequence}")
