"""The threads of a search: they run jobs that write to different places, and wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeAlias

Job: TypeAlias = Callable[[], None]


class Threads:
    """So many threads; one is the caller's own."""

    def __init__(self, count: int) -> None:
        self.pool = ThreadPoolExecutor(count - 1) if count > 1 else None

    def together(self, jobs: Sequence[Job], parallel: bool = True) -> None:
        """Run some jobs and wait for all; one after the other if there is one thread, or without `parallel`."""
        if self.pool is None or not parallel:
            for job in jobs:
                job()
            return
        others = [self.pool.submit(job) for job in jobs[1:]]
        try:
            for job in jobs[:1]:
                job()
        finally:
            wait(others)
        for other in others:
            other.result()

    def close(self) -> None:
        """End the threads."""
        if self.pool is not None:
            self.pool.shutdown()
