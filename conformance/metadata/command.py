"""`validate` for metadata logs: options, and the report in the wanted forms."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

from kafka_spec.conformance.metadata.judge import LogJudge, StaticSettings
from kafka_spec.conformance.metadata.report import plain_of, text_of
from kafka_spec.conformance.metadata.sources import find_sources
from kafka_spec.conformance.metadata.validation import MetadataOutcome, Validation
from kafka_spec.model_check.command.options import AS_EXPECTED, INCONCLUSIVE, VIOLATED, outputs, write
from kafka_spec.spec.table import SpecError

EXIT = {"holds": AS_EXPECTED, "violated": VIOLATED, "inconclusive": INCONCLUSIVE}
STATIC_SETTINGS = ("min.insync.replicas", "unclean.leader.election.enable")
EVERY = 0.5
"""Seconds between two lines of progress."""


def settings_of(given: list[str]) -> StaticSettings:
    """Return the settings of the brokers' files, given as NAME=VALUE.

    Raises:
        SpecError: a name is unknown, or its value is none.
    """
    settings = StaticSettings()
    for one in given:
        name, _, value = one.partition("=")
        if name == STATIC_SETTINGS[0] and value.isdigit() and int(value) > 0:
            settings.min_isr = int(value)
        elif name == STATIC_SETTINGS[1] and value in ("true", "false"):
            settings.unclean = value == "true"
        else:
            raise SpecError(f"--setting {one}: it is min.insync.replicas=NUMBER or unclean.leader.election.enable=true|false")
    return settings


def run(options: argparse.Namespace) -> int:
    """Validate metadata logs, and report the outcome."""
    wanted = outputs(options)
    judge = LogJudge(settings_of(options.setting))
    with find_sources(options.paths) as sources:
        outcome = Validation(sources, judge, progress(sources.size, options.quiet)).run()
    for form, file in wanted:
        write(_as(form, outcome), file)
    return EXIT[outcome.verdict]


def _as(form: str, outcome: MetadataOutcome) -> str:
    if form == "json":
        return json.dumps(plain_of(outcome), indent=1)
    if form == "text":
        return text_of(outcome)
    if form == "junit":
        from kafka_spec.conformance.metadata.kinds import KINDS
        from kafka_spec.conformance.validate.junit import junit_of

        return junit_of(outcome, KINDS)
    raise SpecError(f"a metadata log is reported as text, json or junit, not as {form}")


def progress(size: int, quiet: bool) -> Callable[[int], None]:
    """Return a function that shows progress on a terminal."""
    if quiet or not sys.stderr.isatty():
        return lambda _: None
    started = shown = time.monotonic()
    read = 0

    def show(more: int) -> None:
        nonlocal read, shown
        read += more
        now = time.monotonic()
        if now - shown > EVERY:
            shown = now
            sys.stderr.write(f"\r{read / 1e6:,.0f} of {size / 1e6:,.0f} MB read, {read / 1e6 / (now - started):,.0f} MB/s ")

    return show
