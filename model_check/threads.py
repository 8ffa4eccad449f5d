"""The threads of a search: they run jobs that write to different places, and wait for each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor


class Threads:
    """So many threads; one is the caller's own."""

    def __init__(self, count: int) -> None:
        self.pool = ThreadPoolExecutor(count) if count > 1 else None

    def together(self, jobs: Sequence[Callable[[], None]], parallel: bool = True) -> None:
        """Run some jobs and wait for all; one after the other if there is one thread, or without `parallel`."""
        if self.pool is None or not parallel:
            for job in jobs:
                job()
            return
        futures: list[Future[None]] = [self.pool.submit(job) for job in jobs]
        for future in futures:
            future.result()

    def close(self) -> None:
        """End the threads."""
        if self.pool is not None:
            self.pool.shutdown()
