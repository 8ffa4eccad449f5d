"""Maps and options: the same in plain Python, compiled code and TLA+, canonical, and refused where they cannot be."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from test_tla import agree

from kafka_spec.model_check.check import check
from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.record.layout import Layout
from kafka_spec.model_check.search import embedded
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.model_check.traces.explain import reasons
from kafka_spec.spec.language.domain import (
    ArrayOf,
    BadAccess,
    Bound,
    Flag,
    MapOf,
    Member,
    OneOf,
    Option,
    OutOfBound,
    OutOfDomain,
    Queue,
    Range,
    SetOf,
    Space,
    SpecError,
    StateOf,
    add,
    append,
    assign,
    drop,
    field,
    pop_first,
    present,
    put,
    show_value,
    truncate,
    value_of,
)
from kafka_spec.spec.vocabulary.table import BoundSet, Constants, Rule, Spec, invariant, reachable, step_invariant

TOY = "a toy"
CLIENTS = Bound("clients", 1, 3, "clients")
EPOCHS = Bound("epochs", 0, 4, "epochs")


class Colour(enum.IntEnum):
    """A key that is no number."""

    RED = 0
    BLUE = 1


@dataclass
class Session:
    """What is known of a client."""

    epoch: int = field(Range(0, EPOCHS))
    idle: int = field(Flag())
    heir: int = field(Option(Member(CLIENTS, "client")))


@dataclass
class Door:
    """Sessions of those clients that have one, the last of them, and how often a colour was chosen."""

    sessions: dict[int, Session] = field(MapOf(Member(CLIENTS, "client"), Session))
    last: Session | None = field(Option(Session))
    chosen: dict[int, int] = field(MapOf(OneOf(Colour), Range(0, 2)))


CLIENT = {"client": Member(CLIENTS, "client")}


def is_unknown(s: Door, client: int) -> bool:
    """The client has no session."""
    return client not in s.sessions


def is_known(s: Door, client: int) -> bool:
    """The client has a session."""
    return client in s.sessions


def open_session(s: Door, client: int) -> None:
    """Open a session, under the epoch after the newest."""
    newest = 0
    for other in s.sessions:
        newest = max(newest, s.sessions[other].epoch)
    put(s.sessions, client, epoch=newest + 1)
    put(s.last, s.sessions[client])


def is_idle(s: Door, client: int) -> bool:
    """The session has been idle."""
    return s.sessions[client].idle == 1


def rest(s: Door, client: int) -> None:
    """Be idle, for the first time with the next client as heir, for the second without."""
    s.sessions[client].idle = 1 - s.sessions[client].idle
    if present(s.sessions[client].heir):
        drop(s.sessions[client].heir)
    else:
        put(s.sessions[client].heir, 0)


def close(s: Door, client: int) -> None:
    """Close the session; its heir, if it has a session, is idle from then on."""
    if present(s.sessions[client].heir):
        heir = value_of(s.sessions[client].heir)
        if heir in s.sessions and heir != client:
            s.sessions[heir].idle = 1
    drop(s.sessions, client)
    if len(s.sessions) == 0:
        drop(s.last)


def may_choose(s: Door, colour: int) -> bool:
    """The colour was chosen less than twice, and one client is known."""
    return len(s.sessions) == 1 and (colour not in s.chosen or s.chosen[colour] < 2)


def choose(s: Door, colour: int) -> None:
    """Choose a colour once more."""
    if colour in s.chosen:
        s.chosen[colour] += 1
    else:
        put(s.chosen, colour, 1)


def last_is_newest(s: Door) -> bool:
    """No session is newer than the last one."""
    return not present(s.last) or all(s.sessions[client].epoch <= value_of(s.last).epoch for client in s.sessions)


def somebody_means_somebody_there(s: Door, k: Constants) -> bool:
    """There is a session, and client 0 has one if it is the heir of another."""
    return any(present(s.sessions[client].heir) and value_of(s.sessions[client].heir) not in s.sessions for client in s.sessions)


def epochs_differ(s: Door, k: Constants) -> bool:
    """No two sessions have one epoch, and who is no client has no session."""
    return len(s.sessions) == size_of(s, k) and k.clients not in s.sessions and -1 not in s.sessions


def size_of(s: Door, k: Constants) -> int:
    """How many epochs are used."""
    return sum(1 for epoch in range(k.epochs + 1) if any(s.sessions[client].epoch == epoch for client in s.sessions))


def both_colours(s: Door) -> bool:
    """Both colours were chosen."""
    return Colour.RED in s.chosen and Colour.BLUE in s.chosen


def known_epochs_stay(before: Door, after: Door) -> bool:
    """A session that stays keeps its epoch."""
    return all(
        after.sessions[client].epoch == before.sessions[client].epoch for client in before.sessions if client in after.sessions
    )


DOOR = Spec(
    "door", TOY, Door,
    (
        Rule("Open", "{client}", "{client} opens", TOY, (open_session,), CLIENT, (is_unknown,)),
        Rule("Rest", "{client}", "{client} rests", TOY, (rest,), CLIENT, (is_known,)),
        Rule("Close", "{client}", "{client} closes", TOY, (close,), CLIENT, (is_known, is_idle)),
        Rule("Choose", "clerk", "the clerk chooses {colour}", TOY, (choose,), {"colour": OneOf(Colour)}, (may_choose,)),
    ),
    (
        invariant("LastIsNewest", last_is_newest, "the last is the newest", TOY),
        invariant("EpochsDiffer", epochs_differ, "all epochs differ", TOY),
        step_invariant("EpochsStay", known_epochs_stay, "a session keeps its epoch", TOY),
        reachable("HeirIsAbsent", somebody_means_somebody_there, "an heir is not there", TOY),
        reachable("BothColours", both_colours, "both colours", TOY),
    ),
    bound_sets=(BoundSet("small", {"clients": 2, "epochs": 3}, "two clients"),),
)  # fmt: skip


def door(clients: int = 2) -> Any:
    """Return a state without sessions."""
    return Space(Door, {"clients": clients, "epochs": 3}).fresh()


# ---------------------------------------------------------------------------------------------------------------------
# Values


def test_a_map_is_as_a_dictionary() -> None:
    """`in`, len, indexing and loops are of the keys with a value; put replaces, drop takes away, and nothing is left of it."""
    s, t = door(3), door(3)
    layout = Layout(Space(Door, {"clients": 3, "epochs": 3}))
    put(s.sessions, 2, epoch=3, idle=1)
    put(s.sessions, 0, epoch=1)
    s.sessions[0].idle = 1

    assert (list(s.sessions), len(s.sessions), 0 in s.sessions, 1 in s.sessions, 7 in s.sessions) == ([0, 2], 2, True, False, False)
    assert (s.sessions[2].epoch, s.sessions[0].idle, s.sessions[0].epoch) == (3, 1, 1)
    put(s.sessions, 2, s.sessions[0], epoch=2)
    assert (s.sessions[2].epoch, s.sessions[2].idle) == (2, 1)
    assert s.sessions[2] is not s.sessions[0]
    drop(s.sessions, 2)
    drop(s.sessions, 0)
    assert layout.pack(s) == layout.pack(t)


def test_an_option_is_a_value_or_none() -> None:
    """An option is none at first; put gives it a value, and drop takes it away again, so that equal options are equal states."""
    s, t = door(), door()
    assert not present(s.last)
    put(s.last, epoch=2)
    assert present(s.last)
    assert value_of(s.last).epoch == 2
    put(t.last, value_of(s.last))
    layout = Layout(Space(Door, {"clients": 2, "epochs": 3}))
    assert layout.pack(s) == layout.pack(t)
    assert layout.pack(layout.unpack(layout.pack(s))) == layout.pack(s)
    drop(s.last)
    assert layout.pack(s) == layout.pack(door())


def test_they_are_shown_and_told() -> None:
    """A trace shows a map by its keys and an option by its value; JSON has objects, and null."""
    space = Space(Door, {"clients": 2, "epochs": 3})
    s = space.fresh()
    put(s.sessions, 1, epoch=2)
    put(s.sessions[1].heir, 0)
    put(s.chosen, Colour.BLUE, 2)

    shown = {change.path: show_value(change.type, change.after) for change in space.changes(space.fresh(), s)}
    assert shown == {("sessions", 1): "(epoch 2, idle no, heir client 0)", ("chosen", 1): "2"}
    assert show_value(space.root.fields["sessions"], s.sessions) == "{client 1: (epoch 2, idle no, heir client 0)}"
    assert show_value(space.root.fields["last"], s.last) == "none"
    assert show_value(space.root.fields["chosen"], s.chosen) == "{BLUE: 2}"


WRONG: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "absent key": (lambda s: s.sessions[1], BadAccess, "nothing is there under key 1"),
    "absent number": (lambda s: s.chosen.__setitem__(0, 1), BadAccess, "nothing is there under key 0"),
    "no key": (lambda s: put(s.sessions, 5, epoch=1), BadAccess, "5 is not a key; there are 2"),
    "key below": (lambda s: put(s.sessions, -1, epoch=1), BadAccess, "-1 is not a key"),
    "without key": (lambda s: put(s.sessions, epoch=1), BadAccess, "name the key, put.map, key, "),
    "drop of nothing": (lambda s: drop(s.sessions, 0), BadAccess, "there is nothing to drop"),
    "drop of none": (lambda s: drop(s.last), BadAccess, "there is nothing to drop"),
    "value of none": (lambda s: value_of(s.last), BadAccess, "there is no value; ask present"),
    "outside": (lambda s: put(s.chosen, 0, 3), OutOfDomain, "3 is outside 0..2"),
    "beyond": (lambda s: put(s.sessions, 0, epoch=9), OutOfBound, "epochs"),
    "another record": (lambda s: put(s.last, s), BadAccess, "put.. takes one Session"),
    "no number": (lambda s: put(s.chosen, 0), BadAccess, "takes one number"),
    "append": (lambda s: append(s.last, epoch=1), BadAccess, "an option is not a sequence; put.. a value"),
    "truncate": (lambda s: truncate(s.last, 0), BadAccess, "an option is not a sequence"),
    "pop_first": (lambda s: pop_first(s.last), BadAccess, "an option is not a sequence"),
    "present of a map": (lambda s: present(s.sessions), BadAccess, "present.. is for options"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_misuse_is_refused(what: str) -> None:
    """What a map or an option cannot do is an error that names the cure."""
    call, error, message = WRONG[what]
    with pytest.raises(error, match=message):
        call(door())


def test_a_record_in_a_map_is_assigned_as_a_whole() -> None:
    """assign() copies records with options and maps in them, and shares nothing."""
    space = Space(Door, {"clients": 2, "epochs": 3})
    s, t = space.fresh(), space.fresh()
    put(s.sessions, 1, epoch=2)
    assign(t, s)
    s.sessions[1].epoch = 3
    assert t.sessions[1].epoch == 2


class Life(enum.IntEnum):
    """A machine's states."""

    OFF = 0
    ON = 1


REFUSED = {
    "a machine": (lambda: Option(StateOf(Life, "Lamp")), "only fire.. changes; it cannot come and go"),
    "twice": (lambda: Option(Option(Flag())), "an option of an option"),
    "keys from 1": (lambda: MapOf(Range(1, 3), Flag()), "the keys of a map are numbered from 0"),
    "a set as key": (lambda: MapOf(SetOf(2), Flag()), "the keys of a map are numbered from 0"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_option_or_map(what: str) -> None:
    """A domain that could not be held canonically is refused with the field."""
    make, message = REFUSED[what]

    @dataclass
    class Wrong:
        """A state."""

        field: int = field(make())

    with pytest.raises(SpecError, match=f"Wrong.field.*{message}"):
        Space(Wrong, {})


# ---------------------------------------------------------------------------------------------------------------------
# Engines


@pytest.mark.parametrize("clients", [1, 2, 3])
def test_the_engines_agree_on_maps(clients: int) -> None:
    """Compiled code and plain Python find the same graph, edge by edge, and the same verdicts."""
    result = check(DOOR, {"clients": clients, "epochs": 3}, engine="both")

    assert result.complete
    assert result.verdict == ("holds" if clients > 1 else "violated"), "one client has no heir but itself"


def test_counted_by_hand() -> None:
    """One client and one epoch: no session, one that is idle and has an heir, or one that is not; 3 counts of each of 2 colours."""
    result = check(DOOR, {"clients": 1, "epochs": 1})
    assert result.distinct == 9 * 3


def test_a_violation_is_explained() -> None:
    """A property of a map that fails is told with the reason, and the trace shows the sessions."""
    violated = DOOR.replacing("door/no_last", "nobody notes the last", properties=(LAST_EXISTS,))
    result = check(violated, {"clients": 1, "epochs": 1})
    trace = trace_of(result, "LastExists")
    assert trace is not None
    (reason,) = reasons(trace, violated)
    assert reason.because == "0 in s.sessions"


def nobody_is_there(s: Door) -> bool:
    """Client 0 has no session."""
    return 0 not in s.sessions


LAST_EXISTS = invariant("LastExists", nobody_is_there, "nobody comes", TOY)


def takes_what_is_absent(s: Door, client: int) -> None:
    """Read a session that may not be there."""
    s.sessions[client].idle = 1


def drops_what_is_absent(s: Door, client: int) -> None:
    """Drop a session that may not be there."""
    drop(s.sessions, client)


def reads_no_value(s: Door, client: int) -> None:
    """Read an option that has no value."""
    put(s.chosen, 0, value_of(s.last).idle + client * 0)


@pytest.mark.parametrize("effect", [takes_what_is_absent, drops_what_is_absent, reads_no_value])
def test_what_is_absent_is_an_error_in_both_engines(effect: Any) -> None:
    """A read of what is not there ends the search as an error of the specification, and is not read as zero."""
    wrong = DOOR.replacing("door/wrong", TOY, rules=(Rule("Open", "{client}", "", TOY, (effect,), CLIENT, (is_unknown,)),))
    for engine in (oracle, embedded):
        with pytest.raises(SpecError, match=r"ask|first"):
            engine.explore(wrong, {"clients": 2, "epochs": 1})


def names_what_is_replaced(s: Door, client: int) -> None:
    """Name a session, replace it, and change what the name meant."""
    session = s.sessions[client]
    put(s.sessions, client, epoch=1)
    session.idle = 1


def changes_keys_in_a_loop(s: Door) -> None:
    """Drop sessions while a loop goes over them."""
    for client in s.sessions:
        drop(s.sessions, client)


def test_a_name_for_what_was_replaced_is_refused() -> None:
    """In Python the name means the old record, in compiled code its place; so it is refused."""
    wrong = DOOR.replacing(
        "door/stale", TOY, rules=(Rule("Rest", "{client}", "", TOY, (names_what_is_replaced,), CLIENT, (is_known,)),)
    )
    with pytest.raises(SpecError, match="items may have moved since session was named"):
        check(wrong, {"clients": 2, "epochs": 1})


def test_keys_do_not_change_while_a_loop_goes_over_them() -> None:
    """A loop over a map neither puts nor drops keys of it."""
    with pytest.raises(SpecError, match=r"may change which items there are while a loop goes over s\.sessions"):
        Rule("Wrong", "nobody", "", TOY, (changes_keys_in_a_loop,))


@dataclass
class Note:
    """An element with an option in it."""

    to: int = field(Member(2))
    about: int = field(Option(Flag()))


@dataclass
class Board:
    """Notes, one of which is written before it is put up."""

    draft: Note = field(Note)
    notes: set[Note] = field(SetOf(Note, 6))


def write(s: Board, to: int, about: int) -> None:
    """Put up a note, with a flag or without."""
    s.draft.to = to
    if about < 2 and present(s.draft.about):
        drop(s.draft.about)
    if about < 2:
        put(s.draft.about, about)
    add(s.notes, s.draft)


def changes_an_element(s: Board) -> None:
    """Change a note that is up."""
    for note in s.notes:
        drop(note.about)


def about_absent(s: Board) -> bool:
    """Some note says nothing, and comes before all others to the same."""
    return any(not present(note.about) for note in s.notes)


BOARD = Spec(
    "board", TOY, Board,
    (Rule("Write", "writer", "a note to {to}", TOY, (write,), {"to": Member(2), "about": Range(0, 2)}),),
    (reachable("Silent", about_absent, "a note says nothing", TOY),),
)  # fmt: skip


def test_options_in_elements_of_sets() -> None:
    """Elements with options are put in order and found again; both engines agree, and none of it can be changed in place."""
    result = check(BOARD, {}, engine="both", deadlock=False)
    assert result.complete
    board = Space(Board, {}).fresh()
    add(board.notes, to=1)
    with pytest.raises(BadAccess, match="is part of an element"):
        for note in board.notes:
            put(note.about, 1)


def test_tlc_finds_the_same(tmp_path: Path) -> None:
    """Exported to TLA+, maps and options have as many states and the same verdicts."""
    agree(DOOR, {"clients": 2, "epochs": 3}, tmp_path)


@dataclass
class Shelves:
    """A row of numbers that is there or not, and a list for each client that has one."""

    row: list[int] | None = field(Option(ArrayOf(Range(0, 2), 2, "place")))
    lists: dict[int, list[int]] = field(MapOf(Member(CLIENTS, "client"), Queue(Range(0, 1), 2)))


def lay(s: Shelves, client: int) -> None:
    """Lay a row if there is none, and a list for the client with one number; without a row the client's list is empty."""
    put(s.lists, client)
    if not present(s.row):
        put(s.row)
        append(s.lists[client], 1)
    else:
        value_of(s.row)[client] = min(2, value_of(s.row)[client] + 1)


def row_is_low(s: Shelves) -> bool:
    """The sum of the row is not above 3."""
    return not present(s.row) or value_of(s.row)[0] + value_of(s.row)[1] <= 3


SHELVES = Spec(
    "shelves", TOY, Shelves,
    (Rule("Lay", "{client}", "{client} lays", TOY, (lay,), CLIENT),),
    (invariant("RowIsLow", row_is_low, "the row is low", TOY),),
)  # fmt: skip


def test_tlc_puts_initial_values(tmp_path: Path) -> None:
    """put() of what is neither a number nor a record gives its initial value: an array's, an empty list; TLC finds the same."""
    result = check(SHELVES, {"clients": 2}, engine="both", everything=True)

    assert list(result.violated) == ["RowIsLow"]
    agree(SHELVES, {"clients": 2}, tmp_path)
