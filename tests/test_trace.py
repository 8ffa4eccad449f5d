"""Traces as JSON: a written trace is read back equal, and a damaged one is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafka_spec.spec.language.domain import SpecError
from kafka_spec.spec.vocabulary.trace import (
    FORMAT,
    VERSION,
    Action,
    FieldChange,
    Firing,
    MessageItem,
    Step,
    Trace,
    from_json,
    from_plain,
)

TEXT = st.text(max_size=8)
PLAIN = st.recursive(
    st.integers(-9, 9), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=5
)


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Return some, as a tuple."""
    return st.lists(strategy, max_size=3).map(tuple)


ACTIONS = st.builds(Action, rule=TEXT, binding=several(st.tuples(TEXT, st.integers())))
CHANGES = st.builds(FieldChange, path=TEXT, before=PLAIN, after=PLAIN, shown=st.tuples(TEXT, TEXT), kept_by=TEXT)
MESSAGES = st.builds(MessageItem, channel=TEXT, content=PLAIN, shown=TEXT)
FIRINGS = st.builds(Firing, machine=TEXT, entity=several(st.integers(0, 5)), trigger=TEXT, source=TEXT, target=st.none() | TEXT)
STEPS = st.builds(
    Step, action=ACTIONS, actor=TEXT, kind=TEXT, summary=TEXT, reference=TEXT, sent=several(MESSAGES), received=several(MESSAGES),
    written=several(CHANGES), fired=several(FIRINGS), changed=several(CHANGES), state=several(st.tuples(TEXT, TEXT)),
    fingerprint=TEXT,
)  # fmt: skip
TRACES = st.builds(Trace, spec=TEXT, bounds=several(st.tuples(TEXT, st.integers())), shows=TEXT, start=STEPS, steps=several(STEPS))

STEP = Step(
    action=Action("Send", (("broker", 1), ("offset", 0))),
    actor="broker 1",
    kind="protocol",
    summary="broker 1 sends",
    reference="a toy",
    sent=(MessageItem("channel", {"kind": 1, "items": [1, 2]}, "a message"),),
    received=(),
    written=(FieldChange("quorum.isr", 3, 1, ("{0, 1}", "{0}"), "ZooKeeper"),),
    fired=(Firing("Partition", (0, 1), "elect", "New", None),),
    changed=(FieldChange("log", [], [{"record": 0}], ("[]", "[(record 0)]")),),
    state=(("log", "[(record 0)]"), ("quorum.isr", "{0}")),
    fingerprint="00ff",
)
TRACE = Trace("kip_1", (("replicas", 2),), "StrongIsr", STEP, (STEP, STEP))


@given(TRACES)
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
def test_round_trip(trace: Trace) -> None:
    """Any trace read back from its JSON text is the trace."""
    assert from_json(trace.to_json()) == trace


def test_plain_round_trip() -> None:
    """A trace read back from its plain objects, as they are and after a passage through JSON, is the trace."""
    assert from_plain(TRACE.to_plain()) == TRACE
    assert from_plain(json.loads(json.dumps(TRACE.to_plain()))) == TRACE


def test_text_names_format_and_version() -> None:
    """The JSON text names its format and version."""
    plain = json.loads(TRACE.to_json())
    assert (plain["format"], plain["version"]) == (FORMAT, VERSION)


def test_states_and_actions_are_counted() -> None:
    """A trace of two steps has three states, and its actions are those of the steps."""
    assert TRACE.states == 3
    assert [str(action) for action in TRACE.actions] == ["Send(broker=1, offset=0)"] * 2
    assert str(Action("Start")) == "Start()"


@pytest.mark.parametrize("text", ["", "{", "[1, 2", TRACE.to_json()[:-1], "nothing"])
def test_no_json_is_refused(text: str) -> None:
    """Text that is not JSON is refused, with a description of the right format."""
    with pytest.raises(SpecError, match=r"this is not JSON: .*--format json"):
        from_json(text)


@pytest.mark.parametrize("text", ["[]", "1", "null", "{}", '"trace"', '{"format": "tar"}', '{"version": 1}'])
def test_other_json_is_refused(text: str) -> None:
    """JSON that is not a trace is refused."""
    with pytest.raises(SpecError, match=f"this is not a trace: its format is not '{FORMAT}'"):
        from_json(text)


@pytest.mark.parametrize("version", [0, VERSION + 1, None, "1"])
def test_other_versions_are_refused(version: Any) -> None:
    """A trace of another version is refused, and the message names both."""
    with pytest.raises(SpecError, match=f"has version {version}, and only version {VERSION} can be read"):
        from_plain({**TRACE.to_plain(), "version": version})


def places(plain: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the paths of the required members of a trace's objects."""
    found: list[tuple[Any, ...]] = []
    if isinstance(plain, dict):
        for name, value in plain.items():
            if name not in ("kept_by", "content", "before", "after", "format", "version"):
                found += [(*path, name), *places(value, (*path, name))]
    elif isinstance(plain, list):
        for index, value in enumerate(plain):
            found += places(value, (*path, index))
    return found


PLACES = places(json.loads(TRACE.to_json()))


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_missing_members_are_refused(path: tuple[Any, ...]) -> None:
    """A trace without any one of its members is refused as damaged."""
    plain = json.loads(TRACE.to_json())
    holder = plain
    for part in path[:-1]:
        holder = holder[part]
    del holder[path[-1]]
    with pytest.raises(SpecError, match="this trace is damaged"):
        from_plain(plain)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("bounds",), 3), (("bounds",), [["replicas"]]), (("steps",), None), (("steps", 0), [1]), (("start", "action"), "Send"),
        (("start", "action", "binding"), [1]), (("start", "sent", 0), ["channel"]), (("start", "changed", 0, "shown"), ["one"]),
        (("start", "changed", 0, "shown"), []), (("start", "fired", 0, "entity"), 3), (("start", "state"), [["log"]]),
        (("start", "sent", 0, "colour"), 1), (("start", "changed", 0), 5),
    ],
)  # fmt: skip
def test_damaged_members_are_refused(path: tuple[Any, ...], value: Any) -> None:
    """A trace whose members have a wrong form is refused as damaged."""
    plain = json.loads(TRACE.to_json())
    holder = plain
    for part in path[:-1]:
        holder = holder[part]
    holder[path[-1]] = value
    with pytest.raises(SpecError, match="this trace is damaged"):
        from_plain(plain)
