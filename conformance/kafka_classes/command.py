"""The subcommand `conformance`: compares this project with Kafka's own classes.

Exit codes are those of the other subcommands: 0 if all agree but for chosen differences, 1 if not, 2 for misuse and missing jars.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kafka_spec.conformance.kafka_classes import report
from kafka_spec.conformance.kafka_classes.comparison import SubjectResult, run_subject
from kafka_spec.conformance.kafka_classes.jars import VERSIONS, checked_jars, folder_of
from kafka_spec.model_check.command.options import AS_EXPECTED, VIOLATED, add_output_options, outputs, positive, write
from kafka_spec.spec.vocabulary.table import SpecError

FORMATS: dict[str, Callable[[Sequence[SubjectResult]], str]] = {
    "text": report.as_text,
    "json": report.as_json,
    "junit": report.as_junit,
}
CASES = 2000


def add_conformance(parser: argparse.ArgumentParser) -> None:
    """Add the options of `conformance`."""
    parser.description = (
        "Runs Kafka's own classes in this process, and compares what they decide, write and send with the tables and the reference "
        "implementation. `make kafka` fetches the jars."
    )
    parser.add_argument("subjects", nargs="*", metavar="SUBJECT", help="what to compare (default: everything); see --list")
    parser.add_argument("--list", action="store_true", help="list the subjects")
    parser.add_argument("--kafka", choices=VERSIONS, default=VERSIONS[0], help="whose classes (default: %(default)s)")
    parser.add_argument("--jars", type=Path, metavar="FOLDER", help="the folder with a folder of jars for each version")
    parser.add_argument("--cases", type=positive, default=CASES, metavar="N", help="random inputs (default: %(default)s), roughly")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random inputs (default: %(default)s)")
    add_output_options(parser, tuple(FORMATS))
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compare, and report the results."""
    from kafka_spec.conformance.kafka_classes.java import Kafka
    from kafka_spec.conformance.kafka_classes.subjects import SUBJECTS

    wanted = outputs(options)
    if unknown := [name for name in options.subjects if name not in SUBJECTS]:
        raise SpecError(f"there is no subject {unknown[0]}; there are {', '.join(SUBJECTS)}")
    subjects = [SUBJECTS[name] for name in options.subjects or SUBJECTS]
    if options.list:
        rows = [(subject.name, ", ".join(subject.versions), subject.summary) for subject in subjects]
        names, versions = (max(len(row[column]) for row in rows) for column in (0, 1))
        write("\n".join(f"{name:{names}}  {those:{versions}}  {summary}" for name, those, summary in rows), None)
        return AS_EXPECTED
    if options.subjects and (missing := [subject.name for subject in subjects if options.kafka not in subject.versions]):
        raise SpecError(f"Kafka {options.kafka} does not have the classes of {', '.join(missing)}")
    kafka = Kafka(options.kafka, checked_jars(options.kafka, folder_of(options.kafka, options.jars)))
    results = []
    for subject in subjects:
        if options.kafka in subject.versions:
            if not options.quiet:
                print(f"{subject.name}: {subject.summary}", file=sys.stderr, flush=True)
            results.append(run_subject(subject, kafka, options.seed, options.cases, time.monotonic))
    for form, file in wanted:
        write(FORMATS[form](results), file)
    return VIOLATED if any(result.failures for result in results) else AS_EXPECTED
