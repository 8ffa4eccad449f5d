"""`kafka-spec validate --follow` reads a metadata log while it grows: the events of the whole log, each as soon as it is there."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from kafka_spec.conformance.metadata.batches import LogBatch, batches_of
from kafka_spec.conformance.metadata.follow import GrowingLog, LogTruncated
from tests.conftest import Command

FINDING = Path(__file__).parent / "logs" / "kraft" / "f440-elr-outside-replicas" / "node-100"
DATA = (FINDING / f"{0:020}.log").read_bytes()
BATCHES = [batch for batch in batches_of(DATA) if isinstance(batch, LogBatch)]


def segment_of(folder: Path, base: int) -> Path:
    """Return the path of the segment that begins at an offset."""
    return folder / f"{base:020}.log"


@settings(max_examples=40, deadline=None)
@given(some.lists(some.integers(0, len(DATA)), max_size=6), some.sets(some.integers(1, len(BATCHES) - 1), max_size=2), some.data())
def test_every_batch_is_read_once_however_the_file_grows(cuts: list[int], rolls: set[int], drawn: some.DataObject) -> None:
    """Whatever bytes are there at each look, and wherever a new segment begins, the batches are those of the whole log."""
    first = drawn.draw(some.integers(0, len(BATCHES) - 1))
    with TemporaryDirectory() as made:
        log = GrowingLog(Path(made), BATCHES[first].base)
        found: list[LogBatch] = []
        for end in [*sorted(cuts), len(DATA)]:
            bounds = [0, *sorted(BATCHES[place].place for place in rolls), len(DATA)]
            for begin, until in itertools.pairwise(bounds):
                if begin == 0 or begin < end:
                    base = next(batch.base for batch in BATCHES if batch.place == begin)
                    segment_of(Path(made), base).write_bytes(DATA[begin : min(until, end)])
            found += [batch for _, batch in log.more()]
    assert [(batch.base, batch.data) for batch in found] == [(batch.base, batch.data) for batch in BATCHES[first:]]


def test_a_truncated_log_is_not_followed(tmp_path: Path) -> None:
    """A log that gets shorter, or whose next offset is gone, ends the following with the reason."""
    file = segment_of(tmp_path, 0)
    file.write_bytes(DATA)
    log = GrowingLog(tmp_path, 0)
    assert len(list(log.more())) == len(BATCHES)
    file.write_bytes(DATA[: BATCHES[-1].place])
    with pytest.raises(LogTruncated, match=r"was truncated or replaced below offset"):
        list(log.more())
    file.write_bytes(DATA[: BATCHES[-1].place] + bytes(len(DATA)))  # as a new leader's records, in place of what was read
    with pytest.raises(LogTruncated, match=r"was truncated or replaced below offset"):
        list(log.more())
    file.unlink()
    segment_of(tmp_path, 500).write_bytes(b"")
    with pytest.raises(LogTruncated, match="no segment holds offset 0"):
        list(GrowingLog(tmp_path, 0).more())


def test_the_command_shows_what_comes(tmp_path: Path) -> None:
    """The command prints each event once it is in the file, with the bug that acts and what it violates, and ends with Ctrl-C."""
    file = segment_of(tmp_path, 0)
    known = next(batch.place for batch in BATCHES if batch.base > 120)
    file.write_bytes(DATA[:known])
    metrics = tmp_path.with_suffix(".prom")
    command = [sys.executable, "-m", "kafka_spec", "validate", str(tmp_path), "--follow", "-q", "--format", "json"]
    command += ["--output", f"prometheus:{metrics}"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as following:
        assert following.stdout is not None
        half = next(batch.place for batch in BATCHES if batch.base > 150) + 40  # in the middle of a batch
        assert json.loads(following.stdout.readline()) == {"following_from": 121}
        lines = []
        for end, last in ((half, "ListsNameReplicas"), (len(DATA), "proposal that completes a reassignment")):
            file.write_bytes(DATA[:end])
            for line in following.stdout:
                lines.append(json.loads(line))
                if last in line:
                    break
        assert "kafka_spec_metadata_following 1.0" in metrics.read_text()
        following.send_signal(signal.SIGINT)
        rest = following.stdout.read()
        assert following.wait(20) == 1
    assert [(one["offset"], one["event"]) for one in lines if one.get("bugs")][:2] == [(131, "reassign to [0, 1]"), (184, "fence")]
    kinds = [one["violation"]["kind"] for one in lines if "violation" in one]
    assert kinds[:3] == ["bug-acts", "ElrBesideSmallIsr", "ListsNameReplicas"]
    assert rest.lstrip().startswith("{\n")  # the report
    assert "kafka_spec_metadata_following 0.0" in metrics.read_text()


def test_only_a_folder_of_one_node_is_followed(inside: Command, tmp_path: Path) -> None:
    """Logs of several nodes, text and questions are refused, with what to give."""
    for arguments, cure in (
        ((str(FINDING.parent.parent / "dump-412-cancellation-elects-cleanly.txt.gz"),), "the folder __cluster_metadata-0 of one"),
        ((str(FINDING), str(FINDING.parent.parent / "f440-stale-reassignment-lists")), "the folder __cluster_metadata-0 of one"),
        ((str(FINDING), "--why", "p-0"), "leave --at, --why"),
        ((str(FINDING), "--no-explain"), "leave --no-explain out"),
        ((str(FINDING.parents[2] / "2.8.2"),), "of a running node of KRaft"),
    ):
        refused = inside("validate", *arguments, "--follow", "-q")
        assert refused.returncode == 2 and cure in refused.stderr, refused.stderr
