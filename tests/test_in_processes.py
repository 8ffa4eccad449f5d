"""Work in several processes: results come in order, errors are raised, and an interrupt reaches every process."""

from __future__ import annotations

import multiprocessing
import os
import time

import pytest

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.in_processes import in_processes
from kafka_spec.spec.vocabulary.table import SpecError


def test_results_come_in_order() -> None:
    """Each number is worked on once, by another process than this one; a function of this one need not be sent."""
    found = list(in_processes(lambda number: (number * number, os.getpid()), range(20), 3, Budget()))
    assert [square for square, _ in found] == [number * number for number in range(20)]
    assert os.getpid() not in {process for _, process in found}


def test_an_error_is_raised() -> None:
    """What the work raises is raised here, after the results before it."""

    def work(number: int) -> int:
        if number == 2:
            raise SpecError("the second is wrong")
        return number

    results = in_processes(work, range(5), 2, Budget())
    assert (next(results), next(results)) == (0, 1)
    with pytest.raises(SpecError, match="the second is wrong"):
        next(results)


def test_a_process_that_ends_is_noticed() -> None:
    """Where a process is killed, its work is not waited for; the others are ended."""

    def work(number: int) -> int:
        if number == 1:
            os._exit(9)
        return number

    results = in_processes(work, range(4), 2, Budget())
    with pytest.raises(EngineError, match="a process ended by itself"):
        list(results)
    assert multiprocessing.active_children() == []


def test_an_interrupt_reaches_every_process() -> None:
    """Work that looks at the budget ends soon after the budget is interrupted here."""
    budget = Budget()

    def work(number: int) -> str:
        until = time.monotonic() + 60
        while not budget.exhausted() and number and time.monotonic() < until:
            time.sleep(0.01)
        return budget.exhausted()

    results = in_processes(work, range(3), 3, budget)
    assert next(results) == ""
    budget.interrupted = True
    began = time.monotonic()
    assert list(results) == ["interrupted", "interrupted"]
    assert time.monotonic() - began < 20
