"""Lamport's mutual exclusion by logical clocks (lamport_mutex/LamportMutex.tla)."""

import enum
from dataclasses import dataclass

from kafka_spec import (
    NO_MEMBERS,
    ArrayOf,
    Bound,
    BoundSet,
    Constants,
    Member,
    OneOf,
    Range,
    Rule,
    SequenceOf,
    SetOf,
    Spec,
    append,
    contains,
    excluding,
    field,
    first_members,
    including,
    invariant,
    pop_first,
    singleton,
    size,
)

PROCESSES = Bound("processes", 1, 4, "processes")
CLOCK = Bound("clock", 1, 8, "the largest time of a clock")
PROCESS = {"process": Member(PROCESSES, "process")}
PAIR = {**PROCESS, "sender": Member(PROCESSES, "process")}


class Kind(enum.IntEnum):
    """The kinds of messages."""

    REQUEST = 0
    ACK = 1
    RELEASE = 2


@dataclass
class Message:
    """A message; a request carries the time of its sender."""

    kind: int = field(OneOf(Kind))
    time: int = field(Range(0, CLOCK))


@dataclass
class System:
    """Clocks, the requests that each process knows, who acknowledged its own, channels, and who is inside."""

    clocks: list[int] = field(ArrayOf(Range(1, CLOCK + 1), PROCESSES, "process"))
    requests: list[list[int]] = field(ArrayOf(ArrayOf(Range(0, CLOCK), PROCESSES, "process"), PROCESSES, "process"))
    acks: list[int] = field(ArrayOf(SetOf(PROCESSES), PROCESSES, "process"))
    channels: list[list[list[Message]]] = field(
        ArrayOf(ArrayOf(SequenceOf(Message, 3), PROCESSES, "process"), PROCESSES, "process")
    )
    inside: int = field(SetOf(PROCESSES))


def broadcast(s: System, sender: int, kind: int, time: int, k: Constants) -> None:
    """Send a message to all others."""
    for other in range(k.processes):
        if other != sender:
            append(s.channels[sender][other], Message(kind, time))


def has_no_request(s: System, process: int) -> bool:
    """It has no request of its own."""
    return s.requests[process][process] == 0


def request(s: System, process: int, k: Constants) -> None:
    """Ask all others."""
    s.requests[process][process] = s.clocks[process]
    broadcast(s, process, Kind.REQUEST, s.clocks[process], k)
    s.acks[process] = singleton(process)


def receives(s: System, process: int, sender: int, kind: int) -> bool:
    """A message of this kind is the next one from the sender."""
    return len(s.channels[sender][process]) > 0 and s.channels[sender][process][0].kind == kind


def receives_request(s: System, process: int, sender: int) -> bool:
    """A request is the next message."""
    return receives(s, process, sender, Kind.REQUEST)


def take_request(s: System, process: int, sender: int) -> None:
    """Note a request, set the clock, and acknowledge it."""
    time = s.channels[sender][process][0].time
    s.requests[process][sender] = time
    s.clocks[process] = max(time, s.clocks[process]) + 1
    pop_first(s.channels[sender][process])
    append(s.channels[process][sender], Message(Kind.ACK))


def receives_ack(s: System, process: int, sender: int) -> bool:
    """An acknowledgement is the next message."""
    return receives(s, process, sender, Kind.ACK)


def take_ack(s: System, process: int, sender: int) -> None:
    """Note an acknowledgement."""
    s.acks[process] = including(s.acks[process], sender)
    pop_first(s.channels[sender][process])


def receives_release(s: System, process: int, sender: int) -> bool:
    """A release is the next message."""
    return receives(s, process, sender, Kind.RELEASE)


def take_release(s: System, process: int, sender: int) -> None:
    """Forget the request of the sender."""
    s.requests[process][sender] = 0
    pop_first(s.channels[sender][process])


def is_first(s: System, process: int, other: int) -> bool:
    """Its request comes before that of another process."""
    mine, others = s.requests[process][process], s.requests[process][other]
    return others == 0 or mine < others or (mine == others and process < other)


def may_enter(s: System, process: int, k: Constants) -> bool:
    """All have acknowledged its request, and it is first."""
    return s.acks[process] == first_members(k.processes) and all(
        other == process or is_first(s, process, other) for other in range(k.processes)
    )


def enter(s: System, process: int) -> None:
    """Enter."""
    s.inside = including(s.inside, process)


def is_inside(s: System, process: int) -> bool:
    """It is inside."""
    return contains(s.inside, process)


def leave(s: System, process: int, k: Constants) -> None:
    """Leave, and tell all others."""
    s.inside = excluding(s.inside, process)
    broadcast(s, process, Kind.RELEASE, 0, k)
    s.requests[process][process] = 0
    s.acks[process] = NO_MEMBERS


def clocks_are_low(s: System, k: Constants) -> bool:
    """No clock is beyond the largest time."""
    return all(time <= k.clock for time in s.clocks)


def one_is_inside(s: System) -> bool:
    """At most one is inside."""
    return size(s.inside) <= 1


LAMPORT_MUTEX = Spec(
    "lamport mutex",
    "processes exclude each other by logical clocks",
    System,
    (
        Rule("Request", "{process}", "{process} asks", "", (request,), PROCESS, (has_no_request,)),
        Rule("Enter", "{process}", "{process} enters", "", (enter,), PROCESS, (may_enter,)),
        Rule("Leave", "{process}", "{process} leaves", "", (leave,), PROCESS, (is_inside,)),
        Rule("TakeRequest", "{process}", "{process} hears of {sender}", "", (take_request,), PAIR, (receives_request,)),
        Rule("TakeAck", "{process}", "{sender} acknowledges {process}", "", (take_ack,), PAIR, (receives_ack,)),
        Rule("TakeRelease", "{process}", "{process} hears that {sender} left", "", (take_release,), PAIR, (receives_release,)),
    ),
    (invariant("OneIsInside", one_is_inside, "at most one is inside"),),
    constraint=clocks_are_low,
    bound_sets=(BoundSet("tlc", {"processes": 3, "clock": 6}, "the bounds of the original"),),
)
