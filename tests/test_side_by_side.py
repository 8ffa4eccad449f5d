"""Checks that run side by side: the same results in the same order, errors and interrupts as in one process."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest
from conftest import Command

from kafka_spec.model_check.check import Expectation
from kafka_spec.model_check.command import side_by_side
from kafka_spec.model_check.exploration import Budget, EngineError, Exploration
from kafka_spec.model_check.manifest import NamedCheck
from kafka_spec.spec.models import MODELS
from kafka_spec.spec.table import SpecError

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

    told = list(side_by_side.outcomes(CHECKS, wait_for_stop, 2))
    assert all(outcome.result.stopped == "interrupted" for outcome in told)
    *processes, _ = begun.read_text().splitlines()
    assert len(processes) == 2
    for number in processes:
        with pytest.raises(ProcessLookupError):
            os.kill(int(number), 0)


def test_the_command_takes_jobs(inside: Command, tmp_path: Path) -> None:
    """`check --jobs` prints the same lines for any number of processes, but for the time."""
    manifest = tmp_path / "pyproject.toml"
    entry = '[[tool.kafka-spec.checks]]\nname = "{0}"\nmodel = "{0}"\nbounds = "tiny"\nverdict = "{1}"\n'
    verdicts = zip(NAMES, ("holds", "violated", "holds", "holds"), strict=True)
    manifest.write_text("".join(entry.format(*pair) for pair in verdicts), encoding="utf-8")
    runs = [inside("check", "-q", "--manifest", str(manifest), "--jobs", jobs) for jobs in ("1", "3")]
    shown = [[line.partition(" levels ")[0] for line in run.stdout.splitlines()] for run in runs]
    assert shown[0] == shown[1]
    assert runs[0].returncode == runs[1].returncode == 0
