"""Logs of implementations held to a specification of one's own: `kafka-spec explain` and `EventLog`."""

from __future__ import annotations

import io
import json
import random
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT, Command
from hypothesis import given, settings
from hypothesis import strategies as st

from examples.lease import FENCED
from examples.two_phase_commit import TWO_PHASE_COMMIT as COMMIT
from kafka_spec import (
    ArrayOf,
    BagOf,
    EventLog,
    MapOf,
    Option,
    Queue,
    Range,
    Rule,
    SetOf,
    Spec,
    Walk,
    add,
    anywhere,
    append,
    contains,
    field,
    including,
    put,
)  # fmt: skip
from kafka_spec.model_check.interpreter.interpreter import Interpreter
from kafka_spec.model_check.traces.behaviour import ExplainedLog, LogSearch
from kafka_spec.model_check.traces.itf import itf_value, states_of_itf
from kafka_spec.model_check.traces.observed import LoggedEvent, agrees, observations
from kafka_spec.spec.language.domain import OutOfBound, OutOfDomain, SpecError, plain_value, show_path

MOST = 100_000


def world_of(spec: Spec) -> Interpreter:
    """Return the interpreter of a spec at its first bound set."""
    return Interpreter(spec, spec.bound_values({}))


def explained(spec: Spec, lines: Sequence[Mapping[str, Any]], unseen: int = 20) -> ExplainedLog:
    """Return how far a log is explained."""
    world = world_of(spec)
    return LogSearch(world, observations(map(json.dumps, lines), "log", world), unseen, MOST).run()


def successors(world: Interpreter, name: str, state: Any) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the steps of a rule out of a state."""
    rule = world.spec.rule(name)
    for binding in world.enabled(rule, state):
        try:
            if world.within(rule, state, binding):
                yield binding, world.apply(rule, state, binding)
        except (OutOfBound, OutOfDomain):
            continue


def explained_lines(world: Interpreter, log: Sequence[LoggedEvent]) -> int:
    """Return how many lines are explained, by the definition: all states that any number of unseen steps leads to, line by line."""
    seen = {line.rule.name for line in log if line.rule is not None}
    now = {world.key(state): state for state in world.initial()}
    for number, line in enumerate(log):
        waiting = list(now.values())
        while waiting:
            state = waiting.pop()
            for rule in world.spec.rules:
                for _, after in successors(world, rule.name, state) if rule.name not in seen else ():
                    if world.key(after) not in now:
                        now[world.key(after)] = after
                        waiting.append(after)
        then: dict[Any, Any] = {}
        for state in now.values():
            if line.rule is None:
                reached = [((), state)]
            else:
                reached = [one for one in successors(world, line.rule.name, state) if line.admits(world, state, one[0])]
            then |= {world.key(after): after for _, after in reached if not list(line.differences(world, after))}
        if not then:
            return number
        now = then
    return len(log)


def log_of_walk(spec: Spec, chance: random.Random, steps: int) -> list[dict[str, Any]]:
    """Return the log of a random walk, in which rules, parameters and fields are missing."""
    walk = Walk(spec, {})
    hidden = {rule.name for rule in spec.rules if chance.random() < 0.4}
    lines = []
    for _ in range(steps):
        choices = walk.choices()
        if not choices:
            break
        chosen = chance.choice(choices)
        walk.take(chosen.number)
        fields = [field for field in walk.world.space.fields(walk.state) if chance.random() < 0.2]
        state = {show_path(field.path): plain_value(field.type, field.after) for field in fields}
        if chosen.action.rule not in hidden:
            params = {name: value for name, value in chosen.action.binding if chance.random() < 0.7}
            lines.append({"event": chosen.action.rule, **params, **({"state": state} if state else {})})
        elif state:
            lines.append({"state": state})
    return lines


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**9), st.sampled_from([FENCED, COMMIT]))
def test_the_log_of_a_behaviour_is_explained(seed: int, spec: Spec) -> None:
    """Whatever a log leaves out of a behaviour of the spec, it is explained, by a behaviour with its events in order."""
    lines = log_of_walk(spec, random.Random(seed), 12)
    if not lines:
        return
    found = explained(spec, lines)

    assert found.failed is None
    path = found.candidates[0].path
    assert [one.rule.name for one in path if one.line and one.rule] == [line["event"] for line in lines if "event" in line]


@settings(deadline=None, max_examples=80)
@given(st.integers(0, 10**9), st.sampled_from([FENCED, COMMIT]))
def test_a_wrong_log_fails_at_the_line_that_the_definition_gives(seed: int, spec: Spec) -> None:
    """Lines that are dropped, doubled, swapped or changed: the first line that nothing explains is that of the definition."""
    chance = random.Random(seed)
    lines = log_of_walk(spec, chance, 12)
    for _ in range(chance.randint(1, 3)):
        if len(lines) < 2:
            return
        at = chance.randrange(len(lines))
        change = chance.choice(["drop", "double", "swap", "value"])
        if change == "drop":
            del lines[at]
        elif change == "double":
            lines.insert(at, lines[at])
        elif change == "swap":
            lines[at - 1], lines[at] = lines[at], lines[at - 1]
        else:
            numbers = [name for name, value in lines[at].items() if isinstance(value, int)]
            lines[at] = {**lines[at], **dict.fromkeys(numbers, 0)}
    found = explained(spec, lines, unseen=60)

    assert not [cut for cut in found.cuts if "unseen" in cut]
    assert found.explained == explained_lines(world_of(spec), found.lines)


def test_the_worked_example(tmp_path: Path, kafka_spec: Command) -> None:
    """The implementation's log is explained; with its defect the last line is not, and the guard that refuses it is named."""
    for arguments, code in (((), 0), (("--careless",), 1)):
        log = tmp_path / "lease.ndjson"
        subprocess.run([sys.executable, "-m", "examples.lease_server", str(log), *arguments], cwd=ROOT, check=True)
        result = kafka_spec("explain", "examples.lease:FENCED", str(log))
        assert result.returncode == code, result.stderr
    assert 'NOT EXPLAINED: line 5: {"time":' in result.stdout
    assert "token_is_not_old is false: the storage has seen no larger token" in result.stdout
    assert "   unseen  the lease runs out" in result.stdout


def test_what_was_left_out_makes_a_failure_open(tmp_path: Path, kafka_spec: Command) -> None:
    """A line that fails where more unseen steps, candidates or bounds were possible is not decided, and says what to raise."""
    log = tmp_path / "log.ndjson"
    log.write_text("".join(json.dumps({"event": "Grant", "client": client}) + "\n" for client in (0, 1, 0, 1)))
    bound = kafka_spec("explain", "examples.lease:FENCED", str(log))
    raised = kafka_spec("explain", "examples.lease:FENCED", str(log), "--bound", "tokens=4")
    few = kafka_spec("explain", "examples.lease:FENCED", str(log), "--bound", "tokens=4", "--most-candidates", "1")

    assert (bound.returncode, raised.returncode, few.returncode) == (3, 0, 3)
    assert "the bound tokens forbids a step; --bound NAME=N raises one" in bound.stdout
    assert "--most-candidates N keeps more" in few.stdout


def test_an_invariant_that_every_candidate_violates() -> None:
    """A log that only a state explains which violates an invariant is a violation at that line."""
    unsafe = FENCED.replacing("unsafe", "no comparison", rules=(FENCED.rule("Write").without_guard("token_is_not_old"),))
    lines = [{"event": "Grant", "client": 0}, {"event": "Grant", "client": 1}, {"event": "Write", "client": 1}]
    found = explained(unsafe, [*lines, {"event": "Write", "client": 0}, {"event": "Write", "client": 1}])

    assert found.violated == ("NoOldWrite",)
    assert found.explained == 4


def test_values_as_traces_print_them() -> None:
    """A value may be JSON's, or the word that traces print; a parameter too."""
    lines = [{"event": "Grant", "client": "client 1", "state": {"holder": "client 1", "tokens": [0, 1]}}]

    assert explained(FENCED, lines).failed is None
    assert explained(FENCED, [{**lines[0], "client": "0"}]).failed is not None
    assert explained(FENCED, [{**lines[0], "state": {"tokens": [1, 0]}}]).failed is not None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the log is empty"),
        ("{", "log.ndjson:1: this is not JSON"),
        ("[]", "this is not a JSON object"),
        ('{"event": "Grnt"}', "log.ndjson:1: lease: rule 'Grnt' is unknown"),
        ('{"event": "Grant", "cleint": 1}', "'cleint' means nothing: Grant has client; --ignore cleint leaves it out"),
        ('{"state": {"holdr": 1}}', "'holdr' is not a field of the state; its fields are holder, token"),
        ('{"state": 1}', "state is 1"),
        ('{"event": 1}', "event is 1; it is the name of a rule"),
        ('{"time": 1}', "the line has neither event nor state"),
        ("[" * 100_000, "this is not JSON"),
    ],
)
def test_lines_that_are_refused(tmp_path: Path, kafka_spec: Command, text: str, message: str) -> None:
    """A line that names what the spec does not have is refused with its place: it would otherwise say nothing, silently."""
    log = tmp_path / "log.ndjson"
    log.write_text(text)
    result = kafka_spec("explain", "examples.lease:FENCED", str(log))

    assert result.returncode == 2, result.stdout
    assert message in result.stderr


def test_outputs_of_an_explanation(tmp_path: Path, kafka_spec: Command) -> None:
    """JSON and charts show the same behaviour."""
    log = tmp_path / "log.ndjson"
    log.write_text('{"event": "Grant", "client": 0}\n{"event": "Write", "client": 1}\n')
    files = {form: tmp_path / f"out.{form}" for form in ("json", "html", "mermaid")}
    outputs = [part for form, file in files.items() for part in ("--output", f"{form}:{file}")]
    result = kafka_spec("explain", "examples.lease:FENCED", str(log), *outputs)

    reported = json.loads(files["json"].read_text())
    assert result.returncode == 1, result.stderr
    assert (reported["explained"], reported["not_explained"]["line"], reported["open"]) == (1, 2, [])
    assert len(reported["behaviour"]["steps"]) == 1
    assert "client 0 gets the lease" in files["html"].read_text()
    assert "client 0 gets the lease" in files["mermaid"].read_text()


@pytest.mark.parametrize(
    ("model", "goal"),
    [("examples.lease:FENCED", "SecondClientWrites"), ("examples.two_phase_commit:TWO_PHASE_COMMIT", "AllCommit")],
)
def test_a_trace_in_apalaches_format_is_a_behaviour(tmp_path: Path, kafka_spec: Command, model: str, goal: str) -> None:
    """A trace written in ITF is explained when it is read again, state by state; with two states missing it needs more steps."""
    file = tmp_path / "trace.itf.json"
    written = kafka_spec("trace", model, "--itf", str(file), "--property", goal)
    trace = json.loads(file.read_text())
    again = kafka_spec("explain", model, str(file), "--unseen", "1")
    del trace["states"][1:3]
    file.write_text(json.dumps(trace))
    without = kafka_spec("explain", model, str(file), "--unseen", "1")
    more = kafka_spec("explain", model, str(file), "--unseen", "3")

    assert written.returncode == 0, written.stderr
    assert trace["#meta"]["format"] == "ITF"
    assert again.returncode == 0, again.stdout + again.stderr
    assert (without.returncode, more.returncode) == (3, 0), without.stdout + more.stdout


@dataclass
class Item:
    """An element whose fields are named as those of an option are in ITF."""

    tag: int = field(Range(0, 2))
    value: int = field(Range(0, 2))


@dataclass
class Shelf:
    """A state with each kind of value."""

    members: int = field(SetOf(3))
    items: list[Item] = field(SetOf(Item, 3))
    bag: list[Item] = field(BagOf(Item, 3))
    queue: list[Item] = field(Queue(Item, 3))
    numbers: list[int] = field(ArrayOf(Range(-1, 2), 2, "place"))
    first: Item = field(Option(Item))
    by_key: dict[int, Item] = field(MapOf(3, Item))


def fill(s: Shelf, n: int) -> None:
    """Put one more into each."""
    s.members = including(s.members, n)
    add(s.items, tag=n, value=1)
    add(s.bag, tag=1, value=1)
    append(s.queue, tag=n, value=0)
    s.numbers[0] = n - 1
    put(s.first, tag=2, value=n)
    put(s.by_key, n, tag=n, value=2)


def is_new(s: Shelf, n: int) -> bool:
    """Nothing of it is there yet."""
    return contains(s.members, n) == 0


SHELF = Spec(
    "shelf",
    "each kind of value",
    Shelf,
    (Rule("Fill", "w", "it fills", "", (fill,), {"n": Range(0, 2)}, (is_new,)),),
    final=anywhere,
)


def test_each_kind_of_value_in_apalaches_format() -> None:
    """Each value is the same after it was written in ITF and read, empty ones and those with the names of ITF among them."""
    walk = Walk(SHELF, {})
    for n in (2, 0, 1):
        root, state = walk.world.space.root, walk.state
        (read,) = states_of_itf(json.dumps({"states": [itf_value(root, state)]}), "trace", root)
        assert read == plain_value(root, state)
        assert agrees(root, state, read)
        walk.act("Fill", n)
        assert not agrees(root, walk.state, read)
    items = plain_value(root, walk.state)["items"]
    assert agrees(root, walk.state, {"items": items[::-1], "bag": [{"tag": 1}] * 3})
    assert not agrees(root, walk.state, {"items": [items[0], *items[:2]]})
    assert not agrees(root, walk.state, {"queue": plain_value(root, walk.state)["queue"][::-1]})


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"states": []}', '{"states": [{"strange": 1}]}'])
def test_traces_that_are_refused(tmp_path: Path, kafka_spec: Command, text: str) -> None:
    """A file that is not a trace in ITF, or one of another model, is refused."""
    file = tmp_path / "trace.itf.json"
    file.write_text(text)

    assert kafka_spec("explain", "examples.lease:FENCED", str(file)).returncode == 2


def test_lines_of_several_threads_do_not_mix() -> None:
    """Each call writes one whole line."""
    stream = io.StringIO()
    log = EventLog(stream)
    threads = [
        threading.Thread(target=lambda: [log.event("Grant", client=1, state={"token": n}) for n in range(200)]) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.saw({"token": 1})
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]

    assert len(lines) == 801
    assert lines[-1]["state"] == {"token": 1}
    assert all(line["event"] == "Grant" and "time" in line for line in lines[:-1])


def test_errors_of_the_library(tmp_path: Path) -> None:
    """A log for another spec is a SpecError, as everywhere."""
    with pytest.raises(SpecError, match="is unknown"):
        explained(COMMIT, [{"event": "Grant"}])
