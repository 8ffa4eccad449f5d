"""The outcome of a validation: the merged results of sources, partitions and channels, with a verdict.

A violation that needs more than its log shows (TRACE lines, the beginning of the epoch) is left out here, and the outcome reports
what could not be checked. Independent of log texts and of output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kafka_spec.conformance.validate.actors import Epoch
from kafka_spec.conformance.validate.embedded import Results
from kafka_spec.conformance.validate.events import file_and_line
from kafka_spec.conformance.validate.findings import BEGUN, KINDS, TRACE, UNTIL, Refusal, Unfinished, Violation
from kafka_spec.conformance.validate.partition_record import RowCounts
from kafka_spec.conformance.validate.partitions import Followed, PartitionResult
from kafka_spec.conformance.validate.states import TABLES, Tables

Verdict: TypeAlias = Literal["holds", "violated", "inconclusive"]


@dataclass(frozen=True)
class EpochOutcome:
    """One controller epoch: the controllers that claim it, and how complete their log is."""

    epoch: int
    controllers: tuple[int, ...]
    seen: bool
    trace: bool
    begun: bool
    began: str
    until: str


@dataclass
class Outcome:
    """The outcome of a validation."""

    files: list[str]
    sources: int
    lines: int
    size: int
    continued: int
    broken: int
    broken_at: list[int]
    broke_off: list[int]
    tables: Tables
    epochs: list[EpochOutcome]
    rows: RowCounts
    refusals: Counter[Refusal]
    violations: list[Violation]
    followed: int
    unfollowed: int
    deaf: tuple[int, ...]
    unfinished: list[Unfinished]
    partitions: list[PartitionResult]
    asked_level: str
    unseen: list[str]

    @property
    def verdict(self) -> Verdict:
        """`violated`, `holds` if the logs are complete, or inconclusive."""
        if self.violations:
            return "violated"
        return "inconclusive" if self.open_reasons else "holds"

    @property
    def open_reasons(self) -> list[str]:
        """Reasons why the verdict is inconclusive: no events, too little logging, or unfinished work."""
        reasons = []
        if not any(epoch.seen for epoch in self.epochs):
            reasons.append("no controller's state-change log is among the files")
        elif self.asked_level != "info" and not all(epoch.trace for epoch in self.epochs if epoch.seen):
            reasons.append("some logs are at INFO, and most cannot be seen there; --level info judges what can")
        if self.unfinished:
            reasons.append("something is not finished where the log ends")
        if self.broke_off:
            reasons.append("a file is damaged, and could not be read to its end")
        return reasons

    @property
    def transitions(self) -> int:
        """Number of transitions seen."""
        return sum(self.rows.values())

    def at(self, place: int) -> str:
        """Return FILE:LINE."""
        file, line = file_and_line(place)
        return f"{self.files[file]}:{line}"


def put_together(results: Results, files: Sequence[str], era: str | None, level: str) -> Outcome:
    """Return the outcome of all results."""
    epochs = _epochs(results)
    by_number = {one.epoch: one for one in epochs}
    violations = [*_two_controllers(results)]
    for source in results.sources:
        violations += source.claims.violations
    found = [one for partition in results.partitions for one in partition.violations]
    found += [one for channel in results.channels for one in channel.violations]
    violations += [one for one in found if _counts(one, by_number)]
    followed = [one for part in results.partitions for one in part.followed] + [one.followed for one in results.channels]
    brokers = {number for source in results.sources for number in source.claims.brokers}
    plain = [one.plain for source in results.sources for one in source.claims.epochs.values()]
    tables = TABLES[era or ("0.10" if plain and all(plain) else "2.8")]
    rows: RowCounts = Counter()
    refusals: Counter[Refusal] = Counter()
    for partition in results.partitions:
        rows.update(partition.rows)
        refusals.update(partition.refusals)
    counts = [source.counts for source in results.sources]
    order = list(KINDS)
    return Outcome(
        files=list(files),
        sources=len(results.sources),
        lines=sum(one.read for one in counts),
        size=sum(one.size for one in counts),
        continued=sum(one.continued for one in counts),
        broken=sum(one.broken for one in counts),
        broken_at=sorted(place for one in counts for place in one.examples),
        broke_off=sorted(file for one in counts for file in one.broke_off),
        tables=tables,
        epochs=epochs,
        rows=rows,
        refusals=refusals,
        violations=sorted(violations, key=lambda one: (order.index(one.kind), one)),
        followed=sum(one.arrived for one in followed),
        unfollowed=sum(one.open for one in followed if one.broker in brokers),
        deaf=tuple(sorted({one.broker for one in followed if one.broker not in brokers})),
        unfinished=_unfinished(results, epochs),
        partitions=results.partitions,
        asked_level=level,
        unseen=_unseen(epochs, followed, brokers),
    )


def _epochs(results: Results) -> list[EpochOutcome]:
    named: dict[int, set[int]] = {}
    seen: dict[int, list[tuple[Epoch, bool, str]]] = {}
    for source in results.sources:
        for epoch, controller in source.claims.named:
            named.setdefault(epoch, set()).add(controller)
        for (epoch, _), one in source.claims.epochs.items():
            seen.setdefault(epoch, []).append((one, source.counts.trace, source.counts.last))
    return [
        EpochOutcome(
            epoch,
            tuple(sorted(named[epoch])),
            epoch in seen,
            all(trace for _, trace, _ in seen.get(epoch, ())),
            all(one.begun for one, _, _ in seen.get(epoch, ())),
            min((one.when for one, _, _ in seen.get(epoch, ())), default=""),
            max((last for _, _, last in seen.get(epoch, ())), default=""),
        )
        for epoch in sorted(named)
    ]


def _counts(violation: Violation, epochs: dict[int, EpochOutcome]) -> bool:
    """Whether the log of the epoch meets the needs of the violation."""
    if not violation.needs:
        return True
    epoch = epochs.get(violation.epoch)
    if epoch is None or not epoch.seen:
        return False
    return not (
        (TRACE in violation.needs and not epoch.trace)
        or (BEGUN in violation.needs and not epoch.begun)
        or (UNTIL in violation.needs and violation.when > epoch.until)
    )


def _two_controllers(results: Results) -> list[Violation]:
    named: dict[int, dict[int, tuple[int, str, str]]] = {}
    for source in results.sources:
        for (epoch, controller), claim in source.claims.named.items():
            known = named.setdefault(epoch, {}).get(controller)
            named[epoch][controller] = claim if known is None else min(known, claim)
    found = []
    for epoch, controllers in sorted(named.items()):
        if len(controllers) > 1:
            place, when, who = max(controllers.values())
            says = f"controllers {', '.join(map(str, sorted(controllers)))} both act in controller epoch {epoch}"
            found.append(Violation(place, "two-controllers", when, f"controller epoch {epoch}", who, says, "", epoch))
    return found


def _unfinished(results: Results, epochs: Sequence[EpochOutcome]) -> list[Unfinished]:
    found = [one for part in results.partitions for one in part.unfinished]
    told: dict[str, tuple[str, bool, int]] = {}
    for source in results.sources:
        for topic, (finished, when, place) in source.claims.deletions.items():
            told[topic] = max(told.get(topic, ("", True, 0)), (when, finished, place))
    found += [
        Unfinished(topic, "its deletion was started and not completed", at) for topic, (_, done, at) in told.items() if not done
    ]
    return sorted(found)


def _unseen(epochs: Sequence[EpochOutcome], followed: Sequence[Followed], brokers: set[int]) -> list[str]:
    """Return what could not be checked, and why."""
    found = []
    info = [str(one.epoch) for one in epochs if one.seen and not one.trace]
    if info:
        found.append(
            f"controller epoch {', '.join(info)}: at INFO there are no transitions of replicas, none of partitions to offline or "
            "non-existent, and no requests by partition: continuity, requests of rows, and what brokers received are not checked"
        )
    if late := [str(one.epoch) for one in epochs if one.seen and not one.begun]:
        found.append(f"controller epoch {', '.join(late)}: its beginning is not in the log: seeds are not checked")
    if absent := [str(one.epoch) for one in epochs if not one.seen]:
        found.append(f"controller epoch {', '.join(absent)}: its controller's log is not here")
    deaf = sorted({one.broker for one in followed if one.broker not in brokers})
    if deaf:
        found.append(f"broker {', '.join(map(str, deaf))}: its log is not here: what was sent to it could not be followed")
    return found
