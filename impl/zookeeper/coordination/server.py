"""A ZooKeeper server on loopback, from the jars that PySpark contains; it needs Java 17 and no download.

It ends with the process that started it, even if that process is killed: see coordination/guard.py.
"""

from __future__ import annotations

import importlib.util
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType

CONFIGURATION = """\
dataDir={data}
clientPort={port}
clientPortAddress=127.0.0.1
tickTime=500
minSessionTimeout=1000
maxSessionTimeout=60000
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=ruok
"""


GUARD = Path(__file__).with_name("guard.py")
STOP = 15.0
"""Seconds that the server and its guard may take to end."""


class NoServer(Exception):  # noqa: N818 - the name is the message
    """No ZooKeeper server could be started here."""


class ZooKeeperServer:
    """A server process; as a context manager it runs until the context ends. Its data stays in its folder."""

    def __init__(self, folder: Path, port: int = 0, seconds: float = 60.0, jars: Path | None = None) -> None:
        """Start a server with its files in `folder`, on `port` or a free port, and wait up to `seconds` until it answers.

        `jars` is a folder with ZooKeeper's jars, in place of those of PySpark.

        Raises:
            NoServer: Java or the jars are missing, or it does not answer in time; the message says what to do.
        """
        self.port = port or _free_port()
        folder.mkdir(parents=True, exist_ok=True)
        configuration = folder / "zoo.cfg"
        configuration.write_text(CONFIGURATION.format(data=folder / "data", port=self.port), encoding="utf-8")
        self._output = folder / "zookeeper.log"
        guard = [sys.executable, "-I", "-S", str(GUARD)]
        server = ["-Xmx256m", "-cp", f"{jars or _jars()}/*", "org.apache.zookeeper.server.ZooKeeperServerMain", str(configuration)]
        with self._output.open("ab") as output:
            # a process session of its own, so that Ctrl-C reaches the run alone, which then ends the server
            self._process = subprocess.Popen(
                [*guard, _java(), *server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=output, start_new_session=True
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._parent = self._process.stdin
        with self._process.stdout as reported:
            self.pid = int(reported.readline() or -1)
            """The process of the server."""
        deadline = time.monotonic() + seconds
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise NoServer(f"the ZooKeeper server does not answer on port {self.port}; read {self._output}")
            time.sleep(0.05)

    @property
    def hosts(self) -> str:
        """The address that sessions connect to."""
        return f"127.0.0.1:{self.port}"

    @property
    def exit_code(self) -> int | None:
        """The exit code of the server's process, 128 plus the signal's number if a signal killed it; None while it runs."""
        return self._process.poll()

    def stop(self) -> None:
        """End the process, and wait for its end."""
        self._parent.close()
        try:
            self._process.wait(timeout=STOP)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> ZooKeeperServer:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _answers(self) -> bool:
        """Whether this server answers `imok`."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                connection.sendall(b"ruok")
                return connection.recv(4) == b"imok"
        except OSError:
            return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _java() -> str:
    java = shutil.which("java")
    if java is None:
        raise NoServer("ZooKeeper needs java, which is not on the PATH; on Debian: apt-get install openjdk-17-jre-headless")
    return java


def _jars() -> Path:
    found = importlib.util.find_spec("pyspark")
    if found is None or not found.submodule_search_locations:
        raise NoServer("ZooKeeper's jars are part of PySpark, which is not installed; pip install pyspark")
    return Path(found.submodule_search_locations[0]) / "jars"
