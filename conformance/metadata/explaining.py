"""The judge's explanations: which release rules each epoch of the quorum, which event wrote each record, which known bug acts.

A known bug *acts* on an event if the event would have written other records with that bug's decisions as in `fixed`, all else
equal.

Source: spec/kraft/cases; the releases of rulings.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.acting_beside import acting_beside
from kafka_spec.conformance.metadata.batches import MetadataEntry
from kafka_spec.conformance.metadata.bugs import is_wrong
from kafka_spec.conformance.metadata.causes import agrees
from kafka_spec.conformance.metadata.explain import Explainer
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.judge import LogJudge, shown
from kafka_spec.conformance.metadata.predictions import Explained, differing, recorded
from kafka_spec.conformance.metadata.rulings import NO_BUMP_FROM, Release, Ruling, candidates
from kafka_spec.conformance.metadata.single_changes import attempts
from kafka_spec.impl.kraft.record_schemas import SCHEMAS
from kafka_spec.impl.protocol.settings import UNCLEAN

MOST_SUBJECTS = 5
"""The partitions that a message names."""
MOST_TEXT = 300
"""The characters of a record in a message."""
Choice = tuple[int, Release]
"""An epoch of the quorum, and the release that rules it."""
WRITES_ASSIGNMENT = ("cancel", "reassign", "register")
"""Beginnings of events whose question itself depends on a switch, so that they are explained again without it."""


class Acting(NamedTuple):
    """A known bug that acts on an event: at this offset, on these partitions or brokers."""

    bug: str
    file: int
    offset: int
    when: int
    event: str
    subjects: tuple[str, ...]


@dataclass(frozen=True)
class LogEvent:
    """An event of the log, for whoever follows it: its offsets, its time, what it was, and the bugs that act on it."""

    first: int
    last: int
    when: int
    event: Explained | None
    bugs: tuple[str, ...]


class Explaining:
    """Explains the batches that a judge folds. `releases` fixes the release; else the log's own says it."""

    def __init__(
        self, judge: LogJudge, release: Release | None = None, witness: bool = True, causes: Mapping[int, str] | None = None
    ) -> None:
        self.judge = judge
        self.release = release
        self.witness = witness
        self.causes = causes or {}
        """The operations that the controllers' own logs name, by the offsets of their last records."""
        self.compared_causes = 0
        self.explainer = Explainer(judge.image, judge.min_isr, self.allows_unclean)
        self.explained = self.unexplained = 0
        self.changes_explained = 0
        self.events: Counter[str] = Counter()
        self.acting: list[Acting] = []
        self.releases: list[tuple[int, str]] = []
        """The release that rules from an offset on."""
        self.followers: list[Callable[[Image, LogEvent, list[MetadataEntry]], None]] = []
        """Are shown each event once it has been applied."""
        self._chosen: dict[int, Release] = {}
        self._facts: object = None
        judge.explaining = self

    @property
    def choice(self) -> Choice | None:
        """The newest epoch of which a record was explained, and the release that ruled it."""
        return max(self._chosen.items(), default=None, key=lambda one: one[0])

    def resume(self, choice: Choice | None) -> None:
        """Go on where another one had made its newest choice."""
        self._chosen = {} if choice is None else dict([choice])

    def allows_unclean(self, topic_id: bytes) -> bool:
        """Whether a topic allows unclean elections."""
        known = self.judge.unclean_topics.get(topic_id)
        if known is None:
            image = self.judge.image
            reported = image.setting(image.names.get(topic_id, ""), UNCLEAN)
            known = self.judge.settings.unclean if reported is None else reported == "true"
            self.judge.unclean_topics[topic_id] = known
        return known

    # -----------------------------------------------------------------------------------------------------------------
    # Releases

    def _rule(self, offset: int, release: Release | None = None) -> None:
        """Set the ruling of the records from an offset on."""
        image = self.judge.image
        epoch = self.judge.reigns[-1].epoch if self.judge.reigns else 0
        facts = (epoch, image.features.copy(), image.others.get(("controller", self.judge.controller)))
        if release is None and facts == self._facts:
            return
        self._facts = facts
        possible = possible_releases(self.judge, self.release)
        if release is not None:
            self._chosen[epoch] = release
        elif self._chosen.get(epoch) not in possible:
            before = self._chosen.get(max((one for one in self._chosen if one < epoch), default=epoch))
            self._chosen[epoch] = before if before in possible and before is not None else possible[0]
        chosen = self._chosen[epoch]
        self.explainer.image = image
        self.explainer.ruling = Ruling(chosen, image.has_elr, 0 < image.metadata_version < NO_BUMP_FROM)
        if image.metadata_version and (not self.releases or self.releases[-1][1] != chosen.name):
            self.releases.append((offset, chosen.name))

    # -----------------------------------------------------------------------------------------------------------------
    # Batches

    def batch(self, entries: Sequence[MetadataEntry]) -> None:
        """Explain the records of a batch and apply them, event by event."""
        ends = run_ends(entries)
        place = 0
        while place < len(entries):
            self._rule(entries[place].offset)
            found = self.explainer.explain(entries, place, ends[place]) or self._otherwise(entries, place, ends[place])
            count = 1 if found is None else found.records
            changes = sum(entry.key == keys.PARTITION_CHANGE for entry in entries[place : place + count])
            bugs: tuple[str, ...] = ()
            if found is None:
                self.unexplained += 1
                self._report(entries[place])
            else:
                self.explained += count
                self.changes_explained += changes
                self.events[found.name.split(" to [")[0]] += 1
                last_key = entries[place + count - 1].key
                moves = found.name.startswith("assign directories")
                if self.witness and (found.asked or moves or last_key in (keys.CLEAR_ELR, keys.REMOVE_TOPIC)):
                    bugs = self._acting(entries, place, ends[place], found)
            last = entries[place + count - 1].offset
            for entry in entries[place : place + count]:
                self.judge.apply(entry)
            if self.followers or self.causes:
                event = LogEvent(entries[place].offset, last, self.judge.last_time, found, bugs)
                self.check_cause(event)
                for follower in self.followers:
                    follower(self.judge.image, event, list(entries[place : place + count]))
            place += count

    def _otherwise(self, entries: Sequence[MetadataEntry], place: int, end: int) -> Explained | None:
        """Explain by another release that may rule; from here on it does."""
        ruling = self.explainer.ruling
        for release in possible_releases(self.judge, self.release):
            if release != ruling.release:
                self.explainer.ruling = Ruling(release, ruling.has_elr, ruling.bumps)
                found = self.explainer.explain(entries, place, end)
                if found is not None:
                    self._rule(entries[place].offset, release)
                    return found
        self.explainer.ruling = ruling
        return None

    def check_cause(self, reported: LogEvent) -> None:
        """Report an event that the controller's own log calls otherwise."""
        operation = self.causes.get(reported.last)
        if operation is None or reported.event is None:
            return
        self.compared_causes += 1
        if not agrees(operation, reported.event.name):
            text = f"it is explained as {reported.event.name}; the controller's log names the operation {operation}"
            self.judge.report("cause-differs", reported.last, reported.event.subject or "the log", text)

    def _report(self, entry: MetadataEntry) -> None:
        """Report a record that no event explains, with the nearest event."""
        partition = self.explainer.find(entry) if entry.key == keys.PARTITION_CHANGE else None
        if partition is None:
            text = f"no event writes this {SCHEMAS[entry.key].name} here: {plainly(entry.record)}"
            self.judge.report("unexplained", entry.offset, "the log", text)
            return
        found = recorded(entry.record)
        tries = [
            (differing(self.explainer.predict(partition, one.asked), found), one.name)
            for one in attempts(self.explainer, partition, found)
        ]
        text = f"no event changes it so: {shown(partition.shape)}"
        if tries:
            fields, name = min(tries, key=lambda one: len(one[0]))
            text += f"; the nearest is {name}: {'; '.join(fields)}"
        self.judge.report("unexplained", entry.offset, self.judge.image.name_of(partition), text)

    # -----------------------------------------------------------------------------------------------------------------
    # Known bugs

    def _acting(self, entries: Sequence[MetadataEntry], place: int, end: int, found: Explained) -> tuple[str, ...]:
        """Return the bugs without which the event would have written something else, and note them."""
        explainer, ruling = self.explainer, self.explainer.ruling
        acting: dict[str, list[str]] = {}
        if found.name.startswith(WRITES_ASSIGNMENT):
            for case in ruling.acting:
                explainer.ruling = ruling.off(case)
                if explainer.explain(entries, place, end) != found:
                    acting[case] = [found.subject]
            explainer.ruling = ruling
        else:
            for part, asked in found.asked:
                for case in explainer.predictions.acting(ruling, part.shape, asked):
                    acting.setdefault(case, []).append(self.judge.image.name_of(part))
        for bug, subjects in acting_beside(self.judge, explainer, found, entries[place : place + found.records]).items():
            acting.setdefault(bug, []).extend(subjects)
        for bug, subjects in acting.items():
            offset = entries[place].offset
            subjects.sort(key=in_order)
            self.acting.append(Acting(bug, self.judge.file, offset, self.judge.last_time, found.name, tuple(subjects)))
            if is_wrong(bug):
                text = f"{bug} acts on the event {found.name!r}"
                self.judge.report("bug-acts", offset, ", ".join(subjects[:MOST_SUBJECTS]), text)
        return tuple(acting)


def possible_releases(judge: LogJudge, given: Release | None = None) -> tuple[Release, ...]:
    """Return the releases that may rule now, the likeliest first; only the given one, if one is."""
    if given is not None:
        return (given,)
    record = judge.image.others.get(("controller", judge.controller))
    newest = None
    if record is not None:
        newest = next((one.max_supported_version for one in record.features if one.name == keys.METADATA_VERSION), None)
    return candidates(newest, judge.image.metadata_version)


def run_ends(entries: Sequence[MetadataEntry]) -> list[int]:
    """Return for each place of a batch where the run of changes of partitions that begins there ends."""
    ends = [len(entries)] * len(entries)
    end = len(entries)
    for place in range(len(entries) - 1, -1, -1):
        if entries[place].key != keys.PARTITION_CHANGE:
            end = place
        ends[place] = end
    return ends


def in_order(name: str) -> tuple[str, int]:
    """Return the key by which names of partitions are sorted: those of a topic by their numbers."""
    topic, _, number = name.rpartition("-")
    return (topic, int(number)) if number.isdigit() else (name, -1)


def plainly(record: object) -> str:
    """Return a record's fields as text, those with content."""
    fields = record._asdict()  # type: ignore[attr-defined]
    reported = {
        name: value.hex() if isinstance(value, bytes) else value for name, value in fields.items() if value not in (None, (), "")
    }
    reported.pop("schema_version", None)
    return ", ".join(f"{name} {value}" for name, value in reported.items())[:300]
