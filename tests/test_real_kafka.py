"""Real Kafka brokers led by this project's controller, and the parts of such a run that need no Java."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

from kafka_spec.__main__ import main
from kafka_spec.conformance.kafka_classes import jars
from kafka_spec.conformance.kafka_clusters.command import ON_KRAFT, ON_ZOOKEEPER, text_of
from kafka_spec.conformance.kafka_clusters.outcome import RealOutcome
from kafka_spec.conformance.kafka_clusters.run import RealOptions
from kafka_spec.conformance.kafka_clusters.verdict import LogsChecked, broken_for_clients, broken_in_zookeeper, merged
from kafka_spec.conformance.kafka_clusters.zookeeper_state import SeenEpochs, ZooKeeperState
from kafka_spec.impl.protocol.registration import BrokerRegistration, Endpoint
from kafka_spec.impl.protocol.topic_partition import TopicPartition
from kafka_spec.impl.run.history import ALL, History, Sent
from kafka_spec.impl.run.verdict import Broken
from kafka_spec.impl.zookeeper.coordination import znodes
from kafka_spec.impl.zookeeper.coordination.broker_znode import encode_broker
from kafka_spec.impl.zookeeper.coordination.interface import Session
from kafka_spec.impl.zookeeper.coordination.memory import Ensemble
from kafka_spec.spec.zookeeper.eras import ERA_2_8

VERSION = "2.8.2"
HAS_JARS = all((ROOT / jars.FOLDER / version).is_dir() for version in (*ON_ZOOKEEPER, *ON_KRAFT))
P = TopicPartition("orders", 0)


def kafka_spec(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command line."""
    environment = {**os.environ, jars.VARIABLE: str(ROOT / jars.FOLDER)}
    command = [sys.executable, "-m", "kafka_spec", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.long
@pytest.mark.parametrize("version", ON_ZOOKEEPER)
@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
def test_our_controller_leads_real_brokers(version: str) -> None:
    """Three brokers of Kafka follow our controllers through all scenes; no promise is broken, and all logs are valid.

    Both run with their newest inter-broker protocol, so leaders ask the controller for ISRs, and topics have ids.
    """
    done = kafka_spec("run", "--kafka", version, "--brokers", "3", "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["kept"] and not outcome["stopped"]
    first, second, *kafkas, last = outcome["controllers"].values()  # Kafka's may be killed as a leader
    assert (first, second, last) == (100, 101, 100)
    assert kafkas and max(kafkas) < 3
    assert outcome["read"] >= outcome["acknowledged"] > 1_000
    assert outcome["transitions"] > 200


@pytest.mark.long
@pytest.mark.parametrize("protocol", ["2.6", "2.8"])
@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
def test_a_mixed_cluster(protocol: str) -> None:
    """A broker of ours leads and follows beside two of Kafka's, under Kafka's controllers and its own; no promise is broken.

    Under 2.6 followers ask where logs diverge before they fetch, under 2.8 their fetches tell it.
    """
    named = ("--inter-broker-protocol", protocol)
    done = kafka_spec("run", "--kafka", VERSION, "--brokers", "2", "--mixed", *named, "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["kept"] and not outcome["stopped"]
    *earlier, last = outcome["controllers"].values()
    assert last == 100
    assert set(earlier) <= {0, 1}
    assert outcome["read"] >= outcome["acknowledged"] > 1_000


@pytest.mark.long
@pytest.mark.parametrize("version", ON_KRAFT)
@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
def test_our_controller_of_kraft_leads_real_brokers(version: str, tmp_path: Path) -> None:
    """Three brokers of Kafka 4 follow our controller through all scenes; nothing is violated, and its log reads as Kafka's own.

    `kafka-spec validate` says the same of the folders that the run leaves.
    """
    done = kafka_spec("run", "--kafka", version, "--data", str(tmp_path / "run"), "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(done.stdout)
    assert outcome["kept"] and not outcome["stopped"]
    assert outcome["controllers"] == {"1": 100, "2": 100, "3": 100}
    assert outcome["read"] >= outcome["acknowledged"] > 1_000
    assert outcome["changes_explained"] == outcome["changes"] > 100
    assert (outcome["nodes"], outcome["snapshots_compared"]) == (4, 2)
    validated = kafka_spec("validate", *(str(folder) for folder in sorted((tmp_path / "run").glob("data-*"))))
    assert validated.returncode == 0, validated.stdout


def run_where(*defect: str, version: str = ON_KRAFT[-1]) -> subprocess.CompletedProcess[str]:
    """Run real brokers under our controller, after these lines of Python have broken it."""
    code = "\n".join([*defect, "import sys", "from kafka_spec.__main__ import main", "sys.exit(main(sys.argv[1:]))"])
    environment = {**os.environ, jars.VARIABLE: str(ROOT / jars.FOLDER)}
    command = [sys.executable, "-c", code, "run", "--kafka", version]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.long
@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
def test_a_controller_that_forgets_who_may_lead() -> None:
    """A controller that keeps no eligible leader replicas gets through all scenes, and its metadata log gives it away."""
    done = run_where("from kafka_spec.impl.kraft import partition_change", "partition_change.target_elr = lambda *_: 0")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN: MetadataLog" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
def test_a_controller_whose_disk_is_full() -> None:
    """A disk that is full ends a run without a verdict, and no process is left."""
    done = run_where(
        "import errno, os",
        "from kafka_spec.impl.kraft.metadata_log import MetadataLog",
        "commit = MetadataLog.commit",
        "def fails(log, records):",
        "    if log.end > 60: raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))",
        "    return commit(log, records)",
        "MetadataLog.commit = fails",
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "INCONCLUSIVE" in done.stdout and "No space left on device" in done.stderr


@pytest.mark.long
@pytest.mark.skipif(not HAS_JARS, reason="`make kafka` fetches Kafka's jars")
@pytest.mark.parametrize("version", [ON_ZOOKEEPER[-1], ON_KRAFT[-1]])
def test_no_broker_can_be_started_again(version: str) -> None:
    """A disk that is full when a killed broker is to start again ends a run without a verdict."""
    done = run_where(
        "import errno, os",
        "from kafka_spec.conformance.kafka_clusters.kafka_processes import ServerProcesses",
        "begin, started = ServerProcesses.write_settings, []",
        "def fails(processes, broker, settings):",
        "    if broker in started: raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))",
        "    started.append(broker)",
        "    return begin(processes, broker, settings)",
        "ServerProcesses.write_settings = fails",
        version=version,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "INCONCLUSIVE" in done.stdout and "No space left on device" in done.stderr


@pytest.mark.parametrize(
    "options",
    [
        ("--mixed",),
        ("--inter-broker-protocol", "3.9"),
        ("--era", "era_2_8"),
        ("--zookeeper", "start"),
        ("--brokers", "2"),
        ("--controllers", "3"),
        ("--era", "quorum/fixed"),
    ],
)
def test_misuse_with_kraft(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Options of clusters with ZooKeeper are misuse with Kafka 4, and an era of KRaft is misuse with ZooKeeper."""
    assert main(["run", "--kafka", ON_KRAFT[-1], *options]) == 2
    assert options[0] in capsys.readouterr().err
    assert main(["run", "--kafka", VERSION, "--era", "kraft_4_1"]) == 2
    assert "one of KRaft" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        ("--jars", "nowhere"),
        ("--seconds", "3"),
        ("--faults", "none"),
        ("--zookeeper", "127.0.0.1:1"),
        ("--brokers", "2"),
        ("--inter-broker-protocol", "2.5"),
        ("--inter-broker-protocol", "3.9"),
        ("--era", "nothing"),
        ("--unclean",),
        ("--controllers", "3"),
    ],
)
def test_misuse(options: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Missing jars and options that mean nothing with real brokers are misuse, with a message that names the option."""
    assert main(["run", "--kafka", VERSION, *options]) == 2
    assert ("make kafka" if options[0] == "--jars" else options[0]) in capsys.readouterr().err


def test_without_the_codecs() -> None:
    """Without kio the message names the extra that brings it."""
    code = "import sys; sys.modules['kio'] = None; from kafka_spec.__main__ import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, "run", "--kafka", VERSION]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert "kio is not installed; it comes with: pip install 'kafka-spec[kafka]'" in done.stderr


# The verdict


@pytest.fixture
def session() -> Session:
    """A session on a ZooKeeper in memory, with one broker and one partition that is in order."""
    session = Ensemble().connect()
    for path in znodes.PERSISTENT:
        session.create(path)
    for number in (0, 1):
        registration = BrokerRegistration(number, (Endpoint("127.0.0.1", 9092 + number),))
        session.create(znodes.broker(number), encode_broker(registration), ephemeral=True)
    session.create(znodes.topic("orders"), znodes.Topic({0: (0, 1)}, version=2).encode())
    for path in znodes.partition_parents(P):
        session.create(path)
    session.create(znodes.state(P), znodes.State(0, 3, (0, 1), 1).encode())
    session.create(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(1))
    session.create(znodes.CONTROLLER, znodes.ControllerRegistration(100, 0).encode(), ephemeral=True)
    return session


def promises(broken: list[Broken]) -> list[str]:
    """Return the names of broken promises."""
    return [one.promise for one in broken]


def test_zookeeper_in_order(session: Session) -> None:
    """A partition with a registered leader in a full ISR breaks nothing."""
    assert broken_in_zookeeper(ZooKeeperState(session)) == []


@pytest.mark.parametrize(
    ("state", "promise"),
    [
        (znodes.State(-1, 3, (0,), 1), "QuietLeaderIsRegistered"),
        (znodes.State(7, 3, (7,), 1), "QuietLeaderIsRegistered"),
        (znodes.State(0, 3, (), 1), "IsrNeverEmpty"),
        (znodes.State(0, 3, (1,), 1), "LeaderInIsr"),
        (znodes.State(0, 3, (0, 5), 1), "IsrAssigned"),
    ],
)
def test_broken_in_zookeeper(session: Session, state: znodes.State, promise: str) -> None:
    """Each kind of broken state is found."""
    session.set(znodes.state(P), state.encode())
    assert promises(broken_in_zookeeper(ZooKeeperState(session))) == [promise]


def test_work_that_is_left(session: Session) -> None:
    """A deletion and a reassignment that have not ended are broken promises."""
    session.create(znodes.delete_topic("orders"))
    session.create(znodes.REASSIGN_PARTITIONS, b"{}")
    assert promises(broken_in_zookeeper(ZooKeeperState(session))) == ["DeletionEnds", "ReassignmentEnds"]


def test_epochs_that_go_back(session: Session) -> None:
    """The watch finds a leader epoch and a controller epoch that go back, and a second controller in one epoch."""
    watch, state = SeenEpochs(), ZooKeeperState(session)
    watch.look(state)
    session.set(znodes.state(P), znodes.State(0, 4, (0, 1), 1).encode())
    session.set(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(2))
    watch.look(state)
    assert (watch.broken, watch.controllers) == ([], {1: 100, 2: 100})
    session.set(znodes.state(P), znodes.State(0, 2, (0, 1), 1).encode())
    session.set(znodes.CONTROLLER, znodes.ControllerRegistration(101, 0).encode())
    watch.look(state)
    assert promises(watch.broken) == ["OneControllerInEachEpoch", "EpochsNeverGoBack"]
    session.set(znodes.CONTROLLER_EPOCH, znodes.encode_controller_epoch(1))
    watch.look(state)
    assert promises(watch.broken)[2:] == ["EpochsNeverGoBack", "OneControllerInEachEpoch"]


def history(**read: str) -> History:
    """Return a history with r1 acknowledged at offset 1 of orders-0, and these values read there, as o0="r0"."""
    found = History({"r1": Sent(P, ALL, 1), "r2": Sent(P, ALL)})
    for offset, value in read.items():
        found.saw(P, int(offset.removeprefix("o")), value)
    return found


def test_clients_lose_nothing() -> None:
    """What was acknowledged is where it was acknowledged; what was not acknowledged may be missing, and may be there."""
    assert broken_for_clients(history(o0="r0", o1="r1"), [], [P]) == []
    assert broken_for_clients(history(o0="r0", o1="r1", o2="r2"), [], [P]) == []


@pytest.mark.parametrize("read", [{"o0": "r0"}, {"o0": "r1"}, {"o1": "r2"}])
def test_clients_lose_a_record(read: dict[str, str]) -> None:
    """An acknowledged record that is missing, elsewhere, or overwritten is lost."""
    assert promises(broken_for_clients(history(**read), [], [P])) == ["Committed"]


def test_a_deleted_topic_loses_nothing() -> None:
    """Records of a topic that was deleted are not looked for."""
    assert broken_for_clients(history(), [], []) == []


def test_an_offset_that_changes() -> None:
    """What a consumer read during the run is compared with what is there at the end, and partitions must be readable."""
    last = history(o1="r1", o3="other")
    merged(last, {P: {3: "before", 4: "gone"}})
    assert promises(broken_for_clients(last, [P], [P])) == ["QuietLeaderIsRegistered", "Committed"]
    assert last.changed == [(P, 3, "before", "other")]


def test_the_summary_names_what_is_broken() -> None:
    """A broken promise and its findings are in the text; a run that was stopped is inconclusive."""
    options = RealOptions(VERSION, Path(), 3, 6, ERA_2_8, 0)
    broken = [Broken("Committed", f"record {number}") for number in range(5)]
    outcome = RealOutcome(options, ["reassignment"], 60.0, 10, 9, 9, 4, {1: 100, 2: 0}, LogsChecked(), broken)
    text = text_of(outcome)
    assert not outcome.kept
    assert "node 100 (ours), node 0 (of Kafka)" in text
    assert "BROKEN: Committed" in text and "record 2" in text and "and 2 more" in text
    stopped = RealOutcome(options, [], 60.0, 10, 9, 9, 4, {}, LogsChecked(), [], "not within 90 s: a leader")
    assert not stopped.kept
    assert "INCONCLUSIVE: not within 90 s: a leader" in text_of(stopped)
