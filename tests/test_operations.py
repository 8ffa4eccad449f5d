"""Operators in a running cluster: random operations by name, scripts, and what a run then promises."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Command

from kafka_spec.impl.log.log_config import LogConfig
from kafka_spec.impl.protocol.errors import ErrorCode, KafkaError
from kafka_spec.impl.run.operations import KRAFT_OPERATIONS, OPERATIONS, parse_operations
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.zookeeper.admin_tasks import read_targets
from kafka_spec.impl.run.zookeeper.admin_words import read_script
from kafka_spec.impl.run.zookeeper.simulation import simulate
from kafka_spec.spec.vocabulary.table import Spec, SpecError
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8
from kafka_spec.spec.zookeeper.fixed import FIXED


@pytest.mark.parametrize("era", [FIXED, ERA_2_8, ERA_0_10], ids=lambda era: era.name)
def test_operations_without_faults(era: Spec, tmp_path: Path) -> None:
    """Without faults every era keeps every promise, whatever operators do, and each operation of that era happens."""
    options = Options(brokers=4, partitions=3, seconds=20.0, seed=3, era=era, faults=(), operations=tuple(OPERATIONS))
    outcome = simulate(options, tmp_path, lambda _: None)
    assert (outcome.verdict.broken, outcome.errors, outcome.verdict.lost) == ([], (), [])
    assert set(outcome.operations) >= set(OPERATIONS) - ({"cancel"} if era is ERA_0_10 else set())


@pytest.mark.parametrize("seed", [7, 9, (12)])
def test_operations_with_faults(seed: int, tmp_path: Path) -> None:
    """With the usual faults, `fixed` keeps every promise under all operations."""
    options = Options(brokers=4, partitions=3, seconds=15.0, seed=seed, operations=tuple(OPERATIONS))
    outcome = simulate(options, tmp_path, lambda _: None)
    assert (outcome.verdict.broken, outcome.errors) == ([], ())
    assert sum(outcome.operations.values()) > 5


SCRIPT = """
# moves and topics, in any order
4    describe extra
0.5  create extra --assignment 0:1,1:2 --config segment.ms=5
1    reassign execute --move extra:0=2,1 --move orders:0=1,2
2.5  reassign verify --move extra:0=2,1
3    add-partitions extra 3 --assignment 0:1,1:2,2:0
3.5  configure extra --add min.insync.replicas=2 --delete segment.ms
4.5  elect preferred extra:0
5    elect unclean extra:0
6    delete extra
9    list
"""


def test_a_script(tmp_path: Path) -> None:
    """A script's commands run at their times, on the simulated cluster, and tell what they did."""
    news: list[str] = []
    options = Options(brokers=3, partitions=2, seconds=10.0, faults=(), script=tuple(read_script(SCRIPT)))
    outcome = simulate(options, tmp_path, lambda _: None, news.append)
    reported = [line.strip().partition("  ")[2].strip() for line in news]

    assert outcome.verdict.broken == []
    assert outcome.operations == {
        "create": 1, "reassign": 2, "add-partitions": 1, "configure": 1, "describe": 1, "elect": 2, "delete": 1, "list": 1
    }  # fmt: skip
    for line in (
        "Created topic extra.",
        "Reassignment of partition extra-0 is complete.",
        "Added partitions 2 to topic extra.",
        "Topic: extra\tPartition: 0\tLeader: 2\tReplicas: 2,1\tIsr: 1,2",
        "Valid replica already elected for partition extra-0",
        "Topic extra is marked for deletion.",
        "orders",
    ):
        assert any(line in one for one in reported), (line, reported)
    assert not [line for line in reported if line == "extra"]


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("soon delete orders", "script:1: 'soon' is not a time in seconds"),
        ("1 destroy orders", "script:1: .*invalid choice: 'destroy'"),
        ("\n2 delete", "script:2: .*required: topic"),
    ],
)
def test_scripts_that_are_refused(text: str, summary: str) -> None:
    """A malformed line is refused with its place, before anything runs."""
    with pytest.raises(SpecError, match=summary):
        read_script(text)


def test_names_of_operations() -> None:
    """Operations are named like faults; an unknown one is refused."""
    assert parse_operations("delete, reassign") == ("reassign", "delete")
    assert (parse_operations("none"), parse_operations("all")) == ((), tuple(OPERATIONS))
    assert parse_operations("all", KRAFT_OPERATIONS) == (*OPERATIONS, "move", "unregister")
    with pytest.raises(SpecError, match="operation 'move' is only for KRaft; known are reassign, cancel"):
        parse_operations("move")
    with pytest.raises(SpecError, match="operation 'moves' is unknown; known are reassign, cancel"):
        parse_operations("moves", KRAFT_OPERATIONS)


def test_files_of_reassignments() -> None:
    """A file of kafka-reassign-partitions.sh is read; duplicates and other texts are refused."""
    plan = {"version": 1, "partitions": [{"topic": "t", "partition": 0, "replicas": [3, 4], "log_dirs": ["any", "any"]}]}
    ((partition, target),) = read_targets(json.dumps(plan)).items()
    assert (str(partition), target) == ("t-0", (3, 4))
    twice = {"version": 1, "partitions": [*plan["partitions"], *plan["partitions"]]}  # type: ignore[misc]
    for text in ("", "[]", json.dumps(twice), json.dumps(plan).replace("[3, 4]", "[3, 3]")):
        with pytest.raises(KafkaError) as refused:
            read_targets(text)
        assert refused.value.code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_the_command_of_a_run(inside: Command, tmp_path: Path) -> None:
    """`run --operations --script` runs both, reports them, and names the line of a script that is wrong."""
    script = tmp_path / "script"
    script.write_text("1 create one --partitions 2 --replication-factor 2\n", encoding="utf-8")
    run = (
        "run",
        "--seconds",
        "5",
        "--faults",
        "none",
        "--partitions",
        "2",
        "-q",
        "--operations",
        "reassign",
        "--script",
        str(script),
    )
    done = inside(*run)
    assert (done.returncode, done.stderr) == (0, "")
    assert "  operations " in done.stdout
    assert "1 create" in done.stdout
    script.write_text("1 create\n", encoding="utf-8")
    refused = inside(*run)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"{script}:1: " in refused.stderr


def test_logs_are_configured(tmp_path: Path) -> None:
    """The configuration of logs reaches the brokers of a run: small segments are rolled."""
    options = Options(brokers=1, partitions=1, replication_factor=1, seconds=5.0, faults=(), log=LogConfig(segment_bytes=500))
    simulate(options, tmp_path, lambda _: None)
    assert len(list((tmp_path / "0" / "orders-0").glob("*.log"))) > 5
