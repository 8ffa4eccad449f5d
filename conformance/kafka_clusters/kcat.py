"""kcat, a client of librdkafka, as a program: it writes lines to a partition, and reads a partition to its end."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from kafka_spec.conformance.kafka_clusters.kafka_processes import NotSeen
from kafka_spec.impl.protocol.topic_partition import TopicPartition

PATIENCE = 30.0
"""The longest time in seconds that it may take."""


def has_kcat() -> bool:
    """Whether kcat is installed; it is a package of Debian, and no part of Kafka."""
    return shutil.which("kcat") is not None


def kcat_writes(addresses: str, partition: TopicPartition, lines: Sequence[str], compression: str = "none") -> None:
    """Write each line as a record, with acks=all.

    Raises:
        NotSeen: it fails, or does not end in time.
    """
    _kcat(["-P", "-X", "acks=all", "-z", compression], addresses, partition, "".join(f"{line}\n" for line in lines))


def kcat_reads(addresses: str, partition: TopicPartition) -> tuple[str, ...]:
    """Return the values of a partition, from its beginning to its end.

    Raises:
        NotSeen: it fails, or does not end in time.
    """
    return tuple(_kcat(["-C", "-o", "beginning", "-e", "-q"], addresses, partition).splitlines())


def _kcat(options: Sequence[str], addresses: str, partition: TopicPartition, text: str = "") -> str:
    command = ["kcat", *options, "-b", addresses, "-t", partition.topic, "-p", str(partition.partition)]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise NotSeen(f"kcat does not end within {PATIENCE:.0f} s") from None
    if done.returncode:
        raise NotSeen(f"kcat fails: {done.stderr.strip()[-300:]}")
    return done.stdout
