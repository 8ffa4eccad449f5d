"""What a user of another checker tries first: each is expressible, and both engines agree on it, or is refused with the cure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kafka_spec.diagrams.tla.module import spec_tla
from kafka_spec.model_check.check import check
from kafka_spec.model_check.traces.counterexample import trace_of
from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.vocabulary.table import Symmetric
from tests.fuzz.agree import load

MODULE = '''
import enum
from dataclasses import dataclass
from kafka_spec import *
from kafka_spec.spec.language.domain import copy_of

N = Bound("n", 1, 3, "a size")
TABLE = {{0: 1, 1: 2, 2: 0}}
LINKS = ((0, 1), (1, 2))

class K(enum.IntEnum):
    A = 0
    B = 1
    C = 2

class Plain(enum.Enum):
    A = 0

@dataclass
class R:
    """A record."""

    a: int = field(Range(0, 3))
    b: int = field(OneOf(K))

@dataclass
class Q:
    """A record with a sequence."""

    kind: int = field(OneOf(K))
    log: list[int] = field(SequenceOf(Range(0, 2), 2))

def double(n: int) -> int:
    """Return twice the number."""
    return 2 * n

def factorial(n: int) -> int:
    """Return a factorial."""
    return 1 if n == 0 else n * factorial(n - 1)

def with_default(n: int, more: int = 1) -> int:
    """Return a sum."""
    return n + more

def best(s) -> R:
    """Return a record."""
    return R(2, K.C)

@dataclass
class S:
    """The state."""

    t: int = field(Range(0, 3))
    x: int = field({domain})
    y: int = field({domain})

def goes_on(s: S) -> bool:
    """There is a step left."""
    return s.t < 3

def tick(s: S) -> None:
    """Count."""
    s.t += 1

def eff(s: S{takes}) -> None:
    """Do it."""
{body}

SPEC = Spec("probe", "a probe", S, (Rule("E", "it", "it does", "", (eff, tick), {params}, (goes_on,)),), (), final=anywhere)
'''

EXPRESSIBLE: dict[str, tuple[str, str, str]] = {
    "a sequence of sequences": (
        "SequenceOf(SequenceOf(Range(0, 3), 2), 2)",
        "if len(s.x) < 2:\n append(s.x)\n append(s.x[0], s.t)",
        "",
    ),
    "a sequence appended to a sequence": (
        "SequenceOf(SequenceOf(Range(0, 3), 2), 2)",
        "if len(s.x) < 2:\n append(s.x)\nif len(s.y) < 2:\n append(s.y, s.x[0])",
        "",
    ),
    "a set over an enum": ("SetOf(OneOf(K))", "s.x = including(s.x, K.B)", ""),
    "a set of numbers": ("SetOf(5)", "s.x = including(s.x, s.t)", ""),
    "a set of sets": (
        "SetOf(SetOf(3))",
        "s.x = including(s.x, singleton(s.t % 3))\nfor m in members_of(s.x):\n if contains(m, 1):\n  s.y = including(s.y, m | 1)",
        "",
    ),
    "a set of sets of an enum": ("SetOf(SetOf(OneOf(K)))", "s.x = including(s.x, singleton(K.B))", ""),
    "a set without a capacity": ("SetOf(R)", "add(s.x, a=s.t, b=K.B)", ""),
    "a sequence without a capacity": ("SequenceOf(Range(0, 3))", "append(s.x, s.t)", ""),
    "a map of sets": ("MapOf(2, SetOf(3))", "put(s.x, 0, singleton(s.t % 3))", ""),
    "a map of sequences": (
        "MapOf(2, SequenceOf(Range(0, 3), 2))",
        "put(s.x, s.t % 2)\nappend(s.x[s.t % 2], s.t)\nput(s.y, 0, s.x[s.t % 2])",
        "",
    ),
    "an array of arrays": ("ArrayOf(ArrayOf(Range(0, 3), 2), 2)", "s.x[1][0] = s.t\nassign(s.y, s.x)\nassign(s.y[0], s.x[1])", ""),
    "a record literal": ("SetOf(R, 4)", "add(s.x, R(a=s.t, b=K.B))", ""),
    "records compared": ("R", "s.x.a = 1\nif s.x == s.y:\n s.x.a = 2", ""),
    "a helper returns a record": ("R", "assign(s.x, best(s))", ""),
    "a record copied": ("R", "r: R = copy_of(s.y)\nassign(s.x, r)", ""),
    "a message carries a log": (
        "SetOf(Q, 4)",
        "add(s.x, kind=K.A)\nfor m in s.x:\n if len(m.log) == 0:\n  add(s.y, Q(K.B, log=m.log))",
        "",
    ),
    "a set of records with sequences": ("SetOf(Q, 4)", "add(s.x, kind=K.B)", ""),
    "while with a limit": ("Range(0, 9)", "for i in range(3):\n if i == s.t:\n  break\n s.x = i", ""),
    "set_of": ("SetOf(4)", "s.x = set_of(i for i in range(4) if i != s.t)", ""),
    "members iterated": ("SetOf(4)", "s.x = including(s.x, s.t)\nfor m in members_of(s.x):\n s.y = including(s.y, m)", ""),
    "a swap": ("Range(0, 3)", "s.x = s.t\ns.x, s.y = s.y, s.x", ""),
    "several fields at once": ("Range(0, 3)", "s.x, s.y = s.t, 1", ""),
    "enumerate": ("ArrayOf(Range(0, 3), 2)", "for i, one in enumerate(s.x):\n s.y[i] = one", ""),
    "power": ("Range(0, 99)", "s.x = 2**5 + 10**1", ""),
    "abs": ("Range(0, 9)", "s.x = abs(s.t - 2)", ""),
    "max with a default": ("Range(0, 9)", "s.x = max((i for i in range(s.t)), default=7)", ""),
    "negative floor division": ("Range(-9, 9)", "s.x = -s.t // 2", ""),
    "a flag": ("Flag()", "s.x = s.t == 1", ""),
    "a dictionary as a constant": ("Range(0, 9)", "s.x = TABLE[s.t % 3]", ""),
    "a set of tuples as a constant": ("Range(0, 9)", "for a, b in LINKS:\n if a == s.t:\n  s.x = b", ""),
    "match": ("OneOf(K)", "match s.x:\n case K.A:\n  s.x = K.B\n case _:\n  s.x = K.A", ""),
    "a bound read by name": ("Range(0, N)", "s.x = min(s.t, 1)", ""),
    "an option": ("Option(R)", "put(s.x, a=1)\nif present(s.x):\n assign(value_of(s.x), R(2, K.A))", ""),
    "a set as a parameter": ("SetOf(3)", "s.x = p | s.y", "SetOf(3)"),
    "an array as a parameter": ("ArrayOf(Range(0, 1), 2)", "assign(s.x, p)", "ArrayOf(Range(0, 1), 2)"),
    "a record as a parameter": ("SetOf(R, 3)", "if len(s.x) < 3:\n add(s.x, p)", "R"),
    "a member as a parameter": ("Range(0, 3)", "s.x = p", "Member(3)"),
}
REFUSED: dict[str, tuple[str, str, str, str]] = {
    "recursion": ("Range(0, 99)", "s.x = factorial(s.t)", "", "a function cannot call itself"),
    "while": ("Range(0, 9)", "while s.x < 3:\n s.x += 1", "", "a while loop has no limit; write `for ... in range(...)`"),
    "a list": (
        "Range(0, 9)",
        "s.x = len([i for i in range(3)])",
        "",
        "lists do not compile; write any(), all(), sum(), min() or max()",
    ),
    "a set comprehension": ("SetOf(4)", "s.x = {i for i in range(3)}", "", "write set_of(... for ... in ...)"),
    "a dictionary": ("Range(0, 9)", "s.x = {1: 2}[1]", "", "dictionaries do not compile; declare a map in the state"),
    "sorted": (
        "SequenceOf(Range(0, 3), 2)",
        "for i in sorted(s.x):\n s.t = i",
        "",
        "sequences are not sorted; min(...) and max(...)",
    ),
    "zip": (
        "SequenceOf(Range(0, 3), 2)",
        "for a, b in zip(s.x, s.y):\n s.t = a",
        "",
        "loop over the places, `for i in range(len(items))`",
    ),
    "a slice": ("SequenceOf(Range(0, 3), 2)", "s.t = len(s.x[1:])", "", "slices do not compile; use truncate() or a `for` loop"),
    "a method": ("SequenceOf(Range(0, 3), 2)", "s.x.append(1)", "", "methods do not compile; write append(sequence, item)"),
    "insert": ("SequenceOf(Range(0, 3), 2)", "s.x.insert(0, 1)", "", "sequences grow at the end, append(sequence, item)"),
    "the last item": ("SequenceOf(Range(0, 3), 2)", "s.t = s.x[-1]", "", "an index is 0 or more; write s.x[len(s.x) - 1]"),
    "a fraction": ("Range(0, 9)", "s.x = s.t / 2", "", "fractions do not exist here; use //"),
    "a power of a variable": ("Range(0, 9)", "s.x = 2**s.t", "", "a power is of two numbers that are written out, or constants"),
    "a default argument": ("Range(0, 9)", "s.x = with_default(s.t)", "", "takes 2 arguments, each of which has to be given"),
    "a lambda": ("Range(0, 9)", "f = lambda n: n\ns.x = f(1)", "", "a lambda has no name for traces and pictures"),
    "print": ("Range(0, 9)", "print(s.x)", "", "a step has no output; `kafka-spec trace --show` shows values of a trace"),
    "assert": ("Range(0, 9)", "assert s.x == 0", "", "state what must hold as a property"),
    "a text": ("Range(0, 9)", "s.x = len(f'{s.t}')", "", "text does not compile"),
    "an unknown bound": ("Range(0, 9)", "s.x = s.z", "", "has no field z; it has t, x, y"),
    "in a set of members": ("SetOf(4)", "s.t = 1 if 2 in s.x else 0", "", "write contains(s.x, 2)"),
    "a set of members iterated": ("SetOf(4)", "for m in s.x:\n s.t = m", "", "members_of("),
    "an array assigned": ("ArrayOf(Range(0, 3), 2)", "s.x = s.y", "", "an assignment would share s.x; copy it, assign(s.x, ...)"),
    "a record assigned": ("R", "s.x = s.y", "", "an assignment would share s.x; copy it, assign(s.x, ...)"),
    "a record in a set by in": (
        "SetOf(R, 3)",
        "s.t = 1 if R(1, K.A) in s.x else 0",
        "",
        "for `in` a set of records write has(set, record)",
    ),
    "other values copied": ("SequenceOf(R, 2)", "add(s.q, log=s.x)", "", "has no field q"),
    "a set of sets with a capacity": (
        "SetOf(SetOf(3), 4)",
        "s.t = 1",
        "",
        "or a set of records: a dataclass with a field, SetOf(Record, capacity)",
    ),
    "a set of sets of many": (
        "SetOf(SetOf(6))",
        "s.t = 1",
        "",
        "a set of sets of 6 members; there may be 0 to 5; of more, declare",
    ),
    "a set of sets of sets": ("SetOf(SetOf(SetOf(2)))", "s.t = 1", "", "a member is a number; what is more is a record"),
    "an option of an option": ("Option(Option(R))", "s.t = 1", "", "an option of an option; one of them is enough"),
    "a map with a record as key": ("MapOf(R, Range(0, 1))", "s.t = 1", "", "keys are Member(...), OneOf(...), or how many"),
    "int as a domain": ("int", "s.t = 1", "", "int is not a domain; write Range(low, high)"),
    "a text as a domain": (
        "OneOf('a', 'b')",
        "s.t = 1",
        "",
        "OneOf takes the class of the members, OneOf(Colour), an enum.IntEnum",
    ),
    "a plain Enum": ("OneOf(Plain)", "s.t = 1", "", "is not an enum.IntEnum; name such a class"),
    "100 members": ("SetOf(100)", "s.t = 1", "", "there may be 0 to 62, one bit each; ArrayOf(Flag(), n) has more"),
    "a set of records as a parameter": ("SetOf(R, 2)", "s.t = 1", "SetOf(R, 2)", "the sets and bags of records are not numbered"),
    "a list as parameters": ("Range(0, 1)", "s.t = 1", "[1, 2]", "which is not a domain; give a Range, a Member, an ArrayOf(...)"),
}


def module_of(probe: tuple[str, str, str], folder: Path, name: str) -> object:
    """Return the spec of a probe."""
    domain, body, parameter = probe
    lines = "\n".join(f"    {line}" for line in body.replace("\n ", "\n     ").replace("      ", "         ").split("\n"))
    takes, params = (", p", f'{{"p": {parameter}}}') if parameter else ("", "{}")
    return load(MODULE.format(domain=domain, body=lines, takes=takes, params=params), folder, name).SPEC


def run(probe: tuple[str, str, str], folder: Path, name: str) -> int:
    """Search a probe in both engines, which must agree; return the number of states."""
    spec = module_of(probe, folder, name)
    return check(spec, spec.bound_values({"n": 2} if "n" in spec.bounds else {}), engine="both").distinct  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", EXPRESSIBLE)
def test_expressible(name: str, tmp_path: Path) -> None:
    """What is expressible does something, and both engines agree on it."""
    assert run(EXPRESSIBLE[name], tmp_path, f"probe_{list(EXPRESSIBLE).index(name)}") >= 4


QUORUMS = """
from dataclasses import dataclass
from kafka_spec import *

SERVERS = Bound("servers", 1, 5, "servers")

@dataclass
class Votes:
    votes: int = field(SetOf(SERVERS))
    quorums: int = field(SetOf(SetOf(SERVERS)))

def has_not_voted(s: Votes, server: int) -> bool:
    return not contains(s.votes, server)

def vote(s: Votes, server: int) -> None:
    s.votes = including(s.votes, server)
    s.quorums = including(s.quorums, s.votes)

def two_are_no_quorum(s: Votes) -> bool:
    return not contains(s.quorums, 0b11)

RULES = (Rule("Vote", "server", "votes", "", (vote,), {"server": Member(SERVERS, "server")}, (has_not_voted,)),)
TWO = (invariant("Two", two_are_no_quorum, "two are no quorum"),)
SPEC = Spec("quorums", "votes", Votes, RULES, TWO, bound_sets=(BoundSet("three", {"servers": 3}, "three"),), final=anywhere)
"""


def test_sets_of_sets_follow_a_bound_and_are_printed_as_sets(tmp_path: Path) -> None:
    """A set of sets follows a bound: both engines agree, and traces show sets; it is neither renamed nor exported."""
    spec = load(QUORUMS, tmp_path, "quorums").SPEC
    result = check(spec, engine="both", everything=True)
    found = trace_of(result, "Two")

    assert (result.distinct, result.violated) == (16, ["Two"])
    assert found is not None and "quorums: {{0}} -> {{0}, {0, 1}}" in str(found)
    with pytest.raises(SpecError, match="the state holds sets of sets of servers, which are not renamed; search all states"):
        replace(spec, normal_form=(Symmetric(spec.bounds["servers"]),))
    with pytest.raises(SpecError, match="a set of sets is not translated"):
        spec_tla(spec, "Quorums")


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    """What is not expressible is refused, and the message says what to write."""
    *probe, message = REFUSED[name]
    with pytest.raises(SpecError) as raised:
        run((probe[0], probe[1], probe[2]), tmp_path, f"refused_{list(REFUSED).index(name)}")

    assert message in str(raised.value)
