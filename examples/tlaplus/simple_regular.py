"""Each process writes a register that is not atomic, then reads that of its neighbour (TeachingConcurrency/SimpleRegular.tla)."""

import enum
from dataclasses import dataclass

from kafka_spec import ArrayOf, Bound, BoundSet, Constants, Flag, Member, OneOf, Rule, Spec, anywhere, field, invariant

PROCESSES = Bound("processes", 1, 9, "processes in a ring")
PROCESS = {"process": Member(PROCESSES, "process")}


class Place(enum.IntEnum):
    """Where a process is; its register holds 0, then 0 or 1, then 1."""

    BEGINS = 0
    WRITES = 1
    WROTE = 2
    DONE = 3


@dataclass
class Processes:
    """Where processes are, and what they read."""

    at: list[int] = field(ArrayOf(OneOf(Place), PROCESSES, "process"))
    read: list[int] = field(ArrayOf(Flag(), PROCESSES, "process"))


def has_not_written(s: Processes, process: int) -> bool:
    """It has not written."""
    return s.at[process] in (Place.BEGINS, Place.WRITES)


def write(s: Processes, process: int) -> None:
    """Begin to write 1, or end that."""
    s.at[process] += 1


def may_be_read(s: Processes, process: int, value: int, k: Constants) -> bool:
    """It has written, and the value may be read from its neighbour: 0 until that has written, 1 once it writes."""
    neighbour = s.at[(process + k.processes - 1) % k.processes]
    return s.at[process] == Place.WROTE and (neighbour <= Place.WRITES if value == 0 else neighbour >= Place.WRITES)


def read(s: Processes, process: int, value: int) -> None:
    """Read the register of the neighbour."""
    s.read[process] = value
    s.at[process] = Place.DONE


def one_was_read(s: Processes) -> bool:
    """When all are done, one of them has read 1."""
    return any(place != Place.DONE for place in s.at) or any(value == 1 for value in s.read)


SIMPLE_REGULAR = Spec(
    "simple regular",
    "processes write, then read what their neighbours write",
    Processes,
    (
        Rule("Write", "{process}", "{process} writes", "", (write,), PROCESS, (has_not_written,)),
        Rule("Read", "{process}", "{process} reads {value}", "", (read,), {**PROCESS, "value": Flag()}, (may_be_read,)),
    ),
    (invariant("OneWasRead", one_was_read, "somebody reads 1"),),
    final=anywhere,
    bound_sets=(BoundSet("tlc", {"processes": 8}, "the bounds of the original"),),
)
