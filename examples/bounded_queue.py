"""A bounded queue with one condition variable: waking any waiter wakes the wrong one, and all threads sleep for ever.

    kafka-spec check examples.bounded_queue:QUEUE                             violated: SomebodyRuns, 8 states
    kafka-spec check examples.bounded_queue:QUEUE --bound capacity=2          holds
    kafka-spec check examples.bounded_queue:QUEUE_THAT_WAKES_ALL              holds
    kafka-spec check examples.bounded_queue:QUEUE_WITH_TWO_CONDITIONS         holds
    kafka-spec check examples.bounded_queue:OVERFULL                          violated: NeverTooFull
    kafka-spec prove examples.bounded_queue:QUEUE_PROVED --unbounded capacity proved: SomebodyRuns, NeverTooFull

The puzzle of T. Cargill and others ("Challenge 14", c2 wiki); it deadlocks if and only if there are more threads than twice the
capacity (M. Kuppe, "BlockingQueue").
"""

from dataclasses import dataclass

from kafka_spec import (
    NONE,
    Among,
    Bound,
    BoundSet,
    Constants,
    Member,
    Range,
    Rule,
    SetOf,
    Spec,
    contains,
    excluding,
    field,
    including,
    invariant,
    lemma,
)

REFERENCE = "Kuppe, BlockingQueue"
THREADS = Bound("threads", 2, 8, "threads; those below `producers` put, the others take")
PRODUCERS = Bound("producers", 1, 7, "threads that put")
CAPACITY = Bound("capacity", 1, 4, "items that the queue can hold")
A_THREAD = Member(THREADS, "thread")


@dataclass
class Buffer:
    """The queue, of which only the length matters, and its monitor."""

    size: int = field(Range(0, CAPACITY + 1))
    waiting: int = field(SetOf(A_THREAD))
    """The threads that sleep on the condition variable."""


def runs(s: Buffer, thread: int) -> bool:
    """The thread does not sleep."""
    return not contains(s.waiting, thread)


def puts(thread: int, k: Constants) -> bool:
    """The thread is a producer."""
    return thread < k.producers


def takes(thread: int, k: Constants) -> bool:
    """The thread is a consumer."""
    return thread >= k.producers


def is_full(s: Buffer, k: Constants) -> bool:
    """The queue is full."""
    return s.size == k.capacity


def is_not_full(s: Buffer, k: Constants) -> bool:
    """The queue has room."""
    return s.size < k.capacity


def is_empty(s: Buffer) -> bool:
    """The queue is empty."""
    return s.size == 0


def is_not_empty(s: Buffer) -> bool:
    """The queue holds something."""
    return s.size > 0


def sleeps(s: Buffer, woken: int) -> bool:
    """The thread sleeps."""
    return contains(s.waiting, woken)


def sleeps_across(s: Buffer, thread: int, woken: int, k: Constants) -> bool:
    """The thread sleeps, and is not of the kind of the one that wakes it."""
    return sleeps(s, woken) and puts(thread, k) != puts(woken, k)


def put(s: Buffer) -> None:
    """Put an item into the queue."""
    s.size += 1


def take(s: Buffer) -> None:
    """Take an item out of the queue."""
    s.size -= 1


def wake(s: Buffer, woken: int) -> None:
    """Wake one thread."""
    if woken != NONE:
        s.waiting = excluding(s.waiting, woken)


def wake_all(s: Buffer) -> None:
    """Wake all threads."""
    s.waiting = 0


def sleep(s: Buffer, thread: int) -> None:
    """Sleep on the condition variable."""
    s.waiting = including(s.waiting, thread)


def somebody_runs(s: Buffer, k: Constants) -> bool:
    """Not all threads sleep."""
    for thread in range(k.threads):
        if runs(s, thread):
            return True
    return False


def never_too_full(s: Buffer, k: Constants) -> bool:
    """The queue holds no more than it can."""
    return s.size <= k.capacity


def consumers_run(s: Buffer, k: Constants) -> bool:
    """While the queue holds something, no consumer sleeps."""
    return all(is_empty(s) or puts(thread, k) or runs(s, thread) for thread in range(k.threads))


def producers_run(s: Buffer, k: Constants) -> bool:
    """While the queue has room, no producer sleeps."""
    return all(is_full(s, k) or takes(thread, k) or runs(s, thread) for thread in range(k.threads))


THREAD = {"thread": A_THREAD}
AND_WOKEN = {**THREAD, "woken": Among(A_THREAD, sleeps, or_none=True)}
WHO = "{thread}"
PUT_GUARDS, TAKE_GUARDS = (is_not_full, puts, runs), (is_not_empty, takes, runs)
PUT = Rule("Put", WHO, f"{WHO} puts, and wakes {{woken}}", REFERENCE, (put, wake), AND_WOKEN, PUT_GUARDS)
TAKE = Rule("Take", WHO, f"{WHO} takes, and wakes {{woken}}", REFERENCE, (take, wake), AND_WOKEN, TAKE_GUARDS)
PUT_WAITS = Rule("PutWaits", WHO, f"{WHO} finds the queue full, and sleeps", REFERENCE, (sleep,), THREAD, (is_full, puts, runs))
TAKE_WAITS = Rule(
    "TakeWaits", WHO, f"{WHO} finds the queue empty, and sleeps", REFERENCE, (sleep,), THREAD, (is_empty, takes, runs)
)

QUEUE = Spec(
    "bounded_queue",
    "threads share a queue and one condition variable; each step wakes any one waiter",
    Buffer,
    (PUT, TAKE, PUT_WAITS, TAKE_WAITS),
    (
        invariant("SomebodyRuns", somebody_runs, "not all threads sleep", REFERENCE),
        invariant("NeverTooFull", never_too_full, "the queue holds no more than it can", REFERENCE),
    ),
    more_bounds=(PRODUCERS,),
    bound_sets=(
        BoundSet("small", {"threads": 3, "producers": 1, "capacity": 1}, "the least that deadlocks: 3 threads, more than twice 1"),
    ),
)
PUT_AND_WAKE_ALL = Rule("Put", WHO, f"{WHO} puts, and wakes all", REFERENCE, (put, wake_all), THREAD, PUT_GUARDS)
TAKE_AND_WAKE_ALL = Rule("Take", WHO, f"{WHO} takes, and wakes all", REFERENCE, (take, wake_all), THREAD, TAKE_GUARDS)
QUEUE_THAT_WAKES_ALL = QUEUE.replacing(
    "bounded_queue_that_wakes_all", "each step wakes all waiters", rules=(PUT_AND_WAKE_ALL, TAKE_AND_WAKE_ALL)
)
QUEUE_PROVED = QUEUE_THAT_WAKES_ALL.replacing(
    "bounded_queue_proved",
    "each step wakes all waiters; with the lemmas that prove it",
    lemmas=(lemma("ConsumersRun", consumers_run), lemma("ProducersRun", producers_run)),
)
OVERFULL = QUEUE_THAT_WAKES_ALL.replacing(
    "overfull_queue", "producers that do not look whether there is room", rules=(PUT_AND_WAKE_ALL.without_guard("is_not_full"),)
)

AND_WOKEN_ACROSS = {**THREAD, "woken": Among(A_THREAD, sleeps_across, or_none=True)}
QUEUE_WITH_TWO_CONDITIONS = QUEUE.replacing(
    "bounded_queue_with_two_conditions",
    "producers wait on one condition variable, consumers on another: who puts wakes any one consumer, who takes any one producer",
    rules=(
        Rule("Put", WHO, f"{WHO} puts, and wakes {{woken}}", REFERENCE, (put, wake), AND_WOKEN_ACROSS, PUT_GUARDS),
        Rule("Take", WHO, f"{WHO} takes, and wakes {{woken}}", REFERENCE, (take, wake), AND_WOKEN_ACROSS, TAKE_GUARDS),
    ),
)
