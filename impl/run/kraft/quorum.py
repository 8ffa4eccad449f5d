"""The controllers of a run if there are several: a quorum of processes, and what it has committed.

The rest of the run sees the list of committed batches, which `KRaftNodes.controller` follows: what spec/kraft takes the metadata
log for. Whoever commits a batch first puts it there; spec/quorum's properties say that the others agree.

Source: Kafka 4.3 KafkaRaftClient.java, QuorumController.java.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from random import Random
from typing import Any

from kafka_spec.impl.kraft.cluster import KRaftNodes
from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.metadata_log import read_batch
from kafka_spec.impl.kraft.quorum.log import QuorumLog
from kafka_spec.impl.kraft.quorum.metadata import QuorumMetadata
from kafka_spec.impl.kraft.quorum.node import QuorumNode
from kafka_spec.impl.kraft.records import MetadataRecord
from kafka_spec.impl.log import batches
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.kraft.controllers import FIRST_CONTROLLER, SESSION_TIMEOUT_MS, Done
from kafka_spec.impl.run.kraft.quorum_process import RunningController
from kafka_spec.impl.run.kraft.quorum_verdict import QuorumJudge
from kafka_spec.impl.run.observer import Observer
from kafka_spec.impl.run.scheduler import ScheduledTasks
from kafka_spec.impl.run.tasks import Task
from kafka_spec.impl.run.virtual_time import VirtualTime
from kafka_spec.spec.quorum.machines import LEADER
from kafka_spec.spec.quorum.state import QuorumNode as ModelNode
from kafka_spec.spec.vocabulary.table import Constants

DOWN = 3.0
"""The longest time, in seconds, for which a controller is down."""


class ControllerQuorum:
    """Controllers by node id; those in `processes` run."""

    def __init__(
        self,
        judge: QuorumJudge,
        count: int,
        k: Constants,
        cluster: KRaftNodes,
        world: VirtualTime,
        observer: Observer,
        random: Random,
        first_records: list[MetadataRecord],
        look: Callable[[], object],
    ) -> None:
        """`k` has the decisions of an era of spec/quorum, and its bounds on what the release has.

        `first_records` is what a new cluster needs; `look` is called after each committed batch.
        """
        self.numbers = tuple(range(FIRST_CONTROLLER, FIRST_CONTROLLER + count))
        self.k = k
        self.processes: dict[int, RunningController] = {}
        self.judge = judge
        self.history = bytearray()
        """Every batch that was below a high watermark, of whichever node first."""
        self.snapshots: Counter[str] = Counter()
        """How many snapshots the controllers have written, and loaded."""
        self._ended: dict[int, ModelNode] = {}
        """What the processes that have ended have on disk."""
        self._cluster = cluster
        self._world = world
        self._observer = observer
        self._random = random
        self._first_records = first_records
        self._look = look
        self._end = 0
        self._then: defaultdict[tuple[int, int], list[Callable[[], object]]] = defaultdict(list)
        self._tasks: dict[int, ScheduledTasks] = {}
        self._flushed: dict[int, int] = {}
        """How far the log of each controller that is down survives a power loss."""

    def begin(self) -> None:
        """Start all processes."""
        for number in self.numbers:
            self.start(number)

    # Processes

    def start(self, number: int) -> None:
        """Start the process of a controller."""
        folder = self._cluster.folder_of(number)
        folder.mkdir(parents=True, exist_ok=True)
        log = QuorumLog(folder, self.k, self.numbers, lambda: int(self.clock() * 1000), self._flushed.pop(number, 0))
        process = RunningController(
            QuorumNode(number, self.k, folder, log), tuple(one for one in self.numbers if one != number), self
        )
        self._ended.pop(number, None)
        self._tasks[number] = self._world.process(f"broker {number}")
        self.processes[number] = process
        process.begin()

    def kill(self, number: int) -> None:
        """End a process without order."""
        process = self.processes.pop(number)
        self._tasks.pop(number).end()
        self._flushed[number] = process.node.log.flushed
        self._ended[number] = self.judge.ended(process.node, self.judge.batches_in(bytes(self.history)))
        process.node.log.close()
        self._world.network.ended(number)

    def crash(self, number: int) -> None:
        """End a process, and start it again some time later."""
        self.kill(number)
        self._world.after(self._random.uniform(0.1, DOWN), lambda: self.start(number))

    def lose_power(self, number: int) -> int:
        """End a process, lose the records that it has not flushed, and start it again later; return their number."""
        store = self.processes[number].node.log.store
        lost = store.end_offset - store.recovery_point
        store.truncate_to(store.recovery_point)
        self.crash(number)
        return lost

    def end(self) -> None:
        """End all processes, and close all files."""
        for number in list(self.processes):
            self.kill(number)

    # What others ask

    @property
    def active(self) -> RunningController | None:
        """The active controller of the newest epoch, None while there is none."""
        found = [one for one in self.processes.values() if one.active is not None]
        return max(found, key=lambda one: one.node.epoch, default=None)

    def act(self, do: Callable[[KRaftController], Done], then: Callable[[], object] = lambda: None) -> Done:
        """Let the active controller do something.

        Raises:
            KafkaError: NOT_CONTROLLER: none is active.
        """
        active = self.active
        if active is None:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "no controller is active")
        return active.act(do, then)

    def serve(self, number: int, message: Any, reply: Callable[[Any], object]) -> bool:
        """Deliver a message to a controller."""
        if number not in self.processes:
            return False
        self.processes[number].serve(message, reply)
        return True

    def unrest(self) -> list[str]:
        """Return what is not at rest: a process that is down, no active controller, voters whose logs are behind."""
        down = [f"controller {number} does not run" for number in self.numbers if number not in self.processes]
        active = self.active
        if active is None:
            return [*down, "no controller is active"]
        log = active.node.log
        behind = [n for n in sorted(log.voters) if n in self.processes and self.processes[n].node.high_watermark < log.end]
        return [*down, *(f"controller {number} has not committed all metadata" for number in behind)]

    def rested(self) -> None:
        """Judge what the controllers have come to after faults have stopped, and they had their time."""
        if self.active is None:
            self.judge.broken("LeaderCanBeElected", "no controller is active although all have run for a long time")

    def look(self) -> None:
        """Judge all controllers as they are now."""
        history = self.judge.batches_in(bytes(self.history))
        running = {number: self.judge.project(process.node, history) for number, process in self.processes.items()}
        self.judge.look(self._ended | running, history)

    # What processes need

    def now(self) -> float:
        """Return the seconds since the run began."""
        return self._world.now

    def clock(self) -> float:
        """Return the time in seconds since 1970."""
        return self._world.clock()

    def uniform(self, least: float, most: float) -> float:
        """Return a random number of seconds."""
        return self._random.uniform(least, most)

    def spawn(self, number: int, task: Task) -> None:
        """Begin a task of a process."""
        self._tasks[number].spawn(task)

    def after(self, number: int, seconds: float, act: Callable[[], object]) -> None:
        """Schedule a call, unless the process has ended by then."""
        tasks = self._tasks[number]
        self._world.after(seconds, lambda: act() if tasks.alive else None)

    def new_controller(self, metadata: QuorumMetadata) -> KRaftController:
        """Return a controller that becomes active; the first one of all commits what a new cluster needs."""
        controller = KRaftController(self._cluster.era, metadata, self._cluster.settings)
        controller.heartbeats.timeout_ms = SESSION_TIMEOUT_MS
        begins = metadata.images[0].end == 0
        is_first = begins and not any(isinstance(one, MetadataRecord) for batch in metadata.batches for one in batch)
        controller.begin(self._first_records if is_first else [], int(self.clock() * 1000))
        self._cluster.controller.heartbeats = controller.heartbeats
        return controller

    def leads(self, number: int, epoch: int) -> None:
        """Note that a node leads an epoch."""
        self.judge.led(number, epoch)
        self._observer.tell(f"controller {number} leads the quorum in epoch {epoch}")

    def appended(self, epoch: int, end: int, then: Callable[[], object]) -> None:
        """Have something called once the batch of an epoch that ends at an offset is committed."""
        if end <= self._end:
            then()
        else:
            self._then[epoch, end].append(then)

    def elected_uncleanly(self, partitions: list[TopicPartition]) -> None:
        """Note that a committed batch has elected leaders which may lack committed records."""
        self._cluster.controller.unclean_elections += partitions

    def snapshot(self, what: str) -> None:
        """Count a snapshot that is written, or loaded."""
        self.snapshots[what] += 1

    def failed(self, number: int, name: str, error: Exception) -> None:
        """End a process after a fatal error, by which it violates a property, and start it again later."""
        self.judge.broken(name, str(error))
        self._observer.tell(f"controller {number} ends: {error}")
        self._world.after(0.0, lambda: self.crash(number) if number in self.processes else None)

    def committed(self, number: int) -> None:
        """Take what a node has committed and nobody before it."""
        node = self.processes[number].node
        if node.role == LEADER:
            self.judge.commits(node, {n: one.node for n, one in self.processes.items()}, self._flushed)
        while self._end < node.high_watermark:
            for batch, data in batches.split(node.log.store.read(self._end, 1 << 20, node.high_watermark)):
                self.history += data
                self._end = batch.last + 1
                self._cluster.controller.take(read_batch(data))
                for then in self._then.pop((batch.epoch, self._end), ()):
                    then()
                self._look()
