"""The threads of a search run jobs side by side, wait for all of them, and pass on their errors."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Barrier

import pytest

from kafka_spec.model_check.search.threads import Job, Threads


@pytest.fixture
def threads() -> Iterator[Threads]:
    """Three threads."""
    several = Threads(3)
    yield several
    several.close()
    assert not any(other.is_alive() for other in several.others)


def test_jobs_run_side_by_side(threads: Threads) -> None:
    """Jobs that wait for each other end, time after time; without `parallel` one runs after the other."""
    for _ in range(100):
        meeting = Barrier(3, timeout=60)
        threads.together([lambda meeting=meeting: meeting.wait()] * 3)  # type: ignore[misc]
    done: list[int] = []
    threads.together([lambda number=number: done.append(number) for number in range(9)], parallel=False)  # type: ignore[misc]
    assert done == list(range(9))


@pytest.mark.parametrize("count", [0, 1, 2, 7])
def test_all_jobs_have_ended(threads: Threads, count: int) -> None:
    """Any number of jobs has run when the call returns."""
    done: list[int] = []
    threads.together([lambda number=number: done.append(number) for number in range(count)])  # type: ignore[misc]
    assert sorted(done) == list(range(count))


@pytest.mark.parametrize("wrong", [{0}, {1}, {2, 1}, {0, 2}])
def test_the_error_of_the_first_job_is_raised(threads: Threads, wrong: set[int]) -> None:
    """Of failing jobs the first one's error is raised, the others run to their end, and the threads can be used again."""
    done: list[int] = []

    def job(number: int) -> Job:
        def run() -> None:
            done.append(number)
            if number in wrong:
                raise MemoryError(number)

        return run

    for _ in range(2):
        with pytest.raises(MemoryError, match=str(min(wrong))):
            threads.together([job(number) for number in range(4)])
    assert sorted(done) == sorted([0, 1, 2, 3] * 2)
