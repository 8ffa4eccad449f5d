"""Virtual time: a queue of events, and the tasks that wait for them. Events at one time happen in the order of their creation."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable
from typing import Any

from kafka_spec.impl.run.tasks import RemoteCall, Sleep, Task

Act = Callable[[], object]


class Scheduler:
    """A clock that advances to the next event. Times are seconds since its start."""

    def __init__(self, epoch: float) -> None:
        """`epoch` is the start in seconds since 1970."""
        self.now = 0.0
        self.done = 0
        """The number of past events."""
        self._epoch = epoch
        self._waiting: list[tuple[float, int, Act]] = []
        self._numbers = itertools.count()

    def clock(self) -> float:
        """Return the time in seconds since 1970."""
        return self._epoch + self.now

    def after(self, seconds: float, act: Act) -> None:
        """Schedule an event so many seconds from now."""
        heapq.heappush(self._waiting, (self.now + seconds, next(self._numbers), act))

    def run_until(self, when: float) -> None:
        """Run all events due before a time, and set the clock to it."""
        while self._waiting and self._waiting[0][0] <= when:
            self.now, _, act = heapq.heappop(self._waiting)
            self.done += 1
            act()
        self.now = when


class ScheduledTasks:
    """Tasks that end together: those of a broker's process, or of one client."""

    def __init__(
        self, name: str, scheduler: Scheduler, call: Callable[[ScheduledTasks, RemoteCall, Callable[[Any], object]], object]
    ) -> None:
        """`call` sends a message, and later calls the given function once, with the answer or None."""
        self.name = name
        self.alive = True
        self._scheduler = scheduler
        self._call = call
        self._tasks: list[Task] = []

    def spawn(self, task: Task, then: Act = lambda: None) -> None:
        """Begin a task now; `then` is called when it has ended by itself."""
        self._tasks.append(task)
        self._scheduler.after(0.0, lambda: self._go_on(task, None, then))

    def end(self) -> None:
        """Stop all tasks where they are."""
        self.alive = False
        for task in self._tasks:
            task.close()

    def _go_on(self, task: Task, answer: Any, then: Act) -> None:
        if not self.alive:
            return
        try:
            wanted = task.send(answer)
        except StopIteration:
            self._tasks.remove(task)
            then()
            return
        if isinstance(wanted, Sleep):
            self._scheduler.after(wanted.seconds, lambda: self._go_on(task, None, then))
        else:
            self._call(self, wanted, lambda answer: self._go_on(task, answer, then))
