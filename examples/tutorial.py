"""A first specification of one's own: two workers, one lock, and a mistake.

Check it with `kafka-spec check examples.tutorial:LOCK`. A worker looks whether the lock is free in one step and takes it in
the next, so both may see it free; the checker finds the four steps that it takes.
"""

from dataclasses import dataclass

from kafka_spec import Each, Flag, Range, Rule, Spec, holds, invariant


@dataclass
class Workers:
    """Where each worker is: 0 idle, 1 saw the lock free, 2 holds it."""

    place: list[int] = holds(Each(Range(0, 2), 2, "worker"))
    taken: int = holds(Flag())


def sees_lock_free(s: Workers, worker: int) -> bool:
    """The worker is idle, and the lock is free."""
    return s.place[worker] == 0 and s.taken == 0


def remember(s: Workers, worker: int) -> None:
    """Remember that the lock was free."""
    s.place[worker] = 1


def saw_lock_free(s: Workers, worker: int) -> bool:
    """The worker once saw the lock free."""
    return s.place[worker] == 1


def take(s: Workers, worker: int) -> None:
    """Take the lock."""
    s.place[worker] = 2
    s.taken = 1


def one_holder(s: Workers) -> bool:
    """At most one worker holds the lock."""
    return s.place[0] + s.place[1] < 4


WORKER = {"worker": Range(0, 1)}
LOOK = Rule("Look", "worker", "worker {worker} sees the lock free", "tutorial", (remember,), WORKER, (sees_lock_free,))
TAKE = Rule("Take", "worker", "worker {worker} takes the lock", "tutorial", (take,), WORKER, (saw_lock_free,))
ONE_HOLDER = invariant("OneHolder", one_holder, "at most one worker holds the lock", "tutorial")
LOCK = Spec("lock", "two workers share a lock", Workers, (LOOK, TAKE), (ONE_HOLDER,))
