"""Records as values: the same in plain Python, compiled code and TLA+; and what is refused says what to write."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from conftest import Explore
from test_lint import body, module_of
from test_tla import agree

from kafka_spec.model_check.oracle import oracle
from kafka_spec.model_check.search import embedded
from kafka_spec.spec.language import source_of
from kafka_spec.spec.language.domain import (
    ArrayOf,
    Bound,
    Flag,
    Member,
    MemberOrNone,
    OneOf,
    Range,
    SequenceOf,
    SetOf,
    SpecError,
    add,
    append,
    assign,
    copy_of,
    field,
    has,
    message,
    pop_first,
    remove,
)
from kafka_spec.spec.vocabulary.change import patched
from kafka_spec.spec.vocabulary.table import BoundSet, Constants, ElementOf, Rule, Spec, anywhere, invariant

NODES = Bound("nodes", 1, 3, "nodes")
A_NODE = Member(NODES, "node")


class Kind(enum.IntEnum):
    """The kinds of notes."""

    ASK = 0
    ANSWER = 1


@message
@dataclass
class Note:
    """A message."""

    kind: int = field(OneOf(Kind))
    sender: int = field(A_NODE)
    to: int = field(MemberOrNone(NODES, "node"))
    term: int = field(Range(0, 2))
    urgent: int = field(Flag())


@dataclass
class Writer:
    """A node."""

    term: int = field(Range(0, 2))
    last: Note = field(Note)
    heard: list[Note] = field(SequenceOf(Note, 2))


@dataclass
class Notes:
    """The whole state."""

    nodes: list[Writer] = field(ArrayOf(Writer, NODES, "node"))
    notes: list[Note] = field(SetOf(Note, 4))
    sent: list[Note] = field(SetOf(Note, 20))


def ask_of(s: Notes, node: int) -> Note:
    """Return the note in which a node asks."""
    return Note(Kind.ASK, node, term=s.nodes[node].term)


def send(s: Notes, note: Note) -> None:
    """Send a note, and remember it."""
    add(s.notes, note)
    add(s.sent, note, urgent=1)


def is_new(s: Notes, node: int) -> bool:
    """The node has not asked this before, and has a term to ask for."""
    return not has(s.sent, ask_of(s, node), urgent=1)


def has_room(s: Notes, node: int) -> bool:
    """There is room for notes, and for a term."""
    return len(s.notes) < 3 and s.nodes[node].term < 2


def ask(s: Notes, node: int) -> None:
    """Ask, in the next term."""
    send(s, ask_of(s, node))
    s.nodes[node].term += 1


def is_question(m: Note) -> bool:
    """It is a question."""
    return m.kind == Kind.ASK


def newer(mine: Note, other: Note) -> Note:
    """Return the first, unless its term is smaller."""
    if mine.term >= other.term:
        return mine
    return other


def answer(s: Notes, k: Constants, m: Note) -> None:
    """Answer a question, unless the answer is the last one."""
    reply = Note(Kind.ANSWER, (m.sender + 1) % k.nodes, m.sender, m.term)
    last: Note = copy_of(s.nodes[m.sender].last)
    kept = newer(reply, last)
    if not has(s.sent, ask_of(s, kept.to), urgent=1):
        s.nodes[kept.to].term = 0
    if kept != s.nodes[m.sender].last:
        assign(s.nodes[kept.to].last, kept)
        if len(s.nodes[m.sender].heard) < 2:
            append(s.nodes[m.sender].heard, kept)
    remove(s.notes, m)


def recall(s: Notes) -> None:
    """Remember the notes in flight, and the term of the last of them that is a question."""
    for note in s.notes:
        if note.kind == Kind.ASK:
            s.nodes[note.sender].term = note.term
        add(s.sent, note)


def is_unremembered(s: Notes) -> bool:
    """A note in flight is not remembered as it is."""
    return any(not has(s.sent, note) for note in s.notes)


def newest(s: Notes, node: int) -> Note:
    """Return what a node heard last, or its last note."""
    for place in range(len(s.nodes[node].heard)):
        if place == len(s.nodes[node].heard) - 1:
            return copy_of(s.nodes[node].heard[place])
    return copy_of(s.nodes[node].last)


def last_is_newest(s: Notes, k: Constants) -> bool:
    """What a node heard last is its last note, until it has no room."""
    for node in range(k.nodes):
        note = newest(s, node)
        if len(s.nodes[node].heard) < 2 and not (note == s.nodes[node].last and s.nodes[node].last == note):
            return False
    return True


def first_is_of_first_term(s: Notes, k: Constants) -> bool:
    """The first that each node heard was of a term below 2."""
    return all(s.nodes[node].heard[0].term < 2 for node in range(k.nodes) if len(s.nodes[node].heard) > 0)


def second_is_answered(s: Notes, k: Constants) -> bool:
    """No node has heard two notes."""
    return all(len(s.nodes[node].heard) < 2 for node in range(k.nodes))


def differ(s: Notes, k: Constants) -> bool:
    """No two nodes have heard the same two notes, and no note of another node is the last one of a node that has none."""
    for one in range(k.nodes):
        for other in range(one):
            if len(s.nodes[one].heard) > 1 and s.nodes[one].heard == s.nodes[other].heard:
                return False
            if s.nodes[one].last == s.nodes[other].last and s.nodes[one].last.to != -1:
                return False
    return True


NOTES = Spec(
    "notes",
    "records that are not in the state",
    Notes,
    rules=(
        Rule("Ask", "{node}", "{node} asks", "", (ask,), {"node": A_NODE}, (has_room, is_new)),
        Rule("Recall", "world", "the notes in flight are remembered", "", (recall,), {}, (is_unremembered,)),
        Rule("Answer", "{m.sender}", "{m.sender} is answered", "", (answer,), {"m": ElementOf("notes")}, (is_question,)),
    ),
    properties=(
        invariant("LastIsNewest", last_is_newest, "what was heard last is the last note"),
        invariant("FirstTerm", first_is_of_first_term, "the first note is of a term below 2"),
        invariant("Differ", differ, "no two nodes have heard the same"),
        invariant("OneAnswer", second_is_answered, "no node hears two notes"),
    ),
    bound_sets=(BoundSet("two", {"nodes": 2}, "two nodes"),),
    final=anywhere,
)


def test_engines_agree() -> None:
    """Plain Python and compiled code find the same states and the same violation."""
    ours, theirs = (engine.explore(NOTES, {"nodes": 2}, everything=True) for engine in (embedded, oracle))

    assert (ours.distinct, ours.depth, ours.digest) == (theirs.distinct, theirs.depth, theirs.digest)
    assert ours.distinct > 40 and list(ours.findings) == list(theirs.findings) == ["OneAnswer"]


def test_tlc_agrees(tmp_path: Path) -> None:
    """TLC finds as many states of the exported module, and the same violation."""
    agree(NOTES, {"nodes": 2}, tmp_path)


def test_readers_see_numbers() -> None:
    """The text that is read has a name for each field, and a variant of each function that takes such a record."""
    text = source_of(ask).text

    assert "given_kind, given_sender, given_to, given_term, given_urgent = ask_of(s, node)" in text
    assert "send_Note(s, given_kind, given_sender, given_to, given_term, given_urgent)" in text
    assert "return (Kind.ASK, node, -1, s.nodes[node].term, 0)" in source_of(ask_of).text


def quiet_send(s: Notes, note: Note) -> None:
    """Send a note, and forget it."""
    add(s.notes, note)


def test_a_function_that_takes_records_is_replaced() -> None:
    """A change that replaces a function reaches callers that give it records by value."""
    changed = patched(NOTES, {send: quiet_send})
    ours, theirs = (embedded.explore(spec, {"nodes": 2}, everything=True) for spec in (changed, NOTES))

    assert ours.digest != theirs.digest
    assert ours.digest == oracle.explore(changed, {"nodes": 2}, everything=True).digest


def test_equal_as_values() -> None:
    """Outside a search records compare as in it: omitted fields have their initial value."""
    assert Note(Kind.ASK, 1) == Note(kind=Kind.ASK, sender=1, to=-1, term=0, urgent=0)
    assert Note(Kind.ASK, 1) != Note(Kind.ASK, 1, 0)


@dataclass
class Twin:
    """A record with the fields of a note."""

    kind: int = field(OneOf(Kind))
    sender: int = field(A_NODE)
    to: int = field(MemberOrNone(NODES, "node"))
    term: int = field(Range(0, 2))
    urgent: int = field(Flag())


def add_twin(s: Notes) -> None:
    """Add a record of another class."""
    add(s.notes, Twin(Kind.ASK, 1))


def compare_twin(s: Notes) -> None:
    """Compare records of two classes."""
    if Twin(Kind.ASK, 1) == s.nodes[0].last:
        s.nodes[0].term = 0


def copy_as_twin(s: Notes) -> None:
    """Copy a note under the name of another class."""
    twin: Twin = copy_of(s.nodes[0].last)
    s.nodes[0].term = twin.term


def assign_twin(s: Notes) -> None:
    """Assign a record of another class."""
    assign(s.nodes[0].last, Twin(Kind.ASK, 1))


@pytest.mark.parametrize(
    ("effect", "message"),
    [
        (add_twin, r"add\(\) takes Note here, and not Twin\(...\)"),
        (compare_twin, r"s.nodes\[0\].last is a record of another class than Twin"),
        (copy_as_twin, r"s.nodes\[0\].last is a record of another class than Twin"),
        (assign_twin, r"s.nodes\[0\].last is a record of another class than Twin"),
    ],
)
def test_a_class_with_the_same_fields_is_another(effect: Callable[[Notes], None], message: str) -> None:
    """A record is not taken for one of another class, although its fields have the same names."""
    spec = replace(NOTES, rules=(Rule("Twin", "world", "a twin", "", (effect,)),), properties=())
    with pytest.raises(SpecError, match=message):
        embedded.explore(spec, {"nodes": 2})


@message
@dataclass
class Copy:
    """A message that carries a log."""

    to: int = field(Range(0, 2))
    term: int = field(Range(0, 2))
    log: list[int] = field(SequenceOf(Range(0, 2), 2))


@dataclass
class Logs:
    """Three logs, and messages that carry them."""

    logs: list[list[int]] = field(ArrayOf(SequenceOf(Range(0, 2), 2), 3))
    sent: list[Copy] = field(SetOf(Copy, 12))
    queue: list[Copy] = field(SequenceOf(Copy, 2))
    seen: int = field(Range(0, 2))


def can_write(s: Logs, node: int, value: int) -> bool:
    """There is room in the log."""
    return len(s.logs[node]) < 2 and len(s.sent) < 3 and value < 2


def keep(s: Logs, one: Copy) -> None:
    """Send a copy, if it is not on its way, with the length of its log as its term."""
    next_one = Copy(one.to, len(one.log), one.log)
    if not has(s.sent, one):
        add(s.sent, next_one)


def write(s: Logs, node: int, value: int) -> None:
    """Append, and send the log as it is when it is sent: the record has the place, not what was there when it was made."""
    told = Copy(node, log=s.logs[node])
    append(s.logs[node], value)
    told_too = told
    keep(s, told_too)
    keep(s, Copy(log=s.logs[(node + 1) % 3], to=node, term=1))


def write_and_send(s: Logs, node: int, value: int) -> None:
    """Append, and send the log as it is then; the record is named before, and once more."""
    told = Copy(node, log=s.logs[node])
    append(s.logs[node], value)
    told_too = told
    add(s.sent, told_too, term=len(told_too.log))


def can_take(m: Copy) -> bool:
    """It carries something."""
    return len(m.log) > 0


def take(s: Logs, m: Copy) -> None:
    """Take the log of a message over, and answer with it; the message is gone by then."""
    reply = Copy((m.to + 2) % 3, term=2, log=m.log)
    assign(s.logs[m.to], reply.log)
    s.seen = max((number for number in reply.log), default=0)
    remove(s.sent, m)
    add(s.sent, reply)


def take_first(s: Logs) -> None:
    """Answer with the log of a message that is no more."""
    reply = Copy(2, term=2, log=s.queue[0].log)
    pop_first(s.queue)
    add(s.sent, reply)


LOGS = Spec(
    "logs",
    "messages that carry logs",
    Logs,
    (
        Rule("Write", "a node", "{node} writes", "", (write,), {"node": Member(2), "value": Range(0, 1)}, (can_write,)),
        Rule("Take", "a node", "a node takes a log over", "", (take,), {"m": ElementOf("sent")}, (can_take,)),
    ),
    (),
    final=anywhere,
)


def test_a_record_with_a_place_is_what_plain_python_says(explore: Explore, tmp_path: Path) -> None:
    """A named record may have a container: it is read, passed, named again and stored as Python's object would be; TLC agrees."""
    result = explore(LOGS, {})

    assert (result.distinct, result.generated) == (3_195, 8_684)
    alone = replace(LOGS.rule("Write"), effects=(write_and_send,))  # an export passes no place beside what is changed
    agree(LOGS.replacing("sent", "messages that carry logs", rules=(alone,)), {}, tmp_path)


def test_what_a_place_was_is_not_used_once_it_may_have_moved() -> None:
    """The log of the first message cannot be stored once that is taken out of its sequence: another is at its place."""
    spec = replace(LOGS, rules=(Rule("Take", "a node", "", "", (take_first,)),))
    with pytest.raises(SpecError, match="reply_log"):
        embedded.explore(spec, {})


RECORDS = '''
from dataclasses import dataclass
from kafka_spec.spec.language.domain import Bound, Range, SequenceOf, add, append, assign, copy_of, field, has

SIZE = Bound("size", 1, 3, "size")

@dataclass
class Pair:
    """Two numbers."""

    one: int = field(Range(0, 3))
    two: int = field(Range(0, 3))

@dataclass
class Late:
    """A number that is as large as a bound at first."""

    one: int = field(Range(0, SIZE, SIZE))

@dataclass
class Log:
    """A record that holds numbers."""

    last: int = field(Range(0, 3))
    ends: list[int] = field(SequenceOf(Range(0, 3), 3))

def pair(s) -> Pair:
    """Return a pair."""
    return Pair(s.x, 1)

def taken(s, p):
    """Take."""
    append(s.pairs, p)

def bump(s):
    """Count, and return the count."""
    s.x += 1
    return s.x

def bumped(s) -> Pair:
    """Count, and return a pair."""
    return Pair(bump(s), 1)

def takes(s, a, p):
    """Take."""
    append(s.pairs, p)

@dataclass
class Doubled:
    """A record whose constructor does more."""

    one: int = field(Range(0, 3))

    def __post_init__(self):
        self.one *= 2
'''
REFUSED = {
    "a record as a number": (
        ["return Pair(1, 2) + 1"],
        "Pair(...) is a record that is not in the state, and no number",
    ),
    "a name as a number": (["p = Pair(1, 2)", "return p"], "it returns Pair; annotate it, `def f(...) -> Pair:`"),
    "a part of a sum": (["p = Pair(1, 2)", "return p + 1"], "p is a record that is not in the state; read its fields"),
    "a store in it": (
        ["p = Pair(1, 2)", "p.one = 2"],
        "not in the state, and does not change; make another one",
    ),
    "stored by assignment": (["s.last = Pair(1, 2)"], "a record is copied into the state: assign(s.last, Pair(1, 2))"),
    "no such field": (["append(s.pairs, Pair(three=1))"], "Pair has no field three; it has one, two"),
    "a field read that is none": (
        ["p = Pair(1, 2)", "return p.three"],
        "p has no field three; it has one, two",
    ),
    "a value twice": (["append(s.pairs, Pair(1, one=2))"], "a field of Pair has two values"),
    "too many values": (["append(s.pairs, Pair(1, 2, 3))"], "Pair has 2 fields by position"),
    "a constructor of its own": (["append(s.twice, Doubled(1))"], "Doubled has a constructor of its own"),
    "an initial value by a bound": (
        ["append(s.late, Late())"],
        "the initial value of Late.one depends on a bound",
    ),
    "a sequence that a choice gives": (
        ["log = Log(1, s.ends) if a > 1 else Log(2)", "append(s.logs, log)"],
        "ends is a place in the state; write an `if` statement that stores either record",
    ),
    "a sequence given twice": (
        ["log = Log(1, s.ends)", "log = Log(2, s.other)", "append(s.logs, log)"],
        "log has ends, which is a place in the state; give this value a name of its own",
    ),
    "a sequence that comes later": (
        ["log = Log(1)", "if a > 1:", "    log = Log(2, s.other)", "append(s.logs, log)"],
        "log has ends, which is a place in the state; give this value a name of its own",
    ),
    "a sequence that was not given": (["log = Log(1)", "return len(log.ends)"], "log was made without ends; it has last"),
    "a comparison with <": (["return Pair(1, 2) < Pair(2, 1)"], "two records are compared with == or !="),
    "in a set": (["return Pair(1, 2) in s.pairs"], "for `in` a set of records write has(set, record)"),
    "a comparison of what holds more": (
        ["return Log(1) == s.log"],
        "Log has fields that hold no number; compare those",
    ),
    "two classes": (["p = Pair(1, 2)", "if a > 1:", "    p = Late(1)", "return p.one"], "p holds Pair(...) elsewhere"),
    "one of two": (["p = Pair(1, 2) if a > 1 else a", "return p.one"], "one branch is a record that is not in the state"),
    "deep in an expression": (["return a > 1 and has(s.pairs, pair(s))"], "give pair(s) a name first, in a line of its own"),
    "a copy of what": (["p = copy_of(s.last)", "return p.one"], "say what is copied, `entry: Entry = copy_of(s.log[0])`"),
    "a copy of what holds more": (["p: Log = copy_of(s.log)", "return p.last"], "copy_of() is of records whose fields all do"),
    "fields beside those in it": (["append(s.pairs, Pair(1, 2), one=1)"], "give Pair(1, 2) a name first, or these fields in it"),
    "too many arguments": (["taken(s, a, Pair(1, 2))"], "taken() takes 2 arguments"),
    "more than numbers overwritten": (["assign(s.log, Log(1))"], "Log has fields that hold no number; assign to its fields"),
}


def test_a_place_is_not_returned(tmp_path: Path) -> None:
    """A function returns numbers: a record with a container is stored where it is made, or by a function that takes it."""
    module = module_of(tmp_path, RECORDS + body("return Log(1, s.ends)").replace("def f(s, k, a):", "def f(s, k, a) -> Log:"))
    with pytest.raises(SpecError, match="ends is a place in the state, and a function returns numbers; let it store the record"):
        source_of(module.f)


@pytest.mark.parametrize(("lines", "message"), REFUSED.values(), ids=REFUSED)
def test_refused(lines: list[str], message: str, tmp_path: Path) -> None:
    """What a record that is not in the state cannot do is refused, with the place and the cure."""
    module = module_of(tmp_path, RECORDS + body(*lines))
    with pytest.raises(SpecError) as raised:
        source_of(module.f)

    assert message in str(raised.value) and ": in f: " in str(raised.value)


WRITES = {
    "another order than that of the fields": ["p = Pair(two=bump(s), one=s.x)", "return p.one"],
    "the test of a choice": ["p = Pair(1, 2) if bump(s) > 1 else Pair(2, 1)", "return p.one"],
    "a branch of a choice": ["p = Pair(bump(s), 2) if s.x > 1 else Pair(2, 1)", "return p.one"],
    "a comparison": ["return Pair(1, bump(s)) == s.last"],
    "the place of a comparison": ["return Pair(1, 2) == s.pairs[bump(s)]"],
    "the place of a copy": ["p: Pair = copy_of(s.pairs[bump(s)])", "return p.one"],
    "the place of a copied value": ["assign(s.pairs[bump(s)], Pair(1, 2))"],
    "what is in front of it": ["takes(s, s.x, bumped(s))"],
    "a call in front of it": ["takes(s, bump(s), pair(s))"],
    "a condition that is asked twice": ["return max((x for x in s.log if bump(s) > 1), default=0)"],
    "the operand of abs": ["return abs(bump(s))"],
}


@pytest.mark.parametrize("lines", WRITES.values(), ids=WRITES)
def test_what_is_read_twice_changes_nothing(lines: list[str], tmp_path: Path) -> None:
    """A call that changes the state is refused where readers evaluate it more often than Python does, or in another order."""
    module = module_of(tmp_path, RECORDS + body(*lines))
    with pytest.raises(SpecError, match=r"in f: bump(ed)?\(\) changes the state; give what it returns a name first"):
        source_of(module.f)


def test_a_record_that_is_made_by_what_counts(tmp_path: Path) -> None:
    """Where the order is that of Python, a function that changes the state may make a record, or a field of one."""
    lines = ["p = Pair(bump(s), s.x)", "q = bumped(s)", "taken(s, bumped(s))", "if has(s.set, q):", "    s.x = p.one"]

    assert source_of(module_of(tmp_path, RECORDS + body(*lines)).f).writes


def test_a_variant_hides_no_function(tmp_path: Path) -> None:
    """A function whose name is that of a variant stays what it is."""
    text = '\ndef taken_Pair(s):\n    """Take."""\n    s.x = 1\n'
    module = module_of(tmp_path, RECORDS + text + body("taken_Pair(s)", "taken(s, Pair(1, 2))", "return 1"))

    assert [one.__name__ for one in source_of(module.f).calls] == ["taken_Pair", "taken_Pair"]
    assert source_of(module.f).calls[0] is module.taken_Pair is not source_of(module.f).calls[1]


def test_a_record_that_is_made_of_itself(tmp_path: Path) -> None:
    """The fields of a record are read before a name holds another."""
    module = module_of(tmp_path, RECORDS + body("p = Pair(1, 2)", "p = Pair(p.two, p.one)", "return p.one"))

    assert "p_one, p_two = (p_two, p_one)" in source_of(module.f).text


def test_a_record_of_the_state_is_no_value(tmp_path: Path) -> None:
    """A function that is annotated as one that returns records returns copies, not parts of the state."""
    module = module_of(tmp_path, RECORDS + '\ndef f(s) -> Pair:\n    """Return."""\n    return s.last\n')
    with pytest.raises(SpecError, match=r"by its annotation it returns Pair; return Pair\(one=..., two=...\)"):
        source_of(module.f)
