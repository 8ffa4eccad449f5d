"""Copies of whole records and containers, as in messages that carry logs: the same in plain Python, compiled code, SMT and TLA+."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from test_tla import agree

from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.language.domain import (
    ArrayOf,
    BadAccess,
    Bound,
    Flag,
    MapOf,
    Member,
    Option,
    Range,
    SequenceOf,
    SetOf,
    Space,
    SpecError,
    add,
    append,
    assign,
    contains,
    drop,
    field,
    has,
    including,
    message,
    present,
    put,
    remove,
    reset,
    value_of,
)
from kafka_spec.spec.vocabulary.change import patched
from kafka_spec.spec.vocabulary.table import BoundSet, Constants, ElementOf, Rule, Spec, Symmetric, anywhere, invariant
from tests.translated import compared

NODES = Bound("nodes", 1, 3, "nodes")
ENTRIES = Bound("entries", 0, 3, "entries of a log")
A_NODE = Member(NODES, "node")


@dataclass
class Entry:
    """An entry of a log."""

    by: int = field(A_NODE)
    urgent: int = field(Flag())


@message
@dataclass
class Ship:
    """A message that carries a log, its last entry, and who has it."""

    to: int = field(A_NODE)
    log: list[Entry] = field(SequenceOf(Entry, ENTRIES))
    last: Entry = field(Entry)
    holders: int = field(SetOf(NODES))
    votes: list[int] = field(ArrayOf(Flag(), NODES, "node"))


@dataclass
class Fleet:
    """The logs of nodes, and the messages that carry some."""

    logs: list[list[Entry]] = field(ArrayOf(SequenceOf(Entry, ENTRIES), NODES, "node"))
    votes: list[int] = field(ArrayOf(Flag(), NODES, "node"))
    ships: list[Ship] = field(SetOf(Ship, 6))
    history: list[list[Entry]] = field(SequenceOf(SequenceOf(Entry, ENTRIES), 2))
    saved: dict[int, list[Entry]] = field(MapOf(NODES, SequenceOf(Entry, ENTRIES)))
    kept: list[Entry] | None = field(Option(SequenceOf(Entry, ENTRIES)))
    steps: int = field(Range(0, 4))


def goes_on(s: Fleet) -> bool:
    """There is a step left."""
    return s.steps < 4


def write(s: Fleet, node: int) -> None:
    """Append an entry to a node's log."""
    append(s.logs[node], Entry(node, s.steps % 2))
    s.votes[node] = 1
    s.steps += 1


def is_new(s: Fleet, node: int, other: int) -> bool:
    """The log has an entry, and is not under way in this form."""
    if len(s.logs[node]) == 0 or s.logs[node] == s.logs[other]:
        return False
    last = len(s.logs[node]) - 1
    holders = including(0, node)
    return not has(s.ships, to=other, log=s.logs[node], last=s.logs[node][last], holders=holders, votes=s.votes)


def ship(s: Fleet, node: int, other: int) -> None:
    """Send a node's log to another node."""
    last = len(s.logs[node]) - 1
    add(s.ships, Ship(other, last=s.logs[node][last], log=s.logs[node], holders=including(0, node), votes=s.votes))
    s.steps += 1


def is_longer(s: Fleet, m: Ship) -> bool:
    """It carries a longer log than that of its receiver."""
    return len(m.log) > len(s.logs[m.to])


def take(s: Fleet, m: Ship) -> None:
    """The receiver takes the log in place of its own, and remembers what it had."""
    if len(s.history) < 2:
        append(s.history, s.logs[m.to])
    put(s.saved, m.to, s.logs[m.to])
    assign(s.logs[m.to], m.log)
    assign(s.votes, m.votes)
    remove(s.ships, m)
    s.steps += 1


def forget(s: Fleet, node: int) -> None:
    """Go back to what is saved, and keep the present log apart."""
    put(s.kept, s.logs[node])
    assign(s.logs[node], s.saved[node])
    drop(s.saved, node)
    reset(s.votes)
    reset(s.history)
    s.steps += 1


def is_saved(s: Fleet, node: int) -> bool:
    """Something is saved."""
    return node in s.saved


def sender_is_known(s: Fleet, m: Ship) -> None:
    """Send a message on, with another receiver."""
    remove(s.ships, m)
    add(s.ships, m, to=m.last.by, votes=s.votes)
    s.steps += 1


def logs_end_in_last(s: Fleet) -> bool:
    """The last entry of a message is that of the log it carries."""
    return all(len(m.log) > 0 and m.last == m.log[len(m.log) - 1] for m in s.ships)


def kept_is_short(s: Fleet) -> bool:
    """What is kept is short, or is still one of the logs. It is not, after four steps."""
    return not present(s.kept) or len(value_of(s.kept)) < 2 or any(value_of(s.kept) == s.logs[node] for node in range(len(s.logs)))


def holders_wrote(s: Fleet, k: Constants) -> bool:
    """Who holds a log that is under way has a log, or saved one."""
    return all(
        not contains(m.holders, node) or len(s.logs[node]) > 0 or node in s.saved for m in s.ships for node in range(k.nodes)
    )


TWO = {"node": A_NODE, "other": A_NODE}
FLEET = Spec(
    "fleet",
    "nodes ship logs",
    Fleet,
    (
        Rule("Write", "{node}", "{node} writes", "", (write,), {"node": A_NODE}, (goes_on,)),
        Rule("Ship", "{node}", "{node} ships its log to {other}", "", (ship,), TWO, (goes_on, is_new)),
        Rule("Take", "{m.to}", "{m.to} takes a log", "", (take,), {"m": ElementOf("ships")}, (goes_on, is_longer)),
        Rule("Forget", "{node}", "{node} goes back", "", (forget,), {"node": A_NODE}, (goes_on, is_saved)),
        Rule("Forward", "{m.to}", "{m.to} sends it on", "", (sender_is_known,), {"m": ElementOf("ships")}, (goes_on,)),
    ),
    (
        invariant("LogsEndInLast", logs_end_in_last, "the last entry is the last", ""),
        invariant("KeptIsShort", kept_is_short, "what is kept is short", ""),
        invariant("HoldersWrote", holders_wrote, "who holds a log has one", ""),
    ),
    bound_sets=(
        BoundSet("small", {"nodes": 2, "entries": 2}, "two nodes"),
        BoundSet("full", {"nodes": 2, "entries": 1}, "logs that are full"),
        BoundSet("three", {"nodes": 3, "entries": 2}, "three nodes"),
    ),
    final=anywhere,
)

FLEET_AT = {of.name: FLEET.bound_values(of.values) for of in FLEET.bound_sets}


@pytest.mark.parametrize("bounds", FLEET_AT)
def test_engines_agree(bounds: str) -> None:
    """Plain Python and compiled code find the same states and the same violations where containers are copied whole."""
    values = FLEET_AT[bounds]
    ours, theirs = (engine.explore(FLEET, values, everything=True) for engine in (embedded, oracle))

    assert (ours.distinct, ours.depth, ours.digest) == (theirs.distinct, theirs.depth, theirs.digest)
    assert ours.distinct > 30 and list(ours.findings) == list(theirs.findings)
    assert dict(ours.bounded) == dict(theirs.bounded)


@pytest.mark.parametrize("bounds", ["small", "full"])
def test_tlc_agrees(bounds: str, tmp_path: Path) -> None:
    """TLC finds as many states of the exported module, and the same violations."""
    agree(FLEET, FLEET_AT[bounds], tmp_path)


def test_the_translation_of_proofs_is_the_interpreter() -> None:
    """The formulas of `kafka-spec prove` admit the steps of the interpreter, and no others."""
    assert compared(FLEET, FLEET_AT["small"], most=400, states=12) > 5


def test_symmetric_nodes_are_one_orbit() -> None:
    """Renaming nodes renames them inside of the logs that messages carry: fewer states, the same verdicts."""
    symmetric = replace(FLEET, normal_form=(Symmetric(NODES),), reduced=True)
    ours, theirs = (engine.explore(symmetric, FLEET_AT["three"], everything=True) for engine in (embedded, oracle))

    assert (ours.distinct, ours.digest) == (theirs.distinct, theirs.digest)
    assert ours.distinct < embedded.explore(FLEET, FLEET_AT["three"], everything=True).distinct


@dataclass
class Other:
    """Sequences that look like logs."""

    fleet: Fleet = field(Fleet)
    longer: list[Entry] = field(SequenceOf(Entry, 3))
    numbers: list[int] = field(SequenceOf(Range(0, 1), ENTRIES))
    larger: list[int] = field(SequenceOf(Range(0, 5), ENTRIES))
    limited: list[int] = field(SequenceOf(Range(0, NODES - 1), ENTRIES))
    set: list[Entry] = field(SetOf(Entry, ENTRIES))


def copy_a_longer_one(s: Other) -> None:
    """Copy a sequence with another limit."""
    assign(s.fleet.logs[0], s.longer)


def copy_numbers(s: Other) -> None:
    """Copy a sequence of other items."""
    append(s.fleet.history, s.numbers)


def copy_larger_numbers(s: Other) -> None:
    """Copy numbers that may be too large."""
    assign(s.numbers, s.larger)


def copy_limited_numbers(s: Other) -> None:
    """Copy numbers that fit at some bounds only, such as these."""
    assign(s.numbers, s.limited)


def copy_a_set(s: Other) -> None:
    """Copy a set to a sequence."""
    put(s.fleet.kept, s.set)


def carry_numbers(s: Other) -> None:
    """Give a message another log."""
    add(s.fleet.ships, log=s.numbers)


def carry_one_number(s: Other) -> None:
    """Give a message a number as its log."""
    add(s.fleet.ships, log=s.fleet.steps)


def compare_numbers(s: Other) -> None:
    """Compare a log with a sequence of other items."""
    if s.fleet.logs[0] == s.numbers:
        s.fleet.steps = 1


def change_an_element(s: Fleet, m: Ship) -> None:
    """Write the log of a message."""
    assign(m.log, s.logs[0])


def send(s: Fleet, to: int, log: list[Entry], holders: int) -> None:
    """Send a log."""
    add(s.ships, to=to, last=log[len(log) - 1], log=log, holders=holders, votes=s.votes)


def ship_by_another(s: Fleet, node: int, other: int) -> None:
    """Send a node's log to another node."""
    send(s, other, s.logs[node], including(0, node))
    s.steps += 1


def test_a_function_may_be_given_the_log() -> None:
    """A function that takes a container by its place sends the same."""
    changed = patched(FLEET, {ship: ship_by_another})
    digests = {
        engine.explore(of, FLEET_AT["small"], everything=True).digest for of in (FLEET, changed) for engine in (embedded, oracle)
    }

    assert len(digests) == 1


def test_an_element_is_not_written() -> None:
    """What is inside of an element changes only with the element."""
    rule = Rule("Change", "{m.to}", "change", "", (change_an_element,), {"m": ElementOf("ships")})
    with pytest.raises(SpecError, match=r"in change_an_element: .* is part of an element of a set or bag, or of a parameter"):
        embedded.explore(replace(FLEET, rules=(*FLEET.rules, rule)), FLEET_AT["small"])


ELSEWHERE = {
    copy_a_longer_one: "Other.longer does not hold the same values; declare both with the same domain and the same limits",
    copy_numbers: "Other.numbers does not hold the same values",
    copy_larger_numbers: "Other.larger does not hold the same values",
    copy_limited_numbers: "Other.limited does not hold the same values",
    copy_a_set: "Other.set does not hold the same values",
    carry_numbers: "Other.numbers does not hold the same values",
    carry_one_number: "is a number, and what is copied here is a record or a container",
    compare_numbers: "s.numbers is compared with s.fleet.logs[0]: Other.numbers does not hold the same values",
}


@pytest.mark.parametrize(("effect", "message"), ELSEWHERE.items(), ids=lambda value: getattr(value, "__name__", ""))
def test_other_values_are_refused(effect: Callable[[Other], None], message: str) -> None:
    """What may hold other values is neither copied nor compared: before a search, with the place and the cure."""
    spec = Spec("other", "", Other, (Rule("Copy", "world", "a copy", "", (effect,)),), ())
    with pytest.raises(SpecError) as raised:
        embedded.explore(spec, {"nodes": 2, "entries": 2})

    assert message in str(raised.value) and f"in {effect.__name__}: " in str(raised.value)


REFUSED_BY_PYTHON = [effect for effect in ELSEWHERE if effect is not compare_numbers]


@pytest.mark.parametrize("effect", REFUSED_BY_PYTHON)
def test_plain_python_refuses_the_same(effect: Callable[[Other], None]) -> None:
    """A function that runs without an engine refuses what the engines refuse, and changes nothing."""
    space = Space(Other, {"nodes": 2, "entries": 2})
    s = space.fresh()
    with pytest.raises(BadAccess, match=r"does not hold the same values|is not a record or a container of the state"):
        effect(s)

    assert space.root.freeze(s) == space.root.freeze(space.fresh())


def test_copies_share_nothing() -> None:
    """What was copied does not change with what it was copied from."""
    s = Space(Fleet, {"nodes": 2, "entries": 2}).fresh()
    write(s, 0)
    ship(s, 0, 1)
    append(s.history, s.logs[0])
    put(s.saved, 1, s.logs[0])
    assign(s.logs[1], s.logs[0])
    s.logs[0][0].urgent = 1
    s.votes[0] = 0

    (shipped,) = s.ships
    assert [log[0].urgent for log in (shipped.log, s.history[0], s.saved[1], s.logs[1])] == [0, 0, 0, 0]
    assert shipped.votes[0] == 1
