"""The metadata of a large cluster, and how long `kafka-spec advise` takes for it.

Run as `python -m benchmarks.advise FOLDER`. 50 brokers, of which one is fenced, and 10,000 partitions of one to three replicas; of
one in twenty a replica has left the ISR. Writes the log into FOLDER, asks for a shutdown twice, and prints the times: the first
compiles the model.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from random import Random

from benchmarks.metadata_log import Writer
from kafka_spec.conformance.metadata import image as keys

BROKERS, TOPICS, PARTITIONS = 50, 100, 100
FENCED = 49
ONE_IN = 20
LEVEL = 33
"""The metadata.version of Kafka 4.4."""


def write_cluster(log: Writer, random: Random) -> None:
    """Write a cluster in which little is wrong."""
    log.write(
        log.record(keys.FEATURE, name=keys.METADATA_VERSION, feature_level=LEVEL),
        log.record(keys.FEATURE, name=keys.ELR_FEATURE, feature_level=1),
    )
    for broker in range(BROKERS):
        fenced = broker == FENCED
        log.write(
            log.record(
                keys.REGISTER_BROKER, broker_id=broker, incarnation_id=bytes([broker] * 16), broker_epoch=log.offset, fenced=fenced
            )
        )
    for topic in range(TOPICS):
        topic_id = (topic + 1).to_bytes(16, "big")
        least = random.choice((1, 2, 2, 2))
        name = f"t{topic}"
        log.write(
            log.record(keys.TOPIC, name=name, topic_id=topic_id),
            log.record(keys.CONFIG, resource_type=2, resource_name=name, name="min.insync.replicas", value=str(least)),
            *(partition(log, random, topic_id, number, least) for number in range(PARTITIONS)),
        )


def partition(log: Writer, random: Random, topic_id: bytes, number: int, least: int) -> tuple[int, object]:
    """Return a partition as a record."""
    replicas = tuple(random.sample(range(BROKERS), random.choice((1, 2, 3, 3, 3, 3))))
    left_out = {FENCED} | ({random.choice(replicas)} if random.randrange(ONE_IN) == 0 else set())
    isr = tuple(broker for broker in replicas if broker not in left_out)
    elr = () if len(isr) >= min(least, len(replicas)) else tuple(broker for broker in replicas if broker not in isr)
    return log.record(
        keys.PARTITION,
        partition_id=number,
        topic_id=topic_id,
        replicas=replicas,
        isr=isr,
        leader=isr[0] if isr else -1,
        eligible_leader_replicas=elr or None,
    )


def main(folder: Path) -> None:
    """Write the log, and measure."""
    made = folder / "__cluster_metadata-0"
    made.mkdir(parents=True, exist_ok=True)
    with (made / f"{0:020}.log").open("wb") as file:
        log = Writer(file)
        write_cluster(log, Random(7))
    print(f"{log.image.partitions:,} partitions, {BROKERS} brokers")
    for run in ("cold", "warm"):
        began = time.perf_counter()
        ended = subprocess.run(
            [sys.executable, "-m", "kafka_spec", "advise", str(folder), "--stop", "7", "-q"],
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"{run}: {time.perf_counter() - began:.1f} s, exit code {ended.returncode}")
    print("\n".join(ended.stdout.splitlines()[:3]), ended.stderr)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
