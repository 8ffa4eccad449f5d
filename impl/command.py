"""The subcommand `run`: runs a cluster, in virtual time or on loopback with real ZooKeeper, and reports the result.

This module handles options and files. Exit codes are those of the other subcommands; a violated property is 1.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from kafka_spec.impl.run.eras import KRAFT_ERAS, find_era, is_kraft, names_directories
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError
from kafka_spec.spec.decisions.log import unflushed_may_be_lost
from kafka_spec.spec.kraft.fixed import FIXED as KRAFT_FIXED
from kafka_spec.spec.quorum.fixed import FIXED as QUORUM_FIXED
from kafka_spec.spec.vocabulary.table import Spec, SpecError

if TYPE_CHECKING:
    from kafka_spec.impl.run.display import RunDisplay
    from kafka_spec.impl.run.faults import InjectedFault
    from kafka_spec.impl.run.options import Options, ScriptLine
    from kafka_spec.impl.run.outcome import RunOutcome
    from kafka_spec.impl.run.zookeeper.conductor import Conductor

KEPT, BROKEN, INCONCLUSIVE, INTERNAL = 0, 1, 3, 4
MOST_BROKERS = 32
MOST_CONTROLLERS = 5
FORMATS = ("text", "json")
LOG = "state-change.log"
ONLY_ZOOKEEPER = ("zookeeper", "script", "state_change_log")
"""The options that KRaft has no use for: it has no ZooKeeper and no state-change log, and no script reaches its controller."""
MOST_REPLICAS = 4
"""The most replicas of a partition in the model of KRaft, which judges the run."""


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    parser.description = (
        "Without --zookeeper the run takes place in virtual time, and equal options give equal runs. "
        "With it, brokers communicate over loopback in real time."
    )
    parser.add_argument("--brokers", type=_number(1, MOST_BROKERS), default=3, metavar="N", help="brokers (default: 3)")
    parser.add_argument(
        "--controllers", type=_number(1, MOST_CONTROLLERS), metavar="N", help="KRaft: the quorum's controllers (default: 1)"
    )
    parser.add_argument("--partitions", type=_number(1, 10_000), default=6, metavar="N", help="of the one topic (default: 6)")
    parser.add_argument("--replication-factor", type=_number(1, MOST_BROKERS), metavar="N", help="default: 3, or all brokers")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="the source of all randomness (default: 0)")
    parser.add_argument("--seconds", type=_seconds, metavar="S", help="how long clients work (default: 30 virtual, or 10 real)")
    parser.add_argument(
        "--era",
        default="fixed",
        metavar="ERA",
        help=f"with ZooKeeper: fixed, era_2_8, era_0_10; KRaft: {', '.join(KRAFT_ERAS)}; or a bug, see `models`",
    )
    parser.add_argument("--faults", metavar="A,B,...", help="the faults: names, or none, usual (the default), all")
    parser.add_argument("--operations", metavar="A,B,...", help="what operators do: names, or none (the default), all")
    parser.add_argument(
        "--script", type=Path, metavar="FILE", help="lines such as `2.5 delete t`: seconds, and a command of `admin`"
    )
    parser.add_argument("--unclean", action="store_true", help="permit unclean leader elections")
    parser.add_argument("--zookeeper", metavar="HOST:PORT|start", help="use real ZooKeeper; start: a server from PySpark's jars")
    parser.add_argument("--data", type=Path, metavar="DIR", help="an empty folder for the logs (default: a temporary one)")
    parser.add_argument("--state-change-log", type=Path, metavar="FILE", help=f"default: DIR/{LOG} with --data")
    parser.add_argument("--format", choices=FORMATS, default="text", help="the format of stdout")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress display")
    parser.set_defaults(run=run)


def _number(least: int, most: int) -> Any:
    def read(text: str) -> int:
        if not text.isdecimal() or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"{text!r} must be a number from {least:,} to {most:,}")
        return int(text)

    return read


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of seconds above 0, at most 86,400")
    return seconds


def run(options: argparse.Namespace) -> int:
    """Run a cluster, report the result, and return the exit code."""
    from kafka_spec.impl.run.display import RunDisplay
    from kafka_spec.impl.run.report import json_of, text_of

    asked = _options(options)
    try:
        with run_folder(options.data) as folder, _log(options) as log, RunDisplay(sys.stderr, not options.quiet) as display:
            outcome = _outcome(options, asked, folder, log, display)
    except CoordinationError as error:
        print(f"kafka-spec: ZooKeeper was lost: {error}", file=sys.stderr)
        return INCONCLUSIVE
    sys.stdout.write(json_of(outcome) if options.format == "json" else text_of(outcome))
    if outcome.errors:
        print(f"kafka-spec: internal error; please report it: {outcome.errors[0]}", file=sys.stderr)
        return INTERNAL
    if outcome.stopped:
        print(f"kafka-spec: {outcome.stopped}", file=sys.stderr)
        return INCONCLUSIVE
    return KEPT if outcome.kept else BROKEN


def _options(options: argparse.Namespace) -> Options:
    """Return the options of a run.

    Raises:
        SpecError: options contradict each other.
    """
    from kafka_spec.impl.run.faults import ANYWHERE, parse_faults
    from kafka_spec.impl.run.operations import parse_operations
    from kafka_spec.impl.run.options import Options

    factor = options.replication_factor or min(3, options.brokers)
    if factor > options.brokers:
        raise SpecError(f"--replication-factor {factor} needs {factor} brokers, and there are {options.brokers}")
    if is_kraft(era := find_era(options.era)):
        return _kraft_options(options, era, factor)
    if options.controllers is not None:
        raise SpecError(f"--controllers is for KRaft; use it with --era kraft_fixed, for example, and not with {options.era}")
    real = options.zookeeper is not None
    faults = parse_faults(options.faults or (",".join(ANYWHERE) if real else "usual"))
    if real and (only_simulated := [fault for fault in faults if fault not in ANYWHERE]):
        raise SpecError(
            f"--faults {only_simulated[0]} is possible only in the simulation; with --zookeeper use {', '.join(ANYWHERE)}, or none"
        )
    if unflushed_may_be_lost(1, 1, era.constants({}).suffix_loss) and not real:
        faults = parse_faults(",".join((*faults, "power")))
    return Options(
        brokers=options.brokers,
        partitions=options.partitions,
        replication_factor=factor,
        seed=options.seed,
        seconds=options.seconds or (10.0 if real else 30.0),
        era=era,
        faults=faults,
        operations=parse_operations(options.operations or "none"),
        script=tuple(_script(options.script)),
        unclean=options.unclean,
        real=real,
    )


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",")]


def _kraft_options(options: argparse.Namespace, era: Spec, factor: int) -> Options:
    """Return the options of a run of KRaft.

    Raises:
        SpecError: an option makes no sense there.
    """
    from kafka_spec.impl.run.faults import parse_faults
    from kafka_spec.impl.run.kraft.faults import OF_CONTROLLERS
    from kafka_spec.impl.run.kraft.quorum_era import quorum_of
    from kafka_spec.impl.run.operations import KRAFT_OPERATIONS, OPERATIONS, parse_operations
    from kafka_spec.impl.run.options import Options

    for name in ONLY_ZOOKEEPER:
        if getattr(options, name) is not None:
            raise SpecError(f"--{name.replace('_', '-')} is for clusters with ZooKeeper; leave it out with --era {options.era}")
    if factor > MOST_REPLICAS:
        raise SpecError(f"--replication-factor {factor}: the model of KRaft, which judges the run, has at most {MOST_REPLICAS}")
    of_quorum = era.state is QUORUM_FIXED.state
    controllers = options.controllers or (3 if of_quorum else 1)
    words = _words(options.faults or "usual")
    if controllers == 1 and (of_quorum or any(fault.name in words for fault in OF_CONTROLLERS)):
        raise SpecError(f"--{'era' if of_quorum else 'faults'} needs several controllers; add --controllers 3")
    quorum = quorum_of(era) if controllers > 1 else None
    if quorum is not None and "voters" in words and not quorum.kraft_version:
        raise SpecError(f"--faults voters: the controllers of {era.name} are configured as voters; use an era from kraft_3_9 on")
    return Options(
        brokers=options.brokers,
        partitions=options.partitions,
        replication_factor=factor,
        seed=options.seed,
        seconds=options.seconds or 30.0,
        era=KRAFT_FIXED if of_quorum else era,
        faults=parse_faults(options.faults or "usual", _kraft_faults(options, era, controllers)),
        operations=parse_operations(options.operations or "none", KRAFT_OPERATIONS if names_directories(era) else OPERATIONS),
        unclean=options.unclean,
        controllers=controllers,
        quorum=quorum,
        quorum_name=era.name if of_quorum else "",
    )


def _kraft_faults(options: argparse.Namespace, era: Spec, controllers: int) -> dict[str, InjectedFault]:
    """Return the faults that an era of KRaft can have.

    Raises:
        SpecError: one is wanted, or an operation, that needs log directories in the metadata.
    """
    from kafka_spec.impl.run.kraft.faults import DIRECTORY, KRAFT_FAULTS, QUORUM_FAULTS
    from kafka_spec.impl.run.operations import MOVE

    known = KRAFT_FAULTS if controllers == 1 else QUORUM_FAULTS
    if names_directories(era):
        return known
    if DIRECTORY in _words(options.faults or "") or MOVE in _words(options.operations or ""):
        raise SpecError(f"--era {options.era}: the metadata names log directories since 3.7; use kraft_3_7 or a later era")
    return {name: fault for name, fault in known.items() if name != DIRECTORY}


def _script(path: Path | None) -> list[ScriptLine]:
    """Return the commands of a script, none without one.

    Raises:
        SpecError: it cannot be read, or a line is malformed.
    """
    from kafka_spec.impl.run.zookeeper.admin_words import read_script

    if path is None:
        return []
    try:
        return read_script(path.read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise SpecError(f"--script {path}: {error.strerror}; name a file with lines such as `2.5 delete orders`") from None
    except UnicodeDecodeError:
        raise SpecError(f"--script {path}: this is not UTF-8 text; write lines such as `2.5 delete orders`") from None


def _outcome(options: argparse.Namespace, asked: Options, folder: Path, log: TextIO | None, display: RunDisplay) -> RunOutcome:
    if is_kraft(asked.era):
        from kafka_spec.impl.run.kraft.display import brokers_line, partitions_table
        from kafka_spec.impl.run.kraft.simulation import simulate_kraft
        from kafka_spec.impl.run.kraft.world import KRaftWorld

        def watch_kraft(world: KRaftWorld) -> None:
            display.show(lambda: (brokers_line(world), partitions_table(world)), world.observer)

        return simulate_kraft(asked, folder, display.news, watch_kraft)

    from kafka_spec.impl.run.zookeeper.display import brokers_line as cluster_line
    from kafka_spec.impl.run.zookeeper.display import partitions_table as cluster_table

    def write(line: str) -> None:
        if log is not None:
            log.write(line)

    def watch(conductor: Conductor) -> None:
        world = conductor.world
        cluster, shown = world.cluster, asked.partitions_of_topic()
        display.show(lambda: (cluster_line(cluster, world.numbers), cluster_table(cluster, shown)), world.observer)

    if not asked.real:
        from kafka_spec.impl.run.zookeeper.simulation import simulate

        return simulate(asked, folder, write, display.news, watch)
    from kafka_spec.impl.run.zookeeper.loopback import run_on_loopback
    from kafka_spec.impl.run.zookeeper.place import zookeeper

    logging.getLogger("kazoo").addHandler(logging.NullHandler())  # kazoo must not log lost connections to stderr
    with zookeeper(options.zookeeper, folder) as servers:
        return asyncio.run(run_on_loopback(asked, folder, servers, write, display.news, watch))


@contextmanager
def run_folder(asked: Path | None) -> Iterator[Path]:
    """Yield an empty folder: the one named, or a temporary one.

    Raises:
        SpecError: it is not empty, or cannot be created.
    """
    if asked is None:
        with tempfile.TemporaryDirectory(prefix="kafka-spec-run-") as folder:
            yield Path(folder)
        return
    try:
        asked.mkdir(parents=True, exist_ok=True)
        if any(asked.iterdir()):
            raise SpecError(f"--data {asked}: the folder is not empty; name another, or empty it")
    except OSError as error:
        raise SpecError(f"--data {asked}: {error.strerror}; name a writable folder") from None
    yield asked


@contextmanager
def _log(options: argparse.Namespace) -> Iterator[TextIO | None]:
    """Yield the file of the state-change log, None if none is requested.

    Raises:
        SpecError: it cannot be written.
    """
    path = options.state_change_log or (options.data / LOG if options.data is not None else None)
    if path is None or is_kraft(find_era(options.era)):
        yield None
        return
    try:
        file = path.open("w", encoding="utf-8")
    except OSError as error:
        raise SpecError(f"--state-change-log {path}: {error.strerror}; name a writable file") from None
    with file:
        yield file
