"""Measure the speed of `kafka-spec validate`: `python -m benchmarks.validate --lines 4_000_000`.

Writes logs of a synthetic cluster and validates them. They contain the lines of Kafka 2.8.2 at TRACE, of one controller and three
brokers: elections, and brokers that fail and restart, each with its transitions, requests, receipts and metadata.
`--violations N` writes N violations into them, and compares the findings. `--engine both` validates with Spark too, and compares
the outcomes.
"""

from __future__ import annotations

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from kafka_spec.conformance.validate import embedded
from kafka_spec.conformance.validate.files import Source, find_sources
from kafka_spec.conformance.validate.outcome import Outcome, put_together
from kafka_spec.conformance.validate.report import plain_of

BROKERS = (0, 1, 2)
PER_BATCH = 20
"""Partitions that change together."""


@dataclass
class Partition:
    """ZooKeeper's data of a partition."""

    topic: str
    number: int
    leader: int
    epoch: int = 0
    version: int = 0
    isr: list[int] = field(default_factory=lambda: list(BROKERS))

    @property
    def name(self) -> str:
        """Topic and number."""
        return f"{self.topic}-{self.number}"

    @property
    def fields(self) -> str:
        """The common fields of requests."""
        return (
            f"topicName='{self.topic}', partitionIndex={self.number}, controllerEpoch=1, leader={self.leader}, "
            f"leaderEpoch={self.epoch}, isr={self.isr}, zkVersion={self.version}, replicas=[0, 1, 2]"
        )

    def request(self, new: bool) -> str:
        """The partition's part of a LeaderAndIsr."""
        return f"LeaderAndIsrPartitionState({self.fields}, addingReplicas=[], removingReplicas=[], isNew={str(new).lower()})"


class Cluster:
    """A controller on broker 0, and three brokers, that write logs."""

    def __init__(self, folder: Path, partitions: int, violations: int, lines: int, seed: int) -> None:
        self.folder = folder
        self.lines = dict.fromkeys(BROKERS, 0)
        self.written: list[tuple[str, str]] = []
        """The violations: kind, and FILE:LINE."""
        self._files: dict[int, TextIO] = {b: (folder / f"broker-{b}-state-change.log").open("w") for b in BROKERS}
        self._partitions = [Partition(f"topic-{n % 50}", n // 50, n % 3) for n in range(partitions)]
        self._chance = random.Random(seed)
        self._violations, self._every = violations, max(1, lines // (violations + 1))
        self._milliseconds = 0
        self._correlations = dict.fromkeys(BROKERS, 0)

    @property
    def total(self) -> int:
        """Number of lines."""
        return sum(self.lines.values())

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()

    def _line(self, broker: int, level: str, message: str) -> None:
        day, rest = divmod(self._milliseconds, 86_400_000)
        hour, rest = divmod(rest, 3_600_000)
        minute, rest = divmod(rest, 60_000)
        second, thousandth = divmod(rest, 1000)
        when = f"2026-{1 + day // 28:02}-{1 + day % 28:02} {hour:02}:{minute:02}:{second:02},{thousandth:03}"
        self._files[broker].write(f"[{when}] {level} {message} (state.change.logger)\n")
        self.lines[broker] += 1

    def _control(self, level: str, message: str) -> None:
        self._line(0, level, f"[Controller id=0 epoch=1] {message}")

    def _due(self) -> bool:
        """Whether the next violation is due."""
        return len(self.written) < self._violations and self.total >= (len(self.written) + 1) * self._every

    def _note(self, kind: str, broker: int) -> None:
        self.written.append((kind, f"{self.folder}/broker-{broker}-state-change.log:{self.lines[broker]}"))

    # -----------------------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Create all partitions."""
        for some in self._batches(self._partitions):
            for p in some:
                self._control(
                    "INFO",
                    f"Changed partition {p.name} state from NonExistentPartition to NewPartition with assigned replicas 0,1,2",
                )
            self._flush([], [])
            for p in some:
                for b in BROKERS:
                    self._control(
                        "TRACE", f"Changed state of replica {b} for partition {p.name} from NonExistentReplica to NewReplica"
                    )
            self._flush([], [])
            for p in some:
                p.leader = 0
                self._online(p, "NewPartition")
            self._flush(some, BROKERS, new=True)
            for p in some:
                for b in BROKERS:
                    self._control("TRACE", f"Changed state of replica {b} for partition {p.name} from NewReplica to OnlineReplica")
            self._flush([], [])

    def step(self) -> None:
        """Write one event of some partitions."""
        some = self._chance.sample(self._partitions, min(PER_BATCH, len(self._partitions)))
        if self._chance.random() < 0.5:
            self._elect(some)
        else:
            self._fail_and_return(some, self._chance.choice(BROKERS))

    def _batches(self, partitions: list[Partition]) -> Iterator[list[Partition]]:
        for start in range(0, len(partitions), PER_BATCH):
            yield partitions[start : start + PER_BATCH]

    def _online(self, p: Partition, source: str) -> None:
        state = f"leader={p.leader}, leaderEpoch={p.epoch}, isr=List({', '.join(map(str, p.isr))}), zkVersion={p.version}"
        if source != "NewPartition" and self._due():
            state = state.replace(f"leader={p.leader}", "leader=9", 1)
            self._control("INFO", f"Changed partition {p.name} from {source} to OnlinePartition with state LeaderAndIsr({state})")
            self._note("leader-outside-isr", 0)
        else:
            self._control("INFO", f"Changed partition {p.name} from {source} to OnlinePartition with state LeaderAndIsr({state})")

    def _elect(self, some: list[Partition]) -> None:
        for p in some:
            p.leader, p.epoch, p.version = self._chance.choice(p.isr), p.epoch + 1, p.version + 1
            self._online(p, "OnlinePartition")
        self._flush(some, BROKERS)

    def _fail_and_return(self, some: list[Partition], broker: int) -> None:
        led = [p for p in some if p.leader == broker]
        for p in led:
            self._control("TRACE", f"Changed partition {p.name} state from OnlinePartition to OfflinePartition")
        self._flush([], [])
        others = [b for b in BROKERS if b != broker]
        for p in led:
            p.leader, p.epoch, p.version, p.isr = others[0], p.epoch + 1, p.version + 1, others
            self._online(p, "OfflinePartition")
        self._flush(led, others, others)
        for p in some:
            if broker in p.isr:
                p.isr, p.epoch, p.version = others, p.epoch + 1, p.version + 1
            isr = ",".join(map(str, p.isr))
            state = f"(Leader:{p.leader},ISR:{isr},LeaderEpoch:{p.epoch},ZkVersion:{p.version},ControllerEpoch:1)"
            after = f"after removing replica {broker} from the ISR as part of transition to OfflineReplica"
            self._control("INFO", f"Partition {p.name} state changed to {state} {after}")
        for p in some:
            self._control("TRACE", f"Changed state of replica {broker} for partition {p.name} from OnlineReplica to OfflineReplica")
        self._flush(some, others, others)
        for p in some:
            wrong = self._due()
            target = "ReplicaDeletionSuccessful" if wrong else "OnlineReplica"
            self._control("TRACE", f"Changed state of replica {broker} for partition {p.name} from OfflineReplica to {target}")
            if wrong:
                self._note("illegal-transition", 0)
        self._flush(some, [broker])
        for p in some:
            p.isr, p.version = list(BROKERS), p.version + 1

    def _flush(self, some: list[Partition], told: Sequence[int], live: Sequence[int] = BROKERS, new: bool = False) -> None:
        """Send LeaderAndIsr for some partitions to these brokers, and UpdateMetadata to all live ones; both arrive."""
        brokers = ", ".join(map(str, live)) if some else ""
        for b in told if some else ():
            to = f"to broker {b}"
            for p in some:
                role = "leader" if b == p.leader else "follower"
                self._control("TRACE", f"Sending become-{role} LeaderAndIsr request {p.request(new)} {to} for partition {p.name}")
            leads = sum(b == p.leader for p in some)
            follows = len(some) - leads
            self._control(
                "INFO",
                f"Sending LeaderAndIsr request {to} with {leads} become-leader and {follows} become-follower partitions",
            )
        self._control(
            "INFO",
            f"Sending UpdateMetadata request to brokers HashSet({brokers}) for {len(some)} partitions",
        )
        self._milliseconds += 7
        for b in told if some else ():
            self._receive(b, some, new)
        for b in live if some else ():
            self._learn(b, some)
        self._milliseconds += 3

    def _receive(self, b: int, some: list[Partition], new: bool) -> None:
        self._correlations[b] += 1
        about = f"correlationId {self._correlations[b]} from controller 0"
        self._line(b, "INFO", f"[Broker id={b}] Handling LeaderAndIsr request {about} for {len(some)} partitions")
        for p in some:
            received = (
                f"Received LeaderAndIsr request {p.request(new)} correlation id {self._correlations[b]} from controller 0 epoch 1"
            )
            self._line(b, "TRACE", f"[Broker id={b}] {received}")
        for p in some:
            role, whom = ("leader", "") if b == p.leader else ("follower", f" with leader {p.leader}")
            doing = f"become-{role} transition for partition {p.name}{whom}"
            self._line(b, "TRACE", f"[Broker id={b}] Handling LeaderAndIsr request {about} epoch 1 starting the {doing}")
            previous, wrong = p.epoch - 1, p.epoch > 0 and self._due()
            if wrong:
                previous = p.epoch + 1
            watermark = f"from offset {p.version * 100} with high watermark {p.version * 100}"
            isr = f" ISR [{','.join(map(str, p.isr))}] addingReplicas [] removingReplicas []" if role == "leader" else ""
            starts = f"{role.capitalize()} {p.name} starts at leader epoch {p.epoch} {watermark}{isr}"
            self._line(b, "INFO", f"[Broker id={b}] {starts}. Previous leader epoch was {previous}.")
            if wrong:
                self._note("stale-leader-epoch-accepted", b)
            self._line(b, "TRACE", f"[Broker id={b}] Completed LeaderAndIsr request {about} epoch 1 for the {doing}")
        self._line(b, "INFO", f"[Broker id={b}] Finished LeaderAndIsr request in 5ms {about} for {len(some)} partitions")
        errors = ", ".join(f"LeaderAndIsrPartitionError(topicName='', partitionIndex={p.number}, errorCode=0)" for p in some)
        self._answered(b, f"LeaderAndIsrResponseData(errorCode=0, partitionErrors=[{errors}], topics=[])", "LEADER_AND_ISR")

    def _answered(self, b: int, response: str, request: str) -> None:
        whence = f"correlation id {self._correlations[b]} sent to broker 127.0.0.1:2909{b} (id: {b} rack: null)"
        self._control("TRACE", f"Received response {response} for request {request} with {whence}")

    def _learn(self, b: int, some: list[Partition]) -> None:
        self._correlations[b] += 1
        whence = f"in response to UpdateMetadata request sent by controller 0 epoch 1 with correlation id {self._correlations[b]}"
        for p in some:
            state = f"UpdateMetadataPartitionState({p.fields}, offlineReplicas=[])"
            self._line(b, "TRACE", f"[Broker id={b}] Cached leader info {state} for partition {p.name} {whence}")
        self._line(b, "INFO", f"[Broker id={b}] Add {len(some)} partitions and deleted 0 partitions from metadata cache {whence}")
        self._answered(b, "UpdateMetadataResponseData(errorCode=0)", "UPDATE_METADATA")


def generate(folder: Path, lines: int, partitions: int = 1000, violations: int = 0, seed: int = 0) -> list[tuple[str, str]]:
    """Write logs of about this many lines into a folder; return the violations written into them."""
    cluster = Cluster(folder, partitions, violations, lines, seed)
    cluster.create()
    while cluster.total < lines:
        cluster.step()
    cluster.close()
    return cluster.written


def unfound(written: list[tuple[str, str]], outcome: Outcome) -> list[tuple[str, str]]:
    """Return the written violations that were not found."""
    found = {(one.kind, outcome.at(one.place)) for one in outcome.violations}
    return [one for one in written if one not in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--partitions", type=int, default=1000)
    parser.add_argument("--violations", type=int, default=0)
    parser.add_argument("--engine", choices=("embedded", "both"), default="embedded")
    parser.add_argument("--master", default="local[2]", help="for Spark (default: local[2])")
    parser.add_argument("--folder", type=Path, help="where the logs go, and stay (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True)
        written = generate(folder, options.lines, options.partitions, options.violations)
        sources, files = find_sources([folder])
        wall, cpu = time.perf_counter(), time.process_time()
        outcome = put_together(embedded.run(sources, None, False, lambda _: None), files, None, "auto")
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        missed = unfound(written, outcome)
        print(f"{outcome.lines:,} lines, {outcome.size / 1e6:,.0f} MB, {options.partitions:,} partitions: {outcome.verdict}")
        print(
            f"embedded: {outcome.size / 1e6 / cpu:.1f} MB and {outcome.lines / cpu:,.0f} lines a second of CPU time; "
            f"{wall:.1f} s; peak {peak:,.0f} MiB"
        )
        print(f"violations: {len(written)} written, {len(missed)} of them not found, {len(outcome.violations)} reported")
        same = options.engine != "both" or _spark_agrees(sources, files, outcome, options.master)
        return 1 if missed or not same or (not written and outcome.violations) else 0


def _spark_agrees(sources: list[Source], files: list[str], expected: Outcome, master: str) -> bool:
    """Validate with Spark, and return whether the entire outcome is equal."""
    from kafka_spec.conformance.validate import spark

    wall = time.perf_counter()
    outcome = put_together(spark.run(sources, None, False, master), files, None, "auto")
    wall = time.perf_counter() - wall
    same = plain_of(outcome) == plain_of(expected)
    print(f"spark, {master}: {outcome.size / 1e6 / wall:.1f} MB/s, {wall:.1f} s; {'equal' if same else 'NOT EQUAL'}")
    return same


if __name__ == "__main__":
    sys.exit(main())
