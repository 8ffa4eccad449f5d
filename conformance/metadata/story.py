"""What happened to a partition, a topic or a broker: each event that concerns it, with its time, and the state after it.

A follower of a validation: it is shown each event of each batch, after it has been applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.batches import MetadataEntry
from kafka_spec.conformance.metadata.explaining import LogEvent
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.judge import shown, time_of
from kafka_spec.impl.kraft.record_schemas import SCHEMAS
from kafka_spec.spec.kraft.machines import BrokerState
from kafka_spec.spec.vocabulary.table import SpecError


@dataclass(frozen=True)
class StoryLine:
    """An event that concerns the subject: offset, time, what it was, what the controller's log calls it, bugs, the state after."""

    offset: int
    when: int
    subject: str
    event: str
    cause: str
    bugs: tuple[str, ...]
    state: str
    epochs: tuple[int, int] = (0, 0)

    def text(self, width: int) -> str:
        """Return the event as a line, in which its name has this width."""
        epochs = f" epoch {self.epochs[0]}.{self.epochs[1]}" if self.state.startswith("leader ") else ""
        tail = "".join(f"  <{bug} acts>" for bug in self.bugs) + (f"  ({self.cause})" if self.cause else "")
        return f"{self.offset:>9,} {time_of(self.when)} {self.subject:12} {self.event:{width}}  {self.state}{epochs}{tail}"

    def plain(self) -> dict[str, Any]:
        """Return the event as a plain dictionary."""
        return {
            "offset": self.offset,
            "when": time_of(self.when),
            "subject": self.subject,
            "event": self.event,
            "cause": self.cause,
            "bugs": list(self.bugs),
            "state": self.state,
            "leader_epoch": self.epochs[0],
            "partition_epoch": self.epochs[1],
        }


@dataclass
class Story:
    """Gathers what happened to the partitions and brokers that are asked for."""

    partitions: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    brokers: frozenset[int] = frozenset()
    causes: Mapping[int, str] = field(default_factory=dict)
    everything: bool = False
    """Note what happens to all of them."""
    moments: list[StoryLine] = field(default_factory=list)

    def take(self, image: Image, reported: LogEvent, entries: list[MetadataEntry]) -> None:
        """Note what an event did to the subjects; the image has it already."""
        event = reported.event.name if reported.event is not None else "UNEXPLAINED"
        cause = self.causes.get(reported.last, "")
        for offset, key, record in entries:
            for subject, state, epochs in self._touched(image, key, record):
                self.moments.append(StoryLine(offset, reported.when, subject, event, cause, reported.bugs, state, epochs))

    def _touched(self, image: Image, key: int, record: Any) -> list[tuple[str, str, tuple[int, int]]]:
        found = []
        if key in (keys.PARTITION, keys.PARTITION_CHANGE):
            partition = image.find(record.topic_id, record.partition_id)
            if partition is not None:
                name, topic = image.name_of(partition), image.names[record.topic_id]
                named = (*partition.shape.replicas, *partition.shape.isr, *partition.shape.elr)
                if self.everything or name in self.partitions or topic in self.topics or self.brokers.intersection(named):
                    found.append((name, shown(partition.shape), (partition.leader_epoch, partition.partition_epoch)))
        elif key in (keys.TOPIC, keys.CONFIG, keys.CLEAR_ELR):
            topic = getattr(record, {keys.TOPIC: "name", keys.CONFIG: "resource_name", keys.CLEAR_ELR: "topic_name"}[key])
            if self.everything or topic in self.topics:
                text = f"{record.name} is {record.value}" if key == keys.CONFIG else SCHEMAS[key].title
                found.append((topic, text, (0, 0)))
        else:
            broker = getattr(record, "broker_id", getattr(record, "id", None) if key in (7, 8) else None)
            if broker is not None and (self.everything or broker in self.brokers):
                state = BrokerState(image.state_of(broker)).name.lower().replace("_", " ")
                epoch = image.brokers[broker].epoch if broker in image.brokers else -1
                found.append((f"broker {broker}", f"{state}, broker epoch {epoch}", (0, 0)))
        return found

    def check(self, image: Image) -> None:
        """Refuse a subject of which the log has nothing.

        Raises:
            SpecError: it names those that there are.
        """
        there = {image.name_of(one) for one in image.all_partitions()} | {one.subject for one in self.moments}
        for name in sorted(self.partitions - there):
            raise SpecError(f"--partition {name}: the log has no such partition; it has {_some(there)}")
        topics = {name.rpartition("-")[0] for name in there}
        for name in sorted(self.topics - topics):
            raise SpecError(f"--topic {name}: the log has no such topic; it has {_some(topics)}")

    def text(self) -> str:
        """Return the moments as lines."""
        width = max((len(one.event) for one in self.moments), default=0)
        return "\n".join(one.text(width) for one in self.moments) + "\n"

    def plain(self) -> list[dict[str, Any]]:
        """Return the moments as plain dictionaries."""
        return [one.plain() for one in self.moments]


def _some(names: Any) -> str:
    found = sorted(names)
    return ", ".join(found[:10]) + (f" and {len(found) - 10} more" if len(found) > 10 else "")
