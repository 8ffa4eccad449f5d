"""A synthetic cluster that writes the lines of Kafka 2.8.2 at TRACE: one controller, and three brokers that fail and restart.

Depends on nothing of the project, so that what reads the logs shares no code with it.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

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

    def __init__(self, folder: Path, partitions: int, seed: int) -> None:
        self.folder = folder
        self.lines = dict.fromkeys((*BROKERS, CONTROLLER_LOG), 0)
        self._files: dict[int, TextIO] = {b: self.path(b).open("w") for b in self.lines}
        self._partitions = [Partition(f"topic-{n % 50}", n // 50, n % 3) for n in range(partitions)]
        self._chance = random.Random(seed)
        self._milliseconds = 0
        self.correlations = dict.fromkeys(BROKERS, 0)

    def path(self, log: int) -> Path:
        """Return the file of a log."""
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

    # -----------------------------------------------------------------------------------------------------------------

    def create(self) -> None:
        """Elect the controller, and create all partitions."""
        elected = "0 successfully elected as the controller. Epoch incremented to 1 and epoch zk version is now 1"
        self.line(CONTROLLER_LOG, "INFO", f"[Controller id=0] {elected}", "kafka.controller.KafkaController")
        for machine, name in (("replica", "ReplicaStateMachine"), ("partition", "PartitionStateMachine")):
            start = f"[{name} controllerId=0] Started {machine} state machine with initial state -> HashMap()"
            self.line(CONTROLLER_LOG, "DEBUG", start, f"kafka.controller.Zk{name}")
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

    def announce(self, broker: int, some: list[Partition]) -> None:
        """The LeaderAndIsr of some partitions is on its way to a broker."""
        leads = sum(broker == p.leader for p in some)
        roles = f"{leads} become-leader and {len(some) - leads} become-follower partitions"
        self.control("INFO", f"Sending LeaderAndIsr request to broker {broker} with {roles}")

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
        summary = f"Started partition state machine with initial state -> HashMap({p.name} -> {state})"
        self.line(
            CONTROLLER_LOG, "DEBUG", f"[PartitionStateMachine controllerId=0] {summary}", "kafka.controller.ZkPartitionStateMachine"
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

    def flush(self, some: list[Partition], reported: Sequence[int], live: Sequence[int] = BROKERS, new: bool = False) -> None:
        """Send LeaderAndIsr for some partitions to these brokers, and UpdateMetadata to all live ones; both arrive."""
        brokers = ", ".join(map(str, live)) if some else ""
        for b in reported if some else ():
            for p in some:
                self.tell(b, p, new)
            self.announce(b, some)
        self.control(
            "INFO",
            f"Sending UpdateMetadata request to brokers HashSet({brokers}) for {len(some)} partitions",
        )
        self._milliseconds += 7
        for b in reported if some else ():
            self.receive(b, some, new)
        for b in live if some else ():
            self._learn(b, some)
        self._milliseconds += 3

    def metadata(self, b: int, p: Partition, epoch: int = 1) -> int:
        """One broker is sent an UpdateMetadata, and takes it; return the number of its line."""
        if epoch == 1:
            self.control("INFO", f"Sending UpdateMetadata request to brokers HashSet({b}) for 1 partitions")
        self._learn(b, [p], epoch)
        return self.lines[b] - 1

    def receive(self, b: int, some: list[Partition], new: bool, begun: Partition | None = None, current: int | None = None) -> None:
        """A LeaderAndIsr arrives at a broker, which begins what it says, or this; or refuses it, since this epoch is current."""
        self.correlations[b] += 1
        about = f"correlationId {self.correlations[b]} from controller 0"
        self.line(b, "INFO", f"[Broker id={b}] Handling LeaderAndIsr request {about} for {len(some)} partitions")
        for p in some:
            received = (
                f"Received LeaderAndIsr request {p.request(new)} correlation id {self.correlations[b]} from controller 0 epoch 1"
            )
            self.line(b, "TRACE", f"[Broker id={b}] {received}")
        for p in some if current is not None else ():
            why = f"since its associated leader epoch {p.epoch} is not higher than the current leader epoch {current}"
            request = f"LeaderAndIsr request from controller 0 with correlation id {self.correlations[b]} epoch 1"
            self.line(b, "WARN", f"[Broker id={b}] Ignoring {request} for partition {p.name} {why}")
        for p in some if current is None else ():
            role, whom = ("leader", "") if b == p.leader else ("follower", f" with leader {p.leader}")
            doing = f"become-{role} transition for partition {p.name}{whom}"
            self.line(b, "TRACE", f"[Broker id={b}] Handling LeaderAndIsr request {about} epoch 1 starting the {doing}")
            self.starts(b, begun or p, p.epoch - 1)
            self.line(b, "TRACE", f"[Broker id={b}] Completed LeaderAndIsr request {about} epoch 1 for the {doing}")
        self.line(b, "INFO", f"[Broker id={b}] Finished LeaderAndIsr request in 5ms {about} for {len(some)} partitions")
        errors = ", ".join(f"LeaderAndIsrPartitionError(topicName='', partitionIndex={p.number}, errorCode=0)" for p in some)
        self._answered(b, f"LeaderAndIsrResponseData(errorCode=0, partitionErrors=[{errors}], topics=[])", "LEADER_AND_ISR")

    def _answered(self, b: int, response: str, request: str) -> None:
        whence = f"correlation id {self.correlations[b]} sent to broker 127.0.0.1:2909{b} (id: {b} rack: null)"
        self.control("TRACE", f"Received response {response} for request {request} with {whence}")

    def _learn(self, b: int, some: list[Partition], epoch: int = 1) -> None:
        self.correlations[b] += 1
        for p in some:
            self.cached(b, p, epoch)
        added = f"Add {len(some)} partitions and deleted 0 partitions from metadata cache {self._whence(b, epoch)}"
        self.line(b, "INFO", f"[Broker id={b}] {added}")
        self._answered(b, "UpdateMetadataResponseData(errorCode=0)", "UPDATE_METADATA")
