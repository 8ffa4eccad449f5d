"""`kafka-spec validate --replay` explains the logs of real Kafka as runs of the model, and nothing that was written into them."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import pytest

from kafka_spec.command import run as kafka_spec
from kafka_spec.conformance.validate.files import find_sources
from kafka_spec.conformance.validate.replay import explain
from kafka_spec.conformance.validate.replay.explain import LARGEST, replay
from kafka_spec.conformance.validate.replay.model_steps import Model
from kafka_spec.conformance.validate.replay.report import plain_of, text_of
from kafka_spec.conformance.validate.replay.search import Explanation
from kafka_spec.impl.protocol.state_change_log import LogLevel, StateChangeLog
from kafka_spec.impl.zookeeper import cluster
from kafka_spec.spec.zookeeper.bounds import LEADER_EPOCHS, VERSIONS
from tests.test_validate import Logs

LOGS = Path(__file__).parent / "logs"

SESSION = [
    ("CreateTopic", ""),
    ("Crash", "broker 0"),
    ("Restart", "broker 0"),
    ("ShutDown", "broker 1"),
    ("Restart", "broker 1"),
    ("PreferredElection", "broker 2"),
    ("Crash", "broker 2"),
    ("Restart", "broker 2"),
    ("ShutDown", "broker 1"),
    ("Restart", "broker 1"),
    ("PreferredElection", "broker 2"),
    ("Crash", "broker 0"),
    ("Restart", "broker 0"),
    ("ExpireSession", "broker 2"),
    ("Crash", "broker 1"),
    ("Crash", "broker 2"),
    ("Restart", "broker 1"),
    ("Restart", "broker 2"),
    ("ExpireSession", "broker 0"),
    ("ShutDown", "broker 0"),
    ("ShutDown", "broker 1"),
]
"""What was done to the brokers of 2.8.2: kill -9, SIGTERM, a stop of 12 seconds, a deletion of /controller. No log names it."""


def replayed(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, object]]:
    """Return the exit code and the report."""
    code = kafka_spec(["validate", "--replay", "--format", "json", *options])
    return code, json.loads(capsys.readouterr().out)


def test_a_session_of_real_kafka_is_a_run_of_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    """All that five controllers and three brokers logged of a partition is explained, by the faults that were really done."""
    code, found = replayed(capsys, str(LOGS / "2.8.2"), "--partition", "orders-0")
    (partition,) = found["partitions"]  # type: ignore[misc]
    assert (code, partition["verdict"], partition["explained"]) == (0, "explained", partition["observations"])
    named = {name for name, _ in SESSION}
    steps = [(step["rule"], step["summary"]) for step in partition["steps"] if step["rule"] in named]
    assert [rule for rule, _ in steps] == [rule for rule, _ in SESSION]
    assert all(who in summary for (_, summary), (_, who) in zip(steps, SESSION, strict=True))


def test_the_largest_numbers_are_those_of_the_model() -> None:
    """What is beyond the model's numbers is not tried: the limit is that of its domains."""
    assert LEADER_EPOCHS.high == VERSIONS.high == LARGEST


@pytest.mark.parametrize(
    ("options", "summary"),
    [
        (["--partition", "nowhere-0"], "no line is about partition nowhere-0"),
        (["--engine", "spark"], "leave --engine and --level out"),
        (["--output", "html:page.html"], "not as html"),
    ],
)
def test_misuse_is_told(options: list[str], summary: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown partition, another engine and another format are refused with a reason."""
    assert kafka_spec(["validate", "--replay", str(LOGS / "2.8.2"), *options]) == 2
    assert summary in capsys.readouterr().err


OTHER_ORDER = {"2.8.2": {"doomed-0"}, "3.9.1": {"doomed-1"}}
"""Partitions whose replicas leave the ISR, in a deletion, in an order that the model has not."""


@pytest.mark.parametrize("version", ["2.8.2", "3.9.1"])
def test_all_partitions_are_explained(version: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Crashes, shutdowns, elections, zombies, deletions: nine partitions are explained, three of them not to their end."""
    code, found = replayed(capsys, str(LOGS / version))
    partitions = {one["partition"]: one for one in found["partitions"]}  # type: ignore[attr-defined]
    assert code == 3
    assert {one["verdict"] for one in partitions.values()} == {"explained"}
    cut = {name for name, one in partitions.items() if one["not tried"]}
    assert cut == {"moves-0", "moves-1", *OTHER_ORDER[version]}
    assert all(one["explained"] == one["observations"] for name, one in partitions.items() if name not in cut)


ELECTION = r"orders-0 from OnlinePartition to OnlinePartition with state LeaderAndIsr\(leader=2, leaderEpoch=2,"
REQUEST = r"Sending become-\w+ LeaderAndIsr request .*'orders', partitionIndex=0.*leaderEpoch=5, isr=\[0, 2\].*to broker 1"
ARRIVAL = r"Broker id=0\] Received LeaderAndIsr request .*'orders', partitionIndex=0.*leaderEpoch=5, isr=\[0, 2\]"


@pytest.mark.parametrize(
    ("pattern", "old", "new"),
    [
        (ELECTION, r"isr=List\(2, 0\)", "isr=List(2, 0, 1)"),
        (ELECTION, "leader=2,", "leader=1,"),
        (ELECTION, "leaderEpoch=2", "leaderEpoch=4"),
        (ELECTION, "zkVersion=3", "zkVersion=1"),
        (REQUEST, r"isr=\[0, 2\]", "isr=[0, 2, 1]"),
        (ARRIVAL, "leader=2", "leader=1"),
    ],
    ids=[
        "isr-nobody-asked-for",
        "leader-outside-isr",
        "epoch-skipped",
        "version-back",
        "request-with-another-isr",
        "another-arrives",
    ],
)
def test_a_line_that_is_written_in_is_what_nothing_explains(pattern: str, old: str, new: str, tmp_path: Path) -> None:
    """One number of one line is changed: the log is not explained, and the explained beginning ends at that line."""
    logs = Logs("2.8.2", tmp_path)
    written = logs.change(pattern, old, new)
    for name, lines in logs.files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    found = replay(*find_sources([tmp_path]), None, ["orders-0"])
    (partition,) = plain_of(found)["partitions"]
    assert (found.verdict, partition["verdict"]) == ("violated", "not explained")
    assert Path(partition["at"]).name == written
    assert f"nothing explains {tmp_path / written}" in text_of(found)


def test_a_search_that_gives_up_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing explains the log without unclean elections, and the search with them gives up: the log may still have a run."""
    logs = Logs("2.8.2", tmp_path)
    logs.change(ELECTION, "leaderEpoch=2", "leaderEpoch=4")
    for name, lines in logs.files.items():
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    search = explain._search
    models: list[Model] = []

    def search_the_second_model_briefly(model: Model, *given: Any) -> Explanation:
        models.append(model)
        return search(model, *given[:-1], given[-1] if model is models[0] else 10)

    monkeypatch.setattr(explain, "_search", search_the_second_model_briefly)
    found = replay(*find_sources([tmp_path]), None, ["orders-0"])
    found.violations.clear()  # the tables find the number that was changed
    assert (found.verdict, found.partitions[0].verdict) == ("inconclusive", "gave up")
    assert len(models) == 2 and models[0] is not models[1]


def own_log(tmp_path: Path) -> Path:
    """Return the state-change log of a run of the implementation under faults."""
    file = tmp_path / "state-change.log"
    assert kafka_spec(["run", "--era", "era_2_8", "--seed", "1", "-q", "--state-change-log", str(file)]) == 0
    return file


def test_a_run_of_the_implementation_is_a_run_of_the_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Crashes, bounces, expired sessions, shutdowns and elections: what the implementation logs at TRACE is explained."""
    monkeypatch.setattr(cluster, "StateChangeLog", functools.partial(StateChangeLog, level=LogLevel.TRACE))
    log = own_log(tmp_path)
    capsys.readouterr()
    code, found = replayed(capsys, str(log), "--partition", "orders-0", "--partition", "orders-1")
    assert code == 0
    assert all(one["explained"] == one["observations"] > 50 for one in found["partitions"])  # type: ignore[attr-defined]


def test_a_log_at_info_is_not_tried(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where most lines are missing, nothing is called explained, and nothing unexplained."""
    log = own_log(tmp_path)
    capsys.readouterr()
    code, found = replayed(capsys, str(log))
    assert code == 3
    assert {one["verdict"] for one in found["partitions"]} == {"not tried"}  # type: ignore[attr-defined]
    assert "logged at INFO" in found["partitions"][0]["why"]  # type: ignore[index]
