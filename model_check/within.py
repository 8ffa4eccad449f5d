"""Runs work that cannot look at a budget in a process of its own, which ends with the budget, with Ctrl-C, and with this process.

Compiling is such work: for a large model it takes many seconds inside one call.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TypeVar

from kafka_spec.model_check.budget import Budget, Stopped
from kafka_spec.model_check.exploration import EngineError

Result = TypeVar("Result")
LOOK = 0.05
"""Seconds between two looks at the budget."""
AGAIN = 1.0
"""Seconds after which the reading of specs is interrupted again: what is raised in a callback of a weak reference is lost."""
WATCH = 0.2
"""Seconds between two looks at whether the parent is alive."""


_limit: ContextVar[Budget | None] = ContextVar("limit", default=None)


@contextmanager
def limited(budget: Budget) -> Iterator[None]:
    """Let a budget limit the work that is done meanwhile by `within`."""
    before = _limit.set(budget)
    try:
        yield
    finally:
        _limit.reset(before)


def look() -> None:
    """Raise Stopped if the budget that limits what is done now is spent; for loops that take long in this process."""
    budget = _limit.get()
    if budget is not None and (reason := budget.exhausted()):
        raise Stopped(reason)


class _Late(BaseException):
    """The time is over; not an Exception, which the code that is interrupted might catch."""


@contextmanager
def reading(seconds: float | None) -> Iterator[None]:
    """Limit the time in which specs are read, whatever their modules do when they are imported.

    Raises:
        Stopped: the time is over.
    """
    if seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return

    def late(*_: object) -> None:
        raise _Late

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), AGAIN)
    try:
        yield
    except _Late:
        raise Stopped(f"the time budget of {seconds:g} s was spent while the specs were read") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def within(work: Callable[[], Result]) -> Result:
    """Return what `work` returns, or raise what it raises; its result and its errors can be pickled.

    Where no budget limits the time, and nothing interrupts it, the work is done in this process.

    Raises:
        Stopped: the budget is spent.
    """
    budget = _limit.get()
    if budget is None or (budget.seconds is None and not budget.interruptible):
        return work()
    look()
    reader, writer = os.pipe()
    parent = os.getpid()
    try:
        with warnings.catch_warnings():  # of threads, which all wait meanwhile
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
    except OSError:  # no memory or no process is left for it: better late than never
        os.close(reader)
        os.close(writer)
        return work()
    if child == 0:
        _work(work, writer, parent)
    os.close(writer)
    try:
        found: Result = _received(reader, budget)
        return found
    finally:
        os.close(reader)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _work(work: Callable[[], object], writer: int, parent: int) -> None:
    """Do the work in the child, send what came of it, and end the child."""
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        end_with(parent)
        try:
            reported: tuple[object, BaseException | None] = work(), None
        except Exception as error:
            reported = None, error
        with os.fdopen(writer, "wb") as pipe:
            pickle.dump(reported, pipe)
    finally:
        os._exit(0)


def _received(reader: int, budget: Budget) -> Any:
    """Return or raise what the child sends, as long as the budget allows."""
    parts = []
    while True:
        if select.select([reader], [], [], LOOK)[0]:
            if not (part := os.read(reader, 1 << 20)):
                break
            parts.append(part)
        if reason := budget.exhausted():
            raise Stopped(reason)
    if not parts:
        raise EngineError("the process that compiled ended by itself; perhaps the memory was too small")
    result, error = pickle.loads(b"".join(parts))
    if error is not None:
        raise error
    return result


def end_with(parent: int, end: Callable[[], None] = lambda: os._exit(1)) -> None:
    """End this process as soon as its parent has ended, however that came about."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(WATCH)
        end()

    threading.Thread(target=watch, daemon=True).start()
