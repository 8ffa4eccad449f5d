"""Wrong arguments, unreadable files and full disks: one line that names the mistake and the cure, with the exit code of usage."""

from __future__ import annotations

import dataclasses
import enum
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kafka_spec.command import run as kafka_spec
from kafka_spec.spec.language.domain import Bound, Flag, MapOf, Member, OneOf, Queue, Range, SetOf, SpecError, field
from kafka_spec.spec.vocabulary.table import Among, BoundSet, Decision, ElementOf, ItemOf, Rule, Spec, family

MISTAKES: dict[str, tuple[list[str], str]] = {
    "explore a model that is not there": (["explore", "zookeeper/fixd"], "perhaps zookeeper/fixed"),
    "check a file": (["check", "./lock.py"], "name its module and a spec in it, such as lock:SPEC"),
    "draw a name that is not there": (["draw", "test_usage_errors:SPECK"], "has no SPECK; it has test_usage_errors:SPEC\n"),
    "explore along a binary file": (
        ["explore", "zookeeper/fixed", "--trace", "binary", "--terminal"],
        "`trace --output json:FILE`",
    ),
    "explore along nothing": (["explore", "zookeeper/fixed", "--trace", "nowhere", "--terminal"], "name a trace that was saved"),
    "explore from no fingerprint": (
        ["explore", "zookeeper/fixed", "--to", "\N{SUPERSCRIPT TWO}", "--terminal"],
        "16 hexadecimal digits",
    ),
    "cover a model that is not there": (["coverage", "zookeeper/fixd"], "perhaps zookeeper/fixed"),
    "cover into a full disk": (
        ["coverage", "replication/high_watermark-small", "-q", "--output", "html:/dev/full"],
        "name a file that can be",
    ),
    "init in a file": (["init", "lock", "--folder", "binary"], "name a --folder that can be written"),
    "init beside a binary manifest": (["init", "lock", "--folder", "odd"], "not UTF-8 text; fix it first"),
    "grow two models": (["check", "zookeeper/fixed", "kraft/fixed", "--grow"], "--grow takes one model"),
    "export into a file": (["export", "--folder", "binary"], "name a folder that can be written"),
    "export a model into a file": (
        ["export", "--format", "tla", "replication/kip_320", "--folder", "binary"],
        "name a folder that can",
    ),
    "run a binary script": (["run", "--script", "binary", "-q"], "write lines such as"),
    "run no script": (["run", "--script", "nowhere", "-q"], "name a file with lines such as"),
    "validate nothing": (["validate", "nowhere"], "name a log file"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_line(
    mistake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each mistake ends with code 2 and one line, which names the cure; only a result whose file could not be written is shown."""
    arguments, cure = MISTAKES[mistake]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "pyproject.toml").write_bytes(b"\xff\xfe")
    manifest = (
        ["--manifest", str(Path(__file__).parent.parent / "pyproject.toml")]
        if "replication/high_watermark-small" in arguments
        else []
    )

    assert kafka_spec([*arguments, *manifest]) == 2
    reported = capsys.readouterr()
    assert bool(reported.out) == ("/dev/full" in arguments[-1])
    assert reported.err.count("\n") == 1 and cure in reported.err


def test_a_disk_that_fills_up_takes_no_manifest_away(tmp_path: Path) -> None:
    """`init` that cannot write all of its files writes none, and leaves the manifest that was there as it was."""
    manifest = tmp_path / "pyproject.toml"
    manifest.write_text("# mine\n" * 320, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "kafka_spec", "init", "lock", "--folder", str(tmp_path)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (2300, 2300)),  # the files fit, the manifest does not
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )  # fmt: skip

    assert run.returncode == 2 and run.stderr.count("\n") == 1 and "name a --folder that can be written" in run.stderr
    assert manifest.read_text(encoding="utf-8") == "# mine\n" * 320
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["pyproject.toml"]


@dataclass
class Counter:
    """A state."""

    x: int = field(Range(0, 3))


@dataclass
class Inbox:
    """A state with items."""

    letters: set[Counter] = field(SetOf(Counter, 2))
    numbers: list[int] = field(Queue(Flag(), 2))


N = Bound("n", 1, 5, "how many")
SET_OF_TWO = BoundSet("s", {"n": 2}, "")


class Pace(enum.IntEnum):
    """How fast."""

    SLOW = 1


@dataclass
class Limited:
    """A state with a bound."""

    x: int = field(Range(0, N))


def limited(*sets: BoundSet) -> Spec:
    """Return a spec with these bound sets."""
    return Spec("b", "", Limited, (RULE,), bound_sets=sets)


def test_a_family_keeps_the_order_of_its_defaults() -> None:
    """Bound sets of a family name the same bounds in the same order, which is that of the spec, whatever each changes."""
    changed = family({"n": 1, "m": 0}, "s", "why", m=3)

    assert (changed.name, changed.why, list(changed.values.items())) == ("s", "why", [("n", 1), ("m", 3)])


def up(s: Counter) -> None:
    """Count."""
    s.x += 1


def higher(s: Counter) -> int:
    """Compute what it counts to, and forget to write it."""
    return s.x + 1


RULE = Rule("Up", "it", "it goes up", "", (up,))
WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "an effect alone": (lambda: Rule("Up", "it", "", "", up), r"rule Up: effects is not a tuple; write effects=\(up,\)"),
    "a decision named as a bound": (
        lambda: Spec("b", "", Limited, (RULE,), decisions=(Decision("n", Pace.SLOW, "how fast"),)),
        "n is declared twice among bounds and decisions; k.n could be either",
    ),
    "two bounds of one name": (
        lambda: Spec("b", "", Limited, (RULE,), more_bounds=(Bound("n", 0, 9, "again"),)),
        r"two bounds are named n: 1..5 \(how many\) and 0..9 \(again\); declare one",
    ),
    "a bound that k cannot spell": (
        lambda: Spec("b", "", Counter, (RULE,), more_bounds=(Bound("max-n", 0, 9, ""),)),
        "'max-n' cannot be read as k.NAME",
    ),
    "a bound set of a text": (lambda: limited(BoundSet("s", {"n": "2"}, "")), "bound set s: n='2' is not an integer"),
    "a bound set of a family with another bound": (
        lambda: family({"n": 1, "m": 0}, "s", "", k=2),
        "bound set s: no bound is named k; known: n, m",
    ),
    "two bound sets of one name": (lambda: limited(SET_OF_TWO, SET_OF_TWO), "two bound sets are named s"),
    "a rule without a name": (lambda: Spec("b", "", Counter, (dataclasses.replace(RULE, name=""),)), "a rule has no name"),
    "an effect that returns": (
        lambda: Rule("Up", "it", "", "", (higher,)),
        "rule Up: effect higher returns a value, which nobody reads; effects assign to fields",
    ),
    "a bound without name": (lambda: Bound(3, 1, 3, "x"), r"write Bound\(name, low, high, meaning\)"),
    "a bound upside down": (lambda: Bound("n", 3, 1, "x"), "from 3 to 1 there is no value"),
    "a bound set of a number": (lambda: BoundSet("n", 3, "x"), "bound set n: values must be a dict, and is 3"),
    "keys that are a text": (lambda: MapOf("a", Flag()).at({}, "S.m"), "S.m: a limit is a number or a Bound, and not 'a'"),
    "a member of a text": (lambda: Member("server"), "Member: a limit is a number or a Bound, and not 'server'"),
    "one of a number": (lambda: OneOf(3), "OneOf: 3 is not an enum.IntEnum"),
    "a rule alone in a version": (lambda: SPEC.replacing("b", "", rules=RULE), r"a: rules must be a tuple; write rules=\(one,\)"),
    "parameters that are a tuple": (
        lambda: Rule("Up", "it", "", "", (up,), (up,)),
        "params is tuple; params is a dict of name",
    ),
    "a parameter of a number": (
        lambda: Rule("Up", "it", "", "", (up,), {"i": 5}),
        "rule Up: parameter i is 5, which is not a domain",
    ),
    "a parameter of a class": (
        lambda: Rule("Up", "it", "", "", (up,), {"i": Flag}),
        "parameter i is the class Flag",
    ),
    "a parameter of no name": (
        lambda: Rule("Up", "it", "", "", (up,), {5: Flag()}),
        "5 in params is not a name; params is a dict",
    ),
    "an element of a number": (lambda: ElementOf(5), r"ElementOf: the path is 5; name the set as a text"),
    "among by a number": (lambda: Among(Flag(), 5), "Among: that is 5; name the function that says which"),
    "a sentence that says how to print": (
        lambda: Rule("Up", "it", "to {i:d}", "", (up,), {"i": Flag()}),
        "'to {i:d}' says how to print i; its domain knows, so write {i}",
    ),
    "a sentence with a field of a number": (
        lambda: SPEC.replacing("b", "", rules=(Rule("Up", "it", "to {i.x}", "", (up,), {"i": Flag()}),)),
        "rule Up: 'to {i.x}' names 'i.x'; i is a number and has no fields, so write {i}",
    ),
    "a sentence with another field": (
        lambda: Spec("b", "", Inbox, (Rule("Up", "it", "{m.x} and {m.y}", "", (), {"m": ElementOf("letters")}),)),
        "names 'm.y'; m has the fields x",
    ),
    "an actor with a field of an item of numbers": (
        lambda: Spec("b", "", Inbox, (Rule("Up", "it {n.x}", "", "", (), {"n": ItemOf("numbers")}),)),
        "names 'n.x'; n has no fields",
    ),
    "a name alone in a version": (lambda: SPEC.replacing("b", "", without="Up"), "a: without must be a tuple"),
}
SPEC = Spec("a", "it counts", Counter, (RULE,))


def test_a_parameter_brings_its_bound() -> None:
    """A bound that only a parameter names is one of the spec's, with a value to be given."""
    rule = Rule("Up", "it", "to {i}", "", (up,), {"i": Range(0, N)})
    spec = Spec("b", "", Counter, (rule,), bound_sets=(SET_OF_TWO,))

    assert dict(spec.bound_values({})) == {"n": 2}


@pytest.mark.parametrize("what", WRONG)
def test_constructors_say_what_belongs_there(what: str) -> None:
    """What is of the wrong kind is refused where it is written, by name and with the cure, and never as a TypeError."""
    make, message = WRONG[what]
    with pytest.raises(SpecError, match=message):
        make()


MODULES = {
    "mine": ("a module without its spec", "mine is a module, and a model is needed; it has mine:SPEC"),
    "mine:NOPE": ("a name that is not there", "module mine has no NOPE; it has mine:SPEC"),
    "mine:RULE": ("a rule", "mine:RULE is Rule, and a Spec is needed; it has mine:SPEC"),
    "broken:SPEC": ("a syntax error", "broken.py:2: "),
    "typo:SPEC": ("an attribute that is not there", "typo.py:2: AttributeError: module 'os' has no attribute 'nope'"),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_module_is_told_by_what_it_has(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What stands behind a name of a user's module, or in the way of its import, is told with its place."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "mine.py").write_text("from test_usage_errors import RULE, SPEC\n", encoding="utf-8")
    (tmp_path / "broken.py").write_text("x = 1\ndef f(:\n", encoding="utf-8")
    (tmp_path / "typo.py").write_text("import os\nos.nope\n", encoding="utf-8")

    assert kafka_spec(["check", name]) == 2
    assert MODULES[name][1] in capsys.readouterr().err


def test_what_a_module_refuses_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A domain or a property that is refused while a module is imported has the module's line in front, and has it once."""
    monkeypatch.chdir(tmp_path)
    head = "from kafka_spec import field, invariant\n\n"
    for number, (line, reported) in enumerate(
        (("X = field(bool)", "bool is not a domain"), ("A = invariant('A', 'b', '', '')", "'b' is not"))
    ):
        Path(f"placed_{number}.py").write_text(head + line)
        assert kafka_spec(["check", f"placed_{number}:SPEC"]) == 2
        said = capsys.readouterr().err
        assert f"placed_{number}.py:3: {reported}" in said and said.count(".py:") == 1
