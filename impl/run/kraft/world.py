"""A cluster of KRaft in virtual time: one scheduler, one simulated network, controllers, and brokers with their tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from kafka_spec.impl.kraft.clean_shutdown import delete_clean_shutdown
from kafka_spec.impl.kraft.cluster import KRaftNodes
from kafka_spec.impl.kraft.controller import KRaftController
from kafka_spec.impl.kraft.directories import DIRECTORIES_FROM, METADATA_VERSION, two_directories
from kafka_spec.impl.kraft.metadata_log import MetadataLog
from kafka_spec.impl.kraft.records import TOPIC_CONFIG, FeatureLevelRecord, MetadataRecord
from kafka_spec.impl.log.manager import lose_unflushed
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.protocol.settings import MIN_ISR
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.fetching import IDLE
from kafka_spec.impl.run.kraft.controllers import FIRST_CONTROLLER, Controllers
from kafka_spec.impl.run.kraft.faults import DIRECTORY
from kafka_spec.impl.run.kraft.one_controller import OneController
from kafka_spec.impl.run.kraft.process import RunningKRaftBroker
from kafka_spec.impl.run.kraft.quorum import ControllerQuorum
from kafka_spec.impl.run.kraft.quorum_verdict import QuorumJudge
from kafka_spec.impl.run.kraft.watcher import KRaftWatcher
from kafka_spec.impl.run.observer import Observer
from kafka_spec.impl.run.operations import MOVE
from kafka_spec.impl.run.options import SETTINGS, TOPIC, Options
from kafka_spec.impl.run.scheduler import ScheduledTasks
from kafka_spec.impl.run.simulated_network import SimulatedNetwork
from kafka_spec.impl.run.tasks import Sleep, Task
from kafka_spec.impl.run.virtual_time import VirtualTime

CREATE_AGAIN = 0.1
"""The seconds after which an operator tries again to create the clients' topic."""
DOWN = 6.0
"""The longest time, in seconds, for which a crashed broker is down."""


class KRaftWorld(VirtualTime):
    """Brokers by number; those in `nodes` run."""

    def __init__(self, options: Options, folder: Path, news: Callable[[str], object], random: Random) -> None:
        """`folder` is empty; `news` receives the events to display; `random` is the only source of randomness."""
        super().__init__()
        self.observer = Observer(lambda _: None, lambda: self.scheduler.now, news)
        self.random = random
        self.numbers = list(range(options.brokers))
        settings = replace(
            SETTINGS,
            unclean_leader_election_enable=options.unclean,
            min_insync_replicas=min(2, options.replication_factor),
        )
        self.names_directories = DIRECTORY in options.faults or MOVE in options.operations
        """Whether brokers register the log directories of their replicas, which may fail, or be left for another."""
        first: list[MetadataRecord] = []
        if self.names_directories:
            first.append(FeatureLevelRecord(METADATA_VERSION, DIRECTORIES_FROM))
        log = MetadataLog(folder if options.quorum is None else None, clock=self.scheduler.clock)
        seed = random.getrandbits(32)
        self.cluster = KRaftNodes(folder, options.era, log, self.scheduler.clock, seed, settings, options.log)
        self.network = SimulatedNetwork(self.scheduler, random, self._serve, self.observer.fault)
        self.watcher = KRaftWatcher()
        self.nodes: dict[int, RunningKRaftBroker] = {}
        self._processes: dict[int, ScheduledTasks] = {}
        self.other_min_isr = 1 if settings.min_insync_replicas > 1 else 2
        """What operators change min.insync.replicas to."""
        self.quorum: ControllerQuorum | None = None
        """The controllers, if there are several."""
        self.controllers: Controllers
        if options.quorum is None:
            if first:
                log.commit(first)
            self.controllers = OneController(self.cluster, lambda: self.milliseconds, self._look)
        else:
            name = options.quorum_name or options.era.name
            judge = QuorumJudge(name, options.quorum, FIRST_CONTROLLER, options.controllers)
            self.quorum = self.controllers = ControllerQuorum(
                judge, options.controllers, options.quorum, self.cluster, self, self.observer, random, first, self._look
            )
            self.quorum.begin()
        self.process("controller").spawn(self._fence_stale())

    @property
    def milliseconds(self) -> int:
        """The time in milliseconds since 1970."""
        return int(self.scheduler.clock() * 1000)

    def running(self) -> list[int]:
        """Return the brokers that run, have registered, and are not shutting down."""
        return [n for n, node in sorted(self.nodes.items()) if node.is_registered and not node.broker.is_stopping]

    # The controller

    def create_clients_topic(self, options: Options) -> None:
        """Create the topic that clients use, its replicas spread over the brokers."""
        count, factor = options.brokers, options.replication_factor
        replicas = {p: tuple((p + place) % count for place in range(factor)) for p in range(options.partitions)}
        try:
            self.create_topic(TOPIC, replicas)
        except KafkaError as error:
            if error.code not in (ErrorCode.NOT_CONTROLLER, ErrorCode.INVALID_REPLICA_ASSIGNMENT):
                raise
            self.after(CREATE_AGAIN, lambda: self.create_clients_topic(options))

    def create_topic(self, name: str, assignment: Mapping[int, tuple[int, ...]]) -> None:
        """Let an operator create a topic; for this and the other requests of operators see `KRaftController`.

        Raises:
            KafkaError: the controller refuses.
        """
        topic_id = self.cluster.new_id()
        self.controllers.act(lambda controller: controller.create_topic(name, topic_id, assignment))

    def add_partitions(self, name: str, assignment: Mapping[int, tuple[int, ...]]) -> None:
        """Let an operator add partitions to a topic."""
        self.controllers.act(lambda controller: controller.add_partitions(name, assignment))

    def change_min_isr(self) -> int:
        """Let an operator give the clients' topic a min.insync.replicas of its own, or take it away; return the new value."""

        def change(controller: KRaftController) -> int:
            usual = (TOPIC, MIN_ISR) in controller.image.configs
            controller.configure(TOPIC_CONFIG, TOPIC, {MIN_ISR: None if usual else str(self.other_min_isr)})
            return controller.min_isr(TopicPartition(TOPIC, 0))

        return self.controllers.act(change)

    def delete_topic(self, name: str) -> None:
        """Let an operator delete a topic."""
        self.controllers.act(lambda controller: controller.delete_topic(name))

    def reassign(self, partition: TopicPartition, target: tuple[int, ...] | None) -> None:
        """Let an operator reassign a partition, or cancel that with None."""

        def then() -> None:
            self.watcher.reassigned(partition, before, target)

        before = self.cluster.controller.image.partitions[partition]
        self.controllers.act(lambda controller: controller.reassign(partition, target), then)

    def unregister(self, number: int, seconds: float) -> None:
        """Let an operator unregister a broker; if it runs, it is shut down so many seconds later, and starts again."""
        self.controllers.act(lambda controller: controller.unregister(number))
        node = self.nodes.get(number)
        if node is not None:
            self.after(seconds, lambda: self.shut_down(number) if self.nodes.get(number) is node else None)

    def _fence_stale(self) -> Task:
        while True:
            with suppress(KafkaError):
                number = self.controllers.act(lambda controller: controller.fence_stale(self.milliseconds))
                if number is not None:
                    self.observer.tell(f"the controller fences broker {number}")
            yield Sleep(5 * IDLE)

    def _look(self) -> None:
        for reported in self.watcher.looked(self.cluster):
            self.observer.tell(reported)

    def _serve(self, number: int, message: Any, reply: Callable[[Any], object]) -> bool:
        """Deliver a message to a broker or to a controller; return whether it runs."""
        if number in self.controllers.numbers:
            return self.controllers.serve(number, message, reply)
        if number not in self.nodes or not self.nodes[number].is_registered:
            return False
        self.nodes[number].broker.serve(message, reply)
        return True

    # Brokers

    def start(self, number: int) -> None:
        """Start a broker's process."""
        broker = self.cluster.start(number)
        broker.log_dirs = two_directories(number) if self.names_directories else ()
        node = RunningKRaftBroker(broker, self.numbers, self.controllers.numbers, self.random)
        look_again = broker.replicas.changed

        def changed(partition: TopicPartition) -> None:
            self.watcher.changed(self.cluster, number, partition)
            look_again(partition)

        broker.replicas.changed = changed
        process = self.process(f"broker {number}")
        self.nodes[number], self._processes[number] = node, process
        process.spawn(node.live(lambda: self._registered(number), lambda: self._exit(number)))
        self.observer.tell(f"broker {number} starts")

    def _registered(self, number: int) -> None:
        for task in self.nodes[number].tasks():
            self._processes[number].spawn(task)

    def kill(self, number: int) -> None:
        """End a broker's process without order."""
        self._end(number)
        self.cluster.crash(number)

    def crash(self, number: int) -> None:
        """End a process, and start it again some time later."""
        self.kill(number)
        self._restart_later(number)

    def _restart_later(self, number: int) -> None:
        self.after(self.random.uniform(0.1, DOWN), lambda: self.start(number))

    def lose_power(self, number: int) -> int:
        """End a process, lose its unflushed records, and start it again later; return their number."""
        self.kill(number)
        lost = lose_unflushed(self.cluster.folder_of(number), self.random)
        self._restart_later(number)
        return lost

    def bounce(self, number: int) -> None:
        """End a process, and start it again at once."""
        self.kill(number)
        self.start(number)

    def controller_of(self, number: int) -> int:
        """Return the number of the controller that a broker takes for the active one."""
        return self.nodes[number].controller

    def shut_down(self, number: int) -> None:
        """Let a broker ask for its controlled shutdown."""
        self.nodes[number].broker.shut_down()

    def moves(self) -> list[str]:
        """Return which replicas are moved to another log directory, in words."""
        moved = ((number, partition) for number in self.running() for partition in self.nodes[number].broker.replicas.future_logs)
        return [f"broker {number} moves {partition} to its other log directory" for number, partition in moved]

    def fail_directory(self, number: int, seconds: float) -> bool:
        """Let the log directory of a broker fail; so many seconds later the broker is shut down, and starts with it again.

        Return whether it fails: not while replicas lie in the other directory.
        """
        node = self.nodes[number]
        if not node.broker.fail_directory():
            return False
        self.after(seconds, lambda: self.shut_down(number) if self.nodes.get(number) is node else None)
        return True

    def _exit(self, number: int) -> None:
        """End a process in order, and start it again a little later."""
        self.after(0.0, lambda: self._close(number))

    def _close(self, number: int) -> None:
        if number in self.nodes:
            failed = self.nodes[number].broker.replicas.directory_failed
            self._end(number)
            self.cluster.close(number)
            if failed:  # the directory does not have the file of an orderly stop
                delete_clean_shutdown(self.cluster.folder_of(number))
            self.observer.tell(f"broker {number} has shut down")
            self.after(self.random.uniform(0.1, 3.0), lambda: self.start(number))

    def end(self) -> None:
        """End all processes, and close all files."""
        for number in list(self.nodes):
            self._end(number)
        self.controllers.end()
        self.cluster.end()

    def _end(self, number: int) -> None:
        del self.nodes[number]
        self._processes.pop(number).end()
        self.network.ended(number)
