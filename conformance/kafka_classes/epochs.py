"""LeaderEpochFileCache: every short sequence of operations, and long random ones; entries, answers and the file after each.

The file is written by each side and read back by the other. 3.9 has another class, which postpones writes.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes.comparison import Comparison, Subject
from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_classes.scratch import scratch
from kafka_spec.impl.log import checkpoint
from kafka_spec.impl.log.epochs import LeaderEpochs

Operation = tuple[str, tuple[int, ...]]
Entries = list[tuple[int, int]]
LOG_END = 100
REFUSED = "refused"


class _Kafkas:
    """Kafka's cache on a file."""

    def __init__(self, kafka: Kafka, file: Path) -> None:
        self._kafka = kafka
        end = kafka.long(LOG_END)
        function = kafka.function({"apply": lambda: end, "apply$mcJ$sp": lambda: LOG_END})
        saved = kafka.named("kafka.server.checkpoints.LeaderEpochCheckpointFile")(kafka.named("java.io.File")(str(file)), None)
        self._cache = kafka.named("kafka.server.epoch.LeaderEpochFileCache")(kafka.partition("t", 0), function, saved)

    def do(self, operation: Operation) -> None:
        """Do one operation."""
        name, arguments = operation
        getattr(self._cache, name)(*arguments)

    @property
    def entries(self) -> Entries:
        """The entries, oldest first."""
        return [(int(entry.epoch()), int(entry.startOffset())) for entry in self._kafka.listed(self._cache.epochEntries())]

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch not above `epoch`, and its end offset."""
        found = self._cache.endOffsetFor(epoch)
        return int(str(found._1())), int(str(found._2()))


class _Ours:
    """Our cache on a file."""

    def __init__(self, file: Path) -> None:
        self._epochs = LeaderEpochs(checkpoint.read_epochs(file), lambda entries: checkpoint.write_epochs(file, entries))

    def do(self, operation: Operation) -> None:
        """Do one operation."""
        name, arguments = operation
        ours: dict[str, Callable[..., None]] = {
            "assign": self._epochs.assign,
            "truncateFromEnd": self._epochs.truncate_from_end,
            "truncateFromStart": self._epochs.truncate_from_start,
            "clearAndFlush": self._epochs.clear,
        }
        ours[name](*arguments)

    @property
    def entries(self) -> Entries:
        """The entries, oldest first."""
        return list(self._epochs.entries)

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        """Return the largest epoch not above `epoch`, and its end offset."""
        return self._epochs.end_offset_for(epoch, LOG_END)


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare all pairs of operations on small numbers, random sequences, and files with entries in any order."""
    small = [
        *(("assign", one) for one in itertools.product(range(3), range(4))),
        *(("truncateFromEnd", (offset,)) for offset in range(4)),
        *(("truncateFromStart", (offset,)) for offset in range(4)),
        ("clearAndFlush", ()),
    ]
    with scratch() as folder:
        for first, second in itertools.product(small, repeat=2):
            _compare(kafka, comparison, Path(folder), [("assign", (1, 1)), first, second], range(-1, 4))
        for _ in range(cases // 20):
            operations = [_random_operation(random) for _ in range(random.randint(1, 12))]
            _compare(kafka, comparison, Path(folder), operations, range(-1, 14))
        for _ in range(cases // 10):
            entries = [(random.randint(-1, 5), random.randint(-1, 6)) for _ in range(random.randint(0, 5))]
            _compare_loading(kafka, comparison, Path(folder), entries)


def _random_operation(random: Random) -> Operation:
    name = random.choice(("assign", "assign", "assign", "truncateFromEnd", "truncateFromStart", "clearAndFlush"))
    if name == "clearAndFlush":
        return name, ()
    offset = random.randint(0, 30)
    return name, ((random.randint(0, 12), offset) if name == "assign" else (offset,))


def _compare(kafka: Kafka, comparison: Comparison, folder: Path, operations: Sequence[Operation], asked: Iterable[int]) -> None:
    files = [folder / "ours", folder / "kafkas"]
    for file in files:
        file.unlink(missing_ok=True)
    ours, theirs = _Ours(files[0]), _Kafkas(kafka, files[1])
    for operation in operations:
        comparison.seen[operation[0]] += 1
        ours.do(operation)
        theirs.do(operation)
        comparison.compare(f"entries after {operations}", ours.entries, theirs.entries)
    for epoch in asked:
        comparison.compare(f"the end of {epoch} after {operations}", ours.end_offset_for(epoch), theirs.end_offset_for(epoch))
    ours_written, theirs_written = (file.read_bytes() if file.exists() else b"" for file in files)
    comparison.compare(f"file after {operations}", ours_written, theirs_written)
    comparison.compare(f"files read by the other after {operations}", _Ours(files[1]).entries, _Kafkas(kafka, files[0]).entries)


def _compare_loading(kafka: Kafka, comparison: Comparison, folder: Path, entries: Entries) -> None:
    file = folder / "loaded"
    checkpoint.write_epochs(file, entries)
    comparison.seen["a file with entries in any order"] += 1
    comparison.compare(f"a file with {entries}", _loaded(lambda: _Ours(file)), _loaded(lambda: _Kafkas(kafka, file)))


def _loaded(load: Callable[[], Any]) -> Any:
    try:
        return load().entries
    except (EXCEPTION, checkpoint.CheckpointError):
        return REFUSED


SUBJECT = Subject("epochs", "LeaderEpochFileCache: operations, answers, its file", compare, versions=("2.8.2",))
