"""ZooKeeper and Kafka's brokers as processes on loopback, in a temporary folder; they end with it."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any

from kafka_spec.conformance.classes.jars import checked_jars, folder_of
from kafka_spec.impl.coordination.interface import CoordinationError
from kafka_spec.impl.coordination.zookeeper import KazooSession

VERSION = "2.8.2"
JAVA = ("java", "-Xmx256m", "-Xms64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
SETTINGS = {
    "zookeeper.session.timeout.ms": 6000,
    "offsets.topic.replication.factor": 1,
    "offsets.topic.num.partitions": 1,
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "log.cleaner.enable": "false",
    "num.network.threads": 1,
    "num.io.threads": 2,
    "replica.lag.time.max.ms": 5000,
}
LOGGING = """log4j.rootLogger=INFO, server
{appenders}log4j.logger.kafka.controller=TRACE, controller
log4j.additivity.kafka.controller=false
log4j.logger.state.change.logger=TRACE, state-change
log4j.additivity.state.change.logger=false
"""
APPENDER = """log4j.appender.{name}=org.apache.log4j.FileAppender
log4j.appender.{name}.File=${{kafka.logs.dir}}/{name}.log
log4j.appender.{name}.layout=org.apache.log4j.PatternLayout
log4j.appender.{name}.layout.ConversionPattern=[%d] %p %m (%c)%n
"""


class NotSeen(Exception):  # noqa: N818 - it is a result
    """What should happen did not happen in time."""


class RealCluster:
    """A cluster of real brokers; a context manager. `settings` are added to those of every broker."""

    def __init__(self, settings: dict[str, Any] | None = None) -> None:
        self._temporary = TemporaryDirectory(prefix="kafka-spec-")
        self.folder = Path(self._temporary.name)
        self.jars = checked_jars(VERSION, folder_of(VERSION))
        self._settings = {**SETTINGS, **(settings or {})}
        self._ports: dict[int, int] = {}
        self._processes: dict[int | str, subprocess.Popen[bytes]] = {}
        self._started = time.monotonic()
        appenders = "".join(APPENDER.format(name=name) for name in ("server", "controller", "state-change"))
        (self.folder / "log4j.properties").write_text(LOGGING.format(appenders=appenders))
        self._zookeeper_port = _free_port()
        self._start_zookeeper()
        self.session = self.wait("ZooKeeper answers", lambda: KazooSession(f"127.0.0.1:{self._zookeeper_port}"))

    def _start_zookeeper(self) -> None:
        data = self.folder / "zookeeper"
        data.mkdir()
        settings = {
            "dataDir": data,
            "clientPort": self._zookeeper_port,
            "clientPortAddress": "127.0.0.1",
            "admin.enableServer": "false",
            "tickTime": 500,
        }
        file = self.folder / "zookeeper.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self._run("zookeeper", "org.apache.zookeeper.server.quorum.QuorumPeerMain", file)

    def start(self, broker: int) -> None:
        """Start a broker, or start it again."""
        port = self._ports.setdefault(broker, _free_port())
        address = f"PLAINTEXT://127.0.0.1:{port}"
        own = {
            "broker.id": broker,
            "listeners": address,
            "advertised.listeners": address,
            "log.dirs": self.folder / f"data-{broker}",
            "zookeeper.connect": f"127.0.0.1:{self._zookeeper_port}",
        }
        file = self.folder / f"broker-{broker}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in {**self._settings, **own}.items()))
        self._run(broker, "kafka.Kafka", file)

    def _run(self, name: int | str, main: str, settings: Path) -> None:
        logs = self.folder / f"logs-{name}"
        logs.mkdir(exist_ok=True)
        options = (f"-Dkafka.logs.dir={logs}", f"-Dlog4j.configuration=file:{self.folder / 'log4j.properties'}")
        command = (*JAVA, *options, "-cp", os.pathsep.join(map(str, self.jars)), main, str(settings))
        with (logs / "output").open("ab") as output:
            self._processes[name] = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT)

    def signal(self, broker: int, number: signal.Signals) -> None:
        """Send a signal to a broker."""
        self._processes[broker].send_signal(number)
        self.say(f"{number.name} to broker {broker}")

    def has_ended(self, broker: int) -> bool:
        """Whether a broker's process has ended."""
        return self._processes[broker].poll() is not None

    def addresses(self, *brokers: int) -> str:
        """Return the addresses of brokers, for clients."""
        return ",".join(f"127.0.0.1:{self._ports[broker]}" for broker in brokers)

    def content(self, path: str) -> Any:
        """Return the JSON of a znode."""
        return json.loads(self.session.get(path)[0])

    def lines(self, broker: int, log: str, text: str) -> list[str]:
        """Return the lines of a broker's log that contain a text."""
        path = self.folder / f"logs-{broker}" / f"{log}.log"
        return [line for line in path.read_text(encoding="utf-8").splitlines() if text in line]

    def say(self, what: str) -> None:
        """Tell what happens, with the seconds since the start."""
        print(f"{time.monotonic() - self._started:6.1f} s  {what}", flush=True)

    def wait(self, what: str, happens: Callable[[], Any], seconds: float = 60) -> Any:
        """Wait until something is true, and return it.

        Raises:
            NotSeen: it does not happen in time.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            try:
                if found := happens():
                    self.say(what)
                    return found
            except (CoordinationError, OSError):
                pass
            time.sleep(0.1)
        raise NotSeen(f"not within {seconds:.0f} s: {what}")

    def __enter__(self) -> RealCluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.session.close()
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._temporary.cleanup()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def show(finding: Callable[[], bool]) -> None:
    """Run a finding as a script."""
    try:
        seen = finding()
    except NotSeen as error:
        print(error)
        seen = False
    print("seen" if seen else "not seen")
    sys.exit(0 if seen else 1)
