"""Checks that run side by side: the same results in the same order, errors and interrupts as in one process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from conftest import ROOT, Command

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.check import Expectation
from kafka_spec.model_check.command import side_by_side
from kafka_spec.model_check.exploration import EngineError, Exploration
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import SpecError

NAMES = ("replication/kip_279", "replication/high_watermark", "replication/kip_101", "replication/kip_320")


def named(name: str) -> NamedCheck:
    """Return a small check of a model."""
    spec = MODELS[name]
    bounds = next(one.values for one in spec.bound_sets if one.name == "tiny")
    return NamedCheck(name, spec, bounds, Expectation(distinct=len(name)), None, "embedded", True, False, None, None)


CHECKS = [named(name) for name in NAMES]


def search(check: NamedCheck) -> Exploration:
    """Run a check."""
    return check.run()


def test_results_are_those_of_one_process() -> None:
    """Two processes give what one gives: counts, findings, digests, in the order of the checks."""
    alone, together = ([one.result for one in side_by_side.outcomes(CHECKS, search, processes)] for processes in (1, 2))
    for one, other in zip(alone, together, strict=True):
        assert (one.spec, one.properties, one.levels, one.fired) == (other.spec, other.properties, other.levels, other.fired)
        assert (one.findings, one.digest, one.verdict, one.tested) == (other.findings, other.digest, other.verdict, other.tested)
        assert other.peak > 0 and other.compile_seconds > 0


def refuse(check: NamedCheck) -> Exploration:
    """Refuse one check."""
    if check.name.endswith("kip_101"):
        raise SpecError("kip_101 is refused")
    return check.run()


def test_an_error_is_raised_where_its_result_would_stand() -> None:
    """The error of a check reaches the caller."""
    with pytest.raises(SpecError, match="kip_101 is refused"):
        list(side_by_side.outcomes(CHECKS, refuse, 2))


def vanish(check: NamedCheck) -> Exploration:
    """End the process, as the system does where memory is short."""
    os.kill(os.getpid(), signal.SIGKILL)
    return check.run()


def test_a_process_that_vanishes_is_an_error() -> None:
    """A process that ends by itself gives no result, and never a verdict."""
    with pytest.raises(EngineError, match=r"ended by itself \(exit code -9\)"):
        list(side_by_side.outcomes(CHECKS, vanish, 2))


def test_ctrl_c_stops_all(tmp_path: Path) -> None:
    """Ctrl-C stops the running checks, begins no other, and leaves no process."""
    begun = tmp_path / "begun"

    def wait_for_stop(check: NamedCheck) -> Exploration:
        budget = Budget()
        signal.signal(signal.SIGINT, lambda *_: setattr(budget, "interrupted", True))
        begun.open("a").write(f"{os.getpid()}\n")
        while not budget.interrupted:
            if begun.read_text().splitlines()[1:] == [str(os.getpid())]:
                os.kill(os.getppid(), signal.SIGINT)
                begun.open("a").write("0\n")
            time.sleep(0.01)
        return check.run(budget=budget)

    reported = list(side_by_side.outcomes(CHECKS, wait_for_stop, 2))
    assert [outcome.name for outcome in reported] == list(NAMES)
    assert {outcome.result.stopped for outcome in reported} <= {"interrupted", "interrupted without a result"}
    assert not any(outcome.result.complete for outcome in reported)
    *processes, _ = begun.read_text().splitlines()
    assert len(processes) == 2
    for number in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(int(number), 0)


def test_the_command_takes_jobs(inside: Command, tmp_path: Path) -> None:
    """`check --jobs` prints the same lines for any number of processes, but for the time."""
    manifest = tmp_path / "pyproject.toml"
    entry = '[[tool.kafka-spec.checks]]\nname = "{0}"\nmodel = "{0}"\nbounds = "tiny"\nverdict = {1}\n'
    verdicts = zip(NAMES, ('"holds"', '"violated"\ntraces = { WeakIsr = 9 }', '"holds"', '"holds"'), strict=True)
    manifest.write_text("".join(entry.format(*pair) for pair in verdicts), encoding="utf-8")
    runs = [inside("check", "-q", "--manifest", str(manifest), "--jobs", jobs) for jobs in ("1", "3")]
    shown = [[line.partition(" levels ")[0] for line in run.stdout.splitlines()] for run in runs]
    assert shown[0] == shown[1]
    assert runs[0].returncode == runs[1].returncode == 0


SLOW = '''
"""Nine counters of 6 values each: 10,077,696 states."""

from dataclasses import dataclass
from kafka_spec import ArrayOf, Member, Range, Rule, Spec, Bound, BoundSet, field, invariant

N = Bound("n", 1, 9, "counters")


@dataclass
class S:
    """The counters."""

    a: list[int] = field(ArrayOf(Range(0, 5), N, "x"))


def up(s: S, i: int) -> None:
    """Count."""
    s.a[i] = (s.a[i] + 1) % 6


def fine(s: S) -> bool:
    """It is fine."""
    return s.a[0] < 6


UP = Rule("Up", "w", "up", "", (up,), {"i": Member(N)})
SPEC = Spec("slow", "slow", S, (UP,), (invariant("Fine", fine, ""),), bound_sets=(BoundSet("big", {"n": 9}, ""),))
'''
SLOW_CHECKS = "".join(
    f'[[tool.kafka-spec.checks]]\nname = "{name}"\nmodel = "slow:SPEC"\nbounds = {{ n = {n} }}\nverdict = "{verdict}"\n'
    for name, n, verdict in (("small", 2, "holds"), ("big", 9, "holds"), ("too", 9, "holds"), ("also", 9, "holds"))
)


def children(process: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
    own = [int(child) for task in Path(f"/proc/{process}/task").iterdir() for child in (task / "children").read_text().split()]
    return [*own, *(grandchild for child in own for grandchild in children(child))]


def works(process: int) -> bool:
    """Return whether a process is there, and not only waits for somebody to take note of its end."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupted_manifest_is_never_green(number: signal.Signals, jobs: str, tmp_path: Path) -> None:
    """Ctrl-C ends everything within two seconds: exit code 3, and every report has every check. SIGTERM ends it by itself."""
    (tmp_path / "slow.py").write_text(SLOW, encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text(SLOW_CHECKS, encoding="utf-8")
    forms = ("junit", "json", "markdown", "tested")
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KAFKA_SPEC_CACHE": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "kafka_spec", "check", "-q", "--jobs", jobs, "--format", "github"]
    command += [word for form in forms for word in ("--output", f"{form}:{form}.out")] + ["--output", "text:text.out"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not (working := children(process.pid)) and process.poll() is None:
            time.sleep(0.05)
        time.sleep(1)
        working = children(process.pid)
        process.send_signal(number)
        began = time.monotonic()
        out, err = process.communicate(timeout=60)
    time.sleep(max(0.0, began + 2 - time.monotonic()))

    assert [child for child in working if works(child)] == []
    assert "Traceback" not in err and "BrokenPipe" not in err
    if number == signal.SIGTERM:
        assert process.returncode == -signal.SIGTERM  # 143 for a shell
        return
    assert process.returncode == 3
    reports = {form: (tmp_path / f"{form}.out").read_text(encoding="utf-8") for form in (*forms, "text")}
    assert all(name in text for text in reports.values() for name in ("small", "big", "too", "also"))
    junit = ElementTree.fromstring(reports["junit"])
    assert (junit.get("tests"), junit.get("errors")) == ("4", str(len(junit.findall(".//error"))))
    assert len(junit.findall(".//error")) >= 3
    green = [check["name"] for check in json.loads(reports["json"])["checks"] if check["as_expected"]]
    assert green in ([], ["small"])
    assert out.count("::warning") >= 3 and "of 4 checks as expected" in out
    assert "interrupted without a result" in reports["text"]
