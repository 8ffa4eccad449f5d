"""Values of states: what they accept and refuse, and that their packed bytes are equivalent."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_spec.model_check.record.actions import Actions
from kafka_spec.model_check.record.layout import Layout, packed
from kafka_spec.spec.brokers import Assignment, Broker, BrokerOrNone, PerBroker
from kafka_spec.spec.language.domain import (
    NONE,
    Array,
    ArrayOf,
    BadAccess,
    Bound,
    BrokerSet,
    Flag,
    OneOf,
    OutOfBound,
    OutOfDomain,
    Queue,
    Range,
    Record,
    Scalar,
    Sequence,
    SequenceOf,
    SetOf,
    Space,
    SpecError,
    StateOf,
    append,
    assign,
    contains,
    domain_of,
    excluding,
    field,
    first_brokers,
    including,
    plain_value,
    pop_first,
    reset,
    show_path,
    show_set,
    show_value,
    singleton,
    tagged,
    truncate,
)
from tests import sample_specs

BROKERS = Bound("brokers", 1, 5, "brokers")
SIZE = Bound("size", 0, 4, "entries")
BOUNDS = {"brokers": 3, "size": 2}


class Kind(enum.IntEnum):
    """Kinds that begin below 0, the first of which is not the lowest."""

    PUT = 0
    ACK = 1
    LOST = -1


@tagged("kind", {Kind.PUT: ("value", "sender"), Kind.ACK: ("sender",), Kind.LOST: ()})
@dataclass
class Letter:
    """A message."""

    kind: int = field(OneOf(Kind))
    value: int = field(Range(-5, 5, 0))
    sender: int = field(BrokerOrNone(BROKERS))


@dataclass
class Entry:
    """An entry of a log."""

    record: int = field(Range(0, SIZE))
    epoch: int = field(Range(-1, 300))


@dataclass
class Node:
    """A broker."""

    log: list[Entry] = field(SequenceOf(Entry, SIZE, "offset"))
    up: int = field(Flag())
    isr: int = field(SetOf(BROKERS))
    seen: list[int] = field(ArrayOf(Range(0, 70000), 2))


@dataclass
class World:
    """One of everything."""

    nodes: list[Node] = field(PerBroker(Node, BROKERS))
    leader: int = field(BrokerOrNone(BROKERS))
    first: int = field(Broker(BROKERS))
    everyone: int = field(SetOf(BROKERS, full=True), kept_by="ZooKeeper")
    channel: list[Letter] = field(Queue(Letter, SIZE + 1))
    replicas: list[int] = field(Assignment(BROKERS))
    last: Entry = field(Entry, kept_by="controller")
    clock: int = field(Range(-100000, 100000, 7))
    kind: int = field(OneOf(Kind))
    few: list[int] = field(SequenceOf(Range(0, 3), 2))
    paths: list[list[int]] = field(ArrayOf(SequenceOf(Range(0, 9), 2), 2))


SPACE = Space(World, BOUNDS)
LAYOUT = Layout(SPACE)


@pytest.fixture
def s() -> Any:
    """A fresh state."""
    return SPACE.fresh()


# ---------------------------------------------------------------------------------------------------------------------
# Fresh values


def test_fresh_values_are_initial(s: Any) -> None:
    """In a fresh state every field has its initial value, including records and arrays."""
    assert (s.leader, s.first, s.everyone, s.clock, s.kind) == (NONE, 0, 0b111, 7, Kind.PUT)
    assert len(s.nodes) == 3 and len(s.channel) == len(s.replicas) == 0
    assert (s.nodes[2].up, s.nodes[2].isr, list(s.nodes[2].seen), s.last.epoch, s.last.record) == (0, 0, [0, 0], -1, 0)


def test_bounds_shape_the_values() -> None:
    """The same dataclass at other bounds has other lengths, ranges and capacities."""
    s = Space(World, {"brokers": 2, "size": 0}).fresh()
    assert len(s.nodes) == 2 and s.everyone == 0b11
    append(s.channel, kind=Kind.PUT)
    with pytest.raises(OutOfBound, match="size"):
        append(s.channel, kind=Kind.PUT)
    with pytest.raises(OutOfDomain):
        s.leader = -2


def test_domains_name_their_bounds() -> None:
    """A domain yields the bounds it mentions, however deep."""
    assert {bound.name for bound in domain_of(World).bounds()} == {"brokers", "size"}
    assert [bound.name for bound in Range(BROKERS, SIZE + 3, 2).bounds()] == ["brokers", "size"]
    assert list(OneOf(Kind).bounds()) == []


@pytest.mark.parametrize(("limit", "value"), [(SIZE, 2), (SIZE + 3, 5), (SIZE - 1, 1), (SIZE + 3 - 1, 4), (SIZE - 1 + 1, 2)])
def test_limits_are_bounds_and_a_constant(limit: Any, value: int) -> None:
    """A bound plus or minus constants has the right value, and keeps the bound's name."""
    type_ = Range(0, limit).at(BOUNDS, "here")
    assert type_.high == value and type_.bound == "size"


@pytest.mark.parametrize(
    ("domain", "message"),
    [
        (Range(1, 0), "here: initially 1, which is outside 1..0"),
        (Range(0, 5, 6), "here: initially 6, which is outside 0..5"),
        (Range(0, SIZE - 3), "here: initially 0, which is outside 0..-1"),
        (Broker(0), "here: initially 0, which is outside 0..-1"),
    ],
)
def test_wrong_initial_values_are_refused(domain: Range, message: str) -> None:
    """A domain is refused if its initial value is not one of its values."""
    with pytest.raises(SpecError, match=message):
        domain.at(BOUNDS, "here")


class Gappy(enum.IntEnum):
    """Members with a gap."""

    ONE = 1
    THREE = 3


@dataclass
class Bare:
    """A field without a domain."""

    value: int = 0


class NoDataclass:
    """A class like any other."""


@pytest.mark.parametrize("members", ["a", None, 2.5])
def test_a_set_of_no_number_is_refused_at_once(members: Any) -> None:
    """SetOf of what is neither a number, a bound, a domain nor a class is refused where it is written, with what was given."""
    with pytest.raises(SpecError, match=f"SetOf.members.: a limit is a number or a Bound, and not {members!r}"):
        SetOf(members)


def test_wrong_declarations_are_refused() -> None:
    """An enum with gaps, a field without a domain and a state that is not a dataclass are refused, with the cure."""
    with pytest.raises(SpecError, match="here: the values of Gappy have gaps"):
        OneOf(Gappy).at({}, "here")
    with pytest.raises(SpecError, match=r"Bare.value has no domain; declare it as value: ... = field\(DOMAIN\)"):
        Space(Bare, {})
    with pytest.raises(SpecError, match="NoDataclass is not a dataclass"):
        Space(NoDataclass, {})
    with pytest.raises(SpecError, match="wider than 32 bits"):
        packed(Range(0, 1 << 32).at({}, "here"))


def test_wrong_tags_are_refused() -> None:
    """A tag is refused if one of its kinds names an unknown field, or if a kind is missing."""

    @dataclass
    class Note:
        kind: int = field(OneOf(sample_specs.Kind))

    with pytest.raises(SpecError, match="Note: tag PING names colour, which is not a field of it"):
        tagged("kind", {sample_specs.Kind.PING: ("colour",), sample_specs.Kind.PONG: (), sample_specs.Kind.STOP: ()})(Note)
    with pytest.raises(SpecError, match="Note: tag PING names sort, which is not a field of it"):
        tagged("sort", {sample_specs.Kind.PING: (), sample_specs.Kind.PONG: (), sample_specs.Kind.STOP: ()})(Note)
    with pytest.raises(SpecError, match="Note: tag STOP is not mentioned"):
        tagged("kind", {sample_specs.Kind.PING: (), sample_specs.Kind.PONG: ()})(Note)


# ---------------------------------------------------------------------------------------------------------------------
# Stores


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("leader", [NONE, 0, 2], [-2, 3]), ("first", [0, 2], [-1, 3]), ("everyone", [0, 7], [-1, 8]),
        ("clock", [-100000, 100000], [-100001]), ("kind", [-1, Kind.ACK], [-2, 2]),
    ],
)  # fmt: skip
def test_fields_hold_their_domain(s: Any, field: str, good: list[int], bad: list[int]) -> None:
    """A field accepts every value of its domain, refuses others, and keeps its old value then."""
    for value in good:
        setattr(s, field, value)
        assert getattr(s, field) == value
    kept = getattr(s, field)
    for value in bad:
        with pytest.raises((OutOfDomain, OutOfBound)):
            setattr(s, field, value)
        assert getattr(s, field) == kept


def test_leaving_a_number_is_an_error_and_leaving_a_bound_is_none(s: Any) -> None:
    """Above a limit that a bound sets is out of bound, below it and beyond a number is out of domain."""
    with pytest.raises(OutOfBound, match="size"):
        s.last.record = 3
    with pytest.raises(OutOfDomain, match=r"Entry.record: -1 is outside 0\.\.2"):
        s.last.record = -1
    with pytest.raises(OutOfDomain, match=r"Entry.epoch: 301 is outside -1\.\.300"):
        s.last.epoch = 301
    assert not issubclass(OutOfBound, SpecError)


def test_truth_is_held_as_number(s: Any) -> None:
    """True values are stored as 1, so that equal states are equal."""
    s.nodes[0].up = True
    s.nodes[0].seen[1] = True
    append(s.few, True)
    assert type(s.nodes[0].up) is int and type(s.nodes[0].seen[1]) is int
    assert SPACE.root.freeze(s) == SPACE.root.freeze(LAYOUT.unpack(LAYOUT.pack(s)))


@pytest.mark.parametrize("value", ["1", 1.0, None, [1]])
def test_only_integers_are_held(s: Any, value: Any) -> None:
    """A field refuses a value that is not an integer."""
    with pytest.raises(BadAccess, match="is not an integer"):
        s.clock = value
    with pytest.raises(BadAccess, match="is not an integer"):
        s.nodes[0].seen[0] = value


def test_records_and_sequences_are_not_assigned(s: Any) -> None:
    """An assignment that would share a record, an array or a sequence is refused with the cure."""
    with pytest.raises(BadAccess, match=r"World.last: an assignment would share it; copy with assign\(\)"):
        s.last = SPACE.root.fresh().last
    with pytest.raises(BadAccess, match=r"World\.channel"):
        s.channel = []
    with pytest.raises(BadAccess, match=r"World.nodes: an assignment would share a record; copy it with assign\(\)"):
        s.nodes[0] = s.nodes[1]
    with pytest.raises(BadAccess, match=r"World\.colour"):
        s.colour = 1


@pytest.mark.parametrize("index", [-1, 3, 100, -4])
def test_indices_are_inside(s: Any, index: int) -> None:
    """An index outside, a negative one too, is refused for reading and writing."""
    with pytest.raises(BadAccess, match=rf"World\.nodes: index {index} "):
        _ = s.nodes[index]
    with pytest.raises(BadAccess, match=rf"Node\.seen: index {index} "):
        s.nodes[0].seen[index] = 1


def test_state_of_a_machine_is_changed_by_fire_alone() -> None:
    """A field and an item declared StateOf refuse any assignment."""

    @dataclass
    class Doors:
        front: int = field(StateOf(sample_specs.Door, "Front"))
        others: list[int] = field(ArrayOf(StateOf(sample_specs.Door, "Other"), 2))

    s = Space(Doors, {}).fresh()
    with pytest.raises(BadAccess, match=r"Doors.front is the state of a machine; change it with fire\(\)"):
        s.front = sample_specs.Door.OPEN
    with pytest.raises(BadAccess, match=r"Doors.others\[1\] is the state of a machine; change it with fire\(\)"):
        s.others[1] = sample_specs.Door.OPEN
    assert (s.front, list(s.others)) == (0, [0, 0])


# ---------------------------------------------------------------------------------------------------------------------
# Sequences


def test_append_adds_at_the_end(s: Any) -> None:
    """Numbers and records are appended in order; omitted fields have their initial values."""
    append(s.few, 3)
    append(s.few, 1)
    append(s.nodes[1].log, epoch=5)
    append(s.nodes[1].log, record=2, epoch=6)
    assert list(s.few) == [3, 1]
    assert [(e.record, e.epoch) for e in s.nodes[1].log] == [(0, 5), (2, 6)]


def test_full_sequences_refuse(s: Any) -> None:
    """A sequence that is full of a number of items is out of domain, one full of a bound's is out of bound."""
    append(s.few, 0)
    append(s.few, 0)
    with pytest.raises(OutOfDomain, match=r"World.few: append to a full sequence \(2 items\)"):
        append(s.few, 0)
    append(s.nodes[0].log)
    append(s.nodes[0].log)
    with pytest.raises(OutOfBound, match="size"):
        append(s.nodes[0].log)
    assert len(s.few) == len(s.nodes[0].log) == 2


def test_appended_values_are_checked(s: Any) -> None:
    """An appended value is checked against the item's domain; an invalid one is not appended."""
    with pytest.raises(OutOfDomain):
        append(s.few, 4)
    with pytest.raises(OutOfBound):
        append(s.nodes[0].log, record=3)
    with pytest.raises(BadAccess):
        append(s.nodes[0].log, colour=3)
    assert len(s.few) == len(s.nodes[0].log) == 0


def test_assignments_are_distinct(s: Any) -> None:
    """An assignment contains every broker at most once, in the order of insertion."""
    append(s.replicas, 2)
    append(s.replicas, 0)
    with pytest.raises(OutOfDomain, match=r"World\.replicas: 2 is already in the sequence"):
        append(s.replicas, 2)
    assert list(s.replicas) == [2, 0]


def test_tagged_messages_hold_what_they_mean(s: Any) -> None:
    """A message refuses a field that its kind does not have, unless the value is the initial one."""
    append(s.channel, kind=Kind.ACK, sender=1, value=0)
    append(s.channel, kind=Kind.PUT, value=3)
    with pytest.raises(OutOfDomain, match="value has no meaning in this kind of Letter"):
        append(s.channel, kind=Kind.ACK, value=1)
    with pytest.raises(OutOfDomain, match="sender has no meaning"):
        append(s.channel, kind=Kind.LOST, sender=0)
    assert len(s.channel) == 2


def test_queue_is_first_in_first_out(s: Any) -> None:
    """The item that was appended first is removed first, and an empty queue has no item to remove."""
    for value in (1, 2, 3):
        append(s.channel, value=value)
    pop_first(s.channel)
    assert [letter.value for letter in s.channel] == [2, 3]
    pop_first(s.channel)
    pop_first(s.channel)
    with pytest.raises(BadAccess, match=r"World\.channel: nothing to take"):
        pop_first(s.channel)


@pytest.mark.parametrize(("length", "left"), [(0, []), (1, [3]), (2, [3, 1]), (9, [3, 1])])
def test_truncate_drops_the_end(s: Any, length: int, left: list[int]) -> None:
    """Truncation keeps the items below the length; there may be fewer."""
    append(s.few, 3)
    append(s.few, 1)
    truncate(s.few, length)
    assert list(s.few) == left


def test_truncation_below_nothing_is_refused(s: Any) -> None:
    """An offset to truncate to is 0 or more, or Python would count from the end."""
    append(s.few, 3)
    with pytest.raises(BadAccess, match="truncation to -1"):
        truncate(s.few, -1)
    assert list(s.few) == [3]


# ---------------------------------------------------------------------------------------------------------------------
# Records


def test_assign_copies(s: Any) -> None:
    """A record is copied with all its contents, between any two places of its type, and nothing is shared."""
    append(s.nodes[0].log, epoch=4)
    s.nodes[0].seen[1] = 9
    assign(s.nodes[2], s.nodes[0])
    assert SPACE.root.fields["nodes"].item.freeze(s.nodes[2]) == SPACE.root.fields["nodes"].item.freeze(s.nodes[0])
    s.nodes[2].seen[1] = 8
    s.nodes[2].log[0].epoch = 5
    assert (s.nodes[0].seen[1], s.nodes[0].log[0].epoch) == (9, 4)
    assign(s.last, s.nodes[0].log[0])
    s.last.epoch += 1
    assert (s.last.epoch, s.nodes[0].log[0].epoch) == (5, 4)


def test_assign_refuses_other_records(s: Any) -> None:
    """A record refuses the contents of a record of another type, of a number and of a sequence; a number is not reset."""
    with pytest.raises(BadAccess, match="Entry and Node are different records"):
        assign(s.last, s.nodes[0])
    for value in (3, s.few):
        with pytest.raises(BadAccess, match="is not a record of a state"):
            assign(s.last, value)
    with pytest.raises(BadAccess, match="is not a record of a state"):
        reset(3)


def test_reset_gives_initial_values(s: Any) -> None:
    """A record that is reset is as fresh, and the rest of the state is as before."""
    append(s.nodes[0].log, epoch=4)
    s.nodes[0].up = s.nodes[1].up = 1
    reset(s.nodes[0])
    assert (len(s.nodes[0].log), s.nodes[0].up, s.nodes[1].up) == (0, 0, 1)
    reset(s)
    assert SPACE.root.freeze(s) == SPACE.root.freeze(SPACE.fresh())


def test_copies_share_nothing(s: Any) -> None:
    """A copy is equal, and a change of it does not change the original."""
    append(s.channel, value=2)
    twin = SPACE.root.copy(s)
    assert SPACE.root.freeze(twin) == SPACE.root.freeze(s)
    twin.nodes[0].up = 1
    twin.channel[0].value = 1
    twin.nodes[0].seen[0] = 4
    append(twin.paths[0], 1)
    assert (s.nodes[0].up, s.channel[0].value, s.nodes[0].seen[0], len(s.paths[0])) == (0, 2, 0, 0)


# ---------------------------------------------------------------------------------------------------------------------
# Sets, and readable output


@given(st.sets(st.integers(0, 6)), st.integers(0, 6))
@settings(deadline=None, derandomize=True, database=None)
def test_sets_of_brokers(members: set[int], broker: int) -> None:
    """Bit masks behave like the sets that they represent."""
    mask = sum(singleton(member) for member in members)
    assert contains(mask, broker) == (broker in members)
    assert including(mask, broker) == sum(1 << member for member in members | {broker})
    assert excluding(mask, broker) == sum(1 << member for member in members - {broker})
    assert show_set(mask) == "{" + ", ".join(map(str, sorted(members))) + "}"


@given(st.sets(st.integers(0, 7)), st.sets(st.integers(0, 7)), st.integers(-1, 7))
def test_a_broker_set_is_a_set(members: set[int], others: set[int], broker: int) -> None:
    """It is made of numbers, iterates in ascending order, holds what it was made of (nobody is in none), and combines to sets."""
    one, other = BrokerSet.of(members), BrokerSet.of(others)

    assert list(one) == sorted(members)
    assert (broker in one) == (broker in members)
    assert set(one & other) == members & others
    assert set(one | other) == members | others
    assert set(one & ~other) == members - others
    assert {type(found) for found in (one & 3, 3 & one, one | 3, 3 | one, ~one)} == {BrokerSet}
    assert repr(one) == show_set(one)
    assert list(first_brokers(3)) == [0, 1, 2]


def test_values_are_shown(s: Any) -> None:
    """Values are printed as people read them, a message with the fields of its kind only."""
    append(s.channel, kind=Kind.ACK, sender=2)
    append(s.channel, kind=Kind.LOST)
    shown = {show_path(change.path): show_value(change.type, change.after) for change in SPACE.fields(s)}
    assert shown["channel"] == "[(kind ACK, sender broker 2), (kind LOST)]"
    assert (shown["leader"], shown["everyone"], shown["nodes[1].up"], shown["clock"]) == ("none", "{0, 1, 2}", "no", "7")
    assert shown["nodes[0].isr"] == "{}" and shown["first"] == "broker 0"
    assert show_value(SPACE.root.fields["last"], s.last) == "(record 0, epoch -1)"


def test_plain_values_are_what_json_holds(s: Any) -> None:
    """Plain values are integers, lists and objects with all fields."""
    append(s.channel, kind=Kind.ACK, sender=2)
    plain = plain_value(SPACE.root, s)
    assert plain["channel"] == [{"kind": 1, "value": 0, "sender": 2}]
    assert plain["nodes"][0] == {"log": [], "up": 0, "isr": 0, "seen": [0, 0]}
    assert type(plain["kind"]) is int


# ---------------------------------------------------------------------------------------------------------------------
# Any state: bytes and differences


def values(type_: Any) -> st.SearchStrategy[Any]:
    """Return any frozen value of the type."""
    if isinstance(type_, Scalar):
        return st.integers(type_.low, type_.high)
    if isinstance(type_, Record):
        return st.tuples(*[values(field) for field in type_.fields.values()])
    if isinstance(type_, Array):
        return st.tuples(*[values(type_.item)] * type_.length)
    items = st.lists(values(type_.item), max_size=type_.capacity, unique=type_.distinct)
    return items.map(tuple)


def thaw(type_: Any, frozen: Any) -> Any:
    """Return the value of a frozen one."""
    if isinstance(type_, Scalar):
        return frozen
    if isinstance(type_, Record):
        value = type_.fresh()
        fields = zip(type_.fields.items(), frozen, strict=True)
        value.__dict__.update({name: thaw(field, part) for (name, field), part in fields})
        return value
    return type_.holding([thaw(type_.item, part) for part in frozen])


STATES = values(SPACE.root).map(lambda frozen: thaw(SPACE.root, frozen))
MANY = settings(max_examples=150, deadline=None, derandomize=True, database=None)


@MANY
@given(STATES)
def test_states_survive_packing(state: Any) -> None:
    """Any state packed and unpacked is the state, and its record has the layout's size."""
    record = LAYOUT.pack(state)
    assert len(record) == LAYOUT.size and LAYOUT.size % 8 == 0
    again = LAYOUT.unpack(record)
    assert SPACE.root.freeze(again) == SPACE.root.freeze(state) and type(again) is type(state)
    assert LAYOUT.pack(again) == record


@MANY
@given(STATES, STATES)
def test_bytes_are_equal_where_states_are(one: Any, other: Any) -> None:
    """Two states have equal bytes exactly if they are equal."""
    assert (LAYOUT.pack(one) == LAYOUT.pack(other)) == (SPACE.root.freeze(one) == SPACE.root.freeze(other))
    assert LAYOUT.pack(SPACE.root.copy(one)) == LAYOUT.pack(one)


def test_bytes_forget_what_was_dropped(s: Any) -> None:
    """A state whose sequences were filled and emptied has the bytes of a fresh one."""
    fresh = LAYOUT.pack(s)
    append(s.channel, kind=Kind.PUT, value=3)
    append(s.few, 3)
    append(s.nodes[0].log, epoch=9)
    assert LAYOUT.pack(s) != fresh
    pop_first(s.channel)
    truncate(s.few, 0)
    reset(s.nodes[0])
    assert LAYOUT.pack(s) == fresh


def read(type_: Any, stored: Any) -> Any:
    """Return a value that NumPy reads, in hashable form."""
    if isinstance(type_, Scalar):
        return int(stored)
    if isinstance(type_, Record):
        return tuple(read(field, stored[name]) for name, field in type_.fields.items())
    if isinstance(type_, Sequence):
        return tuple(read(type_.item, stored["items"][index]) for index in range(int(stored["length"])))
    return tuple(read(type_.item, stored[index]) for index in range(type_.length))


@MANY
@given(st.lists(STATES, min_size=1, max_size=3))
def test_numpy_reads_the_same(states: list[Any]) -> None:
    """An array of records, read by the layout's dtype, has the values of the states."""
    assert LAYOUT.dtype.itemsize == LAYOUT.size
    array = np.frombuffer(b"".join(LAYOUT.pack(state) for state in states), LAYOUT.dtype)
    assert [read(SPACE.root, stored) for stored in array] == [SPACE.root.freeze(state) for state in states]


def flat(type_: Any, value: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], Any]:
    """Return every field by its path, a sequence as one."""
    if isinstance(type_, Record):
        parts = [flat(field, getattr(value, name), (*path, name)) for name, field in type_.fields.items()]
    elif isinstance(type_, Array):
        parts = [flat(type_.item, value[index], (*path, index)) for index in range(type_.length)]
    else:
        return {path: type_.freeze(value)}
    return {name: content for part in parts for name, content in part.items()}


@MANY
@given(STATES, STATES)
def test_changes_are_exactly_what_differs(one: Any, other: Any) -> None:
    """The changes between two states are exactly the differing fields, with their values."""
    before, after = flat(SPACE.root, one), flat(SPACE.root, other)
    changes = SPACE.changes(one, other)
    assert [change.path for change in changes] == [path for path in before if before[path] != after[path]]
    assert all(change.type.freeze(change.before) == before[change.path] for change in changes)
    assert all(change.type.freeze(change.after) == after[change.path] for change in changes)
    assert SPACE.changes(one, SPACE.root.copy(one)) == []
    assert [field.path for field in SPACE.fields(one)] == list(before)


def test_changes_name_the_keeper(s: Any) -> None:
    """A change of a kept field, or of a field inside a kept record, names its keeper; others have none."""
    twin = SPACE.root.copy(s)
    twin.everyone, twin.last.epoch, twin.clock = 1, 5, 8
    keepers = {show_path(change.path): change.kept_by for change in SPACE.changes(s, twin)}
    assert keepers == {"everyone": "ZooKeeper", "last.epoch": "controller", "clock": ""}


@pytest.mark.parametrize(
    ("low", "high", "size", "signed"),
    [
        (0, 255, 1, False), (0, 256, 2, False), (0, 65535, 2, False), (0, 65536, 4, False), (0, (1 << 32) - 1, 4, False),
        (-1, 127, 1, True), (-128, 0, 1, True), (-1, 128, 2, True), (-129, 0, 2, True), (-32769, 0, 4, True),
        (-1, (1 << 31) - 1, 4, True),
    ],
)  # fmt: skip
def test_scalars_take_the_fewest_bytes(low: int, high: int, size: int, signed: bool) -> None:
    """A scalar takes 1, 2 or 4 bytes, the fewest for its range, and is signed if it can be negative."""
    place = packed(Range(low, high).at({}, "here"))
    assert (place.size, place.signed) == (size, signed)


def test_actions_are_numbered_without_gaps() -> None:
    """The actions of a spec are numbered 0, 1, 2, ... and each number is decoded to its rule and binding."""
    actions = Actions(sample_specs.CHANNEL, Space(sample_specs.Network, {}), {})
    assert actions.count == 1 + 2 * 2 + 2
    decoded = [actions.decode(number) for number in range(actions.count)]
    names = [rule.name for rule in sample_specs.CHANNEL.rules]
    assert [actions.number(names.index(rule.name), binding) for rule, binding in decoded] == list(range(actions.count))
    assert [binding for rule, binding in decoded if rule.name == "AnswerPing"] == [(0, 0), (0, 1), (1, 0), (1, 1)]
