"""Work that cannot look at a budget ends with the budget, with Ctrl-C and with its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from threading import Timer

import pytest
from conftest import ROOT

from kafka_spec.model_check.budget import Budget, Stopped
from kafka_spec.model_check.check import check, simulate
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.within import limited, within
from kafka_spec.spec.catalogue.models import MODELS
from kafka_spec.spec.vocabulary.table import SpecError


def forever() -> None:
    """Never end, as far as a test can wait."""
    time.sleep(600)


def children() -> str:
    """Return the numbers of the processes that this thread has started and not waited for."""
    return Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text()


def test_the_time_of_a_budget_ends_work() -> None:
    """Work that would take ten minutes ends when the second is over, and its process is gone."""
    began, before = time.monotonic(), children()
    with pytest.raises(Stopped, match=r"the time budget of 0.3 s is spent"), limited(Budget(0.3)):
        within(forever)
    assert time.monotonic() - began < 10
    assert children() == before


def test_an_interrupt_ends_work() -> None:
    """What a signal handler notes ends work, too."""
    budget = Budget(interruptible=True)
    timer = Timer(0.2, lambda: setattr(budget, "interrupted", True))
    timer.start()
    with pytest.raises(Stopped, match="interrupted"), limited(budget):
        within(forever)
    timer.join()


def refused() -> None:
    """Raise an error of the specification."""
    raise SpecError("it is refused")


def test_results_and_errors_come_back() -> None:
    """Results and errors are those of the same work in this process; a process that vanishes is an error."""
    for budget in (Budget(), Budget(60)):
        with limited(budget):
            assert within(lambda: [1, b"x" * 3_000_000, ("a", None)]) == [1, b"x" * 3_000_000, ("a", None)]
            with pytest.raises(SpecError, match="it is refused"):
                within(refused)
    with pytest.raises(EngineError, match="ended by itself"), limited(Budget(60)):
        within(lambda: os.kill(os.getpid(), signal.SIGKILL))


PARENT = """
import os, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", sys.argv[1], str(os.getpid())], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
os.kill(os.getpid(), 9)
"""
CHILD = """
import sys, time
from kafka_spec.model_check.within import end_with
end_with(int(sys.argv[1]))
print(flush=True)
time.sleep(60)
"""


def test_a_process_ends_with_its_parent() -> None:
    """A process that watches its parent ends when that was killed: it leaves its end of a pipe."""
    began = time.monotonic()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([sys.executable, "-c", PARENT, CHILD], env=environment, stdout=subprocess.PIPE, timeout=50, check=False)
    assert run.returncode == -signal.SIGKILL
    child = Path(f"/proc/{int(run.stdout)}/stat")
    while child.exists() and child.read_text().rpartition(") ")[2][0] not in "ZX":
        assert time.monotonic() < began + 40
        time.sleep(0.05)


def test_seconds_bound_compilation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model whose code takes longer than the budget has no result, in about that time; nothing of it goes on."""
    monkeypatch.setenv("KAFKA_SPEC_CACHE", str(tmp_path))
    spec = MODELS["zookeeper/fixed"]
    began, used = time.monotonic(), os.times()
    result = check(spec, {}, budget=Budget(0.2))
    assert (result.verdict, result.stopped) == ("inconclusive", "the time budget of 0.2 s is spent")
    with pytest.raises(Stopped):
        simulate(spec, {}, budget=Budget(0.2))
    after = os.times()
    assert time.monotonic() - began < 20
    assert after.children_user - used.children_user < 2
