"""Readers and writers who wait in a line (ReadersWriters/ReadersWriters.tla)."""

import enum
from dataclasses import dataclass

from kafka_spec import (
    NO_MEMBERS,
    Bound,
    BoundSet,
    Member,
    OneOf,
    Rule,
    SequenceOf,
    SetOf,
    Spec,
    append,
    contains,
    excluding,
    field,
    including,
    invariant,
    pop_first,
    size,
)

ACTORS = Bound("actors", 1, 4, "actors who read and write")
ACTOR = {"actor": Member(ACTORS, "actor")}
LONGEST = 8
"""Places in the line: each actor waits at most twice."""


class Kind(enum.IntEnum):
    """What an actor waits for."""

    READ = 0
    WRITE = 1


@dataclass
class Wish:
    """An actor who waits."""

    kind: int = field(OneOf(Kind))
    actor: int = field(Member(ACTORS, "actor"))


@dataclass
class Library:
    """Who reads, who writes, and who waits."""

    readers: int = field(SetOf(ACTORS))
    writers: int = field(SetOf(ACTORS))
    waiting: list[Wish] = field(SequenceOf(Wish, LONGEST))


def waits(s: Library, actor: int, kind: int) -> bool:
    """The actor waits for this."""
    return any(wish.actor == actor and wish.kind == kind for wish in s.waiting)


def does_not_wait_to_read(s: Library, actor: int) -> bool:
    """The actor does not wait to read."""
    return not waits(s, actor, Kind.READ)


def try_to_read(s: Library, actor: int) -> None:
    """Wait to read."""
    append(s.waiting, Wish(Kind.READ, actor))


def does_not_wait_to_write(s: Library, actor: int) -> bool:
    """The actor does not wait to write."""
    return not waits(s, actor, Kind.WRITE)


def try_to_write(s: Library, actor: int) -> None:
    """Wait to write."""
    append(s.waiting, Wish(Kind.WRITE, actor))


def may_read(s: Library) -> bool:
    """Nobody writes, and the first in the line wants to read."""
    return s.writers == NO_MEMBERS and len(s.waiting) > 0 and s.waiting[0].kind == Kind.READ


def read(s: Library) -> None:
    """The first in the line reads."""
    s.readers = including(s.readers, s.waiting[0].actor)
    pop_first(s.waiting)


def may_write(s: Library) -> bool:
    """Nobody reads or writes, and the first in the line wants to write."""
    return s.readers == s.writers == NO_MEMBERS and len(s.waiting) > 0 and s.waiting[0].kind == Kind.WRITE


def write(s: Library) -> None:
    """The first in the line writes."""
    s.writers = including(s.writers, s.waiting[0].actor)
    pop_first(s.waiting)


def is_active(s: Library, actor: int) -> bool:
    """The actor reads or writes."""
    return contains(s.readers, actor) or contains(s.writers, actor)


def stop(s: Library, actor: int) -> None:
    """Stop reading, or else writing."""
    if contains(s.readers, actor):
        s.readers = excluding(s.readers, actor)
    else:
        s.writers = excluding(s.writers, actor)


def writers_are_alone(s: Library) -> bool:
    """Nobody reads while one writes, and no two write."""
    return (s.readers == NO_MEMBERS or s.writers == NO_MEMBERS) and size(s.writers) <= 1


READERS_WRITERS = Spec(
    "readers and writers",
    "actors wait in a line to read and to write",
    Library,
    (
        Rule("TryToRead", "{actor}", "{actor} waits to read", "", (try_to_read,), ACTOR, (does_not_wait_to_read,)),
        Rule("TryToWrite", "{actor}", "{actor} waits to write", "", (try_to_write,), ACTOR, (does_not_wait_to_write,)),
        Rule("Read", "library", "the first in the line reads", "", (read,), {}, (may_read,)),
        Rule("Write", "library", "the first in the line writes", "", (write,), {}, (may_write,)),
        Rule("Stop", "{actor}", "{actor} stops", "", (stop,), ACTOR, (is_active,)),
    ),
    (invariant("WritersAreAlone", writers_are_alone, "who writes is alone"),),
    bound_sets=(BoundSet("tlc", {"actors": 3}, "the bounds of the original"),),
)
