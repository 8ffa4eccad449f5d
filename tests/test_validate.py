"""`kafka-spec validate` checks logs of real Kafka against the tables, and finds each kind of violation written into one."""

from __future__ import annotations

import contextlib
import gc
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lxml import etree

from benchmarks.validate import generate
from kafka_spec.command import run as kafka_spec
from kafka_spec.conformance.outcome.violations import file_and_line
from kafka_spec.conformance.validate.embedded import run
from kafka_spec.conformance.validate.events import Cursor
from kafka_spec.conformance.validate.exchange import LIFE_BITS, Exchange
from kafka_spec.conformance.validate.files import CHUNK, chunks, find_sources
from kafka_spec.conformance.validate.findings import KINDS
from kafka_spec.conformance.validate.judgement import Hole, judgements, verdict_of
from kafka_spec.conformance.validate.outcome import Outcome, put_together
from kafka_spec.conformance.validate.page import page_of
from kafka_spec.conformance.validate.partitions import MOST_CLAIMS, PartitionCheck
from kafka_spec.conformance.validate.report import plain_of
from kafka_spec.conformance.validate.rows import EFFECTS, GUARDS
from kafka_spec.conformance.validate.states import TABLES, kafka_name
from kafka_spec.spec.vocabulary.table import name_of
from kafka_spec.spec.zookeeper.eras import SUITE

LOGS = Path(__file__).parent / "logs"
VERSIONS = ("2.8.2", "3.9.1")
Golden = Callable[[str, str], None]


def validated(*paths: Path, level: str = "auto", era: str | None = None) -> Outcome:
    """Return the outcome of some logs."""
    sources, files = find_sources(paths)
    return put_together(run(sources, era, True, lambda _: None), files, era, level)


class Logs:
    """The logs of one session, as lines that a test can change, in their own folder."""

    def __init__(self, version: str, folder: Path) -> None:
        self.folder = folder
        self.files: dict[str, list[str]] = {}
        for path in sorted((LOGS / version).iterdir()):
            with gzip.open(path, "rt") as file:
                self.files[path.name.removesuffix(".gz")] = file.read().splitlines()

    def find(self, pattern: str, after: int = -1, file: str = "state-change") -> tuple[str, int]:
        """Return the first line that matches, among the files of that kind."""
        for name, lines in self.files.items():
            if file in name:
                for number, line in enumerate(lines):
                    if number > after and re.search(pattern, line):
                        return name, number
        raise AssertionError(f"no line matches {pattern}")

    def change(self, pattern: str, old: str, new: str, file: str = "state-change") -> str:
        """Change the first line that matches; return FILE:LINE of it."""
        name, number = self.find(pattern, file=file)
        line = self.files[name][number]
        changed = re.sub(old, new, line, count=1)
        assert changed != line
        self.files[name][number] = changed
        return f"{name}:{number + 1}"

    def drop(self, pattern: str) -> str:
        """Leave the first line out that matches."""
        name, number = self.find(pattern)
        del self.files[name][number]
        return f"{name}:{number + 1}"

    def unsend(self, pattern: str) -> str:
        """Leave out the first request to a broker that matches, from its announcement too."""
        name, number = self.find(pattern)
        line = self.files[name].pop(number)
        broker = line.partition(" to broker ")[2].split()[0]
        role = "StopReplica" if "StopReplica" in line else line.partition("Sending ")[2].split()[0]
        announced = (
            rf"Sending StopReplica request for \d+ replicas to broker {broker} "
            if role == "StopReplica"
            else rf"to broker {broker} with"
        )
        at = next(at for at in range(number, len(self.files[name])) if re.search(announced, self.files[name][at]))
        counted = r"\d+(?= replicas)" if role == "StopReplica" else rf"\d+(?= {role})"
        self.files[name][at] = re.sub(counted, lambda count: str(int(count[0]) - 1), self.files[name][at], count=1)
        return f"{name}:{number + 1}"

    def unreceive(self, pattern: str) -> None:
        """Leave a partition out of the first LeaderAndIsr that matches, as if the broker had received it without."""
        name, number = self.find(pattern)
        lines = self.files[name]
        match = re.search(r"'(\w+)', partitionIndex=(\d+).* correlation id (\d+) ", lines[number])
        assert match
        partition, about = f"{match[1]}-{match[2]}", f"correlationId {match[3]} "
        first = max(
            at
            for at in range(number)
            if "Handling LeaderAndIsr" in lines[at] and about in lines[at] and "partitions (" in lines[at]
        )
        last = next(at for at in range(number, len(lines)) if "Finished LeaderAndIsr" in lines[at] and about in lines[at])
        for at in (first, last):
            lines[at] = re.sub(r"\d+(?= partitions \()", lambda count: str(int(count[0]) - 1), lines[at])
        kept = [line for line in lines[first:last] if f"{partition} " not in line and line != lines[number]]
        lines[first:last] = kept

    def validated(self, level: str = "auto") -> Outcome:
        for name, lines in self.files.items():
            (self.folder / name).write_text("\n".join(lines) + "\n")
        return validated(self.folder, level=level)


@pytest.fixture
def logs(tmp_path: Path) -> Logs:
    """Return the logs of 2.8.2."""
    return Logs("2.8.2", tmp_path)


# ---------------------------------------------------------------------------------------------------------------------
# Real logs


@pytest.mark.parametrize(("version", "transitions"), [("2.8.2", 321), ("3.9.1", 311)])
def test_logs_of_real_kafka_hold(
    version: str, transitions: int, golden: Golden, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every transition that real Kafka logged is a row of the table, there is no violation, and the report is unchanged."""
    monkeypatch.chdir(LOGS.parent)

    assert kafka_spec(["validate", f"logs/{version}", "-q"]) == 0
    text = capsys.readouterr().out
    golden(f"validate-{version}.txt", f"kafka-spec validate logs/{version}\n\n{text}")
    assert text.startswith(f"HOLDS: {transitions} transitions of 9 partitions")
    outcome = validated(LOGS / version)
    assert (outcome.transitions, outcome.broken, outcome.violations, outcome.unseen) == (transitions, 0, [], [])
    assert outcome.followed > 450


def test_the_book_shows_what_is_printed() -> None:
    """The transcript in the book is part of the command's output."""
    text = (LOGS.parent.parent / "docs" / "clusters" / "validate.md").read_text()
    printed = (LOGS.parent / "golden" / "validate-2.8.2.txt").read_text().splitlines()
    shown = text.partition("$ kafka-spec validate tests/logs/2.8.2 -q\n")[2].partition("```")[0].splitlines()

    assert len(shown) > 15
    assert {line for line in shown if line != "..."} <= set(printed)


def test_every_name_in_the_tables_is_known() -> None:
    """Every guard and effect of a table has a function for its evidence in a log, and every such function belongs to one."""
    rows = [row for tables in TABLES.values() for known in (tables.partition, tables.replica) for row in known.machine.rows]

    assert {name_of(effect) for row in rows for effect in row.effects} == set(EFFECTS)
    assert {name_of(guard) for row in rows for guard in row.looks} == set(GUARDS)


def test_every_bug_that_is_named_is_a_known_one() -> None:
    """The bugs that a report names are those of spec/zookeeper/cases/."""
    assert {bug for kind in KINDS.values() for bug in kind.bugs} <= {bug.name for bug in SUITE.expressed}


def test_names_of_states_are_those_of_kafka() -> None:
    """States are called in a log as in Kafka's own source."""
    replica = TABLES["2.8"].replica.machine

    assert [kafka_name(replica, state) for state in replica.states] == [
        "NonExistentReplica", "NewReplica", "OnlineReplica", "OfflineReplica",
        "ReplicaDeletionStarted", "ReplicaDeletionSuccessful", "ReplicaDeletionIneligible",
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Violations written into a real log


def illegal_transition(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change("replica 0 for partition orders-0 from NewReplica to", "to OnlineReplica", "to ReplicaDeletionStarted")


def discontinuity(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    logs.drop("Changed state of replica 0 for partition orders-0 from OnlineReplica to OfflineReplica")
    name, number = logs.find("Changed state of replica 0 for partition orders-0 from OfflineReplica")
    return f"{name}:{number + 1}"


def hidden_partition_transition(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    name, number = logs.find(r"epoch=1\] Changed partition orders-0 from OnlinePartition to OnlinePartition")
    logs.files[name][number] = logs.files[name][number].replace("from OnlinePartition", "from NewPartition")
    return f"{name}:{number + 1}"


def impossible_seed(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(r"epoch=2\] Changed state of replica 0 for partition orders-0 from", "from OnlineReplica", "from NewReplica")


def snapshot_differs(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(
        r"initial state -> HashMap\(\[Topic", r"(\[Topic=orders,Partition=0,Replica=1\]) -> \w+", r"\1 -> NewReplica", "controller"
    )


def leader_outside_isr(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change("from OnlinePartition to OnlinePartition with state", r"leader=\d", "leader=7")


def empty_isr(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change("from OnlinePartition to OnlinePartition with state", r"isr=List\([^)]*\)", "isr=List()")


def wrong_creation(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change("orders-1 from NewPartition to OnlinePartition", "leaderEpoch=0", "leaderEpoch=3")


def wrong_first_leader(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change("orders-1 from NewPartition to OnlinePartition", "leader=0", "leader=1")


def leader_epoch_back(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change("orders-0 from OnlinePartition to OnlinePartition with", r"leaderEpoch=\d+", "leaderEpoch=1")


def leader_epoch_back_between_controllers(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    for name, lines in logs.files.items():
        logs.files[name] = [
            re.sub(r"leaderEpoch=\d+", "leaderEpoch=0", line) if "epoch=2] Sending become" in line else line for line in lines
        ]
    name, number = logs.find(r"epoch=2\] Sending become")
    return f"{name}:{number + 1}"


def version_back(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change("orders-0 from OnlinePartition to OnlinePartition with", r"zkVersion=\d+", "zkVersion=1")


def wrong_removal(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change("orders-0 state changed to .* after removing replica 0", r"ISR:1,2,", "ISR:1,2,0,")


def two_leaders(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(
        "Broker id=0.* Cached leader info .*leader=1, leaderEpoch=1, .* for partition orders-0", "leader=1", "leader=2"
    )


def two_contents(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(
        r"Broker id=0.* Cached leader info .*leaderEpoch=1, .* for partition orders-0", r"isr=\[1, 2\]", "isr=[1, 2, 0]"
    )


def isr_outside_replicas(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(
        r"epoch=1\] Sending become-leader LeaderAndIsr .*leaderEpoch=1, .* for partition orders-0", r"isr=\[1, 2\]", "isr=[1, 2, 7]"
    )


def surplus_stop(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(r"Sending StopReplica request .*leaderEpoch=[1-9].* for partition orders-", "=false", "=true")


def another_stop_arrives(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(r"Received StopReplica request .*deletePartition=false.* for partition orders-", "=false", "=true")


def another_field_arrives(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(r"Broker id=1.* Received LeaderAndIsr request .*isNew=true", "isNew=true", "isNew=false")


def starts_as_it_was_not_told(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(r"Broker id=2.* Leader orders-\d starts at leader epoch [1-9]", r"ISR \[\d,", "ISR [")


def two_controllers(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    name, number = logs.find(r"Controller id=1 epoch=2\] Changed state of replica 2 for partition orders-1")
    logs.files[name][number] = logs.files[name][number].replace("Controller id=1", "Controller id=0")
    return f"{name}:{number + 1}"


def missing_request_after_election(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    logs.unsend(r"epoch=1\] Sending become-leader LeaderAndIsr .*leader=2, leaderEpoch=2,.* to broker 2 for partition orders-0")
    name, number = logs.find("Changed partition orders-0 from OnlinePartition to OnlinePartition .*leader=2, leaderEpoch=2")
    return f"{name}:{number + 1}"


def missing_request_after_removal(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    logs.unsend(r"Sending become-follower LeaderAndIsr .* leaderEpoch=1, isr=\[1, 2\],.* to broker 2 for partition orders-0")
    name, number = logs.find("Changed state of replica 0 for partition orders-0 from OnlineReplica to OfflineReplica")
    return f"{name}:{number + 1}"


def missing_stop(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    logs.unsend("Sending StopReplica request .*deletePartition=true.* to broker 0 for partition moves-0")
    name, number = logs.find("replica 0 for partition moves-0 from OfflineReplica to ReplicaDeletionStarted")
    return f"{name}:{number + 1}"


def request_without_row(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    name, number = logs.find(r"epoch=1\] Sending become-follower .* to broker 0 for partition orders-0")
    lines = logs.files[name]
    reported = lines[number]
    flushes = [at for at, line in enumerate(lines) if "epoch=1] Sending UpdateMetadata request to brokers HashSet(0, 1, 2)" in line]
    announced = lines[logs.find(r"epoch=1\] Sending LeaderAndIsr request to broker 0 with")[1]]
    announced = re.sub(r"with \d+ become-leader and \d+", "with 0 become-leader and 1", announced)
    lines[flushes[-1] + 1 : flushes[-1] + 1] = [reported, announced, lines[flushes[0]]]
    return f"{name}:{flushes[-1] + 2}"


def request_lost(logs: Logs) -> str:
    """Remove the second LeaderAndIsr for orders-0 that broker 1 received under epoch 1, amid others on the same channel."""
    pattern = r"Broker id=1.* Received LeaderAndIsr request .*'orders', partitionIndex=0, controllerEpoch=1, .*leaderEpoch=1, "
    with contextlib.suppress(AssertionError):  # all that match
        while True:
            logs.unreceive(pattern)
    name, number = logs.find(r"epoch=1\] Sending become-leader .*leaderEpoch=1, .* to broker 1 for partition orders-0")
    return f"{name}:{number + 1}"


def request_never_sent(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(
        "Broker id=1.* Received LeaderAndIsr request .*'orders', partitionIndex=0, .*leaderEpoch=1, ", r"isr=\[[^]]*\]", "isr=[1]"
    )


def metadata_never_sent(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(r"Broker id=1.* Add 3 partitions and deleted 0 partitions", "Add 3", "Add 77")


def stale_metadata_accepted(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(r"Broker id=0.* Add \d+ partitions .* epoch 3 ", "epoch 3", "epoch 2")


def stale_leader_and_isr_accepted(logs: Logs) -> str:
    """A request of epoch 2 arrives in epoch 3, and is acted upon."""
    name, first = logs.find(r"Broker id=0.* Received LeaderAndIsr .* epoch 3 ")
    lines = logs.files[name]
    acted = next(at for at in range(first + 20, len(lines)) if "starting the become" in lines[at])
    correlation = re.search(r"correlationId (\d+) ", lines[acted])
    assert correlation
    for at in range(first, acted):
        if f"correlation id {correlation[1]} from controller 2 epoch 3 " in lines[at]:
            lines[at] = lines[at].replace(" epoch 3 ", " epoch 2 ")
    return f"{name}:{acted + 1}"


def stale_leader_epoch_accepted(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(
        r"Leader orders-\d starts at leader epoch .*Previous leader epoch was [1-9]", r"epoch was \d+", "epoch was 99"
    )


def stale_leader_epoch_after_another(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    name, number = logs.find(r"Broker id=2.* Leader orders-\d starts at leader epoch [5-9]")
    lines = logs.files[name]
    lines[number] = re.sub(r"starts at leader epoch \d+", "starts at leader epoch 1", lines[number])
    lines[number] = re.sub(r"Previous leader epoch was -?\d+", "Previous leader epoch was -1", lines[number])
    return f"{name}:{number + 1}"


def stale_stop_accepted(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    logs.drop("Ignoring StopReplica request")
    pattern = r"Received StopReplica request .*leaderEpoch=[1-9].* for partition"
    return logs.change(pattern, r"leaderEpoch=\d+", "leaderEpoch=0")


def wrong_refusal(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    return logs.change(
        r"Broker id=0.* Ignoring LeaderAndIsr .* matches the current", r"leader epoch \d+ matches the current leader epoch",
        "leader epoch 50 is smaller than the current leader epoch 4",
    )  # fmt: skip


def metadata_back(logs: Logs) -> str:
    """Write it; return FILE:LINE."""
    name, number = logs.find(r"Broker id=0.* Cached leader info .*leaderEpoch=[2-9], .* for partition orders-0 .* epoch 3 ")
    number = logs.find(r"Broker id=0.* Cached leader info .* for partition orders-0 .* epoch 3 ", number)[1]
    logs.files[name][number] = re.sub(r"leaderEpoch=\d+", "leaderEpoch=1", logs.files[name][number])
    return f"{name}:{number + 1}"


WRITTEN = [
    ("illegal-transition", illegal_transition),
    ("discontinuity", discontinuity),
    ("discontinuity", hidden_partition_transition),
    ("impossible-seed", impossible_seed),
    ("snapshot-differs", snapshot_differs),
    ("leader-outside-isr", leader_outside_isr),
    ("empty-isr", empty_isr),
    ("wrong-creation", wrong_creation),
    ("wrong-creation", wrong_first_leader),
    ("leader-epoch-back", leader_epoch_back),
    ("leader-epoch-back", leader_epoch_back_between_controllers),
    ("version-back", version_back),
    ("wrong-removal", wrong_removal),
    ("two-leaders", two_leaders),
    ("two-contents", two_contents),
    ("isr-outside-replicas", isr_outside_replicas),
    ("request-without-row", surplus_stop),
    ("request-never-sent", another_stop_arrives),
    ("request-never-sent", another_field_arrives),
    ("told-otherwise", starts_as_it_was_not_told),
    ("two-controllers", two_controllers),
    ("missing-request", missing_request_after_election),
    ("missing-request", missing_request_after_removal),
    ("missing-request", missing_stop),
    ("request-without-row", request_without_row),
    ("request-lost", request_lost),
    ("request-never-sent", request_never_sent),
    ("request-never-sent", metadata_never_sent),
    ("stale-controller-accepted", stale_metadata_accepted),
    ("stale-controller-accepted", stale_leader_and_isr_accepted),
    ("stale-leader-epoch-accepted", stale_leader_epoch_accepted),
    ("stale-leader-epoch-accepted", stale_leader_epoch_after_another),
    ("stale-stop-accepted", stale_stop_accepted),
    ("wrong-refusal", wrong_refusal),
    ("metadata-back", metadata_back),
]


@pytest.mark.parametrize(("kind", "write"), WRITTEN, ids=[write.__name__ for _, write in WRITTEN])
def test_a_violation_written_into_a_real_log_is_found(kind: str, write: Callable[[Logs], str], logs: Logs) -> None:
    """A violation of each kind is found, on its line, and the verdict is violated."""
    place = write(logs)
    outcome = logs.validated()

    assert outcome.verdict == "violated"
    assert place in [Path(outcome.at(one.place)).name for one in outcome.violations if one.kind == kind]


def test_every_kind_is_written_once() -> None:
    """Every kind of violation is found in some test."""
    assert {kind for kind, _ in WRITTEN} == set(KINDS)


# ---------------------------------------------------------------------------------------------------------------------
# Logs at INFO, and logs of which something is missing


def at_info(logs: Logs) -> Logs:
    """Leave all out that Kafka does not log at INFO."""
    for name, lines in logs.files.items():
        logs.files[name] = [line for line in lines if "] TRACE [" not in line and "] DEBUG [" not in line]
    return logs


def test_a_log_at_info_is_inconclusive_unless_asked_for(logs: Logs) -> None:
    """A log at INFO has no violation, the report says what is missing, and the verdict is *holds* only if that was accepted."""
    outcome = at_info(logs).validated()

    assert (outcome.verdict, outcome.transitions, outcome.violations) == ("inconclusive", 51, [])
    assert "at INFO" in outcome.unseen[0]
    assert logs.validated(level="info").verdict == "holds"


@pytest.mark.parametrize("kind", ["leader-outside-isr", "leader-epoch-back", "wrong-creation", "stale-leader-epoch-accepted"])
def test_what_info_shows_is_checked_there(kind: str, logs: Logs) -> None:
    """Leadership and the brokers' gates are checked at INFO too."""
    place = dict(reversed(WRITTEN))[kind](logs)
    name, number = place.split(":")
    line = logs.files[name][int(number) - 1]
    at_info(logs)

    found = [one for one in logs.validated(level="info").violations if one.kind == kind]
    assert [line] == [logs.files[name][file_and_line(one.place)[1] - 1] for one in found]


def test_files_of_one_broker_alone_are_no_violation(logs: Logs) -> None:
    """A log without its counterparts is checked by itself, and the report says which requests could not be followed."""
    logs.files = {name: lines for name, lines in logs.files.items() if name == "broker-2-state-change.log"}
    outcome = logs.validated()

    assert (outcome.verdict, outcome.violations) == ("inconclusive", [])
    assert any(text.startswith("broker 0, 1: its log is not here") for text in outcome.unseen)
    assert "controller epoch 2, 4: its controller's log is not here" in outcome.unseen
    judged = {one.kind: one.state for one in outcome.judged}
    assert (judged["illegal-transition"], judged["stale-stop-accepted"]) == ("not judged", "not judged")


def test_a_log_that_begins_in_an_epoch_is_no_violation(logs: Logs) -> None:
    """If the beginning of an epoch was rotated away, missing lines are no violation."""
    name = "broker-2-state-change.log"
    logs.files[name] = logs.files[name][620:]
    outcome = logs.validated()

    assert (outcome.verdict, outcome.violations) == ("inconclusive", [])
    assert any("its beginning is not in the log" in text for text in outcome.open_reasons)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("file", ["broker-0-state-change.log", "broker-2-state-change.log"])
def test_what_spans_a_line_that_cannot_be_read_is_not_judged(version: str, file: str, tmp_path: Path) -> None:
    """One line is cut: nothing is a violation for that, and the verdict is inconclusive, wherever the line stands."""
    logs = Logs(version, tmp_path)
    whole = logs.files[file]
    at = [number for number, line in enumerate(whole) if line.startswith("[")]
    for number in at[:: len(at) // 12]:
        logs.files[file] = [*whole[:number], whole[number][:70], *whole[number + 1 :]]
        outcome = logs.validated()

        assert (outcome.verdict, outcome.violations, outcome.broken) == ("inconclusive", [], 1)
        assert all(one.state != "judged" for one in outcome.judged)
        assert f"1 line could not be read, the first at {tmp_path / file}:{number + 1}" in outcome.open_reasons[0]


def test_a_violation_in_a_line_that_cannot_be_read_is_not_denied(logs: Logs) -> None:
    """Where the line that shows a violation cannot be read, nothing is said to hold."""
    illegal_transition(logs)
    logs.change("replica 0 for partition orders-0 from NewReplica to ReplicaDeletionStarted", r"\] TRACE \[", "] TRACE <")

    assert logs.validated().verdict == "inconclusive"


def test_an_excerpt_without_a_transition_is_inconclusive(logs: Logs, capsys: pytest.CaptureFixture[str]) -> None:
    """An excerpt of requests and receipts in the middle of an epoch holds nothing: the command ends with 3 and says why."""
    name, number = logs.find(r"epoch=1\] Sending become-follower .* to broker 0 for partition orders-0")
    logs.files = {name: [line.replace("epoch=1]", "epoch=3]") for line in logs.files[name][number : number + 12]]}
    outcome = logs.validated()

    assert (outcome.verdict, outcome.transitions) == ("inconclusive", 0)
    assert kafka_spec(["validate", str(logs.folder), "-q"]) == 3
    text = capsys.readouterr().out
    assert "no transition of a partition or replica is in the logs\n      illegal-transition, discontinuity" in text


def test_a_verdict_is_that_of_all_properties_that_were_asked_for() -> None:
    """Without a hole all are judged; each need that is not met takes those from the verdict that have it, and only those."""
    assert verdict_of(judgements([], [], frozenset())) == "holds"
    needs = {need for kind in KINDS.values() for need in kind.needs}
    for need in needs:
        judged = judgements([], [Hole(need, "a reason")], frozenset())
        assert {one.kind for one in judged if one.state == "not judged"} == {k for k, kind in KINDS.items() if need in kind.needs}
        assert verdict_of(judged) == "inconclusive"
        asked_for_less = judgements([], [Hole(need, "a reason")], frozenset((need,)))
        assert verdict_of(asked_for_less) == ("inconclusive" if need == "read" else "holds")
    assert verdict_of(judgements([], [], frozenset(needs))) == "inconclusive"


def test_an_unfinished_deletion_is_told(logs: Logs) -> None:
    """A log that ends in a deletion is inconclusive, and the report names topic and replicas."""
    for name, lines in logs.files.items():
        logs.files[name] = [line for line in lines if line[:25] < "[2026-11-22 00:14:33,300]"]
    outcome = logs.validated()

    assert (outcome.verdict, outcome.violations) == ("inconclusive", [])
    assert ("moves", "its deletion was started and not completed") in [one[:2] for one in outcome.unfinished]
    assert ("moves-0", "replica 0 is left in ReplicaDeletionStarted") in [one[:2] for one in outcome.unfinished]


def test_an_unfinished_reassignment_is_told(logs: Logs) -> None:
    """A log that ends in a reassignment is inconclusive, and the report names the partition."""
    for name, lines in logs.files.items():
        logs.files[name] = [line for line in lines if line[:25] < "[2026-11-22 00:14:30,900]"]
    outcome = logs.validated()

    assert (outcome.verdict, outcome.violations) == ("inconclusive", [])
    assert ("moves-1", "it is being reassigned") in [one[:2] for one in outcome.unfinished]


def test_rotated_and_compressed_files_are_one_log(tmp_path: Path) -> None:
    """A log in parts, with any names and compression, gives the same outcome as one file."""
    logs = Logs("3.9.1", tmp_path)
    for name, lines in logs.files.items():
        third = len(lines) // 3
        parts = {".2026-11-22-00.gz": lines[:third], ".2026-11-22-01": lines[third : 2 * third], "": lines[2 * third :]}
        for suffix, part in parts.items():
            with (gzip.open if suffix.endswith("gz") else open)(tmp_path / (name + suffix), "wt") as file:
                file.write("\n".join(part) + "\n")
    apart, whole = validated(tmp_path), validated(LOGS / "3.9.1")

    assert (apart.sources, len(apart.files)) == (6, 18)
    assert (apart.rows, apart.violations, apart.followed, apart.lines) == (whole.rows, [], whole.followed, whole.lines)


def test_a_damaged_file_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    """A truncated compressed file is reported, and the verdict is inconclusive."""
    for path in (LOGS / "2.8.2").iterdir():
        data = path.read_bytes()
        (tmp_path / path.name).write_bytes(data[: len(data) // 2] if path.name == "broker-0-state-change.log.gz" else data)
    outcome = validated(tmp_path)

    assert [outcome.files[file] for file in outcome.broke_off] == [str(tmp_path / "broker-0-state-change.log.gz")]
    assert f"{outcome.files[outcome.broke_off[0]]} is damaged, and could not be read to its end" in outcome.open_reasons


# ---------------------------------------------------------------------------------------------------------------------
# The lines of 0.10


OLD = (LOGS / "0.10" / "state-change.log").read_text()
"""Made by hand, in the formats of the source of 0.10.2."""


def old_log(folder: Path, text: str = OLD) -> Path:
    """Return a log of 0.10."""
    path = folder / "state-change.log"
    path.write_text(text)
    return path


def test_lines_of_0_10(tmp_path: Path) -> None:
    """The lines of 0.10 are read, its table has thirteen pairs, and a pair that it forbids is a refused attempt.

    The log ends before the last request arrives, so it is inconclusive.
    """
    outcome = validated(old_log(tmp_path))

    assert (outcome.verdict, outcome.violations, outcome.broken, outcome.continued) == ("inconclusive", [], 0, 2)
    assert outcome.open_reasons == ["broker 2: requests were sent to it after the last one that its log shows"]
    assert (outcome.tables.era, outcome.transitions, outcome.followed) == ("0.10", 8, 2)
    (refusal,) = outcome.refusals
    assert (refusal.machine, refusal.legal) == ("Replica", False)
    assert [partition.name for partition in outcome.partitions] == ["orders-3"]


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("illegal-transition", "from OnlineReplica to OfflineReplica", "from OnlineReplica to ReplicaDeletionIneligible"),
        ("discontinuity", "orders,3] from NewReplica to OnlineReplica", "orders,3] from OfflineReplica to OnlineReplica"),
        ("leader-outside-isr", "Leader:2,ISR:2,LeaderEpoch:1", "Leader:2,ISR:1,LeaderEpoch:1"),
        ("leader-epoch-back", "LeaderEpoch:0,ControllerEpoch:1) to broker 1", "LeaderEpoch:9,ControllerEpoch:1) to broker 1"),
        ("two-controllers", "correlation id 1 from controller 5", "correlation id 1 from controller 6"),
        ("wrong-refusal", "epoch 1 is not higher than", "epoch 7 is not higher than"),
    ],
)
def test_violations_in_lines_of_0_10(kind: str, old: str, new: str, tmp_path: Path) -> None:
    """Violations are found in the lines of 0.10 too."""
    assert old in OLD
    assert kind in [one.kind for one in validated(old_log(tmp_path, OLD.replace(old, new))).violations]


def test_the_pair_that_0_10_lacks(tmp_path: Path) -> None:
    """Offline to ReplicaDeletionIneligible is illegal in a log of 0.10, and legal with the table of 2.8."""
    pair = "from OfflineReplica to ReplicaDeletionIneligible"
    refused = f"initiated state change of replica 1 for partition [orders,3] {pair} failed"
    path = old_log(tmp_path, OLD.replace(refused, f"changed state of replica 1 for partition [orders,3] {pair}"))

    assert [one.kind for one in validated(path).violations] == ["illegal-transition"]
    assert validated(path, era="2.8").violations == []


# ---------------------------------------------------------------------------------------------------------------------
# Lines that are broken, cut or interleaved


WHOLE = Logs("2.8.2", Path("/")).files["broker-0-state-change.log"][:120]


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_cut_and_interleaved_lines_are_counted(data: st.DataObject, tmp_path: Path) -> None:
    """If lines are cut and interleaved in any way, nothing crashes, and each cut line is counted as broken."""
    lines: list[str] = []
    broken = 0
    position = 0
    while position < len(WHOLE):
        line = WHOLE[position]
        cut = data.draw(st.integers(1, len(line) - 1)) if line.startswith("[") and data.draw(st.integers(0, 9)) == 0 else 0
        position += 1
        if cut:
            broken += 1
            joined = data.draw(st.booleans()) and position < len(WHOLE)
            lines += [line[:cut] + WHOLE[position], line[cut:]] if joined else [line[:cut], line[cut:]]
            position += joined
        else:
            lines.append(line)
    path = tmp_path / "state-change.log"
    path.write_text("\n".join(lines))
    outcome = validated(path)

    assert outcome.broken >= broken
    assert outcome.lines == len(lines)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=400), line=st.integers(0, 119), cut=st.integers(0, 400))
def test_bytes_of_any_kind_are_no_error(data: bytes, line: int, cut: int, tmp_path: Path) -> None:
    """A log may contain any bytes, alone and within a line."""
    path = tmp_path / "state-change.log"
    text = WHOLE[line].encode()
    path.write_bytes(data + b"\n" + text[:cut] + data + text[cut:])

    assert validated(path).lines >= 1


@pytest.mark.parametrize(
    ("pattern", "old", "new"),
    [
        (r"Broker id=1.* Cached leader info", " for partition orders-", " for partition orders in response to orders-"),
        (r"Broker id=1.* Cached leader info", r" for partition \S+ in", " for partition  in"),
        (r"Sending become-leader", "become-leader", "become-leafer"),
        (r"Sending become-leader", "become-leader", "become-leader x"),
        (r"Received LeaderAndIsr request", "LeaderAndIsr request", "LeaderAndIsr  request"),
        (r"Broker id=1.* Add \d", r"^\[2026-11-22", "[2026-11-2x"),
    ],
)
def test_words_within_a_line_that_do_not_belong_there_are_counted(pattern: str, old: str, new: str, logs: Logs) -> None:
    """A line that begins and ends as usual is still broken where its middle is not Kafka's."""
    logs.change(pattern, old, new)
    assert logs.validated().broken == 1


@pytest.mark.parametrize(
    "spoil", [lambda line: line[:40] + line, lambda line: line[:-9], lambda line: line[3:], lambda line: line + " "]
)
def test_one_spoiled_line_among_clean_ones_is_counted(spoil: Callable[[str], str], tmp_path: Path) -> None:
    """A chunk with only clean lines is read without a check of each line; a single unclean line is still counted."""
    clean = [line for line in WHOLE if line.endswith("(state.change.logger)")]
    path = tmp_path / "state-change.log"
    for lines, broken in ((clean, 0), ([*clean[:50], spoil(clean[50]), *clean[51:]], 1)):
        path.write_text("\n".join(lines) + "\n")
        (chunk,) = chunks(find_sources([path])[0][0])

        assert chunk.clean == (broken == 0)
        assert validated(path).broken == broken


def test_numbers_that_are_too_large_are_no_error(tmp_path: Path) -> None:
    """A number of thousands of digits, which Python refuses to read, is a broken line."""
    path = tmp_path / "state-change.log"
    path.write_text(
        WHOLE[1].replace("partitionIndex=0", "partitionIndex=" + "9" * 9000).replace("leader=1", "leader=" + "9" * 9000)
    )

    assert validated(path).broken == 1


def test_a_file_without_line_breaks_is_read_in_parts(tmp_path: Path) -> None:
    """A line of many megabytes does not fill the memory."""
    path = tmp_path / "state-change.log"
    path.write_bytes(b"x" * (8 * CHUNK))
    outcome = validated(path)

    assert 0 < outcome.broken <= 4
    assert outcome.verdict == "inconclusive"


# ---------------------------------------------------------------------------------------------------------------------
# The command


def test_exit_codes(logs: Logs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The exit code is 1 for a violation, 2 for misuse, and 3 for incomplete logs."""
    illegal_transition(logs)
    logs.validated()

    assert kafka_spec(["validate", str(tmp_path), "-q"]) == 1
    assert kafka_spec(["validate", str(tmp_path / "nothing")]) == 2
    (tmp_path / "empty").mkdir()
    assert kafka_spec(["validate", str(tmp_path / "empty")]) == 2
    (tmp_path / "empty" / "state-change.log").write_text("")
    assert kafka_spec(["validate", str(tmp_path / "empty")]) == 3
    assert "no controller's state-change log is among the files" in capsys.readouterr().out


def test_json_and_junit(logs: Logs, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON and JUnit name each violation with file and line."""
    place = illegal_transition(logs)
    logs.validated()
    junit = tmp_path / "junit.xml"

    assert kafka_spec(["validate", str(tmp_path), "-q", "--format", "json", "--output", f"junit:{junit}"]) == 1
    plain = json.loads(capsys.readouterr().out)
    illegal = [one for one in plain["violations"] if one["kind"] == "illegal-transition"]
    assert [Path(one["at"]).name for one in illegal] == [place]
    assert (
        sum(row["seen"] for row in plain["rows"]) + plain["violations"][0]["summary"].count("may be entered")
        <= plain["transitions"]
    )
    root = etree.fromstring(junit.read_bytes())
    etree.XMLSchema(etree.parse(str(Path(__file__).parent / "schemas" / "junit.xsd"))).assertValid(root)
    (failure,) = [case for case in root.iter("testcase") if case.get("name") == "illegal-transition"]
    assert place in failure[0].text


def test_a_page_of_next_to_nothing(tmp_path: Path) -> None:
    """A page can be made from logs without any leadership, and without any line."""
    (tmp_path / "state-change.log").write_text("")

    assert "INCONCLUSIVE" in page_of(validated(tmp_path))
    assert "orders-3" in page_of(validated(LOGS / "0.10"))


def test_page(logs: Logs, tmp_path: Path) -> None:
    """The page has a lane for each partition and for the controllers, and each violation with its line."""
    place = leader_outside_isr(logs)
    logs.validated()
    page = tmp_path / "page.html"

    assert kafka_spec(["validate", str(tmp_path), "-q", "--format", "html", "--output", str(page)]) == 1
    text = page.read_text()
    assert text.count('<details class="partition">') == 9
    assert f"{place}</code>" in text
    assert "leader-outside-isr" in text
    assert "KAFKA-708" in text
    assert "http:" not in text and "https:" not in text
    assert [epoch in text for epoch in ("broker 1, epoch 2", "broker 0, epoch 4")] == [True, True]


# ---------------------------------------------------------------------------------------------------------------------
# Many lines


def test_violations_in_a_synthetic_log_are_all_found(tmp_path: Path) -> None:
    """Each violation, of each kind, written into the logs of a synthetic cluster is found on its line, and no other."""
    (tmp_path / "good").mkdir()
    (tmp_path / "bad").mkdir()
    generate(tmp_path / "good", 6_000, 60)
    written = generate(tmp_path / "bad", 12_000, 60, violations=42)

    assert validated(tmp_path / "good").verdict == "holds"
    assert {kind for kind, _ in written} == set(KINDS)
    outcome = validated(tmp_path / "bad")
    assert sorted((one.kind, outcome.at(one.place)) for one in outcome.violations) == sorted(written)


def test_two_leaders_are_found_however_far_apart_their_lines_are() -> None:
    """Of old leader epochs only the leader is kept; another one is still a violation, and the same one is none."""
    check = PartitionCheck("orders-0", Cursor(), None, False)
    for leader_epoch in range(3 * MOST_CLAIMS):
        check.leads(1, leader_epoch, leader_epoch % 3)
    check.cursor.place = 77
    check.leads(1, 4, 1)
    check.leads(1, 5, 0)

    (found,) = check.finish().violations
    assert (found.kind, found.place, found.summary) == ("two-leaders", 77, "brokers 0, 2 lead in leader epoch 5")


def test_garbage_in_circles_is_collected_again_after_a_run(tmp_path: Path) -> None:
    """Reading switches Python's search for circles off, and restores what was there, after an error too."""
    generate(tmp_path, 10, 2)
    sources, _ = find_sources([tmp_path])

    def refuse(_: int) -> None:
        assert not gc.isenabled()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(sources, None, False, refuse)
    assert gc.isenabled()


@pytest.mark.long
def test_spark_agrees(tmp_path: Path) -> None:
    """The engine on Spark has the same outcome on real logs, with and without violations, and on synthetic logs."""
    from kafka_spec.conformance.validate.spark import run as on_spark
    from kafka_spec.model_check.spark.cluster import temporary_session

    bad = tmp_path / "bad"
    bad.mkdir()
    logs = Logs("2.8.2", bad)
    for _, write in WRITTEN:
        with contextlib.suppress(AssertionError):  # a line that another has changed
            write(logs)
    assert len(logs.validated().violations) > 20
    synthetic = tmp_path / "synthetic"
    synthetic.mkdir()
    generate(synthetic, 12_000, 60, violations=42)
    with temporary_session("local[2]", tmp_path) as spark:
        for folder in (LOGS / "2.8.2", LOGS / "3.9.1", LOGS / "0.10", bad, synthetic):
            sources, files = find_sources([folder])
            outcome = put_together(on_spark(sources, None, True, "", spark), files, None, "auto")
            expected = validated(folder)
            assert plain_of(outcome) == plain_of(expected)
            assert page_of(outcome) == page_of(expected)


@pytest.mark.long
def test_spark_leaves_no_process_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that the engine on Spark has started ends with its Java process."""
    from kafka_spec.conformance.validate import spark
    from kafka_spec.model_check.spark import cluster

    launched: list[Any] = []

    def launch(*settings: Any) -> Any:
        """Start Java, and note its process."""
        gateway = launch_gateway(*settings)
        launched.append(gateway.proc)
        return gateway

    launch_gateway = cluster.launch_gateway
    monkeypatch.setattr(cluster, "launch_gateway", launch)
    generate(tmp_path, 600, 3)
    sources, files = find_sources([tmp_path])
    outcome = put_together(spark.run(sources, None, True, "local[1]"), files, None, "auto")

    assert plain_of(outcome) == plain_of(validated(tmp_path))
    assert [java.poll() is not None for java in launched] == [True]


@pytest.mark.parametrize(
    ("channel", "sent", "lost"),
    [(1, ["all", "some", "all", "some", "more"], []), (0, ["all", "some", "other", "more"], [("other", True)])],
)
def test_another_channel_repeats_nothing(channel: int, sent: list[str], lost: list[tuple[str, bool]]) -> None:
    """A broker that restarts is sent what it had got before: the same request on a new channel is another one, and none is lost.

    On one channel it is the same once more, since its answer was lost. The broker's log may be read before the controller's.
    """
    found: list[tuple[Any, bool]] = []
    exchange = Exchange(lambda place, when, request, was_lost: found.append((request, was_lost)))
    for number, request in enumerate(["all", "all", "some", "more"]):
        life = channel if number else 0
        exchange.receive(request, (life << LIFE_BITS) + number, number, b"")
    for place, request in enumerate(sent):
        exchange.send(request, place, b"")
    exchange.finish()
    assert found == lost


@pytest.mark.parametrize(("repeated", "lost"), [("second", []), ("other", [("other", True)])])
def test_what_a_stopping_broker_was_not_told(repeated: str, lost: list[tuple[str, bool]]) -> None:
    """A request is lost with a broker that stops, and the same one is sent when it is back: nothing is lost on the new channel."""
    found: list[tuple[Any, bool]] = []
    exchange = Exchange(lambda place, when, request, was_lost: found.append((request, was_lost)))
    for place, request in enumerate(["first", "second", repeated, "third"]):
        exchange.send(request, place, b"")
    for number, request in ((0, "first"), (1 << LIFE_BITS, "second"), ((1 << LIFE_BITS) + 1, "third")):
        exchange.receive(request, number, number, b"")
    exchange.finish()
    assert found == lost


@pytest.mark.parametrize("controller_first", [True, False])
@pytest.mark.parametrize(
    ("got", "is_lost"),
    [
        (["all", "all", "some", "some", "more"], False),
        (["all", "some", "some", "more"], False),
        (["all", "all", "some", "other", "more"], True),
    ],
)
def test_requests_that_are_alike(got: list[str], is_lost: bool, controller_first: bool) -> None:
    """What was sent before a broker started may have been lost; what was sent since may not, also where requests are alike."""
    sent = ["all", "some", "some", "some", "all", "all", "some", "some", *(["other"] if is_lost else []), "more"]
    found: list[tuple[Any, bool]] = []
    exchange = Exchange(lambda place, when, request, was_lost: found.append((request, was_lost)), alike=True)

    def arrive() -> None:
        for number, request in enumerate(got):
            exchange.receive(request, number, number, b"")

    if not controller_first:
        arrive()
    for place, request in enumerate(sent):
        exchange.send(request, place, b"")
    if controller_first:
        arrive()
    exchange.finish()
    assert bool(found) == is_lost
