"""Exports of machines in the tools that read them: random words take the same steps as in the table."""

from __future__ import annotations

import enum
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
import transitions
from hypothesis import given, settings
from machines import machines
from statemachine.io import load

from kafka_spec.diagrams.exports import transitions_text
from kafka_spec.diagrams.mermaid import machine_mermaid
from kafka_spec.diagrams.statecharts import scxml_text
from kafka_spec.spec.catalogue.machines import MACHINES
from kafka_spec.spec.vocabulary.table import Machine, Row, SpecError, name_of
from kafka_spec.spec.vocabulary.table_json import Unbound

Step = tuple[str, list[str]]
Fire = Callable[[str, set[str]], Step]


class Life(enum.IntEnum):
    """Everyday names, of which other tools have their own use."""

    start = 0
    default = 1
    end = 2
    state = 3
    anywhere = 4


def unbound(name: str) -> Unbound:
    """Return a guard or an effect that is a name."""
    made = Unbound(name)
    made.summary = ""
    return made


CLOSE, BELL = unbound("close"), unbound("v")  # python-statemachine reads `v` as `or`
DOOR = Machine(
    "Door",
    Life,
    Life.start,
    (
        Row("begin", (Life.start,), Life.default),
        Row("open", (Life.default,), Life.state, effects=(CLOSE,)),
        Row("close", (Life.state, Life.default), Life.end),
        Row("end", (Life.end,), Life.anywhere, guards=(BELL,)),
        Row("end", (Life.end,), Life.state, unless=(BELL,)),
        Row("state", (Life.anywhere,), Life.start),
        Row("reset", tuple(Life), Life.start),
    ),
    ("door",),
)
"""An effect with the name of a trigger, a guard that must not hold, states called `end`, `start` and `anywhere`."""


def in_the_table(machine: Machine) -> Fire:
    """Return a function that fires a trigger by the rows, the first of those that fit."""
    state = machine.initial

    def fire(trigger: str, truths: set[str]) -> Step:
        nonlocal state
        for row in machine.rows_of(trigger):
            guards, unless = set(map(name_of, row.guards)), set(map(name_of, row.unless))
            if state in row.sources and guards <= truths and not unless & truths:
                state = row.target
                return state.name, list(map(name_of, row.effects))
        return state.name, []

    return fire


def in_python_statemachine(machine: Machine) -> Fire:
    """Return a function that fires a trigger in the SCXML, by python-statemachine's evaluator of restricted expressions."""
    raised: list[str] = []

    class Chart(load(scxml_text(machine), format="scxml")):  # type: ignore[misc]
        def _put_nonblocking(self, trigger_data: Any, internal: bool = False) -> Any:
            if internal:
                raised.append(str(trigger_data.event))
            return super()._put_nonblocking(trigger_data, internal)

    chart = Chart()

    def fire(trigger: str, truths: set[str]) -> Step:
        raised.clear()
        for guard in {name_of(guard) for row in machine.rows for guard in row.looks}:
            setattr(chart.model, f"guard_{guard}", int(guard in truths))
        chart.send(trigger)
        (state,) = chart.configuration
        return state.id, [effect.removeprefix("effect-") for effect in raised]

    return fire


class Model:
    """A model for `transitions` that has each guard and effect, and notes the effects."""

    def __init__(self, machine: Machine) -> None:
        self.truths: set[str] = set()
        self.done: list[str] = []
        for guard in {name_of(guard) for row in machine.rows for guard in row.looks}:
            setattr(self, guard, lambda guard=guard: guard in self.truths)
        for effect in {name_of(effect) for row in machine.rows for effect in row.effects}:
            setattr(self, effect, lambda effect=effect: self.done.append(effect))


def in_transitions(machine: Machine) -> Fire:
    """Return a function that fires a trigger in the library `transitions`; the model's state has a name that no state has."""
    model = Model(machine)
    configuration = json.loads(transitions_text(machine))
    transitions.Machine(model, **configuration, ignore_invalid_triggers=True, model_attribute="at_present")

    def fire(trigger: str, truths: set[str]) -> Step:
        model.truths = truths
        model.done.clear()
        model.trigger(trigger)  # type: ignore[attr-defined]
        return model.at_present, list(model.done)  # type: ignore[attr-defined]

    return fire


def compare(machine: Machine, tool: Callable[[Machine], Fire], words: int = 20) -> None:
    """Fire random words with random guards on both sides: states and effects are equal after each letter."""
    chance = random.Random(machine.name)
    looks = sorted({name_of(guard) for row in machine.rows for guard in row.looks})
    for _ in range(words):
        expected, found = in_the_table(machine), tool(machine)
        for _ in range(12):
            trigger, truths = chance.choice(machine.triggers), {guard for guard in looks if chance.random() < 0.7}
            assert found(trigger, truths) == expected(trigger, truths), (trigger, truths)


TOOLS = [in_python_statemachine, in_transitions]


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", ["door", *sorted(MACHINES)])
def test_words_in_tools(name: str, tool: Callable[[Machine], Fire]) -> None:
    """Each machine and one of everyday names take the same steps in other tools as in the table, with the same effects."""
    compare({"door": DOOR, **MACHINES}[name], tool, 100 if name == "door" else 5)


@settings(max_examples=8, deadline=None, derandomize=True, database=None)
@given(machine=machines())
def test_words_of_any_machine(machine: Machine) -> None:
    """The same for SCXML of machines of any shape."""
    compare(machine, in_python_statemachine, 3)


def test_scxml_refuses_a_trigger_that_is_several_events() -> None:
    """SCXML reads blanks, dots and stars in the name of an event; such a trigger is refused by name."""
    for trigger in ("open it", "open.it", "*", "effect-close"):
        machine = Machine("Door", Life, Life.start, (*DOOR.rows, Row(trigger, (Life.start,), Life.default)), ("door",))
        with pytest.raises(SpecError, match="SCXML cannot name the trigger"):
            scxml_text(machine)


def test_mermaid_keeps_states_from_its_own_words() -> None:
    """No node of Mermaid is called `end`, and a state called `start` or `anywhere` is not the node that the picture adds."""
    lines = machine_mermaid(DOOR).splitlines()
    nodes = [line.split("(")[0].split("[")[0].strip() for line in lines if "([" in line or "[" in line or "((" in line]

    assert len(nodes) == len(set(nodes)) and "end" not in nodes
    assert {f"state_{state.name}" for state in Life} < set(nodes)
    assert "  start --> state_start" in lines
