"""`validate` for metadata logs: options, and the report in the wanted forms."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kafka_spec.conformance.metadata.batches import LogBatch
from kafka_spec.conformance.metadata.bootstrap import reachable_log
from kafka_spec.conformance.metadata.causes import causes_of
from kafka_spec.conformance.metadata.checkpoint import checkpoint_of
from kafka_spec.conformance.metadata.explaining import Explaining
from kafka_spec.conformance.metadata.follow import folder_of, follow
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.report import plain_of, text_of
from kafka_spec.conformance.metadata.rulings import RELEASES, Release
from kafka_spec.conformance.metadata.settings import StaticSettings, settings_given
from kafka_spec.conformance.metadata.slices import LogSlice
from kafka_spec.conformance.metadata.sources import Sources, find_sources
from kafka_spec.conformance.metadata.story import Story, StoryLine
from kafka_spec.conformance.metadata.timelines import Timelines
from kafka_spec.conformance.metadata.validation import MetadataOutcome, Validation
from kafka_spec.conformance.metadata.view import image_plain, image_text, why_text
from kafka_spec.conformance.outcome.command import progress
from kafka_spec.conformance.outcome.violations import Violation
from kafka_spec.model_check.budget import Budget, interruptible
from kafka_spec.model_check.command.options import AS_EXPECTED, EXIT_CODES, Output, outputs, write
from kafka_spec.model_check.report.escape import plain
from kafka_spec.spec.optional_dependencies import needing
from kafka_spec.spec.vocabulary.table import SpecError

if TYPE_CHECKING:
    from kafka_spec.conformance.metadata.metrics import LogMetrics
    from kafka_spec.conformance.metadata.observer import ObservedLog

EVENT_WIDTH = 30
"""The characters of an event's name in a line of `--follow`."""
SPARK_FORMS = ("text", "json", "junit")


def run(options: argparse.Namespace) -> int:
    """Validate metadata logs, and report the outcome, or what was asked of them."""
    wanted = outputs(options)
    if options.engine == "spark":
        return run_on_spark(options, wanted)
    if options.master is not None:
        raise SpecError("--master is for --engine spark")
    judge = LogJudge(StaticSettings.of(settings_given("--setting", options.setting)))
    with reachable_log(options) as copied, find_sources(options.paths) as sources:
        release = release_of(options.era)
        explaining = Explaining(judge, release, options.explain, causes_of(sources.controllers)) if options.explain else None
        asked = Questions(options, explaining)
        if options.follow:
            check_following(sources, wanted, explaining, asked)
        timelines = None
        if any(form == "html" for form, _ in wanted) and not asked.only_looks:
            if explaining is None:
                raise SpecError("a page needs explanations: leave --no-explain out")
            timelines = Timelines(explaining)
        metrics = metrics_of(wanted, judge, explaining, asked)
        validation = Validation(sources, judge, progress(sources.size, options.quiet), live=options.follow)
        outcome = validation.run(asked.until)
        if options.follow:
            outcome.unseen += follow_until_stopped(sources, judge, explaining, wanted, copied, metrics)
        for form, file in wanted:
            if form == "checkpoint" and file is not None and file.is_dir():
                file /= asked.name_of_checkpoint(judge)
            if form == "prometheus" and metrics is not None:
                metrics.write() if file is not None else write(metrics.text(), None)
                continue
            answer = asked.answer(form, judge) or _as(form, outcome, timelines)
            write(copied.named(answer) if copied is not None and isinstance(answer, str) else answer, file)
    return AS_EXPECTED if asked.only_looks else EXIT_CODES[outcome.verdict]


def run_on_spark(options: argparse.Namespace, wanted: Sequence[Output]) -> int:
    """Validate metadata logs in slices on Spark, and report the outcome.

    Raises:
        SpecError: what is asked needs one judge of the whole log.
    """
    asks = options.at is not None or options.why is not None or options.partition or options.topic or options.broker
    if asks or options.follow:
        raise SpecError(
            "--engine spark gives the verdict alone: leave it out for --at, --why, --partition, --topic, --broker, --follow"
        )
    if others := [form for form, _ in wanted if form not in SPARK_FORMS]:
        raise SpecError(f"--engine spark reports {', '.join(SPARK_FORMS)}: leave it out for {others[0]}")
    how = LogSlice((), StaticSettings.of(settings_given("--setting", options.setting)), options.explain, release_of(options.era))
    with needing("spark"):
        from kafka_spec.conformance.metadata.spark import run as on_spark
    with reachable_log(options) as copied, find_sources(options.paths) as sources:
        outcome = on_spark(sources, how, options.master or "local[*]", progress(sources.size, options.quiet))
        for form, file in wanted:
            answer = _as(form, outcome, None)
            write(copied.named(answer) if copied is not None else answer, file)
    return EXIT_CODES[outcome.verdict]


def check_following(sources: Sources, wanted: Sequence[Output], explaining: Explaining | None, asked: Questions) -> None:
    """Refuse what does not go with `--follow`, before anything is read.

    Raises:
        SpecError: there is a question, no explanation, another form than text and JSON, or not the folder of one node.
    """
    if asked.only_looks:
        raise SpecError("--follow shows what comes: leave --at, --why, --partition, --topic and --broker out")
    if explaining is None:
        raise SpecError("--follow prints events with their explanations: leave --no-explain out")
    if others := [form for form, file in wanted if form not in ("text", "json") and (form != "prometheus" or file is None)]:
        cure = "; write prometheus:FILE" if others[0] == "prometheus" else ""
        raise SpecError(f"--follow prints events as text or as lines of JSON, not as {others[0]}{cure}")
    folder_of(sources)


def metrics_of(wanted: Sequence[Output], judge: LogJudge, explaining: Explaining | None, asked: Questions) -> LogMetrics | None:
    """Return the metrics of a log, if some output asks for them.

    Raises:
        SpecError: there is a question, too.
    """
    places = [file for form, file in wanted if form == "prometheus"]
    if not places:
        return None
    if asked.only_looks:
        raise SpecError("prometheus is of the whole log: leave --at, --why, --partition, --topic and --broker out")
    with needing("impl"):
        from kafka_spec.conformance.metadata.metrics import LogMetrics
    return LogMetrics(judge, explaining, [file for file in places if file is not None])


def follow_until_stopped(
    sources: Sources,
    judge: LogJudge,
    explaining: Explaining | None,
    wanted: Sequence[Output],
    copied: ObservedLog | None,
    metrics: LogMetrics | None,
) -> list[str]:
    """Follow the log until Ctrl-C, and print each event and each violation; return what was not seen."""
    assert explaining is not None  # as `check_following` saw to
    as_json = wanted[0][0] == "json"

    def show(one: StoryLine | Violation) -> None:
        if as_json:
            write(json.dumps(one.plain() if isinstance(one, StoryLine) else {"violation": one._asdict()}), None)
        else:
            text = one.text(EVENT_WIDTH) if isinstance(one, StoryLine) else f"  VIOLATED {one.kind}, {one.subject}: {one.summary}"
            write(plain(text), None)

    def ended() -> bool:
        return budget.interrupted or (copied is not None and copied.ended != "")

    begin = judge.next or 0
    write(json.dumps({"following_from": begin}) if as_json else f"following from offset {begin:,} on; Ctrl-C ends it", None)
    budget = Budget()
    if copied is not None:
        copied.grow()
    if metrics is not None:
        metrics.following = True
    with interruptible(budget):
        reason = follow(sources, judge, explaining, ended, show, metrics.write_if_due if metrics is not None else lambda: None)
    if metrics is not None:
        metrics.following = False
    lost = "" if copied is None or not copied.ended else f"the controller was lost: {copied.ended}"
    return [text for text in (reason, lost) if text]


def release_of(era: str | None) -> Release | None:
    """Return the release that `--era` names, None to find it in the log.

    Raises:
        SpecError: it is none of KRaft.
    """
    if era is None:
        return None
    named = [one for one in RELEASES if one.name == era or one.name.startswith(era + ".")]
    if not named:
        known = ", ".join(dict.fromkeys(one.name.rpartition(".")[0] for one in RELEASES))
        raise SpecError(f"--era {era} is none of a metadata log; they are {known}")
    return named[0]


class Questions:
    """What is asked of a log beside its verdict: the story of a subject, the image at a place, why a partition is as it is."""

    def __init__(self, options: argparse.Namespace, explaining: Explaining | None) -> None:
        brokers = frozenset(options.broker)
        self.story = Story(frozenset(options.partition), frozenset(options.topic), brokers, explaining.causes if explaining else {})
        self._told = bool(options.partition or options.topic or options.broker)
        self._why: str | None = options.why
        self._at: str | None = options.at
        self.until = after(options.at) if options.at is not None else lambda _: False
        self._explaining = explaining
        if (self._told or self._why is not None) and explaining is None:
            raise SpecError("--partition, --topic, --broker and --why need explanations: leave --no-explain out")
        if self._told and explaining is not None:
            explaining.followers.append(self.story.take)

    @property
    def only_looks(self) -> bool:
        """Whether a question replaces the verdict."""
        return self._told or self._why is not None or self._at is not None

    def answer(self, form: str, judge: LogJudge) -> str | bytes | None:
        """Return the answer in a form, None if nothing was asked."""
        if form == "checkpoint":
            return self._checkpoint(judge)
        if not self.only_looks:
            return None
        if form not in ("text", "json"):
            raise SpecError(f"an answer is given as text or json, not as {form}")
        if self._told:
            self.story.check(judge.image)
            return json.dumps(self.story.plain(), indent=1) if form == "json" else self.story.text()
        if self._why is not None:
            assert self._explaining is not None
            self._explaining.explainer.image = judge.image  # of a snapshot without a log nothing was explained
            text = why_text(self._explaining.explainer, self._why, self._explaining.acting)
            return json.dumps({"partition": self._why, "why": text.splitlines()}, indent=1) if form == "json" else text
        end = judge.next or 0
        if form == "json":
            return json.dumps(image_plain(judge.image, end, judge.last_time), indent=1)
        return image_text(judge.image, end, judge.last_time)

    def _checkpoint(self, judge: LogJudge) -> bytes:
        """Return the image as a snapshot that Kafka reads."""
        if self._told or self._why is not None:
            raise SpecError("checkpoint is the whole image: leave --partition, --topic, --broker and --why out")
        if judge.open_transaction is not None:
            raise SpecError("a snapshot cannot be in the middle of a transaction: choose another place with --at")
        return checkpoint_of(judge.image, _epoch(judge), judge.last_time)

    @staticmethod
    def name_of_checkpoint(judge: LogJudge) -> str:
        """Return the name that Kafka gives to a snapshot: the offset after its last record, and that record's epoch."""
        return f"{judge.next or 0:020}-{_epoch(judge):010}.checkpoint"


def _epoch(judge: LogJudge) -> int:
    return judge.reigns[-1].epoch if judge.reigns else 0


def after(place: str) -> Callable[[LogBatch], bool]:
    """Return whether a batch is after a place: an offset, or a time in UTC.

    Raises:
        SpecError: it is neither.
    """
    offset, time = limit_of(place)
    return lambda batch: batch.base > offset if time is None else batch.timestamp > time


def limit_of(text: str) -> tuple[int, int | None]:
    """Return the offset, or the time in milliseconds since 1970, up to which a log is read: OFFSET, or a time in UTC.

    Raises:
        SpecError: it is neither.
    """
    if text.isdigit():
        return int(text), None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise SpecError(f"--at {text}: it is an offset, or a time as 2026-11-25T22:45:00 (UTC)") from None
    return 0, int((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def _as(form: str, outcome: MetadataOutcome, timelines: Timelines | None) -> str:
    if form == "html" and timelines is not None:
        from kafka_spec.conformance.metadata.page import page_of

        return page_of(outcome, timelines)
    if form == "json":
        return json.dumps(plain_of(outcome), indent=1)
    if form == "text":
        return text_of(outcome)
    if form == "junit":
        from kafka_spec.conformance.metadata.kinds import KINDS
        from kafka_spec.conformance.outcome.junit import junit_of

        return junit_of(outcome, KINDS)
    raise SpecError(f"a metadata log is reported as text, json, junit, html, prometheus or checkpoint, not as {form}")
