"""What Kafka's own classes answered, recorded: it holds our decisions to them where there is no Java.

    python -m tests.recorded_answers --kafka 4.4.0 --jars .kafka

asks the classes of one release, and writes its answers to golden/kafka-answers.json. `make kafka` compares far more.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import astuple
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes import kraft_partition, kraft_proposals, partition_kafkas
from kafka_spec.conformance.kafka_classes.kraft_changes import ChangeBuilder, WantedChange, at_random, ours, small
from kafka_spec.conformance.kafka_classes.kraft_ours import executable
from kafka_spec.conformance.kafka_classes.kraft_reassignments import decided_by_kafka, decided_by_us
from kafka_spec.conformance.reproductions.script import run_script

FILE = Path(__file__).parent / "golden" / "kafka-answers.json"
VERSIONS = ("3.9.1", "4.1.2", "4.4.0")
"""The releases whose answers are recorded."""


def changes() -> list[WantedChange]:
    """Return changes of a partition: some of every small one, and random ones of up to four replicas."""
    random = Random(7)
    return [*(change for change in small() if random.random() < 0.006), *(at_random(random) for _ in range(250))]


def proposals() -> list[kraft_proposals.Proposal]:
    """Return random proposals of leaders."""
    random = Random(7)
    return [kraft_proposals.at_random(random) for _ in range(400)]


def of_partitions(sides: Callable[[int, int], kraft_partition.Side]) -> list[str]:
    """Return a digest of what is seen of the partition in each sequence; `sides` makes one, by number and min.insync.replicas."""
    found = []
    for number, (events, min_isr) in enumerate(kraft_partition.sequences(Random(7), 150)):
        seen = kraft_partition.seen(sides(number, min_isr), events)
        found.append(hashlib.sha256("\n".join(seen).encode()).hexdigest()[:12])
    return found


def of_our_partitions() -> list[str]:
    """Return what `of_partitions` says of our side."""
    with tempfile.TemporaryDirectory() as folder:
        return of_partitions(lambda number, min_isr: kraft_partition.OurPartition(Path(folder) / str(number), min_isr))


def of_kafkas_partitions(kafka: Any) -> list[str]:
    """Return what `of_partitions` says of Kafka's Partition."""
    with tempfile.TemporaryDirectory() as folder:
        classes = partition_kafkas.PartitionClasses(kafka, Path(folder))

        def made(number: int, min_isr: int) -> kraft_partition.Side:
            classes.min_isr = min_isr
            return partition_kafkas.KafkasPartition(classes, number)

        return of_partitions(made)


def our_answers(version: str) -> dict[str, Any]:
    """Return what our side answers for a release."""
    k = executable(version, ()).k
    proposed = [kraft_proposals.ours(k, proposal) for proposal in proposals()]
    partitions = of_our_partitions() if version in kraft_partition.SUBJECT.versions else []
    return answers([astuple(ours(version, change)) for change in changes()], decided_by_us(version), proposed, partitions)


def answers(changed: list[Any], completes: list[bool], proposed: list[str], partitions: list[str]) -> dict[str, Any]:
    """Return answers as the file has them.

    These are registrations after changes, a digit for each reassignment, 1 if it completes, the error for each proposal, and a
    digest for each sequence on a broker's partition.
    """
    digits = "".join(str(int(one)) for one in completes)
    return {
        "changes": json.loads(json.dumps(changed)),
        "reassignments": digits,
        "proposals": proposed,
        "partitions": partitions,
    }


def stored(known: Mapping[str, Any]) -> str:
    """Return the text of the file, with a line for each partition."""
    parts = []
    for version, of in sorted(known.items()):
        lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in of["changes"])
        others = {name: answer for name, answer in of.items() if name != "changes"}
        parts.append(f'"{version}": {json.dumps(others, separators=(",", ":"))[:-1]},"changes":[\n{lines}\n]}}')
    return "{" + ",\n".join(parts) + "}\n"


def main() -> int:
    """Record the answers of one release."""
    from kafka_spec.conformance.kafka_classes.jars import checked_jars
    from kafka_spec.conformance.kafka_classes.java import Kafka

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", choices=VERSIONS, required=True)
    parser.add_argument("--jars", type=Path, required=True)
    options = parser.parse_args()
    kafka = Kafka(options.kafka, checked_jars(options.kafka, options.jars / options.kafka))
    builder = ChangeBuilder(kafka)
    kafkas = kraft_proposals.KafkasAnswers(kafka)
    found = answers(
        [astuple(builder.changed(change)) for change in changes()],
        decided_by_kafka(kafka),
        [kafkas.answer(proposal) for proposal in proposals()],
        of_kafkas_partitions(kafka) if options.kafka in kraft_partition.SUBJECT.versions else [],
    )
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    FILE.write_text(stored({**known, options.kafka: found}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    run_script(main)
