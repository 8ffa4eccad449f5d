"""`kafka-spec validate` reads logs as people have them: wrapped by other layouts, containers and collectors, through pipes."""

from __future__ import annotations

import gzip
import os
import threading
from pathlib import Path

import pytest

from kafka_spec.command import run as kafka_spec
from kafka_spec.conformance.validate import once
from kafka_spec.conformance.validate.files import find_sources
from kafka_spec.conformance.validate.layouts import learn
from kafka_spec.conformance.validate.line_times import normal_time
from kafka_spec.conformance.validate.pattern import layout_of
from kafka_spec.spec.vocabulary.table import SpecError
from tests.log_wrappings import WRAPPINGS, by_pattern
from tests.test_validate import LOGS, Logs, validated


def test_there_are_enough_wrappings() -> None:
    """At least 28 ways to wrap a line are tried, all different."""
    line = "[2026-11-22 00:12:52,219] INFO [Controller id=2 epoch=1] Sending (state.change.logger)"
    assert len(WRAPPINGS) >= 28
    assert len({wrap(line) for wrap in WRAPPINGS.values()}) == len(WRAPPINGS)


@pytest.mark.parametrize("name", WRAPPINGS)
def test_a_wrapped_log_is_read_as_the_plain_one(name: str, tmp_path: Path) -> None:
    """However the lines of a log are wrapped, every line is read, and the verdict and the transitions are the same."""
    logs = Logs("2.8.2", tmp_path)
    logs.files = {file: [WRAPPINGS[name](line) for line in lines] for file, lines in logs.files.items()}
    outcome = logs.validated()

    assert (outcome.verdict, outcome.transitions, outcome.broken, outcome.continued) == ("holds", 321, 0, 1069)


@pytest.mark.parametrize("name", ["CRI", "logstash json", "strimzi console", "time last"])
def test_a_violation_in_a_wrapped_log_is_found(name: str, tmp_path: Path) -> None:
    """A violation is found on its line, and a line that is cut is counted, in other layouts too."""
    logs = Logs("2.8.2", tmp_path)
    place = logs.change("replica 0 for partition orders-0 from NewReplica to", "to OnlineReplica", "to ReplicaDeletionStarted")
    logs.files = {file: [WRAPPINGS[name](line) for line in lines] for file, lines in logs.files.items()}
    outcome = logs.validated()

    assert place in [Path(outcome.at(one.place)).name for one in outcome.violations if one.kind == "illegal-transition"]
    file, number = place.split(":")
    logs.files[file][int(number) - 1] = logs.files[file][int(number) - 1][:60]
    cut = logs.validated()
    assert (cut.verdict, cut.broken) == ("inconclusive", 1)


def test_a_line_that_cannot_be_read_is_shown_with_the_nearest_layout(tmp_path: Path) -> None:
    """The report shows the first such line of each file, its layout, and what the line lacks."""
    logs = Logs("2.8.2", tmp_path)
    wrap = by_pattern("{d} {p} {m} ({c}) [{t}]")
    logs.files = {file: [wrap(line) for line in lines] for file, lines in logs.files.items()}
    name, number = logs.find("Changed partition orders-0")
    logs.files[name][number] = "Changed partition orders-0 to something"
    outcome = logs.validated()

    ((_, line, differs),) = outcome.examples
    assert line == "Changed partition orders-0 to something"
    assert differs == (
        "the nearest known layout is %d %p %m (%c) [%t]; it has no time, no level, no logger, "
        "no [Controller id=N epoch=N] or [Broker id=N]"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
@pytest.mark.parametrize("compressed", [False, True])
def test_encodings(encoding: str, compressed: bool, tmp_path: Path) -> None:
    """Logs that PowerShell or an editor has written in UTF-16, or with a mark of byte order, are read, compressed ones too."""
    logs = Logs("2.8.2", tmp_path)
    bom = "\ufeff" if encoding == "utf-16-be" else ""
    for name, lines in logs.files.items():
        data = (bom + "\r\n".join(lines) + "\r\n").encode(encoding)
        (tmp_path / name).write_bytes(gzip.compress(data) if compressed else data)

    assert (validated(tmp_path).verdict, validated(tmp_path).broken) == ("holds", 0)


def test_lines_broken_by_a_terminal_are_joined(tmp_path: Path) -> None:
    """Lines that a terminal has broken at its width are read as one."""
    logs = Logs("2.8.2", tmp_path)
    for name, lines in logs.files.items():
        logs.files[name] = [line[at : at + 167] for line in lines for at in (range(0, len(line), 167) if line[:1] == "[" else (0,))]
    outcome = logs.validated()

    assert (outcome.transitions, outcome.violations) == (321, [])
    assert outcome.broken <= 2  # where a message itself goes on with a bracket


def test_long_lines_in_parts(tmp_path: Path) -> None:
    """The parts in which container runtimes write long lines are put together."""
    logs = Logs("2.8.2", tmp_path)
    for name, lines in logs.files.items():
        wrapped = []
        for line in lines:
            parts = [line[at : at + 200] for at in range(0, len(line), 200)] or [""]
            wrapped += [
                f"2026-11-22T00:00:00.000000000Z stdout {'P' if n + 1 < len(parts) else 'F'} {part}" for n, part in enumerate(parts)
            ]
        logs.files[name] = wrapped
    outcome = logs.validated()

    assert (outcome.verdict, outcome.transitions, outcome.broken) == ("holds", 321, 0)


@pytest.mark.parametrize(
    ("pattern", "wrapping"),
    [
        ("[%d] %p %m (%c)%n", None),
        ("%d{ISO8601} %p %m (%c) [%t]%n", "strimzi console"),
        ("%d %-5p [%c:%L] %m%n%throwable", "logger and line first"),
        ("%highlight{%level}{TRACE=green} %d %logger{36}: %msg%n", "level first"),
        ("time=%d{yyyy-MM-dd'T'HH:mm:ss.SSS} level=%p logger=%c thread=%t %m%n", "key=value"),
    ],
)
def test_a_pattern_can_be_given(pattern: str, wrapping: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A layout of log4j that is given is that of the lines."""
    logs = Logs("2.8.2", tmp_path)
    for name, lines in logs.files.items():
        logs.files[name] = [WRAPPINGS[wrapping](line) if wrapping else line for line in lines]
    logs.validated()

    assert kafka_spec(["validate", str(tmp_path), "-q", "--pattern", pattern]) == 0
    assert "HOLDS: 321 transitions" in capsys.readouterr().out


@pytest.mark.parametrize(("pattern", "summary"), [("%d %p", "no %m"), ("%m%n", "no %d"), ("%d %d %p %m", "twice")])
def test_a_pattern_that_cannot_be_one_is_misuse(pattern: str, summary: str) -> None:
    """A pattern needs a time, a level and a message, each once."""
    with pytest.raises(SpecError, match=summary):
        layout_of(pattern)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("2026-11-22 00:12:52,219", "2026-11-22 00:12:52,219"),
        ("2026-11-22T00:12:52.219456Z", "2026-11-22 00:12:52,219"),
        ("2026-11-22T02:12:52.219+02:00", "2026-11-22 00:12:52,219"),
        ("2026-11-21 19:42:52,219 -0430", "2026-11-22 00:12:52,219"),
        ("22 Nov 2026 00:12:52,219", "2026-11-22 00:12:52,219"),
        ("20261122T001252,219", "2026-11-22 00:12:52,219"),
        ("1795306372219", "2026-11-22 00:12:52,219"),
        ("1795306372219456", "2026-11-22 00:12:52,219"),
        ("Nov  2 00:12:52", "1970-11-02 00:12:52,000"),
        ("2026-11-22 00:12", None),
        ("9999-99-99T99:99:99+01:00", None),
    ],
)
def test_times(text: str, normal: str | None) -> None:
    """A time is brought into Kafka's form, one with an offset to UTC."""
    found = normal_time(text.encode())
    assert found == (normal.encode() if normal else None)


def test_kafkas_own_form_is_no_layout() -> None:
    """Nothing is learnt from Kafka's own lines, so that they are read as fast as ever; a few broken lines make no layout."""
    lines = [line.encode() for line in Logs("2.8.2", LOGS).files["broker-0-state-change.log"][:100]]

    assert learn(lines) is None
    assert learn([*lines, b"x " + lines[7]]) is None


def test_a_copy_of_a_log_is_left_out(tmp_path: Path) -> None:
    """A second copy of a log beside it is no second controller: it is left out, and named."""
    logs = Logs("2.8.2", tmp_path)
    logs.files["old-broker-2-state-change.log.bak"] = logs.files["broker-2-state-change.log"][:900]
    outcome = logs.validated()

    assert outcome.verdict == "holds"
    assert [Path(copy).name for copy, _ in outcome.copies] == ["old-broker-2-state-change.log.bak"]


# ---------------------------------------------------------------------------------------------------------------------
# Pipes and devices


def test_pipes_are_read_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Logs that come through pipes give the same verdict as files, and are called by the names of the pipes."""
    writers = []
    for path in sorted((LOGS / "2.8.2").iterdir()):
        fifo = tmp_path / path.name.removesuffix(".gz")
        os.mkfifo(fifo)
        writers.append(threading.Thread(target=fifo.write_bytes, args=(gzip.decompress(path.read_bytes()),), daemon=True))
        writers[-1].start()
    fifos = sorted(map(str, tmp_path.iterdir()))

    assert kafka_spec(["validate", "-q", "--format", "json", *fifos]) == 0
    assert all(f'"{name}"' in capsys.readouterr().out for name in fifos[:1])


def test_what_never_ends_or_never_comes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A device is refused by name, and so is a FIFO that nobody writes to, after a while."""
    monkeypatch.setattr(once, "PATIENCE", 0.1)
    os.mkfifo(tmp_path / "fifo")

    assert kafka_spec(["validate", "/dev/zero"]) == 2
    assert "/dev/zero: it is a device" in capsys.readouterr().err
    assert kafka_spec(["validate", str(tmp_path / "fifo")]) == 2
    assert f"{tmp_path / 'fifo'}: nothing" in capsys.readouterr().err


def test_a_fifo_in_a_folder_is_no_log(tmp_path: Path) -> None:
    """What is no regular file in a folder is not taken for a log."""
    os.mkfifo(tmp_path / "state-change.log")
    with pytest.raises(SpecError, match="no file in it"):
        find_sources([tmp_path])


# ---------------------------------------------------------------------------------------------------------------------
# What is shown of lines


def test_text_from_logs_is_plain_in_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Colours, bells and commands of CI runners that stand in a log reach no terminal."""
    logs = Logs("2.8.2", tmp_path)
    name, number = logs.find("Changed partition orders-0")
    logs.files[name][number] = "\x1b]0;title\x07\x1b[31mred ##[error]worse"
    logs.change("replica 0 for partition orders-1 from NewReplica to", "orders-1", "orders\x1b[31m-1")
    logs.validated()

    assert kafka_spec(["validate", str(tmp_path), "-q"]) in (1, 3)
    text = capsys.readouterr().out
    assert "could not be read" in text
    assert "\x1b" not in text and "\x07" not in text and "##[" not in text


def test_a_failed_election_is_listed_with_its_partition(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An election that failed is listed with topic, partition, line, and the guards of which one did not hold."""
    path = tmp_path / "state-change.log"
    change = "for partition __transaction_state-35 from OfflinePartition to OnlinePartition"
    failed = f"Controller 100 epoch 11 failed to change state {change}"
    path.write_text(f"[2024-02-12 18:04:34,242] ERROR [Controller id=100 epoch=11] {failed} (state.change.logger)\n")

    assert kafka_spec(["validate", str(path), "-q"]) == 3
    text = capsys.readouterr().out
    assert "OfflinePartition to OnlinePartition: one of no_newer_controller_wrote, a_leader_can_be_elected did not hold" in text
    assert f"__transaction_state-35: 1, first at {path}:1" in text


def test_the_log_of_a_kraft_controller_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The log of a quorum controller is no log of a ZooKeeper controller: the report says what it is and what to name instead."""
    path = tmp_path / "controller.log"
    fenced = "[QuorumController id=1000] Fencing broker 0 at epoch 9 because its session has timed out."
    path.write_text(f"[2025-07-08 18:09:24,746] INFO {fenced} (org.apache.kafka.controller.ReplicationControlManager:1700)\n")

    assert kafka_spec(["validate", str(path), "-q"]) == 3
    text = capsys.readouterr().out
    assert f"{path} is the log of a KRaft controller" in text
    assert "__cluster_metadata-0" in text
