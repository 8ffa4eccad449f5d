"""Measure the speed of `kafka-spec validate`: `python -m benchmarks.validate --lines 4_000_000`.

Writes logs of a synthetic cluster and validates them. They contain the lines of Kafka 2.8.2 at TRACE, of one controller and three
brokers: elections, and brokers that fail and restart, each with its transitions, requests, receipts and metadata.
`--violations N` writes N violations into them, of each kind in turn (log_violations.py), and compares the findings. `--engine both`
validates with Spark too, and compares the outcomes.
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

from benchmarks.log_violations import STORIES
from kafka_spec.conformance.validate import embedded
from kafka_spec.conformance.validate.files import Source, find_sources
from kafka_spec.conformance.validate.outcome import Outcome, put_together
from kafka_spec.conformance.validate.report import plain_of

BROKERS = (0, 1, 2)
CONTROLLER_LOG = -1
"""The number of the controller's own log, beside those of the brokers."""
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
        self.lines = dict.fromkeys((*BROKERS, CONTROLLER_LOG), 0)
        self.written: list[tuple[str, str]] = []
        """The violations: kind, and FILE:LINE."""
        self._files: dict[int, TextIO] = {b: self._path(b).open("w") for b in self.lines}
        self._partitions = [Partition(f"topic-{n % 50}", n // 50, n % 3) for n in range(partitions)]
        self._chance = random.Random(seed)
        self._violations, self._every = violations, max(1, lines // (violations + 1))
        self._milliseconds = 0
        self.correlations = dict.fromkeys(BROKERS, 0)

    def _path(self, log: int) -> Path:
        return self.folder / ("broker-0-controller.log" if log == CONTROLLER_LOG else f"broker-{log}-state-change.log")

    @property
    def total(self) -> int:
        """Number of lines."""
        return sum(self.lines.values())

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()

    def line(self, log: int, level: str, message: str, logger: str = "state.change.logger") -> None:
        """Write a line of a log."""
        day, rest = divmod(self._milliseconds, 86_400_000)
        hour, rest = divmod(rest, 3_600_000)
        minute, rest = divmod(rest, 60_000)
        second, thousandth = divmod(rest, 1000)
        when = f"2026-{1 + day // 28:02}-{1 + day % 28:02} {hour:02}:{minute:02}:{second:02},{thousandth:03}"
        self._files[log].write(f"[{when}] {level} {message} ({logger})\n")
        self.lines[log] += 1

    def control(self, level: str, message: str) -> None:
        """Write a line of the controller."""
        self.line(0, level, f"[Controller id=0 epoch=1] {message}")

    def violate(self) -> None:
        """Write the violations that are due, of each kind in turn."""
        while len(self.written) < self._violations and self.total >= (len(self.written) + 1) * self._every:
            number = len(self.written)
            kinds = list(STORIES) if number < len(STORIES) else list(STORIES)[:-1]
            kind = kinds[number % len(kinds)]
            log, line = STORIES[kind](self, Partition(f"wrong-{number}", 0, 0, 5, 5))
            self.flush([], [])
            self.written.append((kind, f"{self._path(log)}:{line}"))

    # -----------------------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Elect the controller, and create all partitions."""
        elected = "0 successfully elected as the controller. Epoch incremented to 1 and epoch zk version is now 1"
        self.line(CONTROLLER_LOG, "INFO", f"[Controller id=0] {elected}", "kafka.controller.KafkaController")
        for some in self._batches(self._partitions):
            for p in some:
                self.new(p)
            self.flush([], [])
            for p in some:
                for b in BROKERS:
                    self.control(
                        "TRACE", f"Changed state of replica {b} for partition {p.name} from NonExistentReplica to NewReplica"
                    )
            self.flush([], [])
            for p in some:
                p.leader = 0
                self.online(p, "NewPartition")
            self.flush(some, BROKERS, new=True)
            for p in some:
                for b in BROKERS:
                    self.control("TRACE", f"Changed state of replica {b} for partition {p.name} from NewReplica to OnlineReplica")
            self.flush([], [])

    def step(self) -> None:
        """Write one event of some partitions."""
        self.violate()
        some = self._chance.sample(self._partitions, min(PER_BATCH, len(self._partitions)))
        if self._chance.random() < 0.5:
            self._elect(some)
        else:
            self._fail_and_return(some, self._chance.choice(BROKERS))

    def _batches(self, partitions: list[Partition]) -> Iterator[list[Partition]]:
        for start in range(0, len(partitions), PER_BATCH):
            yield partitions[start : start + PER_BATCH]

    def new(self, p: Partition) -> None:
        """The controller learns of a partition."""
        assigned = "with assigned replicas 0,1,2"
        self.control("INFO", f"Changed partition {p.name} state from NonExistentPartition to NewPartition {assigned}")

    def online(self, p: Partition, source: str) -> None:
        """The partition goes online."""
        state = f"leader={p.leader}, leaderEpoch={p.epoch}, isr=List({', '.join(map(str, p.isr))}), zkVersion={p.version}"
        self.control("INFO", f"Changed partition {p.name} from {source} to OnlinePartition with state LeaderAndIsr({state})")

    def without(self, p: Partition, broker: int) -> None:
        """A replica was removed from the ISR."""
        isr = ",".join(map(str, p.isr))
        state = f"(Leader:{p.leader},ISR:{isr},LeaderEpoch:{p.epoch},ZkVersion:{p.version},ControllerEpoch:1)"
        after = f"after removing replica {broker} from the ISR as part of transition to OfflineReplica"
        self.control("INFO", f"Partition {p.name} state changed to {state} {after}")

    def tell(self, broker: int, p: Partition, new: bool) -> None:
        """A LeaderAndIsr for the partition is sent to a broker."""
        role = "leader" if broker == p.leader else "follower"
        to = f"to broker {broker} for partition {p.name}"
        self.control("TRACE", f"Sending become-{role} LeaderAndIsr request {p.request(new)} {to}")

    def starts(self, broker: int, p: Partition, previous: int) -> None:
        """A broker leads or follows in a new leader epoch."""
        role = "Leader" if broker == p.leader else "Follower"
        watermark = f"from offset {p.version * 100} with high watermark {p.version * 100}"
        isr = f" ISR [{','.join(map(str, p.isr))}] addingReplicas [] removingReplicas []" if role == "Leader" else ""
        starts = f"{role} {p.name} starts at leader epoch {p.epoch} {watermark}{isr}"
        self.line(broker, "INFO", f"[Broker id={broker}] {starts}. Previous leader epoch was {previous}.")

    def cached(self, broker: int, p: Partition, epoch: int = 1) -> None:
        """A broker takes an UpdateMetadata for a partition, from its last request of a controller epoch."""
        state = f"UpdateMetadataPartitionState({p.fields}, offlineReplicas=[])"
        whence = self._whence(broker, epoch)
        self.line(broker, "TRACE", f"[Broker id={broker}] Cached leader info {state} for partition {p.name} {whence}")

    def _whence(self, broker: int, epoch: int = 1) -> str:
        sent = f"sent by controller 0 epoch {epoch} with correlation id {self.correlations[broker]}"
        return f"in response to UpdateMetadata request {sent}"

    def started_in(self, p: Partition, state: str) -> tuple[int, int]:
        """The controller says that its machine of partitions started with this one in a state."""
        says = f"Started partition state machine with initial state -> HashMap({p.name} -> {state})"
        self.line(
            CONTROLLER_LOG, "DEBUG", f"[PartitionStateMachine controllerId=0] {says}", "kafka.controller.ZkPartitionStateMachine"
        )
        return CONTROLLER_LOG, self.lines[CONTROLLER_LOG]

    def _elect(self, some: list[Partition]) -> None:
        for p in some:
            p.leader, p.epoch, p.version = self._chance.choice(p.isr), p.epoch + 1, p.version + 1
            self.online(p, "OnlinePartition")
        self.flush(some, BROKERS)

    def _fail_and_return(self, some: list[Partition], broker: int) -> None:
        led = [p for p in some if p.leader == broker]
        for p in led:
            self.control("TRACE", f"Changed partition {p.name} state from OnlinePartition to OfflinePartition")
        self.flush([], [])
        others = [b for b in BROKERS if b != broker]
        for p in led:
            p.leader, p.epoch, p.version, p.isr = others[0], p.epoch + 1, p.version + 1, others
            self.online(p, "OfflinePartition")
        self.flush(led, others, others)
        for p in some:
            if broker in p.isr:
                p.isr, p.epoch, p.version = others, p.epoch + 1, p.version + 1
            self.without(p, broker)
        for p in some:
            self.control("TRACE", f"Changed state of replica {broker} for partition {p.name} from OnlineReplica to OfflineReplica")
        self.flush(some, others, others)
        for p in some:
            self.control("TRACE", f"Changed state of replica {broker} for partition {p.name} from OfflineReplica to OnlineReplica")
        self.flush(some, [broker])
        for p in some:
            p.isr, p.version = list(BROKERS), p.version + 1

    def flush(self, some: list[Partition], told: Sequence[int], live: Sequence[int] = BROKERS, new: bool = False) -> None:
        """Send LeaderAndIsr for some partitions to these brokers, and UpdateMetadata to all live ones; both arrive."""
        brokers = ", ".join(map(str, live)) if some else ""
        for b in told if some else ():
            for p in some:
                self.tell(b, p, new)
            leads = sum(b == p.leader for p in some)
            follows = len(some) - leads
            self.control(
                "INFO",
                f"Sending LeaderAndIsr request to broker {b} with {leads} become-leader and {follows} become-follower partitions",
            )
        self.control(
            "INFO",
            f"Sending UpdateMetadata request to brokers HashSet({brokers}) for {len(some)} partitions",
        )
        self._milliseconds += 7
        for b in told if some else ():
            self.receive(b, some, new)
        for b in live if some else ():
            self._learn(b, some)
        self._milliseconds += 3

    def receive(self, b: int, some: list[Partition], new: bool) -> None:
        """A LeaderAndIsr arrives at a broker."""
        self.correlations[b] += 1
        about = f"correlationId {self.correlations[b]} from controller 0"
        self.line(b, "INFO", f"[Broker id={b}] Handling LeaderAndIsr request {about} for {len(some)} partitions")
        for p in some:
            received = (
                f"Received LeaderAndIsr request {p.request(new)} correlation id {self.correlations[b]} from controller 0 epoch 1"
            )
            self.line(b, "TRACE", f"[Broker id={b}] {received}")
        for p in some:
            role, whom = ("leader", "") if b == p.leader else ("follower", f" with leader {p.leader}")
            doing = f"become-{role} transition for partition {p.name}{whom}"
            self.line(b, "TRACE", f"[Broker id={b}] Handling LeaderAndIsr request {about} epoch 1 starting the {doing}")
            self.starts(b, p, p.epoch - 1)
            self.line(b, "TRACE", f"[Broker id={b}] Completed LeaderAndIsr request {about} epoch 1 for the {doing}")
        self.line(b, "INFO", f"[Broker id={b}] Finished LeaderAndIsr request in 5ms {about} for {len(some)} partitions")
        errors = ", ".join(f"LeaderAndIsrPartitionError(topicName='', partitionIndex={p.number}, errorCode=0)" for p in some)
        self._answered(b, f"LeaderAndIsrResponseData(errorCode=0, partitionErrors=[{errors}], topics=[])", "LEADER_AND_ISR")

    def _answered(self, b: int, response: str, request: str) -> None:
        whence = f"correlation id {self.correlations[b]} sent to broker 127.0.0.1:2909{b} (id: {b} rack: null)"
        self.control("TRACE", f"Received response {response} for request {request} with {whence}")

    def _learn(self, b: int, some: list[Partition]) -> None:
        self.correlations[b] += 1
        for p in some:
            self.cached(b, p)
        added = f"Add {len(some)} partitions and deleted 0 partitions from metadata cache {self._whence(b)}"
        self.line(b, "INFO", f"[Broker id={b}] {added}")
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
