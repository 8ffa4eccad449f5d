"""A partition's log: the same appends, truncations and restarts on kafka.log.Log and on ours.

Compared are ends and epochs, answers to fetches and to look-ups by time, and all files of segments byte for byte. Each side opens
the other's folder. Then the end is torn or a bit is flipped, indexes are removed, and both recover. 3.9 has another class.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

from kafka_spec.conformance.kafka_classes.comparison import Chosen, Comparison, Subject
from kafka_spec.conformance.kafka_classes.java import Kafka
from kafka_spec.conformance.kafka_classes.log_sides import NAME, KafkasLog, OurLog
from kafka_spec.conformance.kafka_classes.scratch import scratch
from kafka_spec.impl.log import batches, checkpoint
from kafka_spec.impl.log.log_config import LogConfig

WRONG = ("isvalid: false", "Mismatches", "mismatch", "out of order", "Non-consecutive", "invalid bytes")
"""What DumpLogSegments prints where something is wrong."""
FAR = 5
"""The first bytes of a base offset, without which all offsets are near."""
INSIDE = Chosen(
    "truncation inside a batch",
    "we remove the batch, and the log ends where it began; Kafka removes it too, and calls the offset asked for the end of the log",
)
TIME_OFFSETS = Chosen(
    "offsets in the time index",
    "an entry has the last offset of its batch, as with Kafka's followers and recovery; Kafka's leader takes the record's",
)
LARGE = Chosen("a batch larger than segment.bytes", "Kafka refuses it; here what bounds a batch is what clients send")
HEADER_FLIP = Chosen(
    "a flipped bit that no checksum covers",
    "here a log ends before a batch whose offsets do not continue it, and its checkpoint follows the epochs of batches",
)


@dataclass(frozen=True)
class Append:
    """A batch with these timestamps, under a leader epoch."""

    timestamps: tuple[int, ...]
    epoch: int


@dataclass(frozen=True)
class Truncate:
    """A truncation to an offset."""

    offset: int


@dataclass(frozen=True)
class Restart:
    """A clean restart."""


Step = Append | Truncate | Restart


def _compare_large(kafka: Kafka, comparison: Comparison, folder: Path) -> None:
    """Append a batch that is larger than a segment may be."""
    config = LogConfig(segment_bytes=100)
    data = bytes(batches.build([(1000, None, b"v" * 100)]))
    logs: dict[str, OurLog | KafkasLog] = {
        "ours": OurLog(folder / "ours" / NAME, config, 0),
        "kafkas": KafkasLog(kafka, folder / NAME, config, 0, True),
    }
    accepted = {}
    for name, log in logs.items():
        with suppress(kafka.named("org.apache.kafka.common.errors.RecordBatchTooLargeException")):
            log.append(data, 0)
        accepted[name] = log.end
        log.close()
    comparison.compare("the end after a batch larger than segment.bytes", accepted["ours"], accepted["kafkas"], LARGE.name)


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare random histories of a log, each followed by the other's opening and by recoveries."""
    with scratch() as name:
        _compare_large(kafka, comparison, Path(name))
        for number in range(max(30, cases // 10)):
            _History(kafka, comparison, random, Path(name) / str(number)).run()
            shutil.rmtree(Path(name) / str(number))


class _History:
    """One history, in folders of its own."""

    def __init__(self, kafka: Kafka, comparison: Comparison, random: Random, folder: Path) -> None:
        self._kafka = kafka
        self._comparison = comparison
        self._random = random
        self._folder = folder
        self._config = LogConfig(
            segment_bytes=random.choice((400, 1000, 1 << 20)),
            segment_ms=random.choice((1 << 40, 1 << 40, 50)),
            segment_index_bytes=random.choice((10 << 20, 36, 48)),
            index_interval_bytes=random.choice((0, 100, 4096)),
        )
        self._steps: list[Step] = []
        self._is_ordered = random.random() < 0.7
        """Whether timestamps increase within each batch."""
        self._time = 1000
        self._epoch = 0

    def run(self) -> None:
        """Run it, and everything that follows."""
        with self._both(self._folder / "ours" / NAME, self._folder / "kafkas" / NAME, 0, is_clean=True) as (ours, theirs):
            inside = self._change(ours, theirs)
            chosen = INSIDE.name if inside else None
            self._compare("", ours, theirs, chosen)
        chosen = chosen or (None if self._is_ordered else TIME_OFFSETS.name)
        self._compare_files("", self._folder / "ours" / NAME, self._folder / "kafkas" / NAME, chosen)
        if not inside:
            self._dump()
            self._exchange()
            for damage in ("torn", "flipped", "no indexes"):
                self._recover(damage)

    @contextmanager
    def _both(self, ours: Path, kafkas: Path, recovery_point: int, *, is_clean: bool) -> Iterator[tuple[OurLog, KafkasLog]]:
        ours.parent.mkdir(parents=True, exist_ok=True)
        kafkas.parent.mkdir(parents=True, exist_ok=True)
        pair = (
            OurLog(ours, self._config, recovery_point),
            KafkasLog(self._kafka, kafkas, self._config, recovery_point, is_clean),
        )
        try:
            yield pair
        finally:
            for log in pair:
                log.close()

    def _change(self, ours: OurLog, theirs: KafkasLog) -> bool:
        """Do random steps; return whether the last one was a truncation inside a batch."""
        bases = [0]
        for _ in range(self._random.randint(1, 25)):
            step = self._step(ours.end)
            self._steps.append(step)
            self._comparison.seen[type(step).__name__] += 1
            if isinstance(step, Append):
                data = bytes(batches.build((time, b"k", b"v" * (time % 7)) for time in step.timestamps))
                bases.append(ours.end + len(step.timestamps))
                for log in (ours, theirs):
                    log.append(data, step.epoch)
            elif isinstance(step, Truncate):
                for log in (ours, theirs):
                    log.truncate(step.offset)
                if step.offset not in bases:
                    return True
                bases = [base for base in bases if base <= step.offset]
        return False

    def _step(self, end: int) -> Step:
        random = self._random
        if random.random() < 0.12 and end:
            return Truncate(random.randint(0, end))
        self._epoch += random.random() < 0.15
        times = []
        self._time += random.randint(-30, 10)
        for _ in range(random.choice((1, 1, 2, 4))):
            self._time += random.randint(1 if self._is_ordered else -5, 20)
            times.append(self._time)
        return Append(tuple(times), self._epoch)

    def _compare(self, after: str, ours: OurLog, theirs: KafkasLog, chosen: str | None = None) -> None:
        times = [self._random.randint(900, self._time + 50) for _ in range(8)]
        mine, other = ours.seen(times), theirs.seen(times)
        for part, value in mine.items():
            self._comparison.compare(
                f"{part} (times {times}) {after} after {self._steps} with {self._config}", value, other[part], chosen
            )

    def _compare_files(self, after: str, ours: Path, theirs: Path, chosen: str | None = None) -> None:
        mine, other = _files(ours), _files(theirs)
        differing = {name: (mine.get(name), other.get(name)) for name in {**mine, **other} if mine.get(name) != other.get(name)}
        self._comparison.compare(f"files {after} after {self._steps} with {self._config}", differing, {}, chosen)

    def _dump(self) -> None:
        """Let DumpLogSegments read our files: it finds every batch, and nothing wrong with batches and indexes."""
        kafka, folder = self._kafka, self._folder / "ours" / NAME
        files = sorted(str(path) for path in folder.iterdir() if path.suffix in (".log", ".index", ".timeindex"))
        arguments = kafka.strings(["--deep-iteration", "--files", ",".join(files)])
        text = kafka.printed(lambda: kafka.named("kafka.tools.DumpLogSegments").main(arguments))
        wrong = [line for line in text.splitlines() if any(word in line for word in WRONG)]
        stored = sum(1 for path in folder.glob("*.log") for _ in batches.split(path.read_bytes()))
        self._comparison.seen["dumped"] += 1
        self._comparison.compare(
            f"DumpLogSegments after {self._steps} with {self._config}", (stored, []), (text.count("isvalid: true"), wrong)
        )

    def _exchange(self) -> None:
        """Let each side open what the other has written."""
        mine, other = self._folder / "mine" / NAME, self._folder / "other" / NAME
        shutil.copytree(self._folder / "kafkas" / NAME, mine)
        shutil.copytree(self._folder / "ours" / NAME, other)
        end = sum(len(step.timestamps) for step in self._steps if isinstance(step, Append))
        with self._both(mine, other, end, is_clean=True) as (ours, theirs):
            self._comparison.seen["opened by the other"] += 1
            self._compare("opened by the other", ours, theirs)

    def _recover(self, damage: str) -> None:
        """Damage two copies of one folder in the same way, and recover both."""
        mine, other = self._folder / f"{damage}-mine" / NAME, self._folder / f"{damage}-other" / NAME
        shutil.copytree(self._folder / "ours" / NAME, mine)
        what = _damaged(self._random, mine, damage)
        shutil.copytree(mine, other)
        chosen = HEADER_FLIP.name if "base offset" in what or "leader epoch" in what else None
        self._comparison.seen[damage] += 1
        self._config = replace(self._config, segment_index_bytes=10 << 20)  # Kafka cannot recover a segment with a full time index
        with self._both(mine, other, 0, is_clean=False) as (ours, theirs):
            self._compare(f"recovered from {what}", ours, theirs, chosen)
        self._compare_files(f"recovered from {what}", mine, other, chosen)


def _damaged(random: Random, folder: Path, damage: str) -> str:
    """Damage the files of a log, and say how."""
    logs = sorted(path for path in folder.glob("*.log") if path.stat().st_size)
    if damage == "no indexes" or not logs:
        for path in folder.glob("*index"):
            if random.random() < 0.7:
                path.unlink()
        return "missing indexes"
    path = logs[-1] if damage == "torn" else random.choice(logs)
    data = bytearray(path.read_bytes())
    if damage == "torn":
        del data[random.randint(0, len(data) - 1) :]
        path.write_bytes(data)
        return f"{path.name} torn at {len(data)}"
    place = random.randrange(len(data))
    within = _place_in_batch(bytes(data), place)
    if within < FAR:  # a far offset is an error in Kafka
        place, within = place + FAR, within + FAR
    data[place] ^= 1 << random.randrange(8)
    path.write_bytes(data)
    part = "base offset" if within < 8 else "leader epoch" if 12 <= within < 16 else "batch"
    return f"a bit of the {part} flipped at {place} of {path.name}"


def _place_in_batch(data: bytes, place: int) -> int:
    position = 0
    while (batch := batches.look(data[position : position + batches.HEADER.size])) is not None and position + batch.size <= place:
        position += batch.size
    return place - position


def _files(folder: Path) -> dict[str, bytes]:
    names = sorted(path for path in folder.iterdir() if path.suffix in (".log", ".index", ".timeindex"))
    found = {path.name: path.read_bytes() for path in names}
    epochs = folder / checkpoint.LEADER_EPOCHS
    return {**found, epochs.name: epochs.read_bytes() if epochs.exists() else b""}


SUBJECT = Subject(
    "logs",
    "kafka.log.Log: operations, files byte for byte, look-ups, each opens the other's, recovery",
    compare,
    (INSIDE, TIME_OFFSETS, LARGE, HEADER_FLIP),
    versions=("2.8.2",),
)
