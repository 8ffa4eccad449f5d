"""The threads of a search: they run jobs that write to different places, and wait for each other.

A search waits some hundred times a second, so jobs are handed over by plain queues; futures would take longer than a small batch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import TypeAlias

Job: TypeAlias = Callable[[], None]
Together: TypeAlias = Callable[[Sequence[Job]], None]
"""Runs some jobs, and waits for all."""


class Threads:
    """So many threads; one is the caller's own."""

    def __init__(self, count: int) -> None:
        self.waiting = SimpleQueue[tuple[int, Job] | None]()
        self.ended = SimpleQueue[tuple[int, BaseException | None]]()
        self.others = [Thread(target=self._serve, daemon=True) for _ in range(count - 1)]
        for other in self.others:
            other.start()

    def together(self, jobs: Sequence[Job], parallel: bool = True) -> None:
        """Run some jobs and wait for all; one after the other if there is one thread, or without `parallel`.

        If jobs fail, the error of the first of them is raised.
        """
        if not self.others or not parallel:
            for job in jobs:
                job()
            return
        for number, job in enumerate(jobs[1:], 1):
            self.waiting.put((number, job))
        errors: dict[int, BaseException] = {}
        try:
            for job in jobs[:1]:
                job()
        finally:
            for _ in jobs[1:]:
                number, error = self.ended.get()
                if error is not None:
                    errors[number] = error
        if errors:
            raise errors[min(errors)]

    def _serve(self) -> None:
        """Run jobs until there is a None."""
        while (task := self.waiting.get()) is not None:
            number, job = task
            try:
                job()
            except BaseException as error:
                self.ended.put((number, error))
            else:
                self.ended.put((number, None))
            del task, job

    def close(self) -> None:
        """End the threads when they have done their jobs."""
        for _ in self.others:
            self.waiting.put(None)
        for other in self.others:
            other.join()


def both(first: Job | None, second: Job | None) -> Job:
    """Return the job that does one after the other, where there are two."""

    def job() -> None:
        for one in (first, second):
            if one is not None:
                one()

    return job
