"""A running cluster: nodes with their tasks, and the actions of operators and faults on them.

Subclasses supply time and network: virtual ones (simulated_world.py), or real time and sockets (loopback.py).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random

from kafka_spec.impl.log.manager import lose_unflushed
from kafka_spec.impl.protocol.registration import Endpoint
from kafka_spec.impl.run.observer import Observer
from kafka_spec.impl.run.options import SETTINGS, TOPIC, Options
from kafka_spec.impl.run.tasks import TaskGroup
from kafka_spec.impl.run.zookeeper.running_broker import RunningBroker
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.interface import Service, Session

SESSION_TIMEOUT = 6.0
"""zookeeper.session.timeout.ms, in seconds: the longest time until the servers expire the session of an ended process."""
DOWN = 3.0
"""The longest time, in seconds, for which a process is down whose session is over."""


class RunWorld(ABC):
    """Brokers by number; those in `nodes` run."""

    burst = 1
    """How many steps a controller takes before other tasks run."""

    def __init__(
        self,
        options: Options,
        folder: Path,
        service: Service,
        write: Callable[[str], object],
        news: Callable[[str], object],
        random: Random,
    ) -> None:
        """`write` receives the lines of the state-change log, `news` the events to display."""
        self.observer = Observer(write, lambda: self.now, news)
        settings = replace(SETTINGS, unclean_leader_election_enable=options.unclean)
        seed = random.getrandbits(32)
        self.cluster = Cluster(folder, service, options.era, self.observer.line, self.clock, seed, settings, options.log)
        self.numbers = list(range(options.brokers))
        self.nodes: dict[int, RunningBroker] = {}
        self.random = random
        self._unclean = 0
        self._processes: dict[int, TaskGroup] = {}

    @property
    @abstractmethod
    def now(self) -> float:
        """The seconds since the run began."""

    @abstractmethod
    def clock(self) -> float:
        """Return the time in seconds since 1970."""

    @abstractmethod
    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Schedule a call so many seconds from now."""

    @abstractmethod
    def process(self, name: str) -> TaskGroup:
        """Return a process without tasks."""

    @abstractmethod
    def listen(self, number: int) -> Endpoint | None:
        """Prepare the connections to a broker that is about to start; return its address, None if it needs none."""

    @abstractmethod
    def unplug(self, number: int) -> None:
        """Break all connections of a broker whose process has ended."""

    @abstractmethod
    def disturb(self, faults: tuple[str, ...]) -> None:
        """Let the faults of messages among these happen."""

    @abstractmethod
    def calm(self) -> None:
        """End all faults of the network."""

    def running(self) -> list[int]:
        """Return the brokers that run and are not shutting down."""
        return [number for number in self.numbers if number in self.nodes and not self.nodes[number].broker.is_stopping]

    def start(self, number: int) -> None:
        """Start a broker's process."""
        node = RunningBroker(
            self.cluster.start(number, self.listen(number)), self.numbers, self.cluster.service.connect, self.burst
        )
        process = self.process(f"broker {number}")
        self.nodes[number], self._processes[number] = node, process
        for task in node.tasks():
            process.spawn(task)
        self.observer.tell(f"broker {number} starts")

    def create_clients_topic(self, options: Options) -> None:
        """Create the topic that clients use, its replicas spread over the brokers."""
        admin = Admin(self.cluster.tools, self.random, lambda _: None)
        admin.create_topic(TOPIC, options.partitions, options.replication_factor)

    def kill(self, number: int) -> Session:
        """End a broker's process; return its session, which the servers have not expired yet."""
        self._end(number)
        return self.cluster.end_process(number)

    def crash(self, number: int) -> None:
        """End a process; its session expires later, and it is started again after that."""
        session = self.kill(number)
        missed = self.random.uniform(0.2, SESSION_TIMEOUT)
        self.after(missed, lambda: self.cluster.service.expire(session))
        self.after(missed + self.random.uniform(0.1, DOWN), lambda: self.start(number))

    def lose_power(self, number: int) -> int:
        """Crash a process and lose its unflushed records; return their number."""
        self.crash(number)
        return lose_unflushed(self.cluster.folder / str(number), self.random)

    def bounce(self, number: int) -> None:
        """End a process and start it again before anyone reads ZooKeeper."""
        self.cluster.service.expire(self.kill(number))
        self.start(number)

    def controller_of(self, number: int) -> int:
        """Return the number of the controller that a broker knows."""
        return self.nodes[number].broker.metadata.controller

    def expire(self, number: int, deaf: float) -> None:
        """Expire a broker's session; the broker does not notice for `deaf` seconds."""
        node = self.nodes[number]
        node.deaf_until = node.broker.now + int(deaf * 1000)
        self.cluster.expire(number)

    def shut_down(self, number: int) -> None:
        """Shut a broker down in a controlled way, and start it again."""
        down = self.random.uniform(0.1, DOWN)

        def exit_process() -> None:
            self._end(number)
            self.cluster.close(number)
            self.after(down, lambda: self.start(number))

        self._processes[number].spawn(self.nodes[number].shut_down(), exit_process)

    def unclean_elections(self) -> int:
        """Return the number of unclean elections."""
        return self._unclean + sum(len(node.broker.controller.unclean_elections) for node in self.nodes.values())

    def end(self) -> None:
        """End all processes, and close all files."""
        for number in list(self.nodes):
            self._end(number)
        self.cluster.end()

    def _end(self, number: int) -> None:
        node = self.nodes.pop(number)
        self._processes.pop(number).end()
        self._unclean += len(node.broker.controller.unclean_elections)
        self.unplug(number)
