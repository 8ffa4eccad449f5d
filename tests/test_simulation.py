"""Runs in virtual time: the same seed is the same run, faults come as asked, and bugs of old eras lose what `fixed` keeps."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from test_log import MEMORY

from kafka_spec.impl.protocol.controller_requests import UpdateMetadataRequest
from kafka_spec.impl.protocol.data_requests import FetchRequest
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.faults import FAULTS, USUAL, parse_faults
from kafka_spec.impl.run.history import ALL, History, Sent
from kafka_spec.impl.run.observer import ELECTED
from kafka_spec.impl.run.operations import OPERATIONS
from kafka_spec.impl.run.options import Options
from kafka_spec.impl.run.outcome import RunOutcome
from kafka_spec.impl.run.report import text_of
from kafka_spec.impl.run.scheduler import ScheduledTasks, Scheduler
from kafka_spec.impl.run.simulated_network import LATE, SimulatedNetwork
from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task
from kafka_spec.impl.run.verdict import Broken
from kafka_spec.impl.run.zookeeper.conductor import Conductor
from kafka_spec.impl.run.zookeeper.simulation import simulate
from kafka_spec.impl.run.zookeeper.verdict import IN_RUNS, PROMISES, Judge, switches
from kafka_spec.impl.zookeeper.cluster import Cluster
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import SpecError
from kafka_spec.spec.zookeeper.cases import CASE
from kafka_spec.spec.zookeeper.eras import ERA_0_10, ERA_2_8, SUITE
from kafka_spec.spec.zookeeper.fixed import FIXED


def ran(look: Callable[[Conductor], object] = lambda _: None, **options: Any) -> tuple[RunOutcome, list[str]]:
    """Run a simulation; return its outcome and the state-change log."""
    lines: list[str] = []
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        return simulate(Options(**options), Path(folder), lines.append, watch=look), lines


@pytest.fixture(scope="module")
def usual() -> tuple[RunOutcome, list[str]]:
    """Return a run with the usual faults, and its state-change log."""
    return ran(seed=5, seconds=22.0)


def test_same_seed_same_run() -> None:
    """The same options are the same run, byte for byte; another seed is another one. Hash seeds are for the golden run of `run`."""
    assert ran(seed=6, seconds=8.0) == ran(seed=6, seconds=8.0) != ran(seed=7, seconds=8.0)


def test_the_log_tells_elections(usual: tuple[RunOutcome, list[str]]) -> None:
    """Every election that a run counts stands in the state-change log, in Kafka's words and frame."""
    outcome, lines = usual
    frame = re.compile(r"^\[2020-09-13 \d\d:\d\d:\d\d,\d{3}\] (INFO|WARN|ERROR) .* \(state\.change\.logger\)$|^\S*Exception: ")

    assert all(frame.match(line) for text in lines for line in text.splitlines())
    assert sum(outcome.elections.values()) == sum(ELECTED.search(line) is not None for line in lines) > 6


def test_the_usual_faults(usual: tuple[RunOutcome, list[str]]) -> None:
    """All the usual faults come in half a minute, and `fixed` loses nothing that it promised."""
    outcome, _ = usual

    assert list(outcome.faults) == list(USUAL)
    assert outcome.kept
    assert outcome.rested


def test_without_faults() -> None:
    """Where nothing fails everything that is sent is stored once, acknowledged, and read; leaders stay."""
    outcome, _ = ran(seed=1, seconds=6.0, faults=())

    assert outcome.kept
    assert outcome.rested
    assert outcome.faults == {}
    assert outcome.elections == {"first": 6, "after a failure": 0, "preferred or for a shutdown": 0}
    assert outcome.stored == sum(outcome.produced.values()) == outcome.read > 200
    assert (outcome.twice, outcome.verdict.lost, outcome.controllers, outcome.unclean) == (0, [], 1, 0)
    assert {acks: n for acks, n in outcome.produced.items() if acks != "0"} == {
        acks: n for acks, n in outcome.acknowledged.items() if acks != "0"
    }


@pytest.mark.parametrize("name", ["crash", "expiry", "power", "duplicate", "lost-request", "lost-reply", "delay"])
def test_a_fault_by_itself(name: str) -> None:
    """A fault that is named comes, no other does, and `fixed` becomes quiet with a leader for every partition."""
    outcome, _ = ran(seed=3, seconds=4.0 + 1.5 * FAULTS[name].every, faults=(name,), producers=3, partitions=2)

    assert list(outcome.faults) == [name]
    assert outcome.rested
    assert outcome.verdict.leaderless == []
    assert outcome.kept or name == "power"


def broken(seed: int, **options: Any) -> tuple[int, RunOutcome]:
    """Return the first seed from this one on that breaks a promise, and its outcome; any change of code may move it."""
    for number in range(seed, seed + 20):
        outcome, _ = ran(seed=number, **options)
        if outcome.verdict.broken:
            return number, outcome
    raise AssertionError(f"no seed from {seed} to {seed + 19} breaks anything")


@pytest.mark.parametrize(
    ("era", "seed", "promises", "options"),
    [
        ("KIP-101", 9, {"Committed", "LogMatch"}, {"faults": ("crash", "bounce", "expiry"), "seconds": 15.0, "partitions": 3}),
        (
            "KAFKA-7235-unseen-bounce",
            3,
            {"QuietReplicasKnowTheEpoch", "Recovers"},
            {"faults": ("bounce",), "seconds": 9.0, "partitions": 2},
        ),
    ],
)
def test_a_bug_loses_what_fixed_keeps(era: str, seed: int, promises: set[str], options: dict[str, Any]) -> None:
    """With a bug's switch a seed breaks promises that the model sees broken, and suspects that bug; `fixed` keeps all."""
    seed, bad = broken(seed, era=MODELS[f"zookeeper/{era}"], **options)
    good, _ = ran(seed=seed, era=FIXED, **options)

    assert {one.promise for one in bad.verdict.broken} <= promises
    assert all(era in one.suspects for one in bad.verdict.broken)
    assert f"may be {era}: {CASE[era].summary}" in text_of(bad)
    assert not bad.kept
    assert good.kept
    assert good.rested


def test_what_an_era_breaks_names_its_cases() -> None:
    """A property that an era violates is reported with the cases of that era whose cards say that they violate it."""
    seed, bad = broken(0, era=ERA_2_8, operations=tuple(OPERATIONS), seconds=30.0)

    assert {one.promise for one in bad.verdict.broken} == {"NoStrayReplica"}
    assert all(one.suspects == ("KAFKA-13972", "stray-replica") for one in bad.verdict.broken)
    assert "may be stray-replica: " in text_of(bad)
    good, _ = ran(seed=seed, era=FIXED, operations=tuple(OPERATIONS), seconds=30.0)
    assert good.kept


def test_what_no_case_explains_is_said_to_be_new() -> None:
    """A violated property that no case of the version explains is reported as new, not left without a word."""
    outcome, _ = ran(seed=1, seconds=1.0, faults=(), partitions=1)
    outcome.verdict.broken.append(Broken("NoStrayReplica", "broker 0 keeps extra-0"))
    assert "no known bug of this version explains it: it is new, or a mistake of the implementation" in text_of(outcome)


def test_unclean_elections_are_told() -> None:
    """Where unclean elections are permitted, lost records are reported with them as the cause."""
    _, outcome = broken(70, seconds=12.0, unclean=True)

    assert outcome.unclean > 0
    assert {one.promise for one in outcome.verdict.broken} <= {"Committed", "LogMatch"}
    assert all(one.suspects == ("unclean election",) for one in outcome.verdict.broken)
    assert not outcome.kept
    assert "may be an unclean election" in text_of(outcome)


def test_a_judge_finds_what_is_lost() -> None:
    """A record that was acknowledged and is not there, and one that consumers read otherwise, break Committed; acks=1 does not."""
    seen: list[Any] = []

    def look(conductor: Conductor) -> None:
        if conductor.world.now >= 4.0 and not seen:
            partition = TopicPartition("orders", 0)
            history = conductor.history
            history.sent |= {"x": Sent(partition, ALL, 3), "y": Sent(partition, 1, 4), "z": Sent(partition, ALL)}
            history.saw(partition, 1000, "nobody")
            seen.append(Judge(conductor.world.cluster, history, FIXED, 0, ["too slow"]).judge([partition]))

    ran(look, seed=1, seconds=4.0, faults=(), partitions=1)
    (verdict,) = seen

    assert [(one.value, one.acks) for one in verdict.lost] == [("x", ALL), ("y", 1)]
    assert [(broken.promise, broken.found) for broken in verdict.broken] == [
        ("Committed", "x was acknowledged with acks=all at offset 3 of orders-0, and is lost"),
        ("Committed", "a consumer has read nobody at offset 1000 of orders-0, where nothing is now"),
        ("Recovers", "too slow"),
    ]


def test_a_judge_finds_who_does_not_lead() -> None:
    """A partition without a leader, and one whose leader does not know that it leads, are found."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder, Cluster(Path(folder), Ensemble()) as cluster:
        partition = TopicPartition("orders", 0)
        verdict = Judge(cluster, History(), FIXED, 0, []).judge([partition])

    assert verdict.leaderless == [partition]
    assert [broken.promise for broken in verdict.broken] == ["QuietLeaderIsRegistered"]


def test_switches() -> None:
    """The bugs of an era follow from its decisions; the causes of broken promises name promises of the model and known bugs."""
    assert switches(FIXED) == []
    assert set(switches(ERA_2_8)) == set(SUITE.names(ERA_2_8.name))
    assert {name for name in SUITE.names(ERA_0_10.name) if CASE[name].shows} <= set(switches(ERA_0_10))
    assert set(IN_RUNS) <= set(PROMISES)
    assert {bug for bugs in IN_RUNS.values() for bug in bugs} <= set(CASE)
    for case in SUITE.expressed:
        assert case.name in switches(SUITE.spec_with(case))


def test_names_of_faults() -> None:
    """Faults are named one by one, or by the words none, usual and all; the order is always the same."""
    assert parse_faults("none") == ()
    assert parse_faults("usual") == USUAL
    assert parse_faults("all") == tuple(FAULTS)
    assert parse_faults("delay, crash") == ("crash", "delay")
    assert parse_faults("usual,power") == tuple(FAULTS)
    with pytest.raises(SpecError, match="fault 'earthquake' is unknown; known are crash, bounce"):
        parse_faults("crash,earthquake")


# Virtual time, and the network


@pytest.fixture
def scheduler() -> Iterator[Scheduler]:
    """Return a clock."""
    return Scheduler(0.0)


def test_time(scheduler: Scheduler) -> None:
    """Events happen in the order of time, then of their creation; events created meanwhile happen too."""
    happened: list[str] = []
    scheduler.after(2.0, lambda: happened.append("late"))
    scheduler.after(1.0, lambda: (happened.append("first"), scheduler.after(0.0, lambda: happened.append("third"))))
    scheduler.after(1.0, lambda: happened.append("second"))
    scheduler.run_until(1.5)

    assert happened == ["first", "second", "third"]
    assert (scheduler.now, scheduler.clock(), scheduler.done) == (1.5, 1.5, 3)


def network(scheduler: Scheduler, serves: bool = True) -> tuple[SimulatedNetwork, list[Any], Counter[str]]:
    """Return a network with one broker, which notes what arrives and answers with it."""
    arrived: list[Any] = []
    happened: Counter[str] = Counter()

    def serve(number: int, message: Any, reply: Callable[[Any], object]) -> bool:
        arrived.append((number, message))
        if serves:
            reply(message)
        return serves

    return SimulatedNetwork(scheduler, Random(1), serve, lambda name: happened.update([name])), arrived, happened


def asked(process: ScheduledTasks, message: object, answers: list[Any], timeout: float = 5.0) -> None:
    """Have a process ask broker 1."""

    def task() -> Task:
        answers.append((yield RemoteCall(1, message, timeout)))

    process.spawn(task())


def test_calls(scheduler: Scheduler) -> None:
    """A call is answered; one to a missing process, or over a broken connection, is not; an ended process receives nothing."""
    answers: list[Any] = []
    net, arrived, _ = network(scheduler)
    process = ScheduledTasks("client", scheduler, net.call)
    asked(process, "hello", answers)
    scheduler.run_until(1.0)
    assert (answers, arrived) == (["hello"], [(1, "hello")])

    net.cut.add(frozenset(("client", "broker 1")))
    asked(process, "lost", answers)
    scheduler.run_until(5.5)
    assert answers == ["hello"]
    scheduler.run_until(7.0)
    assert answers == ["hello", None]
    net.cut.clear()
    asked(process, "too late", answers)
    process.end()
    scheduler.run_until(20.0)
    assert len(answers) == 2

    nobody, _, _ = network(scheduler, serves=False)
    asked(ScheduledTasks("client", scheduler, nobody.call), "hello", answers)
    scheduler.run_until(21.0)
    assert answers[2:] == [None]


@pytest.mark.parametrize("name", ["duplicate", "lost-request", "lost-reply", "delay"])
def test_faults_of_messages(scheduler: Scheduler, name: str) -> None:
    """A duplicate arrives twice, a lost request never, a lost reply means no answer, and a delayed message arrives."""
    answers: list[Any] = []
    net, arrived, happened = network(scheduler)
    net.faults = (name,)
    process = ScheduledTasks("client", scheduler, net.call)
    for number in range(2000):
        asked(process, number, answers)
        scheduler.run_until(scheduler.now + 0.01)
    scheduler.run_until(scheduler.now + 5.0)
    count = happened[name]

    assert 5 < count < 100
    assert list(happened) == [name]
    assert len(answers) == 2000
    assert answers.count(None) == (count if name.startswith("lost") else 0)
    assert len(arrived) == 2000 + {"duplicate": count, "lost-request": -count}.get(name, 0)


def test_controllers_are_never_overtaken(scheduler: Scheduler) -> None:
    """A controller's request that arrives twice does so before the next; one that was given up does not arrive any more."""
    net, arrived, happened = network(scheduler)
    net.faults = ("duplicate", "delay", "lost-reply")
    process = ScheduledTasks("broker 0", scheduler, net.call)

    def send() -> Task:
        for number in range(300):
            request = UpdateMetadataRequest(0, number, 0, {}, ())
            while (yield RemoteCall(1, request, LATE[0] / 2)) is None:
                yield Sleep(0.001)

    process.spawn(send())
    scheduler.run_until(100.0)
    order = [message.controller_epoch for _, message in arrived]

    assert order == sorted(order)
    assert set(order) == set(range(300))
    assert len(order) > 300
    assert happened["delay"] > 0


def test_a_fetch_can_come_late(scheduler: Scheduler) -> None:
    """The second copy of a fetch may arrive long after the first was answered."""
    net, arrived, _ = network(scheduler)
    net.faults = ("duplicate",)
    process, answers = ScheduledTasks("broker 0", scheduler, net.call), []
    for number in range(500):
        asked(process, FetchRequest(0, number, {}), answers)
        scheduler.run_until(scheduler.now + 0.01)
    order = [message.broker_epoch for _, message in arrived]

    assert order != sorted(order)
