"""A metadata log that is judged in slices has the report of one that is judged at once."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from itertools import chain
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from benchmarks.metadata_log import main as write_log
from kafka_spec.__main__ import main
from kafka_spec.conformance.metadata.batches import LogBatch, TornTail
from kafka_spec.conformance.metadata.causes import causes_of
from kafka_spec.conformance.metadata.explaining import Explaining
from kafka_spec.conformance.metadata.judge import LogJudge
from kafka_spec.conformance.metadata.report import plain_of
from kafka_spec.conformance.metadata.scout import validate_in_slices
from kafka_spec.conformance.metadata.settings import StaticSettings
from kafka_spec.conformance.metadata.slices import Handover, LogSlice, SliceResult, judge_slice
from kafka_spec.conformance.metadata.sources import NodeLog, batches_of_node, find_sources
from kafka_spec.conformance.metadata.validation import Validation
from kafka_spec.impl.kraft.record_decoders import encode_fields
from kafka_spec.impl.log.batches import build, stamp
from tests.conftest import Command
from tests.metadata_mutants import SESSIONS, batch_faults, field_faults, log_of, record_faults

LOGS = Path(__file__).parent / "logs" / "kraft"
CONFORMANCE = "kafka_spec.conformance.metadata"
NAMES = sorted(one.name for one in LOGS.iterdir())
SEGMENT = f"{0:020}.log"
HOW = LogSlice((), StaticSettings(), explains=True)
SOME_FAULTS = 16
"""The faults that are written into each session, of a thousand."""


class Judging:
    """Judges slices here, sent as they would be sent to another process, and counts them."""

    def __init__(self) -> None:
        self.slices = 0

    def __call__(self, one: LogSlice) -> Future[SliceResult]:
        self.slices += 1
        done: Future[SliceResult] = Future()
        done.set_result(pickle.loads(pickle.dumps(judge_slice(pickle.loads(pickle.dumps(one))))))
        return done


def at_once(path: Path, explains: bool = True) -> str:
    """Return the report of a log that one judge judges."""
    with find_sources([path]) as sources:
        judge = LogJudge()
        if explains:
            Explaining(judge, causes=causes_of(sources.controllers))
        return json.dumps(plain_of(Validation(sources, judge).run()))


def in_slices(path: Path, records: int, how: LogSlice = HOW) -> tuple[str, int]:
    """Return the report of a log in slices of so many records, and how many slices were judged."""
    start = Judging()
    with find_sources([path]) as sources:
        outcome = validate_in_slices(sources, how, start, length=lambda _: records)
        return json.dumps(plain_of(outcome)), start.slices


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=6, deadline=None)
@given(records=some.integers(1, 400), explains=some.booleans())
def test_slices_of_any_length_have_the_report_of_the_whole(name: str, records: int, explains: bool) -> None:
    """Each log of a real cluster, with its violations, its bugs and its snapshots, is judged in slices as at once."""
    how = LogSlice((), StaticSettings(), explains)
    assert in_slices(LOGS / name, records, how)[0] == at_once(LOGS / name, explains)


# ---------------------------------------------------------------------------------------------------------------------
# Broken logs


def batches_by_base(name: str) -> dict[int, LogBatch]:
    """Return the batches of a session's log as they are in its segments, by their first offsets."""
    with find_sources([LOGS / name]) as sources:
        node = next(one for one in sources.nodes if one.name.endswith(SESSIONS[name]))
        return {batch.base: batch for _, batch in batches_of_node(node) if not isinstance(batch, TornTail)}


def encoded(batch: LogBatch, original: LogBatch) -> bytes:
    """Return a batch as bytes: its own where nothing in it was changed."""
    if [*batch.given] == [*original.entries()]:
        data = bytearray(original.data)
    else:
        data = build((batch.timestamp, None, encode_fields(one.key, one.record)) for one in batch.given)
    stamp(data, batch.base, batch.epoch)
    return bytes(data)


@pytest.mark.parametrize("name", SESSIONS)
def test_a_broken_log_is_judged_in_slices_as_at_once(name: str, tmp_path: Path) -> None:
    """Wherever a fault is written into a log, slices report what one judge reports: no violation is lost at a cut, none is new."""
    random, log, originals = Random(3), log_of(name), batches_by_base(name)
    made = [*chain.from_iterable(make(log, random, 2) for make in (field_faults, record_faults, batch_faults))]
    segment = tmp_path / f"{0:020}.log"
    judged = violated = 0
    for fault in random.sample(made, SOME_FAULTS):
        try:
            data = b"".join(encoded(batch, originals[batch.base]) for batch in fault.batches)
        except (ValueError, TypeError, OverflowError):  # what no record can hold
            continue
        segment.write_bytes(data)
        report = at_once(segment)
        assert in_slices(segment, random.choice((30, 100)))[0] == report, fault.what
        judged += 1
        violated += json.loads(report)["verdict"] == "violated"
    assert judged > SOME_FAULTS / 2
    assert violated > judged / 2


# ---------------------------------------------------------------------------------------------------------------------
# What a slice takes over


def test_a_wrong_guess_costs_a_second_judgement_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scout that guesses nothing has every slice judged again until what it begins with is what was handed over."""
    path = LOGS / "f440-stale-reassignment-lists"
    report = at_once(path)
    right, guessed = in_slices(path, 30)
    assert right == report
    monkeypatch.setattr("kafka_spec.conformance.metadata.scout.Scout._guess", lambda _: Handover(next=1))
    wrong, judged = in_slices(path, 30)
    assert wrong == report
    assert judged > guessed


def test_a_judge_that_ends_with_another_image_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the judge of a slice folds otherwise than the scout, the outcome is an error, not a verdict."""
    monkeypatch.setattr(
        "kafka_spec.conformance.metadata.slices.digest_of", lambda image, seen=[]: (seen.append(image), len(seen))[1]
    )
    with pytest.raises(RuntimeError, match="differ between the scout and the judge"):
        in_slices(LOGS / "f440-stale-reassignment-lists", 30)


def test_an_event_of_many_batches_is_not_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fence that is cut into several batches, at 50 records here and at 10,000 in Kafka, stays in one slice."""
    for place in (
        "benchmarks.metadata_log.LARGEST_BATCH",
        f"{CONFORMANCE}.judge.LARGEST_EVENT",
        f"{CONFORMANCE}.scout.LARGEST_EVENT",
    ):
        monkeypatch.setattr(place, 50)
    write_log(tmp_path, 6_000, topics=6)
    segment = tmp_path / f"{0:020}.log"
    with find_sources([segment]) as sources:
        sizes = [batch.last + 1 - batch.base for _, batch in batches_of_node(sources.nodes[0]) if isinstance(batch, LogBatch)]
    assert sizes.count(50) > 20
    report, judged = in_slices(segment, 20)
    assert report == at_once(segment)
    assert 20 < judged < len(sizes)


# ---------------------------------------------------------------------------------------------------------------------
# On Spark


def test_spark_reports_what_the_embedded_engine_reports(kafka_spec: Command, tmp_path: Path) -> None:
    """`--engine spark` gives the text, the JSON and the exit code of the embedded engine."""
    reports = []
    for name, engine in (("embedded", []), ("spark", ["--engine", "spark", "--master", "local[2]"])):
        file = tmp_path / name
        found = kafka_spec("validate", str(LOGS / "f440-elr-outside-replicas"), "--output", f"json:{file}", *engine)
        reports.append((found.returncode, found.stdout, file.read_text()))
    assert reports[0] == reports[1]


def test_a_slice_that_spark_gives_up_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Workers that cannot read the log end the run as inconclusive, with the file in one line."""

    def of_a_missing_file(_: object, how: LogSlice, start: Callable[[LogSlice], Future[SliceResult]], __: object) -> SliceResult:
        missing = NodeLog("node", segments=[(0, Path("/nowhere") / SEGMENT)])
        return start(replace(how, nodes=(missing,))).result()

    monkeypatch.setattr("kafka_spec.conformance.metadata.spark.validate_in_slices", of_a_missing_file)
    path = str(LOGS / "f440-elr-outside-replicas")
    assert main(["validate", path, "--engine", "spark", "--master", "local[1]", "-q"]) == 3
    error = capsys.readouterr().err
    assert f"No such file or directory: '/nowhere/{SEGMENT}'" in error and error.count("\n") == 1


@pytest.mark.parametrize("asked", [["--why", "t-0"], ["--at", "9"], ["--follow"], ["--partition", "t-0"], ["--format", "html"]])
def test_spark_refuses_what_one_judge_has_to_answer(kafka_spec: Command, asked: list[str]) -> None:
    """What needs the whole log in one process is refused on Spark, with the cure."""
    found = kafka_spec("validate", str(LOGS / "f440-elr-outside-replicas"), "--engine", "spark", *asked)
    assert found.returncode == 2
    assert "leave it out" in found.stderr
