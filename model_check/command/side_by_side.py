"""Runs several checks side by side, each in one of a few processes; the outcomes come in the order of the checks.

A process takes one check after another: first those that compile to the code that it already has, else the first that is left.
`cheapest_first` puts what compiles quickly and is small ahead, so that the first results come soon. Ctrl-C stops running checks,
whose results so far are reported; what has not stopped after a second is ended. A process also ends with the one that started it,
however that ended.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from kafka_spec.model_check.budget import INTERRUPTED
from kafka_spec.model_check.check import Outcome
from kafka_spec.model_check.command.asked import not_run
from kafka_spec.model_check.exploration import EngineError, Exploration
from kafka_spec.model_check.named_check import NamedCheck
from kafka_spec.model_check.sent_results import received, sent
from kafka_spec.model_check.within import end_with
from kafka_spec.spec.language.domain import form
from kafka_spec.spec.optional_dependencies import needing

Run = Callable[[NamedCheck], Exploration]
LOOK = 0.1
"""Seconds between two looks at whether Ctrl-C was pressed long ago."""
PATIENCE = 1.0
"""Seconds from Ctrl-C until a check that has not stopped is ended."""


def outcomes(checks: Sequence[NamedCheck], run: Run, processes: int) -> Iterator[Outcome]:
    """Yield the outcomes of checks, in order; after Ctrl-C those that there are, and `Asked` knows the others.

    Raises:
        SpecError, EngineError: as `run` raises them.
    """
    if processes < 2 or len(checks) < 2:
        for check in checks:
            outcome = Outcome(check.name, run(check), check.expected)
            yield outcome
            if outcome.result.stopped == INTERRUPTED:
                return
        return
    with _crew(checks, run, min(processes, len(checks))) as crew:
        for index, check in enumerate(checks):
            result = crew.result(index)
            yield Outcome(check.name, result if result is not None else not_run(check), check.expected)


class _Worker:
    """A process that runs checks by their numbers."""

    def __init__(self, checks: Sequence[NamedCheck], run: Run) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, inner = context.Pipe()
        self.process = context.Process(target=_work, args=(inner, self.pipe, os.getpid(), checks, run), daemon=True)
        self.process.start()
        inner.close()
        self.codes: set[Any] = set()
        """The kinds of code that the process has compiled."""


def _work(pipe: Connection, outer: Connection, parent: int, checks: Sequence[NamedCheck], run: Run) -> None:
    """Run the checks whose numbers arrive, until the other end is closed."""
    outer.close()
    os.setpgid(0, 0)  # the terminal's Ctrl-C reaches the first process alone, which passes it on
    end_with(parent, lambda: os.killpg(0, signal.SIGKILL))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a check that runs sets its own handler
    while True:
        try:
            index = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send((index, sent(run(checks[index])), None))
        except Exception as error:
            pipe.send((index, None, error))


class _Crew:
    """The processes, and the checks that are left."""

    def __init__(self, checks: Sequence[NamedCheck], run: Run, processes: int) -> None:
        self.checks = checks
        self.codes = [_code_of(check) for check in checks]
        self.left = list(range(len(checks)))
        self.done: dict[int, Exploration] = {}
        self.stopped = 0.0
        """When Ctrl-C stopped the checks; 0: it did not."""
        self.workers = [_Worker(checks, run) for _ in range(processes)]
        self.busy: dict[Connection, _Worker] = {}

    def begin(self) -> None:
        """Give each process its first check."""
        for worker in self.workers:
            self.give(worker)

    def give(self, worker: _Worker) -> None:
        """Give a process its next check, if one is left."""
        if not self.left or self.stopped:
            return
        known = [index for index in self.left if self.codes[index] in worker.codes]
        index = (known or self.left)[0]
        self.left.remove(index)
        worker.codes.add(self.codes[index])
        worker.pipe.send(index)
        self.busy[worker.pipe] = worker

    def result(self, index: int) -> Exploration | None:
        """Wait for the result of a check; return None if it was not begun before the stop."""
        while index not in self.done:
            if not self.busy or (self.stopped and time.monotonic() > self.stopped + PATIENCE):
                return None
            for pipe in wait(list(self.busy), LOOK):
                assert isinstance(pipe, Connection)
                self.receive(self.busy.pop(pipe))
        return self.done.pop(index)

    def receive(self, worker: _Worker) -> None:
        """Take the result of a process, and give it the next check."""
        try:
            index, result, error = worker.pipe.recv()
        except (EOFError, ConnectionError):
            worker.process.join()
            raise EngineError(f"a process that ran checks ended by itself (exit code {worker.process.exitcode})") from None
        if error is not None:
            raise error
        self.done[index] = received(result, self.checks[index].spec)
        self.give(worker)

    def interrupt(self, number: int, frame: object) -> None:
        """Stop the running checks and begin no other; the second time, end at once."""
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = time.monotonic()
        for worker in self.workers:
            if worker.process.pid is not None and worker.process.is_alive():
                os.kill(worker.process.pid, signal.SIGINT)

    def close(self) -> None:
        """End the processes, and those that they started."""
        for worker in self.workers:
            worker.pipe.close()
            if worker.process.pid is not None and worker.process.is_alive():
                with suppress(ProcessLookupError):  # it has not yet made its group
                    os.killpg(worker.process.pid, signal.SIGKILL)
                worker.process.kill()
            worker.process.join()


@contextmanager
def _crew(checks: Sequence[NamedCheck], run: Run, processes: int) -> Iterator[_Crew]:
    crew = _Crew(checks, run, processes)
    before = signal.signal(signal.SIGINT, crew.interrupt)
    try:
        crew.begin()
        yield crew
    finally:
        signal.signal(signal.SIGINT, before)
        crew.close()


def _code_of(check: NamedCheck) -> tuple[Any, ...]:
    """Return what checks have in common that, as a rule, compile to the same code."""
    with needing("check"):
        from kafka_spec.model_check.record.actions import Actions
        from kafka_spec.model_check.record.layout import packed
    space = check.spec.space(check.bounds)
    actions = Actions(check.spec, space, check.bounds)
    wholes = [{name: form(of.type) for name, of in of_rule.items()} for of_rule in actions.wholes]
    return (
        tuple(map(id, check.spec.rules)),
        check.properties,
        check.normal_form,
        packed(space.root).size,
        repr((actions.ranges, wholes)),
    )


def cheapest_first(checks: Sequence[NamedCheck]) -> list[NamedCheck]:
    """Return checks in the order of what they cost: code of few rules compiles sooner; of one code, the smallest search first."""
    codes: dict[tuple[int, ...], int] = {}
    for check in checks:
        codes.setdefault(tuple(map(id, check.spec.rules)), len(codes))

    def cost(check: NamedCheck) -> tuple[int, int, int]:
        return len(check.spec.rules), codes[tuple(map(id, check.spec.rules))], check.expected.distinct or 0

    return sorted(checks, key=cost)
