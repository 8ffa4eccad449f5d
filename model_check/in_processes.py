"""Does the same work for several numbers, in some processes that are copies of this one."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.synchronize import Event
from typing import Any, TypeVar

from kafka_spec.model_check.budget import Budget
from kafka_spec.model_check.exploration import EngineError
from kafka_spec.model_check.within import end_with

Result = TypeVar("Result")
LOOK = 0.1
"""Seconds between two looks at whether Ctrl-C was pressed."""

_shared: list[tuple[Callable[[int], Any], Budget]] = []
"""What the processes do: functions and formulas cannot be sent, but a copy of this process has them."""


def in_processes(work: Callable[[int], Result], numbers: Sequence[int], processes: int, budget: Budget) -> Iterator[Result]:
    """Yield what the work returns for each number, in their order; the results and errors can be pickled.

    The budget's copies limit the work in the processes; when it is interrupted here, they are, too.

    Raises:
        EngineError: a process ended by itself.
    """
    context = multiprocessing.get_context("fork")
    _shared[:] = [(work, budget)]
    stop, others = context.Event(), _children()
    with context.Pool(processes, _begin, (os.getpid(), stop)) as pool:
        crew = _children() - others
        found = pool.imap(_do, numbers, chunksize=1)
        for _ in numbers:
            while True:
                try:
                    result: Result = found.next(LOOK)
                    break
                except multiprocessing.TimeoutError:
                    if budget.interrupted:
                        stop.set()
                    if not crew <= _children():  # its work would never come
                        raise EngineError("a process ended by itself; perhaps the memory was too small") from None
            yield result


def _children() -> set[int | None]:
    """Return the living processes that this one has started."""
    return {child.pid for child in multiprocessing.active_children()}


def _begin(parent: int, stop: Event) -> None:
    """Prepare a process: it ends with its parent, and its work is interrupted with that of its parent."""
    end_with(parent)
    ((_, budget),) = _shared

    def watch() -> None:
        stop.wait()
        budget.interrupted = True

    threading.Thread(target=watch, daemon=True).start()


def _do(number: int) -> Any:
    ((work, _),) = _shared
    return work(number)
