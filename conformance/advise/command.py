"""The subcommand `advise`: may I do this on my cluster? A planned action, searched from the metadata of a real cluster on."""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kafka_spec.conformance.metadata.bootstrap import add_bootstrap, check_what_is_read, reachable_log
from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.command.options import (
    AS_EXPECTED,
    INCONCLUSIVE,
    VIOLATED,
    add_output_options,
    cores,
    duration,
    outputs,
    threads,
    write,
)
from kafka_spec.model_check.report.escape import plain
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import SpecError

if TYPE_CHECKING:
    from kafka_spec.conformance.advise.advising import Advised
    from kafka_spec.conformance.advise.controllers import FormatAdvice
    from kafka_spec.conformance.advise.plans import OperatorPlan
    from kafka_spec.conformance.metadata.image import Image

CODES = {"safe": AS_EXPECTED, "unsafe": VIOLATED, "undecided": INCONCLUSIVE}
SECONDS = 300.0
"""The time for all searches, unless --seconds names another."""
MOST_FAULTS = 2
ALL = "all"
CANDIDATES = "candidates"
KEEPS = ("records", "leader", CANDIDATES, "min-isr")
WAITS = ("nothing", "unfenced", "in-sync")
OF_PARTITIONS = {"wait": WAITS[0], "faults": 1, "writes": 0, "keep": None, "era": None, "at": None, "setting": []}
"""The options that say nothing about controllers, with their defaults."""


def add_advise(parser: argparse.ArgumentParser) -> None:
    """Add the options of `advise`."""
    parser.description = (
        "Reads the metadata of a KRaft cluster (the folder __cluster_metadata-0, a snapshot, a tar of them, the text of "
        "kafka-dump-log), and searches the model from there on: with the planned action, and with faults at any moment. "
        "It only reads: files, or the log of a running controller. Exit code 0: safe, 1: not safe, 3: not decided."
    )
    add = parser.add_argument
    add("paths", nargs="*", type=Path, metavar="PATH", help="the metadata log, or folders that hold it")
    add_bootstrap(parser)
    _add_plans(parser)
    add("--wait", choices=WAITS, default=WAITS[0], help="what the plan waits for before each action (default: nothing)")
    add("--faults", type=int, choices=range(MOST_FAULTS + 1), default=1, help="how many faults may happen (default: 1)")
    add("--writes", type=int, choices=range(2), default=0, help="how many records clients write meanwhile (default: 0)")
    add("--keep", action="append", choices=KEEPS, help="judge only this; may be repeated (default: all)")
    add("--era", metavar="RELEASE", help="the release of the controller, 3.3 to 4.4 (default: what the log says)")
    add("--at", metavar="OFFSET|TIME", help="the metadata as it was there (default: at the end)")
    add("--setting", action="append", default=[], metavar="NAME=VALUE", help="what the brokers' files set, as for validate")
    add("--seconds", type=duration, default=SECONDS, metavar="S", help=f"the time for all searches (default: {SECONDS:g})")
    add("--threads", type=threads, default=cores(), metavar="N", help="threads (default: one per core)")
    add_output_options(parser, ("text", "json"))
    parser.set_defaults(run=run_advise)


def _add_plans(parser: argparse.ArgumentParser) -> None:
    """Add the options that state a plan."""
    add = parser.add_argument
    add(
        "--stop",
        action="append",
        default=[],
        type=broker_id,
        metavar="ID",
        help="shut this broker down; repeated: all of them at once",
    )
    restart_help = "restart this broker, or all; repeated: one at a time in any order"
    add("--restart", action="append", default=[], type=broker_or_all, metavar="ID|all", help=restart_help)
    unregister_help = "unregister this broker, running or not; repeated: all of them, as kafka-cluster unregister does one by one"
    add("--unregister", action="append", default=[], type=broker_id, metavar="ID", help=unregister_help)
    remove_help = "restart this broker without the log directory of this id (directory.id of its meta.properties)"
    add("--remove-directory", type=broker_and_directory, metavar="ID:DIRECTORY", help=remove_help)
    format_help = "format the disk of this controller again; with --bootstrap-controller, which is asked how far the voters are"
    add("--format-controller", type=controller_id, metavar="ID", help=format_help)
    add("--reassign", type=Path, metavar="FILE.json", help="reassign, as kafka-reassign-partitions --execute does")
    add("--cancel", type=Path, metavar="FILE.json", help="cancel reassignments, as kafka-reassign-partitions --cancel does")
    set_help = "set min.insync.replicas or unclean.leader.election.enable"
    add("--set", action="append", default=[], metavar="NAME=VALUE", help=set_help)
    elect_help = "elect preferred leaders, or uncleanly those of partitions that have none, as kafka-leader-election does"
    add("--elect", choices=("preferred", "unclean"), help=elect_help)
    add("--topic", action="append", default=[], metavar="TOPIC", help="for --set and --elect: of this topic (default: of all)")


def broker_id(text: str) -> int:
    """Return the broker that an option names."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a broker id; give the id of a broker")
    return int(text)


def controller_id(text: str) -> int:
    """Return the controller that an option names."""
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a controller id; give the node.id of a controller")
    return int(text)


def broker_or_all(text: str) -> int | str:
    """Return the broker that `--restart` names, or ALL."""
    if text != ALL and not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a broker id; give the id of a broker, or {ALL}")
    return ALL if text == ALL else int(text)


def broker_and_directory(text: str) -> tuple[int, str]:
    """Return the broker and the directory that `--remove-directory` names."""
    broker, _, directory = text.partition(":")
    if not broker.isdigit() or not directory:
        raise argparse.ArgumentTypeError(f"{text!r} is not ID:DIRECTORY; give a broker id and the id of one of its log directories")
    return int(broker), directory


def run_advise(options: argparse.Namespace) -> int:
    """Judge the plan, write the advice, and return the exit code: 0, 1 or 3."""
    check_what_is_read(options, "the metadata log")
    brokers = (options.stop, options.restart, options.unregister, options.remove_directory)
    formats = options.format_controller is not None
    others = (options.reassign, options.cancel, options.elect, options.set)
    if sum(map(bool, (*brokers, formats, *others))) != 1:
        ways = "--stop ID, --restart ID|all, --unregister ID, --remove-directory ID:DIRECTORY, --format-controller ID"
        raise SpecError(
            f"advise needs one plan: {ways}, --reassign FILE, --cancel FILE, --elect preferred|unclean or --set NAME=VALUE"
        )
    if options.topic and not (options.set or options.elect):
        raise SpecError("--topic belongs to --set NAME=VALUE and to --elect; a reassignment names its partitions in its file")
    wanted = outputs(options)
    with needing("impl"), needing("check"):
        from kafka_spec.conformance.advise import controllers, report
    budget = Budget(options.seconds)
    with interruptible(budget):
        if formats:
            about = about_controller(options, budget)
            verdict, json_of, text_of = about.verdict, partial(controllers.json_of, about), partial(controllers.text_of, about)
        else:
            advised = advised_of(options, budget)
            verdict, json_of, text_of = advised.verdict, partial(report.json_of, advised), partial(report.text_of, advised)
    for form, file in wanted:
        write(json_of() if form == "json" else plain(text_of()), file)
    return CODES[verdict]


def about_controller(options: argparse.Namespace, budget: Budget) -> FormatAdvice:
    """Read the quorum of the controller that the options name, and judge whether a controller may be formatted.

    Raises:
        SpecError: the options are about partitions, or name a file: only a running controller knows how far the others are.
    """
    from kafka_spec.conformance.advise.controllers import advised

    if {name: getattr(options, name) for name in OF_PARTITIONS} != OF_PARTITIONS:
        raise SpecError(
            "--wait, --faults, --writes, --keep, --era, --at and --setting belong to plans about brokers and partitions"
        )
    with reachable_log(options) as log:
        if log is None:
            raise SpecError(
                "--format-controller needs --bootstrap-controller HOST:PORT: a file does not say how far the voters are"
            )
        return advised(options.format_controller, log.observer.quorum, budget)


def advised_of(options: argparse.Namespace, budget: Budget) -> Advised:
    """Read the metadata, and judge the plan in each situation that it touches."""
    from kafka_spec.conformance.advise import advising
    from kafka_spec.conformance.advise.plans import WAITS as WAIT_OF
    from kafka_spec.conformance.metadata.cluster import cluster_of
    from kafka_spec.conformance.metadata.command import after, release_of
    from kafka_spec.conformance.metadata.settings import StaticSettings, settings_given

    settings = StaticSettings.of(settings_given("--setting", options.setting))
    until = after(options.at) if options.at is not None else None
    with reachable_log(options):
        cluster = cluster_of(options.paths, settings, release_of(options.era), until)
    plan = _plan(options, cluster.judge.image, WAIT_OF[options.wait])
    keep = [advising.KEEPS[name] for name in _kept(options, plan)]
    adviser = advising.Adviser(cluster.model, options.faults, options.writes, keep, budget, options.threads)
    return advising.judged(cluster, plan, adviser, lambda done, of: show_progress(done, of, options.quiet))


def _kept(options: argparse.Namespace, plan: OperatorPlan) -> list[str]:
    """Return what the plan is judged by."""
    possible = [name for name in KEEPS if name != CANDIDATES or plan.touches_candidates]
    if not (kept := [name for name in possible if not options.keep or name in options.keep]):
        raise SpecError(
            f"--keep {CANDIDATES} belongs to --set min.insync.replicas=N and to --unregister ID: "
            f"another plan is judged by {', '.join(possible)}"
        )
    return kept


def _plan(options: argparse.Namespace, image: Image, wait: int) -> OperatorPlan:
    """Return the plan that the options state."""
    from kafka_spec.conformance.advise import plans
    from kafka_spec.spec.decisions.partition_change import ElectionKind
    from kafka_spec.spec.kraft.planned import Wait

    if options.stop:
        return plans.stopping(image, options.stop, Wait(wait))
    if options.restart:
        return plans.restarting(image, [] if ALL in options.restart else options.restart, Wait(wait))
    if options.unregister:
        return plans.unregistering(image, options.unregister, Wait(wait))
    if options.remove_directory:
        broker, directory = options.remove_directory
        return plans.removing(image, broker, directory, Wait(wait))
    if options.reassign:
        return plans.reassigning(image, options.reassign, Wait(wait))
    if options.cancel:
        return plans.cancelling(image, options.cancel, Wait(wait))
    if options.elect:
        return plans.electing(image, ElectionKind[options.elect.upper()], options.topic, Wait(wait))
    return plans.setting(image, options.set, options.topic, Wait(wait))


def show_progress(done: int, of: int, quiet: bool) -> None:
    """Show on a terminal how many situations are judged."""
    if not quiet and sys.stderr.isatty():
        sys.stderr.write(f"\r{done} of {of} situations judged ")
