"""`kafka-spec validate --replay` explains the logs of real Kafka as runs of the model, and nothing that was written into them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_spec.command import run as kafka_spec
from kafka_spec.conformance.validate.replay.explain import LARGEST
from kafka_spec.spec.control.bounds import LEADER_EPOCHS, VERSIONS

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
    steps = [(step["rule"], step["says"]) for step in partition["steps"] if step["rule"] in named]
    assert [rule for rule, _ in steps] == [rule for rule, _ in SESSION]
    assert all(who in says for (_, says), (_, who) in zip(steps, SESSION, strict=True))


def test_the_largest_numbers_are_those_of_the_model() -> None:
    """What is beyond the model's numbers is not tried: the limit is that of its domains."""
    assert LEADER_EPOCHS.high == VERSIONS.high == LARGEST


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--partition", "nowhere-0"], "no line is about partition nowhere-0"),
        (["--engine", "spark"], "leave --engine and --level out"),
        (["--output", "html:page.html"], "not as html"),
    ],
)
def test_misuse_is_told(options: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown partition, another engine and another format are refused with a reason."""
    assert kafka_spec(["validate", "--replay", str(LOGS / "2.8.2"), *options]) == 2
    assert says in capsys.readouterr().err
