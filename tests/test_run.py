"""The command `kafka-spec run`: its output, refusals, files and exit codes."""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from conftest import Command
from rich.console import Console

from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.display import RunDisplay
from kafka_spec.impl.run.observer import Observer
from kafka_spec.impl.run.zookeeper.conductor import Conductor
from kafka_spec.impl.run.zookeeper.display import brokers_line, partitions_table
from kafka_spec.impl.run.zookeeper.outcome import leader_of
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.controller.core import ControllerCore, ControllerTask
from kafka_spec.impl.zookeeper.controller.topic_changes import TopicChange
from kafka_spec.impl.zookeeper.coordination.admin import Admin
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble


def test_a_run(inside: Command, golden: Callable[[str, str], None], tmp_path: Path) -> None:
    """The summary goes to stdout, a line for each event to stderr, and the state-change log to its file; all is kept: 0.

    All of it is the same under any hash seed.
    """
    log = tmp_path / "log"
    done = inside("run", "--brokers", "3", "--seed", "7", "--seconds", "10", "--state-change-log", str(log))

    assert done.returncode == 0
    digest = hashlib.sha256((done.stderr + log.read_text()).encode()).hexdigest()
    golden("run.txt", f"$ kafka-spec run --brokers 3 --seed 7 --seconds 10\n{done.stdout}events and state-change log: {digest}\n")
    events = done.stderr.splitlines()
    assert events[0] == "   0.000  broker 0 starts"
    assert any("elects broker" in event for event in events)
    lines = log.read_text().splitlines()
    assert len(lines) > 50
    assert all(line.endswith("(state.change.logger)") or "Exception: " in line for line in lines)


def test_a_broken_promise(inside: Command) -> None:
    """A promise that an era breaks is named with the finding and the bug that may have caused it, and ends with 1."""
    run = ("run", "--era", "KAFKA-7235-unseen-bounce", "--faults", "bounce", "--partitions", "2", "--seconds", "9", "-q")
    for seed in range(3, 23):
        done = inside(*run, "--seed", str(seed))
        if done.returncode != 0:
            break

    assert (done.returncode, done.stderr) == (1, "")
    assert "verdict       BROKEN: " in done.stdout
    assert "QuietReplicasKnowTheEpoch: in quiet states every assigned replica that is up has applied" in done.stdout
    assert "may be KAFKA-7235-unseen-bounce: controllers compare broker ids only" in done.stdout


def test_json(inside: Command, tmp_path: Path) -> None:
    """JSON has the same content; --data keeps logs and the state-change log, one folder for each broker."""
    data = tmp_path / "data"
    done = inside("run", "--faults", "none", "--seconds", "3", "--brokers", "2", "--format", "json", "-q", "--data", str(data))
    reported = json.loads(done.stdout)

    assert (done.returncode, done.stderr) == (0, "")
    assert (reported["schema_version"], reported["kept"], reported["rested"], reported["replication_factor"]) == (1, True, True, 2)
    assert reported["stored"] == reported["read"] == sum(reported["produced"].values())
    assert reported["lost"] == reported["broken"] == []
    assert sorted(path.name for path in data.iterdir()) == ["0", "1", "state-change.log"]
    assert (data / "0" / "orders-0" / "00000000000000000000.log").stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "reported"),
    [
        (("--faults", "earthquake"), "fault 'earthquake' is unknown; known are crash, bounce"),
        (("--era", "fluid"), "--era fluid: unknown; known are fixed, era_2_8, era_0_10, KAFKA-532"),
        (
            ("--era", "expired-session-reads"),
            "only the model has this; `kafka-spec check zookeeper/expired-session-reads` shows it",
        ),
        (("--replication-factor", "4"), "--replication-factor 4 needs 4 brokers, and there are 3"),
        (("--zookeeper", "start", "--faults", "delay"), "--faults delay is possible only in the simulation; with --zookeeper use"),
        (("--state-change-log", "/nowhere/at/all"), "--state-change-log /nowhere/at/all: No such file or directory"),
        (("--data", "."), "--data .: the folder is not empty; name another, or empty it"),
    ],
)
def test_misuse(inside: Command, arguments: tuple[str, ...], reported: str) -> None:
    """Options that are unknown or contradict each other are refused with the cure, and 2."""
    done = inside("run", *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert reported in done.stderr


@pytest.mark.parametrize("option", [("--brokers", "0"), ("--seconds", "0"), ("--seconds", "nan"), ("--partitions", "many")])
def test_numbers(inside: Command, option: tuple[str, str]) -> None:
    """A number out of range is refused by its option."""
    done = inside("run", *option)

    assert (done.returncode, done.stdout) == (2, "")
    assert f"argument {option[0]}: " in done.stderr


def test_interrupt(inside: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interrupted run says so, and ends with 3."""

    def interrupted(self: Conductor) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Conductor, "_calm_down", interrupted)
    done = inside("run", "--seconds", "1", "-q")

    assert (done.returncode, done.stdout, done.stderr) == (3, "", "kafka-spec: interrupted\n")


@pytest.mark.unexpected_errors
def test_an_unexpected_error_of_a_controller(inside: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """A controller that resigns after an unexpected error does not hide it: the run continues, reports it, and ends with 4."""
    handle, left = TopicChange.handle, [True]

    def once(self: TopicChange, core: ControllerCore) -> Sequence[ControllerTask]:
        if left and left.pop():
            raise ZeroDivisionError
        return handle(self, core)

    monkeypatch.setattr(TopicChange, "handle", once)
    done = inside("run", "--seconds", "2", "--faults", "none")

    assert done.returncode == 4
    assert "every property was satisfied" in done.stdout
    assert re.search(
        r"  error +\[Controller id=0 epoch=1\] Unexpected error: ZeroDivisionError\(\) at test_run.py:\d+; ", done.stdout
    )
    assert "kafka-spec: internal error; please report it: [Controller id=0 epoch=1] Unexpected error" in done.stderr
    assert "  2 controllers" in done.stdout


def picture(shown: object) -> list[str]:
    """Return the text that a terminal shows of an object, without colours."""
    console = Console(file=io.StringIO(), width=100, no_color=True)
    console.print(shown)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def test_the_table(tmp_path: Path) -> None:
    """The table shows leaders, epochs, ISRs and high watermarks as brokers know them; the line above it, brokers and controller."""
    partitions = [TopicPartition("orders", number) for number in range(2)]
    with Cluster(tmp_path, Ensemble()) as cluster:
        for number in range(3):
            cluster.start(number)
        Admin(cluster.tools, Random(1), print).create_topic_with_assignment("orders", {0: (0, 1), 1: (2, 1)})
        cluster.rest()
        cluster.crash(2)  # which the controller does not know yet

        assert picture(brokers_line(cluster, range(3))) == ["brokers   0 controller, epoch 1   1 up   2 down"]
        first, second = [row.split() for row in picture(partitions_table(cluster, partitions)) if "orders" in row]
        assert [cell for cell in first if cell not in "│┃"] == ["orders-0", "0", "0", "0", "1", "0", "0"]
        assert [cell for cell in second if cell not in "│┃"] == ["orders-1", "none"]
        assert leader_of(cluster, partitions[1]) == (-1, None)


def test_a_terminal_shows_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal there is the table with the newest events, and no line for each; NO_COLOR leaves the colours out."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    observer = Observer(lambda _: None, lambda: 1.0, lambda _: None)
    with Cluster(tmp_path, Ensemble()) as cluster, RunDisplay(stream) as display:
        cluster.start(0)
        observer.tell("broker 0 starts")
        display.news("a line of its own")
        display.show(lambda: (brokers_line(cluster, [0]), partitions_table(cluster, [TopicPartition("orders", 0)])), observer)
    shown = stream.getvalue()

    assert "1.000  broker 0 starts" in shown
    assert "high watermark" in shown
    assert "a line of its own" not in shown
    assert "\x1b[32m" not in shown
