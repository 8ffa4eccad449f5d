"""The subcommand `validate`: checks the logs of a real cluster against the tables.

Handles options and files. Exit codes are those of the other subcommands: 0 if the logs are complete and show no violation, 1 for a
violation, 2 for misuse, 3 if incomplete logs show no violation.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from kafka_spec.conformance.metadata.bootstrap import add_bootstrap, check_what_is_read
from kafka_spec.conformance.metadata.recognise import CONTROLLER as KRAFT_CONTROLLER
from kafka_spec.conformance.metadata.recognise import holds_a_metadata_log, kind_of
from kafka_spec.conformance.outcome.command import progress
from kafka_spec.conformance.validate.embedded import Results
from kafka_spec.conformance.validate.files import Source, find_sources
from kafka_spec.conformance.validate.once import readable_again
from kafka_spec.conformance.validate.outcome import Outcome, put_together
from kafka_spec.conformance.validate.pattern import layout_of
from kafka_spec.model_check.command.options import EXIT_CODES, Output, add_output_options, outputs, write
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import SpecError

FORMATS = ("text", "json", "junit", "html", "checkpoint", "prometheus")
ERAS = {"0.10": "0.10", "2.8": "2.8", "3.9": "2.8"}
ENGINES = ("embedded", "spark")


def add_validate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `validate`."""
    parser.description = (
        "Reads the metadata log of a KRaft cluster (Kafka 3.3 to 4.4: the folder __cluster_metadata-0 of one or several nodes, a "
        "tar of it, snapshots, the text of kafka-dump-log), and judges each record by the properties of the model. Or reads the "
        "state-change logs of all brokers, and their controller logs, rotated and compressed ones too, of Kafka 0.10 to "
        "3.9 with ZooKeeper, and checks each transition, each leadership and each request against the tables."
    )
    parser.add_argument("paths", nargs="*", type=Path, metavar="PATH", help="log files, or folders that hold some")
    parser.add_argument(
        "--era",
        metavar="RELEASE",
        help="whose table: 0.10, 2.8 or 3.9 (default: 0.10 for its lines, else 2.8; 3.9 has that of 2.8); of a metadata log the "
        "release of the controller, 3.3 to 4.4 (default: what the log says)",
    )
    parser.add_argument(
        "--level", choices=("auto", "info"), default="auto", help="info: accept that little is seen in logs at INFO"
    )
    parser.add_argument(
        "--engine", choices=("embedded", "spark"), default="embedded", help="spark: for logs that outgrow a machine"
    )
    parser.add_argument(
        "--replay", action="store_true", help="explain the logs as runs of the model, with what nobody logs filled in by a search"
    )
    parser.add_argument(
        "--partition",
        action="append",
        default=[],
        metavar="T-P",
        help="for --replay: only this partition; of a metadata log: its story; may be repeated",
    )
    parser.add_argument(
        "--pattern",
        metavar="LAYOUT",
        help="the PatternLayout of log4j that the lines have, such as '%%d{ISO8601} %%-5p [%%t] %%m (%%c)%%n' (default: learnt)",
    )
    parser.add_argument("--master", metavar="URL", help="for spark: local[N], spark://HOST:PORT and the like (default: local[*])")
    _add_metadata_options(parser)
    add_output_options(parser, FORMATS)
    parser.set_defaults(run=run)


def _add_metadata_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for metadata logs alone."""
    parser.add_argument(
        "--setting",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for a metadata log: what the brokers' files set, min.insync.replicas or unclean.leader.election.enable",
    )
    add_bootstrap(parser)
    parser.add_argument(
        "--topic", action="append", default=[], metavar="TOPIC", help="for a metadata log: what happened to a topic"
    )
    parser.add_argument(
        "--broker", action="append", default=[], type=int, metavar="ID", help="for a metadata log: what happened to a broker"
    )
    parser.add_argument("--at", metavar="OFFSET|TIME", help="for a metadata log: the whole image there")
    parser.add_argument(
        "--why", metavar="T-P", help="for a metadata log: why a partition has no leader or a small ISR, and what would change that"
    )
    parser.add_argument(
        "--no-explain", dest="explain", action="store_false", help="for a metadata log: judge its records, and explain none"
    )
    parser.add_argument(
        "--follow", action="store_true", help="for the metadata log of a running node: show what comes, until Ctrl-C, then report"
    )


def run(options: argparse.Namespace) -> int:
    """Validate the logs, and report the outcome."""
    check_what_is_read(options, "log files or folders")
    with readable_again(options.paths) as (options.paths, names):
        return _run(options, names)


def _run(options: argparse.Namespace, names: Mapping[str, str]) -> int:
    """Validate logs that can be read again; `names` has the names of those that are copies of what came through pipes."""
    if options.bootstrap_controller or any(holds_a_metadata_log(path) for path in options.paths if path.exists()):
        with needing("impl"):
            from kafka_spec.conformance.metadata.command import run as of_metadata
        return of_metadata(options)
    wanted = outputs(options)
    if options.follow:
        raise SpecError(
            "--follow takes the folder __cluster_metadata-0 of a running node of KRaft, or --bootstrap-controller HOST:PORT"
        )
    if options.era is not None and options.era not in ERAS:
        raise SpecError(f"--era {options.era} has no state-change log; it is one of {', '.join(ERAS)}")
    sources, found = find_sources(options.paths, layout_of(options.pattern) if options.pattern else None)
    files = [names.get(file, file) for file in found]
    era = ERAS[options.era] if options.era else None
    if options.replay:
        return _replay(options, wanted, sources, files, era)
    if options.partition:
        raise SpecError("--partition is for --replay")
    results = _results(options, sources, era, any(form == "html" for form, _ in wanted))
    outcome = put_together(results, files, era, options.level, _foreign(sources, files))
    for form, file in wanted:
        write(_as(form, outcome), file)
    return EXIT_CODES[outcome.verdict]


def _foreign(sources: Sequence[Source], files: Sequence[str]) -> list[str]:
    """Return which files are those of a KRaft controller, by their content."""
    return [
        f"{files[number]} is the log of a KRaft controller, whose decisions are in its metadata log: name the folder "
        "__cluster_metadata-0, or the text of kafka-dump-log"
        for source in sources
        for number, path in source.files
        if kind_of(path) == KRAFT_CONTROLLER
    ]


def _replay(
    options: argparse.Namespace, wanted: Sequence[Output], sources: Sequence[Source], files: Sequence[str], era: str | None
) -> int:
    """Explain the logs as runs of the model, and report how."""
    if options.engine != "embedded" or options.level != "auto":
        raise SpecError("--replay reads logs at TRACE in one process: leave --engine and --level out")
    if strange := [form for form, _ in wanted if form not in ("text", "json")]:
        raise SpecError(f"--replay is reported as text or json, not as {strange[0]}")
    with needing("check"):
        from kafka_spec.conformance.validate.replay.explain import replay
    from kafka_spec.conformance.validate.replay.report import plain_of, text_of

    shows = sys.stderr.isatty() and not options.quiet
    found = replay(sources, files, era, options.partition, lambda name: sys.stderr.write(f"{name}\n") if shows else None)
    for form, file in wanted:
        write(json.dumps(plain_of(found), indent=1) if form == "json" else text_of(found), file)
    return EXIT_CODES[found.verdict]


def _results(options: argparse.Namespace, sources: Sequence[Source], era: str | None, keeps_moments: bool) -> Results:
    if options.engine == "spark":
        with needing("spark"):
            from kafka_spec.conformance.validate.spark import run as on_spark
        return on_spark(sources, era, keeps_moments, options.master or "local[*]")
    if options.master:
        raise SpecError("--master is for --engine spark")
    from kafka_spec.conformance.validate.embedded import run as embedded

    sizes = sum(path.stat().st_size for source in sources for _, path in source.files)
    return embedded(sources, era, keeps_moments, progress(sizes, options.quiet))


def _as(form: str, outcome: Outcome) -> str:
    if form in ("checkpoint", "prometheus"):
        raise SpecError(f"{form} is of a metadata log; logs of this kind are reported as text, json, junit or html")
    if form == "json":
        from kafka_spec.conformance.validate.report import plain_of

        return json.dumps(plain_of(outcome), indent=1)
    if form == "junit":
        from kafka_spec.conformance.outcome.junit import junit_of
        from kafka_spec.conformance.validate.findings import KINDS

        return junit_of(outcome, KINDS)
    if form == "html":
        from kafka_spec.conformance.validate.page import page_of

        return page_of(outcome)
    from kafka_spec.conformance.validate.report import text_of

    return text_of(outcome)
