"""Checkpoint files: each side writes what the other reads, byte for byte; and both read files in which something is broken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes.comparison import Chosen, Comparison, Subject
from kafka_spec.conformance.kafka_classes.java import EXCEPTION, Kafka
from kafka_spec.conformance.kafka_classes.scratch import scratch
from kafka_spec.impl.log import checkpoint
from kafka_spec.impl.protocol.topic_partition import TopicPartition

REFUSED = "refused"
ORDER = Chosen("order of offsets", "partitions are written in order; Kafka writes them in the order of a hash table, and reads any")
FORMS = ("", "0", "0\n", "0\n0\n", "0\n1\n", "1\n0\n", "\n", "0\n\n", "0\n0", "0\n2\nt 0 1\n", "00\n+1\nt 0 1\n", "0\n1\nt 0 1\n\n")
MARKS = ("\n", " ", "  ", "\t", "-", "+", "0", "1", "99999999999", "x", "\r\n", "\r", "_", "é", "\x0b", "\x85")


class _Kafkas:
    """Kafka's two kinds of checkpoint files."""

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka

    def _offsets(self, file: Path) -> Any:
        return self._kafka.named("kafka.server.checkpoints.OffsetCheckpointFile")(
            self._kafka.named("java.io.File")(str(file)), None
        )

    def write_offsets(self, file: Path, offsets: dict[TopicPartition, int]) -> None:
        """Write offsets."""
        kafka = self._kafka
        self._offsets(file).write(kafka.mapping({kafka.partition(*p): kafka.long(offset) for p, offset in offsets.items()}))

    def read_offsets(self, file: Path) -> dict[TopicPartition, int]:
        """Return the offsets in a file."""
        found = self._kafka.items(self._offsets(file).read())
        return {TopicPartition(str(p.topic()), int(p.partition())): int(offset) for p, offset in found}

    def read_epochs(self, file: Path) -> list[tuple[int, int]]:
        """Return the entries of a leader-epoch-checkpoint."""
        kind = self._kafka.named("kafka.server.checkpoints.LeaderEpochCheckpointFile")
        found = kind(self._kafka.named("java.io.File")(str(file)), None).read()
        return [(int(entry.epoch()), int(entry.startOffset())) for entry in self._kafka.listed(found)]


def compare(kafka: Kafka, comparison: Comparison, random: Random, cases: int) -> None:
    """Compare files of up to six entries, and files with one or two changed places."""
    kafkas = _Kafkas(kafka)
    with scratch() as name:
        folder = Path(name)
        for form in FORMS:
            _compare_reading(kafkas, comparison, folder / "form", form)
        for _ in range(cases // 2):
            offsets = {
                TopicPartition(random.choice(("t", "a-b", "x.y_z")), random.randrange(40)): random.randrange(1 << 50)
                for _ in range(random.randint(0, 6))
            }
            _compare_writing(kafkas, comparison, folder, offsets)
            _compare_reading(kafkas, comparison, folder / "broken", _broken(random, (folder / "ours").read_text()))


def _compare_writing(kafkas: _Kafkas, comparison: Comparison, folder: Path, offsets: dict[TopicPartition, int]) -> None:
    ours, theirs = folder / "ours", folder / "kafkas"
    checkpoint.write_offsets(ours, offsets)
    kafkas.write_offsets(theirs, offsets)
    same = sorted(ours.read_bytes().splitlines()[2:]) == sorted(theirs.read_bytes().splitlines()[2:])
    comparison.compare(f"lines of {offsets}", same, True)
    comparison.compare(f"bytes of {offsets}", ours.read_bytes(), theirs.read_bytes(), ORDER.name if same else None)
    comparison.compare(f"read by the other: {offsets}", checkpoint.read_offsets(theirs), kafkas.read_offsets(ours))


def _compare_reading(kafkas: _Kafkas, comparison: Comparison, file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="")
    ours = _read(lambda: checkpoint.read_offsets(file))
    comparison.seen["refused" if ours == REFUSED else "read"] += 1
    comparison.compare(f"offsets in {text!r}", ours, _read(lambda: kafkas.read_offsets(file)))
    shorter = "\n".join(line.removeprefix("t ") for line in text.split("\n"))
    file.write_text(shorter, encoding="utf-8", newline="")
    ours = _read(lambda: checkpoint.read_epochs(file))
    comparison.compare(f"epochs in {shorter!r}", ours, _read(lambda: kafkas.read_epochs(file)))


def _read(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except (EXCEPTION, checkpoint.CheckpointError):
        return REFUSED


def _broken(random: Random, text: str) -> str:
    """Return the text with one or two places changed."""
    for _ in range(random.randint(1, 2)):
        place = random.randint(0, len(text))
        text = text[:place] + random.choice(MARKS) + text[place + random.randint(0, 2) :]
    return text


SUBJECT = Subject(
    "checkpoints", "both kinds of checkpoint files, written, read, and broken", compare, (ORDER,), versions=("2.8.2",)
)
