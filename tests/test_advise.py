"""`kafka-spec advise` judges a planned action by the metadata of a cluster: of logs of real clusters, and of made ones."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from benchmarks.metadata_log import Writer
from kafka_spec.conformance.advise.advising import KEEPS, Adviser, judged
from kafka_spec.conformance.advise.causes import causes
from kafka_spec.conformance.advise.plans import electing, stopping
from kafka_spec.conformance.advise.situations import touched_by
from kafka_spec.conformance.metadata import image as keys
from kafka_spec.conformance.metadata.batches import LogBatch, batches_of
from kafka_spec.conformance.metadata.cluster import cluster_of
from kafka_spec.conformance.metadata.command import release_of
from kafka_spec.conformance.metadata.settings import StaticSettings
from kafka_spec.conformance.metadata.shapes import LOST_DIRECTORY
from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import check
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.decisions.partition_change import ElectionKind
from kafka_spec.spec.kraft.fixed import FIXED
from kafka_spec.spec.kraft.planned import Wait, planned
from tests.conftest import Command

LOGS = Path(__file__).parent / "logs" / "kraft"
P0 = {"topic": "p", "partition": 0}
WHOLE = {"partitions": [{**P0, "replicas": [0, 1, 2]}]}
REFUSED = {
    "f440-elr-outside-replicas": ("195", "--reassign", WHOLE, "a committed record is lost, by 1 fault: kill"),
    "f440-stale-reassignment-lists": ("146", "--reassign", WHOLE, "the ISR is below min.insync.replicas, without a fault"),
    "f412-cancellation-elects-cleanly": ("77", "--cancel", {"partitions": [P0]}, "a committed record is lost, without a fault"),
    "f412-cancellation-below-min-isr": (
        "73",
        "--cancel",
        {"partitions": [P0]},
        "the ISR is below min.insync.replicas, without a fault",
    ),
}
"""Per log of a finding: an offset, and what was done next on the real cluster, which the advice refuses, and why."""

Cluster: TypeAlias = Callable[..., str]
"""Writes the metadata of a cluster, and returns its folder."""


@pytest.fixture
def cluster(tmp_path: Path) -> Cluster:
    """Return a function that writes a cluster of five brokers; `isr` of the topics `t0`, `t1`, ... , on their first brokers."""

    def write(
        *topics: tuple[Sequence[int], Sequence[int]],
        fenced: Sequence[int] = (),
        least: int = 2,
        elr: Sequence[int] = (),
        leaders: Sequence[int] = (),
    ) -> str:
        made = tmp_path / "__cluster_metadata-0"
        made.mkdir(exist_ok=True)
        with (made / f"{0:020}.log").open("wb") as file:
            log = Writer(file)
            log.write(log.record(keys.FEATURE, name=keys.METADATA_VERSION, feature_level=33))
            log.write(log.record(keys.FEATURE, name=keys.ELR_FEATURE, feature_level=1))
            for number in range(5):
                log.write(registration(log, number, number in fenced))
            for number, (replicas, isr) in enumerate(topics):
                log.write(*topic(log, number, replicas, isr, least, elr, leaders[number] if leaders else None))
        return str(tmp_path)

    return write


def registration(log: Writer, number: int, fenced: bool) -> tuple[int, Any]:
    """Return the registration of a broker."""
    return log.record(
        keys.REGISTER_BROKER, broker_id=number, incarnation_id=bytes([number] * 16), broker_epoch=log.offset, fenced=fenced
    )


def topic(
    log: Writer, number: int, replicas: Sequence[int], isr: Sequence[int], least: int, elr: Sequence[int], leader: int | None = None
) -> list[tuple[int, Any]]:
    """Return the records of a topic with one partition, led by the first ISR member unless a leader is given."""
    topic_id, name = (number + 1).to_bytes(16, "big"), f"t{number}"
    return [
        log.record(keys.TOPIC, name=name, topic_id=topic_id),
        log.record(keys.CONFIG, resource_type=2, resource_name=name, name="min.insync.replicas", value=str(least)),
        log.record(
            keys.PARTITION,
            partition_id=0,
            topic_id=topic_id,
            replicas=tuple(replicas),
            isr=tuple(isr),
            leader=(isr[0] if isr else -1) if leader is None else leader,
            eligible_leader_replicas=tuple(elr) or None,
        ),
    ]


# ---------------------------------------------------------------------------------------------------------------------
# Real clusters


@pytest.mark.parametrize("name", REFUSED)
def test_what_lost_records_on_real_clusters_is_refused_beforehand(name: str, tmp_path: Path, inside: Command) -> None:
    """The action that did harm in the log of each finding is not safe by the metadata just before it, and the advice says why."""
    at, option, content, why = REFUSED[name]
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    advised = inside("advise", str(LOGS / name), "--at", at, option, str(file), "--faults", "1" if "by 1 fault" in why else "0")
    assert advised.returncode == 1, advised.stdout + advised.stderr
    assert f"  how {why}" in advised.stdout


def test_waiting_until_the_elr_is_empty_makes_a_reassignment_safe(tmp_path: Path, inside: Command) -> None:
    """Of elr-outside-replicas the advice finds the cure that its page names: let the ISR be full first."""
    file = tmp_path / "plan.json"
    file.write_text(json.dumps(WHOLE), encoding="utf-8")
    arguments = ("advise", str(LOGS / "f440-elr-outside-replicas"), "--at", "195", "--reassign", str(file), "--keep", "records")
    advised = inside(*arguments, "--format", "json")
    situation = json.loads(advised.stdout)["situations"][0]
    assert situation["harm"]["KeepsRecords"]["faults"] == ["crashes"]
    assert situation["safe_with_wait"] == "in_sync" and situation["not_in_sync"] == [1]
    assert inside(*arguments, "--wait", "in-sync").returncode == 0


# ---------------------------------------------------------------------------------------------------------------------
# Made clusters


def test_one_of_three_replicas_may_be_stopped(cluster: Cluster, inside: Command) -> None:
    """Stopping one of three replicas in sync is safe, and the report says that one fault more takes the ISR below its minimum."""
    advised = inside("advise", cluster(([0, 1, 2], [0, 1, 2]), ([2, 3, 4], [2, 3, 4])), "--stop", "0")
    assert advised.returncode == 0, advised.stdout
    assert "it touches 1 partition in 1 situation, searched with any single fault" in advised.stdout
    assert "a committed record is lost             not with any single fault" in advised.stdout
    assert "the ISR is below min.insync.replicas   by 1 fault: kill             not so" in advised.stdout


def test_the_only_replica_in_sync_is_stopped_after_the_others_are_back(cluster: Cluster, inside: Command) -> None:
    """Stopping the only ISR member leaves no leader; with the wait until the others are in sync it is safe."""
    advised = inside("advise", cluster(([0, 1, 2], [0]), least=1), "--stop", "0", "--faults", "0")
    assert advised.returncode == 1
    assert "how no broker leads, without a fault" in advised.stdout
    assert "safe waiting until every replica of these partitions is in the ISR; now broker 1, broker 2 are not" in advised.stdout


def test_nothing_helps_a_partition_of_one_replica(cluster: Cluster, inside: Command) -> None:
    """A restart of the only replica leaves no leader, whatever is waited for; a plan that is judged by records alone is safe."""
    folder = cluster(([3], [3]), least=1)
    advised = inside("advise", folder, "--restart", "all", "--faults", "0")
    assert advised.returncode == 1 and "nothing that can be waited for makes it safe" in advised.stdout
    assert inside("advise", folder, "--restart", "all", "--faults", "0", "--keep", "records").returncode == 0


def test_restarting_without_waiting_is_not_safe(cluster: Cluster, inside: Command) -> None:
    """A restart of all brokers that waits for processes alone empties the ISR; one that waits for the ISR keeps everything."""
    folder = cluster(([0, 1, 2], [0, 1, 2]))
    arguments = ("advise", folder, "--restart", "all", "--faults", "0", "--keep", "leader", "--keep", "min-isr")
    advised = inside(*arguments)
    assert advised.returncode == 1 and "-> leader none, ISR []" in advised.stdout
    assert inside(*arguments, "--wait", "in-sync").returncode == 0


def test_a_restart_begins_with_the_brokers_that_nothing_waits_for(cluster: Cluster, inside: Command) -> None:
    """The order of a restart has those brokers last whose partitions are not in sync, and names the partitions."""
    folder = cluster(([0, 1], [0, 1]), ([2, 3], [2]), least=1)
    advised = inside("advise", folder, "--restart", "all", "--faults", "0", "--keep", "records")
    assert "order: broker 0, broker 1, broker 4, broker 2 (once t1-0 is in sync), broker 3 (once t1-0 is in sync)" in advised.stdout


def test_settings(cluster: Cluster, inside: Command) -> None:
    """A min.insync.replicas above the size of the ISR is not safe, nor are unclean elections where one fault empties the ISR."""
    folder = cluster(([0, 1, 2], [0, 1]), least=2)
    assert inside("advise", folder, "--set", "min.insync.replicas=3", "--faults", "0").returncode == 1
    assert inside("advise", folder, "--set", "min.insync.replicas=1", "--topic", "t0", "--faults", "0").returncode == 0
    one = cluster(([0, 1], [0]), least=1)
    unclean = inside("advise", one, "--set", "unclean.leader.election.enable=true", "--keep", "records")
    assert unclean.returncode == 1 and "how a committed record is lost, by 1 fault" in unclean.stdout


def test_a_directory_is_taken_away(inside: Command) -> None:
    """removed-directory-counts-as-clean is refused a moment before it was done; without the bug a lossy election is marked."""
    log = str(LOGS / "f440-removed-directory")
    plan = ("--at", "53", "--remove-directory", "1:pY_aXa7ayhxHRLQGeUI9tQ", "--keep", "records")
    refused = inside("advise", log, *plan)
    assert refused.returncode == 1 and "how a committed record is lost, by 1 fault: kill" in refused.stdout
    assert "takes the directory of the log out of log.dirs of broker 1, and starts it" in refused.stdout
    assert "  by a known bug: removed-directory-counts-as-clean: " in refused.stdout
    marked = inside("advise", log, *plan, "--era", "4.1.2").stdout
    assert "RECOVERING" in marked and "RECOVERING" not in refused.stdout


@pytest.mark.parametrize("value", [1, 2])
def test_a_changed_min_isr_takes_the_candidates_of_an_offline_partition(cluster: Cluster, inside: Command, value: int) -> None:
    """elr-cleared-while-offline: refused beforehand, also where the value stays the same; a partition with an ISR is safe."""
    offline = cluster(([0, 1], []), fenced=[0, 1], elr=[0, 1], least=2)
    refused = inside("advise", offline, "--set", f"min.insync.replicas={value}", "--faults", "0")
    assert refused.returncode == 1 and "how no replica may be elected any more, without a fault" in refused.stdout
    assert "    docs/findings/elr-cleared-while-offline.md" in refused.stdout
    online = cluster(([0, 1], [0]), fenced=[1], elr=[1], least=2)
    safe = inside("advise", online, "--set", f"min.insync.replicas={value}", "--faults", "0", "--keep", "candidates")
    assert safe.returncode == 0 and "no replica may be elected any more     not without a fault" in safe.stdout


def test_a_broker_is_unregistered(cluster: Cluster, inside: Command) -> None:
    """A fenced replica of a partition with an ISR may be unregistered; the last candidate of one without may not.

    A running broker whose leadership moves may be, too.
    """
    online = cluster(([0, 1, 2], [0, 1]), fenced=[2], least=2)
    for broker in ("1", "2"):
        assert inside("advise", online, "--unregister", broker, "--faults", "0", "--keep", "leader").returncode == 0
    offline = cluster(([0, 1], []), fenced=[0, 1], elr=[0], least=2)
    refused = inside("advise", offline, "--unregister", "0", "--faults", "0")
    assert refused.returncode == 1 and "how no replica may be elected any more, without a fault" in refused.stdout
    assert "1. an operator unregisters broker 0" in refused.stdout
    assert inside("advise", offline, "--unregister", "1", "--faults", "0", "--keep", "candidates").returncode == 0


def test_an_unclean_election_is_refused_where_a_broker_that_is_down_has_the_records(cluster: Cluster, inside: Command) -> None:
    """The leader that is elected uncleanly lacks what is committed, and the advice names the broker to start instead."""
    folder = cluster(([0, 1, 2], [1]), ([3, 4], [3, 4]), fenced=[1], least=1, leaders=[-1, 3])
    refused = inside("advise", folder, "--elect", "unclean", "--faults", "0")
    assert refused.returncode == 1 and "it touches 1 partition in 1 situation" in refused.stdout
    assert "a committed record is lost             without a fault              not so" in refused.stdout
    assert "-> leader 0, ISR [0], replicas [0, 1, 2], RECOVERING" in refused.stdout
    assert "  instead: start broker 1, which holds what is committed" in refused.stdout
    assert "by a known bug" not in refused.stdout


def test_an_unclean_election_where_nobody_is_known_to_have_the_records(cluster: Cluster, inside: Command) -> None:
    """Without an ISR, an ELR and a last known leader no broker ever leads by itself, and the advice says how to lose the least."""
    refused = inside("advise", cluster(([0, 1], []), least=1), "--elect", "unclean", "--faults", "0")
    assert refused.returncode == 1
    assert "a committed record is lost             without a fault              no broker ever leads" in refused.stdout
    assert "instead: nothing says who holds what is committed" in refused.stdout


def test_preferred_leaders_are_elected(cluster: Cluster, inside: Command) -> None:
    """To elect a preferred leader is safe; one that is down may be started, and is elected then."""
    folder = cluster(([0, 1, 2], [0, 1]), ([2, 0], [0, 2]), leaders=[1, 2])
    safe = inside("advise", folder, "--elect", "preferred")
    assert safe.returncode == 0 and "safe: t0-0: leader 1, ISR [0, 1]" in safe.stdout and "t1-0" not in safe.stdout
    down = inside(
        "advise", cluster(([0, 1], [1]), fenced=[0], least=1), "--elect", "preferred", "--faults", "0", "--wait", "in-sync"
    )
    assert down.returncode == 0, down.stdout


def test_there_is_nothing_to_elect(cluster: Cluster, inside: Command) -> None:
    """Where no partition needs an election the advice is safe, and says why; so for the topics that are named."""
    folder = cluster(([0, 1], [0, 1]), ([1, 0], [0, 1]))
    nothing = inside("advise", folder, "--elect", "unclean")
    assert nothing.returncode == 0 and "it touches no partition: each of them has a leader" in nothing.stdout
    of_one = inside("advise", folder, "--elect", "preferred", "--topic", "t0")
    assert of_one.returncode == 0 and "it touches no partition: each of them is led by its first replica" in of_one.stdout


@pytest.mark.parametrize(("known", "said"), [(1, "without a fault              the same"), (2, "not without a fault")])
def test_a_broker_that_is_not_registered_counts_as_crashed(known: int, said: str, tmp_path: Path, inside: Command) -> None:
    """The only ELR member leaves it when it starts if it is not registered, whatever is planned; if it is, nobody was given up."""
    with (tmp_path / f"{0:020}.log").open("wb") as file:
        log = Writer(file)
        log.write(log.record(keys.FEATURE, name=keys.METADATA_VERSION, feature_level=33))
        log.write(log.record(keys.FEATURE, name=keys.ELR_FEATURE, feature_level=1))
        for number in range(known):
            log.write(registration(log, number, fenced=True))
        log.write(*topic(log, 0, [0, 1], [], 2, [1]))
    advised = inside("advise", str(tmp_path), "--unregister", "0", "--faults", "0", "--keep", "candidates")
    assert f"no replica may be elected any more     {said}" in advised.stdout, advised.stdout


# ---------------------------------------------------------------------------------------------------------------------
# What is not decided


def test_what_the_model_has_no_room_for_is_not_decided(cluster: Cluster, inside: Command) -> None:
    """A partition of more brokers than the model has is not decided, although everything else is safe."""
    advised = inside("advise", cluster(([0, 1, 2, 3, 4], [0, 1, 2, 3, 4]), ([0, 1, 2], [0, 1, 2])), "--stop", "0", "--faults", "0")
    assert advised.returncode == 3
    assert "not decided: t0-0: 5 brokers matter to it, and the model has room for 4" in advised.stdout


def test_a_plan_that_never_happens_is_not_safe(cluster: Cluster, tmp_path: Path, inside: Command) -> None:
    """A reassignment to the replicas that are there does nothing, so that nothing is known about it."""
    file = tmp_path / "plan.json"
    file.write_text(json.dumps({"partitions": [{"topic": "t0", "partition": 0, "replicas": [0, 1, 2]}]}), encoding="utf-8")
    advised = inside("advise", cluster(([0, 1, 2], [0, 1, 2])), "--reassign", str(file))
    assert advised.returncode == 3 and "the plan cannot be carried out" in advised.stdout


def test_a_search_that_is_cut_is_not_decided(cluster: Cluster, inside: Command) -> None:
    """Where the time is spent, nothing is called safe."""
    advised = inside("advise", cluster(([0, 1, 2], [0, 1, 2])), "--stop", "0", "--seconds", "0")
    assert advised.returncode == 3 and "the time budget of 0 s is spent" in advised.stdout


def test_an_image_without_its_beginning_is_not_decided(cluster: Cluster, inside: Command) -> None:
    """Where the head of the log is gone and no snapshot replaces it, partitions may be missing: nothing is called safe."""
    folder = Path(cluster(([0, 1, 2], [0, 1, 2])))
    file = folder / "__cluster_metadata-0" / f"{0:020}.log"
    batches = [batch for batch in batches_of(file.read_bytes()) if isinstance(batch, LogBatch)]
    file.rename(file.with_name(f"{batches[2].base:020}.log")).write_bytes(b"".join(batch.data for batch in batches[2:]))
    advised = inside("advise", str(folder), "--stop", "3", "--faults", "0")
    assert advised.returncode == 3 and "no snapshot at or after it is there" in advised.stdout


def test_a_partition_that_nobody_leads_tests_nothing(cluster: Cluster, inside: Command) -> None:
    """Of a partition without a leader and without candidates the report says that no broker ever leads."""
    advised = inside("advise", cluster(([0, 1], []), least=1), "--stop", "0")
    assert "a committed record is lost             no broker ever leads" in advised.stdout


OFFLINE = "its log directory on broker 0 is offline, and the model has no log directories"


@pytest.mark.parametrize(
    ("partition", "reason"),
    [
        ({}, "the controller limits its min.insync.replicas by the replicas of partition 0, and the model has one partition"),
        ({"replicas": (0,), "isr": (0,), "directories": (LOST_DIRECTORY,)}, OFFLINE),
    ],
)
def test_what_the_model_lacks_is_not_decided(partition: Any, reason: str, tmp_path: Path, inside: Command) -> None:
    """A partition about which something decides that the model lacks makes the advice undecided, with the reason."""
    of_1 = {"topic_id": bytes(15) + b"\1", "partition_id": 1, "replicas": (0, 1, 2), "isr": (0, 1, 2), "leader": 0, **partition}
    with (tmp_path / f"{0:020}.log").open("wb") as file:
        log = Writer(file)
        log.write(log.record(keys.FEATURE, name=keys.METADATA_VERSION, feature_level=33))
        log.write(log.record(keys.FEATURE, name=keys.ELR_FEATURE, feature_level=1))
        for number in range(3):
            log.write(registration(log, number, fenced=False))
        log.write(*topic(log, 0, [1], [1], 2, ()), log.record(keys.PARTITION, **of_1))
    advised = inside("advise", str(tmp_path), "--stop", "0", "--faults", "0")
    assert advised.returncode == 3, advised.stdout + advised.stderr
    assert f"  not decided: t0-1: {reason}\n" in advised.stdout


def test_a_restart_names_brokers_or_all(cluster: Cluster, inside: Command) -> None:
    """What is neither a broker id nor `all` is refused, with what to give; so is what is no id where one is asked for."""
    for option in ("--stop", "--unregister"):
        named = inside("advise", cluster(([0, 1], [0, 1])), option, "x")
        assert named.returncode == 2 and f"{option}: 'x' is not a broker id; give the id of a broker" in named.stderr
    advised = inside("advise", cluster(([0, 1], [0, 1])), "--restart", "every")
    assert advised.returncode == 2 and "'every' is not a broker id; give the id of a broker, or all" in advised.stderr


MISTAKES = {
    "no plan": ((), "advise needs one plan"),
    "two plans": (("--stop", "0", "--restart", "all"), "advise needs one plan"),
    "another broker": (("--stop", "9"), "broker 9 is not registered; there are brokers 0, 1, 2, 3, 4"),
    "an unknown broker": (("--unregister", "9"), "broker 9 is not registered; there are brokers 0, 1, 2, 3, 4"),
    "a fenced broker": (("--restart", "4"), "broker 4 is fenced: it does not run"),
    "a setting": (("--set", "min.insync.replicas=0"), "it is min.insync.replicas=NUMBER"),
    "candidates of another plan": (
        ("--stop", "0", "--keep", "candidates"),
        "--keep candidates belongs to --set min.insync.replicas=N",
    ),
    "another directory": (("--remove-directory", "0:x"), "name one of several directories of broker 0: none"),
    "another topic": (("--set", "min.insync.replicas=1", "--topic", "x"), "there is no such topic; there is t0"),
    "a topic without a setting": (("--stop", "0", "--topic", "t0"), "--topic belongs to --set"),
    "a topic without a leader": (("--elect", "preferred", "--topic", "x"), "there is no such topic; there is t0"),
    "an election and a setting": (("--elect", "unclean", "--set", "min.insync.replicas=1"), "advise needs one plan"),
    "no file": (("--reassign", "nowhere"), "name a file as kafka-reassign-partitions takes it"),
    "another file": (("--reassign", "text"), 'write {"version": 1, "partitions": ['),
    "nothing to cancel": (("--cancel", "plan"), "no reassignment of t0-0 runs; leave it out"),
    "a broker twice": (("--reassign", "twice"), "t0-0 names a broker twice: [0, 0]"),
    "an unknown target": (("--reassign", "unknown"), "t0-0: broker 7 is not registered"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(
    mistake: str, cluster: Cluster, tmp_path: Path, inside: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mistake ends with code 2 and one line, which names the cure."""
    arguments, cure = MISTAKES[mistake]
    folder = cluster(([0, 1, 2], [0, 1, 2]), fenced=[4])
    monkeypatch.chdir(tmp_path)
    Path("text").write_text("p-0 to 1", encoding="utf-8")
    for name, replicas in (("plan", [1]), ("twice", [0, 0]), ("unknown", [7])):
        named = {"partitions": [{"topic": "t0", "partition": 0, "replicas": replicas}]}
        Path(name).write_text(json.dumps(named), encoding="utf-8")
    advised = inside("advise", folder, *arguments)
    assert advised.returncode == 2 and advised.stdout == ""
    assert cure in advised.stderr and advised.stderr.count("\n") == 1


# ---------------------------------------------------------------------------------------------------------------------
# Several processes

SEVERAL = ([0, 1, 2], [0, 1, 2]), ([0, 4, 3], [0, 4]), ([0], [0]), ([0, 1], [0, 1]), ([3, 0, 2], [0])


def test_several_processes_give_the_same_advice(cluster: Cluster, inside: Command) -> None:
    """Situations that are searched in several processes have the same advice, with the same counts, stories and cures."""
    asked = ["advise", cluster(*SEVERAL), "--stop", "0", "--format", "json", "-q"]
    alone, together = (inside(*asked, "--threads", threads) for threads in ("1", "3"))
    assert (together.returncode, together.stdout) == (alone.returncode, alone.stdout)
    assert len(json.loads(alone.stdout)["situations"]) == 5


def test_an_interrupt_ends_all_processes(cluster: Cluster) -> None:
    """After Ctrl-C no process searches on, and what was not searched is not decided."""
    found = cluster_of([Path(cluster(*SEVERAL))], StaticSettings())
    budget = Budget()
    adviser = Adviser(found.model, 1, 0, list(KEEPS.values()), budget, 2)

    def interrupt(done: int, of: int) -> None:
        budget.interrupted = True

    advised = judged(found, stopping(found.judge.image, [0], Wait.NOTHING), adviser, interrupt)
    assert len(advised.advices) == 5 and advised.advices[0].undecided == ""
    assert advised.advices[-1].undecided == "interrupted"
    assert multiprocessing.active_children() == []


# ---------------------------------------------------------------------------------------------------------------------
# The model


def test_partitions_that_differ_in_names_alone_are_searched_once(cluster: Cluster) -> None:
    """Partitions that are equal up to the ids of their brokers are one situation; one with another ISR is another."""
    found = cluster_of([Path(cluster(([0, 1, 2], [0, 1, 2]), ([0, 4, 3], [0, 4, 3]), ([0, 3, 2], [0, 3])))], StaticSettings())
    touched = touched_by(stopping(found.judge.image, [0], Wait.NOTHING), found)
    assert [[name for name, _, _ in alike.partitions] for alike in touched.alike] == [["t0-0", "t1-0"], ["t2-0"]]
    assert touched.alike[0].partitions[1][2] == (0, 4, 3)


@pytest.mark.parametrize(
    ("era", "verdict"), [("4.3.1", "violated"), ("4.4.0", "violated"), pytest.param(None, "holds", marks=pytest.mark.long)]
)
def test_a_record_that_is_written_meanwhile_counts(cluster: Cluster, era: str | None, verdict: str) -> None:
    """re-elected-leader-remembers loses a record that was not there when the advice was asked; `fixed` loses none."""
    folder = Path(cluster(([0, 1, 2], [0, 1, 2]), leaders=[1]))
    found = cluster_of([folder], StaticSettings(), release_of(era))
    (alike,) = touched_by(electing(found.judge.image, ElectionKind.PREFERRED, (), Wait.NOTHING), found).alike
    bounds = {**dict(alike.situation.planned), "records": 2, "crashes": 2}
    spec = planned(found.model if era else FIXED)
    result = check(spec, bounds, properties=["KeepsRecords"])
    assert result.verdict == verdict, result.stopped
    if result.violated:
        trace = trace_of(result, "KeepsRecords")
        assert trace is not None and [bug.name for bug in causes(trace, result.spec)] == ["re-elected-leader-remembers"]


def test_the_beginning_is_a_state_of_kafka(cluster: Cluster) -> None:
    """From the metadata of a cluster on, `fixed` satisfies all of its properties, with a crash too; two engines agree."""
    found = cluster_of([Path(cluster(([0, 1], [0, 1]), ([0, 1], [0]), ([1, 0], [1]), elr=(), least=1))], StaticSettings())
    touched = touched_by(stopping(found.judge.image, [0], Wait.NOTHING), found)
    own = [claim.name for claim in FIXED.properties]
    for alike in touched.alike:
        for crashes in (0, 1):
            bounds = {**dict(alike.situation.planned), "records": 1, "crashes": crashes}
            result = check(planned(FIXED), bounds, properties=own, engine="embedded" if crashes else "both", everything=True)
            assert result.verdict == "holds", (alike.name, result.violated)
