"""The public interface, `from kafka_spec import ...`: its names, the cost of a name, the message for a missing extra."""

from __future__ import annotations

import ast
import enum
import importlib
import subprocess
import sys
from dataclasses import dataclass

import pytest
from conftest import ROOT

import kafka_spec
from kafka_spec import (
    ArrayOf,
    Bound,
    BoundSet,
    Constants,
    Machine,
    Range,
    Row,
    Rule,
    SetOf,
    Spec,
    StateOf,
    check,
    contains,
    field,
    fire,
    including,
    invariant,
    reachable,
    singleton,
    trace_of,
)
from kafka_spec.spec.optional_dependencies import MissingExtra, needing


def test_every_name_is_there() -> None:
    """The public names for type checkers are those at run time, and each name can be imported."""
    tree = ast.parse((ROOT / "kafka_spec" / "__init__.py").read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("kafka_spec")]
    reported = {alias.name: node.module for node in imports for alias in node.names if alias.asname}

    assert sorted(reported) == kafka_spec.__all__
    assert set(reported) <= set(dir(kafka_spec))
    for name, module in reported.items():
        assert getattr(kafka_spec, name) is getattr(sys.modules[str(module)], name)
    with pytest.raises(AttributeError, match="module 'kafka_spec' has no attribute 'chekc'"):
        kafka_spec.__getattr__("chekc")


def test_the_door_imports_nothing_by_itself() -> None:
    """`import kafka_spec` imports no other module, of this package or of any, but os, which Python imports at its start."""
    code = "import sys, os; before = set(sys.modules); import kafka_spec; print(*sorted(set(sys.modules) - before))"
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert run.stdout == "__future__ kafka_spec\n"


def test_a_missing_extra_is_told() -> None:
    """Without the extra `check`, asking for `trace_of` or calling `check` says what to install."""
    code = """
import kafka_spec
try:
    kafka_spec.check(kafka_spec.MODELS["replication/kip_320"])
except kafka_spec.SpecError as error:
    print(error)
from kafka_spec import trace_of
"""
    run = subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)

    assert run.stdout == "numpy is not installed; it comes with: pip install 'kafka-spec[check]'\n"
    assert run.stderr.splitlines()[-1] == (
        "ImportError: kafka_spec.trace_of: numpy is not installed; it comes with: pip install 'kafka-spec[check]'"
    )


# ---------------------------------------------------------------------------------------------------------------------
# A specification that needs nothing but the door: a light that somebody must have seen before it goes out


class Light(enum.IntEnum):
    """Whether it shines."""

    OFF = 0
    ON = 1


WATCHERS = Bound("watchers", 1, 3, "who can see the light")


@dataclass
class Room:
    """The light, and who has seen it."""

    lights: list[int] = field(ArrayOf(StateOf(Light, "light"), 1))
    seen: int = field(SetOf(WATCHERS))


def was_seen(s: Room) -> bool:
    """Watcher 0 has seen the light."""
    return contains(s.seen, 0)


def forget(s: Room) -> None:
    """Nobody has seen it any more."""
    s.seen = 0


LIGHT = Machine(
    "light",
    Light,
    Light.OFF,
    (Row("turn_on", (Light.OFF,), Light.ON), Row("turn_off", (Light.ON,), Light.OFF, (was_seen,), (forget,))),
    ("light",),
)


def turn_on(s: Room, k: Constants) -> None:
    """Turn it on."""
    fire(s, k, LIGHT, (0,), "turn_on")


def turn_off(s: Room, k: Constants) -> None:
    """Turn it off."""
    fire(s, k, LIGHT, (0,), "turn_off")


def is_on(s: Room) -> bool:
    """The light is on."""
    return s.lights[0] == Light.ON


def is_unseen(s: Room, watcher: int) -> bool:
    """The watcher has not seen it."""
    return not contains(s.seen, watcher)


def see(s: Room, watcher: int) -> None:
    """The watcher sees the light."""
    s.seen = including(s.seen, watcher)


def seen_only_while_on(s: Room) -> bool:
    """Nobody has seen a light that is off."""
    return s.seen == 0 or is_on(s)


def one_alone_saw_it(s: Room) -> bool:
    """Watcher 0 alone has seen it."""
    return s.seen == singleton(0)


ROOM = Spec(
    "room",
    "a light and those who watch it",
    Room,
    (
        Rule("TurnOn", "world", "the light is turned on", "tests", (turn_on,)),
        Rule("TurnOff", "world", "the light is turned off", "tests", (turn_off,), guards=(is_on,)),
        Rule(
            "See",
            "watcher",
            "watcher {watcher} sees the light",
            "tests",
            (see,),
            {"watcher": Range(0, WATCHERS - 1)},
            (is_on, is_unseen),
        ),
    ),
    (
        invariant("SeenOnlyWhileOn", seen_only_while_on, "nobody has seen a light that is off", "tests"),
        reachable("OneAloneSawIt", one_alone_saw_it, "one watcher alone has seen it", "tests"),
    ),
    machines=(LIGHT,),
    bound_sets=(BoundSet("two", {"watchers": 2}, "enough to differ"),),
)


def test_the_door_is_enough_for_a_spec() -> None:
    """State, domains, sets, a machine, rules, properties and bounds of the door make a spec on which both engines agree."""
    result = check(ROOM, engine="both")
    trace = trace_of(result, "OneAloneSawIt")

    assert (result.verdict, result.distinct, result.depth) == ("holds", 5, 4)
    assert trace is not None
    assert [step.summary for step in trace.steps] == ["the light is turned on", "watcher 0 sees the light"]


def test_former_names_are_accepted_with_a_warning() -> None:
    """The names of 0.1 mean the same things: of domains, of keyword arguments, and of models."""
    with pytest.warns(DeprecationWarning, match=r"kafka_spec\.Each is now ArrayOf"):
        assert kafka_spec.__getattr__("Each") is ArrayOf
    with pytest.warns(DeprecationWarning, match=r"Row\(cites=\.\.\.\) is now reference="):
        row = Row("open", (0,), 1, cites="a paper")
    assert row.reference == "a paper"
    assert kafka_spec.MODELS["control/fixed"] is kafka_spec.MODELS["zookeeper/fixed"]


def test_windows_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where Python has no fcntl or resource, one line says what works there and what does not."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(MissingExtra, match=r"needs Linux or macOS.*on Windows itself work the tables"), needing("check"):
        importlib.import_module("fcntl")
