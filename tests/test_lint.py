"""The constructs that the language of guards and effects refuses, each with its place and a cure, and those that it accepts."""

from __future__ import annotations

import ast
import enum
import importlib
import importlib.util
import inspect
import itertools
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kafka_spec.spec import replication
from kafka_spec.spec.decisions import log
from kafka_spec.spec.language import domain, source_of
from kafka_spec.spec.vocabulary.table import Rule, Spec, SpecError, first_line
from tests import sample_specs

COUNTER = itertools.count()
PRELUDE = '''
import enum
from kafka_spec.spec.language.domain import append, assign, contains, members_of, pop_first, reset, set_of, truncate
from kafka_spec.spec.vocabulary.table import fire
from tests.sample_specs import DOOR, Door

LIMIT = 5
NAME = "five"
LARGE = 1 << 63
TABLE = [1, 2]


class Colour(enum.IntEnum):
    RED = 1


class Plain(enum.Enum):
    RED = 1


class Holder:
    LIMIT = 5


def same(function):
    return function


def writes(s):
    """Write."""
    s.x = 1


def takes(s, x):
    """Take an item and answer."""
    pop_first(s.log)
    return x


def looks(s):
    """Look."""
    return s.x


def calls_writer(s):
    """Write by another."""
    writes(s)
'''


def module_of(tmp_path: Path, text: str) -> ModuleType:
    """Return a module with the prelude and the text."""
    name = f"linted_{next(COUNTER)}"
    path = tmp_path / f"{name}.py"
    path.write_text(PRELUDE + text, encoding="utf-8")
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def body(*lines: str) -> str:
    """Return a function f(s, k, a) of these lines."""
    return "\n\ndef f(s, k, a):\n" + '    """Do something."""\n' + "".join(f"    {line}\n" for line in lines)


REFUSED: dict[str, tuple[str, str]] = {
    "match of a name": (body("match a:", "    case other:", "        return other"), "a case is a number, a member of an IntEnum"),
    "match of a sequence": (body("match a:", "    case [1, 2]:", "        return 1"), "several with | between them, or _"),
    "sorted": (body("return sorted(s.log)"), "sequences are not sorted; min(...) and max(...)"),
    "absolute value of two": (body("return abs(a, 1)"), "abs() takes 1 arguments here"),
    "function of Python": (body("return round(a)"), "functions of the specification can be, and abs, add, all, any, append"),
    "default of sum": (body("return sum((x for x in s.log), default=0)"), "pass arguments by position"),
    "enumerate in a generator": (body("return sum(i for i, x in enumerate(s.log))"), "a generator gives a name to each item"),
    "enumerate from 1": (body("for i, x in enumerate(s.log, 1):", "    s.x = i"), "loops are `for name in range(stop)`"),
    "while": (body("while a < 3:", "    a += 1"), "a while loop has no limit; write `for"),
    "list comprehension": (body("return len([x for x in s.log])"), "lists do not compile; write any(), all()"),
    "set comprehension": (body("return len({x for x in s.log})"), "write set_of(... for ... in ...)"),
    "generator alone": (body("return (x for x in s.log)"), "a generator is the only argument of any(), all(), sum()"),
    "generator and more": (body("return sum((x for x in s.log), 1)"), "a generator is the only argument of any(), all(), sum()"),
    "generator of pairs": (body("return any(x == y for x, y in s.log)"), "a generator gives a name to each item"),
    "generator over a list": (body("return any(x == 1 for x in [a])"), "loops are `for name in range(stop)`"),
    "generator with a known name": (body("return any(a == 1 for a in s.log)"), "a has a value already"),
    "generator's name outside": (body("x = any(y == 1 for y in s.log)", "return x + y"), "y may be unassigned here"),
    "generator that moves": (body("return any(takes(s, x) for x in s.log)"), "this call may move items while an expression"),
    "any of a sequence": (body("return any(s.log)"), "any() takes a generator, `any(... for ... in ...)`"),
    "sum of a sequence": (body("return sum(s.log)"), "sum() takes a generator"),
    "set_of a sequence": (body("return set_of(s.log)"), "set_of() takes a generator"),
    "members_of alone": (body("return members_of(a)"), "members_of() is what a loop goes over"),
    "in a sum": (
        body("return a in s.x + 1"),
        "write `in` a set of records, a sequence, a map, members_of(...), or values in parentheses",
    ),
    "in the items of an option": (body("return a in value_of(s.x)"), "or values in parentheses; give value_of(s.x) a name first"),
    "over the items of an option": (
        body("return sum(i for i in value_of(s.x))"),
        "a set of records; give value_of(s.x) a name first",
    ),
    "print": (body("print(a)"), "print cannot be called here"),
    "try": (body("try:", "    s.x = 1", "except ValueError:", "    s.x = 2"), "cannot raise, so there is nothing to catch"),
    "raise": (body("raise ValueError"), "a step cannot raise; state what must hold as a guard"),
    "assert": (body("assert a > 1"), "state what must hold as a property"),
    "slice": (body("return len(s.log[1:])"), "slices do not compile; use truncate()"),
    "attribute of a class": (body("return Holder.LIMIT"), "Holder.LIMIT is not a member of an IntEnum; read the state"),
    "member of a plain enum": (body("return Plain.RED"), "Plain.RED is not a member of an IntEnum"),
    "unknown member": (body("return Colour.BLUE"), "Colour.BLUE is not a member of an IntEnum"),
    "attribute of a module": (body("return enum.auto"), "enum.auto is not a member of an IntEnum"),
    "global text": (body("return NAME"), "NAME is str; outside the state only integers, IntEnums, and tables of them can be read"),
    "item of a global": (body("return TABLE"), "TABLE is a list, and a number is needed here; read one, TABLE[...]"),
    "large global": (body("return LARGE"), "LARGE is too large; numbers have 64 bits"),
    "large number": (body("return 9223372036854775808"), "is too large; numbers have 64 bits"),
    "unknown name": (body("return nothing_at_all"), "nothing_at_all is not defined"),
    "unknown function": (body("return nothing_at_all(a)"), "nothing_at_all is not defined"),
    "keyword argument": (body("return contains(brokers=3, broker=1)"), "pass arguments by position"),
    "key of min": (body("return min(a, 2, key=looks)"), "pass arguments by position"),
    "method": (body("s.log.append(1)"), "methods do not compile; write append(sequence, item)"),
    "a record made by its class": (body("append(s.log, Holder(x=1))"), "no Holder is made here; give its fields to what takes it"),
    "two targets": (body("a = b = 1"), "give one name, field or item a value at a time"),
    "a field with a type": (body("s.x: int = 1"), "assign without a type: `s.field = value`"),
    "a class as a value": (body("return Colour"), "Colour is a class; name a member of it, such as Colour.RED"),
    "call of a member": (body("return Colour(1)"), "Colour cannot be called here"),
    "call of a call": (body("return looks(s)(a)"), "methods do not compile"),
    "call of a parameter": (body("return a(1)"), "a is a local name; call a function of the module"),
    "call of a local": (body("contains = 3", "return contains(1, a)"), "contains is a local name"),
    "too few arguments": (body("return contains(a)"), "contains() takes 2 arguments"),
    "too many arguments": (body("return looks(s, a)"), "looks() takes 1 arguments"),
    "min of one": (body("return min(s.log)"), "min() takes a generator, `min(... for ... in ...)`, or two numbers and more"),
    "len of two": (body("return len(s.log, a)"), "len() takes 1 arguments here"),
    "append of three": (body("append(s.log, 1, 2)"), "append() takes 2 arguments here"),
    "truncate of one": (body("truncate(s.log)"), "truncate() takes 2 arguments here"),
    "pop_first of two": (body("pop_first(s.log, 0)"), "pop_first() takes 1 arguments here"),
    "assign of one": (body("assign(s.one)"), "assign() takes 2 arguments here"),
    "starred argument": (body("return contains(*s.log)"), "Starred does not compile; docs/vocabulary.md"),
    "recursion": (body("return f(s, k, a - 1)"), "a function cannot call itself"),
    "recursion of two": (
        '\n\ndef g(s):\n    """Call."""\n    return f(s, 1)\n\n\ndef f(s, a):\n    """Call."""\n    return g(s)\n',
        "a function cannot call itself, not even through g",
    ),
    "value of a writer": (body("x = append(s.log, 1)", "return x"), "append() returns no value; write it on a line of its own"),
    "default": ('\n\ndef f(s, a=1):\n    """Do."""\n    return a\n', "parameters are plain names, without defaults or stars"),
    "stars": ('\n\ndef f(s, *a):\n    """Do."""\n    return 1\n', "parameters are plain names"),
    "double stars": ('\n\ndef f(s, **a):\n    """Do."""\n    return 1\n', "parameters are plain names"),
    "keyword only": ('\n\ndef f(s, *, a):\n    """Do."""\n    return a\n', "parameters are plain names"),
    "positional only": ('\n\ndef f(s, a, /):\n    """Do."""\n    return a\n', "parameters are plain names"),
    "decorator": ('\n\n@same\ndef f(s):\n    """Do."""\n    return 1\n', "a plain `def` without decorators"),
    "coroutine": ('\n\nasync def f(s):\n    """Do."""\n    return 1\n', "a plain `def` without decorators"),
    "generator": (body("yield a"), "does nothing with it; return it, or assign it"),
    "unassigned on one path": (body("if a:", "    x = 1", "return x"), "x may be unassigned here; assign it on every path"),
    "unassigned in a branch": (body("if a:", "    x = 1", "else:", "    y = 1", "return x"), "x may be unassigned here"),
    "unassigned after a loop": (body("for i in range(a):", "    x = i", "return x"), "x may be unassigned here"),
    "loop variable after its loop": (body("for i in range(a):", "    pass", "return i"), "i may be unassigned here"),
    "unassigned before": (body("y = x", "x = 1", "return y"), "x may be unassigned here"),
    "unassigned and augmented": (body("x += 1", "return x"), "x may be unassigned here"),
    "is": (body("return a is k"), "compare with =="),
    "is not": (body("return a is not k"), "compare with !="),
    "fraction": (body("return a / 2"), "fractions do not exist here; use //"),
    "fraction in place": (body("a /= 2", "return a"), "fractions do not exist here; use //"),
    "fraction as number": (body("return a * 0.5"), "is not a number, and the state holds numbers"),
    "power": (body("return a**2"), "a power is of two numbers that are written out, or constants; write a product"),
    "large power": (body("return 2**64"), "2 ** 64 is too large, or no whole number; numbers have 64 bits"),
    "negative power": (body("return LIMIT ** (0 - 1)"), "a power is of two numbers that are written out"),
    "matrix product": (body("return a @ a"), "MatMult does not compile"),
    "text": (body('return "a" == a'), "is not a number, and the state holds numbers"),
    "none": (body("return None"), "is not a number, and the state holds numbers"),
    "list": (body("return len([1, a])"), "lists do not compile; reset() or truncate(sequence, 0)"),
    "dictionary": (body("return len({1: a})"), "dictionaries do not compile; declare a map"),
    "formatted text": (body('return len(f"{a}")'), "text does not compile"),
    "walrus": (body("return (x := a) + x"), "give the name its value in a line of its own"),
    "inner lambda": (body("x = lambda: 1", "return 1"), "a lambda has no name"),
    "nested tuple": (body("return a, (a, a)"), "tuples are only returned"),
    "tuple as value": (body("x = (a, a)", "return 1"), "tuples are only returned"),
    "nested target": (body("(x, (y, z)) = looks(s)", "return x"), "several values go to names"),
    "starred target": (body("x, *y = looks(s)", "return x"), "several values go to names"),
    "for over items with else": (
        body("for x in s.log:", "    s.x = x", "else:", "    s.x = 1"),
        "loops are without else",
    ),
    "for that appends": (
        body("for x in s.log:", "    append(s.log, x)"),
        "while a loop goes over s.log; note what is to be done",
    ),
    "for that appends to a part of a local name": (
        body("mine = s.nodes[a]", "for x in mine.log:", "    append(mine.other, x)"),
        "while a loop goes over mine.log; note what is to be done",
    ),
    "for that appends to another item": (
        body("for x in s.nodes[0].log:", "    append(s.nodes[1].log, x)"),
        "while a loop goes over s.nodes[0].log; note what is to be done",
    ),
    "an index from the end": (body("return s.log[-1]"), "an index is 0 or more; write s.log[len(s.log) - 1]"),
    "a generator that changes what it goes over": (
        '\n\ndef g(s):\n    """Grow."""\n    append(s.log, 1)\n    return 1\n' + body("return sum(g(s) for x in s.log)"),
        "while a loop goes over s.log; note what is to be done",
    ),
    "for with a step": (body("for i in range(0, 9, 2):", "    s.x = i"), "loops are `for name in range(stop)`"),
    "for with else": (body("for i in range(3):", "    s.x = i", "else:", "    s.x = 1"), "without else"),
    "unreachable after return": (body("return a", "s.x = 1"), "this line is never reached"),
    "unreachable after both": (body("if a:", "    return 1", "else:", "    return 2", "s.x = 1"), "this line is never reached"),
    "unreachable after break": (body("for i in range(3):", "    break", "    s.x = i"), "this line is never reached"),
    "end without value": (body("if a:", "    return 1"), "it may end without returning a value; end it with a return"),
    "end of a loop without value": (body("for i in range(a):", "    return i"), "it may end without returning a value"),
    "values and none": (body("if a:", "    return", "return 1"), "it returns now 0, now 1 values"),
    "one value and two": (body("if a:", "    return 1, 2", "return 1"), "it returns now 1, now 2 values"),
    "global statement": (body("global LIMIT", "LIMIT = 1"), "a step remembers nothing outside the state"),
    "import": (body("import os", "return 1"), "Import does not compile"),
    "function in a branch": (
        body("if a:", "    def g():", "        return 1", "return 1"),
        "define a local function directly in the",
    ),
    "local function used early": (body("x = g()", "def g():", "    return 1", "return x"), "g is defined further down"),
    "local function that calls itself": (
        body("def g(x):", "    return g(x)", "return g(a)"),
        "g is defined further down, or calls itself",
    ),
    "local function calls a later one": (
        body("def g():", "    return h()", "def h():", "    return 1", "return g()"),
        "h is defined further down",
    ),
    "local function that hides what another captures": (
        body("def g():", "    return a", "def h(a):", "    return g() + a", "return h(1)"),
        "a means something else in what h calls",
    ),
    "local function that assigns": (
        body("x = 1", "def g():", "    x = 2", "    return x", "return g() + x"),
        "x is a name of f, too",
    ),
    "two local functions of one name": (
        body("def g():", "    return 1", "def g():", "    return 2", "return g()"),
        "g has a value already",
    ),
    "local function of a generator's name": (
        body("def g():", "    return i + 1", "i = 2", "return any(g() == 1 for i in range(3)) + i"),
        "i belongs to a generator of f",
    ),
    "captured before it has a value": (body("def g():", "    return x", "y = g()", "x = 1", "return y + x"), "x may be unassigned"),
    "local function as a value": (body("def g():", "    return 1", "return g"), "g is function; outside the state"),
    "local function with a default": (body("def g(x=1):", "    return x", "return g(1)"), "without defaults or stars"),
    "local function with a decorator": (
        body("@same", "def g():", "    return 1", "return g()"),
        "a plain `def` without decorators",
    ),
    "local function without an end": (
        body("def g(x):", "    if x:", "        return 1", "return g(1)"),
        "it may end without returning",
    ),
    "nonlocal": (body("x = 1", "def g():", "    nonlocal x", "    return 1", "return g() + x"), "Nonlocal is outside the language"),
    "too few for a local function": (body("def g(x):", "    return x + a", "return g()"), "g() takes"),
    "delete": (body("del s.log[0]"), "write pop_first(), truncate(), remove() or drop()"),
    "with": (body("with s:", "    s.x = 1"), "there is nothing to open or to lock in a step"),
    "expression statement": (body("a + 1"), "does nothing with it; return it, or assign it"),
    "fire without literal": (body("x = 1", "fire(s, k, DOOR, (a,), x)"), "the trigger as a literal"),
    "fire by keyword": (body('fire(s, k, DOOR, (a,), trigger="open")'), "write fire(s, k, MACHINE, (entity, ...), 'trigger')"),
    "fire of an expression": (body('fire(s, k, looks(s), (a,), "open")'), "write fire(s, k, MACHINE"),
    "fire of no machine": (body('fire(s, k, LIMIT, (a,), "open")'), "LIMIT is not a Machine; fire one"),
    "fire without a tuple": (body('fire(s, k, DOOR, a, "open")'), "write fire(s, k, MACHINE"),
    "unknown trigger": (body('fire(s, k, DOOR, (a,), "paint")'), "Door has no trigger 'paint'; it has open, shut, lock"),
    "wrong entity": (body('fire(s, k, DOOR, (a, a), "open")'), "Door is one machine for each (door); name those"),
    "value of nothing": (body("return 1 + (a < writes(s))"), "one value is needed here, and writes() returns none"),
    "value of two": (
        '\n\ndef g(a):\n    """Give two."""\n    return a, a\n\n\ndef f(a):\n    """Use one."""\n    return g(a)\n',
        "one value is needed here, and g() returns 2",
    ),
    "names for too few values": (body("x, y = a, a, a", "return x + y"), "2 names for 3 values"),
    "names for too few results": (body("x, y = looks(s)", "return x + y"), "2 names for 1 values"),
    "a number taken apart": (body("x, y = a", "return x + y"), "only a tuple or the result of a function can be taken apart"),
    "field of a number": (body("return (a + 1).x"), "a + 1 is a number and has no field x"),
    "item of a call": (body("return looks(s)[0]"), "looks(s) is a number and has no items"),
    "loop over a number": (body("for x in LIMIT:", "    s.x = x"), "LIMIT is a number and has no items; loop over a sequence"),
    "in a number": (body("return a in LIMIT"), "LIMIT is a number and has no items; write any(...)"),
    "append to a number": (body("append(LIMIT, 1)"), "LIMIT is a number, and append() is of a part of the state"),
    "length of a number": (body("return len(a + 1)"), "a + 1 is a number, and len() is of a part of the state"),
    "fields by a dictionary": (body("append(s.log, **a)"), "append() takes fields by their names"),
    "no entity": (body('fire(s, k, DOOR, (), "open")'), "Door is one machine for each (door); name those"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path: Path, case: str) -> None:
    """A construct outside the language is refused with file, line, function and cure."""
    text, cure = REFUSED[case]
    module = module_of(tmp_path, text)
    with pytest.raises(SpecError) as raised:
        source_of(module.f)
    message = str(raised.value)
    matched = re.match(rf"{re.escape(module.f.__code__.co_filename)}:(\d+): in \w+: (.*)", message)
    assert matched is not None, message
    line, said = int(matched[1]), matched[2]
    assert cure in said
    lines = Path(module.f.__code__.co_filename).read_text(encoding="utf-8").splitlines()
    assert len(PRELUDE.splitlines()) < line <= len(lines) and lines[line - 1].strip(), "the line is one of the function"


def test_docstrings_are_for_those_who_want_them(tmp_path: Path) -> None:
    """A function of a user's spec needs no docstring, and is then told by its name; one of this package needs one."""
    bare = module_of(tmp_path, "\n\ndef f(s):\n    return s.x\n").f

    assert (source_of(bare).results, first_line(bare)) == (1, "f")
    ours = module_of(tmp_path, "\n\ndef f(s):\n    return s.x\n").f
    ours.__module__ = "kafka_spec.spec.somewhere"
    with pytest.raises(SpecError, match="it has no docstring; its name and first line"):
        source_of(ours)


def test_refusal_names_the_very_line(tmp_path: Path) -> None:
    """A refusal names the line of the refused construct, not the function's."""
    module = module_of(tmp_path, body("x = 1", "y = 2", "return x / y"))
    with pytest.raises(SpecError, match=rf":{module.f.__code__.co_firstlineno + 4}: in f: fractions"):
        source_of(module.f)


def closure() -> Callable[..., Any]:
    """Return a function that captures a variable."""
    limit = 3

    def captures(s: Any) -> bool:
        """Compare with a variable of another function."""
        return s.value < limit  # type: ignore[no-any-return]

    return captures


def test_lambdas_closures_and_others_are_refused() -> None:
    """A lambda, a closure, a class, a builtin, a bound method and a function without source are refused."""
    with pytest.raises(SpecError, match=r"test_lint.py:\d+: in <lambda>: a lambda has no name for traces and pictures"):
        source_of(lambda s: s.value)
    with pytest.raises(SpecError, match=r"test_lint.py:\d+: in captures: it captures a variable of another function"):
        source_of(closure())
    for other in (sample_specs.Count, len, "text".upper, 3):
        with pytest.raises(SpecError, match="is not a plain function; guards and effects are named functions"):
            source_of(other)  # type: ignore[arg-type]
    scope: dict[str, Any] = {}
    exec("def f(s):\n    'Do.'\n    return 1\n", scope)
    with pytest.raises(SpecError, match="in f: its source cannot be read; define it in a file"):
        source_of(scope["f"])


WRITES = {
    "store": body("s.x = 1", "return True"),
    "store of an item": body("s.log[0] = 1", "return True"),
    "store by another name": body("one = s.one", "one.x = 1", "return True"),
    "augmented store": body("s.log[a] += 1", "return True"),
    "append": body("append(s.log, 1)", "return True"),
    "truncate": body("truncate(s.log, 1)", "return True"),
    "pop_first": body("pop_first(s.log)", "return True"),
    "reset": body("reset(s.one)", "return True"),
    "assign": body("assign(s.one, s.two)", "return True"),
    "fire": body('return fire(s, k, DOOR, (a,), "open")'),
    "call of a writer": body("writes(s)", "return True"),
    "call of a caller of a writer": body("calls_writer(s)", "return True"),
    "store in a branch": body("if a:", "    for i in range(3):", "        s.x = i", "return True"),
}


@pytest.mark.parametrize("case", WRITES)
def test_guards_do_not_write(tmp_path: Path, case: str) -> None:
    """A guard that writes, itself or through a function it calls, is refused at the rule's declaration, by file and line."""
    module = module_of(tmp_path, WRITES[case])
    assert source_of(module.f).writes
    place = rf"{module.f.__code__.co_firstlineno}: rule Write: guard f writes; guards look, effects write"
    for part in ("guards", "bound_guards"):
        with pytest.raises(SpecError, match=place):
            Rule("Write", "world", "", "", (module.writes,), params={"a": domain.Flag()}, **{part: (module.f,)})


@pytest.mark.parametrize("text", [body("return"), body("return a, a"), body("pass")])
def test_guards_return_one_value(tmp_path: Path, text: str) -> None:
    """A guard that returns nothing, or several values, is refused."""
    module = module_of(tmp_path, text)
    with pytest.raises(SpecError, match="rule Look: guard f must return one value, true or false"):
        Rule("Look", "world", "", "", (module.writes,), params={"a": domain.Flag()}, guards=(module.f,))


TAKEN = {
    "local names": body("x = a", "x += 1", "y: int = x", "x, y = y, x", "return x + y"),
    "all ways assigned": body("if a:", "    x = 1", "elif k.n:", "    x = 2", "else:", "    return 3", "return x"),
    "loops": body("for i in range(a):", "    for j in range(i, 3):", "        if j == 2:", "            break", "return a"),
    "members": body("return Colour.RED + Door.OPEN + LIMIT"),
    "records": body("one = s.one", "x = one.log[a].y", "return x"),
    "truth": body("return not a and (a < 3 <= 4 or True)"),
    "choice": body("return 1 if a else 2"),
    "builtins": body("return min(a, 2, 3) + max(a, 1) + len(s.log)"),
    "statement calls": body("looks(s)", "return -a + ~a"),
    "two values": body("x, y = a, a", "return x, y"),
    "nothing": body("if a:", "    return", "s.x = 1"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_taken(tmp_path: Path, case: str) -> None:
    """A construct of the language is accepted, with its parameters and its place."""
    function = module_of(tmp_path, TAKEN[case]).f
    source = source_of(function)
    assert source.parameters == ("s", "k", "a")
    assert source.place == f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def test_source_tells_what_a_function_does(tmp_path: Path) -> None:
    """A source lists the function's calls, writes and firings, including those of the functions that it calls."""
    module = module_of(tmp_path, body("calls_writer(s)", "g(s, k)", "return looks(s) + contains(a, 1)") + "\n\n" + body(
        'fire(s, k, DOOR, (0,), "shut")', 'fire(s, k, DOOR, (1,), "open")'
    ).replace("def f(s, k, a)", "def g(s, k)"))  # fmt: skip
    source = source_of(module.f)
    assert source.calls == (module.calls_writer, module.g, module.looks, module.contains)
    assert source.writes and not source_of(module.looks).writes
    assert source.fires == ((sample_specs.DOOR, "shut"), (sample_specs.DOOR, "open"))
    assert (source.results, source_of(module.g).results) == (1, 0)


def modules_of(package: ModuleType) -> list[ModuleType]:
    """Return all modules of a package."""
    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return [importlib.import_module(info.name) for info in found]


MODULES = [log, *modules_of(replication)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_specifications_keep_to_the_language(module: ModuleType) -> None:
    """Every function with a docstring that a module of the specification defines is of the language."""
    stated = [
        function
        for function in vars(module).values()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and function.__doc__
    ]
    tree = ast.parse(inspect.getsource(module))
    defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.returns is not None}
    for function in stated:
        assert function.__name__ in defined
        assert source_of(function).parameters == tuple(inspect.signature(function).parameters)


def test_specifications_state_functions() -> None:
    """The versions of replication state guards, effects and predicates by the dozen, all of which are read."""
    specs = {id(value): value for module in MODULES for value in vars(module).values() if isinstance(value, Spec)}
    functions = {
        function
        for version in specs.values()
        for rule in version.rules
        for function in (*rule.guards, *rule.bound_guards, *rule.effects)
    } | {claim.predicate for version in specs.values() for claim in version.properties}
    assert len(specs) >= 5 and len(functions) > 40
    assert all(source_of(function).text.startswith("def ") for function in functions)


def test_helpers_of_sets_are_of_the_language() -> None:
    """The helpers of sets of brokers are functions of the language like any other."""
    for helper in (domain.contains, domain.including, domain.excluding, domain.singleton):
        assert not source_of(helper).writes


class Shade(enum.IntEnum):
    """A module's enum."""

    DARK = 1


def reads_shade(s: Any) -> bool:
    """Read a member of this module."""
    return s.value == Shade.DARK


def test_sources_are_read_once() -> None:
    """The same function has the same source."""
    assert source_of(reads_shade) is source_of(reads_shade)
