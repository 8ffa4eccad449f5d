"""Faults written into metadata logs of real clusters, one at a time, and where the validator finds each.

Run as `python -m tests.metadata_mutants` it prints the table: for each field of each record kind, and for records dropped, doubled
and swapped, how often a fault is found in its batch, later, and not at all.
"""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.conformance.metadata.batches import LogBatch, MetadataEntry, TornTail
from kafka_spec.conformance.metadata.explaining import Explaining
from kafka_spec.conformance.metadata.image import Image
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.snapshots import differences, image_of
from kafka_spec.conformance.metadata.sources import batches_of_node, find_sources
from kafka_spec.conformance.outcome.violations import file_and_line
from kafka_spec.impl.kraft.record_schemas import SCHEMAS, SchemaField

LOGS = Path(__file__).parent / "logs" / "kraft"
SESSIONS = {"s412-one-controller.tar.gz": "node-100", "s440-static-jbod.tar.gz": "node-100"}
SOON = 30
"""A fault that is found within so many offsets is found soon."""


REPLACED = "what it changed is changed again, or deleted, before the next snapshot, and no event asked for it in between"
SILENT = {
    ("BrokerRegistrationChange", "made a no-op"): "the first report of no cordoned directories changes nothing",
    ("Config", "name"): REPLACED,
    ("Config", "value"): REPLACED,
    ("PartitionChange", "made a no-op"): REPLACED,
    ("BeginTransaction", "name"): "the name is free text",
    ("PartitionChange", "isr"): "a proposal's ISR has the order of a request, which decides nothing, until the next snapshot",
    ("RegisterBroker", "cordoned_log_dirs"): "none and null mean the same",
    ("UnregisterBroker", "made a no-op"): "no snapshot follows, and nobody asks for the broker again",
    ("batch", "older epoch"): "an epoch that its leader alone has written into; leader-epoch-checkpoint has it",
}
"""Faults that a log cannot show, and why. Of two records of a batch the order may mean nothing: "swapped" is never among them."""


@dataclass
class Log:
    """A log in memory: its batches, the images of its snapshots by their ends, and what is wrong with it as it is."""

    batches: list[LogBatch]
    snapshots: dict[int, Image]
    known: frozenset[tuple[int, str, str]]


@dataclass(frozen=True)
class Fault:
    """A fault: what it is, of which kind of record, at which offset, and the log with it."""

    what: str
    kind: str
    offset: int
    batches: tuple[LogBatch, ...]


def judged(batches: Sequence[LogBatch], snapshots: dict[int, Image]) -> Iterator[tuple[int, str, str]]:
    """Yield what is wrong with a log, batch by batch: offset, kind and subject."""
    judge = LogJudge()
    Explaining(judge, witness=False)
    seen = 0
    for batch in batches:
        judge.feed(batch)
        if judge.next in snapshots and judge.open_transaction is None:
            for subject, _, _ in differences(judge.image, snapshots[judge.next]):
                judge.report("snapshot-differs", judge.next, subject, "")
        for one in judge.violations[seen:]:
            yield file_and_line(one.place)[1], one.kind, one.subject
        seen = len(judge.violations)
    if judge.open_transaction is not None:
        yield judge.next or 0, "a transaction is open", ""
    for end in snapshots:
        if end > 0 and judge.next is not None and end > judge.next:
            yield judge.next, "the log ends early", ""


@cache
def log_of(name: str) -> Log:
    """Return a session's log, with the snapshots of one node."""
    with find_sources([LOGS / name]) as sources:
        node = next(one for one in sources.nodes if one.name.endswith(SESSIONS[name]))
        batches = []
        for _, batch in batches_of_node(node):
            assert not isinstance(batch, TornTail)
            entries = tuple(batch.entries())
            batches.append(replace(batch, data=b"", given=entries))
        snapshots = {one.end: image_of(one.path) for one in node.snapshots if one.end > 0}
    return Log(batches, snapshots, frozenset(judged(batches, snapshots)))


def other_values(field: SchemaField, value: Any, random: Random) -> list[Any]:
    """Return other values of a field."""
    if field.fields:
        return [value[1:], (*value, *value[:1])] if value else []
    if field.is_array and field.item == "int32":
        value = value or None if field.usual is None else value  # none and null mean the same there
        brokers = [broker for broker in range(4) if broker not in (value or ())]
        found: list[Any] = [(), (*(value or ()), random.choice(brokers or [9]))]
        if value:
            found += [value[1:], (value[-1], *value[:-1]) if len(value) > 1 else (9,)]
        return found if value is not None else [*found, (random.randrange(4),)]
    if field.is_array:
        return [(*(value or ()), bytes([7] * 16))] + ([value[1:]] if value else [])
    if field.type == "bool":
        return [not value]
    if field.type == "uuid":
        return [bytes([7] * 16)]
    if field.type == "string":
        return ["other" if value != "other" else "another"]
    if field.type == "bytes":
        return [value + b"x"]
    if field.type == "float64":
        return [value + 1]
    if field.name in ("fenced", "in_controlled_shutdown", "leader_recovery_state"):
        return [one for one in (-1, 0, 1) if one != value]
    return [value + 1, value - 1]


def with_entries(log: Log, place: int, entries: Sequence[MetadataEntry]) -> tuple[LogBatch, ...]:
    """Return the batches with other records in one of them; none if that is empty then."""
    batches = list(log.batches)
    batches[place] = replace(batches[place], given=tuple(entries))
    return tuple(batches)


def places(log: Log) -> Iterator[tuple[int, int]]:
    """Yield the places of records: of their batch, and in it."""
    for place, batch in enumerate(log.batches):
        if not batch.is_control:
            for number in range(len(batch.given)):
                yield place, number


def field_faults(log: Log, random: Random, each: int) -> Iterator[Fault]:
    """Yield faults of single fields: `each` of them for each field of each kind of record."""
    by_field: dict[tuple[int, str], list[tuple[int, int]]] = defaultdict(list)
    for place, number in places(log):
        entry = log.batches[place].given[number]
        for field in SCHEMAS[entry.key].fields:
            if entry.record.schema_version >= field.since:
                by_field[entry.key, field.name].append((place, number))
    for (key, name), found in sorted(by_field.items()):
        field = next(one for one in SCHEMAS[key].fields if one.name == name)
        for place, number in random.sample(found, min(each, len(found))):
            entry = log.batches[place].given[number]
            for value in other_values(field, getattr(entry.record, name), random):
                old = getattr(entry.record, name)
                if value == old or (not value and not old and SCHEMAS[key].title == "Partition"):
                    continue  # of a whole partition, no list is an empty one
                entries = list(log.batches[place].given)
                entries[number] = entry._replace(record=entry.record._replace(**{name: value}))
                yield Fault(f"{name}", SCHEMAS[key].title, entry.offset, with_entries(log, place, entries))


def record_faults(log: Log, random: Random, each: int) -> Iterator[Fault]:
    """Yield records dropped, doubled and swapped with their neighbours; the other records keep their offsets."""
    by_kind: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for place, number in places(log):
        by_kind[log.batches[place].given[number].key].append((place, number))
    for key, found in sorted(by_kind.items()):
        for place, number in random.sample(found, min(each, len(found))):
            given = log.batches[place].given
            entry, title = given[number], SCHEMAS[key].title
            if key != 20:
                blank = MetadataEntry(entry.offset, 20, SCHEMAS[20].plain())
                yield Fault(
                    "made a no-op", title, entry.offset, with_entries(log, place, (*given[:number], blank, *given[number + 1 :]))
                )
            yield Fault("dropped", title, entry.offset, with_entries(log, place, (*given[:number], *given[number + 1 :])))
            yield Fault("doubled", title, entry.offset, with_entries(log, place, (*given[: number + 1], *given[number:])))
            if number + 1 < len(given) and given[number + 1].record != entry.record:
                one, two = entry, given[number + 1]
                swapped = [MetadataEntry(one.offset, two.key, two.record), MetadataEntry(two.offset, one.key, one.record)]
                yield Fault(
                    "swapped", title, entry.offset, with_entries(log, place, (*given[:number], *swapped, *given[number + 2 :]))
                )


def batch_faults(log: Log, random: Random, each: int) -> Iterator[Fault]:
    """Yield batches that are missing, doubled, swapped, or of an older epoch of the quorum."""
    for place in random.sample(range(2, len(log.batches) - 2), each):
        batches = log.batches
        offset = batches[place].base
        yield Fault("missing", "batch", offset, (*batches[:place], *batches[place + 1 :]))
        yield Fault("doubled", "batch", offset, (*batches[: place + 1], *batches[place:]))
        yield Fault("swapped", "batch", offset, (*batches[:place], batches[place + 1], batches[place], *batches[place + 2 :]))
        older = replace(batches[place], epoch=batches[place].epoch - 1)
        yield Fault("older epoch", "batch", offset, (*batches[:place], older, *batches[place + 1 :]))


def found_at(log: Log, fault: Fault) -> int | None:
    """Return the offset of the first thing that is wrong beside what was, None if nothing is."""
    for one in judged(fault.batches, log.snapshots):
        if one not in log.known:
            return one[0]
    return None


def verdict(log: Log, fault: Fault) -> str:
    """Return where a fault is found: in its batch, soon, at a later snapshot or record, or not."""
    found = found_at(log, fault)
    if found is None:
        return "silent"
    batch = next((one for one in log.batches if one.base <= fault.offset <= one.last), None)
    last = fault.offset if batch is None else batch.last
    return "in its batch" if found <= last else "soon" if found <= last + SOON else "later"


def table(each: int, seed: int = 7) -> dict[tuple[str, str], Counter[str]]:
    """Return the verdicts by kind of record and fault."""
    random = Random(seed)
    rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for name in SESSIONS:
        log = log_of(name)
        for make in (field_faults, record_faults, batch_faults):
            for fault in make(log, random, each):
                rows[fault.kind, fault.what][verdict(log, fault)] += 1
    return rows


def unforeseen(rows: dict[tuple[str, str], Counter[str]]) -> set[tuple[str, str]]:
    """Return the faults that stayed silent without a reason."""
    return {key for key, counts in rows.items() if counts["silent"] and key not in SILENT and key[1] != "swapped"}


def main() -> None:
    """Print the table."""
    total: Counter[str] = Counter()
    for (kind, what), counts in sorted(table(int(sys.argv[1]) if len(sys.argv) > 1 else 3).items()):
        total.update(counts)
        sys.stdout.write(f"{kind:26} {what:28} {dict(counts)}\n")
    sys.stdout.write(f"{dict(total)}\n")


if __name__ == "__main__":
    main()
