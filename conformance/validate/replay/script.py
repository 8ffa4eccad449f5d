"""A partition's log in the model's terms: its brokers by their place in the assignment, its controller epochs from 1 on."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafka_spec.conformance.validate.events import LeaderAndIsr
from kafka_spec.conformance.validate.replay.model_steps import Line, ModelLeadership
from kafka_spec.conformance.validate.replay.observations import Arrival, PartitionStory, SeenLine
from kafka_spec.spec.language.domain import NONE

STRANGER = 30
"""The place of a broker that the model does not have: no state agrees with a line that names it."""


@dataclass(frozen=True)
class Script:
    """A partition's log in the model's terms."""

    log: PartitionStory
    brokers: tuple[int, ...]
    """Kafka's number of each broker of the model."""
    epochs: tuple[int, ...]
    """Kafka's number of each controller epoch."""
    deaf: frozenset[int]
    """Brokers of the model whose logs are not here."""
    lines: tuple[tuple[int, Line], ...] = field(init=False)
    """The lines, each with its epoch."""
    arrivals: tuple[Arrival, ...] = field(init=False)

    def __post_init__(self) -> None:
        lines = tuple((self.epochs.index(seen.epoch) + 1, self._line(seen)) for seen in self.log.lines)
        object.__setattr__(self, "lines", lines)
        object.__setattr__(self, "arrivals", tuple(one for one in self.log.arrivals if one.epoch in self.epochs))

    def place(self, broker: int) -> int:
        """Return the model's number of a broker."""
        return self.brokers.index(broker) if broker in self.brokers else STRANGER

    def leadership(self, now: LeaderAndIsr) -> ModelLeadership:
        """Return a leadership in the model's terms."""
        leader = NONE if now.leader < 0 else self.place(now.leader)
        isr = 0
        for broker in now.isr:
            isr |= 1 << self.place(broker)
        return ModelLeadership(leader, now.epoch, isr, now.version)

    def _line(self, seen: SeenLine) -> Line:
        about = -1 if seen.kind == "partition" else self.place(seen.about)
        now = None if seen.now is None else self.leadership(seen.now)
        return Line(seen.kind, about, seen.source, seen.target, now, seen.deletes)


def agree(seen: ModelLeadership | None, modelled: ModelLeadership | None) -> bool:
    """Whether what a line shows of a leadership agrees with the model's; a line may show none, or no version."""
    if seen is None or modelled is None:
        return seen is None
    return seen[:3] == modelled[:3] and seen.version in (-1, modelled.version)
