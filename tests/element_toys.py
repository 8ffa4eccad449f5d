"""Small specs with sets and bags of records, whose state spaces are counted by hand."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from kafka_spec.spec.language.domain import (
    ArrayOf,
    BagOf,
    Bound,
    Flag,
    OneOf,
    Range,
    SetOf,
    add,
    count,
    field,
    has,
    message,
    remove,
    tagged,
)
from kafka_spec.spec.vocabulary.table import BoundSet, Constants, ElementOf, Rule, Spec, invariant, reachable

TOY = "a toy"
LETTERS = Bound("letters", 0, 6, "different letters")
ROOM = Bound("room", 0, 9, "letters at a time")


@message
@dataclass
class Letter:
    """A letter."""

    name: int = field(Range(0, 5))
    answers: int = field(Flag())


@dataclass
class Post:
    """Letters that are under way, each once, and in another place any number of times."""

    once: list[Letter] = field(SetOf(Letter, ROOM))
    often: list[Letter] = field(BagOf(Letter, ROOM))
    order: int = field(Range(0, 728))


def exists(name: int, k: Constants) -> bool:
    """There are so many letters."""
    return name < k.letters


def send_once(s: Post, name: int) -> None:
    """Put the letter among those that are there once."""
    add(s.once, name=name)


def send(s: Post, name: int) -> None:
    """Put one more of the letter among those that may be there more than once."""
    add(s.often, name=name)


def receive(s: Post, letter: Letter) -> None:
    """Take one of the letter away."""
    remove(s.often, letter)


def is_question(letter: Letter) -> bool:
    """It is no answer."""
    return letter.answers == 0


def answer(s: Post, letter: Letter) -> None:
    """Put its answer in its place; the letter is still what it was."""
    remove(s.once, letter)
    add(s.once, letter, answers=1)
    s.order = letter.name


def write_in_order(s: Post) -> None:
    """Write the names of the letters as the digits of one number, in the order in which a loop meets them."""
    digits = 0
    for letter in s.once:
        digits = 3 * digits + letter.name
    for letter in s.often:
        digits = 3 * digits + letter.name
    s.order = digits


def counts_agree(s: Post) -> bool:
    """What has() and count() say is what a loop finds."""
    for letter in s.often:
        if not has(s.often, letter) or count(s.often, letter) != count(s.often, name=letter.name):
            return False
    return not has(s.once, name=7) and count(s.often, name=-1) == 0


def both_copies(s: Post) -> bool:
    """One letter is there twice."""
    return count(s.often, name=0) == 2 and len(s.often) == 2


NAME = {"name": Range(0, 5)}
SEND_ONCE = Rule("SendOnce", "post", "letter {name} is sent", TOY, (send_once,), NAME, (exists,))
SEND = Rule("Send", "post", "another letter {name} is sent", TOY, (send,), NAME, (exists,))
RECEIVE = Rule("Receive", "post", "{letter} is received", TOY, (receive,), {"letter": ElementOf("often")})
ANSWER = Rule("Answer", "post", "{letter.name} is answered", TOY, (answer,), {"letter": ElementOf("once")}, (is_question,))
WRITE = Rule("Write", "post", "the names are written down", TOY, (write_in_order,))
COUNTS = invariant("CountsAgree", counts_agree, "has, count and loops agree", TOY)
TWICE = reachable("Twice", both_copies, "a letter can be there twice", TOY)


def post(name: str, summary: str, *rules: Rule, letters: int, room: int) -> Spec:
    """Return a spec of these rules."""
    sets = (BoundSet("hand", {"letters": letters, "room": room}, "counted by hand"),)
    return Spec(name, summary, Post, rules, (COUNTS,), more_bounds=(LETTERS,), bound_sets=sets)


SETS = post("sets", "each letter is there or not: 2^4 states", SEND_ONCE, letters=4, room=4)
FULL_SETS = post("full_sets", "at most 2 of 4 letters: 1 + 4 + 6 states", SEND_ONCE, letters=4, room=2)
BAGS = post("bags", "up to 3 letters of 3 kinds: C(6, 3) = 20 states", SEND, RECEIVE, letters=3, room=3)
ANSWERS = post(
    "answers",
    "at most one question and one answer of a name: 4 states, in all but the first 2 the last answer is known to be 0",
    SEND_ONCE,
    ANSWER,
    letters=1,
    room=2,
)
ORDERED = post("ordered", "what loops meet is in order", SEND_ONCE, SEND, WRITE, letters=3, room=2)


class Kind(enum.IntEnum):
    """What a message is."""

    ASK = 0
    TELL = 1


@tagged("kind", {Kind.ASK: (), Kind.TELL: ("what",)})
@dataclass
class Said:
    """A message whose kind says which fields it has."""

    kind: Kind = field(OneOf(Kind))
    what: int = field(Range(0, 2))


@dataclass
class Inboxes:
    """An inbox for each of two."""

    inboxes: list[list[Said]] = field(ArrayOf(SetOf(Said, 2), 2, "reader"))
    heard: list[int] = field(ArrayOf(Range(0, 2), 2, "reader"))


def has_room(s: Inboxes, reader: int) -> bool:
    """The inbox is not full."""
    return len(s.inboxes[reader]) < 2


def ask(s: Inboxes, reader: int) -> None:
    """Ask."""
    add(s.inboxes[reader], kind=Kind.ASK)


def is_question_to_me(said: Said) -> bool:
    """It asks."""
    return said.kind == Kind.ASK


def tell_the_other(s: Inboxes, reader: int, said: Said) -> None:
    """Tell the other one more than was heard."""
    remove(s.inboxes[reader], said)
    if len(s.inboxes[1 - reader]) < 2 and s.heard[reader] < 2:
        add(s.inboxes[1 - reader], kind=Kind.TELL, what=s.heard[reader] + 1)


def tells(said: Said) -> bool:
    """It tells."""
    return said.kind == Kind.TELL


def hear(s: Inboxes, reader: int, said: Said) -> None:
    """Hear what is told, and leave it there."""
    s.heard[reader] = said.what


def has_heard(s: Inboxes) -> bool:
    """The first has heard something."""
    return s.heard[0] > 0


HEARD = reachable("Heard", has_heard, "something is heard", TOY)
READER = {"reader": Range(0, 1), "said": ElementOf("inboxes[{reader}]")}
TALK = Spec(
    "talk",
    "two readers with an inbox each: a parameter that depends on another",
    Inboxes,
    (
        Rule("Ask", "world", "{reader} is asked", TOY, (ask,), {"reader": Range(0, 1)}, (has_room,)),
        Rule("Tell", "{reader}", "{reader} answers {said.kind}", TOY, (tell_the_other,), READER, (is_question_to_me,)),
        Rule("Hear", "{reader}", "{reader} hears {said.what}", TOY, (hear,), READER, (tells,)),
    ),
    bound_sets=(BoundSet("hand", {}, "it has none"),),
)
SPECS = (SETS, FULL_SETS, BAGS, ANSWERS, ORDERED, TALK)
