"""Real Kafka brokers as processes on loopback, with their files in one folder. They end on request, or with this one.

Source: Kafka 2.8 bin/kafka-run-class.sh, config/log4j.properties; impl/zookeeper/coordination/guard.py.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from kafka_spec.impl.zookeeper.coordination.server import GUARD

JAVA = ("java", "-Xmx256m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
SETTINGS: Mapping[str, Any] = {
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "log.cleaner.enable": "false",
    "num.network.threads": 1,
    "num.io.threads": 2,
    "replica.lag.time.max.ms": 5000,
}
ZOOKEEPER_SETTINGS: Mapping[str, Any] = {"zookeeper.session.timeout.ms": 6000}
LOGS = ("server", "controller", "state-change")
LOGGING = """log4j.rootLogger=INFO, server
{appenders}log4j.logger.kafka.controller=TRACE, controller
log4j.additivity.kafka.controller=false
log4j.logger.org.apache.kafka.controller=DEBUG, controller
log4j.logger.state.change.logger=TRACE, state-change
log4j.additivity.state.change.logger=false
"""
APPENDER = """log4j.appender.{name}=org.apache.log4j.FileAppender
log4j.appender.{name}.File=${{kafka.logs.dir}}/{name}.log
log4j.appender.{name}.layout=org.apache.log4j.PatternLayout
log4j.appender.{name}.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
HOST = "127.0.0.1"


class NotSeen(Exception):  # noqa: N818 - it is a result
    """What should happen did not happen in time."""


@dataclass
class KafkaProcess:
    """A broker's process: that of its guard, and its own id."""

    guard: subprocess.Popen[bytes]
    pid: int

    @property
    def has_ended(self) -> bool:
        """Whether it has ended."""
        return self.guard.poll() is not None


class ServerProcesses(ABC):
    """Real servers by number; each keeps its port and its data when it is started again."""

    def __init__(self, folder: Path, jars: Sequence[Path], settings: Mapping[str, Any]) -> None:
        """`settings` are those of every server."""
        self.folder = folder
        self.ports: dict[int, int] = {}
        self.seen_at: dict[int, int] = {}
        """The ports at which others find a server, where that is not its own: those of proxies."""
        self._jars = jars
        self._settings = settings
        self._running: dict[int, KafkaProcess] = {}
        appenders = "".join(APPENDER.format(name=name) for name in LOGS)
        (folder / "log4j.properties").write_text(LOGGING.format(appenders=appenders), encoding="utf-8")

    def start(self, broker: int, settings: Mapping[str, Any] | None = None) -> None:
        """Start a broker, or start it again; `settings` are this broker's alone."""
        file = self.write_settings(broker, settings or {})
        logs = self.logs(broker)
        logs.mkdir(exist_ok=True)
        options = (f"-Dkafka.logs.dir={logs}", f"-Dlog4j.configuration=file:{self.folder / 'log4j.properties'}")
        command = (*JAVA, *options, "-cp", os.pathsep.join(map(str, self._jars)), "kafka.Kafka", str(file))
        with (logs / "output").open("ab") as output:
            guard = subprocess.Popen(
                [sys.executable, "-I", "-S", str(GUARD), *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                start_new_session=True,
            )
        assert guard.stdout is not None
        with guard.stdout as reported:
            self._running[broker] = KafkaProcess(guard, int(reported.readline() or -1))

    def write_settings(self, broker: int, settings: Mapping[str, Any]) -> Path:
        """Write a broker's settings, and return the file."""
        self.ports.setdefault(broker, free_port())
        every = {**self._settings, "log.dirs": self.data(broker), **self.own_settings(broker), **settings}
        file = self.folder / f"broker-{broker}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in every.items()), encoding="utf-8")
        return file

    @abstractmethod
    def own_settings(self, broker: int) -> Mapping[str, Any]:
        """Return the settings that give a broker its id, and the addresses of the others."""

    def signal(self, broker: int, number: signal.Signals) -> None:
        """Send a signal to a broker."""
        process = self._running[broker]
        if not process.has_ended:
            os.kill(process.pid, number)

    def has_ended(self, broker: int) -> bool:
        """Whether a broker's process has ended."""
        return self._running[broker].has_ended

    def running(self) -> list[int]:
        """Return the brokers that run."""
        return sorted(broker for broker, process in self._running.items() if not process.has_ended)

    def addresses(self, *brokers: int) -> str:
        """Return the addresses of brokers, for clients; of all without a number."""
        return ",".join(f"{HOST}:{self.ports[broker]}" for broker in brokers or sorted(self.ports))

    def data(self, broker: int) -> Path:
        """Return the folder of a broker's logs of partitions."""
        return self.folder / f"data-{broker}"

    def logs(self, broker: int) -> Path:
        """Return the folder of the log files that a broker writes about itself."""
        return self.folder / f"logs-{broker}"

    def lines(self, broker: int, log: str, text: str) -> list[str]:
        """Return the lines of a broker's log that contain a text."""
        path = self.logs(broker) / f"{log}.log"
        return [line for line in path.read_text(encoding="utf-8").splitlines() if text in line]

    def tool(self, main: str, arguments: Sequence[str], text: str = "", seconds: float = 90) -> str:
        """Run one of Kafka's tools with some input; return its output.

        Raises:
            NotSeen: it fails, or does not end in time.
        """
        command = (*JAVA, f"-Dkafka.logs.dir={self.folder}", "-cp", os.pathsep.join(map(str, self._jars)), main, *arguments)
        try:
            done = subprocess.run(command, input=text, capture_output=True, text=True, check=False, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise NotSeen(f"{main} does not end within {seconds:.0f} s") from None
        if done.returncode:
            raise NotSeen(f"{main} fails: {done.stderr.strip()[-300:]}")
        return done.stdout

    def has_class(self, name: str) -> bool:
        """Whether the jars have a class, such as the main class of a tool."""
        file = f"{name.replace('.', '/')}.class"
        return any(file in ZipFile(jar).namelist() for jar in self._jars)

    def end(self) -> None:
        """Kill all brokers, and wait for their end."""
        for broker in self._running:
            self.signal(broker, signal.SIGKILL)
        for process in self._running.values():
            process.guard.wait()
            if process.guard.stdin is not None:
                process.guard.stdin.close()


class KafkaProcesses(ServerProcesses):
    """Real brokers on one ZooKeeper."""

    def __init__(self, folder: Path, jars: Sequence[Path], hosts: str, settings: Mapping[str, Any] | None = None) -> None:
        """`hosts` is ZooKeeper's HOST:PORT or HOST:PORT/PATH; `settings` are added to those of every broker."""
        super().__init__(folder, jars, {**SETTINGS, **ZOOKEEPER_SETTINGS, **(settings or {})})
        self._hosts = hosts

    def own_settings(self, broker: int) -> Mapping[str, Any]:
        """Return the broker's id, its address, and that of ZooKeeper."""
        port = self.ports[broker]
        return {
            "broker.id": broker,
            "zookeeper.connect": self._hosts,
            "listeners": f"PLAINTEXT://{HOST}:{port}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{self.seen_at.get(broker, port)}",
        }


def free_port() -> int:
    """Return a port of loopback that is free now."""
    with socket.socket() as one:
        one.bind((HOST, 0))
        return int(one.getsockname()[1])
