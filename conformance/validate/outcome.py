"""The outcome of a validation: the merged results of sources, partitions and channels, with the judgement of each property.

A violation that needs more than its log shows (TRACE lines, the beginning of the epoch) is left out here; judgement.py says which
properties could not be judged, and why. Independent of log texts and of output.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from kafka_spec.conformance.outcome.violations import Unfinished, Violation, file_and_line
from kafka_spec.conformance.validate.claims import Epoch
from kafka_spec.conformance.validate.embedded import Results
from kafka_spec.conformance.validate.findings import BEGUN, CONTROLLER, ELECTION, KINDS, READ, TRACE, UNTIL, Refusal
from kafka_spec.conformance.validate.judgement import EpochOutcome, Hole, Judgement, Verdict, holes_of, judgements, verdict_of
from kafka_spec.conformance.validate.partition_record import RowCounts
from kafka_spec.conformance.validate.partitions import PartitionResult
from kafka_spec.conformance.validate.states import TABLES, Tables


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
    layouts: list[str]
    """Layouts of lines that were learnt or given, beside Kafka's own."""
    copies: list[tuple[str, str]]
    """Logs that are copies of others, and were left out; each with the one that was read."""
    examples: list[tuple[int, str, str]]
    """Of each source with lines that could not be read: the place of the first, its text, and how it differs."""
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
    holes: list[Hole]
    judged: list[Judgement]

    @property
    def verdict(self) -> Verdict:
        """`violated`; `holds` if every property that was asked for is judged in full; or inconclusive."""
        return verdict_of(self.judged)

    @property
    def unseen(self) -> list[str]:
        """What was needed and is not in the logs."""
        return [hole.summary for hole in self.holes]

    @property
    def open_reasons(self) -> list[str]:
        """Why properties that were asked for could not be judged."""
        return list(dict.fromkeys(why for one in self.judged if one.state == "not judged" for why in one.why))

    @property
    def transitions(self) -> int:
        """Number of transitions seen."""
        return sum(self.rows.values())

    def at(self, place: int) -> str:
        """Return FILE:LINE."""
        file, line = file_and_line(place)
        return f"{self.files[file]}:{line}"


def put_together(results: Results, files: Sequence[str], era: str | None, level: str, foreign: Sequence[str] = ()) -> Outcome:
    """Return the outcome of all results; `foreign` says which files are not logs of this kind."""
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
    unfinished = _unfinished(results)
    claims = [source.claims for source in results.sources]
    holes = [Hole(CONTROLLER, text) for text in foreign]
    holes += holes_of(epochs, followed, claims, unfinished, rows.total(), _unread(results, files))
    return Outcome(
        files=list(files),
        sources=len(results.sources),
        lines=sum(one.read for one in counts),
        size=sum(one.size for one in counts),
        continued=sum(one.continued for one in counts),
        broken=sum(one.broken for one in counts),
        broken_at=sorted(place for one in counts for place in one.examples),
        broke_off=sorted(file for one in counts for file in one.broke_off),
        layouts=list(dict.fromkeys(layout for source in results.sources for layout in source.layouts)),
        copies=[(copy, source.name) for source in results.sources for copy in source.copies],
        examples=[(one.examples[0], *one.example) for one in counts if one.examples],
        tables=tables,
        epochs=epochs,
        rows=rows,
        refusals=refusals,
        violations=sorted(violations, key=lambda one: (order.index(one.kind), one)),
        followed=sum(one.fates.arrived for one in followed),
        unfollowed=sum(one.fates.open for one in followed if one.broker in brokers),
        deaf=tuple(sorted({one.broker for one in followed if one.broker not in brokers})),
        unfinished=unfinished,
        partitions=results.partitions,
        holes=holes,
        judged=judgements(violations, holes, _not_asked(results, level)),
    )


def _not_asked(results: Results, level: str) -> frozenset[str]:
    """Return the needs that nobody asked for: what only TRACE shows, and what only controller.log shows if there is none."""
    needs = {TRACE} if level == "info" else set()
    if not any(source.counts.others for source in results.sources):
        needs.add(ELECTION)
    return frozenset(needs)


def _unread(results: Results, files: Sequence[str]) -> list[str]:
    """Return which lines could not be read, by source."""
    found = []
    for source in results.sources:
        counts = source.counts
        if counts.broken:
            file, line = file_and_line(counts.examples[0])
            lines = "1 line" if counts.broken == 1 else f"{counts.broken:,} lines"
            found.append(f"{lines} could not be read, the first at {files[file]}:{line}: what spans them is not judged")
        if missing := source.claims.missing:
            (place, which), *more = missing
            file, line = file_and_line(place)
            others = f", and {len(more)} more like that" if more else ""
            found.append(f"a line is missing or stands twice before {files[file]}:{line}: {which}{others}")
        found += [f"{files[file]} is damaged, and could not be read to its end" for file in counts.broke_off]
    for partition in results.partitions:
        for place, which in partition.missing[:1]:
            file, line = file_and_line(place)
            others = f", and {len(partition.missing) - 1} more like that" if len(partition.missing) > 1 else ""
            found.append(f"{partition.name}: a line is missing or stands twice before {files[file]}:{line}: {which}{others}")
    return found


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
            any(one.torn for one, _, _ in seen.get(epoch, ())),
            any(epoch in source.claims.elections for source in results.sources)
            and {of for source in results.sources for at, of in source.claims.started if at == epoch} == {"partition", "replica"},
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
        or (READ in violation.needs and epoch.torn)
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
            summary = f"controllers {', '.join(map(str, sorted(controllers)))} both act in controller epoch {epoch}"
            found.append(Violation(place, "two-controllers", when, f"controller epoch {epoch}", who, summary, "", epoch))
    return found


def _unfinished(results: Results) -> list[Unfinished]:
    found = [one for part in results.partitions for one in part.unfinished]
    reported: dict[str, tuple[str, bool, int]] = {}
    for source in results.sources:
        for topic, (finished, when, place) in source.claims.deletions.items():
            reported[topic] = max(reported.get(topic, ("", True, 0)), (when, finished, place))
    found += [
        Unfinished(topic, "its deletion was started and not completed", at) for topic, (_, done, at) in reported.items() if not done
    ]
    return sorted(found)
