"""Servers that a run starts, and servers that fail during it: real processes, killed and stopped; `ps` shows the remaining ones."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.zookeeper.loopback import run_on_loopback
from kafka_spec.impl.zookeeper.coordination.lasting import LastingSession
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble
from kafka_spec.impl.zookeeper.coordination.server import GUARD, ZooKeeperServer
from kafka_spec.impl.zookeeper.coordination.zookeeper import KazooSession, Servers


def shown(text: str) -> list[str]:
    """Return what `ps` shows of living processes whose command lines hold a text."""
    lines = subprocess.run(
        ["ps", "-eo", "pid,ppid,stat,args", "-ww"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    return [line for line in lines if text in line and line.split()[2][0] != "Z"]


def wait(done: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Wait until something is true; return it."""
    deadline = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < deadline, "it does not come true"
        time.sleep(0.05)
    return found


class Run:
    """A process of `kafka-spec run --zookeeper start`; its servers' command lines hold its folder."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.folder = folder / "data"
        command = [sys.executable, "-m", "kafka_spec", "run", "--zookeeper", "start", "--data", str(self.folder), *more]
        self.log = folder / "stderr"
        with self.log.open("w") as errors:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=errors, text=True)
        wait(lambda: "elects broker" in self.log.read_text() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()

    def servers(self, of: str = "java") -> list[int]:
        """Return the processes of its server, or of the server's guard."""
        lines = [line for line in shown(f"{self.folder}/zookeeper/zoo.cfg") if (GUARD.name in line) == (of == "guard")]
        return [int(line.split()[0]) for line in lines]

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Run]]:
    """Return a function that starts a run, which ends with the test."""
    runs: list[Run] = []

    def begin(*more: str) -> Run:
        runs.append(Run(tmp_path, *more))
        return runs[-1]

    yield begin
    for run in runs:
        run.end()


def test_a_run_that_is_killed_leaves_no_server(start: Callable[..., Run]) -> None:
    """A run that is killed takes its ZooKeeper with it: `ps` shows nothing of either."""
    run = start("--seconds", "60", "--faults", "none", "--partitions", "2")
    assert len(run.servers()) == len(run.servers("guard")) == 1
    run.process.kill()
    run.process.communicate()
    wait(lambda: not shown(str(run.folder)), 10)


def test_a_server_that_is_killed_ends_the_run(start: Callable[..., Run]) -> None:
    """Killing ZooKeeper during a run ends the run with 3, the outcome so far and the reason; no process remains."""
    run = start("--seconds", "60", "--faults", "none", "--partitions", "2", "--format", "json")
    time.sleep(2)
    (server,) = run.servers()
    os.kill(server, signal.SIGKILL)
    since = time.monotonic()
    output, _ = run.process.communicate(timeout=60)
    reported = json.loads(output)

    assert time.monotonic() - since < 40
    assert run.process.returncode == 3
    assert reported["stopped"] == "ZooKeeper was lost: the ZooKeeper server's process has ended with 137"
    assert reported["kept"] is False
    assert reported["acknowledged"]["all"] > 0
    assert reported["stored"] > 0
    assert [one["leader"] >= 0 for one in reported["partitions_at_the_end"]] == [True, True]
    assert run.log.read_text().endswith(f"kafka-spec: {reported['stopped']}\n")
    assert shown(str(run.folder)) == []


def test_a_silent_server_ends_the_run(tmp_path: Path) -> None:
    """A server without an answer for session timeout plus patience ends the run with the outcome so far; the loop continues."""
    turns: list[float] = []

    async def beat() -> None:
        while True:
            turns.append(time.monotonic())
            await asyncio.sleep(0.02)

    async def main(service: Servers) -> Any:
        beating = asyncio.create_task(beat())
        asyncio.get_running_loop().call_later(4.0, os.kill, server.pid, signal.SIGSTOP)
        options = Options(seconds=120.0, faults=(), partitions=2, real=True)
        outcome = await run_on_loopback(options, tmp_path / "brokers", service)
        beating.cancel()
        return outcome

    with ZooKeeperServer(tmp_path / "zookeeper") as server, Servers(server.hosts, timeout=2.0, patience=2.0) as service:
        KazooSession(server.hosts).close()  # a server that has just started may take longer than the patience of the run
        began = time.monotonic()
        outcome = asyncio.run(main(service))
        seconds = time.monotonic() - began
        os.kill(server.pid, signal.SIGCONT)

    assert outcome.stopped == f"ZooKeeper was lost: no ZooKeeper at {server.hosts} has answered for 4 s"
    assert sum(outcome.acknowledged.values()) > 0
    assert 4.0 + 4.0 < seconds < 100.0
    assert max(later - before for before, later in itertools.pairwise(turns)) < 3.0


@pytest.mark.long
def test_a_run_survives_a_server_that_stalls(tmp_path: Path) -> None:
    """A server that is silent for longer than the session timeout, and for less than the patience, does not end the run.

    When it continues, the server expires sessions while their clients return. Which of the two is first differs from one session to
    the next; the run survives both. `kafka-spec run --faults expiry` is certain to expire them.
    """

    async def main(service: Servers) -> Any:
        loop = asyncio.get_running_loop()
        loop.call_later(4.0, os.kill, server.pid, signal.SIGSTOP)
        loop.call_later(4.0 + 5.0, os.kill, server.pid, signal.SIGCONT)
        options = Options(seconds=16.0, faults=(), partitions=2, real=True)
        return await run_on_loopback(options, tmp_path / "brokers", service)

    with ZooKeeperServer(tmp_path / "zookeeper") as server, Servers(server.hosts, timeout=2.0, patience=10.0) as service:
        outcome = asyncio.run(main(service))

    assert outcome.stopped == "" and outcome.kept, outcome
    assert sum(outcome.acknowledged.values()) > 0


def test_a_session_for_tools_outlives_its_expiry(tmp_path: Path) -> None:
    """The operation after an expiry is done under another session; what the first one owned is gone."""
    service = Ensemble()
    tools = LastingSession(service)
    tools.create("/kept", b"1")
    tools.create("/owned", ephemeral=True)
    before = tools.id
    service.expire(tools._session)

    assert tools.get("/kept")[0] == b"1"
    assert tools.id != before
    assert tools.exists("/owned") is None
    tools.set("/kept", b"2")
    tools.delete("/kept")
    assert tools.exists("/kept") is None


def test_asking_never_blocks_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request to the coordination service may take as long as five turns of the event loop: they do not wait for it."""
    from kafka_spec.impl.zookeeper.coordination.memory import MemorySession

    turns = 0
    get, met = MemorySession.get, []

    def hesitating(self: MemorySession, path: str, *, watch: bool = False) -> Any:
        if turns and not met:
            met.append(turns)
            wait(lambda: turns >= met[0] + 5)
        return get(self, path, watch=watch)

    async def beat() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0.01)

    async def main() -> None:
        beating = asyncio.create_task(beat())
        await asyncio.sleep(0.05)
        await run_on_loopback(Options(seconds=0.2, faults=(), partitions=1, real=True), tmp_path, Ensemble())
        beating.cancel()

    monkeypatch.setattr(MemorySession, "get", hesitating)
    asyncio.run(main())
    assert met


GUARDED = """
import subprocess, sys
command = [sys.executable, *sys.argv[1:]]
guard = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
print(guard.pid, guard.stdout.readline(), flush=True)
sys.stdin.read()
"""
NO_KERNEL = f"import sys; sys.path.insert(0, {str(GUARD.parent)!r}); import guard; guard.main(sys.argv[1:], lambda: None)"


@pytest.mark.parametrize("guard", [(str(GUARD),), ("-c", NO_KERNEL)], ids=["this system", "any system"])
@pytest.mark.parametrize("stubborn", [False, True])
def test_the_guard(guard: tuple[str, ...], stubborn: bool, tmp_path: Path) -> None:
    """A guarded program ends with its parent, by the pipe alone where the kernel does not help; a stubborn one is killed."""
    mark = f"guarded-{tmp_path}"
    hold = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(99)"
    program = [sys.executable, "-c", hold, mark] if stubborn else ["sleep", "99.25"]
    parent = subprocess.Popen(
        [sys.executable, "-c", GUARDED, *guard, *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    numbers = [int(number) for number in parent.stdout.readline().split() + parent.stdout.readline().split()]
    alive = [number for number in numbers if Path(f"/proc/{number}").exists()]
    assert alive == numbers
    time.sleep(0.3)  # a stubborn one has to begin to be that
    parent.kill()
    parent.communicate()
    wait(lambda: not any(_lives(number) for number in numbers), 15)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel of Linux does it")
def test_a_guard_that_is_killed() -> None:
    """On Linux the server ends even if its guard is killed."""
    guard = subprocess.Popen(
        [sys.executable, str(GUARD), "sleep", "99.5"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert guard.stdout is not None
    number = int(guard.stdout.readline())
    guard.kill()
    guard.communicate()
    wait(lambda: not _lives(number), 10)


def _lives(number: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_the_server_tells_its_process(tmp_path: Path) -> None:
    """A server reports its process and exit code; stopping it twice does no harm, and no process remains."""
    with ZooKeeperServer(tmp_path) as server:
        assert server.exit_code is None
        assert any("java" in line and line.split()[0] == str(server.pid) for line in shown(str(tmp_path)))
        os.kill(server.pid, signal.SIGKILL)
        assert wait(lambda: server.exit_code) == 137
    server.stop()
    assert shown(str(tmp_path)) == []
