"""One partition on a broker of KRaft: ours beside Kafka's Partition, through the same events.

A sequence has registrations that make it lead and follow, newer, equal and older ones; records; fetches of followers, also under
wrong epochs and of ends that are not there; the time that passes; and answers to its proposals. After each event both sides have
the same epochs, ISR, pending ISR, log end, high watermark, knowledge of followers, and proposals on the way.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Protocol

from kafka_spec.conformance.kafka_classes.comparison import Comparison, SequenceOutcome, Subject, compare_sequence
from kafka_spec.conformance.kafka_classes.partition_kafkas import KafkasPartition, PartitionClasses
from kafka_spec.conformance.kafka_classes.partition_ours import OurPartition
from kafka_spec.conformance.kafka_classes.partition_states import LAG, Cached, LeaderView, Registered

if TYPE_CHECKING:
    from kafka_spec.conformance.kafka_classes.java import Kafka

LENGTH = 30
BROKERS = (0, 1, 2, 3)
ERRORS = (
    "FENCED_LEADER_EPOCH", "INVALID_UPDATE_VERSION", "INVALID_REQUEST", "NEW_LEADER_ELECTED", "UNKNOWN_TOPIC_ID",
    "UNKNOWN_TOPIC_OR_PARTITION", "OPERATION_NOT_ATTEMPTED", "INELIGIBLE_REPLICA", "UNKNOWN_SERVER_ERROR", "NOT_CONTROLLER",
)  # fmt: skip
"""The errors with which a proposal may be answered."""


@dataclass(frozen=True)
class Event:
    """One event: its kind, and numbers that it takes as it can, so that it can happen in any state."""

    kind: str
    numbers: tuple[int, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.kind, *map(str, self.numbers)])


KINDS = (
    *("fetch",) * 9, *("append",) * 4, *("answer",) * 5, *("register",) * 4, *("wait", "shrink") * 3, *("cache",) * 2,
)  # fmt: skip


def at_random(random: Random) -> list[Event]:
    """Return a sequence; it begins with a registration."""
    first = Event("register", (0, 0, *(random.randrange(64) for _ in range(4))))
    others = [Event(random.choice(KINDS), tuple(random.randrange(64) for _ in range(6))) for _ in range(LENGTH)]
    return [first, *others]


class Side(Protocol):
    """One side: ours, or Kafka's."""

    now: int

    def learn(self, cache: Mapping[int, Cached], reported: Registered) -> None:
        """Take what the metadata cache has."""

    def apply(self, reported: Registered) -> None:
        """Lead or follow as a registration says."""

    def append(self) -> None:
        """Append a record as the leader."""

    def fetch(self, broker: int, offset: int, leader_epoch: int, broker_epoch: int) -> str:
        """Take the fetch of a follower; return the name of the error."""

    def shrink(self) -> None:
        """Take out of the ISR who lags."""

    def answer(self, error: str, leader_epoch: int, partition_epoch: int, isr: Sequence[int]) -> None:
        """Answer the proposal that is on the way."""

    def view(self) -> LeaderView:
        """Return what is seen of the partition."""


class EventPlayer:
    """What happens to all sides alike, and the registration that they know. What an event is depends on the first side."""

    def __init__(self, *sides: Side) -> None:
        self.sides = sides
        self.reported = Registered(BROKERS[:3], -1, (), -1, -1)
        self.cache = {broker: Cached() for broker in BROKERS}
        self._learn()

    def _learn(self) -> None:
        for side in self.sides:
            side.learn(self.cache, self.reported)

    def take(self, event: Event) -> list[str]:
        """Let an event happen on all sides; return what is seen of each afterwards, and what it answers."""
        answers = getattr(self, f"_{event.kind}")(*event.numbers) or [""] * len(self.sides)
        return [f"{side.view()} {answer}" for side, answer in zip(self.sides, answers, strict=True)]

    def _register(self, how: int, leader: int, isr: int, old: int, new: int, replicas: int) -> None:
        """A registration: of a new leader, of the same one with another ISR, the same again, or one before it."""
        held = self.reported
        members = BROKERS[:3] if replicas % 4 else BROKERS
        isr_of = tuple(broker for broker in members if isr >> broker & 1)
        if how % 4 == 0:
            leads = members[leader % 2]
            isr_of = (leads, *(broker for broker in isr_of if broker != leads))
            reported = Registered(members, leads, isr_of, held.leader_epoch + 1, held.partition_epoch + 1)
        elif how % 4 == 1:
            isr_of = (held.leader, *(broker for broker in isr_of if broker != held.leader))
            reported = Registered(members, held.leader, isr_of, held.leader_epoch, held.partition_epoch + 1 + new % 2)
        elif how % 4 == 2:
            reported = held
        else:
            reported = replace(held, partition_epoch=max(0, held.partition_epoch - 1 - old % 2))
        if reported.partition_epoch >= held.partition_epoch:
            self.reported = reported
        self._learn()
        for side in self.sides:
            side.apply(reported)

    def _append(self, *_: int) -> None:
        if self.sides[0].view().leads:
            for side in self.sides:
                side.append()

    def _fetch(self, broker: int, behind: int, leader_epoch: int, broker_epoch: int, *_: int) -> list[str]:
        view, number = self.sides[0].view(), 1 + broker % 3
        offset = max(0, view.log_end - (behind % 3 if behind < 60 else -1))
        wrong = {13: -1, 14: 1, 15: 2}
        epoch = view.leader_epoch + wrong.get(leader_epoch % 16, 0)
        registered = self.cache[number].epoch + wrong.get(broker_epoch % 16, 0)
        return [side.fetch(number, offset, epoch, registered) for side in self.sides]

    def _wait(self, milliseconds: int, *_: int) -> None:
        for side in self.sides:
            side.now += milliseconds * LAG // 32

    def _shrink(self, *_: int) -> None:
        for side in self.sides:
            side.shrink()

    def _cache(self, broker: int, what: int, *_: int) -> None:
        """The metadata cache has another state of a broker, or a newer epoch."""
        number, known = 1 + broker % 3, self.cache[1 + broker % 3]
        others = (
            replace(known, is_unfenced=not known.is_unfenced, is_stopping=False),
            replace(known, is_stopping=known.is_unfenced),
            replace(known, epoch=known.epoch + 1),
            Cached(epoch=known.epoch),
        )
        self.cache = {**self.cache, number: others[what % 4]}
        self._learn()

    def _answer(self, how: int, error: int, epochs: int, *_: int) -> None:
        """The answer to the proposal on the way: accepted as it is, an error, or other epochs than those of the leader."""
        if not (sent := self.sides[0].view().sent):
            return
        (proposal,) = sent
        name = "NONE" if how % 3 else ERRORS[error % len(ERRORS)]
        leader_epoch = proposal.leader_epoch + (epochs % 16 == 15)
        partition_epoch = proposal.partition_epoch + {12: -1, 13: 0, 14: 2}.get(epochs % 16, 1)
        isr = tuple(broker for broker, _epoch in proposal.members)
        for side in self.sides:
            side.answer(name, leader_epoch, partition_epoch, isr)


class PartitionRuns:
    """Runs of sequences, each on a partition of its own."""

    def __init__(self, kafka: Kafka, folder: Path) -> None:
        (folder / "kafkas").mkdir()
        self.folder, self.classes = folder, PartitionClasses(kafka, folder / "kafkas")
        self.count = 0

    def run(self, min_isr: int, events: Sequence[Event], happened: Counter[str]) -> SequenceOutcome:
        """Run a sequence up to the first difference."""
        self.count += 1
        ours = OurPartition(self.folder / f"ours-{self.count}", min_isr)
        self.classes.min_isr = min_isr
        kafkas = KafkasPartition(self.classes, self.count)
        player = EventPlayer(ours, kafkas)
        try:
            for number, event in enumerate(events, 1):
                mine, theirs = player.take(event)
                if mine != theirs:
                    return SequenceOutcome(number, mine, theirs)
                happened[event.kind] += 1
        finally:
            ours.replicas.crash()
            kafkas.delete()
        return SequenceOutcome(len(events))


def seen(side: Side, events: Sequence[Event]) -> list[str]:
    """Return what is seen of one side after each event."""
    player = EventPlayer(side)
    return [player.take(event)[0] for event in events]


def sequences(random: Random, cases: int) -> Iterator[tuple[list[Event], int]]:
    """Yield random sequences, each with a min.insync.replicas."""
    for _ in range(max(1, cases)):
        yield at_random(random), random.choice((1, 1, 2, 3))


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare random sequences; a case is an event."""
    with tempfile.TemporaryDirectory() as name:
        runs = PartitionRuns(kafka, Path(name))
        try:
            for events, min_isr in sequences(random, cases):
                run = partial(runs.run, min_isr)
                compare_sequence(comparison, events, run, f"min.insync.replicas {min_isr}", kept=1)  # a registration
        finally:
            runs.classes.close()


SUBJECT = Subject(
    "kraft-partition",
    "Partition: leading, following, fetches, ISR proposals and their answers, high watermark, in random sequences",
    compare,
    (),
    ("4.4.0",),
)
