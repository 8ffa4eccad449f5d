"""ZooKeeper and Kafka's brokers on loopback, in a temporary folder, for the findings; they end with it."""

from __future__ import annotations

import argparse
import json
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, ClassVar, NoReturn, Self

from kafka_spec.conformance.kafka_classes.jars import checked_jars, folder_of
from kafka_spec.conformance.kafka_clusters.kafka_processes import KafkaProcesses, NotSeen, ServerProcesses, free_port
from kafka_spec.conformance.kafka_clusters.kafka_proxy import KafkaProxy
from kafka_spec.conformance.metadata import judged as metadata_logs
from kafka_spec.conformance.outcome.violations import Violation
from kafka_spec.conformance.reproductions.script import run_script
from kafka_spec.conformance.validate import judged as zookeeper_logs
from kafka_spec.impl.protocol.quorum_requests import TOPIC
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError
from kafka_spec.impl.zookeeper.coordination.server import ZooKeeperServer
from kafka_spec.impl.zookeeper.coordination.zookeeper import KazooSession

VERSION = "2.8.2"
COUNTS = {2: "two", 3: "three", 4: "four"}


class ServersOnLoopback:
    """Servers of one version of Kafka in a temporary folder; a context manager."""

    brokers: ServerProcesses
    not_yet: tuple[type[Exception], ...] = (OSError,)
    """The errors that say no more than that something has not happened yet."""
    patches: ClassVar[list[Path]] = []
    """Folders of classes that come before the jars of every server in this process: those of a fix that is tried."""

    def __init__(self, version: str) -> None:
        self._ends = ExitStack()
        self._started = time.monotonic()
        self.folder = Path(self._ends.enter_context(TemporaryDirectory(prefix="kafka-spec-")))
        self.jars = [*self.patches, *checked_jars(version, folder_of(version))]

    def start(self, broker: int, settings: Mapping[str, Any] | None = None) -> None:
        """Start a broker, or start it again; `settings` are this broker's alone."""
        self.brokers.start(broker, settings)

    def behind_proxy(self, server: int) -> KafkaProxy:
        """Put a server that has not been started yet behind a proxy: all others find it there alone."""
        proxy = KafkaProxy(self.brokers.ports.setdefault(server, free_port()))
        self._ends.callback(proxy.close)
        self.brokers.seen_at[server] = proxy.port
        return proxy

    def signal(self, broker: int, number: signal.Signals) -> None:
        """Send a signal to a broker."""
        self.brokers.signal(broker, number)
        self.say(f"{number.name} to broker {broker}")

    def has_ended(self, broker: int) -> bool:
        """Whether a broker's process has ended."""
        return self.brokers.has_ended(broker)

    def addresses(self, *brokers: int) -> str:
        """Return the addresses of brokers, for clients."""
        return self.brokers.addresses(*brokers)

    def lines(self, broker: int, log: str, text: str) -> list[str]:
        """Return the lines of a broker's log that contain a text."""
        return self.brokers.lines(broker, log, text)

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
            except self.not_yet:
                pass
            time.sleep(0.1)
        raise NotSeen(f"not within {seconds:.0f} s: {what}")

    def explain_metadata(self) -> list[Violation]:
        """Explain the metadata logs of all servers, which have ended, and print the result.

        What is returned is new: what no event of the model explains, and violations that no known bug accounts for.
        """
        logs = sorted(self.folder.rglob(str(TOPIC)))
        if not logs:
            return []
        outcome = metadata_logs.judged([*logs, *self.folder.rglob("controller.log")])
        left = metadata_logs.unaccounted(outcome)
        print("\n".join(metadata_logs.lines_of(outcome, left)))
        return left

    def lost(self, acknowledged: Sequence[str], read: Sequence[str], acks: str = "all") -> list[str]:
        """Return the acknowledged records that a consumer has not read, and tell them."""
        lost = [value for value in acknowledged if value not in read]
        self.say(
            f"read {len(read)} records; lost {len(lost)} of {len(acknowledged)} that were acknowledged with acks={acks}: {lost}"
        )
        return lost

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._ends.close()


class RealCluster(ServersOnLoopback):
    """ZooKeeper and brokers, on which a bug is shown. `settings` are added to those of every broker.

    When it ends, its state-change and controller logs are validated. NotSeen is raised if the bug does not account for a violation.
    """

    not_yet = (CoordinationError, OSError)

    def __init__(self, bug: str, settings: dict[str, Any] | None = None, version: str = VERSION) -> None:
        super().__init__(version)
        self._bug = bug
        server = self._ends.enter_context(ZooKeeperServer(self.folder / "zookeeper", jars=folder_of(version)))
        self.zookeeper_port = server.port
        self.session = KazooSession(server.hosts)
        self._ends.callback(self.session.close)
        self.brokers = KafkaProcesses(self.folder, self.jars, server.hosts, settings)
        self._ends.callback(self._validate)
        self._ends.callback(self.brokers.end)
        self.say("ZooKeeper answers")

    def _validate(self) -> None:
        outcome = zookeeper_logs.judged([self.folder])
        left = zookeeper_logs.unaccounted(outcome, self._bug)
        print("\n".join(zookeeper_logs.lines_of(outcome, left)))
        if left:
            raise NotSeen(f"{self._bug} does not account for {len(left)} violations in the logs")

    def start_controller(self, broker: int, settings: Mapping[str, Any] | None = None) -> None:
        """Start the first broker, and wait until it is the controller."""
        self.start(broker, settings)
        self.wait(f"broker {broker} is the controller", lambda: self.content("/controller")["brokerid"] == broker)

    def start_others(self, *brokers: int, settings: Mapping[str, Any] | None = None) -> None:
        """Start further brokers, and wait until they are registered beside the controller."""
        for broker in brokers:
            self.start(broker, settings)
        count = 1 + len(brokers)
        self.wait(f"{COUNTS[count]} brokers are registered", lambda: len(self.session.children("/brokers/ids")) == count)

    def content(self, path: str) -> Any:
        """Return the JSON of a znode."""
        return json.loads(self.session.get(path)[0])


def show_on_release(finding: Callable[[str], bool], what: str | None, releases: Sequence[str] = ("4.1.2", "4.4.0")) -> NoReturn:
    """Run a finding as a script on the release that its option names, the last one unless it does."""
    parser = argparse.ArgumentParser(description=what, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kafka", choices=releases, default=releases[-1], help="the release of all servers")
    release: str = parser.parse_args().kafka
    show(lambda: finding(release))


def show(finding: Callable[[], bool]) -> NoReturn:
    """Run a finding as a script: it exits with 0 if it was seen, 1 if not, 2 if something that it needs is missing."""

    def run() -> int:
        try:
            seen = finding()
        except NotSeen as error:
            print(error)
            seen = False
        print("seen" if seen else "not seen")
        return 0 if seen else 1

    run_script(run)
