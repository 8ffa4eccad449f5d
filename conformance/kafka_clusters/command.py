"""The options `--kafka` and `--jars` of the subcommand `run`: real brokers of Kafka, led by this project's controller.

Exit codes are those of `run`: 0 every property was satisfied, 1 one was violated, 2 misuse and missing jars, 3 the run was stopped.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spec.conformance.kafka_classes.jars import folder_of
from kafka_spec.conformance.kafka_clusters.kraft_processes import ERAS
from kafka_spec.impl.command import BROKEN, INCONCLUSIVE, KEPT, run_folder
from kafka_spec.impl.run.eras import find_era, is_kraft
from kafka_spec.impl.zookeeper.coordination.interface import CoordinationError
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import SpecError

if TYPE_CHECKING:
    from kafka_spec.conformance.kafka_clusters.outcome import RealOutcome

ON_ZOOKEEPER = ("2.8.2", "3.9.1")
ON_KRAFT = tuple(ERAS)
"""The versions of Kafka that such a run has been tried with: with ZooKeeper, and with a controller of KRaft."""
ERA = "era_2_8"
"""The era of our controllers unless `--era` names another: that of the brokers."""
LEAST_BROKERS = 3
FIRST_OF_OURS = 100
"""The id of our first node; Kafka's brokers count from 0."""
SHOWN = 3
"""The number of findings listed for one property."""
NOT_WITH_KAFKA = {
    "replication_factor": "--replication-factor",
    "seconds": "--seconds",
    "faults": "--faults",
    "operations": "--operations",
    "script": "--script",
    "unclean": "--unclean",
    "state_change_log": "--state-change-log",
}
"""Options of `run` that have no meaning with real brokers, where the course is always the same."""


def add_kafka(parser: argparse.ArgumentParser, otherwise: Callable[[argparse.Namespace], int]) -> None:
    """Add the options; a run without `--kafka` is left to `otherwise`."""
    parser.add_argument(
        "--kafka",
        choices=(*ON_ZOOKEEPER, *ON_KRAFT),
        help="real brokers of this version, led by our controller; `make kafka` fetches the jars",
    )
    parser.add_argument("--mixed", action="store_true", help="with --kafka: our broker hosts replicas beside Kafka's")
    parser.add_argument(
        "--inter-broker-protocol", default="", metavar="VERSION", help="with --kafka: 2.6, 2.7, 2.8 or 3.9 (default: the newest)"
    )
    parser.add_argument("--jars", type=Path, metavar="FOLDER", help="the folder with a folder of jars for each version")
    parser.set_defaults(run=lambda options: otherwise(options) if options.kafka is None else run(options))


def run(options: argparse.Namespace) -> int:
    """Run with real brokers, report the result, and return the exit code."""
    _refuse_meaningless(options)
    play = _kraft_run(options) if options.kafka in ON_KRAFT else _zookeeper_run(options)
    for library in ("aiokafka", "kazoo", "asyncio"):  # they must not log lost connections to stderr
        logging.getLogger(library).addHandler(logging.NullHandler())

    def say(what: str) -> None:
        if not options.quiet:
            print(what, file=sys.stderr, flush=True)

    try:
        with run_folder(options.data) as folder:
            outcome = play(folder, say)
    except CoordinationError as error:
        print(f"kafka-spec: ZooKeeper was lost: {error}", file=sys.stderr)
        return INCONCLUSIVE
    sys.stdout.write(json_of(outcome) if options.format == "json" else text_of(outcome))
    if outcome.stopped:
        print(f"kafka-spec: {outcome.stopped}", file=sys.stderr)
        return INCONCLUSIVE
    return KEPT if outcome.kept else BROKEN


Play = Callable[[Path, Callable[[str], object]], "RealOutcome"]
"""A run that has its options: it takes an empty folder, and who receives what happens."""


def _refuse_meaningless(options: argparse.Namespace) -> None:
    """Refuse options of `run` that say nothing to real brokers.

    Raises:
        SpecError: there is one.
    """
    for name, option in NOT_WITH_KAFKA.items():
        if getattr(options, name):
            raise SpecError(f"{option} has no meaning with --kafka: the course of such a run is always the same")
    if options.controllers is not None or options.era.startswith("quorum/"):
        option = "--era" if options.controllers is None else "--controllers"
        raise SpecError(f"{option}: with --kafka this project's controller is a quorum of one; leave it out")
    if options.zookeeper not in (None, "start"):
        raise SpecError(f"--zookeeper {options.zookeeper}: with --kafka the run starts a ZooKeeper of its own, from Kafka's jars")
    least = LEAST_BROKERS - options.mixed
    if options.brokers < least:
        raise SpecError(f"--brokers {options.brokers}: with --kafka it takes {least}: one is killed, one is moved to")


def _kraft_run(options: argparse.Namespace) -> Play:
    """Return a run of KRaft.

    Raises:
        SpecError: an option makes no sense there.
    """
    for name in ("mixed", "inter_broker_protocol", "zookeeper"):
        if getattr(options, name):
            raise SpecError(f"--{name.replace('_', '-')} is for clusters with ZooKeeper; Kafka {options.kafka} has none")
    era = find_era(ERAS[options.kafka] if options.era == "fixed" else options.era)
    if not is_kraft(era):
        raise SpecError(f"--era {options.era} is one of clusters with ZooKeeper; with --kafka {options.kafka} it is one of KRaft's")
    with needing("kafka"):
        from kafka_spec.conformance.kafka_clusters.kraft_run import KRaftOptions, run_with_kraft

    folder = folder_of(options.kafka, options.jars)
    asked = KRaftOptions(options.kafka, folder, options.brokers, options.partitions, era, options.seed)
    return partial(run_with_kraft, asked)


def _zookeeper_run(options: argparse.Namespace) -> Play:
    """Return a run with ZooKeeper.

    Raises:
        SpecError: options contradict each other.
    """
    era = find_era(ERA if options.era == "fixed" else options.era)
    if is_kraft(era):
        raise SpecError(f"--era {options.era} is one of KRaft; with --kafka {options.kafka} it is one of clusters with ZooKeeper")
    with needing("kafka"):
        from kafka_spec.conformance.kafka_clusters.run import RealOptions, run_with_kafka

    asked = RealOptions(
        options.kafka,
        folder_of(options.kafka, options.jars),
        options.brokers,
        options.partitions,
        era,
        options.seed,
        options.mixed,
        options.inter_broker_protocol,
    )
    try:
        asked.protocol  # noqa: B018 - it is looked up again where it is needed
    except SpecError as error:
        raise SpecError(f"--inter-broker-protocol: {error}") from None
    return partial(run_with_kafka, asked)


def text_of(outcome: RealOutcome) -> str:
    """Return the summary of a run."""
    options, logs = outcome.options, outcome.logs
    controllers = ", ".join(
        f"node {node} ({'ours' if node >= FIRST_OF_OURS else 'of Kafka'})" for node in outcome.controllers.values()
    )
    lines = [
        f"{options.title}, {options.partitions} partitions, {outcome.seconds:.0f} seconds"
        + (", stopped before the end" if outcome.stopped else ""),
        _line("scenes", "; ".join(outcome.scenes)),
        _line("controllers", controllers),
        _line("elected", f"{outcome.leaders} leader epochs seen"),
        _line("produced", f"{outcome.produced:,} records with acks=all, {outcome.acknowledged:,} acknowledged"),
        _line("read", f"{outcome.read:,} records by a consumer from the beginning"),
        _line("logs", logs.text),
    ]
    if outcome.stopped:
        return "\n".join([*lines, _line("verdict", f"INCONCLUSIVE: {outcome.stopped}")]) + "\n"
    names = list(dict.fromkeys(one.promise for one in outcome.broken))
    lines.append(_line("verdict", f"BROKEN: {', '.join(names)}" if names else "every property was satisfied"))
    for name in names:
        found = [one.found for one in outcome.broken if one.promise == name]
        lines += [name, *(f"  {one}" for one in found[:SHOWN])]
        lines += [f"  and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    return "\n".join(lines) + "\n"


def _line(name: str, text: str) -> str:
    return f"  {name:<13} {text}"


def json_of(outcome: RealOutcome) -> str:
    """Return the outcome as JSON (schema_version 1)."""
    options = outcome.options
    return (
        json.dumps(
            {
                "schema_version": 1,
                "kafka": options.version,
                "era": options.era.name,
                "brokers": options.brokers,
                **options.plain(),
                "partitions": options.partitions,
                "seconds": round(outcome.seconds, 1),
                "scenes": outcome.scenes,
                "kept": outcome.kept,
                "stopped": outcome.stopped,
                "controllers": {str(epoch): node for epoch, node in outcome.controllers.items()},
                "leader_epochs": outcome.leaders,
                "produced": outcome.produced,
                "acknowledged": outcome.acknowledged,
                "read": outcome.read,
                **outcome.logs.plain(),
                "broken": [asdict(one) for one in outcome.broken],
            },
            indent=2,
        )
        + "\n"
    )
