"""What Kafka's own classes answered, recorded: it holds our decisions to them where there is no Java.

    python -m tests.recorded_answers --kafka 4.4.0 --jars .kafka

asks the classes of one release, and writes its answers to golden/kafka-answers.json. `make kafka` compares far more.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.conformance.kafka_classes import kraft_proposals
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


def our_answers(version: str) -> dict[str, Any]:
    """Return what our side answers for a release."""
    k = executable(version, ()).k
    proposed = [kraft_proposals.ours(k, proposal) for proposal in proposals()]
    return answers([astuple(ours(version, change)) for change in changes()], decided_by_us(version), proposed)


def answers(partitions: list[Any], completes: list[bool], proposed: list[str]) -> dict[str, Any]:
    """Return answers as the file has them.

    These are partitions after changes, a digit for each reassignment, 1 if it completes, and the error for each proposal.
    """
    digits = "".join(str(int(one)) for one in completes)
    return {"changes": json.loads(json.dumps(partitions)), "reassignments": digits, "proposals": proposed}


def stored(known: Mapping[str, Any]) -> str:
    """Return the text of the file, with a line for each partition."""
    parts = []
    for version, of in sorted(known.items()):
        lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in of["changes"])
        proposed = json.dumps(of["proposals"], separators=(",", ":"))
        parts.append(
            f'"{version}": {{"reassignments": "{of["reassignments"]}", "proposals": {proposed}, "changes": [\n{lines}\n]}}'
        )
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
    )
    known = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    FILE.write_text(stored({**known, options.kafka: found}), encoding="utf-8")
    return 0


if __name__ == "__main__":
    run_script(main)
