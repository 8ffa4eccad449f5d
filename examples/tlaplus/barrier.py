"""A barrier: all processes pass it together (barriers/Barrier.tla)."""

from dataclasses import dataclass

from kafka_spec import ArrayOf, Bound, BoundSet, Constants, Flag, Member, Rule, Spec, field, step_invariant

PROCESSES = Bound("processes", 1, 12, "processes")
PROCESS = {"process": Member(PROCESSES, "process")}


@dataclass
class Barrier:
    """Who waits at the barrier."""

    waits: list[int] = field(ArrayOf(Flag(), PROCESSES, "process"))


def is_on_its_way(s: Barrier, process: int) -> bool:
    """It does not wait."""
    return s.waits[process] == 0


def arrive(s: Barrier, process: int) -> None:
    """Wait at the barrier."""
    s.waits[process] = 1


def all_wait(s: Barrier) -> bool:
    """All wait."""
    return all(waits == 1 for waits in s.waits)


def open_barrier(s: Barrier, k: Constants) -> None:
    """Let all pass."""
    for process in range(k.processes):
        s.waits[process] = 0


def waits_for_all(before: Barrier, after: Barrier, k: Constants) -> bool:
    """Where some do not wait, those that wait go on waiting."""
    return all(wait == 1 for wait in before.waits) or all(
        before.waits[process] == 0 or after.waits[process] == 1 for process in range(k.processes)
    )


BARRIER = Spec(
    "barrier",
    "processes wait for each other",
    Barrier,
    (
        Rule("Arrive", "{process}", "{process} arrives", "", (arrive,), PROCESS, (is_on_its_way,)),
        Rule("Open", "barrier", "all pass", "", (open_barrier,), {}, (all_wait,)),
    ),
    (step_invariant("WaitsForAll", waits_for_all, "nobody passes before all are there"),),
    bound_sets=(BoundSet("tlc", {"processes": 6}, "the bounds of the original"),),
)
