"""A cluster in virtual time: nodes on one scheduler, over one simulated network, on a coordination service in memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

from impl.cluster import Cluster
from impl.coordination.interface import Session
from impl.coordination.memory import Ensemble
from impl.log.log import PartitionLog
from impl.run.network import Network
from impl.run.node import Node
from impl.run.observer import Observer
from impl.run.options import SETTINGS, Options
from impl.run.scheduler import Process, Scheduler
from impl.run.tasks import Task

EPOCH = 1_600_000_000.0
"""When every simulation begins, in seconds since 1970."""
UNFLUSHED = 30
"""How many records of a log the system has not written to its disk, at the most."""


class World:
    """Brokers by number; those in `nodes` run."""

    def __init__(
        self, options: Options, folder: Path, write: Callable[[str], object], news: Callable[[str], object], random: Random
    ) -> None:
        """`write` takes the lines of the state-change log, `news` what people see."""
        self.scheduler = Scheduler(EPOCH)
        self.observer = Observer(write, lambda: self.scheduler.now, news)
        self.network = Network(self.scheduler, random, self._serve, self.observer.fault)
        settings = replace(SETTINGS, unclean_leader_election_enable=options.unclean)
        self.cluster = Cluster(
            folder, Ensemble(), options.era, self.observer.line, self.scheduler.clock, random.getrandbits(32), settings
        )
        self.numbers = list(range(options.brokers))
        self.nodes: dict[int, Node] = {}
        self.unclean = 0
        """How many elections were unclean, in processes that have ended."""
        self._processes: dict[int, Process] = {}
        self._operator = Process("operator", self.scheduler, self.network.call)
        self._random = random

    def after(self, seconds: float, act: Callable[[], object]) -> None:
        """Have something happen so many seconds from now."""
        self.scheduler.after(seconds, act)

    def running(self) -> list[int]:
        """Return the brokers that run, and do not shut down."""
        return [number for number in self.numbers if number in self.nodes and not self.nodes[number].broker.is_stopping]

    def operate(self, task: Task) -> None:
        """Begin a task of an operator."""
        self._operator.spawn(task)

    def client(self, name: str) -> Process:
        """Return a process for a client's tasks."""
        return Process(name, self.scheduler, self.network.call)

    def start(self, number: int) -> None:
        """Start a broker's process."""
        node = Node(self.cluster.start(number), self.numbers, self.cluster.service.connect)
        process = Process(f"broker {number}", self.scheduler, self.network.call)
        self.nodes[number], self._processes[number] = node, process
        for task in node.tasks():
            process.spawn(task)
        self.observer.tell(f"broker {number} starts")

    def kill(self, number: int) -> Session:
        """End a broker's process; return its session, which the servers have not missed yet."""
        self._end(number)
        return self.cluster.end_process(number)

    def expire(self, number: int, deaf: float) -> None:
        """Let a broker's session expire, which it does not notice for some seconds."""
        node = self.nodes[number]
        node.deaf_until = node.broker.now + int(deaf * 1000)
        self.cluster.expire(number)

    def shut_down(self, number: int, down: float) -> None:
        """Shut a broker down in a controlled way, and start it again after some seconds."""

        def exit_process() -> None:
            self._end(number)
            self.cluster.close(number)
            self.after(down, lambda: self.start(number))

        self._processes[number].spawn(self.nodes[number].shut_down(), exit_process)

    def lose_unflushed(self, number: int) -> int:
        """Lose some of what was never flushed of the logs of a broker that does not run; return how many records."""
        lost = 0
        for folder in sorted(path for path in (self.cluster.folder / str(number)).iterdir() if path.is_dir()):
            log = PartitionLog(folder)
            end = max(log.recovery_point, log.end_offset - self._random.randint(0, UNFLUSHED))
            lost += log.end_offset - end
            log.truncate_to(end)
            log.crash()
        return lost

    def unclean_elections(self) -> int:
        """Return how many elections were unclean."""
        return self.unclean + sum(len(node.broker.controller.unclean_elections) for node in self.nodes.values())

    def end(self) -> None:
        """End all processes, and close all files."""
        for process in self._processes.values():
            process.end()
        self.cluster.end()

    def _end(self, number: int) -> None:
        node = self.nodes.pop(number)
        self._processes.pop(number).end()
        self.unclean += len(node.broker.controller.unclean_elections)
        self.network.ended(number)

    def _serve(self, number: int, message: Any, reply: Callable[[Any], object]) -> bool:
        """Hand a message to a broker; return whether there is one."""
        if number not in self.nodes:
            return False
        self.nodes[number].broker.serve(message, reply)
        return True
